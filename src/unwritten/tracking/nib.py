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

from unwritten.tracking.planes import Plane, Planes
from unwritten.tracking.settings import TrackerSettings

# The view along the shaft: points from 48 px ahead of the tip to 64 px up the shaft, 40 px to either side.
_U, _V = (grid.ravel() for grid in np.meshgrid(np.arange(-48.0, 65, 3), np.arange(-40.0, 41, 4), indexing="ij"))
_CORE = (_U >= 2) & (_U <= 20) & (abs(_V) <= 2)
_LEFT = (_U >= 0) & (_U <= 14) & (_V >= 8) & (_V <= 14)
_RIGHT = (_U >= 0) & (_U <= 14) & (_V <= -8) & (_V >= -14)
_AHEAD = (_U <= -8) & (abs(_V) <= -_U * 0.9 + 2)
_GRIP = (_U >= 26) & (_U <= 62) & (abs(_V) <= 26)
_USED = _CORE | _LEFT | _RIGHT | _AHEAD | _GRIP
_U, _V, _CORE, _LEFT, _RIGHT, _AHEAD, _GRIP = (x[_USED] for x in (_U, _V, _CORE, _LEFT, _RIGHT, _AHEAD, _GRIP))

_RATIO_ONE = 160  # paper's brightness in the ratio plane
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


def paper_luma(luma: Plane) -> Plane:
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


def _corners(mask: Plane, reach: int) -> NDArray[np.float64]:
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
    image: Plane,
    tip: NDArray[np.float64],
    axis: NDArray[np.float64],
    along: tuple[float, float, int],
    across: tuple[float, float, int],
    outside: int,
) -> Plane:
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


def _score(ratio: Plane, warmth: Plane, corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """Evidence ``[C]`` for a pen at each corner ``[C, 4]`` (tip and axis), from the picture around it."""
    height, width = ratio.shape
    x, y, dx, dy = (column[:, None] for column in corners.T)
    column = np.rint(x + _U * dx - _V * dy).astype(np.int32)
    row = np.rint(y + _U * dy + _V * dx).astype(np.int32)
    inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
    flat = np.where(inside, row * width + column, 0)
    light = ratio.ravel()[flat].astype(np.float32) / _RATIO_ONE
    coloured = np.abs(warmth.ravel()[flat].astype(np.float32) - _WARM_ZERO) > 20

    def mean(values: NDArray[np.generic], region: NDArray[np.bool_]) -> NDArray[np.float64]:
        counted = inside[:, region]
        return (values[:, region] * counted).sum(1) / np.maximum(counted.sum(1), 1)

    core = mean(light, _CORE)
    contrast = np.minimum(np.minimum(mean(light, _LEFT), mean(light, _RIGHT)), 1.0) - core
    in_frame = inside[:, _AHEAD].mean(1)
    ahead = np.where(in_frame > 0.1, mean((light > 0.5) & (light < 1.3) & ~coloured, _AHEAD), 0.0)
    grip = mean(coloured | (light < 0.6), _GRIP)
    return (
        6.0 * (contrast - 0.4)
        + 8.0 * (ahead - 0.8)
        + 4.0 * np.minimum(grip, 0.5)
        - 10.0 * np.maximum(core - 0.2, 0)
        - 3.0 * (1 - in_frame)
        - 2.0
    )


def find_nibs(planes: Planes, settings: TrackerSettings, paper: Plane | None = None) -> Candidates:
    """Candidates for the tip in one frame, at most ``settings.candidates``.

    Args:
        planes: the frame.
        settings: windows and levels.
        paper: ``paper_luma`` of the frame where it is known.
    """
    luma = planes.luma
    paper = paper_luma(luma) if paper is None else paper
    ratio = np.minimum(cv2.divide(luma, np.maximum(paper, 16), scale=_RATIO_ONE), 254)
    coarse = luma[::4, ::4]
    chroma = planes.v[::2, ::2][: coarse.shape[0], : coarse.shape[1]]
    paper_v = float(np.median(chroma[coarse[: chroma.shape[0], : chroma.shape[1]] >= np.percentile(coarse, 70)]))
    warmth = cv2.LUT(planes.v, np.clip(4 * (np.arange(256) - paper_v) + _WARM_ZERO, 0, 255).astype(np.uint8))
    warmth = cv2.resize(warmth, (luma.shape[1], luma.shape[0]), interpolation=cv2.INTER_NEAREST)
    reach = max(5, round(settings.nib_width * settings.fine_diagonal_px / 2 * 1.1))
    corners = np.concatenate(
        [_corners((ratio < level * _RATIO_ONE).astype(np.uint8), reach) for level in settings.dark_levels]
    )
    if not len(corners):
        return Candidates(np.zeros((0, 2)), np.zeros((0, 2)), np.zeros(0))
    score = _score(ratio, warmth, corners)
    kept: list[int] = []
    for index in np.argsort(-score, kind="stable"):
        if score[index] < -6 or len(kept) == settings.candidates:
            break
        if all(np.hypot(*(corners[index, :2] - corners[other, :2])) > 6 for other in kept):
            kept.append(int(index))
    return Candidates(corners[kept, :2], corners[kept, 2:], score[kept])
