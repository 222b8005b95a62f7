"""The scratch of a dry pen as a microphone records it.

A recording is a sum of independent noises whose power changes over time and band, so it is made as one: noise in bands,
each shaped like a real floor, with a gain that adds up the powers of floor, scratch, hand and room 200 times a second.
Thumps at touch-down and steady tones are added to that. C is the number of control steps (samples of the motion), S of
shots, B of bands, N of sound samples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unwritten.simulation.motion import MOTION_RATE_HZ, Motion
from unwritten.simulation.sound_level import contact_energy
from unwritten.simulation.sound_noise import (
    NoiseBank,
    add_ringing,
    add_tones,
    band_gains,
    drift,
    mix_bands,
    noise_bank,
    smooth_contact,
    texture_table,
)
from unwritten.simulation.sound_settings import HARSH, MEASURED, MILD, SEVERITIES, SoundSettings, sound_settings

__all__ = [
    "HARSH",
    "MEASURED",
    "MILD",
    "SEVERITIES",
    "SoundSettings",
    "contact_energy",
    "simulate_sound",
    "sound_settings",
]

_Generator = np.random.Generator
_Array = NDArray[np.float64]

# The scratch over the floor (both as power densities) by frequency, from the contact frames of real clips, and the
# same of a hand's rub and of ticks; made relative to their mean over 2 to 8 kHz or to their largest value when used.
_FRICTION_HZ = (100, 300, 500, 800, 1200, 1600, 2000, 2500, 3200, 4000, 5000, 5800, 7000, 8000, 18_000)
_FRICTION_DB = (-12.0, -9.0, -4.0, -1.0, 2.0, 4.0, 7.5, 9.5, 11.5, 13.0, 15.5, 16.5, 14.0, 13.0, 16.0)
_RUB_HZ, _RUB_DB = (50, 250, 500, 900, 1500, 2500, 5000), (-10.0, -4.0, 0.0, 0.0, -5.0, -14.0, -25.0)
_TICK_HZ, _TICK_DB = (100, 800, 1500, 3000, 8000), (-20.0, -8.0, -4.0, 0.0, 0.0)
_TICK_FREE_HZ, _TICK_FREE_DB = (100, 2000, 3500, 6000, 8000), (-30.0, -12.0, 0.0, 0.0, -8.0)
_HANDLING_HZ, _HANDLING_DB = (30, 150, 1000, 4000, 8000), (2.0, 2.0, 0.0, -3.0, -6.0)

# Modes of table and pen that a touch-down rings: frequency, share of amplitude, time constant.
_MODE_HZ = np.array([190.0, 330.0, 520.0, 700.0, 980.0])
_MODE_SHARE = np.array([0.8, 0.7, 0.45, 0.7, 0.35])
_MODE_DECAY_S = np.array([0.016, 0.014, 0.011, 0.010, 0.008])

_LEAST_PEN_UP = 4  # control steps (20 ms): a shorter interruption is no lift
_USUAL_SPEED_MM_S = 45.0  # median over writers of the 70 % quantile of their speed with the pen down


def simulate_sound(
    motion: Motion, settings: SoundSettings, rng: np.random.Generator, sample_rate_hz: int = 16_000
) -> NDArray[np.float32]:
    """The sound of ``motion`` as a microphone on the table records it.

    Args:
        motion: what the pen truly did; 200 samples a second.
        settings: how hard; see ``SoundSettings`` and ``sound_settings``.
        rng: source of all randomness; the same state gives the same sound.
        sample_rate_hz: rate of the result, at least 4 kHz.

    Returns:
        float32 ``[N]`` with N = duration times rate, rounded; full scale 1.

    Raises:
        ValueError: the rate is below 4 kHz or the motion holds values that are not finite.
    """
    if sample_rate_hz < 4_000:
        raise ValueError(f"the scratch lies above 2 kHz: a rate of at least 4000 Hz is needed, got {sample_rate_hz}")
    if not np.isfinite(motion.xy_mm).all():
        raise ValueError("the motion holds positions that are not finite")
    steps = len(motion)
    edges = np.round(np.arange(steps + 1) * (sample_rate_hz / MOTION_RATE_HZ)).astype(np.int64)
    sound = np.zeros(int(edges[-1]), dtype=np.float32)
    if steps == 0:
        return sound
    bank = noise_bank(sample_rate_hz)
    pen = _pen_at_the_microphone(motion, settings, rng)
    recording = _draw_recording(pen, settings, bank, rng)
    gain_power = _gain_power(pen, recording, settings)
    touch = _touches(pen, settings, rng)
    gains = _gains(pen, recording, touch, gain_power, settings, bank, rng)
    _cut_by_codec(gains, bank, settings, rng)
    starts = rng.integers(0, bank.noise.shape[1], len(bank.centre_hz))
    mix_bands(bank.noise, starts, gains, edges, sound)
    _add_thumps(sound, touch, np.sqrt(gain_power), edges, sample_rate_hz, rng)
    _add_hum(sound, pen.shot, np.sqrt(gain_power), edges, settings, sample_rate_hz, rng)
    _mute_joins(sound, pen.shot, edges, settings, sample_rate_hz, rng)
    limit = np.float32(10 ** (min(0.0, settings.clip_dbfs) / 20))
    np.clip(sound, -limit, limit, out=sound)
    return sound


@dataclass(frozen=True)
class _Pen:
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
class _Recording:
    """What stays the same within a shot: floor and scratch ``[S, B]``, microphone ``[B]``, gain ``[S]``, all in dB."""

    floor_db: _Array
    friction_db: _Array
    microphone_db: _Array
    gain_db: _Array
    agc: float


@dataclass(frozen=True)
class _Touch:
    """Thumps: step at which each begins, and its level in dBFS."""

    step: NDArray[np.int64]
    level_db: _Array


def _pen_at_the_microphone(motion: Motion, settings: SoundSettings, rng: _Generator) -> _Pen:
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

    contact = smooth_contact(down, _per_step(settings.attack_s), _per_step(settings.release_s), shot)
    power = contact * relative ** (2 * exponent) * 10 ** (pressure_db / 10)
    rub = (0.2 + 0.8 * contact) * relative**2
    touches, lifts = _edges_of_contact(down, shot)
    return _Pen(power, rub, position[source], touches, lifts, shot)


def _per_step(time_constant_s: float) -> float:
    """Share of the way that a one-pole filter goes in one control step."""
    return float(1 - np.exp(-1 / (time_constant_s * MOTION_RATE_HZ)))


def _edges_of_contact(down: NDArray[np.bool_], shot: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Steps of touch-down and of lift within shots, interruptions shorter than a true lift left out."""
    same = np.diff(shot) == 0
    touches = np.flatnonzero(~down[:-1] & down[1:] & same) + 1
    lifts = np.flatnonzero(down[:-1] & ~down[1:] & same) + 1
    keep_touch = [step for step in touches if not down[max(0, step - _LEAST_PEN_UP) : step].any()]
    keep_lift = [step for step in lifts if not down[step : step + _LEAST_PEN_UP].any()]
    return np.array(keep_touch, dtype=np.int64), np.array(keep_lift, dtype=np.int64)


def _draw_recording(pen: _Pen, settings: SoundSettings, bank: NoiseBank, rng: _Generator) -> _Recording:
    """Floor, scratch, microphone and gain of each shot."""
    n_shots, n_bands = int(pen.shot[-1]) + 1, len(bank.centre_hz)
    octaves = np.log2(bank.centre_hz / 100) / np.log2(80)  # 0 at 100 Hz, 1 at 8 kHz
    microphone_db = settings.microphone_sd_db * _smooth_bands(rng.standard_normal(n_bands))
    floor_db = settings.floor_eq_sd_db * _smooth_bands(rng.standard_normal(n_bands))
    floor_db += settings.floor_tilt_sd_db * rng.standard_normal() * (octaves - 0.5)
    floor_db = floor_db + settings.shot_eq_sd_db * rng.standard_normal((n_shots, n_bands))

    scratch = (bank.centre_hz > 2_000) & (bank.centre_hz < 8_000)
    shape_db = np.interp(np.log(bank.centre_hz), np.log(_FRICTION_HZ), _FRICTION_DB)
    shape_db = shape_db - shape_db[scratch].mean()
    tilt = np.log2(bank.centre_hz / 2_800) / 3
    friction_db = shape_db + settings.friction_tilt_sd_db * rng.standard_normal() * np.clip(tilt, -1.5, 0.6)
    friction_db = friction_db + settings.friction_over_floor_db
    friction_db = friction_db + settings.friction_over_floor_sd_db * rng.standard_normal()
    friction_db = friction_db + settings.shot_friction_sd_db * rng.standard_normal((n_shots, 1))
    friction_db = friction_db + floor_db[:, scratch].mean()
    gain_db = settings.floor_gain_sd_db * rng.standard_normal() + settings.shot_gain_sd_db * rng.standard_normal(
        n_shots
    )
    return _Recording(
        floor_db + microphone_db, friction_db + microphone_db, microphone_db, gain_db, rng.uniform(*settings.agc)
    )


def _smooth_bands(values: _Array) -> _Array:
    """Neighbouring bands become alike; the spread stays the same."""
    padded = np.concatenate([values[:1], values, values[-1:]])
    return (0.5 * padded[:-2] + padded[1:-1] + 0.5 * padded[2:]) / np.sqrt(1.5)


def _gain_power(pen: _Pen, recording: _Recording, settings: SoundSettings) -> _Array:
    """Power gain ``[C]``: the recording's, steps at joins, and an automatic control that takes loud passages back."""
    gain_db = recording.gain_db[pen.shot]
    if recording.agc > 0:
        level_db = 10 * np.log10(1 + pen.power * 10 ** (settings.friction_over_floor_db / 10))
        slow_db = smooth_level(level_db)
        gain_db = gain_db - recording.agc * slow_db
    return 10 ** (gain_db / 10)


def smooth_level(level_db: _Array) -> _Array:
    """Slow level ``[C]`` over half a second, as an automatic gain control sees it."""
    width = max(1, int(0.5 * MOTION_RATE_HZ))
    total = np.cumsum(np.concatenate([np.zeros(1), level_db]))
    index = np.arange(1, len(level_db) + 1)
    before = np.maximum(0, index - width)
    return (total[index] - total[before]) / width


def _touches(pen: _Pen, settings: SoundSettings, rng: _Generator) -> _Touch:
    """When and how loud the pen touches down: a hand has its own way, each touch its own level."""
    count = len(pen.touches)
    lead = rng.uniform(*settings.touch_lead_s, count) * MOTION_RATE_HZ
    level = settings.touch_dbfs + settings.touch_writer_sd_db * rng.standard_normal()
    level_db = level + settings.touch_sd_db * rng.standard_normal(count)
    return _Touch(np.maximum(0, np.round(pen.touches - lead)).astype(np.int64), np.minimum(level_db, -22.0))


def _gains(
    pen: _Pen,
    recording: _Recording,
    touch: _Touch,
    gain_power: _Array,
    settings: SoundSettings,
    bank: NoiseBank,
    rng: _Generator,
) -> NDArray[np.float32]:
    """Amplitude ``[B, C + 1]`` of each band over the bank's floor."""
    steps, n_bands = len(pen.shot), len(bank.centre_hz)
    log_hz = np.log(bank.centre_hz)

    def shape(hz: tuple[float, ...], db: tuple[float, ...]) -> _Array:
        return np.interp(log_hz, np.log(hz), db) + recording.microphone_db

    tilt_db = 6.0 * rng.standard_normal() * np.log2(bank.centre_hz / 1_000) / 3
    extra_db = np.stack(
        [
            shape(_RUB_HZ, _RUB_DB) + settings.hand_rub_db,
            shape(_TICK_HZ, _TICK_DB),
            shape(_TICK_FREE_HZ, _TICK_FREE_DB),
            shape(_HANDLING_HZ, _HANDLING_DB) + tilt_db,
        ]
    )
    extra_power = np.zeros((4, steps))
    extra_power[0] = pen.rub
    _add_ticks(extra_power[1], touch.step, 13 + 0.6 * (touch.level_db - settings.touch_dbfs), rng)
    early = touch.step[rng.random(len(touch.step)) < 0.5]
    _add_ticks(extra_power[1], np.maximum(0, early - rng.integers(2, 5, len(early))), np.full(len(early), 6.0), rng)
    lifts = pen.lifts[rng.random(len(pen.lifts)) < settings.lift_probability]
    _add_ticks(
        extra_power[1], np.minimum(steps - 1, lifts + rng.integers(0, 12, len(lifts))), np.full(len(lifts), 7.0), rng
    )
    duration_s = steps / MOTION_RATE_HZ
    free = rng.integers(0, steps, rng.poisson(settings.tick_per_s * duration_s))
    _add_ticks(extra_power[2], free, np.full(len(free), 10.0), rng)
    for _ in range(rng.poisson(settings.handling_per_s * duration_s)):
        width = int(rng.uniform(0.05, 0.4) * MOTION_RATE_HZ)
        first = int(rng.integers(0, steps))
        envelope = np.hanning(width + 2)[1:-1][: steps - first] ** 2
        extra_power[3, first : first + len(envelope)] += envelope * 10 ** (rng.uniform(*settings.handling_db) / 10)

    texture = texture_table(n_bands)
    angle, offset = rng.uniform(0, 2 * np.pi), rng.uniform(0, texture.shape[1], 2)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) * (4.0 / settings.texture_mm)
    rumble_db = settings.rumble_sd_db * drift(rng.standard_normal(steps), np.exp(-1 / (MOTION_RATE_HZ * 0.15)))
    rumble_weight = np.clip(1 - np.log10(np.maximum(bank.centre_hz, 100.0) / 100), 0, 1)
    room_keep = 10 ** (-6 / (rng.uniform(*settings.room_s) * MOTION_RATE_HZ))
    return band_gains(
        recording.floor_db,
        pen.shot,
        rumble_db,
        rumble_weight,
        recording.friction_db,
        pen.power,
        np.roll(texture, int(rng.integers(n_bands)), axis=0),
        pen.place_mm @ turn.T + offset,
        np.full(n_bands, settings.texture_db),
        extra_db,
        extra_power,
        float(room_keep),
        float(10 ** (rng.uniform(*settings.room_db) / 10)),
        gain_power,
    )


def _add_ticks(power: _Array, at: NDArray[np.int64], level_db: _Array, rng: _Generator) -> None:
    """Add short bursts to ``power [C]``: one step, 10 ms from foot to foot."""
    np.add.at(power, at, 10 ** ((level_db + 5.0 * rng.standard_normal(len(at))) / 10))


def _cut_by_codec(gains: NDArray[np.float32], bank: NoiseBank, settings: SoundSettings, rng: _Generator) -> None:
    """Spectral holes and a low-pass, as sound codecs leave them."""
    steps = gains.shape[1]
    high = np.flatnonzero(bank.centre_hz > 3_500)
    if len(high) and rng.random() < settings.hole_probability:
        count = rng.poisson(settings.hole_per_s * steps / MOTION_RATE_HZ)
        rows, firsts, widths = rng.choice(high, count), rng.integers(0, steps, count), rng.integers(5, 25, count)
        for row, first, width in zip(rows, firsts, widths, strict=True):
            gains[row, first : first + width] *= np.float32(0.1)
    if rng.random() < settings.lowpass_probability:
        gains[bank.centre_hz > rng.uniform(*settings.lowpass_hz)] *= np.float32(1e-2)


def _add_thumps(
    sound: NDArray[np.float32],
    touch: _Touch,
    gain: _Array,
    edges: NDArray[np.int64],
    sample_rate_hz: int,
    rng: _Generator,
) -> None:
    """Let table and pen ring at each touch-down, below some 1.2 kHz."""
    count, modes = len(touch.step), len(_MODE_HZ)
    if not count:
        return
    clip_hz = _MODE_HZ * np.exp(0.15 * rng.standard_normal(modes))
    frequency = clip_hz * np.exp(0.02 * rng.standard_normal((count, modes)))
    share = _MODE_SHARE * np.exp(0.4 * rng.standard_normal((count, modes)))
    share *= np.sqrt(2) / np.sqrt((share**2).sum(axis=1, keepdims=True))
    amplitude = share * (10 ** (touch.level_db / 20) * gain[touch.step])[:, None]
    decay_s = _MODE_DECAY_S * np.exp(0.2 * rng.standard_normal(modes))
    add_ringing(
        sound,
        np.repeat(edges[touch.step], modes),
        (2 * np.pi * frequency / sample_rate_hz).ravel(),
        np.tile(np.exp(-1 / (decay_s * sample_rate_hz)), count),
        amplitude.ravel(),
        rng.uniform(0, 2 * np.pi, count * modes),
        max(1, round(0.001 * sample_rate_hz)),
    )


def _add_hum(
    sound: NDArray[np.float32],
    shot: NDArray[np.int64],
    gain: _Array,
    edges: NDArray[np.int64],
    settings: SoundSettings,
    sample_rate_hz: int,
    rng: _Generator,
) -> None:
    """The mains and its harmonics, and a machine's steady tones; their level steps at joins."""
    harmonic = np.arange(1, 6)
    mains_hz = harmonic * rng.choice([50.0, 60.0]) * (1 + 0.001 * rng.standard_normal())
    mains_db = settings.hum_dbfs + settings.hum_sd_db * rng.standard_normal() - 4 * harmonic + 4
    mains_db = mains_db + 4 * rng.standard_normal(len(harmonic))
    machine_hz = np.array([rng.uniform(100, 300), rng.uniform(150, 500)])
    machine_db = settings.tone_dbfs + settings.tone_sd_db * rng.standard_normal(2) - np.array([0.0, 12.0])
    step_gain = 10 ** (2.5 * rng.standard_normal(int(shot[-1]) + 1) / 20)
    hz = np.concatenate([mains_hz, machine_hz])
    amplitude = np.sqrt(2) * 10 ** (np.concatenate([mains_db, machine_db]) / 20)
    add_tones(
        sound,
        edges,
        (gain * step_gain[shot]).astype(np.float32),
        2 * np.pi * hz / sample_rate_hz,
        amplitude,
        rng.uniform(0, 2 * np.pi, len(hz)),
    )


def _mute_joins(
    sound: NDArray[np.float32],
    shot: NDArray[np.int64],
    edges: NDArray[np.int64],
    settings: SoundSettings,
    sample_rate_hz: int,
    rng: _Generator,
) -> None:
    """Digital silence around some joins: what a codec pads a part with."""
    for step in np.flatnonzero(np.diff(shot)) + 1:
        if rng.random() < settings.gap_probability:
            half = round(0.5 * rng.uniform(*settings.gap_s) * sample_rate_hz)
            sound[max(0, edges[step] - half) : edges[step] + half] = 0.0
