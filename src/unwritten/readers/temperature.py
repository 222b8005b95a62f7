"""How sure a network should be: one temperature for each head, from simulated clips of writers that it never saw.

U is the number of emission frames, A of labels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from unwritten.decoding.emissions import as_emissions, tempered
from unwritten.decoding.lexicon import Lexicon
from unwritten.decoding.likelihood import word_log_likelihoods
from unwritten.errors import UnwrittenError
from unwritten.readers.ctc import CtcReader
from unwritten.types import MODALITIES, Clip, Modality

_LOWEST, _HIGHEST = 0.5, 4.0


def fit_temperatures(reader: CtcReader, clips: Sequence[Clip]) -> dict[Modality, float]:
    """The temperatures under which the true words of clips are likeliest among the lexicon's words of their length.

    Args:
        reader: in mode ``ctc``; its lexicon counts every word alike.
        clips: words of writers that the network was not trained on, every one in every modality.

    Raises:
        UnwrittenError: not one clip's word is in the lexicon.
    """
    lexicons = {len(clip.word): _words_of(reader, len(clip.word)) for clip in clips if clip.word}
    known = [clip for clip in clips if clip.word and clip.word in lexicons[len(clip.word)].number]
    if not known:
        raise UnwrittenError("no clip's word is in the lexicon; calibrate on handwriting of lower-case words")
    found: dict[Modality, float] = {}
    for modality in MODALITIES:
        pairs = [
            (as_emissions(reader.emissions_of(clip, modality), lexicon.alphabet.classes), lexicon, lexicon.number[word])
            for clip in known
            if (word := clip.word) and (lexicon := lexicons[len(word)])
        ]
        best = minimize_scalar(
            lambda log_t, pairs=pairs: mean_surprise(pairs, float(np.exp(log_t))),
            bounds=(np.log(_LOWEST), np.log(_HIGHEST)),
            method="bounded",
            options={"xatol": 0.01},
        )
        found[modality] = round(float(np.exp(best.x)), 3)
    return found


def mean_surprise(pairs: Sequence[tuple[NDArray[np.float64], Lexicon, int]], temperature: float) -> float:
    """Mean of -log posterior of the true words, given emissions ``[U, A]``, lexicons and the words' numbers in them."""
    return -float(
        np.mean(
            [
                log_softmax(word_log_likelihoods(tempered(emissions, temperature), lexicon))[number]
                for emissions, lexicon, number in pairs
            ]
        )
    )


def _words_of(reader: CtcReader, n: int) -> Lexicon:
    lexicon = reader.lexicon_of(n)
    if lexicon is None:
        return Lexicon.letters()
    return lexicon.of_length(n)
