"""The handwriting of a training run: tablets' and simulated writers' samples, split by writer, performed into pools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unwritten.config import INFINITE, bounded
from unwritten.errors import UsageError
from unwritten.features.spectrogram import SpectrogramSettings
from unwritten.handwriting import load
from unwritten.handwriting.corpus import HandwritingCorpus, from_strokes
from unwritten.handwriting.retrace import retrace
from unwritten.handwriting.writers import ALPHABET_OF_STYLE, SimulatedWriter
from unwritten.simulation.clips import written_by
from unwritten.simulation.severity import SimulationSettings
from unwritten.store import Store
from unwritten.training.pool import Pool, PoolSettings, build_pool
from unwritten.wording import counted
from unwritten.words.lists import word_list

Styled = tuple[HandwritingCorpus, str]


@dataclass(frozen=True)
class HandwritingSettings:
    """Whose handwriting a model learns from.

    Attributes:
        corpora: ``.npz`` files, UNIPEN or IAM-OnDB folders, InkML files.
        simulated_writers: how many simulated writers of each style.
        takes: of every letter by every simulated writer; ten words for each take.
        words: how many of the most frequent words simulated writers draw theirs from.
        performances: how often each sample is performed for training, each time with other pace, rests and sound.
        most_samples: greatest number of samples that are taken of each corpus, drawn at random; 0 takes all.
        longest_label: samples of more letters and spaces are left out; they would be longer than a training item.
        retraced_share: share of the tablets' single letters that are also performed traced over again.
        validation_share: share of the writers that training never sees.
        sound: False leaves sound out (a model of video alone, much quicker to prepare).
    """

    corpora: tuple[str, ...] | str = ()
    simulated_writers: Mapping[str, int] = field(default_factory=lambda: {"standard": 60, "cursive": 120})
    takes: int = 2
    words: int = 2000
    performances: int = 1
    most_samples: int = 0
    longest_label: int = 40
    retraced_share: float = 0.12
    validation_share: float = 0.1
    sound: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.corpora, str):  # one file without the brackets of a list
            object.__setattr__(self, "corpora", (self.corpora,))
        bounded(self, takes=(1, INFINITE), words=(1, INFINITE), performances=(1, INFINITE))
        bounded(self, longest_label=(1, INFINITE))
        bounded(self, retraced_share=(0.0, 1.0), most_samples=(0, INFINITE))
        bounded(self, validation_share=(0.001, 0.999))
        for style, count in self.simulated_writers.items():
            if style not in ALPHABET_OF_STYLE or count < 0:
                known = ", ".join(ALPHABET_OF_STYLE)
                raise ValueError(f"simulated_writers.{style}={count}: give 0 or more writers of {known}")


def gather(
    settings: HandwritingSettings, alphabet: str, seed: int, frequent: Sequence[str] | None = None
) -> tuple[list[Styled], list[Styled]]:
    """Training and validation corpora with their styles; no writer is in both.

    Samples whose labels hold letters outside the alphabet are left out and counted.

    Raises:
        UsageError: there is no handwriting at all.
        UnwrittenError: a corpus cannot be read.
    """
    share = settings.validation_share
    training: list[Styled] = []
    validation: list[Styled] = []
    for path in settings.corpora:
        corpus = load(path, alphabet=alphabet)
        print(corpus.describe())
        short = np.char.str_len(corpus.labels) <= settings.longest_label
        if not short.all():
            print(f"{path}: {counted(int((~short).sum()), 'sample')} over {settings.longest_label} letters left out")
            corpus = corpus.subset(short)
        if 0 < settings.most_samples < len(corpus):
            drawn = np.random.default_rng([seed, len(corpus)]).permutation(len(corpus))[: settings.most_samples]
            corpus = corpus.subset(np.sort(drawn))
        kept, held = corpus.split_writers((1.0 - share, share), seed)
        training.append((kept, "standard"))
        validation.append((held, "standard"))
        if settings.retraced_share > 0:
            for part, styled in ((kept, training), (held, validation)):
                styled += _retraced(part, settings.retraced_share, alphabet, seed)
    words = tuple((word_list("benchmark").words if frequent is None else frequent)[: settings.words])
    for style, count in sorted(settings.simulated_writers.items()):
        if count < 1:
            continue
        held_count = max(1, round(count * share))
        seeds = [seed % 1000 * 1000 + number for number in range(count + held_count)]
        for chosen, styled in ((seeds[:count], training), (seeds[count:], validation)):
            writers = [SimulatedWriter(number, style) for number in chosen]
            styled.append((written_by(writers, words, settings.takes, seed), style))
    if not training:
        raise UsageError("data: no handwriting; give data.corpora=[FILE,...] or data.simulated_writers")
    return training, validation


def _retraced(corpus: HandwritingCorpus, share: float, alphabet: str, seed: int) -> Sequence[Styled]:
    single = np.flatnonzero(np.char.str_len(corpus.labels) == 1)
    rng = np.random.default_rng([seed, len(corpus)])
    chosen = rng.choice(single, size=int(share * len(single)), replace=False) if len(single) else single
    if not len(chosen):
        return []
    strokes = [retrace(corpus[int(index)], rng) for index in chosen]
    return [(from_strokes(strokes, f"{corpus.source}, retraced", alphabet=alphabet), "retrace")]


def pools(
    settings: HandwritingSettings,
    simulation: SimulationSettings,
    spectrogram: SpectrogramSettings,
    alphabet: str,
    seed: int,
    store: Store,
    processes: int,
    frequent: Sequence[str] | None = None,
) -> tuple[Pool, Pool]:
    """Perform the training and the validation handwriting, or take it from the store.

    ``frequent`` words are what simulated writers draw from, None for the benchmark's list.
    """
    training, validation = gather(settings, alphabet, seed, frequent)
    made = PoolSettings(simulation.pen, simulation.sound if settings.sound else None, spectrogram, seed)
    return (
        build_pool(training, made, store, processes, performances=settings.performances),
        build_pool(validation, made, store, processes),
    )


def describe(pool: Pool) -> dict[str, Any]:
    """Counts of a pool for the run's record."""
    lengths = np.char.str_len(pool.labels)
    return {
        "letters": int((lengths == 1).sum()),
        "words": int((lengths > 1).sum()),
        "writers": len(set(pool.writers)),
        "hours": round(float(pool.durations_s.sum()) / 3600, 2),
    }
