"""Where a model recovers is where it first reads better than blind guessing, item by item."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from unwritten.scoring.analysis import analyse, write_analysis
from unwritten.scoring.intervals import IntervalSettings
from unwritten.scoring.ladder import RUNGS, Place, ladders, places
from unwritten.scoring.printed import format_analysis
from unwritten.scoring.table import answers_table
from unwritten.types import Answer, Clip, State

QUICK = IntervalSettings(replicates=400)
WORDS = [f"{first}{vowel}{last}" for first in "bcdfgm" for vowel in "aeiou" for last in "nt"]
CLIPS = [Clip(word, word=word, style="standard") for word in WORDS]
RIGHT = {"media": 0.05, "ink": 0.05, "segmentation": 0.05, "strokes": 0.7, "letters": 0.95}


def reads(reader: str, right: float, seed: int, state: State = "answered", **details: object) -> list[Answer]:
    """A reader that gets each letter right with probability ``right``."""
    rng = np.random.default_rng(seed)
    said = ["".join(x if rng.random() < right else "z" for x in word) for word in WORDS]
    return [
        Answer(word, reader, "video", said[k], said[k], state=state, details=details) for k, word in enumerate(WORDS)
    ]


def climbs(model: str = "model", rungs: tuple[str, ...] = RUNGS) -> list[Answer]:
    return [
        answer
        for rung in rungs
        for answer in reads(f"{model}{'' if rung == 'media' else '+' + rung}", RIGHT[rung], 0, rung=rung)
    ]


def table_of(answers: list[Answer]) -> pd.DataFrame:
    return answers_table(answers, CLIPS, "b", "transfer")[0]


def test_a_model_recovers_at_the_first_rung_that_beats_blind_guessing() -> None:
    mixed = [*reads("blind-letters", 0.2, 9), *reads("blind-constant", 0.1, 8), *reversed(climbs())]
    (found,) = ladders(table_of(mixed), QUICK)
    assert [rung.given for rung in found.rungs] == list(RUNGS)
    assert (found.reader, found.modality, found.recovers) == ("model", "video", "strokes")
    against = [rung.over_blind for rung in found.rungs]
    assert {one.second for one in against if one} == {"blind-letters"}  # the better of those that see nothing
    assert [one.low > 0 for one in against if one] == [False, False, False, True, True]
    assert found.rungs[0].gain is None
    assert found.rungs[3].gain is not None and found.rungs[3].gain.second == "model+segmentation"


def test_without_blind_guessing_the_rung_before_stands_in_its_place() -> None:
    (found,) = ladders(table_of(climbs()), QUICK)
    assert all(rung.over_blind is None for rung in found.rungs)
    assert found.recovers == "strokes"


def test_a_blind_reader_that_was_asked_less_is_no_floor() -> None:
    (found,) = ladders(table_of([*climbs(), *reads("blind-letters", 0.2, 9)[:10]]), QUICK)
    assert all(rung.over_blind is None for rung in found.rungs)


def test_a_model_that_fails_everywhere_recovers_nowhere_and_one_of_words_alone_starts_at_the_ink() -> None:
    mixed = [
        *reads("blind-letters", 0.2, 9),
        *reads("lost", 0.0, 0, "failed", rung="media"),
        *reads("lost+ink", 0.0, 0, "failed", rung="ink"),
        *climbs("words", RUNGS[1:]),
    ]
    lost, words = ladders(table_of(mixed), QUICK)
    assert (lost.recovers, lost.rungs[1].ola) == ("", 0.0)
    assert (words.reader, words.rungs[0].given, words.recovers) == ("words", "ink", "strokes")


def test_readers_of_several_runs_keep_to_their_own_ladder() -> None:
    told = {"oracle": "tips", "oracle_base": "ctc"}
    answers = [
        *reads("m", 0.1, 0, rung="media"),
        *reads("m+ink", 0.1, 0, rung="ink"),
        *reads("m@second", 0.1, 0, rung="media"),
        *reads("m+ink@second", 0.1, 0, rung="ink"),
        *reads("m+strokes@third", 0.1, 0, rung="strokes"),
        *reads("ctc", 0.5, 0),
        *reads("ctc-true-tips", 0.5, 0, **told),
    ]
    assert places(table_of(answers)) == {
        "m": Place("m", "media", True),
        "m+ink": Place("m", "ink", True),
        "m@second": Place("m@second", "media", True),
        "m+ink@second": Place("m@second", "ink", True),
        "m+strokes@third": Place("m", "strokes", True),
        "ctc-true-tips": Place("ctc", "tips", False),
    }


def test_the_verdict_is_printed_and_stored_and_absent_where_nobody_climbed(tmp_path: Path) -> None:
    table = table_of([*climbs(), *reads("blind-letters", 0.2, 9)])
    analysis = analyse(table, settings=QUICK)
    printed = format_analysis(analysis, table, 0.01)
    assert "model, video, b: recovers at strokes." in printed
    (line,) = [line for line in printed.splitlines() if line.endswith("here")]
    assert line.split()[:3] == ["model", "video", "strokes"]
    write_analysis(analysis, tmp_path / "analysis.json")
    (stored,) = json.loads((tmp_path / "analysis.json").read_text())["ladders"]
    assert stored["recovers"] == "strokes"
    assert stored["rungs"][4]["over_blind"]["difference"] == pytest.approx(
        stored["rungs"][4]["ola"] - next(s.ola for s in analysis.scores if s.reader == "blind-letters")
    )
    alone = table_of(reads("ctc", 0.5, 0))
    assert "recovers" not in format_analysis(analyse(alone, settings=QUICK), alone, 0.01)
