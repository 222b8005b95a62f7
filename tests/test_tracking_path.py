"""The path through a shot: chosen as a whole, joined with flow, without lag and with its corners."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from unwritten.studies.calibration import Sample, fit
from unwritten.tracking.confidence import calibrated
from unwritten.tracking.follow import follow
from unwritten.tracking.path import Sighting, choose, fuse, gaps
from unwritten.tracking.settings import TrackerSettings


def _sightings(tips: NDArray[np.float64], scores: NDArray[np.float64]) -> list[Sighting]:
    """One sighting a frame from positions ``[T, K, 2]`` and scores ``[T, K]``, with true flow between frames."""
    found = []
    for index, (places, values) in enumerate(zip(tips, scores, strict=True)):
        sighting = Sighting.of(
            [(value, *place, 0.0, -1.0, 0.2, 20.0, 8.0, 1.0) for place, value in zip(places, values, strict=True)]
        )
        if index + 1 < len(tips):
            sighting.flow[:] = tips[index + 1] - places
            sighting.flow_error[:] = 0.05
        found.append(sighting)
    return found


def _zig_zag(count: int = 120) -> NDArray[np.float64]:
    phase = np.abs((np.arange(count) / 12.0) % 2 - 1)
    return np.stack([np.arange(count) * 0.8, 30 * phase], 1)


def test_a_cap_that_looks_better_in_some_frames_does_not_win_the_shot() -> None:
    nib = _zig_zag(40)
    cap = nib + np.array([15.0, -180.0])
    scores = np.tile([3.0, -1.0], (40, 1))
    scores[10:14] = (1.0, 4.0)
    chosen = choose(_sightings(np.stack([nib, cap], 1), scores), TrackerSettings())
    assert (chosen == 0).all()


def test_frames_without_evidence_are_left_out_not_invented() -> None:
    nib = _zig_zag(30)[:, None]
    scores = np.full((30, 1), 3.0)
    scores[12:20] = -5.0
    chosen = choose(_sightings(nib, scores), TrackerSettings())
    assert (chosen[12:20] == -1).all() and (chosen[:12] == 0).all() and (chosen[20:] == 0).all()


def test_noise_shrinks_and_corners_stay() -> None:
    truth = _zig_zag()
    rng = np.random.default_rng(1)
    seen = truth + rng.normal(0, 0.4, truth.shape)
    flow = np.diff(truth, axis=0) + rng.normal(0, 0.06, (len(truth) - 1, 2))
    fused, deviation = fuse(seen, np.full(len(truth), 0.4), flow, np.full(len(truth) - 1, 0.1))
    off = np.hypot(*(fused - truth).T)
    corners = np.flatnonzero(np.abs(np.diff(truth[:, 1], 2)) > 1) + 1
    assert np.sqrt(np.mean(off**2)) < 0.6 * np.sqrt(np.mean(np.sum((seen - truth) ** 2, 1)))
    assert np.mean(off[corners]) < 1.3 * np.mean(off)
    # A moving average of the same strength would cut each corner by pixels.
    boxed = np.stack([np.convolve(seen[:, k], np.ones(7) / 7, "same") for k in range(2)], 1)
    assert np.mean(off[corners]) < 0.3 * np.mean(np.hypot(*(boxed - truth)[corners].T))
    assert (deviation < 0.4).all()


@settings(max_examples=25, deadline=None)
@given(st.floats(-200, 200), st.floats(-200, 200), st.integers(0, 1000))
def test_the_fused_path_moves_with_the_picture(dx: float, dy: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    seen, flow = rng.normal(0, 20, (20, 2)), rng.normal(0, 5, (19, 2))
    sigma, flow_sigma = rng.uniform(0.1, 1, 20), rng.uniform(0.1, 1, 19)
    here, _ = fuse(seen, sigma, flow, flow_sigma)
    there, _ = fuse(seen + np.array([dx, dy]), sigma, flow, flow_sigma)
    np.testing.assert_allclose(there, here + np.array([dx, dy]), atol=1e-4)


def test_smoothing_does_not_lag() -> None:
    truth = _zig_zag()
    reverse = slice(None, None, -1)
    rng = np.random.default_rng(2)
    seen = truth + rng.normal(0, 0.4, truth.shape)
    flow = np.diff(truth, axis=0)
    sigma, flow_sigma = np.full(len(truth), 0.4), np.full(len(truth) - 1, 0.1)
    forward, _ = fuse(seen, sigma, flow, flow_sigma)
    backward, _ = fuse(seen[reverse], sigma, -flow[reverse], flow_sigma)
    np.testing.assert_allclose(forward, backward[reverse], atol=1e-6)


def test_one_wrong_detection_does_not_pull_the_path() -> None:
    truth = _zig_zag(60)
    seen = truth.copy()
    seen[30] += (25.0, 10.0)
    fused, _ = fuse(seen, np.full(60, 0.2), np.diff(truth, axis=0), np.full(59, 0.15))
    assert np.hypot(*(fused - truth).T).max() < 0.5


def test_a_gap_keeps_to_the_line_between_its_ends() -> None:
    truth = np.stack([np.linspace(0, 50, 26), np.linspace(0, 20, 26)], 1)
    sigma, flow_sigma = np.full(26, 0.2), np.full(25, 0.15)
    sigma[10:15], flow_sigma[9:15] = np.inf, np.inf
    fused, deviation = fuse(truth, sigma, np.diff(truth, axis=0), flow_sigma)
    np.testing.assert_allclose(fused, truth, atol=0.2)
    assert deviation[12] > 5 * deviation[2]


@pytest.mark.parametrize(
    ("visible", "expected"),
    [([1, 0, 0, 1], [(1, 3)]), ([0, 1, 1, 0], []), ([1, 0, 1, 0, 1], [(1, 2), (3, 4)]), ([1, 1], [])],
)
def test_gaps_lie_between_frames_that_were_seen(visible: list[int], expected: list[tuple[int, int]]) -> None:
    assert gaps(np.array(visible, bool)) == expected


def _followed(tips: NDArray[np.float64], scores: NDArray[np.float64]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    sightings = _sightings(tips[:, None], scores[:, None])
    for before, here, after in zip(sightings, tips[:-1], tips[1:], strict=False):
        if np.hypot(*(after - here)) > 30:
            before.flow[:] = 0.0  # flow stays with what it sees
    found = follow(sightings, np.ones(len(tips) - 1, bool), np.arange(len(tips)) / 30, TrackerSettings())
    assert found is not None
    return found.visible, found.confidence


def test_a_path_that_leaps_away_and_back_shows_no_tip_there() -> None:
    tips = _zig_zag(60)
    tips[20:30] += (60.0, -150.0)
    visible, confidence = _followed(tips, np.full(60, 3.5))
    assert not visible[20:30].any() and visible[:20].all() and visible[30:].all()
    assert (confidence[visible] > 0.9 * confidence.max()).all()


def test_a_path_that_leaps_once_is_doubted_on_both_sides() -> None:
    tips = _zig_zag(60)
    tips[30:] += (60.0, -150.0)
    _, confidence = _followed(tips, np.full(60, 3.5))
    assert (confidence < 0.6).all()


def test_confidence_maps_rise_and_promise_no_more_than_was_seen() -> None:
    rng = np.random.default_rng(0)
    worth = np.linspace(0.05, 0.95, 40)
    samples = [
        Sample(np.full(20, value), np.where(rng.random(20) < value, 0.0, 0.1), "drawn") for value in np.repeat(worth, 4)
    ]
    knots = fit(samples, np.linspace(0, 1, 11).tolist())
    mapped = calibrated(worth, knots)
    assert (np.diff(mapped) >= 0).all() and np.abs(mapped - worth).mean() < 0.08
    assert calibrated(np.array([0.0]), knots)[0] == 0.0
    right = [Sample(np.full(5, 0.9), np.zeros(5), "few")] * 4
    assert fit(right, [0.9])[0][1] < 0.9  # four scenes of four are no certainty
