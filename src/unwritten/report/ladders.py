"""The diagnosis ladders: what a reader gains when it is handed one step of the way, so that one sees where it fails.

Answers say which rung a multimodal model was given, or which truth the baseline was handed; where they do not, a reader
is a rung of another when its name is the other's with ``+STEP`` after it. The variants of the trained baseline, which
differ in what they are told, are a ladder too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from unwritten.report.figures import Band, Mark, Row, dot_plot, legend
from unwritten.report.html import figure, table
from unwritten.report.inputs import Results
from unwritten.report.labels import MODALITY_NAMES, NONE, interval, percent, points, reader_label, side_information
from unwritten.scoring.compare import Comparison
from unwritten.scoring.ladder import RUNGS, Place, Rung, climb, in_order, places, recovers
from unwritten.types import MODALITIES

_TOLD = (
    "ctc-as-sent",
    "ctc-sound-as-published",
    "ctc-free",
    "ctc-free-ordered",
    "ctc-letters",
    "ctc-letters-ordered",
    "ctc-english",
    "ctc",
    "ctc-benchmark",
    "ctc-benchmark-frequency",
)
_ALONE = "the clip alone"


@dataclass(frozen=True)
class Ladder:
    """Readers from the one that is handed least to the one that is handed most.

    Attributes:
        name: what the ladder is about.
        rungs: (reader, what it is handed).
        model: the multimodal model that climbs it, of which it is told where it recovers; empty for others.
        nested: True where each is handed all that those before were.
    """

    name: str
    rungs: tuple[tuple[str, str], ...]
    model: str = ""
    nested: bool = False


def find_ladders(results: Results) -> list[Ladder]:
    """All ladders of two rungs or more, in the readers' order."""
    readers = list(dict.fromkeys(row["reader"] for row in results.totals()))
    stand = places(results.scored) if len(results.scored) else {}
    for reader in readers:
        base, plus, step = reader.rpartition("+")
        if plus and base in readers:
            stand.setdefault(reader, Place(base, step, False))
    ladders = []
    for base in dict.fromkeys(place.base for reader, place in stand.items() if reader in readers):
        steps = in_order(
            (reader, stand[reader]) for reader in readers if reader in stand and stand[reader].base == base
        )
        rungs = [(reader, _ALONE if place.given == RUNGS[0] else place.given) for reader, place in steps]
        if base in readers and base not in stand:
            rungs.insert(0, (base, _ALONE))
        if len(rungs) > 1:
            model = all(place.model for _, place in steps)
            name = f"{reader_label(base)}, handed {'one step more each time' if model else 'a part of the truth'}"
            ladders.append(Ladder(name, tuple(rungs), base if model else "", nested=model))
    told = [reader for reader in _TOLD if reader in readers]
    if len(told) > 1:
        places_of = {row["reader"]: row["run"] for row in results.totals()}
        rungs = [(reader, side_information(results, places_of[reader], reader)) for reader in told]
        ladders.append(Ladder("The baseline, by what it is told", tuple(rungs)))
    return ladders


def ladders_html(results: Results) -> str:
    """A figure and a table for each ladder, and where models recover; empty when there is none."""
    out, found = [], []
    benchmarks = [b for b, _ in results.groups() if "/" not in b] or [b for b, _ in results.groups()]
    for ladder in find_ladders(results):
        for benchmark in dict.fromkeys(benchmarks):
            rows = []
            for reader, handed in ladder.rungs:
                own = [_find(results, benchmark, reader, modality) for modality in MODALITIES]
                marks = [Mark(r["modality"], r["ola"], r["ola_low"], r["ola_high"]) for r in own if r]
                if marks:
                    rows.append(Row(handed, marks, aside=f"· {reader_label(reader)}"))
            if len(rows) < 2:
                continue
            title = f"{ladder.name}: {benchmark}"
            numbers, where = _numbers(results, ladder, benchmark)
            found += [[reader_label(ladder.model), benchmark, *entry] for entry in where]
            gain = "gain over the one before" if ladder.nested else f"gain over {ladder.rungs[0][1]}"
            headings = ("reader", "handed", "given", "OLA %", "95 % interval", f"{gain}, points", "over blind, points")
            said = f"OLA of {len(rows)} rungs, from the one that is handed least to the one that is handed most."
            out.append(figure(dot_plot(title, said, [Band(rows)]), f"{title}.", table(title, headings, numbers)))
    if not out:
        return ""
    summary = ""
    if found:
        title = "Where each model recovers: first reads better than blind guessing, or than at the rung before"
        summary = table(title, ("reader", "benchmark", "given", "recovers at"), found)
    return summary + legend() + "".join(out)


def _numbers(results: Results, ladder: Ladder, benchmark: str) -> tuple[list[list[str]], list[list[str]]]:
    """Rows of a ladder's table, and (modality, rung at which the model recovers) for a model's."""
    numbers, where = [], []
    for modality in MODALITIES:
        rungs = {rung.reader: rung for rung in _climbed(results, ladder, benchmark, modality)}
        for reader, handed in ladder.rungs:
            row = _find(results, benchmark, reader, modality)
            if row:
                rung = rungs.get(reader)
                numbers.append(
                    [
                        reader_label(reader), handed, MODALITY_NAMES[modality], percent(row["ola"]),
                        interval(row["ola_low"], row["ola_high"]), _difference(rung.gain if rung else None),
                        _difference(rung.over_blind if rung else None),
                    ]
                )  # fmt: skip
        if ladder.model and len(rungs) > 1:
            where.append([MODALITY_NAMES[modality], recovers(list(rungs.values())) or "none of them"])
    return numbers, where


def _climbed(results: Results, ladder: Ladder, benchmark: str, modality: str) -> list[Rung]:
    """The rungs paired item by item; none without the items' answers, or where protocols differ."""
    scored = results.scored
    if scored.empty:
        return []
    own = scored[(scored["benchmark"] == benchmark) & (scored["modality"] == modality)]
    asked = set(own["reader"])
    steps = [(reader, handed) for reader, handed in ladder.rungs if reader in asked]
    own = own[own["protocol"].isin(own.loc[own["reader"].isin([reader for reader, _ in steps]), "protocol"])]
    return climb(own, steps, ladder.nested) if own["protocol"].nunique() == 1 else []


def _difference(against: Comparison | None) -> str:
    if against is None:
        return NONE
    return f"{points(against.difference)} [{points(against.low)}, {points(against.high)}]"


def _find(results: Results, benchmark: str, reader: str, modality: str) -> dict[str, Any] | None:
    rows = (r for r in results.totals(benchmark) if (r["reader"], r["modality"]) == (reader, modality))
    return next(rows, None)
