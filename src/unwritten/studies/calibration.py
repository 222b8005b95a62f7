"""What the tracker's confidence is worth: a monotone map from its raw evidence to how often it was right.

``python -m unwritten.studies.calibration`` renders scenes in which everything is drawn by chance, up to conditions in
which the tracker fails, and prints for each level of confidence how often the tip was near enough; ``--fit`` fits the
map on them. Real clips with marked tips (``--marks``, ``--clips``) are held against it too, and never fitted on.
"""

from __future__ import annotations

import argparse
import itertools
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from unwritten.tracking.confidence import calibrated
from unwritten.types import Frame, Track

WITHIN = 0.01  # share of the diagonal, what confidence speaks of
THRESHOLDS = (0.01, 0.006)  # that tables show
# Every pen that the renderer knows but the bare finger, which MediaPipe follows and does not see in rendered scenes.
_PENS = ("dark", "dark", "metal", "brush", "light", "pencil", "coloured", "clear", "marker", "stick", "stylus")
_KNOTS = (0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 1.0)


class Sample(NamedTuple):
    """The frames of one scene in which a tip was found.

    Attributes:
        raw: ``[T]`` confidence before the map.
        off: ``[T]`` distance from the true tip as a share of the diagonal, infinite where there is none.
        name: of the scene.
    """

    raw: NDArray[np.float64]
    off: NDArray[np.float64]
    name: str


def rendered(seed: int) -> Sample:
    """What the tracker's confidence is worth on ``scene_of(seed)``."""
    return _judge(*scene_of(seed))


def scene_of(seed: int) -> tuple[list[Frame], Track, str]:
    """Frames, true track and pen of at most a second in which everything is drawn by chance.

    Pen, hand, light, camera and faults of every scene; old ink, things, captions, another hand and the medium of two
    scenes in three; one scene in ten shows no pen.
    """
    from unwritten.config import settings_from
    from unwritten.simulation.scene import SceneSettings, render
    from unwritten.studies.conditions import Condition, make_truth

    rng = np.random.default_rng([41, seed])
    turn = float(rng.choice([0, 0, 0, 90, 180, 270]))
    size = (480, 854) if turn % 180 == 0 else (854, 480)
    hand = str(rng.choice(["right", "right", "left"]))
    condition = Condition("drawn", {"hand": hand}, size, 20.0, turn, longest_s=float(rng.uniform(0.7, 1.0)))
    truth = make_truth(condition, rng)
    pen = str(rng.choice(_PENS))
    scene: dict[str, object] = {
        "hand": hand,
        "pen": pen,
        "table": str(rng.choice(["wood", "laminate", "cloth", "dark"])),
        "paper": str(rng.choice(["plain", "plain", "ruled", "border", "none"])),
        "view_mm": rng.uniform(200, 600),
        "exposure": float(np.exp(rng.uniform(np.log(0.12), np.log(1.2)))),
        "unevenness": rng.uniform(0, 0.9),
        "lamp_shadow": rng.uniform(0, 0.7),
        "shadow": rng.uniform(0.1, 0.9),
        "noise": rng.uniform(0, 12),
        "defocus": rng.uniform(0, 0.004),
        "shutter": rng.uniform(0, 1),
    }
    if rng.random() < 2 / 3:
        scene |= {
            "clutter": rng.uniform(0, 1),
            "second_hand": 0.35,
            "ink_mm": float(np.exp(rng.uniform(np.log(0.4), np.log(8)))) if rng.random() < 0.5 else 0.0,
            "captions": 0.25,
            "pose_spread": rng.uniform(0, 1),
            "look": str(rng.choice(["photo", "photo", "photo", "drawn", "gif", "candle", "grey"])),
        }
    if rng.random() < 0.1:
        truth, pen = replace(truth, visible=np.zeros(len(truth), bool)), "none"
    return list(render(truth, settings_from(SceneSettings, scene), rng)), truth, pen


def _judge(frames: Sequence[Frame], truth: Track, name: str) -> Sample:
    from unwritten.tracking.settings import TrackerSettings
    from unwritten.tracking.tracker import track_frames

    settings = TrackerSettings(kind="nib", hand="right", mirrored=False, calibrated=False)
    found = track_frames(frames, settings, name)
    seen = np.asarray(found.visible)
    off = np.hypot(*(np.asarray(found.tip_px) - np.asarray(truth.tip_px)).T) / truth.diagonal_px
    off = np.where(truth.visible, off, np.inf)
    return Sample(np.asarray(found.confidence, np.float64)[seen], off[seen], name)


def marked(marks: Path, folder: Path) -> Iterator[Sample]:
    """Real clips whose tips were marked by eye, at the marks alone.

    Raises:
        UnwrittenError: the marks or a clip cannot be read.
    """
    from unwritten.studies.tracker_accuracy import errors_percent, read_marks
    from unwritten.tracking.settings import TrackerSettings
    from unwritten.tracking.tracker import track

    for clip, places in read_marks(marks).items():
        found = track(folder / clip, TrackerSettings(kind="nib", hand="right", mirrored=False, calibrated=False))
        seen = places.visible & found.visible[places.frame]
        off = errors_percent(found, places)[seen] / 100
        yield Sample(np.asarray(found.confidence, np.float64)[places.frame[seen]], off, clip)


def _spoilers() -> dict[str, Callable[[NDArray[np.uint8], np.random.Generator], NDArray[np.uint8]]]:
    def levels(image: NDArray[np.uint8], rng: np.random.Generator) -> NDArray[np.uint8]:
        return (255 * (image / 255.0) ** rng.uniform(0.5, 2.2) * rng.uniform(0.15, 1.0)).astype(np.uint8)

    def blur(image: NDArray[np.uint8], rng: np.random.Generator) -> NDArray[np.uint8]:
        return np.asarray(cv2.GaussianBlur(image, (0, 0), rng.uniform(1.0, 8.0)), np.uint8)

    def noise(image: NDArray[np.uint8], rng: np.random.Generator) -> NDArray[np.uint8]:
        return np.clip(image + rng.normal(0, rng.uniform(5, 40), image.shape), 0, 255).astype(np.uint8)

    def smear(image: NDArray[np.uint8], rng: np.random.Generator) -> NDArray[np.uint8]:
        length = int(rng.integers(9, 40))
        kernel = np.zeros((length, length), np.float32)
        angle = rng.uniform(0, np.pi)
        reach = length / 2 * np.array([np.cos(angle), np.sin(angle)])
        ends = [tuple(int(v) for v in np.rint(length / 2 + sign * reach)) for sign in (-1, 1)]
        cv2.line(kernel, ends[0], ends[1], 1.0, 1)
        return np.asarray(cv2.filter2D(image, -1, kernel / kernel.sum()), np.uint8)

    return {"levels": levels, "blur": blur, "noise": noise, "smear": smear}


def spoiled(clip: Path, seed: int, frames_each: int = 24) -> Iterator[Sample]:
    """A real clip's frames, spoiled in each way; the truth is the track of the clip as it is."""
    from unwritten.media import read_frames
    from unwritten.tracking.settings import TrackerSettings
    from unwritten.tracking.tracker import track_frames

    frames = []
    for index, frame in enumerate(read_frames(clip)):
        if index % 2 == 0:
            scale = min(1.0, 960 / max(frame.image.shape[:2]))
            image = cv2.resize(frame.image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
            frames.append(replace(frame, image=np.asarray(image, np.uint8)))
        if len(frames) == frames_each:
            break
    truth = track_frames(frames, TrackerSettings(kind="nib", hand="right", mirrored=False), clip.name)
    for number, (name, spoil) in enumerate(_spoilers().items()):
        rngs = [np.random.default_rng([42, seed, number]) for _ in frames]
        worse = [replace(frame, image=spoil(frame.image, rng)) for frame, rng in zip(frames, rngs, strict=True)]
        yield _judge(worse, truth, f"{clip.name}, {name}")


def fit(samples: Sequence[Sample], knots: Sequence[float]) -> tuple[tuple[float, float], ...]:
    """Isotonic regression of right on raw, every scene of the same weight, read off at ``knots``.

    Args:
        samples: scenes; frames of one scene are alike, so scenes are counted, not frames.
        knots: raw values at which the map is kept.

    Returns:
        Pairs of raw and worth, both rising; each pool of scenes counts half a miss more than it had.
    """
    raw = np.concatenate([sample.raw for sample in samples if len(sample.raw)])
    right = np.concatenate([sample.off <= WITHIN for sample in samples if len(sample.raw)]).astype(float)
    weight = np.concatenate([np.full(len(s.raw), 1 / len(s.raw)) for s in samples if len(s.raw)])
    order = np.argsort(raw, kind="stable")
    # Pool adjacent violators: blocks of [sum of weight * right, weight, first raw, last raw].
    blocks: list[list[float]] = []
    for value, hit, share in zip(raw[order], right[order], weight[order], strict=True):
        blocks.append([hit * share, share, value, value])
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] >= blocks[-1][0] * blocks[-2][1]:
            last = blocks.pop()
            blocks[-1] = [blocks[-1][0] + last[0], blocks[-1][1] + last[1], blocks[-1][2], last[3]]
    middle = [(block[2] + block[3]) / 2 for block in blocks]
    worth = [block[0] / (block[1] + 0.5) for block in blocks]
    worth = np.maximum.accumulate(worth).tolist()
    return tuple((round(float(knot), 3), round(float(np.interp(knot, middle, worth)), 3)) for knot in knots)


def reliability(samples: Sequence[Sample], edges: Sequence[float] = (0.0, 0.5, 0.7, 0.8, 0.9, 1.01)) -> str:
    """Claimed and true shares as a Markdown table, of frames with a tip, by what was claimed.

    Args:
        samples: scenes whose ``raw`` holds what is claimed.
        edges: of the bins.
    """
    claimed = np.concatenate([sample.raw for sample in samples])
    off = np.concatenate([sample.off for sample in samples])
    scene = np.concatenate([np.full(len(sample.raw), number) for number, sample in enumerate(samples)])
    within = " | ".join(f"within {100 * threshold:g} %" for threshold in THRESHOLDS)
    lines = [f"| claimed | scenes | frames | mean claim | {within} |", "| --- |" + " ---: |" * (3 + len(THRESHOLDS))]
    for low, high in itertools.pairwise(edges):
        inside = (claimed >= low) & (claimed < high)
        if inside.any():
            shares = " | ".join(f"{100 * (off[inside] <= threshold).mean():.1f} %" for threshold in THRESHOLDS)
            lines.append(
                f"| {low:.2f} to {min(high, 1.0):.2f} | {len(set(scene[inside].tolist()))} | {inside.sum()} "
                f"| {claimed[inside].mean():.2f} | {shares} |"
            )
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the reliability of the shipped map, or fit one; exit status 0."""
    parser = argparse.ArgumentParser(
        prog="python -m unwritten.studies.calibration", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--scenes", type=int, default=160, help="rendered scenes (default 160)")
    parser.add_argument("--first", type=int, default=0, help="seed of the first scene (default 0)")
    parser.add_argument("--fit", action="store_true", help="print the map that fits the rendered scenes")
    parser.add_argument("--marks", type=Path, metavar="MARKS.csv", help="tips marked by eye, checked as well")
    parser.add_argument("--clips", type=Path, metavar="FOLDER", help="folder that the marks' clip names start from")
    parser.add_argument("--spoil", nargs="*", default=[], type=Path, metavar="CLIP", help="clips to spoil and check")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="write raw confidences and distances as .npz")
    arguments = parser.parse_args(argv)
    if (arguments.marks is None) != (arguments.clips is None):
        parser.error("--marks and --clips go together")
    logging.basicConfig(level=logging.ERROR)
    samples = [rendered(arguments.first + number) for number in range(arguments.scenes)]
    groups = {"rendered scenes": samples}
    if arguments.marks:
        groups["marked clips"] = list(marked(arguments.marks, arguments.clips))
    if arguments.spoil:
        groups["spoiled clips"] = [s for seed, clip in enumerate(arguments.spoil) for s in spoiled(clip, seed)]
    if arguments.keep:
        parts = {f"{i}:{s.name}": np.stack([s.raw, s.off]) for i, s in enumerate(itertools.chain(*groups.values()))}
        np.savez(arguments.keep, **parts)  # type: ignore[arg-type]
    if arguments.fit:
        print(f"KNOTS = {fit(samples, _KNOTS)}")
        return 0
    for name, group in groups.items():
        shown = [sample for sample in group if len(sample.raw)]
        if shown:
            print(f"{name}: {len(shown)} of {len(group)} with a tip")
            print(reliability([sample._replace(raw=calibrated(sample.raw)) for sample in shown]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
