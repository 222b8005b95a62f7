"""Whether a reader is right as often as its probabilities say. N is the number of answers that carry a probability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from unwritten.scoring.scores import item_scores


@dataclass(frozen=True)
class Calibration:
    """Probabilities against what came true.

    Attributes:
        n: answers with a probability.
        expected_error: expected calibration error: mean of |accuracy - confidence| over bins, weighted by size.
        brier: mean squared difference of probability and outcome.
        confidence, accuracy: mean probability and share right, over all.
        bins: (mean probability, share right, answers) of each bin.
    """

    n: int
    expected_error: float
    brier: float
    confidence: float
    accuracy: float
    bins: tuple[tuple[float, float, int], ...]


def calibration(probabilities: Sequence[float], correct: Sequence[bool], bins: int = 15) -> Calibration | None:
    """Calibration of top-1 probabilities in bins of equal size (C. Guo et al., ICML 2017; equal mass, as few answers
    would leave most bins of equal width empty). Answers of one probability share a bin. None without answers.

    Args:
        probabilities: ``[N]`` in [0, 1].
        correct: ``[N]``.
        bins: at most so many.
    """
    probability, outcome = np.asarray(probabilities, dtype=float), np.asarray(correct, dtype=float)
    if not len(probability):
        return None
    edges = np.unique(np.quantile(probability, np.linspace(0, 1, bins + 1)[1:-1]))
    places = np.searchsorted(edges, probability, side="left")
    found = []
    for place in np.unique(places):
        own = places == place
        found.append((float(probability[own].mean()), float(outcome[own].mean()), int(own.sum())))
    error = sum(count * abs(right - sure) for sure, right, count in found) / len(probability)
    return Calibration(
        n=len(probability),
        expected_error=float(error),
        brier=float(((probability - outcome) ** 2).mean()),
        confidence=float(probability.mean()),
        accuracy=float(outcome.mean()),
        bins=tuple(found),
    )


def calibration_table(table: pd.DataFrame, bins: int = 15) -> dict[tuple[str, str], Calibration]:
    """Calibration of each (reader, modality) whose answers carry probabilities.

    The probability is that of the word it said, which need not be its likeliest: it may answer for the expected OLA.
    """
    scored = item_scores(table)
    out = {}
    for (reader, modality), rows in scored.groupby(["reader", "modality"], sort=False):
        found = [
            (dict(candidates)[word], correct > 0)
            for word, candidates, correct in zip(rows["counted"], rows["candidates"], rows["correct"], strict=True)
            if word and word in dict(candidates)
        ]
        result = calibration([probability for probability, _ in found], [right for _, right in found], bins)
        if result is not None:
            out[str(reader), str(modality)] = result
    return out
