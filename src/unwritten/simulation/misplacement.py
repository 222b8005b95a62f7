"""Strokes that begin a little off from where the last one ended, or end too late or too soon: a letter without ink.

Tablets show letters in one flow, by hands that see what they write. Hands that draw a single letter with a dry pen stop
at its corners and go on from a place that is not quite the same, and nothing shows them where a stroke should end: in
both public clips of a print ``a`` the stem starts a fifth of the bowl's height above the bowl. N is the number of
motion samples.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from unwritten.types import BoolArray, FloatArray, IntArray

_SHORTEST = 20  # samples (0.1 s): anything shorter is no stroke


def misplace_strokes(
    xy_mm: FloatArray,
    pen_down: BoolArray,
    shot: IntArray,
    height_mm: float,
    probability: float,
    reach: float,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Shift what follows one corner of a shot, and let the shift fade over the next half of a letter.

    Args:
        xy_mm: ``[N, 2]`` motion at ``MOTION_RATE_HZ``.
        pen_down: ``[N]``.
        shot: ``[N]``.
        height_mm: letter height.
        probability: of a shift in each shot.
        reach: standard deviation of the shift in letter heights; half of it is added upwards.
        rng: every choice follows from it.

    Returns:
        The shifted path ``[N, 2]``.
    """
    shots = int(shot[-1]) + 1
    draws = rng.random((shots, 2))
    shifts = rng.normal(0.0, reach * height_mm, (shots, 2))
    shifts[:, 1] += 0.5 * reach * height_mm
    return _misplace(
        np.array(xy_mm, dtype=np.float64),
        np.ascontiguousarray(pen_down, dtype=np.bool_),
        np.ascontiguousarray(shot, dtype=np.int64),
        draws,
        shifts,
        probability,
        0.6 * height_mm,
    )


def stretch_strokes(
    xy_mm: FloatArray,
    pen_down: BoolArray,
    shot: IntArray,
    probability: float,
    spread: float,
    turn_rad: float,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Make one stroke of a shot longer or shorter and turn it, about where it begins; what follows moves along.

    Args:
        xy_mm: ``[N, 2]`` motion at ``MOTION_RATE_HZ``.
        pen_down: ``[N]``.
        shot: ``[N]``.
        probability: of a change in each shot.
        spread: standard deviation of the logarithm of the factor on its length.
        turn_rad: standard deviation of the turn.
        rng: every choice follows from it.

    Returns:
        The path with its strokes changed ``[N, 2]``.
    """
    shots = int(shot[-1]) + 1
    draws = rng.random((shots, 2))
    factors = np.exp(rng.normal(0.0, spread, shots) + 1j * rng.normal(0.0, turn_rad, shots))
    return _stretch(
        np.array(xy_mm, dtype=np.float64),
        np.ascontiguousarray(pen_down, dtype=np.bool_),
        np.ascontiguousarray(shot, dtype=np.int64),
        draws,
        factors,
        probability,
    )


@numba.njit(cache=True, nogil=True)
def _stretch(xy, pen_down, shot, draws, factors, probability):  # type: ignore[no-untyped-def]
    count = len(xy)
    speed = _travel(xy, shot)
    begins = np.zeros(count, dtype=np.int64)
    ends = np.zeros(count, dtype=np.int64)
    start = 0
    while start < count:
        number = shot[start]
        end, first, last, fastest = _shot(pen_down, shot, speed, start)
        if draws[number, 0] < probability and first >= 0:
            found = 0
            begin = -1
            for n in range(first, last + 1):
                if not pen_down[n]:
                    begin = -1
                    continue
                begin = n if begin < 0 else begin
                lifts = n == last or not pen_down[n + 1]
                if (lifts or _is_corner(speed, n, start, end, fastest)) and n - begin >= _SHORTEST:
                    begins[found], ends[found] = begin, n
                    found += 1
                    begin = n
            if found > 0:
                chosen = int(draws[number, 1] * found)
                begin, stop = begins[chosen], ends[chosen]
                along, across = factors[number].real - 1.0, factors[number].imag
                x, y = xy[begin, 0], xy[begin, 1]
                shift_x, shift_y = 0.0, 0.0
                for n in range(begin, end):
                    if n <= stop:
                        right, up = xy[n, 0] - x, xy[n, 1] - y
                        shift_x, shift_y = along * right - across * up, across * right + along * up
                    xy[n, 0] += shift_x
                    xy[n, 1] += shift_y
        start = end
    return xy


@numba.njit(cache=True, nogil=True)
def _travel(xy, shot):  # type: ignore[no-untyped-def]
    """``[N]`` distance over the eight samples around each, 0 at the ends of shots."""
    count = len(xy)
    speed = np.zeros(count)
    for n in range(4, count - 4):
        if shot[n - 4] == shot[n + 4]:
            speed[n] = np.sqrt((xy[n + 4, 0] - xy[n - 4, 0]) ** 2 + (xy[n + 4, 1] - xy[n - 4, 1]) ** 2)
    return speed


@numba.njit(cache=True, nogil=True)
def _shot(pen_down, shot, speed, start):  # type: ignore[no-untyped-def]
    """End of the shot that begins at start, its first and last sample with the pen down (-1: none), its fastest."""
    end, first, last, fastest = start, -1, -1, 0.0
    while end < len(shot) and shot[end] == shot[start]:
        if pen_down[end]:
            first = end if first < 0 else first
            last = end
            fastest = max(fastest, speed[end])
        end += 1
    return end, first, last, fastest


@numba.njit(cache=True, nogil=True)
def _is_corner(speed, n, start, end, fastest):  # type: ignore[no-untyped-def]
    """Whether the pen is slow at n and slowest thereabouts, with enough of its shot on either side to tell."""
    if n < start + 12 or n + 12 >= end:
        return False
    return speed[n] < 0.25 * fastest and speed[n] <= speed[n - 8] and speed[n] < speed[n + 8]


@numba.njit(cache=True, nogil=True)
def _misplace(xy, pen_down, shot, draws, shifts, probability, fade_mm):  # type: ignore[no-untyped-def]
    count = len(xy)
    speed = _travel(xy, shot)
    start = 0
    corners = np.zeros(count, dtype=np.int64)
    while start < count:
        number = shot[start]
        end, first, last, fastest = _shot(pen_down, shot, speed, start)
        if draws[number, 0] < probability and first >= 0:
            found = 0
            for n in range(first + _SHORTEST, last - _SHORTEST):
                if pen_down[n] and _is_corner(speed, n, start, end, fastest):
                    corners[found] = n
                    found += 1
            if found > 0:
                corner = corners[int(draws[number, 1] * found)]
                travelled = 0.0
                last_x, last_y = xy[corner, 0], xy[corner, 1]
                for n in range(corner, end):
                    travelled += np.sqrt((xy[n, 0] - last_x) ** 2 + (xy[n, 1] - last_y) ** 2)
                    last_x, last_y = xy[n, 0], xy[n, 1]
                    kept = 1.0 - travelled / fade_mm
                    if kept <= 0.0:
                        break
                    kept *= min(1.0, (n - corner) / 16.0)
                    xy[n, 0] += kept * shifts[number, 0]
                    xy[n, 1] += kept * shifts[number, 1]
        start = end
    return xy
