"""The tip of the index finger as the tip of a pen: air writing, and the rival that MediaPipe alone makes."""

from __future__ import annotations

import logging

import numpy as np
from numpy.typing import NDArray

from unwritten.errors import UnwrittenError
from unwritten.tracking.hand import INDEX_JOINT, INDEX_KNUCKLE, INDEX_TIP, HandFollower
from unwritten.tracking.planes import Planes
from unwritten.tracking.settings import TrackerSettings

_STRAIGHT = 0.95  # knuckle to tip over the bones' lengths: about a pen 0.76 to 0.88, stretched out 1.0
_LOG = logging.getLogger(__name__)


class FingerEye:
    """Collects the index fingertip of the frames that it is shown; without MediaPipe it sees nothing, and says so.

    Attributes:
        tip: ``[2]`` working pixels of each frame.
        shaft_rad: direction from the tip along the finger.
        confidence: MediaPipe's score, 0 where no fingertip was seen.
        pointing: True when the finger is mostly stretched out, as it is in air writing and about a pen it is not.
    """

    def __init__(self, settings: TrackerSettings, name: str) -> None:
        self._follower: HandFollower | None = HandFollower(settings.hand_model)
        self._name = name
        self.tip: list[NDArray[np.float64]] = []
        self.shaft_rad: list[float] = []
        self.confidence: list[float] = []
        self._straight: list[float] = []

    @property
    def pointing(self) -> bool:
        """Whether the finger is mostly straight; False when none was seen."""
        return bool(self._straight) and float(np.median(self._straight)) > _STRAIGHT

    def skip(self) -> None:
        """Pass over a frame."""
        self.tip.append(np.zeros(2))
        self.shaft_rad.append(-np.pi / 2)
        self.confidence.append(0.0)

    def look(self, planes: Planes) -> None:
        """Take in the next frame."""
        self.skip()
        if self._follower is None:
            return
        try:
            hand = self._follower.find(planes)
        except (ImportError, OSError, RuntimeError, UnwrittenError) as error:
            _LOG.warning("%s: fingers are not followed, MediaPipe does not run here (%s)", self._name, error)
            self._follower = None
            return
        if hand is None:
            return
        tip, joint = hand.landmarks[INDEX_TIP], hand.landmarks[INDEX_JOINT]
        height, width = planes.luma.shape
        if 0 <= tip[0] < width and 0 <= tip[1] < height:
            self.tip[-1] = tip
            self.shaft_rad[-1] = float(np.arctan2(joint[1] - tip[1], joint[0] - tip[0]))
            self.confidence[-1] = hand.presence
            bones = np.hypot(*np.diff(hand.landmarks[INDEX_KNUCKLE : INDEX_TIP + 1], axis=0).T)
            reach = float(np.hypot(*(tip - hand.landmarks[INDEX_KNUCKLE])))
            self._straight.append(reach / max(float(bones.sum()), 1e-6))

    def close(self) -> None:
        """No more frames come."""
        if self._follower is not None:
            self._follower.close()
