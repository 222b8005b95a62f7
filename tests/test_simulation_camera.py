"""Performing and filming: what the simulation may and may not do to a letter."""

from __future__ import annotations

import numpy as np
import pytest

from unwritten.errors import UsageError
from unwritten.features.canonical import canonical_xy
from unwritten.handwriting.writers import SimulatedWriter
from unwritten.simulation.camera import CameraSettings, film
from unwritten.simulation.clips import written_by
from unwritten.simulation.motion import MOTION_RATE_HZ
from unwritten.simulation.pen import PenSettings, perform
from unwritten.simulation.severity import severity
from unwritten.simulation.writing import LetterBank, join_shots, letter_heights_mm, perform_sample

QUIET = CameraSettings(
    direction_error_rad=0.0,
    shot_rotation_rad=0.0,
    shot_scale_spread=0.0,
    aspect_median=1.0,
    aspect_spread=0.0,
    shear=0.0,
    perspective=0.0,
    jitter_px=0.0,
    wander_px=0.0,
    blur_s=0.0,
    dropout_rate_hz=0.0,
    black_probability=0.0,
    jump_rate_hz=0.0,
)


@pytest.fixture(scope="module")
def corpus():
    return written_by([SimulatedWriter(number, "standard") for number in range(2)], ("above", "zebra"), 1, 0)


def test_the_same_seed_performs_and_films_the_same_and_another_does_not(corpus):
    heights = letter_heights_mm(corpus)

    def track(seed):
        motion = perform_sample(corpus, 0, heights[0], PenSettings(), seed)
        return film(motion, heights[0], CameraSettings(), np.random.default_rng(seed))

    np.testing.assert_array_equal(track(1).tip_px, track(1).tip_px)
    assert len(track(1)) != len(track(2)) or not np.array_equal(track(1).tip_px, track(2).tip_px)


def test_a_faultless_camera_gives_back_the_path_that_the_pen_took(corpus):
    heights = letter_heights_mm(corpus)
    motion = perform_sample(corpus, 3, heights[3], PenSettings(), 5)
    track = film(motion, heights[3], QUIET, np.random.default_rng(0))
    seen = canonical_xy(track)
    at = np.round(track.time_s * MOTION_RATE_HZ).astype(int)
    true = motion.xy_mm[at]
    fitted, residual, *_ = np.linalg.lstsq(np.column_stack((true, np.ones(len(true)))), seen, rcond=None)
    scale = fitted[0, 0]
    np.testing.assert_allclose(fitted[:2], [[scale, 0.0], [0.0, scale]], atol=1e-6 * abs(scale))
    assert scale > 0
    assert residual.max() < 1e-9


def test_every_letter_of_a_spelled_word_is_one_shot_and_keeps_the_writers_sizes(corpus):
    bank = LetterBank.of(corpus)
    writer = bank.writers()[0]
    chosen = bank.spell(writer, "above", np.random.default_rng(0))
    shots = [perform_sample(bank.corpus, index, 3.0, PenSettings(), index) for index in chosen]
    motion = join_shots(shots, "above")
    assert motion.shot[-1] == 4
    assert len(motion.letter_spans_s) == 5
    assert (np.diff(motion.letter_spans_s[:, 0]) > 0).all()
    assert len(motion) == sum(len(shot) for shot in shots)


def test_travel_between_strokes_takes_time_and_is_off_the_paper():
    first = np.stack((np.zeros(20), 1.5 - 1.5 * np.cos(np.linspace(0, np.pi, 20))), axis=1)
    second = np.stack((np.full(20, 4.0), 1.5 + 1.5 * np.cos(np.linspace(0, np.pi, 20))), axis=1)
    two_strokes = np.concatenate((first, second))
    xy_mm, pen_down = perform(
        two_strokes, np.ones(40, dtype=bool), 0.02, 1, 3.0, PenSettings(hover_probability=0.0), seed=3
    )
    between = (xy_mm[:, 0] > 1.0) & (xy_mm[:, 0] < 3.0)
    assert between.sum() >= 3
    assert not pen_down[between].any()


def test_black_frames_belong_to_the_shot_before_the_join(corpus):
    bank = LetterBank.of(corpus)
    chosen = bank.spell(bank.writers()[0], "above", np.random.default_rng(0))
    motion = join_shots([perform_sample(bank.corpus, i, 3.0, PenSettings(), i) for i in chosen], "above")
    settings = CameraSettings(black_probability=1.0, dropout_rate_hz=0.0)
    track = film(motion, 3.0, settings, np.random.default_rng(1))
    for first in np.flatnonzero(np.diff(track.shot)) + 1:
        assert not track.visible[first - 1]
        assert track.visible[first]


def test_each_severity_is_harder_than_the_one_before():
    mild, measured, harsh = (severity(name).camera for name in ("mild", "measured", "harsh"))
    for name in (
        "direction_error_rad",
        "shot_scale_spread",
        "aspect_spread",
        "jitter_px",
        "wander_px",
        "dropout_rate_hz",
    ):
        assert getattr(mild, name) < getattr(measured, name) < getattr(harsh, name)


def test_an_unknown_severity_is_named_with_those_that_exist():
    with pytest.raises(UsageError, match=r"gentle.*harsh.*measured.*mild"):
        severity("gentle")
