"""At which rung a multimodal model recovers: each gives it more of the solution, so that its own failure shows.

A reader *recovers* at the first rung at which it reads better than blind guessing: the lower 95 % limit of its OLA
minus that of the best reader without any input, paired item by item, lies above 0. Where no such reader was asked the
same items, the rung before stands in its place, and nothing can be said of the first rung. The limits are of each
comparison alone.

After PuzzleVQA (Y. K. Chia et al., arXiv 2403.13315).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from unwritten.scoring.compare import Comparison, compare_pairs
from unwritten.scoring.intervals import IntervalSettings
from unwritten.scoring.scores import Asked, item_scores
from unwritten.scoring.text import format_table, gained, percent, texts
from unwritten.types import MODALITIES

RUNGS = ("media", "ink", "segmentation", "strokes", "letters")
"""The clip alone; its ink; which part is which letter; the strokes in words; the letters that the baseline reads."""


@dataclass(frozen=True)
class Place:
    """Where a reader stands on a ladder.

    Attributes:
        base: the reader that is given the clip alone, whether it was asked or not.
        given: the rung of a multimodal model, or the truth that the baseline was handed.
        model: True for a multimodal model's, whose rungs each hold those before.
    """

    base: str
    given: str
    model: bool


@dataclass(frozen=True)
class Rung:
    """One rung of a reader's ladder.

    Attributes:
        reader: its name there.
        given: see ``RUNGS``.
        n: items.
        ola: over them.
        gain: against the rung before, on common items; None for the first.
        over_blind: against the best reader without any input; None where none was asked the same items.
    """

    reader: str
    given: str
    n: int
    ola: float
    gain: Comparison | None
    over_blind: Comparison | None


@dataclass(frozen=True)
class Ladder(Asked):
    """The rungs of one reader on one benchmark in one modality.

    Attributes:
        reader: that is given the clip alone.
        benchmark, protocol, modality: what it read.
        rungs: from the one that gives least.
        recovers: what the first rung gives at which it recovers; empty when it does at none.
    """

    rungs: list[Rung]
    recovers: str


def places(table: pd.DataFrame) -> dict[str, Place]:
    """Where each reader of an answers table stands that stands on a ladder.

    A multimodal model is named after what it is given, ``gpt-4o+ink``; its answers say so in ``details``, as those of a
    baseline that was handed a truth do. ``@RUN``, which tells the readers of several runs apart, stays as it is.
    """
    found: dict[str, Place] = {}
    readers = set(map(str, table["reader"]))
    for reader, rows in table.groupby("reader", sort=False):
        name = str(reader)
        for details in (json.loads(text or "{}") for text in rows["details"]):
            if details.get("oracle_base"):
                found[name] = Place(_of_run(str(details["oracle_base"]), name, readers), details["oracle"], False)
            elif details.get("rung"):
                given = str(details["rung"])
                alone = name if given == RUNGS[0] else name.replace(f"+{given}", "", 1)
                found[name] = Place(_of_run(alone.partition("@")[0], alone, readers), given, True)
            else:
                continue
            break
    return found


def _of_run(base: str, reader: str, readers: Iterable[str]) -> str:
    """The base as it is called in this table: in the run of the reader, else where there is one alone."""
    _, at, run = reader.partition("@")
    own = f"{base}{at}{run}"
    return own if own in readers or not at else base


def in_order(rungs: Iterable[tuple[str, Place]]) -> list[tuple[str, Place]]:
    """Rungs from the one that gives least; those that are nobody's but the user's come last."""
    return sorted(rungs, key=lambda rung: RUNGS.index(rung[1].given) if rung[1].given in RUNGS else len(RUNGS))


def ladders(table: pd.DataFrame, settings: IntervalSettings | None = None) -> list[Ladder]:
    """The ladders of all multimodal models that were asked at two rungs or more.

    Args:
        table: cleaned answers.
        settings: of the intervals.
    """
    stand = {reader: place for reader, place in places(table).items() if place.model}
    if len(stand) < 2:
        return []
    scored = item_scores(table)
    found = []
    for (benchmark, protocol), rows in scored.groupby(["benchmark", "protocol"], sort=False):
        for modality in MODALITIES:
            own = rows[rows["modality"] == modality]
            asked = {reader: stand[reader] for reader in map(str, own["reader"].unique()) if reader in stand}
            for base in dict.fromkeys(place.base for place in asked.values()):
                steps = in_order((r, p) for r, p in asked.items() if p.base == base)
                if len(steps) > 1:
                    rungs = climb(own, [(reader, place.given) for reader, place in steps], True, settings)
                    found.append(Ladder(base, str(benchmark), str(protocol), modality, rungs, recovers(rungs)))
    return found


def climb(
    table: pd.DataFrame,
    steps: Sequence[tuple[str, str]],
    each_holds_those_before: bool,
    settings: IntervalSettings | None = None,
) -> list[Rung]:
    """Every rung against the one before and against blind guessing.

    Args:
        table: answers of one benchmark, protocol and modality.
        steps: (reader, what it is given), from the one that is given least.
        each_holds_those_before: False compares each with the first instead of the one before.
        settings: of the intervals.
    """
    items = {str(reader): set(rows["item"]) for reader, rows in table.groupby("reader", sort=False)}
    means = table.groupby("reader", sort=False)["ola"].mean()
    blind = sorted((r for r in items if r.startswith("blind-")), key=lambda reader: -float(means[reader]))
    rungs = []
    for place, (reader, given) in enumerate(steps):
        before = steps[place - 1 if each_holds_those_before else 0][0]
        floor = next((other for other in blind if items[other] >= items[reader]), None)
        rungs.append(
            Rung(
                reader,
                given,
                len(items[reader]),
                float(means[reader]),
                _against(table, reader, before, settings) if place and items[reader] & items[before] else None,
                _against(table, reader, floor, settings) if floor else None,
            )
        )
    return rungs


def _against(table: pd.DataFrame, first: str, second: str, settings: IntervalSettings | None) -> Comparison:
    return compare_pairs(table, [(first, second)], settings)[0]


def recovers(rungs: Sequence[Rung]) -> str:
    """What the first rung gives at which a reader recovers; empty when it does at none."""
    for rung in rungs:
        against = rung.over_blind or rung.gain
        if against is not None and against.low > 0:
            return rung.given
    return ""


def verdict(ladder: Ladder) -> str:
    """The result in one sentence."""
    where = f"{ladder.reader}, {ladder.modality}, {ladder.benchmark}"
    if ladder.recovers == RUNGS[0]:
        return f"{where}: reads from the clip alone."
    return f"{where}: recovers at {ladder.recovers}." if ladder.recovers else f"{where}: recovers at no rung."


def format_ladders(found: Sequence[Ladder]) -> str:
    """The table, and a line for each ladder that says where its reader recovers; empty without ladders."""
    if not found:
        return ""
    rows = [
        [
            *texts(ladder, "reader", "modality"),
            *texts(rung, "given", "n"),
            percent(rung.ola),
            *gained(rung.gain),
            *gained(rung.over_blind),
            "here" if rung.given == ladder.recovers else "",
        ]
        for ladder in found
        for rung in ladder.rungs
    ]
    headings = (
        "reader", "modality", "given", "n", "OLA %", "gain", "95 % interval", "over blind", "95 % interval", "recovers",
    )  # fmt: skip
    return "\n".join([format_table(headings, rows), *(verdict(ladder) for ladder in found)])
