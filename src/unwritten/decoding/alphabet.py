"""The letters that an emission can name: label 0 is the blank, label i + 1 is the alphabet's letter i."""

from __future__ import annotations

import string
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unwritten.errors import UnwrittenError

BLANK = 0


@dataclass(frozen=True)
class Alphabet:
    """The letters of an emission, in the order of its columns.

    Attributes:
        letters: one character per label, from label 1 on.

    Raises:
        UnwrittenError: no letters, or one letter twice.
    """

    letters: str = string.ascii_lowercase

    def __post_init__(self) -> None:
        if not self.letters:
            raise UnwrittenError("alphabet: it has no letters; name at least one")
        twice = sorted({letter for letter in self.letters if self.letters.count(letter) > 1})
        if twice:
            raise UnwrittenError(f"alphabet {self.letters!r}: {twice[0]!r} is there twice; each letter has one label")

    def __len__(self) -> int:
        return len(self.letters)

    @property
    def classes(self) -> int:
        """Columns of an emission: the blank and every letter."""
        return len(self.letters) + 1

    def encode(self, word: str) -> NDArray[np.int32]:
        """Labels ``[n]`` of the n letters of ``word``.

        Raises:
            UnwrittenError: a letter is not in the alphabet.
        """
        outside = [letter for letter in word if letter not in self.letters]
        if outside:
            raise UnwrittenError(
                f"word {word!r}: letter {outside[0]!r} is not in the alphabet {self.letters!r}; "
                "spell it with these letters or choose a larger alphabet"
            )
        return np.array([self.letters.index(letter) + 1 for letter in word], dtype=np.int32)

    def decode(self, labels: Iterable[int]) -> str:
        """The word that ``labels`` spell; blanks are left out.

        Raises:
            UnwrittenError: a label is beyond the alphabet.
        """
        labels = [int(label) for label in labels]
        beyond = [label for label in labels if not 0 <= label <= len(self.letters)]
        if beyond:
            raise UnwrittenError(f"label {beyond[0]}: the alphabet has the labels 0 (blank) to {len(self.letters)}")
        return "".join(self.letters[label - 1] for label in labels if label != BLANK)
