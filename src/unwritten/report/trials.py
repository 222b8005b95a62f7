"""Trials for people: clips as a page that gives nothing away, and whose answers are scored as a reader's are.

A trial is one item in one modality. All trials lie on a ring in a fixed random order; participant p takes the p-th
stretch of it, so that twenty people with fifteen trials each answer 300 trials once each. Nobody meets an item twice as
long as there are as many items as trials to answer.
"""

from __future__ import annotations

import base64
import html
import json
import mimetypes
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unwritten.errors import UnwrittenError, UsageError
from unwritten.files import whole_file
from unwritten.report.html import data_uri, filled, static
from unwritten.types import MODALITIES, Clip, Modality, Recording

_SAMPLE_RATE_HZ = 32_000
_LONGEST_PX = 720  # of a picture's longer side: a phone shows no more, and a folder of trials stays portable
_CRF = 25

Baseline = Callable[[Clip, Modality], str]
"""What the baseline answers to a clip; empty when it gives no answer."""


@dataclass(frozen=True)
class TrialSettings:
    """What a participant is shown and told.

    Attributes:
        count: trials of one participant.
        modalities: what items are shown in.
        length_told: whether the number of letters is told.
        seed: of the order and of the files' names.
        one_file: put the media into the page itself: larger, but a single file to hand on.
        consent: what a participant agrees to, paragraphs apart by an empty line; None takes the page's own words.
    """

    count: int = 15
    modalities: tuple[Modality, ...] = MODALITIES
    length_told: bool = True
    seed: int = 0
    one_file: bool = False
    consent: str | None = None

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ValueError(f"count {self.count}: give 1 or more")
        if not self.modalities:
            raise ValueError("modalities: give at least one")


@dataclass(frozen=True)
class Trial:
    """One clip in one modality."""

    clip: Clip
    modality: Modality


def plan(clips: Sequence[Clip], settings: TrialSettings) -> list[Trial]:
    """All trials in the order of the ring: every item once in a round, in another modality in each round.

    Raises:
        UnwrittenError: no clip has one of the modalities.
    """
    rng = np.random.default_rng([settings.seed, 0])
    order = [clips[int(place)] for place in rng.permutation(len(clips))]
    trials = []
    rounds = max(len(settings.modalities), 1)
    for number in range(rounds):
        for place, clip in enumerate(order):
            modality = settings.modalities[(place + number) % rounds]
            if modality in clip.modalities:
                trials.append(Trial(clip, modality))
    if not trials:
        raise UnwrittenError(f"no clip has {' or '.join(settings.modalities)}; choose another --modality")
    return trials


def write_trials(
    clips: Sequence[Clip],
    folder: Path | str,
    settings: TrialSettings,
    baseline: Baseline | None = None,
    report: Callable[[int, int], None] | None = None,
) -> Path:
    """Write the page (last) and its media into a folder.

    Args:
        clips: items that lie in files.
        folder: where to; ``index.html`` and ``media/`` in it are replaced.
        settings: what is shown and told.
        baseline: answers for the last screen; None shows the truth alone.
        report: is told after each trial how many of how many are done.

    Raises:
        UsageError: fewer trials than one participant answers.
        UnwrittenError: a clip cannot be read, or the place cannot be written.
    """
    folder = Path(folder)
    trials = plan(clips, settings)
    if settings.count > len(trials):
        raise UsageError(f"--count {settings.count}: more than there are; give {len(trials)} or fewer")
    page, media = folder / "index.html", folder / "media"
    try:
        page.unlink(missing_ok=True)
        shutil.rmtree(media, ignore_errors=True)
    except OSError as error:
        raise UnwrittenError(f"{folder}: cannot be written ({error.strerror}); choose another folder") from error
    rng = np.random.default_rng([settings.seed, 1])
    names = [rng.bytes(8).hex() for _ in trials]
    rows = []
    for place, (trial, name) in enumerate(zip(trials, names, strict=True)):
        path = encode(trial, media / name)
        if settings.one_file:
            kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
            source = data_uri(kind, path.read_bytes())
            path.unlink()
        else:
            source = f"media/{path.name}"
        answer = "" if baseline is None else baseline(trial.clip, trial.modality)
        word = trial.clip.word or ""
        hidden = {"item": trial.clip.id, "truth": word, "baseline": answer}
        row: dict[str, Any] = {"src": source, "modality": trial.modality, "sealed": seal(hidden, name), "key": name}
        if settings.length_told and word:
            row["n"] = len(word)
        rows.append(row)
        if report is not None:
            report(place + 1, len(trials))
    if settings.one_file:
        shutil.rmtree(media, ignore_errors=True)
    with whole_file(page) as temporary:
        temporary.write_text(_page(rows, settings, baseline is not None), encoding="utf-8")
    return page


def encode(trial: Trial, stem: Path) -> Path:
    """Write a trial's media anew, with nothing but what its modality holds and a name that says nothing.

    Sound is decoded and written without the pictures that its container may hide; muted video has no sound track.

    Raises:
        UnwrittenError: the file cannot be read or the place cannot be written.
    """
    from unwritten.media import read_audio_report, write_audio, write_video

    source = trial.clip.files[trial.modality]
    if trial.modality == "audio":
        waveform, _ = read_audio_report(source, _SAMPLE_RATE_HZ)
        return write_audio(stem.with_suffix(".mp3"), waveform, _SAMPLE_RATE_HZ, bitrate=96_000)
    sound: NDArray[np.float32] | None = None
    if trial.modality == "av":
        waveform, heard = read_audio_report(source, _SAMPLE_RATE_HZ)
        sound = Recording(None, waveform, _SAMPLE_RATE_HZ, heard.offset_s).aligned_waveform()
    pictures = _Pictures(source)
    return write_video(
        stem.with_suffix(".mp4"),
        pictures,
        pictures.times_s(),
        waveform=sound,
        sample_rate_hz=_SAMPLE_RATE_HZ,
        crf=_CRF,
        threads=1,
    )


class _Pictures:
    """Frames in square pixels, none larger than a phone shows; times are read first, frames one at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def times_s(self) -> list[float]:
        from unwritten.media import open_video

        return [picture.time_s for picture in open_video(self.path)]

    def __iter__(self):  # type: ignore[no-untyped-def]
        import cv2

        from unwritten.media import read_frames

        size: tuple[int, int] | None = None
        for frame in read_frames(self.path):
            height, width = frame.image.shape[0], frame.image.shape[1] * frame.sample_aspect_ratio
            scale = min(1.0, _LONGEST_PX / max(height, width))
            # All frames in the size of the first, whatever a later part of a joined file says.
            size = size or (2 * round(width * scale / 2), 2 * round(height * scale / 2))
            yield cv2.resize(frame.image, size, interpolation=cv2.INTER_AREA)


def seal(content: Mapping[str, str], key: str) -> str:
    """Make text unreadable at a glance, so that looking at the page's source gives no answer away; it is no secret."""
    plain = json.dumps(dict(content), ensure_ascii=True).ljust(160).encode()
    pad = key.encode()
    return base64.b64encode(bytes(byte ^ pad[place % len(pad)] for place, byte in enumerate(plain))).decode()


_CONSENT = """You take part of your own free will and may stop at any moment by closing this page.

The page keeps the number or name that you give, your answers and how long each took. All of it stays on this device \
until you hand over the file at the end yourself; nothing is sent anywhere."""


_SHOWN: dict[tuple[Modality, ...], str] = {
    MODALITIES: "Some are sound alone: put your headphones on. Some are silent films. Some are both.",
    ("audio",): "There is nothing to see, you only hear the pen: put your headphones on.",
    ("video",): "They are silent films: there is nothing to hear.",
    ("av",): "They are films with sound: put your headphones on.",
    ("audio", "video"): "Some are sound alone: put your headphones on. The others are silent films.",
    ("audio", "av"): "Some are sound alone, the others films with sound: put your headphones on.",
    ("video", "av"): "Some are silent films, the others have sound: put your headphones on.",
}


def _page(rows: Sequence[Mapping[str, Any]], settings: TrialSettings, has_baseline: bool) -> str:
    consent = "".join(
        f"<p>{html.escape(' '.join(part.split()))}</p>"
        for part in (settings.consent or _CONSENT).split("\n\n")
        if part.strip()
    )
    told = "You are told how many letters the word has."
    if not settings.length_told:
        told = "You are not told how many letters the word has."
    elif not all("n" in row for row in rows):
        told = "You are not always told how many letters there are."
    data = {
        "trials": list(rows),
        "count": settings.count,
        "seed": settings.seed,
        "baseline": has_baseline,
        "people": -(-len(rows) // settings.count),
    }
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")
    return filled(
        "human.html",
        style=static("human.css"),
        script=static("human.js"),
        data=text,
        consent=consent,
        told=told,
        shown=_SHOWN[tuple(m for m in MODALITIES if m in settings.modalities)],
        count=settings.count,
        people=data["people"],
    )
