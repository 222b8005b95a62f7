"""Texts are cut at their spaces, their words decoded one by one and put together again."""

from __future__ import annotations

import numpy as np
import pytest

from unwritten.decoding.alphabet import Alphabet
from unwritten.decoding.decode import decode
from unwritten.decoding.emissions import restricted
from unwritten.decoding.lexicon import Lexicon
from unwritten.decoding.settings import DecodingSettings
from unwritten.decoding.text import decode_text

LETTERS = "abcdehlortwABCHW .,1'"
SETTINGS = DecodingSettings(alphabet=LETTERS, rate_hz=15.0)


def spelled(text: str, sure: float = 0.95, doubts: dict[int, str] | None = None) -> np.ndarray:
    """Emissions of a text: two frames for each letter, two blanks after it; doubted letters have a likelier twin."""
    rows = []
    for place, letter in enumerate(text):
        row = np.full(len(LETTERS) + 1, (1 - sure) / len(LETTERS))
        row[LETTERS.index(letter) + 1] = sure
        if doubts and place in doubts:
            row[LETTERS.index(letter) + 1] = sure / 2 - 0.01
            row[LETTERS.index(doubts[place]) + 1] = sure / 2 + 0.01
        blank = np.full(len(LETTERS) + 1, (1 - sure) / len(LETTERS))
        blank[0] = sure
        rows += [row, row, blank, blank]
    rows = np.array(rows)
    return np.log(rows / rows.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("text", ["Hello world.", "a", "11.1", "t'Abc, dew", "CAB 1"])
def test_a_text_that_is_sure_is_read_as_it_is(text: str) -> None:
    assert decode_text(spelled(text), SETTINGS).whole.word == text


def test_words_stand_where_they_were_written_and_each_has_candidates() -> None:
    read = decode_text(spelled("aha ohe"), SETTINGS)
    assert [one.word for one in read.words] == ["aha", "ohe"]
    (_, first_end), (second_start, last) = (one.span_s for one in read.words)
    assert 0 < first_end <= second_start < last == pytest.approx(7 * 4 / 15)
    assert len(read.whole.letter_spans_s) == len("aha ohe")
    assert all(one.candidates[0][1] > 0.5 for one in read.words)


def test_the_lexicon_settles_a_letter_that_looks_like_another_and_lets_other_words_be() -> None:
    settings = DecodingSettings(alphabet=LETTERS, rate_hz=15.0, open_vocabulary=True, outside_prior=0.1)
    lexicon = Lexicon.build(("hello", "world", "the"), alphabet=Alphabet(LETTERS))
    emissions = spelled("hello bcd", doubts={4: "a"})
    assert decode_text(emissions, settings).whole.word == "hella bcd"
    assert decode_text(emissions, settings, lexicon).whole.word == "hello bcd"


def test_one_word_as_a_text_is_what_the_decoder_of_words_says() -> None:
    emissions = spelled("hello", sure=0.6)
    word, text = decode(emissions, SETTINGS), decode_text(emissions, SETTINGS)
    assert text.whole.word == word.word
    assert text.words[0].candidates == word.candidates


def test_nothing_written_is_an_empty_text_without_certainty() -> None:
    blank = np.full((30, len(LETTERS) + 1), np.log(0.01 / len(LETTERS)))
    blank[:, 0] = np.log(0.99)
    read = decode_text(blank, SETTINGS)
    assert read.whole.word == "" and read.words == () and read.whole.unsure


def test_a_reader_of_few_letters_takes_the_others_probability_to_its_own() -> None:
    emissions = spelled("Aha")
    few = restricted(emissions, LETTERS, "ha")
    assert few.shape == (len(emissions), 3)
    np.testing.assert_allclose(np.exp(few).sum(axis=1), 1.0)
    assert few[:, 1] - few[:, 2] == pytest.approx(emissions[:, LETTERS.index("h") + 1] - emissions[:, 1])
    assert restricted(emissions, LETTERS, LETTERS) is emissions
