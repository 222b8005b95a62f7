"""How far the tracker carries: rendered scenes with known truth, one condition at a time.

``python -m unwritten.studies.generality`` renders short scenes of letters for each condition, tracks them and prints
the share of frames whose tip lies within 1 % of the frame's diagonal; a frame without a tip counts as a miss.
Conditions below 90 % are known failures; ``--markdown FILE`` writes the table for the documentation.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import cv2
import numpy as np

from unwritten.files import whole_file
from unwritten.studies.conditions import CONDITIONS, Condition, make_truth
from unwritten.types import FloatArray, Frame, Track

WITHIN = 0.01  # share of the diagonal
ENOUGH = 0.9  # share of frames


@dataclass(frozen=True)
class Result:
    """One row of the table, over the frames in which the tip is in the picture.

    Attributes:
        name: the condition.
        scenes, frames: how many were tracked.
        within: share of frames within 1 % of the diagonal; a frame without a tip is a miss.
        visible: share of frames with a tip.
        median: median error of the frames with a tip, as a share of the diagonal; 1 if there are none.
        worst_scene: ``within`` of the worst scene.
    """

    name: str
    scenes: int
    frames: int
    within: float
    visible: float
    median: float
    worst_scene: float


def error_shares(truth: Track, found: Track) -> FloatArray:
    """Distance of tips as a share of the diagonal, ``[T]``; infinite where ``found`` has none."""
    distance = np.hypot(*(np.asarray(found.tip_px) - np.asarray(truth.tip_px)).T) / truth.diagonal_px
    return np.where(found.visible, distance, np.inf)


def detect_frames(frames: Iterable[Frame], truth: Track) -> Track:
    """What the learned detector alone says of each frame, without motion, flow or refinement."""
    from unwritten.tracking.detector import NibDetector

    detector = NibDetector()
    size = (max(2, round(truth.size_px[0])), max(2, round(truth.size_px[1])))
    found = [detector.find(cv2.resize(frame.image, size, interpolation=cv2.INTER_AREA)) for frame in frames]
    confidence = np.array([detection.weight[0] for detection in found])
    tip = np.array([detection.tip[0] for detection in found])
    return replace(truth, tip_px=tip, visible=confidence > 0.3, confidence=confidence)


def measure(condition: Condition, scenes: int, seed: int, detector: bool = False) -> Result:
    """Render, track and score the scenes of one condition; ``detector`` asks the learned detector alone."""
    from unwritten.config import settings_from
    from unwritten.simulation.scene import SceneSettings, render
    from unwritten.tracking.tracker import track_frames

    errors, shares = [], []
    for number in range(scenes):
        rng = np.random.default_rng([seed, number])
        truth = make_truth(condition, rng)
        settings = settings_from(SceneSettings, {"view_mm": rng.uniform(280, 390), **condition.scene})
        frames = render(truth, settings, rng)
        found = detect_frames(frames, truth) if detector else track_frames(frames)
        inside = truth.visible & np.all((truth.tip_px >= 0) & (truth.tip_px < truth.size_px), axis=1)
        error = error_shares(truth, found)[inside]
        errors.append(error)
        shares.append(float(np.mean(error <= WITHIN)))
    every = np.concatenate(errors)
    seen = every[np.isfinite(every)]
    return Result(
        condition.name,
        scenes,
        len(every),
        float(np.mean(every <= WITHIN)),
        len(seen) / len(every),
        float(np.median(seen)) if len(seen) else 1.0,
        min(shares),
    )


def markdown(results: Iterable[Result]) -> str:
    """The table as Markdown, failures in bold."""
    lines = [
        "| condition | scenes | frames | within 1 % | with a tip | median error | worst scene |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for result in results:
        share = f"{100 * result.within:.1f} %"
        if result.within < ENOUGH:
            share = f"**{share}**"
        median = f"{100 * result.median:.2f} %" if result.visible else "-"
        lines.append(
            f"| {result.name} | {result.scenes} | {result.frames} | {share} | {100 * result.visible:.1f} % | {median} |"
            f" {100 * result.worst_scene:.0f} % |"
        )
    return "\n".join(lines) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure conditions and print the table; exit status 0."""
    parser = argparse.ArgumentParser(
        prog="python -m unwritten.studies.generality", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--scenes", type=int, default=4, help="scenes per condition (default 4)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the scenes (default 0)")
    parser.add_argument("--only", default="", help="measure only conditions whose name contains this")
    parser.add_argument(
        "--background", default="", help="picture or video that takes the place of the drawn table and paper"
    )
    parser.add_argument("--detector", action="store_true", help="ask the learned nib detector alone, frame by frame")
    parser.add_argument("--markdown", type=Path, help="write the table to this file as well")
    arguments = parser.parse_args(argv)
    logging.basicConfig(level=logging.ERROR)
    results = []
    for condition in CONDITIONS:
        if arguments.only not in condition.name:
            continue
        if arguments.background:
            condition = replace(condition, scene={**condition.scene, "background": arguments.background})
        results.append(measure(condition, arguments.scenes, arguments.seed, arguments.detector))
        print(markdown(results[-1:]).splitlines()[-1], flush=True)
    if not results:
        print(f"no condition's name contains {arguments.only!r}", file=sys.stderr)
        return 2
    if arguments.markdown:
        with whole_file(arguments.markdown) as temporary:
            temporary.write_text(markdown(results), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
