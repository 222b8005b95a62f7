"""Strings of exactly n letters without a lexicon: the best path, the posterior of the length, letters per position.

All of it is exact: the dynamic programme's state is the number of letters begun and the letter that the path stands in.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from unwritten.decoding.alphabet import BLANK
from unwritten.decoding.emissions import Emissions, as_emissions
from unwritten.decoding.greedy import collapse
from unwritten.decoding.recursion import MINUS_INFINITY, any_string_log
from unwritten.errors import UnwrittenError
from unwritten.wording import counted


@dataclass(frozen=True)
class BestPath:
    """The likeliest path among those that spell n letters.

    Attributes:
        labels: ``[n]`` labels of its letters.
        log_prob: natural logarithm of the path's probability.
        spans: ``[n, 2]`` first frame of each letter and the frame after its last one.
        path: ``[T]`` label of each frame, 0 for the blank.
    """

    labels: NDArray[np.int32]
    log_prob: float
    spans: NDArray[np.int64]
    path: NDArray[np.int32]


def spans_of_path(path: NDArray[np.integer]) -> NDArray[np.int64]:
    """First frame and the frame after the last one ``[n, 2]`` of each letter of a path ``[T]``."""
    edges = np.flatnonzero(np.concatenate([[True], path[1:] != path[:-1], [True]])) if len(path) else np.zeros(1, int)
    letters = path[edges[:-1]] != BLANK
    return np.stack([edges[:-1][letters], edges[1:][letters]], axis=1).astype(np.int64)


@njit(cache=True)
def best_scores(
    emissions: NDArray[np.float64], most: int
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.float64]]:
    """Viterbi over (letters begun, label) for every number of letters up to ``most`` = N.

    Returns:
        ``score [N + 1, C]``: log probability of the best path that ends with j letters begun in label c (0: blank);
        ``came_from [T, N + 1, C]``: the state j * C + c of the frame before on the best path, -1 at the start;
        ``reach [T + 1]``: the best score of any state after t frames.
    """
    frames, classes = emissions.shape
    score = np.full((most + 1, classes), MINUS_INFINITY)
    following = np.empty((most + 1, classes))
    came_from = np.full((frames, most + 1, classes), -1, dtype=np.int32)
    reach = np.zeros(frames + 1)
    for t in range(frames):
        reach[t + 1] = MINUS_INFINITY
        # The two best ways to leave j letters for letter j + 1: the second serves a letter that may not repeat itself.
        first, first_score, second, second_score = -1, MINUS_INFINITY, -1, MINUS_INFINITY
        for j in range(most + 1):
            for c in range(1, classes):
                best, state = score[j, c], j * classes + c
                if first >= 0 and first % classes != c and first_score > best:
                    best, state = first_score, first
                elif second >= 0 and first % classes == c and second_score > best:
                    best, state = second_score, second
                following[j, c] = best + emissions[t, c]
                came_from[t, j, c] = state
            first, first_score, second, second_score = j * classes, score[j, 0], -1, MINUS_INFINITY
            if t == 0:
                first_score = 0.0 if j == 0 else MINUS_INFINITY
            in_blank, blank_state = first_score, j * classes
            for c in range(1, classes):
                if score[j, c] > first_score:
                    second, second_score = first, first_score
                    first, first_score = j * classes + c, score[j, c]
                elif score[j, c] > second_score:
                    second, second_score = j * classes + c, score[j, c]
                if score[j, c] > in_blank:
                    in_blank, blank_state = score[j, c], j * classes + c
            following[j, 0] = in_blank + emissions[t, 0]
            came_from[t, j, 0] = blank_state
            for c in range(classes):
                reach[t + 1] = max(reach[t + 1], following[j, c])
        score, following = following, score
    if frames == 0:
        score[0, 0] = 0.0
    return score, came_from, reach


@njit(cache=True)
def trace(came_from: NDArray[np.int32], state: int) -> NDArray[np.int32]:
    """Labels ``[T]`` of the best path that ends in ``state``."""
    frames, _, classes = came_from.shape
    path = np.empty(frames, dtype=np.int32)
    for t in range(frames - 1, -1, -1):
        path[t] = state % classes
        state = came_from[t, state // classes, state % classes]
    return path


def _check_length(emissions: Emissions, n: int) -> None:
    if n < 0:
        raise UnwrittenError(f"length {n}: a word has no negative number of letters; give n >= 0")
    if n > len(emissions):
        raise UnwrittenError(
            f"log_probs of {counted(len(emissions), 'frame')} cannot spell {counted(n, 'letter')} of a frame each; "
            "check the number of letters or the clip's frame rate"
        )


def best_path_of_length(log_probs: ArrayLike, n: int) -> BestPath:
    """The likeliest single path whose collapsed labels are exactly ``n`` letters.

    Args:
        log_probs: ``[T, C]`` log probabilities, column 0 the blank.
        n: number of letters.

    Raises:
        UnwrittenError: ``log_probs`` are not finite or not normalised, n is negative, or the clip is shorter than n
            frames.
    """
    emissions = as_emissions(log_probs)
    _check_length(emissions, n)
    if n > 1 and emissions.shape[1] == 2 and len(emissions) < 2 * n - 1:
        raise UnwrittenError(
            f"log_probs of {len(emissions)} frames cannot spell one letter {n} times with blanks between"
        )
    score, came_from, _ = best_scores(emissions, n)
    label = int(score[n].argmax())
    path = trace(came_from, n * emissions.shape[1] + label)
    return BestPath(collapse(path), float(score[n, label]), spans_of_path(path), path)


def length_log_posterior(log_probs: ArrayLike, most: int) -> NDArray[np.float64]:
    """Log probability ``[most + 1]`` that the clip spells 0, 1, ... ``most`` letters, summed over all strings.

    Raises:
        UnwrittenError: ``log_probs`` are not finite or not normalised.
    """
    label, blank = any_string_log(as_emissions(log_probs), most)
    ends = np.concatenate([label[-1], blank[-1][:, None]], axis=1)
    return np.logaddexp.reduce(ends, axis=1)


def tails_of_any_string(emissions: Emissions, most: int) -> NDArray[np.float64]:
    """Log mass ``[most + 1, C, T]`` of all strings of j letters whose first letter c begins in frame t, to the end."""
    label, _ = any_string_log(np.ascontiguousarray(emissions[::-1]), most)
    return np.ascontiguousarray(label[:0:-1].transpose(1, 2, 0))


def letter_posteriors_of_length(log_probs: ArrayLike, n: int) -> NDArray[np.float64]:
    """Probability ``[n, C]`` that letter i of an n-letter string is label c, over all strings and paths.

    Raises:
        UnwrittenError: as in ``best_path_of_length``.
    """
    emissions = as_emissions(log_probs)
    _check_length(emissions, n)
    tails = tails_of_any_string(emissions, n)
    label, blank = any_string_log(emissions, n)
    posterior = np.full((n, emissions.shape[1]), -math.inf)
    for i in range(n):
        for c in range(1, emissions.shape[1]):
            others = label[:-1, i].copy()
            others[:, c] = -math.inf  # a letter may repeat only after a blank
            arrival = np.logaddexp(np.logaddexp.reduce(others, axis=1), blank[:-1, i])
            posterior[i, c] = np.logaddexp.reduce(arrival + tails[n - i, c])
    return np.exp(posterior - np.logaddexp.reduce(posterior, axis=1, keepdims=True))
