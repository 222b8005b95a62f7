"""Putting layers on a picture: colours are RGB uint8, layers premultiplied RGBA.

A region is (left, top, right, bottom), right and bottom excluded.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]
Region = tuple[int, int, int, int]


def clip_region(low: NDArray[np.floating], high: NDArray[np.floating], size: tuple[int, int]) -> Region | None:
    """The part of the box from ``low`` to ``high`` that lies in a picture of ``size`` (W, H), None if none does."""
    left, top = (int(max(0, np.floor(value))) for value in low)
    right, bottom = (int(min(limit, np.ceil(value) + 1)) for value, limit in zip(high, size, strict=True))
    return (left, top, right, bottom) if left < right and top < bottom else None


def paste(picture: Picture, layer: Picture, region: Region) -> None:
    """Lay a premultiplied layer over a region of the picture, in place."""
    left, top, right, bottom = region
    below = picture[top:bottom, left:right]
    through = cv2.cvtColor(cv2.bitwise_not(layer[..., 3]), cv2.COLOR_GRAY2RGB)
    below[:] = cv2.add(cv2.multiply(below, through, scale=1 / 255), layer[..., :3])


def darken(picture: Picture, factor: Picture, region: Region) -> None:
    """Multiply a region by ``factor`` / 255, one or three channels, in place."""
    left, top, right, bottom = region
    below = picture[top:bottom, left:right]
    if factor.ndim == 2:
        factor = np.asarray(cv2.cvtColor(factor, cv2.COLOR_GRAY2RGB), np.uint8)
    below[:] = cv2.multiply(below, factor, scale=1 / 255)


def place(
    scale: float, turn_rad: float, anchor: tuple[float, float], target: NDArray[np.floating]
) -> NDArray[np.float64]:
    """``[2, 3]`` map that takes a sprite's ``anchor`` exactly to ``target``, turned and scaled."""
    cosine, sine = scale * np.cos(turn_rad), scale * np.sin(turn_rad)
    linear = np.array([[cosine, -sine], [sine, cosine]])
    return np.column_stack([linear, np.asarray(target) - linear @ np.asarray(anchor)])


def warp(
    sprite: Picture, matrix: NDArray[np.float64], size: tuple[int, int], outside: int = 0
) -> tuple[Picture, Region] | None:
    """Draw a sprite by an affine map into the part of a picture of ``size`` that it touches; None if none."""
    height, width = sprite.shape[:2]
    corners = np.array([[0, 0], [width, 0], [0, height], [width, height]]) @ matrix[:, :2].T + matrix[:, 2]
    region = clip_region(corners.min(axis=0) - 1, corners.max(axis=0) + 1, size)
    if region is None:
        return None
    local = matrix.copy()
    local[:, 2] -= region[:2]
    patch = cv2.warpAffine(
        sprite,
        local,
        (region[2] - region[0], region[3] - region[1]),
        flags=cv2.INTER_LINEAR,
        borderMode=cv2.BORDER_CONSTANT,
        borderValue=(outside,) * 4,
    )
    return np.asarray(patch, np.uint8), region


def smear(layer: Picture, motion_px: NDArray[np.floating]) -> Picture:
    """Blur a layer along a straight motion during the exposure, centred on where it stands."""
    length = float(np.hypot(*motion_px))
    if length < 0.7:
        return layer
    reach = int(np.ceil(length / 2))
    kernel = np.zeros((2 * reach + 3, 2 * reach + 3), np.float32)
    centre = reach + 1
    steps = np.linspace(-0.5, 0.5, 4 * reach + 5)[:, None] * np.asarray(motion_px)
    for x, y in steps:  # split each sample over the four cells around it, so that the centre of mass stays put
        column, row = int(np.floor(x)), int(np.floor(y))
        fx, fy = x - column, y - row
        kernel[centre + row, centre + column] += (1 - fx) * (1 - fy)
        kernel[centre + row, centre + column + 1] += fx * (1 - fy)
        kernel[centre + row + 1, centre + column] += (1 - fx) * fy
        kernel[centre + row + 1, centre + column + 1] += fx * fy
    return np.asarray(cv2.filter2D(layer, -1, kernel / kernel.sum(), borderType=cv2.BORDER_CONSTANT), np.uint8)
