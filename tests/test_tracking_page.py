"""The page's frame: what a moving camera does to the picture is taken out, and a still camera changes nothing."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unwritten.tracking.page import PageEye
from unwritten.tracking.planes import planes_of_frame
from unwritten.tracking.table import COLUMNS, PAGE_COLUMNS, read_track_csv, write_track_csv
from unwritten.types import Frame, Track

_SIZE = (640, 480)


def _page() -> np.ndarray:
    """A page with print on it, larger than the picture."""
    rng = np.random.default_rng(3)
    page = np.full((960, 1280, 3), 225, np.uint8)
    for x, y in rng.uniform((60, 60), (1200, 900), (220, 2)).astype(int):
        cv2.putText(page, chr(int(rng.integers(65, 90))), (int(x), int(y)), cv2.FONT_HERSHEY_SIMPLEX, 0.8, (60,) * 3, 2)
    return page


def _views(shifts: np.ndarray, zooms: np.ndarray, turns_rad: np.ndarray) -> tuple[list[Frame], np.ndarray]:
    """Frames of a camera that moves over the page, and the matrices ``[T, 2, 3]`` from page to picture."""
    page, matrices, frames = _page(), [], []
    for index, (shift, zoom, turn) in enumerate(zip(shifts, zooms, turns_rad, strict=True)):
        matrix = cv2.getRotationMatrix2D((640, 480), float(np.degrees(turn)), float(zoom))
        matrix[:, 2] += shift - (320, 240)
        matrices.append(matrix)
        image = cv2.warpAffine(page, matrix, _SIZE, flags=cv2.INTER_LINEAR, borderValue=(225,) * 3)
        frames.append(Frame(image, index / 25))
    return frames, np.array(matrices)


def _on_page(frames: list[Frame], tips_px: np.ndarray) -> np.ndarray | None:
    """The tips on the page, pixels of the first frame."""
    eye = PageEye()
    for frame in frames:
        planes = planes_of_frame(frame, 1101.5)
        eye.look(planes, "alike")
    found = eye.to_page(np.arange(len(frames)), (tips_px + 0.5) * planes.scale - 0.5)
    return None if found is None else (found + 0.5) / planes.scale - 0.5


def _project(matrices: np.ndarray, point: np.ndarray) -> np.ndarray:
    return matrices[:, :, :2] @ point + matrices[:, :, 2]


@settings(max_examples=8, deadline=None)
@given(st.floats(-3, 3), st.floats(-3, 3), st.floats(0.996, 1.004), st.floats(-0.004, 0.004))
def test_a_point_of_the_page_stays_where_it_is_however_the_camera_moves(dx, dy, zoom, turn) -> None:
    steps = np.arange(24.0)
    if abs(dx) + abs(dy) < 1:
        dx = 2.0
    frames, matrices = _views(steps[:, None] * (dx, dy), zoom**steps, turn * steps)
    seen = _project(matrices, np.array([650.0, 470.0]))
    found = _on_page(frames, seen)
    assert found is not None
    assert np.hypot(*(found - found[0]).T).max() < 1.5 and np.hypot(*np.ptp(seen, axis=0)) > 8


def test_a_camera_that_stands_still_changes_nothing_though_a_hand_moves() -> None:
    frames, matrices = _views(np.zeros((20, 2)), np.ones(20), np.zeros(20))
    for index, frame in enumerate(frames):
        cv2.circle(frame.image, (150 + 14 * index, 260), 90, (180, 130, 100), -1)
    assert _on_page(frames, _project(matrices, np.array([650.0, 470.0]))) is None


def test_a_page_without_anything_on_it_gives_no_motion() -> None:
    blank = [Frame(np.full((480, 640, 3), 200, np.uint8), index / 25) for index in range(10)]
    assert _on_page(blank, np.full((10, 2), 100.0)) is None


@pytest.mark.parametrize("moves", [False, True])
def test_a_track_keeps_its_place_on_the_page_in_its_table(tmp_path, moves) -> None:
    count = 6
    tip = np.random.default_rng(0).uniform(0, 100, (count, 2)).round(3)
    track = Track(
        time_s=np.arange(count) / 25,
        tip_px=tip,
        visible=np.arange(count) != 2,
        confidence=np.full(count, 0.5),
        shot=np.zeros(count, int),
        shaft_rad=np.zeros(count),
        contact=np.zeros(count),
        size_px=(640.0, 480.0),
        page_px=tip + 7 if moves else None,
    )
    path = write_track_csv(track, tmp_path / "track.csv")
    header = path.read_text(encoding="utf-8").splitlines()[0]
    assert header == ",".join(COLUMNS + PAGE_COLUMNS if moves else COLUMNS)
    again = read_track_csv(path, (640.0, 480.0))
    assert np.allclose(again.tip_px[track.visible], tip[track.visible])
    if moves:
        assert again.page_px is not None and np.allclose(again.page_px[track.visible], tip[track.visible] + 7)
        assert np.allclose(again.along_writing()[track.visible], tip[track.visible] + 7)
    else:
        assert again.page_px is None
