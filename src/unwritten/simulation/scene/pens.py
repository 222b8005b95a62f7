"""Pens seen from the side: a profile of radii along the axis, coloured parts, shaded as a solid of revolution.

A pen is drawn once per shot as a sprite that lies along +x with its tip exactly at ``Sprite.tip``; ``u`` is the
distance from the tip along the axis and ``v`` the distance across it, both in millimetres of the paper's plane.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

_MARGIN_MM = 3.0


@dataclass(frozen=True)
class Sprite:
    """A picture to paste.

    Attributes:
        image: uint8 ``[H, W, 4]``, RGB already multiplied by alpha, alpha last.
        tip: column and row (pixel centres at whole numbers) of the tip.
        px_per_mm: resolution of the sprite.
    """

    image: NDArray[np.uint8]
    tip: tuple[float, float]
    px_per_mm: float


Colour = tuple[float, float, float]
Part = tuple[float, float, Colour, float]


@dataclass(frozen=True)
class PenShape:
    """Shape and paint of one pen.

    Attributes:
        profile_mm: ``[n, 2]`` distance from the tip and radius there, distances increasing from 0.
        parts: (from mm, to mm, RGB, gloss 0 to 1) painted in this order.
        clip: (from mm, to mm, offset across in radii, half width in radii) of the dark clip, or None.
        sides: 0 for a round pen, 6 for a pencil.
        clear: (from mm, to mm, opacity) of a barrel that shows what lies behind it, or None.
    """

    profile_mm: NDArray[np.float64]
    parts: tuple[Part, ...]
    clip: tuple[float, float, float, float] | None = None
    sides: int = 0
    clear: tuple[float, float, float] | None = None

    @property
    def length_mm(self) -> float:
        return float(self.profile_mm[-1, 0])

    @property
    def radius_mm(self) -> float:
        return float(self.profile_mm[:, 1].max())


def _rounded(tip_mm: float, cone_mm: float, radius_mm: float, length_mm: float) -> NDArray[np.float64]:
    """Blunt end, cone, shaft. The end is half an ellipse, as a disc seen from a slant."""
    depth = 0.7 * tip_mm
    end = np.linspace(0, 1, 9)
    blunt = np.column_stack([depth * end, tip_mm * np.sqrt(1 - (1 - end) ** 2)])
    return np.vstack([blunt, [[cone_mm, radius_mm], [length_mm, radius_mm]]])


def _paint(rgb: NDArray[np.float64]) -> Colour:
    red, green, blue = (float(value) for value in rgb)
    return red, green, blue


def make_pen(kind: str, rng: np.random.Generator) -> PenShape:
    """A pen of one kind, its measures drawn from what is in shops."""
    radius, cone = rng.uniform(4.6, 6.2), rng.uniform(23, 31)
    length = rng.uniform(150, 185)
    parts: tuple[Part, ...]
    if kind == "pencil":
        radius, cone, lead = rng.uniform(3.6, 4.4), rng.uniform(20, 27), rng.uniform(4.5, 7.5)
        profile = _rounded(rng.uniform(0.4, 0.7), cone, radius, length)
        graphite, timber = (58.0, 57.0, 62.0), (214.0, 178.0, 132.0)
        paints = (
            (226.0, 170.0, 30.0),
            (40.0, 70.0, 150.0),
            (170.0, 40.0, 36.0),
            (36.0, 110.0, 70.0),
            (40.0, 40.0, 44.0),
        )
        paint = paints[rng.integers(len(paints))]
        parts = ((0.0, lead, graphite, 0.25), (lead, cone, timber, 0.05), (cone, length, paint, 0.5))
        return PenShape(profile, parts, None, 6)
    if kind == "brush":
        radius, hair = rng.uniform(4.4, 5.4), rng.uniform(15, 22)
        share = np.linspace(0, 1, 12)
        belly = 2.6 * share**0.75 * (1 + 0.25 * np.sin(np.pi * share))
        profile = np.column_stack([hair * share, np.maximum(belly, 0.18)])
        profile = np.vstack([profile, [[hair + 0.1, 3.0], [hair + 14, radius], [length, radius]]])
        parts = (
            (0.0, hair, (30.0, 29.0, 33.0), 0.1),
            (hair, hair + 14, (190.0, 188.0, 184.0), 0.4),
            (hair + 14, length, _paint(rng.uniform(35, 210) + rng.uniform(-20, 20, 3)), 0.5),
        )
        return PenShape(profile, parts)
    if kind in ("clear", "marker", "stick", "stylus"):
        return _uncommon(kind, radius, length, rng)
    ring = (196.0, 196.0, 200.0)
    white = np.array([232.0, 228.0, 216.0])
    body = _paint(white + rng.uniform(-12, 8, 3))
    if kind == "dark":
        nib, tip = _paint(np.array([30.0, 29.0, 34.0]) * rng.uniform(0.7, 1.3)), rng.uniform(1.5, 2.4)
        if rng.random() < 0.35:
            body = _paint(rng.uniform(20, 200, 3))
        gloss = 0.35
    elif kind == "light":
        nib, tip = _paint(white + rng.uniform(-14, 6, 3)), rng.uniform(1.2, 2.2)
        body = _paint(rng.uniform(30, 220, 3))
        gloss = 0.4
    elif kind == "coloured":  # red, yellow, green or blue, between light and dark
        inks = ((205.0, 40.0, 45.0), (235.0, 205.0, 60.0), (70.0, 170.0, 80.0), (50.0, 90.0, 205.0))
        nib, tip, gloss = inks[rng.integers(len(inks))], rng.uniform(1.2, 2.2), 0.2
    else:  # metal
        nib, tip = (168.0, 168.0, 172.0), rng.uniform(0.6, 1.1)
        if rng.random() < 0.5:
            body = _paint(rng.uniform(25, 200, 3))
        gloss = 1.0
    profile = _rounded(tip, cone, radius, length)
    parts = (
        (0.0, cone, nib, gloss),
        (cone, length, body, 0.45),
        (cone, cone + 1.4, ring, 0.9),
        (cone + 28, cone + 29.2, ring, 0.9),
        (length - 22, length, (24.0, 24.0, 27.0), 0.4),
    )
    if kind == "metal":  # the ball and its seat
        parts = (*parts[:1], (0.0, 2.2, (120.0, 116.0, 108.0), 0.9), *parts[1:])
    clip = (cone + 55, length - 26, rng.uniform(-0.8, 0.8), rng.uniform(0.3, 0.45)) if rng.random() < 0.8 else None
    return PenShape(profile, parts, clip)


def _uncommon(kind: str, radius: float, length: float, rng: np.random.Generator) -> PenShape:
    """Pens that the benchmark's writers do not use, measured on what is in shops."""
    colour = _paint(rng.uniform(15, 235, 3))
    if kind == "clear":  # a ball pen: a thin metal point, a clear barrel about a refill, a coloured cap
        cone, radius, share = rng.uniform(9, 22), rng.uniform(3.4, 5.2), rng.uniform(0.15, 0.5)
        profile = _rounded(rng.uniform(0.35, 0.8), cone, radius, length)
        point = (170.0, 160.0, 140.0) if rng.random() < 0.7 else colour
        parts: tuple[Part, ...] = (
            (0.0, cone, point, 1.0),
            (cone, length, (205.0, 210.0, 214.0), 0.8),
            (cone + rng.uniform(0, 12), cone + rng.uniform(12, 40), colour, 0.5),
            (length * rng.uniform(0.7, 0.95), length, colour, 0.5),
        )
        return PenShape(profile, parts, None, 0, (cone, length, share))
    if kind == "marker":  # chunky, with a felt point
        radius, cone = rng.uniform(6, 10), rng.uniform(8, 18)
        profile = _rounded(rng.uniform(1.0, 3.2), cone, radius, rng.uniform(110, 150))
        felt, body = rng.uniform(3, 8), _paint(rng.uniform(15, 245, 3))
        parts = (
            (0.0, felt, colour, 0.05),
            (felt, cone, _paint(rng.uniform(15, 245, 3)), 0.4),
            (cone, 200.0, body, 0.5),
        )
        return PenShape(profile, parts)
    if kind == "stick":  # a chopstick, a quill, a reed: cut square, dark where it was dipped
        end, cone = rng.uniform(0.6, 6.0), rng.uniform(20, 60)
        radius = max(end * rng.uniform(1.0, 1.4), 2.2)
        profile = np.array([[0.0, 0.6 * end], [0.4, end], [cone, radius], [length, radius * rng.uniform(0.8, 1.3)]])
        dipped = rng.uniform(0, 45) if rng.random() < 0.7 else 0.0
        parts = ((0.0, length, _paint(rng.uniform(0.6, 1.1) * np.array([214.0, 180.0, 130.0])), 0.1),
                 (0.0, dipped, (25.0, 24.0, 30.0), 0.3))  # fmt: skip
        return PenShape(profile, parts)
    # a stylus for glass: all of one paint, light or dark, with a short cone
    radius, cone = rng.uniform(3.6, 5.0), rng.uniform(7, 16)
    profile = _rounded(rng.uniform(0.5, 2.5), cone, radius, rng.uniform(130, 175))
    body = _paint(rng.choice([236.0, 60.0, 25.0]) + rng.uniform(-15, 15, 3))
    point = body if rng.random() < 0.6 else _paint(rng.uniform(30, 230) * np.ones(3))
    return PenShape(profile, ((0.0, cone, point, 0.3), (cone, 200.0, body, 0.4)))


def draw_pen(pen: PenShape, px_per_mm: float, light: tuple[float, float], rng: np.random.Generator) -> Sprite:
    """Draw a pen lying along +x with two samples a pixel each way.

    Args:
        light: direction of the light in the plane across the axis (v, towards the camera), unit length.
    """
    fine = 2
    resolution = px_per_mm * fine
    columns = int(np.ceil((pen.length_mm + 2 * _MARGIN_MM) * px_per_mm)) * fine
    rows = int(np.ceil((2 * pen.radius_mm + 2 * _MARGIN_MM) * px_per_mm)) * fine
    u = (np.arange(columns, dtype=np.float32) + 0.5) / resolution - _MARGIN_MM
    v = (np.arange(rows, dtype=np.float32) + 0.5 - rows / 2)[:, None] / resolution
    radius = np.interp(u, pen.profile_mm[:, 0], pen.profile_mm[:, 1], left=0, right=0).astype(np.float32)
    inside = np.abs(v) < radius
    slant = np.clip(v / np.maximum(radius, 1e-3), -1, 1)
    if pen.sides:  # three flat faces of the six show
        slant = np.where(u < pen.profile_mm[-2, 0] - 1.5, slant, np.clip(np.round(slant * 1.5) / 1.5, -0.92, 0.92))
    facing = np.sqrt(1 - slant**2)
    towards = slant * light[0] + facing * light[1]
    half = np.array(light) + np.array([0.0, 1.0])
    half /= np.linalg.norm(half)
    glint = np.clip(slant * half[0] + facing * half[1], 0, 1)
    colour = np.zeros((rows, columns, 3), np.float32)
    for start, end, paint, gloss in pen.parts:
        span = (u >= start - 1.0 * (start == 0)) & (u < end)
        lit = 0.35 + 0.7 * np.clip(towards[:, span], 0, 1)
        shaded = np.asarray(paint, np.float32) * lit[..., None]
        shaded += (gloss * (150 * glint[:, span] ** 40 + 18 * glint[:, span] ** 6))[..., None]
        if gloss > 0.95:  # polished metal mirrors the dark hand on one side and the bright paper on the other
            shaded *= (0.72 + 0.42 * np.sin(slant[:, span] * 5.0 + 0.6))[..., None]
        colour[:, span] = shaded
    if pen.clip is not None:
        start, end, offset, half_width = pen.clip
        span = (u >= start) & (u < end)
        bar = span & (np.abs(v - offset * pen.radius_mm) < half_width * pen.radius_mm)
        colour[bar] = (
            np.array([22, 22, 25]) + 40 * (np.abs(v - (offset + 0.2) * pen.radius_mm) < 0.3 + 0 * u)[bar][:, None]
        )
        inside |= bar
    # A line of small print along the shaft.
    start = pen.profile_mm[-2, 0] + 60
    for k in range(int(rng.integers(0, 12))):
        span = (u >= start + 1.6 * k) & (u < start + 1.6 * k + rng.uniform(0.6, 1.2))
        colour[span & (np.abs(v + 0.45 * pen.radius_mm) < 0.9)] *= 0.6
    opacity = inside * np.ones((rows, columns), np.float32)
    if pen.clear is not None:  # its outline refracts, its middle lets through
        start, end, share = pen.clear
        opacity[:, (u >= start) & (u < end)] *= np.clip(share + 0.5 * slant[:, (u >= start) & (u < end)] ** 4, 0, 1)
    rgba = np.dstack([np.clip(colour, 0, 255) * opacity[..., None], opacity * np.float32(255)])
    small = cv2.resize(rgba.astype(np.float32), (columns // fine, rows // fine), interpolation=cv2.INTER_AREA)
    tip = (_MARGIN_MM * px_per_mm - 0.5, rows / fine / 2 - 0.5)
    return Sprite(np.clip(small + 0.5, 0, 255).astype(np.uint8), tip, px_per_mm)
