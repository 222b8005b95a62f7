"""The page: one HTML file that needs nothing else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from unwritten.files import whole_file
from unwritten.report.accounts import answering, calibration, comparisons, costs, scoreboard
from unwritten.report.gallery import GallerySettings, Load, build_gallery, gallery_html
from unwritten.report.html import Cell, filled, section, static, table
from unwritten.report.inputs import Results
from unwritten.report.labels import MODALITY_NAMES, NONE, interval, percent, reader_label
from unwritten.report.ladders import ladders_html
from unwritten.report.sections import breakdowns, confusions, forest, fusion

_PACKAGES = ("torch", "torchaudio", "lightning", "numba", "numpy", "av", "opencv-python", "mediapipe", "wordfreq")


@dataclass(frozen=True)
class _Part:
    id: str
    name: str
    html: str
    lead: str = ""


def write_page(results: Results, path: Path | str, settings: GallerySettings, load: Load, title: str = "") -> Path:
    """Write the report.

    Args:
        results: all runs.
        path: of the page.
        settings: of the gallery.
        load: gives a run's clips and network.
        title: of the page; made from the benchmarks when empty.

    Raises:
        UnwrittenError: the place cannot be written.
    """
    html = make_page(results, settings, load, title)
    with whole_file(path) as temporary:
        temporary.write_text(html, encoding="utf-8")
    return Path(path)


def make_page(results: Results, settings: GallerySettings, load: Load, title: str = "") -> str:
    """The report as text."""
    headline = results.headline()
    main = (headline["reader"], headline["modality"]) if headline else ("", "")
    gallery = build_gallery(results, settings, load)
    parts = [
        _Part("scores", "Scores", scoreboard(results) + comparisons(results) + calibration(results),
              "Click a heading to sort. Told: what a reader knows beside the clip (n: the number of letters)."),
        _Part("forest", "Against the floor, models and people", forest(results)),
        _Part("fusion", "Does hearing help seeing?", fusion(results)),
        _Part("parts", "Where it goes wrong", breakdowns(results, main[0]),
              f"{reader_label(main[0])} by style, length of the word and position of the letter."),
        _Part("confusions", "Which letter for which", confusions(results.scored, main)),
        _Part("ladders", "Diagnosis", ladders_html(results), "What each further piece of information is worth."),
        _Part("items", "Item by item", gallery_html(gallery, main)),
        _Part("answering", "Did not answer", answering(results),
              "A missing answer counts 0 in every mean; here it is told apart from a wrong one."),
        _Part("cost", "Time and cost", costs(results)),
        _Part("provenance", "Provenance", _provenance(results)),
    ]  # fmt: skip
    parts = [part for part in parts if part.html]
    benchmarks = list(dict.fromkeys(b.partition("/")[0] for b, _ in results.groups()))
    name = title or f"Readers on {', '.join(benchmarks)}" if benchmarks else "Published numbers"
    return filled(
        "report.html",
        title=escape(name),
        style=static("report.css"),
        lead=_lead(results),
        links="".join(f'<li><a href="#{part.id}">{escape(part.name)}</a></li>' for part in parts),
        body="".join(section(part.id, part.name, part.html, part.lead) for part in parts),
        script=static("report.js"),
    )


def _lead(results: Results) -> str:
    """The result in a sentence and three numbers."""
    row = results.headline()
    if row is None:
        return "<p class='lead'>Published numbers alone: no reader was run.</p>"
    floor = results.floor(row)
    limits = interval(row["ola_low"], row["ola_high"])
    entries = [(f"{percent(row['ola'])} %", f"of letters right ({limits})" if limits else "of letters right")]
    if floor is not None:
        entries.append((f"{percent(floor)} %", "without any input: the floor"))
    if row.get("word_accuracy") is not None:
        entries.append((f"{percent(row['word_accuracy'])} %", "of words right"))
    entries.append((str(row["n"]), f"items, {row['failed']} unanswered"))
    facts = "".join(f"<div><dt>{escape(what)}</dt><dd>{escape(value)}</dd></div>" for value, what in entries)
    over = "" if floor is None else f": {_against(row['ola'] - floor)}"
    said = (
        f"{reader_label(row['reader'])} with {MODALITY_NAMES[row['modality']]} reads {percent(row['ola'])} % of the"
        f" letters in place on {row['benchmark']} (protocol {row['protocol']}){over}."
    )
    return f'<p class="lead">{escape(said)}</p><dl class="facts">{facts}</dl>'


def _against(difference: float) -> str:
    if abs(difference) < 0.0005:
        return "no more than a reader that sees and hears nothing"
    side = "above" if difference > 0 else "below"
    return f"{percent(abs(difference))} points {side} the best reader that sees and hears nothing"


def _provenance(results: Results) -> str:
    out = []
    for run in results.runs:
        about = run.provenance
        git = about.get("git") if isinstance(about.get("git"), dict) else None
        revision = (
            NONE if not git else str(git.get("revision", ""))[:12] + (" with changes" if git.get("changed") else "")
        )
        packages = about.get("packages")
        versions = packages if isinstance(packages, dict) else {}
        listed = ", ".join(f"{name} {versions[name]}" for name in _PACKAGES if name in versions)
        command = about.get("command")
        problems = {k.replace("_", " "): v for k, v in run.analysis.get("problems", {}).items() if v}
        rows: list[Sequence[Cell | str]] = [
            ["command", " ".join(map(str, command)) if isinstance(command, list) else NONE],
            ["time", str(about.get("time", NONE))],
            ["git revision", revision],
            ["Python", f"{about.get('python', NONE)} on {about.get('platform', NONE)}"],
            ["packages", listed or NONE],
            ["seed", str(run.config.get("seed", NONE))],
            ["answers with problems", json.dumps(problems) if problems else "none"],
        ]
        out.append(table(f"Run {run.name}", ("what", "value"), rows))
    return "".join(out)
