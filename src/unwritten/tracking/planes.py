"""From a decoded frame to the small square-pixel planes that the tracker looks at.

Luma is read from the decoder's own Y plane, so a frame is never converted to RGB: scaling is all that it costs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
from numpy.typing import NDArray

from unwritten.types import Frame

if TYPE_CHECKING:
    from unwritten.media import Picture

Plane = NDArray[Any]  # uint8; OpenCV's stubs know no narrower type


@dataclass(frozen=True)
class Planes:
    """One frame at the tracker's scales, in square pixels.

    Attributes:
        fine: luma uint8 ``[2h, 2w]``.
        luma: luma uint8 ``[h, w]``, full range.
        u, v: chroma uint8 ``[h // 2, w // 2]``, 128 is grey.
        time_s: presentation time.
        size_px: width and height of the frame in square pixels of its own height.
        sample_aspect_ratio: of the coded pixels.
        scale: pixels of ``luma`` per square pixel of the frame.
    """

    fine: Plane
    luma: Plane
    u: Plane
    v: Plane
    time_s: float
    size_px: tuple[float, float]
    sample_aspect_ratio: float
    scale: float


def square_size(width: int, height: int, sample_aspect_ratio: float) -> tuple[float, float]:
    """Width and height of a coded picture in square pixels of its height."""
    return width * sample_aspect_ratio, float(height)


def working_size(size_px: tuple[float, float], fine_diagonal_px: float) -> tuple[int, int]:
    """Width and height of the working plane, even numbers: half the fine plane's."""
    scale = fine_diagonal_px / 2 / float(np.hypot(*size_px))
    return max(16, 2 * round(size_px[0] * scale / 2)), max(16, 2 * round(size_px[1] * scale / 2))


def _resize(plane: Plane, size: tuple[int, int]) -> Plane:
    shrinks = plane.shape[1] >= size[0] and plane.shape[0] >= size[1]
    return cv2.resize(plane, size, interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR)


def _build(
    luma: Plane, u: Plane, v: Plane, time_s: float, size_px: tuple[float, float], aspect: float, diagonal: float
) -> Planes:
    width, height = working_size(size_px, diagonal)
    fine = _resize(luma, (2 * width, 2 * height))
    working = cv2.resize(fine, (width, height), interpolation=cv2.INTER_AREA)
    half = (width // 2, height // 2)
    return Planes(fine, working, _resize(u, half), _resize(v, half), time_s, size_px, aspect, height / size_px[1])


def planes_of_frame(frame: Frame, fine_diagonal_px: float) -> Planes:
    """Planes of an RGB frame."""
    height, width = frame.image.shape[:2]
    size_px = square_size(width, height, frame.sample_aspect_ratio)
    working = working_size(size_px, fine_diagonal_px)
    small = _resize(frame.image, (2 * working[0], 2 * working[1]))
    ycc = cv2.cvtColor(small, cv2.COLOR_RGB2YCrCb)
    luma, v, u = (np.ascontiguousarray(ycc[..., index]) for index in range(3))
    return _build(luma, u, v, frame.time_s, size_px, frame.sample_aspect_ratio, fine_diagonal_px)


def _plane(video_frame: Any, index: int) -> Plane:
    plane = video_frame.planes[index]
    array = np.frombuffer(plane, np.uint8).reshape(plane.height, plane.line_size)
    return array[:, : plane.width]


_YUV_420 = {"yuv420p", "yuvj420p", "yuv422p", "yuvj422p", "yuv444p", "yuvj444p"}
_JPEG_RANGE = 2  # AVCOL_RANGE_JPEG
# Video range (16 to 235) to full range; a table costs nothing beside the scaling.
_FULL_RANGE = np.clip((np.arange(256) - 16.0) * 255 / 219, 0, 255).round().astype(np.uint8)


def planes_of_picture(picture: Picture, fine_diagonal_px: float) -> Planes:
    """Planes of a decoder's picture without a detour over RGB.

    Args:
        picture: as ``unwritten.media.open_video`` gives it.
        fine_diagonal_px: see ``TrackerSettings``.
    """
    frame = picture.frame
    if frame.format.name not in _YUV_420:
        frame = frame.reformat(format="yuv420p")
    y, u, v = (_plane(frame, index) for index in range(3))
    sideways = picture.rotation % 180 == 90
    coded = (frame.height, frame.width) if sideways else (frame.width, frame.height)
    size_px = square_size(*coded, picture.sample_aspect_ratio)
    if picture.rotation or picture.mirrored:
        # Shrink before turning: turning the full plane would cost more than everything else.
        width, height = working_size(size_px, fine_diagonal_px)
        before = (height, width) if sideways else (width, height)
        y = picture.upright(_resize(y, (2 * before[0], 2 * before[1])))
        u, v = (picture.upright(_resize(plane, (before[0] // 2, before[1] // 2))) for plane in (u, v))
        y, u, v = (np.ascontiguousarray(plane) for plane in (y, u, v))
    planes = _build(y, u, v, picture.time_s, size_px, picture.sample_aspect_ratio, fine_diagonal_px)
    if frame.format.name.startswith("yuvj") or int(frame.color_range) == _JPEG_RANGE:
        return planes
    fine, luma = cv2.LUT(planes.fine, _FULL_RANGE), cv2.LUT(planes.luma, _FULL_RANGE)
    return replace(planes, fine=fine, luma=luma)


def read_planes(path: Path | str, fine_diagonal_px: float) -> Iterator[Planes]:
    """Stream the planes of a video file, frame by frame."""
    from unwritten.media import open_video

    for picture in open_video(path):
        yield planes_of_picture(picture, fine_diagonal_px)
