"""What a simulated writer gives: a word's strokes and when each of its letters was written."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unwritten.types import Strokes


@dataclass(frozen=True)
class WrittenWord:
    """A word as it was written.

    Attributes:
        strokes: the pen's path.
        letter_spans_s: ``[n, 2]`` start and end of each letter in seconds, dots and crosses added later apart.
    """

    strokes: Strokes
    letter_spans_s: NDArray[np.float64]
