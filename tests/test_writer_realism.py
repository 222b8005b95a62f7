"""What simulated words are compared with tablets' by: numbers of one written word."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from unwritten.studies.writer_realism import NUMBERS, main, word_numbers
from unwritten.types import Strokes


def test_numbers_of_a_word_are_those_of_its_strokes_and_not_of_its_hover() -> None:
    """Two strokes of 1 s at 10 mm/s, a lift of 0.5 s at 20 mm/s between them, and hover on either side."""
    time_s = np.arange(0, 3.5, 0.01)
    on_paper = ((time_s >= 0.5) & (time_s < 1.495)) | ((time_s >= 1.995) & (time_s < 2.995))
    speed = np.where(on_paper, 10.0, 20.0)
    x_mm = np.concatenate([[0.0], np.cumsum(speed[1:] * 0.01)])
    strokes = Strokes(
        time_s, np.stack([x_mm, np.zeros_like(x_mm)], axis=1), on_paper, label="an", writer="w", source="s"
    )
    numbers = dict(zip(NUMBERS, word_numbers(strokes), strict=True))
    assert numbers["seconds a letter"] == pytest.approx(2.5 / 2, abs=0.01)
    assert numbers["pen-up share of time"] == pytest.approx(0.5 / 2.5, abs=0.01)
    assert numbers["lifts a letter"] == 0.5
    assert numbers["one lift, s"] == pytest.approx(0.5, abs=0.01)
    assert numbers["speed on paper, mm/s"] == pytest.approx(10.0)
    assert numbers["its coefficient of variation"] == pytest.approx(0.0, abs=1e-6)
    assert numbers["speed in the air, mm/s"] == pytest.approx(20.0)
    assert numbers["width per letter, mm"] == pytest.approx(15.0, abs=0.3)


def test_the_table_has_a_row_a_number_and_simulated_speeds_near_those_of_tablets(
    unipen: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main([str(unipen / "words_with_hover.npz"), "--every", "200"])
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()]
    assert [row[0] for row in rows[2:]] == list(NUMBERS)
    on_paper = next(np.array(row[1:], dtype=float) for row in rows if row[0] == "speed on paper, mm/s")
    assert (np.abs(np.log(on_paper[1::2] / on_paper[::2])) < 0.25).all()
