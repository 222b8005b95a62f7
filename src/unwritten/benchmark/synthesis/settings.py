"""How words are made of letter clips."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

Mode = Literal["clean", "published"]
Fill = Literal["freeze", "black"]


@dataclass(frozen=True)
class SynthesisSettings:
    """How words are made of letter clips.

    Attributes:
        mode: ``clean`` makes files that every player reads whole; ``published`` follows the paper, faults included.
        styles: styles to use, all that there are when empty.
        count: how many of the most frequent words that a style's letters cover; 0 takes all.
        upper_case: spell with capitals.
        takes: how many versions of each word, each from its own draw among the takes of its letters.
        pause_s: time between two letters in which nothing is written.
        gap_s: time between two words of a phrase.
        fill: what pauses and gaps show: the last picture held, or black.
        short_side_px: length of the shorter side of clean pictures, even.
        rate_hz: frames a second of clean pictures; 0 takes what most letter clips of the style have.
        crf: x264's quality of clean pictures, 0 to 51.
        seed: of the draws among takes.
    """

    mode: Mode = "clean"
    styles: tuple[str, ...] = ()
    count: int = 0
    upper_case: bool = False
    takes: int = 1
    pause_s: float = 0.0
    gap_s: float = 0.5
    fill: Fill = "freeze"
    short_side_px: int = 540
    rate_hz: float = 0.0
    crf: int = 25
    seed: int = 0

    def __post_init__(self) -> None:
        if self.mode not in get_args(Mode):
            raise ValueError(f"mode: {self.mode!r} is not one of {', '.join(get_args(Mode))}")
        if self.fill not in get_args(Fill):
            raise ValueError(f"fill: {self.fill!r} is not one of {', '.join(get_args(Fill))}")
        if self.count < 0 or self.takes < 1:
            raise ValueError("count, takes: count is 0 (all) or more, takes 1 or more")
        if not (0 <= self.pause_s <= 60 and 0 <= self.gap_s <= 60):
            raise ValueError("pause_s, gap_s: between 0 and 60 seconds")
        if self.short_side_px < 16 or self.short_side_px % 2 or not 0 <= self.crf <= 51:
            raise ValueError("short_side_px is even and at least 16, crf 0 to 51")
        if not 0 <= self.rate_hz <= 1000:
            raise ValueError("rate_hz: from 0 (as the letters have it) to 1000 frames a second")
        if self.mode == "published" and (self.pause_s or self.rate_hz):
            raise ValueError("pause_s, rate_hz: published words have neither pauses nor a rate of their own")


@dataclass(frozen=True)
class Canvas:
    """What all pictures of one style have in common, so that their streams can be joined without decoding.

    Attributes:
        width_px, height_px: coded size, even.
        rate: frames a second.
        aspect: sample aspect ratio.
    """

    width_px: int
    height_px: int
    rate: Fraction
    aspect: Fraction = Fraction(1)
