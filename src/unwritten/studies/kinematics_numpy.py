"""The formulas of ``features.kinematics`` in NumPy, for all tracks of a batch at once: what numba is measured against.

B tracks, T their samples in all, N output frames in all, K samples of a window, W frames of the longest track.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unwritten.features.kinematics import CHANNELS, KinematicsSettings, output_times

Path2D = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_], NDArray[np.int64], NDArray[np.float64]]
"""A track: time_s ``[T]``, xy ``[T, 2]``, visible ``[T]``, shot ``[T]``, contact ``[T]``."""

_MOST = 64  # samples of a window


def kinematics(tracks: Sequence[Path2D], settings: KinematicsSettings) -> list[NDArray[np.float32]]:
    """Channels float32 ``[N, K]`` of every track."""
    clocks = [np.asarray(output_times(track[0], settings.rate_hz), dtype=np.float64) for track in tracks]
    counts = np.array([len(clock) for clock in clocks])
    nearest, shots, first = [], [], 0
    for number, ((time_s, _, _, shot, _), clock_s) in enumerate(zip(tracks, clocks, strict=True)):
        after = np.clip(np.searchsorted(time_s, clock_s), 1, max(1, len(time_s) - 1))
        later = np.abs(time_s[np.minimum(after, len(time_s) - 1)] - clock_s) <= np.abs(time_s[after - 1] - clock_s)
        nearest.append(first + np.minimum(np.where(later, after, after - 1), len(time_s) - 1))
        # No two tracks share a shot, so that no window crosses from one to the next.
        shots.append(shot - shot.min() + number * 1_000_000)
        first += len(time_s)
    time_s, xy, visible = (np.concatenate([track[part] for track in tracks]) for part in (0, 1, 2))
    all_shots, clock_s, near = np.concatenate(shots), np.concatenate(clocks), np.concatenate(nearest)
    fits, known = _local_cubics(time_s, xy, visible, all_shots, clock_s, near, settings)
    contact = np.concatenate(
        [np.interp(clock, track[0], track[4]) for clock, track in zip(clocks, tracks, strict=True)]
    )
    out = _channels(fits, known, all_shots[near], contact, counts, settings)
    return np.split(out, np.cumsum(counts)[:-1])


def _local_cubics(
    time_s: NDArray[np.float64],
    xy: NDArray[np.float64],
    visible: NDArray[np.bool_],
    shot: NDArray[np.int64],
    clock_s: NDArray[np.floating],
    nearest: NDArray[np.int64],
    settings: KinematicsSettings,
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Coefficients ``[N, 4, 2]`` of the cubic around each clock time, lowest first, and known ``[N]``."""
    window_s, samples = settings.window_s, len(time_s)
    steps = np.diff(time_s)
    quickest = steps[steps > 0].min() if (steps > 0).any() else 1.0
    side = int(min(_MOST, np.ceil(4.0 * window_s / quickest) + 1))
    index = nearest[:, None] + np.arange(-side, side + 1)
    inside = (index >= 0) & (index < samples)
    index = np.clip(index, 0, samples - 1)
    inside &= visible[index] & (shot[index] == shot[nearest][:, None])
    distance = np.abs(time_s[index] - clock_s[:, None])
    inside &= distance <= 4.0 * window_s
    order = np.argsort(np.where(inside, distance, np.inf), axis=1, kind="stable")[:, :_MOST]
    index, inside, distance = (np.take_along_axis(values, order, 1) for values in (index, inside, distance))
    rank = np.arange(index.shape[1])
    inside &= (rank < 6) | (distance <= window_s)
    used = inside.sum(axis=1)
    widest = max(1, int(used.max()))
    index, inside, distance = index[:, :widest], inside[:, :widest], distance[:, :widest]
    closest = np.where(used > 0, distance[:, 0], np.inf)
    known = (used > 0) & (closest <= settings.max_gap_s)
    reach = np.maximum(np.where(inside, distance, 0.0).max(axis=1) * 1.001, window_s)
    degree = np.clip(used - 1, 0, 3)
    u = (time_s[index] - clock_s[:, None]) / reach[:, None]
    powers = np.empty((*u.shape, 7))
    powers[..., 0] = np.where(inside, np.square(1.0 - 0.98 * u * u), 0.0)
    for power in range(1, 7):
        np.multiply(powers[..., power - 1], u, out=powers[..., power])
    moments = powers.sum(axis=1)
    exponents = np.arange(4)[:, None] + np.arange(4)
    normal = moments[:, exponents]
    right = np.einsum("nkp,nkd->npd", powers[:, :, :4], xy[index] * inside[:, :, None])
    unused = np.arange(4) > degree[:, None]
    normal = np.where(unused[:, :, None] | unused[:, None, :], np.eye(4), normal)
    right = np.where(unused[:, :, None], 0.0, right)
    normal = np.where(known[:, None, None], normal, np.eye(4))
    fits = np.linalg.solve(normal, right) / reach[:, None, None] ** np.arange(4)[:, None]
    return np.where(known[:, None, None], fits, 0.0), known


def _channels(
    fits: NDArray[np.float64],
    known: NDArray[np.bool_],
    shot: NDArray[np.int64],
    contact: NDArray[np.float64],
    counts: NDArray[np.int64],
    settings: KinematicsSettings,
) -> NDArray[np.float32]:
    rate_hz = settings.rate_hz
    position, velocity, acceleration, jerk = fits[:, 0], fits[:, 1], 2.0 * fits[:, 2], 6.0 * fits[:, 3]
    total = len(position)
    middle = 0.5 * (
        _running(position[:, 0], known, shot, counts, rate_hz, 1)
        + _running(position[:, 0], known, shot, counts, rate_hz, -1)
    )
    fresh = np.diff(shot, prepend=shot[:1] - 1) != 0
    frame = np.arange(total)
    start = np.maximum.accumulate(np.where(fresh, frame, 0))
    last = np.append(fresh[1:], True)
    end = np.minimum.accumulate(np.where(last, frame, total)[::-1])[::-1]
    speed = np.hypot(velocity[:, 0], velocity[:, 1])
    direction = velocity / (speed + 0.3)[:, None]
    level = np.log1p(speed)
    along = (direction * acceleration).sum(axis=1)
    across = direction[:, 0] * acceleration[:, 1] - direction[:, 1] * acceleration[:, 0]
    out = np.zeros((total, len(CHANNELS)), dtype=np.float32)
    out[:, 0:2] = direction * level[:, None]
    out[:, 2] = level - 1.0
    out[:, 3] = np.arcsinh(along / 8.0) * 0.5
    out[:, 4] = np.arcsinh(across / 8.0) * 0.5
    out[:, 5] = np.log1p(np.hypot(jerk[:, 0], jerk[:, 1]) / 100.0) * 0.25
    out[:, 6] = np.arcsinh(across / (speed * speed + 0.5)) * 0.5
    out[:, 7:9] = direction
    out[:, 9] = np.clip(position[:, 0] - middle, -4.0, 4.0)
    out[:, 10] = np.clip(position[:, 1], -4.0, 4.0)
    out[:, 14] = contact - 0.5 if settings.contact else 0.0
    out[~known] = 0.0
    if settings.shot_marks:
        out[:, 11] = frame - start < 3
        out[:, 12] = np.exp(-(frame - start) / (0.4 * rate_hz))
        out[:, 13] = np.exp(-(end - frame) / (0.4 * rate_hz))
    return out


def _running(
    x: NDArray[np.float64],
    known: NDArray[np.bool_],
    shot: NDArray[np.int64],
    counts: NDArray[np.int64],
    rate_hz: float,
    step: int,
) -> NDArray[np.float64]:
    """Running mean ``[N]`` within every shot, forward or backward: a loop over time, all tracks at once."""
    pull = 1.0 - np.exp(-1.0 / (0.6 * rate_hz))
    longest = int(counts.max())
    rows = np.repeat(np.arange(len(counts)), counts)
    columns = np.arange(len(x)) - np.repeat(np.cumsum(counts) - counts, counts)
    if step < 0:
        columns = np.repeat(counts, counts) - 1 - columns
    values, seen, numbers = (
        np.zeros((longest, len(counts))),
        np.zeros((longest, len(counts))),
        np.zeros((longest, len(counts)), dtype=np.int64),
    )
    values[columns, rows], seen[columns, rows], numbers[columns, rows] = x, known * pull, shot
    fresh = np.ones((longest, len(counts)), dtype=np.bool_)
    fresh[1:] = numbers[1:] != numbers[:-1]
    mean = values[0]
    out = np.empty_like(values)
    for n in range(longest):
        mean = np.where(fresh[n], values[n], mean)
        mean = mean + seen[n] * (values[n] - mean)
        out[n] = mean
    return out[columns, rows]
