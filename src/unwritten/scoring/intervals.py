"""Intervals for means over words that share letter clips.

A synthetic word is made of letter clips, and each clip occurs in hundreds of words: when one clip is hard to read, all
its words are. Resampling words alone takes those words for independent evidence and gives intervals that are far too
short. Here words, letter clips and (where there are enough) writers are resampled independently of each other.

For N items with scores ``y`` and ``e = y - mean`` within each stratum (style), a replicate is

    mean* = mean + t (sum_k (P_k - 1) w_k + sum_c (Q_c - 1) s_c) / N,    P_k, Q_c ~ Poisson(1) independently,

with ``w_k`` the sum of ``e`` over the items of word k, and ``s_c`` the sum over the items that contain clip c: the
linearised, crossed form of the pigeonhole bootstrap (A. Owen, Annals of Applied Statistics 1, 2007). Three corrections
make its coverage right where clips are few:

- ``s_c`` also holds the words' own scatter, which ``w_k`` counts already: the scores of each factor are shrunk so that
  their variance is the between-clip part alone (K. Menzel, Econometrica 89, 2021; the difference of sums of squares is
  that of multiway clustering: C. Cameron, J. Gelbach, D. Miller, Journal of Business & Economic Statistics 29, 2011).
- A clip that most words contain pulls the mean along: ``s_c`` is divided by 1 minus the share of the stratum's items
  that contain it, as a jackknife would.
- Few clips: variances get G / (G - strata) with the effective number of clips for G, and deviations are widened by t,
  the ratio of Student's to the normal quantile at Satterthwaite's degrees of freedom (T. Hesterberg, The American
  Statistician 69, 2015, calls this the expanded percentile interval).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse, stats

from unwritten.errors import UnwrittenError

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class IntervalSettings:
    """How intervals are made.

    Attributes:
        level: confidence, 0.95 for 95 %.
        replicates: resamples.
        seed: of the resamples; the same seed gives the same interval.
        fewest_writers: writers are resampled where there are at least so many; otherwise intervals hold given them.
    """

    level: float = 0.95
    replicates: int = 2000
    seed: int = 0
    fewest_writers: int = 5

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise ValueError(f"level: {self.level} is not between 0 and 1")
        if self.replicates < 100:
            raise ValueError(f"replicates: {self.replicates} are too few for an interval; give 100 or more")


@dataclass(frozen=True)
class Interval:
    """A mean with its interval.

    Attributes:
        value: the mean.
        low, high: limits at the level asked for.
        standard_error: of the mean.
        p_value: two-sided, against a mean of 0; meaningful for differences.
        parts: share of the variance of the mean that comes from each factor, e.g. words and letter clips.
    """

    value: float
    low: float
    high: float
    standard_error: float
    p_value: float
    parts: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Factor:
    """One way in which items are related: which of G groups each item belongs to, possibly several.

    Attributes:
        name: what the groups are, e.g. ``letter clips``.
        membership: sparse ``[N, G]`` of 0 and 1.
    """

    name: str
    membership: sparse.csr_array

    @classmethod
    def of(cls, name: str, groups: Sequence[Sequence[Hashable]]) -> Factor:
        """Build from the groups of each item; an item may have none."""
        index: dict[Hashable, int] = {}
        rows, columns = [], []
        for row, own in enumerate(groups):
            for group in dict.fromkeys(own):
                rows.append(row)
                columns.append(index.setdefault(group, len(index)))
        shape = (len(groups), len(index))
        return cls(name, sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape))


class CrossedBootstrap:
    """Intervals of means over one set of items; resamples are drawn once and serve every score of these items.

    Args:
        words: what was written in each of the N items; items of one word are resampled together.
        factors: what else items share, such as letter clips and writers.
        strata: a label for each item within which items are compared, such as the style; None for one stratum.
        settings: level, replicates, seed.

    Raises:
        UnwrittenError: there is no item.
    """

    def __init__(
        self,
        words: Sequence[Hashable],
        factors: Sequence[Factor] = (),
        strata: Sequence[Hashable] | None = None,
        settings: IntervalSettings | None = None,
    ) -> None:
        if len(words) == 0:
            raise UnwrittenError("an interval needs at least one item; none is left to score")
        self.settings = settings or IntervalSettings()
        self.size = len(words)
        self._strata = _codes(strata if strata is not None else [0] * self.size)
        self._strata_count = int(self._strata.max()) + 1
        words_factor = Factor.of("words", [(word,) for word in words])
        self._factors = [words_factor, *(factor for factor in factors if factor.membership.shape[1] > 0)]
        self._leverage = [self._leverages(factor) for factor in self._factors]
        self._freedom = [self._degrees_of_freedom(factor) for factor in self._factors]
        rng = np.random.default_rng(self.settings.seed)
        self._draws = [
            _poisson(rng, (self.settings.replicates, factor.membership.shape[1])) for factor in self._factors
        ]

    def interval(self, values: ArrayLike, bounds: tuple[float, float] = (-np.inf, np.inf)) -> Interval:
        """Interval of the mean of one score.

        Args:
            values: ``[N]`` scores of the items.
            bounds: what a score can be at least and at most; limits stay within.
        """
        return self.intervals(np.asarray(values, dtype=np.float64)[:, None], bounds)[0]

    def intervals(self, values: FloatArray, bounds: tuple[float, float] = (-np.inf, np.inf)) -> list[Interval]:
        """Intervals of the means of several scores, ``[N, R]``, all from the same resamples."""
        values = np.asarray(values, dtype=np.float64)
        if values.shape[0] != self.size:
            raise ValueError(f"{values.shape[0]} scores for {self.size} items")
        means = values.mean(axis=0)
        deviations, variances = self._deviations(values)
        total = np.sum(variances, axis=0)
        freedom = self._satterthwaite(variances)
        tail = (1 - self.settings.level) / 2
        widening = stats.t.isf(tail, freedom) / stats.norm.isf(tail)
        low, high = means + widening * np.quantile(deviations, [tail, 1 - tail], axis=0)
        errors = np.sqrt(total)
        out = []
        for index, mean in enumerate(means):
            error = float(errors[index])
            limits = (float(low[index]), float(high[index]))
            if error == 0:
                limits = self._limits_without_scatter(float(mean), bounds)
            ratio = abs(float(mean)) / error if error > 0 else np.inf * abs(float(mean)) if mean else 0.0
            parts = tuple(
                (factor.name, float(variance[index] / total[index]) if error > 0 else 0.0)
                for factor, variance in zip(self._factors, variances, strict=True)
            )
            out.append(
                Interval(
                    value=float(mean),
                    low=float(np.clip(limits[0], *bounds)),
                    high=float(np.clip(limits[1], *bounds)),
                    standard_error=error,
                    p_value=float(min(1.0, 2 * stats.t.sf(ratio, freedom[index]))) if error > 0 else float(mean == 0),
                    parts=parts,
                )
            )
        return out

    def variance_parts(self, values: ArrayLike) -> dict[str, float]:
        """Variance of the mean that each factor contributes; they add up to the squared standard error."""
        _, variances = self._deviations(np.asarray(values, dtype=np.float64)[:, None], draw=False)
        return {factor.name: float(variance[0]) for factor, variance in zip(self._factors, variances, strict=True)}

    def _deviations(self, values: FloatArray, draw: bool = True) -> tuple[FloatArray, list[FloatArray]]:
        """Deviations of the replicates' means ``[B, R]`` and, for each factor, its part of the variance ``[R]``."""
        residuals = values - self._stratum_means(values)
        words, *others = self._factors
        count = words.membership.shape[1]
        own = words.membership.T @ residuals
        correction = count / max(1, count - self._strata_count)
        variances = [correction * (own**2).sum(axis=0) / self.size**2]
        deviations = np.zeros((self.settings.replicates if draw else 0, values.shape[1]))
        if draw:
            deviations += self._draws[0] @ (own * np.sqrt(correction) / self.size)
        for position, factor in enumerate(others, start=1):
            leverage = self._leverage[position][:, None]
            sums = (factor.membership.T @ residuals) / leverage
            # What the words of a clip scatter by themselves, counted with the words already.
            within = _sums_within(factor.membership, words.membership, residuals) / leverage**2
            # In effective numbers: a few clips, such as those of e and a, are in most words.
            correction = 1 + self._strata_count / self._freedom[position]
            squares = (sums**2).sum(axis=0)
            between = correction * np.maximum(0.0, squares - within.sum(axis=0))
            variances.append(between / self.size**2)
            if draw:
                shrink = np.sqrt(np.divide(between, squares, out=np.zeros_like(squares), where=squares > 0))
                deviations += self._draws[position] @ (sums * shrink / self.size)
        return deviations, variances

    def _stratum_means(self, values: FloatArray) -> FloatArray:
        sums = np.zeros((self._strata_count, values.shape[1]))
        np.add.at(sums, self._strata, values)
        counts = np.bincount(self._strata, minlength=self._strata_count)[:, None]
        return (sums / counts)[self._strata]

    def _leverages(self, factor: Factor) -> FloatArray:
        """``[G]``: 1 minus the share of its strata's items that a group holds, at least 0.2."""
        held = np.asarray(factor.membership.sum(axis=0)).ravel()
        strata = sparse.csr_array((np.ones(self.size), (np.arange(self.size), self._strata)))
        touched = (strata.T @ factor.membership).toarray() > 0
        around = np.bincount(self._strata, minlength=self._strata_count) @ touched
        return np.maximum(0.2, 1.0 - held / np.maximum(around, 1))

    def _degrees_of_freedom(self, factor: Factor) -> float:
        held = np.asarray(factor.membership.sum(axis=0)).ravel()
        effective = held.sum() ** 2 / max(1e-12, float((held**2).sum()))
        return max(1.0, float(effective) - self._strata_count)

    def _satterthwaite(self, variances: Sequence[FloatArray]) -> FloatArray:
        total = np.sum(variances, axis=0)
        parts = np.sum([v**2 / freedom for v, freedom in zip(variances, self._freedom, strict=True)], axis=0)
        return np.where(parts > 0, total**2 / np.where(parts > 0, parts, 1.0), self._freedom[0])

    def _limits_without_scatter(self, mean: float, bounds: tuple[float, float]) -> tuple[float, float]:
        """All scores are equal: the exact binomial limit if at a bound, everything possible with one word."""
        words = self._factors[0].membership.shape[1]
        if not np.all(np.isfinite(bounds)):
            return mean, mean
        low, high = bounds
        if words < 2:
            return low, high
        # So many words may be otherwise without one of them being among these, and then by as much as the bounds allow.
        unseen = 1 - ((1 - self.settings.level) / 2) ** (1 / words)
        return mean - unseen * (mean - low), mean + unseen * (high - mean)


def _codes(labels: Sequence[Hashable]) -> NDArray[np.intp]:
    index: dict[Hashable, int] = {}
    return np.array([index.setdefault(label, len(index)) for label in labels], dtype=np.intp)


def _sums_within(membership: sparse.csr_array, words: sparse.csr_array, residuals: FloatArray) -> FloatArray:
    """``[G, R]``: sum over words of the squared sum of a word's residuals within each group."""
    sizes = np.asarray(words.sum(axis=0)).ravel()
    if sizes.max(initial=0) <= 1:
        return membership.T @ (residuals**2)
    out = np.zeros((membership.shape[1], residuals.shape[1]))
    for column in range(residuals.shape[1]):
        weighted = membership.multiply(residuals[:, [column]]).tocsr()
        out[:, column] = np.asarray((weighted.T @ words).power(2).sum(axis=1)).ravel()
    return out


@lru_cache(maxsize=1)
def _poisson_table() -> NDArray[np.float32]:
    """Quantiles of Poisson(1) minus 1 at 65,536 even probabilities, scaled to variance 1 without its tail."""
    table = stats.poisson.ppf((np.arange(65_536) + 0.5) / 65_536, 1.0) - 1
    return ((table - table.mean()) / table.std()).astype(np.float32)


def _poisson(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float32]:
    """Poisson(1) draws minus 1, by inversion of 16-bit uniforms: ten times quicker than a sampler."""
    return _poisson_table()[rng.integers(0, 65_536, size=shape, dtype=np.uint16)]
