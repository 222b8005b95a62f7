"""The whole sound of any file, as one mono waveform.

A file's name is not trusted and neither is its first container: every joined part is decoded by itself, without the
encoder's delay and padding, averaged to mono, resampled and joined to the ones before it. Damage is passed over and
counted. Places in the middle that do not decode become silence, so that what follows keeps its time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av
import av.error
import numpy as np
from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from av.container import InputContainer
from numpy.typing import NDArray

from unwritten.errors import UnwrittenError
from unwritten.media.parts import Part, split_parts
from unwritten.media.source import check_file, is_picture_stream, open_container

# Timestamps of sound jitter by a frame or so; a longer hole is missing sound.
_SHORTEST_HOLE_S = 0.06
# A hole longer than this is a broken clock, not silence.
_LONGEST_HOLE_S = 600.0


@dataclass(frozen=True)
class AudioPart:
    """What was found in one part of a file.

    Attributes:
        container: kind of container by content.
        codec: name of the codec, empty when the part holds no sound.
        sample_rate_hz: the part's own rate.
        channels: the part's own number of channels.
        start_s: where the part begins in the returned waveform.
        duration_s: how long it sounds there.
        lost_s: how much its headers promise beyond what decoded.
        offset_s: time of its first sample on the clock of its pictures, 0 without pictures.
        has_video: True when the part carries moving pictures too.
        fault: why something is missing, empty when nothing is.
    """

    container: str
    codec: str
    sample_rate_hz: int
    channels: int
    start_s: float
    duration_s: float
    lost_s: float = 0.0
    offset_s: float = 0.0
    has_video: bool = False
    fault: str = ""


@dataclass(frozen=True)
class AudioReport:
    """How a waveform came about.

    Attributes:
        parts: one entry for each part of the file, in order.
        duration_s: length of the waveform.
        lost_s: seconds that the file promises and that did not decode.
        offset_s: time of the first sample on the clock of the file's pictures (first picture at 0); 0 without pictures.
        warnings: one line each, for a person.
    """

    parts: tuple[AudioPart, ...]
    duration_s: float
    lost_s: float
    offset_s: float
    warnings: tuple[str, ...]


def read_audio(path: Path | str, sample_rate_hz: int = 16_000) -> NDArray[np.float32]:
    """Read the whole sound of a file.

    Args:
        path: a sound or video file of any container, also one that is several files joined end to end.
        sample_rate_hz: rate of the result.

    Returns:
        float32 ``[N]``, mono, nominally in [-1, 1].

    Raises:
        UnwrittenError: the file is missing, empty, not media, or has no sound that decodes.
    """
    return read_audio_report(path, sample_rate_hz)[0]


def read_audio_report(path: Path | str, sample_rate_hz: int = 16_000) -> tuple[NDArray[np.float32], AudioReport]:
    """``read_audio`` and how it went: the parts, what was lost and how the sound lies against the pictures."""
    path = check_file(path)
    found = split_parts(path)
    blocks: list[NDArray[np.float32]] = []
    parts: list[AudioPart] = []
    failures: list[UnwrittenError] = []
    samples = 0
    for part in found:
        try:
            waveform, report = _read_part(path, part, sample_rate_hz, samples / sample_rate_hz)
        except UnwrittenError as error:
            failures.append(error)
            waveform = np.zeros(0, np.float32)
            fault = str(error).removeprefix(f"{path}: ")
            report = AudioPart(part.container, "", 0, 0, samples / sample_rate_hz, 0.0, fault=fault)
        blocks.append(waveform)
        parts.append(report)
        samples += len(waveform)
    if samples == 0:
        if failures and len(failures) == len(found):
            raise failures[0]
        if any(part.codec for part in parts):
            raise UnwrittenError(f"{path}: its sound does not decode; copy it again or re-export it")
        raise UnwrittenError(f"{path}: has no sound; read it as video (--modality video) or give a file with sound")
    lost_s = sum(part.lost_s for part in parts)
    sounding = next(part for part in parts if part.duration_s > 0)
    report_of_all = AudioReport(
        parts=tuple(parts),
        duration_s=samples / sample_rate_hz,
        lost_s=lost_s,
        offset_s=sounding.offset_s,
        warnings=tuple(_warnings(path, parts)),
    )
    return np.concatenate(blocks), report_of_all


def _warnings(path: Path, parts: list[AudioPart]) -> Iterator[str]:
    if len(parts) > 1:
        yield f"{path}: {len(parts)} files joined end to end; many players stop after {parts[0].duration_s:.2f} s"
    for number, part in enumerate(parts, start=1):
        where = f"part {number} of {len(parts)}" if len(parts) > 1 else "sound"
        if part.lost_s > 0.0:
            yield f"{path}: {where}: {part.lost_s:.2f} s lost ({part.fault or 'the file ends early'})"
        elif part.fault:
            yield f"{path}: {where}: {part.fault}"


def _read_part(path: Path, part: Part, rate_hz: int, start_s: float) -> tuple[NDArray[np.float32], AudioPart]:
    with open_container(path, part) as container:
        has_video = any(is_picture_stream(stream) for stream in container.streams)
        if not container.streams.audio:
            return np.zeros(0, np.float32), AudioPart(
                part.container, "", 0, 0, start_s, 0.0, has_video=has_video, fault="holds no sound"
            )
        stream = container.streams.best("audio")
        assert isinstance(stream, AudioStream)
        declared_end_s = _declared_end_s(container, stream)
        decoder = _Decoder(rate_hz)
        fault = decoder.run(container, stream)
        waveform = decoder.finish(trim_at_s=declared_end_s if part.container == "mp4" else None)
        lost_s = decoder.hole_after_error_s
        if declared_end_s is not None and decoder.first_s is not None:
            missing_s = declared_end_s - (decoder.first_s + len(waveform) / rate_hz)
            # A frame or two at the end are the codec's own rounding, not loss.
            lost_s += missing_s if missing_s > 0.1 else 0.0
        if part.truncated and not fault:
            fault = "the file is cut off"
        codec = stream.codec_context
        offset_s = 0.0
        if has_video and decoder.first_s is not None:
            offset_s = decoder.first_s - _first_picture_s(container)
        return waveform, AudioPart(
            container=part.container,
            codec=codec.name,
            sample_rate_hz=decoder.source_rate_hz or codec.sample_rate,
            channels=decoder.channels or codec.channels,
            start_s=start_s,
            duration_s=len(waveform) / rate_hz,
            lost_s=lost_s,
            offset_s=offset_s,
            has_video=has_video,
            fault=fault,
        )


def _declared_end_s(container: InputContainer, stream: AudioStream) -> float | None:
    if stream.duration is not None and stream.time_base is not None:
        return float(((stream.start_time or 0) + stream.duration) * stream.time_base)
    pictures = any(is_picture_stream(other) for other in container.streams)
    if container.duration is not None and not pictures:
        return ((container.start_time or 0) + container.duration) / av.time_base
    return None


def _first_picture_s(container: InputContainer) -> float:
    stream = next(stream for stream in container.streams if is_picture_stream(stream))
    start = stream.start_time
    return float(start * stream.time_base) if start is not None and stream.time_base is not None else 0.0


class _Decoder:
    """Decodes one stream to mono at one rate, hole by hole and run by run."""

    def __init__(self, rate_hz: int) -> None:
        self.rate_hz = rate_hz
        self.first_s: float | None = None
        self.hole_after_error_s = 0.0
        self.source_rate_hz = 0
        self.channels = 0
        self._blocks: list[NDArray[np.float32]] = []
        self._resampler: _Resampler | None = None
        self._next_s = 0.0

    def run(self, container: InputContainer, stream: AudioStream) -> str:
        """Decode everything that decodes; returns the first fault, empty when there was none."""
        fault, after_error = "", False
        packets = container.demux(stream)
        while True:
            try:
                packet = next(packets, None)
                if packet is None:
                    break
                for frame in packet.decode():
                    self._add(frame, after_error)
                    after_error = False
            except (av.error.EOFError, StopIteration):
                break
            except av.error.FFmpegError as error:
                fault, after_error = fault or f"damaged data ({error.strerror})", True
                if packet is None or isinstance(error, OSError):
                    break
        return fault

    def _add(self, frame: AudioFrame, after_error: bool) -> None:
        mono = _mono(frame)
        if len(mono) == 0:
            return
        if self._resampler is None or self._resampler.source_hz != frame.sample_rate:
            self._flush()
            self._resampler = _Resampler(frame.sample_rate, self.rate_hz)
        self.source_rate_hz, self.channels = frame.sample_rate, frame.layout.nb_channels
        time_s = float(frame.pts * frame.time_base) if frame.pts is not None and frame.time_base else None
        if self.first_s is None:
            self.first_s = self._next_s = time_s or 0.0
        hole_s = 0.0 if time_s is None else time_s - self._next_s
        if _SHORTEST_HOLE_S < hole_s < _LONGEST_HOLE_S:
            silence = np.zeros(round(hole_s * frame.sample_rate), np.float32)
            self._blocks.append(self._resampler.push(silence))
            self._next_s += hole_s
            self.hole_after_error_s += hole_s if after_error else 0.0
        elif time_s is not None and abs(hole_s) >= _LONGEST_HOLE_S:
            self._next_s = time_s
        self._blocks.append(self._resampler.push(mono))
        self._next_s += len(mono) / frame.sample_rate

    def _flush(self) -> None:
        if self._resampler is not None:
            self._blocks.append(self._resampler.finish())
            self._resampler = None

    def finish(self, trim_at_s: float | None) -> NDArray[np.float32]:
        """The waveform, cut where the container's edit list ends it: what follows is the encoder's padding."""
        self._flush()
        waveform = np.concatenate(self._blocks) if self._blocks else np.zeros(0, np.float32)
        if trim_at_s is not None and self.first_s is not None:
            waveform = waveform[: max(0, round((trim_at_s - self.first_s) * self.rate_hz))]
        return waveform


def _mono(frame: AudioFrame) -> NDArray[np.float32]:
    """Mean of a frame's channels, float32 ``[samples]`` in [-1, 1]."""
    samples: NDArray[Any] = frame.to_ndarray()
    if not frame.format.is_planar:
        samples = samples.reshape(-1, frame.layout.nb_channels).T
    if samples.dtype == np.uint8:
        return ((samples.astype(np.float32) - 128.0) / 128.0).mean(axis=0, dtype=np.float32)
    if np.issubdtype(samples.dtype, np.integer):
        full_scale = np.float32(-float(np.iinfo(samples.dtype).min))
        return (samples.mean(axis=0, dtype=np.float64) / full_scale).astype(np.float32)
    return samples.mean(axis=0, dtype=np.float64).astype(np.float32)


class _Resampler:
    """libswresample over mono blocks; the total comes out at the rounded ratio of lengths, without delay."""

    def __init__(self, source_hz: int, target_hz: int) -> None:
        self.source_hz, self.target_hz = source_hz, target_hz
        self._pushed = self._given = 0
        same = source_hz == target_hz
        self._inner = None if same else av.AudioResampler(format="fltp", layout="mono", rate=target_hz)

    def push(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        if self._inner is None or len(samples) == 0:
            return samples
        frame = AudioFrame.from_ndarray(np.ascontiguousarray(samples[None]), format="fltp", layout="mono")
        frame.sample_rate, frame.pts = self.source_hz, self._pushed
        self._pushed += len(samples)
        return self._take(self._inner.resample(frame))

    def finish(self) -> NDArray[np.float32]:
        if self._inner is None or self._pushed == 0:
            return np.zeros(0, np.float32)
        tail = self._take(self._inner.resample(None))
        wanted = round(self._pushed * self.target_hz / self.source_hz) - (self._given - len(tail))
        return tail[:wanted] if wanted <= len(tail) else np.pad(tail, (0, wanted - len(tail)))

    def _take(self, frames: list[AudioFrame]) -> NDArray[np.float32]:
        blocks = [frame.to_ndarray()[0] for frame in frames]
        joined = np.concatenate(blocks) if blocks else np.zeros(0, np.float32)
        self._given += len(joined)
        return joined
