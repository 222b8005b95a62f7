"""Letters without ink: strokes that begin off their place, or end too late or too soon."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unwritten.handwriting.corpus import from_strokes
from unwritten.handwriting.writers import SimulatedWriter
from unwritten.simulation.misplacement import misplace_strokes, stretch_strokes
from unwritten.simulation.motion import Motion
from unwritten.simulation.pen import PenSettings
from unwritten.simulation.writing import perform_sample

HEIGHT_MM = 4.0


def performed(letter: str, seed: int = 0) -> Motion:
    """A print letter as a simulated writer performs it, with its hover and rest."""
    corpus = from_strokes([SimulatedWriter(seed, "standard").write_letter(letter, seed)], "simulated")
    return perform_sample(corpus, 0, HEIGHT_MM, PenSettings(), seed, "standard")


def steps(path: np.ndarray) -> np.ndarray:
    return np.diff(path, axis=0)


@settings(max_examples=30, deadline=None)
@given(
    letter=st.sampled_from("abdeghkpqt"),
    seed=st.integers(0, 200),
    spread=st.floats(0.05, 0.5),
    turn_rad=st.floats(0.0, 0.5),
)
def test_one_stroke_of_a_shot_is_scaled_and_turned_and_all_else_moves_as_before(
    letter: str, seed: int, spread: float, turn_rad: float
) -> None:
    motion = performed(letter, seed % 3)
    rng = np.random.default_rng(seed)
    changed = stretch_strokes(motion.xy_mm, motion.pen_down, motion.shot, 1.0, spread, turn_rad, rng)
    before, after = steps(motion.xy_mm), steps(changed)
    moved = np.abs(after - before).max(axis=1) > 1e-9
    assert moved.any() and not moved.all()
    first, last = np.flatnonzero(moved)[[0, -1]]
    stroke = slice(first, last + 1)
    assert motion.pen_down[first : last + 2].all()
    x_before, x_after = (part[stroke] @ (1.0, 1.0j) for part in (before, after))
    factor = np.vdot(x_before, x_after) / np.vdot(x_before, x_before)
    np.testing.assert_allclose(x_after, factor * x_before, atol=1e-9)
    assert abs(factor) != pytest.approx(1.0)
    if turn_rad == 0.0:
        assert factor.imag == pytest.approx(0.0, abs=1e-9)


def test_shots_draw_by_themselves_and_nothing_moves_without_a_draw() -> None:
    one = performed("a")
    count, shots = len(one), 60
    xy, down = np.tile(one.xy_mm, (shots, 1)), np.tile(one.pen_down, shots)
    shot = np.repeat(np.arange(shots), count)
    for change in (
        lambda share, rng: stretch_strokes(xy, down, shot, share, 0.2, 0.1, rng),
        lambda share, rng: misplace_strokes(xy, down, shot, HEIGHT_MM, share, 0.14, rng),
    ):
        np.testing.assert_array_equal(change(0.0, np.random.default_rng(0)), xy)
        parts = change(0.4, np.random.default_rng(0)).reshape(shots, count, 2)
        touched = np.array([not np.array_equal(part, one.xy_mm) for part in parts])
        assert 0.2 < touched.mean() < 0.6
        distinct = {part.tobytes() for part in parts[touched]}
        assert len(distinct) == touched.sum()


def test_a_motion_without_a_stroke_stays_as_it_is() -> None:
    xy, shot = np.cumsum(np.ones((200, 2)), axis=0), np.zeros(200, dtype=np.int64)
    nowhere = np.zeros(200, dtype=bool)
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(stretch_strokes(xy, nowhere, shot, 1.0, 0.3, 0.1, rng), xy)
    np.testing.assert_array_equal(misplace_strokes(xy, nowhere, shot, HEIGHT_MM, 1.0, 0.14, rng), xy)


@settings(max_examples=30, deadline=None)
@given(letter=st.sampled_from("abdeghkpqt"), seed=st.integers(0, 200), reach=st.floats(0.05, 0.4))
def test_after_one_corner_of_a_shot_the_path_is_shifted_one_way_and_the_shift_fades(
    letter: str, seed: int, reach: float
) -> None:
    motion = performed(letter, seed % 3)
    rng = np.random.default_rng(seed)
    changed = misplace_strokes(motion.xy_mm, motion.pen_down, motion.shot, HEIGHT_MM, 1.0, reach, rng)
    off = np.hypot(*(changed - motion.xy_mm).T)
    if not off.any():
        return  # a letter without a corner
    largest = int(off.argmax())
    assert (np.diff(off[: largest + 1]) >= -1e-9).all() and (np.diff(off[largest:]) <= 1e-9).all()
    assert largest - np.flatnonzero(off)[0] <= 16, "the pen is where it goes on from within a twelfth of a second"
    assert off[0] == 0.0
    direction = (changed - motion.xy_mm)[off > 1e-9] / off[off > 1e-9, None]
    np.testing.assert_allclose(direction, np.broadcast_to(direction[0], direction.shape), atol=1e-6)


def test_shifts_reach_as_far_as_asked_and_rather_upwards() -> None:
    one, reach, shots = performed("a"), 0.14, 400
    xy, down = np.tile(one.xy_mm, (shots, 1)), np.tile(one.pen_down, shots)
    shot = np.repeat(np.arange(shots), len(one))
    changed = misplace_strokes(xy, down, shot, HEIGHT_MM, 1.0, reach, np.random.default_rng(1))
    off = (changed - xy).reshape(shots, len(one), 2)
    largest = off[np.arange(shots), np.hypot(off[..., 0], off[..., 1]).argmax(axis=1)]
    assert largest[:, 0].std() == pytest.approx(reach * HEIGHT_MM, rel=0.15)
    assert largest[:, 1].mean() == pytest.approx(reach * HEIGHT_MM / 2, rel=0.25)
