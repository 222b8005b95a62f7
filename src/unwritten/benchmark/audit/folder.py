"""What is wrong with a copy of the benchmark, or with any folder of clips, file by file."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from unwritten.benchmark.audit.file import AuditSettings, Fault, FileFacts, check_file, gather
from unwritten.benchmark.letters import find_clips
from unwritten.errors import UnwrittenError
from unwritten.media.names import AUDIO_SUFFIXES, VIDEO_SUFFIXES
from unwritten.types import MODALITIES, Clip, Modality
from unwritten.wording import counted
from unwritten.words.lists import letters_of

__all__ = ["AuditSettings", "Fault", "audit", "media_files"]

# A whole clip is read for one fault; below so many files the start of processes costs more than it saves.
_PARALLEL_FROM = 4


def audit(
    root: Path | str,
    settings: AuditSettings | None = None,
    *,
    workers: int | None = None,
    report: Callable[[int, int], None] | None = None,
) -> list[Fault]:
    """List the faults of every clip below a folder, ordered by file and kind.

    Args:
        root: the folder.
        settings: what counts as a fault; the defaults when None.
        workers: processes; as many as there are cores when None.
        report: is told after each file how many of how many are done.

    Raises:
        UnwrittenError: the folder is missing or holds no media file.
    """
    root = Path(root)
    settings = settings or AuditSettings()
    files = media_files(root)
    facts: list[FileFacts] = []
    for each in _gather_all(root, files, settings, workers):
        facts.append(each)
        if report is not None:
            report(len(facts), len(files))
    faults = [fault for each in facts for fault in check_file(each, settings)]
    faults += _duplicates(facts)
    faults += _unlike_the_rest(facts)
    faults += _by_clip(root, facts, settings)
    return sorted(faults, key=lambda fault: (fault.file, fault.kind, fault.detail))


def media_files(root: Path | str) -> list[Path]:
    """Files below ``root`` whose suffix is that of sound or video, ordered; hidden files and folders are left out.

    Raises:
        UnwrittenError: the folder is missing or holds no such file.
    """
    root = Path(root)
    if not root.is_dir():
        raise UnwrittenError(f"{root}: no such folder; give the folder that holds the clips")
    found = []
    for name, folders, files in os.walk(root):
        folders[:] = sorted(folder for folder in folders if not folder.startswith("."))
        paths = (Path(name, file) for file in files if not file.startswith("."))
        found += [path for path in paths if path.suffix.lower() in AUDIO_SUFFIXES | VIDEO_SUFFIXES]
    if not found:
        raise UnwrittenError(f"{root}: holds no sound or video file; give the folder that holds the clips")
    return sorted(found)


def _gather_all(root: Path, files: Sequence[Path], settings: AuditSettings, workers: int | None) -> Iterator[FileFacts]:
    names = [path.relative_to(root).as_posix() for path in files]
    workers = min(workers or os.cpu_count() or 1, len(files))
    task = partial(gather, settings=settings)
    if workers < 2 or len(files) < _PARALLEL_FROM:
        yield from map(task, files, names)
        return
    # "spawn" because a decoder's threads do not survive a fork.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        try:
            yield from pool.map(task, files, names)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _duplicates(facts: Iterable[FileFacts]) -> Iterator[Fault]:
    by_digest: defaultdict[str, list[FileFacts]] = defaultdict(list)
    for each in facts:
        if each.digest:
            by_digest[each.digest].append(each)
    for same in by_digest.values():
        for each in same if len(same) > 1 else ():
            others = [other.name for other in same if other is not each]
            more = f" and {len(others) - 1} more" if len(others) > 1 else ""
            yield Fault(each.name, "duplicate", f"byte for byte the same as {others[0]}{more}")


def _unlike_the_rest(facts: Sequence[FileFacts]) -> Iterator[Fault]:
    """Frame rates and sizes that few files have: a reader set up for the rest gets these wrong."""
    with_video = [(each, each.video) for each in facts if each.video]
    rates = Counter(round(video.rate_hz, 2) for _, video in with_video if video.rate_hz)
    sizes = Counter((video.width_px, video.height_px) for _, video in with_video)
    for each, video in with_video:
        usual = rates.most_common(1)[0][0] if rates else 0.0
        if video.rate_hz and round(video.rate_hz, 2) != usual:
            detail = f"{video.rate_hz:.2f} frames a second; {rates[usual]} of {rates.total()} files have {usual:g}"
            yield Fault(each.name, "frame-rate", detail)
        width, height = sizes.most_common(1)[0][0]
        if (video.width_px, video.height_px) != (width, height):
            detail = (
                f"{video.width_px}x{video.height_px}; {sizes[(width, height)]} of {sizes.total()} files have"
                f" {width}x{height}"
            )
            yield Fault(each.name, "frame-size", detail)


def _by_clip(root: Path, facts: Sequence[FileFacts], settings: AuditSettings) -> Iterator[Fault]:
    """Faults that show when the files of one clip, or its word, are known."""
    by_path = {each.path: each for each in facts}
    try:
        clips = find_clips(root)
    except UnwrittenError as error:
        reason = str(error).removeprefix(f"{root}: ")
        yield Fault(".", "names", f"no clips can be told from the names: {reason}")
        return
    for clip in clips:
        known = {
            modality: by_path[clip.files[modality]] for modality in clip.modalities if clip.files[modality] in by_path
        }
        yield from _missing_modalities(clip, known)
        yield from _lengths(known, settings)
        for each in known.values():
            yield from _shots(clip, each)


def _missing_modalities(clip: Clip, known: Mapping[Modality, FileFacts]) -> Iterator[Fault]:
    missing = [modality for modality in MODALITIES if modality not in known]
    if known and missing and clip.source in ("letter", "synthetic", "live"):
        first = next(iter(known.values()))
        yield Fault(first.name, "missing-file", f"{clip.style} {clip.word!r} has no {' and no '.join(missing)} file")


def _lengths(known: Mapping[Modality, FileFacts], settings: AuditSettings) -> Iterator[Fault]:
    """The three files of a clip should last equally long; joined sound drifts from the pictures."""
    pictures = known.get("video") or known.get("av")
    if pictures is None or pictures.picture_length_s is None:
        return
    picture_s = pictures.picture_length_s
    sound = known.get("audio")
    if sound is not None and sound.sound_length_s is not None:
        difference_s = sound.sound_length_s - picture_s
        if abs(difference_s) > settings.sound_tolerance_s:
            detail = (
                f"sound {sound.sound_length_s:.3f} s, pictures of {pictures.path.name} {picture_s:.3f} s:"
                f" {1000 * difference_s:+.0f} ms"
            )
            yield Fault(sound.name, "sound-length", detail)
    both = known.get("av")
    if both is not None and both is not pictures and both.pictures is not None and pictures.pictures is not None:
        counts = len(both.pictures.time_s), len(pictures.pictures.time_s)
        if counts[0] != counts[1]:
            yield Fault(both.name, "frame-count", f"{counts[0]} pictures, {pictures.path.name} has {counts[1]}")


def _shots(clip: Clip, facts: FileFacts) -> Iterator[Fault]:
    if facts.pictures is None or not clip.word or facts.path != clip.files.get("video", clip.files.get("av")):
        return
    expected = len(letters_of(clip.word)) if clip.source == "synthetic" else 1
    seen = len(facts.pictures.first_of_shot)
    if seen != expected and clip.source in ("letter", "synthetic", "live"):
        starts = ", ".join(f"{facts.pictures.time_s[index]:.2f}" for index in facts.pictures.first_of_shot[:12])
        what = counted(expected, "letter") if clip.source == "synthetic" else "one take"
        detail = f"{counted(seen, 'shot')} (from {starts} s) for {what} of {clip.word!r}"
        yield Fault(facts.name, "shot-count", detail)
