"""Settings of the tracker. Lengths are fractions of the frame's diagonal, so that one set fits 240p and 4K."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from unwritten.files import project_root

KINDS = ("auto", "nib", "mediapipe")
HANDS = ("auto", "right", "left")


@dataclass(frozen=True)
class TrackerSettings:
    """What the tracker looks for and how it joins what it finds.

    Attributes:
        kind: ``nib`` follows a pen, ``mediapipe`` the tip of the index finger, ``auto`` a pen and, in a clip that
            shows none, the finger.
        fine_diagonal_px: every frame is brought to square pixels with a diagonal of this many pixels for sub-pixel
            work; candidates and flow use half of that.
        nib_width: width of the nib some way behind its tip, the scale of every window.
        dark_levels: fractions of the paper's local brightness below which something is part of a nib.
        candidates: nib candidates kept in each frame.
        search_every: the whole picture is searched for a nib every so many frames; between, flow carries candidates on.
        min_score: mean score of a path below which a shot is said to hold no pen.
        min_confidence: raw confidence, whatever the end fades, below which a frame shows no tip.
        convincing: score of a frame's best nib above which the detector is only asked now and then.
        detector: the learned detector is asked too.
        ask_every_s: time between two frames that it is shown of shots without a convincing dark nib.
        check_every_s: the same of other shots.
        jump: cost of a frame whose tip does not follow the flow.
        missing: cost of a frame without a tip.
        tip_level: where the tip lies between the nib's darkness (0) and the paper (1).
        bridge_s: gaps up to this long are filled in and marked.
        black_level: mean luma (0 to 255) below which a frame is black.
        cut_change: mean change of luma (0 to 255) below which two frames are of one take.
        cut_spike: how many times the change of the frames around it a cut's change is.
        shaft_to_writing_deg: turn from the shaft's direction back to the direction of writing, for a right hand.
        hand: the writing hand; ``auto`` tells it from the side on which the arm lies.
        mirrored: the picture is mirrored; None tells it from the order of the strokes.
        writing_deg: direction of writing in the picture (x right, y down) when the user knows it, else None.
        tip: where the tip is in one frame, as somebody says who saw it: x, y in pixels of the file and, perhaps, the
            time in seconds (0); it is followed from there in both directions.
        calibrated: confidence is brought to what it was worth on scenes with known truth; False leaves it raw.
        hand_model: file of MediaPipe's hand landmarker, else the installed one.
    """

    kind: Literal["auto", "nib", "mediapipe"] = "auto"
    fine_diagonal_px: float = 1101.5
    nib_width: float = 0.02
    dark_levels: tuple[float, ...] = (0.25, 0.4, 0.6)
    candidates: int = 6
    search_every: int = 6
    min_score: float = 1.3
    min_confidence: float = 0.1
    convincing: float = 2.1
    detector: bool = True
    ask_every_s: float = 0.09
    check_every_s: float = 0.5
    jump: float = 6.0
    missing: float = 1.5
    tip_level: float = 0.22
    bridge_s: float = 0.15
    black_level: float = 24.0
    cut_change: float = 4.0
    cut_spike: float = 2.5
    shaft_to_writing_deg: float = 45.0
    hand: Literal["auto", "right", "left"] = "auto"
    mirrored: bool | None = None
    writing_deg: float | None = None
    tip: tuple[float, ...] | None = None
    calibrated: bool = True
    hand_model: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind is {self.kind!r}; known are {', '.join(KINDS)}")
        if self.hand not in HANDS:
            raise ValueError(f"hand is {self.hand!r}; known are {', '.join(HANDS)}")
        if not 0 < self.tip_level < 1:
            raise ValueError(f"tip_level is {self.tip_level}; it lies between 0 and 1")
        if self.tip is not None and not (len(self.tip) in (2, 3) and all(map(math.isfinite, self.tip))):
            raise ValueError(f"tip is {list(self.tip)}; give x, y in pixels and, if you like, seconds")
        if self.candidates < 1:
            raise ValueError(f"candidates is {self.candidates}; at least one is needed")


def nib_weights() -> Path:
    """File of the learned detector's weights that the project ships."""
    return project_root() / "checkpoints" / "nib.pt"
