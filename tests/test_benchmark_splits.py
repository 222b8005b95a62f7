"""Splits keep groups whole, hold shares, and say when they cannot; protocols and the corpus are made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unwritten import cli
from unwritten.benchmark import find_clips
from unwritten.benchmark.corpus import CorpusSettings, balanced_corpus
from unwritten.benchmark.manifest import letters_used
from unwritten.benchmark.protocols import (
    GROUPS,
    PROTOCOLS,
    Fold,
    ProtocolSettings,
    check,
    folds,
    group_keys,
    split_clips,
    without_letters,
)
from unwritten.benchmark.splits import SplitSettings, crossing_groups, split
from unwritten.benchmark.splits_search import search
from unwritten.config import settings_from
from unwritten.errors import UnwrittenError, UsageError
from unwritten.types import MODALITIES, STYLES, Clip, Modality
from unwritten.words.lists import word_list

RETRACE = set("abcdeghilmnorstuw")


def clip(word: str, style: str, source: str, modalities: tuple[Modality, ...] = MODALITIES) -> Clip:
    files = {modality: Path(source, style, f"{word}.{modality}") for modality in modalities}
    return Clip(f"{source}/{style}/{word}", files, style, word, source, style, letters_used(source, style, word))


def benchmark(words_per_length: int = 40) -> list[Clip]:
    """Letters, synthetic words and live words of three styles, one of them with few letters."""
    clips = []
    for style in STYLES:
        letters = RETRACE if style == "retrace" else set("abcdefghijklmnopqrstuvwxyz")
        clips += [clip(letter, style, "letter") for letter in sorted(letters)]
        for length in (2, 3, 4, 5):
            words = [word for word in word_list().of_length(length) if set(word) <= letters][:words_per_length]
            clips += [clip(word, style, "synthetic") for word in words]
            clips += [clip(word, style, "live") for word in words[::8]]
    return clips


BENCHMARK = benchmark()


def counts(corpus: Sequence[Clip]) -> Counter[tuple[str, int, Modality]]:
    """How many files each style, length and modality of a corpus has."""
    return Counter((clip.style, len(clip.word or ""), clip.modalities[0]) for clip in corpus)


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_no_group_ever_crosses_a_split(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 40))
    names = st.sampled_from([f"group {index}" for index in range(data.draw(st.integers(1, 15)))])
    groups = data.draw(st.lists(st.lists(names, max_size=3), min_size=n, max_size=n))
    attributes = data.draw(st.lists(st.lists(st.sampled_from("abc"), max_size=3), min_size=n, max_size=n))
    settings_ = SplitSettings(
        shares={"train": 0.6, "test": 0.4},
        tolerance=data.draw(st.sampled_from([0.1, 0.5, 2.0])),
        leave_out=data.draw(st.booleans()),
        time_limit_s=1,
        seed=data.draw(st.integers(0, 3)),
    )
    try:
        found = split(groups, attributes, settings_)
    except UnwrittenError as error:
        assert "\n" not in str(error)
        return
    sides: dict[str, set[str]] = {}
    for keys, part in zip(groups, found.part, strict=True):
        assert part in ("train", "test") or (part == "" and settings_.leave_out)
        for key in keys:
            sides.setdefault(key, set()).add(part)
    assert all(len(parts - {""}) <= 1 for parts in sides.values())


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([0.1, 0.25, 0.5]))
def test_every_share_lies_within_the_stated_tolerance(seed: int, tolerance: float) -> None:
    attributes = [(f"style {index % 3}", f"length {index % 4}", *"ab"[: index % 3]) for index in range(120)]
    shares = {"train": 0.7, "validation": 0.1, "test": 0.2}
    found = split(
        [(f"word {index // 2}",) for index in range(120)], attributes, SplitSettings(shares, tolerance, seed=seed)
    )
    table = Counter((value, part) for values, part in zip(attributes, found.part, strict=True) for value in values)
    for value in {value for values in attributes for value in values}:
        total = sum(table[value, part] for part in shares)
        for part, share in shares.items():
            assert abs(table[value, part] - share * total) <= max(tolerance * share * total, 1) + 1e-6
    assert found.deviation <= tolerance + 1e-6


def test_seeds_choose_among_splits_and_repeat_them() -> None:
    groups = [(f"word {index}",) for index in range(60)]
    attributes = [(f"style {index % 3}",) for index in range(60)]
    first, again, other = (split(groups, attributes, SplitSettings(seed=seed)).part for seed in (1, 1, 2))
    assert first == again and first != other


def test_an_impossible_split_says_which_share_is_missed() -> None:
    groups = [("one writer",)] * 6 + [("another",)] * 2
    with pytest.raises(
        UnwrittenError, match=r"no split of 8 items holds every share within 25%; the nearest misses .* in"
    ):
        split(groups, [("a",)] * 8, SplitSettings(shares={"train": 0.5, "test": 0.5}))
    with pytest.raises(UnwrittenError, match="all hang together through shared groups"):
        split([("a", "b"), ("b", "c"), ("c", "a")] * 4, [()] * 12, SplitSettings(tolerance=0.1))
    with pytest.raises(UnwrittenError, match="no item to split"):
        split([], [], SplitSettings())


def test_words_that_share_letters_can_only_be_split_by_leaving_some_out() -> None:
    words = ["at", "ta", "tat", "on", "no", "not", "ant", "onto"]
    groups = [tuple(word) for word in words]
    shares = {"train": 0.5, "test": 0.5}
    with pytest.raises(UnwrittenError, match="hang together"):
        split(groups, [()] * len(words), SplitSettings(shares))
    found = split(groups, [()] * len(words), SplitSettings(shares, leave_out=True))
    assert {word for word, part in zip(words, found.part, strict=True) if not part} == {"not", "ant", "onto"}
    assert found.part[0] == found.part[1] != found.part[3] == found.part[4]
    assert crossing_groups(groups, found.part) == ()


@pytest.mark.parametrize("seed", range(8))
def test_annealing_keeps_as_many_items_as_trying_everything(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_units = 7
    members = [sorted(rng.choice(n_units, rng.integers(1, 4), replace=False).tolist()) for _ in range(14)]
    members.append([n_units - 1])
    counts, shares = np.ones((1, len(members))), np.array([0.5, 0.5])

    def kept(part: Sequence[int]) -> int:
        sides = Counter(part[units[0]] for units in members if len({part[unit] for unit in units}) == 1)
        total = sum(sides.values())
        fits = all(abs(sides[side] - total / 2) <= 0.25 * total / 2 + 1 + 1e-9 for side in (0, 1))
        return total if fits else -1

    best = max(kept(part) for part in product((0, 1), repeat=n_units))
    found = search(members, counts, counts[0], shares, tolerance=0.25, seed=0)
    assert found is not None and kept(found.tolist()) == best


@pytest.mark.parametrize("settings_", [
    {"shares": {"train": 0.5, "test": 0.6}},
    {"shares": {"train": 1.0}},
    {"shares": {"": 0.5, "test": 0.5}},
    {"tolerance": -1},
])  # fmt: skip
def test_settings_that_mean_nothing_are_bad_usage(settings_: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        settings_from(SplitSettings, settings_)


def crossing(fold: Fold, kind: str) -> set[str]:
    learnt = {key for clip in (*fold.train, *fold.validation) for key in group_keys(clip, (kind,))}  # type: ignore[arg-type]
    return learnt & {key for clip in fold.test for key in group_keys(clip, (kind,))}  # type: ignore[arg-type]


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_protocol_keeps_whole_what_it_says_and_shares_only_what_it_says(name: str) -> None:
    for fold in folds(BENCHMARK, ProtocolSettings(name=name)):  # type: ignore[arg-type]
        assert set(fold.whole) | set(fold.shared) == set(GROUPS)
        assert all(not crossing(fold, kind) for kind in fold.whole)
        assert all(crossing(fold, kind) for kind in fold.shared)
        everywhere = [clip.id for clip in (*fold.train, *fold.validation, *fold.test, *fold.left_out)]
        assert len(everywhere) == len(set(everywhere)) and fold.test
        words = [{clip.word for clip in part} for part in (fold.train, fold.validation)]
        single = {word for word in words[0] & words[1] if word and len(word) > 1}
        assert not single


def test_transfer_learns_from_no_clip_and_is_tested_on_all() -> None:
    (fold,) = folds(BENCHMARK)
    assert not fold.train and not fold.validation and len(fold.test) == len(BENCHMARK)


def test_live_is_tested_on_live_words_that_training_does_not_spell() -> None:
    (fold,) = folds(BENCHMARK, ProtocolSettings(name="live"))
    assert {clip.source for clip in fold.test} == {"live"}
    assert {clip.source for clip in fold.train} == {"letter", "synthetic"}
    assert {clip.word for clip in fold.left_out} <= {clip.word for clip in fold.test}


def test_cross_style_has_a_fold_for_each_style() -> None:
    made = folds(BENCHMARK, ProtocolSettings(name="cross-style"))
    assert [fold.name for fold in made] == [f"cross-style {style}" for style in sorted(STYLES)]
    for fold in made:
        assert len({clip.style for clip in fold.train}) == 2 and len({clip.style for clip in fold.test}) == 1


def test_closed_tests_the_share_that_was_asked_for_in_every_style() -> None:
    (fold,) = folds(BENCHMARK, ProtocolSettings(name="closed", test=0.2))
    for style in STYLES:
        total = sum(clip.style == style for clip in BENCHMARK if clip.source == "synthetic")
        assert sum(clip.style == style for clip in fold.test) == pytest.approx(0.2 * total, rel=0.25)
    assert fold.shared == ("letter clip", "writer")


def test_a_protocol_without_its_clips_says_what_is_needed() -> None:
    letters = [clip for clip in BENCHMARK if clip.source == "letter" and clip.style == "standard"]
    for name, need in (("live", "live words"), ("closed", "synthetic words"), ("cross-style", "two styles or more")):
        with pytest.raises(UnwrittenError, match=need):
            folds(letters, ProtocolSettings(name=name))  # type: ignore[arg-type]


def test_a_manifest_that_gives_one_writer_two_styles_breaks_cross_style_loudly() -> None:
    same = [Clip(f"{style}/a", {"av": Path("a")}, style, "a", "letter", "one hand") for style in STYLES]
    with pytest.raises(UnwrittenError, match="writer one hand stands on both sides; correct writer"):
        folds(same, ProtocolSettings(name="cross-style"))


def test_check_refuses_a_fold_whose_words_cross() -> None:
    one, other = clip("cat", "standard", "synthetic"), clip("CAT", "cursive", "live")
    with pytest.raises(UnwrittenError, match="word cat stands on both sides"):
        check(Fold("live", "live", (one,), (), (other,), (), ("word",), ()))


def test_clips_can_be_split_so_that_no_letter_clip_crosses() -> None:
    words = [entry for entry in BENCHMARK if entry.source == "synthetic" and entry.style == "retrace"][:30]
    shares = {"train": 0.7, "test": 0.3}
    parts, _ = split_clips(words, ("letter clip",), (), SplitSettings(shares, leave_out=True, time_limit_s=10))
    letters = [{letter for entry in parts[name] for letter in entry.letter_clips} for name in ("train", "test")]
    assert letters[0] and letters[1] and not letters[0] & letters[1]


def test_the_row_without_public_letters_holds_none_of_them() -> None:
    kept = without_letters(BENCHMARK)
    assert kept and not any(set("above") & set((clip.word or "").lower()) for clip in kept)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_corpus_has_300_files_balanced_over_style_length_and_modality(seed: int) -> None:
    drawn = balanced_corpus(BENCHMARK, CorpusSettings(seed=seed))
    table = counts(drawn)
    assert len(drawn) == 300 and set(table.values()) == {8, 9} and len(table) == 36
    for axis, each in ((0, 100), (1, 75), (2, 100)):
        totals = Counter[object]()
        for cell, number in table.items():
            totals[cell[axis]] += number
        assert set(totals.values()) == {each}
    assert all(len(clip.files) == 1 and clip.source == "synthetic" for clip in drawn)
    assert len({clip.id for clip in drawn}) == 300


def test_the_corpus_repeats_a_word_only_where_balance_needs_it() -> None:
    drawn = balanced_corpus(BENCHMARK, CorpusSettings(files=120))
    # 30 files of two letters are drawn from 40 words and more: no word has to come twice.
    assert len({clip.word for clip in drawn}) == 120


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(1, 200), st.integers(0, 5), st.randoms(use_true_random=False))
def test_one_seed_draws_one_corpus_in_whatever_order_clips_come(files: int, seed: int, random: object) -> None:
    shuffled = list(BENCHMARK)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    settings_ = CorpusSettings(files=files, seed=seed)
    drawn = balanced_corpus(BENCHMARK, settings_)
    assert drawn == balanced_corpus(shuffled, settings_) and len(drawn) == files
    numbers = counts(drawn)
    assert max(numbers.values()) - min((numbers[cell] for cell in numbers), default=0) <= 1 or files < 36


def test_clips_that_lack_modalities_are_drawn_in_those_they_have() -> None:
    words = word_list().of_length(3).words[:60]
    clips = [clip(word, "standard", "synthetic", (MODALITIES[index % 3],)) for index, word in enumerate(words)]
    drawn = balanced_corpus(clips, CorpusSettings(files=30, lengths=(3,)))
    assert Counter(entry.modalities[0] for entry in drawn) == {"audio": 10, "video": 10, "av": 10}


def test_a_corpus_that_cannot_be_balanced_says_why() -> None:
    with pytest.raises(UnwrittenError, match=r"900 clips asked for, \d+ there"):
        balanced_corpus(BENCHMARK, CorpusSettings(files=900))
    few = [entry for entry in BENCHMARK if entry.style != "retrace" or entry.word in ("at", "on", "not")]
    with pytest.raises(UnwrittenError, match=r"gets \d+ files where an equal share is \d+, beyond 10%"):
        balanced_corpus(few, CorpusSettings(files=240))
    assert len(balanced_corpus(few, CorpusSettings(files=240, tolerance=2))) == 240


def test_the_commands_write_tables_that_can_be_read_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "data"
    for entry in BENCHMARK[::3]:
        mark = {"standard": "-1", "cursive": "-2c", "retrace": "-3r"}[entry.style]
        stem = f"{entry.word}{mark if entry.source != 'synthetic' else ''}"
        for end in (".mp3", "_muted.mp4", ".mp4"):
            path = root / entry.source / entry.style / f"{stem}{end}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(str(path))
    assert (
        cli.main(["split", str(root), "--protocol", "closed", "--balance", "style", "-o", str(tmp_path / "s.csv")]) == 0
    )
    assert "shared by training and test: letter clip, writer" in capsys.readouterr().out
    table = pd.read_csv(tmp_path / "s.csv")
    assert list(table.columns) == ["fold", "item", "part"] and set(table["part"]) == {"train", "validation", "test"}
    assert set(table["item"]) == {entry.id for entry in find_clips(root) if entry.source == "synthetic"}
    assert cli.main(["split", str(root), "--protocol", "closed", "--test", "2", "-o", str(tmp_path / "t.csv")]) == 2
    assert not (tmp_path / "t.csv").exists()
