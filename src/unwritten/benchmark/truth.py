"""What was marked by hand on clips: pen tips, shots and letter boundaries, from a folder beside them.

``pen_tip.csv`` has the columns ``clip,frame,x,y,visible``: the clip's file below the benchmark's root, frames from 0,
pixels as the file decodes. ``shots.json`` has for each file ``n_frames``, ``first_frames`` of the shots, and ``shots``
with ``start_s`` and ``end_s``, one for each letter. Either may be missing, and so may any clip.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from unwritten.errors import UnwrittenError
from unwritten.types import Clip, Truth
from unwritten.wording import counted

TIPS, SHOTS = "pen_tip.csv", "shots.json"


def with_truth(clips: Sequence[Clip], folder: Path | str) -> list[Clip]:
    """The clips with what is known of them.

    A mark on any of a clip's files holds for all of them: they show the same frames.

    Raises:
        UnwrittenError: the folder holds no truth, or what it holds cannot be read.
    """
    folder = Path(folder)
    present = [name for name in (TIPS, SHOTS) if (folder / name).is_file()]
    if not present:
        raise UnwrittenError(f"{folder}: holds neither {TIPS} nor {SHOTS}; give the folder of what was marked")
    tips = _tips(folder / TIPS) if TIPS in present else {}
    shots = _shots(folder / SHOTS) if SHOTS in present else {}
    return [replace(clip, truth=_truth_of(clip, tips, shots) or clip.truth) for clip in clips]


def _truth_of(clip: Clip, tips: Mapping[str, Any], shots: Mapping[str, Any]) -> Truth | None:
    if clip.shot is not None:
        return None
    known: dict[str, Any] = {}
    for path in clip.files.values():
        for found in (tips, shots):
            for name, values in found.items():
                if path.as_posix() == name or path.as_posix().endswith(f"/{name}"):
                    known |= values
    boundaries = known.get("boundaries_s")
    if boundaries is not None and clip.word is not None and len(boundaries) != len(clip.word) - 1:
        raise UnwrittenError(
            f"{clip.id}: {counted(len(clip.word), 'letter')}, but {counted(len(boundaries) + 1, 'shot')} in {SHOTS}"
        )
    return Truth(**known) if known else None


def _tips(path: Path) -> dict[str, dict[str, Any]]:
    rows: dict[str, list[tuple[int, float, float]]] = {}
    try:
        with path.open(newline="", encoding="utf-8") as stream:
            for row in csv.DictReader(stream):
                if row["visible"] == "1":
                    rows.setdefault(row["clip"], []).append((int(row["frame"]), float(row["x"]), float(row["y"])))
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise UnwrittenError(
            f"{path}: cannot be read ({error}); it needs the columns clip,frame,x,y,visible"
        ) from error
    marks = {}
    for name, own in rows.items():
        values = np.array(sorted(own))
        marks[name] = {"frame": values[:, 0].astype(np.int64), "tip_px": values[:, 1:]}
    return marks


def _shots(path: Path) -> dict[str, dict[str, Any]]:
    marks = {}
    try:
        for name, entry in json.loads(path.read_text(encoding="utf-8")).items():
            first = np.zeros(int(entry["n_frames"]), dtype=np.int64)
            first[entry["first_frames"][1:]] = 1
            spans_s = np.array([[shot["start_s"], shot["end_s"]] for shot in entry["shots"]], dtype=np.float64)
            marks[name] = {"shot": np.cumsum(first), "letter_spans_s": spans_s, "boundaries_s": spans_s[1:, 0]}
    except (OSError, KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        line = " ".join(str(error).split())
        raise UnwrittenError(
            f"{path}: cannot be read ({line}); it needs n_frames, first_frames and shots for each clip"
        ) from error
    return marks
