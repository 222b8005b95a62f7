"""Performed handwriting: every sample once or several times, each performance its own and each the same every time."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from unwritten.features.spectrogram import SpectrogramSettings
from unwritten.handwriting.writers import SimulatedWriter
from unwritten.simulation.clips import written_by
from unwritten.simulation.severity import SimulationSettings
from unwritten.store import Store
from unwritten.training.handwriting import HandwritingSettings, Styled, pools
from unwritten.training.pool import Pool, PoolSettings, build_pool

SIMULATION = SimulationSettings()
SETTINGS = PoolSettings(SIMULATION.pen, SIMULATION.sound, SpectrogramSettings())


@pytest.fixture(scope="module")
def corpora() -> list[Styled]:
    letters_and_words = written_by([SimulatedWriter(1, "standard")], ("of", "at"), 1, 0)
    return [(letters_and_words.subset(np.arange(0, len(letters_and_words), 4)), "standard")]


@pytest.fixture(scope="module")
def twice(corpora: list[Styled], tmp_path_factory: pytest.TempPathFactory) -> Pool:
    return build_pool(corpora, SETTINGS, Store(tmp_path_factory.mktemp("twice")), progress=False, performances=2)


def same(one: Pool, other: Pool, entries: range) -> bool:
    """Whether entry n of ``one`` is the n-th of ``entries`` of ``other``, in motion and in sound."""
    return all(
        np.array_equal(motion(one, n), motion(other, m)) and np.array_equal(sound(one, n), sound(other, m))
        for n, m in enumerate(entries)
    )


def motion(pool: Pool, entry: int) -> np.ndarray:
    return pool.xy_centimm[pool.starts[entry] : pool.starts[entry + 1]]


def sound(pool: Pool, entry: int) -> np.ndarray:
    return pool.mel[pool.mel_starts[entry] : pool.mel_starts[entry + 1]]


def test_each_performance_of_a_sample_moves_and_sounds_otherwise(twice: Pool, corpora: list[Styled]) -> None:
    count = len(corpora[0][0])
    assert len(twice) == 2 * count
    assert list(twice.labels[:count]) == list(twice.labels[count:])
    assert list(twice.writers[:count]) == list(twice.writers[count:])
    for entry in range(count):
        assert not np.array_equal(motion(twice, entry), motion(twice, entry + count))
        assert not np.array_equal(sound(twice, entry), sound(twice, entry + count))


def test_more_performances_leave_the_first_as_they_are(twice: Pool, corpora: list[Styled], tmp_path: Path) -> None:
    count = len(corpora[0][0])
    assert same(build_pool(corpora, SETTINGS, Store(tmp_path / "one"), progress=False), twice, range(count))
    second = build_pool(corpora, replace(SETTINGS, seed=1), Store(tmp_path / "two"), progress=False)
    assert same(second, twice, range(count, 2 * count))


def test_only_the_writers_trained_on_are_performed_more_than_once(tmp_path: Path) -> None:
    settings = HandwritingSettings(simulated_writers={"standard": 1}, words=3, performances=2, sound=False)
    given = (SIMULATION, SpectrogramSettings(), "abcdefghijklmnopqrstuvwxyz", 0, Store(tmp_path), 1, ("of", "at", "it"))
    training, validation = pools(settings, *given)
    assert len(training) == 2 * len(validation)
    assert len(pools(replace(settings, performances=1), *given)[0]) == len(validation)
