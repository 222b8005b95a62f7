"""Free answers snapped to a word list: what the same answer is worth to a reader that knows the words that may come."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from unwritten.scoring.metrics import letter_codes, normalise


class Snapper:
    """Moves a string to the nearest word of a list.

    Args:
        words: the list.
        frequency: ``[W]``; decides between equally near words.

    Nearest: where the length is known, the word of that length with the fewest differing positions; without it, the
    smallest edit distance. Ties go to the more frequent word, then to the earlier one.
    """

    def __init__(self, words: Sequence[str], frequency: NDArray[np.float64]) -> None:
        order = np.argsort(-np.asarray(frequency), kind="stable")
        self._words = [normalise(words[index]) for index in order]
        self._lengths = np.array([len(word) for word in self._words])
        self._codes = letter_codes(self._words)
        self._known = set(self._words)
        self.snap = lru_cache(maxsize=100_000)(self._snap)

    def _snap(self, answer: str, length: int | None) -> str:
        answer = normalise(answer)
        if not answer or (answer in self._known and length in (None, len(answer))):
            return answer
        if length is None:
            distances = self._edit_distances(answer)
            return self._words[int(distances.argmin())]
        rows = np.flatnonzero(self._lengths == length)
        if not len(rows):
            return answer
        codes = letter_codes([answer])[0][:length]
        codes = np.pad(codes, (0, length - len(codes)))
        differing = (self._codes[rows, :length] != codes).sum(axis=1)
        return self._words[int(rows[differing.argmin()])]

    def _edit_distances(self, answer: str) -> NDArray[np.int64]:
        """Int64 ``[W]``: Levenshtein distances of the answer to every word, all words at once."""
        codes = letter_codes([answer])[0]
        width = self._codes.shape[1]
        previous = np.tile(np.arange(width + 1), (len(self._words), 1))
        for row, letter in enumerate(codes, start=1):
            current = np.empty_like(previous)
            current[:, 0] = row
            for column in range(1, width + 1):
                current[:, column] = np.minimum(
                    np.minimum(previous[:, column], current[:, column - 1]) + 1,
                    previous[:, column - 1] + (self._codes[:, column - 1] != letter),
                )
            previous = current
        return previous[np.arange(len(self._words)), self._lengths]


def snapped(
    table: pd.DataFrame,
    words: Sequence[str],
    frequency: NDArray[np.float64],
    name: str,
    readers: Sequence[str] | None = None,
    length_known: bool = True,
) -> pd.DataFrame:
    """Rows like the table's, with every answer moved to the nearest word of a list and ``-snapped-NAME`` on the reader.

    Args:
        table: answers; those not ``answered`` are kept as they are.
        words, frequency: the list.
        name: of the list.
        readers: whose answers; None takes every reader except blind ones and those that answer from the list already
            (no row is made for a reader whose answers would not change).
        length_known: whether snapping may use the number of letters.
    """
    snapper = Snapper(words, frequency)
    parts = []
    for reader, rows in table.groupby("reader", sort=False):
        chosen = str(reader) in readers if readers is not None else not str(reader).startswith("blind-")
        if not chosen:
            continue
        moved = [
            snapper.snap(word, len(normalise(truth)) if length_known and truth else None)
            if state == "answered"
            else word
            for word, truth, state in zip(rows["word"], rows["truth"], rows["state"], strict=True)
        ]
        if moved != list(rows["word"]):
            # Candidates belong to the answer as it was.
            parts.append(rows.assign(reader=f"{reader}-snapped-{name}", word=moved, candidates=[()] * len(rows)))
    return pd.concat(parts, ignore_index=True) if parts else table.iloc[:0]
