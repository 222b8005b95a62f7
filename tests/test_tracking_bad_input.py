"""Two hands, single-frame shots, a clip cut mid-stroke, a pen that goes: partial tracks, never invented ones."""

from __future__ import annotations

import logging

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from unwritten.tracking import TrackerSettings, track_frames
from unwritten.types import Frame, Track

_SIZE = (270, 480)
_ONLY = TrackerSettings(kind="nib", hand="right", mirrored=False)


def _table(ground: int) -> NDArray[np.uint8]:
    """Paper with a grained table above it."""
    width, height = _SIZE
    image = np.full((height, width, 3), (225, 222, 214), np.uint8)
    grain = np.random.default_rng(ground).integers(90, 170, (height // 12, width // 12, 1), np.uint8)
    table = cv2.resize(grain, _SIZE, interpolation=cv2.INTER_CUBIC)[..., None] * np.array([1.0, 0.8, 0.55])
    image[: height // 4] = table[: height // 4].astype(np.uint8)
    return image


def _pen(
    image: NDArray[np.uint8],
    tip: tuple[float, float],
    nib: tuple[int, int, int] = (18, 18, 20),
    shaft_rad: float = -1.1,
) -> NDArray[np.uint8]:
    """A hand about a white pen whose cone ends at ``tip``, drawn with sub-pixel corners."""
    along = np.array([np.cos(shaft_rad), np.sin(shaft_rad)])
    across = np.array([-along[1], along[0]])
    image = image.copy()
    for points, colour in (
        ([(40, -60), (150, -90), (190, 90), (60, 70), (35, 20)], (176, 128, 96)),
        ([(34, -6), (34, 6), (230, 6), (230, -6)], (205, 200, 190)),
        ([(0, -2.2), (0, 2.2), (36, 6), (36, -6)], nib),
    ):
        places = [np.array(tip) + u * along + v * across for u, v in points]
        cv2.fillPoly(image, [np.rint(np.array(places) * 16).astype(np.int32)], colour, cv2.LINE_AA, 4)
    return image


def _loop(count: int, centre: tuple[float, float] = (110.0, 300.0)) -> NDArray[np.float64]:
    angle = np.linspace(0, 2 * np.pi, count)
    return np.stack([centre[0] + 18 * np.cos(angle), centre[1] + 22 * np.sin(angle)], 1)


def _track(images: list[NDArray[np.uint8]], name: str = "clip.mp4") -> Track:
    return track_frames([Frame(image, index / 30) for index, image in enumerate(images)], _ONLY, name)


def _error(track: Track, tips: NDArray[np.float64]) -> NDArray[np.float64]:
    return 100 * np.hypot(*(track.tip_px - tips).T) / track.diagonal_px


def test_of_two_pens_one_is_followed_and_the_track_never_leaps_to_the_other() -> None:
    one, other = _loop(16, (70, 260)), _loop(16, (150, 420))[::-1]
    images = [_pen(_pen(_table(0), (x, y)), (u, v)) for (x, y), (u, v) in zip(one, other, strict=True)]
    track = _track(images)
    near = np.minimum(_error(track, one), _error(track, other))
    assert track.visible.all() and near.max() < 1.0
    assert (_error(track, one) < 1.0).all() or (_error(track, other) < 1.0).all()


def test_a_hand_without_a_pen_beside_the_pen_changes_nothing() -> None:
    tips = _loop(12, (80, 300))
    images = []
    for x, y in tips:
        image = _pen(_table(0), (x, y))
        cv2.ellipse(image, (225, 430), (40, 26), 30, 0, 360, (168, 120, 90), -1, cv2.LINE_AA)
        images.append(image)
    track = _track(images)
    assert track.visible.all() and _error(track, tips).max() < 1.0


def test_shots_of_a_single_frame_are_tracked_and_leave_the_others_alone() -> None:
    tips = np.vstack([_loop(9), [[150.0, 350.0]], _loop(9, (130, 330))])
    grounds, shafts = [0] * 9 + [4] + [7] * 9, [-1.1] * 9 + [-0.7] + [-1.3] * 9
    images = [
        _pen(_table(ground), (x, y), shaft_rad=shaft)
        for (x, y), ground, shaft in zip(tips, grounds, shafts, strict=True)
    ]
    track = _track(images)
    assert track.shot.tolist() == [0] * 9 + [1] + [2] * 9
    assert track.visible.all() and _error(track, tips).max() < 1.0


def test_a_clip_that_begins_and_ends_mid_stroke_is_tracked_to_its_ends() -> None:
    # Half a diagonal a second from the first frame to the last.
    tips = np.stack([np.linspace(60, 190, 16), np.linspace(250, 380, 16)], 1)
    track = _track([_pen(_table(0), (x, y)) for x, y in tips])
    assert track.visible.all() and _error(track, tips).max() < 1.0


def test_a_pen_that_leaves_is_not_followed_any_further() -> None:
    tips = _loop(12)
    track = _track([_pen(_table(0), (x, y)) for x, y in tips] + [_table(0)] * 10)
    assert track.visible[:12].all() and _error(track, np.vstack([tips, np.zeros((10, 2))]))[:12].max() < 1.0
    assert not track.visible[13:].any() and not track.confidence[13:].any()


def test_a_nib_that_a_finger_covers_is_masked_and_found_again() -> None:
    tips = _loop(30)
    images = [_pen(_table(0), (x, y)) for x, y in tips]
    for index in range(12, 22):
        x, y = (int(value) for value in tips[index])
        cv2.ellipse(images[index], (x, y - 6), (26, 30), 0, 0, 360, (176, 128, 96), -1, cv2.LINE_AA)
    track = _track(images)
    error = _error(track, tips)
    open_to_view = np.r_[0:12, 22:30]
    assert track.visible[open_to_view].all() and error[open_to_view].max() < 1.0
    assert ((error < 2.0) | ~track.visible | (track.confidence < 0.5)).all()


def test_shots_without_a_pen_stay_empty_beside_shots_with_one(caplog: pytest.LogCaptureFixture) -> None:
    black = np.zeros((_SIZE[1], _SIZE[0], 3), np.uint8)
    empty = np.full_like(black, 225)
    with caplog.at_level(logging.WARNING):
        track = _track([_pen(_table(0), (x, y)) for x, y in _loop(10)] + [black] * 2 + [empty] * 8)
    assert track.visible[:10].all() and not track.visible[10:].any()
    assert "shot 2" in caplog.text and "clip.mp4" in caplog.text


@pytest.mark.slow
def test_a_light_nib_is_found_by_the_learned_detector() -> None:
    from unwritten.studies.conditions import CONDITIONS
    from unwritten.studies.generality import measure

    for name in ("light nib", "pencil"):
        condition = next(condition for condition in CONDITIONS if condition.name == name)
        assert measure(condition, 2, 5).within >= 0.9


def test_a_convincing_dark_nib_is_rarely_shown_to_the_detector(monkeypatch: pytest.MonkeyPatch) -> None:
    import unwritten.tracking.learned as learned

    asked: list[float] = []
    ask = learned.LearnedEye._ask
    monkeypatch.setattr(learned.LearnedEye, "_ask", lambda eye, planes: asked.append(planes.time_s) or ask(eye, planes))
    tips = _loop(16)
    assert _error(_track([_pen(_table(0), (x, y)) for x, y in tips]), tips).max() < 1.0
    often = TrackerSettings().ask_every_s
    assert len(asked) <= 3
    asked.clear()
    _track([_table(0)] * 16)
    assert len(asked) > 3 and np.diff(asked).min() >= often - 1e-6
