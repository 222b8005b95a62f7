"""How a hand moves through the points it aims at: minimum jerk, timed by the two-thirds power law. P: number of points.

Given the times at which the hand passes its targets, the smoothest movement is the one whose squared jerk is least
(Flash and Hogan 1985): between targets it is a polynomial of degree five, and over each target position, speed,
acceleration, jerk and snap go on without a step, which makes one system of 2 x 2 blocks. The times come from the
two-thirds power law (Lacquaniti, Terzuolo and Viviani 1983): speed = K * curvature ** (-1/3) along the targets'
polygon, and the movement is then drawn towards the law along its own path. Lengths are in x-heights: a letter takes
about as long whether written large or small (isochrony).
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from unwritten.types import BoolArray

FLATTEST = 0.15
"""Curvature in 1 / x-heights below which the hand goes no faster: no stroke is infinitely straight."""
POWER_LAW_SHARE = 0.5
POWER_LAW_EXPONENT = 0.5
"""Minimum jerk through letters' targets alone gives speed ~ curvature ** -0.21; drawn half-way (in logarithms) towards
an exponent of one half it gives -0.30 to -0.31, as English words on tablets do under the same estimator, near -1/3."""
SHARPEST = 30.0
"""Curvature in 1 / x-heights above which the law asks for no further slowing."""


@numba.njit(cache=True)
def passage_durations(points: NDArray[np.float64], corner: BoolArray, stop_cost: float) -> NDArray[np.float64]:
    """Relative durations ``[P - 1]`` between targets ``[P, 2]``, for a gain K of one.

    ``stop_cost`` is what coming to a stop, or starting from one, adds to a duration.
    """
    count = len(points)
    slowness = np.empty(count)
    for i in range(count):
        if i == 0 or i == count - 1:
            slowness[i] = FLATTEST ** (1.0 / 3.0)
            continue
        ax, ay = points[i, 0] - points[i - 1, 0], points[i, 1] - points[i - 1, 1]
        bx, by = points[i + 1, 0] - points[i, 0], points[i + 1, 1] - points[i, 1]
        turn = abs(np.arctan2(ax * by - ay * bx, ax * bx + ay * by))
        arc = 0.5 * (np.hypot(ax, ay) + np.hypot(bx, by)) + 1e-9
        slowness[i] = max(turn / arc, FLATTEST) ** (1.0 / 3.0)
    # Two-thirds power law, v = K c^(-1/3): a path of length ds takes ds c^(1/3) / K. Curvature c at a target is the
    # angle by which the polygon turns there over the mean length of its two sides.
    durations = np.empty(count - 1)
    for i in range(count - 1):
        length = np.hypot(points[i + 1, 0] - points[i, 0], points[i + 1, 1] - points[i, 1])
        stops = (1.0 if i == 0 or corner[i] else 0.0) + (1.0 if i == count - 2 or corner[i + 1] else 0.0)
        durations[i] = max(length, 0.04) * 0.5 * (slowness[i] + slowness[i + 1]) + stop_cost * stops
    return durations


@numba.njit(cache=True)
def minimum_jerk(
    points: NDArray[np.float64], corner: BoolArray, durations_s: NDArray[np.float64], rate_hz: float
) -> NDArray[np.float64]:
    """Positions ``[T, 2]`` at ``rate_hz`` of the smoothest movement through ``points`` ``[P, 2]``.

    It starts and ends at rest, stops where ``corner`` ``[P]`` says so and takes ``durations_s`` ``[P - 1]`` from one
    target to the next.
    """
    count = len(points)
    # Position, speed v and acceleration a at both its ends make a segment's quintic. With d its step and h its
    # duration, jerk and snap at its end (1; its start is 0) are
    #   jerk = (60 d - 24 h v0 - 36 h v1 - 3 h^2 a0 + 9 h^2 a1) / h^3,
    #   snap = (360 d - 168 h v0 - 192 h v1 - 24 h^2 a0 + 36 h^2 a1) / h^4,
    # and at its start the same read backwards in time. Both agree at a target from either side; at a corner v = 0 takes
    # the place of the second. The system is block tridiagonal and is solved by elimination (Thomas algorithm).
    # Unknown speed v and acceleration a at every target: A_i u_(i-1) + B_i u_i + C_i u_(i+1) = r_i with u = (v, a).
    upper = np.zeros((count, 2, 2))
    right = np.zeros((count, 2, 2))  # rows: the two equations; columns: x and y
    for i in range(1, count - 1):
        before, after = durations_s[i - 1], durations_s[i]
        a00, a01 = -24.0 / before**2, -3.0 / before
        b00 = -36.0 / before**2 + 36.0 / after**2
        b01 = 9.0 / before + 9.0 / after
        c00, c01 = 24.0 / after**2, -3.0 / after
        a10, a11 = -168.0 / before**3, -24.0 / before**2
        b10 = -192.0 / before**3 - 192.0 / after**3
        b11 = 36.0 / before**2 - 36.0 / after**2
        c10, c11 = -168.0 / after**3, 24.0 / after**2
        r = np.empty((2, 2))
        for axis in range(2):
            back = points[i, axis] - points[i - 1, axis]
            ahead = points[i + 1, axis] - points[i, axis]
            r[0, axis] = -60.0 * back / before**3 + 60.0 * ahead / after**3
            r[1, axis] = -360.0 * back / before**4 - 360.0 * ahead / after**4
        if corner[i]:
            a10, a11, b10, b11, c10, c11 = 0.0, 0.0, 1.0, 0.0, 0.0, 0.0
            r[1, :] = 0.0
        # Eliminate u_(i-1) = right_(i-1) - upper_(i-1) u_i.
        p = upper[i - 1]
        q = right[i - 1]
        m00 = b00 - (a00 * p[0, 0] + a01 * p[1, 0])
        m01 = b01 - (a00 * p[0, 1] + a01 * p[1, 1])
        m10 = b10 - (a10 * p[0, 0] + a11 * p[1, 0])
        m11 = b11 - (a10 * p[0, 1] + a11 * p[1, 1])
        determinant = m00 * m11 - m01 * m10
        upper[i, 0, 0] = (m11 * c00 - m01 * c10) / determinant
        upper[i, 0, 1] = (m11 * c01 - m01 * c11) / determinant
        upper[i, 1, 0] = (m00 * c10 - m10 * c00) / determinant
        upper[i, 1, 1] = (m00 * c11 - m10 * c01) / determinant
        for axis in range(2):
            s0 = r[0, axis] - (a00 * q[0, axis] + a01 * q[1, axis])
            s1 = r[1, axis] - (a10 * q[0, axis] + a11 * q[1, axis])
            right[i, 0, axis] = (m11 * s0 - m01 * s1) / determinant
            right[i, 1, axis] = (m00 * s1 - m10 * s0) / determinant
    # Back substitution: u_i = right_i - upper_i u_(i+1).
    for i in range(count - 2, 0, -1):
        for row in range(2):
            for axis in range(2):
                right[i, row, axis] -= (
                    upper[i, row, 0] * right[i + 1, 0, axis] + upper[i, row, 1] * right[i + 1, 1, axis]
                )

    total_s = durations_s.sum()
    samples = int(np.floor(total_s * rate_hz + 1e-9)) + 1
    positions = np.empty((samples, 2))
    i, start_s = 0, 0.0
    for k in range(samples):
        time_s = k / rate_hz
        while i < count - 2 and time_s > start_s + durations_s[i]:
            start_s += durations_s[i]
            i += 1
        span = durations_s[i]
        u = min((time_s - start_s) / span, 1.0)
        for axis in range(2):
            v0, v1 = right[i, 0, axis] * span, right[i + 1, 0, axis] * span
            a0, a1 = right[i, 1, axis] * span**2, right[i + 1, 1, axis] * span**2
            step = points[i + 1, axis] - points[i, axis]
            # x(u) = x0 + v0 u + a0 u^2 / 2 + c3 u^3 + c4 u^4 + c5 u^5 for u in [0, 1], v and a in units of the span.
            c3 = 10.0 * step - 6.0 * v0 - 4.0 * v1 - 1.5 * a0 + 0.5 * a1
            c4 = -15.0 * step + 8.0 * v0 + 7.0 * v1 + 1.5 * a0 - a1
            c5 = 6.0 * step - 3.0 * (v0 + v1) - 0.5 * (a0 - a1)
            positions[k, axis] = points[i, axis] + u * (v0 + u * (0.5 * a0 + u * (c3 + u * (c4 + u * c5))))
    return positions


@numba.njit(cache=True)
def power_law_times(positions: NDArray[np.float64], rate_hz: float) -> NDArray[np.float64]:
    """Times ``[T]`` at which to pass ``positions`` ``[T, 2]``, given at ``rate_hz``, so that speed follows curvature.

    The path stays as it is; stops stay stops; the whole takes about as long as before.
    """
    count = len(positions)
    log_speed = np.empty(count)
    log_law = np.zeros(count)
    for i in range(count):
        before, after = max(i - 1, 0), min(i + 1, count - 1)
        vx = (positions[after, 0] - positions[before, 0]) * rate_hz / max(after - before, 1)
        vy = (positions[after, 1] - positions[before, 1]) * rate_hz / max(after - before, 1)
        speed = np.hypot(vx, vy)
        # Curvature |v x a| / |v|^3 of the path as it is, by central differences; 1e-6 keeps it finite at rest.
        curvature = 0.0
        if before < i < after:
            ax = (positions[after, 0] - 2 * positions[i, 0] + positions[before, 0]) * rate_hz**2
            ay = (positions[after, 1] - 2 * positions[i, 1] + positions[before, 1]) * rate_hz**2
            curvature = abs(vx * ay - vy * ax) / (speed**3 + 1e-6)
        log_speed[i] = np.log(speed + 1e-3)
        log_law[i] = -POWER_LAW_EXPONENT * np.log(min(max(curvature, FLATTEST), SHARPEST))
    excess = np.empty(count)
    for i in range(count):
        first, end = max(0, i - 3), min(count, i + 4)
        excess[i] = log_speed[i] - log_law[first:end].mean()
    excess -= excess.mean()
    times_s = np.zeros(count)
    for i in range(1, count):
        # Half of the way, in logarithms, from the speed that is to the speed that the law asks for.
        slower = POWER_LAW_SHARE * 0.5 * (excess[i] + excess[i - 1])
        times_s[i] = times_s[i - 1] + np.exp(min(max(slower, -0.7), 1.2)) / rate_hz
    return times_s
