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

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unwritten.decoding.emissions import Emissions, as_emissions
from unwritten.decoding.exact_length import best_scores, trace
from unwritten.decoding.lexicon import Lexicon
from unwritten.decoding.recursion import MINUS_INFINITY, Layout, word_log_masses, word_masses

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
        word_masses(scaled, math.exp(start), _layout(lexicon), masses)
        log_masses = np.log(masses) - 2 * start
    sure = np.isfinite(log_masses) & (log_masses > floor)
    result[lexicon.order] = np.where(sure, log_masses + scale.sum(), MINUS_INFINITY)
    again = ~sure & fits[lexicon.order]
    if again.any():
        in_logs = np.full(len(lexicon), MINUS_INFINITY)
        word_log_masses(np.ascontiguousarray(emissions.T), _layout(lexicon), again, in_logs)
        result[lexicon.order[again]] = in_logs[again]
    result[~fits] = MINUS_INFINITY
    return result


def _layout(lexicon: Lexicon) -> Layout:
    heads, tails = lexicon.heads, lexicon.tails
    words = (lexicon.first_word, lexicon.tail, lexicon.repeats)
    return Layout(heads.label, heads.parent, heads.depth, tails.label, tails.depth, lexicon.tail_node, *words)


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
