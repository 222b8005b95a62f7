"""Brushes of the replay: text, panes, and lanes that scroll with time. Colours are RGB, pictures uint8 ``[H, W, 3]``.

A pane is a view into the picture, so drawing on it draws on the picture; everything outside it is cut off.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]
Colour = tuple[int, int, int]

DESK: Colour = (236, 233, 226)
PAPER: Colour = (253, 252, 249)
INK: Colour = (31, 33, 54)
GREY: Colour = (134, 132, 128)
PALE: Colour = (214, 211, 204)
ACCENT: Colour = (206, 62, 44)
LETTERS: tuple[Colour, ...] = (
    (38, 112, 152),
    (196, 110, 26),
    (62, 132, 74),
    (134, 78, 152),
    (178, 54, 84),
    (92, 98, 40),
)
"""Colours that letters and words take in turn."""

_SHIFT = 4  # OpenCV draws at sixteenths of a pixel


class Box(NamedTuple):
    """A pane's place in the picture, in pixels."""

    left: int
    top: int
    width: int
    height: int

    def of(self, picture: Picture) -> Picture:
        """The pane itself, a view."""
        return picture[self.top : self.top + self.height, self.left : self.left + self.width]


@lru_cache(maxsize=8)
def _font(size: int, bold: bool):  # type: ignore[no-untyped-def]
    import matplotlib
    from PIL import ImageFont

    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    return ImageFont.truetype(str(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / name), size)


def write(
    pane: Picture,
    text: str,
    at: tuple[float, float],
    size: int = 15,
    colour: Colour = INK,
    bold: bool = False,
    align: Literal["left", "middle", "right"] = "left",
) -> None:
    """Write a line of text; ``at`` is its top edge and its left end, middle or right end."""
    from PIL import Image, ImageDraw

    image = Image.fromarray(pane)
    place = (round(at[0]), round(at[1]))
    ImageDraw.Draw(image).text(place, text, colour, _font(size, bold), anchor=f"{align[0]}a")
    pane[:] = np.asarray(image)


def line(pane: Picture, points: NDArray[np.floating], colour: Colour, width: float = 2.0) -> None:
    """An open line through ``points [N, 2]``."""
    if len(points) > 1:
        fixed = np.rint(points * 2**_SHIFT).astype(np.int32)
        cv2.polylines(pane, [fixed], False, colour, max(1, round(width)), cv2.LINE_AA, _SHIFT)


def hill(pane: Picture, points: NDArray[np.floating], base: float, colour: Colour) -> None:
    """A line over a transparent area that reaches down to ``base``."""
    if len(points) < 2:
        return
    low = max(0, int(points[:, 0].min()) - 2)
    high = min(pane.shape[1], int(points[:, 0].max()) + 3)
    if high <= low:
        return
    shape = np.concatenate((points, [[points[-1, 0], base], [points[0, 0], base]])) - (low, 0)
    part = pane[:, low:high]
    filled = np.ascontiguousarray(part)
    cv2.fillPoly(filled, [np.rint(shape * 2**_SHIFT).astype(np.int32)], colour, cv2.LINE_AA, _SHIFT)
    part[:] = cv2.addWeighted(filled, 0.28, np.ascontiguousarray(part), 0.72, 0.0)
    line(pane, points, colour, 2)


def disc(pane: Picture, at: NDArray[np.floating], radius: float, colour: Colour, width: int = -1) -> None:
    """A disc, or a ring of the given line width."""
    centre = tuple(int(value) for value in np.rint(np.asarray(at) * 2**_SHIFT))
    cv2.circle(pane, centre, round(radius * 2**_SHIFT), colour, width, cv2.LINE_AA, _SHIFT)


def bar(pane: Picture, box: Box, colour: Colour) -> None:
    """A filled rectangle, cut off at the pane's edges."""
    last = (box.left + box.width - 1, box.top + box.height - 1)
    cv2.rectangle(pane, (box.left, box.top), last, colour, cv2.FILLED)


def fitted(image: Picture, width: int, height: int) -> Picture:
    """The picture resized to exactly ``width`` by ``height``."""
    shrinks = image.shape[0] > height or image.shape[1] > width
    return np.asarray(cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_CUBIC))


def lay_ink(pen_down: Picture, pen_up: Picture, start: NDArray, end: NDArray, width: float, ink: float) -> None:
    """Add one stroke piece to the coverage masks ``[H, W]`` of ink and of travel; ``ink`` is how much of it is ink."""
    first, last = (tuple(int(value) for value in np.rint(np.asarray(point) * 2**_SHIFT)) for point in (start, end))
    if ink > 0.15:
        fresh = np.zeros_like(pen_down)
        cv2.line(fresh, first, last, round(255 * ink), max(1, round(width)), cv2.LINE_AA, _SHIFT)
        np.maximum(pen_down, fresh, out=pen_down)  # where pieces meet the darker counts, not their sum
    else:
        cv2.line(pen_up, first, last, 255, 1, cv2.LINE_AA, _SHIFT)


def inked(pane: Picture, pen_down: Picture, pen_up: Picture) -> None:
    """Blend the two coverage masks of ``lay_ink`` onto a pane."""
    for mask, strength, colour in ((pen_up, 0.22, LETTERS[0]), (pen_down, 1.0, INK)):
        part = (mask.astype(np.float32) * (strength / 255.0))[..., None]
        pane[:] = (pane * (1.0 - part) + np.array(colour, np.float32) * part + 0.5).astype(np.uint8)
