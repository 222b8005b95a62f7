"""Word lists: what a reader may answer, and what word items are made of. W is the number of words.

Two named English lists serve decoding: ``benchmark``, the words of 2 to 5 letters among wordfreq's 20,000 most frequent
tokens (5,809), and ``english``, every such token that wordfreq knows (76,717). Word items are made from the first with
the stoplist applied and only from letters that a style really has.

Source of the frequencies: R. Speer, wordfreq (https://github.com/rspeer/wordfreq).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
import regex
from numpy.typing import NDArray

from unwritten.errors import UnwrittenError, UsageError

LATIN = "abcdefghijklmnopqrstuvwxyz"
Accents = Literal["drop", "fold", "keep"]

# Letters that Unicode does not decompose into a base and a mark, as they are commonly written without their accent.
_FOLDED = str.maketrans(
    {
        "ß": "ss",
        "æ": "ae",
        "œ": "oe",
        "ø": "o",
        "ł": "l",
        "đ": "d",
        "ð": "d",
        "þ": "th",
        "\u0131": "i",
        "ħ": "h",
        "ŋ": "n",
    }
)


@dataclass(frozen=True)
class WordListSettings:
    """Which words a list holds.

    Attributes:
        language: a language code that wordfreq knows, e.g. ``en``, ``de``, ``fr``.
        top: how many of the most frequent tokens to look at; 0 looks at all.
        wordlist: wordfreq's own list: ``small``, ``large`` or ``best`` (the largest that the language has).
        shortest, longest: limits of the length in letters, after folding.
        accents: ``drop`` leaves out words with a letter outside a-z; ``fold`` writes them without accents (two words
            that fold to one add their frequencies); ``keep`` takes every letter as it is, in any script.
        stop_words: words to leave out.
    """

    language: str = "en"
    top: int = 20_000
    wordlist: str = "best"
    shortest: int = 2
    longest: int = 5
    accents: Accents = "drop"
    stop_words: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.accents not in ("drop", "fold", "keep"):
            raise ValueError(f"accents: {self.accents!r} is not one of drop, fold, keep")
        if not 1 <= self.shortest <= self.longest:
            raise ValueError(f"shortest, longest: {self.shortest} to {self.longest} letters holds no word")
        if self.top < 0:
            raise ValueError(f"top: {self.top} is negative; 0 takes the whole list")


NAMED: Mapping[str, WordListSettings] = {
    "benchmark": WordListSettings(top=20_000),
    "english": WordListSettings(top=0, wordlist="large"),
}


@dataclass(frozen=True)
class WordList:
    """Distinct words, most frequent first, with their frequencies.

    Attributes:
        words: the W words; words of one frequency stand in wordfreq's order, which is alphabetical.
        frequency: float64 ``[W]`` share of running text, as wordfreq gives it; they do not sum to 1.
    """

    words: tuple[str, ...]
    frequency: NDArray[np.float64]

    def __post_init__(self) -> None:
        if not len(set(self.words)) == len(self.words) == len(self.frequency):
            raise ValueError("a word list needs distinct words and one frequency for each")

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def of_length(self, length: int) -> WordList:
        """The words of ``length`` letters, in the same order."""
        return self.only(word for word in self.words if len(letters_of(word)) == length)

    def only(self, words: Iterable[str]) -> WordList:
        """The words that are also in ``words``, in this list's order."""
        wanted = set(words)
        keep = [position for position, word in enumerate(self.words) if word in wanted]
        return WordList(tuple(self.words[position] for position in keep), self.frequency[keep])


def letters_of(word: str) -> tuple[str, ...]:
    """The letters of a word: each a character with the marks that belong to it, spaces left out."""
    if word.isascii():
        return tuple(word.replace(" ", ""))
    return tuple(letter for letter in regex.findall(r"\X", unicodedata.normalize("NFC", word)) if not letter.isspace())


def fold_accents(text: str) -> str:
    """The text with every letter in its plain form: ``é`` as ``e``, ``ß`` as ``ss``, ``ø`` as ``o``."""
    decomposed = unicodedata.normalize("NFKD", text.translate(_FOLDED))
    return unicodedata.normalize("NFC", "".join(mark for mark in decomposed if not unicodedata.combining(mark)))


def word_list(name: str = "benchmark", settings: WordListSettings | None = None) -> WordList:
    """Return a list of words with their frequencies; the same arguments always give the same list.

    Args:
        name: ``benchmark`` or ``english``; ignored when ``settings`` are given.
        settings: another list, in another language for example.

    Raises:
        UsageError: no list has this name, or wordfreq does not know the language or the kind of list.
    """
    if settings is None:
        if name not in NAMED:
            raise UsageError(f"word list {name!r}: no such list; known are {', '.join(NAMED)}")
        settings = NAMED[name]
    return _word_list(settings)


@lru_cache(maxsize=16)
def _word_list(settings: WordListSettings) -> WordList:
    stop_words = {unicodedata.normalize("NFC", word.lower()) for word in settings.stop_words}
    frequency: dict[str, float] = {}
    for token, share in _tokens(settings):
        word = _plain(token.lower(), settings.accents)
        if word is None or word in stop_words or not settings.shortest <= len(letters_of(word)) <= settings.longest:
            continue
        frequency[word] = frequency.get(word, 0.0) + share
    # A stable sort keeps wordfreq's order except where folding joined two words.
    words = sorted(frequency, key=lambda word: -frequency[word])
    return WordList(tuple(words), np.array([frequency[word] for word in words], dtype=np.float64))


def _tokens(settings: WordListSettings) -> Iterator[tuple[str, float]]:
    import wordfreq
    from langcodes.tag_parser import LanguageTagError

    try:
        frequencies = wordfreq.get_frequency_dict(settings.language, settings.wordlist)
    except (LookupError, LanguageTagError) as error:
        languages = ", ".join(sorted(wordfreq.available_languages("best")))
        raise UsageError(
            f"wordfreq has no {settings.wordlist} word list in {settings.language!r}; languages are {languages}"
        ) from error
    if settings.top == 0:
        yield from frequencies.items()
    else:
        for token in wordfreq.top_n_list(settings.language, settings.top, settings.wordlist):
            yield token, frequencies[token]


def _plain(token: str, accents: Accents) -> str | None:
    """The word that a token stands for, or None when it is not made of letters alone."""
    if accents == "keep":
        token = unicodedata.normalize("NFC", token)
        return token if regex.fullmatch(r"(?:\p{L}\p{M}*)+", token) else None
    if accents == "fold":
        token = fold_accents(token)
        return token if regex.fullmatch(r"\p{L}+", token) else None
    return token if token.isascii() and token.isalpha() else None


def item_settings(settings: WordListSettings = NAMED["benchmark"]) -> WordListSettings:
    """The settings with the stoplist added: what word items are made from."""
    from unwritten.words.stop_words import STOP_WORDS

    return replace(settings, stop_words=tuple(sorted({*settings.stop_words, *STOP_WORDS})))


def read_words(path: Path | str) -> tuple[str, ...]:
    """Read a text file of one word or phrase a line; blank lines and lines that begin with # are skipped.

    Raises:
        UnwrittenError: the file cannot be read, is not UTF-8, or holds no word.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise UnwrittenError(
            f"{path}: no words can be read ({reason}); give a text file with one word a line"
        ) from error
    words = (unicodedata.normalize("NFC", line.strip()) for line in lines if not line.lstrip().startswith("#"))
    distinct = tuple(dict.fromkeys(word for word in words if word))
    if not distinct:
        raise UnwrittenError(f"{path}: holds no word; write one word a line")
    return distinct
