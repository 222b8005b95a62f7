"""Smooth changes of a hand's shapes."""

import numpy as np
import pytest

from unwritten.simulation.warp import warp


def _grid(side_mm: float) -> np.ndarray:
    axis = np.linspace(-side_mm, side_mm, 60)
    return np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)


def test_displacement_has_the_asked_standard_deviation() -> None:
    grid = _grid(20.0)
    shot = np.zeros(len(grid), dtype=np.int64)
    moved = [warp(grid, shot, 2.0, 0.08, np.random.default_rng(seed)) - grid for seed in range(200)]
    assert np.std(moved) == pytest.approx(0.08 * 2.0, rel=0.1)


def test_letters_scale_with_their_hand() -> None:
    grid = _grid(3.0)
    shot = np.zeros(len(grid), dtype=np.int64)
    small = warp(grid, shot, 2.0, 0.1, np.random.default_rng(5))
    large = warp(grid * 3.0, shot, 6.0, 0.1, np.random.default_rng(5))
    np.testing.assert_allclose(large, small * 3.0, atol=1e-9)


def test_all_shots_are_bent_alike() -> None:
    grid = _grid(3.0)
    both = np.concatenate((grid, grid + 50.0))
    shot = np.repeat([0, 1], len(grid))
    moved = warp(both, shot, 2.0, 0.1, np.random.default_rng(6))
    np.testing.assert_allclose(moved[: len(grid)], moved[len(grid) :] - 50.0, atol=1e-9)
    assert np.abs(moved[: len(grid)] - grid).max() > 0.05
