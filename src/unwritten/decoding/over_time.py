"""How the belief in each word rises and falls while the pen moves: the posterior after every frame."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from unwritten.decoding.emissions import as_emissions
from unwritten.decoding.lexicon import Lexicon
from unwritten.decoding.likelihood import word_log_likelihoods
from unwritten.decoding.recursion import MINUS_INFINITY, extend_log, log_add, silence_log
from unwritten.decoding.trie import Trie


def posterior_over_time(
    log_probs: ArrayLike, lexicon: Lexicon, frequency_weight: float = 0.0, frames: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Probability ``[K, W]`` of each word after some frames, normalised over the lexicon.

    Before the end a word is as likely as its prior times the mass of all paths that have spelled any of its prefixes so
    far; after the last frame only the whole word counts, as in ``decode``.

    Args:
        log_probs: ``[T, C]`` log probabilities, column 0 the blank.
        lexicon: the words.
        frequency_weight: weight of log frequency in the prior.
        frames: ``[K]`` after how many frames, each 0 to T, ascending; None for 0 to T.

    Raises:
        UnwrittenError: ``log_probs`` are not finite, not normalised or not as wide as the alphabet.
    """
    emissions = as_emissions(log_probs, lexicon.alphabet.classes)
    after = np.arange(len(emissions) + 1) if frames is None else np.asarray(frames, dtype=np.int64)
    spelled = [tuple(row[:length].tolist()) for row, length in zip(lexicon.labels, lexicon.lengths, strict=True)]
    trie = Trie.of(spelled)
    word_of_node = np.full(len(trie), -1, dtype=np.int64)
    word_of_node[[trie.node[word] for word in spelled]] = np.arange(len(spelled))
    masses = np.empty((len(after), len(lexicon)))
    _masses_on_the_way(np.ascontiguousarray(emissions.T), trie.label, trie.depth, word_of_node, after, masses)
    ended = after == len(emissions)
    if ended.any():
        whole = word_log_likelihoods(emissions, lexicon)
        if np.isfinite(whole).any():
            masses[ended] = whole
    masses += lexicon.log_prior(frequency_weight)
    masses -= masses.max(axis=1, keepdims=True)
    np.exp(masses, out=masses)
    masses /= masses.sum(axis=1, keepdims=True)
    return masses


@njit(cache=True)
def _masses_on_the_way(
    emissions: NDArray[np.float64],
    node_label: NDArray[np.int32],
    node_depth: NDArray[np.int32],
    word_of_node: NDArray[np.int64],
    after: NDArray[np.int64],
    masses: NDArray[np.float64],
) -> None:
    """Fill ``masses [K, W]``: log mass of the paths that spell a prefix of the word; ``emissions [C, T]``."""
    frames = emissions.shape[1]
    deepest = node_depth.max()
    label = np.empty(frames + 1)
    blank = np.empty((deepest + 1, frames + 1))
    through = np.empty((deepest + 1, frames + 1))
    so_far = np.full((deepest + 1, len(after)), MINUS_INFINITY)
    last = np.zeros(deepest + 1, np.int32)
    blank[0] = through[0] = silence_log(emissions[0])
    for k in range(len(after)):
        so_far[0, k] = through[0, after[k]]
    for node in range(1, len(node_label)):
        depth, letter = node_depth[node], node_label[node]
        last[depth] = letter
        arrival = blank[depth - 1] if last[depth - 1] == letter else through[depth - 1]
        extend_log(emissions[letter], emissions[0], arrival, label, blank[depth], through[depth])
        for k in range(len(after)):
            so_far[depth, k] = log_add(so_far[depth - 1, k], through[depth, after[k]])
        if word_of_node[node] >= 0:
            masses[:, word_of_node[node]] = so_far[depth]
