"""The tip of the index finger as the tip of a pen: air writing, and the rival that MediaPipe alone makes."""

from __future__ import annotations

import logging

import numpy as np
from numpy.typing import NDArray

from unwritten.errors import UnwrittenError
from unwritten.tracking.flow import carry
from unwritten.tracking.follow import Followed
from unwritten.tracking.hand import INDEX_JOINT, INDEX_KNUCKLE, INDEX_TIP, THUMB_TIP, WRIST, Hand, HandFollower
from unwritten.tracking.planes import Plane, Planes
from unwritten.tracking.settings import TrackerSettings

_WINDOW_PX = 21  # of flow, working pixels
_SMALLEST = 0.08  # palm's length over the diagonal below which a hand is too far away to write
_LONGEST_S = 0.3  # between two frames in which the finger was seen
_LOG = logging.getLogger(__name__)


class FingerEye:
    """Collects the index fingertip of the frames that it is shown; without MediaPipe it sees nothing, and says so."""

    def __init__(self, settings: TrackerSettings, name: str) -> None:
        self._follower: HandFollower | None = HandFollower(settings.hand_model)
        self._every_s = settings.ask_every_s
        self._name = name
        self._looked_s = -np.inf
        self._tip: list[NDArray[np.float64]] = []
        self._axis: list[NDArray[np.float64]] = []
        self._score: list[float] = []  # MediaPipe's; 0 where no fingertip was seen, NaN where nobody looked
        self._strays: list[float] = []  # share of the diagonal by which the hand leaves the flow, NaN where unknown
        self._before: tuple[Plane, NDArray[np.float64]] | None = None  # picture and landmarks last looked at
        self._points: list[float] = []  # log odds that it points, NaN where no fingertip was seen

    def skip(self) -> None:
        """Pass over a frame."""
        self._tip.append(np.zeros(2))
        self._axis.append(np.array([0.0, -1.0]))
        self._score.append(np.nan)
        self._points.append(np.nan)
        self._strays.append(np.nan)

    def look_if_due(self, planes: Planes) -> None:
        """Take in the next frame, or pass over it if one was looked at a short time ago."""
        if planes.time_s - self._looked_s >= self._every_s - 1e-6:
            self.look(planes)
        else:
            self.skip()

    def look(self, planes: Planes) -> None:
        """Take in the next frame."""
        self.skip()
        self._looked_s = planes.time_s
        if self._follower is None:
            return
        self._score[-1] = 0.0
        try:
            hand = self._follower.find(planes)
        except (ImportError, OSError, RuntimeError, UnwrittenError) as error:
            _LOG.warning("%s: fingers are not followed, MediaPipe does not run here (%s)", self._name, error)
            self._follower = None
            return
        before, self._before = self._before, None if hand is None else (planes.luma, hand.landmarks)
        if hand is None:
            return
        if before is not None and before[0].shape == planes.luma.shape:
            shift, _ = carry(before[0], planes.luma, before[1], _WINDOW_PX)
            off = np.hypot(*(before[1] + shift - hand.landmarks).T)
            self._strays[-1] = float(np.median(off) / np.hypot(*planes.luma.shape))
        tip, joint = hand.landmarks[INDEX_TIP], hand.landmarks[INDEX_JOINT]
        height, width = planes.luma.shape
        if 0 <= tip[0] < width and 0 <= tip[1] < height:
            self._tip[-1], self._score[-1] = tip, hand.presence
            self._axis[-1] = (joint - tip) / max(float(np.hypot(*(joint - tip))), 1e-9)
            self._points[-1] = pointing_odds(hand)
            palm = np.hypot(*(hand.landmarks[INDEX_KNUCKLE] - hand.landmarks[WRIST])) / np.hypot(height, width)
            self._points[-1] -= 3.0 * (palm < _SMALLEST)

    def follow(self, frames: NDArray[np.int64], time_s: NDArray[np.float64]) -> tuple[Followed, float] | None:
        """The fingertip through one shot, with MediaPipe's score for confidence, and the odds that it writes.

        Args:
            frames: ``[T]`` indices of the shot's frames.
            time_s: ``[T]``.

        Returns:
            The path and log odds, of a finger that points and is seen in most frames that were looked at above 0; None
            where none was seen.
        """
        score = np.array(self._score)[frames]
        seen = np.flatnonzero(score > 0)
        if not len(seen):
            return None
        share = len(seen) / int(np.isfinite(score).sum())
        strays = np.array(self._strays)[frames][seen]
        stray = float(np.nanpercentile(strays, 90)) if np.isfinite(strays).any() else 0.0
        odds = float(np.median(np.array(self._points)[frames][seen])) + 4.0 * (share - 0.5)
        odds -= 2.0 * max(
            0.0, 100 * stray - 1.0
        )  # real hands leave the flow by 0.1 to 0.8 %, what is none by 1.5 and more
        # Where nobody looked the finger is between the places where it was seen a moment before and after.
        after = np.clip(np.searchsorted(seen, np.arange(len(frames))), 1, len(seen) - 1) if len(seen) > 1 else 0
        between = np.isnan(score) & (np.diff(time_s[seen], prepend=-np.inf)[after] <= _LONGEST_S)
        between[: seen[0]] = between[seen[-1] :] = False
        every = np.arange(len(frames))
        tip, axis = (
            np.stack([np.interp(every, seen, np.array(values)[frames][seen, k]) for k in range(2)], 1)
            for values in (self._tip, self._axis)
        )
        visible = (np.nan_to_num(score) > 0) | between
        confidence = np.where(visible, np.interp(every, seen, score[seen]), 0.0)
        unknown = np.full(len(frames), -1.0)
        path = Followed(tip, axis, visible, np.zeros(len(frames), bool), confidence, unknown, -np.inf)
        return path, odds

    def close(self) -> None:
        """No more frames come."""
        if self._follower is not None:
            self._follower.close()


def pointing_odds(hand: Hand) -> float:
    """Log odds that a hand writes with the tip of its index finger rather than with a pen.

    About a pen the finger is bent and the thumb lies against it: on real clips 0.76 to 0.97 of its length reach from
    knuckle to tip, and the tips lie 0.05 to 0.3 of the palm's length apart.
    """
    marks = hand.landmarks
    bones = float(np.hypot(*np.diff(marks[INDEX_KNUCKLE : INDEX_TIP + 1], axis=0).T).sum())
    straight = float(np.hypot(*(marks[INDEX_TIP] - marks[INDEX_KNUCKLE]))) / max(bones, 1e-6)
    palm = float(np.hypot(*(marks[INDEX_KNUCKLE] - marks[WRIST])))
    pinch = float(np.hypot(*(marks[THUMB_TIP] - marks[INDEX_TIP]))) / max(palm, 1e-6)
    return float(np.clip(10 * (straight - 0.9), -1.5, 1.0) + np.clip(6 * (pinch - 0.35), -2.0, 1.5))
