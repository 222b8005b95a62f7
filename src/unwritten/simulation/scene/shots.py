"""One shot of a scene: its still parts drawn once, then a picture for each position of the pen."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from unwritten.simulation.scene.compose import clip_region, darken, paste, place, smear, warp
from unwritten.simulation.scene.hands import draw_hand
from unwritten.simulation.scene.pens import Sprite
from unwritten.simulation.scene.poses import REFERENCE_SHAFT_RAD
from unwritten.simulation.scene.settings import SceneSettings

_COARSE = 4  # shadows of the hand have no detail finer than this many pixels


@dataclass(frozen=True)
class Person:
    """What stays the same from shot to shot: seeds and traits of the hand and its light."""

    left_handed: bool
    tone: float
    sleeve: bool
    seed: int
    light: NDArray[np.float64]
    second_light: NDArray[np.float64]


@dataclass(frozen=True)
class Hold:
    """How a hand holds its pen unlike the benchmark's writers: turned about the tip, further up, larger."""

    turn_rad: float = 0.0
    up_mm: float = 0.0
    size: float = 1.0


def reference_map(
    scale: float, shaft_rad: float, left_handed: bool, origin_px: NDArray[np.float64]
) -> NDArray[np.float64]:
    """``[2, 3]`` map from the reference view (mm) to pixels, the shaft along ``shaft_rad``, mirrored for left hands."""
    mirror = np.diag([-1.0, 1.0]) if left_handed else np.eye(2)
    reference = np.pi - REFERENCE_SHAFT_RAD if left_handed else REFERENCE_SHAFT_RAD
    turn = shaft_rad - reference
    rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    return np.column_stack([scale * rotation @ mirror, origin_px])


class Shot:
    """Draws the frames of one shot.

    Args:
        size: width and height of the picture in pixels.
        px_per_mm: resolution in the paper's plane.
        ground: uint8 ``[H, W, 3]`` table and paper.
        light: float32 ``[H, W, 3]`` what the picture is multiplied by.
        pen: the pen's sprite, None for a bare finger.
        rest_px, rest_rad: tip and shaft around which the hand is drawn: the shot's middle.
        reach_px: how far the tip goes from ``rest_px``.
    """

    def __init__(
        self,
        size: tuple[int, int],
        px_per_mm: float,
        ground: NDArray[np.uint8],
        light: NDArray[np.float32],
        pen: Sprite | None,
        person: Person,
        rest_px: NDArray[np.float64],
        rest_rad: float,
        reach_px: float,
        settings: SceneSettings,
        hold: Hold | None = None,
    ) -> None:
        self.size, self.px_per_mm, self.ground, self.pen, self.settings = size, px_per_mm, ground, pen, settings
        self.rest_px, self.rest_rad, self.person = rest_px, rest_rad, person
        self.brightest = float(light.max())
        self.light = np.clip(light * (255 / self.brightest) + 0.5, 0, 255).astype(np.uint8)
        self.margin = int(np.ceil(reach_px)) + 8
        canvas = (size[0] + 2 * self.margin, size[1] + 2 * self.margin)
        hold = hold or Hold()
        along = np.array([np.cos(rest_rad), np.sin(rest_rad)])
        origin = rest_px + self.margin + hold.up_mm * px_per_mm * along
        to_canvas = reference_map(px_per_mm * hold.size, rest_rad + hold.turn_rad, person.left_handed, origin)
        from_canvas = cv2.invertAffineTransform(to_canvas)
        hand = draw_hand(
            canvas,
            from_canvas,
            1 / (px_per_mm * hold.size),
            "pointing" if pen is None else "grip",
            person.tone,
            person.sleeve,
            person.light,
            np.random.default_rng(person.seed),
            settings.pose_spread,
        )
        if settings.hand == "none":
            for layer in (hand.rear, hand.front):
                layer[:] = 0
            hand.rear[0, 0, 3] = 1  # what has no extent has no place
        self.rear, self.front = hand.rear, hand.front
        covered = np.flatnonzero(hand.rear[..., 3].any(axis=1)), np.flatnonzero(hand.rear[..., 3].any(axis=0))
        thumb = np.flatnonzero(hand.front[..., 3].any(axis=1)), np.flatnonzero(hand.front[..., 3].any(axis=0))
        rows, columns = (np.concatenate([a, b]) for a, b in zip(covered, thumb, strict=True))
        self.hand_low = np.array([columns.min(), rows.min()], float) - self.margin
        self.hand_high = np.array([columns.max(), rows.max()], float) - self.margin
        self.follow = hand.follow
        self.hand_shadow = self._hand_shadow(hand.rear[..., 3], hand.front[..., 3]) if settings.shadow > 0 else None
        towards = np.array([np.cos(rest_rad), np.sin(rest_rad)])
        self.up = towards  # the writer's side of the picture is where the shaft rises to
        slope = 0.55 * towards - 0.9 * person.light[:2] / max(1e-6, float(np.hypot(*person.light[:2])))
        self.shadow_rad = float(np.arctan2(slope[1], slope[0]))
        self.pen_shadow = self._pen_shadow() if settings.shadow > 0 and settings.table != "room" else None

    def _hand_shadow(self, rear: NDArray[np.uint8], front: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """What the hand leaves of the light on the table, at a quarter of the resolution of the canvas."""
        small = (max(2, rear.shape[1] // _COARSE), max(2, rear.shape[0] // _COARSE))
        mask = cv2.resize(np.maximum(rear, front), small, interpolation=cv2.INTER_AREA).astype(np.float32) / 255
        factor = np.ones((small[1], small[0], 3), np.float32)
        scale = self.px_per_mm / _COARSE
        room = self.settings.table == "room"
        for light, blur_mm, depth, tint in (
            (self.person.light, 7.0, 1.0, (1.0, 1.0, 0.96)),
            (self.person.second_light, 12.0, 0.7, (1.0, 0.96, 0.8)),
            (np.array([0.0, 0.0, 1.0]), 4.0, 0.5, (1.0, 1.0, 1.0)),
        ):
            drop = -light[:2] / max(light[2], 0.2) * 20 * scale + np.array([0.0, 2.0 * scale])
            cast = cv2.warpAffine(mask, np.array([[1, 0, drop[0]], [0, 1, drop[1]]]), small)
            cast = cv2.GaussianBlur(cast, (0, 0), max(0.5, blur_mm * scale))[..., None]
            factor *= 1 - np.float32(0 if room else depth * self.settings.shadow) * cast * np.asarray(tint, np.float32)
        return np.clip(factor * 255 + 0.5, 0, 255).astype(np.uint8)

    def _pen_shadow(self) -> Sprite:
        """Shadow of the nib on the paper: sharp and dark at the contact, wide and faint further on; lies along +x."""
        resolution, length, margin = self.px_per_mm, 70.0, 8.0
        u = np.arange(int((length + margin) * resolution), dtype=np.float32)[None, :] / resolution - margin
        v = np.arange(int(2 * 14 * resolution), dtype=np.float32)[:, None] / resolution - 14
        width = np.interp(u, [0, 24, length], [1.2, 4.6, 5.0]).astype(np.float32)
        soft = (0.9 + 0.12 * np.clip(u, 0, None)).astype(np.float32)
        side = 1 / (1 + np.exp(-(width - np.abs(v)) / (0.5 * soft)))
        start = 1 / (1 + np.exp(-(u + 0.3) / 0.5))
        fade = np.clip(1 - u / length, 0, 1) ** 1.2
        spot = 0.75 * np.exp(-(u**2 + v**2) / (2 * 2.0**2))
        depth = self.settings.shadow * np.maximum(0.9 * side * start * fade, spot)
        return Sprite(
            np.clip(255 * (1 - depth) + 0.5, 0, 255).astype(np.uint8),
            (margin * resolution, 14 * resolution),
            resolution,
        )

    def _hand_layers(
        self, tip: NDArray[np.float64], arm: NDArray[np.float64], turn: float
    ) -> tuple[list[NDArray[np.uint8]], tuple[int, int, int, int]] | None:
        """Bend the hand so that the fingertips go with the pen and the forearm with the arm."""
        shift, slow = tip - self.rest_px, arm - self.rest_px
        low = np.minimum(self.hand_low + shift, self.hand_low + slow) - abs(turn) * 60 * self.px_per_mm
        high = np.maximum(self.hand_high + shift, self.hand_high + slow) + abs(turn) * 60 * self.px_per_mm
        region = clip_region(low, high, self.size)
        if region is None:
            return None
        left, top, right, bottom = region
        step = 4
        grid_x = np.arange(left, right + step, step, dtype=np.float32)
        grid_y = np.arange(top, bottom + step, step, dtype=np.float32)
        columns = np.clip(np.round(grid_x + self.margin - slow[0]).astype(int), 0, self.follow.shape[1] - 1)
        rows = np.clip(np.round(grid_y + self.margin - slow[1]).astype(int), 0, self.follow.shape[0] - 1)
        follow = self.follow[np.ix_(rows, columns)]
        extra = (shift - slow).astype(np.float32)
        away_x, away_y = grid_x[None, :] - np.float32(tip[0]), grid_y[:, None] - np.float32(tip[1])
        coarse_x = grid_x[None, :] + np.float32(self.margin - slow[0]) - follow * (extra[0] - np.float32(turn) * away_y)
        coarse_y = grid_y[:, None] + np.float32(self.margin - slow[1]) - follow * (extra[1] + np.float32(turn) * away_x)
        size = (right - left, bottom - top)
        # Grid point k stands for pixel step * k; resize puts it at step * (k + 0.5) - 0.5.
        stretch = np.array([[step, 0, 0], [0, step, 0]], np.float64)
        maps = [
            cv2.warpAffine(part, stretch, size, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
            for part in (coarse_x, coarse_y)
        ]
        first, second = cv2.convertMaps(maps[0], maps[1], cv2.CV_16SC2)
        layers = [
            np.asarray(cv2.remap(layer, first, second, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE), np.uint8)
            for layer in (self.rear, self.front)
        ]
        return layers, region

    def draw(
        self,
        tip: NDArray[np.float64] | None,
        arm: NDArray[np.float64] | None = None,
        shaft_rad: float = 0.0,
        lift_mm: float = 0.0,
        motion_px: NDArray[np.float64] | None = None,
    ) -> NDArray[np.uint8]:
        """One picture, RGB uint8 ``[H, W, 3]``, before the camera's blur and noise.

        Args:
            tip: the tip in pixels of the picture, None for a table without a hand.
            arm: where the tip would be if the hand moved with the forearm.
            lift_mm: height of the tip over the paper.
            motion_px: way of the tip while the shutter is open.
        """
        picture = self.ground.copy()
        whole = (0, 0, *self.size)
        if tip is not None and arm is not None:
            if self.hand_shadow is not None:
                drift = 0.5 * (tip + arm) - self.rest_px - self.margin
                matrix = np.array([[_COARSE, 0, drift[0]], [0, _COARSE, drift[1]]], float)
                cast = cv2.warpAffine(
                    self.hand_shadow, matrix, self.size, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
                )
                darken(picture, np.asarray(cast, np.uint8), whole)
            if self.pen_shadow is not None:
                rise = lift_mm * self.px_per_mm
                away = np.array([np.cos(self.shadow_rad), np.sin(self.shadow_rad)])
                ground = tip - 0.6 * rise * self.up + 0.5 * rise * away
                drawn = warp(
                    self.pen_shadow.image, place(1.0, self.shadow_rad, self.pen_shadow.tip, ground), self.size, 255
                )
                if drawn is not None:
                    darken(picture, *drawn)
            motion = np.zeros(2) if motion_px is None else motion_px
            hand = self._hand_layers(tip, arm, shaft_rad - self.rest_rad)
            if hand is not None:
                paste(picture, smear(hand[0][0], 0.7 * motion), hand[1])
            if self.pen is not None:
                drawn = warp(
                    self.pen.image, place(self.px_per_mm / self.pen.px_per_mm, shaft_rad, self.pen.tip, tip), self.size
                )
                if drawn is not None:
                    paste(picture, smear(drawn[0], motion), drawn[1])
            if hand is not None:
                paste(picture, smear(hand[0][1], 0.7 * motion), hand[1])
        return np.asarray(cv2.multiply(picture, self.light, scale=self.brightest / 255), np.uint8)
