"""The canonical view: every track as if seen from above by its writer, on one scale for the whole word.

A long take of several words may be centred and scaled in pieces: lines slant, lie below one another, and the hand moves
on, all by far more than a letter's height.

T is the number of frames. Letters keep their heights against each other because one scale serves all shots; each shot
is centred by itself because the camera moved between shots.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from unwritten.types import BoolArray, FloatArray, IntArray, Track


def canonical_xy(
    track: Track, rotate: bool = True, scale_per_shot: bool = False, piece_s: float | None = None
) -> FloatArray:
    """Turn a track so that writing runs along +x with y up, and scale and centre it.

    Args:
        track: square pixels, y down; ``writing_rad`` None counts as 0.
        rotate: False leaves the picture's own orientation (an ablation).
        scale_per_shot: True scales every shot by itself (an ablation): heights between letters are lost.
        piece_s: a shot that is longer is cut into equal pieces that are not; None takes every shot as a whole.

    Returns:
        float64 ``[T, 2]`` in units of twice the word's vertical spread, finite everywhere.
    """
    seen = track if rotate else replace(track, writing_rad=None)
    turned = seen.along_writing() * (1.0, -1.0)
    time_s, visible, shot = np.asarray(track.time_s), np.asarray(track.visible), np.asarray(track.shot)
    return _centred_and_scaled(turned, time_s, visible, shot, scale_per_shot, piece_s)


def _centred_and_scaled(
    xy: FloatArray, time_s: FloatArray, visible: BoolArray, shot: IntArray, scale_per_shot: bool, piece_s: float | None
) -> FloatArray:
    result = np.zeros_like(xy)
    spreads: list[tuple[BoolArray, list[tuple[float, float]]]] = []
    for number in np.unique(shot):
        members = shot == number
        if (members & visible).sum() < 2:
            continue
        means, parts = [], []
        for piece in _pieces(members, time_s, piece_s):
            chosen = piece & visible
            if chosen.sum() < 2:
                continue
            points = xy[chosen]
            step = np.hypot(*np.diff(points, axis=0).T)
            # Weights by path length: a pen at rest says nothing about the letter's size or place.
            weight = np.concatenate(([0.0], step)) + np.concatenate((step, [0.0])) + 1e-9
            mean = np.average(points, axis=0, weights=weight)
            spread = float(np.average((points[:, 1] - mean[1]) ** 2, weights=weight))
            means.append((float(time_s[piece].mean()), *mean))
            parts.append((spread, float(weight.sum())))
        if not means:
            continue
        # Between the middles of two pieces the centre moves evenly from one to the other.
        middle_s, *centre = np.array(means).T
        result[members] = xy[members] - np.stack([np.interp(time_s[members], middle_s, c) for c in centre], axis=1)
        spreads.append((members, parts))
    if not spreads:
        return result
    of_all = [part for _, parts in spreads for part in parts]
    for members, parts in spreads:
        result[members] /= max(_scale(parts if scale_per_shot else of_all), 1e-6)
    result[~visible] = 0.0
    return result


def _scale(parts: Sequence[tuple[float, float]]) -> float:
    """Twice the root of the mean of spreads with their weights."""
    total = sum(weight for _, weight in parts)
    return float(2.0 * np.sqrt(sum(spread * weight for spread, weight in parts) / total))


def _pieces(members: BoolArray, time_s: FloatArray, piece_s: float | None) -> list[BoolArray]:
    """The frames of one shot, bool ``[T]``, cut into pieces of equal length in time."""
    own_s = time_s[members]
    span_s = float(own_s[-1] - own_s[0])
    count = 1 if piece_s is None else math.ceil(span_s / piece_s)
    if count < 2:
        return [members]
    number = np.minimum(((time_s - own_s[0]) / span_s * count).astype(np.int64), count - 1)
    return [members & (number == piece) for piece in range(count)]
