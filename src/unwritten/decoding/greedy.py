"""The simplest reading: the likeliest label of each frame, repeats merged, blanks removed."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unwritten.decoding.alphabet import BLANK, Alphabet
from unwritten.decoding.emissions import as_emissions


def collapse(path: NDArray[np.integer]) -> NDArray[np.int32]:
    """Labels ``[n]`` that a path ``[T]`` of one label per frame spells: repeats merged, then blanks removed."""
    starts = np.ones(len(path), dtype=bool)
    starts[1:] = path[1:] != path[:-1]
    return path[starts & (path != BLANK)].astype(np.int32)


def greedy(log_probs: ArrayLike, alphabet: Alphabet | None = None) -> str:
    """Letters of the likeliest path of ``log_probs`` ``[T, C]``: no lexicon and no length.

    Raises:
        UnwrittenError: ``log_probs`` are not finite, not normalised or not as wide as the alphabet.
    """
    alphabet = alphabet or Alphabet()
    emissions = as_emissions(log_probs, alphabet.classes)
    return alphabet.decode(collapse(emissions.argmax(axis=1)))
