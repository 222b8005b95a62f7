"""The likeliest strings without a lexicon, each summed over all of its paths: best-first search over prefixes.

The exact mass of everything that a prefix can still become is at hand (its arrivals times the mass of all tails), and
no string can have more mass than its prefix. So the first whole string that leaves the queue is the likeliest, the
second the next, and so on: Graves et al. (2006), section 3.2, here for exactly n letters too.

With a prior of strings the bound of a prefix is its mass times the largest prior of all that it can become.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unwritten.decoding.emissions import Emissions, as_emissions
from unwritten.decoding.exact_length import best_path_of_length, length_log_posterior, tails_of_any_string
from unwritten.decoding.greedy import collapse
from unwritten.decoding.letter_order import LetterPrior
from unwritten.decoding.recursion import MINUS_INFINITY, extend_log, masses_of_extensions, silence_log
from unwritten.decoding.trie import Labels

EXPANSIONS_PER_WIDTH = 16
LENGTHS = 5
"""How many lengths a search with a prior follows where n is not known."""
LONGER = 5
"""Letters that a string may have more than the likeliest path, there."""
LEAST_LENGTH = 1e-4
"""Probability by the emissions below which a length is not followed, there."""


@dataclass(frozen=True)
class Strings:
    """What the search found.

    Attributes:
        labels: the strings, likeliest first.
        log_probs: log probability of each, summed over all paths; exact in any case.
        log_joint: log of prior times probability of each, by which they are ordered; exact too.
        log_total: log of the sum of prior times probability over all strings. Without a prior it is exact. With one,
            it is over the lengths that were followed, and what was not reached is estimated: a prefix's mass times the
            mean prior of all that it can become.
        proven: True when no other string can be likelier than those; False when the width cut the search short.
    """

    labels: tuple[Labels, ...]
    log_probs: tuple[float, ...]
    log_joint: tuple[float, ...]
    log_total: float
    proven: bool


def likeliest_strings(
    log_probs: ArrayLike,
    n: int | None,
    count: int = 10,
    width: int = 64,
    prior: LetterPrior | None = None,
    least_share: float | None = None,
) -> Strings:
    """The ``count`` likeliest strings of exactly ``n`` letters, or of any number of letters for None.

    Args:
        log_probs: ``[T, C]`` log probabilities, column 0 the blank.
        n: number of letters, or None.
        count: how many strings.
        width: how many prefixes of each length are followed at most. Flat emissions need more than there is time for;
            then the strings are those of a beam of this width, and the likeliest path's string is always among them.
        prior: how likely strings are beforehand; None all alike. With a prior and without n, strings are those of the
            lengths that the emissions alone find likeliest: at most ``LENGTHS``, and none that they all but exclude.
        least_share: give more than ``count`` strings: all that have this share of the whole found so far, or more.

    Raises:
        UnwrittenError: ``log_probs`` are not finite or not normalised, or n letters do not fit in T frames.
    """
    emissions = as_emissions(log_probs)
    if n is None:
        best = collapse(emissions.argmax(axis=1)) if len(emissions) else np.zeros(0, np.int32)
    else:
        best = best_path_of_length(emissions, n).labels
    roots = _roots(emissions, n, len(best), prior)
    found, log_total, proven = _search(emissions, roots, count, width, prior, least_share)
    sure = tuple(int(label) for label in best)
    if sure not in found and (not proven or len(found) < count):
        found[sure] = string_log_likelihood(emissions, best) + (prior.log_prior(sure) if prior else 0.0)
    ranked = sorted(found.items(), key=lambda item: -item[1])
    if least_share is None:
        ranked = ranked[:count]
    return Strings(
        tuple(labels for labels, _ in ranked),
        tuple(joint - (prior.log_prior(labels) if prior else 0.0) for labels, joint in ranked),
        tuple(joint for _, joint in ranked),
        log_total,
        proven,
    )


def _roots(
    emissions: Emissions, n: int | None, likely: int, prior: LetterPrior | None
) -> dict[int | None, tuple[float, float]]:
    """The lengths to search for, None for any, with the bound and the joint mass of all strings of each (in logs)."""
    if prior is None:
        return {n: (0.0, 0.0)}
    if n is not None:
        return {n: (prior.of_length(n), 0.0)}
    log_length = length_log_posterior(emissions, min(likely + LONGER, len(emissions)))
    followed = np.argsort(-log_length)[:LENGTHS]
    followed = followed[log_length[followed] >= math.log(LEAST_LENGTH)]
    return {
        length: (float(log_length[length]) + prior.of_length(length), float(log_length[length]))
        for length in {likely, *followed.tolist()}
    }


def _search(
    emissions: Emissions,
    roots: dict[int | None, tuple[float, float]],
    count: int,
    width: int,
    prior: LetterPrior | None,
    least_share: float | None,
) -> tuple[dict[Labels, float], float, bool]:
    """The strings found with their log joint, the log of the sum over all strings, and whether nothing was cut."""
    columns = np.ascontiguousarray(emissions.T)
    tails = tails_of_any_string(emissions, max(length or 0 for length in roots))
    silence = silence_log(columns[0])
    rows: dict[Labels, tuple[NDArray[np.float64], NDArray[np.float64]]] = {(): (silence, silence)}
    found: dict[Labels, float] = {}
    log_found = MINUS_INFINITY
    expanded: Counter[int] = Counter()
    cut: list[float] = []
    # Entries: (-log bound, whether it is a whole string, labels, letters of the strings that it stands for, log joint).
    # A prefix stands for itself and all of its extensions of that length (any for None), and has their joint mass.
    queue: list[tuple[float, bool, Labels, int | None, float]] = [
        (-bound, False, (), length, mass) for length, (bound, mass) in roots.items()
    ]
    heapq.heapify(queue)
    log_share = 0.0 if least_share is None else math.log(least_share)
    while queue and (len(found) < count or (least_share is not None and -queue[0][0] >= log_found + log_share)):
        _, whole, labels, length, log_joint = heapq.heappop(queue)
        if whole:
            found[labels] = log_joint
            log_found = float(np.logaddexp(log_found, log_joint))
            continue
        depth = len(labels)
        if expanded[depth] >= width or expanded.total() >= EXPANSIONS_PER_WIDTH * width:
            cut.append(log_joint)
            continue
        expanded[depth] += 1
        if labels not in rows:
            rows[labels] = _row_of(columns, labels, rows)
        through, blank = rows[labels]
        if length is None or depth == length:
            own = float(through[-1]) + (prior.log_prior(labels) if prior else 0.0)
            heapq.heappush(queue, (-own, True, labels, length, own))
        if depth == length:
            continue
        following = columns if length is None else tails[length - depth]
        masses = masses_of_extensions(through, blank, labels[-1] if labels else 0, following)
        bounds = masses
        if prior and length is not None:
            largest, mean = prior.of_extensions(labels, length)
            bounds, masses = masses + largest, masses + mean
        for letter in np.flatnonzero(masses > MINUS_INFINITY):
            longer = (*labels, int(letter))
            entry = (-float(bounds[letter]), len(longer) == length, longer, length, float(masses[letter]))
            heapq.heappush(queue, entry)
    left = [entry[-1] for entry in queue]
    return found, float(np.logaddexp.reduce([log_found, *cut, *left])), not cut


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
