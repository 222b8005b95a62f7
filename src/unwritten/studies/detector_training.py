"""Trains the nib detector on rendered scenes alone: ``python -m unwritten.studies.detector_training``.

Every scene shows one pen in several places among what lies about; crops, view, colours, blur and noise are varied on
the way into the network.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from unwritten.files import project_root, whole_file
from unwritten.tracking.detector import DIAGONAL_PX, STRIDE, NibNetwork
from unwritten.types import Track

_CROP_PX = 176
_FRAMES = 8  # pictures of one scene
_KEPT = 400  # scenes that a worker draws crops from
_RATE = 2e-3
_AVERAGED = 0.998  # of the weights so far, at each step
_SAVE_EVERY = 250  # steps
_SPREAD_CELLS = 1.2  # standard deviation of the target around the tip
# No brush pen and no coloured nib: they are kept for the test. No bare finger: it would make a tip of every thumb.
_PENS = ("dark", "dark", "light", "metal", "pencil", "clear", "clear", "marker", "stick", "stylus")


@dataclass(frozen=True)
class Example:
    """One picture as JPEG, and its tip ``[2]`` in pixels, None when there is no pen."""

    jpeg: NDArray[np.uint8]
    tip: NDArray[np.float64] | None

    @property
    def picture(self) -> NDArray[np.uint8]:
        """RGB uint8 ``[H, W, 3]``."""
        return np.asarray(cv2.imdecode(self.jpeg, cv2.IMREAD_COLOR_RGB), np.uint8)


def render_examples(seed: int) -> list[Example]:
    """The pictures of one scene, everything about it drawn by chance: pen, hold, light, medium, and what lies about."""
    from unwritten.simulation.scene import SceneSettings, render

    rng = np.random.default_rng([77, seed])
    aspect = float(rng.choice([9 / 16, 9 / 16, 3 / 4, 1.0, 4 / 3, 16 / 9]))
    diagonal = DIAGONAL_PX * rng.uniform(1.0, 1.4)
    height = diagonal / np.hypot(1, aspect)
    size = (float(round(aspect * height)), float(round(height)))
    pen = str(rng.choice(_PENS))
    hand = str(rng.choice(["right", "right", "left"])) if rng.random() > 0.06 else "none"
    settings = SceneSettings(
        pen=pen,  # type: ignore[arg-type]
        hand=hand,  # type: ignore[arg-type]
        table=str(rng.choice(["wood", "laminate", "cloth", "dark", "room"])),  # type: ignore[arg-type]
        paper=str(rng.choice(["plain", "plain", "plain", "ruled", "none"])),  # type: ignore[arg-type]
        view_mm=float(np.exp(rng.uniform(np.log(200), np.log(900)))),
        exposure=rng.uniform(0.45, 1.15),
        unevenness=rng.uniform(0.0, 0.6),
        shadow=rng.uniform(0.1, 0.7),
        noise=0.0,
        defocus=rng.uniform(0.0, 0.003),
        shutter=rng.uniform(0.0, 0.04),
        sleeve=0.4,
        pose_spread=rng.uniform(0.0, 1.0),
        clutter=rng.uniform(0.0, 1.0) if rng.random() < 0.75 else 0.0,
        second_hand=0.35,
        ink_mm=float(np.exp(rng.uniform(np.log(0.4), np.log(8)))) if rng.random() < 0.5 else 0.0,
        captions=0.25,
        look=str(rng.choice(["photo", "photo", "photo", "drawn", "gif", "candle", "grey"])),  # type: ignore[arg-type]
    )
    upright = np.pi + 1.194 if settings.hand == "left" else -1.194
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
    frames = list(render(track, settings, rng))
    if hand != "none" and rng.random() < 0.4:
        per_mm = diagonal / settings.view_mm
        for k in np.flatnonzero(visible):
            lay_finger_across(
                frames[k].image, tip[k], float(track.shaft_rad[k]), per_mm, np.random.default_rng([78, seed])
            )
    quality = [cv2.IMWRITE_JPEG_QUALITY, int(rng.integers(35, 96))]  # of a film on the net
    return [
        Example(cv2.imencode(".jpg", frame.image[..., ::-1], quality)[1], tip[k] if visible[k] else None)
        for k, frame in enumerate(frames)
    ]


def lay_finger_across(
    image: NDArray[np.uint8], tip: NDArray[np.float64], shaft_rad: float, per_mm: float, rng: np.random.Generator
) -> None:
    """Hide a piece of the shaft behind a finger, so that barrel and tip are seen apart, as in many a grip.

    Args:
        image: RGB ``[H, W, 3]``, changed in place.
        tip: ``[2]`` pixels.
        shaft_rad: direction from the tip up the shaft.
        per_mm: pixels of a millimetre.
        rng: draws where the finger lies; the same draws for all pictures of a scene.
    """
    along = np.array([np.cos(shaft_rad), np.sin(shaft_rad)])
    height, width = image.shape[:2]
    wide = rng.uniform(11, 18) * per_mm
    middle = tip + along * (rng.uniform(8, 30) * per_mm + wide / 2)
    slant = shaft_rad + rng.choice([-1, 1]) * rng.uniform(0.9, 2.2)
    reach = rng.uniform(10, 45, 2) * per_mm
    ends = [
        middle + sign * part * np.array([np.cos(slant), np.sin(slant)])
        for sign, part in zip((-1, 1), reach, strict=True)
    ]
    # The colour of the hand that holds the pen: what lies beside the shaft farther up.
    x, y = np.clip(tip + along * 45 * per_mm, 0, (width - 1, height - 1)).astype(int)
    around = max(2, round(10 * per_mm))
    patch = image[max(0, y - around) : y + around, max(0, x - around) : x + around].reshape(-1, 3)
    skin = np.median(patch[patch.sum(1) >= np.percentile(patch.sum(1), 40)], axis=0)
    points = [tuple(int(value) for value in np.rint(end)) for end in ends]
    for share, light in ((1.0, 0.78), (0.8, 0.93), (0.5, 1.03)):
        mask = np.zeros((height, width), np.float32)
        cv2.line(mask, points[0], points[1], 1.0, max(1, round(share * wide)), cv2.LINE_AA)
        alpha = cv2.GaussianBlur(mask, (0, 0), max(0.6, 0.06 * wide))[..., None]
        image[:] = np.clip(image * (1 - alpha) + alpha * light * skin, 0, 255).astype(np.uint8)


def augment(example: Example, rng: np.random.Generator) -> tuple[NDArray[np.float32], NDArray[np.float64] | None]:
    """A crop in other colours, float32 ``[176, 176, 3]`` in [0, 1], and the tip in it, None when it is not there."""
    picture = example.picture
    height, width = picture.shape[:2]
    scale = DIAGONAL_PX * rng.uniform(0.85, 1.2) / float(np.hypot(width, height))
    tip = example.tip if example.tip is not None else rng.uniform(0, 1, 2) * (width, height)
    # A camera that looks along the table sees everything squashed, in any direction.
    turn, squash = rng.uniform(0, np.pi), rng.uniform(0.45, 1.0) if rng.random() < 0.5 else 1.0
    axes = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    linear = scale * axes @ np.diag([1.0, squash]) @ axes.T
    corners = np.array([[0, 0], [width, 0], [0, height], [width, height]]) @ linear.T
    low, high = corners.min(axis=0), corners.max(axis=0) - _CROP_PX
    corner = linear @ (tip + 0.5) - rng.uniform(0.04, 0.96, 2) * _CROP_PX
    corner = np.clip(corner, np.minimum(low, high), np.maximum(low, high))
    if rng.random() < 0.08:
        corner = rng.uniform(np.minimum(low, high), np.maximum(low, high))
    matrix = np.column_stack([linear, linear @ (0.5, 0.5) - 0.5 - corner])
    crop = cv2.warpAffine(
        picture,
        matrix,
        (_CROP_PX, _CROP_PX),
        flags=cv2.INTER_LINEAR,
        borderMode=int(rng.choice([cv2.BORDER_CONSTANT, cv2.BORDER_REPLICATE])),
    )
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
    """Probability of each cell and of no tip, float32 ``[88 * 88 + 1]``."""
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


class Crops(IterableDataset[tuple[NDArray[np.float32], NDArray[np.float32]]]):
    """Batches of crops and targets without end: one new scene for each, among the last ``_KEPT`` ones.

    Batch number ``k`` of a worker follows from (seed, first, worker, k), so that a run that goes on sees other scenes
    than those that it has seen.

    Args:
        batch: crops of a batch.
        seed: of everything.
        first: step at which the run begins or goes on.
    """

    def __init__(self, batch: int, seed: int, first: int) -> None:
        self._batch, self._seed, self._first = batch, seed, first

    def __iter__(self) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float32]]]:
        cv2.setNumThreads(1)
        info = get_worker_info()
        rng = np.random.default_rng([self._seed, self._first, info.id if info is not None else 0])
        kept: deque[Example] = deque(maxlen=_KEPT * _FRAMES)
        while True:
            for _ in range(1 if len(kept) == kept.maxlen else 3):
                kept.extend(render_examples(int(rng.integers(2**31))))
            drawn = [augment(kept[int(k)], rng) for k in rng.integers(len(kept), size=self._batch)]
            yield np.stack([picture for picture, _ in drawn]), np.stack([target_of(tip) for _, tip in drawn])


def train(steps: int, batch: int, seed: int, state: Path, workers: int = 1) -> NibNetwork:
    """Train on scenes that are rendered meanwhile, with a cosine schedule of the learning rate; average the weights.

    Args:
        steps: of the optimiser.
        batch: crops a step.
        seed: of weights and scenes.
        state: file that the run goes on from, written every ``_SAVE_EVERY`` steps and deleted by whoever takes the
            network.
        workers: processes that render.
    """
    torch.manual_seed(seed)
    network = NibNetwork().to(memory_format=torch.channels_last)
    optimiser = torch.optim.AdamW(network.parameters(), lr=_RATE, weight_decay=1e-3)
    averaged = AveragedModel(network, multi_avg_fn=get_ema_multi_avg_fn(_AVERAGED), use_buffers=True)
    first, mean = 0, 6.0
    if state.is_file():
        kept = torch.load(state, weights_only=True)
        network.load_state_dict(kept["network"])
        averaged.load_state_dict(kept["averaged"])
        optimiser.load_state_dict(kept["optimiser"])
        first, mean = kept["step"], kept["loss"]
        print(f"{state}: going on from step {first}", flush=True)
    crops = iter(DataLoader(Crops(batch, seed, first), batch_size=None, num_workers=workers, prefetch_factor=4))
    for step in range(first, steps):
        for group in optimiser.param_groups:
            group["lr"] = _RATE * min(1.0, (step + 1) / 300) * (0.505 + 0.495 * math.cos(math.pi * step / steps))
        pictures, targets = (part if torch.is_tensor(part) else torch.from_numpy(part) for part in next(crops))
        logits = network(pictures.permute(0, 3, 1, 2).contiguous(memory_format=torch.channels_last))
        loss = nn.functional.cross_entropy(logits, targets)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        averaged.update_parameters(network)
        mean = 0.98 * mean + 0.02 * float(loss.detach())
        if (step + 1) % 50 == 0:
            print(f"step {step + 1} of {steps}, loss {mean:.3f}", flush=True)
        if (step + 1) % _SAVE_EVERY == 0:
            with whole_file(state) as temporary:
                kept = {"network": network.state_dict(), "averaged": averaged.state_dict()}
                kept |= {"optimiser": optimiser.state_dict(), "step": step + 1, "loss": mean}
                torch.save(kept, temporary)
    network.load_state_dict(averaged.module.state_dict())
    return network


def main(argv: Sequence[str] | None = None) -> int:
    """Train and write the weights in half precision; the same command goes on where it was stopped."""
    parser = argparse.ArgumentParser(
        prog="python -m unwritten.studies.detector_training", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--steps", type=int, default=14_000, help="of the optimiser (default 14000)")
    parser.add_argument("--batch", type=int, default=16, help="crops a step (default 16)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, default=project_root() / "checkpoints" / "nib.pt")
    arguments = parser.parse_args(argv)
    state = arguments.output.with_suffix(".state")
    network = train(arguments.steps, arguments.batch, arguments.seed, state)
    with whole_file(arguments.output) as temporary:
        torch.save({name: value.half() for name, value in network.state_dict().items()}, temporary)
    state.unlink(missing_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
