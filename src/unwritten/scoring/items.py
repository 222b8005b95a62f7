"""Item by item: what was answered, and where the truth stood among all that could have been."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from unwritten.scoring.oracle import is_oracle
from unwritten.scoring.text import format_table, texts

MOST_ITEMS = 60


@dataclass(frozen=True)
class ItemRow:
    """One answer.

    Attributes:
        item, truth, reader, modality, state, answer: of the answers table.
        rank: of the truth among the words (for one letter, the letters) that the reader chose from, 1 for the
            likeliest; None where it chose from no list or the list lacks the truth.
        of: how many words those are.
        probability: that the reader gave to the truth.
    """

    item: str
    truth: str
    reader: str
    modality: str
    state: str
    answer: str
    rank: int | None
    of: int | None
    probability: float | None


def item_rows(table: pd.DataFrame) -> list[ItemRow]:
    """A row for each answer to an item whose truth is known."""
    rows = []
    for row in table[table["truth"] != ""].itertuples(index=False):
        details = json.loads(row.details or "{}")
        names = (row.item, row.truth, row.reader, row.modality, row.state, row.word)
        rows.append(ItemRow(*names, details.get("rank"), details.get("rank_of"), details.get("probability")))
    return rows


def table_of_items(table: pd.DataFrame, most: int = MOST_ITEMS) -> list[ItemRow]:
    """The rows worth printing: none for more than ``most`` items, else those of the readers that rank most truths.

    A reader that ranks single letters alone ranks them as every other reader of its checkpoint does.
    """
    table = table[~is_oracle(table)]
    if table["item"].nunique() > most:
        return []
    rows = item_rows(table)
    ranked = Counter(row.reader for row in rows if row.rank is not None)
    return [row for row in rows if ranked and ranked[row.reader] == max(ranked.values())]


def format_items(rows: Sequence[ItemRow]) -> str:
    """The table, items together; empty without rows."""
    if not rows:
        return ""
    reader = ["reader"] if len({row.reader for row in rows}) > 1 else []
    order = {item: place for place, item in enumerate(dict.fromkeys(row.item for row in rows))}
    lines = [
        [
            *texts(row, "item", "truth", *reader, "modality"),
            row.answer or f"({row.state})",
            *texts(row, "rank", "of"),
            "" if row.probability is None else f"{row.probability:.2g}",
        ]
        for row in sorted(rows, key=lambda row: order[row.item])
    ]
    headings = ["item", "truth", *reader, "modality", "answer", "rank of truth", "among", "its probability"]
    return format_table(headings, lines)
