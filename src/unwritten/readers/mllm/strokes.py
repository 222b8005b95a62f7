"""Strokes in words and in numbers, for models that cannot see: where each begins, how it runs, where it ends.

A stroke is a run of frames of one shot in which the pen is on the paper. Directions are those of a reader of the line:
right is where writing goes. T is the number of frames.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unwritten.types import Track

_DIRECTIONS = ("right", "up-right", "up", "up-left", "left", "down-left", "down", "down-right")
_POINTS = 24  # a stroke is resampled to so many points along its length before it is put into words
_LOW, _HIGH = 1 / 3, 2 / 3


@dataclass(frozen=True)
class Stroke:
    """One touch of the pen.

    Attributes:
        xy: ``[P, 2]`` in units of the tallest letter's height, x along the writing, y **up** from the lowest ink.
        start_s, end_s: times.
        letter: number of the letter that it belongs to, from 0.
    """

    xy: NDArray[np.float64]
    start_s: float
    end_s: float
    letter: int


def strokes_of(track: Track) -> list[Stroke]:
    """The strokes of a track whose ``shot`` numbers its letters (or its shots), in time order."""
    xy = track.along_writing() * (1.0, -1.0)
    down = np.asarray(track.contact) > 0.5
    if not (down & track.visible).any():
        down = np.ones(len(track), dtype=np.bool_)
    inked = down & np.asarray(track.visible)
    runs: list[NDArray[np.intp]] = []
    for shot in np.unique(track.shot):
        frames = np.flatnonzero(inked & (track.shot == shot))
        if len(frames):
            runs += np.split(frames, np.flatnonzero(np.diff(frames) > 2) + 1)
    runs = [run for run in runs if len(run) > 1]
    if not runs:
        return []
    letters = sorted({int(track.shot[run[0]]) for run in runs})
    boxes = {shot: xy[np.concatenate([run for run in runs if track.shot[run[0]] == shot])] for shot in letters}
    height = max(float(np.ptp(box[:, 1])) for box in boxes.values()) or 1.0
    return [
        Stroke(
            (xy[run] - boxes[int(track.shot[run[0]])].min(axis=0)) / height,
            float(track.time_s[run[0]]),
            float(track.time_s[run[-1]]),
            letters.index(int(track.shot[run[0]])),
        )
        for run in runs
    ]


def points_text(strokes: list[Stroke]) -> str:
    """The strokes as points on a grid whose unit is a hundredth of the tallest letter, x right and y up."""
    lines = []
    for number, stroke in enumerate(strokes, start=1):
        listed = " ".join(f"({round(100 * x)},{round(100 * y)})" for x, y in _resampled(stroke.xy, _POINTS // 2))
        lines.append(f"part {stroke.letter + 1}, stroke {number}: {listed}")
    return "\n".join(lines)


def words_text(strokes: list[Stroke], kind: str = "letter") -> str:
    """The strokes of each letter in words, one line each; ``kind`` names what the strokes are divided into."""
    lines = []
    for letter in sorted({stroke.letter for stroke in strokes}):
        own = [stroke for stroke in strokes if stroke.letter == letter]
        everything = np.concatenate([stroke.xy for stroke in own])
        height, width = np.ptp(everything[:, 1]), np.ptp(everything[:, 0])
        size = "tall" if height > 0.75 else "small" if height < 0.45 else "of middle height"
        shape = "narrow" if width < 0.5 * height else "wide" if width > 1.3 * height else "about as wide as high"
        lines.append(f"{kind} {letter + 1}: {size}, {shape}, {len(own)} stroke{'s' if len(own) != 1 else ''}")
        lines += [f"  {describe(stroke.xy, everything)}" for stroke in own]
    return "\n".join(lines)


def describe(xy: NDArray[np.float64], within: NDArray[np.float64] | None = None) -> str:
    """One stroke in words.

    Args:
        xy: ``[P, 2]``, y up.
        within: points of the letter that it is part of, for places; the stroke's own when None.
    """
    within = xy if within is None else within
    low, span = within.min(axis=0), np.maximum(np.ptp(within, axis=0), 1e-9)
    length = float(np.linalg.norm(np.diff(xy, axis=0), axis=1).sum())
    extent = float(np.linalg.norm(span))
    if length < 0.12 * extent:
        return f"a dot at the {_place((xy.mean(axis=0) - low) / span)}"
    points = _resampled(xy)
    steps = np.diff(points, axis=0)
    sectors = np.round(np.arctan2(steps[:, 1], steps[:, 0]) / (np.pi / 4)).astype(int) % 8
    legs: list[list[int]] = []
    for sector in sectors:
        if legs and legs[-1][0] == sector:
            legs[-1][1] += 1
        else:
            legs.append([int(sector), 1])
    # One step of a sector between two others is the round of a corner, not a leg of its own.
    said = [_DIRECTIONS[sector] for sector, count in legs if count > 1] or [_DIRECTIONS[legs[0][0]]]
    said = [name for number, name in enumerate(said) if number == 0 or name != said[number - 1]]
    heading = np.unwrap(np.arctan2(steps[:, 1], steps[:, 0]))
    turn = float(heading[-1] - heading[0])
    bend = "" if abs(turn) < 1.2 else ", turning anticlockwise" if turn > 0 else ", turning clockwise"
    if abs(turn) > 4.5:
        bend += " through a full round" if abs(turn) < 8 else " more than once"
    closed = ", closing on its start" if np.linalg.norm(xy[-1] - xy[0]) < 0.15 * length else ""
    start, end = _place((xy[0] - low) / span), _place((xy[-1] - low) / span)
    return f"from the {start} {', then '.join(said)}{bend}{closed}, to the {end}"


def _resampled(xy: NDArray[np.float64], count: int = _POINTS) -> NDArray[np.float64]:
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(xy, axis=0), axis=1))])
    wanted = np.linspace(0.0, along[-1], count)
    return np.stack([np.interp(wanted, along, xy[:, axis]) for axis in (0, 1)], axis=1)


def _place(at: NDArray[np.float64]) -> str:
    across = "left" if at[0] < _LOW else "right" if at[0] > _HIGH else ""
    along = "bottom" if at[1] < _LOW else "top" if at[1] > _HIGH else ""
    return " ".join(filter(None, (along, across))) or "middle"
