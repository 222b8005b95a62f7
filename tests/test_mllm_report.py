"""Runs of multimodal readers in the report: what they failed to answer, and at which rung they recover."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from unwritten.report.accounts import answering
from unwritten.report.inputs import Results, read_results
from unwritten.report.ladders import find_ladders, ladders_html
from unwritten.report.papers import latex, markdown
from unwritten.scoring.analysis import analyse, write_analysis
from unwritten.scoring.intervals import IntervalSettings
from unwritten.scoring.scores import score_table, write_scores
from unwritten.scoring.table import answers_table, write_answers
from unwritten.types import Answer, Clip, State

QUICK = IntervalSettings(replicates=200)
WORDS = [f"{first}{vowel}t" for first in "bcdfgm" for vowel in "aeiou"]
CLIPS = [Clip(word, word=word, style="standard") for word in WORDS]


def reads(reader: str, right: float, state: State = "answered", **details: object) -> list[Answer]:
    rng = np.random.default_rng(0)
    said = ["".join(x if rng.random() < right else "z" for x in word) for word in WORDS]
    return [
        Answer(word, reader, "video", answer, answer if state == "answered" else "", state=state, details=details)
        for word, answer in zip(WORDS, said, strict=True)
    ]


def run(folder: Path, name: str, answers: list[Answer]) -> Path:
    """A run directory as ``evaluate.py`` leaves it."""
    table, problems = answers_table(answers, CLIPS, "b", "transfer")
    scores = score_table(table, QUICK)
    write_answers(table, folder / name / "answers.parquet")
    write_scores(scores, folder / name / "scores.json")
    write_analysis(analyse(table, problems, QUICK, scores=scores), folder / name / "analysis.json")
    return folder / name


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """A sweep over rungs, one run for each, and a run of the baseline with truths handed in."""
    folder = tmp_path_factory.mktemp("runs")
    mixed = [*reads("talker", 0.1, rung="media")[:20], *reads("talker", 0.1, "refused", rung="media")[20:]]
    runs = [
        run(folder, "0", [*mixed, *reads("blind-letters", 0.2)]),
        run(folder, "1", [*reads("talker+ink", 0.1, rung="ink"), *reads("words+ink", 0.1, rung="ink")]),
        run(folder, "2", [*reads("talker+letters", 0.9, rung="letters"), *reads("words+letters", 0.1, rung="letters")]),
        run(
            folder,
            "3",
            [
                *reads("ctc", 0.5),
                *reads("ctc-true-tips", 0.6, oracle="tips", oracle_base="ctc"),
                *reads("ctc-true-shots", 0.5, oracle="shots", oracle_base="ctc")[:15],
            ],
        ),
    ]
    return read_results(runs)


def test_the_rungs_of_several_runs_are_one_ladder_and_truths_handed_to_the_baseline_another(results: Results) -> None:
    assert [ladder.rungs for ladder in find_ladders(results)] == [
        (("talker", "the clip alone"), ("talker+ink", "ink"), ("talker+letters", "letters")),
        (("words+ink", "ink"), ("words+letters", "letters")),
        (("ctc", "the clip alone"), ("ctc-true-tips", "tips"), ("ctc-true-shots", "shots")),
    ]


def cells(html: str, caption: str) -> list[list[str]]:
    import re

    (table,) = [part for part in html.split("<table")[1:] if f"<caption>{caption}" in part]
    rows = re.findall(r"<tr>(.*?)</tr>", table.split("</table>")[0], re.S)
    return [[re.sub(r"<[^>]*>", "", cell) for cell in re.findall(r"<t[dh].*?</t[dh]>", row)] for row in rows[1:]]


def test_the_page_says_at_which_rung_each_model_recovers(results: Results) -> None:
    html = ladders_html(results)
    assert cells(html, "Where each model recovers") == [
        ["talker", "b", "muted video", "letters"],
        ["words", "b", "muted video", "none of them"],
    ]
    tips, shots = cells(html, "ctc, handed a part of the truth: b")[1:]
    assert tips[1] == "tips" and tips[5].startswith("+")
    assert shots[5].startswith("+0.0")  # on the fifteen items that both were asked, not on others


def test_what_was_not_answered_is_told_apart_in_every_table(results: Results) -> None:
    came = {row[0]: row[1:] for row in cells(answering(results), "Answers that came")}
    assert set(came) == {"talkerb", "talker+inkb", "talker+lettersb", "words+inkb", "words+lettersb"}
    assert came["talkerb"][:5] == ["muted video", "30", "20", "10", "0"]
    varied = {row[0]: row[1:] for row in cells(answering(results), "How varied")}
    assert varied["talkerb"][1] == "20"
    assert "| talker | MV | 30 | refused 10 | 0.0 | 80.0 |" in markdown(results)
    assert r"talker & MV & 30 & refused 10 & 0.0 & 80.0 &" in latex(results)
    assert "blind-letters | MV" not in markdown(results)
