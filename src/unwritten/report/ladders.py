"""The diagnosis ladders: what a reader gains when it is handed one step of the way, so that one sees where it fails.

A reader is a rung of another when its name is the other's with ``+STEP`` after it (the baseline handed the truth of
a step) or when its configuration names a ``rung`` (a multimodal model handed ink, strokes or letters). The variants of
the trained baseline, which differ in what they are told, are a ladder too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from unwritten.report.figures import Band, Mark, Row, dot_plot, legend
from unwritten.report.html import figure, table
from unwritten.report.inputs import Results
from unwritten.report.labels import MODALITY_NAMES, interval, percent, points, reader_label, side_information
from unwritten.types import MODALITIES

_TOLD = (
    "ctc-as-sent",
    "ctc-sound-as-published",
    "ctc-free",
    "ctc-letters",
    "ctc-english",
    "ctc",
    "ctc-benchmark",
    "ctc-benchmark-frequency",
)
_MEDIA = "media"


@dataclass(frozen=True)
class Ladder:
    """Readers from the one that is handed least to the one that is handed most.

    Attributes:
        name: what the ladder is about.
        rungs: (reader, what it is handed).
    """

    name: str
    rungs: tuple[tuple[str, str], ...]


def find_ladders(results: Results) -> list[Ladder]:
    """All ladders of two rungs or more, in the readers' order."""
    readers = list(dict.fromkeys(row["reader"] for row in results.totals()))
    rung_of, base_of = {}, {}
    for place, run in enumerate(results.runs):
        for own, node in run.readers.items():
            rung = node.get("rung")
            given = str(rung.get("name") or _MEDIA) if isinstance(rung, dict) else _MEDIA
            for separator in ("-", "+", "@"):
                base = own.removesuffix(f"{separator}{given}")
                if given != _MEDIA and base != own:
                    rung_of[results.name_of(place, own)] = given
                    base_of[results.name_of(place, own)] = base
    ladders = []
    for base in readers:
        steps = [(r, r[len(base) + 1 :]) for r in readers if r.startswith(f"{base}+") and r not in rung_of]
        steps += [(r, rung_of[r]) for r in readers if base_of.get(r) == base]
        if steps and base not in rung_of:
            ladders.append(Ladder(f"{reader_label(base)}, handed one step more each time",
                                  ((base, "the clip alone"), *steps)))  # fmt: skip
    told = [reader for reader in _TOLD if reader in readers]
    if len(told) > 1:
        places = {row["reader"]: row["run"] for row in results.totals()}
        ladders.append(
            Ladder(
                "The baseline, by what it is told", tuple((r, side_information(results, places[r], r)) for r in told)
            )
        )
    return ladders


def ladders_html(results: Results) -> str:
    """A figure and a table for each ladder; empty when there is none."""
    out = []
    benchmarks = [b for b, _ in results.groups() if "/" not in b] or [b for b, _ in results.groups()]
    for ladder in find_ladders(results):
        for benchmark in dict.fromkeys(benchmarks):
            rows, numbers, lowest = [], [], dict[str, float]()
            for reader, handed in ladder.rungs:
                own = [_find(results, benchmark, reader, modality) for modality in MODALITIES]
                marks = [Mark(r["modality"], r["ola"], r["ola_low"], r["ola_high"]) for r in own if r]
                if not marks:
                    continue
                rows.append(Row(handed, marks, aside=f"· {reader_label(reader)}"))
                for row in filter(None, own):
                    first = lowest.setdefault(row["modality"], row["ola"])
                    numbers.append(
                        [
                            reader_label(reader), handed, MODALITY_NAMES[row["modality"]], percent(row["ola"]),
                            interval(row["ola_low"], row["ola_high"]), points(row["ola"] - first),
                        ]
                    )  # fmt: skip
            if len(rows) < 2:
                continue
            title = f"{ladder.name}: {benchmark}"
            below = table(title, ("reader", "handed", "given", "OLA %", "95 % interval", "gain, points"), numbers)
            said = f"OLA of {len(rows)} rungs, from the one that is handed least to the one that is handed most."
            out.append(figure(dot_plot(title, said, [Band(rows)]), f"{title}.", below))
    return legend() + "".join(out) if out else ""


def _find(results: Results, benchmark: str, reader: str, modality: str) -> dict[str, Any] | None:
    rows = (r for r in results.totals(benchmark) if (r["reader"], r["modality"]) == (reader, modality))
    return next(rows, None)
