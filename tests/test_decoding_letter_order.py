"""Which letters follow which: the n-gram model, the prior that it gives to strings, and reading with it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from hydra import compose, initialize_config_dir
from hypothesis import given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

from unwritten.config import settings_from
from unwritten.decoding import (
    Alphabet,
    DecodingSettings,
    LetterOrder,
    LetterPrior,
    decode,
    english_prior,
    length_log_posterior,
    likeliest_strings,
    string_log_likelihood,
)
from unwritten.decoding.prefix_search import LEAST_LENGTH
from unwritten.errors import UnwrittenError, UsageError
from unwritten.files import project_root
from unwritten.studies.decoding_speed import emissions_like

LETTERS = Alphabet("abc")
law = settings(max_examples=25, deadline=None)


def strings_of(length):
    return list(itertools.product((1, 2, 3), repeat=length))


@st.composite
def models(draw):
    words = draw(st.lists(st.text("abc", min_size=1, max_size=5), min_size=1, max_size=8, unique=True))
    weights = [draw(st.floats(0.1, 10)) for _ in words]
    return LetterOrder.fit(words, weights, LETTERS, draw(st.integers(1, 4)))


@st.composite
def priors(draw):
    return LetterPrior(draw(models()), draw(st.sampled_from([0.0, 0.4, 1.0, 2.0])))


@st.composite
def clips(draw):
    frames, scale = draw(st.integers(1, 5)), draw(st.sampled_from([0.3, 3.0, 30.0]))
    logits = [[scale * draw(st.floats(-1, 1, width=32)) for _ in range(4)] for _ in range(frames)]
    return torch.tensor(logits, dtype=torch.float64).log_softmax(-1).numpy()


def emissions_between(first, second, frames_per_letter=8):
    """Emissions that mark each letter of two words of one length alike, for one frame."""
    logits = np.zeros((frames_per_letter * len(first), 27))
    logits[:, 0] += 9
    for position, pair in enumerate(zip(first, second, strict=True)):
        logits[frames_per_letter * position + 3, Alphabet().encode("".join(set(pair)))] += 18
    return torch.from_numpy(logits).log_softmax(-1).float().numpy()


@law
@given(models())
def test_what_may_follow_sums_to_one_and_nothing_is_impossible(model):
    assert np.exp(model.log_next).sum(axis=1) == pytest.approx(np.ones(len(model.log_next)))
    assert np.isfinite(model.log_next).all()


def test_smoothing_is_that_of_witten_and_bell():
    alphabet = Alphabet("ab")
    single = np.exp(LetterOrder.fit(["ab", "b"], [1, 1], alphabet, order=1).log_next)
    # Two ends, one a, two b, three kinds: each count, and 3 shared by all three alike.
    assert single == pytest.approx(np.array([[3, 2, 3]]) / 8)
    pairs = np.exp(LetterOrder.fit(["ab", "b"], [1, 1], alphabet, order=2).log_next)
    assert pairs[0] == pytest.approx((np.array([0, 1, 1]) + 2 * single[0]) / 4)  # a word begins with a or b
    assert pairs[1] == pytest.approx((np.array([0, 0, 1]) + 1 * single[0]) / 2)  # after a comes b
    assert pairs[2] == pytest.approx((np.array([2, 0, 0]) + 1 * single[0]) / 3)  # b ends words


def test_weights_count_by_their_ratio_and_words_of_other_letters_not_at_all():
    wanted = LetterOrder.fit(["ab", "cab"], [1, 3], LETTERS, 3).log_next
    assert LetterOrder.fit(["ab", "cab"], [5, 15], LETTERS, 3).log_next == pytest.approx(wanted)
    assert LetterOrder.fit(["ab", "naïve", "cab"], [1, 7, 3], LETTERS, 3).log_next == pytest.approx(wanted)


@law
@given(priors(), st.integers(1, 4))
def test_the_prior_has_mean_one_over_the_strings_of_a_length_and_its_bounds_are_those_of_brute_force(prior, n):
    log_prior = {labels: prior.log_prior(labels) for labels in strings_of(n)}
    assert np.mean(np.exp(list(log_prior.values()))) == pytest.approx(1)
    assert prior.of_length(n) == pytest.approx(max(log_prior.values()))
    for depth in range(n):
        for prefix in strings_of(depth):
            largest, mean = prior.of_extensions(prefix, n)
            for letter in (1, 2, 3):
                those = [value for labels, value in log_prior.items() if labels[: depth + 1] == (*prefix, letter)]
                assert largest[letter] == pytest.approx(max(those))
                assert mean[letter] == pytest.approx(np.log(np.mean(np.exp(those))))


@law
@given(clips(), priors())
def test_the_likeliest_strings_under_a_prior_are_those_of_brute_force(emissions, prior):
    likelihoods = {
        labels: string_log_likelihood(emissions, labels)
        for length in range(len(emissions) + 1)
        for labels in strings_of(length)
    }
    joint = {labels: mass + prior.log_prior(labels) for labels, mass in likelihoods.items() if mass > -math.inf}
    log_length = length_log_posterior(emissions, len(emissions))
    for n in (None, *range(len(emissions) + 1)):
        found = likeliest_strings(emissions, n, count=6, width=10_000, prior=prior)
        lengths = {len(labels) for labels in found.labels} if n is None else {n}
        if n is None:  # every length that could matter is there
            best = max(joint, key=joint.__getitem__)
            assert log_length[len(best)] < math.log(LEAST_LENGTH) or found.log_joint[0] >= joint[best] - 1e-9
            lengths |= {
                length for length in np.argsort(-log_length)[:5] if log_length[length] >= math.log(LEAST_LENGTH)
            }
        wanted = sorted((value for labels, value in joint.items() if len(labels) in lengths), reverse=True)[:6]
        assert found.proven
        assert found.log_joint == pytest.approx(wanted, abs=1e-9)
        for labels, log_prob in zip(found.labels, found.log_probs, strict=True):
            assert likelihoods[labels] == pytest.approx(log_prob, abs=1e-9)


@law
@given(clips(), priors(), st.integers(1, 4))
def test_the_total_is_exact_without_a_prior_and_once_all_strings_are_found(emissions, prior, n):
    if n > len(emissions):
        return
    for width in (1, 64):
        narrow = likeliest_strings(emissions, n, count=1, width=width)
        assert narrow.log_total == pytest.approx(length_log_posterior(emissions, n)[n], abs=1e-9)
        assert likeliest_strings(emissions, None, count=1, width=width).log_total == pytest.approx(0, abs=1e-9)
    every = likeliest_strings(emissions, n, count=3**4, width=10_000, prior=prior)
    assert every.log_total == pytest.approx(np.logaddexp.reduce(every.log_joint), abs=1e-9)


@law
@given(clips(), models(), st.integers(1, 4))
def test_a_weight_of_zero_reads_as_without_a_model(emissions, model, n):
    if n > len(emissions):
        return
    alike = likeliest_strings(emissions, n, prior=LetterPrior(model, 0.0))
    plain = likeliest_strings(emissions, n)
    assert alike.log_probs == pytest.approx(plain.log_probs, abs=1e-9)
    assert alike.log_joint == pytest.approx(plain.log_joint, abs=1e-9)
    assert alike.log_total == pytest.approx(plain.log_total, abs=1e-9)


def test_settings_of_no_weight_or_no_order_change_nothing():
    log_probs = emissions_like("flat", 40)
    for n in (4, None):
        plain = decode(log_probs, DecodingSettings(answer="expected_ola"), None, n)
        for change in (
            {"letter_order": 4, "letter_order_weight": 0.0},
            {"letter_order": 0, "letter_order_weight": 2.0},
        ):
            assert decode(log_probs, DecodingSettings(answer="expected_ola", **change), None, n) == plain


@law
@given(clips(), st.integers(2, 4), st.sampled_from([0.5, 1.0]))
def test_probabilities_and_expected_accuracy_are_those_under_the_prior(emissions, n, weight):
    if n > len(emissions):
        return
    settings = DecodingSettings(
        alphabet="abc", answer="expected_ola", letter_order=3, letter_order_weight=weight, candidates=3**4
    )
    decoded = decode(emissions, settings, None, n)
    prior = english_prior(LETTERS, 3, weight)
    joint = {
        LETTERS.decode(labels): math.exp(string_log_likelihood(emissions, labels) + prior.log_prior(labels))
        for labels in strings_of(n)
    }
    posterior = {word: value / sum(joint.values()) for word, value in joint.items() if value > 0}
    assert dict(decoded.candidates) == pytest.approx(posterior, abs=1e-9)
    assert decoded.log_evidence == pytest.approx(math.log(sum(joint.values()) / 3**n))
    accuracy = {
        answer: sum(p * np.mean([x == y for x, y in zip(word, answer, strict=True)]) for word, p in posterior.items())
        for answer in joint
    }
    assert decoded.expected_ola == pytest.approx(max(accuracy.values()))
    assert accuracy[decoded.word] == pytest.approx(max(accuracy.values()))


def test_letters_that_do_not_follow_each_other_lose_against_a_word_that_looks_alike():
    log_probs = emissions_between("quiz", "qxzj")
    ordered = DecodingSettings(letter_order=4)
    for n in (4, None):
        plain = dict(decode(log_probs, DecodingSettings(candidates=16), None, n).candidates)
        assert plain["quiz"] == pytest.approx(plain["qxzj"])
        decoded = decode(log_probs, ordered, None, n)
        assert decoded.word == "quiz"
        assert dict(decoded.candidates).get("qxzj", 0.0) < 0.01 * decoded.candidates[0][1]


@pytest.mark.parametrize("word", ["zoltan", "genevieve", "qxzj"])
def test_a_clear_clip_is_read_even_where_english_says_otherwise(word):
    for n in (len(word), None):
        decoded = decode(emissions_between(word, word), DecodingSettings(letter_order=4), None, n)
        assert decoded.word == word
        assert n is None or not decoded.unsure


def test_a_narrow_search_estimates_what_it_did_not_reach():
    """Probabilities by a search of the usual width and by one that follows far more agree where the clip is read."""
    log_probs = emissions_between("above", "abode")
    prior = english_prior(Alphabet(), 4, 1.0)
    for n in (5, None):
        usual = likeliest_strings(log_probs, n, 10, 64, prior, 1e-3)
        far = likeliest_strings(log_probs, n, 10, 1_000, prior, 1e-6)
        assert usual.log_total == pytest.approx(far.log_total, abs=0.05)


def test_bad_settings_and_alphabets_without_words_are_refused_in_one_line():
    for wrong in (
        {"letter_order": -1},
        {"letter_order": 6},
        {"letter_order": "four"},
        {"letter_order_weight": -0.5},
        {"letter_order_weight": float("nan")},
        {"letter_order_weight": float("inf")},
    ):
        with pytest.raises(UsageError, match="letter_order") as refused:
            settings_from(DecodingSettings, wrong, "decoding")
        assert "\n" not in str(refused.value)
    with pytest.raises(UnwrittenError, match="give 1 or more"):
        LetterOrder.fit(["ab"], [1], LETTERS, 0)
    log_probs = torch.zeros(9, 6).log_softmax(-1).numpy()
    with pytest.raises(UnwrittenError, match="none of the words is spelled") as error:
        decode(log_probs, DecodingSettings(alphabet="δεζηθ", letter_order=4), None, 3)
    assert "\n" not in str(error.value)


def test_the_committed_readers_are_told_the_letter_order_and_no_list():
    with initialize_config_dir(str(project_root() / "conf"), version_base="1.3"):
        config = compose("evaluate", ["reader=[ctc-letters-ordered,ctc-free-ordered]"])
    for name, mode in (("ctc-letters-ordered", "ctc-letters"), ("ctc-free-ordered", "ctc-free")):
        node = config.reader[name]
        built = settings_from(DecodingSettings, OmegaConf.to_container(node.decoding), "decoding")
        assert (node.name, node.mode, "lexicon" in node) == (name, mode, False)
        assert (built.letter_order, built.letter_order_weight) == (4, 0.5)
