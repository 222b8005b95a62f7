"""The conditions under which the tracker is measured, and the true track of a rendered scene in each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from unwritten.types import Track

# Control points of letters as (x, y) with the x-height at 1 and y up; None lifts the pen.
_LETTERS: Mapping[str, Sequence[tuple[float, float] | None]] = {
    "a": ((0.75, 0.85), (0.35, 1.0), (0.0, 0.5), (0.3, 0.0), (0.7, 0.4), (0.78, 0.9), (0.75, 0.3), (0.95, 0.0)),
    "b": ((0.05, 1.9), (0.0, 0.9), (0.0, 0.05), (0.05, 0.7), (0.45, 1.0), (0.75, 0.5), (0.4, 0.0), (0.02, 0.12)),
    "e": ((0.05, 0.5), (0.7, 0.6), (0.55, 0.95), (0.15, 0.85), (0.05, 0.35), (0.4, 0.0), (0.75, 0.2)),
    "l": ((0.1, 1.9), (0.1, 1.0), (0.1, 0.2), (0.3, 0.0)),
    "n": ((0.0, 1.0), (0.0, 0.5), (0.0, 0.0), (0.05, 0.7), (0.4, 1.0), (0.65, 0.7), (0.68, 0.0)),
    "o": ((0.4, 1.0), (0.05, 0.7), (0.1, 0.15), (0.45, 0.0), (0.75, 0.4), (0.65, 0.9), (0.4, 1.0)),
    "s": ((0.65, 0.9), (0.3, 1.0), (0.1, 0.75), (0.6, 0.4), (0.6, 0.1), (0.25, 0.0), (0.02, 0.15)),
    "t": ((0.3, 1.7), (0.3, 0.8), (0.32, 0.1), (0.6, 0.05), None, (0.0, 1.1), (0.3, 1.12), (0.65, 1.1)),
    "v": ((0.0, 1.0), (0.18, 0.5), (0.36, 0.0), (0.36, 0.0), (0.55, 0.5), (0.75, 1.0)),
    "z": ((0.0, 1.0), (0.4, 1.0), (0.75, 1.0), (0.75, 1.0), (0.4, 0.5), (0.0, 0.0), (0.0, 0.0), (0.4, 0.0), (0.8, 0.0)),
}
_SHAFT_TO_WRITING_RAD = {"right": -np.deg2rad(45.0), "left": -np.deg2rad(135.0)}


@dataclass(frozen=True)
class Condition:
    """One row of the table.

    Attributes:
        name: what differs from the plain scene: dark nib, right hand, 480x854 pixels, 30 frames a second.
        scene: settings of ``unwritten.simulation.scene.SceneSettings`` that differ.
        size: width and height in square pixels.
        rate_hz: frames a second.
        turn_deg: turn of the camera, clockwise in the picture.
        sample_aspect_ratio: width of a pixel over its height.
        letters: how many are written.
        joined: each letter is a shot of its own with black frames at the join.
        longest_s: cut of a scene, for conditions that are dear to render.
    """

    name: str
    scene: Mapping[str, object] = field(default_factory=dict)
    size: tuple[int, int] = (480, 854)
    rate_hz: float = 30.0
    turn_deg: float = 0.0
    sample_aspect_ratio: float = 1.0
    letters: int = 2
    joined: bool = False
    longest_s: float = 2.0


CONDITIONS: tuple[Condition, ...] = (
    Condition("dark nib"),
    Condition("light nib", {"pen": "light"}),
    Condition("metal nib", {"pen": "metal"}),
    Condition("coloured nib", {"pen": "coloured"}),
    Condition("pencil", {"pen": "pencil"}),
    Condition("brush pen", {"pen": "brush"}),
    Condition("bare finger, in the air", {"pen": "finger", "table": "room", "view_mm": 520.0}, turn_deg=180.0),
    Condition("bare finger, on a table", {"pen": "finger", "table": "laminate", "paper": "none", "view_mm": 480.0}),
    Condition("left hand", {"hand": "left"}),
    Condition("camera turned by 90°", turn_deg=90.0, size=(854, 480)),
    Condition("camera turned by 180°", turn_deg=180.0),
    Condition("camera turned by 270°", turn_deg=270.0, size=(854, 480)),
    Condition("light skin", {"skin": 0.0}),
    Condition("dark skin", {"skin": 1.0}),
    Condition("dim light", {"exposure": 0.3, "noise": 4.0}),
    Condition("uneven light", {"unevenness": 0.75}),
    Condition("noise", {"noise": 10.0}),
    Condition("blur", {"defocus": 0.002}),
    Condition("long exposure", {"shutter": 0.9}),
    Condition("lamp's shadow", {"lamp_shadow": 0.5}),
    Condition("hard shadows", {"shadow": 0.7}),
    Condition("printed border", {"paper": "border"}),
    Condition("ruled paper", {"paper": "ruled"}),
    Condition("dark table", {"table": "dark"}),
    Condition("cloth", {"table": "cloth"}),
    Condition("240p", size=(426, 240)),
    Condition("640x480, squashed 27:64", size=(270, 480), sample_aspect_ratio=27 / 64),
    Condition("1080p", size=(1080, 1920), longest_s=1.0),
    Condition("4K", size=(2160, 3840), longest_s=0.5),
    Condition("15 fps", rate_hz=15.0),
    Condition("60 fps", rate_hz=59.94),
    Condition("120 fps", rate_hz=120.0, longest_s=1.0),
    Condition("clear pen", {"pen": "clear"}),
    Condition("marker", {"pen": "marker"}),
    Condition("square-ended stick", {"pen": "stick"}),
    Condition("stylus", {"pen": "stylus"}),
    Condition("another hold", {"pose_spread": 1.0}),
    Condition("old ink and things about", {"clutter": 0.8}),
    Condition("fresh ink", {"ink_mm": 3.0}),
    Condition("second hand", {"second_hand": 1.0, "view_mm": 520.0}),
    Condition("captions", {"captions": 1.0}),
    Condition("drawn", {"look": "drawn"}),
    Condition("GIF, 10 fps", {"look": "gif"}, size=(270, 480), rate_hz=10.0),
    Condition("candlelight", {"look": "candle", "noise": 4.0}),
    Condition("pen without a hand", {"hand": "none"}),
    Condition("letters shot one by one", joined=True, letters=3, longest_s=4.0),
)


def _spline(points: NDArray[np.float64], steps: int = 24) -> NDArray[np.float64]:
    """Catmull-Rom curve through ``points`` [n, 2]; a doubled point keeps its corner."""
    padded = np.vstack([2 * points[0] - points[1], points, 2 * points[-1] - points[-2]])
    share = np.linspace(0, 1, steps, endpoint=False)[:, None]
    pieces = []
    for a, b, c, d in zip(padded[:-3], padded[1:-2], padded[2:-1], padded[3:], strict=True):
        pieces.append(
            0.5
            * (2 * b + (c - a) * share + (2 * a - 5 * b + 4 * c - d) * share**2 + (3 * b - a - 3 * c + d) * share**3)
        )
    return np.vstack([*pieces, points[-1:]])


def letter_path(
    letter: str, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Way of a pen over one letter: seconds [n], x-heights [n, 2] with y up, and whether the pen is down [n].

    Speed follows the two-thirds power law (Lacquaniti, Terzuolo and Viviani 1983): slow where the path is curved.
    """
    strokes: list[list[tuple[float, float]]] = [[]]
    for point in _LETTERS[letter]:
        if point is None:
            strokes.append([])
        else:
            strokes[-1].append(point)
    way: list[NDArray[np.float64]] = []
    down: list[NDArray[np.bool_]] = []
    for number, stroke in enumerate(strokes):
        points = np.array(stroke) + rng.normal(0, 0.05, (len(stroke), 2))
        if number:
            travel = np.vstack([way[-1][-1], (way[-1][-1] + points[0]) / 2 + (0.0, 0.15), points[0]])
            way.append(_spline(travel)[1:-1])
            down.append(np.zeros(len(way[-1]), bool))
        way.append(_spline(points))
        down.append(np.ones(len(way[-1]), bool))
    path, is_down = np.vstack(way), np.concatenate(down)
    step = np.diff(path, axis=0)
    length = np.hypot(*step.T) + 1e-4
    heading = np.unwrap(np.arctan2(step[:, 1], step[:, 0]))
    curvature = np.abs(np.gradient(heading)) / length
    curvature = np.convolve(np.pad(curvature, 4, mode="edge"), np.full(9, 1 / 9), mode="valid")
    pace = 5.0 * rng.uniform(0.7, 1.3)  # x-heights a second where the curvature is one
    speed = pace * np.clip(curvature, 0.15, 40) ** (-1 / 3)
    return np.concatenate([[0.0], np.cumsum(length / speed)]), path, is_down


def make_truth(condition: Condition, rng: np.random.Generator) -> Track:
    """True track of a scene: a rest, a few letters with travel between them, hover; placed to fit the picture."""
    time, xy, down, shot = [0.0, 0.25], [np.zeros(2), np.zeros(2)], [False, False], [0, 0]
    names = rng.choice(list(_LETTERS), condition.letters)
    left = 0.0
    spans: list[tuple[float, float]] = []
    for number, letter in enumerate(names):
        seconds, path, is_down = letter_path(str(letter), rng)
        path = path + np.array([0.0 if condition.joined else left, 0.0])
        if not condition.joined and number:
            xy.append((xy[-1] + path[0]) / 2 + (0.0, 0.2))
            time.append(time[-1] + 0.12)
            down.append(False)
            shot.append(0)
        elif not number:
            xy[0] = path[0] + rng.normal(0, 0.5, 2)
            xy[1] = path[0]
        begin = time[-1] + 0.12
        time.extend((begin + seconds).tolist())
        xy.extend(path)
        down.extend(is_down.tolist())
        shot.extend([number if condition.joined else 0] * len(path))
        spans.append((begin - 0.12, time[-1] + 0.2))
        time.append(time[-1] + 0.2)
        xy.append(xy[-1] + (0.15, 0.2))
        down.append(False)
        shot.append(shot[-1])
        left = max(left, float(path[:, 0].max())) + 0.35
    frame_s = np.arange(int(min(time[-1], condition.longest_s) * condition.rate_hz) + 1) / condition.rate_hz
    clock = np.array(time) + 1e-9 * np.arange(len(time))
    where = np.column_stack([np.interp(frame_s, clock, np.array(xy)[:, k]) for k in range(2)])
    nearest = np.clip(np.searchsorted(clock, frame_s), 0, len(clock) - 1)
    contact = np.array(down)[nearest].astype(float)
    shots = np.array(shot)[nearest]

    hand = "left" if condition.scene.get("hand") == "left" else "right"
    shaft = (-1.194 if hand == "right" else np.pi + 1.194) + rng.normal(0, 0.06) + np.deg2rad(condition.turn_deg)
    writing = shaft + _SHAFT_TO_WRITING_RAD[hand]
    diagonal = float(np.hypot(*condition.size))
    height = rng.uniform(0.026, 0.04) * diagonal  # of the letter x, as in the benchmark's clips
    ahead = np.array([np.cos(writing), np.sin(writing)])
    above = np.array([np.sin(writing), -np.cos(writing)])
    offset = height * (where[:, :1] * ahead + where[:, 1:] * above)
    turn = np.deg2rad(condition.turn_deg)
    # The tip stands below and beside the middle of the upright picture, so that hand and pen are in view.
    aside = -0.09 if hand == "right" else 0.09
    lean = diagonal * np.array([aside + rng.normal(0, 0.02), 0.10 + rng.normal(0, 0.02)])
    lean = np.array([lean[0] * np.cos(turn) - lean[1] * np.sin(turn), lean[0] * np.sin(turn) + lean[1] * np.cos(turn)])
    half = np.asarray(condition.size) / 2
    lean *= min(1.0, float(np.min(0.75 * half / np.maximum(np.abs(lean), 1e-6))))
    tip = half + lean + offset - (offset.min(axis=0) + offset.max(axis=0)) / 2
    sway = 0.05 * np.sin(2 * np.pi * frame_s * rng.uniform(0.5, 1.5) + rng.uniform(0, 6)) - 0.15 * where[:, 1] / 2
    visible = np.ones(len(frame_s), bool)
    if condition.joined:
        for cut in np.flatnonzero(np.diff(shots)):
            visible[max(0, cut - 1) : cut + 1] = False  # two black frames end the shot
    return Track(
        time_s=frame_s,
        tip_px=tip,
        visible=visible,
        confidence=visible.astype(float),
        shot=shots,
        shaft_rad=shaft + sway,
        contact=contact,
        size_px=(float(condition.size[0]), float(condition.size[1])),
        sample_aspect_ratio=condition.sample_aspect_ratio,
        writing_rad=float(writing),
    )
