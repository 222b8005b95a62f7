"""Words as the paper makes them, faults included: films joined by stream copy, audio files byte by byte.

Where the films of a style cannot be joined by stream copy (other codecs, sizes or headers), each is first brought to
what the published words have: 640x480 pixels that are not square, H.264, AAC. Nothing is trimmed or padded, so sound
and pictures drift apart; an audio file is the bytes of its letters' audio files, so most players stop after the first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import av
from av.audio.stream import AudioStream
from av.container import InputContainer
from av.packet import Packet
from av.stream import Stream
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from unwritten.benchmark.synthesis.letters import X264_PARAMS, fitted
from unwritten.benchmark.synthesis.settings import Canvas
from unwritten.files import digest_file, whole_file
from unwritten.media import open_video, probe
from unwritten.media.headers import MediaInfo
from unwritten.types import Clip, Modality

_WIDTH_PX, _HEIGHT_PX = 640, 480
_CRF = 25
_TICKS_HZ = 90_000
_MOVIE_TICKS_HZ = 720_000


@dataclass(frozen=True)
class Source:
    """The files of one letter that words are joined from.

    Attributes:
        group: name of the letter clip, as manifests list it.
        files: one file for each modality; audio is the original.
        source: digest of the original files.
    """

    group: str
    files: dict[Modality, Path]
    source: str


def prepare_style(clips: Sequence[Clip], folder: Path, run: Callable[..., Iterator[object]] = map) -> list[Source]:
    """The films of a style's letters, ready for stream copy; films that already are stay where they are.

    Args:
        clips: letter clips of one style with all three modalities.
        folder: where films that have to be brought into one form go.
        run: a function like ``map``, to squash films side by side.

    Raises:
        UnwrittenError: a film does not decode, or the place cannot be written.
    """
    as_they_are: dict[Modality, bool] = {
        "video": _can_be_copied([clip.files["video"] for clip in clips]),
        "av": _can_be_copied([clip.files["av"] for clip in clips]),
    }
    sources: list[Source] = []
    tasks: list[tuple[Path, Path]] = []
    for clip in clips:
        files: dict[Modality, Path] = {"audio": clip.files["audio"]}
        digests = [digest_file(clip.files[modality]) for modality in clip.modalities]
        for modality, ready in as_they_are.items():
            film = clip.files[modality]
            if not ready:
                mark = "_muted" if modality == "video" else ""
                tag = digest_file(film)[:16]
                film = folder / f"{Path(clip.id).name}.{tag}{mark}.mp4"
                if not film.is_file():
                    tasks.append((clip.files[modality], film))
            files[modality] = film
        group = clip.letter_clips[0] if clip.letter_clips else clip.id
        sources.append(Source(group, files, hashlib.sha256("".join(digests).encode()).hexdigest()))
    for _ in run(_squash, tasks):
        pass
    return sources


def _can_be_copied(films: Sequence[Path]) -> bool:
    headers = {_stream_headers(film) for film in films}
    return len(headers) == 1 and "mp4" in str(next(iter(headers))[0])  # other containers' codecs need not fit in MP4


def _stream_headers(film: Path) -> tuple[object, ...]:
    """What has to be the same for the packets of two films to follow each other in one."""
    with av.open(f"file:{film}") as container:
        found: list[object] = [container.format.name]
        for stream in container.streams:
            codec = stream.codec_context
            found += [stream.type, codec.name, bytes(codec.extradata or b""), str(stream.time_base)]
        for video in container.streams.video:
            found += [video.codec_context.width, video.codec_context.height, str(video.sample_aspect_ratio)]
        for audio in container.streams.audio:
            found += [audio.codec_context.sample_rate, audio.codec_context.layout.name]
        return tuple(found)


def _squash(task: tuple[Path, Path]) -> None:
    """Re-encode a film to the size of published words, with its own time stamps and its own sound."""
    source, target = task
    info: MediaInfo = probe(source)
    first = next(open_video(source))
    height, width = first.luma().shape
    aspect = Fraction(width * first.sample_aspect_ratio / height * _HEIGHT_PX / _WIDTH_PX).limit_denominator(255)
    rate = Fraction(info.video.rate_hz if info.video and info.video.rate_hz else 30.0).limit_denominator(1001)
    canvas = Canvas(_WIDTH_PX, _HEIGHT_PX, rate, aspect)
    options = {"movie_timescale": str(_MOVIE_TICKS_HZ)}
    with whole_file(target) as temporary, av.open(f"file:{temporary}", "w", format="mp4", options=options) as container:
        video = container.add_stream("libx264", rate=rate)
        assert isinstance(video, VideoStream)
        video.width, video.height, video.pix_fmt = _WIDTH_PX, _HEIGHT_PX, "yuv420p"
        video.codec_context.time_base = Fraction(1, _TICKS_HZ)
        video.codec_context.sample_aspect_ratio = aspect
        video.codec_context.thread_count = 1
        video.options = {"crf": str(_CRF), "preset": "medium", "x264-params": X264_PARAMS}
        audio = container.add_stream("aac", rate=48_000, layout="stereo") if info.audio else None
        for time_s, image in fitted(source, canvas):
            frame = VideoFrame.from_ndarray(image, format="rgb24")
            frame.pts, frame.time_base = round(time_s * _TICKS_HZ), Fraction(1, _TICKS_HZ)
            container.mux(video.encode(frame))
        container.mux(video.encode(None))
        if isinstance(audio, AudioStream):
            resampler = av.AudioResampler(format="fltp", layout="stereo", rate=48_000, frame_size=1_024)
            with av.open(f"file:{source}") as sound:
                for decoded in sound.decode(sound.streams.audio[0]):
                    for block in resampler.resample(decoded):
                        container.mux(audio.encode(block))
            for block in resampler.resample(None):
                container.mux(audio.encode(block))
            container.mux(audio.encode(None))


@dataclass(frozen=True)
class _Loaded:
    container: InputContainer
    packets: tuple[tuple[Packet, int, int | None], ...]  # with decoding and presentation time stamps as stored
    duration_s: Fraction


@lru_cache(maxsize=1024)
def _load(film: Path) -> _Loaded:
    container = av.open(f"file:{film}")
    packets = [packet for packet in container.demux() if packet.size and packet.dts is not None]
    duration = Fraction(container.duration or 0, av.time_base)
    return _Loaded(container, tuple((packet, packet.dts or 0, packet.pts) for packet in packets), duration)


def letter_times_s(sources: Sequence[Source]) -> tuple[tuple[float, float], ...]:
    """Start and end of each letter in the muted pictures, in seconds."""
    times, start = [], Fraction(0)
    for source in sources:
        end = start + _load(source.files["video"]).duration_s
        times.append((float(start), float(end)))
        start = end
    return tuple(times)


def size_of(sources: Sequence[Source]) -> int:
    """Bytes that the three files of a word will take, within a few per cent."""
    return sum(path.stat().st_size for source in sources for path in source.files.values())


def write_word(sources: Sequence[Source], paths: dict[Modality, Path]) -> None:
    """Write the files of one word that are not there yet; each is whole or not there.

    Raises:
        UnwrittenError: a place cannot be written.
    """
    for modality, path in paths.items():
        if path.is_file():
            continue
        files = [source.files[modality] for source in sources]
        with whole_file(path) as temporary:
            if modality == "audio":
                temporary.write_bytes(b"".join(file.read_bytes() for file in files))
            else:
                _concatenate(files, temporary)


def _concatenate(films: Sequence[Path], target: Path) -> None:
    """Stream copy as ffmpeg's concat demuxer does it: each film starts where the one before says that it ends."""
    loaded = [_load(film) for film in films]
    with av.open(f"file:{target}", "w", format="mp4", options={"movie_timescale": str(_MOVIE_TICKS_HZ)}) as container:
        outputs: dict[int, Stream] = {}
        for stream in loaded[0].container.streams:
            output = container.add_stream_from_template(stream)
            output.time_base = stream.time_base
            outputs[stream.index] = output
        last: dict[int, int] = {}
        start_s = Fraction(0)
        for film in loaded:
            bases = {stream.index: stream.time_base or Fraction(1, _TICKS_HZ) for stream in film.container.streams}
            for packet, dts, pts in film.packets:
                index = packet.stream_index if packet.stream_index in outputs else 0
                base = bases[index]
                shift = round(start_s / base)
                when = max(dts + shift, last.get(index, dts + shift - 1) + 1)  # joins may overlap by a packet
                last[index] = when
                packet.stream, packet.time_base = outputs[index], base
                packet.dts, packet.pts = when, max(when, (dts if pts is None else pts) + shift)
                container.mux_one(packet)
            start_s += film.duration_s
