"""How good a tracker is, as point trackers are scored, on clips whose tips were marked by eye.

``python -m unwritten.studies.tracker_accuracy MARKS.csv FOLDER`` prints one table: this tracker beside Lucas-Kanade and
CSRT that a person sets on the tip at the start of every shot, and MediaPipe's index fingertip at its defaults. Errors
are in percent of the diagonal. Metrics after TAP-Vid (Doersch et al., 2022): position accuracy is the share of visible
points within a threshold; average Jaccard counts true positives against false ones and misses, averaged over
thresholds.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from unwritten.errors import UnwrittenError
from unwritten.types import Track

THRESHOLDS_PERCENT = (0.25, 0.5, 1.0, 2.0, 4.0)


@dataclass(frozen=True)
class Marks:
    """Tips marked by eye in one clip.

    Attributes:
        frame: ``[M]`` frame numbers.
        xy: ``[M, 2]`` native pixels; anything where not visible.
        visible: ``[M]``.
    """

    frame: NDArray[np.int64]
    xy: NDArray[np.float64]
    visible: NDArray[np.bool_]


@dataclass(frozen=True)
class TipScores:
    """Scores of one tracker on some marks; fractions in [0, 1], errors in percent of the diagonal.

    Attributes:
        median, p95: error where the mark is visible; a tip that is not reported counts as infinitely far.
        within: position accuracy for each of ``THRESHOLDS_PERCENT``.
        occlusion: share of marks whose visibility is right.
        jaccard: average Jaccard.
        count: marks.
    """

    median: float
    p95: float
    within: tuple[float, ...]
    occlusion: float
    jaccard: float
    count: int


def read_marks(path: Path | str) -> dict[str, Marks]:
    """Read ``clip,frame,x,y,visible`` with native pixels, x and y empty where the tip is not visible.

    Raises:
        UnwrittenError: the file is missing or not such a table.
    """
    rows: dict[str, list[tuple[int, float, float, bool]]] = defaultdict(list)
    try:
        with Path(path).open(newline="", encoding="utf-8") as stream:
            for row in csv.DictReader(stream):
                place = (float(row["x"] or 0), float(row["y"] or 0))
                rows[row["clip"]].append((int(row["frame"]), *place, row["visible"] == "1"))
    except OSError as error:
        raise UnwrittenError(f"{path}: cannot be read ({error.strerror}); give a table of marked tips") from error
    except (KeyError, ValueError) as error:
        raise UnwrittenError(f"{path}: is no table of marks; its columns are clip,frame,x,y,visible") from error
    return {
        clip: Marks(
            np.array([row[0] for row in found], np.int64),
            np.array([row[1:3] for row in found], np.float64),
            np.array([row[3] for row in found], bool),
        )
        for clip, found in rows.items()
    }


def errors_percent(track: Track, marks: Marks) -> NDArray[np.float64]:
    """Distance ``[M]`` between track and marks in percent of the diagonal; infinite where the track shows no tip."""
    truth = marks.xy * (track.sample_aspect_ratio, 1.0)
    off = 100 * np.hypot(*(track.tip_px[marks.frame] - truth).T) / track.diagonal_px
    return np.where(track.visible[marks.frame], off, np.inf)


def score_tips(error: NDArray[np.float64], reported: NDArray[np.bool_], visible: NDArray[np.bool_]) -> TipScores:
    """Score reported tips against marks.

    Args:
        error: ``[M]`` percent of the diagonal.
        reported: ``[M]`` the tracker says visible.
        visible: ``[M]`` the mark says visible.
    """
    within, jaccard = [], []
    for threshold in THRESHOLDS_PERCENT:
        near = (error <= threshold) & reported
        hit = int((near & visible).sum())
        false = int((reported & ~(near & visible)).sum())
        missed = int((visible & ~(near & reported)).sum())
        within.append(hit / max(int(visible.sum()), 1))
        jaccard.append(hit / max(hit + false + missed, 1))
    seen = np.sort(error[visible])
    return TipScores(
        float(np.median(seen)) if len(seen) else 0.0,
        # The 95th percentile without interpolation, which infinite errors would spoil.
        float(seen[int(np.ceil(0.95 * len(seen))) - 1]) if len(seen) else 0.0,
        tuple(within),
        float((reported == visible).mean()),
        float(np.mean(jaccard)),
        len(error),
    )


def lucas_kanade(clip: Path, starts: Mapping[int, tuple[float, float]]) -> NDArray[np.float64]:
    """Tips ``[T, 2]`` in native pixels by pyramidal Lucas-Kanade, set on the tip by hand at each of ``starts``."""
    from unwritten.media import open_video

    tips: list[NDArray[np.float32]] = []
    last: NDArray[np.uint8] | None = None
    point = np.full((1, 1, 2), np.nan, np.float32)
    for index, picture in enumerate(open_video(clip)):
        luma = np.ascontiguousarray(picture.luma())
        if index in starts:
            point = np.array(starts[index], np.float32).reshape(1, 1, 2)
        elif last is not None and np.isfinite(point).all():
            point, _, _ = cv2.calcOpticalFlowPyrLK(last, luma, point, None, winSize=(31, 31), maxLevel=4)
        tips.append(point[0, 0].copy())
        last = luma
    return np.array(tips, np.float64)


def csrt(clip: Path, starts: Mapping[int, tuple[float, float]]) -> NDArray[np.float64] | None:
    """Tips ``[T, 2]`` by CSRT in a box of 6 % of the height; None where this OpenCV was built without it."""
    create = getattr(cv2, "TrackerCSRT_create", None) or getattr(
        getattr(cv2, "legacy", None), "TrackerCSRT_create", None
    )
    if create is None:
        return None
    from unwritten.media import read_frames

    tips, tracker = [], None
    for index, frame in enumerate(read_frames(clip)):
        image = np.ascontiguousarray(frame.image[..., ::-1])
        side = 2 * round(0.03 * image.shape[0])
        tip = (np.nan, np.nan)
        if index in starts:
            tip = starts[index]
            tracker = create()
            tracker.init(image, (round(tip[0] - side / 2), round(tip[1] - side / 2), side, side))
        elif tracker is not None:
            found, box = tracker.update(image)
            tip = (box[0] + side / 2, box[1] + side / 2) if found else tip
        tips.append(tip)
    return np.array(tips, np.float64)


def mediapipe_defaults(clip: Path) -> NDArray[np.float64]:
    """Index fingertip ``[T, 2]`` in native pixels as MediaPipe finds it at its defaults; NaN where it sees no hand."""
    import mediapipe
    from mediapipe.tasks.python import BaseOptions, vision

    from unwritten.media import read_frames
    from unwritten.tracking.hand import INDEX_TIP, model_path

    options = vision.HandLandmarkerOptions(
        base_options=BaseOptions(model_asset_path=str(model_path())), running_mode=vision.RunningMode.VIDEO
    )
    tips, last_ms = [], -1
    with vision.HandLandmarker.create_from_options(options) as landmarker:
        for frame in read_frames(clip):
            last_ms = max(last_ms + 1, round(1000 * frame.time_s))
            picture = mediapipe.Image(image_format=mediapipe.ImageFormat.SRGB, data=frame.image)
            found = landmarker.detect_for_video(picture, last_ms).hand_landmarks
            height, width = frame.image.shape[:2]
            tips.append((found[0][INDEX_TIP].x * width, found[0][INDEX_TIP].y * height) if found else (np.nan, np.nan))
    return np.array(tips, np.float64)


def _starts(marks: Marks, first_frames: list[int]) -> dict[int, tuple[float, float]]:
    """The marks on which a hand-started tracker is set: the first visible one from each shot's first frame on."""
    starts = {}
    for first in first_frames:
        later = np.flatnonzero((marks.frame >= first) & marks.visible)
        if len(later):
            starts[int(marks.frame[later[0]])] = (float(marks.xy[later[0], 0]), float(marks.xy[later[0], 1]))
    return starts


def compare(marks_path: Path, folder: Path, shots_path: Path | None = None) -> list[tuple[str, str, TipScores | None]]:
    """Rows of clip, tracker and scores, the clip ``all`` last; None where a tracker is not available here.

    Args:
        marks_path: the marks.
        folder: where the clips that the marks name lie.
        shots_path: JSON of ``{clip: {"first_frames": [...]}}`` for clips of several shots.
    """
    from unwritten.tracking.tracker import track

    shots = json.loads(shots_path.read_text(encoding="utf-8")) if shots_path else {}
    pooled: dict[str, list[tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]]] = defaultdict(list)
    rows: list[tuple[str, str, TipScores | None]] = []
    for clip, marks in read_marks(marks_path).items():
        path = folder / clip
        ours = track(path)
        starts = _starts(marks, shots.get(clip, {}).get("first_frames", [0]))
        found = {"unwritten": (errors_percent(ours, marks), ours.visible[marks.frame])}
        rows.append((clip, "unwritten", score_tips(*found["unwritten"], marks.visible)))
        pooled["unwritten"].append((*found["unwritten"], marks.visible))
        rivals = {
            "Lucas-Kanade, set by hand": lucas_kanade(path, starts),
            "CSRT, set by hand": csrt(path, starts),
            "MediaPipe fingertip, defaults": mediapipe_defaults(path),
        }
        for name, tips in rivals.items():
            if tips is None:
                rows.append((clip, name, None))
                continue
            away = (tips[marks.frame] - marks.xy) * (ours.sample_aspect_ratio, 1.0)
            error = 100 * np.hypot(*away.T) / ours.diagonal_px
            reported = np.isfinite(error)
            error = np.where(reported, error, np.inf)
            rows.append((clip, name, score_tips(error, reported, marks.visible)))
            pooled[name].append((error, reported, marks.visible))
    for name, parts in pooled.items():
        error, reported, visible = (np.concatenate(column) for column in zip(*parts, strict=True))
        rows.append(("all", name, score_tips(error, reported, visible)))
    return rows


def table(rows: list[tuple[str, str, TipScores | None]]) -> str:
    """The rows as a Markdown table."""
    within = " | ".join(f"≤ {threshold:g} %" for threshold in THRESHOLDS_PERCENT)
    lines = [
        f"| clip | tracker | median | 95th | {within} | occlusion | jaccard | marks |",
        "|" + " --- |" * (7 + len(THRESHOLDS_PERCENT)),
    ]
    for clip, name, scores in rows:
        if scores is None:
            lines.append(f"| {clip} | {name} | not in this build of OpenCV |" + " |" * (4 + len(THRESHOLDS_PERCENT)))
            continue
        shares = " | ".join(f"{100 * value:.0f}" for value in scores.within)
        lines.append(
            f"| {clip} | {name} | {scores.median:.3f} | {scores.p95:.3f} | {shares} "
            f"| {100 * scores.occlusion:.0f} | {100 * scores.jaccard:.1f} | {scores.count} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(
        prog="python -m unwritten.studies.tracker_accuracy", description="Score tip trackers."
    )
    parser.add_argument("marks", type=Path, metavar="MARKS.csv")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="folder that the marks' clip names start from")
    parser.add_argument("--shots", type=Path, metavar="FILE", help="first frames of each clip's shots (.json)")
    arguments = parser.parse_args()
    print(table(compare(arguments.marks, arguments.folder, arguments.shots)))


if __name__ == "__main__":
    main()
