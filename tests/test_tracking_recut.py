"""Real shots cut anew: other orders, doubled letters, black joins, dropped frames, turned and mirrored shots, crops."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from unwritten.media import read_frames
from unwritten.tracking import TrackerSettings, track_frames
from unwritten.types import Frame

pytestmark = pytest.mark.slow

_ONLY = TrackerSettings(kind="nib", hand="right", mirrored=False)
_EVERY = 2
Shot = tuple[list[NDArray[np.uint8]], NDArray[np.float64]]  # square pictures and their tips


@pytest.fixture(scope="module")
def shots(sample_clips: Path, ground_truth: Path) -> dict[str, Shot]:
    """Each letter's shot of a real word in square pixels, every second frame, with the tips of each alone."""
    name = "words/standard/above_muted.mp4"
    marked = json.loads((ground_truth / "shots.json").read_text())[name]["shots"]
    size = (270, 480)
    pictures = [
        np.asarray(cv2.resize(frame.image, size, interpolation=cv2.INTER_AREA), np.uint8)
        for frame in read_frames(sample_clips / name)
    ]
    found = {}
    for shot in marked:
        chosen = pictures[shot["first_frame"] : shot["last_frame"] + 1 : _EVERY]
        track = track_frames([Frame(image, index / 30) for index, image in enumerate(chosen)], _ONLY)
        assert track.visible.all()
        found[shot["letter"]] = (chosen, np.asarray(track.tip_px, np.float64))
    return found


def _check(parts: Sequence[Shot], black: int = 0, within_percent: float = 1.0) -> None:
    """Track the parts joined and hold cuts and tips against what is known of them."""
    images, tips, shot = [], [], []
    for number, (pictures, truth) in enumerate(parts):
        if number:
            images += [np.zeros_like(pictures[0])] * black
            tips += [np.full(2, np.nan)] * black
            shot += [number - 1] * black
        images += pictures
        tips += list(truth)
        shot += [number] * len(pictures)
    track = track_frames([Frame(image, index / 30) for index, image in enumerate(images)], _ONLY)
    known = np.isfinite(np.array(tips)[:, 0])
    assert track.shot.tolist() == shot
    assert (track.visible == known).all()
    error = 100 * np.hypot(*(track.tip_px - np.array(tips))[known].T) / track.diagonal_px
    assert error.max() < within_percent


def _every(shot: Shot, step: int) -> Shot:
    return shot[0][::step], shot[1][::step]


def _turned(shot: Shot, matrix: NDArray[np.float64]) -> Shot:
    height, width = shot[0][0].shape[:2]
    pictures = [
        np.asarray(cv2.warpAffine(image, matrix, (width, height), borderMode=cv2.BORDER_REFLECT_101), np.uint8)
        for image in shot[0]
    ]
    return pictures, shot[1] @ matrix[:, :2].T + matrix[:, 2]


def test_any_order_of_letters(shots: dict[str, Shot]) -> None:
    _check([_every(shots[letter], 2) for letter in "eovba"])


def test_doubled_letters_are_two_shots(shots: dict[str, Shot]) -> None:
    _check([shots[letter] for letter in "ooeaa"])


@pytest.mark.parametrize("black", [1, 2, 3, 4])
def test_black_joins(shots: dict[str, Shot], black: int) -> None:
    _check([_every(shots[letter], 3) for letter in "vebbo"], black)


@pytest.mark.parametrize("step", [2, 3])
def test_hands_that_move_several_times_as_fast(shots: dict[str, Shot], step: int) -> None:
    _check([_every(shots[letter], step) for letter in "above"])


def test_mirrored_and_turned_shots(shots: dict[str, Shot]) -> None:
    mirror = np.array([[-1.0, 0.0, 269.0], [0.0, 1.0, 0.0]])
    turn = [cv2.getRotationMatrix2D((135, 240), angle, 1.0) for angle in (180, 12, -20)]
    a, b, o = (_every(shots[letter], 2) for letter in "abo")
    _check([a, _turned(a, mirror), _turned(b, turn[0]), _turned(b, turn[1]), _turned(o, turn[2])])


def test_closer_crops(shots: dict[str, Shot]) -> None:
    for letter in "ave":
        x, y = shots[letter][1].mean(0)
        _check([_turned(_every(shots[letter], 2), np.array([[1.6, 0, 135 - 1.6 * x], [0, 1.6, 240 - 1.6 * y]]))])


def test_a_covered_nib_is_masked_or_doubted_and_found_again(shots: dict[str, Shot]) -> None:
    pictures, tips = shots["a"]
    pictures = [image.copy() for image in pictures]
    covered = np.arange(20, 30)
    for index in covered:
        x, y = np.rint(tips[index]).astype(int)
        cv2.ellipse(pictures[index], (int(x) - 2, int(y) - 4), (18, 26), 20, 0, 360, (176, 140, 120), -1, cv2.LINE_AA)
    track = track_frames([Frame(image, index / 30) for index, image in enumerate(pictures)], _ONLY)
    error = 100 * np.hypot(*(track.tip_px - tips).T) / track.diagonal_px
    free = np.ones(len(tips), bool)
    free[covered] = False
    assert track.visible[free].all() and error[free].max() < 1.0
    assert ((error < 1.0) | ~track.visible | (track.confidence < 0.5)).all()
