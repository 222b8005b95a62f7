"""Words made of letter clips: plan them, prepare each letter once, join, and write the manifest last.

Everything is kept below the output folder: prepared letters in ``.letters``, words in ``words/<style>``, the manifest
beside them. Every file is whole or not there, so the same call goes on where an interrupted one stopped.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import random
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

from unwritten.benchmark.letters import search
from unwritten.benchmark.manifest import CSV, Item, digest_clip, read_manifest, write_manifest
from unwritten.benchmark.synthesis import published
from unwritten.benchmark.synthesis import words as clean
from unwritten.benchmark.synthesis.letters import Letter, choose_canvas, is_usable, prepare
from unwritten.benchmark.synthesis.settings import SynthesisSettings
from unwritten.errors import UnwrittenError
from unwritten.files import readable, whole_file
from unwritten.types import MODALITIES, Clip, Modality
from unwritten.wording import counted
from unwritten.words.lists import item_settings, letters_of, word_list

__all__ = ["SynthesisSettings", "Word", "plan", "synthesize"]

_HIDDEN = ".letters"
_NOTE = "made-of.json"
# What may differ between two runs into one folder without changing any file.
_FREE_SETTINGS = ("styles", "count", "takes")

Result = TypeVar("Result")
Report = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Word:
    """A word to be made.

    Attributes:
        text: the word, or several with spaces between them.
        style: the style of all its letters.
        take: 1 for the first version, 2 for the second.
        letters: its letter clips in order.
        ends_word: for each letter, whether a word of a phrase ends there and another follows.
    """

    text: str
    style: str
    take: int
    letters: tuple[Clip, ...]
    ends_word: tuple[bool, ...]

    def __post_init__(self) -> None:
        styles = {clip.style for clip in self.letters}
        if styles != {self.style}:
            raise UnwrittenError(f"{self.text}: asks for letters of {', '.join(sorted(styles))}; a word has one style")

    @property
    def id(self) -> str:
        """Where it lies below the output folder, without suffix and mark."""
        folder = self.style if self.text == self.text.lower() else f"{self.style}-capitals"
        return f"words/{folder}/{self.text}" + (f".take{self.take}" if self.take > 1 else "")

    def paths(self, out: Path) -> dict[Modality, Path]:
        """Its three files below ``out``."""
        stem = out / self.id
        return {
            "audio": stem.with_name(f"{stem.name}.mp3"),
            "video": stem.with_name(f"{stem.name}_muted.mp4"),
            "av": stem.with_name(f"{stem.name}.mp4"),
        }


def plan(
    clips: Sequence[Clip], settings: SynthesisSettings, words: Sequence[str] | None = None
) -> tuple[list[Word], list[str]]:
    """Which words are made of which clips, and one line on what is left out for each style.

    Args:
        clips: letter clips; others are ignored.
        settings: styles, number of words, takes, case.
        words: words or phrases; the list of benchmark words when None.

    Raises:
        UnwrittenError: a style has no letter clips, or no word can be made.
    """
    letters = _by_letter(clips, settings)
    missing = [style for style in settings.styles if style not in letters]
    if missing:
        there = ", ".join(sorted(letters)) or "none at all"
        raise UnwrittenError(f"{missing[0]}: no letter clips of this style with sound and pictures; there are {there}")
    wanted = list(words) if words is not None else list(word_list(settings=item_settings()))
    if settings.upper_case:
        wanted = [word.upper() for word in wanted]
    planned: list[Word] = []
    notes: list[str] = []
    for style in settings.styles or tuple(sorted(letters)):
        have = letters[style]
        covered = [word for word in wanted if letters_of(word) and all(letter in have for letter in letters_of(word))]
        if words is not None and len(covered) < len(wanted):
            lacking = sorted({letter for word in wanted for letter in letters_of(word) if letter not in have})
            left_out = f"{len(wanted) - len(covered):,} of {counted(len(wanted), 'word')} left out"
            notes.append(f"{style}: {left_out}, no clip of {' '.join(lacking)}")
        for word in covered[: settings.count or None]:
            planned += _takes(word, style, have, settings)
    if not planned:
        raise UnwrittenError("no word can be made: no style has clips of all its letters; give other words or letters")
    return planned, notes


def _by_letter(clips: Sequence[Clip], settings: SynthesisSettings) -> dict[str, dict[str, list[Clip]]]:
    """Usable clips by style and letter, each letter's takes ordered by id."""
    found: defaultdict[str, defaultdict[str, list[Clip]]] = defaultdict(lambda: defaultdict(list))
    for clip in sorted(clips, key=lambda clip: clip.id):
        whole = clip.modalities == MODALITIES if settings.mode == "published" else is_usable(clip)
        if clip.source == "letter" and clip.word and whole and (not settings.styles or clip.style in settings.styles):
            found[clip.style][clip.word].append(clip)
    return {style: dict(letters) for style, letters in found.items()}


def _takes(text: str, style: str, have: Mapping[str, Sequence[Clip]], settings: SynthesisSettings) -> Iterator[Word]:
    spelled = [letters_of(word) for word in text.split()]
    letters = [letter for word in spelled for letter in word]
    ends = set(itertools.accumulate(len(word) for word in spelled[:-1]))
    ends_word = tuple(index + 1 in ends for index in range(len(letters)))
    seen: set[tuple[str, ...]] = set()
    for attempt in range(20 * settings.takes):
        draw = random.Random(f"{settings.seed}/{style}/{text}/{attempt}")
        chosen = tuple(draw.choice(have[letter]) for letter in letters)
        key = tuple(clip.id for clip in chosen)
        if key not in seen:
            seen.add(key)
            yield Word(text, style, len(seen), chosen, ends_word)
        if len(seen) == settings.takes or all(len(have[letter]) == 1 for letter in letters):
            return


@dataclass(frozen=True)
class _Job:
    """A word with prepared letters, for a worker process."""

    word: Word
    out: Path
    steps: tuple[clean.Step, ...] = ()
    sources: tuple[published.Source, ...] = ()

    @property
    def size(self) -> int:
        return clean.size_of(self.steps) if self.steps else published.size_of(self.sources)

    @property
    def is_done(self) -> bool:
        return all(path.is_file() for path in self.word.paths(self.out).values())


def synthesize(
    primitives: Path | str,
    out: Path | str,
    settings: SynthesisSettings | None = None,
    words: Sequence[str] | None = None,
    *,
    workers: int | None = None,
    report: Report | None = None,
    announce: Callable[[str], None] | None = None,
) -> Path:
    """Make words of the letter clips below ``primitives`` and return the path of the manifest.

    Args:
        primitives: folder with letter clips, found by name or manifest.
        out: folder for the words; words that it already holds are kept.
        settings: how; the defaults when None.
        words: words or phrases; when None the benchmark's words that the letters cover.
        workers: processes; as many as there are cores when None.
        report: is told the stage, how many are done and how many there are.
        announce: is told, in lines for a person, what is left out and, before words are made, the disk they will take.

    Raises:
        UnwrittenError: no letter clips, no word to make, a clip that does not decode, too little disk, a folder that
            holds words made in another way or cannot be written.
    """
    primitives, out = Path(primitives), Path(out)
    settings = settings or SynthesisSettings()
    report = report or (lambda stage, done, total: None)
    announce = announce or (lambda line: None)
    if out.resolve() == primitives.resolve():
        raise UnwrittenError(f"{out}: holds the letter clips themselves; choose another folder for the words")
    clips = [clip for clip in search(primitives).clips if clip.source == "letter"]
    if not clips:
        raise UnwrittenError(f"{primitives}: holds no letter clips; their names read like a-1.mp4 or b-2c_muted.mp4")
    planned, notes = plan(clips, settings, words)
    for line in notes:
        announce(line)
    _check_folder(out, settings)
    with _pool(workers, len(planned)) as run:
        jobs = _prepare(planned, clips, out, settings, run, report)
        _note_sources(out, settings, jobs)
        _announce_size(jobs, out, announce)
        digests = []
        for digest in run(_make, jobs):
            digests.append(digest)
            report("words", len(digests), len(jobs))
    items = [_item(job, digest) for job, digest in zip(jobs, digests, strict=True)]
    return write_manifest(out, [*_items_of_earlier_runs(out, {item.clip.id for item in items}), *items])


def _prepare(
    planned: Sequence[Word],
    clips: Sequence[Clip],
    out: Path,
    settings: SynthesisSettings,
    run: Callable[..., Iterator[Any]],
    report: Report,
) -> list[_Job]:
    by_style: defaultdict[str, dict[str, Clip]] = defaultdict(dict)
    for word in planned:
        by_style[word.style].update({clip.id: clip for clip in word.letters})
    total = sum(map(len, by_style.values()))
    if settings.mode == "published":
        sources: dict[str, published.Source] = {}
        for style, used in by_style.items():
            ready = published.prepare_style(list(used.values()), out / _HIDDEN / "published" / style, run)
            sources |= dict(zip(used, ready, strict=True))
            report("letters", len(sources), total)
        return [_Job(word, out, sources=tuple(sources[clip.id] for clip in word.letters)) for word in planned]
    tail_s = max(settings.pause_s, settings.gap_s)
    tasks = []
    for style, used in by_style.items():
        # All letters of the style decide, so that a later run for other words comes to the same.
        canvas = choose_canvas([clip for clip in clips if clip.style == style and is_usable(clip)], settings)
        tasks += [(clip, _prepared_path(clip, out), canvas) for clip in used.values()]
    letters: dict[str, Letter] = {}
    for clip_id, letter in run(partial(_prepare_one, settings=settings, tail_s=tail_s), tasks):
        letters[clip_id] = letter
        report("letters", len(letters), total)
    return [_Job(word, out, steps=_steps(word, letters, settings)) for word in planned]


def _prepared_path(clip: Clip, out: Path) -> Path:
    tag = hashlib.sha256(clip.id.encode()).hexdigest()[:8]
    return out / _HIDDEN / "clean" / clip.style / f"{clip.word}.{tag}.mp4"


def _prepare_one(task: tuple[Clip, Path, Any], settings: SynthesisSettings, tail_s: float) -> tuple[str, Letter]:
    clip, film, canvas = task
    return clip.id, prepare(clip, film, canvas, settings, tail_s)


def _steps(word: Word, letters: Mapping[str, Letter], settings: SynthesisSettings) -> tuple[clean.Step, ...]:
    steps = []
    for index, (clip, ends_word) in enumerate(zip(word.letters, word.ends_word, strict=True)):
        letter = letters[clip.id]
        pause_s = settings.gap_s if ends_word else settings.pause_s
        is_last = index == len(word.letters) - 1
        steps.append(clean.Step(letter, 0 if is_last else min(letter.tail_frames, round(pause_s * letter.rate))))
    return tuple(steps)


def _make(job: _Job) -> str:
    """Write a word's files and return the digest of its clip."""
    paths = job.word.paths(job.out)
    if job.steps:
        clean.write_word(job.steps, paths)
    else:
        published.write_word(job.sources, paths)
    return digest_clip(_clip(job.word, paths))


def _clip(word: Word, paths: Mapping[Modality, Path]) -> Clip:
    groups = tuple(clip.letter_clips[0] if clip.letter_clips else clip.id for clip in word.letters)
    writers = {clip.writer for clip in word.letters}
    writer = writers.pop() if len(writers) == 1 else word.style
    return Clip(word.id, dict(paths), word.style, word.text, "synthetic", writer, groups)


def _item(job: _Job, digest: str) -> Item:
    times_s = clean.letter_times_s(job.steps) if job.steps else published.letter_times_s(job.sources)
    return Item(_clip(job.word, job.word.paths(job.out)), times_s, times_s[-1][1], digest)


def _items_of_earlier_runs(out: Path, made: set[str]) -> list[Item]:
    if not (out / CSV).is_file():
        return []
    return [item for item in read_manifest(out) if item.clip.id not in made]


def _check_folder(out: Path, settings: SynthesisSettings) -> None:
    """Refuse a folder of words made in another way, and clear what an interrupted run left half-made."""
    note = out / _HIDDEN / _NOTE
    if note.is_file():
        earlier = json.loads(note.read_text(encoding="utf-8"))["settings"]
        differing = [key for key, value in _fixed(settings).items() if earlier.get(key) != value]
        if differing:
            key, asked = differing[0], _fixed(settings)[differing[0]]
            raise UnwrittenError(
                f"{out}: holds words made with {key}={earlier.get(key)}, not {asked}; choose another folder"
            )
    for folder in (out / _HIDDEN, out / "words"):
        for stale in folder.rglob(".*.part.*") if folder.is_dir() else ():
            stale.unlink(missing_ok=True)


def _note_sources(out: Path, settings: SynthesisSettings, jobs: Sequence[_Job]) -> None:
    """Remember what the folder's words are made of; refuse when letters have changed since."""
    note = out / _HIDDEN / _NOTE
    earlier = json.loads(note.read_text(encoding="utf-8"))["letters"] if note.is_file() else {}
    letters: dict[str, str] = {}
    for job in jobs:
        ready: Sequence[Letter | published.Source] = [step.letter for step in job.steps] or job.sources
        letters |= {clip.id: each.source for clip, each in zip(job.word.letters, ready, strict=True)}
    changed = sorted(name for name, source in letters.items() if earlier.get(name, source) != source)
    if changed:
        raise UnwrittenError(f"{out}: holds words made of another {changed[0]}; choose another folder, or remove it")
    with whole_file(note) as temporary:
        text = json.dumps({"settings": _fixed(settings), "letters": earlier | letters}, indent=1)
        temporary.write_text(text, encoding="utf-8")


def _fixed(settings: SynthesisSettings) -> dict[str, Any]:
    return {key: value for key, value in asdict(settings).items() if key not in _FREE_SETTINGS}


def _announce_size(jobs: Sequence[_Job], out: Path, announce: Callable[[str], None]) -> None:
    left = [job for job in jobs if not job.is_done]
    size, free = sum(job.size for job in left), shutil.disk_usage(out).free
    styles = len({job.word.style for job in jobs})
    announce(
        f"{out}: {counted(len(jobs), 'word')} of {counted(styles, 'style')}, {3 * len(jobs):,} files;"
        f" {len(jobs) - len(left):,} done, the rest takes about {readable(size)} ({readable(free)} free)"
    )
    if size > free:
        raise UnwrittenError(f"{out}: needs {readable(size)} and has {readable(free)} free; ask for fewer words")


@contextmanager
def _pool(workers: int | None, tasks: int) -> Iterator[Callable[..., Iterator[Any]]]:
    """A function like ``map`` that works in processes, or in this one when a single worker is asked for."""
    workers = min(workers or os.cpu_count() or 1, max(tasks, 1))
    if workers == 1:
        yield map
        return
    # "spawn" because an encoder's threads do not survive a fork.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        try:
            yield lambda function, items: pool.map(function, items, chunksize=max(1, min(16, len(items) // workers)))
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
