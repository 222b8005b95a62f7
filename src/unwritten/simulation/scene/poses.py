"""Where the joints of a hand are: a fist around a pen, or a pointing finger.

Reference view: that of the benchmark's clips. The origin is the tip of the pen (or finger), millimetres, x right, y
**down**; the camera looks across the table at a right-handed writer, the shaft runs from the tip along
``REFERENCE_SHAFT_RAD`` and the forearm leaves to the right.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

REFERENCE_SHAFT_RAD = -1.194  # measured on the benchmark's clips: up and to the right
_SPREAD_MM = 2.2

# The grip. Joints: x, y, height over the paper, radius.
_INDEX = ((8, -134, 44, 13.5), (-20, -96, 42, 11.5), (-3, -64, 33, 9.0), (7, -40, 24, 7.0))
_MIDDLE = ((22, -140, 40, 14.0), (-17, -72, 27, 11.0), (6, -44, 19, 8.5), (25, -27, 10, 7.0))
_RING = ((2, -84, 22, 13.0), (16, -50, 12, 10.0), (40, -35, 6, 8.0))
_LITTLE = ((48, -78, 14, 13.0), (50, -48, 8, 9.5), (64, -40, 5, 7.5))
_THUMB = ((92, -104, 36, 19.0), (76, -80, 42, 16.0), (49, -52, 42, 13.0), (21, -34, 34, 9.5))
_PALM = ((40, -122, 36, 23.0), (84, -108, 33, 25.0))
_HEEL = ((58, -66, 14, 14.0), (112, -92, 20, 20.0))
_HOLLOW = ((26, -104, 6, 30.0), (60, -78, 4, 26.0))  # the inside of the fist, seen between thumb and fingers

# The pointing hand, palm to the camera. Joints: distance from the fingertip, distance across, height, radius.
_POINTER = ((88, 0, 22, 11.0), (48, 0, 24, 9.4), (24, 0, 24, 8.4), (7.2, 0, 22, 7.2))
_FOLDED = (
    ((88, 57, 14, 10.0), (74, 55, 26, 9.2), (106, 48, 30, 8.0)),
    ((88, 40, 16, 11.0), (66, 39, 30, 10.2), (108, 34, 34, 8.8)),
    ((86, 20, 18, 11.0), (63, 20, 31, 10.6), (108, 18, 35, 9.0)),
)
_POINTING_THUMB = ((158, 0, 18, 19.0), (132, -16, 30, 14.0), (112, 2, 42, 11.0), (96, 24, 44, 9.0))
_POINTING_PALM = (((100, 4, 10, 17.0), (166, 14, 10, 20.0)), ((100, 46, 8, 17.0), (166, 34, 8, 21.0)),
                  ((104, 24, 9, 20.0), (170, 25, 9, 24.0)))  # fmt: skip


@dataclass(frozen=True)
class Limb:
    """A chain of tapered capsules.

    Attributes:
        joints: ``[n, 4]`` x, y, height over the paper and radius, millimetres.
        blend_mm: how far it melts into what is below.
        creases: whether the skin folds at its joints.
    """

    joints: NDArray[np.float64]
    blend_mm: float = 0.0
    creases: bool = False


@dataclass(frozen=True)
class Pose:
    """A hand.

    Attributes:
        limbs: everything behind the pen, from the arm to the front.
        thumb: before the pen; its root melts into the palm.
        wrist: ``[2]`` where hand and forearm meet.
        direction: ``[2]`` unit vector along the forearm, away from the hand.
        girth: how thick this person's hand is, 1 on average.
    """

    limbs: tuple[Limb, ...]
    thumb: Limb
    wrist: NDArray[np.float64]
    direction: NDArray[np.float64]
    girth: float


def _jitter(joints: object, rng: np.random.Generator, girth: float, spread: float = _SPREAD_MM) -> NDArray[np.float64]:
    points = np.array(joints, np.float64)
    points[:, :2] += rng.normal(0, 1, (len(points), 2)) * spread * np.linspace(1, 0.4, len(points))[:, None]
    points[:, 3] *= girth
    return points


def _arm(start: NDArray[np.float64], direction: NDArray[np.float64], wrist_mm: float, girth: float) -> Limb:
    wrist = start[:2] + wrist_mm * direction
    return Limb(
        np.array(
            [
                [*start[:2], 30, 23 * girth],
                [*wrist, 27, 20 * girth],
                [*(wrist + 90 * direction), 30, 27 * girth],
                [*(wrist + 600 * direction), 34, 40 * girth],
            ]
        ),
        6,
    )


def grip(rng: np.random.Generator, spread: float = 0.0) -> Pose:
    """A fist around a pen: thumb before it, the other fingers behind.

    Args:
        rng: this person's measures and hold are drawn from it.
        spread: how far hold and arm go from those of the benchmark's writers, 0 to 1.
    """
    girth = rng.uniform(0.88 - 0.15 * spread, 1.12 + 0.2 * spread)
    angle = rng.uniform(-0.62 - 1.1 * spread, -0.08 + 0.7 * spread)
    joint_mm = _SPREAD_MM * (1 + 2.5 * spread)
    direction = np.array([np.cos(angle), np.sin(angle)])
    palm = _jitter(_PALM, rng, girth, joint_mm)
    limbs = [
        _arm(palm[1], direction, 38, girth),
        Limb(palm, 10),
        Limb(_jitter(_HEEL, rng, girth, joint_mm), 8),
        Limb(_jitter(_HOLLOW, rng, girth, joint_mm)),
        *(Limb(_jitter(finger, rng, girth, joint_mm), 0, True) for finger in (_LITTLE, _RING, _MIDDLE)),
        Limb(_jitter(_INDEX, rng, girth, joint_mm), 3, True),
        Limb(np.array([[*palm[0, :2], 38, 20 * girth], [8, -134, 42, 13 * girth]]), 6),
        Limb(np.array([[88, -106, 30, 17 * girth], [72, -80, 30, 13 * girth]]), 8),
    ]
    thumb = Limb(_jitter(_THUMB, rng, girth, 0.7 * joint_mm), 0, True)
    return Pose(tuple(limbs), thumb, palm[1, :2] + 38 * direction, direction, girth)


def pointing(rng: np.random.Generator) -> Pose:
    """A fist with the index finger stretched out.

    The middle of the fingertip's round end, which hand models call the tip, is exactly at the origin.
    """
    girth = rng.uniform(0.9, 1.1)
    along = np.array([np.cos(REFERENCE_SHAFT_RAD), np.sin(REFERENCE_SHAFT_RAD)])
    across = np.array([-along[1], along[0]])

    def placed(joints: object, spread: float = 1.2) -> NDArray[np.float64]:
        points = _jitter(joints, rng, girth, spread)
        points[:, :2] = points[:, :1] * along + points[:, 1:2] * across
        return points

    bend = rng.uniform(-0.25, 0.25)
    direction = np.cos(bend) * along + np.sin(bend) * across
    start = 168 * along + 26 * across
    pointer = placed(_POINTER)
    pointer[-1, :2] = 0.0
    way = ((0, 2, 25), (30, 4, 26), (110, 10, 33), (600, 12, 46))  # along the arm, height, radius
    wrist = np.array([[*(start + step * direction), height, radius * girth] for step, height, radius in way])
    limbs = (
        Limb(wrist, 6),
        *(Limb(placed(part), 12) for part in _POINTING_PALM),
        Limb(pointer, 3, True),
        *(Limb(placed(finger), 0, True) for finger in _FOLDED),
    )
    return Pose(limbs, Limb(placed(_POINTING_THUMB), 0, True), start + 24 * direction, direction, girth)


def open_hand(rng: np.random.Generator) -> Pose:
    """A hand that holds nothing, fingers more or less spread, the middle of its palm near the origin."""
    girth = rng.uniform(0.9, 1.12)
    spread = rng.uniform(0.05, 0.32)
    limbs: list[Limb] = []
    palm = _jitter([(-20, 28, 12, 22), (22, 28, 12, 22), (24, -18, 12, 19), (-26, -18, 12, 19)], rng, girth)
    direction = np.array([rng.uniform(-0.3, 0.3), 1.0])
    direction /= np.hypot(*direction)
    limbs.append(_arm(np.array([0.0, 30.0, 12.0, 24.0]), direction, 30, girth))
    limbs.append(Limb(np.vstack([palm, palm[:1]]), 12))
    for place, length in zip((-1.5, -0.5, 0.5, 1.5), (68, 80, 76, 60), strict=True):
        angle = spread * place + rng.normal(0, 0.05) - np.pi / 2
        root = np.array([17.0 * place, -22.0 + 3 * abs(place)])
        reach = np.array([0.0, 0.4, 0.72, 1.0]) * length * rng.uniform(0.55, 1.05)
        way = root + reach[:, None] * np.array([np.cos(angle), np.sin(angle)])
        limbs.append(Limb(_jitter(np.column_stack([way, [14, 18, 17, 14], [10, 8.8, 8.0, 7.0]]), rng, girth), 3, True))
    side = rng.uniform(0.5, 1.1)
    way = np.array([(30, 22), (46, 2), (46 + 22 * np.sin(side), 2 - 24 * np.cos(side)),
                    (46 + 42 * np.sin(side), 2 - 46 * np.cos(side))])  # fmt: skip
    thumb = Limb(_jitter(np.column_stack([way, [16, 22, 24, 20], [15, 12, 10, 8]]), rng, girth), 6, True)
    return Pose(tuple(limbs), thumb, 60 * direction, direction, girth)
