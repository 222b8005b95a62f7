"""UNIPEN's text format (Guyon et al. 1994): a folder with ``data/`` (labels) and ``include/`` (pen positions).

A file is a row of statements, each a keyword at the start of a line and its arguments up to the next keyword. Pen-down
and pen-up components count from 0 in the order in which they occur, through all included files; a component without
positions has no number. A segment names its components, and positions within them: ``67:106-67:129,69``. Y points up.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unwritten.errors import UnwrittenError
from unwritten.handwriting.corpus import PLAUSIBLE_RATE_HZ, HandwritingCorpus, from_strokes
from unwritten.handwriting.travel import join_parts
from unwritten.types import Strokes

_KEYWORD = re.compile(r"^\s*\.([A-Z][A-Z0-9_]*)[ \t]*", re.MULTILINE)
_SEGMENT = re.compile(r'^(\S+)\s+(\S+)\s+(\S+)\s+"((?:[^"\\]|\\.)*)"', re.DOTALL)
_PLACE = re.compile(r"(\d+)(?::(\d+))?(?:-(\d+)(?::(\d+))?)?$")
MAX_INCLUDE_DEPTH = 8


@dataclass
class _Document:
    """What one file and all that it includes say."""

    components: list[tuple[NDArray[np.float64], bool]] = field(default_factory=list)
    segments: list[tuple[str, str, str]] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)
    problems: Counter[str] = field(default_factory=Counter)


def read_folder(
    path: Path | str,
    *,
    levels: tuple[str, ...] = ("WORD", "CHARACTER"),
    alphabet: str | None = "abcdefghijklmnopqrstuvwxyz",
    rates_hz: Mapping[str, float] | None = None,
) -> HandwritingCorpus:
    """Read every labelled segment of a UNIPEN folder.

    Args:
        path: the folder that holds ``data`` and ``include``, or a folder below its ``data``.
        levels: kinds of segment to take; a folder of words gives ``WORD``, one of letters ``CHARACTER``.
        alphabet: letters that labels may hold; None allows any.
        rates_hz: true rates of sites whose headers are wrong, e.g. ``{"art": 100}``.

    Returns:
        Samples of writer ``site/writer``; what was left out is counted in ``skipped``.

    Raises:
        UnwrittenError: it is no UNIPEN folder, a file is missing or broken, or no sample is left.
    """
    folder = Path(path)
    include = _include_folder(folder)
    root = folder / "data" if (folder / "data").is_dir() else folder
    skipped: Counter[str] = Counter()
    samples: list[Strokes] = []
    files = sorted(file for file in root.rglob("*") if file.is_file() and file.suffix.lower() in (".dat", ""))
    for file in files:
        document = _Document()
        _read(file, include, document, 0)
        skipped.update(document.problems)
        site = _site(file, include.parent / "data")
        samples += _samples(document, file, site, levels, (rates_hz or {}).get(site), skipped)
    if not files:
        raise UnwrittenError(f"{folder}: holds no UNIPEN data files; give the folder that holds data and include")
    return from_strokes(samples, str(folder), alphabet=alphabet, skipped=skipped)


def is_unipen(path: Path) -> bool:
    """True when ``path`` is a UNIPEN folder or lies in one."""
    return any((folder / "include").is_dir() and (folder / "data").is_dir() for folder in (path, *path.parents))


def _include_folder(folder: Path) -> Path:
    if not folder.is_dir():
        raise UnwrittenError(f"{folder}: is not a folder; give the folder that holds data and include")
    resolved = folder.resolve()
    for candidate in (resolved, *resolved.parents):
        if (candidate / "include").is_dir() and (candidate / "data").is_dir():
            return candidate / "include"
    raise UnwrittenError(f"{folder}: has no include folder beside its data folder; give a whole UNIPEN folder")


def _site(file: Path, data: Path) -> str:
    """The site's folder, below the benchmark's number (``1c``): ``data/1c/cea/Asundi.dat`` comes from ``cea``."""
    parts = file.resolve().relative_to(data).parts[:-1]
    named = [part for part in parts if not re.fullmatch(r"\d+[a-z]?", part)]
    return named[0] if named else ""


def _read(file: Path, include: Path, document: _Document, depth: int) -> None:
    if depth > MAX_INCLUDE_DEPTH:
        raise UnwrittenError(f"{file}: files include each other without end; remove its .INCLUDE")
    try:
        text = file.read_text(encoding="latin-1")
    except OSError as error:
        raise UnwrittenError(f"{file}: cannot be read ({error.strerror}); fetch the folder anew") from error
    keywords = list(_KEYWORD.finditer(text))
    for number, match in enumerate(keywords):
        end = keywords[number + 1].start() if number + 1 < len(keywords) else len(text)
        keyword, argument = match[1], text[match.end() : end].strip()
        if keyword == "INCLUDE":
            included = include / argument
            if not included.is_file():
                raise UnwrittenError(f"{file}: includes {argument}, which is not in {include}; fetch it")
            _read(included, include, document, depth + 1)
        elif keyword in ("PEN_DOWN", "PEN_UP"):
            _add_component(file, argument, keyword == "PEN_DOWN", document)
        elif keyword == "SEGMENT":
            segment = _SEGMENT.match(argument)
            if segment:
                document.segments.append((segment[1], segment[2], re.sub(r"\\(.)", r"\1", segment[4])))
            else:
                document.problems["a segment without a label"] += 1
        else:
            document.values[keyword] = argument


def _add_component(file: Path, argument: str, is_down: bool, document: _Document) -> None:
    if not argument:
        return
    columns = len(document.values.get("COORD", "X Y").split())
    try:
        numbers = np.array([float(word) for word in argument.split()])
        document.components.append((numbers.reshape(-1, columns), is_down))
    except ValueError as error:
        where = f"component {len(document.components)}"
        raise UnwrittenError(
            f"{file}: {where} is not rows of {columns} numbers as .COORD says; mend the file"
        ) from error


def _samples(
    document: _Document, file: Path, site: str, levels: tuple[str, ...], rate_hz: float | None, skipped: Counter[str]
) -> Iterator[Strokes]:
    per_mm = [_number(document, f"{axis}_POINTS_PER_MM", f"{axis}_POINTS_PER_INCH", 25.4) for axis in "XY"]
    rate_hz = rate_hz or _number(document, "POINTS_PER_SECOND")
    names = document.values.get("COORD", "X Y").split()
    if "X" not in names or "Y" not in names:
        raise UnwrittenError(f"{file}: .COORD {' '.join(names)} names no X and Y; mend the header")
    columns = [names.index("X"), names.index("Y")]
    writer = document.values.get("WRITER_ID", "").split()
    labelled = [segment for segment in document.segments if segment[0] in levels]
    low_hz, high_hz = PLAUSIBLE_RATE_HZ
    reason = ""
    if not writer:
        reason = "no writer"
    elif not low_hz <= rate_hz <= high_hz:
        reason = "an impossible rate"
    elif min(per_mm) <= 0:
        reason = "no resolution"
    if reason:
        skipped[reason] += len(labelled)
        return
    for level, places, label in labelled:
        parts = [
            (points[:, columns] / per_mm, is_down)
            for points, is_down in _parts(document.components, places)
            if len(points)
        ]
        while parts and not parts[-1][1]:
            parts.pop()
        while parts and not parts[0][1]:
            parts.pop(0)
        if not parts:
            skipped["components that the file lacks"] += 1
            continue
        xy_mm, pen_down = join_parts(parts, rate_hz)
        yield Strokes(
            time_s=np.arange(len(xy_mm)) / rate_hz,
            xy_mm=xy_mm - xy_mm[0],
            pen_down=pen_down,
            label=label,
            writer=f"{site}/{writer[0]}" if site else writer[0],
            source=f"{file}#{level} {places}",
        )


def _parts(components: list[tuple[NDArray[np.float64], bool]], places: str) -> list[tuple[NDArray[np.float64], bool]]:
    """The parts that ``67:106-67:129,69`` names, [] when the file lacks one of them."""
    parts = []
    for place in places.split(","):
        match = _PLACE.match(place)
        if not match:
            return []
        first, last = int(match[1]), int(match[3] if match[3] is not None else match[1])
        begin = int(match[2] or 0)
        end = match[4] if match[3] is not None else match[2]
        if not first <= last < len(components):
            return []
        for number in range(first, last + 1):
            points, is_down = components[number]
            start = begin if number == first else 0
            stop = int(end) + 1 if number == last and end is not None else len(points)
            if start >= len(points) or stop > len(points):
                return []
            parts.append((points[start:stop], is_down))
    return parts


def _number(document: _Document, keyword: str, other: str = "", other_unit: float = 1.0) -> float:
    """The number behind ``keyword``, or behind ``other`` in units of ``other_unit``; 0 when neither says one."""
    for name, unit in ((keyword, 1.0), (other, other_unit)):
        try:
            return float(document.values[name].split()[0]) / unit
        except (KeyError, IndexError, ValueError):
            continue
    return 0.0
