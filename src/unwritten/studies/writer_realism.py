"""How near words of simulated writers come to words on tablets: the same medians of both.

``python -m unwritten.studies.writer_realism words_with_hover.npz`` prints the table of docs/reference/handwriting.md.
Words with a lift for every three letters stand beside print, words with fewer beside cursive; each simulated column has
one writer for every word of the corpus that is looked at.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unwritten.handwriting import SimulatedWriter, load_npz
from unwritten.types import Strokes

NUMBERS = (
    "seconds a letter",
    "pen-up share of time",
    "lifts a letter",
    "one lift, s",
    "speed on paper, mm/s",
    "its coefficient of variation",
    "speed in the air, mm/s",
    "height of the word, mm",
    "width per letter, mm",
)
"""What ``word_numbers`` gives, in order."""
_LIFTS = NUMBERS.index("lifts a letter")
_JOINED = 1 / 3  # lifts a letter below which a word counts as joined


def word_numbers(strokes: Strokes) -> NDArray[np.float64]:
    """Numbers ``[len(NUMBERS)]`` of one written word, from the first to the last touch; NaN where nothing is lifted."""
    first, last = np.flatnonzero(strokes.pen_down)[[0, -1]]
    written = slice(first, last + 1)
    time_s, xy_mm, down = strokes.time_s[written], strokes.xy_mm[written], strokes.pen_down[written]
    letters = len(strokes.label)
    speed = np.hypot(*np.diff(xy_mm, axis=0).T) / np.diff(time_s)
    on_paper = down[1:] & down[:-1]
    change = np.diff(down.astype(int))
    lifts_s = time_s[1:][change == 1] - time_s[1:][change == -1]
    extent = np.ptp(xy_mm[down], axis=0)
    return np.array(
        [
            (time_s[-1] - time_s[0]) / letters,
            1.0 - down.mean(),
            len(lifts_s) / letters,
            np.median(lifts_s) if len(lifts_s) else np.nan,
            np.median(speed[on_paper]),
            speed[on_paper].std() / speed[on_paper].mean(),
            np.median(speed[~on_paper]) if len(lifts_s) else np.nan,
            extent[1],
            extent[0] / letters,
        ]
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table; see the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path, help="words of handwriting with their lifts (.npz)")
    parser.add_argument("--every", type=int, default=10, help="look at one word of so many")
    arguments = parser.parse_args(argv)
    corpus = load_npz(arguments.corpus, rates_hz={"sta": 100.0})  # not the header's 200: docs/reference/handwriting.md
    words = [corpus[index] for index in range(0, len(corpus), arguments.every)]
    real = np.array([word_numbers(word) for word in words])
    joined = real[:, _LIFTS] < _JOINED
    simulated = {
        style: np.array([word_numbers(SimulatedWriter(seed, style).write(w.label)) for seed, w in enumerate(words)])
        for style in ("print", "cursive")
    }
    columns = {
        f"words with lifts ({(~joined).sum()})": real[~joined],
        "print": simulated["print"],
        f"joined words ({joined.sum()})": real[joined],
        "cursive": simulated["cursive"],
    }
    print(f"| {len(words)} words | " + " | ".join(columns) + " |")
    print("| --- " * (1 + len(columns)) + "|")
    medians = [np.nanmedian(numbers, axis=0) for numbers in columns.values()]
    for row, name in enumerate(NUMBERS):
        print(f"| {name} | " + " | ".join(f"{median[row]:.3g}" for median in medians) + " |")


if __name__ == "__main__":
    main()
