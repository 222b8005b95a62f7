"""The whole sound of any file, as one mono waveform.

A file's name is not trusted and neither is its first container: every joined part is decoded by itself, without the
encoder's delay and padding, averaged to mono (but for channels that cancel each other: there the louder one is taken),
resampled and joined to the ones before it. Damage is passed over and counted. Places in the middle that do not decode
become silence, so that what follows keeps its time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import av
import numpy as np
from av.audio.stream import AudioStream
from av.container import InputContainer
from numpy.typing import NDArray

from unwritten.errors import UnwrittenError
from unwritten.media.parts import Part, split_parts
from unwritten.media.pcm import StreamDecoder
from unwritten.media.source import check_file, is_picture_stream, open_container, sound_stream


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

    @property
    def part_starts_s(self) -> list[float]:
        """Where the parts that sound begin in the waveform."""
        return [part.start_s for part in self.parts if part.duration_s > 0]


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


def _read_part(
    path: Path, part: Part, rate_hz: int, start_s: float, channel: int | None = None
) -> tuple[NDArray[np.float32], AudioPart]:
    with open_container(path, part) as container:
        has_video = any(is_picture_stream(stream) for stream in container.streams)
        stream = sound_stream(container)
        if stream is None:
            return np.zeros(0, np.float32), AudioPart(
                part.container, "", 0, 0, start_s, 0.0, has_video=has_video, fault="holds no sound"
            )
        declared_end_s = _declared_end_s(container, stream)
        decoder = StreamDecoder(rate_hz, channel)
        fault = decoder.run(container, stream)
        louder = decoder.louder_of_cancelling()
        if channel is None and louder is not None:
            return _read_part(path, part, rate_hz, start_s, louder)
        if channel is not None and not fault:
            fault = f"its channels cancel each other; channel {channel + 1} of {decoder.channels} is taken"
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
