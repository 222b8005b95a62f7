"""Measures of answering: refusals are no answers, collapse shows, and every share is one."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unwritten.errors import UnwrittenError
from unwritten.readers.mllm.parsing import parse, plain_letters
from unwritten.scoring.mllm import answering, collapse, pass_rates, presence
from unwritten.types import STATES, Answer, State


def said(word: str, state: State = "answered") -> Answer:
    return Answer("item", "reader", "av", raw=word, word=word, state=state)


MIXED = [said("cat"), said("cot"), said("", "refused"), said("", "failed"), said("cats", "malformed")]
TRUTHS = ["cat"] * 5


def test_a_missing_answer_counts_nothing_over_all_and_is_left_out_over_answered_ones():
    measured = answering(MIXED, TRUTHS)
    assert measured.ola_answered == pytest.approx((1 + 2 / 3) / 2)
    assert measured.ola_all == pytest.approx((1 + 2 / 3) / 5)
    assert measured.input_failure_rate == pytest.approx(1 / 5)
    assert measured.states == {
        "answered": 2,
        "refused": 1,
        "blocked": 0,
        "empty": 0,
        "malformed": 1,
        "failed": 1,
    }


def test_presence_is_usable_answers_over_given_ones_and_over_items_that_are_due():
    found = presence(MIXED, TRUTHS)
    assert found.precision == pytest.approx(2 / 3)
    assert found.recall == pytest.approx(2 / 5)
    assert found.f1 == pytest.approx(2 * (2 / 3) * (2 / 5) / (2 / 3 + 2 / 5))
    silent = presence(MIXED, TRUTHS, due=[True, False, False, False, False])
    assert silent.precision == pytest.approx(1 / 3)  # "cot" was read out of nothing
    assert silent.recall == 1.0
    nothing = presence([said("", "refused")], ["cat"])
    assert (nothing.precision, nothing.recall, nothing.f1) == (None, 0.0, None)


def test_an_item_passes_when_every_criterion_holds():
    passed, each = pass_rates(MIXED, TRUTHS)
    assert passed == pytest.approx(1 / 5)
    assert each["replied"] == pytest.approx(3 / 5)
    assert each["right_length"] == each["first_letter"] == pytest.approx(2 / 5)
    assert each["right_word"] == pytest.approx(1 / 5)


def test_one_word_for_everything_is_full_collapse_and_different_words_are_none():
    narrow = collapse(["the"] * 8, {"the"})
    assert (narrow.top_share, narrow.entropy_bits, narrow.entropy_share, narrow.frequent_share) == (1.0, 0.0, 0.0, 1.0)
    wide = collapse(["a", "b", "c", "d"], {"a"})
    assert (wide.entropy_bits, wide.entropy_share, wide.frequent_share) == (2.0, 1.0, 0.25)
    assert collapse(["The", "the "]).distinct == 1
    with pytest.raises(UnwrittenError, match="no answers"):
        collapse([])


def test_as_many_truths_as_answers_are_needed():
    with pytest.raises(UnwrittenError, match="5 answers stand against 1 items"):
        answering(MIXED, ["cat"])


words = st.text(alphabet="abc", min_size=1, max_size=3)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(words, words, st.sampled_from(STATES)), min_size=1, max_size=20))
def test_shares_are_shares_and_answered_ones_score_no_less_than_all(items):
    answers = [said(word if state == "answered" else "", state) for word, _, state in items]
    measured = answering(answers, [truth for _, truth, _ in items], {"a"})
    assert 0 <= measured.pass_rate <= min(measured.criteria.values()) <= 1
    assert 0 <= measured.ola_all <= (1.0 if measured.ola_answered is None else measured.ola_answered + 1e-9)
    assert sum(measured.states.values()) == measured.n
    if measured.collapse:
        assert 0 <= measured.collapse.entropy_share <= 1 + 1e-9
        assert measured.collapse.top_share <= measured.collapse.top_10_share <= 1 + 1e-9


REPLIES = [
    ("apple", 5, "apple", "answered"),
    ("  Apple!\n", 5, "apple", "answered"),
    ("`apple`", 5, "apple", "answered"),
    ("_apple_", 5, "apple", "answered"),
    ("\u201capple\u201d", 5, "apple", "answered"),
    ("The word is apple.", 5, "apple", "answered"),
    ("I believe the word is \u201capple\u201d, written in print.", 5, "apple", "answered"),
    ("The answer might be **apple**", 5, "apple", "answered"),
    ("1. down\n2. round\n\n**Answer:** apple", 5, "apple", "answered"),
    ("Answer: grape? No.\nAnswer: apple", 5, "apple", "answered"),
    ("sorry", 5, "sorry", "answered"),  # a word of the right length is what was said
    ("Sorry.", 4, "", "refused"),
    ("unknown", 5, "", "refused"),
    ("I'm sorry, I cannot determine the word.", 5, "", "refused"),
    ("I\u2019m unable to listen to audio.", 5, "", "refused"),
    ("As an AI, I have no ears.", 5, "", "refused"),
    ("apples", 5, "apples", "malformed"),
    ("apple pie", 5, "", "malformed"),
    ("It is **apple** or **grape**.", 5, "", "malformed"),
    ("4711", 4, "", "malformed"),
    ("na\u00efve", 5, "", "malformed"),
    ("", 5, "", "empty"),
    (" \n", 5, "", "empty"),
    ("?!", 5, "", "empty"),
    ("anything", None, "anything", "answered"),
]


@pytest.mark.parametrize(("reply", "n", "word", "state"), REPLIES)
def test_replies_are_read_as_a_person_would(reply, n, word, state):
    parsed = parse(reply, n)
    assert (parsed.word, parsed.state) == (word, state)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=80), st.integers(1, 6))
def test_whatever_is_said_an_answer_is_one_word_of_the_right_length(reply, n):
    parsed = parse(reply, n)
    if parsed.state == "answered":
        assert len(parsed.word) == n
        assert parsed.word.isascii() and parsed.word.isalpha() and parsed.word.islower()
        # Spelled, its letters stand one after the other with nothing else between that could be one.
        assert parsed.word in re.sub(r"[^a-z]", "", plain_letters(reply).lower())
    elif parsed.state != "malformed":
        assert parsed.word == ""
