"""A good split by simulated annealing, for programmes that the solver cannot finish: items that belong to many groups.

Letter clips are the case: a style has some 26, thousands of words share them, and the relaxation of the programme says
nothing (half of each letter clip in each part keeps every word). Moving one group at a time is cheap and finds good
splits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def search(
    members: Sequence[Sequence[int]],
    counts: NDArray[np.float64],
    weights: NDArray[np.float64],
    shares: NDArray[np.float64],
    tolerance: float,
    seed: int,
    steps: int | None = None,
) -> NDArray[np.intp] | None:
    """Look for the assignment of units to parts that keeps the most items while every share holds.

    Args:
        members: for each of C classes of items its units.
        counts: ``[A, C]`` how often each attribute stands in each class.
        weights: ``[C]`` items of each class.
        shares: ``[P]`` share of each part.
        tolerance: how far a count may lie from its share, as a part of it; one item more is allowed.
        seed: of the moves.
        steps: how many moves are tried; 300 for each unit when None.

    Returns:
        ``[U]`` part of each unit, or None when no assignment that holds the shares was met.
    """
    rng = np.random.default_rng(seed)
    n_units, n_parts = 1 + max(unit for units in members for unit in units), len(shares)
    sizes = np.array([len(units) for units in members])
    classes = [
        np.array([c for c, units in enumerate(members) if unit in units], dtype=np.intp) for unit in range(n_units)
    ]
    part = rng.choice(n_parts, n_units, p=shares)
    hits = np.zeros((len(members), n_parts), dtype=np.intp)
    for c, units in enumerate(members):
        np.add.at(hits[c], part[list(units)], 1)
    kept = counts @ (hits == sizes[:, None])
    total = weights.sum()

    def missed(kept: NDArray[np.float64]) -> float:
        target = kept.sum(axis=1, keepdims=True) * shares
        return float(np.maximum(np.abs(kept - target) - tolerance * target - 1, 0).sum())

    items = float(weights @ (hits == sizes[:, None]).sum(axis=1))
    energy = (10 * missed(kept) - items) / total
    best, best_items = (part.copy(), items) if missed(kept) <= 1e-9 else (None, -1.0)
    # From moves that lose several items, or 3 % of them, down to moves that lose none.
    for temperature in np.geomspace(max(0.03, 3 / total), 0.3 / total, steps or 300 * n_units):
        unit, to = int(rng.integers(n_units)), int(rng.integers(n_parts))
        at, rows = int(part[unit]), classes[unit]
        if to == at:
            continue
        before = hits[rows] == sizes[rows, None]
        hits[rows, at] -= 1
        hits[rows, to] += 1
        change = (hits[rows] == sizes[rows, None]).astype(float) - before
        new_kept = kept + counts[:, rows] @ change
        new_items = items + float(weights[rows] @ change.sum(axis=1))
        new_missed = missed(new_kept)
        new_energy = (10 * new_missed - new_items) / total
        if new_energy <= energy or rng.random() < np.exp((energy - new_energy) / temperature):
            part[unit], kept, items, energy = to, new_kept, new_items, new_energy
            if new_missed <= 1e-9 and items > best_items:
                best, best_items = part.copy(), items
        else:
            hits[rows, at] += 1
            hits[rows, to] -= 1
    return best
