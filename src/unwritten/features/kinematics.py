"""Velocity, acceleration, jerk, curvature and direction of the pen, in numba.

Positions are fitted by a weighted cubic in a window around each output time (the Savitzky-Golay idea, A. Savitzky and
M. Golay 1964, for samples that are unevenly spaced, may be missing, and belong to shots). A cubic's own derivatives are
therefore exact, whatever the frame rate, and nothing is ever differenced across a cut or a long gap.

T is the number of video frames, N the number of output frames.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from unwritten.types import BoolArray, FloatArray, IntArray

CHANNELS: tuple[str, ...] = (
    "velocity_x",
    "velocity_y",
    "log_speed",
    "acceleration_along",
    "acceleration_across",
    "jerk",
    "curvature",
    "direction_x",
    "direction_y",
    "offset_x",
    "offset_y",
    "shot_start",
    "since_start",
    "until_end",
    "contact",
)
"""Columns of ``Features.kinematics``; lengths are in canonical units, rates per second, wide ranges compressed."""

(
    _VELOCITY_X,
    _VELOCITY_Y,
    _LOG_SPEED,
    _ALONG,
    _ACROSS,
    _JERK,
    _CURVATURE,
    _DIRECTION_X,
    _DIRECTION_Y,
    _OFFSET_X,
    _OFFSET_Y,
    _SHOT_START,
    _SINCE_START,
    _UNTIL_END,
    _CONTACT,
) = range(len(CHANNELS))


@dataclass(frozen=True)
class KinematicsSettings:
    """How positions become motion.

    Attributes:
        rate_hz: output frames a second.
        window_s: half width of the cubic's window; widened where the frame rate is too low for it.
        max_gap_s: an output frame further than this from every visible sample of its shot is masked.
        contact: False hides the probability of contact from the model (an ablation).
        shot_marks: False hides the three columns that tell where shots begin and end (an ablation).
    """

    rate_hz: float = 60.0
    window_s: float = 0.060
    max_gap_s: float = 0.12
    contact: bool = True
    shot_marks: bool = True


@dataclass(frozen=True)
class Motion2D:
    """Derivatives of a planar path on a regular clock, ``[N]`` frames.

    Attributes:
        time_s: ``[N]``.
        position, velocity, acceleration, jerk: ``[N, 2]`` in units, units/s, units/s², units/s³.
        known: ``[N]`` bool, False where no sample of the shot is near.
        shot: ``[N]`` int.
    """

    time_s: FloatArray
    position: FloatArray
    velocity: FloatArray
    acceleration: FloatArray
    jerk: FloatArray
    known: BoolArray
    shot: IntArray

    @property
    def speed(self) -> FloatArray:
        """``[N]`` units/s."""
        return np.hypot(self.velocity[:, 0], self.velocity[:, 1])

    @property
    def direction_rad(self) -> FloatArray:
        """``[N]`` direction of motion in (-pi, pi]; 0 at rest."""
        return np.arctan2(self.velocity[:, 1], self.velocity[:, 0])

    @property
    def curvature(self) -> FloatArray:
        """``[N]`` signed curvature in 1/units, positive to the left in axes with y up; 0 at rest."""
        cross = self.velocity[:, 0] * self.acceleration[:, 1] - self.velocity[:, 1] * self.acceleration[:, 0]
        cubed = self.speed**3
        return np.divide(cross, cubed, out=np.zeros_like(cross), where=cubed > 1e-12)


def output_times(time_s: FloatArray, rate_hz: float) -> FloatArray:
    """Regular clock ``[N]`` from 0 that covers ``time_s`` ``[T]``, which starts at about 0."""
    return np.arange(int(np.floor(float(time_s[-1]) * rate_hz + 1e-6)) + 1) / rate_hz if len(time_s) else np.zeros(0)


def differentiate(
    time_s: FloatArray, xy: FloatArray, visible: BoolArray, shot: IntArray, settings: KinematicsSettings
) -> Motion2D:
    """Fit local cubics and read off position, velocity, acceleration and jerk.

    Args:
        time_s: ``[T]`` seconds, strictly increasing.
        xy: ``[T, 2]`` positions in any unit.
        visible: ``[T]`` samples that count.
        shot: ``[T]`` non-decreasing shot numbers; no window crosses from one to the next.
        settings: rate and windows.

    Returns:
        The motion on a regular clock; masked frames hold zeros.

    Raises:
        ValueError: the arrays differ in length or a visible position is not finite.
    """
    if not len(time_s) == len(xy) == len(visible) == len(shot):
        raise ValueError("time_s, xy, visible and shot must have one length")
    if not np.isfinite(np.asarray(xy)[np.asarray(visible, dtype=bool)]).all():
        raise ValueError("a visible position is not finite")
    clock_s = output_times(time_s, settings.rate_hz)
    fits, known, shot_out = _local_cubics(
        np.ascontiguousarray(time_s, dtype=np.float64),
        np.ascontiguousarray(xy, dtype=np.float64),
        np.ascontiguousarray(visible, dtype=np.bool_),
        np.ascontiguousarray(shot, dtype=np.int64),
        clock_s,
        settings.window_s,
        settings.max_gap_s,
    )
    return Motion2D(clock_s, fits[:, 0], fits[:, 1], 2.0 * fits[:, 2], 6.0 * fits[:, 3], known, shot_out)


@numba.njit(cache=True, nogil=True)
def _local_cubics(
    time_s: NDArray[np.float64],
    xy: NDArray[np.float64],
    visible: NDArray[np.bool_],
    shot: NDArray[np.int64],
    clock_s: NDArray[np.float64],
    window_s: float,
    max_gap_s: float,
) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.int64]]:
    """Coefficients ``[N, 4, 2]`` of the cubic around each clock time, lowest first, known ``[N]`` and shot ``[N]``."""
    count, samples = len(clock_s), len(time_s)
    fits = np.zeros((count, 4, 2))
    known = np.zeros(count, dtype=np.bool_)
    shot_out = np.zeros(count, dtype=np.int64)
    normal = np.zeros((4, 6))
    powers = np.zeros(7)
    chosen = np.zeros(64, dtype=np.int64)
    nearest = 0
    for n in range(count):
        t = clock_s[n]
        while nearest + 1 < samples and abs(time_s[nearest + 1] - t) <= abs(time_s[nearest] - t):
            nearest += 1
        number = shot[nearest]
        shot_out[n] = number
        # Visible samples of this shot around t, nearest first on either side, until the window is full enough.
        low, high = nearest, nearest + 1
        used = 0
        farthest = 0.0
        closest = np.inf
        wanted = window_s
        while used < 64:
            low_ok = low >= 0 and shot[low] == number
            high_ok = high < samples and shot[high] == number
            if not low_ok and not high_ok:
                break
            take_low = low_ok and (not high_ok or abs(time_s[low] - t) <= abs(time_s[high] - t))
            i = low if take_low else high
            if take_low:
                low -= 1
            else:
                high += 1
            distance = abs(time_s[i] - t)
            if distance > 4.0 * window_s or (distance > wanted and used >= 6):
                break
            if not visible[i]:
                continue
            chosen[used] = i
            used += 1
            farthest = max(farthest, distance)
            closest = min(closest, distance)
        if used == 0 or closest > max_gap_s:
            continue
        known[n] = True
        # Weighted least squares: minimise sum_k w(u_k) |xy_k - sum_p c_p u_k^p|^2 with u = (t_k - t) / reach, as a
        # local regression does (Cleveland 1979). Fewer than four samples bear a polynomial of lower degree only.
        reach = max(farthest * 1.001, window_s)
        degree = min(3, used - 1)
        normal[:] = 0.0
        for k in range(used):
            i = chosen[k]
            # Biweight, nearly 0 at the window's ends, so that samples enter and leave without a step. Times in units of
            # the reach keep the normal equations well conditioned.
            u = (time_s[i] - t) / reach
            weight = (1.0 - 0.98 * u * u) ** 2
            powers[0] = weight
            for p in range(1, 2 * degree + 1):
                powers[p] = powers[p - 1] * u
            for r in range(degree + 1):
                for c in range(degree + 1):
                    normal[r, c] += powers[r + c]
                normal[r, 4] += powers[r] * xy[i, 0]
                normal[r, 5] += powers[r] * xy[i, 1]
        size = degree + 1
        # Solve the normal equations by Gaussian elimination with partial pivoting, both coordinates at once.
        for pivot in range(size):
            best = pivot
            for r in range(pivot + 1, size):
                if abs(normal[r, pivot]) > abs(normal[best, pivot]):
                    best = r
            if best != pivot:
                for c in range(6):
                    normal[pivot, c], normal[best, c] = normal[best, c], normal[pivot, c]
            for r in range(pivot + 1, size):
                factor = normal[r, pivot] / normal[pivot, pivot]
                for c in range(pivot, size):
                    normal[r, c] -= factor * normal[pivot, c]
                normal[r, 4] -= factor * normal[pivot, 4]
                normal[r, 5] -= factor * normal[pivot, 5]
        scale = 1.0
        for r in range(size - 1, -1, -1):
            for axis in range(2):
                value = normal[r, 4 + axis]
                for c in range(r + 1, size):
                    value -= normal[r, c] * fits[n, c, axis]
                fits[n, r, axis] = value / normal[r, r]
        # From powers of u back to powers of seconds: c_p / reach^p. The p-th derivative at t is p! times that.
        for r in range(1, size):
            scale /= reach
            fits[n, r, 0] *= scale
            fits[n, r, 1] *= scale
    return fits, known, shot_out


def kinematic_channels(motion: Motion2D, contact: FloatArray, settings: KinematicsSettings) -> NDArray[np.float32]:
    """The model's columns from a motion in canonical units.

    Args:
        motion: ``[N]`` frames.
        contact: ``[N]`` probability that the pen is down, 0.5 where nothing is known.
        settings: which columns to hide.

    Returns:
        float32 ``[N, K]``, K = ``len(CHANNELS)``; masked frames are zero.
    """
    return _channels(
        motion.position,
        motion.velocity,
        motion.acceleration,
        motion.jerk,
        motion.known,
        np.ascontiguousarray(motion.shot, dtype=np.int64),
        np.ascontiguousarray(contact, dtype=np.float64),
        settings.rate_hz,
        settings.contact,
        settings.shot_marks,
    )


@numba.njit(cache=True, nogil=True)
def _channels(
    position: NDArray[np.float64],
    velocity: NDArray[np.float64],
    acceleration: NDArray[np.float64],
    jerk: NDArray[np.float64],
    known: NDArray[np.bool_],
    shot: NDArray[np.int64],
    contact: NDArray[np.float64],
    rate_hz: float,
    use_contact: bool,
    use_marks: bool,
) -> NDArray[np.float32]:
    count = len(position)
    out = np.zeros((count, len(CHANNELS)), dtype=np.float32)
    # Means from the left and from the right, m' = m + (1 - exp(-dt / tau)) (x - m) with tau = 0.6 s, lag by as much the
    # one way as the other: their mean does not lag. x drifts along the line of writing, so it is given against its own
    # running mean of about a letter's time.
    pull = 1.0 - np.exp(-1.0 / (0.6 * rate_hz))
    forward = np.zeros(count)
    backward = np.zeros(count)
    for n in range(count):
        fresh = n == 0 or shot[n] != shot[n - 1]
        forward[n] = position[n, 0] if fresh else forward[n - 1]
        if known[n]:
            forward[n] += pull * (position[n, 0] - forward[n])
    for n in range(count - 1, -1, -1):
        fresh = n == count - 1 or shot[n] != shot[n + 1]
        backward[n] = position[n, 0] if fresh else backward[n + 1]
        if known[n]:
            backward[n] += pull * (position[n, 0] - backward[n])
    start = 0
    for n in range(count):
        if n > 0 and shot[n] != shot[n - 1]:
            start = n
        if use_marks:
            out[n, _SHOT_START] = 1.0 if n - start < 3 else 0.0
            out[n, _SINCE_START] = np.exp(-(n - start) / (0.4 * rate_hz))
    end = count - 1
    for n in range(count - 1, -1, -1):
        if n < count - 1 and shot[n] != shot[n + 1]:
            end = n
        if use_marks:
            out[n, _UNTIL_END] = np.exp(-(end - n) / (0.4 * rate_hz))
    for n in range(count):
        if not known[n]:
            continue
        vx, vy = velocity[n, 0], velocity[n, 1]
        speed = np.sqrt(vx * vx + vy * vy)
        # The direction fades out at rest instead of turning into the direction of noise.
        dx, dy = vx / (speed + 0.3), vy / (speed + 0.3)
        level = np.log1p(speed)
        # Acceleration along and across the motion: a.v / |v| and (v x a) / |v|.
        along = dx * acceleration[n, 0] + dy * acceleration[n, 1]
        across = dx * acceleration[n, 1] - dy * acceleration[n, 0]
        # log1p and arcsinh compress what ranges over decades: linear near 0, logarithmic far out, the sign kept.
        out[n, _VELOCITY_X] = dx * level
        out[n, _VELOCITY_Y] = dy * level
        out[n, _LOG_SPEED] = level - 1.0
        out[n, _ALONG] = np.arcsinh(along / 8.0) * 0.5
        out[n, _ACROSS] = np.arcsinh(across / 8.0) * 0.5
        jerk_size = np.sqrt(jerk[n, 0] ** 2 + jerk[n, 1] ** 2)
        out[n, _JERK] = np.log1p(jerk_size / 100.0) * 0.25
        # Curvature (v x a) / |v|^3, held finite at rest.
        out[n, _CURVATURE] = np.arcsinh(across / (speed * speed + 0.5)) * 0.5
        out[n, _DIRECTION_X] = dx
        out[n, _DIRECTION_Y] = dy
        offset_x = position[n, 0] - 0.5 * (forward[n] + backward[n])
        out[n, _OFFSET_X] = min(max(offset_x, -4.0), 4.0)
        out[n, _OFFSET_Y] = min(max(position[n, 1], -4.0), 4.0)
        out[n, _CONTACT] = contact[n] - 0.5 if use_contact else 0.0
    return out
