"""Scores by reader, modality and style: the rows that every table prints and ``scores.json`` holds.

Every item that a reader was asked counts in its means; one without a usable answer counts 0.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from unwritten.errors import UnwrittenError
from unwritten.files import whole_file
from unwritten.scoring.intervals import CrossedBootstrap, Factor, IntervalSettings
from unwritten.scoring.metrics import (
    chance_corrected_ola,
    chance_ola,
    edit_distance,
    is_text,
    letter_hits,
    normalise,
    text_errors,
)
from unwritten.scoring.mllm import Answering, answering_of, served_of
from unwritten.types import MODALITIES, STYLES


@dataclass(frozen=True)
class Asked:
    """Which reader was asked the items of which benchmark, under which protocol and in which modality."""

    reader: str
    benchmark: str
    protocol: str
    modality: str


@dataclass(frozen=True)
class Score(Asked):
    """One row of a score table; all scores are fractions, None where nothing is known.

    Attributes:
        reader, benchmark, protocol, modality: what was scored on what; ``benchmark`` is ``NAME`` for all its items or
            ``NAME/SOURCE`` for letters, synthetic or live words alone.
        style: a style, or ``all``.
        n: items in the means.
        ola, ola_low, ola_high: ordered letter accuracy with its interval.
        word_accuracy: share of items whose word is right.
        answered, failed: items with and without a usable answer; they add up to n.
        word_low, word_high: interval of the word accuracy.
        edit_similarity: see :mod:`unwritten.scoring.metrics`; so the letter error rate.
        letter_error_rate: edit distances over letters.
        chance: OLA of the same answers dealt out at random within each length.
        corrected_ola: OLA with that chance taken off.
        top5: share of items whose truth is among the first five candidates.
        seconds: median time of an answer.
        given: what the interval does not cover, e.g. ``given these 3 writers``.
        answering: in a total, how a reader answered that can fail to, or did; None for the others.
        served_model: in a total, which model answered as its server names it, whether it is another than the asked one,
            and whether it changed; empty where nobody says.
        cer, cer_low, cer_high: character error rate of texts with its interval, case and signs counted; None where all
            items are words of a to z. wer, wer_low, wer_high: word error rate.
    """

    style: str
    n: int | None
    ola: float
    ola_low: float | None = None
    ola_high: float | None = None
    word_accuracy: float | None = None
    answered: int | None = None
    failed: int | None = None
    word_low: float | None = None
    word_high: float | None = None
    edit_similarity: float | None = None
    letter_error_rate: float | None = None
    chance: float | None = None
    corrected_ola: float | None = None
    top5: float | None = None
    seconds: float | None = None
    given: str = ""
    answering: Answering | None = None
    served_model: str = ""
    cer: float | None = None
    cer_low: float | None = None
    cer_high: float | None = None
    wer: float | None = None
    wer_low: float | None = None
    wer_high: float | None = None


TEXT_RATES = ("cer", "cer_low", "cer_high", "wer", "wer_low", "wer_high")
CONTRACT = (
    "reader",
    "benchmark",
    "protocol",
    "modality",
    "style",
    "n",
    "ola",
    "ola_low",
    "ola_high",
    "word_accuracy",
    "answered",
    "failed",
)


def item_scores(table: pd.DataFrame) -> pd.DataFrame:
    """Add to each row with a known truth its own scores; rows without are left out.

    Args:
        table: an answers table, cleaned by :func:`unwritten.scoring.table.clean`.

    Returns:
        The rows with the columns ``ola``, ``correct``, ``edit_similarity``, ``letter_errors``, ``letters``, ``top5``
        and ``counted`` (the word as it counts: empty unless answered).
    """
    table = table[table["truth"] != ""].copy()
    answered = table["state"] == "answered"
    table["counted"] = table["word"].where(answered, "")
    truths, words = list(table["truth"]), list(table["counted"])
    hits, mask = letter_hits(truths, words)
    letters = mask.sum(axis=1)
    table["ola"] = hits.sum(axis=1) / np.maximum(letters, 1)
    table["correct"] = [float(normalise(truth) == normalise(word)) for truth, word in zip(truths, words, strict=True)]
    distances = np.array([edit_distance(truth, word) for truth, word in zip(truths, words, strict=True)], dtype=float)
    longest = np.array([max(len(truth), len(word)) for truth, word in zip(truths, words, strict=True)])
    table["edit_similarity"] = 1.0 - distances / np.maximum(longest, 1)
    table["letter_errors"] = distances
    table["letters"] = letters
    table["top5"] = [
        float(ok and (truth == word or truth in [candidate for candidate, _ in candidates[:5]]))
        for truth, word, candidates, ok in zip(truths, words, table["candidates"], answered, strict=True)
    ]
    return table


def by_source(table: pd.DataFrame) -> pd.DataFrame:
    """Append, where a benchmark has items of several sources, a copy of each source's rows as ``NAME/SOURCE``."""
    parts = [table]
    for name, rows in table.groupby("benchmark", sort=False):
        for source, own in rows.groupby("source", sort=False):
            if 0 < len(own) < len(rows) and source:
                parts.append(own.assign(benchmark=f"{name}/{source}"))
    return pd.concat(parts, ignore_index=True)


def with_all(table: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """The whole table as style ``all``, then each style, known ones first."""
    yield "all", table
    present = list(dict.fromkeys(table["style"]))
    for style in [style for style in STYLES if style in present] + [s for s in present if s not in STYLES]:
        yield style, table[table["style"] == style]


def bootstrap_of(items: pd.DataFrame, settings: IntervalSettings) -> tuple[CrossedBootstrap, str]:
    """The bootstrap that fits a set of items, one row each, and what its intervals take as given.

    Words are crossed with letter clips where items have them, and with writers where there are enough; else writers are
    given. Styles are strata: they were chosen, not drawn.
    """
    factors = []
    if any(len(clips) for clips in items["letter_clips"]):
        factors.append(Factor.of("letter clips", list(items["letter_clips"])))
    writers = {writer for writer in items["writer"] if writer}
    drawn = len(writers) >= settings.fewest_writers
    if drawn:
        factors.append(Factor.of("writers", [(writer,) if writer else () for writer in items["writer"]]))
    bootstrap = CrossedBootstrap(list(items["truth"]), factors, list(items["style"]), settings)
    count = len(writers) or items["style"].nunique()
    return bootstrap, "" if drawn else f"given these {count} writers" if count > 1 else "given this writer"


def score_table(table: pd.DataFrame, settings: IntervalSettings | None = None) -> list[Score]:
    """Score a cleaned answers table.

    Rows of different protocols are never averaged: each protocol has rows of its own.

    Args:
        table: from :func:`unwritten.scoring.table.clean`.
        settings: of the intervals.

    Raises:
        UnwrittenError: no row has a truth.
    """
    settings = settings or IntervalSettings()
    scored = item_scores(by_source(table))
    if scored.empty:
        raise UnwrittenError("no answer can be scored: no item's word is known; name the clips by their words")
    cache: dict[tuple[str, ...], tuple[CrossedBootstrap, str]] = {}
    scores: list[Score] = []
    for (benchmark, protocol), of_protocol in scored.groupby(["benchmark", "protocol"], sort=False):
        for modality in MODALITIES:
            for style, rows in with_all(of_protocol[of_protocol["modality"] == modality]):
                for items, readers in readers_by_items(rows):
                    if items not in cache:
                        first = rows[rows["reader"] == readers[0]].sort_values("item")
                        cache[items] = bootstrap_of(first, settings)
                    scores += _score_rows(rows, readers, *cache[items], (benchmark, protocol, modality, style))
    order = {reader: place for place, reader in enumerate(dict.fromkeys(scored["reader"]))}
    benchmarks = {name: place for place, name in enumerate(dict.fromkeys(scored["benchmark"]))}
    # Stable: modalities and styles keep the order in which they were made.
    return sorted(scores, key=lambda score: (benchmarks[score.benchmark], order[score.reader], score.style != "all"))


def readers_by_items(rows: pd.DataFrame) -> list[tuple[tuple[str, ...], list[str]]]:
    """The readers of the rows, those that were asked the same items together, with these items."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for reader, own in rows.groupby("reader", sort=False):
        groups.setdefault(tuple(sorted(own["item"])), []).append(str(reader))
    return list(groups.items())


def _score_rows(
    rows: pd.DataFrame,
    readers: Sequence[str],
    bootstrap: CrossedBootstrap,
    given: str,
    key: tuple[Any, Any, str, str],
) -> Iterator[Score]:
    own = [rows[rows["reader"] == reader].sort_values("item") for reader in readers]
    ola = bootstrap.intervals(np.column_stack([part["ola"].to_numpy() for part in own]), (0.0, 1.0))
    word = bootstrap.intervals(np.column_stack([part["correct"].to_numpy() for part in own]), (0.0, 1.0))
    benchmark, protocol, modality, style = key
    texts = _text_rates(own, bootstrap)
    for reader, part, letters, correct, rates in zip(readers, own, ola, word, texts, strict=True):
        answered = int((part["state"] == "answered").sum())
        chance = chance_ola(list(part["truth"]), list(part["counted"]))
        yield Score(
            reader=reader,
            benchmark=benchmark,
            protocol=protocol,
            modality=modality,
            style=style,
            n=len(part),
            ola=letters.value,
            ola_low=letters.low,
            ola_high=letters.high,
            word_accuracy=correct.value,
            answered=answered,
            failed=len(part) - answered,
            word_low=correct.low,
            word_high=correct.high,
            edit_similarity=float(part["edit_similarity"].mean()),
            letter_error_rate=float(part["letter_errors"].sum() / part["letters"].sum()),
            chance=chance,
            corrected_ola=chance_corrected_ola(letters.value, chance),
            top5=float(part["top5"].mean()),
            seconds=float(part["seconds"].median()),
            given=given,
            answering=answering_of(part) if style == "all" else None,
            served_model=served_of(part) if style == "all" else "",
            **rates,
        )


def _text_rates(parts: Sequence[pd.DataFrame], bootstrap: CrossedBootstrap) -> list[dict[str, float]]:
    """CER and WER of each reader's rows, with intervals; empty where all truths are words of small letters.

    A rate is a ratio of sums. Its interval is that of the mean of each item's linear part in it (the delta method):
    items of different sizes add nothing by their sizes alone.
    """
    if not any(is_text(truth) for truth in parts[0]["truth"]):
        return [{} for _ in parts]
    counts = np.array(
        [
            [text_errors(truth, word) for truth, word in zip(part["truth"], part["counted"], strict=True)]
            for part in parts
        ],
        dtype=np.float64,
    )  # [readers, items, 4]
    rates: list[dict[str, float]] = [{} for _ in parts]
    for name, errors in (("cer", 0), ("wer", 2)):
        made, size = counts[:, :, errors], counts[:, :, errors + 1]
        rate = made.sum(axis=1, keepdims=True) / size.sum(axis=1, keepdims=True)
        values = rate + (made - rate * size) / size.mean(axis=1, keepdims=True)
        for row, interval in zip(rates, bootstrap.intervals(values.T, (0.0, np.inf)), strict=True):
            row |= {name: interval.value, f"{name}_low": interval.low, f"{name}_high": interval.high}
    return rates


def single_protocol(table: pd.DataFrame) -> str:
    """The protocol of all rows.

    Raises:
        UnwrittenError: there are several; numbers of different protocols are not one number.
    """
    protocols = sorted(set(table["protocol"]))
    if len(protocols) != 1:
        raise UnwrittenError(
            f"protocols {' and '.join(map(repr, protocols))} in one row: their numbers do not compare; score each alone"
        )
    return str(protocols[0])


def reader_by_item(
    table: pd.DataFrame, score: str = "ola"
) -> tuple[pd.DataFrame, dict[str, NDArray[np.float64]], list[str]]:
    """Scores of several readers on the items that all of them were asked.

    Args:
        table: rows of one benchmark and modality from :func:`item_scores`.
        score: the column to compare.

    Returns:
        The common items (one row each), ``[N]`` scores for each reader in the same order, and the items left out.

    Raises:
        UnwrittenError: the rows mix protocols, or no item is common.
    """
    single_protocol(table)
    wide = table.pivot_table(index="item", columns="reader", values=score)
    common = wide.dropna()
    if common.empty:
        raise UnwrittenError(
            f"{', '.join(map(str, wide.columns))}: no item was asked of all; compare readers of one run"
        )
    items = table.drop_duplicates("item").set_index("item", drop=False).loc[common.index]
    left_out = [str(item) for item in wide.index.difference(common.index)]
    return items, {str(reader): common[reader].to_numpy(dtype=np.float64) for reader in common.columns}, left_out


def contract_row(score: Score) -> dict[str, Any]:
    """The row of ``scores.json``: the contract's fields, and how a reader answered and by which model where known."""
    row = {name: getattr(score, name) for name in CONTRACT}
    if score.answering is not None:
        row["answering"] = asdict(score.answering)
    if score.cer is not None:
        row |= {name: getattr(score, name) for name in TEXT_RATES}
    if score.served_model:
        row["served_model"] = score.served_model
    return row


def write_scores(scores: Sequence[Score], path: Path | str) -> None:
    """Write ``scores.json``, whole or not at all."""
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps([contract_row(score) for score in scores], indent=1) + "\n", encoding="utf-8")
