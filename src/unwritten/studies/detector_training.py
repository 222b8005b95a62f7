"""Trains the nib detector on rendered scenes alone: ``python -m unwritten.studies.detector_training``.

Every scene shows one pen in a dozen places; crops, colours, blur and noise are varied on the way into the network.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from unwritten.files import project_root, whole_file
from unwritten.tracking.detector import DIAGONAL_PX, STRIDE, NibNetwork
from unwritten.types import Track

_CROP_PX = 144
_FRAMES = 12  # pictures of one scene
_SPREAD_CELLS = 1.2  # standard deviation of the target around the tip
_PENS = ("dark", "light", "metal", "pencil", "dark", "light", "pencil")  # no brush pen: it is kept for the test


@dataclass(frozen=True)
class Example:
    """One picture, RGB uint8 ``[H, W, 3]``, and its tip ``[2]``, None when there is no pen."""

    picture: NDArray[np.uint8]
    tip: NDArray[np.float64] | None


def render_examples(seed: int) -> list[Example]:
    """The pictures of one scene, everything about it drawn by chance."""
    from unwritten.simulation.scene import SceneSettings, render

    rng = np.random.default_rng([77, seed])
    aspect = float(rng.choice([9 / 16, 9 / 16, 3 / 4, 1.0, 4 / 3, 16 / 9]))
    diagonal = DIAGONAL_PX * rng.uniform(1.0, 1.4)
    height = diagonal / np.hypot(1, aspect)
    size = (float(round(aspect * height)), float(round(height)))
    settings = SceneSettings(
        pen=str(rng.choice(_PENS)),  # type: ignore[arg-type]
        hand=str(rng.choice(["right", "left"])),  # type: ignore[arg-type]
        table=str(rng.choice(["wood", "laminate", "cloth", "dark"])),  # type: ignore[arg-type]
        paper=str(rng.choice(["plain", "plain", "plain", "ruled", "none"])),  # type: ignore[arg-type]
        view_mm=rng.uniform(230, 460),
        exposure=rng.uniform(0.35, 1.15),
        unevenness=rng.uniform(0.0, 0.6),
        shadow=rng.uniform(0.1, 0.7),
        noise=0.0,
        defocus=rng.uniform(0.0, 0.002),
        shutter=rng.uniform(0.0, 0.04),
        sleeve=0.4,
    )
    upright = -1.194 if settings.hand == "right" else np.pi + 1.194
    turn = rng.uniform(-np.pi, np.pi) if rng.random() < 0.6 else rng.normal(0, 0.3)
    middle = rng.uniform(0.2, 0.8, 2) * size
    tip = np.clip(middle + rng.normal(0, 0.07, (_FRAMES, 2)) * diagonal, 4, np.array(size) - 4)
    visible = np.arange(_FRAMES) < (_FRAMES - 1)  # the last frame shows the empty table
    track = Track(
        time_s=np.arange(_FRAMES, dtype=float),
        tip_px=tip,
        visible=visible,
        confidence=visible.astype(float),
        shot=np.zeros(_FRAMES, int),
        shaft_rad=upright + turn + rng.normal(0, 0.1, _FRAMES),
        contact=(rng.random(_FRAMES) < 0.6).astype(float),
        size_px=size,
    )
    frames = render(track, settings, rng)
    return [Example(frame.image, tip[k] if visible[k] else None) for k, frame in enumerate(frames)]


def augment(example: Example, rng: np.random.Generator) -> tuple[NDArray[np.float32], NDArray[np.float64] | None]:
    """A crop in other colours, float32 ``[144, 144, 3]`` in [0, 1], and the tip in it, None when it is not there."""
    picture = example.picture
    height, width = picture.shape[:2]
    scale = DIAGONAL_PX * rng.uniform(0.85, 1.2) / float(np.hypot(width, height))
    tip = example.tip if example.tip is not None else rng.uniform(0, 1, 2) * (width, height)
    corner = (tip + 0.5) * scale - rng.uniform(0.04, 0.96, 2) * _CROP_PX
    limit = np.array([width, height]) * scale - _CROP_PX
    corner = np.clip(corner, np.minimum(0, limit), np.maximum(0, limit))
    if rng.random() < 0.08:
        corner = rng.uniform(np.minimum(0, limit), np.maximum(0, limit))
    matrix = np.array([[scale, 0, 0.5 * scale - 0.5 - corner[0]], [0, scale, 0.5 * scale - 0.5 - corner[1]]])
    crop = cv2.warpAffine(picture, matrix, (_CROP_PX, _CROP_PX), flags=cv2.INTER_LINEAR)
    at = matrix[:, :2] @ tip + matrix[:, 2]
    if rng.random() < 0.5:
        crop, at = np.ascontiguousarray(crop[:, ::-1]), np.array([_CROP_PX - 1 - at[0], at[1]])
    if rng.random() < 0.3:
        crop = cv2.GaussianBlur(crop, (0, 0), rng.uniform(0.3, 0.9))
    elif rng.random() < 0.5:  # phones sharpen
        crop = cv2.addWeighted(crop, 1.6, cv2.GaussianBlur(crop, (0, 0), 1.0), -0.6, 0)
    level = crop.astype(np.float32) / 255
    level = np.clip(level * rng.uniform(0.75, 1.2) * rng.uniform(0.93, 1.07, 3), 0, 1) ** rng.uniform(0.75, 1.4)
    level = np.clip(level + rng.normal(0, rng.uniform(0, 0.03), level.shape), 0, 1)
    inside = example.tip is not None and bool(np.all((at > 1) & (at < _CROP_PX - 2)))
    return level.astype(np.float32), at if inside else None


def target_of(tip: NDArray[np.float64] | None) -> NDArray[np.float32]:
    """Probability of each cell and of no tip, float32 ``[72 * 72 + 1]``."""
    cells = _CROP_PX // STRIDE
    target = np.zeros(cells * cells + 1, np.float32)
    if tip is None:
        target[-1] = 1
        return target
    centre = (tip + 0.5) / STRIDE - 0.5
    grid = np.arange(cells)
    columns, rows = (np.exp(-((grid - value) ** 2) / (2 * _SPREAD_CELLS**2)) for value in centre)
    bump = rows[:, None] * columns[None, :]
    target[:-1] = (bump / bump.sum()).ravel()
    return target


def train(scenes: int, minutes: float, batch: int, seed: int) -> NibNetwork:
    """Render the scenes, then train for the given time with a one-cycle schedule of the learning rate."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    start = time.monotonic()
    examples = [example for k in range(scenes) for example in render_examples(1000 * seed + k)]
    print(f"{len(examples)} pictures of {scenes} scenes in {time.monotonic() - start:.0f} s", flush=True)
    network = NibNetwork()
    optimiser = torch.optim.AdamW(network.parameters(), lr=1e-3, weight_decay=1e-3)
    start, step, mean = time.monotonic(), 0, 6.0
    while (spent := (time.monotonic() - start) / (60 * minutes)) < 1:
        rate = 3e-3 * min(1.0, 20 * spent + 0.05) * (0.5 + 0.5 * np.cos(np.pi * spent)) + 1e-5
        for group in optimiser.param_groups:
            group["lr"] = rate
        drawn = [augment(examples[int(k)], rng) for k in rng.integers(len(examples), size=batch)]
        pictures = torch.from_numpy(np.stack([picture for picture, _ in drawn])).permute(0, 3, 1, 2).contiguous()
        targets = torch.from_numpy(np.stack([target_of(tip) for _, tip in drawn]))
        loss = nn.functional.cross_entropy(network(pictures), targets)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        step, mean = step + 1, 0.98 * mean + 0.02 * float(loss.detach())
        if step % 50 == 0:
            print(f"step {step}, loss {mean:.3f}, {100 * spent:.0f} % of the time", flush=True)
    return network


def main(argv: Sequence[str] | None = None) -> int:
    """Train and write the weights in half precision."""
    parser = argparse.ArgumentParser(
        prog="python -m unwritten.studies.detector_training", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--scenes", type=int, default=600, help="scenes rendered (default 600)")
    parser.add_argument("--minutes", type=float, default=20, help="time of training without rendering (default 20)")
    parser.add_argument("--batch", type=int, default=16, help="crops a step (default 16)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, default=project_root() / "checkpoints" / "nib.pt")
    arguments = parser.parse_args(argv)
    network = train(arguments.scenes, arguments.minutes, arguments.batch, arguments.seed)
    with whole_file(arguments.output) as temporary:
        torch.save({name: value.half() for name, value in network.state_dict().items()}, temporary)
    return 0


if __name__ == "__main__":
    sys.exit(main())
