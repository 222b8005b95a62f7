"""Readers that look at nothing: the floor that stands beside every number.

They are told the number of letters, as every reader is, and know general English or a training split's words; never the
list that the test's words come from. Their answers do not depend on the modality. W is the number of words known.

Source of the idea: blind and few-shot frequency baselines, V. Pătrăucean et al., Perception Test (arXiv 2305.13786).
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from unwritten.errors import UnwrittenError, UsageError
from unwritten.readers.base import ClipReader, number_of_letters
from unwritten.types import Answer, Clip, Modality
from unwritten.words.lists import NAMED, WordList, WordListSettings, letters_of, read_words, word_list

Strategy = Literal["constant", "random", "letters", "few-shot"]


@dataclass(frozen=True)
class BlindSettings:
    """What a blind reader knows and how it guesses.

    Attributes:
        name: its name in tables.
        strategy: ``constant`` says, for each length, the one word of highest expected OLA; ``random`` a random word
            of the length; ``letters`` the most frequent letter of each position, be it a word or not; ``few-shot`` the
            same from ``demonstrations`` random words alone, drawn anew for each item.
        words: ``english`` (all of wordfreq's words), or a file of one word a line, such as a training split's.
        language: wordfreq's language code.
        power: words are weighted by their frequency to this power: 1 counts running text, 0 the dictionary. Tests are
            drawn from frequent words, each once: the truth lies between, and 0.5 is a higher floor than either end.
        demonstrations: k of ``few-shot``.
        seed: of the random choices, which also depend on the item.
    """

    name: str = "blind-constant"
    strategy: Strategy = "constant"
    words: str = "english"
    language: str = "en"
    power: float = 0.5
    demonstrations: int = 8
    seed: int = 0

    def __post_init__(self) -> None:
        if self.strategy not in get_args(Strategy):
            raise ValueError(f"strategy: {self.strategy!r} is not one of {', '.join(get_args(Strategy))}")
        if self.demonstrations < 1:
            raise ValueError(f"demonstrations: {self.demonstrations} is no number of examples; give 1 or more")
        if self.power < 0:
            raise ValueError(f"power: {self.power} would prefer rare words; give 0 or more")


class BlindReader(ClipReader):
    """Guesses from the number of letters alone.

    Args:
        settings: what it knows and how it guesses.
        words: the words and their frequencies, instead of those that the settings name.

    Raises:
        UsageError: the settings name the benchmark's own list.
    """

    reads_shots = True

    def __init__(self, settings: BlindSettings = BlindSettings(), words: WordList | None = None) -> None:
        if words is None:
            words = _known_words(settings)
        self.name = settings.name
        self.settings = settings
        self._words: dict[int, tuple[tuple[str, ...], NDArray[np.float64]]] = {}
        self._guesses: dict[int, tuple[str, tuple[tuple[str, float], ...]]] = {}
        weights = words.frequency**settings.power
        lengths = np.array([len(word) for word in words])
        for length in np.unique(lengths).tolist():
            own = np.flatnonzero(lengths == length)
            self._words[length] = (tuple(words.words[at] for at in own), weights[own] / weights[own].sum())

    def answer(self, clip: Clip, modality: Modality) -> Answer:
        """Guess, whatever the modality.

        Raises:
            UnwrittenError: the number of letters is unknown.
        """
        length = number_of_letters(clip)
        if length is None:
            raise UnwrittenError("the number of letters is unknown")
        word, candidates = self.guess(length, clip.id)
        return Answer(clip.id, self.name, modality, raw=word, word=word, candidates=candidates)

    def guess(self, length: int, item: str = "") -> tuple[str, tuple[tuple[str, float], ...]]:
        """The guess for a word of ``length`` letters, and the five likeliest words with their shares.

        Args:
            length: number of letters.
            item: id of the item; random strategies draw anew for each.
        """
        strategy = self.settings.strategy
        if strategy in ("constant", "letters"):
            if length not in self._guesses:
                self._guesses[length] = self._fit(length)
            return self._guesses[length]
        rng = np.random.default_rng([self.settings.seed, zlib.crc32(item.encode()), length])
        words, weights = self._of_length(length)
        drawn = 1 if strategy == "random" else self.settings.demonstrations
        shares = np.cumsum(weights)
        shown = [words[index] for index in np.searchsorted(shares, rng.random(drawn) * shares[-1], side="right")]
        if strategy == "random":
            return shown[0], ()
        letters, alphabet = letter_shares(shown, np.full(len(shown), 1 / len(shown)))
        # Few examples tie often; the letters of all positions together decide.
        return _best_letters(letters + 1e-3 * letters.mean(axis=0), alphabet), ()

    def _of_length(self, length: int) -> tuple[tuple[str, ...], NDArray[np.float64]]:
        if length in self._words:
            return self._words[length]
        # Nothing known is as long: the longest known words, lengthened by their own letters, are still a guess.
        nearest = min(self._words, key=lambda known: (abs(known - length), known))
        words, weights = self._words[nearest]
        return tuple((word * (length // len(word) + 1))[:length] for word in words), weights

    def _fit(self, length: int) -> tuple[str, tuple[tuple[str, float], ...]]:
        words, weights = self._of_length(length)
        shares, alphabet = letter_shares(words, weights)
        likeliest = tuple((words[index], float(weights[index])) for index in np.argsort(-weights, kind="stable")[:5])
        if self.settings.strategy == "letters":
            return _best_letters(shares, alphabet), likeliest
        column = {letter: index for index, letter in enumerate(alphabet)}
        codes = np.array([[column[letter] for letter in word] for word in words])
        expected = shares[np.arange(length), codes].mean(axis=1)
        return words[int(expected.argmax())], likeliest


def letter_shares(words: Sequence[str], weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], list[str]]:
    """Share of each letter at each position.

    Args:
        words: W words of one length n.
        weights: ``[W]`` summing to 1.

    Returns:
        ``[n, letters]`` shares, each row summing to 1, and the letters of the columns.
    """
    alphabet = sorted({letter for word in words for letter in word})
    column = {letter: index for index, letter in enumerate(alphabet)}
    codes = np.array([[column[letter] for letter in word] for word in words])
    shares: NDArray[np.float64] = np.stack(
        [
            np.bincount(codes[:, position], weights=weights, minlength=len(alphabet))
            for position in range(codes.shape[1])
        ]
    )
    return shares, alphabet


def _best_letters(shares: NDArray[np.float64], alphabet: Sequence[str]) -> str:
    return "".join(alphabet[index] for index in shares.argmax(axis=1))


def _known_words(settings: BlindSettings) -> WordList:
    if settings.words == "english":
        # The named list starts at two letters; single letters and longer words are items too.
        known = WordListSettings(language=settings.language, top=0, wordlist="large", shortest=1, longest=30)
        try:
            return word_list(settings=known)
        except UsageError:
            return word_list(settings=WordListSettings(language=settings.language, top=0, shortest=1, longest=30))
    if settings.words in NAMED:
        raise UsageError(
            f"{settings.name}: a floor is not fitted on the {settings.words!r} list that the test's words come from; "
            "set words=english or a file of training words"
        )
    words = tuple(word for word in dict.fromkeys(read_words(settings.words)) if letters_of(word))
    return WordList(words, np.ones(len(words)))
