"""How points move from one frame to the next: pyramidal Lucas-Kanade, forward, checked backward."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

_CRITERIA = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 20, 0.01)
_LEVELS = 3


def carry(
    before: NDArray[np.uint8], after: NDArray[np.uint8], points: NDArray[np.float64], window: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Displacement of points between two frames.

    Args:
        before, after: luma uint8 ``[h, w]``.
        points: float ``[K, 2]`` in ``before``.
        window: side of the window, pixels, odd.

    Returns:
        Displacement ``[K, 2]`` and its error ``[K]``: how far the way back misses the start, infinite where lost.
    """
    if not len(points):
        return np.zeros((0, 2)), np.zeros(0)
    start = points.astype(np.float32)[:, None]
    options: dict[str, Any] = {"winSize": (window, window), "maxLevel": _LEVELS, "criteria": _CRITERIA}
    # Lucas and Kanade 1981: the displacement d that solves (sum g g^T) d = sum g e over the window, g the gradient and
    # e the difference of the two pictures, iterated from coarse to fine (Bouguet 2001). The way there and back must
    # close: forward-backward error (Kalal, Mikolajczyk and Matas 2010).
    there, found, _ = cv2.calcOpticalFlowPyrLK(before, after, start, None, **options)
    back, returned, _ = cv2.calcOpticalFlowPyrLK(after, before, there, None, **options)
    error = np.hypot(*(back - start)[:, 0].T).astype(np.float64)
    error[(found[:, 0] == 0) | (returned[:, 0] == 0)] = np.inf
    return (there - start)[:, 0].astype(np.float64), error
