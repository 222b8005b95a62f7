"""Noise in bands: a bank made once, and the kernels that mix it into sound.

Every band of the bank is already shaped like the floor of a real recording, so that a gain of 1 in all bands is that
floor, and the scratch is a gain over it. B is the number of bands, C of control steps, N of samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from unwritten.types import FloatArray

_BANK_SAMPLES = 1 << 17  # 8 s at 16 kHz; it wraps around without a seam, each band from a start of its own
_BANK_SEED = 20_260_814

# Edges of the bands in Hz: third octaves below 2 kHz, above it 500 Hz, the width of the scratch's resonances.
_EDGES_HZ = (
    *(20, 60, 110, 170, 250, 350, 500, 700, 1000, 1300, 1600, 2000, 2500, 3000, 3500, 4000, 4500, 5000, 5500),
    *(6000, 6500, 7000, 7500, 8000, 9000, 10_000, 11_000, 12_500, 14_000, 16_000, 18_000, 20_000, 24_000),
)

# Power density of the floor of real clips without their steady tones, dB re full scale squared per Hz.
_FLOOR = (  # (Hz, dB)
    *((10, -72), (30, -70), (60, -71), (100, -77), (150, -78), (200, -78), (240, -82), (280, -84), (330, -90)),
    *((400, -95), (500, -95.5), (630, -97.5), (800, -99), (1000, -103), (1250, -106), (1600, -108.5), (2000, -109)),
    *((2500, -111), (3150, -112.3), (4000, -112.7), (5000, -113.8), (6300, -115), (8000, -117), (18_000, -118)),
    *((20_000, -140), (24_000, -160)),
)


@dataclass(frozen=True)
class NoiseBank:
    """Band noise that sums to the floor of a real recording.

    Attributes:
        noise: float32 ``[B, 2^17]``, periodic.
        centre_hz: ``[B]`` middle of each band.
    """

    noise: NDArray[np.float32]
    centre_hz: NDArray[np.float64]


@lru_cache(maxsize=4)
def noise_bank(sample_rate_hz: int) -> NoiseBank:
    """The bank for a sampling rate, the same in every process; made on first use (about half a second)."""
    nyquist = sample_rate_hz / 2
    edges = np.array([edge for edge in _EDGES_HZ if edge < nyquist] + [nyquist], dtype=np.float64)
    frequency = np.fft.rfftfreq(_BANK_SAMPLES, 1 / sample_rate_hz)
    known_hz, known_db = np.array(_FLOOR, dtype=np.float64).T
    density_db = np.interp(np.log(np.maximum(frequency, 1.0)), np.log(known_hz), known_db)
    # A real signal of variance s² has density 2 s² / rate; the spectrum of unit white noise has power N per bin.
    amplitude = np.sqrt(10 ** (density_db / 10) * sample_rate_hz / 2)
    random = np.random.default_rng(_BANK_SEED)
    noise = np.empty((len(edges) - 1, _BANK_SAMPLES), dtype=np.float32)
    for band in range(len(edges) - 1):
        white = np.fft.rfft(random.standard_normal(_BANK_SAMPLES))
        weight = _crossfade(frequency, edges, band)
        noise[band] = np.fft.irfft(white * amplitude * np.sqrt(weight), _BANK_SAMPLES)
    return NoiseBank(noise, (edges[1:] + edges[:-1]) / 2)


def _crossfade(frequency: FloatArray, edges: FloatArray, band: int) -> FloatArray:
    """Power weight of a band: the weights of all bands sum to 1, with soft flanks of a fifth of the narrower width."""

    def rise(index: int) -> FloatArray:
        if index == 0:
            return np.ones_like(frequency)
        if index == len(edges) - 1:
            return np.zeros_like(frequency)
        half = 0.2 * min(edges[index] - edges[index - 1], edges[index + 1] - edges[index])
        position = np.clip((frequency - edges[index]) / half, -1, 1)
        return 0.5 + 0.5 * np.sin(position * np.pi / 2)

    return rise(band) - rise(band + 1)


@lru_cache(maxsize=8)
def texture_table(n_bands: int, cells: int = 64) -> NDArray[np.float32]:
    """Smooth random field ``[B, cells, cells]``, periodic over the paper, unit variance; neighbouring bands are alike.

    The correlation length is 4 cells over the paper and one band, with a part that is broader. In a real recording the
    way from the tip over the table to the microphone changes as the tip moves: the same place sounds the same.
    """
    random = np.random.default_rng(_BANK_SEED + 1)
    spectrum = np.fft.fftn(random.standard_normal((n_bands, cells, cells)))
    band = np.fft.fftfreq(n_bands)[:, None, None]
    along = np.fft.fftfreq(cells)
    squared = along[None, :, None] ** 2 + along[None, None, :] ** 2
    place = np.exp(-2 * np.pi**2 * 2.5**2 * squared)
    fine, broad = (np.exp(-2 * (np.pi * width * band) ** 2) * np.sqrt(width) for width in (0.6, 2.5))
    smooth = place * np.sqrt(0.7 * fine**2 + 0.3 * broad**2)
    field = np.fft.ifftn(spectrum * smooth).real
    return ((field - field.mean()) / field.std()).astype(np.float32)


@lru_cache(maxsize=8)
def flicker_table(n_bands: int, steps: int = 8192) -> NDArray[np.float32]:
    """Fast independent changes of each band ``[B, steps]``, periodic, unit variance, correlated over 10 ms."""
    random = np.random.default_rng(_BANK_SEED + 2)
    spectrum = np.fft.rfft(random.standard_normal((n_bands, steps)), axis=1)
    spectrum *= np.exp(-2 * (np.pi * 1.5 * np.fft.rfftfreq(steps)) ** 2)  # a Gaussian of 1.5 steps of 5 ms
    flicker = np.fft.irfft(spectrum, steps, axis=1)
    return (flicker / flicker.std()).astype(np.float32)


@njit(cache=True, fastmath=True)
def mix_bands(
    noise: NDArray[np.float32],
    starts: NDArray[np.int64],
    gain: NDArray[np.float32],
    edges: NDArray[np.int64],
    sound: NDArray[np.float32],
) -> None:
    """Add each band's noise to ``sound [N]``; ``gain [B, C + 1]`` runs straight between samples ``edges [C + 1]``."""
    period = noise.shape[1]
    for step in range(len(edges) - 1):  # the stretch of sound stays in the cache while all bands pass over it
        first, end = edges[step], edges[step + 1]
        count = end - first
        if count <= 0:
            continue
        stretch = sound[first:end]
        for band in range(noise.shape[0]):
            level = gain[band, step]
            slope = (gain[band, step + 1] - level) / np.float32(count)
            at = (starts[band] + first) % period
            part = min(count, period - at)
            _add_ramped(stretch[:part], noise[band, at : at + part], level, slope)
            if part < count:
                _add_ramped(stretch[part:], noise[band, : count - part], level + slope * np.float32(part), slope)


@njit(cache=True, fastmath=True, inline="always")
def _add_ramped(target: NDArray[np.float32], source: NDArray[np.float32], level: float, slope: float) -> None:
    for i in range(len(target)):
        target[i] += (level + slope * np.float32(i)) * source[i]


@njit(cache=True, fastmath=True)
def add_tones(
    sound: NDArray[np.float32],
    edges: NDArray[np.int64],
    gain: NDArray[np.float32],
    step_rad: NDArray[np.float64],
    amplitude: NDArray[np.float64],
    phase_rad: NDArray[np.float64],
) -> None:
    """Add steady tones to ``sound [N]``; their common ``gain [C]`` holds between the samples ``edges [C + 1]``."""
    for tone in range(len(step_rad)):
        longest = np.max(edges[1:] - edges[:-1])
        cosine, sine = np.empty(longest, dtype=np.float32), np.empty(longest, dtype=np.float32)
        for i in range(longest):
            cosine[i], sine[i] = np.cos(step_rad[tone] * i), np.sin(step_rad[tone] * i)
        for step in range(len(edges) - 1):
            first, end = edges[step], edges[step + 1]
            phase = phase_rad[tone] + step_rad[tone] * first
            level = amplitude[tone] * gain[step]
            real, imaginary = np.float32(level * np.cos(phase)), np.float32(level * np.sin(phase))
            stretch = sound[first:end]
            # cos(a + b) = cos a cos b - sin a sin b: two multiplications a sample instead of a cosine.
            for i in range(len(stretch)):
                stretch[i] += real * cosine[i] - imaginary * sine[i]


@njit(cache=True, fastmath=True)
def add_ringing(
    sound: NDArray[np.float32],
    start: NDArray[np.int64],
    step_rad: NDArray[np.float64],
    decay: NDArray[np.float64],
    amplitude: NDArray[np.float64],
    phase_rad: NDArray[np.float64],
    rise_samples: int,
) -> None:
    """Add damped tones to ``sound [N]``, each from its own sample on, faded in over ``rise_samples``, until -60 dB."""
    for tone in range(len(start)):
        turn_re, turn_im = decay[tone] * np.cos(step_rad[tone]), decay[tone] * np.sin(step_rad[tone])
        real, imaginary = amplitude[tone] * np.cos(phase_rad[tone]), amplitude[tone] * np.sin(phase_rad[tone])
        length = int(np.log(1e-3) / np.log(decay[tone]))
        for i in range(length):
            at = start[tone] + i
            if at >= len(sound):
                break
            if at >= 0:
                rise = min(1.0, (i + 1) / rise_samples)
                sound[at] += np.float32(real * rise)
            # One step of a damped oscillation: times decay * exp(i step_rad), its real part being heard.
            real, imaginary = real * turn_re - imaginary * turn_im, real * turn_im + imaginary * turn_re


@njit(cache=True, fastmath=True)
def smooth_contact(
    pen_down: NDArray[np.bool_], attack: float, release: float, shot: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Contact ``[C]`` in [0, 1] that rises and falls with one-pole smoothing; it starts anew in each shot."""
    contact = np.empty(len(pen_down))
    state = 0.0
    for i in range(len(pen_down)):
        if i == 0 or shot[i] != shot[i - 1]:
            state = 1.0 if pen_down[i] else 0.0
        target = 1.0 if pen_down[i] else 0.0
        state += (target - state) * (attack if pen_down[i] else release)
        contact[i] = state
    return contact


@njit(cache=True, fastmath=True)
def drift(innovations: NDArray[np.float64], keep: float) -> NDArray[np.float64]:
    """Ornstein-Uhlenbeck process ``[C]`` of unit variance from normal numbers; ``keep``: correlation of two steps."""
    state = innovations[0]
    spread = np.sqrt(1.0 - keep * keep)
    out = np.empty(len(innovations))
    for i in range(len(innovations)):
        out[i] = state
        state = keep * state + spread * innovations[i]
    return out


class Scratch(NamedTuple):
    """Friction of the nib, by shot, band and step.

    Attributes:
        level_db: ``[S, B]`` over the bank's floor at power 1.
        power: ``[C]``, 1 at the usual speed.
        texture: ``[B, cells, cells]`` periodic field over the paper.
        place: ``[C, 2]`` where in that field the tip is, in cells.
        texture_db: spread of the level by that field.
        flicker: ``[B, steps]`` periodic fast changes.
        flicker_start: ``[B]`` where each band starts in them.
        flicker_db: spread of the level by them.
    """

    level_db: NDArray[np.float64]
    power: NDArray[np.float64]
    texture: NDArray[np.float32]
    place: NDArray[np.float64]
    texture_db: float
    flicker: NDArray[np.float32]
    flicker_start: NDArray[np.int64]
    flicker_db: float


class Surroundings(NamedTuple):
    """All that sounds beside the scratch, and the room that answers both.

    Attributes:
        floor_db: ``[S, B]`` floor of each shot over the bank's.
        rumble_db, rumble_weight: ``[C]`` slow change of the floor and ``[B]`` each band's share of it.
        extra_db, extra_power: ``[E, B]`` spectra of further noises and ``[E, C]`` their power.
        room_keep: what of the reverberation is left after one step.
        room_power: power that goes into it.
        gain_power: ``[C]`` gain of the whole recording.
    """

    floor_db: NDArray[np.float64]
    rumble_db: NDArray[np.float64]
    rumble_weight: NDArray[np.float64]
    extra_db: NDArray[np.float64]
    extra_power: NDArray[np.float64]
    room_keep: float
    room_power: float
    gain_power: NDArray[np.float64]


@njit(cache=True, fastmath=True)
def band_gains(shot: NDArray[np.int64], scratch: Scratch, around: Surroundings) -> NDArray[np.float32]:
    """Amplitude ``[B, C + 1]`` over the bank's floor, ``shot [C]`` being the shot of each step.

    The noises are independent, so their powers add: floor, scratch, further noises and the room's answer.
    """
    floor_db, texture, flicker = around.floor_db, scratch.texture, scratch.flicker
    n_bands, steps = floor_db.shape[1], len(shot)
    n_shots, n_extra, cells = floor_db.shape[0], around.extra_db.shape[0], texture.shape[1]
    to_log = np.log(10.0) / 10.0  # 10 ** (dB / 10) = exp(to_log * dB)
    gains = np.empty((n_bands, steps + 1), dtype=np.float32)
    for band in range(n_bands):
        floor = np.exp(to_log * floor_db[:, band])
        friction = np.empty(n_shots)
        for s in range(n_shots):
            friction[s] = np.exp(to_log * scratch.level_db[s, band])
        extra = np.exp(to_log * around.extra_db[:, band])
        weight = around.rumble_weight[band]
        tail = 0.0
        for i in range(steps):
            s = shot[i]
            power = floor[s]
            if weight > 0:
                power *= np.exp(to_log * weight * around.rumble_db[i])
            dry = 0.0
            if scratch.power[i] > 1e-6:
                # The way from this place on the paper to the microphone: bilinear between the field's cells.
                x, y = scratch.place[i, 0], scratch.place[i, 1]
                x0, y0 = int(np.floor(x)), int(np.floor(y))
                fx, fy = x - x0, y - y0
                x0, y0 = x0 % cells, y0 % cells
                x1, y1 = (x0 + 1) % cells, (y0 + 1) % cells
                here = (
                    texture[band, x0, y0] * (1 - fx) * (1 - fy)
                    + texture[band, x1, y0] * fx * (1 - fy)
                    + texture[band, x0, y1] * (1 - fx) * fy
                    + texture[band, x1, y1] * fx * fy
                )
                flick = flicker[band, (scratch.flicker_start[band] + i) % flicker.shape[1]]
                change_db = scratch.texture_db * here + scratch.flicker_db * flick
                dry = friction[s] * scratch.power[i] * np.exp(to_log * change_db)
            for e in range(n_extra):
                dry += extra[e] * around.extra_power[e, i]
            if i > 0 and shot[i] != shot[i - 1]:
                tail = 0.0  # another recording: its room has heard nothing yet
            # Late reverberation decays exponentially (Sabine): a one-pole filter of power.
            power += dry + around.room_power * tail
            tail = around.room_keep * tail + (1 - around.room_keep) * dry
            gains[band, i] = np.sqrt(power * around.gain_power[i])
        gains[band, steps] = gains[band, steps - 1]
    return gains
