"""From a track to the pictures that a camera would have taken of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import cv2
import numpy as np
from numpy.typing import NDArray

from unwritten.simulation.scene.clutter import add_clutter, add_second_hand, caption, repaint
from unwritten.simulation.scene.pens import Sprite, draw_pen, make_pen
from unwritten.simulation.scene.schedule import Schedule, make_schedule
from unwritten.simulation.scene.settings import PENS, SURFACES, SceneSettings
from unwritten.simulation.scene.shots import Hold, Person, Shot, reference_map
from unwritten.simulation.scene.surface import draw_ground, draw_light
from unwritten.simulation.scene.textures import value_noise
from unwritten.types import FloatArray, Frame, Track

_SPRITE_DETAIL = 2.0  # sprite pixels per picture pixel, so that a turned pen stays sharp
_NOISE_BORDER_PX = 64


class _Camera:
    """Size, blur and noise of the pictures."""

    def __init__(self, track: Track, settings: SceneSettings, rng: np.random.Generator) -> None:
        ratio = track.sample_aspect_ratio
        self.coded = (max(2, round(track.size_px[0] / ratio)), max(2, round(track.size_px[1])))
        # Drawn in square pixels at the finer of the two resolutions of a picture whose pixels are not square.
        grow = max(1.0, 1.0 / ratio)
        self.size = (max(2, round(track.size_px[0] * grow)), max(2, round(track.size_px[1] * grow)))
        self.diagonal_px = float(np.hypot(*self.size))
        self.ratio = ratio
        self.defocus_px = settings.defocus * self.diagonal_px
        self.noise: NDArray[np.uint8] | None = None
        if settings.noise > 0:
            wide = (self.coded[0] + _NOISE_BORDER_PX, self.coded[1] + _NOISE_BORDER_PX)
            grain = rng.standard_normal((wide[1], wide[0], 1)).astype(np.float32)
            colour = np.dstack([value_noise(wide, (2, 2), rng) for _ in range(3)])
            self.noise = np.clip(128.5 + settings.noise * (0.85 * grain + 0.5 * colour), 0, 255).astype(np.uint8)

    def to_picture(self, square_px: FloatArray) -> NDArray[np.float64]:
        """Square pixels of the track -> pixels of the drawn picture; a pixel's centre is a whole number in both."""
        coded = square_px / np.array([self.ratio, 1.0])
        scale = np.asarray(self.size) / np.asarray(self.coded)
        return np.asarray((coded + 0.5) * scale - 0.5)

    def expose(self, picture: NDArray[np.uint8], rng: np.random.Generator) -> NDArray[np.uint8]:
        """Blur, sample and add noise."""
        if self.defocus_px > 0.25:
            picture = np.asarray(cv2.GaussianBlur(picture, (0, 0), self.defocus_px), np.uint8)
        if self.size != self.coded:
            picture = np.asarray(cv2.resize(picture, self.coded, interpolation=cv2.INTER_AREA), np.uint8)
        if self.noise is not None:
            x, y = (int(value) for value in rng.integers(0, _NOISE_BORDER_PX, 2))
            grain = self.noise[y : y + self.coded[1], x : x + self.coded[0]]
            picture = np.asarray(cv2.addWeighted(picture, 1.0, grain, 1.0, -128.0), np.uint8)
        return picture


def _decide(settings: SceneSettings, rng: np.random.Generator) -> SceneSettings:
    """Replace every ``random`` by a choice."""
    pen = settings.pen if settings.pen != "random" else PENS[int(rng.integers(0, 5))]
    table = settings.table if settings.table != "random" else SURFACES[int(rng.integers(0, 4))]
    hand = settings.hand if settings.hand != "random" else ("left" if rng.random() < 0.11 else "right")
    skin = settings.skin if settings.skin >= 0 else float(rng.uniform(0, 1))
    return replace(settings, pen=pen, table=table, hand=hand, skin=skin)


def _light_from(rng: np.random.Generator) -> NDArray[np.float64]:
    angle, height = rng.uniform(-np.pi, np.pi), rng.uniform(0.6, 0.85)
    flat = np.sqrt(1 - height**2)
    return np.array([flat * np.cos(angle), flat * np.sin(angle), height])


def _another_view(picture: NDArray[np.float32], change: float, rng: np.random.Generator) -> NDArray[np.float32]:
    """The same table from a camera that was moved a little between two shots."""
    height, width = picture.shape[:2]
    view = cv2.getRotationMatrix2D((width / 2, height / 2), 5 * change * rng.normal(), 1 + 0.12 * change * rng.random())
    view[:, 2] += change * rng.normal(0, 0.03, 2) * (width, height)
    return np.asarray(
        cv2.warpAffine(picture, view, (width, height), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT),
        np.float32,
    )


def render(
    track: Track, settings: SceneSettings | None = None, rng: np.random.Generator | None = None
) -> Iterator[Frame]:
    """Pictures of a hand that moves a pen along a track; the tip lies exactly at ``track.tip_px``.

    The tip is the point where the axis of the pen meets the outline of its end; of a bare finger it is the middle of
    the fingertip's round end. Frames are made one by one, so memory does not grow with the clip. The same seed gives
    the same pictures.

    Args:
        track: true path: positions, shots, shaft and contact. Invisible frames before a change of shot are black, short
            gaps show the pen on its way, in long ones the table is empty (``SceneSettings.gap_s``).
        settings: what the scene looks like.
        rng: source of all that is drawn by chance.

    Yields:
        Frames as a file would hold them: ``size_px`` divided by the sample aspect ratio, times from the track.
    """
    rng = rng if rng is not None else np.random.default_rng(0)
    settings = _decide(settings or SceneSettings(), rng)
    if len(track) == 0:
        return
    plan = make_schedule(track, settings.gap_s)
    camera = _Camera(track, settings, rng)
    tip, arm = camera.to_picture(plan.tip_px), camera.to_picture(plan.arm_px)
    px_per_mm = camera.diagonal_px / settings.view_mm
    left_handed = (settings.hand == "left") != track.mirrored
    person = Person(
        left_handed,
        settings.skin,
        rng.random() < settings.sleeve,
        int(rng.integers(2**31)),
        _light_from(rng),
        _light_from(rng),
    )
    shown = np.flatnonzero(plan.drawn)
    middle = np.median(tip[shown], axis=0) if len(shown) else np.asarray(camera.size) / 2.0
    shaft = float(np.median(plan.shaft_rad[shown])) if len(shown) else -1.2
    across = float(-person.light[0] * np.sin(shaft) + person.light[1] * np.cos(shaft))
    pen = None
    if settings.pen != "finger":
        facing = (across, float(np.sqrt(max(0.0, 1 - across**2))))
        pen = draw_pen(make_pen(settings.pen, rng), px_per_mm * _SPRITE_DETAIL, facing, rng)
    to_canvas = reference_map(px_per_mm, shaft, left_handed, middle)
    ground = draw_ground(camera.size, to_canvas, px_per_mm, settings, rng)
    light = draw_light(camera.size, px_per_mm, settings, middle, rng)
    if settings.clutter > 0:
        add_clutter(ground, px_per_mm, settings.clutter, rng)
    if settings.second_hand > 0 and rng.random() < settings.second_hand:
        add_second_hand(ground, px_per_mm, settings.skin, person.light, rng)
    words = int(rng.integers(2**31)) if settings.captions > 0 and rng.random() < settings.captions else None
    ink = _ink(settings, px_per_mm, rng) if settings.ink_mm > 0 else None

    scale = np.asarray(camera.size) / np.asarray(track.size_px)
    step_s = float(np.median(np.diff(track.time_s))) if len(track) > 1 else 1 / 30
    shot: Shot | None = None
    for k in range(len(track)):
        if plan.black[k]:
            picture = np.zeros((camera.coded[1], camera.coded[0], 3), np.uint8)
            yield Frame(picture, float(track.time_s[k]), track.sample_aspect_ratio)
            continue
        if shot is None or plan.shot[k] != plan.shot[k - 1]:
            shot = _open_shot(k, plan, camera, tip, px_per_mm, ground, light, person, pen, settings, rng)
        elif ink is not None and plan.drawn[k - 1 : k + 1].all() and plan.lift[k - 1 : k + 1].max() < 0.5:
            ends = [np.round(16 * tip[n]).astype(int).tolist() for n in (k - 1, k)]
            cv2.line(shot.ground, ends[0], ends[1], ink[0], ink[1], cv2.LINE_AA, 4)
        if plan.drawn[k]:
            motion = plan.velocity_px_s[k] * scale * settings.shutter * step_s
            picture = shot.draw(
                tip[k], arm[k], float(plan.shaft_rad[k]), settings.lift_mm * float(plan.lift[k]), motion
            )
        else:
            picture = shot.draw(None)
        picture = camera.expose(picture, rng)
        if settings.look != "photo":
            picture = repaint(picture, settings.look, rng)
        if words is not None:
            picture = caption(picture, np.random.default_rng(words))
        yield Frame(picture, float(track.time_s[k]), track.sample_aspect_ratio)


def _ink(settings: SceneSettings, px_per_mm: float, rng: np.random.Generator) -> tuple[tuple[float, float, float], int]:
    """Colour and width in pixels of what the pen leaves."""
    red, green, blue = rng.uniform(5, 60, 3) if rng.random() < 0.8 else rng.uniform(20, 180, 3)
    return (red, green, blue), max(1, round(settings.ink_mm * px_per_mm))


def _open_shot(
    k: int,
    plan: Schedule,
    camera: _Camera,
    tip: NDArray[np.float64],
    px_per_mm: float,
    ground: NDArray[np.float32],
    light: NDArray[np.float32],
    person: Person,
    pen: Sprite | None,
    settings: SceneSettings,
    rng: np.random.Generator,
) -> Shot:
    """Draw the still parts of the shot that frame ``k`` belongs to."""
    members = np.flatnonzero((plan.shot == plan.shot[k]) & plan.drawn)
    change = settings.shot_change if plan.shot[k] != plan.shot[0] else 0.0
    view = _another_view(ground, change, rng) if change > 0 else ground
    gain = np.float32(1 + 0.12 * change * rng.normal()) * (
        1 + 0.03 * change * rng.standard_normal(3).astype(np.float32)
    )
    rest = np.median(tip[members], axis=0) if len(members) else np.asarray(camera.size) / 2.0
    reach = float(np.abs(tip[members] - rest).max()) if len(members) else 0.0
    rest_rad = float(np.median(plan.shaft_rad[members])) if len(members) else -1.2
    still = np.clip(view + 0.5, 0, 255).astype(np.uint8)
    return Shot(
        camera.size,
        px_per_mm,
        still,
        np.asarray(light * gain, np.float32),
        pen,
        person,
        rest,
        rest_rad,
        reach,
        settings,
        _hold(settings.pose_spread, rng) if settings.pose_spread > 0 else None,
    )


def _hold(spread: float, rng: np.random.Generator) -> Hold:
    return Hold(0.45 * spread * rng.normal(), spread * rng.uniform(-14, 30), float(np.exp(0.2 * spread * rng.normal())))
