"""When each letter of a word was written: the frames of forced alignment, in seconds."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from unwritten.decoding.emissions import as_emissions
from unwritten.decoding.exact_length import spans_of_path
from unwritten.decoding.recursion import MINUS_INFINITY, extend_log, silence_log
from unwritten.errors import UnwrittenError

TimesMethod = Literal["viterbi", "posterior"]


def letter_spans(log_probs: ArrayLike, labels: ArrayLike, method: TimesMethod = "viterbi") -> NDArray[np.float64]:
    """First frame of each letter and the frame after its last one ``[n, 2]``.

    Args:
        log_probs: ``[T, C]`` log probabilities, column 0 the blank.
        labels: ``[n]`` labels of the word.
        method: ``viterbi`` for the likeliest alignment (whole frames), ``posterior`` for the mean over all alignments.

    Raises:
        UnwrittenError: ``log_probs`` are not finite or not normalised, or the clip is shorter than its word.
    """
    emissions = as_emissions(log_probs)
    word = np.asarray(labels, dtype=np.int64)
    if len(word) and not ((word > 0) & (word < emissions.shape[1])).all():
        raise UnwrittenError(f"labels {word.tolist()}: letters are the labels 1 to {emissions.shape[1] - 1}")
    needed = len(word) + int((word[1:] == word[:-1]).sum())
    if needed > len(emissions):
        raise UnwrittenError(
            f"log_probs of {len(emissions)} frames are shorter than the word, which needs {needed}; "
            "check the word or the clip's frame rate"
        )
    if method == "viterbi":
        return spans_of_path(forced_path(emissions, word)).astype(np.float64)
    starts = _mean_start(emissions, word)
    ends = len(emissions) - _mean_start(np.ascontiguousarray(emissions[::-1]), word[::-1])[::-1]
    return np.stack([starts, ends], axis=1)


def letter_spans_s(
    log_probs: ArrayLike, labels: ArrayLike, rate_hz: float, method: TimesMethod = "viterbi"
) -> NDArray[np.float64]:
    """Start and end of each letter ``[n, 2]`` in seconds from the first frame, at ``rate_hz`` frames a second.

    CTC marks a letter by a peak, usually near its end: a span says when the model was sure, not when the pen began.

    Raises:
        UnwrittenError: as in ``letter_spans``.
    """
    return letter_spans(log_probs, labels, method) / rate_hz


def whole_spans_s(peaks_s: ArrayLike, end_s: float) -> NDArray[np.float64]:
    """When each letter was written ``[n, 2]``, from when the model was sure of it: halfway to its neighbours.

    Args:
        peaks_s: ``[n, 2]`` spans of ``letter_spans_s``.
        end_s: length of the clip; the first letter begins at 0 and the last one ends there.
    """
    peaks = np.asarray(peaks_s, dtype=np.float64).reshape(-1, 2)
    if not len(peaks):
        return peaks
    edges = np.concatenate([[0.0], (peaks[:-1, 1] + peaks[1:, 0]) / 2, [max(end_s, float(peaks[-1, 1]))]])
    return np.stack([edges[:-1], edges[1:]], axis=1)


@njit(cache=True)
def forced_path(emissions: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """The likeliest path ``[T]`` of one label per frame that spells ``labels`` ``[n]``."""
    frames, states = len(emissions), 2 * len(labels) + 1  # state 2 i + 1 is letter i, even states are blanks
    score = np.full(states, MINUS_INFINITY)
    steps = np.zeros((frames, states), np.int8)
    for t in range(frames):
        for s in range(states - 1, -1, -1):
            label = labels[s // 2] if s % 2 else 0
            best, step = score[s], 0
            if t == 0:
                best = 0.0 if s < 2 else MINUS_INFINITY
            else:
                if s > 0 and score[s - 1] > best:
                    best, step = score[s - 1], 1
                if s > 2 and s % 2 and labels[s // 2] != labels[s // 2 - 1] and score[s - 2] > best:
                    best, step = score[s - 2], 2
            score[s] = best + emissions[t, label]
            steps[t, s] = step
    path = np.zeros(frames, np.int64)
    s = states - 1
    if states > 1 and score[s - 1] > score[s]:
        s -= 1
    for t in range(frames - 1, -1, -1):
        path[t] = labels[s // 2] if s % 2 else 0
        s -= steps[t, s]
    return path


def _mean_start(emissions: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Mean first frame ``[n]`` of each letter over all alignments, weighted by their probability."""
    columns = np.ascontiguousarray(emissions.T)
    backwards = np.ascontiguousarray(columns[:, ::-1])
    suffix = np.empty((len(labels), len(emissions)))  # log mass of all that follows when letter i begins in a frame
    through = blank = silence_log(backwards[0])
    for i in range(len(labels) - 1, -1, -1):
        repeats = i + 1 < len(labels) and labels[i] == labels[i + 1]
        new = np.empty((3, len(emissions) + 1))
        extend_log(backwards[labels[i]], backwards[0], blank if repeats else through, *new)
        label, blank, through = new
        suffix[i] = label[:0:-1]
    starts = np.empty(len(labels))
    through = blank = silence_log(columns[0])
    for i, letter in enumerate(labels):
        arrival = blank if i and labels[i - 1] == letter else through
        mass = arrival[:-1] + suffix[i]
        weight = np.exp(mass - mass.max())
        starts[i] = (weight * np.arange(len(mass))).sum() / weight.sum()
        new = np.empty((3, len(emissions) + 1))
        extend_log(columns[letter], columns[0], arrival, *new)
        _, blank, through = new
    return starts
