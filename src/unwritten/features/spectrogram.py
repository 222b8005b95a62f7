"""Log-mel energies over the floor, on the clock of the kinematics.

The scratch of a dry pen stands 10 to 20 dB over a floor that is another one in each clip and, where letters were
recorded one by one, in each shot. What tells letters apart is the level *over* that floor, so each band's own floor is
taken off: a low quantile of the shot when the shots are known, else of a sliding window. T is the number of frames, M
the number of mel bands, N the number of samples.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
import torchaudio
from numpy.typing import NDArray

from unwritten.types import FloatArray

_POWER_EPSILON = 1e-12  # power of one mel band that no recording goes below: about 1 LSB of 20-bit sound
_FRAMES_AT_ONCE = 16_384
_DIGITAL_SILENCE = 1e-3  # of the median frame's power: what a codec's padding or a muted join falls below


@dataclass(frozen=True)
class SpectrogramSettings:
    """How sound becomes the model's input.

    Attributes:
        rate_hz: frames a second; frame t is centred at ``t / rate_hz`` seconds.
        n_mels: number of bands M.
        sample_rate_hz: rate that sound is brought to first.
        window_s: length of the Hann window in seconds.
        low_hz: lower edge of the lowest band; hum lies below it.
        high_hz: upper edge of the highest band.
        normalise: take each band's floor off; without it the result is plain log energy.
        floor_quantile: quantile of a band's energies that counts as its floor.
        floor_window_s: length of the sliding window in which the floor is sought when shots are unknown.
        scale_db: decibels that become 1 in the result.
        lowest, highest: the normalised result is clamped to this range, in units of ``scale_db``.
    """

    rate_hz: float = 60.0
    n_mels: int = 40
    sample_rate_hz: int = 16_000
    window_s: float = 0.032
    low_hz: float = 100.0
    high_hz: float = 8_000.0
    normalise: bool = True
    floor_quantile: float = 0.2
    floor_window_s: float = 3.0
    scale_db: float = 10.0
    lowest: float = -1.0
    highest: float = 5.0

    def __post_init__(self) -> None:
        if self.rate_hz <= 0 or self.n_mels < 1 or self.sample_rate_hz <= 0 or self.scale_db <= 0:
            raise ValueError("rate_hz, n_mels, sample_rate_hz and scale_db must be positive")
        if self.window_s <= 0 or self.floor_window_s <= 0:
            raise ValueError("window_s and floor_window_s must be positive")
        if not 0 <= self.low_hz < self.high_hz <= self.sample_rate_hz / 2:
            raise ValueError("need 0 <= low_hz < high_hz <= sample_rate_hz / 2")
        if not 0 <= self.floor_quantile <= 1:
            raise ValueError("floor_quantile must lie in [0, 1]")


DEFAULT_SETTINGS = SpectrogramSettings()


def frame_count(n_samples: int, sample_rate_hz: float, rate_hz: float) -> int:
    """Number of frames whose centres lie inside a waveform of ``n_samples``; at least 1 for any sound at all."""
    return math.ceil(n_samples * rate_hz / sample_rate_hz - 1e-9)


def log_mel(
    waveform: FloatArray,
    sample_rate_hz: int,
    settings: SpectrogramSettings = DEFAULT_SETTINGS,
    *,
    start_s: float = 0.0,
    n_frames: int | None = None,
    shot_starts_s: Sequence[float] | None = None,
) -> NDArray[np.float32]:
    """Log-mel energies of a waveform, over each band's floor.

    Args:
        waveform: float ``[N]``, mono, full scale 1.
        sample_rate_hz: rate of ``waveform``.
        settings: see ``SpectrogramSettings``.
        start_s: time of frame 0 on the waveform's own clock; negative when the frames begin before the sound.
        n_frames: number of frames to give; by default as many as have their centre inside the waveform.
        shot_starts_s: times, on the waveform's own clock, at which recordings were joined. Each stretch between two of
            them has a floor of its own. Without them the floor is that of a sliding window.

    Returns:
        float32 ``[T, M]``, finite: energy over the floor in units of ``scale_db``, 0 where there is no sound. Without
        ``settings.normalise``: energy over full scale in the same units.

    Raises:
        ValueError: the waveform is not one-dimensional or holds values that are not finite.
    """
    samples = np.asarray(waveform, dtype=np.float32)
    if samples.ndim != 1:
        raise ValueError(f"a mono waveform [N] is needed, got shape {samples.shape}")
    if not np.isfinite(samples).all():
        raise ValueError("the waveform holds values that are not finite")
    if n_frames is None:
        duration = frame_count(len(samples), sample_rate_hz, settings.rate_hz) - start_s * settings.rate_hz
        n_frames = max(0, math.ceil(duration - 1e-9))
    if n_frames == 0 or len(samples) == 0:
        return np.zeros((n_frames, settings.n_mels), dtype=np.float32)
    with torch.inference_mode():
        signal = torch.from_numpy(np.ascontiguousarray(samples))
        if sample_rate_hz != settings.sample_rate_hz:
            signal = torchaudio.functional.resample(signal, sample_rate_hz, settings.sample_rate_hz)
        mel_power, frame_power = _mel_power(signal, settings, start_s, n_frames)
        energy_db = 10.0 * torch.log10(mel_power + _POWER_EPSILON)
        if settings.normalise:
            sounding = frame_power > _DIGITAL_SILENCE * frame_power.median().clamp_min(_POWER_EPSILON)
            floor_db = _floor_db(energy_db, sounding, settings, start_s, shot_starts_s)
            over = torch.where(sounding[:, None], energy_db - floor_db, torch.zeros(()))
            result = (over / settings.scale_db).clamp(settings.lowest, settings.highest)
        else:
            result = energy_db / settings.scale_db
    return result.numpy().astype(np.float32, copy=False)


@lru_cache(maxsize=8)
def _transforms(settings: SpectrogramSettings) -> tuple[torch.Tensor, torchaudio.transforms.MelScale]:
    """Window ``[n_fft]`` and mel scale; made once per settings."""
    n_fft = max(16, round(settings.window_s * settings.sample_rate_hz))
    mel_scale = torchaudio.transforms.MelScale(
        settings.n_mels, settings.sample_rate_hz, settings.low_hz, settings.high_hz, n_fft // 2 + 1
    )
    return torch.hann_window(n_fft), mel_scale


def _mel_power(
    signal: torch.Tensor, settings: SpectrogramSettings, start_s: float, n_frames: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Mel power ``[T, M]`` and total power ``[T]`` of frames at exact times.

    A hop of 16000 / 60 samples is no whole number: a rounded one would drift by 25 ms over a word. Each frame therefore
    starts at the sample next to its own time, and torchaudio's mel scale takes over from the power spectrum on.
    """
    window, mel_scale = _transforms(settings)
    n_fft = len(window)
    centres = torch.round(
        (start_s + torch.arange(n_frames, dtype=torch.float64) / settings.rate_hz) * settings.sample_rate_hz
    )
    starts = centres.long() - n_fft // 2
    before = max(0, -int(starts[0]))
    after = max(0, int(starts[-1]) + n_fft - len(signal))
    padded = torch.nn.functional.pad(signal, (before, after))
    slices = padded.unfold(0, n_fft, 1)
    mel, total = [], []
    for chosen in torch.split(starts + before, _FRAMES_AT_ONCE):  # an hour at once would take 1.5 GB
        spectrum = torch.fft.rfft(slices[chosen] * window)  # [T, n_fft // 2 + 1]
        # Parseval: over the window's energy and n_fft, so that white noise of variance s^2 has a power of s^2 / n_fft
        # in each bin, whatever the window.
        power = (spectrum.real**2 + spectrum.imag**2) / window.square().sum() / n_fft
        mel.append(mel_scale(power.T).T)
        total.append(power[:, 1:].sum(dim=1))
    return torch.cat(mel), torch.cat(total)


def _floor_db(
    energy_db: torch.Tensor,
    sounding: torch.Tensor,
    settings: SpectrogramSettings,
    start_s: float,
    shot_starts_s: Sequence[float] | None,
) -> torch.Tensor:
    """Floor of each band at each frame, ``[T, M]`` in dB, from frames that are not digital silence."""
    smooth = torch.nn.functional.avg_pool1d(
        torch.nn.functional.pad(energy_db.T[None], (1, 1), mode="replicate"), 3, stride=1
    )[0].T  # one frame of noise varies by several dB: the quantile of single frames would lie far below the floor
    if not bool(sounding.any()):
        return smooth
    known = torch.where(sounding[:, None], smooth, torch.full((), torch.nan))
    n_frames = len(energy_db)
    if shot_starts_s is not None:
        edges = sorted({min(max(0, round((time - start_s) * settings.rate_hz)), n_frames) for time in shot_starts_s})
        edges = [0, *[edge for edge in edges if 0 < edge < n_frames], n_frames]
        floor = torch.empty_like(energy_db)
        for first, end in itertools.pairwise(edges):
            floor[first:end] = _quantile(known[first:end], settings.floor_quantile)
        return _fill(floor)
    half = max(1, round(settings.floor_window_s * settings.rate_hz / 2))
    step = max(1, half // 6)
    anchors = list(range(0, n_frames, step))
    if anchors[-1] != n_frames - 1:
        anchors.append(n_frames - 1)
    values = _fill(
        torch.stack(
            [
                _quantile(
                    known[max(0, min(anchor - half, n_frames - 2 * half)) : max(anchor + half, 2 * half)],
                    settings.floor_quantile,
                )
                for anchor in anchors
            ]
        )
    )
    position = torch.searchsorted(torch.tensor(anchors), torch.arange(n_frames), right=True).clamp(
        1, max(1, len(anchors) - 1)
    )
    if len(anchors) == 1:
        return values.expand(n_frames, -1)
    left = torch.tensor(anchors)[position - 1]
    right = torch.tensor(anchors)[position]
    weight = ((torch.arange(n_frames) - left) / (right - left)).to(values.dtype)[:, None]
    return values[position - 1] * (1 - weight) + values[position] * weight


def _quantile(values: torch.Tensor, quantile: float) -> torch.Tensor:
    """Quantile over the first axis that ignores NaN; NaN where nothing else is there."""
    return torch.nanquantile(values, quantile, dim=0)


def _fill(floor: torch.Tensor) -> torch.Tensor:
    """Replace rows without a known floor by the median of the others."""
    missing = torch.isnan(floor)
    return torch.where(missing, floor.nanmedian(dim=0).values, floor) if bool(missing.any()) else floor
