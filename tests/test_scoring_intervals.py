"""Intervals cover the truth as often as they say, also where words share letter clips."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from unwritten.errors import UnwrittenError
from unwritten.scoring.intervals import CrossedBootstrap, Factor, IntervalSettings
from unwritten.words.lists import word_list

ALPHABET = 26


class SharedClips:
    """Words of three writers, whose letters' clips are easy or hard to read for all words that hold them."""

    def __init__(self, words: int, clip_spread: float, context: float) -> None:
        rng = np.random.default_rng(3)
        lexicon = word_list("benchmark").words
        self.words = [lexicon[index] for index in rng.choice(len(lexicon), size=words, replace=False)]
        self.style = np.arange(words) % 3
        self.lengths = np.array([len(word) for word in self.words])
        codes = np.full((words, 5), -1)
        for row, word in enumerate(self.words):
            codes[row, : len(word)] = [ord(letter) - ord("a") for letter in word]
        self.mask = codes >= 0
        self.clip = np.where(self.mask, codes + ALPHABET * self.style[:, None], 0)
        self.clip_spread, self.context = clip_spread, context
        self.groups = [list(self.clip[row, self.mask[row]]) for row in range(words)]

    def factor(self) -> Factor:
        return Factor.of("letter clips", self.groups)

    def scores(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """OLA of each word, with new clips and new readings: P(right) depends on the letter's clip, or on all."""
        ease = rng.normal(0, self.clip_spread, 3 * ALPHABET)[self.clip]
        around = np.where(self.mask, ease, 0).sum(axis=1, keepdims=True) / np.sqrt(self.lengths)[:, None]
        logit = -0.5 + (1 - self.context) * ease + self.context * around + rng.normal(0, 0.5, (len(ease), 1))
        right = (rng.random(ease.shape) < 1 / (1 + np.exp(-logit))) & self.mask
        return right.sum(axis=1) / self.lengths

    def expected(self) -> float:
        rng = np.random.default_rng(99)
        return float(np.mean([self.scores(rng).mean() for _ in range(3000)]))


def coverage(design: SharedClips, factors: list[Factor], runs: int = 250) -> tuple[float, float]:
    """Share of intervals that hold the truth, and their mean width."""
    bootstrap = CrossedBootstrap(design.words, factors, list(design.style), IntervalSettings(replicates=400))
    rng = np.random.default_rng(7)
    values = np.column_stack([design.scores(rng) for _ in range(runs)])
    intervals = bootstrap.intervals(values, (0.0, 1.0))
    truth = design.expected()
    hits = [interval.low <= truth <= interval.high for interval in intervals]
    return float(np.mean(hits)), float(np.mean([interval.high - interval.low for interval in intervals]))


@pytest.mark.parametrize("context", [0.0, 1.0], ids=["a clip decides its own letter", "clips decide the whole word"])
def test_crossed_intervals_cover_where_words_share_clips_and_word_only_intervals_do_not(context: float) -> None:
    design = SharedClips(words=400, clip_spread=1.5, context=context)
    crossed, _ = coverage(design, [design.factor()])
    words_only, _ = coverage(design, [])
    assert 0.90 <= crossed <= 0.99
    assert words_only < 0.75


def test_crossed_intervals_are_not_much_wider_where_clips_do_not_matter() -> None:
    design = SharedClips(words=400, clip_spread=0.0, context=0.0)
    crossed, crossed_width = coverage(design, [design.factor()])
    words_only, width = coverage(design, [])
    assert 0.91 <= words_only <= 0.98
    assert 0.92 <= crossed <= 1.0
    assert crossed_width < 1.4 * width


def test_writers_are_crossed_too() -> None:
    rng = np.random.default_rng(1)
    writers = np.repeat(np.arange(12), 25)
    words = [f"w{index}" for index in range(300)]
    factor = Factor.of("writers", [(writer,) for writer in writers])
    bootstrap = CrossedBootstrap(words, [factor], None, IntervalSettings(replicates=400))
    runs = 200
    values = np.column_stack(
        [np.clip(0.5 + rng.normal(0, 0.15, 12)[writers] + rng.normal(0, 0.1, 300), 0, 1) for _ in range(runs)]
    )
    hits = [interval.low <= 0.5 <= interval.high for interval in bootstrap.intervals(values, (0.0, 1.0))]
    assert 0.90 <= np.mean(hits) <= 0.99


def test_paired_differences_cancel_what_both_readers_share() -> None:
    design = SharedClips(words=300, clip_spread=2.0, context=0.0)
    rng = np.random.default_rng(5)
    first = design.scores(rng)
    second = np.clip(first - 0.05, 0, 1)
    bootstrap = CrossedBootstrap(design.words, [design.factor()], list(design.style))
    alone = bootstrap.interval(first, (0, 1))
    paired = bootstrap.interval(first - second, (-1, 1))
    assert paired.high - paired.low < 0.1 * (alone.high - alone.low)
    assert paired.p_value < 1e-6


def test_no_difference_at_all_is_not_significant() -> None:
    bootstrap = CrossedBootstrap(["a", "b", "c"], settings=IntervalSettings(replicates=200))
    interval = bootstrap.interval([0.0, 0.0, 0.0], (-1, 1))
    assert interval.p_value == 1.0
    assert interval.low < 0 < interval.high


def test_all_right_or_all_wrong_is_not_certainty() -> None:
    bootstrap = CrossedBootstrap(list("abcdefghij"), settings=IntervalSettings(replicates=200))
    right = bootstrap.interval(np.ones(10), (0, 1))
    # The exact binomial limit of ten successes in ten.
    assert right.low == pytest.approx(0.025 ** (1 / 10)) and right.high == 1.0


def test_one_word_says_nothing() -> None:
    interval = CrossedBootstrap(["word"], settings=IntervalSettings(replicates=200)).interval([0.4], (0, 1))
    assert (interval.value, interval.low, interval.high) == (0.4, 0.0, 1.0)


def test_the_same_seed_gives_the_same_interval_and_readers_do_not_disturb_each_other() -> None:
    design = SharedClips(words=120, clip_spread=1.0, context=0.0)
    rng = np.random.default_rng(2)
    values = np.column_stack([design.scores(rng), design.scores(rng)])
    make = lambda: CrossedBootstrap(design.words, [design.factor()], list(design.style))  # noqa: E731
    together = make().intervals(values, (0, 1))
    alone = make().interval(values[:, 1], (0, 1))
    assert together[1].low == pytest.approx(alone.low, abs=1e-6)
    assert together[1].high == pytest.approx(alone.high, abs=1e-6)


def test_takes_of_one_word_are_one_observation() -> None:
    values = np.repeat([0.0, 1.0, 1.0, 0.0, 1.0], 10)
    words = np.repeat(np.arange(5), 10)
    apart = CrossedBootstrap(list(range(50))).interval(values, (0, 1))
    together = CrossedBootstrap(list(words)).interval(values, (0, 1))
    assert together.high - together.low > 2 * (apart.high - apart.low)


def test_no_item_is_an_error() -> None:
    with pytest.raises(UnwrittenError, match="at least one item"):
        CrossedBootstrap([])


def test_no_difference_in_ten_words_bounds_the_difference_by_what_ten_words_could_miss() -> None:
    bootstrap = CrossedBootstrap(list("abcdefghij"), settings=IntervalSettings(replicates=200))
    interval = bootstrap.interval(np.zeros(10), (-1, 1))
    assert interval.high == pytest.approx(1 - 0.025 ** (1 / 10)) and interval.low == pytest.approx(-interval.high)
