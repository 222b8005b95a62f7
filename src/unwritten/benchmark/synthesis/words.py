"""Words joined from prepared letters without decoding anything.

Pictures are counted in whole frames, so letter i starts at frame f / rate exactly. Sound comes in frames of 1,024 (AAC)
or 1,152 (MP3) samples; each letter's sound starts at the frame boundary nearest to its first picture, so it is never
more than half a frame, 12 ms, out of step, and the error does not add up over a word.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import av
from av.packet import Packet
from av.stream import Stream

from unwritten.benchmark.synthesis import mp3 as synthesis_mp3
from unwritten.benchmark.synthesis.letters import AAC_SAMPLES, SAMPLE_RATE_HZ, Letter
from unwritten.errors import UnwrittenError
from unwritten.files import whole_file
from unwritten.types import Modality

_MP3_FRAME_BYTES = 288  # 96 kbit/s at 48 kHz


@dataclass(frozen=True)
class Step:
    """One letter of a word and how many pictures of pause follow it."""

    letter: Letter
    pause_frames: int = 0

    @property
    def frames(self) -> int:
        """Pictures that the step lasts."""
        return self.letter.frames + self.pause_frames


@dataclass(frozen=True)
class _Loaded:
    """Packets of a prepared letter; AAC and MP3 start with a packet of pre-roll."""

    video: tuple[Packet, ...]
    aac: tuple[Packet, ...]
    mp3: tuple[bytes, ...]
    video_stream: Stream
    audio_stream: Stream


def letter_times_s(steps: Sequence[Step]) -> tuple[tuple[float, float], ...]:
    """Start and end of each letter in the pictures, in seconds."""
    times, frame = [], 0
    for step in steps:
        rate = step.letter.rate
        times.append((float(frame / rate), float((frame + step.letter.frames) / rate)))
        frame += step.frames
    return tuple(times)


def size_of(steps: Sequence[Step]) -> int:
    """Bytes that the three files of a word will take, within a few per cent."""
    total = 2_000
    for step in steps:
        loaded = _load(step.letter.film)
        count = int(step.frames * SAMPLE_RATE_HZ / step.letter.rate)
        total += 2 * sum(packet.size for packet in loaded.video[: step.frames]) + 44 * step.frames
        total += sum(packet.size for packet in loaded.aac[: count // AAC_SAMPLES]) + 16 * (count // AAC_SAMPLES)
        total += count // synthesis_mp3.FRAME_SAMPLES * _MP3_FRAME_BYTES
    return total


def write_word(steps: Sequence[Step], paths: dict[Modality, Path]) -> None:
    """Write the files of one word that are not there yet; each is whole or not there.

    Args:
        steps: its letters in order.
        paths: where each modality goes: ``.mp4`` for video and av, ``.mp3`` for audio.

    Raises:
        UnwrittenError: the letters are of different styles of film, or a place cannot be written.
    """
    loaded = [_load(step.letter.film) for step in steps]
    headers = {bytes(each.video_stream.codec_context.extradata or b"") for each in loaded}
    if len(headers) > 1:
        raise UnwrittenError(f"{steps[0].letter.film.parent}: its letters cannot be joined; remove it and start again")
    for modality, path in paths.items():
        if path.is_file():
            continue
        with whole_file(path) as temporary:
            if modality == "audio":
                temporary.write_bytes(_mp3(steps, loaded))
            else:
                _write_film(temporary, steps, loaded, with_sound=modality == "av")


def _write_film(path: Path, steps: Sequence[Step], loaded: Sequence[_Loaded], with_sound: bool) -> None:
    rate = steps[0].letter.rate
    tick = Fraction(1, rate.numerator)
    options = {"movie_timescale": str(SAMPLE_RATE_HZ), "movflags": "+faststart"}
    with av.open(f"file:{path}", "w", format="mp4", options=options) as container:
        video = container.add_stream_from_template(loaded[0].video_stream)
        video.time_base = tick
        audio = None
        if with_sound:
            audio = container.add_stream_from_template(loaded[0].audio_stream)
            audio.time_base = Fraction(1, SAMPLE_RATE_HZ)
        frame = 0
        starts = _audio_starts(steps, AAC_SAMPLES)
        for index, (step, packets) in enumerate(zip(steps, loaded, strict=True)):
            for packet in packets.video[: step.frames]:
                packet.stream, packet.time_base = video, tick
                packet.pts = packet.dts = frame * rate.denominator
                packet.duration = rate.denominator
                container.mux_one(packet)
                frame += 1
            if audio is not None:
                first = 0 if index == 0 else 1  # the pre-roll, skipped by the file's edit list
                for number in range(first, 1 + starts[index + 1] - starts[index]):
                    packet = packets.aac[number]
                    packet.stream, packet.time_base = audio, Fraction(1, SAMPLE_RATE_HZ)
                    packet.pts = packet.dts = (starts[index] + number - 1) * AAC_SAMPLES
                    packet.duration = AAC_SAMPLES
                    container.mux_one(packet)


def _mp3(steps: Sequence[Step], loaded: Sequence[_Loaded]) -> bytes:
    starts = _audio_starts(steps, synthesis_mp3.FRAME_SAMPLES)
    samples = round(sum(step.frames for step in steps) / steps[0].letter.rate * SAMPLE_RATE_HZ)
    frames = [loaded[0].mp3[0]]
    for index, packets in enumerate(loaded):
        count = starts[index + 1] - starts[index]
        if index == len(loaded) - 1:  # the last frame is cut by the header, so there must be one
            count = -(-(samples - starts[index] * synthesis_mp3.FRAME_SAMPLES) // synthesis_mp3.FRAME_SAMPLES)
        frames += packets.mp3[1 : 1 + count]
    return synthesis_mp3.file_of(frames, samples)


def _audio_starts(steps: Sequence[Step], frame_samples: int) -> list[int]:
    """Number of the sound frame at which each letter starts, and at which the word ends."""
    starts, frames = [0], 0
    for step in steps:
        frames += step.frames
        starts.append(round(Fraction(frames * SAMPLE_RATE_HZ, frame_samples) / step.letter.rate))
    return starts


@lru_cache(maxsize=1024)
def _load(film: Path) -> _Loaded:
    # Kept open: the streams are the templates of every word's streams.
    container = av.open(f"file:{film}", options={"ignore_editlist": "1"})
    video, audio = container.streams.video[0], container.streams.audio[0]
    packets = [packet for packet in container.demux(video, audio) if packet.size]
    mp3 = film.with_suffix(".mp3").read_bytes()
    return _Loaded(
        video=tuple(packet for packet in packets if packet.stream is video),
        aac=tuple(packet for packet in packets if packet.stream is audio),
        mp3=tuple(_chunks(mp3)),
        video_stream=video,
        audio_stream=audio,
    )


def _chunks(data: bytes) -> Iterator[bytes]:
    for start in range(0, len(data), _MP3_FRAME_BYTES):
        yield data[start : start + _MP3_FRAME_BYTES]
