"""Shapes of letters as virtual targets: the points that a hand aims at, one after the other. P is their number.

Lengths are in units of the x-height: the baseline is y = 0, the x-height 1, ascenders end near 2, descenders near -1.
A shape is written as text: points ``x,y`` in order, ``!`` after a point where the hand stops and turns sharply, ``|``
where the pen is lifted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from unwritten.errors import UnwrittenError
from unwritten.types import BoolArray


@dataclass(frozen=True)
class Targets:
    """One stroke, from pen down to pen up.

    Attributes:
        points: float64 ``[P, 2]`` virtual targets in x-heights, y up.
        corner: bool ``[P]``, True where the hand comes to a stop.
    """

    points: NDArray[np.float64]
    corner: BoolArray

    def __len__(self) -> int:
        return len(self.points)


@dataclass(frozen=True)
class Glyph:
    """One way to write a letter.

    Attributes:
        entry: what leads into the letter when nothing comes before it; empty in print.
        strokes: the letter itself; in cursive the first one is joined to its neighbours.
        exit: what leads out of the last joined stroke; empty in print and for letters that do not join.
        delayed: strokes that cursive adds once the joined run is done: dots and crosses.
        width: extent in x of the letter itself.
    """

    entry: Targets
    strokes: tuple[Targets, ...]
    exit: Targets
    delayed: tuple[Targets, ...] = ()
    width: float = 1.0

    @property
    def joins(self) -> bool:
        """True when the next letter of a cursive word follows without a lift."""
        return len(self.exit) > 0


def parse_strokes(text: str) -> tuple[Targets, ...]:
    """Strokes from their text; see the module's docstring.

    Raises:
        UnwrittenError: a point is not two numbers.
    """
    strokes = []
    for part in text.split("|"):
        words = part.split()
        try:
            points = [[float(number) for number in word.rstrip("!").split(",")] for word in words]
            array = np.array(points, dtype=np.float64).reshape(len(points), 2)
        except ValueError as error:
            raise UnwrittenError(f"stroke {part.strip()!r}: write points as x,y with ! after a corner") from error
        strokes.append(Targets(array, np.array([word.endswith("!") for word in words], dtype=np.bool_)))
    return tuple(strokes)


NO_TARGETS = Targets(np.zeros((0, 2)), np.zeros(0, np.bool_))


def print_glyph(text: str) -> Glyph:
    """A letter of print: strokes with lifts between them."""
    strokes = parse_strokes(text)
    return Glyph(NO_TARGETS, strokes, NO_TARGETS, width=_right_edge(strokes))


def cursive_glyph(entry: str, body: str, leave: str, delayed: str = "") -> Glyph:
    """A letter of cursive: an entry stroke, the body, an exit stroke, and what is added when the word is done."""
    strokes = parse_strokes(body)
    return Glyph(
        entry=parse_strokes(entry)[0],
        strokes=strokes,
        exit=parse_strokes(leave)[0],
        delayed=parse_strokes(delayed) if delayed.strip() else (),
        width=_right_edge(strokes),
    )


def _right_edge(strokes: tuple[Targets, ...]) -> float:
    return max(float(stroke.points[:, 0].max()) for stroke in strokes)


@cache
def alphabet(style: str) -> Mapping[str, tuple[Glyph, ...]]:
    """Every letter's variants, the commonest first, in ``print`` or ``cursive``.

    Raises:
        UnwrittenError: there is no such style.
    """
    from unwritten.handwriting.alphabet_cursive import CURSIVE
    from unwritten.handwriting.alphabet_print import PRINT

    if style == "print":
        return {letter: tuple(print_glyph(text) for text in variants) for letter, variants in PRINT.items()}
    if style == "cursive":
        return {letter: tuple(cursive_glyph(*parts) for parts in variants) for letter, variants in CURSIVE.items()}
    raise UnwrittenError(f"{style}: no such alphabet; there are print and cursive")
