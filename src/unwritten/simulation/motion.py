"""What the pen truly did: the common source of the simulated picture and the simulated sound.

N is the number of samples in time, n the number of letters.
"""

from __future__ import annotations

from dataclasses import dataclass

from unwritten.types import BoolArray, FloatArray, IntArray

MOTION_RATE_HZ = 200.0


@dataclass(frozen=True)
class Motion:
    """The path of a pen on the paper, before any camera or microphone.

    Attributes:
        time_s: ``[N]`` seconds from 0 in even steps of ``1 / MOTION_RATE_HZ``.
        xy_mm: ``[N, 2]`` position of the tip on the paper in millimetres, x right, y up, in the writer's own view.
        pen_down: ``[N]`` bool, True where the tip touches the paper.
        shot: ``[N]`` int, 0 for the first shot; it steps where recordings are joined.
        word: what was written.
        letter_spans_s: ``[n, 2]`` start and end of each letter in seconds.
        writer: who wrote it.
        style: ``standard``, ``cursive``, ``retrace``, or another name.
    """

    time_s: FloatArray
    xy_mm: FloatArray
    pen_down: BoolArray
    shot: IntArray
    word: str
    letter_spans_s: FloatArray
    writer: str = ""
    style: str = ""

    def __len__(self) -> int:
        return len(self.time_s)

    @property
    def duration_s(self) -> float:
        """Length of the recording in seconds: one sample's step after the last sample."""
        return len(self.time_s) / MOTION_RATE_HZ
