"""Differences between readers and between modalities, item by item, so that what items share cancels out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from unwritten.scoring.intervals import IntervalSettings
from unwritten.scoring.scores import bootstrap_of, by_source, item_scores, reader_by_item, single_protocol, with_all
from unwritten.types import MODALITIES

MARGIN = 0.01


@dataclass(frozen=True)
class Comparison:
    """Mean difference of a score between two readers (or modalities) on the same items.

    Attributes:
        first, second: names; where modalities differ, ``reader/modality``.
        benchmark, protocol, style: of the items.
        n: items that both were asked; left_out: items that only one was asked.
        difference, low, high: mean of first minus second with its interval.
        p_value: two-sided, against no difference; p_holm: corrected for all comparisons made together.
    """

    first: str
    second: str
    benchmark: str
    protocol: str
    style: str
    n: int
    left_out: int
    difference: float
    low: float
    high: float
    p_value: float
    p_holm: float


@dataclass(frozen=True)
class FusionEffect:
    """Audio+video against the better single modality, one reader and style.

    Attributes:
        reader, benchmark, protocol, style, n: what and how many items, each read in all three modalities.
        better_single: ``audio`` or ``video``, whichever scored higher here.
        effect, low, high: OLA of AV minus that of the better single modality, with its two-sided interval.
        bound: the smaller of the lower limits against audio and against video: it holds whichever of the two is truly
            better (an intersection-union test, which needs no correction).
        non_inferior: ``bound`` lies above minus the margin.
        margin: how much worse would still count as no worse, 0.01 for one point.
    """

    reader: str
    benchmark: str
    protocol: str
    style: str
    n: int
    better_single: str
    effect: float
    low: float
    high: float
    bound: float
    non_inferior: bool
    margin: float = MARGIN


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p values for being made together: step-down, valid whatever their dependence.

    Source: S. Holm, Scandinavian Journal of Statistics 6, 1979.
    """
    count = len(p_values)
    adjusted = [0.0] * count
    running = 0.0
    for rank, index in enumerate(sorted(range(count), key=lambda place: p_values[place])):
        running = max(running, min(1.0, (count - rank) * p_values[index]))
        adjusted[index] = running
    return adjusted


def compare_pairs(
    table: pd.DataFrame,
    pairs: Sequence[tuple[str, str]],
    settings: IntervalSettings | None = None,
    score: str = "ola",
) -> list[Comparison]:
    """Compare readers in pairs over all items of a table, Holm-corrected together.

    Args:
        table: cleaned answers of one benchmark, protocol and modality; ``reader`` names what is compared.
        pairs: (first, second) names.
        settings: of the intervals.
        score: a column of :func:`unwritten.scoring.scores.item_scores`.

    Raises:
        UnwrittenError: the rows mix protocols, or a pair has no item in common.
    """
    settings = settings or IntervalSettings()
    scored = item_scores(table)
    single_protocol(scored)
    comparisons = []
    for first, second in pairs:
        items, scores, left_out = reader_by_item(scored[scored["reader"].isin([first, second])], score)
        bootstrap, _ = bootstrap_of(items, settings)
        difference = bootstrap.interval(scores[first] - scores[second], (-1.0, 1.0))
        comparisons.append(
            Comparison(
                first=first,
                second=second,
                benchmark=str(items["benchmark"].iloc[0]),
                protocol=str(items["protocol"].iloc[0]),
                style="all" if len(set(items["style"])) > 1 else str(items["style"].iloc[0]),
                n=len(items),
                left_out=len(left_out),
                difference=difference.value,
                low=difference.low,
                high=difference.high,
                p_value=difference.p_value,
                p_holm=difference.p_value,
            )
        )
    corrected = holm([comparison.p_value for comparison in comparisons])
    return [replace(comparison, p_holm=p) for comparison, p in zip(comparisons, corrected, strict=True)]


def fusion_effects(
    table: pd.DataFrame, settings: IntervalSettings | None = None, margin: float = MARGIN
) -> list[FusionEffect]:
    """What sound and picture together add to the better of the two, for every reader asked all three that looks.

    Args:
        table: a cleaned answers table.
        settings: of the intervals.
        margin: see :class:`FusionEffect`.
    """
    settings = settings or IntervalSettings()
    scored = item_scores(by_source(table))
    effects = []
    for (benchmark, protocol, reader), rows in scored.groupby(["benchmark", "protocol", "reader"], sort=False):
        if set(rows["modality"]) != set(MODALITIES) or str(reader).startswith("blind-"):
            continue
        for style, own in with_all(rows):
            if style != "all" and len(set(rows["style"])) == 1:
                continue
            wide = own.pivot_table(index="item", columns="modality", values="ola").reindex(columns=list(MODALITIES))
            wide = wide.dropna().sort_index()
            if wide.empty:
                continue
            items = own.drop_duplicates("item").set_index("item", drop=False).loc[wide.index]
            bootstrap, _ = bootstrap_of(items, settings)
            singles = ("audio", "video")
            against = bootstrap.intervals(
                np.column_stack([wide["av"].to_numpy() - wide[single].to_numpy() for single in singles]), (-1.0, 1.0)
            )
            better = int(np.argmin([interval.value for interval in against]))
            bound = min(interval.low for interval in against)
            effects.append(
                FusionEffect(
                    reader=str(reader),
                    benchmark=str(benchmark),
                    protocol=str(protocol),
                    style=style,
                    n=len(wide),
                    better_single=singles[better],
                    effect=against[better].value,
                    low=against[better].low,
                    high=against[better].high,
                    bound=bound,
                    non_inferior=bound > -margin,
                    margin=margin,
                )
            )
    return effects
