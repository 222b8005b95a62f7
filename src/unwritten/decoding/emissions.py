"""Emissions checked once, before any recursion: finite, normalised, as wide as the alphabet."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unwritten.errors import UnwrittenError

Emissions = NDArray[np.float64]
"""Natural log probabilities ``[T, C]``: T frames, C = blank and letters; column 0 is the blank."""


def as_emissions(log_probs: ArrayLike, classes: int | None = None) -> Emissions:
    """Check log probabilities and return them as float64 ``[T, C]``.

    Args:
        log_probs: ``[T, C]`` output of a log-softmax, float32 or float64.
        classes: how many columns there must be; None for any number above one.

    Raises:
        UnwrittenError: another shape, NaN or infinity, or rows that are not normalised (raw logits, probabilities).
    """
    emissions = np.ascontiguousarray(log_probs, dtype=np.float64)
    if emissions.ndim != 2 or emissions.shape[1] < 2 or (classes is not None and emissions.shape[1] != classes):
        wanted = "C >= 2" if classes is None else f"C = {classes} (blank and {classes - 1} letters)"
        raise UnwrittenError(f"log_probs {list(emissions.shape)}: shape [T, C] with {wanted} is needed")
    if not np.isfinite(emissions).all():
        frame, label = np.argwhere(~np.isfinite(emissions))[0]
        raise UnwrittenError(
            f"log_probs: frame {frame}, label {label} is {emissions[frame, label]}; every value must be finite, "
            "as log_softmax gives them"
        )
    if len(emissions):
        peak = emissions.max(axis=1, keepdims=True)
        total = np.log(np.exp(emissions - peak).sum(axis=1)) + peak[:, 0]
        worst = int(np.abs(total).argmax())
        if abs(total[worst]) > 0.01:
            raise UnwrittenError(
                f"log_probs: the probabilities of frame {worst} sum to exp({total[worst]:.4g}), not to 1; "
                "pass what log_softmax gives"
            )
    return emissions


def tempered(emissions: Emissions, temperature: float) -> Emissions:
    """Emissions ``[T, C]`` flattened (temperature above 1) or sharpened (below 1) and normalised again."""
    if temperature == 1:
        return emissions
    scaled = emissions / temperature
    peak = scaled.max(axis=1, keepdims=True)
    return scaled - peak - np.log(np.exp(scaled - peak).sum(axis=1, keepdims=True))


def restricted(emissions: ArrayLike, alphabet: str, letters: str) -> NDArray[np.floating]:
    """Emissions ``[T, 1 + letters]`` of some letters of an alphabet: the others are left out, the rest normalised.

    Args:
        emissions: ``[T, C]`` log probabilities over the blank and the alphabet.
        alphabet: letters of the columns after the blank.
        letters: those to keep, in the order wanted; with all of them the emissions come back as they are.
    """
    emissions = np.asarray(emissions)
    if letters == alphabet:
        return emissions
    kept = emissions[:, [0, *(alphabet.index(letter) + 1 for letter in letters)]]
    peak = kept.max(axis=1, keepdims=True)
    return kept - peak - np.log(np.exp(kept - peak).sum(axis=1, keepdims=True))
