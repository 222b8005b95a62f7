"""Other hands from one hand: a smooth change of the plane that letters are written on.

A corpus holds some hundred hands; a writer who is not among them makes loops wider here and stems shorter there.
Elastic distortion (Simard, Steinkraus and Platt 2003) draws such changes. N is the number of motion samples.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from unwritten.types import FloatArray, IntArray

_WAVES = 4
_LONGEST, _SHORTEST = (
    4.0,
    1.2,
)  # wavelengths in letter heights: longer ones are the camera's shear, shorter ones break strokes


def warp(
    xy_mm: FloatArray, shot: IntArray, height_mm: float, amount: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Displace every point by a few waves over the plane, the same for all shots: a hand bends its letters alike.

    Args:
        xy_mm: ``[N, 2]``.
        shot: ``[N]``; each shot's own centre is the origin of the waves.
        height_mm: letter height.
        amount: standard deviation of either coordinate's displacement in letter heights.
        rng: every choice follows from it.

    Returns:
        The displaced path ``[N, 2]``; times are untouched, so speeds change with the lengths.
    """
    lengths = np.exp(rng.uniform(np.log(_SHORTEST), np.log(_LONGEST), _WAVES)) * height_mm
    towards = rng.uniform(0.0, 2 * np.pi, _WAVES)
    waves = 2 * np.pi / lengths[:, None] * np.stack((np.cos(towards), np.sin(towards)), axis=1)
    phases = rng.uniform(0.0, 2 * np.pi, _WAVES)
    # A wave of amplitude a has variance a^2 / 2. Short waves are lower, or they would bend most.
    sizes = lengths / np.sqrt((lengths**2).sum())
    pushes = rng.normal(0.0, np.sqrt(2.0) * amount * height_mm, (_WAVES, 2)) * sizes[:, None]
    return _warp(
        np.ascontiguousarray(xy_mm, dtype=np.float64), np.ascontiguousarray(shot, dtype=np.int64), waves, phases, pushes
    )


@numba.njit(cache=True, nogil=True)
def _warp(xy, shot, waves, phases, pushes):  # type: ignore[no-untyped-def]
    count, shots = len(xy), int(shot[-1]) + 1
    centre = np.zeros((shots, 2))
    samples = np.zeros(shots)
    for n in range(count):
        centre[shot[n], 0] += xy[n, 0]
        centre[shot[n], 1] += xy[n, 1]
        samples[shot[n]] += 1.0
    out = np.empty((count, 2))
    for n in range(count):
        x = xy[n, 0] - centre[shot[n], 0] / samples[shot[n]]
        y = xy[n, 1] - centre[shot[n], 1] / samples[shot[n]]
        out[n, 0], out[n, 1] = xy[n, 0], xy[n, 1]
        for k in range(len(phases)):
            wave = np.sin(waves[k, 0] * x + waves[k, 1] * y + phases[k])
            out[n, 0] += pushes[k, 0] * wave
            out[n, 1] += pushes[k, 1] * wave
    return out
