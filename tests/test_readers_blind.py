"""Blind readers look at nothing and never at the test's list; recorded ones give back what was said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from unwritten.errors import UnwrittenError, UsageError
from unwritten.readers.base import Reader
from unwritten.readers.blind import BlindReader, BlindSettings, letter_shares
from unwritten.readers.recorded import RecordedReader, published_scores, recorded_readers
from unwritten.scoring import ordered_letter_accuracy
from unwritten.types import Clip
from unwritten.words.lists import WordList, word_list

KNOWN = WordList(("cat", "cot", "dot", "is", "it"), np.array([4.0, 3.0, 2.0, 2.0, 1.0]))
TEST_WORDS = word_list("benchmark").words[::9]


def ola_of(strategy: str, words: tuple[str, ...] = TEST_WORDS) -> float:
    reader = BlindReader(BlindSettings(strategy=strategy))  # type: ignore[arg-type]
    clips = [Clip(word, word=word) for word in words]
    answers = reader.read(clips, "av")
    return float(np.mean([ordered_letter_accuracy(c.word or "", a.word) for c, a in zip(clips, answers, strict=True)]))


def test_the_floor_is_where_it_is_known_to_be() -> None:
    # Without any input: one constant word for each length 14 to 16 %, a random word of the length about half of that.
    assert 0.13 < ola_of("constant") < 0.17
    assert 0.13 < ola_of("letters") < 0.17
    assert 0.06 < ola_of("random") < 0.10
    assert ola_of("random") < ola_of("few-shot") < ola_of("constant")


@pytest.mark.parametrize("strategy", ["constant", "random", "letters", "few-shot"])
def test_guesses_have_the_right_length_whatever_the_word(strategy: str) -> None:
    reader = BlindReader(BlindSettings(strategy=strategy))  # type: ignore[arg-type]
    assert isinstance(reader, Reader)
    for length in (1, 2, 5, 9, 40):
        assert len(reader.guess(length, "item")[0]) == length


def test_the_truth_changes_nothing_but_its_length() -> None:
    reader = BlindReader(BlindSettings(strategy="random"))
    one = next(reader.read([Clip("x", word="table")], "audio"))
    other = next(reader.read([Clip("x", word="chair")], "video"))
    assert one.word == other.word


def test_the_constant_guess_is_the_word_of_highest_expected_accuracy() -> None:
    reader = BlindReader(BlindSettings(strategy="constant", power=1.0), KNOWN)
    # c 7/9, o 5/9, t 9/9: "cot" beats the more frequent "cat".
    assert reader.guess(3)[0] == "cot"
    assert reader.guess(2)[1] == (("is", pytest.approx(2 / 3)), ("it", pytest.approx(1 / 3)))


def test_letter_shares_sum_to_one_at_each_position() -> None:
    shares, alphabet = letter_shares(["cat", "cot"], np.array([0.25, 0.75]))
    assert shares.sum(axis=1) == pytest.approx([1, 1, 1])
    assert shares[1, alphabet.index("o")] == pytest.approx(0.75)


def test_a_floor_is_not_fitted_on_the_tests_list() -> None:
    with pytest.raises(UsageError, match="not fitted on"):
        BlindReader(BlindSettings(words="benchmark"))


def test_a_floor_can_be_fitted_on_training_words(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("moon\nnoon\n")
    assert BlindReader(BlindSettings(words=str(tmp_path / "train.txt"))).guess(4)[0] in ("moon", "noon")


def test_an_unknown_length_is_a_failed_answer_and_no_crash() -> None:
    answer = next(BlindReader(words=KNOWN).read([Clip("x")], "av"))
    assert answer.state == "failed" and "letters is unknown" in answer.error


def test_published_tables_are_complete() -> None:
    scores = {(s.reader, s.benchmark, s.modality, s.style): s.ola for s in published_scores()}
    assert scores["published-human", "unwritten/synthetic", "audio", "all"] == 0.1947
    assert scores["published-gemini-2.5-pro", "unwritten/live", "av", "all"] == 0.0637
    assert ("published-gpt-4o", "unwritten/synthetic", "av", "all") not in scores
    # 5 readers and 4 live rows, 3 modalities less GPT-4o's AV, then three styles of each reader.
    assert len(scores) == (5 * 3 - 1) + (4 * 3 - 1) + 3 * (5 * 3 - 1)
    with pytest.raises(UnwrittenError, match="nothing of this name was published"):
        published_scores(["published-gpt-9"])


CSV = "item,modality,answer,person,seconds\na,audio,Cat,anna,2.5\nb,video,,anna,\n"


def test_peoples_answers_come_back_and_only_what_they_were_asked(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(CSV + "elsewhere,audio,dog,anna,1\n")
    reader = RecordedReader(path, "human")
    clips = [Clip("a", word="cat"), Clip("b", word="dog"), Clip("c", word="sun")]
    assert reader.modalities() == ("audio", "video")
    assert [clip.id for clip in reader.asked(clips, "audio")] == ["a"]
    (answer,) = reader.read(clips, "audio")
    assert (answer.word, answer.raw, answer.seconds, answer.details) == ("cat", "Cat", 2.5, {"person": "anna"})
    assert next(reader.read(clips, "video")).state == "empty"
    assert reader.unknown_items(clips) == ("elsewhere",)


def test_people_who_shared_the_items_are_one_reader_and_people_who_repeated_them_are_several(tmp_path: Path) -> None:
    shared, repeated = tmp_path / "shared.csv", tmp_path / "repeated.csv"
    shared.write_text("item,modality,answer,person\na,audio,cat,anna\nb,audio,dog,ben\n")
    repeated.write_text("item,modality,answer,person\na,audio,cat,anna\na,audio,dog,ben\n")
    assert [reader.name for reader in recorded_readers(shared, "human")] == ["human"]
    assert [reader.name for reader in recorded_readers(repeated, "human")] == ["human-anna", "human-ben"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("item,answer\na,cat\n", "no column 'modality'"),
        ("item,modality,answer\n", "holds no answer"),
        ("item,modality,answer\na,smell,cat\n", "line 2: 'smell' is no modality"),
        ("item,modality,answer,seconds\na,audio,cat,soon\n", "line 2: 'soon' is no number"),
    ],
)
def test_a_bad_file_of_answers_is_named_with_its_line(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "people.csv"
    path.write_text(content)
    with pytest.raises(UnwrittenError, match=message) as caught:
        RecordedReader(path)
    assert str(path) in str(caught.value)
