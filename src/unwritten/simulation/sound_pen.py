"""What the pen does as the microphone hears it: how loud it scratches, where, and when it touches and lifts.

C is the number of control steps (samples of the motion), 200 a second.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unwritten.simulation.motion import MOTION_RATE_HZ, Motion
from unwritten.simulation.sound_noise import drift, smooth_contact
from unwritten.simulation.sound_settings import SoundSettings

_Array = NDArray[np.float64]
_LEAST_PEN_UP = 4  # control steps (20 ms): a shorter interruption is no lift
_USUAL_SPEED_MM_S = 40.0  # median over 116 UNIPEN writers of the 70 % quantile of their speed with the pen down


@dataclass(frozen=True)
class PenSound:
    """The motion as its sound arrives: shifted against the picture, shot by shot.

    Attributes:
        power: ``[C]`` power of the scratch, 1 at the writer's usual speed.
        rub: ``[C]`` power of the hand's rub on the paper.
        place_mm: ``[C, 2]`` position of the tip.
        touches: ``[K]`` steps at which the tip touches down.
        lifts: ``[L]`` steps at which it lifts.
        shot: ``[C]``, from 0 without holes.
    """

    power: _Array
    rub: _Array
    place_mm: _Array
    touches: NDArray[np.int64]
    lifts: NDArray[np.int64]
    shot: NDArray[np.int64]


@dataclass(frozen=True)
class Touches:
    """Thumps: step at which each begins, and its level in dBFS."""

    step: NDArray[np.int64]
    level_db: _Array


def pen_at_the_microphone(motion: Motion, settings: SoundSettings, rng: np.random.Generator) -> PenSound:
    """Turn a motion into what drives the sound: speed to power, contact, and each shot's lag behind its picture."""
    steps = len(motion)
    position = np.asarray(motion.xy_mm, dtype=np.float64)
    pen_down = np.asarray(motion.pen_down, dtype=bool)
    firsts = np.flatnonzero(np.diff(motion.shot, prepend=motion.shot[0] - 1))
    shot = np.repeat(np.arange(len(firsts)), np.diff(firsts, append=steps))

    velocity = np.diff(position, axis=0, prepend=position[:1]) * MOTION_RATE_HZ
    velocity[firsts] = velocity[np.minimum(firsts + 1, steps - 1)]
    if steps > 5:  # five samples: a tablet's quantisation is no speed
        kernel = np.array([1.0, 2.0, 3.0, 2.0, 1.0]) / 9
        velocity = np.stack([np.convolve(velocity[:, axis], kernel, "same") for axis in (0, 1)], axis=1)
    speed = np.hypot(velocity[:, 0], velocity[:, 1])
    writing = speed[pen_down & (speed > 2.0)]
    usual = float(np.quantile(writing, 0.7)) if len(writing) else _USUAL_SPEED_MM_S
    weight = settings.absolute_speed_weight
    reference = max(1.0, usual ** (1 - weight) * _USUAL_SPEED_MM_S**weight)

    exponent = rng.uniform(*settings.speed_exponent)
    relative = np.minimum(speed / reference, 3.0)
    angle = np.arctan2(velocity[:, 1], velocity[:, 0])
    pressure_db = settings.pressure_sd_db * drift(rng.standard_normal(steps), np.exp(-1 / (MOTION_RATE_HZ * 0.08)))
    pressure_db += settings.grain_sd_db * drift(rng.standard_normal(steps), np.exp(-1 / (MOTION_RATE_HZ * 0.015)))
    pressure_db += 0.5 * settings.direction_db * np.cos(angle - rng.uniform(0, 2 * np.pi))

    # The sound of each shot comes later than its picture by a lag of its own: all steps below are in the sound's time.
    source = np.arange(steps)
    inside = np.ones(steps, dtype=bool)
    for first, end in zip(firsts, np.append(firsts[1:], steps), strict=True):
        contact_steps = np.flatnonzero(pen_down[first:end])
        lag = round(rng.uniform(*settings.lag_s) * MOTION_RATE_HZ)
        if len(contact_steps):
            lag = max(-int(contact_steps[0]), min(lag, int(end - first - 1 - contact_steps[-1])))
        shifted = np.arange(first, end) - lag
        inside[first:end] = (shifted >= first) & (shifted < end)
        source[first:end] = np.clip(shifted, first, end - 1)
    down = pen_down[source] & inside
    relative = np.where(inside, relative[source], 0.0)

    # Amplitude ~ speed^a, so power ~ speed^(2 a); pressure moves the level in dB.
    contact = smooth_contact(down, _per_step(settings.attack_s), _per_step(settings.release_s), shot)
    power = contact * relative ** (2 * exponent) * 10 ** (pressure_db / 10)
    rub = (0.2 + 0.8 * contact) * relative**2
    touches, lifts = _edges_of_contact(down, shot)
    return PenSound(power, rub, position[source], touches, lifts, shot)


def _per_step(time_constant_s: float) -> float:
    """Share of the way that a one-pole filter goes in one control step: 1 - exp(-dt / tau)."""
    return float(1 - np.exp(-1 / (time_constant_s * MOTION_RATE_HZ)))


def _edges_of_contact(down: NDArray[np.bool_], shot: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Steps of touch-down and of lift within shots, interruptions shorter than a true lift left out."""
    same = np.diff(shot) == 0
    touches = np.flatnonzero(~down[:-1] & down[1:] & same) + 1
    lifts = np.flatnonzero(down[:-1] & ~down[1:] & same) + 1
    keep_touch = [step for step in touches if not down[max(0, step - _LEAST_PEN_UP) : step].any()]
    keep_lift = [step for step in lifts if not down[step : step + _LEAST_PEN_UP].any()]
    return np.array(keep_touch, dtype=np.int64), np.array(keep_lift, dtype=np.int64)


def draw_touches(pen: PenSound, settings: SoundSettings, rng: np.random.Generator) -> Touches:
    """When and how loud the pen touches down: a hand has its own way, each touch its own level."""
    count = len(pen.touches)
    lead = rng.uniform(*settings.touch_lead_s, count) * MOTION_RATE_HZ
    level = settings.touch_dbfs + settings.touch_writer_sd_db * rng.standard_normal()
    level_db = level + settings.touch_sd_db * rng.standard_normal(count)
    return Touches(np.maximum(0, np.round(pen.touches - lead)).astype(np.int64), np.minimum(level_db, -22.0))
