"""What each step of the baseline costs: hand it the truth of one step after another and see what it gains.

After PuzzleVQA (arXiv 2403.13315): the step at which a reader recovers is the step at which it failed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from unwritten.errors import UnwrittenError
from unwritten.scoring.compare import Comparison, compare_pairs
from unwritten.scoring.intervals import IntervalSettings
from unwritten.scoring.scores import Asked, item_scores
from unwritten.scoring.text import format_table, gained, percent

STEPS = ("tips", "shots", "contact", "boundaries")
"""True pen tips, shots, contact and letter boundaries, in the order in which the pipeline finds them."""


@dataclass(frozen=True)
class OracleStep:
    """One step with its truth handed in.

    Attributes:
        name: of the run, e.g. ``tips`` or ``tips+shots``.
        ola: of that run.
        gain: against the run that nothing was handed, on the items of which the truth is known.
        added: against the run before it in the order given, where this one adds to it (``tips+shots`` after ``tips``);
            for the first the same as ``gain``; None for a run that goes on from nothing.
    """

    name: str
    ola: float
    gain: Comparison
    added: Comparison | None


def oracle_steps(
    base: pd.DataFrame, runs: Mapping[str, pd.DataFrame], settings: IntervalSettings | None = None
) -> list[OracleStep]:
    """What the truth of each step is worth in OLA, paired item by item.

    Items without a known truth of a step are simply missing from that run; the comparison is over common items.

    Args:
        base: answers of one reader in one modality, nothing handed in.
        runs: answers of the same reader by what was handed in, in order.
        settings: of the intervals.

    Raises:
        UnwrittenError: no run, several readers or modalities in one, different modalities or protocols, no common item.
    """
    if not runs:
        raise UnwrittenError("oracle steps: no run with a truth handed in")
    named = {"base": base, **runs}
    for name, table in named.items():
        if len(table[["reader", "modality"]].drop_duplicates()) != 1:
            raise UnwrittenError(f"oracle step {name}: must hold one reader in one modality")
    if len({table["modality"].iloc[0] for table in named.values()}) != 1:
        raise UnwrittenError("oracle steps: the runs are of different modalities")
    joined = pd.concat([table.assign(reader=name) for name, table in named.items()], ignore_index=True)
    names: Sequence[str] = list(runs)
    gains = compare_pairs(joined, [(name, "base") for name in names], settings)
    before = ["base", *names[:-1]]
    nested = [
        (name, last) for name, last in zip(names, before, strict=True) if last == "base" or name.startswith(f"{last}+")
    ]
    added = {comparison.first: comparison for comparison in compare_pairs(joined, nested, settings)}
    means = item_scores(joined).groupby("reader")["ola"].mean()
    return [
        OracleStep(name, float(means[name]), gain, added.get(name)) for name, gain in zip(names, gains, strict=True)
    ]


@dataclass(frozen=True)
class OracleTable(Asked):
    """The steps of one reader on one benchmark in one modality.

    Attributes:
        reader: that nothing was handed.
        benchmark, protocol, modality: what it read.
        steps: what each truth is worth.
    """

    steps: list[OracleStep]


def oracle_tables(table: pd.DataFrame, settings: IntervalSettings | None = None) -> list[OracleTable]:
    """The steps of every reader that was read with and without truths handed in.

    Args:
        table: cleaned answers; those of a run with a truth handed in say so in ``details``: ``oracle``, which truth,
            and ``oracle_base``, the reader that nothing was handed.
        settings: of the intervals.
    """
    marked = is_oracle(table)
    if not marked.any():
        return []
    details = [json.loads(text or "{}") for text in table["details"]]
    named = table.assign(
        oracle=[entry.get("oracle", "") for entry in details],
        oracle_base=[entry.get("oracle_base", "") for entry in details],
    )
    tables = []
    for key, rows in named[marked].groupby(["oracle_base", "benchmark", "protocol", "modality"], sort=False):
        reader, benchmark, protocol, modality = (str(part) for part in key)
        same = (named["benchmark"] == benchmark) & (named["protocol"] == protocol) & (named["modality"] == modality)
        base = named[same & (named["reader"] == reader) & ~marked]
        runs = {
            str(name): own
            for name, own in rows[rows["truth"] != ""].groupby("oracle", sort=False)
            if len(set(own["reader"])) == 1 and set(own["item"]) & set(base["item"])
        }
        if runs:
            tables.append(OracleTable(reader, benchmark, protocol, modality, oracle_steps(base, runs, settings)))
    return tables


def is_oracle(table: pd.DataFrame) -> pd.Series:
    """Bool for each row: the answer was given by a reader that had a truth handed in."""
    return table["details"].map(lambda text: '"oracle": ' in (text or "")).astype(bool)


def format_oracle(steps: Sequence[OracleStep]) -> str:
    """The table: what was handed in, the OLA, and what it was worth in points."""
    nested = any(step.added is not None for step in steps[1:])
    rows = [
        [
            step.name,
            str(step.gain.n),
            percent(step.ola - step.gain.difference),
            percent(step.ola),
            *gained(step.gain),
            *(gained(step.added)[:1] if nested else ()),
        ]
        for step in steps
    ]
    last = ["beyond the last"] if nested else []
    return format_table(("truth handed in", "n", "without %", "OLA %", "gain", "95 % interval", *last), rows)
