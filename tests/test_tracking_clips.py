"""Real clips against tips marked by eye."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from unwritten.cli import main
from unwritten.studies.tracker_accuracy import errors_percent, read_marks, score_tips
from unwritten.tracking import TrackerSettings, track

_CLIPS = (
    "words/standard/above_muted.mp4",
    "letters/standard/a-1_muted.mp4",
    "letters/cursive/a-2c_muted.mp4",
    "letters/retrace/a-3r_muted.mp4",
)


@pytest.mark.parametrize("clip", _CLIPS)
def test_tips_lie_where_a_person_marked_them(clip: str, sample_clips: Path, ground_truth: Path) -> None:
    marks = read_marks(ground_truth / "pen_tip.csv")[clip]
    found = track(sample_clips / clip, TrackerSettings(hand="right", mirrored=False))
    errors = errors_percent(found, marks)
    scores = score_tips(errors, found.visible[marks.frame], marks.visible)
    assert scores.median < 0.25 and scores.p95 < 0.4
    assert scores.occlusion == 1.0
    sure = found.confidence[marks.frame] >= 0.9
    assert sure.sum() >= 10 and (errors[sure] <= 0.6).mean() >= 0.9
    shots = json.loads((ground_truth / "shots.json").read_text())
    first_frames = shots[clip]["first_frames"] if clip in shots else [0]
    assert np.flatnonzero(np.diff(found.shot, prepend=-1)).tolist() == first_frames
    views = json.loads((ground_truth / "view.json").read_text())["clips"]
    if clip in views:
        truth = np.arctan2(*views[clip]["writing_direction"][::-1])
        assert found.writing_rad is not None
        assert abs(np.degrees(np.angle(np.exp(1j * (found.writing_rad - truth))))) < 10


def test_the_track_and_the_ink_of_a_clip_are_written(sample_clips: Path, tmp_path: Path) -> None:
    clip = sample_clips / "letters/cursive/a-2c_muted.mp4"
    table, ink, drawing = tmp_path / "t.csv", tmp_path / "t.png", tmp_path / "t.svg"
    assert main(["track", str(clip), "-o", str(table), "--ink", str(ink)]) == 0
    assert main(["track", str(clip), "--ink", str(drawing), "--rotate", "-110"]) == 0
    assert len(table.read_text().splitlines()) == 58, "a header and one row for each of the 57 frames"
    picture = cv2.imread(str(ink), cv2.IMREAD_GRAYSCALE)
    assert 0.001 < (picture < 128).mean() < 0.5, "ink on an otherwise empty panel"
    assert drawing.read_text().startswith("<svg") and "<p" in drawing.read_text()


def test_a_file_that_is_no_video_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "notes.mp4"
    path.write_text("not a video")
    assert main(["track", str(path), "-o", str(tmp_path / "t.csv")]) == 1
    message = capsys.readouterr().err
    assert "notes.mp4" in message and len(message.strip().splitlines()) == 1


def test_nothing_to_write_is_bad_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["track", str(tmp_path / "clip.mp4")]) == 2
    assert "-o" in capsys.readouterr().err
