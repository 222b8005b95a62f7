"""The scratch of a dry pen as a microphone records it.

A recording is a sum of independent noises whose power changes over time and band, so it is made as one: noise in bands,
each shaped like a real floor, with a gain that adds up the powers of floor, scratch, hand and room 200 times a second.
Thumps at touch-down and steady tones are added to that. C is the number of control steps (samples of the motion), S of
shots, B of bands, N of sound samples.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unwritten.simulation.motion import MOTION_RATE_HZ, Motion
from unwritten.simulation.sound_noise import (
    NoiseBank,
    Scratch,
    Surroundings,
    add_ringing,
    band_gains,
    drift,
    flicker_table,
    mix_bands,
    noise_bank,
    texture_table,
)
from unwritten.simulation.sound_pen import PenSound, Touches, draw_touches, pen_at_the_microphone
from unwritten.simulation.sound_recording import (
    RecordingConditions,
    add_hum,
    cut_by_codec,
    draw_recording,
    gain_power,
    mute_joins,
)
from unwritten.simulation.sound_settings import SoundSettings

_Array = NDArray[np.float64]

# Spectra over the floor in dB, relative to their largest value.
_RUB_HZ, _RUB_DB = (50, 250, 500, 900, 1500, 2500, 5000), (-10.0, -4.0, 0.0, 0.0, -5.0, -14.0, -25.0)
_TICK_HZ, _TICK_DB = (100, 800, 1500, 3000, 8000), (-20.0, -8.0, -4.0, 0.0, 0.0)
_TICK_FREE_HZ, _TICK_FREE_DB = (100, 2000, 3500, 6000, 8000), (-30.0, -12.0, 0.0, 0.0, -8.0)
_HANDLING_HZ, _HANDLING_DB = (30, 150, 1000, 4000, 8000), (2.0, 2.0, 0.0, -3.0, -6.0)

_FLOOR_BELOW_THUMP_DBFS = -65.0  # level of the bank's floor between 500 and 1500 Hz
# Modes of table and pen that a touch-down rings: frequency, share of amplitude, time constant.
_MODE_HZ = np.array([190.0, 330.0, 450.0, 580.0, 690.0, 820.0, 1000.0, 1200.0])
_MODE_SHARE = np.array([0.8, 0.7, 0.3, 0.4, 0.5, 0.45, 0.35, 0.15])
_MODE_DECAY_S = np.array([0.013, 0.012, 0.010, 0.009, 0.008, 0.008, 0.007, 0.005])


def simulate_sound(
    motion: Motion, settings: SoundSettings, rng: np.random.Generator, sample_rate_hz: int = 16_000
) -> NDArray[np.float32]:
    """The sound of ``motion`` as a microphone on the table records it.

    Args:
        motion: what the pen truly did; 200 samples a second.
        settings: how hard; see ``SoundSettings`` and ``sound_settings``.
        rng: source of all randomness; the same state gives the same sound.
        sample_rate_hz: rate of the result, at least 8 kHz.

    Returns:
        float32 ``[N]`` with N = duration times rate, rounded; full scale 1.

    Raises:
        ValueError: the rate is below 8 kHz or the motion holds values that are not finite.
    """
    if sample_rate_hz < 8_000:
        raise ValueError(f"the scratch lies above 2 kHz: a rate of at least 8000 Hz is needed, got {sample_rate_hz}")
    if not np.isfinite(motion.xy_mm).all():
        raise ValueError("the motion holds positions that are not finite")
    steps = len(motion)
    edges = np.round(np.arange(steps + 1) * (sample_rate_hz / MOTION_RATE_HZ)).astype(np.int64)
    sound = np.zeros(int(edges[-1]), dtype=np.float32)
    if steps == 0:
        return sound
    bank = noise_bank(sample_rate_hz)
    pen = pen_at_the_microphone(motion, settings, rng)
    recording = draw_recording(pen, settings, bank, rng)
    power_gain = gain_power(pen, recording, settings)
    touch = draw_touches(pen, settings, rng)
    gains = _gains(pen, recording, touch, power_gain, settings, bank, rng)
    cut_by_codec(gains, bank, settings, rng)
    starts = rng.integers(0, bank.noise.shape[1], len(bank.centre_hz))
    mix_bands(bank.noise, starts, gains, edges, sound)
    _add_thumps(sound, touch, np.sqrt(power_gain), edges, sample_rate_hz, rng)
    add_hum(sound, pen.shot, np.sqrt(power_gain), edges, settings, sample_rate_hz, rng)
    mute_joins(sound, pen.shot, edges, settings, sample_rate_hz, rng)
    limit = np.float32(10 ** (min(0.0, settings.clip_dbfs) / 20))
    np.clip(sound, -limit, limit, out=sound)
    return sound


def _gains(
    pen: PenSound,
    recording: RecordingConditions,
    touch: Touches,
    power_gain: _Array,
    settings: SoundSettings,
    bank: NoiseBank,
    rng: np.random.Generator,
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
            shape(_RUB_HZ, _RUB_DB),
        ]
    )
    extra_power = np.zeros((5, steps))
    extra_power[0] = pen.rub
    for delay in range(6):  # the table's many modes are a noise that falls by 5 dB in 5 ms
        level_db = touch.level_db - _FLOOR_BELOW_THUMP_DBFS - 6 - 5 * delay
        np.add.at(extra_power[4], np.minimum(touch.step + delay, steps - 1), 10 ** (level_db / 10))
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

    texture, flicker = texture_table(n_bands), flicker_table(n_bands)
    angle, offset = rng.uniform(0, 2 * np.pi), rng.uniform(0, texture.shape[1], 2)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) * (4.0 / settings.texture_mm)
    rumble_db = settings.rumble_sd_db * drift(rng.standard_normal(steps), np.exp(-1 / (MOTION_RATE_HZ * 0.15)))
    # Rumble fades out over the decade from 100 Hz to 1 kHz.
    rumble_weight = np.clip(1 - np.log10(np.maximum(bank.centre_hz, 100.0) / 100), 0, 1)
    # The reverberation time is that of a fall by 60 dB in power, 10^-6.
    room_keep = 10 ** (-6 / (rng.uniform(*settings.room_s) * MOTION_RATE_HZ))
    scratch = Scratch(
        level_db=recording.friction_db,
        power=pen.power,
        texture=np.roll(texture, int(rng.integers(n_bands)), axis=0),
        place=pen.place_mm @ turn.T + offset,
        texture_db=float(settings.texture_db),
        flicker=flicker,
        flicker_start=rng.integers(0, flicker.shape[1], n_bands),
        flicker_db=float(settings.flicker_sd_db),
    )
    around = Surroundings(
        floor_db=recording.floor_db,
        rumble_db=rumble_db,
        rumble_weight=rumble_weight,
        extra_db=extra_db,
        extra_power=extra_power,
        room_keep=float(room_keep),
        room_power=float(10 ** (rng.uniform(*settings.room_db) / 10)),
        gain_power=power_gain,
    )
    return band_gains(pen.shot, scratch, around)


def _add_ticks(power: _Array, at: NDArray[np.int64], level_db: _Array, rng: np.random.Generator) -> None:
    """Add short bursts to ``power [C]``: one step, 10 ms from foot to foot."""
    np.add.at(power, at, 10 ** ((level_db + 5.0 * rng.standard_normal(len(at))) / 10))


def _add_thumps(
    sound: NDArray[np.float32],
    touch: Touches,
    gain: _Array,
    edges: NDArray[np.int64],
    sample_rate_hz: int,
    rng: np.random.Generator,
) -> None:
    """Let table and pen ring at each touch-down, below some 1.2 kHz."""
    count, modes = len(touch.step), len(_MODE_HZ)
    if not count:
        return
    clip_hz = _MODE_HZ * np.exp(0.1 * rng.standard_normal(modes))
    frequency = clip_hz * np.exp(0.05 * rng.standard_normal((count, modes)))
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
