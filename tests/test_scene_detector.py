"""Claims about the learned nib detector: it sees pens that it was never shown, and its file is small and checked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from unwritten.errors import UnwrittenError
from unwritten.files import project_root
from unwritten.simulation.scene import SceneSettings, render
from unwritten.studies.conditions import Condition, make_truth
from unwritten.tracking.detector import NibDetector, peaks_of


def test_the_peaks_of_a_heatmap_is_found_between_its_cells() -> None:
    y, x = np.mgrid[:20, :30]
    heat = np.exp(-((x - 11.3) ** 2 + (y - 7.8) ** 2) / 2)
    peaks, weights = peaks_of(heat / heat.sum(), 1)
    assert peaks[0] == pytest.approx([11.3, 7.8], abs=0.15)
    assert 0.8 < weights[0] < 1


def test_two_peaks_of_a_heatmap_are_found_in_the_order_of_their_weight() -> None:
    y, x = np.mgrid[:20, :30]
    heat = sum(w * np.exp(-((x - cx) ** 2 + (y - cy) ** 2) / 2) for w, cx, cy in ((1, 6, 7), (2, 22, 12)))
    peaks, weights = peaks_of(heat / heat.sum(), 6)
    assert peaks[:2] == pytest.approx(np.array([[22, 12], [6, 7]]), abs=0.15)
    assert weights[0] > 1.8 * weights[1] and (weights[2:] < 0.1).all() and weights.sum() <= 1


@pytest.mark.parametrize("pen", ["light", "pencil", "brush"])
def test_the_shipped_weights_find_the_tip_in_most_frames(pen: str) -> None:
    detector, errors = NibDetector(), []
    for seed in range(4):
        rng = np.random.default_rng([31, seed])
        truth = make_truth(Condition(pen, size=(270, 480), rate_hz=5.0), rng)
        for frame, tip in zip(render(truth, SceneSettings(pen=pen), rng), truth.tip_px, strict=True):  # type: ignore[arg-type]
            errors.append(np.hypot(*(detector.find(frame.image).tip[0] - tip)) / truth.diagonal_px)
    assert np.mean(np.array(errors) < 0.01) > 0.8


def test_the_weights_are_smaller_than_three_megabytes_and_missing_ones_are_named(tmp_path: Path) -> None:
    assert (project_root() / "checkpoints" / "nib.pt").stat().st_size < 3_000_000
    with pytest.raises(UnwrittenError, match=r"none\.pt"):
        NibDetector(tmp_path / "none.pt")
