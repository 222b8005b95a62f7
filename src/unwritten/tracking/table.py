"""The track as a table: ``frame,time_s,x,y,visible,confidence,shot,contact`` in the file's own pixels.

Of a camera that moves it has ``page_x,page_y`` too: the tip on the page, in pixels of the first frame of its shot.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from unwritten.errors import UnwrittenError
from unwritten.files import whole_file
from unwritten.types import Track

COLUMNS = ("frame", "time_s", "x", "y", "visible", "confidence", "shot", "contact")
PAGE_COLUMNS = ("page_x", "page_y")


def write_track_csv(track: Track, path: Path | str) -> Path:
    """Write a track; x and y are native pixels as OpenCV decodes the file, empty where not visible.

    Raises:
        UnwrittenError: the place cannot be written.
    """
    path = Path(path)
    with whole_file(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(COLUMNS if track.page_px is None else COLUMNS + PAGE_COLUMNS)
        for index in range(len(track)):
            seen = bool(track.visible[index])
            place, page = (
                [f"{x:.3f}" for x in at[index] / (track.sample_aspect_ratio, 1.0)] if seen else ["", ""]
                for at in (track.tip_px, track.tip_px if track.page_px is None else track.page_px)
            )
            page = [] if track.page_px is None else page
            sure, down = f"{track.confidence[index]:.4f}", f"{track.contact[index]:.4f}"
            writer.writerow(
                (index, f"{track.time_s[index]:.6f}", *place, int(seen), sure, int(track.shot[index]), down, *page)
            )
    return path


def read_track_csv(
    path: Path | str, size_px: tuple[float, float] = (0.0, 0.0), sample_aspect_ratio: float = 1.0
) -> Track:
    """Read what ``write_track_csv`` wrote; the shaft's and the writing's directions are not in it.

    Args:
        path: the table.
        size_px: width and height of the frame in square pixels, which the table does not hold.
        sample_aspect_ratio: of the file's pixels.

    Raises:
        UnwrittenError: the file is missing, or not such a table.
    """
    try:
        with Path(path).open(newline="", encoding="utf-8") as stream:
            rows = list(csv.DictReader(stream))
        columns = {name: [row[name] for row in rows] for name in COLUMNS}
        visible = np.array([value == "1" for value in columns["visible"]], bool)
        moves = bool(rows) and all(name in rows[0] for name in PAGE_COLUMNS)
        tip_px, page_px = (
            np.array([[float(row[name] or 0) for name in pair] for row in rows]).reshape(-1, 2)
            * (sample_aspect_ratio, 1.0)
            for pair in (("x", "y"), PAGE_COLUMNS if moves else ("x", "y"))
        )
        time_s, confidence, contact = (
            np.array([float(value) for value in columns[name]]) for name in ("time_s", "confidence", "contact")
        )
        shot = np.array([int(value) for value in columns["shot"]], int)
    except OSError as error:
        raise UnwrittenError(
            f"{path}: cannot be read ({error.strerror}); give a table that `unwritten track` wrote"
        ) from error
    except (KeyError, TypeError, ValueError) as error:
        raise UnwrittenError(f"{path}: is not a track; give a table with the columns {','.join(COLUMNS)}") from error
    return Track(
        time_s=time_s,
        tip_px=tip_px,
        visible=visible,
        confidence=confidence,
        shot=shot,
        shaft_rad=np.full(len(rows), -np.pi / 2),
        contact=contact,
        size_px=size_px,
        sample_aspect_ratio=sample_aspect_ratio,
        page_px=page_px if moves else None,
    )
