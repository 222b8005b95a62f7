"""Claims about the generality benchmark: its truth is sound, a miss is a miss, and plain scenes are tracked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from unwritten.config import settings_from
from unwritten.simulation.scene import SceneSettings
from unwritten.studies.conditions import CONDITIONS, make_truth
from unwritten.studies.generality import Result, error_shares, markdown, measure


@pytest.mark.parametrize("condition", CONDITIONS, ids=lambda condition: condition.name)
def test_the_true_tip_stays_in_the_picture_and_the_settings_exist(condition) -> None:  # type: ignore[no-untyped-def]
    settings_from(SceneSettings, condition.scene)
    for seed in range(4):
        truth = make_truth(condition, np.random.default_rng(seed))
        assert np.all((truth.tip_px > 0) & (truth.tip_px < truth.size_px))
        assert np.all(np.diff(truth.time_s) > 0)
        speed = np.hypot(*np.diff(truth.tip_px, axis=0).T) / np.diff(truth.time_s) / truth.diagonal_px
        assert 0.05 < np.percentile(speed, 90) < 1.0  # diagonals a second: a hand writes, it does not jump
        assert 0 < truth.contact.mean() < 1
    assert truth.shot.max() == (condition.letters - 1 if condition.joined else 0)


def test_a_frame_without_a_tip_is_a_miss() -> None:
    truth = make_truth(CONDITIONS[0], np.random.default_rng(0))
    assert np.all(error_shares(truth, truth) == 0)
    blind = replace(truth, visible=np.zeros(len(truth), bool))
    assert np.all(np.isinf(error_shares(truth, blind)))
    beside = replace(truth, tip_px=truth.tip_px + np.array([0.02 * truth.diagonal_px, 0]))
    assert error_shares(truth, beside) == pytest.approx(0.02)


def test_known_failures_stand_out_in_the_table() -> None:
    table = markdown([Result("good", 2, 10, 0.95, 1.0, 0.002, 0.9), Result("bad", 2, 10, 0.5, 0.0, 1.0, 0.0)])
    good, bad = table.splitlines()[2:]
    assert "| 95.0 % |" in good and "0.20 %" in good
    assert "**50.0 %**" in bad and "| - |" in bad


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dark nib", "left hand", "camera turned by 180°", "noise", "640x480, squashed 27:64"])
def test_the_tracker_follows_a_dark_nib_under_these_conditions(name: str) -> None:
    condition = next(condition for condition in CONDITIONS if condition.name == name)
    assert measure(condition, 2, 11).within >= 0.9
