"""Log-mel frames lie on the kinematics' clock and show energy over a floor that differs from shot to shot."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from unwritten.features.spectrogram import SpectrogramSettings, frame_count, log_mel
from unwritten.media import read_audio

RATE_HZ = 16_000


def _noise(seconds: float, level: float = 1e-3, seed: int = 0) -> np.ndarray:
    return (level * np.random.default_rng(seed).standard_normal(round(seconds * RATE_HZ))).astype(np.float32)


@pytest.mark.parametrize("frame", [3, 100, 539])
def test_frame_t_is_centred_at_t_over_the_rate_without_drift(frame: int) -> None:
    waveform = _noise(10.0, 1e-5)
    waveform[round(frame / 60 * RATE_HZ)] = 0.5
    energy = log_mel(waveform, RATE_HZ, SpectrogramSettings(highest=20.0)).mean(axis=1)
    assert int(np.argmax(energy)) == frame
    assert abs(energy[frame - 1] - energy[frame + 1]) < 0.1  # the click lies in the middle of its frame


def test_there_are_as_many_frames_as_centres_inside_the_sound() -> None:
    assert log_mel(_noise(9.982), RATE_HZ).shape == (599, 40)
    assert frame_count(RATE_HZ, RATE_HZ, 60.0) == 60
    assert frame_count(1, RATE_HZ, 60.0) == 1
    assert log_mel(np.zeros(0, np.float32), RATE_HZ).shape == (0, 40)


def test_gain_and_microphone_do_not_change_the_result() -> None:
    waveform = _noise(3.0)
    waveform[RATE_HZ : 2 * RATE_HZ] *= 5
    louder = log_mel(20 * waveform, RATE_HZ)
    assert np.abs(louder - log_mel(waveform, RATE_HZ)).max() < 0.02
    coloured = np.convolve(waveform, [1.0, 0.7], "same").astype(np.float32)
    difference = log_mel(coloured, RATE_HZ) - log_mel(waveform, RATE_HZ)
    assert np.abs(difference[:, :37]).mean() < 0.05  # the highest bands are at the filter's zero


def test_a_burst_reads_as_its_level_over_the_floor() -> None:
    waveform = _noise(3.0)
    waveform[RATE_HZ : 2 * RATE_HZ] *= 10 ** (15 / 20)
    mel = log_mel(waveform, RATE_HZ)[:, 20:]
    assert mel[65:115].mean() == pytest.approx(1.5, abs=0.2)
    assert mel[5:55].mean() == pytest.approx(0.0, abs=0.2)


def test_a_step_of_level_at_a_join_disappears_when_the_shots_are_known() -> None:
    waveform = _noise(4.0)
    waveform[2 * RATE_HZ :] *= 10 ** (12 / 20)
    mel = log_mel(waveform, RATE_HZ, shot_starts_s=[0.0, 2.0])
    assert mel[:118].mean() == pytest.approx(mel[122:].mean(), abs=0.05)


def test_a_step_of_level_wears_off_within_the_sliding_window_when_they_are_not() -> None:
    waveform = _noise(10.0)
    waveform[5 * RATE_HZ :] *= 10 ** (12 / 20)
    mel = log_mel(waveform, RATE_HZ)
    assert mel[:200].mean() == pytest.approx(mel[420:].mean(), abs=0.1)


def test_frames_can_start_before_the_sound_and_end_after_it() -> None:
    waveform = _noise(2.0)
    whole = log_mel(waveform, RATE_HZ, shot_starts_s=[0.0])
    shifted = log_mel(waveform, RATE_HZ, start_s=-0.5, n_frames=200, shot_starts_s=[0.0])
    assert shifted.shape == (200, 40)
    assert np.abs(shifted[32:148] - whole[2:118]).max() < 0.15
    assert np.all(shifted[:28] == 0) and np.all(shifted[152:] == 0)


def test_digital_silence_reads_as_the_floor_and_does_not_lower_it() -> None:
    waveform = _noise(4.0)
    gapped = waveform.copy()
    gapped[RATE_HZ : RATE_HZ * 2] = 0
    mel, whole = log_mel(gapped, RATE_HZ), log_mel(waveform, RATE_HZ)
    assert np.all(mel[63:117] == 0)
    assert abs(mel[130:].mean() - whole[130:].mean()) < 0.1
    assert np.all(log_mel(np.zeros(RATE_HZ, np.float32), RATE_HZ) == 0)


def test_other_sampling_rates_give_nearly_the_same_frames() -> None:
    high = np.random.default_rng(1).standard_normal(3 * 48_000) * 1e-3
    high[48_000:96_000] *= 6
    low = high.reshape(-1, 3).mean(axis=1)  # a crude decimation: right below 3 kHz
    difference = log_mel(high.astype(np.float32), 48_000)[:, :20] - log_mel(low.astype(np.float32), RATE_HZ)[:, :20]
    assert np.abs(difference).mean() < 0.06


@settings(max_examples=15, deadline=None)
@given(arrays(np.float32, st.integers(1, 4000), elements=st.floats(-1, 1, width=32)))
def test_any_sound_gives_finite_values_in_range(waveform: np.ndarray) -> None:
    mel = log_mel(waveform, RATE_HZ)
    assert mel.dtype == np.float32 and mel.shape == (frame_count(len(waveform), RATE_HZ, 60.0), 40)
    assert np.isfinite(mel).all() and mel.min() >= -1 and mel.max() <= 5


def test_sound_that_is_not_mono_or_not_finite_is_refused() -> None:
    with pytest.raises(ValueError, match="mono"):
        log_mel(np.zeros((2, 100), np.float32), RATE_HZ)
    with pytest.raises(ValueError, match="finite"):
        log_mel(np.array([0.0, np.nan], np.float32), RATE_HZ)


@pytest.mark.parametrize("bad", [{"low_hz": 9_000.0}, {"high_hz": 9_000.0}, {"rate_hz": 0.0}, {"floor_quantile": 2.0}])
def test_settings_that_make_no_sense_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ValueError):
        SpectrogramSettings(**bad)  # type: ignore[arg-type]


def test_a_real_scratch_stands_out_in_the_high_bands(sample_clips) -> None:  # type: ignore[no-untyped-def]
    mel = log_mel(read_audio(sample_clips / "letters/cursive/a-2c.mp3"), RATE_HZ)
    high = mel[:, 28:].mean(axis=1)
    assert high[30:40].mean() > 1.0  # a stroke, 0.50 to 0.65 s
    assert abs(high[90:110].mean()) < 0.3  # the pen rests
