"""The recovered ink: what the pen would have written, one panel per shot, for a person to read.

Lines are wide where the pen was slow and thin where it was fast; travel with the pen up is faint.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from unwritten.errors import UsageError
from unwritten.files import whole_file
from unwritten.tracking.contact import speed_px_s
from unwritten.types import Track

_HEIGHT, _MARGIN = 220.0, 24.0  # of a panel, pixels of the drawing
_THIN, _THICK = 2.2, 6.0
_INK = (31, 33, 54)
_FAINT = 0.16  # opacity of pen-up travel
_OVERSAMPLING = 3


@dataclass(frozen=True)
class Ink:
    """Line pieces of a drawing, in pixels, y down.

    Attributes:
        start, end: ``[S, 2]``.
        width: ``[S]``.
        opacity: ``[S]``.
        panels: left and right edge of each panel.
        size: width and height of the drawing.
    """

    start: NDArray[np.float64]
    end: NDArray[np.float64]
    width: NDArray[np.float64]
    opacity: NDArray[np.float64]
    panels: tuple[tuple[float, float], ...]
    size: tuple[int, int]


def recover_ink(track: Track) -> Ink:
    """Lay out a track's ink: shots side by side in order, on one scale, so that letters keep their heights.

    Args:
        track: with its ``writing_rad``; as it is in the picture where that is None.
    """
    xy, speed = track.along_writing(), speed_px_s(track)
    shots = [np.flatnonzero((track.shot == number) & track.visible) for number in np.unique(track.shot)]
    shots = [frames for frames in shots if len(frames) > 1]
    if not shots:
        empty = np.zeros((0, 2))
        return Ink(empty, empty, np.zeros(0), np.zeros(0), (), (int(_HEIGHT), int(_HEIGHT)))
    boxes = [_box(xy[frames], np.asarray(track.contact, np.float64)[frames]) for frames in shots]
    tallest = max(float(high[1] - low[1]) for low, high in boxes)
    widest = max(float(high[0] - low[0]) for low, high in boxes)
    scale = min((_HEIGHT - 2 * _MARGIN) / max(tallest, 1e-6), 8 * _HEIGHT / max(widest, 1e-6))
    usual = float(np.median(speed[speed > 0])) if (speed > 0).any() else 1.0
    starts, ends, widths, opacities, panels = [], [], [], [], []
    left = 0.0
    for frames, (low, high) in zip(shots, boxes, strict=True):
        width = max(float(high[0] - low[0]) * scale, 0.35 * _HEIGHT) + 2 * _MARGIN
        middle = (low + high) / 2
        points = (xy[frames] - middle) * scale + (left + width / 2, _HEIGHT / 2)
        # Travel that leaves the panel would be read as part of the letter beside it.
        inside = (points[:, 0] >= left) & (points[:, 0] <= left + width)
        joined = (np.diff(frames) <= 3) & inside[:-1] & inside[1:]
        starts.append(points[:-1][joined])
        ends.append(points[1:][joined])
        slow = 1 / (1 + (speed[frames] / usual) ** 2)
        widths.append((_THIN + (_THICK - _THIN) * (slow[:-1] + slow[1:]) / 2)[joined])
        down = np.clip((np.asarray(track.contact)[frames] - 0.35) / 0.3, 0, 1)
        opacities.append((_FAINT + (1 - _FAINT) * np.minimum(down[:-1], down[1:]))[joined])
        panels.append((left, left + width))
        left += width
    size = (int(np.ceil(left)), int(_HEIGHT))
    return Ink(
        np.concatenate(starts),
        np.concatenate(ends),
        np.concatenate(widths),
        np.concatenate(opacities),
        tuple(panels),
        size,
    )


def _box(xy: NDArray[np.float64], contact: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    inked = xy[contact > 0.5] if (contact > 0.5).sum() > 4 else xy
    return inked.min(0), inked.max(0)


def draw_png(ink: Ink) -> NDArray[np.uint8]:
    """Draw the ink, RGB uint8 ``[H, W, 3]`` on white."""
    width, height = ink.size
    big = np.zeros((height * _OVERSAMPLING, width * _OVERSAMPLING), np.uint8)
    shift = 4
    # Faint travel first, so that ink lies over it; where pieces meet the darker counts, not their sum.
    for index in np.argsort(ink.opacity, kind="stable"):
        start, end = (
            tuple(int(v) for v in np.rint(point[index] * _OVERSAMPLING * 2**shift)) for point in (ink.start, ink.end)
        )
        thickness = max(1, round(float(ink.width[index]) * _OVERSAMPLING))
        cv2.line(big, start, end, round(255 * float(ink.opacity[index])), thickness, cv2.LINE_AA, shift)
    coverage = cv2.resize(big, (width, height), interpolation=cv2.INTER_AREA)[..., None] / 255.0
    picture = 255.0 * (1 - coverage) + np.array(_INK) * coverage
    for left, _ in ink.panels[1:]:
        picture[12:-12, round(left)] = 215
    return picture.round().astype(np.uint8)


def draw_svg(ink: Ink) -> str:
    """The ink as an SVG document."""
    width, height = ink.size
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    lines += [f'<path d="M{left:.0f} 12V{height - 12}" stroke="#d7d7d7"/>' for left, _ in ink.panels[1:]]
    lines.append(f'<g stroke="#{"".join(f"{channel:02x}" for channel in _INK)}" stroke-linecap="round">')
    for index in np.argsort(ink.opacity, kind="stable"):
        (x0, y0), (x1, y1) = ink.start[index], ink.end[index]
        opacity = f' stroke-opacity="{ink.opacity[index]:.2f}"' if ink.opacity[index] < 0.995 else ""
        lines.append(f'<path d="M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}" stroke-width="{ink.width[index]:.1f}"{opacity}/>')
    return "\n".join([*lines, "</g>", "</svg>", ""])


def write_ink(track: Track, path: Path | str) -> Path:
    """Draw a track's ink to a ``.png`` or ``.svg`` file.

    Raises:
        UsageError: another suffix.
        UnwrittenError: the place cannot be written.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in (".png", ".svg"):
        raise UsageError(f"{path}: ink is drawn as .png or .svg; choose one of these suffixes")
    ink = recover_ink(track)
    with whole_file(path) as temporary:
        if suffix == ".svg":
            temporary.write_text(draw_svg(ink), encoding="utf-8")
        else:
            _, data = cv2.imencode(".png", cv2.cvtColor(draw_png(ink), cv2.COLOR_RGB2BGR))
            temporary.write_bytes(data.tobytes())
    return path
