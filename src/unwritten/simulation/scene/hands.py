"""A hand that holds a pen, as a height field of tapered capsules lit from one side.

Reference view: that of the benchmark's clips. The origin is the tip of the pen, millimetres, x right, y **down**; the
camera looks across the table at a right-handed writer, the shaft runs from the tip along ``REFERENCE_SHAFT_RAD`` and the
forearm leaves to the right. Left hands and turned cameras are this picture mirrored and turned.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from unwritten.simulation.scene.textures import fractal_noise, value_noise

REFERENCE_SHAFT_RAD = -1.194  # measured on the benchmark's clips: up and to the right
_MAX_FIELD_PX = 900  # skin has no finer detail than this resolves

# Joints in the reference view: x, y, height over the paper, radius; all in millimetres.
_INDEX = ((8, -134, 44, 13.5), (-20, -96, 42, 11.5), (-3, -64, 33, 9.0), (7, -40, 24, 7.0))
_MIDDLE = ((22, -140, 40, 14.0), (-17, -72, 27, 11.0), (6, -44, 19, 8.5), (25, -27, 10, 7.0))
_RING = ((2, -84, 22, 13.0), (16, -50, 12, 10.0), (40, -35, 6, 8.0))
_LITTLE = ((48, -78, 14, 13.0), (50, -48, 8, 9.5), (64, -40, 5, 7.5))
_THUMB = ((92, -104, 36, 19.0), (76, -80, 42, 16.0), (49, -52, 42, 13.0), (21, -34, 34, 9.5))
_PALM = ((40, -122, 36, 23.0), (84, -108, 33, 25.0))
_HEEL = ((58, -66, 14, 14.0), (112, -92, 20, 20.0))
_HOLLOW = ((26, -104, 6, 30.0), (60, -78, 4, 26.0))  # the inside of the fist, seen between thumb and fingers
_POINTING = ((62, -78, 50, 13.5), (34, -44, 46, 11.5), (15, -20, 40, 9.5), (4.4, -5.6, 36, 7.2))


@dataclass(frozen=True)
class HandPicture:
    """The hand on a canvas around the picture.

    Attributes:
        rear: uint8 ``[H, W, 4]`` premultiplied RGBA of what lies behind the pen.
        front: the same for the thumb, which lies before it.
        follow: float32 ``[H, W]``, share of the tip's motion that each point follows: 1 at the fingertips, 0 at the arm.
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

    def limb(self, joints: NDArray[np.float64], blend_mm: float = 0.0, creases: bool = False) -> None:
        """Add a chain of tapered capsules; ``blend_mm`` melts them into what is there."""
        height = np.full(self.x.shape, -50.0, np.float32)
        inside = np.full(self.x.shape, -50.0, np.float32)
        for start, end in zip(joints[:-1], joints[1:], strict=True):
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


def _jitter(
    joints: tuple[tuple[float, ...], ...], rng: np.random.Generator, girth: float, spread: float
) -> NDArray[np.float64]:
    points = np.asarray(joints, np.float64).copy()
    points[:, :2] += rng.normal(0, spread, (len(points), 2))
    points[-1, :2] = np.asarray(joints[-1][:2]) + rng.normal(0, 0.4 * spread, 2)
    points[:, 3] *= girth
    return points


def draw_hand(
    size: tuple[int, int],
    from_canvas: NDArray[np.float64],
    step_mm: float,
    pointing: bool,
    tone: float,
    sleeve: bool,
    light: NDArray[np.float64],
    rng: np.random.Generator,
) -> HandPicture:
    """Draw a hand around the tip.

    Args:
        size: width and height of the canvas in pixels.
        from_canvas: ``[2, 3]`` affine map from canvas pixels to the reference view in millimetres.
        step_mm: millimetres per pixel of the canvas.
        pointing: an index finger stretched out to the origin, without a pen, instead of the grip.
        tone: skin tone, 0 to 1.
        sleeve: whether the forearm wears one.
        light: ``[3]`` unit vector to the light in canvas axes (x right, y down, z to the camera).
    """
    shrink = min(1.0, _MAX_FIELD_PX / max(size))
    small = (max(8, round(size[0] * shrink)), max(8, round(size[1] * shrink)))
    columns = (np.arange(small[0], dtype=np.float32) + 0.5) * (size[0] / small[0]) - 0.5
    rows = (np.arange(small[1], dtype=np.float32) + 0.5) * (size[1] / small[1]) - 0.5
    affine = from_canvas.astype(np.float32)
    x = affine[0, 0] * columns[None, :] + affine[0, 1] * rows[:, None] + affine[0, 2]
    y = affine[1, 0] * columns[None, :] + affine[1, 1] * rows[:, None] + affine[1, 2]
    step = step_mm / shrink
    girth, spread = rng.uniform(0.88, 1.12), 2.2
    lit, dark = _skin_colours(tone, rng)

    arm_angle = rng.uniform(-0.62, -0.08)
    direction = np.array([np.cos(arm_angle), np.sin(arm_angle)])
    palm = _jitter(_PALM, rng, girth, spread)
    wrist = palm[1, :2] + 38 * direction
    arm = np.array(
        [
            [*palm[1, :2], 30, 23 * girth],
            [*wrist, 27, 20 * girth],
            [*(wrist + 90 * direction), 30, 27 * girth],
            [*(wrist + 600 * direction), 34, 40 * girth],
        ]
    )

    rear = _Field(x, y)
    rear.limb(arm, 6)
    rear.limb(palm, 10)
    rear.limb(_jitter(_HEEL, rng, girth, spread), 8)
    if pointing:
        rear.limb(_jitter(((66, -62, 30, 14), (38, -52, 22, 12), (52, -38, 16, 10)), rng, girth, spread), 0, True)
        rear.limb(_jitter(((78, -50, 22, 13), (52, -36, 16, 11), (66, -28, 12, 9)), rng, girth, spread), 0, True)
        rear.limb(np.array([[*palm[0, :2], 40, 18 * girth], [62, -78, 46, 15 * girth]]), 8)
        tip = np.asarray(_POINTING, np.float64).copy()
        tip[:, 3] *= girth
        # The outline's outermost point along the finger is the origin, whatever the girth.
        axis = tip[-2, :2] / np.linalg.norm(tip[-2, :2])
        tip[-1, :2] = axis * tip[-1, 3]
        rear.limb(tip, 0, True)
    else:
        rear.limb(_jitter(_HOLLOW, rng, girth, spread))
        rear.limb(_jitter(_LITTLE, rng, girth, spread), 0, True)
        rear.limb(_jitter(_RING, rng, girth, spread), 0, True)
        rear.limb(_jitter(_MIDDLE, rng, girth, spread), 0, True)
        rear.limb(_jitter(_INDEX, rng, girth, spread), 3, True)
        rear.limb(np.array([[*palm[0, :2], 38, 20 * girth], [8, -134, 42, 13 * girth]]), 6)
        rear.limb(np.array([[88, -106, 30, 17 * girth], [72, -80, 30, 13 * girth]]), 8)

    edge = 1 / (1.2 * step)
    picture = np.zeros((*x.shape, 4), np.float32)
    alpha = np.clip(rear.inside * edge + 0.5, 0, 1)
    colour = _shade(rear, step, light, lit, dark, rng, 1.0)
    colour = _hairs(colour, x, y, wrist, direction, dark, rng)
    picture = _paste(picture, colour, alpha)
    if sleeve:
        cuff = wrist + rng.uniform(15, 70) * direction
        cloth = _Field(x, y)
        cloth.limb(np.array([[*cuff, 30, 30 * girth], [*(cuff + 550 * direction), 38, 52 * girth]]))
        beyond = (x - cuff[0]) * direction[0] + (y - cuff[1]) * direction[1]
        beyond = beyond + 3 * value_noise(small, (18 / step, 18 / step), rng)
        paint = rng.uniform(30, 210) + rng.uniform(-45, 45, 3)
        folds = _shade(
            cloth,
            step,
            light,
            np.float32(np.clip(paint, 15, 235)),
            np.float32(np.clip(paint, 15, 235) * 0.35),
            rng,
            2.5,
        )
        picture = _paste(picture, folds, np.clip(cloth.inside * edge + 0.5, 0, 1) * np.clip(beyond * edge + 0.5, 0, 1))

    front = np.zeros((*x.shape, 4), np.float32)
    if not pointing:
        thumb = _Field(x, y)
        joints = _jitter(_THUMB, rng, girth, spread * 0.7)
        thumb.limb(joints, 0, True)
        over = np.clip(thumb.inside * edge + 0.5, 0, 1)
        # Its root melts into the palm below, which has the same skin.
        root = (x - joints[0, 0]) * (joints[1, 0] - joints[0, 0]) + (y - joints[0, 1]) * (joints[1, 1] - joints[0, 1])
        over = over * np.clip((root / np.linalg.norm(joints[1, :2] - joints[0, :2]) + 4) / 22, 0, 1)
        coat = _shade(thumb, step, light, lit, dark, rng, 1.0)
        coat = _nail(coat, x, y, joints, lit)
        front = _paste(front, coat, over.astype(np.float32))

    reach = np.hypot(x, y)
    follow = (1 - _smoothstep(reach, 55.0, 150.0)).astype(np.float32)
    if pointing:
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
