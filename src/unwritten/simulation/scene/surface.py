"""The still part of a shot: table, paper, print, light. Drawn once per shot."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from unwritten.errors import UnwrittenError
from unwritten.simulation.scene.settings import SceneSettings
from unwritten.simulation.scene.textures import texture, value_noise

_FIXED = 4  # OpenCV's drawing takes sixteenths of a pixel


def _polygon(size: tuple[int, int], corners_px: NDArray[np.float64]) -> NDArray[np.float32]:
    mask = np.zeros((size[1], size[0]), np.uint8)
    cv2.fillConvexPoly(mask, np.round(corners_px * 2**_FIXED).astype(np.int32), 255, cv2.LINE_AA, _FIXED)
    return np.asarray(mask[..., None] / np.float32(255), np.float32)


def _to_picture(points_mm: NDArray[np.float64], to_canvas: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(points_mm @ to_canvas[:, :2].T + to_canvas[:, 2])


def background_picture(path: str, size: tuple[int, int]) -> NDArray[np.float32]:
    """A picture, or a video's first frame, cut to the shape of ``size`` (W, H); RGB float32 ``[H, W, 3]``.

    Raises:
        UnwrittenError: the file cannot be read as a picture or video.
    """
    picture = cv2.imread(path) if Path(path).is_file() else None
    if picture is None:
        capture = cv2.VideoCapture(path)
        found, picture = capture.read()
        capture.release()
        if not found:
            raise UnwrittenError(f"{path}: no picture in it; give a background that is a picture or a video")
    height, width = picture.shape[:2]
    scale = max(size[0] / width, size[1] / height)
    wide = cv2.resize(
        picture, (max(size[0], round(width * scale)), max(size[1], round(height * scale))), interpolation=cv2.INTER_AREA
    )
    y, x = (wide.shape[0] - size[1]) // 2, (wide.shape[1] - size[0]) // 2
    return cv2.cvtColor(wide[y : y + size[1], x : x + size[0]], cv2.COLOR_BGR2RGB).astype(np.float32)


def _print(
    sheet: NDArray[np.float32],
    kind: str,
    corners: NDArray[np.float64],
    to_canvas: NDArray[np.float64],
    px_per_mm: float,
    rng: np.random.Generator,
) -> None:
    """Print a frame with lines of text, or ruled lines, on the sheet in place; ``corners`` are the sheet's, in mm."""
    ink = rng.uniform(20, 70, 3)
    left, right, top, bottom = corners[:, 0].min(), corners[:, 0].max(), corners[:, 1].min(), corners[:, 1].max()

    def line(points: list[tuple[float, float]], width_mm: float, colour: NDArray[np.float64]) -> None:
        ends = np.round(_to_picture(np.array(points), to_canvas) * 2**_FIXED).astype(np.int32)
        cv2.polylines(
            sheet,
            [ends.reshape(-1, 1, 2)],
            False,
            colour.tolist(),
            max(1, round(width_mm * px_per_mm)),
            cv2.LINE_AA,
            _FIXED,
        )

    if kind == "ruled":
        colour = np.array([150.0, 172.0, 206.0]) + rng.uniform(-20, 20, 3)
        for level in np.arange(top + 15, bottom, rng.uniform(7.0, 9.0)):
            line([(left, level), (right, level)], 0.35, colour)
        line([(right - 24, top), (right - 24, bottom)], 0.35, np.array([206.0, 120.0, 120.0]))
        return
    # A form: a border around the page, and a box around the place to write in.
    inset, width = rng.uniform(8, 14), rng.uniform(0.5, 1.3)
    line(
        [
            (left + inset, top + inset),
            (right - inset, top + inset),
            (right - inset, bottom - inset),
            (left + inset, bottom - inset),
            (left + inset, top + inset),
        ],
        width,
        ink,
    )
    x0, x1, y0, y1 = -rng.uniform(34, 55), rng.uniform(34, 60), -rng.uniform(26, 45), rng.uniform(22, 40)
    line([(x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0)], width, ink)
    for row in range(3):  # words of small print under the box
        position = x0
        while position < x1 - 12:
            length = rng.uniform(3, 12)
            line([(position, y1 + 8 + 6 * row), (position + length, y1 + 8 + 6 * row)], 1.2, ink + 40)
            position += length + 2.5


def draw_ground(
    size: tuple[int, int],
    to_canvas: NDArray[np.float64],
    px_per_mm: float,
    settings: SceneSettings,
    rng: np.random.Generator,
) -> NDArray[np.float32]:
    """Table and paper without light and shadows, RGB float32 ``[H, W, 3]``.

    Args:
        size: width and height in pixels.
        to_canvas: ``[2, 3]`` affine map from the reference view in millimetres to pixels; its origin is the middle of
            the writing.
    """
    if settings.background:
        return background_picture(settings.background, size)
    table = texture(settings.table, size, px_per_mm, rng)
    if settings.paper == "none" or settings.table == "room":
        return table
    left, right = -rng.uniform(115, 160), rng.uniform(130, 230)
    top, bottom = -rng.uniform(98, 125), rng.uniform(190, 260)
    corners = np.array([[left, top], [right, top], [right, bottom], [left, bottom]]) + rng.normal(0, 3, (4, 2))
    turn = rng.uniform(-0.12, 0.12)
    corners = corners @ np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    in_picture = _to_picture(corners, to_canvas)
    sheet = texture("paper", size, px_per_mm, rng)
    if settings.paper != "plain":
        _print(sheet, settings.paper, corners, to_canvas, px_per_mm, rng)
    mask = _polygon(size, in_picture)
    under = _polygon(size, in_picture + np.array([0.0, 1.2]) * px_per_mm)
    under = cv2.GaussianBlur(under, (0, 0), max(0.5, 1.0 * px_per_mm))[..., None]
    table = table * (1 - 0.35 * under)
    return np.asarray(table * (1 - mask) + sheet * mask, np.float32)


def draw_light(
    size: tuple[int, int],
    px_per_mm: float,
    settings: SceneSettings,
    focus_px: NDArray[np.float64],
    rng: np.random.Generator,
) -> NDArray[np.float32]:
    """What each pixel's colour is multiplied by, float32 ``[H, W, 3]``: lamp, window, falloff, the lamp's shadow.

    Args:
        focus_px: where the writing is; the lamp's shadow passes near it.
    """
    width, height = size
    columns = np.linspace(-1, 1, width, dtype=np.float32)[None, :]
    rows = np.linspace(-1, 1, height, dtype=np.float32)[:, None]
    angle = rng.uniform(0, 2 * np.pi)
    slope = 0.5 + 0.5 * np.clip(columns * np.float32(np.cos(angle)) + rows * np.float32(np.sin(angle)), -1, 1)
    level = 1 - np.float32(settings.unevenness) * slope ** np.float32(1.2)
    level = level * (1 - np.float32(0.12) * (columns**2 + rows**2) / 2)
    # A warm lamp on one side, a bluish window on the other, as in rooms by day.
    warm = np.array([1.03, 0.99, 0.88], np.float32) * rng.uniform(0.97, 1.03, 3)
    cool = np.array([0.97, 0.99, 1.06], np.float32) * rng.uniform(0.97, 1.03, 3)
    tint = value_noise(size, (0.7 * width, 0.7 * height), rng) * 0.35 + 0.5
    light = level[..., None] * (warm * np.clip(tint, 0, 1)[..., None] + cool * (1 - np.clip(tint, 0, 1)[..., None]))
    if settings.lamp_shadow > 0:
        arm = np.zeros((height, width), np.float32)
        direction = rng.uniform(0, np.pi)
        along = np.array([np.cos(direction), np.sin(direction)]) * 900 * px_per_mm
        passing = focus_px + rng.uniform(-25, 25, 2) * px_per_mm
        cv2.line(
            arm,
            (passing - along).astype(int).tolist(),
            (passing + along).astype(int).tolist(),
            1.0,
            max(2, round(rng.uniform(9, 20) * px_per_mm)),
            cv2.LINE_AA,
        )
        head = passing + rng.uniform(0.08, 0.16) * along
        cv2.circle(arm, head.astype(int).tolist(), round(rng.uniform(30, 50) * px_per_mm), 1.0, -1, cv2.LINE_AA)
        arm = cv2.GaussianBlur(arm, (0, 0), rng.uniform(1.0, 3.5) * px_per_mm)
        light = light * (1 - np.float32(settings.lamp_shadow) * arm)[..., None]
    dither = rng.uniform(-0.002, 0.002, (height, width, 1)).astype(np.float32)
    light /= np.percentile(light[::8, ::8].mean(axis=2), 80)  # the camera exposes for the lit part of the table
    return np.asarray(light * np.float32(settings.exposure) + dither, np.float32)
