"""The energy of the scratch over the floor tells contact."""

from __future__ import annotations

import numpy as np
import pytest

from unwritten.media import read_audio
from unwritten.simulation.sound_level import contact_energy

RATE_HZ = 16_000


def _noise(seconds: float) -> np.ndarray:
    return 1e-3 * np.random.default_rng(0).standard_normal(round(seconds * RATE_HZ))


def test_a_burst_of_noise_reads_as_its_level_in_decibels() -> None:
    waveform = _noise(4.0)
    waveform[RATE_HZ : 2 * RATE_HZ] *= 10 ** (12 / 20)
    energy = contact_energy(waveform, RATE_HZ, 100.0)
    assert len(energy) == 400
    assert energy[105:195].mean() == pytest.approx(12.0, abs=1.0)
    assert energy[250:].mean() == pytest.approx(0.0, abs=1.0)


def test_a_low_thump_is_no_contact() -> None:
    waveform = _noise(2.0)
    time_s = np.arange(1600) / RATE_HZ
    waveform[RATE_HZ : RATE_HZ + 1600] += 0.05 * np.sin(2 * np.pi * 300 * time_s) * np.hanning(1600)
    assert contact_energy(waveform, RATE_HZ, 60.0)[60:66].max() < 3.0


def test_silence_and_nothing_give_zeros_and_no_frames() -> None:
    assert np.all(contact_energy(np.zeros(RATE_HZ), RATE_HZ, 60.0) == 0)
    assert contact_energy(np.zeros(0), RATE_HZ, 60.0).shape == (0,)


def test_a_rate_that_cannot_hold_the_scratch_is_refused() -> None:
    with pytest.raises(ValueError, match="4000 Hz"):
        contact_energy(np.zeros(100), 4_000, 60.0)
    with pytest.raises(ValueError, match="finite"):
        contact_energy(np.array([np.inf]), RATE_HZ, 60.0)


def test_strokes_of_a_real_letter_are_counted_by_their_scratch(sample_clips) -> None:  # type: ignore[no-untyped-def]
    energy = contact_energy(read_audio(sample_clips / "letters/standard/a-1.mp4"), RATE_HZ, 60.0)
    assert energy[15:42].mean() > 8.0  # the bowl, 0.25 to 0.7 s
    assert abs(energy[49:57].mean()) < 3.0  # a rest
    assert energy[61:69].mean() > 8.0  # the stem
    assert abs(energy[80:].mean()) < 2.0
