"""From the pen's motion to the track that the tracker would give of a film of it.

T is the number of video frames, N the number of samples of the motion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from unwritten.simulation.motion import MOTION_RATE_HZ, Motion
from unwritten.types import Track, Truth


@dataclass(frozen=True)
class CameraSettings:
    """Views, frame rates and the errors of the tracker. Lengths in px refer to a frame with a 550 px diagonal.

    Attributes:
        frame_rates_hz: one is drawn per clip.
        letter_px: median height of the writer's letters in the picture.
        letter_px_spread: standard deviation of its logarithm.
        direction_error_rad: standard deviation of the error of the direction of writing.
        shot_rotation_rad: of the further rotation from shot to shot.
        shot_scale_spread: of the logarithm of the further scale from shot to shot: each shot is cropped anew.
        aspect_median: median width against height: the camera looks along the lines at a slant, which narrows letters.
        aspect_spread: of its logarithm.
        shear: standard deviation of the shear.
        perspective: standard deviation of the change of scale per letter height.
        jitter_px: median white error of the tip; its logarithm spreads by 0.5.
        wander_px: median size of the slow error; its logarithm spreads by 0.5.
        wander_s: time constant of the slow error.
        blur_s: standard deviation in seconds of the Gaussian that exposure and smoothing amount to.
        dropout_rate_hz: gaps per second.
        dropout_s: mean length of a gap.
        black_probability: of black frames at a join.
        jump_rate_hz: how often the tip is taken for another part of the pen for a few frames.
        jump_px: size of such an error.
        contact_blind: share of clips whose light does not show whether the pen is down; contact is 0.8 throughout.
        contact_lag_s: standard deviation, per shot, of the time by which contact is seen late.
        contact_shortest_s: greatest length of a lift that goes unseen; it is drawn evenly up to this.
        contact_flip_rate_hz: stretches a second whose contact is seen wrongly.
        contact_flip_s: their mean length.
    """

    frame_rates_hz: tuple[float, ...] = (24.0, 25.0, 30000 / 1001, 30.0, 30.0, 50.0, 60000 / 1001, 60000 / 1001)
    letter_px: float = 35.0
    letter_px_spread: float = 0.35
    direction_error_rad: float = 0.14
    shot_rotation_rad: float = 0.09
    shot_scale_spread: float = 0.18
    aspect_median: float = 0.85
    aspect_spread: float = 0.22
    shear: float = 0.22
    perspective: float = 0.03
    jitter_px: float = 0.12
    wander_px: float = 0.3
    wander_s: float = 0.25
    blur_s: float = 0.012
    dropout_rate_hz: float = 0.05
    dropout_s: float = 0.12
    black_probability: float = 0.3
    jump_rate_hz: float = 0.02
    jump_px: float = 12.0
    contact_blind: float = 0.3
    contact_lag_s: float = 0.05
    contact_shortest_s: float = 0.15
    contact_flip_rate_hz: float = 0.06
    contact_flip_s: float = 0.25


_WIDTH_PX, _HEIGHT_PX = 270.0, 480.0
_WRITING_RAD = float(np.arctan2(-0.94, -0.34))  # the camera looks from across the table, as in the benchmark


class _Scene(NamedTuple):
    """What is filmed, by which camera, and the chance that errors are made of.

    Attributes:
        xy_mm: ``[N, 2]`` the motion, ``MOTION_RATE_HZ`` samples a second.
        shot: ``[N]``.
        time_s: ``[T]`` when each frame is taken.
        to_picture: ``[S, 2, 2]`` for each shot, from the writer's millimetres (y up) to pixels (y down).
        perspective: ``[2]`` relative change of scale per millimetre to the right and upwards.
        normal, uniform: ``[T, 4]`` random numbers.
    """

    xy_mm: NDArray[np.float64]
    shot: NDArray[np.int64]
    time_s: NDArray[np.float64]
    to_picture: NDArray[np.float64]
    perspective: NDArray[np.float64]
    normal: NDArray[np.float64]
    uniform: NDArray[np.float64]


class _Errors(NamedTuple):
    """The tracker's errors in one clip, per frame where ``CameraSettings`` has them per second.

    Attributes:
        jitter_px: white error.
        wander_px, wander_keep: size of the slow error, and its correlation from one frame to the next.
        blur_s: standard deviation of the Gaussian over time.
        gap_probability, gap_frames: of a gap to begin in a frame, and its mean length.
        black_probability: of black frames at a join.
        jump_probability, jump_px: of a jump to begin in a frame, and its largest size.
    """

    jitter_px: float = 0.0
    wander_px: float = 0.0
    wander_keep: float = 0.0
    blur_s: float = 0.0
    gap_probability: float = 0.0
    gap_frames: float = 0.0
    black_probability: float = 0.0
    jump_probability: float = 0.0
    jump_px: float = 0.0


def film(motion: Motion, letter_height_mm: float, settings: CameraSettings, rng: np.random.Generator) -> Track:
    """Film a motion and track its tip, with the errors of both.

    Args:
        motion: ``[N]`` samples, in one or more shots.
        letter_height_mm: the writer's usual letter height, which sets the picture's scale for all shots.
        settings: views and errors.
        rng: every choice follows from it.

    Returns:
        A Track ``[T]`` in a 270 x 480 px frame.
    """
    return _film_and_truth(motion, letter_height_mm, settings, rng, False)[0]


def film_with_truth(
    motion: Motion, letter_height_mm: float, settings: CameraSettings, rng: np.random.Generator
) -> tuple[Track, Truth]:
    """The same track as ``film`` gives, and what a tracker without errors would have seen in its frames.

    The true tip is free of blur, jitter, wander, jumps and gaps; it is unknown in black frames alone.
    """
    track, truth = _film_and_truth(motion, letter_height_mm, settings, rng, True)
    assert truth is not None
    return track, truth


def _film_and_truth(
    motion: Motion, letter_height_mm: float, settings: CameraSettings, rng: np.random.Generator, with_truth: bool
) -> tuple[Track, Truth | None]:
    rate_hz = settings.frame_rates_hz[int(rng.integers(len(settings.frame_rates_hz)))]
    shots = int(motion.shot[-1]) + 1
    px_per_mm = settings.letter_px * np.exp(rng.normal(0.0, settings.letter_px_spread)) / max(letter_height_mm, 0.1)
    direction_rad = _WRITING_RAD + rng.normal(0.0, 0.1)
    error_rad = rng.normal(0.0, settings.direction_error_rad)
    aspect = settings.aspect_median * np.exp(rng.normal(0.0, settings.aspect_spread))
    shear = rng.normal(0.0, settings.shear)
    # [x right, y up] of the writer to [x right, y down] of the picture: squash and shear, then turn.
    squash = np.array([[np.sqrt(aspect), shear], [0.0, 1.0 / np.sqrt(aspect)]]) * px_per_mm
    matrices = np.empty((shots, 2, 2))
    for shot in range(shots):
        angle = direction_rad + error_rad + rng.normal(0.0, settings.shot_rotation_rad)
        turn = np.array([[np.cos(angle), np.sin(angle)], [np.sin(angle), -np.cos(angle)]])
        scale = np.exp(rng.normal(0.0, settings.shot_scale_spread)) if shots > 1 else 1.0
        matrices[shot] = scale * turn @ squash
    perspective = rng.normal(0.0, settings.perspective, 2) / max(letter_height_mm, 0.1)
    jitter = settings.jitter_px * np.exp(rng.normal(0.0, 0.5))
    wander = settings.wander_px * np.exp(rng.normal(0.0, 0.5))
    time_s = np.arange(max(2, int(motion.duration_s * rate_hz))) / rate_hz
    scene = _Scene(
        xy_mm=np.ascontiguousarray(motion.xy_mm, dtype=np.float64),
        shot=np.ascontiguousarray(motion.shot, dtype=np.int64),
        time_s=time_s,
        to_picture=matrices,
        perspective=perspective,
        normal=rng.normal(size=(len(time_s), 4)),
        uniform=rng.random((len(time_s), 4)),
    )
    errors = _Errors(
        jitter_px=float(jitter),
        wander_px=float(wander),
        wander_keep=float(np.exp(-1.0 / (rate_hz * settings.wander_s))),
        blur_s=float(settings.blur_s),
        gap_probability=settings.dropout_rate_hz / rate_hz,
        gap_frames=settings.dropout_s * rate_hz,
        black_probability=float(settings.black_probability),
        jump_probability=settings.jump_rate_hz / rate_hz,
        jump_px=float(settings.jump_px),
    )
    xy, visible, shot = _film(scene, errors)
    centre_px = np.array([_WIDTH_PX / 2, _HEIGHT_PX / 2])
    shaft_rad = direction_rad + np.deg2rad(120.0)
    track = Track(
        time_s=time_s,
        tip_px=xy + centre_px,
        visible=visible,
        confidence=np.where(visible, 0.9, 0.0),
        shot=shot,
        shaft_rad=np.full(len(time_s), shaft_rad),
        contact=_contact(motion, time_s, settings, rng),
        size_px=(_WIDTH_PX, _HEIGHT_PX),
        writing_rad=direction_rad,
    )
    if not with_truth:
        return track, None
    exact, pictured, _ = _film(scene, _Errors(black_probability=errors.black_probability))
    seen = np.flatnonzero(pictured)
    at = np.clip((time_s * MOTION_RATE_HZ + 0.5).astype(np.int64), 0, len(motion) - 1)
    return track, Truth(frame=seen, tip_px=exact[seen] + centre_px, shot=shot, contact=motion.pen_down[at])


BLIND_CONTACT = 0.8
"""What the tracker says of contact when it cannot see it: the usual share of time that a pen is down."""


def _contact(
    motion: Motion, time_s: NDArray[np.float64], settings: CameraSettings, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Probability of contact ``[T]`` as the tracker tells it from the nib's shadow.

    On the public clips it follows the scratch in nine frames of ten where the lamp throws a shadow, misses short lifts,
    and switches within some 50 ms of them.
    """
    draw = rng.random(3)
    lag_s = rng.normal(0.0, settings.contact_lag_s, int(motion.shot[-1]) + 1)
    flips = rng.poisson(settings.contact_flip_rate_hz * motion.duration_s)
    starts_s, lengths_s = rng.random(flips) * motion.duration_s, rng.exponential(settings.contact_flip_s, flips)
    if draw[0] < settings.contact_blind:
        return np.full(len(time_s), BLIND_CONTACT)
    shortest = int(draw[1] * settings.contact_shortest_s * MOTION_RATE_HZ)
    down = _close_gaps(np.ascontiguousarray(motion.pen_down), np.ascontiguousarray(motion.shot), shortest)
    at = np.clip((time_s * MOTION_RATE_HZ).astype(np.int64), 0, len(motion) - 1)
    shot = motion.shot[at]
    late = np.clip(((time_s - lag_s[shot]) * MOTION_RATE_HZ).astype(np.int64), 0, len(motion) - 1)
    seen = np.where(motion.shot[late] == shot, down[late], down[at]).astype(np.float64)
    for start_s, length_s in zip(starts_s, lengths_s, strict=True):
        wrong = (time_s >= start_s) & (time_s < start_s + length_s)
        seen[wrong] = 1.0 - seen[wrong]
    soft = np.convolve(np.pad(seen, 1, mode="edge"), (0.25, 0.5, 0.25), mode="valid")
    return 0.5 + (soft - 0.5) * (0.8 + 0.2 * draw[2])


@numba.njit(cache=True, nogil=True)
def _close_gaps(down, shot, shortest):  # type: ignore[no-untyped-def]
    """Contact with lifts of at most ``shortest`` samples between two strokes of a shot filled in."""
    out = down.copy()
    last = -1
    for n in range(len(down)):
        if not down[n]:
            continue
        if last >= 0 and n - last - 1 <= shortest and shot[last] == shot[n]:
            out[last:n] = True
        last = n
    return out


@numba.njit(cache=True, nogil=True)
def _film(scene, errors):  # type: ignore[no-untyped-def]
    """Tip ``[T, 2]`` in pixels from the picture's middle, visible ``[T]`` and shot ``[T]``."""
    xy, shot, normal, uniform = scene.xy_mm, scene.shot, scene.normal, scene.uniform
    count, n, shots = len(scene.time_s), len(xy), len(scene.to_picture)
    out = np.zeros((count, 2))
    visible = np.ones(count, dtype=np.bool_)
    number = np.zeros(count, dtype=np.int64)
    centre = np.zeros((shots, 2))  # sums; each shot is cropped about the middle of its path
    weight = np.zeros(shots)
    for i in range(n):
        centre[shot[i], 0] += xy[i, 0]
        centre[shot[i], 1] += xy[i, 1]
        weight[shot[i]] += 1.0
    wander_x, wander_y = 0.0, 0.0
    gap, jump = 0, 0  # frames of each that are still to come
    jump_x, jump_y = 0.0, 0.0
    keep = errors.wander_keep
    fresh = np.sqrt(1.0 - keep * keep)
    for f in range(count):
        i = min(n - 1, int(scene.time_s[f] * MOTION_RATE_HZ + 0.5))
        s = shot[i]
        number[f] = s
        x, y = _blurred(xy, shot, i, errors.blur_s)
        x -= centre[s, 0] / weight[s]
        y -= centre[s, 1] / weight[s]
        # Perspective, z0 / z = 1 + p . x to first order: what lies nearer to the camera is larger. The bounds keep far
        # points of a strongly tilted page from being folded over.
        zoom = 1.0 + scene.perspective[0] * x + scene.perspective[1] * y
        zoom = min(max(zoom, 0.6), 1.6)
        x, y = x * zoom, y * zoom
        if f == 0 or number[f - 1] != s:
            # A tracker that is started anew has a new slow error, and no gap or jump that goes on.
            wander_x, wander_y = normal[f, 2], normal[f, 3]
            jump, gap = 0, 0
            if f > 0 and uniform[f, 3] < errors.black_probability:
                # Black frames belong to the shot before the join.
                for b in range(1, 1 + int(1 + 4 * uniform[f, 2])):
                    if f - b >= 0:
                        visible[f - b] = False
        else:
            # First-order autoregression of unit variance: w' = k w + sqrt(1 - k^2) e.
            wander_x = keep * wander_x + fresh * normal[f, 2]
            wander_y = keep * wander_y + fresh * normal[f, 3]
        if gap > 0:
            gap -= 1
            visible[f] = False
        elif uniform[f, 0] < errors.gap_probability:
            # Lengths of gaps are exponential: -mean ln u, the inverse of their distribution.
            gap = int(-errors.gap_frames * np.log(max(uniform[f, 2], 1e-9)))
            visible[f] = False
        if jump > 0:
            jump -= 1
        elif uniform[f, 1] < errors.jump_probability:
            jump = 1 + int(4 * uniform[f, 2])
            jump_x = errors.jump_px * (uniform[f, 3] - 0.5) * 2.0
            jump_y = errors.jump_px * (uniform[f, 2] - 0.5) * 2.0
        m = scene.to_picture[s]
        out[f, 0] = m[0, 0] * x + m[0, 1] * y + errors.jitter_px * normal[f, 0] + errors.wander_px * wander_x
        out[f, 1] = m[1, 0] * x + m[1, 1] * y + errors.jitter_px * normal[f, 1] + errors.wander_px * wander_y
        if jump > 0:
            out[f, 0] += jump_x
            out[f, 1] += jump_y
    return out, visible, number


@numba.njit(cache=True, nogil=True)
def _blurred(xy, shot, i, blur_s):  # type: ignore[no-untyped-def]
    """Gaussian mean over time of the path around sample i, cut off at two standard deviations and at cuts."""
    reach = max(1, int(2.0 * blur_s * MOTION_RATE_HZ))
    x, y, total = 0.0, 0.0, 0.0
    for k in range(-reach, reach + 1):
        j = i + k
        if j < 0 or j >= len(xy) or shot[j] != shot[i]:
            continue
        w = np.exp(-0.5 * (k / (MOTION_RATE_HZ * blur_s)) ** 2) if blur_s > 0 else (1.0 if k == 0 else 0.0)
        x += w * xy[j, 0]
        y += w * xy[j, 1]
        total += w
    return x / total, y / total
