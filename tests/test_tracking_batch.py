"""Many clips at once: names kept, what is done is not done again, and one bad clip does not stop the rest."""

from __future__ import annotations

import os
import re
from pathlib import Path

import cv2
import numpy as np
import pytest

from unwritten.cli import main
from unwritten.media import write_video
from unwritten.tracking import read_track_csv
from unwritten.tracking.ink import draw_svg, recover_ink, write_ink
from unwritten.tracking.overlay import draw_overlay
from unwritten.types import Frame, Track


def _clip(path: Path, frames: int = 4) -> None:
    """A small clip of a dark cone in a hand over paper."""
    images = []
    for index in range(frames):
        image = np.full((240, 136, 3), 225, np.uint8)
        x, y = 60 + 2 * index, 150
        hand = np.array([[x + 12, y - 30], [x + 60, y - 50], [x + 70, y + 20], [x + 22, y + 4]])
        cv2.fillPoly(image, [hand], (176, 128, 96))
        cv2.fillPoly(image, [np.array([[x, y], [x + 5, y - 12], [x + 10, y - 8]])], (18, 18, 20))
        images.append(image)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_video(path, images, np.arange(frames) / 30)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    clips = tmp_path / "clips"
    _clip(clips / "one.mp4")
    _clip(clips / "deeper" / "two.mp4")
    (clips / "broken.mp4").write_text("not a video")
    (clips / "notes.txt").write_text("no clip")
    return clips


def test_a_bad_clip_is_named_and_the_others_are_tracked(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["track", str(folder), "-o", str(out), "--kind", "nib"]) == 1
    said = capsys.readouterr()
    assert "broken.mp4" in said.err and "1 of 3" in said.err and "2 clips tracked" in said.out
    assert sorted(str(path.relative_to(out)) for path in out.rglob("*.*")) == ["deeper/two.csv", "one.csv"]
    assert len(read_track_csv(out / "one.csv")) == 4


def test_what_is_there_is_not_tracked_again_unless_asked(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "broken.mp4").unlink()
    out = tmp_path / "out"
    command = ["track", str(folder), "-o", str(out), "--kind", "nib"]
    assert main(command) == 0
    (out / "one.csv").write_text("mine")
    (out / "deeper/two.csv").unlink()
    assert main(command) == 0
    assert (out / "one.csv").read_text() == "mine" and len(read_track_csv(out / "deeper/two.csv")) == 4
    assert "1 there already" in capsys.readouterr().out
    # A clip that changed after its table was written is tracked again.
    later = (out / "one.csv").stat().st_mtime + 10
    os.utime(folder / "one.mp4", (later, later))
    assert main(command) == 0
    assert (out / "one.csv").read_text() != "mine"
    (out / "deeper/two.csv").write_text("mine")
    assert main([*command, "--again"]) == 0
    assert (out / "deeper/two.csv").read_text() != "mine"


def test_outputs_within_the_folder_are_no_clips(folder: Path) -> None:
    (folder / "broken.mp4").unlink()
    command = ["track", str(folder), "--overlay", str(folder / "seen"), "--kind", "nib"]
    assert main(command) == 0 and main(command) == 0
    assert not (folder / "seen/seen").exists() and len(list((folder / "seen").rglob("*.mp4"))) == 2


def test_links_that_go_round_in_a_circle_are_named_and_the_others_are_tracked(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "broken.mp4").unlink()
    (folder / "round.mp4").symlink_to("round.mp4")
    (folder / "deeper" / "up").symlink_to("..")
    assert main(["track", str(folder), "-o", str(tmp_path / "out")]) == 1
    assert (tmp_path / "out" / "one.csv").is_file() and (tmp_path / "out" / "deeper" / "two.csv").is_file()
    said = capsys.readouterr().err
    assert "round.mp4" in said and "Traceback" not in said


def test_clips_that_would_write_the_same_file_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for place in ("a", "b"):
        _clip(tmp_path / place / "x.mp4", 1)
    out = str(tmp_path / "out")
    assert main(["track", str(tmp_path / "a"), str(tmp_path / "b"), "-o", out]) == 2
    assert "same outputs" in capsys.readouterr().err


def _letters(count: int) -> Track:
    """Shots of one up and down stroke each, the last third of each with the pen up."""
    frames = 30
    time_s = np.arange(count * frames) / 30
    shot = np.repeat(np.arange(count), frames)
    phase = np.tile(np.linspace(0, 1, frames), count)
    tip = np.stack([300 + 40 * phase, 400 - 60 * np.sin(np.pi * phase)], 1)
    known = np.ones(len(shot), bool)
    contact = np.where(phase < 0.67, 0.95, 0.05)
    up = np.full(len(shot), -1.2)
    return Track(time_s, tip, known, known * 0.9, shot, up, contact, (480.0, 854.0), writing_rad=0.0)


def test_an_overlay_keeps_the_first_size_where_the_film_changes_its_own() -> None:
    sizes = [(90, 160), (90, 160), (180, 320), (45, 80)]
    frames = [Frame(np.full((*size, 3), 200, np.uint8), index / 30) for index, size in enumerate(sizes)]
    count = len(frames)
    track = Track(
        time_s=np.arange(count) / 30,
        tip_px=np.full((count, 2), 40.0),
        visible=np.ones(count, bool),
        confidence=np.ones(count),
        shot=np.zeros(count, int),
        shaft_rad=np.zeros(count),
        contact=np.ones(count),
        size_px=(160.0, 90.0),
    )
    assert [image.shape for image in draw_overlay(frames, track)] == [(90, 160, 3)] * count


def test_svg_ink_has_one_panel_per_shot_and_faint_travel(tmp_path: Path) -> None:
    for count in (1, 3):
        ink = recover_ink(_letters(count))
        text = draw_svg(ink)
        assert len(ink.panels) == count and text.count("#d7d7d7") == count - 1
        assert all(right == left for (_, right), (left, _) in zip(ink.panels[:-1], ink.panels[1:], strict=True))
        opacity = [float(value) for value in re.findall(r'stroke-opacity="([\d.]+)"', text)]
        assert min(opacity) < 0.3 and len(opacity) < len(ink.opacity)  # travel is faint, ink is not
        for left, right in ink.panels:
            inside = [(x[:, 0] >= left) & (x[:, 0] <= right) for x in (ink.start, ink.end)]
            assert (inside[0] == inside[1]).all() and (inside[0] & (ink.opacity > 0.9)).sum() >= 18
    path = write_ink(_letters(3), tmp_path / "ink.svg")
    assert path.read_text().startswith("<svg") and path.read_text().rstrip().endswith("</svg>")
