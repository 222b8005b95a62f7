"""What each frame of a scene shows: the pen on its way, an empty table, or nothing but black.

T is the number of frames.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter1d

from unwritten.types import BoolArray, FloatArray, IntArray, Track

_ARM_LAG_S = 0.45  # the forearm follows the writing this slowly; the fingers make the letters


@dataclass(frozen=True)
class Schedule:
    """The track as the renderer needs it.

    Attributes:
        black: ``[T]`` bool, frames without any picture.
        drawn: ``[T]`` bool, frames that show the pen.
        tip_px: ``[T, 2]`` the tip in square pixels, gaps filled.
        arm_px: ``[T, 2]`` where the tip would be if the hand moved as slowly as the forearm.
        velocity_px_s: ``[T, 2]`` of the tip.
        shaft_rad: ``[T]`` direction of the shaft, gaps filled, without jumps of a full turn.
        lift: ``[T]`` share of the full lift, 0 on the paper.
        shot: ``[T]`` shot of each frame.
    """

    black: BoolArray
    drawn: BoolArray
    tip_px: FloatArray
    arm_px: FloatArray
    velocity_px_s: FloatArray
    shaft_rad: FloatArray
    lift: FloatArray
    shot: IntArray


def _runs(mask: BoolArray) -> list[tuple[int, int]]:
    """Half-open ranges where ``mask`` is True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    return [(int(start), int(stop)) for start, stop in edges.reshape(-1, 2)]


def make_schedule(track: Track, gap_s: float) -> Schedule:
    """Read black frames, absences and gaps from a track.

    Invisible frames that end a shot before another one are the black frames of the join. Within a shot a run of at most
    ``gap_s`` seconds is a gap of the tracker and the pen is drawn on its way; in a longer one the pen is away.
    """
    frames = len(track)
    time_s = np.asarray(track.time_s, np.float64)
    visible = np.asarray(track.visible, bool)
    shot = np.asarray(track.shot, int)
    black, drawn = np.zeros(frames, bool), visible.copy()
    tip = np.asarray(track.tip_px, np.float64).copy()
    shaft = np.asarray(track.shaft_rad, np.float64).copy()
    lift = 1 - np.clip(np.asarray(track.contact, np.float64), 0, 1)
    arm, velocity = tip.copy(), np.zeros_like(tip)
    for start, stop in _runs(~visible):
        last = stop < frames and shot[stop] != shot[stop - 1]
        first_of_join = start
        while last and first_of_join < stop and shot[first_of_join] != shot[stop - 1]:
            first_of_join += 1
        black[first_of_join:stop] = last
    for number in np.unique(shot):
        members = np.flatnonzero(shot == number)
        known = members[visible[members]]
        if len(known) == 0:
            continue
        span = np.arange(known[0], known[-1] + 1)
        for start, stop in _runs(~visible[span]):
            if time_s[span[stop]] - time_s[span[start - 1]] <= gap_s:
                drawn[span[start:stop]] = True
        shaft[known] = np.unwrap(shaft[known])
        for values in (tip[:, 0], tip[:, 1], shaft, lift):
            values[members] = np.interp(time_s[members], time_s[known], values[known])
        step_s = float(np.median(np.diff(time_s[members]))) if len(members) > 1 else 1 / 30
        arm[members] = gaussian_filter1d(tip[members], _ARM_LAG_S / max(step_s, 1e-3), axis=0, mode="nearest")
        lift[members] = gaussian_filter1d(lift[members], 0.025 / max(step_s, 1e-3), mode="nearest")
        if len(members) > 1:
            velocity[members] = np.gradient(tip[members], time_s[members], axis=0)
    return Schedule(black, drawn & ~black, tip, arm, velocity, shaft, lift, shot)
