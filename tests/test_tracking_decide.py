"""Which path through a shot is the tip's: what the detector saw, motion, and what somebody said weigh together."""

from __future__ import annotations

import numpy as np
import pytest

from unwritten.tracking.decide import Claim, likeliest, odds_of
from unwritten.tracking.finger import pointing_odds
from unwritten.tracking.follow import Followed
from unwritten.tracking.hand import Hand

_T = 60


def _claim(kind: str = "nib", support: float = 0.6, evidence: float = 3.0, reach: float = 0.1, **other) -> Claim:
    """A claim of two seconds that moves over ``reach`` of the diagonal."""
    tip = 550 * np.stack([0.5 + np.linspace(0, reach, _T), np.full(_T, 0.4)], 1)
    yes, nothing = np.ones(_T, bool), np.full(_T, -1.0)
    path = Followed(tip, np.tile([0.0, -1.0], (_T, 1)), yes, ~yes, np.full(_T, 0.9), nothing, evidence)
    weight = np.where(np.arange(_T) % 3 == 0, support, np.nan)
    given = {"page": None, "prior": 0.0, "told": False} | other
    return Claim.of(kind, path, given["page"], np.arange(_T) / 30, weight, 550.0, given["prior"], given["told"])


@pytest.mark.parametrize("kind", ["nib", "learned"])
def test_the_more_the_detector_saw_of_a_path_the_likelier_it_is(kind: str) -> None:
    odds = [odds_of(_claim(kind, support)) for support in (0.0, 0.1, 0.3, 0.6, 0.9)]
    assert np.all(np.diff(odds) > 0) and odds[0] < 0 < odds[-1]


def test_a_dark_end_that_the_detector_does_not_take_for_a_tip_loses_to_one_that_it_does() -> None:
    taken = likeliest([_claim("nib", support=0.0, evidence=2.5), _claim("learned", support=0.7)])
    assert taken is not None and taken.kind == "learned"


def test_what_stands_still_on_the_page_is_no_tip_even_where_the_camera_moves() -> None:
    still = _claim("nib", support=0.2, reach=0.004)
    carried = _claim("nib", support=0.2, page=np.full((_T, 2), 200.0))
    moving = _claim("nib", support=0.2)
    assert odds_of(still) < odds_of(moving) - 3 and odds_of(carried) < odds_of(moving) - 3
    assert likeliest([still]) is None and likeliest([moving]) is not None


def test_what_somebody_said_outweighs_what_it_looks_like() -> None:
    unlikely = _claim("learned", support=0.0, reach=0.001, told=True)
    assert (
        likeliest(
            [
                unlikely,
            ]
        )
        is not None
        and odds_of(unlikely) > odds_of(unlikely._replace(told=False)) + 5
    )


def test_confidence_is_never_more_than_the_claim_is_worth() -> None:
    taken = likeliest([_claim("nib", support=0.1, evidence=2.0)])
    assert taken is not None
    worth = 1 / (1 + np.exp(-odds_of(taken)))
    assert (taken.path.confidence <= worth + 1e-9).all() and worth < 0.9


def test_without_a_claim_there_is_no_tip() -> None:
    assert likeliest([]) is None


def _hand(bend: float, apart: float) -> Hand:
    """A palm of length 1 with an index finger of three bones that bends, and a thumb whose tip lies so far from it."""
    marks = np.zeros((21, 2))
    marks[5] = (0.0, -1.0)
    for number in (6, 7, 8):
        turn = bend * (number - 5)
        marks[number] = marks[number - 1] + 0.3 * np.array([np.sin(turn), -np.cos(turn)])
    marks[4] = marks[8] + (apart, 0.0)
    return Hand(100 * marks, 0.1, 0.9)


def test_a_stretched_finger_away_from_the_thumb_points_and_a_grip_does_not() -> None:
    assert pointing_odds(_hand(0.0, 0.9)) > 1.5 > 0 > pointing_odds(_hand(0.6, 0.1))
    turned = _hand(0.0, 0.9)
    quarter = turned._replace(landmarks=turned.landmarks[:, ::-1] * (-3, 3) + 40)
    assert pointing_odds(quarter) == pytest.approx(pointing_odds(turned))
