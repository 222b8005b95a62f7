"""Pictures with their time, upright and with the true shape of their pixels known.

Time comes from presentation time stamps, never from a frame count over a rate. Rotation metadata is applied once. The
frames that come out, and their numbering, are those that OpenCV decodes. Pictures are made one at a time: memory does
not grow with the length of a clip.
"""

from __future__ import annotations

import functools
import logging
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import av.error
import numpy as np
from av.container import InputContainer
from av.sidedata.sidedata import SideDataContainer
from av.video.frame import VideoFrame
from av.video.stream import VideoStream
from numpy.typing import NDArray

from unwritten.errors import UnwrittenError
from unwritten.media.parts import split_parts
from unwritten.media.source import MAX_PIXELS, check_file, is_cover, is_picture_stream, open_container, sound_stream
from unwritten.types import Frame

_LOG = logging.getLogger(__name__)
# Stamps closer than this, or than a quarter of the period of a faster film, stand still: no camera takes 500 pictures a
# second in a film of 30.
_STILL_S = 0.002
# While the clock is behind after stamps that stood still, steps are shorter than the period by so much, to catch up.
_CATCH_UP = 0.1
_KNOWN_STEPS = 31  # the period is the median of so many steps between stamps that moved
# Pictures further apart than a word lasts are worth a line; in all, gaps longer than this are a broken clock.
_GAP_S, _LONGEST_GAPS_S = 10.0, 600.0
# Decoding in as many frames at a time as there are cores costs too much memory above 4K (ITU-R BT.2020: 3840 by 2160).
_FRAME_THREADS_PIXELS = 4_096 * 2_304
# A clock that steps back further than this was restarted.
_RESTART_S = 0.5
_FASTEST_HZ = 1_000.0
_HDR_PQ = 16  # ITU-T H.273 transfer characteristics: SMPTE ST 2084


class Picture(NamedTuple):
    """One decoded picture in the file's own pixel format.

    Attributes:
        frame: the decoder's frame; its planes are as coded, before rotation.
        time_s: presentation time in seconds, first picture at 0, strictly increasing.
        sample_aspect_ratio: width of a pixel over its height, **after** rotation.
        rotation: degrees to turn the coded picture counter-clockwise to stand upright: 0, 90, 180 or 270.
    """

    frame: VideoFrame
    time_s: float
    sample_aspect_ratio: float
    rotation: int

    @property
    def mirrored(self) -> bool:
        """True when the display matrix also asks for a left-right flip before the turn."""
        return _orientation(self.frame)[1]

    def upright(self, plane: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Turn an array ``[h, w, ...]`` of this picture as its metadata asks; a view, not a copy."""
        rotation, mirrored = self.rotation, self.mirrored
        if mirrored:
            plane = plane[:, ::-1]
        return np.rot90(plane, rotation // 90) if rotation else plane

    def luma(self) -> NDArray[np.uint8]:
        """Brightness, uint8 ``[H, W]``, upright, in the file's own range; far cheaper than RGB."""
        frame = self.frame
        if frame.format.name not in ("yuv420p", "yuvj420p", "yuv422p", "yuvj422p", "yuv444p", "nv12", "gray"):
            return self.upright(np.asarray(frame.reformat(format="gray").to_ndarray(), np.uint8))
        plane = frame.planes[0]
        rows = np.frombuffer(memoryview(plane), np.uint8).reshape(plane.height, plane.line_size)
        return self.upright(rows[:, : plane.width])

    def rgb(self) -> NDArray[np.uint8]:
        """Colours, uint8 ``[H, W, 3]``, upright, contiguous; HDR is brought to the range of an ordinary screen."""
        return np.ascontiguousarray(self.upright(_to_rgb(self.frame)))


def read_frames(path: Path | str, *, min_frames: int = 1) -> Iterator[Frame]:
    """Decode the pictures of a file one by one.

    Args:
        path: a video file of any container.
        min_frames: how many pictures the caller needs at least; readers of motion ask for 2.

    Yields:
        frames in order of strictly increasing ``time_s``; ``image`` is RGB uint8 ``[H, W, 3]``.

    Raises:
        UnwrittenError: the file is missing, empty, not media, holds no video that decodes, or fewer pictures than
            ``min_frames``.
    """
    count = 0
    for picture in open_video(path):
        count += 1
        yield Frame(picture.rgb(), picture.time_s, picture.sample_aspect_ratio)
    if count < min_frames:
        raise UnwrittenError(f"{path}: holds {count} picture, so nothing moves in it; give a clip of the whole word")


def open_video(path: Path | str) -> Iterator[Picture]:
    """Decode the pictures of a file as ``(frame, time_s, sample_aspect_ratio, rotation)``, for users of raw planes.

    Raises:
        UnwrittenError: as in ``read_frames``.
    """
    path = check_file(path)
    clock = _Clock()
    pictures, sound, blind = 0, False, False
    last_s = gaps_s = 0.0
    parts = split_parts(path)
    failure: UnwrittenError | None = None
    for part in parts:
        try:
            with open_container(path, part) as container:
                sound = sound or sound_stream(container) is not None
                stream = picture_stream(container)
                if stream is None:
                    blind = blind or any(not is_cover(stream) for stream in container.streams.video)
                    continue
                blind = True  # until one decodes
                clock.restart(_period_s(stream))
                for frame in _decode(path, container, stream):
                    time_s = clock.time(frame)
                    gaps_s += time_s - last_s if time_s - last_s > _GAP_S else 0.0
                    if gaps_s > _LONGEST_GAPS_S:
                        raise UnwrittenError(
                            f"{path}: its time stamps jump from {last_s:.2f} to {time_s:.2f} s; what follows is left"
                            " out, export the film again"
                        )
                    last_s = time_s
                    rotation, _ = _orientation(frame)
                    pictures += 1
                    yield Picture(frame, time_s, _aspect(container, stream, frame, rotation), rotation)
        except UnwrittenError as error:
            failure = failure or error
            if pictures:
                _LOG.warning("%s", error)
    if clock.stood_still:
        _LOG.warning(
            "%s: the time stamps of %d of its pictures stand still; they are spread by %.1f ms each",
            path,
            clock.stood_still,
            1000 * clock.period_s,
        )
    if pictures:
        return
    if failure is not None:
        raise failure
    if sound and not blind:
        raise UnwrittenError(f"{path}: has sound but no pictures; read it as sound (--modality audio)")
    raise UnwrittenError(f"{path}: holds no picture that decodes; copy it again or re-export it")


def picture_stream(container: InputContainer) -> VideoStream | None:
    """The first stream of moving pictures, None when there is none."""
    return next((stream for stream in container.streams.video if is_picture_stream(stream)), None)


def _decode(path: Path, container: InputContainer, stream: VideoStream) -> Iterator[VideoFrame]:
    context = stream.codec_context
    context.options = {"max_pixels": str(MAX_PIXELS)}  # also where the size changes within the film
    stream.thread_type = "AUTO" if context.width * context.height <= _FRAME_THREADS_PIXELS else "SLICE"
    packets = container.demux(stream)
    faults, last_s = 0, 0.0
    while True:
        try:
            packet = next(packets, None)
        except (av.error.FFmpegError, StopIteration):
            faults += 1
            break
        if packet is None:
            break
        try:
            frames = packet.decode()
        except av.error.EOFError:
            break
        except av.error.FFmpegError:
            faults += 1
            continue
        for frame in frames:
            last_s = frame.time if frame.time is not None else last_s
            yield frame
    missing_s = _end_s(stream) - last_s - _period_s(stream)
    lost = f"the last {missing_s:.2f} s are missing" if missing_s > _period_s(stream) else ""
    if faults:
        _LOG.warning(
            "%s: %d damaged picture%s passed over, the last good one is at %.2f s%s",
            path,
            faults,
            "" if faults == 1 else "s",
            last_s,
            f"; {lost}" if lost else "",
        )
    elif missing_s > _CUT_OFF_S:
        _LOG.warning("%s: ends early, the last picture is at %.2f s; %s", path, last_s, lost)


_CUT_OFF_S = 0.5
"""A film that lacks more than this at its end was cut off; a last picture may well stand for a few periods."""


def _end_s(stream: VideoStream) -> float:
    """When the last picture ends as the container has it; 0 when it does not say."""
    if not stream.duration or not stream.time_base:
        return 0.0
    return float(((stream.start_time or 0) + stream.duration) * stream.time_base)


class _Clock:
    """Time stamps to seconds from the first picture, strictly increasing over parts and restarted clocks."""

    def __init__(self) -> None:
        self.stood_still = 0
        self._last_s: float | None = None
        self._last_stamp_s: float | None = None
        self._offset_s: float | None = None
        self._stated_period_s = 1 / 30
        self._steps_s: deque[float] = deque(maxlen=_KNOWN_STEPS)
        self._behind = False

    @property
    def period_s(self) -> float:
        """Time between two pictures: as stamps that moved have it, else as the container states it."""
        return float(np.median(self._steps_s)) if len(self._steps_s) > 2 else self._stated_period_s

    def restart(self, period_s: float) -> None:
        """A new part begins: its clock starts one period after the last picture."""
        self._offset_s = self._last_stamp_s = None
        self._stated_period_s = period_s
        self._steps_s.clear()

    def time(self, frame: VideoFrame) -> float:
        """Seconds of the next picture."""
        stamp_s = float(frame.pts * frame.time_base) if frame.pts is not None and frame.time_base else None
        if self._last_s is None:
            self._offset_s, self._last_stamp_s = (None if stamp_s is None else -stamp_s), stamp_s
            self._last_s = 0.0
            return 0.0
        self._last_s = self._after(self._last_s, stamp_s)
        self._last_stamp_s = self._last_stamp_s if stamp_s is None else stamp_s
        return self._last_s

    def _after(self, last_s: float, stamp_s: float | None) -> float:
        if stamp_s is None:
            return last_s + self.period_s
        step_s = None if self._last_stamp_s is None else stamp_s - self._last_stamp_s
        if self._offset_s is None or step_s is None or step_s < -_RESTART_S:
            self._offset_s = last_s + self.period_s - stamp_s
            return last_s + self.period_s
        time_s = stamp_s + self._offset_s
        if step_s < min(_STILL_S, self._stated_period_s / 4):
            self.stood_still += 1
            self._behind = True
            return max(time_s, last_s + self.period_s)
        self._steps_s.append(step_s)
        if self._behind:
            soonest_s = last_s + (1 - _CATCH_UP) * self.period_s
            self._behind = time_s < soonest_s
            return max(time_s, soonest_s)
        return time_s


def _period_s(stream: VideoStream) -> float:
    rate = stream.average_rate or stream.guessed_rate
    # A rate that no camera has comes from stamps that stand still.
    return float(1 / rate) if rate and rate <= _FASTEST_HZ else 1 / 30


def _aspect(container: InputContainer, stream: VideoStream, frame: VideoFrame, rotation: int) -> float:
    """Shape of a pixel after rotation: the container's word over the codec's, swapped by a quarter turn."""
    ratio = stream.sample_aspect_ratio or stream.codec_context.sample_aspect_ratio
    value = float(ratio) if ratio else 1.0
    value = value if 0.01 < value < 100.0 else 1.0
    return 1.0 / value if rotation in (90, 270) else value


def _orientation(frame: VideoFrame) -> tuple[int, bool]:
    """Turn (degrees counter-clockwise: 0, 90, 180, 270) and flip that a frame's display matrix asks for."""
    # A container of its own: the one that a frame keeps points back at it, and pictures would wait for the collector.
    matrix: Any = SideDataContainer(frame).get("DISPLAYMATRIX")  # type: ignore[call-arg]
    return (0, False) if matrix is None else _turn_of(bytes(matrix))


@functools.lru_cache(maxsize=16)
def _turn_of(matrix: bytes) -> tuple[int, bool]:
    # Nine int32, 16.16 fixed point; the picture's (x, y) goes to (a x + c y, b x + d y), y down.
    a, b, _, c, d = np.frombuffer(matrix, np.int32)[:5] / 65536.0
    mirrored = a * d - b * c < 0
    if mirrored:
        a, b = -a, -b
    degrees = -np.degrees(np.arctan2(b, a))
    return int(round(degrees / 90.0) * 90) % 360, bool(mirrored)


def _to_rgb(frame: VideoFrame) -> NDArray[np.uint8]:
    if int(frame.color_trc) == _HDR_PQ:
        wide = np.asarray(frame.reformat(format="rgb48le").to_ndarray(), np.uint16)
        return _pq_to_screen()[wide >> 4]
    return np.asarray(frame.to_ndarray(format="rgb24"), np.uint8)


@functools.cache
def _pq_to_screen() -> NDArray[np.uint8]:
    """Table ``[4096]`` from PQ code to an ordinary screen's, reference white (203 cd/m2, ITU-R BT.2408) near the top.

    Above the reference the curve rolls off (Reinhard with white at 1,000 cd/m2), so that lit paper does not clip.
    """
    code = np.linspace(0.0, 1.0, 4096)
    m1, m2, c1, c2, c3 = 2610 / 16384, 2523 / 32, 3424 / 4096, 2413 / 128, 2392 / 128  # SMPTE ST 2084
    root = code ** (1 / m2)
    light = 10_000.0 * (np.maximum(root - c1, 0.0) / (c2 - c3 * root)) ** (1 / m1) / 203.0
    white = 1_000.0 / 203.0
    screen = light * (1 + light / white**2) / (1 + light)
    return np.clip(np.round(255.0 * np.clip(screen * 1.5, 0, 1) ** (1 / 2.2)), 0, 255).astype(np.uint8)
