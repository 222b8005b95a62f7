"""The recovered ink: what the pen would have written, one panel per shot, for a person to read.

Lines are wide where the pen was slow and thin where it was fast; travel with the pen up is faint.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

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


class Traces(NamedTuple):
    """What every drawing of a track's ink is made of.

    Attributes:
        xy: ``[T, 2]`` the tip, writing along +x, y down, square pixels.
        slow: ``[T]`` from 1 at rest over one half at the usual speed towards 0.
        inked: ``[T]`` opacity, 0 for travel and 1 for ink, soft where contact is in doubt.
        shots: visible frames of each shot that shows a line, in order.
        boxes: lower and upper corner of each shot's ink; of all it shows where there is hardly any ink.
    """

    xy: NDArray[np.float64]
    slow: NDArray[np.float64]
    inked: NDArray[np.float64]
    shots: list[NDArray[np.intp]]
    boxes: list[tuple[NDArray[np.float64], NDArray[np.float64]]]


def traces(track: Track, travel: float = 0.0) -> Traces:
    """Turn a track to its writing direction and tell ink from travel.

    Args:
        track: as it is in the picture where its ``writing_rad`` is None.
        travel: boxes take in travel up to this share of the ink's extent beyond it.
    """
    xy, speed, contact = track.along_writing(), speed_px_s(track), np.asarray(track.contact, np.float64)
    usual = float(np.median(speed[speed > 0])) if (speed > 0).any() else 1.0
    shots = [np.flatnonzero((track.shot == number) & track.visible) for number in np.unique(track.shot)]
    shots = [frames for frames in shots if len(frames) > 1]
    boxes = []
    for frames in shots:
        written = frames[contact[frames] > 0.5]
        ink, everything = xy[written if len(written) > 4 else frames], xy[frames]
        low, high = ink.min(0), ink.max(0)
        reach = travel * float((high - low).max())
        boxes.append((np.maximum(everything.min(0), low - reach), np.minimum(everything.max(0), high + reach)))
    return Traces(xy, 1 / (1 + (speed / usual) ** 2), np.clip((contact - 0.35) / 0.3, 0, 1), shots, boxes)


def recover_ink(track: Track) -> Ink:
    """Lay out a track's ink: shots side by side in order, on one scale, so that letters keep their heights.

    Args:
        track: with its ``writing_rad``; as it is in the picture where that is None.
    """
    xy, slow, inked, shots, boxes = traces(track)
    if not shots:
        empty = np.zeros((0, 2))
        return Ink(empty, empty, np.zeros(0), np.zeros(0), (), (int(_HEIGHT), int(_HEIGHT)))
    tallest = max(float(high[1] - low[1]) for low, high in boxes)
    widest = max(float(high[0] - low[0]) for low, high in boxes)
    scale = min((_HEIGHT - 2 * _MARGIN) / max(tallest, 1e-6), 8 * _HEIGHT / max(widest, 1e-6))
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
        pace, down = slow[frames], inked[frames]
        widths.append((_THIN + (_THICK - _THIN) * (pace[:-1] + pace[1:]) / 2)[joined])
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
