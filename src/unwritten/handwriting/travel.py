"""The way of a lifted pen where a tablet did not record it. T is the number of positions."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from unwritten.types import BoolArray, FloatArray, Strokes

PAUSE_S = 0.06
SLOWNESS_S_PER_ROOT_MM = 0.022
"""A lift is taken to last 0.06 s + 0.022 s * sqrt(distance in mm). The form is a choice; the numbers are such that
6 mm take the median lift of English words with recorded travel, 0.115 s."""


def travel_duration_s(distance_mm: float) -> float:
    """Usual time of a lifted pen's way of that length."""
    return PAUSE_S + SLOWNESS_S_PER_ROOT_MM * math.sqrt(distance_mm)


def travel_path(start: FloatArray, end: FloatArray, count: int) -> FloatArray:
    """``count`` positions ``[count, 2]`` strictly between two points: minimum jerk from rest to rest, bulging aside."""
    u = np.arange(1, count + 1)[:, None] / (count + 1)
    progress = u**3 * (10 - 15 * u + 6 * u * u)
    across = np.array([start[1] - end[1], end[0] - start[0]]) * 0.12
    return np.asarray(start + (end - start) * progress + across * np.sin(math.pi * progress))


def join_parts(parts: Sequence[tuple[FloatArray, bool]], rate_hz: float) -> tuple[FloatArray, BoolArray]:
    """Positions ``[T, 2]`` and pen-down ``[T]`` of recorded parts in order (positions, pen down), with travel between
    two parts on paper that no recorded travel connects."""
    xy: list[FloatArray] = []
    down: list[BoolArray] = []
    was_down = False
    for points, is_down in parts:
        if is_down and was_down:
            distance_mm = float(np.hypot(*(points[0] - xy[-1][-1])))
            way = travel_path(xy[-1][-1], points[0], max(2, round(travel_duration_s(distance_mm) * rate_hz)))
            xy.append(way)
            down.append(np.zeros(len(way), np.bool_))
        xy.append(points)
        down.append(np.full(len(points), is_down))
        was_down = is_down
    return np.concatenate(xy), np.concatenate(down)


def lift_pen(strokes: Strokes) -> Strokes:
    """Put travel where the pen jumps while it is said to be down: corpora that keep strokes only mark no lifts.

    A jump is a step of over 0.6 mm and a twentieth of the sample's height that is at least five times as long as both
    its neighbours' median.
    """
    xy, down = np.asarray(strokes.xy_mm, np.float64), strokes.pen_down
    if len(xy) < 4:
        return strokes
    steps = np.hypot(*np.diff(xy, axis=0).T)
    around = sliding_window_view(np.pad(steps, 4, mode="reflect" if len(steps) > 4 else "edge"), 9)
    usual = np.median(np.delete(around, 4, axis=1), axis=1)
    least_mm = max(0.6, 0.05 * float(np.ptp(xy[:, 1])))
    jump = (steps > least_mm) & (steps > 5 * usual) & down[1:] & down[:-1]
    if not jump.any():
        return strokes
    rate_hz = (len(strokes) - 1) / float(strokes.time_s[-1] - strokes.time_s[0])
    edges = [0, *(np.flatnonzero(jump) + 1).tolist(), len(xy)]
    pieces: list[FloatArray] = []
    lifted: list[BoolArray] = []
    for first, end in itertools.pairwise(edges):
        if pieces:
            count = max(2, round(travel_duration_s(float(steps[first - 1])) * rate_hz))
            pieces.append(travel_path(xy[first - 1], xy[first], count))
            lifted.append(np.zeros(count, np.bool_))
        pieces.append(xy[first:end])
        lifted.append(down[first:end])
    path = np.concatenate(pieces)
    time_s = strokes.time_s[0] + np.arange(len(path)) / rate_hz
    return dataclasses.replace(strokes, time_s=time_s, xy_mm=path, pen_down=np.concatenate(lifted))
