"""From the emissions of one clip to a word with probabilities, letter times and a word of doubt."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unwritten.decoding import belief as beliefs
from unwritten.decoding.alphabet import Alphabet
from unwritten.decoding.emissions import Emissions, as_emissions, tempered
from unwritten.decoding.expected_ola import best_letters, expected_ola
from unwritten.decoding.greedy import collapse
from unwritten.decoding.lexicon import Lexicon
from unwritten.decoding.settings import DecodingSettings
from unwritten.decoding.times import letter_spans_s
from unwritten.errors import UnwrittenError


@dataclass(frozen=True)
class Decoded:
    """What a clip's emissions spell.

    Attributes:
        word: the answer by ``DecodingSettings.answer``; empty when nothing at all was written.
        candidates: the likeliest words with their probabilities, best first.
        letters: the greedy letters, without lexicon and length.
        letter_spans_s: start and end of each letter of ``word`` in seconds; empty where the word does not fit in the
            frames (letters of the largest expected accuracy need not).
        log_evidence: log of the sum over possible words of prior times probability; comparable between lexicons.
        expected_ola: the accuracy that ``word`` is expected to have under the probabilities, as a fraction.
        outside: probability that the word is none of the lexicon's.
        unsure: whether the answer should be taken with doubt.
        standing: where the true word stands among those of the lexicon; None without truth or lexicon, or where the
            lexicon lacks it.
    """

    word: str
    candidates: beliefs.Candidates
    letters: str
    letter_spans_s: tuple[tuple[float, float], ...]
    log_evidence: float
    expected_ola: float
    outside: float
    unsure: bool
    standing: beliefs.Standing | None = None


def decode(
    log_probs: ArrayLike,
    settings: DecodingSettings | None = None,
    lexicon: Lexicon | None = None,
    n: int | None = None,
    truth: str | None = None,
) -> Decoded:
    """Read one clip.

    With a lexicon the posterior over its words is exact. Without one (or with an open vocabulary and a lexicon that has
    no word of ``n`` letters) all strings of ``n`` letters (or of any number)
    are possible. A clip of one letter (``n`` = 1) has all letters of the alphabet as its lexicon, whatever was given.

    Args:
        log_probs: ``[T, C]`` log probabilities, float32 or float64, column 0 the blank, then the alphabet.
        settings: what may be chosen; None for the defaults.
        lexicon: the words that may be, None for any string.
        n: how many letters the word has, None when that is not known.
        truth: the true word, to say where it stands; it changes nothing else.

    Raises:
        UnwrittenError: emissions that are not finite, not normalised, of another width or without frames; a clip
            shorter than its word; a closed lexicon without words of n letters, or of another alphabet.
    """
    settings = settings or DecodingSettings()
    alphabet = Alphabet(settings.alphabet)
    emissions = tempered(as_emissions(log_probs, alphabet.classes), settings.temperature)
    if not len(emissions):
        raise UnwrittenError("log_probs have no frames: there is nothing to read; check the clip")
    if n is not None and n < 1:
        raise UnwrittenError(f"length {n}: a word has at least one letter")
    if n == 1:  # nothing is outside the alphabet
        lexicon, settings = Lexicon.letters(alphabet), replace(settings, outside_prior=0.0, open_vocabulary=False)
    if lexicon is not None and lexicon.alphabet != alphabet:
        raise UnwrittenError(
            f"lexicon: its alphabet {lexicon.alphabet.letters!r} is not the emissions' {alphabet.letters!r}; "
            "build it with that one"
        )
    if lexicon is not None and settings.open_vocabulary and n is not None and not (lexicon.lengths == n).any():
        lexicon = None  # a name longer than every word of the list
    if lexicon is None:
        belief = beliefs.over_strings(emissions, alphabet, n, settings)
        possible = _label_rows(alphabet, [word for word, _ in belief.candidates])
    else:
        lexicon = lexicon.of_length(n)
        belief, posterior, free = beliefs.over_lexicon(emissions, lexicon, settings)
        possible = lexicon.labels
        if settings.open_vocabulary and free is not None:
            belief = beliefs.with_open_vocabulary(emissions, lexicon, belief, posterior, free, n, settings)
            outsiders = _label_rows(alphabet, [word for word, _ in belief.candidates], possible.shape[1])
            possible = np.concatenate([possible, outsiders])

    likeliest, probability = belief.candidates[0]
    labels = alphabet.encode(likeliest)
    if settings.answer == "expected_ola" and (lexicon is not None or n is None):
        best = possible[expected_ola(belief.weights, possible).argmax()]
        labels = best[best > 0]
    elif settings.answer != "likeliest":
        labels = best_letters(belief.weights, n if n is not None else len(likeliest))
    closed = lexicon is not None and not settings.open_vocabulary
    return Decoded(
        word=alphabet.decode(labels),
        candidates=belief.candidates,
        letters=alphabet.decode(collapse(emissions.argmax(axis=1))),
        letter_spans_s=_spans_s(emissions, labels, settings),
        log_evidence=belief.log_evidence,
        expected_ola=float(expected_ola(belief.weights, labels)),
        outside=belief.outside,
        unsure=bool(probability * (1 - belief.outside if closed else 1) < settings.unsure_below),
        standing=None
        if lexicon is None or belief.log_joint is None
        else beliefs.standing_of(truth, lexicon, belief.log_joint),
    )


def _label_rows(alphabet: Alphabet, words: list[str], width: int | None = None) -> NDArray[np.int32]:
    """Labels ``[len(words), L]`` of words, 0 after the last letter; L = ``width``, or the longest word's letters."""
    rows = np.zeros((len(words), width if width is not None else max([1, *map(len, words)])), dtype=np.int32)
    for row, word in zip(rows, words, strict=True):
        row[: len(word)] = alphabet.encode(word)
    return rows


def _spans_s(
    emissions: Emissions, labels: NDArray[np.int32], settings: DecodingSettings
) -> tuple[tuple[float, float], ...]:
    if len(labels) + int((labels[1:] == labels[:-1]).sum()) > len(emissions):
        return ()
    spans = letter_spans_s(emissions, labels, settings.rate_hz, settings.letter_times)
    return tuple((float(start), float(end)) for start, end in spans)
