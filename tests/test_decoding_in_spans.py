"""Known letter boundaries against brute force, and the exact place of the true word."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unwritten.decoding import Alphabet, DecodingSettings, Lexicon, decode, decode_in_spans, span_log_likelihoods
from unwritten.decoding.in_spans import edges_of
from unwritten.errors import UnwrittenError

LETTERS = Alphabet("abc")
PLAIN = DecodingSettings(alphabet="abc", rate_hz=10.0, frequency_weight=1.0, outside_prior=0.0, candidates=30)


def emissions_of(seed: int, frames: int, scale: float = 3.0) -> np.ndarray:
    logits = np.random.default_rng(seed).normal(size=(frames, 4)) * scale
    return logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)


def spelled(path: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(label for label, _ in itertools.groupby(path) if label)


def brute_force(emissions: np.ndarray, edges: list[int]) -> dict[tuple[int, ...], float]:
    """For each word the sum over every path whose frames in each span spell that span's letter."""
    total: dict[tuple[int, ...], float] = defaultdict(float)
    for path in itertools.product(range(4), repeat=len(emissions)):
        parts = [spelled(path[start:end]) for start, end in itertools.pairwise(edges)]
        if all(len(part) == 1 for part in parts):
            word = tuple(part[0] for part in parts)
            total[word] += math.exp(sum(emissions[t, label] for t, label in enumerate(path)))
    return total


@given(st.integers(0, 10**6), st.sampled_from([[0, 2, 5], [0, 1, 3, 5], [0, 1, 2], [0, 4]]))
@settings(max_examples=6, deadline=None)
def test_the_probability_of_a_word_is_the_sum_over_all_paths_that_keep_to_its_boundaries(
    seed: int, edges: list[int]
) -> None:
    emissions = emissions_of(seed, edges[-1])
    expected = brute_force(emissions, edges)
    table = span_log_likelihoods(emissions, edges)
    for word in itertools.product((1, 2, 3), repeat=len(edges) - 1):
        found = sum(table[place, letter - 1] for place, letter in enumerate(word))
        assert math.exp(found) == pytest.approx(expected[word], rel=1e-9)


@given(st.integers(0, 10**6))
@settings(max_examples=6, deadline=None)
def test_with_and_without_a_lexicon_of_everything_the_same_is_read(seed: int) -> None:
    emissions, edges = emissions_of(seed, 8), [0, 3, 5, 8]
    everything = ["".join(word) for word in itertools.product("abc", repeat=3)]
    free = decode_in_spans(emissions, edges, PLAIN)
    listed = decode_in_spans(emissions, edges, PLAIN, Lexicon.build(everything, alphabet=LETTERS))
    assert free.word == listed.word
    assert [p for _, p in free.candidates] == pytest.approx([p for _, p in listed.candidates], rel=1e-6)
    assert dict(free.candidates) == pytest.approx(dict(listed.candidates), rel=1e-6)
    assert free.log_evidence == pytest.approx(listed.log_evidence)
    assert sum(p for _, p in listed.candidates) == pytest.approx(1.0)


def test_boundaries_read_a_double_letter_that_no_blank_divides() -> None:
    certain = np.full((6, 4), -20.0)
    certain[:, 1] = 0.0
    certain -= np.logaddexp.reduce(certain, axis=1, keepdims=True)
    found = decode_in_spans(certain, [0, 3, 6], PLAIN)
    assert (found.word, found.letters) == ("aa", "a")
    assert found.letter_spans_s == ((0.0, 0.3), (0.3, 0.6))


@pytest.mark.parametrize("edges", [[0, 0, 6], [0, 7], [-1, 6], [3], [0, 4, 3, 6]])
def test_boundaries_that_divide_nothing_are_refused(edges: list[int]) -> None:
    with pytest.raises(UnwrittenError, match="letter boundaries"):
        decode_in_spans(emissions_of(0, 6), edges, PLAIN)


def test_seconds_become_frames_that_cover_the_whole_clip() -> None:
    assert edges_of([0.31, 0.9], emissions_of(0, 12), 10.0).tolist() == [0, 3, 9, 12]


@given(st.integers(0, 10**6))
@settings(max_examples=6, deadline=None)
def test_the_truth_stands_where_sorting_all_words_puts_it_however_unlikely_it_is(seed: int) -> None:
    emissions = emissions_of(seed, 9, scale=200.0)  # far below what a float's probability can hold
    words = ["".join(word) for word in itertools.product("abc", repeat=3)]
    lexicon = Lexicon.build(words, np.arange(1, 28), LETTERS)
    ranked = [word for word, _ in decode(emissions, PLAIN, lexicon, 3).candidates]
    for word in words[::5]:
        standing = decode(emissions, PLAIN, lexicon, 3, truth=word).standing
        assert standing is not None and standing.of == 27
        assert ranked.index(word) + 1 <= standing.rank
        assert standing.rank - ranked.index(word) <= 1 + len({0.0} & {standing.probability}) * 27
    top = decode(emissions, PLAIN, lexicon, 3, truth=ranked[0]).standing
    assert top is not None and top.rank == 1 and top.probability == pytest.approx(1.0, abs=0.7)


def test_a_truth_outside_the_lexicon_has_no_place_and_changes_nothing() -> None:
    emissions, lexicon = emissions_of(1, 7), Lexicon.build(["ab", "ba", "ca"], alphabet=LETTERS)
    without = decode(emissions, PLAIN, lexicon, 2)
    assert decode(emissions, PLAIN, lexicon, 2, truth="cc") == without
    assert decode(emissions, PLAIN, None, 2, truth="ab").standing is None
    letter = decode(emissions, PLAIN, lexicon, 1, truth="c").standing
    assert letter is not None and letter.of == 3
