"""A hand can help: where the tip is in one frame, and it is followed from there in both directions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from unwritten.errors import UnwrittenError
from unwritten.tracking import TrackerSettings, track, track_frames
from unwritten.types import Frame, Track

_SIZE = (640, 360)


def _path(count: int) -> np.ndarray:
    phase = np.linspace(0, 2 * np.pi, count)
    return np.stack([320 + 120 * np.cos(phase), 180 + 60 * np.sin(2 * phase)], 1)


def _frames(tips: np.ndarray) -> list[Frame]:
    """Something that no pen looks like, a striped disc on cloth; its middle is called the tip."""
    rng = np.random.default_rng(1)
    cloth = cv2.GaussianBlur(rng.uniform(60, 200, (_SIZE[1], _SIZE[0])).astype(np.float32), (0, 0), 4)
    cloth = np.clip(128 + 4 * (cloth - cloth.mean()), 0, 255).astype(np.uint8)
    frames = []
    for index, (x, y) in enumerate(tips):
        image = np.repeat(cloth[..., None], 3, 2)
        for radius, shade in ((26, 250), (20, 20), (14, 240), (7, 30)):
            cv2.ellipse(
                image, (round(x * 8), round(y * 8)), (radius * 8, radius * 6), 20, 0, 360, (shade,) * 3, -1, 16, 3
            )
        frames.append(Frame(image, index / 30))
    return frames


def _off(found: Track, tips: np.ndarray) -> np.ndarray:
    return np.where(found.visible, np.hypot(*(found.tip_px - tips).T), np.inf)


@pytest.mark.parametrize("frame", [0, 35, 69])
def test_what_somebody_points_at_is_followed_to_both_ends(frame: int) -> None:
    tips = _path(70)
    settings = TrackerSettings(kind="nib", tip=(*tips[frame].tolist(), frame / 30))
    off = _off(track_frames(_frames(tips), settings), tips)
    assert np.median(off) < 2 and off.max() < 8


def test_without_the_hint_the_same_frames_show_no_such_tip() -> None:
    tips = _path(70)
    assert np.mean(_off(track_frames(_frames(tips), TrackerSettings(kind="nib")), tips) < 8) < 0.5


def test_a_hint_at_the_nib_leaves_the_exact_track_as_it_is(data: Path) -> None:
    clip = data / "a-2c_muted.mp4"
    alone = track(clip, TrackerSettings(kind="nib"))
    row = len(alone) // 2
    hint = (*alone.tip_px[row].tolist(), float(alone.time_s[row]))
    told = track(clip, TrackerSettings(kind="nib", tip=hint))
    both = alone.visible & told.visible
    assert both.sum() >= 0.95 * alone.visible.sum()
    assert np.hypot(*(alone.tip_px - told.tip_px)[both].T).max() < 0.003 * alone.diagonal_px


@pytest.mark.parametrize(("tip", "said"), [((5000.0, 10.0), "outside the picture"), ((10.0, 10.0, 99.0), "ends at")])
def test_a_hint_beside_the_clip_is_named(tip, said) -> None:
    with pytest.raises(UnwrittenError, match=said):
        track_frames(_frames(_path(4)), TrackerSettings(kind="nib", tip=tip), "clip.mp4")


@pytest.mark.parametrize("tip", [(1.0,), (1.0, 2.0, 3.0, 4.0), (float("nan"), 2.0)])
def test_a_hint_that_is_no_place_is_refused(tip) -> None:
    with pytest.raises(ValueError, match="tip is"):
        TrackerSettings(tip=tip)


@pytest.mark.parametrize("text", ["5", "a,b", "1,2@", "1,2,3", "-1,2"])
def test_the_command_names_what_a_tip_looks_like(text: str, data: Path) -> None:
    command = [sys.executable, "-m", "unwritten", "track", str(data / "a-2c_muted.mp4"), f"--tip={text}", "-o", "x.csv"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and "X,Y@SECONDS" in done.stderr
