"""Where answers go wrong: by position, length, letter and style, and which letter is taken for which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from unwritten.benchmark.protocols import PUBLIC_LETTERS
from unwritten.errors import UsageError
from unwritten.scoring.intervals import IntervalSettings
from unwritten.scoring.metrics import letter_hits, normalise
from unwritten.scoring.scores import bootstrap_of, item_scores, readers_by_items
from unwritten.scoring.text import format_table, limits, percent, texts

By = Literal["position", "length", "letter", "style", "public"]
NOTHING = ""


@dataclass(frozen=True)
class Part:
    """OLA over a part of the letters.

    Attributes:
        reader, modality, by, value: which letters, e.g. by ``position`` the first (``1``).
        items, letters: how many items they come from, and how many they are.
        ola, low, high: share that is right, with its interval.
    """

    reader: str
    modality: str
    by: str
    value: str
    items: int
    letters: int
    ola: float
    low: float
    high: float


def ola_by(table: pd.DataFrame, by: By, settings: IntervalSettings | None = None) -> list[Part]:
    """OLA by position (from 1), word length, letter of the truth, or style, for every reader and modality.

    By position and letter a word counts with the share of its letters there that are right; letters of one word are one
    observation, so that the intervals stay honest. ``public`` divides letters into those that public sample clips
    show (``shown``: a reader's cameras and noise may have been set from them) and the others (``not shown``).

    Args:
        table: cleaned answers of one benchmark and protocol.
        by: what to split by.
        settings: of the intervals.

    Raises:
        UsageError: an unknown split.
    """
    if by not in get_args(By):
        raise UsageError(f"breakdown by {by!r}: known are {', '.join(get_args(By))}")
    settings = settings or IntervalSettings(replicates=500)
    scored = item_scores(table)
    parts = []
    for modality, of_modality in scored.groupby("modality", sort=False):
        # Readers on the same items share resamples, which is where the time goes.
        for _, readers in readers_by_items(of_modality):
            own = [of_modality[of_modality["reader"] == reader].sort_values("item") for reader in readers]
            shares = [_shares(rows, by) for rows in own]
            for value, (counts, _) in shares[0].items():
                rows_of_value = np.flatnonzero(counts > 0)
                bootstrap, _ = bootstrap_of(own[0].iloc[rows_of_value], settings)
                values = np.column_stack([share[value][1][rows_of_value] for share in shares])
                letters = int(counts.sum())
                for reader, interval in zip(readers, bootstrap.intervals(values, (0.0, 1.0)), strict=True):
                    parts.append(
                        Part(
                            reader, str(modality), by, value, len(rows_of_value), letters,
                            interval.value, interval.low, interval.high,
                        )
                    )  # fmt: skip
    return parts


def _shares(rows: pd.DataFrame, by: By) -> dict[str, tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """For each value of the split: letters ``[N]`` of each item that fall there, and the share of them right."""
    truths = list(rows["truth"])
    hits, mask = letter_hits(truths, list(rows["counted"]))
    letters = _letters(truths, mask.shape[1])
    values = {
        "position": np.arange(1, mask.shape[1] + 1),
        "length": mask.sum(axis=1)[:, None],
        "letter": letters,
        "style": rows["style"].to_numpy(dtype=str)[:, None],
        "public": np.where(np.isin(letters, sorted(PUBLIC_LETTERS)), "shown", "not shown"),
    }[by]
    out = {}
    for value in sorted(set(np.broadcast_to(values, mask.shape)[mask].tolist()), reverse=by == "public"):
        where = mask & (values == value)
        counts = where.sum(axis=1)
        out[str(value)] = (counts, (hits & where).sum(axis=1) / np.maximum(counts, 1))
    return out


def _letters(words: Sequence[str], width: int) -> NDArray[np.str_]:
    padded = [list(normalise(word)[:width].ljust(width, "\0")) for word in words]
    return np.array(padded, dtype="U1").reshape(len(words), width)


def confusion_matrix(
    truths: Sequence[str], answers: Sequence[str], alphabet: str = "abcdefghijklmnopqrstuvwxyz"
) -> NDArray[np.int64]:
    """Which letter stands in the answer where the truth has which, position by position.

    Args:
        truths, answers: words; positions that an answer lacks, and characters outside the alphabet, are column A.
        alphabet: the A letters.

    Returns:
        Int64 ``[A + 1, A + 1]`` counts, truth in rows, answer in columns. Row A holds letters outside the alphabet.
    """
    width = max((len(normalise(truth)) for truth in truths), default=0)
    counts = np.zeros((len(alphabet) + 1, len(alphabet) + 1), dtype=np.int64)
    if width == 0:
        return counts
    index = {letter: place for place, letter in enumerate(alphabet)}
    other = len(alphabet)
    truth, answer = _letters(truths, width), _letters(answers, width)
    real = truth != NOTHING
    rows = [index.get(letter, other) for letter in truth[real]]
    columns = [index.get(letter, other) for letter in answer[real]]
    np.add.at(counts, (rows, columns), 1)
    return counts


def most_confused(
    counts: NDArray[np.int64], alphabet: str, most: int = 10, nothing: str = NOTHING
) -> list[tuple[str, str, int]]:
    """The most frequent confusions: (truth, answer, how often); letters left out count where ``nothing`` names them."""
    columns = alphabet + nothing
    wrong = counts[: len(alphabet), : len(columns)].copy()
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")[:most]
    pairs = [np.unravel_index(place, wrong.shape) for place in order]
    return [(alphabet[row], columns[column], int(wrong[row, column])) for row, column in pairs if wrong[row, column]]


def format_parts(parts: Sequence[Part]) -> str:
    """OLA over parts of the letters, in percent."""
    names = ("reader", "modality", "items", "letters")
    rows = [[*texts(part, *names), percent(part.ola), limits(part.low, part.high)] for part in parts]
    return format_table(("reader", "modality", "items", "letters", "OLA %", "95 % interval"), rows)
