"""Reading a word whose letter boundaries are known: each letter from its own frames alone.

The frames between two boundaries must spell exactly one letter, whatever their neighbours spell, so that

    P(word) = product over i of  P(the frames of span i spell letter i)

is exact: a table of one probability for each span and letter holds all that any word needs.
"""

from __future__ import annotations

import heapq
import math
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unwritten.decoding.alphabet import Alphabet
from unwritten.decoding.belief import Candidates, standing_of
from unwritten.decoding.decode import Decoded
from unwritten.decoding.emissions import Emissions, as_emissions, tempered
from unwritten.decoding.expected_ola import best_letters, expected_ola, letter_weights
from unwritten.decoding.greedy import collapse
from unwritten.decoding.lexicon import Lexicon
from unwritten.decoding.recursion import extend_log, silence_log
from unwritten.decoding.settings import DecodingSettings
from unwritten.errors import UnwrittenError


def span_log_likelihoods(log_probs: ArrayLike, edges: ArrayLike) -> NDArray[np.float64]:
    """Log probability ``[n, C - 1]`` that each span's frames spell each letter and nothing else, summed over all paths.

    Args:
        log_probs: ``[T, C]`` log probabilities, column 0 the blank.
        edges: ``[n + 1]`` frames, increasing: span i is the frames ``edges[i]`` to ``edges[i + 1]``, the latter not
            included. Frames outside of all spans are not looked at.

    Raises:
        UnwrittenError: ``log_probs`` are not finite or not normalised, or a span has no frame or lies outside.
    """
    emissions = as_emissions(log_probs)
    frames = np.asarray(edges, dtype=np.int64)
    if len(frames) < 2 or frames[0] < 0 or frames[-1] > len(emissions) or (np.diff(frames) < 1).any():
        raise UnwrittenError(
            f"letter boundaries {frames.tolist()} do not divide {len(emissions)} frames: each letter needs one frame "
            "or more; check the truth of the boundaries"
        )
    result = np.empty((len(frames) - 1, emissions.shape[1] - 1))
    for row, (start, end) in enumerate(pairwise(frames)):
        columns = np.ascontiguousarray(emissions[start:end].T)
        silence = silence_log(columns[0])
        new = np.empty((3, end - start + 1))
        for letter in range(1, len(columns)):
            extend_log(columns[letter], columns[0], silence, *new)
            result[row, letter - 1] = new[2, -1]
    return result


def decode_in_spans(
    log_probs: ArrayLike,
    edges: ArrayLike,
    settings: DecodingSettings | None = None,
    lexicon: Lexicon | None = None,
    truth: str | None = None,
) -> Decoded:
    """Read a word of as many letters as there are spans; with a lexicon its words, without one any letters.

    Temperature, prior, answer and number of candidates are chosen as for ``decode``; a word outside the lexicon is not
    considered. The letter times of the answer are the spans.

    Args:
        log_probs: ``[T, C]`` log probabilities, column 0 the blank, then the alphabet.
        edges: ``[n + 1]`` frames as in ``span_log_likelihoods``.
        settings: what may be chosen; None for the defaults.
        lexicon: the words that may be, None for any string; of one letter, every letter may be.
        truth: the true word, to say where it stands; it changes nothing else.

    Raises:
        UnwrittenError: as in ``span_log_likelihoods``, or the lexicon has no word of n letters.
    """
    settings = settings or DecodingSettings()
    alphabet = Alphabet(settings.alphabet)
    emissions = tempered(as_emissions(log_probs, alphabet.classes), settings.temperature)
    spans = span_log_likelihoods(emissions, edges)
    n = len(spans)
    standing = None
    if lexicon is None and n > 1:
        log_evidence = float(np.logaddexp.reduce(spans, axis=1).sum())
        posterior = np.exp(spans - np.logaddexp.reduce(spans, axis=1, keepdims=True))
        weights = np.concatenate([np.zeros((n, 1)), posterior / n], axis=1)
        candidates = _likeliest(np.log(np.maximum(posterior, np.finfo(float).tiny)), alphabet, settings.candidates)
        labels = best_letters(weights, n)
        log_evidence -= n * math.log(len(alphabet))
    else:
        lexicon = Lexicon.letters(alphabet) if lexicon is None or n == 1 else lexicon.of_length(n)
        chosen = np.take_along_axis(spans.T, lexicon.labels - 1, axis=0)
        log_joint = chosen.sum(axis=1) + lexicon.log_prior(settings.frequency_weight)
        log_evidence = float(np.logaddexp.reduce(log_joint))
        posterior = np.exp(log_joint - log_evidence)
        best = np.argsort(-log_joint, kind="stable")[: settings.candidates]
        candidates = tuple((lexicon.words[index], float(posterior[index])) for index in best)
        weights = letter_weights(posterior, lexicon)
        standing = standing_of(truth, lexicon, log_joint)
        labels = lexicon.labels[best[0]]
        if settings.answer == "expected_ola":
            labels = lexicon.labels[expected_ola(weights, lexicon.labels).argmax()]
        elif settings.answer == "expected_ola_letters":
            labels = best_letters(weights, n)
    times_s = np.asarray(edges, dtype=np.float64) / settings.rate_hz
    return Decoded(
        word=alphabet.decode(labels),
        candidates=candidates,
        letters=alphabet.decode(collapse(emissions.argmax(axis=1))),
        letter_spans_s=tuple(zip(times_s[:-1].tolist(), times_s[1:].tolist(), strict=True)),
        log_evidence=log_evidence,
        expected_ola=float(expected_ola(weights, labels)),
        outside=0.0,
        unsure=bool(candidates[0][1] < settings.unsure_below),
        standing=standing,
    )


def _likeliest(log_posterior: NDArray[np.float64], alphabet: Alphabet, count: int) -> Candidates:
    """The ``count`` likeliest strings of letters that are independent of each other, ``log_posterior [n, A]``."""
    best: list[tuple[float, str]] = [(0.0, "")]
    for row in log_posterior:
        longer = [(score + row[i], word + letter) for score, word in best for i, letter in enumerate(alphabet.letters)]
        # No string whose beginning is not among the best beginnings can be among the best.
        best = heapq.nlargest(count, longer)
    return tuple((word, math.exp(score)) for score, word in best)


def edges_of(boundaries_s: ArrayLike, emissions: Emissions | NDArray[np.float32], rate_hz: float) -> NDArray[np.int64]:
    """Frames ``[n + 1]`` of the spans that ``boundaries_s`` ``[n - 1]`` cut all frames of a clip into."""
    inner = np.rint(np.asarray(boundaries_s, dtype=np.float64) * rate_hz).astype(np.int64)
    return np.concatenate([[0], inner, [len(emissions)]])
