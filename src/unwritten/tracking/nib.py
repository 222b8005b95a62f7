"""Where in one picture the tip of a pen may be: sharp ends of dark things that stick out over paper.

A corner of a dark region's outline is a candidate; the picture around it, turned so that the shaft points up, is then
held against what a pen looks like: dark core, brighter flanks, paper ahead, a hand behind. All lengths are in pixels of
the working plane (``Planes.luma``).
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from unwritten.tracking.planes import Planes
from unwritten.tracking.settings import TrackerSettings

# The view along the shaft: rows run from 48 px ahead of the tip to 80 px up the shaft, columns 40 px to either side.
_ALONG = np.arange(-48, 80, 2)
_ACROSS = np.arange(-40, 41, 2)
_U, _V = np.meshgrid(_ALONG, _ACROSS, indexing="ij")
_CORE = (_U >= 2) & (_U <= 20) & (abs(_V) <= 2)
_LEFT = (_U >= 0) & (_U <= 14) & (_V >= 8) & (_V <= 14)
_RIGHT = (_U >= 0) & (_U <= 14) & (_V <= -8) & (_V >= -14)
_AHEAD = (_U <= -8) & (abs(_V) <= -_U * 0.9 + 2)
_GRIP = (_U >= 26) & (_U <= 62) & (abs(_V) <= 26)

_RATIO_ONE = 160  # paper's brightness in the ratio plane
_OUTSIDE = 255  # beyond the frame, in the ratio plane
_WARM_ZERO = 64  # paper's own colour in the warmth plane, 4 steps per step of chroma


@dataclass(frozen=True)
class Candidates:
    """Candidates of one frame, best first.

    Attributes:
        tip: float ``[K, 2]`` position in the working plane.
        axis: float ``[K, 2]`` unit vector from the tip up the shaft.
        score: float ``[K]`` evidence in nats; above 0 a pen is likelier than not.
    """

    tip: NDArray[np.float64]
    axis: NDArray[np.float64]
    score: NDArray[np.float64]


def paper_luma(luma: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Brightness of the paper under everything thinner than a finger: a closing, smoothed.

    Args:
        luma: uint8 ``[h, w]``.

    Returns:
        uint8 ``[h, w]``.
    """
    height, width = luma.shape
    small = cv2.resize(luma, (width // 4, height // 4), interpolation=cv2.INTER_AREA)
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (17, 17))
    small = cv2.GaussianBlur(cv2.morphologyEx(small, cv2.MORPH_CLOSE, kernel), (0, 0), 3)
    return cv2.resize(small, (width, height), interpolation=cv2.INTER_LINEAR)


def _corners(mask: NDArray[np.uint8], reach: int) -> NDArray[np.float64]:
    """Convex corners of the outlines in ``mask``: ``[C, 4]`` of x, y and the direction into the region.

    The sharpness of a contour point is the length of the sum of the unit vectors to the points ``reach`` steps before
    and after it: 2 for a needle, 0 on a straight line.
    """
    contours, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    found = []
    for contour in contours:
        if len(contour) < 3 * reach:
            continue
        points = contour.reshape(-1, 2).astype(np.float32)
        before, after = np.roll(points, reach, 0) - points, np.roll(points, -reach, 0) - points
        length_before, length_after = np.hypot(*before.T), np.hypot(*after.T)
        inward = before / np.maximum(length_before, 1)[:, None] + after / np.maximum(length_after, 1)[:, None]
        sharpness = np.hypot(*inward.T)
        convex = before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0] > 0
        sharpness[~convex | (np.minimum(length_before, length_after) < 0.6 * reach)] = 0
        padded = np.concatenate([sharpness[-reach:], sharpness, sharpness[:reach]])
        peak = cv2.dilate(padded[None], np.ones((1, 2 * reach - 1)))[0, reach:-reach]
        for index in np.flatnonzero((sharpness >= peak) & (sharpness > 1.2)):
            found.append((*points[index], *(inward[index] / sharpness[index])))
    return np.array(found, np.float64).reshape(-1, 4)


def along_shaft(
    image: NDArray[np.uint8],
    tip: NDArray[np.float64],
    axis: NDArray[np.float64],
    along: tuple[float, float, int],
    across: tuple[float, float, int],
    outside: int,
) -> NDArray[np.uint8]:
    """Sample ``image`` on a grid whose rows step up the shaft and whose columns step across it.

    Args:
        image: uint8 ``[h, w]``.
        tip: ``[2]`` where row 0 of the shaft's own coordinates lies.
        axis: ``[2]`` unit vector up the shaft.
        along, across: first coordinate, step and number of rows and of columns; a column's direction is the axis
            turned a quarter turn clockwise in the picture.
        outside: value beyond the image's border.
    """
    (dx, dy), (nx, ny) = axis, (-axis[1], axis[0])
    matrix = np.array(
        [
            [across[1] * nx, along[1] * dx, tip[0] + along[0] * dx + across[0] * nx],
            [across[1] * ny, along[1] * dy, tip[1] + along[0] * dy + across[0] * ny],
        ]
    )
    return cv2.warpAffine(
        image,
        matrix,
        (across[2], along[2]),
        flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP,
        borderMode=cv2.BORDER_CONSTANT,
        borderValue=outside,
    )


def _score(
    ratio: NDArray[np.uint8], warmth: NDArray[np.uint8], tip: NDArray[np.float64], axis: NDArray[np.float64]
) -> float:
    """Evidence for a pen whose tip is at ``tip``, from the picture around it."""
    along, across = (float(_ALONG[0]), 2.0, len(_ALONG)), (float(_ACROSS[0]), 2.0, len(_ACROSS))
    view = along_shaft(ratio, tip, axis, along, across, _OUTSIDE)
    colour = along_shaft(warmth, tip, axis, along, across, _WARM_ZERO)
    outside = view == _OUTSIDE
    light = view.astype(np.float32) / _RATIO_ONE
    coloured = np.abs(colour.astype(np.float32) - _WARM_ZERO) > 20
    core = float(light[_CORE].mean())
    contrast = min(float(light[_LEFT].mean()), float(light[_RIGHT].mean()), 1.0) - core
    ahead_in = _AHEAD & ~outside
    paper = (light > 0.5) & (light < 1.3) & ~coloured
    ahead = float(paper[ahead_in].mean()) if ahead_in.sum() > 30 else 0.0
    grip = float((coloured | (light < 0.6))[_GRIP].mean())
    return (
        6.0 * (contrast - 0.4)
        + 8.0 * (ahead - 0.8)
        + 4.0 * min(grip, 0.5)
        - 2.0 * max(core - 0.2, 0) / 0.2
        - 3.0 * float(outside[_AHEAD].mean())
        - 2.0
    )


def find_nibs(planes: Planes, settings: TrackerSettings) -> Candidates:
    """Candidates for the tip in one frame, at most ``settings.candidates``."""
    luma = planes.luma
    paper = paper_luma(luma)
    ratio = cv2.divide(luma, np.maximum(paper, 16), scale=_RATIO_ONE)
    ratio = np.minimum(ratio, _OUTSIDE - 1)
    coarse = luma[::2, ::2][: planes.v.shape[0], : planes.v.shape[1]]
    bright = coarse >= np.percentile(coarse[::2, ::2], 70)
    paper_v = float(np.median(planes.v[bright]))
    warmth = cv2.convertScaleAbs(planes.v, alpha=4, beta=_WARM_ZERO - 4 * paper_v)
    warmth = cv2.resize(warmth, (luma.shape[1], luma.shape[0]), interpolation=cv2.INTER_LINEAR)
    reach = max(5, round(settings.nib_width * settings.fine_diagonal_px / 2 * 1.1))
    found: list[tuple[float, float, float, float, float]] = []
    for level in settings.dark_levels:
        for x, y, dx, dy in _corners((ratio < level * _RATIO_ONE).astype(np.uint8), reach):
            score = _score(ratio, warmth, np.array([x, y]), np.array([dx, dy]))
            if score > -6:
                found.append((score, x, y, dx, dy))
    found.sort(reverse=True)
    kept: list[tuple[float, float, float, float, float]] = []
    for candidate in found:
        if all(np.hypot(candidate[1] - other[1], candidate[2] - other[2]) > 6 for other in kept):
            kept.append(candidate)
        if len(kept) == settings.candidates:
            break
    table = np.array(kept, np.float64).reshape(-1, 5)
    return Candidates(table[:, 1:3], table[:, 3:5], table[:, 0])
