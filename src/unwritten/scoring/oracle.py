"""What each step of the baseline costs: hand it the truth of one step after another and see what it gains.

After PuzzleVQA (arXiv 2403.13315): the step at which a reader recovers is the step at which it failed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from unwritten.errors import UnwrittenError
from unwritten.scoring.compare import Comparison, compare_pairs
from unwritten.scoring.intervals import IntervalSettings
from unwritten.scoring.text import format_table

STEPS = ("tips", "shots", "contact", "boundaries")
"""True pen tips, shots, contact and letter boundaries, in the order in which the pipeline finds them."""


@dataclass(frozen=True)
class OracleStep:
    """One step with its truth handed in.

    Attributes:
        name: of the run, e.g. ``tips`` or ``tips+shots``.
        ola: of that run.
        gain: against the run that nothing was handed.
        added: against the run before it in the order given; for the first the same as ``gain``.
    """

    name: str
    ola: float
    gain: Comparison
    added: Comparison


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
    added = compare_pairs(joined, list(zip(names, before, strict=True)), settings)
    from unwritten.scoring.scores import item_scores

    means = item_scores(joined).groupby("reader")["ola"].mean()
    return [
        OracleStep(name, float(means[name]), gain, more) for name, gain, more in zip(names, gains, added, strict=True)
    ]


def format_oracle(steps: Sequence[OracleStep]) -> str:
    """The table: what was handed in, the OLA, and what it was worth in points."""
    rows = [
        [
            step.name,
            str(step.gain.n),
            f"{100 * step.ola:.1f}",
            f"{100 * step.gain.difference:+.1f}",
            f"{100 * step.gain.low:+.1f} .. {100 * step.gain.high:+.1f}",
            f"{100 * step.added.difference:+.1f}",
        ]
        for step in steps
    ]
    return format_table(("truth handed in", "n", "OLA %", "gain", "95 % interval", "beyond the last"), rows)
