"""Claims about rendered scenes: the tip is where the track says, cuts and gaps look right, chance is seeded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unwritten.config import settings_from
from unwritten.errors import UnwrittenError, UsageError
from unwritten.simulation.scene import SceneSettings, render
from unwritten.simulation.scene.compose import place, smear
from unwritten.simulation.scene.schedule import make_schedule
from unwritten.types import Track

CALM = SceneSettings(noise=0, defocus=0, shutter=0, shadow=0, table="laminate", sleeve=0, unevenness=0)


def make_track(
    frames: int = 6,
    size: tuple[float, float] = (320.0, 240.0),
    rate_hz: float = 30.0,
    shaft_rad: float = -1.15,
    sample_aspect_ratio: float = 1.0,
) -> Track:
    time_s = np.arange(frames) / rate_hz
    angle = 8 * time_s + 1
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    tip = np.array([0.45, 0.6]) * size + 0.04 * float(np.hypot(*size)) * circle
    ones = np.ones(frames)
    shaft = shaft_rad + 0.05 * np.sin(angle)
    shot = np.zeros(frames, int)
    return Track(time_s, tip, ones > 0, ones, shot, shaft, ones, size, sample_aspect_ratio=sample_aspect_ratio)


def pictures(track: Track, scene: SceneSettings = CALM, seed: int = 0) -> list[np.ndarray]:
    return [frame.image for frame in render(track, scene, np.random.default_rng(seed))]


def tip_error_px(picture: np.ndarray, tip: np.ndarray, shaft_rad: float) -> float:
    """Where along the axis the picture is half as dark as the nib, in square pixels from ``tip`` towards the paper."""
    axis = np.array([np.cos(shaft_rad), np.sin(shaft_rad)])
    reach = np.arange(-14, 14, 0.1)
    ways = [tip - reach[:, None] * axis + offset * np.array([-axis[1], axis[0]]) for offset in (-0.5, 0.0, 0.5)]
    grey = picture.astype(np.float32).mean(axis=2)
    levels = np.mean(
        [cv2.remap(grey, *way.astype(np.float32).T.reshape(2, -1, 1), cv2.INTER_LINEAR)[:, 0] for way in ways], axis=0
    )
    half = (levels[:20].mean() + levels[-20:].mean()) / 2
    return float(reach[np.argmax(levels > half)])


@settings(max_examples=6, deadline=None)
@given(st.floats(-np.pi, np.pi), st.sampled_from(["right", "left"]), st.integers(0, 1000))
def test_the_tip_of_the_nib_lies_where_the_track_says(shaft_rad: float, hand: str, seed: int) -> None:
    track = make_track(1, (720.0, 540.0), shaft_rad=shaft_rad)
    picture = pictures(track, replace(CALM, hand=hand), seed)[0]  # type: ignore[arg-type]
    assert abs(tip_error_px(picture, track.tip_px[0], float(track.shaft_rad[0]))) < 0.8  # 0.1 % of the diagonal


def test_the_tip_stays_there_when_the_shutter_is_slow_and_the_lens_soft() -> None:
    track = make_track(9, (720.0, 540.0))
    for k, picture in enumerate(pictures(track, replace(CALM, shutter=0.5, defocus=0.001))):
        assert abs(tip_error_px(picture, track.tip_px[k], float(track.shaft_rad[k]))) < 2.0


def test_a_squashed_file_holds_the_tip_at_its_own_column() -> None:
    track = make_track(1, (270.0, 480.0), sample_aspect_ratio=27 / 64)
    picture = pictures(track)[0]
    assert picture.shape == (480, 640, 3)
    wide = cv2.resize(picture, (640, 1138), interpolation=cv2.INTER_CUBIC)  # square pixels again, 64/27 as large
    tip = (track.tip_px[0] / [27 / 64, 1.0] + 0.5) * [1.0, 1138 / 480] - 0.5
    assert abs(tip_error_px(wide, tip, float(track.shaft_rad[0]))) < 2.5  # about one pixel of the file


def test_frames_carry_the_tracks_times_and_aspect_ratio() -> None:
    track = replace(make_track(4), time_s=np.array([0.0, 0.033, 0.07, 0.1]))
    frames = list(render(track, CALM))
    assert [frame.time_s for frame in frames] == track.time_s.tolist()
    assert all(frame.image.dtype == np.uint8 and frame.sample_aspect_ratio == 1.0 for frame in frames)


def test_frames_at_a_join_are_black_and_the_cut_is_a_jump() -> None:
    shot = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    visible = np.array([True, True, False, False, True, True, True, True])
    scene = replace(CALM, shot_change=1.0, table="wood")
    images = np.array(pictures(replace(make_track(8), shot=shot, visible=visible), scene), float)
    assert images[2:4].max() == 0
    within = np.abs(images[5] - images[4]).mean()
    assert np.abs(images[4] - images[1]).mean() > 2 * within


def test_a_trackers_gap_shows_the_pen_and_a_long_absence_an_empty_table() -> None:
    track = make_track(60)
    short = replace(track, visible=~np.isin(np.arange(60), [20, 21]))
    away = replace(track, visible=~np.isin(np.arange(60), np.arange(20, 45)))
    assert make_schedule(short, 0.5).drawn.all()
    plan = make_schedule(away, 0.5)
    assert not plan.drawn[20:45].any() and not plan.black.any()
    images = pictures(away)
    assert np.array_equal(images[25], images[40]) and not np.array_equal(images[10], images[25])


def test_a_clip_without_a_pen_shows_the_table_and_an_empty_track_shows_nothing() -> None:
    track = make_track(3)
    images = pictures(replace(track, visible=np.zeros(3, bool)))
    assert images[0].mean() > 60 and np.array_equal(images[0], images[2])
    nothing = np.zeros(0)
    assert not pictures(
        Track(nothing, np.zeros((0, 2)), nothing > 0, nothing, nothing.astype(int), nothing, nothing, (9, 9))
    )


@pytest.mark.parametrize(("hand", "mirrored", "side"), [("right", False, -1), ("left", False, 0), ("right", True, 0)])
def test_the_forearm_comes_in_from_the_side_of_the_writing_hand(hand: str, mirrored: bool, side: int) -> None:
    shaft = -1.15 if side == -1 else np.pi + 1.15
    track = replace(make_track(60, shaft_rad=shaft), visible=np.arange(60) < 30, mirrored=mirrored)
    images = pictures(track, replace(CALM, hand=hand))  # type: ignore[arg-type]
    changed = np.abs(images[5].astype(int) - images[50]).max(axis=2) > 12
    assert changed[:, side].mean() > 0.05
    assert changed[:, -1 - side].mean() < 0.02


def test_the_same_seed_gives_the_same_pictures_and_another_seed_other_ones() -> None:
    track, scene = make_track(2), SceneSettings(pen="random", table="random", hand="random")
    assert np.array_equal(pictures(track, scene, 3), pictures(track, scene, 3))
    assert not np.array_equal(pictures(track, scene, 3), pictures(track, scene, 4))


def test_every_kind_of_pen_looks_different() -> None:
    kinds = ("dark", "light", "metal", "pencil", "brush", "finger")
    images = [pictures(make_track(1), replace(CALM, pen=kind))[0].astype(float) for kind in kinds]
    for k, first in enumerate(images):
        assert all(np.abs(first - other).max() > 40 for other in images[k + 1 :])


def test_light_noise_and_exposure_do_what_they_say() -> None:
    track = replace(make_track(2), visible=np.zeros(2, bool))
    plain = pictures(track)[0].mean()
    assert pictures(track, replace(CALM, exposure=0.4))[0].mean() == pytest.approx(0.4 * plain, rel=0.05)
    first, second = pictures(track, replace(CALM, noise=6.0))
    assert np.std(first.astype(float) - second) / np.sqrt(2) == pytest.approx(6.0, rel=0.15)
    uneven = cv2.GaussianBlur(pictures(track, replace(CALM, unevenness=0.8))[0], (0, 0), 15).mean(axis=2)
    assert uneven.max() > 1.8 * uneven.min()


def test_a_users_picture_takes_the_place_of_the_table(tmp_path: Path) -> None:
    path = tmp_path / "desk.png"
    cv2.imwrite(str(path), np.full((100, 300, 3), (200, 40, 10), np.uint8))
    track = replace(make_track(1), visible=np.zeros(1, bool))
    image = pictures(track, replace(CALM, background=str(path)))[0]
    assert image[..., 2].mean() > 3 * image[..., 1].mean()
    with pytest.raises(UnwrittenError, match=r"none\.png"):
        pictures(track, replace(CALM, background=str(tmp_path / "none.png")))


@pytest.mark.parametrize(
    ("name", "value"), [("pen", "quill"), ("view_mm", 0), ("shadow", 1.5), ("noise", -1), ("hue", 3)]
)
def test_a_wrong_setting_is_named(name: str, value: object) -> None:
    with pytest.raises(UsageError, match=name):
        settings_from(SceneSettings, {name: value})


@settings(max_examples=25, deadline=None)
@given(st.floats(0.1, 4), st.floats(-7, 7), st.floats(-50, 50), st.floats(-500, 900))
def test_a_sprites_anchor_lands_on_its_target(scale: float, turn: float, anchor: float, target: float) -> None:
    matrix = place(scale, turn, (anchor, 3.0), np.array([target, 40.0]))
    assert np.allclose(matrix[:, :2] @ [anchor, 3.0] + matrix[:, 2], [target, 40.0])


@settings(max_examples=15, deadline=None)
@given(st.floats(-12, 12), st.floats(-12, 12))
def test_motion_blur_keeps_the_centre_of_mass(x: float, y: float) -> None:
    layer = np.zeros((61, 61, 4), np.uint8)
    layer[26:35, 26:35] = 255
    mass = smear(layer, np.array([x, y]))[..., 3].astype(float)
    rows, columns = np.mgrid[:61, :61]
    assert np.allclose([(mass * columns).sum() / mass.sum(), (mass * rows).sum() / mass.sum()], 30, atol=0.1)


def shown_and_gone(scene: SceneSettings) -> tuple[np.ndarray, Track]:
    """How far each pixel of a frame differs from the same table without pen and hand, and the track."""
    track = make_track(3)
    track = replace(track, visible=np.arange(3) < 1)
    shown, _, gone = (picture.astype(int) for picture in pictures(track, scene, seed=3))
    return np.abs(shown - gone).max(axis=2), track


@pytest.mark.parametrize("pen", ["clear", "marker", "stick", "stylus"])
def test_every_pen_ends_at_the_tip_and_shows_nothing_beyond_it(pen: str) -> None:
    changed, track = shown_and_gone(replace(CALM, pen=pen, hand="none"))
    rows, columns = np.nonzero(changed > 24)
    along = np.stack([columns, rows], 1) - track.tip_px[0]
    along = along @ np.array([np.cos(track.shaft_rad[0]), np.sin(track.shaft_rad[0])])
    assert len(along) > 100 and -2.5 < along.min() < 2.5


def test_ink_stays_where_the_pen_was_down_and_a_dry_pen_leaves_none() -> None:
    track = make_track(20)
    left = replace(track, visible=np.arange(20) < 12)
    dry, wet = (pictures(left, replace(CALM, hand="none", ink_mm=ink), seed=1)[-1].astype(int) for ink in (0.0, 2.0))
    inked = np.abs(wet - dry).max(axis=2) > 40
    assert inked.sum() > 30
    rows, columns = np.nonzero(inked)
    places = np.stack([columns, rows], 1)[:, None] - track.tip_px[None, :12]
    assert np.hypot(places[..., 0], places[..., 1]).min(axis=1).max() < 12, "and nowhere else"


@pytest.mark.parametrize("changed", [{"clutter": 1.0}, {"second_hand": 1.0}, {"captions": 1.0}, {"look": "drawn"}])
def test_what_lies_about_changes_the_picture_by_its_seed_alone(changed: dict[str, object]) -> None:
    track = make_track(2)
    plain = pictures(track, seed=5)[1].astype(int)
    scene = settings_from(SceneSettings, {**vars(CALM), **changed})
    about, again, other = (pictures(track, scene, seed)[1].astype(int) for seed in (5, 5, 6))
    np.testing.assert_array_equal(about, again)
    assert (np.abs(about - plain).max(axis=2) > 20).mean() > 0.002
    assert (about != other).any()


def test_a_pen_without_a_hand_moves_by_itself() -> None:
    held, bare = (shown_and_gone(replace(CALM, hand=hand))[0] > 24 for hand in ("right", "none"))
    assert 0.005 < bare.mean() < 0.4 * held.mean()
