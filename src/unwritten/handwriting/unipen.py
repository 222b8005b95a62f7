"""UNIPEN's text format (Guyon et al. 1994): a folder with ``data/`` (labels) and ``include/`` (pen positions).

A file is a row of statements, each a keyword behind a dot at the start of a line and its arguments up to the next one.
Pen-down and pen-up components count from 0 in the order in which they occur, through all included files; a component
without positions has no number. A segment names its components, and positions within them: ``67:106-67:129,69``. Y
points up. What a file lacks or gets wrong costs the segments that need it, never the folder.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unwritten.errors import UnwrittenError
from unwritten.handwriting.corpus import PLAUSIBLE_RATE_HZ, HandwritingCorpus, from_strokes
from unwritten.handwriting.travel import join_parts
from unwritten.types import Strokes

_KEYWORD = re.compile(r"[A-Z][A-Z0-9_]*")
_SEGMENT = re.compile(r'^(\S+)\s+(\S+)\s+(\S+)\s+"((?:[^"\\]|\\.)*)"', re.DOTALL)
_PLACE = re.compile(r"(\d+)(?::(\d+))?(?:-(\d+)(?::(\d+))?)?$")
MAX_INCLUDE_DEPTH = 8
_FILES_KEPT = 16
"""Included files that are kept in memory: categories name the same ink in turn, and a header serves a whole folder."""

Part = tuple[NDArray[np.float64], bool]


@dataclass(frozen=True)
class Segment:
    """One labelled piece of a UNIPEN file.

    Attributes:
        label: what was written.
        writer: ``site/writer``, empty when the file names none.
        rate_hz: positions a second.
        parts: positions ``[T, 2]`` in the tablet's units, y up, each with pen down or not, from the first part on paper
            to the last.
        per_mm: the tablet's units in a millimetre, along x and y.
        problem: why there are no parts, empty when there are.
        quality: what the site says of it: ``GOOD``, ``OK``, ``BAD`` or ``?``.
        source: file, level and places.
    """

    label: str
    writer: str = ""
    rate_hz: float = 0.0
    parts: tuple[Part, ...] = ()
    per_mm: tuple[float, float] = (1.0, 1.0)
    problem: str = ""
    quality: str = "?"
    source: str = ""

    @property
    def site(self) -> str:
        """Who collected it: the writer's name before the slash."""
        return self.writer.rpartition("/")[0]

    def parts_mm(self) -> list[Part]:
        """The parts in millimetres."""
        return [(points / self.per_mm, is_down) for points, is_down in self.parts]


@dataclass
class _Component:
    """A pen-down or pen-up component; its numbers are read when a segment asks for them."""

    text: str
    is_down: bool
    columns: int = 2
    _points: NDArray[np.float64] | None = None

    def points(self) -> NDArray[np.float64]:
        """Positions ``[T, columns]``; ValueError when they are not such rows."""
        if self._points is None:
            with warnings.catch_warnings():
                warnings.simplefilter("error", DeprecationWarning)  # how numpy says that not all of it was numbers
                try:
                    numbers = np.fromstring(self.text, sep=" ")
                except DeprecationWarning as error:
                    raise ValueError(str(error)) from error
            self._points, self.text = numbers.reshape(-1, self.columns), ""
        return self._points


@dataclass
class _Document:
    """What one file and all that it includes say."""

    components: list[_Component] = field(default_factory=list)
    segments: list[tuple[str, str, str, str]] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)
    unlabelled: int = 0
    problem: str = ""


class UnipenFolder:
    """A folder of UNIPEN as published, or one below its ``data``.

    Attributes:
        root: where data files are looked for.
        data: the folder ``data``.
        include: the folder ``include``.

    Raises:
        UnwrittenError: there are no ``data`` and ``include`` at or above the path.
    """

    def __init__(self, path: Path | str) -> None:
        path = Path(path)
        if not path.is_dir():
            raise UnwrittenError(f"{path}: is not a folder; give the folder that holds data and include")
        top = _top(path.resolve())
        if top is None:
            raise UnwrittenError(f"{path}: has no include folder beside its data folder; give a whole UNIPEN folder")
        self.data, self.include = top / "data", top / "include"
        self.root = path / "data" if (path / "data").is_dir() else path
        self._included = lru_cache(_FILES_KEPT)(_statements)

    def files(self, category: str = "") -> list[Path]:
        """Data files below ``root``, or of one category such as ``1c``; sorted."""
        folder = self.data / category if category else self.root
        return sorted(file for file in folder.rglob("*") if file.is_file() and file.suffix.lower() in (".dat", ""))

    def segments(
        self, file: Path, levels: tuple[str, ...], rates_hz: Mapping[str, float] | None = None
    ) -> Iterator[Segment]:
        """The labelled segments of a data file, those with a problem too.

        Args:
            file: one of ``files``.
            levels: kinds of segment to take: ``CHARACTER``, ``WORD``, ``TEXT``.
            rates_hz: true rates of sites whose headers are wrong.
        """
        document = _Document()
        self._read(file, _statements(file), document, 0)
        names = document.values.get("COORD", "X Y").split()
        x_per_mm, y_per_mm = (
            _number(document, f"{axis}_POINTS_PER_MM", f"{axis}_POINTS_PER_INCH", 25.4) for axis in "XY"
        )
        site = _site(file, self.data)
        rate_hz = (rates_hz or {}).get(site) or _number(document, "POINTS_PER_SECOND")
        writer = document.values.get("WRITER_ID", "").split()
        low_hz, high_hz = PLAUSIBLE_RATE_HZ
        problem = document.problem
        if problem:
            pass
        elif "X" not in names or "Y" not in names:
            problem = "a .COORD without X and Y"
        elif not writer:
            problem = "no writer"
        elif not low_hz <= rate_hz <= high_hz:
            problem = "an impossible rate"
        elif min(x_per_mm, y_per_mm) <= 0:
            problem = "no resolution"
        name = "/".join([site, writer[0]] if site and writer else writer)
        for level, places, quality, label in document.segments:
            if level not in levels:
                continue
            parts: tuple[Part, ...] = ()
            unreadable = problem
            if not problem:
                columns = [names.index("X"), names.index("Y")]
                try:
                    named = _parts(document.components, places)
                    parts = tuple((points[:, columns], is_down) for points, is_down in named)
                    unreadable = "" if parts else "components that the file lacks"
                except (ValueError, IndexError):
                    unreadable = "components that are not rows of numbers as .COORD says"
            yield Segment(
                label, name, rate_hz, parts, (x_per_mm, y_per_mm), unreadable, quality, f"{file}#{level} {places}"
            )
        for _ in range(document.unlabelled):
            yield Segment("", name, problem="a segment without a label", source=str(file))

    def _read(
        self, file: Path, statements: list[tuple[str, str | _Component]], document: _Document, depth: int
    ) -> None:
        for keyword, argument in statements:
            if isinstance(argument, _Component):
                if argument.text:
                    argument.columns = len(document.values.get("COORD", "X Y").split())
                document.components.append(argument)
            elif keyword == "INCLUDE":
                included = self.include / argument
                if not included.is_file():
                    document.problem = "an .INCLUDE that is not there"
                elif depth == MAX_INCLUDE_DEPTH:
                    document.problem = "files that include each other without end"
                else:
                    self._read(included, self._included(included), document, depth + 1)
            elif keyword == "SEGMENT":
                segment = _SEGMENT.match(argument)
                if segment:
                    document.segments.append((segment[1], segment[2], segment[3], re.sub(r"\\(.)", r"\1", segment[4])))
                else:
                    document.unlabelled += 1
            else:
                document.values[keyword] = argument


def read_folder(
    path: Path | str,
    *,
    levels: tuple[str, ...] = ("WORD", "CHARACTER"),
    alphabet: str | None = "abcdefghijklmnopqrstuvwxyz",
    rates_hz: Mapping[str, float] | None = None,
) -> HandwritingCorpus:
    """Read every labelled segment of a UNIPEN folder; strokes that nothing recorded connects are joined by travel.

    Args:
        path: the folder that holds ``data`` and ``include``, or a folder below its ``data``.
        levels: kinds of segment to take; a folder of words gives ``WORD``, one of letters ``CHARACTER``.
        alphabet: letters that labels may hold; None allows any.
        rates_hz: true rates of sites whose headers are wrong, e.g. ``{"art": 100}``.

    Returns:
        Samples of writer ``site/writer``; what was left out is counted in ``skipped``.

    Raises:
        UnwrittenError: it is no UNIPEN folder, or no sample is left.
    """
    folder = UnipenFolder(path)
    files = folder.files()
    if not files:
        raise UnwrittenError(f"{path}: holds no UNIPEN data files; give the folder that holds data and include")
    skipped: Counter[str] = Counter()
    samples: list[Strokes] = []
    for file in files:
        for segment in folder.segments(file, levels, rates_hz):
            if segment.problem:
                skipped[segment.problem] += 1
                continue
            xy_mm, pen_down = join_parts(segment.parts_mm(), segment.rate_hz)
            samples.append(
                Strokes(
                    time_s=np.arange(len(xy_mm)) / segment.rate_hz,
                    xy_mm=xy_mm - xy_mm[0],
                    pen_down=pen_down,
                    label=segment.label,
                    writer=segment.writer,
                    source=segment.source,
                )
            )
    return from_strokes(samples, str(path), alphabet=alphabet, skipped=skipped)


def is_unipen(path: Path) -> bool:
    """True when ``path`` is a UNIPEN folder or lies in one."""
    return _top(path) is not None


def _top(path: Path) -> Path | None:
    """The nearest folder at or above ``path`` that holds ``data`` and ``include``."""
    return next(
        (folder for folder in (path, *path.parents) if (folder / "include").is_dir() and (folder / "data").is_dir()),
        None,
    )


def _site(file: Path, data: Path) -> str:
    """The site's folder, below the benchmark's number (``1c``): ``data/1c/cea/Asundi.dat`` comes from ``cea``."""
    parts = file.resolve().relative_to(data).parts[:-1]
    named = [part for part in parts if not re.fullmatch(r"\d+[a-z]?", part)]
    return named[0] if named else ""


def _statements(file: Path) -> list[tuple[str, str | _Component]]:
    """Keywords and arguments of one file; a component that is not empty comes as such."""
    try:
        text = file.read_text(encoding="latin-1")
    except OSError as error:
        raise UnwrittenError(f"{file}: cannot be read ({error.strerror}); fetch the folder anew") from error
    statements: list[tuple[str, str | _Component]] = []
    for statement in f"\n{text}".split("\n.")[1:]:
        match = _KEYWORD.match(statement)
        if match is None:
            continue
        keyword, argument = match[0], statement[match.end() :].strip()
        if keyword not in ("PEN_DOWN", "PEN_UP"):
            statements.append((keyword, argument))
        elif argument:
            statements.append((keyword, _Component(argument, keyword == "PEN_DOWN")))
    return statements


def _parts(components: list[_Component], places: str) -> list[Part]:
    """The parts that ``67:106-67:129,69`` names, from the first on paper to the last; [] when the file lacks one."""
    parts: list[Part] = []
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
            points = components[number].points()
            start = begin if number == first else 0
            stop = int(end) + 1 if number == last and end is not None else len(points)
            if start >= len(points) or stop > len(points):
                return []
            parts.append((points[start:stop], components[number].is_down))
    on_paper = [number for number, (points, is_down) in enumerate(parts) if is_down and len(points)]
    return parts[on_paper[0] : on_paper[-1] + 1] if on_paper else []


def _number(document: _Document, keyword: str, other: str = "", other_unit: float = 1.0) -> float:
    """The number behind ``keyword``, or behind ``other`` in units of ``other_unit``; 0 when neither says one."""
    for name, unit in ((keyword, 1.0), (other, other_unit)):
        try:
            return float(document.values[name].split()[0]) / unit
        except (KeyError, IndexError, ValueError):
            continue
    return 0.0
