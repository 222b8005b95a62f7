"""Scores of wild footage: what counts as found, as claimed, and as rightly left alone."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from unwritten.media import write_video
from unwritten.studies.wild import frames_of, judge, main, read_wild_marks, told_first, total
from unwritten.tracking import TrackerSettings
from unwritten.types import Track

HEADER = "clip,frame,width,height,x,y,kind,precision_px\n"


def standing(x: float, y: float, confidence: float, visible: bool = True) -> Track:
    count = 5
    return Track(
        time_s=np.arange(count) / 10,
        tip_px=np.tile([x, y], (count, 1)),
        visible=np.full(count, visible),
        confidence=np.full(count, confidence),
        shot=np.zeros(count, int),
        shaft_rad=np.zeros(count),
        contact=np.zeros(count),
        size_px=(300.0, 400.0),
    )


def marks(tmp_path: Path, *rows: str):
    path = tmp_path / "tips.csv"
    path.write_text(HEADER + "\n".join(rows) + "\n")
    return read_wild_marks(path)["a.mp4"]


def test_a_tip_is_found_within_two_percent_of_the_diagonal_or_the_precision_of_its_mark(tmp_path):
    looked_at = marks(tmp_path, "a.mp4,0,300,400,100,100,tip,2", "a.mp4,1,300,400,100,100,tip,20")
    score = judge("a.mp4", standing(109, 100, 0.95), looked_at)  # 2 % of 500 px are 10
    assert (score.tips, score.found, score.found_sure) == (2, 2, 2)
    score = judge("a.mp4", standing(111, 100, 0.95), looked_at)
    assert (score.found, score.claimed, score.claimed_right) == (1, 2, 1)
    score = judge("a.mp4", standing(111, 100, 0.5), looked_at)
    assert (score.found, score.claimed) == (1, 0)


def test_a_frame_without_a_tip_is_rejected_only_where_nothing_is_shown(tmp_path):
    empty = marks(tmp_path, "a.mp4,3,300,400,,,none,")
    assert judge("a.mp4", standing(1, 1, 0.0, visible=False), empty).rejected == 1
    wrong = judge("a.mp4", standing(1, 1, 0.95), empty)
    assert (wrong.rejected, wrong.claimed, wrong.claimed_right) == (0, 1, 0)
    assert total([wrong, wrong]).claimed == 2


def test_frames_are_cut_to_what_was_marked_and_the_command_scores_them(tmp_path, capsys):
    picture = np.full((64, 96, 3), 200, np.uint8)
    picture[:, 48:] = 30
    write_video(tmp_path / "a.mp4", [picture] * 6, fps=10)
    (first, *_) = frames_of(tmp_path / "a.mp4", (48, 64))
    assert first.image.shape == (64, 48, 3) and first.image[:, :44].min() > 150
    (tmp_path / "tips.csv").write_text(HEADER + "a.mp4,2,48,64,,,none,\n")
    assert main([str(tmp_path / "tips.csv"), "--clips", str(tmp_path), "--json"]) == 0
    (clip, everything) = json.loads(capsys.readouterr().out)
    assert clip["without"] == clip["rejected"] == 1 and everything["clip"] == "all"


def test_the_first_mark_is_told_and_the_later_ones_are_asked(tmp_path):
    write_video(tmp_path / "a.mp4", [np.full((64, 96, 3), 200, np.uint8)] * 6, fps=10)
    looked_at = marks(tmp_path, "a.mp4,1,96,64,,,none,", "a.mp4,2,96,64,30,20,tip,2", "a.mp4,5,96,64,31,20,tip,2")
    settings, rest = told_first(tmp_path / "a.mp4", looked_at)
    assert settings.tip == pytest.approx((30, 20, 0.2)) and rest.frame.tolist() == [5]
    empty = marks(tmp_path, "a.mp4,3,96,64,,,none,")
    assert told_first(tmp_path / "a.mp4", empty) == (TrackerSettings(), empty)


@pytest.mark.parametrize(
    ("content", "said"), [("clip,frame\na.mp4,0\n", "no table of marks"), (None, "cannot be read")]
)
def test_what_is_no_table_of_marks_is_one_line(tmp_path, capsys, content, said):
    path = tmp_path / "tips.csv"
    if content is not None:
        path.write_text(content)
    assert main([str(path), "--clips", str(tmp_path)]) == 1
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "tips.csv" in line and said in line
