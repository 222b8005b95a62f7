"""Contact: from the nib's shadow and from the scratch, in the order in which they happen."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unwritten.tracking.contact import contact_from_motion, contact_from_sound, shadow_log_odds, smooth_log_odds
from unwritten.types import Track

_RATE = 60.0


def _track(seconds: float = 3.0) -> Track:
    time_s = np.arange(int(seconds * _RATE)) / _RATE
    count = len(time_s)
    tip = np.stack([200 + 60 * np.sin(4 * time_s), 300 + 40 * np.cos(5 * time_s)], 1)
    return Track(
        time_s=time_s,
        tip_px=tip,
        visible=np.ones(count, bool),
        confidence=np.ones(count),
        shot=np.zeros(count, int),
        shaft_rad=np.full(count, -1.2),
        contact=np.full(count, 0.8),
        size_px=(1080.0, 1920.0),
    )


def _down(time_s: NDArray[np.float64]) -> NDArray[np.bool_]:
    return (time_s < 1.0) | (time_s > 1.8)


def test_a_shadow_that_parts_from_the_tip_is_a_lift() -> None:
    track = _track()
    rng = np.random.default_rng(0)
    reach = np.where(_down(track.time_s), 8.0, 22.0) + rng.integers(-1, 2, len(track))
    contact = contact_from_motion(track, reach)
    assert (contact > 0.5).tolist() == _down(track.time_s).tolist()


def test_a_shadow_that_wanders_says_nothing() -> None:
    reach = np.random.default_rng(0).uniform(10, 42, 120)
    assert not shadow_log_odds(reach).any()


def test_an_unknown_shadow_says_nothing() -> None:
    assert not shadow_log_odds(np.full(120, -1.0)).any()


def test_the_scratch_is_heard_and_silence_of_a_moving_pen_is_a_lift() -> None:
    track = _track()
    rng = np.random.default_rng(0)
    seconds = np.arange(int(3.0 * 16_000)) / 16_000
    noise = np.diff(rng.normal(0, 1, len(seconds) + 1))
    waveform = noise * np.where(_down(seconds), 0.02, 0.002)
    contact = contact_from_sound(track, waveform, 16_000)
    assert np.mean((contact > 0.5) == _down(track.time_s)) > 0.95


def test_sound_that_starts_late_is_heard_late() -> None:
    track = _track()
    rng = np.random.default_rng(0)
    seconds = np.arange(int(3.0 * 16_000)) / 16_000
    noise = np.diff(rng.normal(0, 1, len(seconds) + 1))
    waveform = noise * np.where(_down(seconds + 0.3), 0.02, 0.002)
    contact = contact_from_sound(track, waveform, 16_000, audio_offset_s=0.3)
    heard = track.time_s >= 0.3
    assert np.mean(((contact > 0.5) == _down(track.time_s))[heard]) > 0.95


def test_silence_leaves_what_video_says() -> None:
    track = _track()
    contact = contact_from_sound(track, np.zeros(48_000), 16_000)
    assert np.ptp(contact) < 0.1 and contact.min() > 0.5


def test_one_odd_frame_does_not_switch_the_state() -> None:
    log_odds = np.full(60, 1.0)
    log_odds[30] = -2.0
    assert (smooth_log_odds(log_odds, np.arange(60) / 60) > 0.5).all()


def test_contact_is_zero_where_nothing_is_seen() -> None:
    track = _track()
    visible = track.visible.copy()
    visible[20:40] = False
    hidden = Track(**{**vars(track), "visible": visible})
    assert not contact_from_motion(hidden, np.full(len(track), 8.0))[20:40].any()
