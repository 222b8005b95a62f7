"""The tables of the page: scores, paired comparisons, calibration, how readers answered, time and cost."""

from __future__ import annotations

from html import escape

from unwritten.report.html import Cell, details, given, number, share, table
from unwritten.report.inputs import Results, Row
from unwritten.report.labels import NONE, interval, percent, points, reader_label, side_information
from unwritten.scoring.mllm import FREQUENT
from unwritten.types import MODALITIES, STATES
from unwritten.wording import counted


def scoreboard(results: Results) -> str:
    """Every total with protocol, side information, floor, interval and failures."""
    headings = (
        "reader", "given", "OLA %", "95 % interval", "over floor", "floor %", "n", "failed", "protocol", "told",
        "above chance %", "edit sim. %", "words %", "top-5 %",
    )  # fmt: skip
    out = []
    for benchmark in dict.fromkeys(b for b, _ in results.groups()):
        totals = results.totals(benchmark)
        best = {m: max((r["ola"] for r in totals if r["modality"] == m), default=None) for m in MODALITIES}
        rows = [_scored(results, row, row["ola"] == best[row["modality"]]) for row in totals]
        served = any(row.get("served_model") for row in totals)
        if served:
            models = [Cell(row.get("served_model") or NONE) for row in totals]
            rows = [[cells[0], model, *cells[1:]] for cells, model in zip(rows, models, strict=True)]
        names = (headings[0], "model that answered", *headings[1:]) if served else headings
        shown = table(f"Scores on {benchmark}; the best of each modality in bold", names, rows, sortable=True)
        shared = sorted({row["given"] for row in totals if row.get("given")})
        if shared:
            note = f"Intervals cross words with what they share, {' or '.join(shared)}."
            shown += f'<p class="note">{escape(note)}</p>'
        # Letters, synthetic and live words apart are parts of the same: one click away.
        whole = "/" not in benchmark
        out.append(shown if whole else details(f"{benchmark} alone", shown))
    if results.published:
        rows = [
            [
                reader_label(row["reader"]), row["benchmark"], side_information(results, None, row["reader"]),
                given(row["modality"]), Cell(percent(row["ola"], 2), row["ola"]),
            ]
            for row in results.printed
        ]  # fmt: skip
        printed = ("reader", "benchmark", "told", "given", "OLA %")
        numbers = table("As printed in the benchmark's paper", printed, rows, sortable=True)
        out.append(details("Published numbers: other items, no intervals", numbers))
    return "".join(out)


def _scored(results: Results, row: Row, best: bool) -> list[Cell | str]:
    floor = results.floor(row)
    over = None if floor is None else row["ola"] - floor
    measures = ("corrected_ola", "edit_similarity", "word_accuracy", "top5")
    return [
        reader_label(row["reader"]),
        given(row["modality"]),
        share(row["ola"], strong=best),
        Cell(interval(row["ola_low"], row["ola_high"]), row["ola_low"]),
        Cell(points(over), over),
        share(floor),
        number(row["n"]),
        number(row["failed"]),
        row["protocol"],
        side_information(results, row["run"], row["reader"]),
        *(share(row.get(name)) for name in measures),
    ]


def comparisons(results: Results) -> str:
    """Readers in pairs, Holm-corrected."""
    rows: list[list[Cell | str]] = [
        [
            f"{results.name_of(place, entry['first'])} minus {results.name_of(place, entry['second'])}",
            given(entry["modality"]),
            entry["style"],
            number(entry["n"]),
            Cell(points(entry["difference"]), entry["difference"]),
            f"{points(entry['low'])} to {points(entry['high'])}",
            Cell(_p(entry["p_holm"]), entry["p_holm"]),
        ]
        for place, entry in results.analysed("comparisons")
    ]
    headings = ("pair", "given", "style", "n", "difference, points", "95 % interval", "p (Holm)")
    if not rows:
        return ""
    inner = table("Paired differences on the same items", headings, rows, sortable=True)
    return details(f"{counted(len(rows), 'paired comparison')}, Holm-corrected", inner)


def _p(value: float | None) -> str:
    return NONE if value is None else f"{value:.3f}" if value >= 0.001 else "<0.001"


def calibration(results: Results) -> str:
    """Whether readers are right as often as their probabilities say."""
    rows: list[list[Cell | str]] = []
    for place, run in enumerate(results.runs):
        for key, entry in run.analysis.get("calibration", {}).items():
            reader, _, modality = key.rpartition("/")
            shares = [share(entry[name]) for name in ("confidence", "accuracy", "expected_error")]
            brier = Cell(f"{entry['brier']:.3f}", entry["brier"])
            name = reader_label(results.name_of(place, reader))
            rows.append([name, given(modality), number(entry["n"]), *shares, brier])
    headings = ("reader", "given", "n", "sure by %", "right %", "expected error, points", "Brier")
    if not rows:
        return ""
    inner = table("Probability of the answer against how often it is the word", headings, rows, sortable=True)
    return details("Calibration: is it right as often as it is sure?", inner)


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


def _came(row: Row) -> list[Cell | str]:
    measured = row["answering"]
    present = measured["presence"]
    shares = (
        measured["input_failure_rate"], present["precision"], present["recall"], present["f1"],
        *(measured["criteria"].get(name) for name in ("one_word", "right_length", "first_letter")),
        measured["pass_rate"], measured["ola_answered"],
    )  # fmt: skip
    counts = (measured["n"], *(measured["states"][state] for state in STATES))
    who = Cell(reader_label(row["reader"]), under=row["benchmark"])
    return [who, given(row["modality"]), *map(number, counts), *map(share, shares)]


def _varied(row: Row) -> list[Cell | str]:
    own = row["answering"]["collapse"]
    names = ("top_share", "top_10_share", "entropy_share", "frequent_share", "frequent_truths")
    who = Cell(reader_label(row["reader"]), under=row["benchmark"])
    counts = (number(own["answers"]), number(own["distinct"]))
    return [who, given(row["modality"]), *counts, own["most_frequent"][0][0], *(share(own[name]) for name in names)]


def costs(results: Results) -> str:
    """Time, tokens, money and kinds of failure of each reader."""
    rows: list[list[Cell | str]] = []
    for place, run in enumerate(results.runs):
        if run.table.empty:
            continue
        for (reader, modality), own in run.table.groupby(["reader", "modality"], sort=False):
            states = own["state"].value_counts()
            wrong = ", ".join(f"{state} {count}" for state, count in states.items() if state != "answered")
            cost = float(own["cost"].astype(float).sum()) if own["cost"].notna().any() else None
            tokens = [int(own[name].fillna(0).astype(float).sum()) for name in ("tokens_in", "tokens_out")]
            times_s = (float(own["seconds"].median()), float(own["seconds"].sum()))
            rows.append(
                [
                    reader_label(results.name_of(place, str(reader))),
                    given(str(modality)),
                    number(len(own)),
                    *(Cell(_seconds(value), value) for value in times_s),
                    *(Cell(f"{count:,}" if count else NONE, count) for count in tokens),
                    Cell(NONE if cost is None else f"${cost:.2f}", cost),
                    wrong or "none",
                ]
            )
    headings = (
        "reader", "given", "n", "s / item (median)", "s in all", "tokens in", "tokens out", "cost", "unanswered",
    )  # fmt: skip
    return table("Time (median and sum) and cost", headings, rows, sortable=True) if rows else ""


def _seconds(value: float) -> str:
    return f"{value:.3f}" if value < 0.0995 else f"{value:.1f}"
