"""When a reader thinks that each letter was written: temporal mean average precision.

As temporal action localisation is scored in the Perception Test (arXiv 2305.13786): mAP over IoU 0.1 to 0.5.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from unwritten.errors import UnwrittenError
from unwritten.scoring.scores import Asked
from unwritten.scoring.text import format_table, percent, texts

THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5)


@dataclass(frozen=True)
class Segment:
    """A letter and when it was written.

    Attributes:
        label: the letter.
        start_s, end_s: seconds from the clip's first frame; the end is not before the start.
        score: how sure the reader is; ranks predictions, 1 for truths.
    """

    label: str
    start_s: float
    end_s: float
    score: float = 1.0

    def __post_init__(self) -> None:
        if not self.end_s >= self.start_s:
            raise ValueError(f"segment {self.label!r}: ends at {self.end_s} s, before it starts at {self.start_s} s")


def temporal_iou(first: Segment, second: Segment) -> float:
    """Length of the common time over the length of the joint time, in [0, 1]."""
    common = max(0.0, min(first.end_s, second.end_s) - max(first.start_s, second.start_s))
    joint = (first.end_s - first.start_s) + (second.end_s - second.start_s) - common
    return common / joint if joint > 0 else 0.0


def average_precision(
    predicted: Mapping[str, Sequence[Segment]], true: Mapping[str, Sequence[Segment]], threshold: float
) -> float:
    """Area under the interpolated precision-recall curve over all clips; each truth is found once.

    Args:
        predicted, true: segments by clip; clips without an entry have none.
        threshold: least IoU of a match.

    Returns:
        In [0, 1]; NaN when there is no true segment.
    """
    total = sum(len(segments) for segments in true.values())
    if total == 0:
        return float("nan")
    ranked = [(segment.score, clip, segment) for clip, segments in predicted.items() for segment in segments]
    ranked.sort(key=lambda entry: -entry[0])
    found: dict[str, set[int]] = {}
    hits = np.zeros(len(ranked))
    for place, (_, clip, segment) in enumerate(ranked):
        candidates = true.get(clip, ())
        taken = found.setdefault(clip, set())
        best = max(
            (index for index in range(len(candidates)) if index not in taken),
            key=lambda index: temporal_iou(segment, candidates[index]),
            default=None,
        )
        if best is not None and temporal_iou(segment, candidates[best]) >= threshold:
            taken.add(best)
            hits[place] = 1
    return _area(hits, total)


def _area(hits: NDArray[np.float64], total: int) -> float:
    if not len(hits):
        return 0.0
    true_positives = np.cumsum(hits)
    precision = true_positives / np.arange(1, len(hits) + 1)
    # Precision at a recall is the best at that recall or any higher one.
    envelope = np.maximum.accumulate(precision[::-1])[::-1]
    return float((envelope * hits).sum() / total)


def mean_average_precision(
    predicted: Mapping[str, Sequence[Segment]],
    true: Mapping[str, Sequence[Segment]],
    by_letter: bool = True,
    thresholds: Sequence[float] = THRESHOLDS,
) -> dict[str, float]:
    """mAP at each threshold and their mean.

    Args:
        predicted, true: segments by clip.
        by_letter: a prediction must name the right letter, and letters that occur are averaged; False scores the
            boundaries alone.
        thresholds: of IoU.

    Returns:
        ``{"0.1": ..., ..., "mean": ...}`` in [0, 1]; NaN when there is no true segment.
    """
    letters = sorted({segment.label for segments in true.values() for segment in segments}) if by_letter else [None]
    scores: dict[str, float] = {}
    for threshold in thresholds:
        per_letter = [average_precision(_only(predicted, letter), _only(true, letter), threshold) for letter in letters]
        scores[f"{threshold:g}"] = float(np.mean(per_letter)) if per_letter else float("nan")
    scores["mean"] = float(np.mean(list(scores.values())))
    return scores


def _only(segments: Mapping[str, Sequence[Segment]], label: str | None) -> Mapping[str, Sequence[Segment]]:
    if label is None:
        return segments
    return {clip: [segment for segment in own if segment.label == label] for clip, own in segments.items()}


@dataclass(frozen=True)
class LetterTimes(Asked):
    """How well one reader tells when each letter was written.

    Attributes:
        reader, benchmark, protocol, modality: what was read.
        items: clips whose letter times are known.
        letters: mAP by threshold and its mean, the right letter at the right time.
        boundaries: the same with any letter at the right time.
    """

    items: int
    letters: dict[str, float]
    boundaries: dict[str, float]


def letter_times(table: pd.DataFrame) -> list[LetterTimes]:
    """Temporal mAP of every reader that gives letter times, on the items where they are known.

    Args:
        table: cleaned answers whose ``details`` hold ``true_letter_spans_s`` where the truth is known.
    """
    known = table["details"].map(lambda text: '"true_letter_spans_s": ' in (text or "")).astype(bool)
    found = []
    for key, rows in table[known].groupby(["reader", "benchmark", "protocol", "modality"], sort=False):
        if not rows["details"].map(lambda text: '"letter_spans_s": ' in text).any():
            continue
        predicted, true = predicted_segments(rows), true_segments(rows)
        letters = mean_average_precision(predicted, true)
        boundaries = mean_average_precision(predicted, true, by_letter=False)
        reader, benchmark, protocol, modality = (str(part) for part in key)
        found.append(LetterTimes(reader, benchmark, protocol, modality, len(true), letters, boundaries))
    return found


def true_segments(table: pd.DataFrame) -> dict[str, list[Segment]]:
    """When each letter of each item was written, from ``true_letter_spans_s`` in ``details``."""
    segments: dict[str, list[Segment]] = {}
    for item, truth, details in zip(table["item"], table["truth"], table["details"], strict=True):
        spans = json.loads(details or "{}").get("true_letter_spans_s") or []
        if len(spans) == len(truth):
            segments[item] = [Segment(letter, *span) for letter, span in zip(truth, spans, strict=True)]
    return segments


def format_letter_times(times: Sequence[LetterTimes]) -> str:
    """The table, in percent."""
    rows = [
        [*texts(own, "reader", "modality", "items"), *map(percent, (*own.letters.values(), own.boundaries["mean"]))]
        for own in times
    ]
    thresholds = [f"IoU {threshold:g}" for threshold in THRESHOLDS]
    return format_table(("reader", "modality", "n", *thresholds, "mAP %", "any letter"), rows)


def predicted_segments(table: pd.DataFrame) -> dict[str, list[Segment]]:
    """The letters and times that one reader gave in one modality, by item.

    Args:
        table: answers whose ``details`` hold ``letter_spans_s``, one ``[start, end]`` for each letter of ``word``;
            answers without them predict nothing. The word's probability, where known, scores all its letters.

    Raises:
        UnwrittenError: the table holds several readers or modalities.
    """
    if len(table[["reader", "modality"]].drop_duplicates()) > 1:
        raise UnwrittenError("letter times: the table must hold one reader in one modality")
    segments: dict[str, list[Segment]] = {}
    rows = zip(table["item"], table["word"], table["state"], table["candidates"], table["details"], strict=True)
    for item, word, state, candidates, details in rows:
        spans = json.loads(details or "{}").get("letter_spans_s") or []
        segments[item] = []
        if state == "answered" and len(spans) == len(word):
            score = float(dict(candidates).get(word, 1.0))
            segments[item] = [
                Segment(letter, start_s, end_s, score) for letter, (start_s, end_s) in zip(word, spans, strict=True)
            ]
    return segments
