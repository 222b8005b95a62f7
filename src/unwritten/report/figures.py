"""Dot plots as inline SVG. Their x positions are percentages, so that they fit any width and text keeps its size.

Every figure carries a title and a description, and stands above a table of the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import count

from unwritten.report.labels import MINUS, MODALITY_NAMES, interval, percent

_LEFT, _RIGHT = 2.0, 84.0  # the axis between these per cent of the width; numbers stand to its right
_ROW, _LINE, _TOP = 21.0, 15.0, 26.0  # pixels: a label, a mark, the axis
_IDS = count(1)


@dataclass(frozen=True)
class Mark:
    """One value with its interval; all fractions.

    Attributes:
        modality: chooses shape and colour.
        value, low, high: low and high None where no interval is known.
        hollow: drawn hollow: a number from elsewhere.
        note: what stands to the right; the value in percent when empty.
    """

    modality: str
    value: float
    low: float | None = None
    high: float | None = None
    hollow: bool = False
    note: str = ""


@dataclass(frozen=True)
class Row:
    """A label with its marks, one below the other; ``together`` draws them on one line, joined."""

    label: str
    marks: Sequence[Mark]
    together: bool = False
    aside: str = ""


@dataclass(frozen=True)
class Guide:
    """A vertical line across the plot."""

    value: float
    label: str


@dataclass(frozen=True)
class Band:
    """Rows under a heading of their own."""

    rows: Sequence[Row]
    heading: str = ""
    guides: Sequence[Guide] = field(default_factory=tuple)


def dot_plot(
    title: str,
    description: str,
    bands: Sequence[Band],
    lowest: float = 0.0,
    highest: float = 1.0,
    beside: str = "",
) -> str:
    """A plot of marks on a common axis of OLA, or of differences where ``lowest`` is negative.

    ``beside`` heads the column of numbers on the right; it has room for one short word.
    """
    scale = _Scale(lowest, highest)
    parts: list[str] = []
    y = _TOP
    for band in bands:
        top = y
        body: list[str] = []
        if band.heading:
            body.append(f'<text x="0" y="{y + 16:.0f}" class="band">{escape(band.heading)}</text>')
            y += _ROW + 2
            top = y
        y += 16 if band.guides else 0
        for row in band.rows:
            aside = f'<tspan class="soft"> {escape(row.aside)}</tspan>' if row.aside else ""
            body.append(f'<text x="0" y="{y + 15:.0f}">{escape(row.label)}{aside}</text>')
            y += _ROW
            if row.together:
                body.append(_joined(row, y + _LINE / 2, scale))
                y += _LINE
            else:
                for mark in row.marks:
                    body.append(_mark(mark, y + _LINE / 2, scale))
                    y += _LINE
            y += 7
        lines = []
        for guide in band.guides:
            x = scale(guide.value)
            right = x > 60
            anchor = ' text-anchor="end"' if right else ""
            lines.append(
                f'<line x1="{x:.2f}%" x2="{x:.2f}%" y1="{top:.0f}" y2="{y:.0f}" class="guide"/>'
                f'<text x="{x:.2f}%" dx="{-5 if right else 5}" y="{top + 11:.0f}" class="soft"{anchor}>'
                f"{escape(guide.label)}</text>"
            )
        parts += [*lines, *body]
        y += 10
    height = y + 4
    axis = [f'<text x="100%" y="12" class="soft value">{escape(beside)}</text>']
    for tick in scale.ticks():
        x = scale(tick)
        text = f"{100 * tick:+.0f}".replace("-", MINUS) if lowest < 0 and tick else f"{100 * tick:.0f}"
        zero = " zero" if tick == 0 else ""
        axis.append(f'<line x1="{x:.2f}%" x2="{x:.2f}%" y1="{_TOP - 6:.0f}" y2="{height:.0f}" class="grid{zero}"/>')
        axis.append(f'<text x="{x:.2f}%" y="12" class="soft" text-anchor="middle">{text}</text>')
    return _svg(title, description, "".join([*axis, *parts]), f'width="100%" height="{height:.0f}"')


def _svg(title: str, description: str, body: str, attributes: str) -> str:
    number = next(_IDS)
    return (
        f'<svg role="img" aria-labelledby="t{number} d{number}" {attributes}>'
        f'<title id="t{number}">{escape(title)}</title><desc id="d{number}">{escape(description)}</desc>{body}</svg>'
    )


class _Scale:
    def __init__(self, lowest: float, highest: float) -> None:
        self.lowest, self.highest = lowest, max(highest, lowest + 1e-6)

    def __call__(self, value: float) -> float:
        share = (min(max(value, self.lowest), self.highest) - self.lowest) / (self.highest - self.lowest)
        return _LEFT + (_RIGHT - _LEFT) * share

    def ticks(self) -> list[float]:
        span = self.highest - self.lowest
        step = next(step for step in (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1.0) if span / step <= 6 or step == 1.0)
        first = int(self.lowest / step) - 1
        ticks = [round((first + place) * step, 4) for place in range(12)]
        return [tick for tick in ticks if self.lowest - 1e-9 <= tick <= self.highest + 1e-9]


def _shape(mark: Mark, x: float, y: float) -> str:
    kind = f"m-{mark.modality}" + (" hollow" if mark.hollow else "")
    if mark.modality in ("audio", "any"):
        return f'<circle cx="{x:.2f}%" cy="{y:.1f}" r="5" class="{kind}"/>'
    # A rectangle's corner may be a percentage and its shift a length: so squares and diamonds stay where they belong.
    turn = ' style="transform:rotate(45deg);transform-box:fill-box;transform-origin:center"'
    return (
        f'<g transform="translate(-4.5 -4.5)"><rect x="{x:.2f}%" y="{y:.1f}" width="9" height="9" class="{kind}"'
        f"{turn if mark.modality == 'av' else ''}/></g>"
    )


def _mark(mark: Mark, y: float, scale: _Scale) -> str:
    x = scale(mark.value)
    parts = []
    if mark.low is not None and mark.high is not None:
        parts.append(
            f'<line x1="{scale(mark.low):.2f}%" x2="{scale(mark.high):.2f}%" y1="{y:.1f}" y2="{y:.1f}"'
            f' class="ci m-{mark.modality}"/>'
        )
    note = mark.note or percent(mark.value)
    parts += [_shape(mark, x, y), f'<text x="100%" y="{y + 4.5:.1f}" class="value">{escape(note)}</text>']
    what = f"{MODALITY_NAMES.get(mark.modality, mark.modality)}: {note}"
    limits = interval(mark.low, mark.high)
    return f"<g><title>{escape(what + (f' ({limits})' if limits else ''))}</title>{''.join(parts)}</g>"


def _joined(row: Row, y: float, scale: _Scale) -> str:
    places = [scale(mark.value) for mark in row.marks]
    line = f'<line x1="{min(places):.2f}%" x2="{max(places):.2f}%" y1="{y:.1f}" y2="{y:.1f}" class="join"/>'
    marks = []
    for mark, x in zip(row.marks, places, strict=True):
        # Marks of one value stay apart, so that none hides another.
        beside = y + {"audio": 0.0, "video": -3.5, "av": 3.5}.get(mark.modality, 0.0)
        what = f"{MODALITY_NAMES.get(mark.modality, mark.modality)}: {percent(mark.value)}"
        marks.append(f"<g><title>{escape(what)}</title>{_shape(mark, x, beside)}</g>")
    notes = [mark.note for mark in row.marks if mark.note]
    text = f'<text x="100%" y="{y + 4.5:.1f}" class="value">{escape(notes[0])}</text>' if notes else ""
    return line + "".join(marks) + text


def legend(blind: bool = False) -> str:
    """Shapes and colours of the modalities; with ``blind`` also of readers that are given none."""
    entries = []
    for modality, name in {**MODALITY_NAMES, **({"any": "nothing at all"} if blind else {})}.items():
        shape = _shape(Mark(modality, 0), 50, 9)
        entries.append(f'<li><svg width="18" height="18" aria-hidden="true">{shape}</svg>{escape(name)}</li>')
    return f'<ul class="legend">{"".join(entries)}</ul>'


def heat_map(
    title: str, description: str, counts: Sequence[Sequence[int]], rows: Sequence[str], columns: Sequence[str]
) -> str:
    """Counts ``[R][C]``; a cell is as dark as its share of its row, and tells its count when pointed at."""
    cell, left, top = 20, 24, 24
    parts = [
        f'<text x="{left + cell * (place + 0.5):.0f}" y="{top - 8}" text-anchor="middle">{escape(name)}</text>'
        for place, name in enumerate(columns)
    ]
    for r, name in enumerate(rows):
        y = top + cell * r
        parts.append(f'<text x="{left - 9}" y="{y + 14}" text-anchor="middle">{escape(name)}</text>')
        total = sum(counts[r])
        for c, value in enumerate(counts[r]):
            if value:
                kind = "hit" if rows[r] == columns[c] else "miss"
                what = f"{name} read as {columns[c] if columns[c].isalpha() else 'nothing'}: {value} of {total}"
                parts.append(
                    f'<rect x="{left + cell * c}" y="{y}" width="{cell - 1}" height="{cell - 1}" class="{kind}"'
                    f' fill-opacity="{0.15 + 0.85 * value / total:.2f}"><title>{what}</title></rect>'
                )
    width, height = left + cell * len(columns) + 4, top + cell * len(rows) + 4
    frame = f'<rect x="{left}" y="{top}" width="{cell * len(columns)}" height="{cell * len(rows)}" class="frame"/>'
    return _svg(title, description, frame + "".join(parts), f'class="heat" viewBox="0 0 {width} {height}"')
