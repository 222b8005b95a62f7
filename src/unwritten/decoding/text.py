"""Text of several words: cut at the spaces that the emissions show, each word decoded by itself, put together again.

A word is what ``decode`` makes of its stretch of frames: its probabilities are as exact as those of a single word.
What stands between words (digits, signs) is taken as the emissions say. T is the number of frames.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unwritten.decoding.alphabet import Alphabet
from unwritten.decoding.belief import Candidates
from unwritten.decoding.decode import Decoded, decode
from unwritten.decoding.emissions import as_emissions, tempered
from unwritten.decoding.greedy import collapse
from unwritten.decoding.lexicon import Lexicon
from unwritten.decoding.settings import DecodingSettings
from unwritten.decoding.times import letter_spans

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*|\S")
_STRETCH = re.compile(r"\S+")


@dataclass(frozen=True)
class ReadWord:
    """One word of a text.

    Attributes:
        word: as it is read.
        candidates: the likeliest words of its stretch with their probabilities, best first.
        span_s: start and end of the stretch in seconds.
    """

    word: str
    candidates: Candidates
    span_s: tuple[float, float]


@dataclass(frozen=True)
class DecodedText:
    """What a clip's emissions spell as a text.

    Attributes:
        whole: the text as one answer; its candidates change one word at a time, its probability is the words' product.
        words: the words, and digits and signs between them, in order.
    """

    whole: Decoded
    words: tuple[ReadWord, ...]


def decode_text(
    log_probs: ArrayLike, settings: DecodingSettings | None = None, lexicon: Lexicon | None = None
) -> DecodedText:
    """Read a text; an empty one where nothing was written.

    Args:
        log_probs: ``[T, C]`` log probabilities, column 0 the blank, then the alphabet.
        settings: of each word; with a lexicon they should have an open vocabulary, or names become common words.
        lexicon: the words that are likely, None for any letters.

    Raises:
        UnwrittenError: as ``decode`` does of emissions and lexicons.
    """
    settings = settings or DecodingSettings()
    alphabet = Alphabet(settings.alphabet)
    emissions = tempered(as_emissions(log_probs, alphabet.classes), settings.temperature)
    labels = collapse(emissions.argmax(axis=1)) if len(emissions) else np.zeros(0, np.int32)
    greedy = alphabet.decode(labels)
    spans = letter_spans(emissions, labels) if len(labels) else np.zeros((0, 2))
    pattern = _STRETCH if lexicon is None else _WORD
    single = replace(settings, temperature=1.0)
    words: list[ReadWord] = []
    gaps: list[str] = []
    times: list[tuple[float, float]] = []
    evidence, end = 0.0, 0
    for match in pattern.finditer(greedy):
        first, last = _stretch(spans, match.start(), match.end(), len(emissions))
        gaps.append(" " if words and greedy[end : match.start()].strip() == "" and match.start() > end else "")
        end = match.end()
        piece = emissions[first:last]
        if len(match.group()) > 1:
            # An open vocabulary has the lengths of its lexicon.
            short = lexicon is not None and len(match.group()) <= lexicon.lengths.max()
            decoded = decode(piece, single, lexicon if short else None)
            word, candidates, own = decoded.word, decoded.candidates, decoded.letter_spans_s
            evidence += decoded.log_evidence
        else:
            word, candidates, own = match.group(), _single(piece, alphabet), ()
        start_s, end_s = first / settings.rate_hz, last / settings.rate_hz
        if gaps[-1]:
            times.append((words[-1].span_s[1], start_s))
        times += [(start_s + one, start_s + other) for one, other in own] or _even(start_s, end_s, len(word))
        words.append(ReadWord(word, candidates, (start_s, end_s)))
    candidates = _texts(words, gaps, settings.candidates)
    sure = [dict(one.candidates).get(one.word, 0.0) for one in words]
    whole = Decoded(
        word=_joined([one.word for one in words], gaps),
        candidates=candidates,
        letters=greedy,
        letter_spans_s=tuple(times),
        log_evidence=evidence,
        expected_ola=float(np.mean(sure)) if sure else 0.0,
        outside=0.0,
        unsure=not sure or float(np.median(sure)) < settings.unsure_below,
    )
    return DecodedText(whole, tuple(words))


def _stretch(spans: NDArray[np.float64], first: int, last: int, frames: int) -> tuple[int, int]:
    """Frames of letters ``first`` to ``last`` of the greedy path: up to halfway to the letters beside them."""
    begin = 0 if first == 0 else int((spans[first - 1, 1] + spans[first, 0]) // 2)
    end = frames if last == len(spans) else int((spans[last - 1, 1] + spans[last, 0] + 1) // 2)
    return begin, max(end, begin + 1)


def _single(piece: NDArray[np.float64], alphabet: Alphabet) -> Candidates:
    """Each sign's share where the emissions are surest of one; ``[T, C]`` of its stretch."""
    share = np.exp(piece[:, 1:].max(axis=0))
    order = np.argsort(-share)[:5]
    return tuple((alphabet.letters[index], float(share[index] / share.sum())) for index in order)


def _even(start_s: float, end_s: float, count: int) -> list[tuple[float, float]]:
    edges = np.linspace(start_s, end_s, count + 1)
    return [(float(one), float(other)) for one, other in pairwise(edges)]


def _joined(words: list[str], gaps: list[str]) -> str:
    return "".join(gap + word for gap, word in zip(gaps, words, strict=True))


def _texts(words: list[ReadWord], gaps: list[str], count: int) -> Candidates:
    """The text, and the texts that another candidate of one word gives, likeliest first."""
    best = [one.word for one in words]
    own = [max(dict(one.candidates).get(one.word, 0.0), 1e-12) for one in words]
    product = float(np.prod(own)) if own else 0.0
    texts = {_joined(best, gaps): product}
    for place, one in enumerate(words):
        for word, probability in one.candidates:
            text = _joined([*best[:place], word, *best[place + 1 :]], gaps)
            texts[text] = max(texts.get(text, 0.0), product / own[place] * probability)
    return tuple(sorted(texts.items(), key=lambda entry: -entry[1])[:count])
