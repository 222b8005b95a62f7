"""The tables of the page: scores, paired comparisons, calibration, how readers answered, time and cost."""

from __future__ import annotations

from html import escape

from unwritten.report.html import Cell, table
from unwritten.report.inputs import Results, Row
from unwritten.report.labels import (
    MODALITY_NAMES,
    NONE,
    interval,
    percent,
    points,
    reader_label,
    side_information,
)
from unwritten.scoring.mllm import FREQUENT
from unwritten.types import MODALITIES, STATES
from unwritten.wording import counted

_ORDER: dict[str, int] = {modality: place for place, modality in enumerate(MODALITIES)}


def scoreboard(results: Results) -> str:
    """Every total with protocol, side information, floor, interval and failures."""
    headings = (
        "reader", "given", "OLA %", "95 % interval", "over floor", "floor %", "n", "failed", "protocol", "told",
        "above chance %", "edit sim. %", "words %", "top-5 %",
    )  # fmt: skip
    out = []
    for benchmark in dict.fromkeys(b for b, _ in results.groups()):
        rows = []
        totals = results.totals(benchmark)
        best = {m: max((r["ola"] for r in totals if r["modality"] == m), default=None) for m in MODALITIES}
        for row in totals:
            floor = results.floor(row)
            over = None if floor is None else row["ola"] - floor
            rows.append(
                [
                    Cell(reader_label(row["reader"])),
                    Cell(MODALITY_NAMES[row["modality"]], _ORDER[row["modality"]]),
                    Cell(percent(row["ola"]), row["ola"], strong=row["ola"] == best[row["modality"]]),
                    Cell(interval(row["ola_low"], row["ola_high"]), row["ola_low"]),
                    Cell(points(over), over),
                    Cell(percent(floor), floor),
                    _count(row["n"]),
                    _count(row["failed"]),
                    row["protocol"],
                    side_information(results, row["run"], row["reader"]),
                    *(
                        Cell(percent(row.get(name)), row.get(name))
                        for name in ("corrected_ola", "edit_similarity", "word_accuracy", "top5")
                    ),
                ]
            )
        given = sorted({row["given"] for row in totals if row.get("given")})
        shown = table(f"Scores on {benchmark}; the best of each modality in bold", headings, rows, sortable=True)
        if given:
            note = f"Intervals cross words with what they share, {' or '.join(given)}."
            shown += f'<p class="note">{escape(note)}</p>'
        # Letters, synthetic and live words apart are parts of the same: one click away.
        whole = "/" not in benchmark
        out.append(shown if whole else f"<details><summary>{escape(benchmark)} alone</summary>{shown}</details>")
    if results.published:
        rows = [
            [
                reader_label(row["reader"]),
                row["benchmark"],
                side_information(results, None, row["reader"]),
                Cell(MODALITY_NAMES[row["modality"]], _ORDER[row["modality"]]),
                Cell(percent(row["ola"], 2), row["ola"]),
            ]
            for row in results.published
            if row["style"] == "all"
        ]
        numbers = table(
            "As printed in the benchmark's paper", ("reader", "benchmark", "told", "given", "OLA %"), rows, True
        )
        out.append(f"<details><summary>Published numbers: other items, no intervals</summary>{numbers}</details>")
    return "".join(out)


def _count(value: int | None) -> Cell:
    return Cell(NONE if value is None else str(value), value)


def comparisons(results: Results) -> str:
    """Readers in pairs, Holm-corrected."""
    rows: list[list[Cell | str]] = []
    for place, run in enumerate(results.runs):
        for entry in run.analysis.get("comparisons", []):
            rows.append(
                [
                    f"{results.name_of(place, entry['first'])} minus {results.name_of(place, entry['second'])}",
                    Cell(MODALITY_NAMES.get(entry["modality"], entry["modality"]), _ORDER.get(entry["modality"])),
                    Cell(entry["style"]),
                    _count(entry["n"]),
                    Cell(points(entry["difference"]), entry["difference"]),
                    f"{points(entry['low'])} to {points(entry['high'])}",
                    Cell(_p(entry["p_holm"]), entry["p_holm"]),
                ]
            )
    headings = ("pair", "given", "style", "n", "difference, points", "95 % interval", "p (Holm)")
    if not rows:
        return ""
    inner = table("Paired differences on the same items", headings, rows, sortable=True)
    return f"<details><summary>{counted(len(rows), 'paired comparison')}, Holm-corrected</summary>{inner}</details>"


def _p(value: float | None) -> str:
    return NONE if value is None else f"{value:.3f}" if value >= 0.001 else "<0.001"


def calibration(results: Results) -> str:
    """Whether readers are right as often as their probabilities say."""
    rows: list[list[Cell | str]] = []
    for place, run in enumerate(results.runs):
        for key, entry in run.analysis.get("calibration", {}).items():
            reader, _, modality = key.rpartition("/")
            rows.append(
                [
                    reader_label(results.name_of(place, reader)),
                    Cell(MODALITY_NAMES.get(modality, modality), _ORDER.get(modality)),
                    _count(entry["n"]),
                    Cell(percent(entry["confidence"]), entry["confidence"]),
                    Cell(percent(entry["accuracy"]), entry["accuracy"]),
                    Cell(percent(entry["expected_error"]), entry["expected_error"]),
                    Cell(f"{entry['brier']:.3f}", entry["brier"]),
                ]
            )
    headings = ("reader", "given", "n", "sure by %", "right %", "expected error, points", "Brier")
    if not rows:
        return ""
    inner = table("Probability of the answer against how often it is the word", headings, rows, sortable=True)
    return f"<details><summary>Calibration: is it right as often as it is sure?</summary>{inner}</details>"


def answering(results: Results) -> str:
    """How readers answered that can fail to, or did, and how varied that is; empty without such readers."""
    totals = [row for row in results.totals() if row.get("answering")]
    if not totals:
        return ""
    headings = (
        "reader", "given", "n", *STATES, "lost %", "precision %", "recall %", "F1 %", "one word %", "right length %",
        "first letter %", "pass %", "OLA answered %",
    )  # fmt: skip
    came = table("Answers that came, and those that did not", headings, [_came(row) for row in totals], sortable=True)
    headings = (
        "reader", "given", "answers", "different", "most frequent", "its share %", "top ten %", "entropy %",
        "frequent words %", "of the true words %",
    )  # fmt: skip
    varied = [_varied(row) for row in totals if row["answering"]["collapse"]]
    note = (
        "Lost: items that never reached the reader. Precision, recall and F1: of a usable answer, one word of the right"
        " length. Pass: replied, one word, right length, right first letter and right word, so the share of right"
        " words. OLA answered: over answered items alone. Entropy: over the most that so many answers could have."
        f" Frequent words: the {FREQUENT} most frequent in English of 2 to 5 letters."
    )
    shown = came + (table("How varied the answers are", headings, varied, sortable=True) if varied else "")
    return f'{shown}<p class="note">{escape(note)}</p>'


def _whose(row: Row) -> list[Cell | str]:
    return [
        Cell(reader_label(row["reader"]), under=row["benchmark"]),
        Cell(MODALITY_NAMES[row["modality"]], _ORDER[row["modality"]]),
    ]


def _came(row: Row) -> list[Cell | str]:
    measured = row["answering"]
    present = measured["presence"]
    shares = (
        measured["input_failure_rate"], present["precision"], present["recall"], present["f1"],
        *(measured["criteria"].get(name) for name in ("one_word", "right_length", "first_letter")),
        measured["pass_rate"], measured["ola_answered"],
    )  # fmt: skip
    counts = (measured["n"], *(measured["states"][state] for state in STATES))
    return [*_whose(row), *map(_count, counts), *(Cell(percent(share), share) for share in shares)]


def _varied(row: Row) -> list[Cell | str]:
    own = row["answering"]["collapse"]
    names = ("top_share", "top_10_share", "entropy_share", "frequent_share", "frequent_truths")
    return [
        *_whose(row),
        _count(own["answers"]),
        _count(own["distinct"]),
        own["most_frequent"][0][0],
        *(Cell(percent(own[name]), own[name]) for name in names),
    ]


def costs(results: Results) -> str:
    """Time, tokens, money and kinds of failure of each reader."""
    rows: list[list[Cell | str]] = []
    for place, run in enumerate(results.runs):
        if run.table.empty:
            continue
        for (reader, modality), own in run.table.groupby(["reader", "modality"], sort=False):
            states = own["state"].value_counts()
            wrong = ", ".join(f"{state} {count}" for state, count in states.items() if state != "answered")
            known = own["cost"].notna()
            cost = float(own["cost"].astype(float).sum()) if known.any() else None
            tokens = [int(own[name].fillna(0).astype(float).sum()) for name in ("tokens_in", "tokens_out")]
            median, total = float(own["seconds"].median()), float(own["seconds"].sum())
            rows.append(
                [
                    reader_label(results.name_of(place, str(reader))),
                    Cell(MODALITY_NAMES.get(str(modality), str(modality)), _ORDER.get(str(modality))),
                    _count(len(own)),
                    Cell(_seconds(median), median),
                    Cell(_seconds(total), total),
                    Cell(f"{tokens[0]:,}" if tokens[0] else NONE, tokens[0]),
                    Cell(f"{tokens[1]:,}" if tokens[1] else NONE, tokens[1]),
                    Cell(NONE if cost is None else f"${cost:.2f}", cost),
                    wrong or "none",
                ]
            )
    headings = (
        "reader",
        "given",
        "n",
        "s / item (median)",
        "s in all",
        "tokens in",
        "tokens out",
        "cost",
        "unanswered",
    )
    return table("Time (median and sum) and cost", headings, rows, sortable=True) if rows else ""


def _seconds(value: float) -> str:
    return f"{value:.3f}" if value < 0.0995 else f"{value:.1f}"
