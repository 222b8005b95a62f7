"""From emissions to an answer: what a user of the decoder may rely on."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hydra import compose, initialize_config_dir

from unwritten.config import settings_from
from unwritten.decoding import (
    Alphabet,
    DecodingSettings,
    Lexicon,
    best_path_of_length,
    decode,
    greedy,
    letter_spans_s,
    string_log_likelihood,
    word_log_likelihoods,
)
from unwritten.decoding.over_time import posterior_over_time
from unwritten.errors import UnwrittenError, UsageError
from unwritten.files import project_root
from unwritten.studies.decoding_speed import ctc_loss_of_every_word, emissions_like

WORDS = ("above", "about", "abode", "adobe", "house", "at", "on", "letter")
FREQUENCY = (50.0, 100.0, 1.0, 2.0, 30.0, 400.0, 500.0, 20.0)


@pytest.fixture(scope="module")
def lexicon():
    return Lexicon.build(WORDS, FREQUENCY)


def emissions_of(word, height=9.0, frames_per_letter=8, noise=0.5, seed=0):
    """Emissions of a model that marks each letter of ``word`` for three frames."""
    logits = np.random.default_rng(seed).normal(scale=noise, size=(frames_per_letter * len(word), 27))
    logits[:, 0] += height
    for position, label in enumerate(Alphabet().encode(word)):
        start = frames_per_letter * position + 3
        logits[start : start + 3, label] += 2 * height
    return torch.from_numpy(logits).log_softmax(-1).float().numpy()


def one_line(error):
    message = str(error.value)
    assert "\n" not in message
    return message


def test_a_clear_word_is_read_in_every_way_of_asking(lexicon):
    log_probs = emissions_of("above")
    for words, n in ((lexicon, 5), (lexicon, None), (None, 5), (None, None)):
        decoded = decode(log_probs, DecodingSettings(), words, n)
        assert decoded.word == decoded.letters == "above"
        assert decoded.candidates[0][0] == "above"
        assert not decoded.unsure
        assert 0.9 < decoded.expected_ola <= 1 + 1e-9
        assert np.isfinite(decoded.log_evidence)


def test_probabilities_are_sorted_and_those_of_the_whole_lexicon_sum_to_one(lexicon):
    decoded = decode(emissions_of("abobe", height=3.0), DecodingSettings(candidates=50), lexicon)
    values = [value for _, value in decoded.candidates]
    assert {word for word, _ in decoded.candidates} == set(WORDS)
    assert values == sorted(values, reverse=True)
    assert sum(values) == pytest.approx(1)


def test_the_length_leaves_only_words_of_that_length(lexicon):
    decoded = decode(emissions_of("above"), DecodingSettings(candidates=50), lexicon, n=2)
    assert {word for word, _ in decoded.candidates} == {"at", "on"}
    with pytest.raises(UnwrittenError, match="no word of 9 letters; it has words of 2, 5, 6 letters"):
        decode(emissions_of("above"), DecodingSettings(), lexicon, n=9)


def test_frequency_decides_between_words_that_look_alike(lexicon):
    logits = np.zeros((40, 27))
    logits[:, 0] += 4
    for position, letters in enumerate(("a", "b", "o", "vu", "et")):  # between "above" and "about"
        logits[8 * position + 3, list(Alphabet().encode(letters))] += 9
    log_probs = torch.from_numpy(logits).log_softmax(-1).numpy()
    flat = dict(decode(log_probs, DecodingSettings(frequency_weight=0), lexicon, 5).candidates)
    weighted = dict(decode(log_probs, DecodingSettings(frequency_weight=1), lexicon, 5).candidates)
    assert flat["above"] == pytest.approx(flat["about"])
    assert weighted["about"] == pytest.approx(2 * weighted["above"])


def test_the_answer_for_ola_may_differ_from_the_likeliest_word():
    """Three words: two agree in most letters, the third is likeliest alone."""
    lexicon = Lexicon.build(["house", "about", "abode"], [4, 3, 3])
    log_probs = np.full((20, 27), -np.log(27))
    likeliest = decode(log_probs, DecodingSettings(frequency_weight=1), lexicon)
    best = decode(log_probs, DecodingSettings(frequency_weight=1, answer="expected_ola"), lexicon)
    letters = decode(log_probs, DecodingSettings(frequency_weight=1, answer="expected_ola_letters"), lexicon)
    assert likeliest.word == "house"
    assert best.word in ("about", "abode")
    assert letters.word[:3] == "abo"
    assert likeliest.expected_ola < best.expected_ola <= letters.expected_ola
    assert likeliest.unsure


def test_a_single_letter_has_every_letter_as_a_candidate(lexicon):
    for words in (None, lexicon):
        decoded = decode(emissions_of("q", height=4.0), DecodingSettings(candidates=26), words, n=1)
        assert decoded.word == "q"
        assert sorted(word for word, _ in decoded.candidates) == list(Alphabet().letters)
        assert sum(value for _, value in decoded.candidates) == pytest.approx(1)


def test_a_name_that_no_list_holds_is_read_with_an_open_vocabulary(lexicon):
    log_probs = emissions_of("zoltan")
    closed = decode(log_probs, DecodingSettings(), lexicon, n=6)
    assert closed.word == "letter"
    assert closed.outside > 0.99
    assert closed.unsure
    opened = decode(log_probs, DecodingSettings(open_vocabulary=True), lexicon, n=6)
    assert opened.word == "zoltan"
    assert not opened.unsure
    assert 0.9 < sum(value for _, value in opened.candidates) <= 1 + 1e-9
    any_length = decode(log_probs, DecodingSettings(open_vocabulary=True), lexicon)
    assert any_length.word == "zoltan"
    longer = emissions_of("genevieve")
    assert decode(longer, DecodingSettings(open_vocabulary=True), lexicon, n=9).word == "genevieve"


def test_the_configuration_for_names_reads_a_name_that_no_list_holds(lexicon):
    with initialize_config_dir(str(project_root() / "conf"), version_base="1.3"):
        config = compose("evaluate", ["reader=ctc", "+decoding@reader.ctc.decoding=names"])
        listed = compose("evaluate", ["reader=ctc"])
    for node, word in ((config, "genev"), (listed, None)):
        settings = settings_from(DecodingSettings, node.reader.ctc.decoding, "decoding")
        read = decode(emissions_of("genev"), settings, lexicon, n=5).word
        assert read == word if word else read in WORDS


def test_an_open_vocabulary_still_prefers_the_lexicon_when_both_explain_the_clip(lexicon):
    for n in (5, None):
        decoded = decode(emissions_of("above"), DecodingSettings(open_vocabulary=True), lexicon, n=n)
        assert decoded.word == "above"
        assert decoded.outside < 0.01
        assert sum(value for _, value in decoded.candidates) <= 1 + 1e-9


def test_open_vocabulary_probabilities_of_a_small_world_sum_to_one():
    alphabet = Alphabet("ab")
    lexicon = Lexicon.build(["ab", "ba"], [3, 1], alphabet)
    log_probs = torch.from_numpy(np.random.default_rng(0).normal(size=(9, 3))).log_softmax(-1).numpy()
    settings = DecodingSettings(alphabet="ab", open_vocabulary=True, outside_prior=0.5, answer="expected_ola")
    decoded = decode(log_probs, settings, lexicon, 2)
    assert {word for word, _ in decoded.candidates} == {"aa", "ab", "ba", "bb"}
    assert sum(value for _, value in decoded.candidates) == pytest.approx(1)
    accuracy = {
        answer: sum(p * np.mean([x == y for x, y in zip(word, answer, strict=True)]) for word, p in decoded.candidates)
        for answer, _ in decoded.candidates
    }
    assert decoded.expected_ola == pytest.approx(max(accuracy.values()))


def test_open_vocabulary_of_any_length_spreads_over_all_lengths_of_the_lexicon():
    alphabet = Alphabet("ab")
    lexicon = Lexicon.build(["a", "ba", "bb"], [3, 1, 2], alphabet)
    log_probs = torch.from_numpy(np.random.default_rng(2).normal(size=(7, 3))).log_softmax(-1).numpy()
    settings = DecodingSettings(alphabet="ab", open_vocabulary=True, outside_prior=0.3, frequency_weight=1.0)
    decoded = decode(log_probs, settings, lexicon)
    likelihood = {
        word: np.exp(string_log_likelihood(log_probs, alphabet.encode(word)))
        for word in ("a", "b", "aa", "ab", "ba", "bb")
    }
    prior = {word: 0.3 * 0.5 * 0.5 ** len(word) for word in likelihood}  # half the words have one letter, half two
    for word, frequency in (("a", 3), ("ba", 1), ("bb", 2)):
        prior[word] += 0.7 * frequency / 6
    total = sum(prior[word] * likelihood[word] for word in prior)
    assert dict(decoded.candidates) == pytest.approx({w: prior[w] * likelihood[w] / total for w in prior})
    assert decoded.log_evidence == pytest.approx(np.log(total))


def test_noise_makes_the_decoder_unsure(lexicon):
    log_probs = torch.from_numpy(np.random.default_rng(1).normal(scale=0.3, size=(50, 27))).log_softmax(-1).numpy()
    for words, n in ((lexicon, 5), (None, 5), (None, None)):
        assert decode(log_probs, DecodingSettings(), words, n).unsure


def test_a_clip_of_blanks_gives_no_letters_and_doubt(lexicon):
    logits = np.zeros((30, 27))
    logits[:, 0] = 20.0
    log_probs = torch.from_numpy(logits).log_softmax(-1).numpy()
    free = decode(log_probs, DecodingSettings())
    assert (free.word, free.letters, free.letter_spans_s) == ("", "", ())
    assert free.candidates[0] == ("", pytest.approx(1, abs=1e-4))
    forced = decode(log_probs, DecodingSettings(unsure_below=0.6), lexicon, 5)
    assert forced.word in WORDS
    assert forced.unsure
    assert np.isfinite([value for _, value in forced.candidates]).all()


def test_letter_times_lie_where_the_letters_were_marked(lexicon):
    for method in ("viterbi", "posterior"):
        settings = DecodingSettings(rate_hz=30.0, letter_times=method)
        spans = np.array(decode(emissions_of("above"), settings, lexicon, 5).letter_spans_s)
        wanted = (8 * np.arange(5)[:, None] + [3, 6]) / 30.0
        assert spans == pytest.approx(wanted, abs=1.2 / 30)
        assert (spans[:, 0] < spans[:, 1]).all()
        assert (np.diff(spans[:, 0]) > 0).all()


def test_belief_over_time_ends_at_the_posterior_and_starts_at_the_prior(lexicon):
    log_probs = emissions_of("house")
    belief = posterior_over_time(log_probs, lexicon, frequency_weight=0.3)
    assert belief.shape == (len(log_probs) + 1, len(WORDS))
    assert belief.sum(axis=1) == pytest.approx(np.ones(len(belief)))
    assert belief[0] == pytest.approx(np.exp(lexicon.log_prior(0.3)))
    last = dict(decode(log_probs, DecodingSettings(frequency_weight=0.3), lexicon).candidates)
    assert belief[-1] == pytest.approx([last[word] for word in WORDS])
    house = belief[:, WORDS.index("house")]
    assert house[-1] > 0.99 > house[0]
    half = log_probs[:20]  # "hou": much of the mass is still on the way, and at the end it does not count
    last = dict(decode(half, DecodingSettings(frequency_weight=0.3), lexicon).candidates)
    assert posterior_over_time(half, lexicon, 0.3)[-1] == pytest.approx([last[word] for word in WORDS])
    assert posterior_over_time(log_probs, lexicon, 0.3, frames=[10, 20]) == pytest.approx(belief[[10, 20]])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_emissions_that_are_not_finite_are_refused_and_the_place_is_named(lexicon, value):
    log_probs = emissions_of("above")
    log_probs[7, 3] = value
    for action in (
        lambda: decode(log_probs, DecodingSettings(), lexicon),
        lambda: greedy(log_probs),
        lambda: best_path_of_length(log_probs, 5),
        lambda: word_log_likelihoods(log_probs, lexicon),
        lambda: letter_spans_s(log_probs, [1, 2], 60.0),
    ):
        with pytest.raises(UnwrittenError) as error:
            action()
        assert "frame 7, label 3" in one_line(error)


def test_emissions_of_another_kind_are_refused(lexicon):
    log_probs = emissions_of("above")
    for wrong, reason in (
        (3 * log_probs, "sum to exp"),
        (np.exp(log_probs), "sum to exp"),
        (log_probs[:, :20], "C = 27"),
        (log_probs[None], r"shape \[T, C\]"),
        (log_probs[:0], "no frames"),
    ):
        with pytest.raises(UnwrittenError, match=reason) as error:
            decode(wrong, DecodingSettings(), lexicon)
        one_line(error)


def test_a_clip_shorter_than_its_word_is_refused_and_words_that_fit_are_read(lexicon):
    for words, n in ((lexicon, 5), (None, 5)):
        with pytest.raises(UnwrittenError, match="4 frames") as error:
            decode(emissions_of("above")[:4], DecodingSettings(), words, n)
        one_line(error)
    decoded = decode(emissions_of("above")[:4], DecodingSettings(), lexicon)
    assert {word for word, value in decoded.candidates if value > 0} == {"at", "on"}
    with pytest.raises(UnwrittenError, match="needs 7"):
        letter_spans_s(emissions_of("above")[:6], Alphabet().encode("letter"), 60.0)


def test_words_and_letters_outside_the_alphabet_are_named():
    with pytest.raises(UnwrittenError, match=r"1 of 2 words.*'naïve'") as error:
        Lexicon.build(["at", "naïve"])
    one_line(error)
    with pytest.raises(UnwrittenError, match="letter 'é'") as error:
        Alphabet().encode("café")
    one_line(error)
    with pytest.raises(UnwrittenError, match="'a' is there twice"):
        Alphabet("aba")
    with pytest.raises(UnwrittenError, match="label 27"):
        Alphabet().decode([27])
    assert Alphabet().decode([0, 3, 0, 1, 20]) == "cat"


def test_lexicons_that_make_no_sense_are_refused():
    for words, frequency in (([], None), (["at", ""], None), (["at"], [-1.0]), (["at"], [np.nan]), (["at"], [1, 2])):
        with pytest.raises(UnwrittenError) as error:
            Lexicon.build(words, frequency)
        assert one_line(error).startswith("lexicon")
    merged = Lexicon.build(["at", "on", "at"], [1.0, 2.0, 4.0])
    assert merged.words == ("at", "on")
    assert merged.frequency.tolist() == [5.0, 2.0]


def test_another_alphabet_reads_another_script():
    alphabet = Alphabet("δεζηθ")
    logits = np.full((9, 6), -2.0)
    logits[:, 0] = 2.0
    for frame, label in ((1, 5), (4, 1), (7, 1)):
        logits[frame, label] = 8.0
    log_probs = torch.from_numpy(logits).log_softmax(-1).numpy()
    lexicon = Lexicon.build(["θδδ", "εδη"], alphabet=alphabet)
    assert decode(log_probs, DecodingSettings(alphabet="δεζηθ"), lexicon).word == "θδδ"
    with pytest.raises(UnwrittenError, match="its alphabet"):
        decode(log_probs, DecodingSettings(alphabet="abcde"), lexicon)


def test_committed_configs_build_settings_and_wrong_values_are_usage_errors():
    with initialize_config_dir(str(project_root() / "conf" / "decoding"), version_base=None):
        built = {
            name: settings_from(DecodingSettings, compose(name), "decoding")
            for name in ("default", "names", "benchmark")
        }
    assert built["default"] == DecodingSettings()
    assert built["names"].open_vocabulary
    assert built["benchmark"].answer == "expected_ola"
    for wrong in (
        {"answer": "best"},
        {"temperature": 0},
        {"outside_prior": 1.0},
        {"unsure_below": 2},
        {"frequency_weight": float("nan")},
        {"open_vocabulary": True, "outside_prior": 0},
        {"candidates": 0},
    ):
        with pytest.raises(UsageError):
            settings_from(DecodingSettings, wrong, "decoding")


def english_like(count, longest=5, seed=0):
    """Random words with English letter statistics, so that prefixes and endings are shared as in a real list."""
    rng = np.random.default_rng(seed)
    letters = list("eeeeetttaaaooniiinsssrrhhlldduuccmmwwffggyyppbbvkjxqz")
    words: dict[str, None] = {}
    while len(words) < count:
        words["".join(rng.choice(letters, size=rng.integers(2, longest + 1)))] = None
    return list(words)


@pytest.mark.slow
def test_every_word_of_all_english_is_as_likely_as_ctc_loss_says():
    lexicon = Lexicon.build(english_like(76_717))
    for kind in ("flat", "peaked"):
        log_probs = emissions_like(kind, 500)
        losses = ctc_loss_of_every_word(log_probs, lexicon)
        assert word_log_likelihoods(log_probs, lexicon) == pytest.approx(-losses.numpy(), rel=1e-4)
