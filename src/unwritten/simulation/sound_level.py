"""How loud the scratch is over the floor, frame by frame: contact as the microphone hears it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import percentile_filter, uniform_filter1d

from unwritten.types import FloatArray

_LOW_HZ, _HIGH_HZ = 2_000.0, 8_000.0
_WINDOW_S = 0.024
_FLOOR_WINDOW_S = 4.0
_FLOOR_PERCENTILE = 10
_SILENCE = 1e-12


def contact_energy(waveform: FloatArray, sample_rate_hz: int, rate_hz: float) -> NDArray[np.float32]:
    """Energy between 2 and 8 kHz over the floor, in dB: near 0 with the pen up or at rest, 10 to 20 while it scratches.

    The floor is the 10 % quantile of a sliding window of 4 s: it follows the steps at joins, and a word written without
    a rest of 0.4 s has none.

    Args:
        waveform: float ``[N]``, mono.
        sample_rate_hz: rate of ``waveform``, above 4 kHz.
        rate_hz: frames a second of the result; frame t is centred at ``t / rate_hz`` seconds.

    Returns:
        float32 ``[T]``, finite; T counts the frames whose centre lies inside the waveform. Digital silence gives 0.

    Raises:
        ValueError: the waveform is not mono, holds values that are not finite, or its rate is too low for the band.
    """
    samples = np.asarray(waveform, dtype=np.float64)
    if samples.ndim != 1 or not np.isfinite(samples).all():
        raise ValueError("a mono waveform [N] of finite values is needed")
    if sample_rate_hz <= 2 * _LOW_HZ:
        raise ValueError(f"the scratch lies above {_LOW_HZ:.0f} Hz: a rate of {sample_rate_hz} Hz does not hold it")
    n_frames = math.ceil(len(samples) * rate_hz / sample_rate_hz - 1e-9)
    if n_frames == 0:
        return np.zeros(0, dtype=np.float32)
    n_fft = 2 * round(_WINDOW_S * sample_rate_hz / 2)
    centres = np.round(np.arange(n_frames) * (sample_rate_hz / rate_hz)).astype(np.int64)
    padded = np.pad(samples, (n_fft // 2, n_fft))
    frames = np.lib.stride_tricks.sliding_window_view(padded, n_fft)[centres]
    power = np.abs(np.fft.rfft(frames * np.hanning(n_fft))) ** 2
    frequency = np.fft.rfftfreq(n_fft, 1 / sample_rate_hz)
    energy = power[:, (frequency >= _LOW_HZ) & (frequency <= _HIGH_HZ)].mean(axis=1)

    sounding = energy > max(_SILENCE, 1e-3 * float(np.median(energy)))
    if not sounding.any():
        return np.zeros(n_frames, dtype=np.float32)
    level_db = 10 * np.log10(np.maximum(energy, _SILENCE))
    level_db[~sounding] = np.interp(np.flatnonzero(~sounding), np.flatnonzero(sounding), level_db[sounding])
    smooth = uniform_filter1d(level_db, 3, mode="nearest")
    window = min(n_frames, max(1, round(_FLOOR_WINDOW_S * rate_hz)))
    floor_db = percentile_filter(smooth, _FLOOR_PERCENTILE, size=window, mode="nearest")
    # The filter's window hangs over both ends; there the nearest whole window decides.
    whole = np.clip(np.arange(n_frames), window // 2, n_frames - 1 - (window - 1) // 2)
    floor_db = floor_db[whole]
    return np.where(sounding, level_db - floor_db, 0.0).astype(np.float32)
