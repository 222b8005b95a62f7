"""A corpus of handwriting in a few flat arrays. S is the number of samples, N of pen positions, T of one sample's.

A sample is refused when nobody could learn from it safely: a label outside the alphabet, no writer (it could not be
split by writer), a rate that no tablet has, fewer than two positions, or no pen on the paper at all. What was refused
is counted by reason in ``HandwritingCorpus.skipped``.
"""

from __future__ import annotations

import hashlib
import string
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unwritten.errors import UnwrittenError
from unwritten.handwriting.unipen_writers import persons
from unwritten.types import BoolArray, Strokes
from unwritten.wording import counted

PLAUSIBLE_RATE_HZ = (20.0, 1000.0)
"""Rates of tablets. Headers outside are mistakes (a site of UNIPEN says 10, another 9600, its baud rate): the true
rate is unknown, so a caller names it or the samples are left out; it is never guessed."""

NPZ_KEYS = ("xy_centimm", "pen_down", "offsets", "label", "writer", "site", "rate_hz")


@dataclass(frozen=True)
class HandwritingCorpus:
    """Samples of handwriting as flat arrays; sample i is ``offsets[i]:offsets[i + 1]`` of each.

    Attributes:
        xy_mm: float32 ``[N, 2]`` pen positions in millimetres, x right, y **up**.
        pen_down: bool ``[N]``.
        time_s: float32 ``[N]`` seconds from each sample's first position.
        offsets: int64 ``[S + 1]``.
        labels: str ``[S]`` what was written.
        writers: str ``[S]`` who wrote it.
        sites: str ``[S]`` where it was collected.
        rate_hz: float32 ``[S]`` positions a second.
        source: the file or folder that the samples came from.
        skipped: number of samples that were refused, by reason.
    """

    xy_mm: NDArray[np.float32]
    pen_down: BoolArray
    time_s: NDArray[np.float32]
    offsets: NDArray[np.int64]
    labels: NDArray[np.str_]
    writers: NDArray[np.str_]
    sites: NDArray[np.str_]
    rate_hz: NDArray[np.float32]
    source: str = ""
    skipped: Mapping[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> Strokes:
        """Sample ``index``; negative numbers count from the end.

        Raises:
            IndexError: there is no such sample.
        """
        size = len(self)
        if not -size <= index < size:
            raise IndexError(f"sample {index} of {size}")
        index %= size
        span = slice(self.offsets[index], self.offsets[index + 1])
        return Strokes(
            time_s=self.time_s[span].astype(np.float64),
            xy_mm=self.xy_mm[span],
            pen_down=self.pen_down[span],
            label=str(self.labels[index]),
            writer=str(self.writers[index]),
            source=f"{self.source}#{self.sites[index]}",
        )

    def __iter__(self) -> Iterator[Strokes]:
        return (self[index] for index in range(len(self)))

    def subset(self, indices: Sequence[int] | NDArray[np.integer] | BoolArray) -> HandwritingCorpus:
        """The samples at ``indices`` in that order, or where a bool ``[S]`` mask is True; the arrays are copies."""
        chosen = np.asarray(indices)
        chosen = np.flatnonzero(chosen) if chosen.dtype == np.bool_ else chosen.astype(np.int64)
        lengths = np.diff(self.offsets)[chosen]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        rows = np.arange(offsets[-1]) + np.repeat(self.offsets[:-1][chosen] - offsets[:-1], lengths)
        return HandwritingCorpus(
            xy_mm=self.xy_mm[rows],
            pen_down=self.pen_down[rows],
            time_s=self.time_s[rows],
            offsets=offsets,
            labels=self.labels[chosen],
            writers=self.writers[chosen],
            sites=self.sites[chosen],
            rate_hz=self.rate_hz[chosen],
            source=self.source,
            skipped=self.skipped,
        )

    def split_writers(self, fractions: Sequence[float], seed: int = 0) -> tuple[HandwritingCorpus, ...]:
        """Split into parts of about these fractions of the writers, each writer whole in one part.

        A writer's part depends on nothing but the seed, the fractions and the writer's name: the same writer falls
        on the same side in every corpus, whoever else is in it, so corpora may be split one by one and then joined.
        Writers of UNIPEN who are known under another name too are split under one (``unipen_writers``).

        Raises:
            UnwrittenError: the fractions are not positive or exceed one in sum.
        """
        edges = np.cumsum(np.asarray(fractions, dtype=np.float64))
        if len(edges) == 0 or min(fractions) <= 0 or edges[-1] > 1 + 1e-9:
            raise UnwrittenError(f"fractions {tuple(fractions)}: give positive numbers with a sum of at most 1")
        edges[-1] += 1e-9
        names, of_sample = np.unique(self.writers, return_inverse=True)
        part = np.searchsorted(edges, [writer_fraction(str(name), seed) for name in names], side="right")[of_sample]
        return tuple(self.subset(part == number) for number in range(len(fractions)))

    def describe(self) -> str:
        """One line: how much there is, by whom, and what was left out and why."""
        left_out = ", ".join(f"{count} with {reason}" for reason, count in sorted(self.skipped.items())) or "nothing"
        writers = counted(len(set(self.writers)), "writer")
        return f"{self.source}: {counted(len(self), 'sample')} by {writers}; left out: {left_out}"


def writer_fraction(writer: str, seed: int) -> float:
    """A number in [0, 1) that depends on the writer's name and the seed alone."""
    digest = hashlib.sha256(f"{seed}\0{persons().get(writer, writer)}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def load_npz(
    path: Path | str,
    *,
    alphabet: str | None = string.ascii_lowercase,
    rates_hz: Mapping[str, float] | None = None,
) -> HandwritingCorpus:
    """Read handwriting from an ``.npz`` file.

    Its keys: ``xy_centimm`` int ``[N, 2]`` (hundredths of a millimetre, y up), ``pen_down`` ``[N]``, ``offsets``
    ``[S + 1]``, and ``label``, ``writer``, ``site``, ``rate_hz`` ``[S]``.

    Args:
        path: the file.
        alphabet: letters that labels may hold; None allows any label that is not empty.
        rates_hz: true rates of sites whose headers are wrong, e.g. ``{"art": 100}``.

    Raises:
        UnwrittenError: the file cannot be read, lacks a key, its shapes do not fit, or no sample is left.
    """
    path = Path(path)
    try:
        with np.load(path, allow_pickle=False) as archive:
            missing = [key for key in NPZ_KEYS if key not in archive]
            if missing:
                raise UnwrittenError(f"{path}: lacks {', '.join(missing)}; a corpus needs {', '.join(NPZ_KEYS)}")
            arrays = {key: archive[key] for key in NPZ_KEYS}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise UnwrittenError(f"{path}: cannot be read as an .npz archive ({error}); give a whole file") from error
    return from_arrays(arrays, str(path), alphabet=alphabet, rates_hz=rates_hz)


def from_arrays(
    arrays: Mapping[str, NDArray[Any]],
    source: str,
    *,
    alphabet: str | None = string.ascii_lowercase,
    rates_hz: Mapping[str, float] | None = None,
) -> HandwritingCorpus:
    """A corpus from the arrays of an ``.npz`` file; ``load_npz`` says which.

    Raises:
        UnwrittenError: their shapes do not fit, or no sample is left.
    """
    problem = _shape_problem(arrays)
    if problem:
        raise UnwrittenError(f"{source}: {problem}; write the corpus anew")

    sites = arrays["site"].astype(np.str_)
    rate_hz = _true_rates(sites, arrays["rate_hz"], rates_hz)
    offsets = arrays["offsets"].astype(np.int64)
    lengths = np.diff(offsets)
    safe_rate_hz = np.where(rate_hz > 0, rate_hz, 1.0)
    rank = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    corpus = HandwritingCorpus(
        xy_mm=arrays["xy_centimm"].astype(np.float32) / np.float32(100),
        pen_down=arrays["pen_down"].astype(np.bool_),
        time_s=(rank / np.repeat(safe_rate_hz, lengths)).astype(np.float32),
        offsets=offsets,
        labels=arrays["label"].astype(np.str_),
        writers=arrays["writer"].astype(np.str_),
        sites=sites,
        rate_hz=rate_hz,
        source=source,
    )
    return without_unusable(corpus, alphabet)


def from_strokes(
    samples: Iterable[Strokes],
    source: str,
    *,
    alphabet: str | None = string.ascii_lowercase,
    skipped: Mapping[str, int] | None = None,
) -> HandwritingCorpus:
    """Gather samples into a corpus; a sample's site is its writer's part before the slash, its rate the median one.

    Raises:
        UnwrittenError: no sample is left.
    """
    kept = list(samples)
    lengths = [len(sample) for sample in kept]
    times = [np.asarray(sample.time_s) - (sample.time_s[0] if len(sample) else 0.0) for sample in kept]
    steps = [np.median(np.diff(time_s)) if len(time_s) > 1 else 0.0 for time_s in times]
    corpus = HandwritingCorpus(
        xy_mm=np.concatenate([np.zeros((0, 2), np.float32), *(sample.xy_mm for sample in kept)]).astype(np.float32),
        pen_down=np.concatenate([np.zeros(0, np.bool_), *(sample.pen_down for sample in kept)]).astype(np.bool_),
        time_s=np.concatenate([np.zeros(0, np.float32), *times]).astype(np.float32),
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        labels=np.array([sample.label for sample in kept], dtype=np.str_),
        writers=np.array([sample.writer for sample in kept], dtype=np.str_),
        sites=np.array([sample.writer.partition("/")[0] for sample in kept], dtype=np.str_),
        rate_hz=np.array([1.0 / step if step > 0 else 0.0 for step in steps], dtype=np.float32),
        source=source,
        skipped=dict(skipped or {}),
    )
    return without_unusable(corpus, alphabet)


def without_unusable(corpus: HandwritingCorpus, alphabet: str | None) -> HandwritingCorpus:
    """The corpus without samples that cannot be used, each counted once under its first reason.

    Raises:
        UnwrittenError: no sample is left.
    """
    low_hz, high_hz = PLAUSIBLE_RATE_HZ
    known = np.array([_is_label(str(label), alphabet) for label in corpus.labels], dtype=np.bool_)
    down_before = np.concatenate([[0], np.cumsum(corpus.pen_down)])
    finite = np.concatenate([[0], np.cumsum(~np.isfinite(corpus.xy_mm).all(axis=1))])
    checks = (
        ("a label outside the alphabet", ~known),
        ("no writer", np.char.str_len(np.char.strip(corpus.writers)) == 0),
        ("an impossible rate", ~((corpus.rate_hz >= low_hz) & (corpus.rate_hz <= high_hz))),
        ("fewer than two positions", np.diff(corpus.offsets) < 2),
        ("no pen on the paper", np.diff(down_before[corpus.offsets]) == 0),
        ("positions that are not numbers", np.diff(finite[corpus.offsets]) > 0),
    )
    skipped: Counter[str] = Counter(corpus.skipped)
    usable = np.ones(len(corpus), dtype=np.bool_)
    for reason, bad in checks:
        count = int((bad & usable).sum())
        if count:
            skipped[reason] += count
        usable &= ~bad
    reasons = ", ".join(f"{count} with {reason}" for reason, count in sorted(skipped.items()))
    if not usable.any():
        raise UnwrittenError(f"{corpus.source}: holds no usable handwriting ({reasons or 'it is empty'}); give another")
    fields = {**vars(corpus), "skipped": dict(skipped)}
    whole = HandwritingCorpus(**fields)
    return whole if usable.all() else whole.subset(usable)


def _is_label(label: str, alphabet: str | None) -> bool:
    return bool(label.strip()) and (alphabet is None or set(label) <= set(alphabet))


def _true_rates(
    sites: NDArray[np.str_], stated_hz: NDArray[np.generic], rates_hz: Mapping[str, float] | None
) -> NDArray[np.float32]:
    rate_hz = np.nan_to_num(stated_hz.astype(np.float32), nan=0.0, posinf=0.0, neginf=0.0)
    for site, rate in (rates_hz or {}).items():
        rate_hz[sites == site] = rate
    return rate_hz


def _shape_problem(arrays: Mapping[str, NDArray[np.generic]]) -> str:
    """What is wrong with the arrays' shapes, empty when nothing is."""
    xy, offsets = arrays["xy_centimm"], arrays["offsets"]
    if xy.ndim != 2 or xy.shape[1] != 2:
        return f"xy_centimm has shape {list(xy.shape)}, not [N, 2]"
    if not np.issubdtype(xy.dtype, np.number):
        return f"xy_centimm holds {xy.dtype}, not numbers"
    if arrays["pen_down"].shape != (len(xy),):
        return f"pen_down has shape {list(arrays['pen_down'].shape)}, not [{len(xy)}] as xy_centimm"
    if offsets.ndim != 1 or len(offsets) == 0 or not np.issubdtype(offsets.dtype, np.integer):
        return "offsets is not a list of whole numbers [S + 1]"
    if offsets[0] != 0 or offsets[-1] != len(xy) or (np.diff(offsets) < 0).any():
        return f"offsets do not rise from 0 to {len(xy)}, the number of positions"
    for key in ("label", "writer", "site", "rate_hz"):
        if arrays[key].shape != (len(offsets) - 1,):
            return f"{key} has shape {list(arrays[key].shape)}, not [{len(offsets) - 1}] as offsets say"
    return ""
