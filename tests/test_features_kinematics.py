"""Kinematics against closed forms and against the laws of the plane."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unwritten.features.kinematics import CHANNELS, KinematicsSettings, differentiate, kinematic_channels

SETTINGS = KinematicsSettings()


def motion_of(time_s, xy, visible=None, shot=None):
    count = len(time_s)
    visible = np.ones(count, dtype=bool) if visible is None else visible
    shot = np.zeros(count, dtype=int) if shot is None else shot
    return differentiate(time_s, xy, visible, shot, SETTINGS)


def uneven_times(count=90, rate_hz=40.0, seed=0):
    rng = np.random.default_rng(seed)
    return np.concatenate(([0.0], np.cumsum(rng.uniform(0.6, 1.4, count - 1) / rate_hz)))


def test_a_line_at_constant_speed_has_that_velocity_and_nothing_else():
    time_s = uneven_times()
    motion = motion_of(time_s, np.stack((3.0 * time_s + 1.0, -2.0 * time_s), axis=1))
    assert motion.known.all()
    np.testing.assert_allclose(motion.velocity, np.broadcast_to([3.0, -2.0], motion.velocity.shape), atol=1e-8)
    np.testing.assert_allclose(motion.acceleration, 0.0, atol=1e-5)
    np.testing.assert_allclose(motion.curvature, 0.0, atol=1e-6)


def test_constant_acceleration_and_constant_jerk_are_found_exactly_on_uneven_frames():
    time_s = uneven_times()
    xy = np.stack((0.5 * 4.0 * time_s**2, time_s**3), axis=1)
    motion = motion_of(time_s, xy)
    t = motion.time_s
    np.testing.assert_allclose(motion.acceleration[:, 0], 4.0, atol=1e-5)
    np.testing.assert_allclose(motion.acceleration[:, 1], 6.0 * t, atol=1e-4)
    np.testing.assert_allclose(motion.jerk, np.broadcast_to([0.0, 6.0], motion.jerk.shape), atol=1e-3)


def test_a_circle_has_its_radius_speed_and_turning_direction():
    time_s = np.arange(120) / 60.0
    radius, turns_hz = 2.0, 1.0
    angle = 2 * np.pi * turns_hz * time_s
    motion = motion_of(time_s, radius * np.stack((np.cos(angle), np.sin(angle)), axis=1))
    inner = slice(5, -5)
    np.testing.assert_allclose(motion.speed[inner], 2 * np.pi * radius * turns_hz, rtol=5e-3)
    np.testing.assert_allclose(motion.curvature[inner], 1.0 / radius, rtol=2e-2)
    expected = np.unwrap(angle[inner] + np.pi / 2)
    np.testing.assert_allclose(np.unwrap(motion.direction_rad[inner]), expected, atol=1e-2)


def smooth_path(seed):
    rng = np.random.default_rng(seed)
    time_s = uneven_times(seed=seed)
    waves = rng.normal(size=(4, 2))
    xy = sum(np.sin(2 * np.pi * (k + 1) * 0.5 * time_s[:, None] + waves[k]) * waves[k] for k in range(4))
    return time_s, xy


@settings(max_examples=15, deadline=None)
@given(
    st.integers(0, 10_000),
    st.floats(-np.pi, np.pi),
    st.floats(0.1, 10.0),
    st.tuples(st.floats(-50, 50), st.floats(-50, 50)),
)
def test_motion_turns_and_scales_with_the_path_and_ignores_where_it_lies(seed, angle, scale, offset):
    time_s, xy = smooth_path(seed)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    plain, moved = motion_of(time_s, xy), motion_of(time_s, scale * xy @ turn.T + np.array(offset))
    for name in ("velocity", "acceleration", "jerk"):
        expected = scale * getattr(plain, name) @ turn.T
        size = np.abs(expected).max() + 1.0
        np.testing.assert_allclose(getattr(moved, name) / size, expected / size, atol=1e-6)
    steady = plain.speed > 0.2
    np.testing.assert_allclose(moved.curvature[steady] * scale, plain.curvature[steady], rtol=1e-4, atol=1e-6)


def test_nothing_is_differenced_across_a_cut():
    time_s = np.arange(80) / 60.0
    xy = np.stack((time_s, np.zeros(80)), axis=1)
    xy[40:] += 100.0
    shot = (np.arange(80) >= 40).astype(int)
    motion = motion_of(time_s, xy, shot=shot)
    np.testing.assert_allclose(motion.velocity[:, 0], 1.0, atol=1e-6)
    np.testing.assert_array_equal(motion.shot[[39, 40]], [0, 1])


def test_a_long_gap_is_masked_and_a_short_one_is_bridged_by_the_fit():
    time_s = np.arange(120) / 60.0
    xy = np.stack((time_s, time_s**2), axis=1)
    visible = np.ones(120, dtype=bool)
    visible[20:23] = False
    visible[60:90] = False
    motion = motion_of(time_s, xy, visible)
    assert motion.known[:60].all()
    assert not motion.known[70:80].any()
    np.testing.assert_allclose(motion.velocity[20:23, 0], 1.0, atol=1e-6)
    assert np.isfinite(motion.velocity).all()


def test_what_is_not_visible_may_hold_anything():
    time_s = np.arange(60) / 60.0
    xy = np.stack((time_s, time_s), axis=1)
    visible = np.ones(60, dtype=bool)
    visible[30] = False
    hidden = xy.copy()
    hidden[30] = np.nan
    np.testing.assert_array_equal(motion_of(time_s, hidden, visible).velocity, motion_of(time_s, xy, visible).velocity)


def test_a_visible_position_that_is_no_number_is_refused():
    xy = np.zeros((5, 2))
    xy[2] = np.nan
    with pytest.raises(ValueError, match="not finite"):
        motion_of(np.arange(5) / 30.0, xy)


def test_the_models_columns_are_finite_and_bounded_for_a_wild_track():
    rng = np.random.default_rng(0)
    time_s = np.arange(200) / 30.0
    motion = motion_of(time_s, rng.normal(0, 100.0, (200, 2)), rng.random(200) > 0.3, np.arange(200) // 50)
    channels = kinematic_channels(motion, np.full(len(motion.time_s), 0.5), SETTINGS)
    assert channels.shape == (len(motion.time_s), len(CHANNELS))
    assert np.isfinite(channels).all()
    assert np.abs(channels).max() < 20


@pytest.mark.parametrize("rate_hz", [15.0, 24.0, 30.0, 120.0, 240.0])
def test_speed_does_not_depend_on_the_cameras_frame_rate(rate_hz):
    time_s = np.arange(int(3 * rate_hz)) / rate_hz
    angle = 2 * np.pi * 0.7 * time_s
    motion = motion_of(time_s, np.stack((np.cos(angle), np.sin(angle)), axis=1))
    middle = motion.speed[20:-20]
    np.testing.assert_allclose(middle, 2 * np.pi * 0.7, rtol=0.06)
