"""The clip with what the tracker saw drawn over it: tip, a trail that fades, shot number and confidence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from unwritten.types import Frame, Track

_TRAIL_S = 1.2
_DOWN, _UP, _TIP = (230, 40, 40), (40, 120, 230), (0, 200, 80)


def draw_overlay(frames: Iterable[Frame], track: Track) -> Iterator[NDArray[np.uint8]]:
    """Draw a track over its frames, one at a time.

    Args:
        frames: the frames that the track was made of.
        track: ``[T]`` frames.

    Yields:
        RGB uint8 ``[H, W, 3]`` at the first frame's size: red trail pen down, blue pen up, brackets around the tip.
    """
    native = track.tip_px / np.array([track.sample_aspect_ratio, 1.0])
    time_s, contact = np.asarray(track.time_s), np.asarray(track.contact)
    size: tuple[int, int] | None = None
    for index, (frame, _) in enumerate(zip(frames, time_s, strict=False)):
        image = frame.image.copy()
        size = size or (image.shape[1], image.shape[0])
        if image.shape[1::-1] != size:  # the track is in pixels of the first frame
            image = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
        height = image.shape[0]
        thick = max(1, round(height / 400))
        first = int(np.searchsorted(time_s, time_s[index] - _TRAIL_S))
        for end in range(first + 1, index + 1):
            pair = (end - 1, end)
            if not track.visible[list(pair)].all() or len({int(track.shot[k]) for k in (*pair, index)}) > 1:
                continue
            age = (time_s[index] - time_s[end]) / _TRAIL_S
            colour = np.array(_DOWN if contact[end] > 0.5 else _UP) * (1 - age) + 255 * age
            start, stop = (tuple(int(v) for v in np.rint(16 * native[k])) for k in pair)
            cv2.line(image, start, stop, tuple(int(v) for v in colour), thick, cv2.LINE_AA, 4)
        if track.visible[index]:
            _mark_tip(image, native[index], 1 / track.sample_aspect_ratio, thick)
        _caption(image, track, index, thick)
        yield image


def _mark_tip(image: NDArray[np.uint8], tip: NDArray[np.float64], stretch: float, thick: int) -> None:
    """A ring that leaves the tip itself to be seen; round on the screen, whatever the pixels' shape."""
    radius = image.shape[0] / 90
    centre = tuple(int(v) for v in np.rint(16 * tip))
    axes = (round(16 * radius * stretch), round(16 * radius))
    cv2.ellipse(image, centre, axes, 0, 0, 360, _TIP, thick, cv2.LINE_AA, 4)
    cv2.circle(image, centre, 16, _TIP, -1, cv2.LINE_AA, 4)


def _caption(image: NDArray[np.uint8], track: Track, index: int, thick: int) -> None:
    state = f"{track.confidence[index]:.2f}" if track.visible[index] else "not seen"
    text = f"frame {index}  shot {int(track.shot[index]) + 1}  {state}  pen down {track.contact[index]:.2f}"
    size = image.shape[0] / 1000
    left, bottom = round(12 * size) + 4, image.shape[0] - round(20 * size) - 4
    (width, height), _ = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, size, thick)
    pad = round(6 * size) + 2
    image[max(bottom - height - pad, 0) : bottom + pad, max(left - pad, 0) : left + width + pad] = 255
    cv2.putText(image, text, (left, bottom), cv2.FONT_HERSHEY_SIMPLEX, size, (0, 0, 0), thick, cv2.LINE_AA)


def write_overlay(path: Path | str, clip: Path | str, track: Track) -> Path:
    """Write the overlay of a clip at its own rate, size and pixel shape.

    Args:
        path: ``.mp4`` or ``.webm``.
        clip: the file that ``track`` was made of.
        track: its track.

    Raises:
        UnwrittenError: the clip cannot be read or the place cannot be written.
    """
    from unwritten.media import read_frames, write_video

    pictures = draw_overlay(read_frames(clip), track)
    return write_video(path, pictures, track.time_s, sample_aspect_ratio=track.sample_aspect_ratio)
