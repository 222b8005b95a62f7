"""Metrics of one answer: what is defined in unwritten.scoring.metrics holds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unwritten.errors import UnwrittenError
from unwritten.scoring import edit_distance, edit_similarity, ordered_letter_accuracy
from unwritten.scoring.metrics import chance_corrected_ola, chance_ola, letter_hits, text_errors

words = st.text(alphabet="abcde", min_size=1, max_size=6)


def test_the_example_of_the_definition() -> None:
    assert ordered_letter_accuracy("cat", "bot") == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("cat", 1.0),
        ("CAT", 1.0),
        (" cat\n", 1.0),
        ("cats", 1.0),  # letters beyond the n-th are ignored
        ("ca", 2 / 3),  # positions that are missing count 0
        ("", 0.0),
        ("xcat", 0.0),  # one early shift costs everything: what edit similarity is for
        ("c4t", 2 / 3),
        ("c-a", 1 / 3),
    ],
)
def test_answers_of_other_lengths_and_with_other_characters_are_defined(answer: str, expected: float) -> None:
    assert ordered_letter_accuracy("cat", answer) == pytest.approx(expected)


def test_an_empty_truth_is_an_error_and_not_a_score() -> None:
    with pytest.raises(UnwrittenError, match="truth is empty"):
        ordered_letter_accuracy("", "cat")


def test_a_character_that_is_no_letter_matches_nothing_even_itself() -> None:
    assert ordered_letter_accuracy("a1", "a1") == 0.5


def test_accents_compare_composed() -> None:
    assert ordered_letter_accuracy("né", "ne\u0301") == 1.0


def test_an_early_shift_costs_ola_everything_and_edit_similarity_one_letter() -> None:
    assert ordered_letter_accuracy("abcde", "xabcd") == 0.0
    assert edit_similarity("abcde", "xabcd") == pytest.approx(1 - 2 / 5)


@given(words, words)
@settings(max_examples=60, deadline=None)
def test_edit_distance_is_a_metric_bounded_by_differing_positions(first: str, second: str) -> None:
    distance = edit_distance(first, second)
    assert distance == edit_distance(second, first)
    assert (distance == 0) == (first == second)
    positions = sum(a != b for a, b in zip(first, second, strict=False)) + abs(len(first) - len(second))
    assert abs(len(first) - len(second)) <= distance <= positions
    assert 0.0 <= edit_similarity(first, second) <= 1.0


@given(st.lists(st.tuples(words, st.text(alphabet="abcde-", max_size=7)), min_size=1, max_size=8))
@settings(max_examples=60, deadline=None)
def test_the_table_and_the_single_answer_agree(pairs: list[tuple[str, str]]) -> None:
    truths, answers = zip(*pairs, strict=True)
    hits, mask = letter_hits(truths, answers)
    expected = [ordered_letter_accuracy(truth, answer) for truth, answer in pairs]
    assert np.allclose(hits.sum(axis=1) / mask.sum(axis=1), expected)


def test_a_constant_answer_is_worth_its_own_chance() -> None:
    truths = ["cat", "dog", "sun", "sat", "an", "in", "to"]
    answers = ["sat" if len(truth) == 3 else "an" for truth in truths]
    ola = float(np.mean([ordered_letter_accuracy(t, a) for t, a in zip(truths, answers, strict=True)]))
    assert chance_corrected_ola(ola, chance_ola(truths, answers)) == pytest.approx(0.0)


def test_perfect_answers_are_worth_one_after_correction() -> None:
    truths = ["cat", "dog", "sun", "sat", "an", "in"]
    assert chance_corrected_ola(1.0, chance_ola(truths, truths)) == pytest.approx(1.0)


def test_chance_equals_the_mean_over_all_other_items_answers() -> None:
    rng = np.random.default_rng(0)
    truths = ["".join(rng.choice(list("abc"), size=3)) for _ in range(12)]
    answers = ["".join(rng.choice(list("abc-"), size=rng.integers(0, 5))) for _ in range(12)]
    pairs = [
        ordered_letter_accuracy(truth, answer)
        for row, truth in enumerate(truths)
        for column, answer in enumerate(answers)
        if row != column
    ]
    assert chance_ola(truths, answers) == pytest.approx(np.mean(pairs))


def test_errors_of_a_text_count_case_and_signs_and_any_white_space_as_one() -> None:
    assert text_errors("Hello,  world", " Hello, world\n") == (0, 12, 0, 2)
    assert text_errors("Hello, world", "hello word") == (3, 12, 2, 2)
    assert text_errors("a b c", "") == (5, 5, 3, 3)


@given(st.text(alphabet="aB ,", max_size=9), st.text(alphabet="aB ,", max_size=9))
def test_errors_of_a_text_are_at_most_the_longer_of_both(truth: str, answer: str) -> None:
    letters, of_letters, of_words = (text_errors(truth, answer)[place] for place in (0, 1, 3))
    assert letters <= max(of_letters, text_errors(answer, truth)[1])
    assert (letters == 0) == (truth.split() == answer.split())
    assert of_words == len(truth.split())
