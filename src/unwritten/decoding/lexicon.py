"""Words with frequencies, laid out so that the likelihood of every one of them is exact and quick.

Words are cut before their last ``TAIL_LETTERS`` letters. Heads share their prefixes in one trie, tails their suffixes
in another, read from the end; ``likelihood.word_log_likelihoods`` lets the two meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unwritten.decoding.alphabet import Alphabet
from unwritten.decoding.trie import Trie
from unwritten.errors import UnwrittenError
from unwritten.wording import counted

TAIL_LETTERS = 2
"""Two letters make at most 702 tails, and three-letter heads of English are a tenth of its words."""


@dataclass(frozen=True)
class Lexicon:
    """Words that may be read; build one with ``Lexicon.build`` or ``Lexicon.letters``.

    Attributes:
        words: the words, each once, in the order given.
        frequency: ``[W]`` relative frequency of each word, positive.
        alphabet: the letters that they are spelled with.
        labels: ``[W, L]`` int32 labels of each word, 0 after its last letter; L = longest word.
        lengths: ``[W]`` letters of each word.
        heads: trie of the words without their last two letters.
        tails: trie of the last two letters (the only one of a one-letter word), read backwards.
        order: ``[W]`` word numbers sorted by head.
        first_word: ``[heads + 1]`` where each head's words begin in ``order``.
        tail: ``[W]`` number of the tail of each word in ``order``.
        repeats: ``[W]`` bool, the tail of that word begins with the last letter of its head.
        tail_node: node in ``tails`` of each tail number.
    """

    words: tuple[str, ...]
    frequency: NDArray[np.float64]
    alphabet: Alphabet
    labels: NDArray[np.int32]
    lengths: NDArray[np.int32]
    heads: Trie
    tails: Trie
    order: NDArray[np.int32]
    first_word: NDArray[np.int32]
    tail: NDArray[np.int32]
    repeats: NDArray[np.bool_]
    tail_node: NDArray[np.int32]
    _of_length: dict[int, Lexicon] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def build(
        cls, words: Sequence[str], frequency: ArrayLike | None = None, alphabet: Alphabet | None = None
    ) -> Lexicon:
        """Lay out a lexicon.

        Args:
            words: words of any lengths; a word that is there twice gets the sum of its frequencies.
            frequency: ``[W]`` relative frequencies; None for equal ones. A zero counts as the smallest positive one,
                so that a word without count is rare and not impossible.
            alphabet: the letters of the emissions; a to z by default.

        Raises:
            UnwrittenError: no words, an empty word, letters outside the alphabet, or frequencies that are negative, not
                finite or not one per word.
        """
        alphabet = alphabet or Alphabet()
        if not words:
            raise UnwrittenError("lexicon: it has no words; give at least one")
        if "" in words:
            raise UnwrittenError("lexicon: a word is empty; remove it")
        known = set(alphabet.letters)
        outside = [word for word in words if not known.issuperset(word)]
        if outside:
            raise UnwrittenError(
                f"lexicon: {len(outside)} of {len(words)} words hold letters outside the alphabet "
                f"{alphabet.letters!r}, the first is {outside[0]!r}; remove them or choose a larger alphabet"
            )
        counts = np.ones(len(words)) if frequency is None else np.asarray(frequency, dtype=np.float64)
        if counts.shape != (len(words),) or not np.isfinite(counts).all() or (counts < 0).any():
            raise UnwrittenError(f"lexicon: {len(words)} frequencies are needed, finite and not negative")
        positive = counts[counts > 0]
        counts = np.where(counts > 0, counts, positive.min() if len(positive) else 1.0)
        merged: dict[str, float] = {}
        for word, count in zip(words, counts, strict=True):
            merged[word] = merged.get(word, 0.0) + float(count)
        return cls._laid_out(tuple(merged), np.array(list(merged.values())), alphabet)

    @classmethod
    def letters(cls, alphabet: Alphabet | None = None) -> Lexicon:
        """The lexicon of a single letter's clip: every letter of the alphabet, all equally likely."""
        alphabet = alphabet or Alphabet()
        return cls.build(tuple(alphabet.letters), alphabet=alphabet)

    @classmethod
    def _laid_out(cls, words: tuple[str, ...], frequency: NDArray[np.float64], alphabet: Alphabet) -> Lexicon:
        label_of = {letter: label for label, letter in enumerate(alphabet.letters, start=1)}
        spelled = [tuple(label_of[letter] for letter in word) for word in words]
        lengths = np.array([len(word) for word in words], dtype=np.int32)
        labels = np.zeros((len(words), lengths.max()), dtype=np.int32)
        for row, word in zip(labels, spelled, strict=True):
            row[: len(word)] = word
        heads = Trie.of([word[:-TAIL_LETTERS] for word in spelled])
        tails = Trie.of([word[-TAIL_LETTERS:][::-1] for word in spelled])
        head_node = np.array([heads.node[word[:-TAIL_LETTERS]] for word in spelled], dtype=np.int32)
        tail_node = np.array([tails.node[word[-TAIL_LETTERS:][::-1]] for word in spelled], dtype=np.int32)
        # Within a head the words follow their tails, so that neighbours read neighbouring rows.
        order = np.lexsort((tail_node, head_node)).astype(np.int32)
        numbered, tail = np.unique(tail_node, return_inverse=True)
        first_letter = labels[np.arange(len(words)), np.maximum(lengths - TAIL_LETTERS, 0)]
        repeats = (lengths > TAIL_LETTERS) & (heads.label[head_node] == first_letter)
        return cls(
            words,
            frequency,
            alphabet,
            labels,
            lengths,
            heads,
            tails,
            order,
            np.searchsorted(head_node[order], np.arange(len(heads) + 1)).astype(np.int32),
            tail[order].astype(np.int32),
            repeats[order],
            numbered.astype(np.int32),
        )

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def number(self) -> dict[str, int]:
        """The place of each word in ``words``."""
        return {word: index for index, word in enumerate(self.words)}

    def of_length(self, n: int | None) -> Lexicon:
        """The words of ``n`` letters, laid out once and kept; all of them for None.

        Raises:
            UnwrittenError: the lexicon has no word of that length.
        """
        if n is None or (self.lengths == n).all():
            return self
        if n not in self._of_length:
            chosen = np.flatnonzero(self.lengths == n)
            if not len(chosen):
                there = ", ".join(str(length) for length in np.unique(self.lengths))
                raise UnwrittenError(f"lexicon: no word of {counted(n, 'letter')}; it has words of {there} letters")
            words = tuple(self.words[index] for index in chosen)
            self._of_length[n] = Lexicon._laid_out(words, self.frequency[chosen], self.alphabet)
        return self._of_length[n]

    def log_prior(self, weight: float) -> NDArray[np.float64]:
        """Normalised log prior ``[W]``: ``weight`` times log frequency; 0 is flat, 1 is running text."""
        prior = weight * np.log(self.frequency)
        return prior - np.logaddexp.reduce(prior)

    @cached_property
    def fewest_frames(self) -> NDArray[np.int64]:
        """Frames ``[W]`` that each word needs: one per letter and one blank between equal neighbours."""
        same = (self.labels[:, 1:] == self.labels[:, :-1]) & (self.labels[:, 1:] > 0)
        return self.lengths.astype(np.int64) + same.sum(axis=1)
