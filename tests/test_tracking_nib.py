"""The nib in drawn pictures: found by itself, to a fraction of a pixel, and never where there is none."""

from __future__ import annotations

import logging
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from unwritten.config import settings_from
from unwritten.errors import UsageError
from unwritten.tracking import TrackerSettings, read_track_csv, track_frames, write_track_csv
from unwritten.tracking.refine import refine
from unwritten.tracking.shots import ShotFinder, similarity
from unwritten.types import Frame

_PAPER, _SKIN, _NIB, _SHAFT = (225, 222, 214), (176, 128, 96), (18, 18, 20), (205, 200, 190)
_NIB_ONLY = TrackerSettings(kind="nib", hand="right", mirrored=False)


def _scene(
    tip: tuple[float, float], shaft_rad: float = -1.15, size: tuple[int, int] = (270, 480), ground: int = 0
) -> NDArray[np.uint8]:
    """A pen over paper with a hand about it, RGB; ``ground`` picks the table's grain."""
    scale = 8
    width, height = size
    unit = float(np.hypot(width, height)) / 551
    grain = np.random.default_rng(ground).integers(90, 170, (height // 12 + 1, width // 12 + 1, 1), np.uint8)
    image = np.full((height, width, 3), _PAPER, np.uint8)
    top = height // 4
    table = cv2.resize(grain, (width, height), interpolation=cv2.INTER_CUBIC)[..., None]
    image[:top] = (table * np.array([1.0, 0.8, 0.55]))[:top].astype(np.uint8)
    big = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_NEAREST)
    along, across = np.array([np.cos(shaft_rad), np.sin(shaft_rad)]), np.array([-np.sin(shaft_rad), np.cos(shaft_rad)])

    def shape(points: list[tuple[float, float]], colour: tuple[int, int, int]) -> None:
        places = [np.array(tip) + 0.5 + unit * (u * along + v * across) for u, v in points]
        cv2.fillPoly(big, [np.rint(np.array(places) * scale).astype(np.int32)], colour)

    shape([(40, -60), (150, -90), (190, 90), (60, 70), (35, 20)], _SKIN)
    shape([(34, -6), (34, 6), (230, 6), (230, -6)], _SHAFT)
    shape([(0, -2.2), (0, 2.2), (36, 6), (36, -6)], _NIB)
    return cv2.resize(big, (width, height), interpolation=cv2.INTER_AREA)


def _frames(tips: NDArray[np.float64], **options: object) -> list[Frame]:
    return [Frame(_scene((x, y), **options), index / 30) for index, (x, y) in enumerate(tips)]  # type: ignore[arg-type]


def _loop(count: int) -> NDArray[np.float64]:
    angle = np.linspace(0, 2 * np.pi, count)
    return np.stack([120 + 18 * np.cos(angle), 300 + 22 * np.sin(angle)], 1)


@pytest.mark.parametrize("turn_deg", [0, 90, 180, 270])
def test_the_tip_is_found_from_any_side(turn_deg: int) -> None:
    tips = _loop(12)
    frames = _frames(tips)
    turns = turn_deg // 90
    width, height = 270, 480
    for _ in range(turns):
        tips = np.stack([tips[:, 1], width - 1 - tips[:, 0]], 1)
        width, height = height, width
    turned = [Frame(np.ascontiguousarray(np.rot90(frame.image, turns)), frame.time_s) for frame in frames]
    track = track_frames(turned, _NIB_ONLY)
    assert track.visible.all() and track.size_px == (width, height)
    error = 100 * np.hypot(*(track.tip_px - tips).T) / track.diagonal_px
    assert np.median(error) < 0.15 and error.max() < 0.3


def test_pixels_that_are_not_square_make_no_difference() -> None:
    tips = _loop(8)
    frames = _frames(tips)
    squashed = [
        Frame(cv2.resize(frame.image, (640, 480), interpolation=cv2.INTER_LINEAR), frame.time_s, 27 / 64)
        for frame in frames
    ]
    straight, squeezed = track_frames(frames, _NIB_ONLY), track_frames(squashed, _NIB_ONLY)
    assert squeezed.size_px == pytest.approx((270, 480))
    np.testing.assert_allclose(squeezed.tip_px, straight.tip_px, atol=0.6)


def test_the_tip_lies_on_the_axis_to_a_fraction_of_a_pixel() -> None:
    for x in (135.0, 135.25, 135.5, 135.75):
        fine = cv2.cvtColor(_scene((2 * x + 0.5, 600.3), size=(540, 960)), cv2.COLOR_RGB2GRAY)
        found = refine(fine, np.array([2 * x + 3.0, 603.0]), np.array([np.cos(-1.3), np.sin(-1.3)]), 0.22)
        assert found is not None
        assert np.hypot(*(found.tip - (2 * x + 0.5, 600.3))) < 0.8
        assert abs(np.arctan2(found.axis[1], found.axis[0]) + 1.15) < 0.03


def test_black_frames_are_not_seen_and_belong_to_the_shot_before() -> None:
    first, second = _frames(_loop(10)), _frames(_loop(10) + np.array([40, 30]), shaft_rad=-0.9, ground=3)
    black = np.zeros((480, 270, 3), np.uint8)
    images = [*(f.image for f in first), black, black, *(f.image for f in second)]
    track = track_frames([Frame(image, index / 30) for index, image in enumerate(images)], _NIB_ONLY)
    assert track.visible.tolist() == [True] * 10 + [False] * 2 + [True] * 10
    assert track.shot.tolist() == [0] * 12 + [1] * 10


def test_a_cut_without_black_frames_is_found_where_it_is() -> None:
    images = [
        f.image for f in (*_frames(_loop(10)), *_frames(_loop(10) + np.array([40, 30]), shaft_rad=-0.9, ground=3))
    ]
    finder = ShotFinder(TrackerSettings())
    for image in images:
        finder.add(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY))
    assert finder.shots()[0].tolist() == [0] * 10 + [1] * 10


def test_a_flash_of_light_is_no_cut() -> None:
    image = cv2.cvtColor(_scene((120, 300)), cv2.COLOR_RGB2GRAY)
    assert similarity(image, (image * 0.6).astype(np.uint8)) > 0.95
    finder = ShotFinder(TrackerSettings())
    for gain in (1.0, 1.0, 0.75, 1.0, 1.0):
        finder.add((image * gain).astype(np.uint8))
    assert not finder.shots()[0].any()


def test_a_single_black_frame_in_a_take_starts_no_shot() -> None:
    frames = [frame.image for frame in _frames(_loop(40)[:12])]
    frames[6] = np.zeros_like(frames[6])
    track = track_frames([Frame(image, index / 30) for index, image in enumerate(frames)], _NIB_ONLY)
    assert not track.shot.any() and not track.visible[6] and track.visible.sum() == 11


def _paper() -> NDArray[np.uint8]:
    return np.full((480, 270, 3), _PAPER, np.uint8)


def _noise() -> NDArray[np.uint8]:
    return np.random.default_rng(0).integers(0, 255, (480, 270, 3), np.uint8)


def _lines() -> NDArray[np.uint8]:
    image = _paper()
    image[20:24] = image[-24:-20] = 30
    image[:, 20:24] = image[:, -24:-20] = 30
    return image


def _ball() -> NDArray[np.uint8]:
    return cv2.circle(_paper(), (130, 250), 40, (20, 20, 20), -1)


@pytest.mark.parametrize("image", [_paper(), _noise(), _lines(), _ball(), np.zeros((480, 270, 3), np.uint8)])
def test_no_pen_gives_an_empty_track_and_a_warning(image: NDArray[np.uint8], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        track = track_frames([Frame(image, index / 30) for index in range(8)], _NIB_ONLY, "clip.mp4")
    assert len(track) == 8 and not track.visible.any() and track.writing_rad is None
    assert np.isfinite(track.tip_px).all() and not track.confidence.any()
    assert "clip.mp4" in caplog.text


def test_one_frame_and_no_frame_are_tracks_too() -> None:
    one = track_frames(_frames(_loop(1)), _NIB_ONLY)
    assert len(one) == 1 and one.visible.all() and np.isfinite(one.contact).all()
    assert len(track_frames([], _NIB_ONLY)) == 0


def test_a_pen_that_comes_late_is_not_seen_before() -> None:
    frames = [Frame(_paper(), index / 30) for index in range(8)] + [
        Frame(frame.image, frame.time_s + 8 / 30) for frame in _frames(_loop(10))
    ]
    track = track_frames(frames, _NIB_ONLY)
    assert not track.visible[:8].any() and track.visible[8:].all()


def test_the_table_has_the_columns_of_the_contract(tmp_path: Path) -> None:
    frames = _frames(_loop(6))
    frames[3] = Frame(np.zeros_like(frames[3].image), frames[3].time_s)
    squashed = [Frame(frame.image, frame.time_s, 0.5) for frame in frames]
    track = track_frames(squashed, _NIB_ONLY)
    lines = write_track_csv(track, tmp_path / "t.csv").read_text().splitlines()
    assert lines[0] == "frame,time_s,x,y,visible,confidence,shot,contact"
    assert lines[4].split(",")[2:5] == ["", "", "0"] and len(lines) == 7
    back = read_track_csv(tmp_path / "t.csv", track.size_px, 0.5)
    np.testing.assert_allclose(back.tip_px[back.visible], track.tip_px[track.visible], atol=1e-3)
    assert back.visible.tolist() == track.visible.tolist() and back.shot.tolist() == track.shot.tolist()


def test_settings_refuse_what_they_do_not_know() -> None:
    with pytest.raises(UsageError, match="kind"):
        settings_from(TrackerSettings, {"kind": "eraser"})
    with pytest.raises(UsageError, match="no such setting"):
        settings_from(TrackerSettings, {"nibwidth": 1})
