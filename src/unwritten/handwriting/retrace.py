"""Print whose strokes are traced over again. T is the number of pen positions.

Filmed writers who retrace go round a closed stroke twice at once, without lifting or slowing at the join, and then go
on (the bowl of an ``a``: two loops, then the stem). An open stroke is traced there and back and there again, or lifted
and traced once more, or left as it is; now and then a letter's strokes are all repeated once the letter is done.
"""

from __future__ import annotations

import dataclasses
import math

import numba
import numpy as np
from numpy.typing import NDArray

from unwritten.handwriting.travel import travel_duration_s, travel_path
from unwritten.handwriting.written import WrittenWord
from unwritten.types import BoolArray, FloatArray, Strokes

LOOP_GAP = 0.28
"""A path closes when it comes back this near to where it was, relative to the extent of what lies between."""
AGAIN_JITTER = 0.025
"""How far the second tracing lies from the first, relative to the stroke's extent."""


def retrace(strokes: Strokes, rng: np.random.Generator, passes: int = 2) -> Strokes:
    """The same writing with its strokes traced over again, on the same clock rate.

    Args:
        strokes: print, with time.
        rng: decides which strokes are repeated and how.
        passes: how often a closed stroke is drawn in all.
    """
    return _retraced(strokes, rng, passes)[0]


def retrace_word(written: WrittenWord, rng: np.random.Generator, passes: int = 2) -> WrittenWord:
    """As ``retrace``, with the new time of each letter."""
    strokes, moved_s = _retraced(written.strokes, rng, passes)
    spans_s = np.interp(written.letter_spans_s, written.strokes.time_s, moved_s)
    return WrittenWord(strokes, spans_s)


def stroke_spans(pen_down: BoolArray) -> NDArray[np.int64]:
    """First position and end of each stroke ``[strokes, 2]``."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], pen_down.astype(np.int8), [0]])))
    return edges.reshape(-1, 2)


def _retraced(strokes: Strokes, rng: np.random.Generator, passes: int) -> tuple[Strokes, NDArray[np.float64]]:
    """The strokes traced again, and the new time ``[T]`` of each old position (its last tracing)."""
    if len(strokes) < 2:
        return strokes, np.asarray(strokes.time_s, np.float64)
    steps_s = np.diff(strokes.time_s, prepend=strokes.time_s[0])
    step_s = float(np.median(steps_s[1:]))
    xy: list[FloatArray] = []
    down: list[BoolArray] = []
    steps: list[FloatArray] = []
    last_at = np.zeros(len(strokes), np.int64)
    count = 0
    favourite = rng.random()

    def add(points: FloatArray, is_down: bool, durations_s: FloatArray) -> None:
        nonlocal count
        xy.append(points)
        down.append(np.full(len(points), is_down))
        steps.append(durations_s)
        count += len(points)

    position = 0
    for first, end in stroke_spans(strokes.pen_down):
        last_at[position:first] = count + np.arange(first - position)
        add(strokes.xy_mm[position:first].astype(np.float64), False, steps_s[position:first])
        points, durations_s = strokes.xy_mm[first:end].astype(np.float64), steps_s[first:end]
        last_at[first:end] = count + np.arange(end - first)
        loop = find_loop(points, LOOP_GAP)
        if loop[1] > loop[0]:
            begin, close = loop
            add(points[:close], True, durations_s[:close])
            ring, ring_s = points[begin:close], durations_s[begin:close]
            # The second ring starts where the first ended and slides over to the old path by its own end.
            slide = (points[close - 1] - ring[0]) * (1.0 - np.linspace(0.0, 1.0, len(ring)) ** 0.5)[:, None]
            for _ in range(passes - 1):
                add(_again(ring, rng) + slide, True, ring_s)
            if close < len(points):
                shift = xy[-1][-1] - points[close - 1]
                fade = np.exp(-np.arange(end - first - close) * step_s / 0.05)[:, None]
                add(points[close:] + shift * fade, True, durations_s[close:])
            last_at[first + close : end] = count - (end - first - close) + np.arange(end - first - close)
        else:
            add(points, True, durations_s)
            kind = 0.5 * favourite + 0.5 * rng.random()
            if len(points) >= 3 and _extent(points) > 0:
                if kind < 0.4:
                    add(_again(points, rng)[::-1][1:], True, durations_s[::-1][:-1])
                    add(_again(points, rng)[1:], True, durations_s[1:])
                elif kind < 0.7:
                    apart_mm = float(np.hypot(*(points[-1] - points[0])))
                    way = travel_path(points[-1], points[0], max(2, round(travel_duration_s(apart_mm) / step_s)))
                    add(way, False, np.full(len(way), step_s))
                    add(_again(points, rng), True, durations_s)
                last_at[end - 1] = count - 1
        position = int(end)
    last_at[position:] = count + np.arange(len(strokes) - position)
    add(strokes.xy_mm[position:].astype(np.float64), False, steps_s[position:])

    path, is_down = np.concatenate(xy), np.concatenate(down)
    step_of = np.maximum(np.concatenate(steps), 1e-4)
    step_of[0] = 0.0
    times_s = np.cumsum(step_of)
    regular_s = np.arange(int(times_s[-1] / step_s + 1e-6) + 1) * step_s
    nearest = np.clip(np.searchsorted(times_s, regular_s - 1e-9), 0, count - 1)
    again = dataclasses.replace(
        strokes,
        time_s=strokes.time_s[0] + regular_s,
        xy_mm=np.stack([np.interp(regular_s, times_s, path[:, axis]) for axis in range(2)], axis=1),
        pen_down=is_down[nearest],
    )
    return again, strokes.time_s[0] + np.maximum.accumulate(times_s[last_at])


@numba.njit(cache=True)
def find_loop(points: NDArray[np.float64], gap: float) -> tuple[int, int]:
    """First and end index of the first loop that a stroke closes, (0, 0) when it closes none.

    A loop turns by at least 250 degrees one way, and its ends lie nearer to each other than ``gap`` times its extent.
    """
    count = len(points)
    headings = np.zeros(count)
    heading = 0.0
    last = 0
    seen = False
    angle = 0.0
    for i in range(1, count):
        dx, dy = points[i, 0] - points[last, 0], points[i, 1] - points[last, 1]
        if dx * dx + dy * dy > 1e-4:
            new_angle = np.arctan2(dy, dx)
            if seen:
                turn = new_angle - angle
                turn -= 2 * np.pi * np.round(turn / (2 * np.pi))
                heading += turn
            angle, last, seen = new_angle, i, True
        headings[i] = heading
    for end in range(6, count):
        low_x = high_x = points[end, 0]
        low_y = high_y = points[end, 1]
        for first in range(end - 1, -1, -1):
            low_x, high_x = min(low_x, points[first, 0]), max(high_x, points[first, 0])
            low_y, high_y = min(low_y, points[first, 1]), max(high_y, points[first, 1])
            if abs(headings[end] - headings[first]) < 250.0 / 180.0 * np.pi:
                continue
            width, height = high_x - low_x, high_y - low_y
            apart = np.hypot(points[end, 0] - points[first, 0], points[end, 1] - points[first, 1])
            if min(width, height) > 0.35 * max(width, height) and apart < gap * max(width, height):
                return first, end + 1
    return 0, 0


def _extent(points: NDArray[np.float64]) -> float:
    return float(np.ptp(points, axis=0).max())


def _again(points: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """The same path ``[T, 2]`` as a hand hits it the second time: a smooth, small deviation, none at the ends."""
    along = np.linspace(0.0, 1.0, len(points))[:, None]
    size = AGAIN_JITTER * _extent(points)
    waves = [rng.normal(0.0, size / k, 2) * np.sin(math.pi * k * along) for k in (1, 2, 3)]
    return points + np.sum(waves, axis=0)
