"""Word lists: sizes that others quote, frequencies, other languages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unwritten.errors import UnwrittenError, UsageError
from unwritten.words import WordListSettings, word_list
from unwritten.words.lists import fold_accents, item_settings, letters_of, read_words
from unwritten.words.stop_words import STOP_WORDS


def test_the_benchmark_list_has_5809_words_of_2_to_5_letters() -> None:
    words = word_list("benchmark")
    assert len(words) == 5809
    assert all(2 <= len(word) <= 5 and word.isascii() and word.isalpha() and word.islower() for word in words)


def test_the_english_list_has_76717_words_and_holds_the_benchmark_list() -> None:
    english = word_list("english")
    assert len(english) == 76717
    assert set(word_list("benchmark")) <= set(english)


def test_words_stand_by_frequency_with_shares_of_running_text() -> None:
    words = word_list()
    assert words.words[0] == "the"
    assert np.all(np.diff(words.frequency) <= 0) and words.frequency.min() > 0
    assert words.frequency[0] == pytest.approx(0.0537, abs=1e-4)


def test_the_lists_of_each_length_are_the_whole_list() -> None:
    words = word_list()
    assert sum(len(words.of_length(length)) for length in range(2, 6)) == len(words)
    assert "above" in words.of_length(5) and "above" not in words.of_length(4)


def test_the_same_settings_give_the_same_list() -> None:
    one, other = (
        word_list(settings=WordListSettings(language="de", wordlist="small")),
        word_list(settings=WordListSettings(language="de", wordlist="small")),
    )
    assert one.words == other.words and np.array_equal(one.frequency, other.frequency)


def test_the_stoplist_takes_out_what_is_no_plain_word_and_nothing_else() -> None:
    every, plain = word_list(), word_list(settings=item_settings())
    assert len(plain) == 5809 - len(STOP_WORDS)
    assert set(every) - set(plain) == STOP_WORDS
    assert {"above", "the", "cat", "i'm"} & STOP_WORDS == set() and {"http", "nfl", "didn"} <= STOP_WORDS


@pytest.mark.parametrize(("accents", "has", "lacks"), [
    ("drop", "die", "fünf"),
    ("fold", "funf", "fünf"),
    ("keep", "fünf", "funf"),
])  # fmt: skip
def test_accents_are_dropped_folded_or_kept(accents: str, has: str, lacks: str) -> None:
    words = word_list(settings=WordListSettings(language="de", wordlist="small", accents=accents))  # type: ignore[arg-type]
    assert has in words and lacks not in words


def test_words_that_fold_to_one_add_their_frequencies() -> None:
    fold = word_list(settings=WordListSettings(language="fr", wordlist="small", accents="fold"))
    keep = word_list(settings=WordListSettings(language="fr", wordlist="small", accents="keep"))
    assert "a" not in fold  # one letter is too short
    folded, kept = (dict(zip(words.words, words.frequency, strict=True)) for words in (fold, keep))
    assert folded["ou"] == pytest.approx(kept["ou"] + kept["où"])


def test_scripts_with_marks_count_letters_and_not_code_points() -> None:
    words = word_list(settings=WordListSettings(language="hi", wordlist="small", accents="keep"))
    assert "नहीं" in words.of_length(2)


def test_an_unknown_language_or_list_is_bad_usage() -> None:
    with pytest.raises(UsageError, match="languages are"):
        word_list(settings=WordListSettings(language="xx"))
    with pytest.raises(UsageError, match="known are benchmark, english"):
        word_list("german")
    with pytest.raises(ValueError, match="accents"):
        WordListSettings(accents="none")  # type: ignore[arg-type]


@given(st.text(alphabet="abcéöçñßøłœabc", max_size=12))
def test_folding_twice_changes_nothing_and_leaves_ascii(text: str) -> None:
    folded = fold_accents(text)
    assert folded.isascii() and fold_accents(folded) == folded


def test_letters_keep_their_marks_together() -> None:
    assert letters_of("e\u0301te\u0301") == ("é", "t", "é")
    assert letters_of("the cat") == tuple("thecat")


def test_a_file_of_words_is_read_and_a_bad_one_named(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("\ufeff# mine\ncat\n\n dog \ncat\nthe cat\n", encoding="utf-8")
    assert read_words(path) == ("cat", "dog", "the cat")
    path.write_text("# nothing\n")
    with pytest.raises(UnwrittenError, match=r"words\.txt: holds no word"):
        read_words(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UnwrittenError, match="not UTF-8"):
        read_words(path)
    with pytest.raises(UnwrittenError, match="No such file"):
        read_words(tmp_path / "other.txt")
