"""IAM-OnDB (Liwicki and Bunke 2005): XML of lines written on a whiteboard, with the time of every point.

A line's file lies in ``lineStrokes/``, its text in ``ascii/`` (after ``CSR:``), its writer in ``original/``. Y grows
downwards and is turned up here. The files state no unit; ``UNIT_MM`` brings whiteboard writing to paper size. The
corpus has no word boundaries: a line is cut where its gaps are plainly wider than the others, else it is left out.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from unwritten.errors import UnwrittenError
from unwritten.handwriting.corpus import HandwritingCorpus, from_strokes
from unwritten.handwriting.retrace import stroke_spans
from unwritten.handwriting.travel import travel_path
from unwritten.handwriting.xml_files import local_name, parse_xml
from unwritten.types import BoolArray, FloatArray, Strokes

UNIT_MM = 0.02
"""Whiteboard letters are some ten times as large as on paper; a line of 45 letters spans 5,600 units."""
CLEAR_GAP = 1.3
"""The narrowest gap between words must be this much wider than the widest gap within one."""
TRAVEL_RATE_HZ = 100.0


def read_file(path: Path | str) -> Strokes:
    """A line of IAM-OnDB, labelled with its text where ``ascii/`` is at hand, by the writer that ``original/`` names.

    Raises:
        UnwrittenError: the file is no IAM-OnDB XML, or a point lacks its position or time.
    """
    path = Path(path)
    root = parse_xml(path)
    if local_name(root) != "WhiteboardCaptureSession":
        raise UnwrittenError(f"{path}: is {local_name(root)!r}, not a WhiteboardCaptureSession; give IAM-OnDB's XML")
    xy: list[FloatArray] = []
    time: list[FloatArray] = []
    down: list[BoolArray] = []
    for stroke in (item for item in root.iter() if local_name(item) == "Stroke"):
        points = [item for item in stroke if local_name(item) == "Point"]
        if not points:
            continue
        table = np.array([_point(path, point) for point in points])
        table[:, :2] *= [UNIT_MM, -UNIT_MM]
        if time and table[0, 2] > time[-1][-1]:
            count = max(1, min(round((table[0, 2] - time[-1][-1]) * TRAVEL_RATE_HZ), 500))
            time.append(np.linspace(time[-1][-1], table[0, 2], count + 2)[1:-1])
            xy.append(travel_path(xy[-1][-1], table[0, :2], count))
            down.append(np.zeros(count, np.bool_))
        xy.append(table[:, :2])
        time.append(table[:, 2])
        down.append(np.ones(len(table), np.bool_))
    if not xy:
        raise UnwrittenError(f"{path}: holds no strokes; give a whole file")
    time_s, xy_mm, pen_down = np.concatenate(time), np.concatenate(xy), np.concatenate(down)
    # The board reports some points twice and some late: keep those that move the clock on.
    new = time_s > np.concatenate([[-np.inf], np.maximum.accumulate(time_s)[:-1]])
    return Strokes(
        time_s=time_s[new] - time_s[0],
        xy_mm=xy_mm[new] - xy_mm[0],
        pen_down=pen_down[new],
        label=_text_of(path),
        writer=_writer_of(path),
        source=str(path),
    )


def read_folder(path: Path | str, *, alphabet: str | None = "abcdefghijklmnopqrstuvwxyz") -> HandwritingCorpus:
    """Words of every line in an IAM-OnDB folder; what was left out is counted in ``skipped``.

    Raises:
        UnwrittenError: there are no line files, one is broken, or no word is left.
    """
    folder = Path(path)
    lines = folder / "lineStrokes" if (folder / "lineStrokes").is_dir() else folder
    skipped: Counter[str] = Counter()
    words: list[Strokes] = []
    files = sorted(lines.rglob("*.xml"))
    if not files:
        raise UnwrittenError(f"{folder}: holds no .xml lines; give the folder that holds lineStrokes")
    for file in files:
        line = read_file(file)
        found = split_words(line)
        words += found
        if not line.label:
            skipped["a line without its text"] += 1
        elif not found:
            skipped["a line without clear gaps between words"] += 1
    return from_strokes(words, str(folder), alphabet=alphabet, skipped=skipped)


def split_words(line: Strokes) -> list[Strokes]:
    """The words of a line, or [] when the gaps do not say plainly where words end."""
    words = line.label.split()
    if not words:
        return []
    spans = stroke_spans(line.pen_down)
    if len(words) == 1:
        return [replace(line, label=words[0])]
    left = np.array([line.xy_mm[a:b, 0].min() for a, b in spans])
    right = np.array([line.xy_mm[a:b, 0].max() for a, b in spans])
    # A dot or bar added later lies over earlier strokes: a gap is one to all that stands to the left.
    gaps = left[1:] - np.maximum.accumulate(right)[:-1]
    if len(gaps) < len(words) - 1:
        return []
    order = np.argsort(-gaps)
    chosen, rest = gaps[order[: len(words) - 1]], gaps[order[len(words) - 1 :]]
    if chosen.min() <= 0 or (len(rest) and chosen.min() < CLEAR_GAP * max(rest.max(), 0.0)):
        return []
    cuts = [0, *(np.sort(order[: len(words) - 1]) + 1).tolist(), len(spans)]
    result = []
    for word, first, end in zip(words, cuts[:-1], cuts[1:], strict=True):
        part = slice(spans[first, 0], spans[end - 1, 1])
        time_s, xy_mm = line.time_s[part], line.xy_mm[part]
        result.append(
            replace(line, time_s=time_s - time_s[0], xy_mm=xy_mm - xy_mm[0], pen_down=line.pen_down[part], label=word)
        )
    return result


def _point(path: Path, point: Element) -> list[float]:
    try:
        return [float(point.attrib[key]) for key in ("x", "y", "time")]
    except (KeyError, ValueError) as error:
        raise UnwrittenError(f"{path}: a Point lacks a number for {error}; fetch the file anew") from error


def _beside(path: Path, folder: str) -> Path | None:
    """The corpus's sister ``folder`` of ``lineStrokes`` for the form that a line belongs to."""
    parts = path.resolve().parts
    if "lineStrokes" not in parts:
        return None
    at = len(parts) - 1 - parts[::-1].index("lineStrokes")
    return Path(*parts[:at], folder, *parts[at + 1 : -1])


def _text_of(path: Path) -> str:
    """A line's text: the file ``a01-000u-03.xml`` is line 3 after ``CSR:`` in ``a01-000u.txt``; empty if not there."""
    form, _, number = path.stem.rpartition("-")
    folder = _beside(path, "ascii")
    text = folder / f"{form}.txt" if folder else None
    if text is None or not text.is_file() or not number.isdigit():
        return ""
    _, _, after = text.read_text(encoding="latin-1").partition("CSR:")
    lines = [line.strip() for line in after.splitlines() if line.strip()]
    return lines[int(number) - 1] if 0 < int(number) <= len(lines) else ""


def _writer_of(path: Path) -> str:
    """The form's writer; a form's own name when ``original/`` is missing, so that at least a form stays whole."""
    form = path.stem.rpartition("-")[0] or path.stem
    folder = _beside(path, "original")
    letter = form[-1] if form and form[-1].isalpha() else ""
    for name in (f"strokes{letter}.xml", "strokesz.xml", "strokes.xml"):
        if folder and (folder / name).is_file():
            for item in parse_xml(folder / name).iter():
                if item.get("writerID"):
                    return f"iam/{item.get('writerID')}"
    return f"iam/form-{form}"
