"""In which direction writing runs in the picture.

The shaft tells it: it points from the tip to the writer's shoulder, which lies at a steady angle to the line of
writing. For a right hand that angle is ``TrackerSettings.shaft_to_writing_deg`` one way round; a left hand, like a
right hand in a mirror, is its mirror image. The two differ in which way letters are made, and that decides between
them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from unwritten.tracking.hand import left_evidence, rgb_of
from unwritten.tracking.planes import Planes
from unwritten.tracking.settings import TrackerSettings
from unwritten.types import Track

_LOOKS = 6  # pictures that MediaPipe is shown
_LEFT_ENOUGH = 4.0  # log odds: most people write with the right hand, and a wrong answer spoils everything


def circular_median(angles: NDArray[np.float64]) -> float:
    """The angle that the angles ``[N]`` scatter about, robust against outliers; radians in (-pi, pi]."""
    mean = np.angle(np.mean(np.exp(1j * angles)))
    return float(np.angle(np.exp(1j * (mean + np.median(np.angle(np.exp(1j * (angles - mean))))))))


def shaft_direction(track: Track) -> float | None:
    """Direction from the tip up the shaft over the whole clip, every shot counting alike; None without a pen."""
    medians = [
        circular_median(np.asarray(track.shaft_rad, np.float64)[(track.shot == number) & track.visible])
        for number in np.unique(track.shot[track.visible])
    ]
    return circular_median(np.array(medians)) if medians else None


def left_chirality(track: Track, pictures: list[tuple[int, Planes]], settings: TrackerSettings) -> bool | None:
    """Whether the hand in the picture has the shape of a left hand; None where that is not known or not asked.

    Args:
        track: the track, whose shaft says how to turn the pictures before MediaPipe sees them.
        pictures: a few frames with their index.
        settings: what the user fixed.
    """
    shown = [(index, planes) for index, planes in pictures if track.visible[index]]
    if not shown or settings.writing_deg is not None or (settings.hand != "auto" and settings.mirrored is not None):
        return None
    picked = [shown[index] for index in np.linspace(0, len(shown) - 1, min(_LOOKS, len(shown))).round().astype(int)]
    images = []
    for index, planes in picked:
        # Quarter turns that bring the shaft to where it mostly is in pictures of writing: pointing up, to either side.
        turns = round((float(track.shaft_rad[index]) + np.pi / 2) / (np.pi / 2))
        images.append(np.rot90(rgb_of(planes), turns % 4))
    evidence = left_evidence(images, settings.hand_model)
    return None if evidence is None else evidence > _LEFT_ENOUGH


def writing_direction(
    track: Track, settings: TrackerSettings, left_chirality: bool | None
) -> tuple[float | None, bool]:
    """Direction of writing in the picture (radians, y down) and whether the picture is mirrored.

    Args:
        track: tip, shaft and contact.
        settings: what the user fixed.
        left_chirality: True when the hand in the picture has the shape of a left hand, None when unknown.
    """
    if settings.hand != "auto":
        # What looks like the other hand than the writer's is seen in a mirror.
        mirrored = (
            bool(settings.mirrored)
            if settings.mirrored is not None
            else (left_chirality is not None and left_chirality != (settings.hand == "left"))
        )
        left = settings.hand == "left"
    elif settings.mirrored is not None:
        mirrored = settings.mirrored
        left = bool(left_chirality) != mirrored if left_chirality is not None else False
    else:
        left, mirrored = bool(left_chirality), False
    shaft = shaft_direction(track)
    if settings.writing_deg is not None:
        return float(np.radians(settings.writing_deg)), mirrored
    if shaft is None:
        return None, mirrored
    if settings.hand == "auto" and settings.mirrored is None and left:
        mirrored = mirror_evidence(track, _direction(shaft, True, False, settings)) > 0
        left = not mirrored
    return _direction(shaft, left, mirrored, settings), mirrored


def _direction(shaft_rad: float, left: bool, mirrored: bool, settings: TrackerSettings) -> float:
    turn = np.radians(settings.shaft_to_writing_deg)
    if left:
        turn = np.pi - turn
    return float(np.angle(np.exp(1j * (shaft_rad + (turn if mirrored else -turn)))))


def mirror_evidence(track: Track, writing_rad: float) -> float:
    """Log odds that the picture of a left-looking hand is a mirrored right hand's.

    Seen the one way or the other the letters are each other's mirror images: writing that ends to the left of where it
    began and turns clockwise is mirrored. Weights by logistic regression on UNIPEN letters
    (``docs/reference/tracking.md``).

    Args:
        track: the track.
        writing_rad: direction of writing of the picture taken as it is.
    """
    total = 0.0
    xy = replace(track, writing_rad=writing_rad, mirrored=False).along_writing()
    for number in np.unique(track.shot):
        frames = (track.shot == number) & track.visible
        if frames.sum() < 8:
            continue
        total -= upright_evidence(xy[frames], track.contact[frames])
    return total


def upright_evidence(xy: NDArray[np.float64], contact: NDArray[np.float64]) -> float:
    """Log odds that a letter's path ``[T, 2]`` (x along writing, y down) is not its own mirror image."""
    net, turning = stroke_features(xy, contact)
    return 2.7 * net + 0.6 * turning


def stroke_features(xy: NDArray[np.float64], contact: NDArray[np.float64]) -> tuple[float, float]:
    """Where ink ends against where it began, in heights, and its turning (counter-clockwise positive) over pi.

    Args:
        xy: ``[T, 2]`` x along writing, y down.
        contact: ``[T]`` weight of each point, the probability that it is ink.
    """
    inked = np.flatnonzero(contact > 0.5)
    if len(inked) < 4:
        inked = np.arange(len(xy))
    ink = xy[inked[0] : inked[-1] + 1]
    height = max(float(np.percentile(ink[:, 1], 97) - np.percentile(ink[:, 1], 3)), 1e-6)
    net = float(np.clip((ink[-1, 0] - ink[0, 0]) / height, -2, 2))
    step = np.diff(ink, axis=0)
    length = np.hypot(*step.T)
    step = step[length > 0.02 * height]
    if len(step) < 3:
        return net, 0.0
    heading = np.arctan2(-step[:, 1], step[:, 0])
    turning = np.angle(np.exp(1j * np.diff(heading)))
    turning = turning[np.abs(turning) < 2.0]
    return net, float(np.clip(turning.sum() / np.pi, -3, 3))
