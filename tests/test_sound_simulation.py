"""Simulated sound: the scratch follows the pen, the recording around it is that of a real room."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import welch

from unwritten.errors import UsageError
from unwritten.simulation.motion import MOTION_RATE_HZ, Motion
from unwritten.simulation.sound import simulate_sound
from unwritten.simulation.sound_level import contact_energy
from unwritten.simulation.sound_noise import noise_bank
from unwritten.simulation.sound_settings import MEASURED, MILD, SEVERITIES, sound_settings

RATE_HZ = 16_000
# Nothing but the scratch over an even floor: every spread is 0, so that one cause is seen at a time.
PLAIN = replace(
    MILD,
    friction_over_floor_sd_db=0.0,
    speed_exponent=(1.0, 1.0),
    friction_tilt_sd_db=0.0,
    texture_db=0.0,
    pressure_sd_db=0.0,
    grain_sd_db=0.0,
    flicker_sd_db=0.0,
    direction_db=0.0,
    touch_dbfs=-120.0,
    touch_writer_sd_db=0.0,
    touch_sd_db=0.0,
    touch_lead_s=(0.0, 0.0),
    lift_probability=0.0,
    tick_per_s=0.0,
    gain_sd_db=0.0,
    floor_eq_sd_db=0.0,
    floor_tilt_sd_db=0.0,
    shot_gain_sd_db=0.0,
    shot_eq_sd_db=0.0,
    shot_friction_sd_db=0.0,
    hum_dbfs=-150.0,
    tone_dbfs=-150.0,
    rumble_sd_db=0.0,
    hand_rub_db=-100.0,
    microphone_sd_db=0.0,
)


def _motion(speed_mm_s: np.ndarray, pen_down: np.ndarray, shot: np.ndarray | None = None) -> Motion:
    """A straight line written at the given speed."""
    steps = len(speed_mm_s)
    x = np.cumsum(speed_mm_s) / MOTION_RATE_HZ
    return Motion(
        np.arange(steps) / MOTION_RATE_HZ,
        np.stack([x, np.zeros(steps)], axis=1),
        pen_down,
        np.zeros(steps, dtype=int) if shot is None else shot,
        "word",
        np.zeros((4, 2)),
    )


def _word(seconds: float = 9.0, shots: int = 5) -> Motion:
    """Loops that drift to the right, lifted now and then."""
    time_s = np.arange(round(seconds * MOTION_RATE_HZ)) / MOTION_RATE_HZ
    xy_mm = np.stack([2 * np.sin(2 * np.pi * 2.3 * time_s) + 4 * time_s, 4 * np.sin(2 * np.pi * 1.9 * time_s)], axis=1)
    shot = np.minimum(time_s / seconds * shots, shots - 1).astype(int)
    return Motion(time_s, xy_mm, np.sin(2 * np.pi * 0.9 * time_s) > -0.2, shot, "words", np.zeros((5, 2)))


def _burst(start_s: float, end_s: float, seconds: float = 3.0) -> Motion:
    time_s = np.arange(round(seconds * MOTION_RATE_HZ)) / MOTION_RATE_HZ
    return _motion(np.full(len(time_s), 40.0), (time_s >= start_s) & (time_s < end_s))


def _sound(motion: Motion, chosen=PLAIN, seed: int = 0, rate: int = RATE_HZ) -> np.ndarray:  # type: ignore[no-untyped-def]
    return simulate_sound(motion, chosen, np.random.default_rng(seed), rate)


@pytest.mark.parametrize("severity", list(SEVERITIES))
def test_the_same_seed_gives_the_same_sound_and_another_seed_another(severity: str) -> None:
    one, again, other = (_sound(_word(2.0), sound_settings(severity), seed) for seed in (1, 1, 2))
    assert one.dtype == np.float32 and np.array_equal(one, again)
    assert not np.allclose(one, other)


@pytest.mark.parametrize("rate", [8_000, 16_000, 22_050, 48_000])
def test_the_sound_is_as_long_as_the_motion_at_any_rate(rate: int) -> None:
    sound = _sound(_word(1.5), MEASURED, rate=rate)
    assert len(sound) == round(1.5 * rate) and np.isfinite(sound).all() and sound.std() > 1e-4


def test_travel_with_the_pen_up_is_silent_however_fast() -> None:
    energy = contact_energy(_sound(_burst(1.0, 1.6)), RATE_HZ, 100.0)  # the pen moves at 40 mm/s all the time
    assert energy[105:155].mean() > 10.0
    assert abs(energy[10:95].mean()) < 2.0 and abs(energy[170:].mean()) < 2.0


def test_the_scratch_begins_and_ends_within_20_ms_of_contact() -> None:
    energy = contact_energy(_sound(_burst(1.0, 1.6)), RATE_HZ, 200.0)
    loud = np.flatnonzero(energy > 8.0)
    assert loud[0] / 200 == pytest.approx(1.0, abs=0.02)
    assert loud[-1] / 200 == pytest.approx(1.6, abs=0.03)


def test_twice_the_speed_is_6_db_louder_at_exponent_1() -> None:
    steps = 4 * 200
    speed = np.where(np.arange(steps) < steps // 2, 60.0, 30.0)
    loud = _sound(_motion(speed, np.ones(steps, bool)), replace(PLAIN, friction_over_floor_db=40.0))
    high = np.diff(loud, prepend=0)  # mostly above 2 kHz
    first, second = high[4000:28_000], high[36_000:60_000]
    assert 10 * np.log10(first.var() / second.var()) == pytest.approx(6.0, abs=0.5)


def test_a_turn_of_the_pen_is_a_notch_in_the_scratch() -> None:
    speed = np.full(3 * 200, 40.0)
    speed[300:312] = 0.0  # 60 ms of rest at a corner, the tip on the paper
    energy = contact_energy(_sound(_motion(speed, np.arange(600) > 150)), RATE_HZ, 200.0)
    assert energy[304:309].mean() < energy[220:290].mean() - 6.0


def test_touch_down_thumps_below_1500_hz() -> None:
    settings_ = replace(PLAIN, touch_dbfs=-30.0)
    sound, quiet = _sound(_burst(1.0, 1.6), settings_), _sound(_burst(1.0, 1.6))
    frequency, thump = welch(sound[15_900:17_200], RATE_HZ, nperseg=1024)
    _, nothing = welch(quiet[15_900:17_200], RATE_HZ, nperseg=1024)
    low = (frequency > 400) & (frequency < 1_200)
    assert 10 * np.log10(thump[low].mean() / nothing[low].mean()) > 15.0
    _, later = welch(sound[18_000:24_000], RATE_HZ, nperseg=1024)
    _, later_quiet = welch(quiet[18_000:24_000], RATE_HZ, nperseg=1024)
    assert 10 * np.log10(later[low].mean() / later_quiet[low].mean()) == pytest.approx(0.0, abs=2.0)


def test_sound_comes_later_than_the_picture_by_the_lag_of_its_shot() -> None:
    late = contact_energy(_sound(_burst(1.0, 1.6), replace(PLAIN, lag_s=(0.3, 0.3))), RATE_HZ, 200.0)
    assert np.flatnonzero(late > 8.0)[0] / 200 == pytest.approx(1.3, abs=0.02)


def test_a_lag_never_pushes_the_scratch_out_of_its_shot() -> None:
    late = contact_energy(_sound(_burst(1.0, 2.6), replace(PLAIN, lag_s=(0.8, 0.8))), RATE_HZ, 200.0)
    loud = np.flatnonzero(late > 8.0)
    assert (loud[-1] - loud[0]) / 200 == pytest.approx(1.6, abs=0.04)
    assert loud[-1] / 200 == pytest.approx(3.0, abs=0.02)


def test_the_floor_is_that_of_real_clips_within_2_db() -> None:
    resting = _motion(np.zeros(2000), np.zeros(2000, bool))
    frequency, density = welch(_sound(resting), RATE_HZ, nperseg=2048)
    for hz, measured_db in ((630, -97.5), (1000, -102), (2000, -109), (4000, -112.7), (6300, -114.9)):
        near = np.abs(frequency - hz) < 0.08 * hz
        assert 10 * np.log10(density[near].mean()) == pytest.approx(measured_db, abs=2.0)


def test_the_bands_of_the_bank_add_up_without_holes() -> None:
    bank = noise_bank(RATE_HZ)
    frequency, density = welch(bank.noise.sum(axis=0), RATE_HZ, nperseg=512)
    level = 10 * np.log10(density[(frequency > 1_500) & (frequency < 7_800)])
    assert np.abs(np.diff(level)).max() < 1.5


def test_joins_step_in_level_and_some_are_digitally_silent() -> None:
    resting = _motion(np.zeros(2000), np.zeros(2000, bool), np.arange(2000) // 1000)
    stepped = _sound(resting, replace(PLAIN, shot_gain_sd_db=6.0), seed=3)
    levels = [20 * np.log10(np.diff(part).std()) for part in (stepped[:79_000], stepped[81_000:])]
    assert abs(levels[0] - levels[1]) > 2.0
    gapped = _sound(resting, replace(PLAIN, gap_probability=1.0, gap_s=(0.02, 0.02)))
    assert np.all(gapped[80_000 - 150 : 80_000 + 150] == 0)


def test_the_same_place_on_the_paper_sounds_the_same() -> None:
    steps = np.arange(800)
    there_and_back = np.where((steps // 100) % 2 == 0, 30.0, -30.0)
    sound = _sound(
        _motion(there_and_back, np.ones(800, bool)), replace(PLAIN, texture_db=6.0, friction_over_floor_db=30.0)
    )

    def spectrum(start_s: float) -> np.ndarray:
        part = sound[round(start_s * RATE_HZ) : round((start_s + 0.05) * RATE_HZ)]
        power = np.abs(np.fft.rfft(part * np.hanning(len(part)))) ** 2
        return np.log(power[100:400].reshape(30, 10).mean(axis=1))  # 2 to 8 kHz, 200 Hz wide

    same = np.corrcoef(spectrum(1.10), spectrum(2.10))[0, 1]  # one period later: the same place
    elsewhere = np.corrcoef(spectrum(1.10), spectrum(1.40))[0, 1]
    assert same > 0.7 and same > elsewhere + 0.15


def test_loud_sound_is_clipped_where_the_converter_clips() -> None:
    loud = _sound(_word(2.0), replace(MEASURED, hum_dbfs=-3.0, clip_dbfs=-10.0))
    assert np.abs(loud).max() == pytest.approx(10 ** (-10 / 20), rel=1e-3)


def test_severities_bury_the_scratch_deeper_in_order() -> None:
    motion = _burst(1.0, 2.0)
    contrast = []
    for severity in ("mild", "measured", "harsh"):
        chosen = replace(sound_settings(severity), lag_s=(0.0, 0.0))
        energies = [contact_energy(_sound(motion, chosen, seed), RATE_HZ, 60.0) for seed in range(12)]
        contrast.append(np.mean([energy[65:115].mean() - energy[10:55].mean() for energy in energies]))
    assert contrast[0] > contrast[1] + 2 > contrast[2] + 3


@pytest.mark.parametrize("steps", [0, 1, 2, 7])
@pytest.mark.parametrize("down", [True, False])
def test_motions_of_hardly_any_length_have_sound_of_that_length(steps: int, down: bool) -> None:
    sound = _sound(_motion(np.full(steps, 20.0), np.full(steps, down)), sound_settings("harsh"))
    assert len(sound) == steps * 80 and np.isfinite(sound).all()


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**31), st.sampled_from(sorted(SEVERITIES)), st.integers(1, 4))
def test_no_draw_is_silent_infinite_or_beyond_full_scale(seed: int, severity: str, shots: int) -> None:
    sound = _sound(_word(1.0, shots), sound_settings(severity), seed)
    assert np.isfinite(sound).all() and sound.std() > 1e-5 and np.abs(sound).max() <= 1.0


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="8000 Hz"):
        _sound(_word(0.5), rate=4_000)
    with pytest.raises(ValueError, match="not finite"):
        _sound(_motion(np.array([1.0, np.nan]), np.ones(2, bool)))
    with pytest.raises(UsageError, match="severity loud"):
        sound_settings("loud")
    with pytest.raises(ValueError, match="range"):
        replace(MEASURED, lag_s=(1.0, 0.0))
