"""Readers that read nothing new: what people answered, and what others published."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from unwritten.errors import UnwrittenError
from unwritten.readers.base import Reader
from unwritten.types import MODALITIES, Answer, Clip, Modality

PUBLISHED_TABLE = Path(__file__).with_name("published.csv")


@dataclass(frozen=True)
class PublishedScore:
    """One number of a published table; what stands there is all that is known, so that it has no interval.

    Attributes:
        reader: ``published-`` and the name, e.g. ``published-gpt-4o``.
        benchmark: ``unwritten/synthetic`` (the main table) or ``unwritten/live``.
        modality: what was shown.
        style: a style, or ``all``.
        ola: fraction in [0, 1].
    """

    reader: str
    benchmark: str
    modality: Modality
    style: str
    ola: float


def published_scores(readers: Sequence[str] = ()) -> list[PublishedScore]:
    """The published tables of the benchmark's paper; ``readers`` keeps only these.

    Raises:
        UnwrittenError: a name is not among the published ones.
    """
    with PUBLISHED_TABLE.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(line for line in stream if not line.startswith("#")))
    scores = [
        PublishedScore(row["reader"], row["benchmark"], modality, row["style"], round(float(row[modality]) / 100, 6))
        for row in rows
        for modality in MODALITIES
        if row[modality]
    ]
    known = list(dict.fromkeys(score.reader for score in scores))
    for name in readers:
        if name not in known:
            raise UnwrittenError(f"{name}: nothing of this name was published; known are {', '.join(known)}")
    return [score for score in scores if not readers or score.reader in readers]


class RecordedReader(Reader):
    """Answers from a CSV file, as people or another program gave them.

    Args:
        path: columns ``item,modality,answer`` and, where known, ``person,seconds``; further columns are ignored.
        name: the reader's name in tables.
        answers: the answers, when the file was read already.

    Raises:
        UnwrittenError: the file cannot be read, lacks a column, names an unknown modality or holds no answer.
    """

    def __init__(self, path: Path | str, name: str = "recorded", answers: Sequence[Answer] | None = None) -> None:
        self.path = Path(path)
        self.name = name
        self._answers = list(read_recorded(self.path, name)) if answers is None else list(answers)

    def modalities(self) -> tuple[Modality, ...]:
        """Those that occur in the file."""
        given = {answer.modality for answer in self._answers}
        return tuple(modality for modality in MODALITIES if modality in given)

    def asked(self, clips: Sequence[Clip], modality: Modality) -> list[Clip]:
        """The clips that somebody was asked; the others are no failure."""
        items = {answer.item for answer in self._answers if answer.modality == modality}
        return [clip for clip in clips if clip.id in items]

    def read(self, clips: Sequence[Clip], modality: Modality) -> Iterator[Answer]:
        """Yield the recorded answers to these clips."""
        wanted = {clip.id for clip in clips}
        yield from (a for a in self._answers if a.modality == modality and a.item in wanted)

    def unknown_items(self, clips: Sequence[Clip]) -> tuple[str, ...]:
        """Items in the file that are none of these clips."""
        known = {clip.id for clip in clips}
        return tuple(dict.fromkeys(answer.item for answer in self._answers if answer.item not in known))


def read_recorded(path: Path | str, name: str) -> Iterator[Answer]:
    """Yield the answers of a CSV file; ``details`` keeps the person.

    Raises:
        UnwrittenError: see :class:`RecordedReader`.
    """
    path = Path(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream)
            columns = [column.strip() for column in reader.fieldnames or ()]
            reader.fieldnames = columns
            lacking = [column for column in ("item", "modality", "answer") if column not in columns]
            if lacking:
                raise UnwrittenError(f"{path}: no column {lacking[0]!r}; it needs item,modality,answer")
            rows = list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UnwrittenError(f"{path}: cannot be read ({reason}); give a CSV file item,modality,answer") from error
    if not rows:
        raise UnwrittenError(f"{path}: holds no answer; write one line for each")
    for number, row in enumerate(rows, start=2):
        modality = (row["modality"] or "").strip()
        if modality not in MODALITIES:
            raise UnwrittenError(f"{path}: line {number}: {modality!r} is no modality; use {', '.join(MODALITIES)}")
        raw = row["answer"] or ""
        seconds = (row.get("seconds") or "").strip()
        try:
            seconds_taken = float(seconds) if seconds else 0.0
        except ValueError as error:
            raise UnwrittenError(f"{path}: line {number}: {seconds!r} is no number of seconds") from error
        person = (row.get("person") or "").strip()
        word = raw.strip().lower()
        yield Answer(
            (row["item"] or "").strip(),
            name,
            modality,
            raw=raw,
            word=word,
            state="answered" if word else "empty",
            seconds=seconds_taken,
            details={"person": person} if person else {},
        )


def recorded_readers(path: Path | str, name: str = "recorded") -> list[RecordedReader]:
    """One reader for the file, or one per person (``NAME-PERSON``) where people answered the same items.

    A score is a mean over items, each answered once. Twenty people who shared 300 items are one reader; two who
    answered the same items are two.
    """
    answers = list(read_recorded(path, name))
    by_person: dict[str, list[Answer]] = {}
    for answer in answers:
        by_person.setdefault(str(answer.details.get("person", "")), []).append(answer)
    asked = Counter(pair for own in by_person.values() for pair in {(answer.item, answer.modality) for answer in own})
    if max(asked.values()) < 2:
        return [RecordedReader(path, name, answers)]
    readers = []
    for person in sorted(by_person):
        own = f"{name}-{person or 'unnamed'}"
        readers.append(RecordedReader(path, own, [replace(answer, reader=own) for answer in by_person[person]]))
    return readers
