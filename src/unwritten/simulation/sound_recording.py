"""The recording around the pen: room, floor, microphone, hum, joins, codec.

C is the number of control steps, S of shots, B of bands, N of sound samples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unwritten.simulation.motion import MOTION_RATE_HZ
from unwritten.simulation.sound_noise import NoiseBank, add_tones, drift
from unwritten.simulation.sound_pen import PenSound
from unwritten.simulation.sound_settings import SoundSettings

_Array = NDArray[np.float64]

# The scratch over the floor (both as power densities) by frequency, from the contact frames of real clips.
_FRICTION_HZ = (100, 300, 500, 800, 1200, 1600, 2000, 2500, 3200, 4000, 5000, 5800, 7000, 8000, 18_000)
_FRICTION_DB = (-12.0, -9.0, -5.0, -2.0, 0.5, 2.5, 5.5, 7.0, 9.5, 12.5, 15.5, 16.5, 14.0, 13.0, 16.0)


@dataclass(frozen=True)
class RecordingConditions:
    """What stays the same within a shot: floor and scratch ``[S, B]``, microphone ``[B]``, gain ``[S]``, all in dB."""

    floor_db: _Array
    friction_db: _Array
    microphone_db: _Array
    gain_db: _Array
    agc: float


def draw_recording(
    pen: PenSound, settings: SoundSettings, bank: NoiseBank, rng: np.random.Generator
) -> RecordingConditions:
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
    gain_db = settings.gain_sd_db * rng.standard_normal() + settings.shot_gain_sd_db * rng.standard_normal(n_shots)
    return RecordingConditions(
        floor_db + microphone_db, friction_db + microphone_db, microphone_db, gain_db, rng.uniform(*settings.agc)
    )


def _smooth_bands(values: _Array) -> _Array:
    """Neighbouring bands become alike, as no microphone has steps in its response; the spread stays the same."""
    kernel = np.array([1.0, 3.0, 4.0, 3.0, 1.0])
    return np.convolve(np.pad(values, 2, mode="reflect"), kernel / np.sqrt((kernel**2).sum()), "valid")


def gain_power(pen: PenSound, recording: RecordingConditions, settings: SoundSettings) -> _Array:
    """Power gain ``[C]``: the recording's, steps at joins, and an automatic control that takes loud passages back."""
    gain_db = recording.gain_db[pen.shot]
    if recording.agc > 0:
        level_db = 10 * np.log10(1 + pen.power * 10 ** (settings.friction_over_floor_db / 10))
        slow_db = _slow_level(level_db)
        gain_db = gain_db - recording.agc * slow_db
    return 10 ** (gain_db / 10)


def _slow_level(level_db: _Array) -> _Array:
    """Slow level ``[C]`` over half a second, as an automatic gain control sees it."""
    width = max(1, int(0.5 * MOTION_RATE_HZ))
    total = np.cumsum(np.concatenate([np.zeros(1), level_db]))
    index = np.arange(1, len(level_db) + 1)
    before = np.maximum(0, index - width)
    return (total[index] - total[before]) / width


def cut_by_codec(
    gains: NDArray[np.float32], bank: NoiseBank, settings: SoundSettings, rng: np.random.Generator
) -> None:
    """Spectral holes and a low-pass, as sound codecs leave them."""
    steps = gains.shape[1]
    high = np.flatnonzero(bank.centre_hz > 4_000)
    if len(high) and rng.random() < settings.hole_probability:
        count = rng.poisson(settings.hole_per_s * steps / MOTION_RATE_HZ)
        rows, firsts, widths = rng.choice(high, count), rng.integers(0, steps, count), rng.integers(4, 16, count)
        depths = rng.uniform(0.1, 0.6, count).astype(np.float32)
        for row, first, width, depth in zip(rows, firsts, widths, depths, strict=True):
            gains[row, first : first + width] *= depth
    if rng.random() < settings.lowpass_probability:
        gains[bank.centre_hz > rng.uniform(*settings.lowpass_hz)] *= np.float32(1e-2)


def add_hum(
    sound: NDArray[np.float32],
    shot: NDArray[np.int64],
    gain: _Array,
    edges: NDArray[np.int64],
    settings: SoundSettings,
    sample_rate_hz: int,
    rng: np.random.Generator,
) -> None:
    """The mains and its harmonics, and a machine's steady tones; their level steps at joins."""
    harmonic = np.arange(1, 6)
    mains_hz = harmonic * rng.choice([50.0, 60.0]) * (1 + 0.001 * rng.standard_normal())
    mains_db = settings.hum_dbfs + settings.hum_sd_db * rng.standard_normal() - 4 * harmonic + 4
    mains_db = mains_db + 4 * rng.standard_normal(len(harmonic))
    machine_hz = np.array([rng.uniform(100, 300), rng.uniform(150, 500)])
    machine_db = settings.tone_dbfs + settings.tone_sd_db * rng.standard_normal(2) - np.array([0.0, 12.0])
    wander_db = 2.5 * rng.standard_normal(int(shot[-1]) + 1)[shot]
    wander_db += 2.5 * drift(rng.standard_normal(len(shot)), np.exp(-1 / (MOTION_RATE_HZ * 0.2)))
    hz = np.concatenate([mains_hz, machine_hz])
    amplitude = np.sqrt(2) * 10 ** (np.concatenate([mains_db, machine_db]) / 20)
    add_tones(
        sound,
        edges,
        (gain * 10 ** (wander_db / 20)).astype(np.float32),
        2 * np.pi * hz / sample_rate_hz,
        amplitude,
        rng.uniform(0, 2 * np.pi, len(hz)),
    )


def mute_joins(
    sound: NDArray[np.float32],
    shot: NDArray[np.int64],
    edges: NDArray[np.int64],
    settings: SoundSettings,
    sample_rate_hz: int,
    rng: np.random.Generator,
) -> None:
    """Digital silence around some joins: what a codec pads a part with."""
    for step in np.flatnonzero(np.diff(shot)) + 1:
        if rng.random() < settings.gap_probability:
            half = round(0.5 * rng.uniform(*settings.gap_s) * sample_rate_hz)
            sound[max(0, edges[step] - half) : edges[step] + half] = 0.0
