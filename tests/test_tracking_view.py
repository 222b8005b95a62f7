"""Which way writing runs: right hands, left hands and mirrors, and what the user says."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from unwritten.tracking.ink import draw_png, draw_svg, recover_ink
from unwritten.tracking.settings import TrackerSettings
from unwritten.tracking.view import circular_median, writing_direction
from unwritten.types import Track

_TURN = np.radians(TrackerSettings().shaft_to_writing_deg)


def _letters() -> NDArray[np.float64]:
    """An "a" and an "n" in one line, y down, as a right-hander writes them."""
    angle = np.linspace(-0.3, -6.3, 40)
    bowl = np.stack([np.cos(angle), np.sin(angle)], 1)
    stem = np.stack([np.full(12, 1.05), np.linspace(-1, 1, 12)], 1)
    arch_angle = np.linspace(np.pi, 2 * np.pi, 20)
    arch = np.stack([3 + np.cos(arch_angle), np.sin(arch_angle)], 1)
    end = np.stack([np.full(12, 4.0), np.linspace(0, 1, 12)], 1)
    return 60 * np.concatenate([bowl, stem, np.stack([np.full(12, 2.0), np.linspace(-1, 1, 12)], 1), arch, end])


def _track(writing_rad: float, shaft_rad: float, mirrored: bool = False) -> Track:
    """The letters seen by a camera in which writing runs along ``writing_rad``."""
    xy = _letters()
    if mirrored:
        xy = xy * (-1, 1)
        turn = writing_rad - np.pi
    else:
        turn = writing_rad
    cosine, sine = np.cos(turn), np.sin(turn)
    tip = xy @ np.array([[cosine, sine], [-sine, cosine]]) + (500, 800)
    count = len(tip)
    return Track(
        time_s=np.arange(count) / 30,
        tip_px=tip,
        visible=np.ones(count, bool),
        confidence=np.ones(count),
        shot=np.zeros(count, int),
        shaft_rad=np.full(count, shaft_rad),
        contact=np.ones(count),
        size_px=(1080.0, 1920.0),
    )


def _apart(first: float, second: float) -> float:
    return abs(float(np.angle(np.exp(1j * (first - second)))))


@pytest.mark.parametrize("writing_deg", [-110, -20, 70, 160])
def test_a_right_hand_is_turned_upright_from_any_side(writing_deg: float) -> None:
    writing = np.radians(writing_deg)
    found, mirrored = writing_direction(_track(writing, writing + _TURN), TrackerSettings(), False)
    assert found is not None and _apart(found, writing) < 0.01 and not mirrored


@pytest.mark.parametrize("writing_deg", [-110, -20, 70, 160])
def test_a_left_hand_is_no_mirror(writing_deg: float) -> None:
    writing = np.radians(writing_deg)
    found, mirrored = writing_direction(_track(writing, writing + np.pi - _TURN), TrackerSettings(), True)
    assert found is not None and _apart(found, writing) < 0.01 and not mirrored


@pytest.mark.parametrize("writing_deg", [-110, -20, 70, 160])
def test_a_mirrored_right_hand_is_told_from_a_left_hand_by_its_letters(writing_deg: float) -> None:
    writing = np.radians(writing_deg)
    found, mirrored = writing_direction(_track(writing, writing - _TURN, mirrored=True), TrackerSettings(), True)
    assert found is not None and _apart(found, writing) < 0.01 and mirrored


def test_what_the_user_says_counts() -> None:
    track = _track(-1.9, -1.9 + _TURN)
    found, _ = writing_direction(track, TrackerSettings(writing_deg=-110.0), None)
    assert found == pytest.approx(np.radians(-110))
    left, mirrored = writing_direction(track, TrackerSettings(hand="left"), None)
    assert left is not None and _apart(left, -1.9 + 2 * _TURN - np.pi) < 0.01 and not mirrored
    _, mirrored = writing_direction(track, TrackerSettings(mirrored=True), True)
    assert mirrored


def test_without_a_pen_no_direction_is_claimed() -> None:
    track = _track(-1.9, -1.0)
    hidden = Track(**{**vars(track), "visible": np.zeros(len(track), bool)})
    assert writing_direction(hidden, TrackerSettings(), None) == (None, False)


@pytest.mark.parametrize("mirrored", [False, True])
def test_turned_ink_is_what_was_written(mirrored: bool) -> None:
    track = _track(-1.9, -1.0, mirrored)
    track = Track(**{**vars(track), "writing_rad": -1.9, "mirrored": mirrored})
    off = track.along_writing() - _letters()
    np.testing.assert_allclose(off - off.mean(0), 0, atol=1e-6)


def test_angles_are_averaged_on_the_circle() -> None:
    assert _apart(circular_median(np.array([np.pi - 0.1, -np.pi + 0.1, np.pi])), np.pi) < 1e-6


def test_ink_has_a_panel_per_shot_and_faint_travel() -> None:
    track = _track(0.0, -1.0)
    shot = np.r_[np.zeros(52, int), np.ones(len(track) - 52, int)]
    contact = np.ones(len(track))
    contact[60:70] = 0.0
    ink = recover_ink(Track(**{**vars(track), "shot": shot, "contact": contact, "writing_rad": 0.0}))
    assert len(ink.panels) == 2
    assert ink.opacity.min() < 0.2 and ink.opacity.max() == 1.0
    picture = draw_png(ink)
    assert picture.shape == (ink.size[1], ink.size[0], 3) and picture.min() < 80 and picture.max() == 255
    assert draw_svg(ink).count("<path") == len(ink.start) + 1


def test_nothing_seen_gives_an_empty_drawing() -> None:
    track = _track(0.0, -1.0)
    ink = recover_ink(Track(**{**vars(track), "visible": np.zeros(len(track), bool)}))
    assert not len(ink.start) and (draw_png(ink) == 255).all()
