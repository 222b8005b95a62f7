"""From raw evidence to a probability: the map that ``unwritten.studies.calibration`` fits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

# Raw confidence and how often tips were within 1 % of the diagonal there; between the knots the map is linear.
# ``python -m unwritten.studies.calibration --fit --scenes 160 --first 1000``, rendered scenes alone.
KNOTS: tuple[tuple[float, float], ...] = (
    (0.0, 0.0),
    (0.2, 0.201),
    (0.4, 0.492),
    (0.5, 0.501),
    (0.6, 0.6),
    (0.7, 0.629),
    (0.8, 0.902),
    (0.9, 0.939),
    (1.0, 0.939),
)


def calibrated(raw: NDArray[np.float64], knots: Sequence[tuple[float, float]] = KNOTS) -> NDArray[np.float64]:
    """Probability ``[T]`` that a tip lies within 1 % of the diagonal, from raw confidence ``[T]``; 0 stays 0."""
    table = np.array(knots)
    return np.where(raw > 0, np.interp(raw, table[:, 0], table[:, 1]), 0.0)
