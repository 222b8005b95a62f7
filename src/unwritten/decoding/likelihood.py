"""The exact likelihood of every word of a lexicon: summed over all paths, no beam, nothing pruned.

A word's paths are told apart by the frame in which its tail (its last two letters) begins, so

    P(word) = sum over t of  arrival of its head at t  *  P(frames t to T spell its tail, the first letter in frame t)

The arrivals come from the forward recursion over the trie of heads, the second factors from the same recursion over the
trie of tails, backwards in time; per word one sum of T products is left. That is what makes all English quick.

It runs in linear float64, each frame divided by the emission of the best path that spells a word's length, so that good
words stay near 1. Whatever could have underflowed is known from a bound and done again in logarithms: see ``_scaling``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from unwritten.decoding.emissions import Emissions, as_emissions
from unwritten.decoding.exact_length import best_scores, trace
from unwritten.decoding.lexicon import Lexicon
from unwritten.decoding.recursion import MINUS_INFINITY, extend, extend_log, meet, meet_log, silence_log

LOG_SMALLEST = math.log(np.finfo(np.float64).tiny)
LOG_LARGEST = math.log(np.finfo(np.float64).max) - 10
LOG_ACCURACY = math.log(1e-7)


def word_log_likelihoods(log_probs: ArrayLike, lexicon: Lexicon) -> NDArray[np.float64]:
    """Natural log probability ``[W]`` that the frames spell each word, summed over all paths.

    A word that needs more frames than there are (one per letter, and a blank between equal neighbours) has minus
    infinity, the logarithm of its probability.

    Args:
        log_probs: ``[T, C]`` log probabilities, column 0 the blank, then the lexicon's alphabet.
        lexicon: the words.

    Raises:
        UnwrittenError: ``log_probs`` are not finite, not normalised or not as wide as the alphabet.
    """
    emissions = as_emissions(log_probs, lexicon.alphabet.classes)
    result = np.full(len(lexicon), MINUS_INFINITY)
    fits = lexicon.fewest_frames <= len(emissions)
    if not fits.any():
        return result
    scale, start, floor = _scaling(emissions, lexicon)
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        scaled = np.exp(np.ascontiguousarray(emissions.T) - scale)
        masses = np.empty(len(lexicon))
        _linear_masses(scaled, math.exp(start), _Layout.of(lexicon), masses)
        log_masses = np.log(masses) - 2 * start
    sure = np.isfinite(log_masses) & (log_masses > floor)
    result[lexicon.order] = np.where(sure, log_masses + scale.sum(), MINUS_INFINITY)
    again = ~sure & fits[lexicon.order]
    if again.any():
        in_logs = np.full(len(lexicon), MINUS_INFINITY)
        _log_masses(np.ascontiguousarray(emissions.T), _Layout.of(lexicon), again, in_logs)
        result[lexicon.order[again]] = in_logs[again]
    result[~fits] = MINUS_INFINITY
    return result


class _Layout(NamedTuple):
    """The arrays of a lexicon that the recursions walk over; see ``Lexicon`` and ``Trie``."""

    head_label: NDArray[np.int32]
    head_parent: NDArray[np.int32]
    head_depth: NDArray[np.int32]
    tail_label: NDArray[np.int32]
    tail_depth: NDArray[np.int32]
    tail_node: NDArray[np.int32]
    first_word: NDArray[np.int32]
    tail_of_word: NDArray[np.int32]
    repeats: NDArray[np.bool_]

    @classmethod
    def of(cls, lexicon: Lexicon) -> _Layout:
        heads, tails = lexicon.heads, lexicon.tails
        words = (lexicon.first_word, lexicon.tail, lexicon.repeats)
        return cls(heads.label, heads.parent, heads.depth, tails.label, tails.depth, lexicon.tail_node, *words)


def _scaling(emissions: Emissions, lexicon: Lexicon) -> tuple[NDArray[np.float64], float, float]:
    """How to keep linear masses within float64.

    Every product or sum that underflows loses at most the smallest normal number. What is lost is multiplied on its way
    to the result by the mass of the paths that go on from there, at most (number of paths) x (best continuation); the
    reach of Viterbi, forwards and backwards, bounds that, and a word of n letters has at most C(T + n, 2 n) paths. So a
    mass that is 1e7 times larger than all that could be lost is right to 1e-7. The same bounds say how far above 1
    heads and tails may start without overflow; the further, the smaller the losses.

    Returns:
        The log scale ``[T]`` of each frame, the log mass that the empty head and the empty tail start with, and the log
        mass of a word above which a linear result is accurate.
    """
    frames, most = len(emissions), int(lexicon.lengths.max())
    score, came_from, reach = best_scores(emissions, most)
    _, _, reach_back = best_scores(np.ascontiguousarray(emissions[::-1]), most)
    lengths = np.unique(lexicon.lengths)
    length, label = np.unravel_index(score[lengths].argmax(), score[lengths].shape)
    path = trace(came_from, int(lengths[length]) * emissions.shape[1] + int(label))
    scale = emissions[np.arange(frames), path]
    so_far = np.concatenate([[0.0], scale.cumsum()])
    reach, reach_back = reach - so_far, reach_back[::-1] - (so_far[-1] - so_far)
    largest = max(0.0, float(reach.max()), float(reach_back.max()))
    n = min(most, frames)
    log_paths = math.lgamma(frames + n + 1) - math.lgamma(2 * n + 1) - math.lgamma(frames - n + 1)
    start = max(0.0, min((LOG_LARGEST - log_paths) / 2, LOG_LARGEST - log_paths - largest))
    log_losses = LOG_SMALLEST + math.log(8.0 * frames * (most + 1)) + log_paths + largest
    return scale, start, log_losses - start - LOG_ACCURACY


@njit(cache=True)
def _linear_masses(
    scaled: NDArray[np.float64],
    start: float,
    layout: _Layout,
    masses: NDArray[np.float64],
) -> None:
    """Fill ``masses [W]``, in the lexicon's order, from scaled probabilities ``[C, T]``; all are times ``start``²."""
    head_label, head_parent, head_depth, tail_label, tail_depth, tail_node, first_word, tail_of_word, repeats = layout
    frames = scaled.shape[1]
    backwards = np.ascontiguousarray(scaled[:, ::-1])
    deepest = max(head_depth.max(), tail_depth.max())
    label = np.zeros(frames + 1)
    blank = np.zeros((deepest + 1, frames + 1))
    through = np.zeros((deepest + 1, frames + 1))

    last = np.zeros(deepest + 1, np.int32)  # label of the latest node of each depth
    tails = np.empty((len(tail_node), frames))
    number = 0
    for node in range(len(tail_label)):
        depth, letter = tail_depth[node], tail_label[node]
        if depth == 0:
            blank[0, 0] = through[0, 0] = start
            for t in range(frames):
                blank[0, t + 1] = through[0, t + 1] = blank[0, t] * backwards[0, t]
            continue
        last[depth] = letter
        arrival = blank[depth - 1] if last[depth - 1] == letter else through[depth - 1]
        extend(backwards[letter], backwards[0], arrival, depth, label, blank[depth], through[depth])
        if number < len(tail_node) and tail_node[number] == node:
            for t in range(frames):
                tails[number, t] = label[frames - t]
            number += 1

    for node in range(len(head_label)):
        depth, letter = head_depth[node], head_label[node]
        if depth == 0:
            blank[0, 0] = through[0, 0] = start
            for t in range(frames):
                blank[0, t + 1] = through[0, t + 1] = blank[0, t] * scaled[0, t]
        else:
            arrival = blank[depth - 1] if head_label[head_parent[node]] == letter else through[depth - 1]
            extend(scaled[letter], scaled[0], arrival, depth, label, blank[depth], through[depth])
        for word in range(first_word[node], first_word[node + 1]):
            arrival = blank[depth] if repeats[word] else through[depth]
            masses[word] = meet(arrival[:frames], tails[tail_of_word[word]])


@njit(cache=True)
def _log_masses(
    emissions: NDArray[np.float64],
    layout: _Layout,
    wanted: NDArray[np.bool_],
    masses: NDArray[np.float64],
) -> None:
    """Fill the ``wanted`` log masses ``[W]``, in the lexicon's order, from log probabilities ``[C, T]``."""
    head_label, head_parent, head_depth, tail_label, tail_depth, tail_node, first_word, tail_of_word, repeats = layout
    frames = emissions.shape[1]
    backwards = np.ascontiguousarray(emissions[:, ::-1])
    deepest = max(head_depth.max(), tail_depth.max())
    label = np.zeros(frames + 1)
    blank = np.zeros((deepest + 1, frames + 1))
    through = np.zeros((deepest + 1, frames + 1))

    last = np.zeros(deepest + 1, np.int32)
    tails = np.empty((len(tail_node), frames))
    blank[0] = through[0] = silence_log(backwards[0])
    number = 0
    for node in range(1, len(tail_label)):
        depth, letter = tail_depth[node], tail_label[node]
        last[depth] = letter
        arrival = blank[depth - 1] if last[depth - 1] == letter else through[depth - 1]
        extend_log(backwards[letter], backwards[0], arrival, label, blank[depth], through[depth])
        if number < len(tail_node) and tail_node[number] == node:
            tails[number] = label[:0:-1]
            number += 1

    needed = np.zeros(len(head_label), np.bool_)
    for node in range(len(head_label) - 1, -1, -1):  # children stand after their parents
        needed[node] |= wanted[first_word[node] : first_word[node + 1]].any()
        if needed[node] and node:
            needed[head_parent[node]] = True
    blank[0] = through[0] = silence_log(emissions[0])
    for node in range(len(head_label)):
        if not needed[node]:
            continue
        depth, letter = head_depth[node], head_label[node]
        if depth:
            arrival = blank[depth - 1] if head_label[head_parent[node]] == letter else through[depth - 1]
            extend_log(emissions[letter], emissions[0], arrival, label, blank[depth], through[depth])
        for word in range(first_word[node], first_word[node + 1]):
            if wanted[word]:
                arrival = blank[depth] if repeats[word] else through[depth]
                masses[word] = meet_log(arrival[:frames], tails[tail_of_word[word]])
