# ruff: noqa: NPY002 - numba seeds its own legacy generator inside the kernel, which is the quickest it has
"""From a tablet's samples to the motion that a camera would film: pace, rests, pen-up travel, hover.

Tablets record little of what a camera sees: letters come without the travel between their strokes, nobody rests, and
the recording starts and stops at the paper. A letter that is performed for a camera is slower, rests at its corners and
at the ends of strokes, and begins and ends in the air. N is the number of samples in time.
"""

from __future__ import annotations

from collections import namedtuple
from dataclasses import astuple, dataclass, fields

import numba
import numpy as np
from numpy.typing import NDArray

from unwritten.simulation.motion import MOTION_RATE_HZ
from unwritten.types import BoolArray, FloatArray


@dataclass(frozen=True)
class PenSettings:
    """Pace and habits of a hand in front of a camera. Times are medians or means in seconds, spreads are of logarithms.

    The defaults enclose what the public sample clips show: shots of 1.9 to 2.2 s of which 1.0 to 1.6 s are writing,
    rests of 0.1 to 0.3 s at corners and stroke ends, hover of up to 0.8 letter heights before and after.

    Attributes:
        letter_s: median time that one letter's writing takes, rests not counted.
        letter_spread: standard deviation of its logarithm.
        pace_floor, pace_ceiling: limits of the stretch of the tablet's own time.
        rest_probability: of a rest at the end of a stroke.
        corner_probability: of a rest at a corner inside a stroke.
        rest_s: mean of a rest.
        travel_s: median time of pen-up travel between strokes.
        hover_probability: of hover before the first and after the last stroke, each.
        hover_s: mean time of a hover.
        hover_reach: mean distance of a hover in letter heights.
        still_s: mean time of stillness before and after everything.
        hop_probability: of lifting the pen at a corner of a letter that is filmed alone and setting it down again a
            little off, as both public clips of a print ``a`` show between bowl and stem. Words in one take have none.
        hop_reach: standard deviation of that offset in letter heights.
    """

    letter_s: float = 0.75
    letter_spread: float = 0.4
    pace_floor: float = 0.4
    pace_ceiling: float = 6.0
    rest_probability: float = 0.6
    corner_probability: float = 0.3
    rest_s: float = 0.11
    travel_s: float = 0.28
    hover_probability: float = 0.7
    hover_s: float = 0.33
    hover_reach: float = 0.5
    still_s: float = 0.12
    hop_probability: float = 0.25
    hop_reach: float = 0.10


# ``PenSettings`` as the kernel takes them: numba knows named tuples of floats, not dataclasses.
_Habits = namedtuple("_Habits", [field.name for field in fields(PenSettings)])  # type: ignore[misc]


def perform(
    xy_mm: FloatArray,
    pen_down: BoolArray,
    step_s: float,
    n_letters: int,
    height_mm: float,
    settings: PenSettings,
    seed: int,
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Perform one tablet sample in front of a camera.

    Args:
        xy_mm: ``[N, 2]`` tablet samples, y up.
        pen_down: ``[N]``; samples in the air are kept as recorded travel.
        step_s: time between two samples.
        n_letters: letters in the sample, for its pace.
        height_mm: the writer's letter height, the unit of hover.
        settings: pace and habits.
        seed: every choice follows from it.

    Returns:
        ``xy_mm [M, 2]`` and ``pen_down [M]`` at ``MOTION_RATE_HZ``.
    """
    return _perform(
        np.ascontiguousarray(xy_mm, dtype=np.float64),
        np.ascontiguousarray(pen_down, dtype=np.bool_),
        float(step_s),
        int(n_letters),
        float(height_mm),
        _Habits(*(float(value) for value in astuple(settings))),
        int(seed) & 0x7FFFFFFF,
    )


# The kernels below lay knots [K, 4] of time, x, y and contact, with straight motion between; ``count`` of them
# are laid. Each function gives the new count and what it moved on: the time, and the place where the pen is.


@numba.njit(cache=True, nogil=True)
def _append(knots, count, t, x, y, down):  # type: ignore[no-untyped-def]
    if count < len(knots):
        knots[count, 0] = t
        knots[count, 1] = x
        knots[count, 2] = y
        knots[count, 3] = down
        return count + 1
    return count


@numba.njit(cache=True, nogil=True)
def _travel(knots, count, t, x0, y0, x1, y1, seconds, bow):  # type: ignore[no-untyped-def]
    """Travel through the air with a sideways bow; returns count and time."""
    steps = max(3, int(seconds / 0.012))
    for k in range(1, steps + 1):
        u = k / steps
        # Minimum jerk from rest to rest (Flash and Hogan 1985): s = 10 u^3 - 15 u^4 + 6 u^5.
        s = u * u * u * (10.0 - 15.0 * u + 6.0 * u * u)
        side = bow * np.sin(np.pi * s)
        x = x0 + s * (x1 - x0) - side * (y1 - y0)
        y = y0 + s * (y1 - y0) + side * (x1 - x0)
        count = _append(knots, count, t + u * seconds, x, y, 0.0)
    return count, t + seconds


@numba.njit(cache=True, nogil=True)
def _rest(knots, count, t, x, y, seconds, drift, down):  # type: ignore[no-untyped-def]
    """A rest is never quite still: it ends ``drift`` millimetres away on average."""
    dx, dy = np.random.normal(0.0, drift), np.random.normal(0.0, drift)
    steps = max(1, int(seconds / 0.04))
    for k in range(1, steps + 1):
        u = k / steps
        count = _append(knots, count, t + u * seconds, x + dx * u, y + dy * u, down)
    return count, t + seconds, x + dx, y + dy


@numba.njit(cache=True, nogil=True)
def _pause(knots, count, t, x, y, mean_s, habit, drift, down):  # type: ignore[no-untyped-def]
    """A rest of exponential length, as this hand rests: ``habit`` times ``mean_s`` on average."""
    return _rest(knots, count, t, x, y, np.random.exponential(mean_s) * habit + 0.01, drift, down)


@numba.njit(cache=True, nogil=True)
def _hover_from(x, y, height, hover_reach):  # type: ignore[no-untyped-def]
    """A place to hover at, in any direction from x and y."""
    reach = height * np.random.exponential(hover_reach)
    angle = np.random.uniform(0.0, 2.0 * np.pi)
    return x + reach * np.cos(angle), y + reach * np.sin(angle)


@numba.njit(cache=True, nogil=True)
def _hover_time(hover_s):  # type: ignore[no-untyped-def]
    return min(max(np.random.exponential(hover_s), 0.08), 1.3)


@numba.njit(cache=True, nogil=True)
def _distance(xy, i, j):  # type: ignore[no-untyped-def]
    return np.sqrt((xy[j, 0] - xy[i, 0]) ** 2 + (xy[j, 1] - xy[i, 1]) ** 2)


@numba.njit(cache=True, nogil=True)
def _is_corner(xy, down, i, reach2):  # type: ignore[no-untyped-def]
    """Whether the path turns by some 84 degrees or more (cosine below 0.1) at sample i.

    The turn is between a piece of path before and one after, each long enough to rise over the tablet's noise:
    ``reach2`` is the square of that length.
    """
    x, y = xy[i, 0], xy[i, 1]
    a, b = i, i
    while a > 0 and down[a - 1] and (x - xy[a, 0]) ** 2 + (y - xy[a, 1]) ** 2 < reach2:
        a -= 1
    while b < len(xy) - 1 and down[b + 1] and (x - xy[b, 0]) ** 2 + (y - xy[b, 1]) ** 2 < reach2:
        b += 1
    ax, ay = x - xy[a, 0], y - xy[a, 1]
    bx, by = xy[b, 0] - x, xy[b, 1] - y
    na, nb = ax * ax + ay * ay, bx * bx + by * by
    return na >= reach2 and nb >= reach2 and ax * bx + ay * by < 0.1 * np.sqrt(na * nb)


@numba.njit(cache=True, nogil=True)
def _perform(xy, down, step_s, n_letters, height, p, seed):  # type: ignore[no-untyped-def]
    np.random.seed(seed)
    n = len(xy)
    knots = np.empty((3 * n + 4000, 4))
    count = 0
    t = 0.0
    # The tablet's own time is stretched as a whole, so that speed goes on following curvature as the hand had it.
    wanted = p.letter_s * n_letters * np.exp(np.random.normal(0.0, p.letter_spread))
    stretch = min(max(wanted / max(n * step_s, 0.05), p.pace_floor), p.pace_ceiling)
    step = step_s * stretch
    habit = np.exp(np.random.normal(-0.1, 0.35))  # one hand rests long everywhere, another nowhere
    drift = 0.01 * height  # of a rest, millimetres
    x, y = xy[0, 0], xy[0, 1]
    still_before = np.random.exponential(p.still_s) if np.random.random() < 0.6 else 0.0
    if np.random.random() < p.hover_probability:
        x0, y0 = _hover_from(x, y, height, p.hover_reach)
        count = _append(knots, count, t, x0, y0, 0.0)
        if still_before > 0.02:
            count, t, x0, y0 = _rest(knots, count, t, x0, y0, still_before, 0.03 * height, 0.0)
        seconds = _hover_time(p.hover_s)
        count, t = _travel(knots, count, t, x0, y0, x, y, seconds, np.random.normal(0.0, 0.3))
        if np.random.random() < p.rest_probability:
            count, t, x0, y0 = _pause(knots, count, t, x, y, p.rest_s, habit, drift, 0.0)
    elif still_before > 0.02:
        count = _append(knots, count, t, x, y, 1.0)
        count, t, x0, y0 = _rest(knots, count, t, x, y, still_before, drift, 1.0)
    corner_reach2 = (0.12 * height) ** 2
    since_rest = 0.0
    hop_x, hop_y = 0.0, 0.0
    # The pace wanders slowly: nobody writes with a metronome.
    wander = 0.0
    for i in range(n):
        qx, qy = xy[i, 0], xy[i, 1]
        if hop_x != 0.0 or hop_y != 0.0:
            # Half a letter's height further on the hand is back where it would have been.
            kept = max(0.0, 1.0 - _distance(xy, i - 1, i) / (0.25 * height))
            hop_x, hop_y = hop_x * kept, hop_y * kept
        px, py = qx + hop_x, qy + hop_y
        if i > 0:
            lifted = down[i] and not down[i - 1]
            gap = _distance(xy, i - 1, i)
            # A lift that the tablet left out is a step far longer than the steps on either side of it: strokes end and
            # begin slowly, while a quick stroke has long steps throughout.
            before = _distance(xy, i - 2, i - 1) if i > 1 else 0.0
            after = _distance(xy, i, i + 1) if i + 1 < n else 0.0
            jumped = down[i] and down[i - 1] and gap > 0.08 * height and gap > 3.0 * max(before, after)
            wander = 0.95 * wander + 0.3 * np.random.normal(0.0, 0.15)
            local = step * np.exp(wander)
            if (jumped or lifted) and gap > 0.02 * height and (jumped or gap > 0.25 * height):
                # Travel that the tablet did not record.
                if np.random.random() < p.rest_probability:
                    count, t, x, y = _pause(knots, count, t, x, y, p.rest_s, habit, drift, 1.0)
                seconds = p.travel_s * np.exp(np.random.normal(0.0, 0.35)) * (0.6 + 0.4 * min(gap / height, 2.0))
                count, t = _travel(knots, count, t, x, y, px, py, max(seconds, 0.08), np.random.normal(0.0, 0.25))
                if np.random.random() < p.rest_probability:
                    count, t, x0, y0 = _pause(knots, count, t, px, py, p.rest_s, habit, drift, 0.0)
                since_rest = 0.0
            else:
                # Travel is stretched less than writing: nobody draws in the air.
                t += local if down[i] else local * (0.35 + 0.65 / max(stretch, 1.0))
                since_rest += local
                if down[i] and since_rest > 0.15 and _is_corner(xy, down, i, corner_reach2):
                    since_rest = 0.0
                    if n_letters == 1 and np.random.random() < p.hop_probability:
                        count = _append(knots, count, t, px, py, 1.0)
                        hop_x += np.random.normal(0.0, p.hop_reach * height)
                        hop_y += np.random.normal(0.5 * p.hop_reach * height, p.hop_reach * height)
                        seconds = p.travel_s * np.exp(np.random.normal(-0.3, 0.35))
                        bow = np.random.normal(0.0, 0.4)
                        count, t = _travel(knots, count, t, px, py, qx + hop_x, qy + hop_y, seconds, bow)
                        px, py = qx + hop_x, qy + hop_y
                        if np.random.random() < p.rest_probability:
                            count, t, x0, y0 = _pause(knots, count, t, px, py, p.rest_s, habit, drift, 0.0)
                    elif np.random.random() < p.corner_probability:
                        count = _append(knots, count, t, px, py, 1.0)
                        count, t, x0, y0 = _pause(knots, count, t, px, py, p.rest_s, habit, drift, 1.0)
                        t += local
        count = _append(knots, count, t, px, py, 1.0 if down[i] else 0.0)
        x, y = px, py
    if np.random.random() < p.rest_probability:
        count, t, x, y = _pause(knots, count, t, x, y, 2.0 * p.rest_s, habit, 0.015 * height, 1.0)
    if np.random.random() < p.hover_probability:
        legs = 1 + int(np.random.random() < 0.35)
        for _ in range(legs):
            x1, y1 = _hover_from(x, y, height, p.hover_reach)
            seconds = _hover_time(p.hover_s)
            count, t = _travel(knots, count, t, x, y, x1, y1, seconds, np.random.normal(0.0, 0.4))
            x, y = x1, y1
    if np.random.random() < 0.6:
        count, t, x, y = _pause(knots, count, t, x, y, 2.0 * p.still_s, 1.0, 0.03 * height, 0.0)
    # Recordings are cut tightly by some hands: the camera stops in the middle of the last hover.
    return _sampled(knots[:count], t)


@numba.njit(cache=True, nogil=True)
def _sampled(knots, end_s):  # type: ignore[no-untyped-def]
    """Position ``[M, 2]`` and contact ``[M]`` at ``MOTION_RATE_HZ``, straight between the knots."""
    samples = max(2, int(end_s * MOTION_RATE_HZ) + 1)
    out = np.empty((samples, 2))
    contact = np.empty(samples, dtype=np.bool_)
    k = 0
    for i in range(samples):
        now = i / MOTION_RATE_HZ
        while k + 1 < len(knots) and knots[k + 1, 0] <= now:
            k += 1
        j = min(k + 1, len(knots) - 1)
        span = knots[j, 0] - knots[k, 0]
        u = min(max((now - knots[k, 0]) / span, 0.0), 1.0) if span > 1e-9 else 0.0
        out[i, 0] = knots[k, 1] + u * (knots[j, 1] - knots[k, 1])
        out[i, 1] = knots[k, 2] + u * (knots[j, 2] - knots[k, 2])
        contact[i] = (knots[j, 3] if u > 0.0 else knots[k, 3]) > 0.5
    return out, contact
