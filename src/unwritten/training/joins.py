"""Words and texts joined from what one hand wrote apart: beside each other on a line, and on lines below one another.

Entries are single letters or words as a pen performed them. Each is set on the line by its ink and its label, and the
pen travels through the air from where one ends to where the next begins. N is the number of motion samples of an entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unwritten.simulation.motion import MOTION_RATE_HZ
from unwritten.types import BoolArray

_BELOW = set("gjpqy,;")
_TALL = set("bdfhijklt0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ()[]{}!?$%&/|\\#@")
_RAISED = {**dict.fromkeys("'\"^`*", 0.6), **dict.fromkeys("-~=+<>", 0.3)}
_AFTER = {"": (0.14, 0.28), " ": (0.7, 0.45), "\n": (2.0, 0.9)}
"""Distance to the next entry in letter heights (to the line below for a new line), and seconds of the travel there."""


class Join(NamedTuple):
    """What lies between two entries of one take.

    Attributes:
        space: empty between letters of a word, a space between words, a line feed where a line ends.
        distance: in letter heights.
        samples: of the travel, at ``MOTION_RATE_HZ``.
    """

    space: str
    distance: float
    samples: int


def draw_join(space: str, rng: np.random.Generator) -> Join:
    """A join of one kind; one between words in five is a pause too."""
    distance, seconds = _AFTER[space]
    pause_s = rng.exponential(0.6) if space and rng.random() < 0.2 else 0.0
    seconds = seconds * float(np.exp(rng.normal(0.0, 0.35))) + pause_s
    return Join(space, distance * float(np.exp(rng.normal(0.0, 0.25))), max(8, round(seconds * MOTION_RATE_HZ)))


def placed(
    paths: Sequence[NDArray[np.floating]],
    contacts: Sequence[BoolArray],
    labels: Sequence[str],
    joins: Sequence[Join],
    height_mm: float,
) -> tuple[list[NDArray[np.floating]], list[NDArray[np.bool_]]]:
    """Set entries on lines, with the travel between them.

    Args:
        paths: of each entry ``[N, 2]`` millimetres, y up, from anywhere.
        contacts: of each entry ``[N]``.
        labels: what each writes.
        joins: one fewer than there are entries.
        height_mm: the writer's letter height.

    Returns:
        Paths and contacts, entries and travels in turn.
    """
    moved: list[NDArray[np.floating]] = []
    down: list[NDArray[np.bool_]] = []
    right_mm, line_mm = 0.0, 0.0
    for number, (path, contact) in enumerate(zip(paths, contacts, strict=True)):
        ink = path[contact] if contact.any() else path
        low, high = ink.min(axis=0), ink.max(axis=0)
        base_mm = low[1] + _share_below(labels[number], float(high[1] - low[1]), height_mm)
        path = path - np.array([low[0] - right_mm, base_mm - line_mm])
        if number:
            moved.append(_travel(moved[-1][-1], path[0], joins[number - 1].samples))
            down.append(np.zeros(joins[number - 1].samples, dtype=np.bool_))
        moved.append(path)
        down.append(contact)
        right_mm += float(high[0] - low[0])
        if number < len(joins):
            join = joins[number]
            if join.space == "\n":
                right_mm, line_mm = 0.0, line_mm - join.distance * height_mm
            else:
                right_mm += join.distance * height_mm
    return moved, down


def _share_below(label: str, extent_mm: float, height_mm: float) -> float:
    """How far the line lies above the lowest ink of a label; negative for signs that hang over the line."""
    if all(letter in _RAISED for letter in label):
        return -_RAISED[label[0]] * height_mm
    if not _BELOW & set(label):
        return 0.0
    return extent_mm * (0.33 if _TALL & set(label) else 0.5)


def _travel(start: NDArray[np.floating], end: NDArray[np.floating], samples: int) -> NDArray[np.floating]:
    """Minimum-jerk travel ``[samples, 2]`` (Flash and Hogan 1985) between two points, neither of them included."""
    u = np.arange(1, samples + 1)[:, None] / (samples + 1)
    return start + (u**3 * (10.0 - 15.0 * u + 6.0 * u**2)) * (end - start)
