"""A corpus of handwriting: what is read, what is refused, and how writers are kept apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unwritten.errors import UnwrittenError
from unwritten.handwriting.corpus import HandwritingCorpus, from_strokes, load_npz, writer_fraction
from unwritten.types import Strokes


def _arrays(**changes: Any) -> dict[str, Any]:
    """Three samples of two, three and four positions by two writers."""
    arrays: dict[str, Any] = {
        "xy_centimm": np.arange(18, dtype=np.int16).reshape(9, 2),
        "pen_down": np.ones(9, np.uint8),
        "offsets": np.array([0, 2, 5, 9]),
        "label": np.array(["a", "be", "c"]),
        "writer": np.array(["x/1", "x/2", "x/1"]),
        "site": np.array(["x", "x", "y"]),
        "rate_hz": np.array([100, 100, 200], np.float32),
    }
    return {**arrays, **changes}


def _saved(folder: Path, arrays: dict[str, Any]) -> Path:
    path = folder / "corpus.npz"
    np.savez(path, **arrays)
    return path


def test_a_sample_comes_in_millimetres_and_seconds(tmp_path: Path) -> None:
    corpus = load_npz(_saved(tmp_path, _arrays()))
    sample = corpus[1]
    assert sample.label == "be"
    assert sample.writer == "x/2"
    np.testing.assert_allclose(sample.xy_mm[:, 0], [0.04, 0.06, 0.08], rtol=1e-6)
    np.testing.assert_allclose(sample.time_s, [0.0, 0.01, 0.02], atol=1e-7)
    assert len(corpus) == len(list(corpus)) == 3
    assert corpus[-1].label == "c"
    with pytest.raises(IndexError):
        corpus[3]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"label": np.array(["a", "b3", "c"])}, "a label outside the alphabet"),
        ({"label": np.array(["a", "", "c"])}, "a label outside the alphabet"),
        ({"writer": np.array(["x/1", " ", "x/1"])}, "no writer"),
        ({"rate_hz": np.array([100, 0, 200])}, "an impossible rate"),
        ({"rate_hz": np.array([100, 9600, 200])}, "an impossible rate"),
        ({"rate_hz": np.array([100, 10, 200])}, "an impossible rate"),
        ({"rate_hz": np.array([100, np.nan, 200])}, "an impossible rate"),
        ({"offsets": np.array([0, 4, 5, 9])}, "fewer than two positions"),
        ({"pen_down": np.array([1, 1, 0, 0, 0, 1, 1, 1, 1])}, "no pen on the paper"),
        ({"xy_centimm": np.where(np.arange(18) == 5, np.nan, 1.0).reshape(9, 2)}, "positions that are not numbers"),
    ],
)
def test_an_unusable_sample_is_left_out_and_counted(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    corpus = load_npz(_saved(tmp_path, _arrays(**changes)))
    assert list(corpus.labels) == ["a", "c"]
    assert corpus.skipped == {reason: 1}
    assert f"1 with {reason}" in corpus.describe()


def test_a_rate_that_the_header_has_wrong_can_be_named(tmp_path: Path) -> None:
    path = _saved(tmp_path, _arrays(rate_hz=np.array([100, 100, 10])))
    assert len(load_npz(path)) == 2
    corpus = load_npz(path, rates_hz={"y": 100.0})
    assert corpus[2].time_s[1] == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"xy_centimm": np.zeros((9, 3))}, r"xy_centimm has shape \[9, 3\]"),
        ({"pen_down": np.ones(8)}, "pen_down has shape"),
        ({"offsets": np.array([0, 2, 5, 8])}, "offsets do not rise"),
        ({"offsets": np.array([0, 5, 2, 9])}, "offsets do not rise"),
        ({"offsets": np.array([0.0, 2.0, 5.0, 9.0])}, "whole numbers"),
        ({"writer": np.array(["x/1"])}, "writer has shape"),
        ({"rate_hz": np.zeros(3)}, "no usable handwriting .3 with an impossible rate"),
    ],
)
def test_a_broken_corpus_is_refused_with_its_name(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UnwrittenError, match=message) as caught:
        load_npz(_saved(tmp_path, _arrays(**changes)))
    assert "corpus.npz" in str(caught.value)


def test_a_missing_key_and_a_cut_file_are_refused(tmp_path: Path) -> None:
    arrays = _arrays()
    del arrays["writer"]
    with pytest.raises(UnwrittenError, match="lacks writer"):
        load_npz(_saved(tmp_path, arrays))
    whole = _saved(tmp_path, _arrays()).read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UnwrittenError, match=r"cut\.npz"):
        load_npz(tmp_path / "cut.npz")
    with pytest.raises(UnwrittenError, match=r"absent\.npz"):
        load_npz(tmp_path / "absent.npz")


def _corpus_of(writers: list[str]) -> HandwritingCorpus:
    xy_mm = np.zeros((2, 2), np.float32)
    time_s, down = np.array([0.0, 0.01]), np.ones(2, np.bool_)
    return from_strokes([Strokes(time_s, xy_mm, down, label="a", writer=name) for name in writers], "memory")


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text("abcdef", min_size=1, max_size=3), min_size=1, max_size=40), st.integers(0, 5))
def test_a_writer_is_never_on_two_sides_and_nothing_is_lost(names: list[str], seed: int) -> None:
    corpus = _corpus_of(names)
    parts = corpus.split_writers((0.6, 0.2, 0.2), seed)
    assert sum(len(part) for part in parts) == len(corpus)
    for part, others in ((parts[0], parts[1:]), (parts[1], parts[2:])):
        for other in others:
            assert not set(part.writers) & set(other.writers)


def test_a_writers_side_does_not_depend_on_who_else_is_there() -> None:
    writers = [f"w/{number}" for number in range(400)]
    train, test = _corpus_of(writers).split_writers((0.75, 0.25), seed=3)
    assert 260 < len(train) < 340
    few = _corpus_of(writers[:40])
    assert set(few.split_writers((0.75, 0.25), seed=3)[1].writers) == set(test.writers) & set(writers[:40])
    assert set(few.split_writers((0.75, 0.25), seed=4)[1].writers) != set(test.writers) & set(writers[:40])
    assert 0 <= writer_fraction("w/1", 3) < 1


@pytest.mark.parametrize("fractions", [(), (0.5, 0.6), (1.0, 0.0), (-0.1, 1.0)])
def test_fractions_that_make_no_sense_are_refused(fractions: tuple[float, ...]) -> None:
    with pytest.raises(UnwrittenError, match="fractions"):
        _corpus_of(["a"]).split_writers(fractions)


def test_a_subset_keeps_each_sample_as_it_was(tmp_path: Path) -> None:
    corpus = load_npz(_saved(tmp_path, _arrays()))
    part = corpus.subset([2, 0])
    assert list(part.labels) == ["c", "a"]
    for new, old in ((part[0], corpus[2]), (part[1], corpus[0])):
        np.testing.assert_array_equal(new.xy_mm, old.xy_mm)
        np.testing.assert_array_equal(new.time_s, old.time_s)


def test_the_unipen_corpora_load_whole(unipen: Path) -> None:
    corpus = load_npz(unipen / "letters.npz")
    assert len(corpus) == 46_207
    assert len(set(corpus.writers)) == 263
    assert corpus.skipped == {}
    assert corpus.xy_mm.dtype == np.float32
    height_mm = np.median([np.ptp(corpus[i].xy_mm[:, 1]) for i in range(0, len(corpus), 97)])
    assert 2 < height_mm < 10
