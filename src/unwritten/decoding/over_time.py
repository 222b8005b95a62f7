"""How the belief in each word rises and falls while the pen moves: the posterior after every frame."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unwritten.decoding.emissions import as_emissions
from unwritten.decoding.lexicon import Lexicon
from unwritten.decoding.likelihood import word_log_likelihoods
from unwritten.decoding.recursion import masses_on_the_way
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
    masses_on_the_way(np.ascontiguousarray(emissions.T), trie.label, trie.depth, word_of_node, after, masses)
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
