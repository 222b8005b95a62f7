"""The balanced evaluation corpus: a random sample of files, balanced over style, length and modality.

The published one has 300 files: with three styles, four lengths and three modalities that is 100 files a style, 75 a
length and 100 a modality, 8 or 9 in each of the 36 cells. A clip is drawn in one modality only, and a word in a second
style only where the balance needs it, so that nobody reads a word that they have just seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from unwritten.errors import UnwrittenError
from unwritten.types import MODALITIES, Clip, Modality
from unwritten.wording import counted
from unwritten.words.lists import letters_of

Cell = tuple[str, int, Modality]


@dataclass(frozen=True)
class CorpusSettings:
    """What the corpus is drawn from.

    Attributes:
        files: how many files; each is one clip in one modality.
        seed: which sample is drawn.
        sources: where words may come from: ``synthetic``, ``live``.
        styles: the styles to balance over; empty takes those that are there.
        lengths: the lengths in letters to balance over.
        modalities: the modalities to balance over.
        tolerance: how far the number of files of a style, a length or a modality may lie from an equal share, as a part
            of that share; one file is always allowed.
        time_limit_s: when the search for a better balance ends.
    """

    files: int = 300
    seed: int = 0
    sources: tuple[str, ...] = ("synthetic",)
    styles: tuple[str, ...] = ()
    lengths: tuple[int, ...] = (2, 3, 4, 5)
    modalities: tuple[Modality, ...] = MODALITIES
    tolerance: float = 0.1
    time_limit_s: float = 60.0

    def __post_init__(self) -> None:
        if self.files < 1:
            raise ValueError(f"files: {self.files} is no number of files")
        if not self.lengths or not self.modalities or set(self.modalities) - set(MODALITIES):
            raise ValueError(f"lengths, modalities: name at least one length and some of {', '.join(MODALITIES)}")


def balanced_corpus(clips: Sequence[Clip], settings: CorpusSettings = CorpusSettings()) -> list[Clip]:
    """Draw the corpus: clips with one modality each, ordered by id; the same seed draws the same files.

    The counts of cells (style x length x modality), of pairs and of single attributes come as close to equal as the
    supply allows.

    Raises:
        UnwrittenError: there are too few files, or the supply cannot be balanced within the tolerance.
    """
    supply = _supply(clips, settings)
    styles = settings.styles or tuple(sorted({cell[0] for _, cell in supply}))
    cells: list[Cell] = [
        (style, length, modality) for style in styles for length in settings.lengths for modality in settings.modalities
    ]
    supply = [(clip, cell) for clip, cell in supply if cell[0] in styles]
    most = len({clip.id for clip, _ in supply})
    if most < settings.files:
        raise UnwrittenError(
            f"corpus: {counted(settings.files, 'clip')} asked for, {most} there ({'/'.join(settings.sources)} words of"
            f" {', '.join(map(str, settings.lengths))} letters); ask for fewer, or draw from more"
        )
    quotas = _quotas(supply, cells, settings)
    _check_balance(quotas, cells, settings)
    chosen = _draw(supply, cells, quotas, settings.seed)
    return [replace(clip, files={modality: clip.files[modality]}) for clip, (_, _, modality) in chosen]


def _word(clip: Clip) -> str:
    return (clip.word or "").lower()


def _supply(clips: Sequence[Clip], settings: CorpusSettings) -> list[tuple[Clip, Cell]]:
    """Every file that may be drawn, in a fixed order."""
    supply = []
    for clip in sorted(clips, key=lambda clip: clip.id):
        length = len(letters_of(clip.word or ""))
        if clip.source in settings.sources and length in settings.lengths:
            for modality in settings.modalities:
                if modality in clip.files:
                    supply.append((clip, (clip.style, length, modality)))
    return supply


def _margins(cells: Sequence[Cell], files: int) -> list[tuple[str, list[int], float, float]]:
    """Groups of cells whose counts should be equal: name, cells, target, weight of missing it."""
    kinds: list[tuple[tuple[int, ...], float]] = [
        ((0,), 100.0),
        ((1,), 100.0),
        ((2,), 100.0),
        ((0, 1), 10.0),
        ((0, 2), 10.0),
        ((1, 2), 10.0),
        ((0, 1, 2), 1.0),
    ]
    margins = []
    for axes, weight in kinds:
        groups: dict[tuple[object, ...], list[int]] = {}
        for index, cell in enumerate(cells):
            groups.setdefault(tuple(cell[axis] for axis in axes), []).append(index)
        for key, members in groups.items():
            margins.append((" ".join(map(str, key)), members, files / len(groups), weight))
    return margins


def _quotas(
    supply: Sequence[tuple[Clip, Cell]], cells: Sequence[Cell], settings: CorpusSettings
) -> NDArray[np.float64]:
    """How many files each cell gives: an integer programme over the cells alone.

    A margin may be missed by rounding for nothing; each file beyond that costs the margin's weight. A style and length
    never give more files, in any choice of modalities, than they have clips in one of those.
    """
    margins = _margins(cells, settings.files)
    n, n_margins = len(cells), len(margins)
    member = np.zeros((n_margins, n))
    for row, (_, indices, _, _) in enumerate(margins):
        member[row, indices] = 1
    target = np.array([target for _, _, target, _ in margins])
    rng = np.random.default_rng(settings.seed)
    # Which cells get the odd files is drawn; all of it weighs less than missing one cell by one file.
    cost = np.concatenate([rng.random(n) / (2 * settings.files), [weight for *_, weight in margins]])
    rows, most = [], []
    for style, length in dict.fromkeys(cell[:2] for cell in cells):
        for size in range(1, len(settings.modalities) + 1):
            for some in combinations(settings.modalities, size):
                inside = {(style, length, modality) for modality in some}
                rows.append([float(cell in inside) for cell in cells] + [0.0] * n_margins)
                most.append(len({clip.id for clip, cell in supply if cell in inside}))
    result = milp(
        cost,
        constraints=[
            LinearConstraint(np.concatenate([np.ones(n), np.zeros(n_margins)])[None], settings.files, settings.files),
            LinearConstraint(np.array(rows), -np.inf, most),
            LinearConstraint(np.hstack([member, -np.eye(n_margins)]), -np.inf, np.ceil(target - 1e-9)),
            LinearConstraint(np.hstack([member, np.eye(n_margins)]), np.floor(target + 1e-9), np.inf),
        ],
        integrality=np.concatenate([np.ones(n), np.zeros(n_margins)]),
        bounds=Bounds(0, np.inf),
        options={"time_limit": settings.time_limit_s},
    )
    if result.x is None:
        raise UnwrittenError(f"corpus: no balance was found in {settings.time_limit_s:g} s; raise time_limit_s")
    return np.round(result.x[:n])


def _draw(
    supply: Sequence[tuple[Clip, Cell]], cells: Sequence[Cell], quotas: NDArray[np.float64], seed: int
) -> list[tuple[Clip, Cell]]:
    """Draw the files of each cell at random, each clip once, with as few words twice as can be.

    Clips lie within words and files within cells, so the linear programme is a network and its corners are whole
    numbers. A few times as many clips as a style and length need are drawn first, to keep it small.
    """
    supply = _candidates(supply, cells, quotas, seed)
    n = len(supply)
    of_cell = _incidence([cell for _, cell in supply], cells)
    of_clip = _incidence([clip.id for clip, _ in supply])
    of_word = _incidence([_word(clip) for clip, _ in supply])
    n_words = of_word.shape[0]
    draw = np.random.default_rng((seed, 1)).random(n)
    once = sparse.bmat([[of_clip, None], [of_word, -sparse.identity(n_words)]], format="csr")
    exactly = sparse.hstack([of_cell, sparse.csr_matrix((len(cells), n_words))], format="csr")
    # A word that comes again costs more than all that the draw can save.
    cost = np.concatenate([draw / quotas.sum(), np.full(n_words, 2.0)])
    result = linprog(
        cost,
        A_ub=once,
        b_ub=np.ones(once.shape[0]),
        A_eq=exactly,
        b_eq=quotas,
        bounds=(0, None),
        method="highs-ds",
    )
    chosen = [entry for entry, taken in zip(supply, result.x[:n] > 0.5, strict=True) if taken] if result.success else []
    if len(chosen) != int(quotas.sum()):
        raise UnwrittenError("corpus: the files of the balanced cells could not be drawn; change seed or files")
    return chosen


def _candidates(
    supply: Sequence[tuple[Clip, Cell]], cells: Sequence[Cell], quotas: NDArray[np.float64], seed: int
) -> list[tuple[Clip, Cell]]:
    needed: Counter[tuple[str, int]] = Counter()
    for cell, quota in zip(cells, quotas, strict=True):
        needed[cell[:2]] += int(quota)
    rng = np.random.default_rng((seed, 2))
    kept: set[str] = set()
    for place, quota in needed.items():
        ids = list(dict.fromkeys(clip.id for clip, cell in supply if cell[:2] == place))
        incomplete = {clip.id for clip, cell in supply if cell[:2] == place and len(clip.files) < len(MODALITIES)}
        # Clips that lack a modality are all kept: which of them are drawn decides whether the cells can be filled.
        kept |= incomplete | {ids[index] for index in rng.permutation(len(ids))[: 10 * quota]}
    return [entry for entry in supply if entry[0].id in kept]


def _incidence(keys: Sequence[Any], order: Sequence[Any] | None = None) -> sparse.csr_matrix:
    """``[distinct keys, keys]``: 1 where a key stands; rows in ``order``, or sorted."""
    order = sorted(set(keys)) if order is None else order
    row_of = {key: row for row, key in enumerate(order)}
    rows = [row_of[key] for key in keys]
    return sparse.csr_matrix((np.ones(len(keys)), (rows, np.arange(len(keys)))), shape=(len(order), len(keys)))


def _check_balance(quotas: NDArray[np.float64], cells: Sequence[Cell], settings: CorpusSettings) -> None:
    for name, members, target, weight in _margins(cells, settings.files):
        if weight >= 100:
            count = int(quotas[members].sum())
            if abs(count - target) > max(settings.tolerance * target, 1.0) + 1e-9:
                raise UnwrittenError(
                    f"corpus: {name} gets {count} files where an equal share is {target:.0f}, beyond"
                    f" {settings.tolerance:.0%}; ask for fewer files, widen tolerance, or name fewer styles or lengths"
                )
