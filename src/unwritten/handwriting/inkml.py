"""InkML (W3C recommendation of 2011): traces of X, Y and time with units, labels as annotations. T: positions.

Y points down in InkML and is turned up here. Read are: channels in any order with their units, ``dev`` units through
the resolution that the ink source states; explicit values, first differences (``'``) and second differences (``"``);
hexadecimal values; time from a T channel, else from the source's sample rate; ``penUp`` traces; trace groups.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from unwritten.errors import UnwrittenError
from unwritten.handwriting.travel import travel_duration_s, travel_path
from unwritten.handwriting.xml_files import local_name, parse_xml
from unwritten.types import Strokes

MM_OF_UNIT = {"mm": 1.0, "cm": 10.0, "m": 1000.0, "in": 25.4, "pt": 25.4 / 72, "pc": 25.4 / 6}
S_OF_UNIT = {"s": 1.0, "ms": 1e-3, "us": 1e-6}
DEVICE_UNIT_MM = 0.01
"""A device unit without a stated resolution: 1 / 2540 inch, the unit of Windows' and Mac's ink (HIMETRIC)."""
_LONGEST_PAUSE_S = 3_600.0  # an hour without ink is a broken clock, and would fill memory with travel
LABELS = ("truth", "label", "transcription", "text")
_VALUE = re.compile(r"""([!'"]?)\s*(#[0-9A-Fa-f]+|[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[*?TF])""")


@dataclass(frozen=True)
class _Channel:
    name: str
    scale: float
    varies: bool = True


@dataclass(frozen=True)
class _Format:
    channels: tuple[_Channel, ...]
    rate_hz: float


def read_file(path: Path | str) -> list[Strokes]:
    """Every labelled trace group of an InkML file, or the whole file as one sample when no group has a label.

    Raises:
        UnwrittenError: the file is no InkML, or says neither times nor a sample rate, or a trace is broken.
    """
    path = Path(path)
    root = parse_xml(path)
    if local_name(root) != "ink":
        raise UnwrittenError(f"{path}: is {local_name(root)!r}, not InkML; give a file whose root is <ink>")
    formats = _formats(root)
    writer = _annotation(root, ("writer", "writerID", "author")) or _writer_of_context(root)
    by_id = {_id(trace): trace for trace in root.iter() if local_name(trace) == "trace" and _id(trace)}
    groups = [group for group in root.iter() if local_name(group) == "traceGroup" and _annotation(group, LABELS)]
    groups = [group for group in groups if not any(child in groups for child in group.iter() if child is not group)]
    samples = []
    for group in groups or [root]:
        traces = list(_traces_of(group, by_id))
        if traces:
            sample = _sample(path, traces, formats)
            samples.append(replace(sample, label=_annotation(group, LABELS), writer=writer, source=str(path)))
    if not samples:
        raise UnwrittenError(f"{path}: holds no traces; give a file with ink in it")
    return samples


def _sample(path: Path, traces: list[Element], formats: dict[str, _Format]) -> Strokes:
    times: list[NDArray[np.float64]] = []
    places: list[NDArray[np.float64]] = []
    down: list[NDArray[np.bool_]] = []
    for trace in traces:
        form = formats.get(trace.get("contextRef", "").lstrip("#")) or formats[""]
        xy_mm, time_s = _points(path, trace, form)
        is_down = trace.get("type", "penDown") != "penUp"
        start_s = float(time_s[0]) if time_s is not None else 0.0
        if times:
            apart_mm = float(np.hypot(*(xy_mm[0] - places[-1][-1])))
            lifted = is_down and bool(down[-1][-1])
            start_s = float(times[-1][-1]) + (travel_duration_s(apart_mm) if lifted else 1e-3)
            if time_s is not None and time_s[0] > times[-1][-1]:
                start_s = float(time_s[0])  # one clock for the whole file
            if start_s - float(times[-1][-1]) > _LONGEST_PAUSE_S:
                raise UnwrittenError(f"{path}: its clock jumps by {start_s - times[-1][-1]:.3g} s; mend its T channel")
            if lifted:
                count = max(1, round((start_s - times[-1][-1]) * 100.0))
                gap = np.linspace(float(times[-1][-1]), start_s, count + 2)[1:-1]
                places.append(np.asarray(travel_path(places[-1][-1], xy_mm[0], count), np.float64))
                times.append(gap)
                down.append(np.zeros(count, np.bool_))
        if time_s is None:
            if form.rate_hz <= 0:
                raise UnwrittenError(f"{path}: has no T channel and no sampleRate; without time it cannot be used")
            time_s = np.arange(len(xy_mm)) / form.rate_hz
            start_s = max(start_s, float(times[-1][-1]) + 1.0 / form.rate_hz) if times else start_s
        times.append(time_s - time_s[0] + start_s)
        places.append(xy_mm)
        down.append(np.full(len(xy_mm), is_down))
    time_s, xy_mm = np.concatenate(times), np.concatenate(places)
    if (np.diff(time_s) < 0).any():
        raise UnwrittenError(f"{path}: time runs backwards within a trace; mend its T channel")
    new = np.concatenate([[True], np.diff(time_s) > 0])
    return Strokes(time_s[new] - time_s[0], xy_mm[new] - xy_mm[0], np.concatenate(down)[new])


def _points(path: Path, trace: Element, form: _Format) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Positions ``[T, 2]`` in mm, y up, and times ``[T]`` if there are any."""
    varying = [channel for channel in form.channels if channel.varies]
    names = [channel.name for channel in varying]
    count = len(varying)
    modes = ["!"] * count
    value, speed = np.zeros(count), np.zeros(count)
    rows = []
    text = "".join(trace.itertext()).strip()
    for number, point in enumerate(filter(None, (part.strip() for part in text.split(",")))):
        found = _VALUE.findall(point)
        if len(found) < min(count, 2) or len(found) > count:
            raise UnwrittenError(
                f"{path}: point {number} of a trace holds {len(found)} values for {count} channels; mend it"
            )
        for index, (mode, word) in enumerate(found):
            modes[index] = mode or modes[index]
            if word == "*":
                speed[index] = speed[index] if modes[index] != "!" else 0.0
                value[index] += speed[index]
                continue
            if word in "?TF":
                continue
            amount = float(int(word[1:], 16)) if word.startswith("#") else float(word)
            if modes[index] == "!":
                value[index], speed[index] = amount, 0.0
            elif modes[index] == "'":
                speed[index] = amount
                value[index] += amount
            else:
                speed[index] += amount
                value[index] += speed[index]
        rows.append(value.copy())
    if not rows:
        raise UnwrittenError(f"{path}: a trace holds no points; remove it")
    table = np.array(rows) * [channel.scale for channel in varying]
    try:
        xy_mm = table[:, [names.index("X"), names.index("Y")]] * [1.0, -1.0]
    except ValueError as error:
        raise UnwrittenError(f"{path}: its trace format has no X and Y; give ink with positions") from error
    return xy_mm, table[:, names.index("T")] if "T" in names else None


def _formats(root: Element) -> dict[str, _Format]:
    """The trace format of each context by its id; "" is the one that holds where nothing is said."""
    sources = {_id(source): source for source in root.iter() if local_name(source) == "inkSource"}
    alone = next(iter(sources.values()), None)
    by_format_id = {_id(form): form for form in root.iter() if local_name(form) == "traceFormat"}
    found: dict[str, _Format] = {}
    for context in (item for item in root.iter() if local_name(item) == "context"):
        source = next((item for item in context.iter() if local_name(item) == "inkSource"), None)
        source = source if source is not None else sources.get(context.get("inkSourceRef", "").lstrip("#"), alone)
        form = next((item for item in context.iter() if local_name(item) == "traceFormat"), None)
        if form is None:
            form = by_format_id.get(context.get("traceFormatRef", "").lstrip("#"))
        found[_id(context)] = _format(form, source)
    first = next(iter(found.values()), None)
    found[""] = first or _format(next(iter(by_format_id.values()), None), alone)
    return found


def _format(form: Element | None, source: Element | None) -> _Format:
    resolution: dict[str, tuple[float, str]] = {}
    rate_hz = 0.0
    for item in source.iter() if source is not None else ():
        if local_name(item) == "channelProperty" and item.get("name") == "resolution":
            resolution[item.get("channel", "")] = (_float(item.get("value")), item.get("units", "1/mm"))
        if local_name(item) == "sampleRate":
            rate_hz = _float(item.get("value"))
    if form is None and source is not None:
        form = next((item for item in source.iter() if local_name(item) == "traceFormat"), None)
    if form is None:
        return _Format((_Channel("X", DEVICE_UNIT_MM), _Channel("Y", DEVICE_UNIT_MM)), rate_hz)
    channels = []
    for part in form:
        inner = list(part) if local_name(part) == "intermittentChannels" else [part]
        for channel in (item for item in inner if local_name(item) == "channel"):
            name = channel.get("name", "")
            channels.append(_Channel(name, _scale(name, channel.get("units", ""), resolution.get(name))))
    return _Format(tuple(channels), rate_hz)


def _scale(name: str, unit: str, resolution: tuple[float, str] | None) -> float:
    """What a value of a channel is multiplied by to give mm or s."""
    if name == "T":
        return S_OF_UNIT.get(unit, 1e-3)
    if unit in MM_OF_UNIT:
        return MM_OF_UNIT[unit]
    if resolution and resolution[0] > 0:
        return MM_OF_UNIT.get(resolution[1].removeprefix("1/"), 1.0) / resolution[0]
    return DEVICE_UNIT_MM


def _traces_of(group: Element, by_id: dict[str, Element]) -> Iterator[Element]:
    for item in group.iter():
        if local_name(item) == "trace":
            yield item
        elif local_name(item) == "traceView":
            reference = (item.get("traceDataRef") or item.get("traceRef") or "").lstrip("#")
            if reference in by_id:
                yield by_id[reference]


def _annotation(element: Element, kinds: tuple[str, ...]) -> str:
    for child in element:
        if local_name(child) == "annotation" and child.get("type") in kinds:
            return (child.text or "").strip()
    return ""


def _writer_of_context(root: Element) -> str:
    """A writer's name from an annotation anywhere, such as inside annotationXML."""
    for item in root.iter():
        if local_name(item).lower() in ("writer", "writerid", "author") and (item.text or "").strip():
            return str(item.text).strip()
    return ""


def _id(element: Element) -> str:
    return element.get("{http://www.w3.org/XML/1998/namespace}id") or element.get("id") or ""


def _float(text: str | None) -> float:
    try:
        return float(text or "")
    except ValueError:
        return 0.0
