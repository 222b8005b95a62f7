"""From what the frames of one shot offer to the path through it: position, shaft, and how sure it is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from unwritten.tracking.path import Sighting, choose, fuse, gaps
from unwritten.tracking.settings import TrackerSettings

_LEAP = 0.03  # share of the diagonal by which a tip does not leave the flow between two frames
_TIED_S = 0.2  # evidence this near counts for a frame too
_FASTEST = 1.5  # diagonals a second, where frames are far apart
_FADE_SIGMA = 1.3  # standard deviation of a tip along its shaft over the length on which its end fades
_NO_FADE = 8.0  # fine pixels, of a path to which no cone was fitted
_WITHIN = 0.01  # share of the diagonal that confidence speaks of


class Followed(NamedTuple):
    """The path through one shot of T frames, working pixels.

    Attributes:
        tip: ``[T, 2]``.
        axis: ``[T, 2]`` up the shaft.
        visible, bridged: ``[T]``.
        confidence: ``[T]`` probability that the tip lies within 1 % of the diagonal.
        shadow: ``[T]`` reach of the nib's shadow, -1 where unknown.
        evidence: mean evidence of the path in nats.
    """

    tip: NDArray[np.float64]
    axis: NDArray[np.float64]
    visible: NDArray[np.bool_]
    bridged: NDArray[np.bool_]
    confidence: NDArray[np.float64]
    shadow: NDArray[np.float64]
    evidence: float


def follow(
    sightings: list[Sighting],
    adjacent: NDArray[np.bool_],
    time_s: NDArray[np.float64],
    settings: TrackerSettings,
    told: NDArray[np.bool_] | None = None,
) -> Followed | None:
    """The best path of dark cones through one shot, however weak; None where there is no candidate at all.

    Frames for which the path leaps away and back are left out: for those something else was taken for the tip.

    Args:
        sightings: one for each frame.
        adjacent: ``[T - 1]`` True where no frame is missing between two.
        time_s: ``[T]``.
        settings: costs and levels.
        told: ``[T]`` True where somebody said where the tip is, which is no evidence of a dark nib.
    """
    chosen = choose(sightings, settings)
    seen = chosen >= 0
    if not seen.any():
        return None
    count = len(sightings)
    where, axis = np.zeros((count, 2)), np.full((count, 2), np.nan)
    score, sigma, shadow = np.full(count, np.nan), np.full(count, np.inf), np.full(count, -1.0)
    fade = np.full(count, np.nan)
    flow, error = np.zeros((count, 2)), np.full(count, np.inf)
    for index in np.flatnonzero(seen):
        sighting, k = sightings[index], chosen[index]
        where[index], axis[index], score[index] = sighting.tip[k], sighting.axis[k], sighting.score[k]
        sigma[index], shadow[index], fade[index] = sighting.sigma[k], sighting.shadow[k], sighting.fade[k]
        flow[index], error[index] = sighting.flow[k], sighting.flow_error[k]
    flow_sigma = np.where((error[:-1] < 2.0) & adjacent, 0.1 + error[:-1], np.inf)
    tip, deviation = fuse(where, sigma, flow[:-1], flow_sigma)
    share = _trust(tip, seen, score, np.where((error[:-1] < 2.0)[:, None], flow[:-1], 0.0), time_s, settings)
    seen = seen & (share > 0)
    visible, bridged = seen.copy(), np.zeros(count, bool)
    for begin, end in gaps(seen):
        if time_s[end] - time_s[begin - 1] <= settings.bridge_s:
            visible[begin:end] = bridged[begin:end] = True
    every = np.arange(count)
    for column in range(2):
        axis[:, column] = np.interp(every, every[seen], axis[seen, column])
    # A frame that motion blurs is as sure as those that flow ties it to.
    evidence = smooth(np.interp(every, every[seen], score[seen]), time_s)
    # Raw: unwritten.tracking.confidence has the map to a probability, docs/reference/tracking.md how it was fitted.
    sure = share * np.exp(-deviation / 20) / (1 + np.exp(-4.0 * (evidence - 1.5)))
    visible &= sure >= settings.min_confidence
    bridged &= visible
    shown = np.isfinite(score) & (True if told is None else ~told)
    confidence = np.where(visible, sure * _placed(fade, time_s, settings), 0.0)
    return Followed(
        tip, axis, visible, bridged, confidence, shadow, float(np.mean(score[shown])) if shown.any() else -np.inf
    )


def _placed(fade: NDArray[np.float64], time_s: NDArray[np.float64], settings: TrackerSettings) -> NDArray[np.float64]:
    """Probability ``[T]`` that the tip of the right pen is placed within 1 %: an end that fades slowly shows none."""
    known = np.flatnonzero(np.isfinite(fade))
    every = np.arange(len(fade))
    fades = np.interp(every, known, fade[known]) if len(known) else np.full(len(fade), _NO_FADE)
    sigma = _FADE_SIGMA * np.maximum(smooth(fades, time_s), 0.5)
    return np.asarray(erf(_WITHIN * settings.fine_diagonal_px / (np.sqrt(2) * sigma)), np.float64)


def smooth(values: NDArray[np.float64], time_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean over ``_TIED_S`` to either side."""
    first, last = np.searchsorted(time_s, time_s - _TIED_S), np.searchsorted(time_s, time_s + _TIED_S, "right")
    total = np.concatenate([[0.0], np.cumsum(values)])
    return (total[last] - total[first]) / (last - first)


def _trust(
    tip: NDArray[np.float64],
    seen: NDArray[np.bool_],
    score: NDArray[np.float64],
    flow: NDArray[np.float64],
    time_s: NDArray[np.float64],
    settings: TrackerSettings,
) -> NDArray[np.float64]:
    """How far each frame of a path is borne out by the rest, ``[T]``: 1 for a path without leaps.

    Where a path leaps, one of its parts is wrong: each part counts for its share of the evidence, and one that leaps
    away and back for nothing.
    """
    diagonal = settings.fine_diagonal_px / 2
    at = np.flatnonzero(seen)
    if len(at) < 2:
        return np.ones(len(tip))
    carried = np.zeros((len(tip), 2))
    carried[1:] = np.cumsum(flow, 0)
    beside = np.hypot(*np.diff(tip[at] - carried[at], axis=0).T)
    beside = np.minimum(beside, np.hypot(*np.diff(tip[at], axis=0).T))
    leaps = beside > diagonal * np.maximum(_LEAP, _FASTEST * np.diff(time_s[at]))
    if not leaps.any():
        return np.ones(len(tip))
    part = np.concatenate([[0], np.cumsum(leaps)])
    weight = np.bincount(part, np.maximum(score[at], 0.1))
    # Parts between which the path was away and came back are one; what lies between them counts for nothing.
    whole = np.arange(len(weight))
    for number in range(1, len(weight) - 1):
        before, after = at[part == number - 1][-1], at[part == number + 1][0]
        returns = np.hypot(*(tip[after] - tip[before])) < 2 * _LEAP * diagonal
        if returns and whole[number] == number and weight[number] < weight[number - 1] + weight[number + 1]:
            whole[number + 1], whole[number] = whole[number - 1], -1
    worth = np.array([weight[whole == label].sum() if label >= 0 else 0.0 for label in whole])
    share = np.zeros(len(tip))
    share[at] = (worth / weight[whole >= 0].sum())[part]
    everywhere = np.arange(len(tip))
    return np.where(seen, share, np.interp(everywhere, at, share[at]))
