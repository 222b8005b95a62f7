"""The recovered ink of a replay, grown picture by picture. T is the number of pictures."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from unwritten.replay import drawing as draw
from unwritten.replay.drawing import Box, Picture
from unwritten.types import Track


class InkOverTime:
    """The recovered ink in the canonical view, one panel per shot, grown picture by picture."""

    def __init__(self, track: Track, box: Box) -> None:
        from unwritten.tracking.ink import traces

        # Travel is kept in view, as long as it does not dwarf the ink.
        xy, self.slow, self.inked, shots, boxes = traces(track, travel=0.25)
        self.visible, self.shot = np.asarray(track.visible), np.asarray(track.shot)
        sizes = np.array([high - low for low, high in boxes]) if boxes else np.ones((1, 2))
        room = (box.width - 24.0, box.height - 64.0)
        gap = 36.0
        # One scale for all shots, so that letters keep their heights against each other.
        scale = min(
            room[1] / max(float(sizes[:, 1].max()), 1e-6),
            max(room[0] - gap * len(sizes), 50.0) / max(float(sizes[:, 0].sum()), 1e-6),
        )
        widths = sizes[:, 0] * scale + gap
        left = (box.width - float(widths.sum())) / 2
        self.points = np.zeros_like(xy)
        self.separators: list[float] = []
        for frames, (low, high), width in zip(shots, boxes, widths, strict=False):
            chosen = self.shot == self.shot[frames[0]]
            middle = (left + width / 2, box.height / 2 + 8.0)
            self.points[chosen] = (xy[chosen] - (low + high) / 2) * scale + middle
            left += float(width)
            self.separators.append(left)
        self.weight = box.height / 260.0
        self.pen_down: Picture = np.zeros((box.height, box.width), np.uint8)
        self.pen_up: Picture = np.zeros((box.height, box.width), np.uint8)
        self.last: int | None = None
        self.before: int | None = None

    def rule(self, pane: Picture) -> None:
        """Thin lines between the shots."""
        for x in self.separators[:-1]:
            pane[34:-14, round(x)] = draw.PALE

    def grow(self, pane: Picture, index: int) -> None:
        """Add the way to frame ``index`` and show the ink so far, with a dot where the pen is."""
        if self.visible[index]:
            last = self.last
            if last is not None and self._joined(last, index):
                width = self.weight * (2.4 + 4.2 * 0.5 * (self.slow[last] + self.slow[index]))
                ink = float(min(self.inked[last], self.inked[index]))
                curve = self._curve(last, index)
                for start, end in itertools.pairwise(curve):
                    draw.lay_ink(self.pen_down, self.pen_up, start, end, width, ink)
            self.before, self.last = last, index
        draw.inked(pane, self.pen_down, self.pen_up)
        if self.visible[index]:
            draw.disc(pane, self.points[index], 5.0, draw.ACCENT)

    def _joined(self, first: int, second: int) -> bool:
        return bool(self.shot[first] == self.shot[second]) and second - first <= 3

    def _curve(self, first: int, second: int) -> NDArray[np.float64]:
        """Points of a cubic between two frames that goes on from the frame before and to the frame after (Hermite)."""
        start, end = self.points[first], self.points[second]
        pieces = int(np.clip(np.hypot(*(end - start)) / 4.0, 1, 8))
        before = self.before if self.before is not None and self._joined(self.before, first) else first
        after = second + 1
        if after >= len(self.points) or not self.visible[after] or self.shot[after] != self.shot[second]:
            after = second
        leaving = (end - self.points[before]) / (second - before) * (second - first)
        arriving = (self.points[after] - start) / (after - first) * (second - first)
        u = np.linspace(0.0, 1.0, pieces + 1)[:, None]
        return (
            (2 * u**3 - 3 * u**2 + 1) * start
            + (u**3 - 2 * u**2 + u) * leaving
            + (3 * u**2 - 2 * u**3) * end
            + (u**3 - u**2) * arriving
        )
