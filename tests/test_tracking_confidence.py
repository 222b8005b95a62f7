"""Confidence is a probability: of the frames said to be nine tenths sure, nine in ten are near enough."""

from __future__ import annotations

from collections.abc import Iterable

import cv2
import numpy as np
import pytest
from scipy.stats import binom, norm

from unwritten.studies.calibration import WITHIN, Sample, rendered
from unwritten.tracking.confidence import calibrated
from unwritten.tracking.refine import refine


def _claims(seeds: Iterable[int]) -> list[Sample]:
    """Scenes that no map was fitted on, those with a tip, with what is claimed as ``raw``."""
    samples = [rendered(seed) for seed in seeds]
    return [sample._replace(raw=calibrated(sample.raw)) for sample in samples if len(sample.raw)]


def _assert_sure_frames_are_near(samples: list[Sample], level: float, at_least: int) -> None:
    """Frames of one scene are alike, so scenes are what is counted: no more misses than chance allows at 1 in 100."""
    shares = [(sample.off <= WITHIN)[sample.raw >= level].mean() for sample in samples if (sample.raw >= level).any()]
    assert len(shares) >= at_least
    misses = int(np.ceil(len(shares) - np.sum(shares) - 1e-9))
    assert binom.sf(misses - 1, len(shares), 1 - level) > 0.01


def test_in_five_fresh_scenes_nineteen_of_twenty_frames_called_likely_are_near_the_tip() -> None:
    """A guard: these scenes were chosen because much is claimed in them; how true claims are is asked below."""
    samples = _claims((7017, 7019, 7032, 7050, 7058))
    near = np.concatenate([(sample.off <= WITHIN)[sample.raw >= 0.7] for sample in samples])
    assert len(near) >= 60 and near.mean() >= 0.95
    assert all((sample.off <= WITHIN)[sample.raw >= 0.9].all() for sample in samples)


@pytest.mark.parametrize("angle", [-1.3, 0.4])
def test_the_more_slowly_an_end_fades_the_further_from_the_true_tip_it_seems_to_end(angle: float) -> None:
    axis = np.array([np.cos(angle), np.sin(angle)])
    normal, tip = np.array([-axis[1], axis[0]]), np.array([250.0, 250.0])
    fade, short = [], []
    for half_width, blur in ((7.0, 1.0), (7.0, 3.0), (7.0, 5.0), (1.0, 3.0)):  # sharp, blurred, more blurred, thin
        picture = np.full((500, 500), 210, np.uint8)
        end, wide, far = half_width * normal, (half_width + 20) * normal, tip + 140 * axis
        cv2.fillConvexPoly(picture, np.rint([tip + end, far + wide, far - wide, tip - end]).astype(np.int32), 15)
        found = refine(np.asarray(cv2.GaussianBlur(picture, (0, 0), blur), np.uint8), tip, axis, 0.22)
        assert found is not None
        fade.append(found.fade)
        short.append(float((found.tip - tip) @ axis))
    assert fade[0] < 1.0 and fade[-1] > 6.0 and (np.diff(fade) > 1.0).all() and (np.diff(short) > 1.0).all()


@pytest.mark.slow
def test_claims_come_true_over_many_fresh_scenes() -> None:
    samples = _claims(range(7000, 7060))
    assert len(samples) >= 20
    for level in (0.7, 0.8, 0.9):
        _assert_sure_frames_are_near(samples, level, 2)
    claim = np.array([sample.raw.mean() for sample in samples])
    hit = np.array([(sample.off <= WITHIN).mean() for sample in samples])
    deviation = (claim - hit).sum() / np.sqrt((claim * (1 - claim)).sum())
    assert 2 * norm.sf(abs(deviation)) > 0.01
