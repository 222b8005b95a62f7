"""What was read, and how the belief in it grew while the clip went on. U is the number of emission frames, R of words.

A word's probability after some frames is that of the paths that have spelled one of its prefixes so far. The emissions
themselves come from the whole clip: the network looks some seconds ahead, and its gates at all of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unwritten.decoding import Alphabet, Lexicon, posterior_over_time
from unwritten.decoding.emissions import as_emissions, tempered
from unwritten.decoding.greedy import collapse

if TYPE_CHECKING:
    from unwritten.readers.ctc import Reading

ROWS = 6
"""Words that are the likeliest at some time are followed, so many at a time."""
LETTER = 0.08
"""Probability from which a letter is shown."""
_END_S = 1.0  # time over which the end of a word shows, at most
_BELIEF_VALUES = 2**24  # float64 that the posterior over time may take


@dataclass(frozen=True)
class Belief:
    """How probable the words that matter were while the clip went on.

    Attributes:
        words: R words, by when they mattered most.
        time_s: ``[K]``.
        probability: ``[K, R]``.
    """

    words: tuple[str, ...]
    time_s: NDArray[np.float64]
    probability: NDArray[np.float64]

    def at(self, time_s: float) -> NDArray[np.float64]:
        """Probabilities ``[R]`` at a time, interpolated."""
        where = float(np.interp(time_s, self.time_s, np.arange(len(self.time_s))))
        low = min(int(where), len(self.time_s) - 1)
        high = min(low + 1, len(self.time_s) - 1)
        return self.probability[low] + (where - low) * (self.probability[high] - self.probability[low])


def belief_over_time(reading: Reading, end_s: float) -> Belief:
    """The probabilities of all words that are ever among the likeliest, after every emission frame.

    Args:
        reading: the reading.
        end_s: end of the clip, when the last frame counts.
    """
    alphabet = Alphabet(reading.decoding.alphabet)
    emissions = tempered(as_emissions(reading.emissions, alphabet.classes), reading.decoding.temperature)
    if reading.length == 1:
        lexicon = Lexicon.letters(alphabet)
    elif reading.lexicon is not None:
        lexicon = reading.lexicon.of_length(reading.length)
    else:  # any string was possible: follow those that the search found
        found = [word for word, _ in reading.decoded.candidates if word]
        lexicon = Lexicon.build(found or [reading.decoded.word or alphabet.letters[0]], alphabet=alphabet)
    count = len(emissions)
    steps = max(2, min(count + 1, _BELIEF_VALUES // len(lexicon)))
    after = np.unique(np.round(np.linspace(0, count, steps)).astype(np.int64))
    weight = reading.decoding.frequency_weight if reading.lexicon is not None else 0.0
    posterior = posterior_over_time(emissions, lexicon, weight, after)
    rows = min(ROWS, len(lexicon))
    leading = np.argpartition(-posterior, rows - 1, axis=1)[:, :rows]
    chosen = np.unique(leading)
    # The end decides the order, so that the words that won have the colours that are told apart best.
    chosen = chosen[np.lexsort((-posterior[:, chosen].max(axis=0), -posterior[-1, chosen].round(3)))]
    time_s = np.minimum(after / reading.decoding.rate_hz, end_s)
    time_s[-1] = end_s
    # That the word is over shows bit by bit while no more letters come: the last step is spread over that time.
    written = np.flatnonzero(emissions[:, 1:].max(axis=1) > np.log(LETTER))
    last_s = (written[-1] + 1) / reading.decoding.rate_hz if len(written) else 0.0
    kept = (time_s <= max(last_s, end_s - _END_S)) | (time_s == end_s)
    return Belief(tuple(lexicon.words[index] for index in chosen), time_s[kept], posterior[np.ix_(kept, chosen)])


def greedy_runs(probability: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Label and frame of the peak of every letter that greedy decoding gives, in order."""
    best = probability.argmax(axis=1)
    edges = np.flatnonzero(np.diff(best, prepend=-1))
    runs = []
    for first, end in zip(edges, [*edges[1:], len(best)], strict=True):
        label = int(best[first])
        if label:
            runs.append((label, int(first + probability[first:end, label].argmax())))
    assert [label for label, _ in runs] == collapse(best).tolist()
    return runs
