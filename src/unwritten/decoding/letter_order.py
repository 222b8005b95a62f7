"""Which letters follow which: a letter n-gram model of general English, and the prior that it gives to any string.

The probability of a letter given all letters before it is taken to depend on the last order - 1 of them, and the end of
a word is one more thing that may follow. Counts are smoothed after Witten and Bell (1991), as written by Chen and
Goodman (1998, section 2.4): what was seen after a context h is mixed with what follows the context h' that is one
letter shorter,

    P(c | h) = (count(h, c) + kinds(h) P(c | h')) / (count(h) + kinds(h))

where kinds(h) is how many different letters were seen after h, and the shortest context is mixed with all letters and
the end alike. So every string has some probability, and a common beginning leaves less of it to what was never seen.

S is the number of contexts, C the labels of the alphabet. A context is a number to the base C whose last digit is the
latest letter; its digits are 0 before the word begins. Column 0 of a row of C is the end of the word.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unwritten.decoding.alphabet import Alphabet
from unwritten.errors import UnwrittenError
from unwritten.words.lists import WordListSettings, word_list

END = 0
_ENGLISH = WordListSettings(top=0, wordlist="large", shortest=1, longest=30)
_POWER = 0.5  # of a word's frequency, as for blind readers: between the dictionary and running text


@dataclass(frozen=True)
class LetterOrder:
    """Letter n-gram probabilities in dense arrays.

    Attributes:
        log_next: float64 ``[S, C]`` log probability of each letter, and of the end (column 0), after each context.
        following: int64 ``[S, C]`` the context after each letter; column 0 is of no use.
    """

    log_next: NDArray[np.float64]
    following: NDArray[np.int64]

    @classmethod
    def fit(cls, words: Sequence[str], weights: ArrayLike, alphabet: Alphabet, order: int = 4) -> LetterOrder:
        """Count the letters of words, each as often as its weight says.

        Args:
            words: the words; those with a letter outside the alphabet are left out.
            weights: ``[len(words)]``, scaled so that those left in weigh 1 on average: smoothing compares them with
                numbers of letters.
            alphabet: the letters.
            order: letters that are looked at together, the one that is predicted among them.

        Raises:
            UnwrittenError: the order is below 1, or no word is spelled with the alphabet.
        """
        if order < 1:
            raise UnwrittenError(f"letter order {order}: it counts the letter that is predicted; give 1 or more")
        weight_of = {
            word: float(weight)
            for word, weight in zip(words, np.asarray(weights, dtype=np.float64), strict=True)
            if word and set(word) <= set(alphabet.letters)
        }
        if not weight_of:
            raise UnwrittenError(
                f"letter order: none of the words is spelled with the alphabet {alphabet.letters!r}; "
                "without them all strings are alike"
            )
        classes, contexts = alphabet.classes, alphabet.classes ** (order - 1)
        mean = sum(weight_of.values()) / len(weight_of)
        counts = np.zeros(contexts * classes)
        for labels, shares in _by_length(weight_of, alphabet):
            context = np.zeros(len(labels), dtype=np.int64)
            for column in labels.T:
                seen = context * classes + column
                counts += np.bincount(seen, weights=shares / mean, minlength=len(counts))
                context = seen % contexts
        following = (np.arange(contexts)[:, None] * classes + np.arange(classes)) % contexts
        return cls(np.log(_witten_bell(counts.reshape(contexts, classes))), following)


def _by_length(
    weight_of: dict[str, float], alphabet: Alphabet
) -> Iterable[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Labels ``[W, n + 1]``, the last of them the end, and weights ``[W]`` of the words of each length."""
    letters = np.array([ord(letter) for letter in alphabet.letters])
    alphabetical = np.argsort(letters)
    groups: dict[int, list[str]] = {}
    for word in weight_of:
        groups.setdefault(len(word), []).append(word)
    for length, group in groups.items():
        points = np.array(group, dtype=f"U{length}").view(np.uint32).reshape(len(group), length)
        labels = np.zeros((len(group), length + 1), dtype=np.int64)
        labels[:, :-1] = alphabetical[np.searchsorted(letters, points, sorter=alphabetical)] + 1
        yield labels, np.array([weight_of[word] for word in group])


def _witten_bell(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities ``[S, C]`` from weighted counts ``[S, C]``."""
    contexts, classes = counts.shape
    if contexts == 1:
        shorter = np.full((1, classes), 1 / classes)
    else:  # the oldest letter is the first digit: forgetting it sums over that digit
        shorter = np.tile(_witten_bell(counts.reshape(classes, -1, classes).sum(axis=0)), (classes, 1))
    kinds = (counts > 0).sum(axis=1, keepdims=True)
    total = counts.sum(axis=1, keepdims=True) + kinds
    return np.where(total > 0, (counts + kinds * shorter) / np.where(total > 0, total, 1), shorter)


class LetterPrior:
    """How likely each string is beforehand, among the strings of its length and against all of them being alike.

    A string s of n letters has the log prior

        weight * log P(s, end) - log (sum of P(s', end) ** weight over all s' of n letters) + n log (letters)

    so the mean over the strings of a length of exp(log prior) is 1: it says how often likelier a string is than if all
    were alike, and how likely a length is stays with the emissions. The sum is exact.

    Args:
        order: the n-gram model.
        weight: 0 all strings of a length are alike, 1 as the model says.
    """

    def __init__(self, order: LetterOrder, weight: float) -> None:
        self._log_next = weight * order.log_next
        self._following = order.following
        # For r more letters and the end, by context [S]: the best of all ways to go on, and their sum.
        self._best = [self._log_next[:, END]]
        self._sum = [self._log_next[:, END]]

    def log_prior(self, labels: Sequence[int]) -> float:
        """Log prior of a string of n labels."""
        context, so_far = self._after(labels)
        return so_far + float(self._log_next[context, END]) + self._log_share(len(labels))

    def of_length(self, n: int) -> float:
        """The largest log prior of any string of ``n`` letters."""
        self._grow(n)
        return float(self._best[n][0]) + self._log_share(n)

    def of_extensions(self, labels: Sequence[int], n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The prior of all strings of ``n`` letters that go on from ``labels`` with each letter.

        Returns:
            ``[C]`` the largest log prior of any of them, and ``[C]`` the log of their mean prior. Column 0 means
            nothing. Where one letter was missing both are the log prior of the one string.
        """
        self._grow(n)
        context, so_far = self._after(labels)
        missing, after = n - len(labels) - 1, self._following[context]
        upto = self._log_next[context] + (so_far + self._log_share(n))
        alike = missing * math.log(len(self._log_next[0]) - 1)
        return upto + self._best[missing][after], upto + self._sum[missing][after] - alike

    def _after(self, labels: Sequence[int]) -> tuple[int, float]:
        context, so_far = 0, 0.0
        for label in labels:
            so_far += float(self._log_next[context, label])
            context = int(self._following[context, label])
        return context, so_far

    def _log_share(self, n: int) -> float:
        self._grow(n)
        return n * math.log(self._log_next.shape[1] - 1) - float(self._sum[n][0])

    def _grow(self, letters: int) -> None:
        while len(self._sum) <= letters:
            after = self._following[:, 1:]
            best = (self._log_next[:, 1:] + self._best[-1][after]).max(axis=1)
            ways = self._log_next[:, 1:] + self._sum[-1][after]
            peak = ways.max(axis=1)
            self._best.append(best)
            self._sum.append(peak + np.log(np.exp(ways - peak[:, None]).sum(axis=1)))


@lru_cache(maxsize=4)
def english_letter_order(alphabet: Alphabet, order: int) -> LetterOrder:
    """The model of general English: all words that wordfreq knows, each weighed by the square root of its frequency.

    It is fitted once in a process, in about a second.

    Raises:
        UnwrittenError: the alphabet spells no English word.
    """
    words = word_list(settings=_ENGLISH)
    return LetterOrder.fit(words.words, words.frequency**_POWER, alphabet, order)


@lru_cache(maxsize=16)
def english_prior(alphabet: Alphabet, order: int, weight: float) -> LetterPrior | None:
    """The prior of strings by ``english_letter_order``; None, all of a length alike, where order or weight is 0."""
    return LetterPrior(english_letter_order(alphabet, order), weight) if order and weight else None
