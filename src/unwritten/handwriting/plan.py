"""From a writer's letters to a row of targets for a word: places, joins, lifts, pauses. P: number of targets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unwritten.handwriting.glyphs import Glyph, Targets
from unwritten.handwriting.traits import Hand, WriterSettings
from unwritten.types import BoolArray

PRINT_GAP = 0.5
"""Gap between printed letters in x-heights, before the writer's own spacing."""
JOIN_GAP = 0.2
"""From the end of an exit stroke to the left edge of the next letter of cursive, in x-heights."""


@dataclass(frozen=True)
class Plan:
    """The targets of a word in order.

    Attributes:
        points: float64 ``[P, 2]`` in x-heights.
        corner: bool ``[P]``, where the hand stops.
        lifted: bool ``[P - 1]``, True where the pen is in the air between two targets.
        pause_s: float64 ``[P - 1]`` hesitation on top of the movement.
        letter_targets: int64 ``[n, 2]`` first and last target of each letter.
    """

    points: NDArray[np.float64]
    corner: BoolArray
    lifted: BoolArray
    pause_s: NDArray[np.float64]
    letter_targets: NDArray[np.int64]


class _Row:
    """Targets in the making."""

    def __init__(self, hand: Hand, settings: WriterSettings, rng: np.random.Generator) -> None:
        self.hand, self.settings, self.rng = hand, settings, rng
        self.parts: list[NDArray[np.float64]] = []
        self.corners: list[BoolArray] = []
        self.lifts: list[int] = []
        self.pauses: list[float] = []
        self.count = 0
        self.starts_at_rest = False

    def draw(self, stroke: Targets, place: NDArray[np.float64], scale: float) -> None:
        """Go on with the pen on the paper."""
        points = stroke.points * scale + place
        corner = stroke.corner.copy()
        corner[0] |= self.starts_at_rest
        self.starts_at_rest = False
        self.parts.append(points + self.rng.normal(0.0, self.settings.careless_jitter, points.shape))
        self.corners.append(corner)
        self.count += len(points)

    def lift(self) -> None:
        """The next stroke starts somewhere else."""
        if self.count == 0:
            return
        hesitates = bool(self.rng.random() < self.settings.pause_share)
        stops, self.starts_at_rest = (self.rng.random(2) < self.hand.stops_at_lifts) | hesitates
        self.corners[-1][-1] |= stops
        self.lifts.append(self.count - 1)
        self.pauses.append(float(self.rng.lognormal(-1.4, 0.5)) if hesitates else 0.0)

    def finish(self, letter_targets: list[list[int]]) -> Plan:
        points = np.concatenate(self.parts)
        lifted = np.zeros(len(points) - 1, np.bool_)
        pause_s = np.zeros(len(points) - 1)
        lifted[self.lifts] = True
        pause_s[self.lifts] = self.pauses
        return Plan(points, np.concatenate(self.corners), lifted, pause_s, np.array(letter_targets, dtype=np.int64))


def plan_word(word: str, glyphs: list[Glyph], hand: Hand, settings: WriterSettings, rng: np.random.Generator) -> Plan:
    """Place the letters ``glyphs`` of ``word`` in a row, join those that join, and lift the pen where it has to be."""
    row = _Row(hand, settings, rng)
    left, drift, joined = 0.0, 0.0, False
    late: list[tuple[Targets, NDArray[np.float64], float]] = []
    letter_targets: list[list[int]] = []
    for number, glyph in enumerate(glyphs):
        drift = 0.7 * drift + float(rng.normal(0.0, 0.03))
        scale = float(np.exp(rng.normal(0.0, 0.04)))
        place = np.array([left, drift])
        if not joined:
            row.lift()
        first = row.count
        if not joined and len(glyph.entry):
            row.draw(glyph.entry, place, scale)
        for index, stroke in enumerate(glyph.strokes):
            if index:
                row.lift()
            row.draw(stroke, place, scale)
        if glyph.joins:
            row.draw(glyph.exit, place, scale)
        letter_targets.append([first, row.count - 1])
        late += [(stroke, place, scale) for stroke in glyph.delayed]
        last = number == len(glyphs) - 1
        joined = glyph.joins and not last and not word[number + 1].isupper() and rng.random() >= hand.break_share
        if late and (last or not (joined or hand.delays_dots)):
            for stroke, where, size in late:
                row.lift()
                row.draw(stroke, where, size)
            late = []
        if glyph.joins:
            gap = JOIN_GAP * hand.spacing * (1.0 if joined else 2.0)
            left += float(glyph.exit.points[-1, 0]) * scale + gap
        else:
            left += glyph.width * scale + PRINT_GAP * hand.spacing
    return row.finish(letter_targets)
