"""How many items a result needs, and how it would have moved with fewer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from unwritten.errors import UnwrittenError
from unwritten.scoring.intervals import CrossedBootstrap, IntervalSettings
from unwritten.scoring.scores import bootstrap_of, item_scores, single_protocol


@dataclass(frozen=True)
class SampleSize:
    """Items needed for an interval of a wanted width.

    Attributes:
        half_width: wanted, as a fraction (0.02 for 2 points).
        items: words needed with the letter clips and writers that there are; None when no number of words gets there.
        narrowest: half width that is left with endless words from the same letter clips and writers.
    """

    half_width: float
    items: int | None
    narrowest: float


def sample_size(
    bootstrap: CrossedBootstrap, values: NDArray[np.float64], half_width: float, level: float = 0.95
) -> SampleSize:
    """Words needed for an interval of +-``half_width``, from the variances seen in a pilot.

    The words' part of the variance shrinks with their number; the part of the letter clips and writers stays until more
    of *them* are recorded.

    Args:
        bootstrap: of the pilot's items.
        values: ``[N]`` scores (or paired differences) of the pilot.
        half_width: wanted, positive.
        level: of confidence.

    Raises:
        UnwrittenError: the width is not positive.
    """
    if not half_width > 0:
        raise UnwrittenError(f"sample size: a half width of {half_width} needs endless items; give a positive one")
    parts = bootstrap.variance_parts(values)
    words = parts.pop("words")
    floor = sum(parts.values())
    quantile = float(stats.norm.isf((1 - level) / 2))
    room = (half_width / quantile) ** 2 - floor
    items = math.ceil(words * len(values) / room) if room > 0 else None
    return SampleSize(half_width, max(1, items) if items is not None else None, quantile * math.sqrt(floor))


def subsampling_curve(
    table: pd.DataFrame,
    sizes: Sequence[int] | None = None,
    draws: int = 500,
    seed: int = 0,
    score: str = "ola",
) -> pd.DataFrame:
    """Draw smaller tests without replacement and score each reader on them.

    Args:
        table: cleaned answers of one benchmark, protocol and modality; readers are compared on common items.
        sizes: of the smaller tests; None takes doublings from 10 to all.
        draws: smaller tests of each size.
        seed: of the draws.
        score: a column of :func:`unwritten.scoring.scores.item_scores`.

    Returns:
        A row for each size and ``reader``: ``n`` items, ``mean`` of the tests' means, ``low`` and ``high`` around 95 %
        of them, and ``order_kept``, the share of tests that rank the readers as the whole test does; NaN with one.

    Raises:
        UnwrittenError: the table mixes protocols or has no item common to all readers.
    """
    scored = item_scores(table)
    single_protocol(scored)
    wide = scored.pivot_table(index="item", columns="reader", values=score, sort=True).dropna()
    if wide.empty:
        raise UnwrittenError("subsampling: no item was asked of all readers; choose readers of one run")
    values = wide.to_numpy(dtype=float)
    count = len(values)
    if sizes is None:
        sizes = [size for size in (10 * 2**power for power in range(20)) if size < count] + [count]
    rng = np.random.default_rng(seed)
    final = np.argsort(np.argsort(-values.mean(axis=0), kind="stable"))
    out = []
    for size in sizes:
        if not 1 <= size <= count:
            raise UnwrittenError(f"subsampling: {size} of {count} items cannot be drawn")
        means = np.stack([values[rng.permutation(count)[:size]].mean(axis=0) for _ in range(draws)])
        kept = (np.argsort(np.argsort(-means, axis=1, kind="stable"), axis=1) == final).all(axis=1).mean()
        low, high = np.quantile(means, [0.025, 0.975], axis=0)
        order_kept = kept if len(wide.columns) > 1 else np.nan
        columns = {"n": size, "mean": means.mean(axis=0), "low": low, "high": high, "order_kept": order_kept}
        out.append(pd.DataFrame({"reader": wide.columns, **columns}))
    return pd.concat(out, ignore_index=True)


def sample_size_of(
    table: pd.DataFrame, half_width: float, settings: IntervalSettings | None = None, score: str = "ola"
) -> SampleSize:
    """:func:`sample_size` for the answers of one reader in one modality.

    Raises:
        UnwrittenError: the table holds several readers or modalities, or mixes protocols.
    """
    scored = item_scores(table)
    single_protocol(scored)
    if len(scored[["reader", "modality"]].drop_duplicates()) != 1:
        raise UnwrittenError("sample size: the table must hold one reader in one modality")
    settings = settings or IntervalSettings()
    bootstrap, _ = bootstrap_of(scored, settings)
    return sample_size(bootstrap, scored[score].to_numpy(dtype=float), half_width, settings.level)
