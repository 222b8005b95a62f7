"""The tip to a fraction of a pixel: the axis of the cone from both its edges, then where it leaves the dark end."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unwritten.tracking.nib import along_shaft

_FIRST, _ROWS = -48.0, 100  # rows of the view, fine pixels: from ahead of the tip to well up the cone
_SIDE = 28  # columns to either side
_FADED = 0.1  # level at which a dark end begins to fade


class Refined(NamedTuple):
    """A refined tip, fine pixels.

    Attributes:
        tip: ``[2]``.
        axis: ``[2]`` unit vector up the shaft.
        width: width of the nib behind the tip.
        taper: growth of the width per length up the shaft: a cone's is well above a strip's.
        misfit: how far the edges stray from straight lines, the tip's uncertainty.
        shadow: how far the nib's own shadow reaches beyond the tip, negative where the paper ahead is itself in shade.
        fade: length over which the dark end fades before the tip: short of a sharp end, long of a thin or blurred one.
    """

    tip: NDArray[np.float64]
    axis: NDArray[np.float64]
    width: float
    taper: float
    misfit: float
    shadow: float
    fade: float


def _lines(
    u: NDArray[np.float64], v: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Robust lines v = a + b u by reweighted least squares.

    Args:
        u: ``[N]``.
        v: ``[L, N]`` one line each, NaN where there is no point.

    Returns:
        a, b and the median absolute residual, ``[L]`` each.
    """
    known = np.isfinite(v)
    filled = np.where(known, v, 0.0)
    weight = known.astype(np.float64)
    powers = np.stack([np.ones_like(u), u, u * u])
    for _ in range(4):
        # Weighted normal equations; weights 1 / |residual| make the sum of squares one of absolute values
        # (Schlossmacher 1973), which stray edge points hardly move.
        one, first, second = powers @ weight.T
        value, moment = (weight * filled).sum(1), (weight * filled) @ u
        determinant = np.maximum(one * second - first * first, 1e-9)
        b = (one * moment - first * value) / determinant
        a = (value - b * first) / one
        residual = np.abs(filled - a[:, None] - b[:, None] * u)
        weight = known / np.maximum(residual, 0.3)
    ordered = np.sort(np.where(known, residual, np.inf), axis=1)
    return a, b, ordered[np.arange(len(v)), known.sum(1) // 2]


def _quantile(values: NDArray[np.generic], part: float) -> float:
    """A quantile without interpolation: several times quicker than numpy's."""
    flat = values.ravel()
    place = int(part * (flat.size - 1))
    return float(np.partition(flat, place)[place])


def _first_above(profile: NDArray[np.float64], level: float) -> NDArray[np.float64]:
    """Sub-pixel index along axis 1 where each row of ``profile`` first rises above ``level``.

    NaN where it never does.
    """
    above = profile > level
    index = above.argmax(1)
    rows = np.arange(len(profile))
    previous = np.maximum(index - 1, 0)
    low, high = profile[rows, previous], profile[rows, index]
    crossing = previous + (level - low) / np.maximum(high - low, 1e-6)
    return np.where(above.any(1) & (index > 0), crossing, np.nan)


def refine(
    fine: NDArray[np.uint8], tip: NDArray[np.float64], axis: NDArray[np.float64], tip_level: float
) -> Refined | None:
    """Refine a candidate on the fine plane; None where the picture shows no cone there.

    Args:
        fine: luma uint8 ``[2h, 2w]``.
        tip: ``[2]`` fine pixels, within some 8 px of the truth.
        axis: ``[2]`` unit vector up the shaft, within some 20 degrees.
        tip_level: where the outline lies between the core's darkness (0) and the paper (1).
    """
    width, taper, misfit = 0.0, 0.0, 0.0
    for _ in range(2):
        view = along_shaft(fine, tip, axis, (_FIRST, 1.0, _ROWS), (-_SIDE, 1.0, 2 * _SIDE + 1), 255)
        start = int(-_FIRST)
        core = _quantile(view[start + 4 : start + 36, _SIDE - 3 : _SIDE + 4], 0.25)
        paper = _quantile(view[: start + 30 : 2, ::4], 0.85)
        if paper - core < 12:
            return None
        level = core + tip_level * (paper - core)
        light = view.astype(np.float64)
        stations = np.arange(start + 8, start + 42)
        edges = np.stack([light[stations, _SIDE:], light[stations, _SIDE::-1]])
        crossings = _first_above(edges.reshape(-1, _SIDE + 1), level).reshape(2, -1)
        if np.isfinite(crossings).sum(1).min() < 8:
            return None
        (a_right, a_left), (b_right, b_left), strays = _lines(
            _FIRST + stations.astype(np.float64), crossings * [[1.0], [-1.0]]
        )
        a, b = (a_right + a_left) / 2, (b_right + b_left) / 2
        taper = float(b_right - b_left)
        width = (a_right - a_left) + 20 * taper
        misfit = float(strays.max())
        # Along the axis from inside the cone outwards, averaged over the middle of its width.
        back = np.arange(16.0, -24.0, -0.5)
        half = max(0.2 * width, 1.0)
        columns = (a + b * back)[:, None] + np.linspace(-half, half, 5)[None] + _SIDE
        rows = np.clip(back - _FIRST, 0, _ROWS - 1.001)[:, None] * np.ones((1, 5))
        columns = np.clip(columns, 0, 2 * _SIDE - 0.001)
        r0, c0 = rows.astype(int), columns.astype(int)
        fr, fc = rows - r0, columns - c0
        sampled = (
            light[r0, c0] * (1 - fr) * (1 - fc)
            + light[r0 + 1, c0] * fr * (1 - fc)
            + light[r0, c0 + 1] * (1 - fr) * fc
            + light[r0 + 1, c0 + 1] * fr * fc
        )
        profile = sampled.mean(1)[None]
        crossing = _first_above(profile, level)[0]
        if not np.isfinite(crossing):
            return None
        u_tip = 16.0 - 0.5 * crossing
        v_tip = a + b * u_tip
        normal = np.array([-axis[1], axis[0]])
        tip = tip + u_tip * axis + v_tip * normal
        axis = axis + b * normal
        axis = axis / np.hypot(*axis)
        if abs(u_tip) > 22 or abs(v_tip) > 16:
            return None
    # The tip moved within this last view by (u_tip, v_tip); its own column ahead of it shows the shadow.
    ahead = light[: int(u_tip - _FIRST) + 1][::-1]
    column = int(np.clip(round(v_tip) + _SIDE, 3, 2 * _SIDE - 3))
    shadow = _shadow(ahead[:, column - 3 : column + 4].mean(1), core, paper)
    inner = np.nan_to_num(_first_above(profile, core + _FADED * (paper - core))[0])
    return Refined(tip, axis, width, taper, misfit, shadow, float(0.5 * (crossing - inner)))


def _shadow(profile: NDArray[np.float64], core: float, paper: float) -> float:
    """Reach of the shadow along a profile that runs from the tip outwards, -1 where there is no lit paper beyond."""
    light = (profile - core) / (paper - core)
    far = float(np.median(light[-8:])) if len(light) >= 12 else 0.0
    if far < 0.75:
        return -1.0
    lit = np.flatnonzero(light > 0.9 * far)
    return float(lit[0]) if len(lit) else -1.0
