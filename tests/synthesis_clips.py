"""Letter clips that flash and click once each, so that a test sees and hears where every letter of a word lies."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

from unwritten.benchmark.manifest import Item, read_manifest
from unwritten.benchmark.synthesis.synthesize import SynthesisSettings, synthesize
from unwritten.media import open_video, read_audio, write_audio, write_video

RATE_HZ = 16_000
# Length in pictures, picture that flashes while the sound clicks, length of the sound against the pictures in ms.
LETTERS = {"a": (21, 6, -54), "b": (16, 9, 20), "c": (27, 14, -35), "A": (18, 5, 10)}


def letter_clip(folder: Path, name: str, frames: int, flash: int, sound_ms: int, fps: float, seed: int) -> None:
    """The three files of a letter whose sound is longer or shorter than its pictures, as published ones are."""
    rng = np.random.default_rng(seed)
    scene = rng.integers(60, 160, (6, 4, 3)).repeat(16, 0).repeat(16, 1)
    images = [np.clip(scene + rng.normal(0, 6, scene.shape), 0, 255).astype(np.uint8) for _ in range(frames)]
    images[flash] = np.full_like(images[0], 250)
    sound = rng.normal(0, 0.004, round((frames / fps + sound_ms / 1000) * RATE_HZ)).astype(np.float32)
    click = round(flash / fps * RATE_HZ)
    sound[click : click + 160] += 0.7 * np.sin(np.arange(160) * 0.9).astype(np.float32)
    write_video(folder / f"{name}.mp4", images, fps=fps, waveform=sound)
    write_video(folder / f"{name}_muted.mp4", images, fps=fps)
    write_audio(folder / f"{name}.mp3", sound)


def letter_clips(folder: Path) -> Path:
    """Letters of two styles, one of which has capitals too."""
    for seed, (letter, shape) in enumerate(LETTERS.items()):
        letter_clip(folder / "standard", f"{letter}-1", *shape, 30, seed)
    for seed, letter in enumerate("ab"):
        letter_clip(folder / "cursive", f"{letter}-2c", *LETTERS[letter], 25, 10 + seed)
    return folder


def make(primitives: Path, out: Path, words: list[str], **changes: object) -> dict[str, Item]:
    how = SynthesisSettings(**{"short_side_px": 64, "styles": ("standard",), **changes})  # type: ignore[arg-type]
    return {item.clip.id: item for item in read_manifest(synthesize(primitives, out, how, words, workers=1))}


def flashes_s(path: Path) -> list[float]:
    return [picture.time_s for picture in open_video(path) if picture.luma().mean() > 200]


def clicks_s(path: Path) -> list[float]:
    sound = np.abs(read_audio(path, RATE_HZ))
    loud = np.flatnonzero(sound > 0.35)
    starts = [loud[0], *(later for earlier, later in pairwise(loud) if later - earlier > RATE_HZ // 10)]
    return [start / RATE_HZ for start in starts]
