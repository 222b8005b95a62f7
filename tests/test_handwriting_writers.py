"""Simulated writers: every letter, the same again from the same seed, and a hand that moves as hands do."""

from __future__ import annotations

import string
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.signal import savgol_filter

from unwritten.errors import UnwrittenError
from unwritten.handwriting import SimulatedWriter, WriterSettings, load_npz, retrace
from unwritten.handwriting.glyphs import alphabet, parse_strokes
from unwritten.handwriting.hand import minimum_jerk, passage_durations, power_law_times
from unwritten.handwriting.retrace import find_loop, stroke_spans
from unwritten.simulation.clips import simulated_writers_benchmark
from unwritten.types import Strokes

WORDS = ("above", "over", "quick", "ocean", "jazz", "fifty", "minimum", "alphabet")
words = st.text(string.ascii_letters, min_size=1, max_size=7)
styles = st.sampled_from(("standard", "cursive", "retrace"))


def power_law_exponent(samples: list[tuple[Strokes, float]]) -> float:
    """Slope of log speed against log curvature within samples, on paper, away from stops and straight runs."""
    log_curvature: list[NDArray[np.float64]] = []
    log_speed: list[NDArray[np.float64]] = []
    for strokes, rate_hz in samples:
        window = max(5, int(0.06 * rate_hz) | 1)
        if len(strokes) <= window:
            continue
        velocity = savgol_filter(strokes.xy_mm, window, 3, deriv=1, delta=1 / rate_hz, axis=0)
        acceleration = savgol_filter(strokes.xy_mm, window, 3, deriv=2, delta=1 / rate_hz, axis=0)
        speed = np.hypot(*velocity.T)
        cross = velocity[:, 0] * acceleration[:, 1] - velocity[:, 1] * acceleration[:, 0]
        curvature = np.abs(cross) / np.maximum(speed, 1e-6) ** 3
        used = strokes.pen_down & (speed > 0.1 * np.percentile(speed, 95)) & (curvature > 0.05) & (curvature < 5)
        if used.sum() > 20:
            log_curvature.append(np.log(curvature[used]) - np.log(curvature[used]).mean())
            log_speed.append(np.log(speed[used]) - np.log(speed[used]).mean())
    x, y = np.concatenate(log_curvature), np.concatenate(log_speed)
    return float(x @ y / (x @ x))


@pytest.mark.parametrize("style", ["print", "cursive"])
def test_every_letter_has_a_shape_between_the_lines(style: str) -> None:
    letters = alphabet(style)
    assert set(letters) == set(string.ascii_letters)
    for letter, variants in letters.items():
        for glyph in variants:
            points = np.concatenate([stroke.points for stroke in (*glyph.strokes, *glyph.delayed)])
            low, high = points[:, 1].min(), points[:, 1].max()
            assert low >= -1.05 and high <= 2.05, letter
            if letter not in "ij":  # dots are left out now and then
                assert (high > 1.3) == (letter in "bdfhklt" or letter.isupper()), letter
            assert (low < -0.5) == (letter in "gjpqy" or (letter in "fzFGJY" and low < -0.5)), letter
            if style == "cursive" and letter.islower():
                assert len(glyph.entry) > 0, letter


def test_an_unknown_alphabet_or_a_broken_shape_is_refused() -> None:
    with pytest.raises(UnwrittenError, match="runes"):
        alphabet("runes")
    with pytest.raises(UnwrittenError, match="x,y"):
        parse_strokes("0,1 0,one")


@settings(max_examples=25, deadline=None)
@given(word=words, style=styles, seed=st.integers(0, 10_000))
def test_a_writer_writes_any_word_and_writes_it_again_the_same(word: str, style: str, seed: int) -> None:
    written = SimulatedWriter(seed, style).write_word(word)
    strokes = written.strokes
    assert np.isfinite(strokes.xy_mm).all()
    np.testing.assert_allclose(np.diff(strokes.time_s), 1 / 200, atol=1e-9)
    assert strokes.pen_down[0]
    assert strokes.label == word
    assert np.hypot(*np.diff(strokes.xy_mm, axis=0).T).max() < 6.0
    spans_s = written.letter_spans_s
    assert spans_s.shape == (len(word), 2)
    assert (spans_s[:, 0] < spans_s[:, 1]).all()
    assert (np.diff(spans_s[:, 0]) > 0).all()
    assert spans_s.min() >= 0 and spans_s.max() <= strokes.time_s[-1] + 0.01
    again = SimulatedWriter(seed, style).write(word)
    np.testing.assert_array_equal(again.xy_mm, strokes.xy_mm)
    np.testing.assert_array_equal(again.pen_down, strokes.pen_down)


def test_what_is_written_does_not_depend_on_what_was_written_before() -> None:
    first, second = SimulatedWriter(3, "cursive"), SimulatedWriter(3, "cursive")
    first.write("zebra")
    np.testing.assert_array_equal(first.write("above").xy_mm, second.write("above").xy_mm)


def test_writers_and_takes_differ() -> None:
    one = SimulatedWriter(1).write("above")
    assert len(SimulatedWriter(2).write("above")) != len(one)
    assert not np.array_equal(SimulatedWriter(1).write("above", take=1).xy_mm[:50], one.xy_mm[:50])
    heights_mm = [np.ptp(SimulatedWriter(seed).write("above").xy_mm[:, 1]) for seed in range(40)]
    assert np.std(heights_mm) > 0.1 * np.mean(heights_mm)


def lifts(strokes: Strokes) -> int:
    return int((np.diff(strokes.pen_down.astype(int)) < 0).sum())


def test_some_print_writers_lift_the_pen_where_others_turn_and_no_writer_of_cursive_does() -> None:
    shares = {}
    for style in ("print", "cursive"):
        counts = [
            [
                sum(lifts(SimulatedWriter(seed, style, WriterSettings(lifter_share=share)).write(c)) for c in "hnmra")
                for share in (0.0, 1.0)
            ]
            for seed in range(12)
        ]
        shares[style] = np.mean([lifted > plain for plain, lifted in counts])
        assert all(lifted >= plain for plain, lifted in counts)
    assert shares["print"] > 0.7
    assert shares["cursive"] == 0.0


@pytest.mark.parametrize("word", ["", "naïve", "don't", "a b"])
def test_a_word_outside_the_alphabet_is_refused(word: str) -> None:
    with pytest.raises(UnwrittenError):
        SimulatedWriter(1).write(word)


def test_a_letter_is_one_letter_and_a_style_is_known() -> None:
    with pytest.raises(UnwrittenError, match="one letter"):
        SimulatedWriter(1).write_letter("ab")
    with pytest.raises(UnwrittenError, match="gothic"):
        SimulatedWriter(1, "gothic")


def test_cursive_joins_and_print_lifts() -> None:
    def lifts(style: str) -> float:
        return float(np.mean([len(stroke_spans(SimulatedWriter(s, style).write("lemon").pen_down)) for s in range(20)]))

    assert lifts("standard") >= 5
    assert lifts("cursive") < 2


@pytest.mark.parametrize("style", ["standard", "cursive"])
def test_speed_follows_curvature_by_the_two_thirds_power_law(style: str) -> None:
    samples = [(SimulatedWriter(seed, style).write(word), 200.0) for seed in range(10) for word in WORDS]
    assert power_law_exponent(samples) == pytest.approx(-1 / 3, abs=0.06)


def test_simulated_words_take_as_long_as_words_on_tablets(unipen: Path) -> None:
    corpus = load_npz(unipen / "words_with_hover.npz", rates_hz={"sta": 100.0})
    chosen = [index for index in range(0, len(corpus), 120) if corpus.sites[index] != "ugi"]
    labels = [str(corpus.labels[index]) for index in chosen]

    def medians(samples: list[Strokes]) -> tuple[float, float, float]:
        letter_s = [sample.time_s[-1] / len(sample.label) for sample in samples]
        lengths_mm = [np.hypot(*np.diff(sample.xy_mm, axis=0).T).sum() for sample in samples]
        speeds_mm_s = [length / sample.time_s[-1] for length, sample in zip(lengths_mm, samples, strict=True)]
        heights_mm = [np.ptp(sample.xy_mm[:, 1]) for sample in samples]
        return float(np.median(letter_s)), float(np.median(speeds_mm_s)), float(np.median(heights_mm))

    real = medians([corpus[index] for index in chosen])
    for style in ("standard", "cursive"):
        simulated = medians([SimulatedWriter(number, style).write(label) for number, label in enumerate(labels)])
        np.testing.assert_allclose(simulated, real, rtol=0.35)


def test_a_hand_at_rest_starts_and_stops_and_passes_its_targets() -> None:
    points = np.array([[0.0, 0.0], [0.3, 0.9], [1.0, 1.0], [1.2, 0.1], [2.0, 0.0]])
    corner = np.array([False, False, True, False, False])
    durations_s = passage_durations(points, corner, 0.3) * 0.1
    path = minimum_jerk(points, corner, durations_s, 1000.0)
    passed = np.round(np.cumsum(durations_s)[:-1] * 1000).astype(int)
    np.testing.assert_allclose(path[passed], points[1:-1], atol=0.02)
    speed = np.hypot(*np.diff(path, axis=0).T) * 1000
    assert speed[0] < 0.02 * speed.max() and speed[-1] < 0.02 * speed.max()
    assert speed[passed[1] - 1] < 0.02 * speed.max()
    assert speed[passed[0]] > 0.1 * speed.max()


def test_a_straight_reach_is_the_minimum_jerk_polynomial() -> None:
    path = minimum_jerk(np.array([[0.0, 0.0], [1.0, -2.0]]), np.zeros(2, np.bool_), np.array([0.5]), 200.0)
    u = np.arange(len(path)) / 100
    np.testing.assert_allclose(path[:, 0], u**3 * (10 - 15 * u + 6 * u**2), atol=1e-12)
    np.testing.assert_allclose(path[:, 1], -2 * path[:, 0], atol=1e-12)


def test_the_power_law_slows_turns_and_keeps_the_clock_running() -> None:
    angle = np.linspace(0, 2 * np.pi, 400)
    ellipse = np.stack([2 * np.cos(angle), 0.5 * np.sin(angle)], axis=1)
    times_s = power_law_times(ellipse, 400.0)
    assert (np.diff(times_s) > 0).all()
    assert times_s[-1] == pytest.approx(1.0, rel=0.15)


def test_a_retraced_o_goes_round_twice_without_a_lift() -> None:
    ring = SimulatedWriter(1).write("o")
    assert len(stroke_spans(ring.pen_down)) == 1
    again = retrace(ring, np.random.default_rng(0))
    assert len(stroke_spans(again.pen_down)) == 1
    assert again.time_s[-1] > 1.6 * ring.time_s[-1]
    np.testing.assert_allclose(again.xy_mm.min(axis=0), ring.xy_mm.min(axis=0), atol=0.6)
    np.testing.assert_allclose(again.xy_mm.max(axis=0), ring.xy_mm.max(axis=0), atol=0.6)
    np.testing.assert_array_equal(again.xy_mm, retrace(ring, np.random.default_rng(0)).xy_mm)


def test_retracing_an_open_stroke_draws_it_again_on_the_same_line() -> None:
    time_s = np.arange(60) / 200
    stem = Strokes(time_s, np.stack([np.zeros(60), -np.linspace(0, 6, 60)], axis=1), np.ones(60, np.bool_))
    longest = max((retrace(stem, np.random.default_rng(seed)) for seed in range(10)), key=len)
    assert longest.time_s[-1] > 1.9 * time_s[-1]
    assert np.abs(longest.xy_mm[longest.pen_down, 0]).max() < 0.6
    assert longest.xy_mm[:, 1].min() > -6.5


def test_retracing_nothing_gives_nothing() -> None:
    point = Strokes(np.zeros(1), np.zeros((1, 2)), np.ones(1, np.bool_))
    assert len(retrace(point, np.random.default_rng(0))) == 1


def test_a_loop_is_found_where_a_stroke_closes() -> None:
    angle = np.linspace(0, 2 * np.pi, 60)
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    first, end = find_loop(circle, 0.28)
    assert first == 0 and end > 45
    assert find_loop(np.stack([angle, np.sin(angle)], axis=1), 0.28) == (0, 0)


def test_settings_change_the_writer() -> None:
    slow = SimulatedWriter(1, settings=WriterSettings(pace_s=0.12)).write("above")
    assert slow.time_s[-1] > 1.5 * SimulatedWriter(1).write("above").time_s[-1]


@pytest.mark.parametrize("writers_of_a_style", [2, 100])
def test_a_benchmark_of_simulated_writers_has_as_many_words_as_asked_evenly_by_style_and_condition(
    writers_of_a_style: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unwritten.simulation.clips._WRITERS_OF_A_STYLE", writers_of_a_style)
    clips = simulated_writers_benchmark(limit=260)
    assert len(clips) == 260
    assert Counter((clip.style, clip.id.split("-")[1]) for clip in clips) == {
        (style, condition): 65 for style in ("standard", "cursive") for condition in ("live", "shots")
    }
    assert len({clip.id for clip in clips}) == 260
