"""How the page moves in the picture: a camera in the hand, or one that zooms, bends the ink unless it is taken out.

Corners off the hand are followed from a key frame; the similarity that most of them agree on (RANSAC) takes the page of
the key frame to where it is now. A camera that stands still is looked at a few times a second, and its tracks stay
exactly as they are.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from unwritten.tracking.planes import Plane, Planes

_EVERY_S = 0.25  # between two looks at a camera that stands still
_CORNERS, _APART_PX = 120, 8  # at half the working plane's size, as all pixels here
_FEWEST = 15  # corners that a motion is told from
_STAYS_PX = 0.5  # displacement up to which a corner has stayed
_STAYING = 0.3  # share of corners that stay while the rest is moved by a hand, not by the camera
_AGREE_PX = 1.0  # of corners with the motion of the page
_AGREEING = 0.5  # share of corners that have to
_RENEWED = 0.6  # share of a key frame's corners that are still followed below which there is a new one
_WARM = 5.0  # difference of chroma from the picture's from which a place is skin
_BREAKS = 0.03  # share of the looks at a shot in which the page may be lost: it is where it was before
_MOVED = 0.01  # share of the diagonal by which the page moves in a shot before its motion counts
_WINDOW = (15, 15)


class PageEye:
    """Takes in every frame; a cut or a black frame begins anew."""

    def __init__(self) -> None:
        self._last: Plane | None = None
        self._start: NDArray[np.float32] = np.zeros((0, 1, 2), np.float32)  # corners in the key frame
        self._now: NDArray[np.float32] = self._start  # and in the last frame
        self._to_key = np.eye(3)  # from the page as first seen to the key frame
        self._whole = np.eye(3)  # and to the last frame
        self._looked_s = -np.inf
        self._still = True
        self._found: dict[int, NDArray[np.float64]] = {}  # by frame: from the page as first seen to the frame
        self._broken: set[int] = set()  # frames at which the page was lost
        self._count = 0
        self._diagonal_px = 1.0
        self._kept = 1  # corners of the key frame

    def look(self, planes: Planes, state: str) -> None:
        """Take in the next frame.

        Args:
            planes: the frame.
            state: ``black``, ``changed`` (perhaps a cut) or ``alike``.
        """
        index = self._count
        self._count += 1
        if state == "black":
            self._last = None
            return
        if self._last is not None and self._still and planes.time_s - self._looked_s < _EVERY_S:
            return
        luma = cv2.resize(planes.luma, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
        self._looked_s, self._diagonal_px = planes.time_s, float(np.hypot(*luma.shape))
        motion = None if self._last is None or self._last.shape != luma.shape else self._motion(luma)
        if motion is None:
            self._begin(index, luma, planes, self._whole)
            self._broken.add(index)
            return
        self._still = bool(np.array_equal(motion, np.eye(3)))
        whole = motion @ self._to_key
        self._found[index], self._last, self._whole = whole, luma, whole
        if len(self._now) < _RENEWED * self._kept:
            self._begin(index, luma, planes, whole)

    def _begin(self, index: int, luma: Plane, planes: Planes, whole: NDArray[np.float64]) -> None:
        """Make a key frame of this one."""
        warm = cv2.resize(planes.v, luma.shape[::-1], interpolation=cv2.INTER_AREA).astype(np.float32)
        off_hand = (np.abs(warm - np.median(warm)) <= _WARM).astype(np.uint8)
        found: Any = cv2.goodFeaturesToTrack(luma, _CORNERS, 0.01, _APART_PX, mask=cv2.erode(off_hand, np.ones((9, 9))))
        self._start = np.zeros((0, 1, 2), np.float32) if found is None else found
        self._now, self._kept = self._start, max(len(self._start), 1)
        self._last, self._to_key = luma, whole
        self._found[index] = whole

    def _motion(self, luma: Plane) -> NDArray[np.float64] | None:
        """Similarity ``[3, 3]`` from the key frame to this one; the identity where the camera stands still."""
        if len(self._now) < _FEWEST:
            return None
        there, found, _ = cv2.calcOpticalFlowPyrLK(self._last, luma, self._now, None, winSize=_WINDOW, maxLevel=4)
        back, returned, _ = cv2.calcOpticalFlowPyrLK(luma, self._last, there, None, winSize=_WINDOW, maxLevel=4)
        kept = (found[:, 0] > 0) & (returned[:, 0] > 0) & (np.hypot(*(back - self._now)[:, 0].T) < 1.0)
        self._start, self._now = self._start[kept], there[kept]
        if len(self._now) < _FEWEST:
            return None
        if np.mean(np.hypot(*(self._now - self._start)[:, 0].T) <= _STAYS_PX) >= _STAYING:
            return np.eye(3)
        cv2.setRNGSeed(0)
        similar, inside = cv2.estimateAffinePartial2D(
            self._start, self._now, method=cv2.RANSAC, ransacReprojThreshold=_AGREE_PX
        )
        if similar is None or inside.mean() < _AGREEING:
            return None
        return np.vstack([similar, [0.0, 0.0, 1.0]])

    def to_page(self, frames: NDArray[np.int64], tip: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """The path of a tip on the page, in the coordinates of the shot's first frame.

        Args:
            frames: ``[T]`` indices of the shot's frames.
            tip: ``[T, 2]`` working pixels.

        Returns:
            ``[T, 2]``; None where the camera stands still or the page was lost.
        """
        known = np.array([frame for frame in frames if int(frame) in self._found])
        breaks = sum(int(frame) in self._broken for frame in known[1:])
        if len(known) < 2 or breaks > _BREAKS * len(known):
            return None
        first = self._found[int(known[0])]
        motions = np.stack([self._found[int(frame)] @ np.linalg.inv(first) for frame in known])
        width_height = self._diagonal_px * np.array([[0.8, 0.0], [0.0, 0.6], [0.8, 0.6], [0.0, 0.0]])
        corners = np.column_stack([width_height, np.ones(4)])
        moved = np.abs((motions @ corners.T)[:, :2] - corners.T[None, :2]).max()
        if moved < _MOVED * self._diagonal_px:
            return None
        between = np.stack([np.interp(frames, known, motions[:, i, j]) for i in range(3) for j in range(3)], 1)
        half = np.column_stack([(tip + 0.5) / 2 - 0.5, np.ones(len(tip))])
        on_page = np.linalg.solve(between.reshape(-1, 3, 3), half[..., None])[:, :2, 0]
        return np.asarray((on_page + 0.5) * 2 - 0.5, np.float64)
