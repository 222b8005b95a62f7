"""The answers table keeps everything, names what is wrong, and scores what it must."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from unwritten.errors import UnwrittenError
from unwritten.scoring.scores import CONTRACT, Score, item_scores, score_table, single_protocol, write_scores
from unwritten.scoring.table import answers_table, clean, read_answers, to_answers, write_answers
from unwritten.scoring.text import format_scores
from unwritten.types import Answer, Clip

PARQUET_COLUMNS = [
    "item", "reader", "modality", "style", "protocol", "truth", "raw", "word", "candidates", "state", "seconds",
    "tokens_in", "tokens_out", "cost", "error",
]  # fmt: skip


def clip(word: str | None, style: str = "standard", source: str = "synthetic") -> Clip:
    letters = tuple(f"{style}/{letter}" for letter in word or "") if source == "synthetic" else ()
    return Clip(f"{source}/{style}/{word}", style=style, word=word, source=source, writer=style, letter_clips=letters)


def answer(item: Clip, word: str, reader: str = "r", modality: str = "av", **other: object) -> Answer:
    return Answer(item.id, reader, modality, raw=word, word=word, **other)  # type: ignore[arg-type]


@pytest.fixture
def clips() -> list[Clip]:
    return [clip("cat"), clip("dog"), clip("sun", "cursive"), clip("map", "cursive")]


def table_of(clips: list[Clip], words: list[str], **other: object) -> pd.DataFrame:
    return answers_table([answer(c, w, **other) for c, w in zip(clips, words, strict=True)], clips, "b", "transfer")[0]


def test_a_table_comes_back_from_disk_as_it_was(tmp_path: Path, clips: list[Clip]) -> None:
    given = [
        answer(clips[0], "cat", candidates=(("cat", 0.75), ("cut", 0.25)), seconds=1.5, details={"a": [1, "x"]}),
        answer(clips[1], "dig", tokens_in=100, tokens_out=3, cost=0.02),
        answer(clips[2], "", state="refused", error="it would not say"),
    ]
    table, _ = answers_table(given, clips, "bench", "transfer")
    write_answers(table, tmp_path / "answers.parquet")
    back = read_answers(tmp_path)
    assert to_answers(back) == given
    assert list(back["letter_clips"]) == [c.letter_clips for c in clips[:3]]
    assert [name for name in back.columns if name in PARQUET_COLUMNS] == PARQUET_COLUMNS


def test_what_is_wrong_is_named_and_counted(clips: list[Clip]) -> None:
    nameless = clip(None)
    given = [
        answer(clips[0], "cut"),
        answer(clips[0], "cat"),
        answer(clips[1], ""),
        answer(clips[2], "s4n!"),
        answer(nameless, "sun"),
        Answer("elsewhere", "r", "av", word="who"),
    ]
    asked = [("r", "av", c.id) for c in [*clips, nameless]]
    table, problems = answers_table(given, [*clips, nameless], "b", "transfer", asked)
    assert problems.counts() == {
        "unknown_items": 1,
        "duplicates": 1,
        "missing_truth": 1,
        "missing_answers": 1,
        "empty_answers": 1,
        "non_letter_answers": 1,
        "unknown_states": 0,
    }
    assert any("r/av/elsewhere" in line for line in problems.lines())
    by_item = table.set_index("item")
    assert by_item.loc[clips[0].id, "word"] == "cat"  # the last of duplicates
    assert by_item.loc[clips[1].id, "state"] == "empty"
    assert by_item.loc[clips[3].id, "state"] == "failed"


def test_items_without_an_answer_count_zero_in_every_mean(clips: list[Clip]) -> None:
    given = [
        answer(clips[0], "cat"),
        answer(clips[1], "dog"),
        # A reader that failed but left a word behind has still not answered.
        answer(clips[2], "sun", state="failed", error="timeout"),
    ]
    table, _ = answers_table(given, clips, "b", "transfer", [("r", "av", c.id) for c in clips])
    total = next(score for score in score_table(table) if score.style == "all")
    assert (total.n, total.answered, total.failed) == (4, 2, 2)
    assert total.ola == pytest.approx(0.5)
    assert total.word_accuracy == pytest.approx(0.5)
    assert total.edit_similarity == pytest.approx(0.5)
    assert total.top5 == pytest.approx(0.5)


def test_items_without_a_truth_are_in_no_mean(clips: list[Clip]) -> None:
    nameless = clip(None)
    table, _ = answers_table([answer(clips[0], "cat"), answer(nameless, "x")], [*clips, nameless], "b", "transfer")
    assert score_table(table)[0].n == 1
    with pytest.raises(UnwrittenError, match="no item's word is known"):
        score_table(table[table["truth"] == ""])


def test_scores_by_style_and_source_and_their_file(tmp_path: Path, clips: list[Clip]) -> None:
    live = clip("sit", source="live")
    table = table_of([*clips, live], ["cat", "dig", "xxx", "map", "sit"])
    scores = score_table(table)
    by_key = {(score.benchmark, score.style): score for score in scores}
    assert by_key["b", "all"].ola == pytest.approx((1 + 2 / 3 + 0 + 1 + 1) / 5)
    assert by_key["b", "cursive"].ola == pytest.approx(0.5)
    assert by_key["b/live", "all"].n == 1 and by_key["b/synthetic", "all"].n == 4
    write_scores(scores, tmp_path / "scores.json")
    rows = json.loads((tmp_path / "scores.json").read_text())
    assert all(tuple(row) == CONTRACT for row in rows)
    assert rows[0]["answered"] + rows[0]["failed"] == rows[0]["n"]
    assert 0 <= rows[0]["ola_low"] <= rows[0]["ola"] <= rows[0]["ola_high"] <= 1


def test_protocols_are_never_averaged(clips: list[Clip]) -> None:
    mixed = pd.concat(
        [table_of(clips[:2], ["cat", "xxx"]), table_of(clips[2:], ["sun", "map"]).assign(protocol="closed")]
    ).reset_index(drop=True)
    totals = {score.protocol: score.ola for score in score_table(mixed) if score.style == "all"}
    assert totals == {"transfer": pytest.approx(0.5), "closed": pytest.approx(1.0)}
    with pytest.raises(UnwrittenError, match="'closed' and 'transfer' in one row"):
        single_protocol(mixed)


def test_a_candidate_beyond_the_fifth_does_not_count(clips: list[Clip]) -> None:
    fifth = tuple((word, 0.1) for word in ["a", "b", "c", "d", "cat", "e"])
    sixth = tuple((word, 0.1) for word in ["a", "b", "c", "d", "e", "dog"])
    given = [answer(clips[0], "xxx", candidates=fifth), answer(clips[1], "xxx", candidates=sixth)]
    scored = item_scores(answers_table(given, clips, "b", "transfer")[0])
    assert list(scored["top5"]) == [1.0, 0.0]


def test_few_writers_are_given_and_many_are_resampled() -> None:
    words = ["cat", "dog", "sun", "map", "sit", "ran"]
    clips = [Clip(f"{w}", style="s", word=w, writer=f"w{index}") for index, w in enumerate(words)]
    assert score_table(table_of(clips[:3], words[:3]))[0].given == "given these 3 writers"
    assert score_table(table_of(clips, words))[0].given == ""


def test_a_published_row_prints_without_an_interval(clips: list[Clip]) -> None:
    row = Score("published-human", "b", "published", "audio", "all", None, 0.1947)
    text = format_scores([*score_table(table_of(clips, ["cat", "dog", "sun", "map"])), row])
    assert "19.47" in text and "protocol published" in text and "given these 2 writers" in text


def test_a_table_of_another_kind_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UnwrittenError, match="no such file"):
        read_answers(tmp_path / "none.parquet")
    (tmp_path / "text.parquet").write_text("not a table")
    with pytest.raises(UnwrittenError, match="is not an answers table"):
        read_answers(tmp_path / "text.parquet")
    pd.DataFrame({"item": ["a"]}).to_parquet(tmp_path / "other.parquet")
    with pytest.raises(UnwrittenError, match="lacks the column 'reader'"):
        read_answers(tmp_path / "other.parquet")


def test_an_unknown_state_counts_as_failed(clips: list[Clip]) -> None:
    table = table_of(clips, ["cat", "dog", "sun", "map"])
    table.loc[0, "state"] = "shrugged"
    cleaned, problems = clean(table)
    assert problems.counts()["unknown_states"] == 1
    assert np.isclose(score_table(cleaned)[0].ola, 0.75)


def test_texts_have_error_rates_that_count_case_and_words_of_small_letters_have_none() -> None:
    texts = [clip("Hello, world"), clip("42"), clip("ABC")]
    (total,) = (row for row in score_table(table_of(texts, ["hello world", "42", "ABD"])) if row.style == "all")
    assert total.cer == pytest.approx((2 + 0 + 1) / (12 + 2 + 3))
    assert total.wer == pytest.approx((1 + 0 + 1) / (2 + 1 + 1))
    assert total.cer_low is not None and total.cer_high is not None and total.cer_low <= total.cer <= total.cer_high
    (words,) = (row for row in score_table(table_of([clip("cat"), clip("dog")], ["Cat", "dig"])) if row.style == "all")
    assert words.cer is None and words.word_accuracy == 0.5


def test_texts_of_any_length_that_err_alike_leave_no_doubt_about_the_error_rate() -> None:
    texts = [clip("Ab " * count) for count in range(1, 9)]
    (total,) = (row for row in score_table(table_of(texts, ["Ax " * n for n in range(1, 9)])) if row.style == "all")
    assert total.wer == total.wer_low == total.wer_high == 1.0
