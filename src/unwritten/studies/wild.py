"""How far the tracker can be trusted on footage that nobody here made: tips marked by eye in public clips.

``python -m unwritten.studies.wild TIPS.csv --clips DIR [--told] [--json]`` prints for each clip how many marked tips
were found, how many of them with a confidence of 0.9 or more, how many claims of that confidence were right, and how
many frames without a tip were left without one. A tip is found within the larger of 2 % of the frame's diagonal and 1.5
times the precision of its mark. ``--told`` tells the tracker the first mark of each clip, and scores the later ones.

The table of marks has the columns ``clip,frame,width,height,x,y,kind,precision_px``: frames from 0 in the order of
decoding, pixels of the file (a smaller ``width`` and ``height`` mean the crop at the file's upper left corner),
``kind`` ``none`` where no tip is in view.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unwritten.errors import UnwrittenError
from unwritten.media import read_frames
from unwritten.tracking import TrackerSettings, track_frames
from unwritten.types import BoolArray, Frame, Track

WITHIN = 0.02  # of the diagonal
SURE = 0.9


@dataclass(frozen=True)
class WildMarks:
    """What was marked in one clip. M is the number of marked frames.

    Attributes:
        size: width and height in pixels of the part of the picture that was looked at.
        frame: ``[M]`` frame numbers.
        xy: ``[M, 2]`` pixels of the file; anything where there is no tip.
        tip: ``[M]`` bool, a tip is in view.
        precision_px: ``[M]`` how well the mark is known.
    """

    size: tuple[int, int]
    frame: NDArray[np.int64]
    xy: NDArray[np.float64]
    tip: BoolArray
    precision_px: NDArray[np.float64]


@dataclass(frozen=True)
class WildScore:
    """Counts over marked frames.

    Attributes:
        clip: name of the file, or ``all``.
        tips: marks with a tip.
        found: of these, tracked near enough.
        found_sure: of these, found with a confidence of at least 0.9.
        claimed: marked frames, with a tip or without, for which the tracker claims 0.9 or more.
        claimed_right: of these, found.
        without: marks without a tip.
        rejected: of these, frames for which the tracker shows no tip either.
    """

    clip: str
    tips: int
    found: int
    found_sure: int
    claimed: int
    claimed_right: int
    without: int
    rejected: int


def read_wild_marks(path: Path | str) -> dict[str, WildMarks]:
    """The table of marks by clip.

    Raises:
        UnwrittenError: the file is missing or not such a table.
    """
    rows: dict[str, list[dict[str, str]]] = defaultdict(list)
    try:
        with Path(path).open(newline="", encoding="utf-8") as stream:
            for row in csv.DictReader(stream):
                rows[row["clip"]].append(row)
        return {
            clip: WildMarks(
                (int(found[0]["width"]), int(found[0]["height"])),
                np.array([int(row["frame"]) for row in found]),
                np.array([(float(row["x"] or 0), float(row["y"] or 0)) for row in found]),
                np.array([row["kind"] != "none" for row in found]),
                np.array([float(row["precision_px"] or 0) for row in found]),
            )
            for clip, found in rows.items()
        }
    except OSError as error:
        raise UnwrittenError(f"{path}: cannot be read ({error.strerror}); give a table of marked tips") from error
    except (KeyError, ValueError) as error:
        raise UnwrittenError(
            f"{path}: is no table of marks; its columns are clip,frame,width,height,x,y,kind,precision_px"
        ) from error


def frames_of(path: Path | str, size: tuple[int, int]) -> Iterator[Frame]:
    """The frames of a file, cut to ``size`` (width, height) at the upper left corner where they are larger."""
    width, height = size
    for frame in read_frames(path):
        yield replace(frame, image=np.ascontiguousarray(frame.image[:height, :width]))


def judge(clip: str, found: Track, marks: WildMarks) -> WildScore:
    """Hold a track against the marks of its clip.

    Raises:
        UnwrittenError: the clip has fewer frames than were marked.
    """
    if len(marks.frame) and marks.frame.max() >= len(found):
        raise UnwrittenError(f"{clip}: has {len(found)} frames, frame {marks.frame.max()} was marked; another file?")
    seen, sure = found.visible[marks.frame], found.confidence[marks.frame] >= SURE
    off = np.hypot(*(found.tip_px[marks.frame] / (found.sample_aspect_ratio, 1.0) - marks.xy).T)
    reach = np.maximum(WITHIN * float(np.hypot(*marks.size)), 1.5 * marks.precision_px)
    near = marks.tip & seen & (off <= reach)
    return WildScore(
        clip,
        tips=int(marks.tip.sum()),
        found=int(near.sum()),
        found_sure=int((near & sure).sum()),
        claimed=int((seen & sure).sum()),
        claimed_right=int((near & sure).sum()),
        without=int((~marks.tip).sum()),
        rejected=int((~marks.tip & ~seen).sum()),
    )


def told_first(path: Path | str, marks: WildMarks) -> tuple[TrackerSettings, WildMarks]:
    """Settings that tell the first tip of a clip, if it shows one, and the marks that are left."""
    if not marks.tip.any():
        return TrackerSettings(), marks
    first = int(np.flatnonzero(marks.tip)[0])
    at_s = [frame.time_s for frame in frames_of(path, marks.size)][marks.frame[first]]
    x, y = (float(value) for value in marks.xy[first])
    later = np.arange(len(marks.frame)) > first
    rest = WildMarks(marks.size, marks.frame[later], marks.xy[later], marks.tip[later], marks.precision_px[later])
    return TrackerSettings(tip=(x, y, at_s)), rest


def total(scores: Sequence[WildScore]) -> WildScore:
    """The sum over clips."""
    counts = [{**asdict(score), "clip": 0} for score in scores]
    return WildScore(**{**{name: sum(count[name] for count in counts) for name in counts[0]}, "clip": "all"})


def format_scores(scores: Sequence[WildScore]) -> str:
    """A Markdown table, one clip a row."""
    lines = [
        "| clip | tips | found | found at 0.9 | claims of 0.9 | right | without a tip | rejected |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for score in scores:
        counts = list(asdict(score).values())
        lines.append("| " + " | ".join(str(value) for value in counts) + " |")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; see the module."""
    parser = argparse.ArgumentParser(prog="python -m unwritten.studies.wild", description="Score wild footage.")
    parser.add_argument("marks", type=Path, metavar="TIPS.csv")
    parser.add_argument("--clips", type=Path, required=True, metavar="DIR", help="folder that holds the clips")
    parser.add_argument("--told", action="store_true", help="tell the first mark of each clip, score the others")
    parser.add_argument("--json", action="store_true", help="print a list of objects")
    arguments = parser.parse_args(argv)
    try:
        scores = []
        for clip, marks in read_wild_marks(arguments.marks).items():
            path, settings, asked = arguments.clips / clip, TrackerSettings(), marks
            if arguments.told:
                settings, asked = told_first(path, marks)
            found = track_frames(frames_of(path, marks.size), settings, clip)
            scores.append(judge(clip, found, asked))
    except UnwrittenError as error:
        print(f"unwritten.studies.wild: {error}", file=sys.stderr)
        return error.exit_status
    scores.append(total(scores))
    print(json.dumps([asdict(score) for score in scores], indent=1) if arguments.json else format_scores(scores))
    return 0


if __name__ == "__main__":
    sys.exit(main())
