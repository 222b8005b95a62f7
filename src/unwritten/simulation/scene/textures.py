"""Textures made of noise: wood, laminate, cloth, paper, a room out of focus.

H and W are pixels, colours RGB 0 to 255.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.float32]
_MAX_TEXTURE_PX = 1600  # coarser than a 4K frame: beyond it only grain is added, which the sensor's noise hides anyway


def value_noise(size: tuple[int, int], cell_px: tuple[float, float], rng: np.random.Generator) -> Picture:
    """Smooth noise of unit variance whose bumps are about ``cell_px`` (wide, high); float32 ``[H, W]`` for ``size``
    (W, H)."""
    width, height = size
    columns, rows = (int(np.ceil(n / max(cell, 1.0))) + 3 for n, cell in zip(size, cell_px, strict=True))
    lattice = rng.standard_normal((rows, columns)).astype(np.float32)
    wide = cv2.resize(
        lattice,
        (max(width, round(columns * max(cell_px[0], 1.0))), max(height, round(rows * max(cell_px[1], 1.0)))),
        interpolation=cv2.INTER_CUBIC,
    )
    y, x = (wide.shape[0] - height) // 2, (wide.shape[1] - width) // 2
    return wide[y : y + height, x : x + width]


def fractal_noise(size: tuple[int, int], cell_px: float, octaves: int, rng: np.random.Generator) -> Picture:
    """Sum of ``octaves`` of value noise, each half as large and half as strong; float32 ``[H, W]``."""
    total = np.zeros((size[1], size[0]), np.float32)
    for octave in range(octaves):
        cell = cell_px / 2**octave
        if cell < 1:
            break
        total += value_noise(size, (cell, cell), rng) / 2**octave
    return total


def _mix(low: tuple[float, ...], high: tuple[float, ...], share: Picture) -> Picture:
    weight = np.clip(share, 0, 1)[..., None]
    return (np.asarray(low, np.float32) * (1 - weight) + np.asarray(high, np.float32) * weight).astype(np.float32)


def _turned(make: Picture, size: tuple[int, int], angle_rad: float) -> Picture:
    """Cut ``size`` out of the middle of a square picture turned by an angle."""
    side = make.shape[0]
    turn = cv2.getRotationMatrix2D((side / 2, side / 2), np.degrees(angle_rad), 1.0)
    turn[:, 2] += (size[0] / 2 - side / 2, size[1] / 2 - side / 2)
    return np.asarray(
        cv2.warpAffine(make, turn, size, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT), np.float32
    )


def wood(size: tuple[int, int], px_per_mm: float, rng: np.random.Generator) -> Picture:
    """Planks with year rings, pores and a turn of their own; float32 ``[H, W, 3]``."""
    side = int(np.hypot(*size)) + 4
    across = np.arange(side, dtype=np.float32)[:, None] / (px_per_mm * rng.uniform(7, 14))
    # Rings bulge into the arches of flat-sawn wood where slow noise, long along the grain, bends them.
    bend = value_noise((side, side), (120 * px_per_mm, 35 * px_per_mm), rng) * rng.uniform(1.0, 2.2)
    bend += value_noise((side, side), (80 * px_per_mm, 12 * px_per_mm), rng) * 0.12
    rings = 0.5 + 0.5 * np.sin(2 * np.pi * (across + bend))
    streaks = value_noise((side, side), (60 * px_per_mm, 1.0 * px_per_mm), rng)
    pores = value_noise((side, side), (6 * px_per_mm, 0.5 * px_per_mm), rng)
    tone = 0.62 + 0.34 * (rings**0.7 - 0.5) + 0.06 * streaks - 0.10 * np.clip(pores - 1.0, 0, None)
    light = np.array([196, 160, 96], np.float32) * rng.uniform(0.75, 1.1) + rng.uniform(-12, 12, 3)
    dark = light * np.array([0.62, 0.56, 0.48])
    return _turned(_mix(tuple(dark), tuple(light), tone), size, rng.uniform(0, np.pi))


def laminate(size: tuple[int, int], px_per_mm: float, rng: np.random.Generator) -> Picture:
    """A speckled plain table top."""
    base = np.array([1.0, rng.uniform(0.94, 1.02), rng.uniform(0.86, 1.04)], np.float32) * rng.uniform(105, 200)
    speckle = (
        value_noise(size, (0.8 * px_per_mm, 0.8 * px_per_mm), rng) * 5 + fractal_noise(size, 50 * px_per_mm, 4, rng) * 4
    )
    return base + speckle[..., None]


def cloth(size: tuple[int, int], px_per_mm: float, rng: np.random.Generator) -> Picture:
    """Woven threads with folds."""
    side = int(np.hypot(*size)) + 4
    phase = np.arange(side, dtype=np.float32) * (2 * np.pi / (px_per_mm * rng.uniform(1.2, 2.2)))
    weave = np.sin(phase)[None, :] * np.sin(phase)[:, None]
    tone = 0.5 + 0.16 * weave + 0.05 * value_noise((side, side), (px_per_mm, px_per_mm), rng)
    tone += 0.12 * fractal_noise((side, side), 70 * px_per_mm, 3, rng)
    light = rng.uniform(70, 200, 3).astype(np.float32)
    return _turned(_mix(tuple(light * 0.5), tuple(light), tone), size, rng.uniform(0, np.pi))


def dark_top(size: tuple[int, int], px_per_mm: float, rng: np.random.Generator) -> Picture:
    """A nearly black desk with dust and smears."""
    base = np.array([40, 38, 40], np.float32) * rng.uniform(0.6, 1.3)
    smear = fractal_noise(size, 80 * px_per_mm, 5, rng) * 6
    dust = np.clip(value_noise(size, (0.7 * px_per_mm, 0.7 * px_per_mm), rng) - 2.4, 0, None) * 60
    return base + (smear + dust)[..., None]


def room(size: tuple[int, int], px_per_mm: float, rng: np.random.Generator) -> Picture:
    """A wall with furniture, out of focus: what stands behind a finger that writes in the air."""
    width, height = size
    picture = np.empty((height, width, 3), np.float32)
    picture[:] = rng.uniform(110, 215) * np.array([1.0, rng.uniform(0.93, 1.0), rng.uniform(0.82, 1.0)])
    for _ in range(9):
        corner = rng.uniform(-0.2, 1.0, 2) * (width, height)
        extent = rng.uniform(0.1, 0.45, 2) * (width, height)
        colour = rng.uniform(30, 210) + rng.uniform(-35, 35, 3)
        far = corner + extent
        cv2.rectangle(picture, corner.astype(int).tolist(), far.astype(int).tolist(), colour.tolist(), -1)
    picture = cv2.GaussianBlur(picture, (0, 0), max(1.0, 0.012 * np.hypot(width, height)))
    return picture + (fractal_noise(size, 40 * px_per_mm, 3, rng) * 2)[..., None]


def paper(size: tuple[int, int], px_per_mm: float, rng: np.random.Generator) -> Picture:
    """A sheet of office paper: fibres, a slow waviness, a few specks; float32 ``[H, W, 3]``."""
    white = np.array([1.0, rng.uniform(0.975, 1.0), rng.uniform(0.93, 1.0)], np.float32) * rng.uniform(218, 240)
    wave = fractal_noise(size, 70 * px_per_mm, 3, rng) * 1.8
    fibres = value_noise(size, (1.4 * px_per_mm, 0.5 * px_per_mm), rng) + value_noise(
        size, (0.5 * px_per_mm, 1.4 * px_per_mm), rng
    )
    sheet = white + (wave + 0.9 * fibres)[..., None]
    for _ in range(rng.integers(3, 12)):  # dust and marks of former writing
        centre = (rng.uniform(0, 1, 2) * size).astype(int)
        shade = float(rng.uniform(0.75, 0.95))
        angle = rng.uniform(0, 2 * np.pi)
        end = centre + (rng.uniform(0.2, 1.5) * px_per_mm * np.array([np.cos(angle), np.sin(angle)])).astype(int)
        cv2.line(
            sheet, centre.tolist(), end.tolist(), (white * shade).tolist(), max(1, round(0.25 * px_per_mm)), cv2.LINE_AA
        )
    return sheet


_MAKERS = {"wood": wood, "laminate": laminate, "cloth": cloth, "dark": dark_top, "room": room, "paper": paper}


def texture(kind: str, size: tuple[int, int], px_per_mm: float, rng: np.random.Generator) -> Picture:
    """One of the textures above by name, as float32 ``[H, W, 3]``; large ones are made coarser and enlarged."""
    shrink = min(1.0, _MAX_TEXTURE_PX / max(size))
    small = (max(2, round(size[0] * shrink)), max(2, round(size[1] * shrink)))
    picture = _MAKERS[kind](small, px_per_mm * shrink, rng)
    if shrink < 1:
        picture = cv2.resize(picture, size, interpolation=cv2.INTER_CUBIC)
    return np.clip(picture, 0, 255).astype(np.float32)
