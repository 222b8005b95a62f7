"""The canonical view: which way is up, and what one scale for the word keeps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from unwritten.features.canonical import canonical_xy
from unwritten.types import Track


def track_of(xy, writing_rad, shot=None, mirrored=False):
    count = len(xy)
    ones = np.ones(count)
    return Track(
        time_s=np.arange(count) / 60.0,
        tip_px=np.asarray(xy, dtype=float),
        visible=ones.astype(bool),
        confidence=ones,
        shot=np.zeros(count, dtype=int) if shot is None else shot,
        shaft_rad=ones * 0,
        contact=ones * 0.5,
        size_px=(640.0, 480.0),
        writing_rad=writing_rad,
        mirrored=mirrored,
    )


def letter_b():
    """The outline of a b as its writer sees it: a tall stem, then a bowl to its right; x right, y up."""
    stem = np.stack((np.zeros(20), np.linspace(2.0, 0.0, 20)), axis=1)
    angle = np.linspace(np.pi, -np.pi, 30)
    bowl = np.stack((0.5 + 0.5 * np.cos(angle), 0.5 + 0.5 * np.sin(angle)), axis=1)
    return np.concatenate((stem, bowl))


@settings(max_examples=20, deadline=None)
@given(st.floats(-np.pi, np.pi), st.booleans(), st.floats(5.0, 200.0))
def test_a_letter_looks_the_same_from_every_camera(angle, mirrored, px):
    drawn = letter_b()
    right = np.array([np.cos(angle), np.sin(angle)])
    up = np.array([np.sin(angle), -np.cos(angle)])  # 90 degrees to the left of right, with y down
    picture = px * (drawn[:, :1] * right + drawn[:, 1:] * up) + 300.0
    writing_rad = angle
    if mirrored:
        picture[:, 0] = -picture[:, 0] + 640.0
        writing_rad = np.pi - angle
    seen = canonical_xy(track_of(picture, writing_rad, mirrored=mirrored))
    straight = canonical_xy(track_of(drawn * [1, -1], 0.0))
    np.testing.assert_allclose(seen, straight, atol=1e-6)


def test_the_tall_stem_of_a_b_stands_at_the_left_and_points_up():
    seen = canonical_xy(track_of(letter_b() * [1, -1], 0.0))
    assert seen[:20, 1].max() > seen[20:, 1].max() + 0.5
    assert seen[:20, 0].mean() < seen[20:, 0].mean()


def test_a_long_word_is_one_piece_unless_pieces_are_asked_for():
    drawn = np.concatenate([letter_b(), letter_b() + np.array([200.0, 60.0])]) * [1, -1]
    track = track_of(drawn, 0.0)
    slow = replace(track, time_s=track.time_s * 30.0 / track.time_s[-1])
    np.testing.assert_array_equal(canonical_xy(slow), canonical_xy(track))
    assert np.abs(canonical_xy(slow, piece_s=10.0) - canonical_xy(slow)).max() > 0.1


def test_one_scale_keeps_heights_between_letters_and_a_scale_per_shot_loses_them():
    small, tall = letter_b() * [1, -1], 2.0 * letter_b() * [1, -1]
    shot = np.repeat([0, 1], len(small))
    track = track_of(np.concatenate((small, tall)), 0.0, shot)
    kept = canonical_xy(track)
    lost = canonical_xy(track, scale_per_shot=True)
    heights = [np.ptp(kept[shot == k, 1]) for k in (0, 1)]
    np.testing.assert_allclose(heights[1] / heights[0], 2.0, rtol=1e-6)
    np.testing.assert_allclose(np.ptp(lost[shot == 1, 1]), np.ptp(lost[shot == 0, 1]), rtol=1e-6)


def test_a_track_without_a_visible_frame_gives_zeros():
    track = track_of(letter_b(), 0.0)
    hidden = Track(**{**vars(track), "visible": np.zeros(len(track), dtype=bool)})
    np.testing.assert_array_equal(canonical_xy(hidden), 0.0)
