"""The canonical view: every track as if seen from above by its writer, on one scale for the whole word.

T is the number of frames. Letters keep their heights against each other because one scale serves all shots; each shot
is centred by itself because the camera moved between shots.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unwritten.types import BoolArray, FloatArray, IntArray, Track


def canonical_xy(track: Track, rotate: bool = True, scale_per_shot: bool = False) -> FloatArray:
    """Turn a track so that writing runs along +x with y up, and scale and centre it.

    Args:
        track: square pixels, y down; ``writing_rad`` None counts as 0.
        rotate: False leaves the picture's own orientation (an ablation).
        scale_per_shot: True scales every shot by itself (an ablation): heights between letters are lost.

    Returns:
        float64 ``[T, 2]`` in units of twice the word's vertical spread, finite everywhere.
    """
    seen = track if rotate else replace(track, writing_rad=None)
    turned = seen.along_writing() * (1.0, -1.0)
    return _centred_and_scaled(turned, np.asarray(track.visible), np.asarray(track.shot), scale_per_shot)


def _centred_and_scaled(xy: FloatArray, visible: BoolArray, shot: IntArray, scale_per_shot: bool) -> FloatArray:
    result = np.zeros_like(xy)
    spreads: list[tuple[BoolArray, float, float]] = []
    for number in np.unique(shot):
        chosen = (shot == number) & visible
        if chosen.sum() < 2:
            continue
        points = xy[chosen]
        step = np.hypot(*np.diff(points, axis=0).T)
        # Weights by path length: a pen at rest says nothing about the letter's size or place.
        weight = np.concatenate(([0.0], step)) + np.concatenate((step, [0.0])) + 1e-9
        mean = np.average(points, axis=0, weights=weight)
        spread = float(np.average((points[:, 1] - mean[1]) ** 2, weights=weight))
        result[shot == number] = xy[shot == number] - mean
        spreads.append((shot == number, spread, float(weight.sum())))
    if not spreads:
        return result
    total = sum(weight for _, _, weight in spreads)
    word_scale = 2.0 * np.sqrt(sum(spread * weight for _, spread, weight in spreads) / total)
    for members, spread, _ in spreads:
        scale = 2.0 * np.sqrt(spread) if scale_per_shot else word_scale
        result[members] /= max(scale, 1e-6)
    result[~visible] = 0.0
    return result
