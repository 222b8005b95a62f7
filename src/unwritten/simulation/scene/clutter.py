"""What lies about and is no pen: old ink, print, patterns, cables, things, a second hand; captions over the picture.

Everything here once misled a tracker on footage from outside: ink has ends, cables and patterns have dark tips, a
second hand has fingers. H and W are pixels, colours RGB 0 to 255; ``amount`` runs from 0, nothing, to 1, a full desk.
"""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
from numpy.typing import NDArray

from unwritten.simulation.scene.compose import Picture, paste
from unwritten.simulation.scene.hands import draw_hand

Ground = NDArray[np.float32]
_FIXED = 4  # OpenCV's drawing takes sixteenths of a pixel


def _curve(start: NDArray[np.float64], step_px: float, points: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """A smooth random walk ``[points, 2]``: direction and curvature drift, as a hand's do."""
    bend = np.cumsum(rng.normal(0, 0.12, points)) + rng.normal(0, 0.15)
    angle = rng.uniform(-np.pi, np.pi) + np.cumsum(bend)
    return np.asarray(start + np.cumsum(step_px * np.stack([np.cos(angle), np.sin(angle)], 1), axis=0))


def _line(ground: Ground, points: NDArray[np.float64], width_px: float, colour: NDArray[np.floating]) -> None:
    ends = np.round(points * 2**_FIXED).astype(np.int32).reshape(-1, 1, 2)
    cv2.polylines(ground, [ends], False, colour.tolist(), max(1, round(width_px)), cv2.LINE_AA, _FIXED)


def _anywhere(ground: Ground, rng: np.random.Generator) -> NDArray[np.float64]:
    return np.asarray(rng.uniform(0, 1, 2) * (ground.shape[1], ground.shape[0]))


def _ink_colour(rng: np.random.Generator) -> NDArray[np.float64]:
    inks = ((25, 25, 30), (25, 25, 30), (40, 50, 130), (150, 30, 40), (110, 110, 115))
    return np.asarray(inks[rng.integers(len(inks))], np.float64) + rng.uniform(-12, 12, 3)


def _writing(ground: Ground, px_per_mm: float, rng: np.random.Generator) -> None:
    """Rows of scribbled words, thin as a pen's or broad as a brush's."""
    colour, width = _ink_colour(rng), px_per_mm * float(np.exp(rng.uniform(np.log(0.3), np.log(5))))
    height = max(2.5 * width, px_per_mm * rng.uniform(2.5, 9))
    origin, turn = _anywhere(ground, rng), rng.uniform(-np.pi, np.pi)
    right = np.array([np.cos(turn), np.sin(turn)])
    down = np.array([-right[1], right[0]])
    for row in range(rng.integers(1, 5)):
        for word in range(rng.integers(1, 6)):
            start = origin + 2.2 * height * row * down + 4.5 * height * (word + rng.uniform(0, 0.4)) * right
            way = _curve(np.zeros(2), 0.35 * height, int(rng.integers(5, 22)), rng)
            way -= way.mean(axis=0)
            way *= height / max(float(np.ptp(way, axis=0).min()), 0.6 * height)
            _line(ground, start + way @ np.stack([right, down]), width, colour)


def _strokes(ground: Ground, px_per_mm: float, rng: np.random.Generator) -> None:
    """A sketch: many strokes, straight or curved, crossing each other."""
    colour, width = _ink_colour(rng), px_per_mm * rng.uniform(0.25, 1.2)
    centre, reach = _anywhere(ground, rng), px_per_mm * rng.uniform(10, 60)
    for _ in range(rng.integers(4, 40)):
        start = centre + rng.normal(0, reach, 2)
        _line(ground, _curve(start, reach * rng.uniform(0.03, 0.2), int(rng.integers(3, 14)), rng), width, colour)


def _small_print(ground: Ground, px_per_mm: float, rng: np.random.Generator) -> None:
    """A printed text, too small to read."""
    colour, size = rng.uniform(20, 110) * np.ones(3), px_per_mm * rng.uniform(1.0, 2.6)
    corner, turn = _anywhere(ground, rng), rng.uniform(-np.pi, np.pi)
    right = np.array([np.cos(turn), np.sin(turn)])
    down = np.array([-right[1], right[0]])
    for row in range(rng.integers(3, 16)):
        at, end = 0.0, size * rng.uniform(15, 45)
        while at < end:
            length = size * rng.uniform(0.4, 3)
            start = corner + 1.9 * size * row * down + at * right
            _line(ground, np.stack([start, start + length * right]), 0.5 * size, colour)
            at += length + 0.8 * size


def _pattern(ground: Ground, px_per_mm: float, rng: np.random.Generator) -> None:
    """Stripes, checks, dots or blots within a patch: cloth, a shirt, a printed cover."""
    height, width = ground.shape[:2]
    turn, period = rng.uniform(0, np.pi), px_per_mm * rng.uniform(4, 22)
    y, x = np.mgrid[:height, :width].astype(np.float32)
    along = (x * np.float32(np.cos(turn)) + y * np.float32(np.sin(turn))) * np.float32(2 * np.pi / period)
    across = (y * np.float32(np.cos(turn)) - x * np.float32(np.sin(turn))) * np.float32(2 * np.pi / period)
    kind = rng.integers(4)
    wave = (np.sin(along), np.sin(along) * np.sin(across), np.minimum(np.sin(along), np.sin(across)) - 0.3)
    if kind < 3:
        share = np.clip(3 * wave[kind] + 0.5, 0, 1)
    else:
        lattice = rng.standard_normal((int(height / period) + 3, int(width / period) + 3)).astype(np.float32)
        share = np.clip(4 * cv2.resize(lattice, (width, height), interpolation=cv2.INTER_CUBIC) + 0.5, 0, 1)
    mask = np.zeros((height, width), np.float32)
    corners = _anywhere(ground, rng) + rng.normal(0, 0.35 * max(height, width), (5, 2))
    cv2.fillConvexPoly(mask, cv2.convexHull(corners.astype(np.int32)), 1.0)
    light, dark = rng.uniform(60, 245, 3), rng.uniform(5, 160, 3)
    painted = light * share[..., None] + dark * (1 - share[..., None])
    ground += mask[..., None] * (painted.astype(np.float32) - ground)


def _cable(ground: Ground, px_per_mm: float, rng: np.random.Generator) -> None:
    """A cable or a pen that lies about, dark more often than not; from the border or with an end of its own."""
    colour = rng.uniform(10, 60) * np.ones(3) if rng.random() < 0.7 else rng.uniform(20, 230, 3)
    way = _curve(_anywhere(ground, rng), px_per_mm * rng.uniform(6, 14), int(rng.integers(3, 25)), rng)
    if rng.random() < 0.5:
        way = np.linspace(way[0], way[-1], 2)  # straight, as a pen that was put down
    _line(ground, way, px_per_mm * rng.uniform(2, 9), colour)


def _thing(ground: Ground, px_per_mm: float, rng: np.random.Generator) -> None:
    """A box, a cup, an eraser, a lamp's reflection: an ellipse or a polygon with a lit side."""
    height, width = ground.shape[:2]
    mask = np.zeros((height, width), np.float32)
    centre, reach = _anywhere(ground, rng), px_per_mm * float(np.exp(rng.uniform(np.log(5), np.log(70))))
    if rng.random() < 0.5:
        axes = (max(1, round(reach)), max(1, round(reach * rng.uniform(0.2, 1.0))))
        cv2.ellipse(mask, centre.astype(int).tolist(), axes, rng.uniform(0, 180), 0, 360, 1.0, -1, cv2.LINE_AA)
    else:
        corners = centre + rng.normal(0, reach, (int(rng.integers(3, 6)), 2))
        cv2.fillConvexPoly(mask, cv2.convexHull(corners.astype(np.int32)), 1.0, cv2.LINE_AA)
    slope = np.linspace(rng.uniform(0.6, 1.0), 1.0, width, dtype=np.float32)[None, :, None]
    colour = (rng.uniform(5, 250, 3) if rng.random() < 0.7 else rng.uniform(5, 60) * np.ones(3)).astype(np.float32)
    ground += mask[..., None] * (colour * slope - ground)


def _keys(ground: Ground, px_per_mm: float, rng: np.random.Generator) -> None:
    """A keyboard: rows of dark or light squares."""
    pitch, turn = px_per_mm * rng.uniform(14, 20), rng.uniform(-np.pi, np.pi)
    right = np.array([np.cos(turn), np.sin(turn)])
    down, corner = np.array([-right[1], right[0]]), _anywhere(ground, rng)
    colour = rng.uniform(15, 70) * np.ones(3) if rng.random() < 0.7 else rng.uniform(190, 245) * np.ones(3)
    square = 0.42 * pitch * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) @ np.stack([right, down])
    for row in range(rng.integers(3, 6)):
        for column in range(rng.integers(6, 14)):
            key = corner + pitch * (column * right + row * down) + square
            cv2.fillConvexPoly(ground, key.astype(np.int32), colour.tolist(), cv2.LINE_AA)


_KINDS: tuple[Callable[[Ground, float, np.random.Generator], None], ...] = (
    _writing, _writing, _strokes, _small_print, _pattern, _cable, _thing, _thing, _keys,
)  # fmt: skip


def add_clutter(ground: Ground, px_per_mm: float, amount: float, rng: np.random.Generator) -> None:
    """Put things on the ground ``[H, W, 3]`` in place."""
    for _ in range(rng.poisson(8 * amount)):
        _KINDS[rng.integers(len(_KINDS))](ground, px_per_mm, rng)


def add_second_hand(ground: Ground, px_per_mm: float, tone: float, light: NDArray[np.float64],
                    rng: np.random.Generator) -> None:  # fmt: skip
    """Lay another hand of the same person, which holds nothing, on the ground in place."""
    turn, at = rng.uniform(-np.pi, np.pi), _anywhere(ground, rng)
    mirror = np.diag([rng.choice([-1.0, 1.0]), 1.0])
    rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    to_canvas = np.column_stack([px_per_mm * rotation @ mirror, at])
    size = (ground.shape[1], ground.shape[0])
    hand = draw_hand(
        size, cv2.invertAffineTransform(to_canvas), 1 / px_per_mm, "open", tone, rng.random() < 0.4, light, rng
    )
    picture = np.clip(ground, 0, 255).astype(np.uint8)
    for layer in (hand.rear, hand.front):
        paste(picture, layer, (0, 0, *size))
    ground[:] = picture


def caption(picture: Picture, rng: np.random.Generator) -> Picture:
    """Words over the picture, as films on the net have them: white or dark, some with a box or an outline."""
    height, width = picture.shape[:2]
    scale = float(np.hypot(width, height)) * rng.uniform(0.0008, 0.003)
    words = "".join(rng.choice(list("abcdefghijklmnoprstuvwyABCDEHLMNORST  "), int(rng.integers(3, 20))))
    at = (int(rng.uniform(-0.1, 0.7) * width), int(rng.uniform(0.05, 1.0) * height))
    thick = max(1, round(2.2 * scale))
    bright = rng.random() < 0.6
    colour = (255, 255, 255) if bright else tuple(int(value) for value in rng.uniform(0, 200, 3))
    font = int(rng.choice([cv2.FONT_HERSHEY_SIMPLEX, cv2.FONT_HERSHEY_DUPLEX, cv2.FONT_HERSHEY_SCRIPT_SIMPLEX]))
    drawn = picture.copy()
    if rng.random() < 0.3:
        (wide, high), _ = cv2.getTextSize(words, font, scale, thick)
        cv2.rectangle(drawn, (at[0] - 5, at[1] - high - 5), (at[0] + wide + 5, at[1] + 8), (20, 20, 24), -1)
    elif bright:
        cv2.putText(drawn, words, at, font, scale, (0, 0, 0), thick + 2, cv2.LINE_AA)
    cv2.putText(drawn, words, at, font, scale, colour, thick, cv2.LINE_AA)
    return np.asarray(cv2.addWeighted(drawn, 0.9, picture, 0.1, 0), np.uint8)


def repaint(picture: Picture, look: str, rng: np.random.Generator) -> Picture:
    """The picture as another medium shows it.

    Args:
        picture: RGB uint8 ``[H, W, 3]``.
        look: ``photo`` leaves it; ``drawn`` flattens colours and outlines them, as animated films do; ``gif`` has few
            colours; ``candle`` is lit by a flame; ``grey`` has no colour.
        rng: what is drawn by chance.
    """
    if look == "grey":
        return np.asarray(cv2.cvtColor(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY), cv2.COLOR_GRAY2RGB), np.uint8)
    if look == "candle":
        gain = np.array([1.15, rng.uniform(0.62, 0.8), rng.uniform(0.25, 0.5)]) * rng.uniform(0.6, 1.0)
        return np.clip(picture * gain, 0, 255).astype(np.uint8)
    if look == "gif":
        step = 255 / int(rng.integers(6, 15))
        dither = rng.uniform(-0.3, 0.3, (*picture.shape[:2], 1)) * step
        return np.clip(np.round((picture + dither) / step) * step, 0, 255).astype(np.uint8)
    if look == "drawn":
        flat = cv2.medianBlur(picture, 5)
        step = rng.uniform(18, 34)
        flat = np.clip(np.round(flat / step) * step + rng.uniform(0, 20), 0, 255).astype(np.uint8)
        edge = cv2.Laplacian(cv2.GaussianBlur(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY), (0, 0), 1.2), cv2.CV_32F)
        line = np.clip((edge - rng.uniform(3, 6)) / 6, 0, 1)[..., None] * rng.uniform(0.5, 0.95)
        return np.clip(flat * (1 - line) + rng.uniform(20, 70) * line, 0, 255).astype(np.uint8)
    return picture
