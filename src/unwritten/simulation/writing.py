"""From a corpus of handwriting to performed motions: whole words as written, or words spelled letter by letter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unwritten.errors import UnwrittenError
from unwritten.handwriting.corpus import HandwritingCorpus
from unwritten.simulation.motion import MOTION_RATE_HZ, Motion
from unwritten.simulation.pen import PenSettings, perform

_LETTERS_OF_A_PIECE = 4


def letter_heights_mm(corpus: HandwritingCorpus) -> NDArray[np.float64]:
    """Height ``[S]`` of each sample: the median over its writer's samples of the vertical extent, in millimetres.

    Of a text, which slants and has lines, it is the extent of what a few letters take, not of the whole.
    """
    bounds = corpus.offsets[:-1]
    extent = np.maximum.reduceat(corpus.xy_mm[:, 1], bounds) - np.minimum.reduceat(corpus.xy_mm[:, 1], bounds)
    for text in np.flatnonzero(np.char.find(corpus.labels, " ") >= 0):
        y_mm = corpus.xy_mm[corpus.offsets[text] : corpus.offsets[text + 1], 1]
        pieces = np.array_split(y_mm, max(1, len(str(corpus.labels[text])) // _LETTERS_OF_A_PIECE))
        extent[text] = np.median([np.ptp(piece) for piece in pieces if len(piece)])
    heights = np.ones(len(corpus))
    _, of_sample = np.unique(corpus.writers, return_inverse=True)
    order = np.argsort(of_sample, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(of_sample[order])) + 1):
        heights[members] = max(float(np.median(extent[members])), 0.2)
    return heights


@dataclass(frozen=True)
class LetterBank:
    """A corpus of single letters, indexed by writer and letter.

    Attributes:
        corpus: samples whose labels are one letter each.
        heights_mm: ``[S]`` the writer's letter height per sample.
        samples: per writer and letter the indices of the samples.
    """

    corpus: HandwritingCorpus
    heights_mm: NDArray[np.float64]
    samples: dict[str, dict[str, NDArray[np.int64]]]

    @classmethod
    def of(cls, corpus: HandwritingCorpus) -> LetterBank:
        """Index a corpus; samples of more than one letter are left out."""
        single = np.char.str_len(corpus.labels) == 1
        corpus = corpus if single.all() else corpus.subset(single)
        grouped: dict[str, dict[str, list[int]]] = {}
        for index, (writer, label) in enumerate(zip(corpus.writers, corpus.labels, strict=True)):
            grouped.setdefault(str(writer), {}).setdefault(str(label), []).append(index)
        samples = {
            writer: {letter: np.array(found) for letter, found in letters.items()}
            for writer, letters in grouped.items()
        }
        return cls(corpus, letter_heights_mm(corpus), samples)

    def writers(self, least_letters: int = 1) -> list[str]:
        """Writers with samples of at least so many different letters, sorted."""
        return sorted(writer for writer, letters in self.samples.items() if len(letters) >= least_letters)

    def covers(self, writer: str, word: str) -> bool:
        """Whether the writer has a sample of every letter of the word."""
        return set(word) <= self.samples[writer].keys()

    def spell(self, writer: str, word: str, rng: np.random.Generator) -> list[int]:
        """Indices of one sample for each letter, drawn at random.

        Raises:
            UnwrittenError: the writer lacks a letter.
        """
        if not self.covers(writer, word):
            missing = "".join(sorted(set(word) - self.samples[writer].keys()))
            raise UnwrittenError(
                f"writer {writer} has no sample of: {missing}; choose a word that the writer's letters cover"
            )
        return [int(rng.choice(self.samples[writer][letter])) for letter in word]


def perform_sample(
    corpus: HandwritingCorpus, index: int, height_mm: float, settings: PenSettings, seed: int, style: str = ""
) -> Motion:
    """Perform one sample of a corpus as one shot."""
    start, end = int(corpus.offsets[index]), int(corpus.offsets[index + 1])
    word = str(corpus.labels[index])
    step_s = 1.0 / float(corpus.rate_hz[index])
    xy_mm, pen_down = perform(
        corpus.xy_mm[start:end], corpus.pen_down[start:end], step_s, len(word), height_mm, settings, seed
    )
    return _motion(xy_mm, pen_down, word, str(corpus.writers[index]), style)


def _motion(xy_mm: NDArray[np.float64], pen_down: NDArray[np.bool_], word: str, writer: str, style: str) -> Motion:
    time_s = np.arange(len(xy_mm)) / MOTION_RATE_HZ
    down = np.flatnonzero(pen_down)
    first, last = (time_s[down[0]], time_s[down[-1]]) if len(down) else (0.0, time_s[-1])
    # Where letters meet inside one take is not known: their ink is shared out evenly in time.
    edges = np.linspace(first, last, len(word) + 1)
    spans = np.stack((edges[:-1], edges[1:]), axis=1)
    return Motion(time_s, xy_mm, pen_down, np.zeros(len(xy_mm), dtype=np.int64), word, spans, writer, style)


def join_shots(shots: Sequence[Motion], word: str, style: str = "") -> Motion:
    """Join motions that were filmed one by one, as the benchmark joins letter clips: each shot a letter, no gap."""
    starts = np.concatenate(([0], np.cumsum([len(shot) for shot in shots])))
    return Motion(
        time_s=np.arange(starts[-1]) / MOTION_RATE_HZ,
        xy_mm=np.concatenate([shot.xy_mm for shot in shots]),
        pen_down=np.concatenate([shot.pen_down for shot in shots]),
        shot=np.repeat(np.arange(len(shots)), np.diff(starts)),
        word=word,
        letter_spans_s=np.concatenate(
            [shot.letter_spans_s + start / MOTION_RATE_HZ for shot, start in zip(shots, starts[:-1], strict=True)]
        ),
        writer=shots[0].writer,
        style=style or shots[0].style,
    )
