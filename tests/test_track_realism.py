"""What simulated tracks are held against real ones by: numbers that a known motion gives."""

from __future__ import annotations

import numpy as np
import pytest

from unwritten.handwriting.writers import SimulatedWriter
from unwritten.studies.track_realism import NUMBERS, main, shot_numbers, simulated_tracks
from unwritten.types import Track

RATE_HZ = 60


def swing(seconds: float, rest_s: float = 0.0, jitter_px: float = 0.0) -> Track:
    """A tip that rests, then swings up and down once a second along a line that runs to the right."""
    time_s = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    since_s = np.maximum(time_s - rest_s, 0)
    tip = np.stack([300 + 20 * since_s, 300 + 100 * np.cos(2 * np.pi * since_s)], axis=1)
    tip += jitter_px * np.random.default_rng(0).normal(size=tip.shape)
    count = len(time_s)
    return Track(
        time_s=time_s,
        tip_px=tip,
        visible=np.ones(count, bool),
        confidence=np.ones(count),
        shot=np.zeros(count, int),
        shaft_rad=np.full(count, 0.8),
        contact=(time_s >= rest_s).astype(float),
        size_px=(800.0, 600.0),
        writing_rad=0.0,
    )


def numbers(track: Track) -> dict[str, float]:
    (row,) = shot_numbers(track)
    return dict(zip(NUMBERS, row, strict=True))


def test_a_rest_is_counted_as_time_at_rest_and_contact_as_its_share():
    still, moving = numbers(swing(4.0, rest_s=1.0)), numbers(swing(4.0))
    assert still["seconds"] == pytest.approx(4.0, abs=0.1)
    assert still["share of time at rest"] - moving["share of time at rest"] == pytest.approx(0.2, abs=0.08)
    assert still["share of time in contact"] == pytest.approx(0.75, abs=0.02)
    assert moving["share of time in contact"] == 1.0


def test_jitter_is_what_was_added_and_leaves_the_shape():
    smooth, shaken = numbers(swing(4.0)), numbers(swing(4.0, jitter_px=2.0))
    assert shaken["jitter, % of height"] > 4 * smooth["jitter, % of height"]
    assert shaken["width over height"] == pytest.approx(smooth["width over height"], rel=0.15)


def test_shots_of_less_than_half_a_second_are_left_out():
    assert len(shot_numbers(swing(0.3))) == 0


def test_the_table_places_a_real_clip_among_simulated_letters(data, tmp_path, capsys):
    written = [SimulatedWriter(seed, "standard").write_letter(letter, seed) for seed in (0, 1) for letter in "abov"]
    corpus = tmp_path / "letters.npz"
    np.savez(
        corpus,
        xy_centimm=np.concatenate([np.rint(100 * (one.xy_mm - one.xy_mm[0])) for one in written]).astype(np.int16),
        pen_down=np.concatenate([one.pen_down for one in written]).astype(np.uint8),
        offsets=np.cumsum([0, *(len(one) for one in written)]),
        label=np.array([one.label for one in written]),
        writer=np.array([one.writer for one in written]),
        site=np.array(["simulated"] * len(written)),
        rate_hz=np.array([1 / np.diff(one.time_s).mean() for one in written]),
    )
    assert len(simulated_tracks(corpus, 3)) == 3
    main([str(data / "a-2c_muted.mp4"), "--corpus", str(corpus), "--count", "20", "--figure", str(tmp_path / "f.png")])
    rows = capsys.readouterr().out.splitlines()[2:]
    assert [row.split(" | ")[0].removeprefix("| ") for row in rows] == list(NUMBERS)
    places = [float(row.split(" | ")[3]) for row in rows]
    assert all(0 <= place <= 1 for place in places)
    assert (tmp_path / "f.png").stat().st_size > 1000
