"""The likeliest strings without a lexicon, each summed over all of its paths: best-first search over prefixes.

The exact mass of everything that a prefix can still become is at hand (its arrivals times the mass of all tails), and
no string can have more mass than its prefix. So the first whole string that leaves the queue is the likeliest, the
second the next, and so on: Graves et al. (2006), section 3.2, here for exactly n letters too.
"""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unwritten.decoding.emissions import Emissions, as_emissions
from unwritten.decoding.exact_length import best_path_of_length, tails_of_any_string
from unwritten.decoding.greedy import collapse
from unwritten.decoding.recursion import MINUS_INFINITY, extend_log, masses_of_extensions, silence_log
from unwritten.decoding.trie import Labels

EXPANSIONS_PER_WIDTH = 16


@dataclass(frozen=True)
class Strings:
    """What the search found.

    Attributes:
        labels: the strings, likeliest first.
        log_probs: log probability of each, summed over all paths; exact in any case.
        proven: True when no other string can be likelier than those; False when the width cut the search short.
    """

    labels: tuple[Labels, ...]
    log_probs: tuple[float, ...]
    proven: bool


def likeliest_strings(log_probs: ArrayLike, n: int | None, count: int = 10, width: int = 64) -> Strings:
    """The ``count`` likeliest strings of exactly ``n`` letters, or of any number of letters for None.

    Args:
        log_probs: ``[T, C]`` log probabilities, column 0 the blank.
        n: number of letters, or None.
        count: how many strings.
        width: how many prefixes of each length are followed at most. Flat emissions need more than there is time for;
            then the strings are those of a beam of this width, and the likeliest path's string is always among them.

    Raises:
        UnwrittenError: ``log_probs`` are not finite or not normalised, or n letters do not fit in T frames.
    """
    emissions = as_emissions(log_probs)
    if n is None:
        best = collapse(emissions.argmax(axis=1)) if len(emissions) else np.zeros(0, np.int32)
        tails = None
    else:
        best = best_path_of_length(emissions, n).labels
        tails = tails_of_any_string(emissions, n)
    found, proven = _search(emissions, n, tails, count, width)
    sure = tuple(int(label) for label in best)
    if sure not in found and (not proven or len(found) < count):
        found[sure] = string_log_likelihood(emissions, best)
    ranked = sorted(found.items(), key=lambda item: -item[1])[:count]
    return Strings(tuple(labels for labels, _ in ranked), tuple(mass for _, mass in ranked), proven)


def _search(
    emissions: Emissions, n: int | None, tails: NDArray[np.float64] | None, count: int, width: int
) -> tuple[dict[Labels, float], bool]:
    columns = np.ascontiguousarray(emissions.T)
    silence = silence_log(columns[0])
    rows: dict[Labels, tuple[NDArray[np.float64], NDArray[np.float64]]] = {(): (silence, silence)}
    found: dict[Labels, float] = {}
    expanded: Counter[int] = Counter()
    proven = True
    # Entries: (-log mass, whether it is a whole string, labels). A prefix stands for itself and all of its extensions.
    queue: list[tuple[float, bool, Labels]] = [(0.0, False, ())]
    while queue and len(found) < count:
        negative_mass, whole, labels = heapq.heappop(queue)
        if whole:
            found[labels] = -negative_mass
            continue
        depth = len(labels)
        if expanded[depth] >= width or expanded.total() >= EXPANSIONS_PER_WIDTH * width:
            proven = False
            continue
        expanded[depth] += 1
        if depth:
            rows[labels] = _row_of(columns, labels, rows)
        through, blank = rows[labels]
        if n is None or depth == n:
            heapq.heappush(queue, (-float(through[-1]), True, labels))
        if depth == n:
            continue
        following = columns if n is None or tails is None else tails[n - depth]
        masses = masses_of_extensions(through, blank, labels[-1] if labels else 0, following)
        for letter in np.flatnonzero(masses > MINUS_INFINITY):
            longer = (*labels, int(letter))
            heapq.heappush(queue, (-float(masses[letter]), len(longer) == n, longer))
    return found, proven


def _row_of(
    columns: NDArray[np.float64],
    labels: Labels,
    rows: dict[Labels, tuple[NDArray[np.float64], NDArray[np.float64]]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rows ``through`` and ``blank`` of a string whose prefix's rows are known."""
    through, blank = rows[labels[:-1]]
    repeats = len(labels) > 1 and labels[-2] == labels[-1]
    new = np.empty((3, columns.shape[1] + 1))
    extend_log(columns[labels[-1]], columns[0], blank if repeats else through, *new)
    return new[2], new[1]


def string_log_likelihood(log_probs: ArrayLike, labels: ArrayLike) -> float:
    """Log probability that ``log_probs`` ``[T, C]`` spell ``labels`` ``[n]``, summed over all paths.

    Minus infinity when the labels need more frames than there are.

    Raises:
        UnwrittenError: ``log_probs`` are not finite or not normalised.
    """
    columns = np.ascontiguousarray(as_emissions(log_probs).T)
    through = blank = silence_log(columns[0])
    last = 0
    for letter in np.asarray(labels, dtype=np.int64):
        new = np.empty((3, columns.shape[1] + 1))
        extend_log(columns[letter], columns[0], blank if letter == last else through, *new)
        _, blank, through = new
        last = letter
    return float(through[-1])
