"""From raw evidence to a probability: the map that ``unwritten.tracking.calibration`` fits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

# Raw confidence and how often tips were within 1 % of the diagonal there; between the knots the map is linear.
KNOTS: tuple[tuple[float, float], ...] = (
    (0.0, 0.0),
    (0.4, 0.1),
    (0.6, 0.36),
    (0.8, 0.7),
    (0.9, 0.86),
    (0.98, 0.88),
    (1.0, 0.95),
)


def calibrated(raw: NDArray[np.float64], knots: Sequence[tuple[float, float]] = KNOTS) -> NDArray[np.float64]:
    """Probability ``[T]`` that a tip lies within 1 % of the diagonal, from raw confidence ``[T]``; 0 stays 0."""
    table = np.array(knots)
    return np.where(raw > 0, np.interp(raw, table[:, 0], table[:, 1]), 0.0)
