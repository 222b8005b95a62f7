"""The answer that maximises expected ordered letter accuracy (OLA), which is often not the likeliest word.

OLA of an answer a to a truth w of n letters is the share of positions i < n with a[i] = w[i]. Its expectation under a
posterior is a sum over positions of M[i, a[i]] with

    M[i, c] = sum over words w with w[i] = c of  P(w) / length(w)

so the best answer of free letters takes the largest M of each position, and the best word the largest sum.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unwritten.decoding.alphabet import BLANK
from unwritten.decoding.lexicon import Lexicon


def letter_weights(posterior: NDArray[np.float64], lexicon: Lexicon) -> NDArray[np.float64]:
    """The matrix M ``[L, C]`` of a posterior ``[W]`` over the words of a lexicon; L = longest word."""
    weights = np.zeros((lexicon.labels.shape[1], lexicon.alphabet.classes))
    share = posterior / lexicon.lengths
    for position in range(len(weights)):
        weights[position] = np.bincount(lexicon.labels[:, position], weights=share, minlength=weights.shape[1])
    weights[:, BLANK] = 0.0  # where words have ended
    return weights


def expected_ola(weights: NDArray[np.float64], labels: NDArray[np.integer]) -> NDArray[np.float64]:
    """Expected OLA ``[...]`` of answers ``labels`` ``[..., n]`` (0 after the last letter), as a fraction."""
    positions = min(labels.shape[-1], len(weights))
    return np.asarray(weights[np.arange(positions), labels[..., :positions]].sum(axis=-1))


def best_letters(weights: NDArray[np.float64], n: int) -> NDArray[np.int32]:
    """The n letters of the largest expected OLA, whether or not they spell a word: labels ``[n]``.

    Beyond the longest word in the posterior no letter is better than another; the answer then is shorter than n.
    """
    return (weights[:n, 1:].argmax(axis=1) + 1).astype(np.int32)
