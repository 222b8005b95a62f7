"""Claims about the learned nib detector: it sees pens that it was never shown, and its file is small and checked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from unwritten.errors import UnwrittenError
from unwritten.files import project_root
from unwritten.simulation.scene import SceneSettings, render
from unwritten.studies.conditions import Condition, make_truth
from unwritten.tracking.detector import NibDetector, peak_of


def test_the_peak_of_a_heatmap_is_found_between_its_cells() -> None:
    y, x = np.mgrid[:20, :30]
    heat = np.exp(-((x - 11.3) ** 2 + (y - 7.8) ** 2) / 2)
    peak, weight = peak_of(heat / heat.sum())
    assert peak == pytest.approx([11.3, 7.8], abs=0.15)
    assert 0.8 < weight < 1


@pytest.mark.parametrize("pen", ["light", "pencil", "brush"])
def test_the_shipped_weights_find_the_tip_in_most_frames(pen: str) -> None:
    detector, errors = NibDetector(), []
    for seed in range(4):
        rng = np.random.default_rng([31, seed])
        truth = make_truth(Condition(pen, size=(270, 480), rate_hz=5.0), rng)
        for frame, tip in zip(render(truth, SceneSettings(pen=pen), rng), truth.tip_px, strict=True):  # type: ignore[arg-type]
            errors.append(np.hypot(*(detector.find(frame.image).tip - tip)) / truth.diagonal_px)
    assert np.mean(np.array(errors) < 0.01) > 0.8


def test_the_weights_are_smaller_than_a_megabyte_and_missing_ones_are_named(tmp_path: Path) -> None:
    assert (project_root() / "checkpoints" / "nib.pt").stat().st_size < 1_000_000
    with pytest.raises(UnwrittenError, match=r"none\.pt"):
        NibDetector(tmp_path / "none.pt")
