"""Decoding against brute force: every path of a small clip is spelled out and summed."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from unwritten.decoding import (
    Alphabet,
    Lexicon,
    best_path_of_length,
    greedy,
    length_log_posterior,
    likeliest_strings,
    posterior_over_time,
    string_log_likelihood,
    word_log_likelihoods,
)
from unwritten.decoding import likelihood as likelihood_module
from unwritten.decoding.emissions import tempered
from unwritten.decoding.exact_length import letter_posteriors_of_length
from unwritten.decoding.expected_ola import best_letters, expected_ola, letter_weights
from unwritten.decoding.times import letter_spans

LETTERS = Alphabet("abc")
ALL_WORDS = ["".join(word) for length in (1, 2, 3, 4) for word in itertools.product(LETTERS.letters, repeat=length)]
LEXICON = Lexicon.build(ALL_WORDS, alphabet=LETTERS)


def log_softmax(logits):
    return torch.tensor(logits, dtype=torch.float64).reshape(len(logits), -1).log_softmax(-1).numpy()


def spell(path):
    return tuple(label for label, _ in itertools.groupby(path) if label)


def paths_of(emissions):
    """Every path with its log probability, grouped by the string that it spells."""
    strings = defaultdict(list)
    frames, classes = emissions.shape
    for path in itertools.product(range(classes), repeat=frames):
        strings[spell(path)].append((path, sum(emissions[t, label] for t, label in enumerate(path))))
    return strings


@st.composite
def clips(draw, least=1, most=5, classes=4):
    frames = draw(st.integers(least, most))
    scale = draw(st.sampled_from([0.3, 3.0, 30.0]))
    rows = st.lists(st.floats(-1, 1, width=32), min_size=classes, max_size=classes)
    return log_softmax([[scale * value for value in draw(rows)] for _ in range(frames)])


law = settings(max_examples=25, deadline=None)


@law
@given(clips())
def test_every_words_likelihood_is_the_sum_over_its_paths(emissions):
    paths = paths_of(emissions)
    found = word_log_likelihoods(emissions, LEXICON)
    for word, log_likelihood in zip(LEXICON.words, found, strict=True):
        scores = [score for _, score in paths.get(tuple(LETTERS.encode(word)), [])]
        assert log_likelihood == pytest.approx(np.logaddexp.reduce(scores) if scores else -math.inf, abs=1e-6)


@law
@given(clips())
def test_the_best_path_of_n_letters_is_the_best_of_all_paths(emissions):
    paths = paths_of(emissions)
    for n in range(len(emissions) + 1):
        best = max(score for string, found in paths.items() if len(string) == n for _, score in found)
        result = best_path_of_length(emissions, n)
        assert result.log_prob == pytest.approx(best, abs=1e-9)
        assert len(result.labels) == n == len(result.spans)
        assert spell(result.path) == tuple(result.labels)
        assert sum(emissions[t, label] for t, label in enumerate(result.path)) == pytest.approx(best, abs=1e-9)
        for label, (start, end) in zip(result.labels, result.spans, strict=True):
            assert (result.path[start:end] == label).all()


@law
@given(clips())
def test_the_length_posterior_sums_all_strings_of_each_length(emissions):
    paths = paths_of(emissions)
    found = length_log_posterior(emissions, len(emissions))
    for n, log_probability in enumerate(found):
        scores = [score for string, those in paths.items() if len(string) == n for _, score in those]
        assert log_probability == pytest.approx(np.logaddexp.reduce(scores), abs=1e-9)
    assert np.exp(found).sum() == pytest.approx(1)


@law
@given(clips())
def test_the_likeliest_strings_are_those_of_brute_force(emissions):
    masses = {string: np.logaddexp.reduce([s for _, s in found]) for string, found in paths_of(emissions).items()}
    for n in (None, *range(len(emissions) + 1)):
        wanted = sorted((m for string, m in masses.items() if n is None or len(string) == n), reverse=True)[:6]
        found = likeliest_strings(emissions, n, count=6, width=10_000)
        assert found.proven
        assert found.log_probs == pytest.approx(wanted, abs=1e-9)
        for labels, log_prob in zip(found.labels, found.log_probs, strict=True):
            assert masses[labels] == pytest.approx(log_prob, abs=1e-9)


@law
@given(clips())
def test_letter_posteriors_of_a_length_are_those_of_brute_force(emissions):
    paths = paths_of(emissions)
    for n in range(1, len(emissions) + 1):
        wanted = np.zeros((n, 4))
        for string, found in paths.items():
            if len(string) == n:
                wanted[np.arange(n), list(string)] += sum(math.exp(score) for _, score in found)
        wanted /= wanted.sum(axis=1, keepdims=True)
        assert letter_posteriors_of_length(emissions, n) == pytest.approx(wanted, abs=1e-9)


@law
@given(clips(), st.sampled_from(["a", "ab", "aa", "aba", "abb"]))
def test_letter_times_are_those_of_all_alignments(emissions, word):
    labels = LETTERS.encode(word)
    alignments = paths_of(emissions).get(tuple(labels), [])
    if not alignments:
        return
    weights = np.exp([score for _, score in alignments] - np.logaddexp.reduce([score for _, score in alignments]))
    edges = []
    for path, _ in alignments:
        starts = [t for t, label in enumerate(path) if label and (t == 0 or path[t - 1] != label)]
        ends = [t + 1 for t, label in enumerate(path) if label and (t + 1 == len(path) or path[t + 1] != label)]
        edges.append(np.stack([starts, ends], axis=1))
    assert letter_spans(emissions, labels, "posterior") == pytest.approx(
        np.tensordot(weights, np.array(edges), axes=1), abs=1e-6
    )
    best = max(score for _, score in alignments)
    viterbi = letter_spans(emissions, labels, "viterbi")
    likeliest = [e for e, (_, score) in zip(edges, alignments, strict=True) if score > best - 1e-9]
    assert any((viterbi == e).all() for e in likeliest)


@law
@given(clips(), st.floats(0, 2))
def test_the_answer_of_the_largest_expected_ola_is_that_of_brute_force(emissions, frequency_weight):
    words = ["ab", "abc", "bca", "cab", "aab"]
    lexicon = Lexicon.build(words, [5, 1, 2, 3, 4], LETTERS)
    log_joint = word_log_likelihoods(emissions, lexicon) + lexicon.log_prior(frequency_weight)
    if not np.isfinite(log_joint).any():
        return
    posterior = np.exp(log_joint - np.logaddexp.reduce(log_joint))
    weights = letter_weights(posterior, lexicon)

    def brute(answer):
        return sum(
            p * sum(a == b for a, b in zip(word, answer, strict=False)) / len(word)
            for word, p in zip(words, posterior, strict=True)
        )

    assert expected_ola(weights, lexicon.labels) == pytest.approx([brute(word) for word in words])
    best = LETTERS.decode(best_letters(weights, 3))
    assert brute(best) == pytest.approx(max(brute("".join(a)) for a in itertools.product("abc", repeat=3)))


@law
@given(clips(least=2), st.floats(0, 2))
def test_belief_on_the_way_counts_the_paths_that_spell_a_beginning_of_the_word(emissions, frequency_weight):
    lexicon = Lexicon.build(["a", "ab", "abb", "bca", "cc"], [1, 2, 3, 4, 5], LETTERS)
    belief = posterior_over_time(emissions, lexicon, frequency_weight)
    for after in range(len(emissions)):
        masses = {s: np.logaddexp.reduce([m for _, m in found]) for s, found in paths_of(emissions[:after]).items()}
        log_joint = lexicon.log_prior(frequency_weight) + [
            np.logaddexp.reduce([masses.get(tuple(LETTERS.encode(word[:j])), -np.inf) for j in range(len(word) + 1)])
            for word in lexicon.words
        ]
        assert belief[after] == pytest.approx(np.exp(log_joint - np.logaddexp.reduce(log_joint)), abs=1e-9)


def ctc(emissions, words, alphabet):
    targets = [torch.tensor(alphabet.encode(word)).long() for word in words]
    return -torch.nn.functional.ctc_loss(
        torch.tensor(emissions, dtype=torch.float64)[:, None].expand(-1, len(words), -1),
        torch.cat(targets),
        torch.full((len(words),), len(emissions)),
        torch.tensor([len(target) for target in targets]),
        reduction="none",
    ).numpy()


@pytest.mark.parametrize("scale", [0.1, 1.0, 8.0, 40.0])
@pytest.mark.parametrize("frames", [9, 60, 400])
def test_likelihoods_equal_those_of_ctc_loss(frames, scale):
    rng = np.random.default_rng(frames)
    alphabet = Alphabet()
    words = ["".join(rng.choice(list("abcxyz"), size=size)) for size in rng.integers(1, 8, 60)]
    words = list(dict.fromkeys([*words, "aaa", "aab", "baa", "zzzz", "letter", "mississippi"[:9]]))
    lexicon = Lexicon.build(words, alphabet=alphabet)
    emissions = log_softmax(scale * rng.normal(size=(frames, 27)))
    wanted = ctc(emissions, words, alphabet)
    assert word_log_likelihoods(emissions, lexicon) == pytest.approx(wanted, rel=1e-9, abs=1e-6)
    narrow = emissions.astype(np.float32)
    assert word_log_likelihoods(narrow, lexicon) == pytest.approx(ctc(narrow, words, alphabet), rel=1e-9, abs=1e-6)
    assert [string_log_likelihood(emissions, alphabet.encode(word)) for word in words] == pytest.approx(wanted)


@pytest.mark.parametrize("hold", [3, 40])
def test_words_beyond_the_range_of_float64_are_exact_too(hold):
    """A model that is sure for ``hold`` frames a letter: other words are exp(-30) a frame less likely."""
    words = ["above", "about", "zebra", "eerie", "at", "i", "fluff"]
    lexicon = Lexicon.build(words)
    path = np.concatenate([np.repeat([label, 0], hold) for label in Alphabet().encode("above")])
    logits = np.zeros((len(path), 27))
    logits[np.arange(len(path)), path] = 30.0
    emissions = log_softmax(logits)
    found = word_log_likelihoods(emissions, lexicon)
    assert found == pytest.approx(ctc(emissions, words, Alphabet()), rel=1e-9)
    if hold == 40:
        assert found.max() - found.min() > 1_400  # float64 spans 1,418 nats


def test_logarithms_and_linear_numbers_agree(monkeypatch):
    rng = np.random.default_rng(1)
    emissions = log_softmax(2 * rng.normal(size=(80, 4)))
    linear = word_log_likelihoods(emissions, LEXICON)
    scaling = likelihood_module._scaling
    monkeypatch.setattr(likelihood_module, "_scaling", lambda *given: (*scaling(*given)[:2], math.inf))
    assert word_log_likelihoods(emissions, LEXICON) == pytest.approx(linear, abs=1e-7)


def test_the_guard_holds_for_a_word_that_the_scale_ignores():
    """Whatever frames are divided by, a result is right: here by a path of another length and other letters."""
    rng = np.random.default_rng(5)
    for frames in (1, 2, 3, 17):
        emissions = log_softmax(60 * rng.normal(size=(frames, 27)))
        lexicon = Lexicon.build(["a", "bb", "abcde", "zyxwvu"])
        fits = lexicon.fewest_frames <= frames
        found = word_log_likelihoods(emissions, lexicon)
        wanted = ctc(emissions, lexicon.words, Alphabet())
        assert found[fits] == pytest.approx(wanted[fits], rel=1e-9)
        assert np.isneginf(found[~fits]).all()


def test_a_word_alone_has_the_likelihood_that_it_has_among_others():
    rng = np.random.default_rng(2)
    emissions = log_softmax(rng.normal(size=(30, 4)))
    among = word_log_likelihoods(emissions, LEXICON)
    for index in range(0, len(LEXICON), 7):
        alone = Lexicon.build([LEXICON.words[index]], alphabet=LETTERS)
        assert word_log_likelihoods(emissions, alone)[0] == pytest.approx(among[index], abs=1e-9)
    of_three = LEXICON.of_length(3)
    picked = [LEXICON.number[word] for word in of_three.words]
    assert word_log_likelihoods(emissions, of_three) == pytest.approx(among[picked], abs=1e-9)


def test_a_narrow_search_says_so_and_its_probabilities_stay_exact():
    rng = np.random.default_rng(3)
    emissions = log_softmax(0.5 * rng.normal(size=(60, 27)))
    for n in (None, 5):
        found = likeliest_strings(emissions, n, count=5, width=2)
        assert not found.proven
        assert len(found.labels) == 5  # the width leaves room for longer prefixes
        for labels, log_prob in zip(found.labels, found.log_probs, strict=True):
            assert log_prob == pytest.approx(string_log_likelihood(emissions, labels))
            assert n is None or len(labels) == n


def test_greedy_merges_repeats_and_keeps_letters_parted_by_a_blank():
    path = [0, 1, 1, 0, 1, 2, 2, 0]
    emissions = log_softmax(9.0 * np.eye(4)[path])
    assert greedy(emissions, LETTERS) == "aab"
    assert greedy(emissions[:0], LETTERS) == ""


def test_temperature_flattens_and_keeps_probabilities_normalised():
    emissions = log_softmax(np.random.default_rng(4).normal(size=(6, 4)))
    soft = tempered(emissions, 3.0)
    assert np.exp(soft).sum(axis=1) == pytest.approx(np.ones(6))
    assert soft.max() < emissions.max()
    assert tempered(emissions, 1.0) is emissions
