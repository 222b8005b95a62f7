"""A clone reads real clips of the benchmark: nothing but what ``tests/data`` holds is needed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from unwritten.cli import main
from unwritten.media import read_audio
from unwritten.tracking import track


def read(capsys: pytest.CaptureFixture[str], clip: Path, *more: str) -> dict:
    """What ``unwritten read CLIP --json`` prints."""
    assert main(["read", str(clip), "--json", *more]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("modality", ["video", "av"])
def test_the_printed_word_stands_first_from_video_and_from_both(data, capsys, modality):
    answer = read(capsys, data / "above.mp4", "--modality", modality)
    assert answer["word"] == "above" and not answer["unsure"]
    assert answer["modality"] == modality and answer["candidates"][0][1] > 0.8


def test_the_cursive_letter_stands_first_of_all_letters(data, capsys):
    answer = read(capsys, data / "a-2c_muted.mp4", "--length", "1")
    assert answer["word"] == "a" and not answer["unsure"]


def test_the_sound_of_a_file_whose_parts_were_joined_byte_by_byte_is_read_whole(data, capsys):
    assert len(read_audio(data / "above.mp3")) / 16_000 == pytest.approx(9.982, abs=0.01)
    answer = read(capsys, data / "above.mp3", "--length", "5")
    assert answer["modality"] == "audio" and len(answer["word"]) == 5


def test_the_word_is_cut_where_its_letters_were_joined_and_its_tip_never_lost(data):
    found = track(data / "above.mp4")
    assert np.unique(found.shot).tolist() == [0, 1, 2, 3, 4]
    assert found.visible[found.confidence >= 0.9].all() and (found.confidence >= 0.9).mean() > 0.9


def test_the_ink_of_the_cursive_letter_is_one_stroke_that_runs_to_the_right(data):
    found = track(data / "a-2c_muted.mp4")
    assert found.writing_rad is not None
    along = found.tip_px @ np.array([np.cos(found.writing_rad), np.sin(found.writing_rad)])
    down = np.flatnonzero(found.visible & (found.contact > 0.5))
    assert len(down) > 20 and along[down[-1]] > along[down[0]]
