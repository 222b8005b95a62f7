"""Score tables as a person reads them in a terminal; percent only here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from unwritten.scoring.compare import Comparison, FusionEffect
from unwritten.scoring.scores import Score

_MEASURES = ("above chance", "edit", "words", "top-5")


def format_scores(scores: Sequence[Score]) -> str:
    """The score table, one block per benchmark and protocol, with a line on what the intervals take as given."""
    blocks: dict[tuple[str, str], list[Score]] = {}
    for score in scores:
        blocks.setdefault((score.benchmark, score.protocol), []).append(score)
    out = []
    for (benchmark, protocol), rows in blocks.items():
        out.append(f"{benchmark}, protocol {protocol}")
        styles = list(dict.fromkeys(row.style for row in rows if row.style != "all"))
        # One style needs no column of its own beside the total.
        styles = styles if len(styles) > 1 else []
        by_style = {(row.reader, row.modality, row.style): row for row in rows}
        totals = [row for row in rows if row.style == "all"]
        served = ["model that answered"] if any(row.served_model for row in totals) else []
        headings = ("reader", "modality", "n", "OLA %", "95 % interval", *styles, *_MEASURES, "failed", *served)
        out.append(
            format_table(
                headings,
                [[*_cells(row, styles, by_style), *([row.served_model] if served else [])] for row in totals],
            )
        )
        if any(row.ola_low is not None for row in totals):
            given = sorted({row.given for row in totals if row.given})
            out.append("Intervals cross words with what they share" + (f", {' or '.join(given)}." if given else "."))
        out.append("")
    return "\n".join(out).rstrip()


def format_answering(scores: Sequence[Score]) -> str:
    """How readers answered that can fail to, or did, in percent; empty without such readers."""
    totals = [score for score in scores if score.answering is not None]
    # Letters, synthetic and live words apart are parts of the same.
    totals = [score for score in totals if "/" not in score.benchmark] or totals
    rows = []
    for score in totals:
        measured = score.answering
        assert measured is not None
        present = measured.presence
        own = measured.collapse
        varied = ["", "", "", ""]
        if own is not None:
            top = f"{own.most_frequent[0][0]} {percent(own.top_share)}"
            usual = f"{percent(own.frequent_share)} ({percent(own.frequent_truths)})"
            varied = [top, percent(own.top_10_share), percent(own.entropy_share), usual]
        rows.append(
            [
                *texts(score, "reader", "modality"),
                ", ".join(f"{state} {count}" for state, count in measured.states.items() if count),
                percent(measured.input_failure_rate),
                "/".join(percent(value, 0) or "-" for value in (present.precision, present.recall, present.f1)),
                *map(percent, (measured.pass_rate, measured.ola_all, measured.ola_answered)),
                *varied,
            ]
        )
    headings = (
        "reader", "modality", "states", "lost", "present", "pass", "OLA", "answered", "top answer", "top ten",
        "entropy", "frequent",
    )  # fmt: skip
    return format_table(headings, rows) if rows else ""


def format_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Text columns: words to the left, numbers to the right."""
    widths = [max(len(line[column]) for line in [headings, *rows]) for column in range(len(headings))]
    left = [all(_is_word(row[column]) for row in rows) for column in range(len(headings))]
    lines = []
    for row in [headings, ["-" * width for width in widths], *rows]:
        cells = [
            cell.ljust(width) if to_left else cell.rjust(width)
            for cell, width, to_left in zip(row, widths, left, strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def format_fusion(effects: Sequence[FusionEffect], fewest: int = 10) -> str:
    """Audio+video against the better single modality, in points of OLA; empty when no effect has ``fewest`` items."""
    effects = [effect for effect in effects if effect.n >= fewest]
    if not effects:
        return ""
    rows = [
        [
            *texts(effect, "reader", "benchmark", "style", "n", "better_single"),
            points(effect.effect),
            limits(effect.low, effect.high, points),
            points(effect.bound),
            "yes" if effect.non_inferior else "not shown",
        ]
        for effect in effects
    ]
    headings = ("reader", "benchmark", "style", "n", "better", "AV minus it", "95 % interval", "bound", "no worse")
    return format_table(headings, rows)


def _is_word(cell: str) -> bool:
    return not cell[:1].isdigit() and cell[:1] not in "+-" and cell != ""


def _cells(score: Score, styles: Sequence[str], by_style: Mapping[tuple[str, str, str], Score]) -> list[str]:
    interval = "" if score.ola_low is None else limits(score.ola_low, score.ola_high or 0)
    # A printed number keeps the digits that it was printed with.
    digits = 1 if score.n is not None else 2
    own = [by_style.get((score.reader, score.modality, style)) for style in styles]
    return [
        *texts(score, "reader", "modality", "n"),
        percent(score.ola, digits),
        interval,
        *(percent(None if row is None else row.ola, digits) for row in own),
        *map(percent, (score.corrected_ola, score.edit_similarity, score.word_accuracy, score.top5)),
        *texts(score, "failed"),
    ]


def texts(row: object, *names: str) -> list[str]:
    """Cells of these attributes as they are; what is unknown is empty."""
    values = (getattr(row, name) for name in names)
    return ["" if value is None else str(value) for value in values]


def percent(value: float | None, digits: int = 1) -> str:
    """A fraction in percent; empty where nothing is known."""
    return "" if value is None else f"{100 * value:.{digits}f}"


def points(value: float) -> str:
    """A difference of fractions in points, signed."""
    return f"{100 * value:+.1f}"


def limits(low: float, high: float, each: Callable[[float], str] = percent) -> str:
    """Both limits of an interval."""
    return f"{each(low)} .. {each(high)}"


def gained(comparison: Comparison | None) -> tuple[str, str]:
    """A difference in points, and its interval; empty where nothing was compared."""
    if comparison is None:
        return "", ""
    return points(comparison.difference), limits(comparison.low, comparison.high, points)
