"""The tip of the index finger as the tip of a pen: air writing, and the rival that MediaPipe alone makes."""

from __future__ import annotations

import logging
from collections.abc import Iterable

import numpy as np

from unwritten.errors import UnwrittenError
from unwritten.tracking.contact import contact_from_motion
from unwritten.tracking.hand import INDEX_JOINT, INDEX_TIP, follow
from unwritten.tracking.planes import Planes
from unwritten.tracking.settings import TrackerSettings
from unwritten.tracking.shots import ShotFinder
from unwritten.types import Track

_LOG = logging.getLogger(__name__)


def track_finger(stream: Iterable[Planes], settings: TrackerSettings, name: str) -> Track:
    """Follow the tip of the index finger; an empty track, with a warning, where MediaPipe sees no hand or does not run.

    Args:
        stream: frames.
        settings: of shots and of the hand model.
        name: stands in warnings.
    """
    shots = ShotFinder(settings)
    time_s, tips, shafts, scores = [], [], [], []
    last: Planes | None = None
    try:
        for planes, hand in follow(stream, settings.hand_model):
            last = planes
            look = shots.add(planes.luma)
            time_s.append(planes.time_s)
            seen = hand is not None and look != "black" and _inside(hand.landmarks[INDEX_TIP], planes)
            marks = hand.landmarks if hand is not None and seen else np.zeros((21, 2))
            tips.append(marks[INDEX_TIP] / planes.scale)
            along = marks[INDEX_JOINT] - marks[INDEX_TIP]
            shafts.append(float(np.arctan2(along[1], along[0])))
            scores.append(hand.presence if hand is not None and seen else 0.0)
    except (ImportError, OSError, RuntimeError, UnwrittenError) as error:
        if last is None and not isinstance(error, (ImportError, RuntimeError)):
            raise
        _LOG.warning("%s: the finger is not followed, MediaPipe does not run here (%s)", name, error)
    count = len(time_s)
    if last is None or not count:
        nothing = np.zeros(0)
        return Track(nothing, np.zeros((0, 2)), nothing > 0, nothing, np.zeros(0, int), nothing, nothing, (0.0, 0.0))
    shot, _ = shots.shots()
    confidence = np.array(scores)
    visible = confidence > 0
    if not visible.any():
        _LOG.warning("%s: no pen and no hand found, so the track is empty", name)
    track = Track(
        time_s=np.array(time_s),
        tip_px=np.array(tips).reshape(-1, 2),
        visible=visible,
        confidence=confidence,
        shot=shot,
        shaft_rad=np.array(shafts),
        contact=np.zeros(count),
        size_px=last.size_px,
        sample_aspect_ratio=last.sample_aspect_ratio,
    )
    writing_rad = None if settings.writing_deg is None else float(np.radians(settings.writing_deg))
    contact = contact_from_motion(track, np.full(count, -1.0))
    return Track(**{**vars(track), "contact": contact, "writing_rad": writing_rad, "mirrored": bool(settings.mirrored)})


def _inside(point: np.ndarray, planes: Planes) -> bool:
    height, width = planes.luma.shape
    return bool(0 <= point[0] < width and 0 <= point[1] < height)
