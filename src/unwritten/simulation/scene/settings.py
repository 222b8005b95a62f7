"""What a rendered scene looks like: the pen, the hand, the table, the light and the camera."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Pen = Literal[
    "dark", "light", "metal", "pencil", "brush", "finger", "coloured", "clear", "marker", "stick", "stylus", "random"
]
PENS: tuple[Pen, ...] = get_args(Pen)
Hand = Literal["right", "left", "none", "random"]
HANDS: tuple[Hand, ...] = get_args(Hand)
Surface = Literal["wood", "laminate", "cloth", "dark", "room", "random"]
SURFACES: tuple[Surface, ...] = get_args(Surface)
Paper = Literal["plain", "ruled", "border", "none"]
PAPERS: tuple[Paper, ...] = get_args(Paper)


Look = Literal["photo", "drawn", "gif", "candle", "grey"]
LOOKS: tuple[Look, ...] = get_args(Look)


@dataclass(frozen=True)
class SceneSettings:
    """Settings of ``render``; the defaults look like the benchmark's clips.

    Attributes:
        pen: kind of nib and shaft; ``finger`` is a bare index finger without a pen.
        hand: the writing hand; ``none`` lets the pen move by itself, as in virtual reality.
        skin: tone of the skin from 0 (light) to 1 (dark); negative draws one at random.
        sleeve: probability that the forearm wears a sleeve.
        table: what lies under the paper; ``room`` is a blurred wall, for writing in the air.
        paper: what is printed on the paper; ``none`` leaves the paper away.
        background: picture or video whose first frame takes the place of the drawn table and paper, cut to the
            frame's shape; empty for the drawn ones.
        view_mm: length of the frame's diagonal on the table in millimetres: how close the camera is.
        exposure: brightness of the picture, 1 for a well lit one.
        unevenness: how much darker the far side of the picture is than the near side of the lamp, 0 to 1.
        lamp_shadow: depth of the shadow of a lamp's arm across the paper, 0 to 1.
        shadow: depth of the soft shadows of hand and pen, 0 to 1.
        noise: standard deviation of the sensor's noise in levels of 255.
        defocus: standard deviation of the blur of the lens as a share of the frame's diagonal.
        shutter: share of the time between two frames for which the shutter is open; blurs what moves.
        lift_mm: height of the tip over the paper where the track says that the pen is up.
        gap_s: longest run of invisible frames within a shot that is a gap of the tracker (the pen is drawn on its
            way) and not a pen that has left the picture.
        shot_change: how far crop and light differ from shot to shot, 0 to 1.
        pose_spread: how far the hand's pose goes from the benchmark's, 0 to 1.
        clutter: how much lies about that is no pen (old ink, print, patterns, cables, things), 0 to 1.
        second_hand: probability that another hand lies in the picture.
        ink_mm: width of the ink that the pen leaves while it is down; 0 for a dry pen.
        captions: probability of words over the picture.
        look: the medium of the picture.
    """

    pen: Pen = "dark"
    hand: Hand = "right"
    skin: float = -1.0
    sleeve: float = 0.4
    table: Surface = "wood"
    paper: Paper = "plain"
    background: str = ""
    view_mm: float = 330.0
    exposure: float = 1.0
    unevenness: float = 0.25
    lamp_shadow: float = 0.0
    shadow: float = 0.45
    noise: float = 1.5
    defocus: float = 0.0004
    shutter: float = 0.25
    lift_mm: float = 7.0
    gap_s: float = 0.5
    shot_change: float = 0.5
    pose_spread: float = 0.0
    clutter: float = 0.0
    second_hand: float = 0.0
    ink_mm: float = 0.0
    captions: float = 0.0
    look: Look = "photo"

    def __post_init__(self) -> None:
        for name, known in (("pen", PENS), ("hand", HANDS), ("table", SURFACES), ("paper", PAPERS), ("look", LOOKS)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name}={getattr(self, name)!r}: choose one of {', '.join(known)}")
        for name in ("view_mm", "exposure"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name}={getattr(self, name)}: must be above 0")
        shares = ("sleeve", "unevenness", "lamp_shadow", "shadow", "shutter", "shot_change", "pose_spread", "clutter")
        for name in (*shares, "second_hand", "captions"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name}={getattr(self, name)}: must lie in 0 to 1")
        for name in ("noise", "defocus", "lift_mm", "gap_s", "ink_mm"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name}={getattr(self, name)}: must not be negative")
