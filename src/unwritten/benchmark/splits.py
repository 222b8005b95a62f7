"""Split items into parts that keep groups whole, while every attribute keeps its share: a mixed-integer programme.

A group (a word, a letter clip, a writer) lies in one part. An item may belong to several groups: a synthetic word is
one word, several letter clips and one writer. Then either everything that hangs together goes to one part, or, with
``leave_out``, an item whose groups lie in different parts is left out and as few as possible are.

The programme follows the splits of the Perception Test (V. Pătrăucean et al., 2023, arXiv:2305.13786), whose groups
stay whole and whose attributes keep within 25 % of their target; it is solved by HiGHS through ``scipy.optimize.milp``.
Where HiGHS cannot finish because items belong to many groups, annealing looks for a better split than it has found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, milp

from unwritten.benchmark.splits_search import search
from unwritten.errors import UnwrittenError

LEFT_OUT = ""
_INFEASIBLE = 2  # scipy.optimize.milp's status of a programme that has no solution


@dataclass(frozen=True)
class SplitSettings:
    """How items are split.

    Attributes:
        shares: for each part its share of the items; they sum to 1.
        tolerance: how far a part's count of an attribute may lie from its share, as a part of that share; one item is
            always allowed, because counts are whole.
        leave_out: leave out items whose groups lie in different parts, instead of joining those groups.
        time_limit_s: when to stop looking for a better split.
        seed: which of the many splits that fit is taken.
    """

    shares: Mapping[str, float] = field(default_factory=lambda: {"train": 0.8, "validation": 0.1, "test": 0.1})
    tolerance: float = 0.25
    leave_out: bool = False
    time_limit_s: float = 60.0
    seed: int = 0

    def __post_init__(self) -> None:
        if len(self.shares) < 2 or min(self.shares.values()) <= 0 or abs(sum(self.shares.values()) - 1) > 1e-9:
            raise ValueError(f"shares: {dict(self.shares)} must name two parts or more, each above 0, with the sum 1")
        if LEFT_OUT in self.shares:
            raise ValueError("shares: a part needs a name")
        if self.tolerance < 0:
            raise ValueError(f"tolerance: {self.tolerance} is negative")


@dataclass(frozen=True)
class Split:
    """Where each item went.

    Attributes:
        part: for each item the name of its part, empty when it was left out.
        deviation: the largest distance of a count from its share, as a part of that share, over all attributes that are
            common enough for the tolerance to be one item or more.
        proven: True when no better split exists, False when the time limit ended the search.
    """

    part: tuple[str, ...]
    deviation: float
    proven: bool = True


def split(groups: Sequence[Sequence[str]], attributes: Sequence[Sequence[str]], settings: SplitSettings) -> Split:
    """Assign items to parts.

    Args:
        groups: for each item the groups that it belongs to; none of them will cross the split.
        attributes: for each item its attributes, e.g. ``style=cursive``; one that stands twice counts twice.
        settings: shares and tolerance.

    Raises:
        UnwrittenError: there is no item, no split fits (the message says which share is missed), or none was found in
            time.
    """
    if not groups:
        raise UnwrittenError("split: there is no item to split; check the folder and the sources that were asked for")
    if len(groups) != len(attributes):
        raise ValueError(f"{len(groups)} items have groups, {len(attributes)} have attributes")
    if settings.leave_out:
        units = [tuple(sorted(set(keys))) or (f"item {item}",) for item, keys in enumerate(groups)]
    else:
        units = [(root,) for root in _connected(groups)]
    programme = _Programme(units, attributes, settings)
    result = programme.solve()
    part = programme.parts(result.x) if result.x is not None else ()
    proven = result.status == 0
    if not programme.single and not proven and result.status != _INFEASIBLE:
        other = programme.search()
        if len(other) - other.count(LEFT_OUT) > len(part) - part.count(LEFT_OUT):
            part = other
    if not part:
        raise UnwrittenError(_why_impossible(programme, result, units))
    crossing = crossing_groups(groups, part)
    if crossing:
        raise UnwrittenError(f"split: the solver let {crossing[0]} cross; raise tolerance or change seed")
    return Split(part, programme.deviation(part), proven)


def crossing_groups(groups: Sequence[Sequence[str]], part: Sequence[str]) -> tuple[str, ...]:
    """Groups with items in more than one part; items that were left out do not count."""
    seen: dict[str, str] = {}
    crossing = []
    for keys, name in zip(groups, part, strict=True):
        for key in keys:
            if name != LEFT_OUT and seen.setdefault(key, name) != name:
                crossing.append(key)
    return tuple(dict.fromkeys(crossing))


def _connected(groups: Sequence[Sequence[str]]) -> list[str]:
    """For each item the name of what hangs together with it through shared groups."""
    parent: dict[str, str] = {}

    def root_of(key: str) -> str:
        while parent[key] != key:
            parent[key] = parent[parent[key]]
            key = parent[key]
        return key

    names = [tuple(keys) or (f"item {item}",) for item, keys in enumerate(groups)]
    for keys in names:
        for key in keys:
            parent.setdefault(key, key)
            parent[root_of(key)] = root_of(keys[0])
    return [root_of(keys[0]) for keys in names]


class _Programme:
    """Binary ``y[u, p]``: unit u lies in part p. ``x[c, p]``: items of class c are kept in part p.

    Items with the same units are one class, with the sum of their attributes. ``x <= y`` for each unit of the class,
    and ``x >= sum(y) - (units - 1)``, so a class is kept exactly where all its units lie; where every class has one
    unit x itself is binary and y is not needed. For every attribute a and part p with share s:
    ``|n[a, p] - s n[a]| <= max(tolerance s n[a], 1)``, where n counts kept items. Where items are left out n[a] is not
    known beforehand and the bound is the sum of both, to stay linear.
    """

    _EPSILON = 1e-6  # the solver's own feasibility tolerance

    def __init__(self, units: Sequence[tuple[str, ...]], attributes: Sequence[Sequence[str]], settings: SplitSettings):
        self.settings = settings
        self.names = tuple(settings.shares)
        self.shares = np.array([settings.shares[name] for name in self.names])
        self.attributes = [("all items", *values) for values in attributes]
        self.labels = tuple(sorted({value for values in self.attributes for value in values}))
        self.unit_names = tuple(sorted({unit for keys in units for unit in keys}))
        classes = sorted(set(units))
        class_row = {keys: row for row, keys in enumerate(classes)}
        unit_row = {unit: row for row, unit in enumerate(self.unit_names)}
        label_row = {label: row for row, label in enumerate(self.labels)}
        self.class_of = [class_row[keys] for keys in units]
        self.members = [[unit_row[unit] for unit in keys] for keys in classes]
        self.single = all(len(keys) == 1 for keys in classes)
        self.counts = np.zeros((len(self.labels), len(classes)))
        for index, values in zip(self.class_of, self.attributes, strict=True):
            for value in values:
                self.counts[label_row[value], index] += 1
        parts = len(self.names)
        self.n_y = 0 if self.single else len(self.unit_names) * parts
        self.n_x = len(classes) * parts
        self.n_bounds = len(self.labels) * parts
        rng = np.random.default_rng(settings.seed)
        # The random part only chooses among equals: all of it weighs less than one item.
        self.cost = np.concatenate([np.zeros(self.n_y), rng.random(self.n_x) / (2 * len(classes))])
        if not self.single:
            self.cost[self.n_y :] -= np.repeat(self.counts[label_row["all items"]], parts)

    def solve(self) -> OptimizeResult:
        """A split within the tolerance; ``x`` is None where there is none or none was found in time."""
        size = self.n_y + self.n_x
        lower, upper = np.zeros(size), np.ones(size)
        if self.single:
            # Fractions of units can always hold the shares. A corner of that relaxation has few fractions, so it
            # settles most units and leaves a small programme; a tenth of the tolerance leaves room for rounding.
            relaxed = self._milp(lower, upper, whole=False, tolerance=0.1 * self.settings.tolerance)
            if relaxed.x is not None:
                rounded = np.round(relaxed.x).reshape(-1, len(self.names))
                settled = np.repeat(
                    np.abs(relaxed.x.reshape(rounded.shape) - rounded).max(axis=1) < 1e-6, len(self.names)
                )
                fixed_lower = np.where(settled, rounded.ravel(), lower)
                fixed_upper = np.where(settled, rounded.ravel(), upper)
                result = self._milp(fixed_lower, fixed_upper)
                if result.x is not None:
                    return result
        return self._milp(lower, upper)

    def search(self) -> tuple[str, ...]:
        """The part of each item by annealing; empty when no split that fits was met."""
        items = self.counts[self.labels.index("all items")]
        unit_part = search(self.members, self.counts, items, self.shares, self.settings.tolerance, self.settings.seed)
        return () if unit_part is None else self.parts(np.eye(len(self.names))[unit_part].ravel())

    def nearest(self) -> OptimizeResult:
        """The split that misses the shares by the fewest items in total, beyond the tolerance."""
        size = self.n_y + self.n_x
        return self._milp(np.zeros(size), np.ones(size), elastic=True)

    def _milp(
        self,
        lower: NDArray[np.float64],
        upper: NDArray[np.float64],
        whole: bool = True,
        tolerance: float | None = None,
        elastic: bool = False,
    ) -> OptimizeResult:
        n_miss = self.n_bounds if elastic else 0
        n_whole = self.n_x if self.single else self.n_y
        tolerance = self.settings.tolerance if tolerance is None else tolerance
        return milp(
            np.concatenate([self.cost, np.full(n_miss, len(self.attributes))]),
            constraints=[self._one_part(n_miss), *self._kept(n_miss), *self._within(tolerance, n_miss)],
            integrality=np.concatenate([np.full(n_whole, int(whole)), np.zeros(len(self.cost) - n_whole + n_miss)]),
            bounds=Bounds(np.append(lower, np.zeros(n_miss)), np.append(upper, np.full(n_miss, np.inf))),
            # With nothing to leave out any split that fits will do; otherwise within 1 % of the most items.
            options={"time_limit": self.settings.time_limit_s, "mip_rel_gap": 1.0 if self.single else 0.01},
        )

    def _one_part(self, n_miss: int) -> LinearConstraint:
        """Each unit lies in one part; units come first, with or without classes behind them."""
        n, parts = len(self.unit_names), len(self.names)
        shape = (n, self.n_y + self.n_x + n_miss)
        return _rows(np.ones(n * parts), np.repeat(np.arange(n), parts), np.arange(n * parts), shape, 1, 1)

    def _kept(self, n_miss: int) -> list[LinearConstraint]:
        """A class is kept in a part exactly where all its units are."""
        if self.single:
            return []
        parts, size = len(self.names), self.n_y + self.n_x + n_miss
        pairs = np.array([(index, unit) for index, members in enumerate(self.members) for unit in members])
        class_column, unit_column = ((pairs[:, side, None] * parts + np.arange(parts)).ravel() for side in (0, 1))
        n = len(class_column)
        ones = np.concatenate([np.ones(n), -np.ones(n)])
        columns = np.concatenate([self.n_y + class_column, unit_column])
        below = _rows(ones, np.tile(np.arange(n), 2), columns, (n, size), -np.inf, 0)
        every = np.arange(self.n_x)
        above = _rows(
            np.concatenate([np.ones(self.n_x), -np.ones(n)]),
            np.concatenate([every, class_column]),
            np.concatenate([self.n_y + every, unit_column]),
            (self.n_x, size),
            np.repeat([1 - len(members) for members in self.members], parts),
            np.inf,
        )
        return [below, above]

    def _within(self, tolerance: float, n_miss: int) -> list[LinearConstraint]:
        """Every attribute keeps its share of every part."""
        counts = sparse.csr_matrix(self.counts)
        parts = len(self.names)
        share_of_kept = np.outer(self.shares, np.ones(parts))
        difference = sparse.kron(counts, np.eye(parts) - share_of_kept, format="csr")
        if self.single:
            allowed = sparse.csr_matrix((self.n_bounds, self.n_x))
            slack = np.maximum(tolerance * np.outer(self.counts.sum(axis=1), self.shares).ravel(), 1.0)
        else:
            allowed = sparse.kron(counts, tolerance * share_of_kept, format="csr")
            slack = np.ones(self.n_bounds)
        left = sparse.csr_matrix((self.n_bounds, self.n_y))
        miss = sparse.identity(self.n_bounds, format="csr")[:, :n_miss]
        upper = sparse.hstack([left, difference - allowed, -miss], format="csr")
        lower = sparse.hstack([left, difference + allowed, miss], format="csr")
        return [
            LinearConstraint(upper, -np.inf, slack + self._EPSILON),
            LinearConstraint(lower, -slack - self._EPSILON, np.inf),
        ]

    def parts(self, solution: NDArray[np.float64]) -> tuple[str, ...]:
        """The part of each item."""
        n, parts = len(self.unit_names), len(self.names)
        unit_part = solution[: n * parts].reshape(n, parts).argmax(axis=1)
        names = []
        for index in self.class_of:
            chosen = {int(unit_part[unit]) for unit in self.members[index]}
            names.append(self.names[chosen.pop()] if len(chosen) == 1 else LEFT_OUT)
        return tuple(names)

    def table(self, part: Sequence[str]) -> dict[str, Counter[str]]:
        """How often each attribute stands in each part."""
        table: dict[str, Counter[str]] = {label: Counter() for label in self.labels}
        for values, name in zip(self.attributes, part, strict=True):
            for value in values:
                table[value][name] += 1
        return table

    def deviation(self, part: Sequence[str]) -> float:
        """Largest relative distance of a count from its share, see :attr:`Split.deviation`."""
        worst = 0.0
        for counts in self.table(part).values():
            kept = sum(counts[name] for name in self.names)
            for name, share in self.settings.shares.items():
                if self.settings.tolerance * share * kept >= 1:
                    worst = max(worst, abs(counts[name] / (share * kept) - 1))
        return worst


def _rows(
    values: NDArray, rows: NDArray, columns: NDArray, shape: tuple[int, int], lower: Any, upper: Any
) -> LinearConstraint:
    return LinearConstraint(sparse.csr_matrix((values, (rows, columns)), shape=shape), lower, upper)


def _why_impossible(programme: _Programme, result: OptimizeResult, units: Sequence[tuple[str, ...]]) -> str:
    settings = programme.settings
    if result.status == 1:
        return f"split: none was found in {settings.time_limit_s:g} s; raise time_limit_s or tolerance"
    wanted = f"no split of {len(units)} items holds every share within {settings.tolerance:.0%}"
    if len(programme.unit_names) == 1:
        return (
            f"split: {wanted}: they all hang together through shared groups; keep fewer kinds whole or leave items out"
        )
    nearest = programme.nearest()
    if nearest.x is None:
        return f"split: {wanted}; raise tolerance or balance fewer attributes"
    table = programme.table(programme.parts(nearest.x))
    worst, place = 0.0, ""
    for label, counts in table.items():
        kept = sum(counts[name] for name in programme.names)
        for name, share in settings.shares.items():
            miss = abs(counts[name] - share * kept)
            if miss > worst:
                worst, place = miss, f"{label} in {name} ({counts[name]} instead of {share * kept:.1f})"
    return f"split: {wanted}; the nearest misses {place}; raise tolerance or balance fewer attributes"
