"""The figures of the page: what each shows, says, and stands above as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Any

import pandas as pd

from unwritten.report.figures import Band, Guide, Mark, Row, dot_plot, heat_map, legend
from unwritten.report.html import figure, table
from unwritten.report.inputs import PUBLISHED, Results
from unwritten.report.labels import MODALITY_NAMES, NONE, interval, percent, points, reader_label
from unwritten.scoring.breakdown import confusion_matrix, most_confused
from unwritten.types import MODALITIES
from unwritten.wording import counted

_MAIN_TABLE = "unwritten/synthetic"  # what people and models were published on
_PER_FIGURE = 9
_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
_EMPTY = "∅"
_ORDER: dict[str, int] = {modality: place for place, modality in enumerate(MODALITIES)}
Scores = Sequence[dict[str, Any]]


def _by_reader(rows: Scores) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["reader"], []).append(row)
    return {reader: sorted(own, key=lambda row: _ORDER[row["modality"]]) for reader, own in found.items()}


def _whole(results: Results) -> list[str]:
    """Benchmarks that are no part of another, and parts that something was published on; all where none is."""
    names = list(dict.fromkeys(benchmark for benchmark, _ in results.groups()))
    return [name for name in names if "/" not in name or _has(results.published, name)] or names


def forest(results: Results) -> str:
    """All totals with their intervals against the floor, the published models and people."""
    out = [legend(blind=True)]
    printed, whole = results.printed, _whole(results)
    for benchmark, protocol in results.groups():
        if benchmark not in whole:
            continue
        rows = [row for row in results.totals(benchmark) if row["protocol"] == protocol]
        most = max(int(row["n"] or 0) for row in rows)
        floors = [f for row in rows if row["n"] == most and (f := results.floor(row)) is not None]
        own = _rows(rows, hollow=False)
        guides = [Guide(max(floors), f"floor {percent(max(floors))}")] if floors else []
        # A figure must fit on a printed page, so that many readers become several figures on one axis.
        *early, last = [own[place : place + _PER_FIGURE] for place in range(0, len(own), _PER_FIGURE)]
        bands = [Band(last, "", guides)]
        for name in dict.fromkeys(name for name in (benchmark, _MAIN_TABLE) if _has(printed, name)):
            note = "" if name == benchmark else " (other items)"
            bands.append(Band(_rows([r for r in printed if r["benchmark"] == name], True), f"published, {name}{note}"))
        highest = min(1.0, 1.03 * max([r["ola_high"] or r["ola"] for r in rows] + [r["ola"] for r in printed]))
        lead = max(rows, key=lambda row: row["ola"])
        title = f"{benchmark}, protocol {protocol}"
        said = (
            f"{title}: ordered letter accuracy of {len(own)} readers with 95 % intervals. Highest"
            f" {reader_label(lead['reader'])} from {MODALITY_NAMES[lead['modality']]} with {percent(lead['ola'])} %."
        )
        numbers = table(
            f"{title}: OLA in percent",
            ("reader", "given", "OLA %", "95 % interval"),
            [
                [
                    reader_label(r["reader"]), MODALITY_NAMES[r["modality"]], percent(r["ola"]),
                    interval(r["ola_low"], r["ola_high"]),
                ]
                for r in [*rows, *printed]
            ],
        )  # fmt: skip
        caption = (
            f"{title}. Ordered letter accuracy in percent; bars are 95 % intervals, the dashed"
            " line is the best reader that sees and hears nothing. Hollow marks are printed numbers without intervals."
        )
        above = [([Band(part, "", guides)], title, "") for part in early]
        for shown, said_below, below in [*above, (bands, caption, numbers)]:
            out.append(figure(dot_plot(f"OLA on {benchmark}", said, shown, 0.0, highest), said_below, below))
    return "".join(out)


def _has(rows: Scores, benchmark: str) -> bool:
    return any(row["benchmark"] == benchmark for row in rows)


def _rows(rows: Scores, hollow: bool) -> list[Row]:
    """One row for each reader; one that answers the same whatever it is given has one mark."""
    found = []
    for reader, own in _by_reader(rows).items():
        marks = [Mark(r["modality"], r["ola"], r["ola_low"], r["ola_high"], hollow) for r in own]
        blind = reader.startswith("blind-") and len({(m.value, m.low, m.high) for m in marks}) == 1
        found.append(Row(reader_label(reader), [replace(marks[0], modality="any")] if blind else marks))
    return found


def fusion(results: Results) -> str:
    """What sound and picture together add to the better of the two."""
    effects = {
        (results.name_of(place, effect["reader"]), effect["benchmark"]): effect
        for place, effect in results.analysed("fusion")
        if effect["style"] == "all"
    }
    bands, numbers = [], []
    for benchmark in _whole(results):
        rows, cells = _fused(results.totals(benchmark), benchmark, effects)
        numbers += cells
        if rows:
            bands.append(Band(rows, benchmark))
    if not bands:
        return ""
    for benchmark in dict.fromkeys(row["benchmark"] for row in results.printed):
        own = [row for row in results.printed if row["benchmark"] == benchmark]
        rows, cells = _fused(own, f"{benchmark}, published", {})
        numbers += cells
        if rows:
            bands.append(Band(rows, f"published, {benchmark}"))
    below = table(
        "Audio and video together against the better of the two",
        ("reader", "benchmark", "A %", "MV %", "AV %", "AV minus better [95 %]", "bound", "no worse"),
        numbers,
    )
    graphic = dot_plot(
        "Sound, muted video, and both",
        "OLA of each reader with sound, with muted video and with both, joined by a line; to the right both minus the"
        " better of the two in points.",
        bands,
        beside="gain",
    )
    margin = next((float(effect.get("margin", 0.01)) for effect in effects.values()), 0.01)
    caption = (
        "OLA with sound, muted video and both. Gain: what both add to the better single one, in points. No worse: the"
        " bound, which holds whichever of the two is truly better, lies above the margin of"
        f" {points(-margin)}."
    )
    return legend() + figure(graphic, caption, below)


def _fused(
    totals: Scores, benchmark: str, effects: Mapping[tuple[str, str], dict[str, Any]]
) -> tuple[list[Row], list[list[str]]]:
    """Rows of the figure and of the table, of the readers that see and hear; marks of published ones are hollow."""
    rows, numbers = [], []
    for reader, own in _by_reader(totals).items():
        if reader.startswith("blind-") or len(own) < 3:
            continue
        found = effects.get((reader, benchmark))
        effect = (
            found["effect"] if found else own[-1]["ola"] - max(row["ola"] for row in own if row["modality"] != "av")
        )
        hollow = own[0]["protocol"] == PUBLISHED
        notes = {"av": points(effect)}
        marks = [Mark(r["modality"], r["ola"], hollow=hollow, note=notes.get(r["modality"], "")) for r in own]
        rows.append(Row(reader_label(reader), marks, together=True))
        limits = f" [{points(found['low'])}, {points(found['high'])}]" if found else ""
        verdict = NONE if not found else "yes" if found["non_inferior"] else "not shown"
        numbers.append(
            [
                reader_label(reader), benchmark, *(percent(r["ola"]) for r in own), points(effect) + limits,
                points(found["bound"]) if found else "", verdict,
            ]
        )  # fmt: skip
    return rows, numbers


def breakdowns(results: Results, main: str) -> str:
    """The main reader by style, length and position of the letter."""
    figures = []
    styles = [
        {**row, "value": row["style"], "low": row["ola_low"], "high": row["ola_high"], "items": row["n"]}
        for row in results.scores
        if row["reader"] == main and row["style"] != "all" and "/" not in row["benchmark"]
    ]
    parts = [part for place, part in results.analysed("parts") if results.name_of(place, part["reader"]) == main]
    for by in ("style", "length", "position"):
        rows = styles if by == "style" else [part for part in parts if part["by"] == by]
        values = list(dict.fromkeys(row["value"] for row in rows))
        if not values:
            continue
        lines = []
        for value in values if by == "style" else sorted(values, key=int):
            own = sorted((r for r in rows if r["value"] == value), key=lambda r: _ORDER[r["modality"]])
            label = str(value)
            if by != "style":
                label = f"letter {value}" if by == "position" else counted(int(value), "letter")
            items = max(int(row["items"]) for row in own)
            lines.append(Row(label, [Mark(r["modality"], r["ola"], r["low"], r["high"]) for r in own],
                             aside=f"n = {items}"))  # fmt: skip
        numbers = table(
            f"{main} by {by}",
            (by, "given", "n", "OLA %", "95 % interval"),
            [[str(r["value"]), MODALITY_NAMES[r["modality"]], str(r["items"]), percent(r["ola"]),
              interval(r["low"], r["high"])] for r in rows],
        )  # fmt: skip
        said = f"OLA of {main} by {by} of the {'letter' if by == 'position' else 'word'}, {len(values)} values."
        figures.append(figure(dot_plot(f"{main} by {by}", said, [Band(lines)]), f"By {by}.", numbers))
    return f'{legend()}<div class="columns">{"".join(figures)}</div>' if figures else ""


def confusions(scored: pd.DataFrame, main: tuple[str, str]) -> str:
    """Which letter is read as which, a map for each reader that looks."""
    if scored.empty:
        return ""
    pairs = [
        (str(r), str(m))
        for (r, m), _ in scored.groupby(["reader", "modality"], sort=False)
        if not str(r).startswith("blind-")
    ]
    if not pairs:
        return ""
    pairs.sort(key=lambda pair: (pair != main,))
    options, figures = [], []
    for place, (reader, modality) in enumerate(pairs):
        rows = scored[(scored["reader"] == reader) & (scored["modality"] == modality)]
        counts = confusion_matrix(list(rows["truth"]), list(rows["counted"]), _ALPHABET)[:-1]
        most = most_confused(counts, _ALPHABET, 12, _EMPTY)
        name = f"{reader_label(reader)}, {MODALITY_NAMES[modality]}"
        said = (
            "; ".join(f"{truth} read as {read} {counted(number, 'time')}" for truth, read, number in most[:5])
            or "no confusion"
        )
        graphic = heat_map(
            f"Letters of the truth against the answer: {name}",
            f"Most frequent: {said}.",
            counts.tolist(),
            list(_ALPHABET),
            [*_ALPHABET, _EMPTY],
        )
        numbers = table("Most frequent confusions", ("truth", "read as", "times"), [[t, r, str(n)] for t, r, n in most])
        options.append(f'<option value="{place}">{escape(name)}</option>')
        caption = f"{name}. Rows: the letter written; columns: the letter read in its place ({_EMPTY}: none)."
        hidden = "" if place == 0 else " hidden"
        figures.append(f'<div data-choice="{place}"{hidden}>{figure(graphic, caption, numbers)}</div>')
    chooser = f'<label class="bar">Reader <select data-chooses="confusion">{"".join(options)}</select></label>'
    return f'{chooser}<div id="confusion">{"".join(figures)}</div>'
