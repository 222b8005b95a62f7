"""A hand as a height field of tapered capsules lit from one side, in the reference view of ``poses``.

Left hands and turned cameras are that picture mirrored and turned.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import cv2
import numpy as np
from numpy.typing import NDArray

from unwritten.simulation.scene.poses import Limb, grip, open_hand, pointing
from unwritten.simulation.scene.textures import fractal_noise, value_noise

_MAX_FIELD_PX = 900  # skin has no finer detail than this resolves


@dataclass(frozen=True)
class HandPicture:
    """The hand on a canvas around the picture.

    Attributes:
        rear: uint8 ``[H, W, 4]`` premultiplied RGBA of what lies behind the pen.
        front: the same for the thumb, which lies before it.
        follow: float32 ``[H, W]``, share of the tip's motion that each point follows: 1 at the fingertips,
            0 at the arm.
    """

    rear: NDArray[np.uint8]
    front: NDArray[np.uint8]
    follow: NDArray[np.float32]


class _Field:
    """Height field over a grid of reference coordinates ``x, y`` float32 ``[H, W]`` in millimetres."""

    def __init__(self, x: NDArray[np.float32], y: NDArray[np.float32]) -> None:
        self.x, self.y = x, y
        self.height = np.full(x.shape, -50.0, np.float32)
        self.inside = np.full(x.shape, -50.0, np.float32)  # distance inwards from the outline, in millimetres

    def add(self, limb: Limb) -> None:
        """Add a limb on top of what is there."""
        joints, blend_mm, creases = limb.joints, limb.blend_mm, limb.creases
        height = np.full(self.x.shape, -50.0, np.float32)
        inside = np.full(self.x.shape, -50.0, np.float32)
        for start, end in pairwise(joints):
            along = end[:2] - start[:2]
            length = float(np.hypot(*along)) + 1e-6
            dx, dy = self.x - np.float32(start[0]), self.y - np.float32(start[1])
            position = (dx * np.float32(along[0]) + dy * np.float32(along[1])) / np.float32(length)
            share = np.clip(position / np.float32(length), 0, 1)
            distance2 = (dx - share * np.float32(along[0])) ** 2 + (dy - share * np.float32(along[1])) ** 2
            radius = np.float32(start[3]) + share * np.float32(end[3] - start[3])
            level = np.float32(start[2]) + share * np.float32(end[2] - start[2])
            bulge = np.sqrt(np.clip(radius**2 - distance2, 0, None)) + level
            if creases:
                for shift in (-2.4, 0.0, 2.2):
                    bulge -= 0.45 * np.exp(-(((position - np.float32(length + shift)) / 0.7) ** 2))
            depth = radius - np.sqrt(distance2)
            height = np.maximum(height, np.where(depth > 0, bulge, -50))
            inside = np.maximum(inside, depth)
        if blend_mm > 0:  # polynomial smooth maximum (Quilez), so that muscles flow into each other
            mix = np.clip(0.5 + (height - self.height) / (2 * blend_mm), 0, 1)
            both = (self.height > -40) & (height > -40)
            melted = self.height + (height - self.height) * mix + blend_mm * mix * (1 - mix)
            self.height = np.where(both, melted, np.maximum(self.height, height)).astype(np.float32)
        else:
            self.height = np.maximum(self.height, height)
        self.inside = np.maximum(self.inside, inside)


def _skin_colours(tone: float, rng: np.random.Generator) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Lit and shaded colour of skin, RGB; the shade is redder because light scatters under the skin."""
    tones = np.array([[240, 206, 176], [228, 188, 148], [206, 164, 118], [160, 116, 78], [100, 70, 50]], np.float32)
    position = np.clip(tone, 0, 1) * (len(tones) - 1)
    lit = np.array([np.interp(position, np.arange(len(tones)), tones[:, k]) for k in range(3)], np.float32)
    lit = lit + rng.normal(0, 4, 3).astype(np.float32)
    return lit, lit * np.array([0.44, 0.31, 0.25], np.float32)


def _shade(
    field: _Field,
    step_mm: float,
    light: NDArray[np.float64],
    lit: NDArray[np.float32],
    dark: NDArray[np.float32],
    rng: np.random.Generator,
    grain: float,
) -> NDArray[np.float32]:
    """Colour of a height field, float32 ``[H, W, 3]``."""
    size = (field.x.shape[1], field.x.shape[0])
    surface = np.clip(field.height, -8, None)
    px = 1 / step_mm
    surface = cv2.GaussianBlur(surface, (0, 0), max(0.6, 0.5 * px))
    wrinkles = value_noise(size, (0.9 * px, 0.9 * px), rng) * 0.035 + value_noise(size, (4 * px, 1.1 * px), rng) * 0.045
    surface = surface + np.float32(grain) * (wrinkles + fractal_noise(size, 16 * px, 2, rng) * 0.35)
    gx = cv2.Sobel(surface, cv2.CV_32F, 1, 0, scale=1 / (8 * step_mm))
    gy = cv2.Sobel(surface, cv2.CV_32F, 0, 1, scale=1 / (8 * step_mm))
    norm = 1 / np.sqrt(1 + gx**2 + gy**2)
    towards = (-gx * np.float32(light[0]) - gy * np.float32(light[1]) + np.float32(light[2])) * norm
    hollow = cv2.GaussianBlur(surface, (0, 0), 5 * px) - surface
    shade = 0.30 + 0.8 * np.clip(towards, 0, 1) - np.clip(hollow, 0, 14) * 0.045
    shade = np.clip(shade, 0, 1.12)[..., None]
    colour = dark * (1 - shade) + lit * shade
    blotches = fractal_noise(size, 22 * px, 3, rng)[..., None] * np.array([2.0, 4.0, 4.0], np.float32) * grain
    glint = np.clip(towards, 0, 1)[..., None] ** 24 * 16 * grain
    return np.clip(colour - blotches + glint, 0, 255).astype(np.float32)


def _paste(base: NDArray[np.float32], colour: NDArray[np.float32], alpha: NDArray[np.float32]) -> NDArray[np.float32]:
    """Premultiplied ``over``: colour [H, W, 3] with alpha [H, W] in 0 to 1 on an RGBA base in 0 to 255."""
    alpha = alpha[..., None]
    top = np.concatenate([colour * alpha, alpha * 255], axis=2)
    return np.asarray(top + base * (1 - alpha), np.float32)


def draw_hand(
    size: tuple[int, int],
    from_canvas: NDArray[np.float64],
    step_mm: float,
    pose_name: str,
    tone: float,
    sleeve: bool,
    light: NDArray[np.float64],
    rng: np.random.Generator,
    spread: float = 0.0,
) -> HandPicture:
    """Draw a hand around the tip.

    Args:
        size: width and height of the canvas in pixels.
        from_canvas: ``[2, 3]`` affine map from canvas pixels to the reference view in millimetres.
        step_mm: millimetres per pixel of the canvas.
        pose_name: ``grip`` of a pen, ``pointing``: an index finger stretched out to the origin, or ``open``.
        tone: skin tone, 0 to 1.
        sleeve: whether the forearm wears one.
        light: ``[3]`` unit vector to the light in canvas axes (x right, y down, z to the camera).
        rng: what is drawn by chance.
        spread: how far the grip goes from the benchmark's, 0 to 1.
    """
    shrink = min(1.0, _MAX_FIELD_PX / max(size))
    small = (max(8, round(size[0] * shrink)), max(8, round(size[1] * shrink)))
    columns = (np.arange(small[0], dtype=np.float32) + 0.5) * (size[0] / small[0]) - 0.5
    rows = (np.arange(small[1], dtype=np.float32) + 0.5) * (size[1] / small[1]) - 0.5
    affine = from_canvas.astype(np.float32)
    x = affine[0, 0] * columns[None, :] + affine[0, 1] * rows[:, None] + affine[0, 2]
    y = affine[1, 0] * columns[None, :] + affine[1, 1] * rows[:, None] + affine[1, 2]
    step = step_mm / shrink
    pose = {"grip": lambda: grip(rng, spread), "pointing": lambda: pointing(rng), "open": lambda: open_hand(rng)}[
        pose_name
    ]()
    wrist, direction, girth = pose.wrist, pose.direction, pose.girth
    lit, dark = _skin_colours(tone, rng)
    rear = _Field(x, y)
    for limb in pose.limbs:
        rear.add(limb)

    edge = 1 / (1.2 * step)
    picture = np.zeros((*x.shape, 4), np.float32)
    alpha = np.clip(rear.inside * edge + 0.5, 0, 1)
    colour = _shade(rear, step, light, lit, dark, rng, 1.0)
    colour = _hairs(colour, x, y, wrist, direction, dark, rng)
    picture = _paste(picture, colour, alpha)
    if sleeve:
        cuff = wrist + rng.uniform(15, 70) * direction
        cloth = _Field(x, y)
        cloth.add(Limb(np.array([[*cuff, 30, 30 * girth], [*(cuff + 550 * direction), 38, 52 * girth]])))
        beyond = (x - cuff[0]) * direction[0] + (y - cuff[1]) * direction[1]
        beyond = beyond + 3 * value_noise(small, (18 / step, 18 / step), rng)
        paint = np.clip(rng.uniform(30, 210) + rng.uniform(-45, 45, 3), 15, 235).astype(np.float32)
        folds = _shade(
            cloth,
            step,
            light,
            paint,
            0.35 * paint,
            rng,
            2.5,
        )
        picture = _paste(picture, folds, np.clip(cloth.inside * edge + 0.5, 0, 1) * np.clip(beyond * edge + 0.5, 0, 1))

    front = np.zeros((*x.shape, 4), np.float32)
    thumb = _Field(x, y)
    thumb.add(pose.thumb)
    joints = pose.thumb.joints
    over = np.clip(thumb.inside * edge + 0.5, 0, 1)
    # Its root melts into the palm below, which has the same skin.
    root = (x - joints[0, 0]) * (joints[1, 0] - joints[0, 0]) + (y - joints[0, 1]) * (joints[1, 1] - joints[0, 1])
    over = over * np.clip((root / np.linalg.norm(joints[1, :2] - joints[0, :2]) + 4) / 22, 0, 1)
    coat = _nail(_shade(thumb, step, light, lit, dark, rng, 1.0), x, y, joints, lit)
    front = _paste(front, coat, over.astype(np.float32))

    reach = np.hypot(x, y)
    follow = (1 - _smoothstep(reach, 55.0, 150.0)).astype(np.float32)
    if pose_name != "grip":
        follow = np.ones_like(follow)
    enlarge = [
        np.clip(cv2.resize(part, size, interpolation=cv2.INTER_CUBIC), 0, 255).astype(np.uint8)
        for part in (picture, front)
    ]
    for part in enlarge:  # cubic overshoot must not leave colour above alpha
        np.minimum(part[..., :3], part[..., 3:], out=part[..., :3])
    return HandPicture(enlarge[0], enlarge[1], cv2.resize(follow, size, interpolation=cv2.INTER_LINEAR))


def _smoothstep(value: NDArray[np.float32], low: float, high: float) -> NDArray[np.float32]:
    share = np.clip((value - low) / (high - low), 0, 1)
    return np.asarray(share * share * (3 - 2 * share), np.float32)


def _hairs(
    colour: NDArray[np.float32],
    x: NDArray[np.float32],
    y: NDArray[np.float32],
    wrist: NDArray[np.float64],
    direction: NDArray[np.float64],
    dark: NDArray[np.float32],
    rng: np.random.Generator,
) -> NDArray[np.float32]:
    """Hair on the forearm, on some people."""
    count = int(rng.integers(0, 500)) if rng.random() < 0.5 else 0
    strands = np.zeros(colour.shape[:2], np.float32)
    inverse = np.linalg.inv(np.array([[x[0, 1] - x[0, 0], x[1, 0] - x[0, 0]], [y[0, 1] - y[0, 0], y[1, 0] - y[0, 0]]]))
    across = np.array([-direction[1], direction[0]])
    for _ in range(count):
        root = wrist + rng.uniform(-30, 140) * direction + rng.uniform(-24, 24) * across
        end = root - rng.uniform(4, 11) * direction + rng.normal(0, 3, 2)
        line = [(inverse @ (point - (x[0, 0], y[0, 0]))).tolist() for point in (root, end)]
        ends = [tuple(int(np.clip(value, -2000, 4000) * 16) for value in point) for point in line]
        cv2.line(strands, ends[0], ends[1], float(rng.uniform(0.25, 0.7)), 1, cv2.LINE_AA, 4)
    return np.asarray(colour * (1 - strands[..., None]) + 0.6 * dark * strands[..., None], np.float32)


def _nail(
    colour: NDArray[np.float32],
    x: NDArray[np.float32],
    y: NDArray[np.float32],
    joints: NDArray[np.float64],
    lit: NDArray[np.float32],
) -> NDArray[np.float32]:
    """The thumb's nail: paler, pinker, with a bright rim."""
    axis = joints[-1, :2] - joints[-2, :2]
    axis = axis / np.linalg.norm(axis)
    centre = joints[-1, :2] - 1.0 * axis + 1.5 * np.array([axis[1], -axis[0]])
    along = (x - np.float32(centre[0])) * np.float32(axis[0]) + (y - np.float32(centre[1])) * np.float32(axis[1])
    aside = -(x - np.float32(centre[0])) * np.float32(axis[1]) + (y - np.float32(centre[1])) * np.float32(axis[0])
    radius = joints[-1, 3]
    shape = (along / np.float32(radius * 0.85)) ** 2 + (aside / np.float32(radius * 0.62)) ** 2
    plate = np.clip((1 - shape) * 4, 0, 1)[..., None] * 0.75
    pink = lit * np.array([1.04, 0.92, 0.94], np.float32) + 8 * np.clip(along, -4, 4)[..., None]
    return np.asarray(colour * (1 - plate) + np.clip(pink, 0, 255) * plate, np.float32)
