"""What is wrong with one file by itself: the facts, gathered once, then one small check for each kind of fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import numpy as np

from unwritten.benchmark.audit.pictures import PictureFacts, PictureSettings, look_at_pictures, runs
from unwritten.errors import UnwrittenError
from unwritten.files import digest_file
from unwritten.media import AudioReport, MediaInfo, VideoInfo, modality_from_name, probe, read_audio_report, source

# Containers that a suffix promises, by the names that ``media.Part`` uses.
_PROMISED = {
    ".mp3": "mp3",
    ".wav": "wav",
    ".flac": "flac",
    ".aac": "aac",
    ".ogg": "ogg",
    ".oga": "ogg",
    ".opus": "ogg",
    ".m4a": "mp4",
    ".mp4": "mp4",
    ".m4v": "mp4",
    ".mov": "mp4",
    ".webm": "webm",
    ".mkv": "webm",
    ".avi": "avi",
}
_STANDARD_RATES = frozenset(
    Fraction(rate * 1000, 1000 + drop)
    for rate in (10, 12, 15, 24, 25, 30, 48, 50, 60, 90, 100, 120, 240)
    for drop in (0, 1)
)


@dataclass(frozen=True)
class AuditSettings:
    """What counts as a fault.

    Attributes:
        sound_tolerance_s: how far sound and pictures may differ in length; one frame at 60 a second by default.
        lost_s: how much of the promised sound may fail to decode.
        uneven: how many times the usual distance a later picture may be away.
        look: decode the pictures; without it the audit reads headers and sound only and is much faster.
        pictures: how pictures are judged.
    """

    sound_tolerance_s: float = 1 / 60
    lost_s: float = 0.05
    uneven: float = 1.5
    look: bool = True
    pictures: PictureSettings = field(default_factory=PictureSettings)


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong with one file: its path below the folder, the kind, and a line for a person."""

    file: str
    kind: str
    detail: str


@dataclass(frozen=True)
class FileFacts:
    """What is known of one file.

    Attributes:
        path: the file.
        name: its path below the audited folder, with forward slashes.
        size: bytes.
        digest: SHA-256, empty for an empty file.
        info: what its headers say, None when they cannot be read.
        sound: how its sound decoded, None without sound.
        pictures: what its pictures are like, None without pictures or when they were not looked at.
        error: why it cannot be read, empty when it can.
    """

    path: Path
    name: str
    size: int
    digest: str = ""
    info: MediaInfo | None = None
    sound: AudioReport | None = None
    pictures: PictureFacts | None = None
    error: str = ""

    @property
    def video(self) -> VideoInfo | None:
        """What the headers say of the pictures; None for an audio item, which should have none."""
        if self.info is None or modality_from_name(self.path) == "audio":
            return None
        return self.info.video

    @property
    def picture_length_s(self) -> float | None:
        """How long the pictures last: as decoded, else as the header says."""
        if self.pictures is not None:
            return self.pictures.duration_s
        return self.video.duration_s if self.video else None

    @property
    def sound_length_s(self) -> float | None:
        """How long the whole sound lasts."""
        return self.sound.duration_s if self.sound else None


def gather(path: Path, name: str, settings: AuditSettings) -> FileFacts:
    """Read everything about one file that the checks need; never raises for a bad file."""
    digest = ""
    try:
        size = path.stat().st_size
        if size == 0 and path.is_file():
            return FileFacts(path, name, 0)
        source.check_file(path)
        digest = digest_file(path)
        info = probe(path)
    except OSError as error:
        return FileFacts(path, name, 0, error=f"cannot be opened ({error.strerror})")
    except UnwrittenError as error:
        return FileFacts(path, name, size, digest, error=_reason(error, path))
    sound, pictures, faults = None, None, []
    try:
        sound = read_audio_report(path)[1] if info.audio else None
    except UnwrittenError as error:
        faults.append(_reason(error, path))
    try:
        # Pictures in an audio item are one fault, whatever they are like.
        look = settings.look and info.video is not None and modality_from_name(path) != "audio"
        pictures = look_at_pictures(path, settings.pictures) if look else None
    except UnwrittenError as error:
        faults.append(_reason(error, path))
    return FileFacts(path, name, size, digest, info, sound, pictures, "; ".join(faults))


def _reason(error: UnwrittenError, path: Path) -> str:
    return str(error).removeprefix(f"{path}: ")


def check_file(facts: FileFacts, settings: AuditSettings) -> Iterator[Fault]:
    """Every fault of one file that shows without the others."""
    if facts.size == 0 and not facts.error:
        yield Fault(facts.name, "empty", "0 bytes")
        return
    if facts.error:
        yield Fault(facts.name, "unreadable", facts.error)
    for kind, check in _CHECKS.items():
        for detail in check(facts, settings):
            yield Fault(facts.name, kind, detail)


def _container(facts: FileFacts, settings: AuditSettings) -> Iterator[str]:
    promised = _PROMISED.get(facts.path.suffix.lower())
    if facts.info is None or promised is None:
        return
    found = list(dict.fromkeys(part.container for part in facts.info.parts))
    if found != [promised]:
        codecs = [stream.codec for stream in (facts.info.video, facts.info.audio) if stream]
        yield f"{'+'.join(found)} ({', '.join(codecs)}) under the name {facts.path.suffix}"


def _hidden_video(facts: FileFacts, settings: AuditSettings) -> Iterator[str]:
    if modality_from_name(facts.path) == "audio" and facts.info and facts.info.video:
        video = facts.info.video
        shown = sum(part.has_video for part in facts.sound.parts) if facts.sound else 1
        where = f" in {shown} of {len(facts.info.parts)} parts" if len(facts.info.parts) > 1 else ""
        yield (
            f"an audio-only item carries its pictures: {video.codec} {video.width_px}x{video.height_px}{where};"
            " hand on a re-encoded audio stream"
        )


def _hidden_sound(facts: FileFacts, settings: AuditSettings) -> Iterator[str]:
    if modality_from_name(facts.path) == "video" and facts.info and facts.info.audio:
        yield f"a muted item carries its sound: {facts.info.audio.codec}"


def _missing_stream(facts: FileFacts, settings: AuditSettings) -> Iterator[str]:
    if facts.info is None:
        return
    expected = modality_from_name(facts.path)
    if expected == "audio" and facts.info.audio is None:
        yield "an audio item without sound"
    if expected != "audio" and facts.info.video is None:
        yield "a video item without pictures"
    if expected is None and facts.info.video is not None and facts.info.audio is None:
        yield "an audio-and-video item without sound"


def _joined(facts: FileFacts, settings: AuditSettings) -> Iterator[str]:
    if facts.info is None or len(facts.info.parts) < 2:
        return
    kinds = "+".join(part.container for part in facts.info.parts)
    total_s = facts.sound.duration_s if facts.sound else facts.info.duration_s
    first_s = facts.sound.parts[0].duration_s if facts.sound else facts.info.first_part_s
    yield (
        f"{len(facts.info.parts)} files joined end to end ({kinds}), {total_s:.2f} s; a naive reader hears"
        f" {first_s:.2f} s ({first_s / total_s if total_s else 0.0:.0%})"
    )


def _mixed(facts: FileFacts, settings: AuditSettings) -> Iterator[str]:
    sounding = [part for part in facts.sound.parts if part.codec] if facts.sound else []
    kinds = list(dict.fromkeys((part.codec, part.sample_rate_hz, part.channels) for part in sounding))
    if len(kinds) > 1:
        yield "parts differ: " + ", ".join(f"{codec} {rate} Hz x{channels}" for codec, rate, channels in kinds)


def _truncated(facts: FileFacts, settings: AuditSettings) -> Iterator[str]:
    if facts.info and facts.info.parts[-1].truncated:
        yield "the last part goes on beyond the end of the file"
    if facts.sound:
        for number, part in enumerate(facts.sound.parts, start=1):
            where = f"part {number}: " if len(facts.sound.parts) > 1 else ""
            if part.lost_s > settings.lost_s:
                yield f"{where}{part.lost_s:.2f} s of sound lost ({part.fault or 'the file ends early'})"
            elif part.fault:
                yield f"{where}{part.fault}"
    if facts.pictures is not None and facts.info and facts.info.video and facts.info.video.duration_s:
        missing_s = facts.info.video.duration_s - facts.pictures.duration_s
        if missing_s > settings.lost_s + facts.pictures.period_s:
            yield f"{missing_s:.2f} s of pictures lost: the header promises {facts.info.video.duration_s:.2f} s"


def _sound_length(facts: FileFacts, settings: AuditSettings) -> Iterator[str]:
    sound_s, picture_s = facts.sound_length_s, facts.picture_length_s
    if sound_s is None or picture_s is None:
        return
    if abs(sound_s - picture_s) > settings.sound_tolerance_s:
        yield f"sound {sound_s:.3f} s, pictures {picture_s:.3f} s: {1000 * (sound_s - picture_s):+.0f} ms"


def _start(facts: FileFacts, settings: AuditSettings) -> Iterator[str]:
    if facts.sound and abs(facts.sound.offset_s) > settings.sound_tolerance_s:
        yield f"sound starts {1000 * facts.sound.offset_s:+.0f} ms after the first picture"


def _pixels(facts: FileFacts, settings: AuditSettings) -> Iterator[str]:
    video = facts.video
    if video is not None and abs(video.sample_aspect_ratio - 1.0) > 1e-3:
        ratio = Fraction(video.sample_aspect_ratio).limit_denominator(1000)
        too = 1.0 / video.sample_aspect_ratio
        yield (
            f"sample aspect ratio {ratio.numerator}:{ratio.denominator}; read as square pixels x comes out"
            f" {too:.2f} times too wide against y"
        )


def _rotation(facts: FileFacts, settings: AuditSettings) -> Iterator[str]:
    if facts.pictures is not None and facts.pictures.rotation:
        yield f"metadata turns the pictures by {facts.pictures.rotation} degrees; not every reader does"


def _rate(facts: FileFacts, settings: AuditSettings) -> Iterator[str]:
    video = facts.video
    if video is None:
        return
    if video.rate_hz:
        stated = Fraction(video.rate_hz).limit_denominator(100_000)
        if stated not in _STANDARD_RATES:
            ratio = f"{stated.numerator}/{stated.denominator} = {video.rate_hz:.4f}"
            yield f"the header states {ratio} frames a second, no camera's rate: time must come from the time stamps"
    if facts.pictures is None or len(facts.pictures.time_s) < 3:
        return
    steps = np.diff(facts.pictures.time_s)
    far = np.flatnonzero(steps > settings.uneven * facts.pictures.period_s + 0.002)
    if len(far):
        at = facts.pictures.time_s[far[0]]
        yield (
            f"uneven time: {len(far)} pictures last longer than {settings.uneven:g} frames, the longest"
            f" {1000 * steps.max():.0f} ms, the first at {at:.2f} s"
        )
    seen_hz = 1.0 / float(np.mean(steps))
    if video.rate_hz and abs(seen_hz - video.rate_hz) > 0.02 * video.rate_hz:
        yield f"the header states {video.rate_hz:.2f} frames a second, the time stamps {seen_hz:.2f}"


def _frame_count(facts: FileFacts, settings: AuditSettings) -> Iterator[str]:
    video = facts.video
    if video is not None and facts.pictures is not None and video.frames != len(facts.pictures.time_s):
        stated = f"states {video.frames} frames" if video.frames else "states no number of frames"
        yield f"the header {stated}, {len(facts.pictures.time_s)} decode"


def _size_change(facts: FileFacts, settings: AuditSettings) -> Iterator[str]:
    if facts.pictures is not None and len(facts.pictures.sizes_px) > 1:
        yield "the size changes: " + ", ".join(f"{width}x{height}" for width, height in facts.pictures.sizes_px)
    if facts.pictures is not None and len(facts.pictures.aspects) > 1:
        yield "the shape of pixels changes: " + ", ".join(f"{aspect:.3f}" for aspect in facts.pictures.aspects)


def _black(facts: FileFacts, settings: AuditSettings) -> Iterator[str]:
    if facts.pictures is None or not facts.pictures.black:
        return
    if len(facts.pictures.black) == len(facts.pictures.time_s):
        yield "every picture is black"
    else:
        yield f"{len(facts.pictures.black)} black: {_numbers(facts.pictures.black)}"


def _frozen(facts: FileFacts, settings: AuditSettings) -> Iterator[str]:
    if facts.pictures is not None and facts.pictures.frozen:
        count = len(facts.pictures.frozen)
        yield f"{count} repeat{'s' if count == 1 else ''} the one before: {_numbers(facts.pictures.frozen)}"


def _numbers(numbers: tuple[int, ...]) -> str:
    spans = [str(first) if first == last else f"{first}-{last}" for first, last in runs(numbers)]
    more = f" and {len(spans) - 5} more" if len(spans) > 5 else ""
    return f"frame{'s' if len(numbers) > 1 else ''} {', '.join(spans[:5])}{more}"


def _name(facts: FileFacts, settings: AuditSettings) -> Iterator[str]:
    awkward = [text for text, character in (("a colon", ":"), ("a space", " ")) if character in facts.path.name]
    if awkward:
        yield f"the name holds {' and '.join(awkward)}; some programs take it for an address"


_CHECKS: dict[str, Callable[[FileFacts, AuditSettings], Iterator[str]]] = {
    "container": _container,
    "hidden-video": _hidden_video,
    "hidden-sound": _hidden_sound,
    "missing-stream": _missing_stream,
    "joined": _joined,
    "mixed-sound": _mixed,
    "truncated": _truncated,
    "sound-length": _sound_length,
    "sound-start": _start,
    "pixel-shape": _pixels,
    "rotation": _rotation,
    "frame-rate": _rate,
    "frame-count": _frame_count,
    "frame-size": _size_change,
    "black-frames": _black,
    "frozen-frames": _frozen,
    "name": _name,
}
