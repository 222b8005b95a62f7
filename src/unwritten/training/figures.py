"""Figures of a run and of a sweep, as matplotlib figures that the caller writes and closes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from unwritten.types import Clip
from unwritten.wording import counted

mpl.use("Agg", force=False)


def ink_figure(clips: Sequence[Clip]) -> Figure:
    """The ink that the tracks of simulated clips leave, each with its word: what the network is asked to read."""
    from unwritten.tracking.ink import draw_png, recover_ink

    figure = Figure(figsize=(10, 6), layout="constrained")
    for number, clip in enumerate(clips[:9], start=1):
        axes = figure.add_subplot(3, 3, number)
        assert clip.recording is not None
        assert clip.recording.track is not None
        axes.imshow(draw_png(recover_ink(clip.recording.track)), cmap="gray")
        axes.set_title(f"{clip.word}, {clip.style}", fontsize=9)
        axes.set_axis_off()
    return figure


def letter_confusions(pairs: Sequence[tuple[str, str]], alphabet: str) -> NDArray[np.int64]:
    """Counts ``[A, A]`` of (true letter, letter read at its place), over pairs of words of one length."""
    counts = np.zeros((len(alphabet), len(alphabet)), dtype=np.int64)
    number = {letter: index for index, letter in enumerate(alphabet)}
    for truth, read in pairs:
        if len(truth) == len(read):
            for true, seen in zip(truth, read, strict=True):
                if true in number and seen in number:
                    counts[number[true], number[seen]] += 1
    return counts


def confusion_figure(counts: NDArray[np.int64], alphabet: str, title: str) -> Figure:
    """Share of each true letter (rows) that was read as each letter (columns)."""
    figure = Figure(figsize=(7, 6.4), layout="constrained")
    axes = figure.add_subplot()
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    image = axes.imshow(shares, cmap="magma", vmin=0.0, vmax=1.0)
    axes.set_xticks(range(len(alphabet)), list(alphabet), fontsize=8)
    axes.set_yticks(range(len(alphabet)), list(alphabet), fontsize=8)
    axes.set_xlabel("read as")
    axes.set_ylabel("written")
    axes.set_title(title, fontsize=10)
    figure.colorbar(image, ax=axes, label="share of the letter")
    return figure


def ink_of_run(count: int, seed: int, severity: str) -> Figure:
    """Ink of the first clips that a run is scored on."""
    from unwritten.simulation.clips import simulated_writers_benchmark

    return ink_figure(simulated_writers_benchmark(min(count, 9), seed, severity))


def confusions_of_run(run_dir: Path, alphabet: str) -> Figure:
    """Letters that the run's lexicon-free reader took for others, from ``answers.parquet``."""
    import pandas as pd

    table = pd.read_parquet(run_dir / "answers.parquet")
    chosen = table[(table["reader"] == "ctc-letters") & (table["modality"] == "av")]
    pairs = list(zip(chosen["truth"].astype(str), chosen["word"].astype(str), strict=True))
    title = f"ctc-letters, audio and video, {counted(len(pairs), 'simulated clip')}"
    return confusion_figure(letter_confusions(pairs, alphabet), alphabet, title)


def parallel_coordinates(
    values: Mapping[str, Sequence[object]], losses: Sequence[float | None], states: Sequence[str]
) -> Figure:
    """One line for each trial through its parameters to its loss; pruned trials are thin and grey.

    Args:
        values: of every parameter, one for each trial.
        losses: of every trial, None where it has none.
        states: ``complete``, ``pruned`` or ``failed``, of every trial.
    """
    known = np.array([np.nan if loss is None else loss for loss in losses], dtype=float)
    done = np.array([state == "complete" for state in states]) & np.isfinite(known)
    axes_of: dict[str, tuple[NDArray[np.float64], list[tuple[float, str]]]] = {
        name: _axis(column) for name, column in values.items()
    }
    shown = np.where(np.isfinite(known), known, np.nan)
    axes_of["val/loss"] = _axis([None if not np.isfinite(value) else float(value) for value in shown])
    figure = Figure(figsize=(2.0 + 1.7 * len(axes_of), 5.0), layout="constrained")
    axes = figure.add_subplot()
    places = np.arange(len(axes_of))
    heights = np.stack([column for column, _ in axes_of.values()], axis=1) if len(known) else np.zeros((0, len(places)))
    order = np.argsort(np.where(done, -known, -np.inf), kind="stable")  # the best lines are drawn last, on top
    best, worst = (np.nanmin(known[done]), np.nanmax(known[done])) if done.any() else (0.0, 1.0)
    colours = mpl.colormaps["viridis"]
    for trial in order:
        if done[trial]:
            shade = (known[trial] - best) / (worst - best) if worst > best else 0.0
            axes.plot(
                places, heights[trial], color=colours(0.9 * shade), linewidth=2.2 if known[trial] == best else 1.2
            )
        else:
            axes.plot(places, heights[trial], color="0.75", linewidth=0.8, zorder=0)
    for place, (_, ticks) in enumerate(axes_of.values()):
        axes.axvline(place, color="0.3", linewidth=0.8)
        for height, text in ticks:
            axes.annotate(text, (place, height), (4, 0), textcoords="offset points", fontsize=8, va="center")
    axes.set_xticks(places, list(axes_of), fontsize=9)
    axes.set_yticks([])
    axes.set_xlim(-0.2, len(places) - 0.4)
    axes.spines[:].set_visible(False)
    counts = [f"{list(states).count(state)} {state}" for state in ("complete", "pruned", "failed") if state in states]
    axes.set_title(
        f"{counted(len(known), 'trial')}: {', '.join(counts)}; dark is low loss, grey did not complete", fontsize=10
    )
    return figure


def _axis(column: Sequence[object]) -> tuple[NDArray[np.float64], list[tuple[float, str]]]:
    """Heights in [0, 1] of a column's values (NaN where there is none) and its ticks."""
    present = [value for value in column if value is not None]
    if present and all(isinstance(value, int | float) and not isinstance(value, bool) for value in present):
        numbers = np.array([np.nan if value is None else float(value) for value in column])  # type: ignore[arg-type]
        low, high = float(np.nanmin(numbers)), float(np.nanmax(numbers))
        if low > 0 and high / low >= 20:  # drawn on a logarithmic scale, as it was sampled
            numbers, ends = np.log(numbers), (np.log(low), np.log(high))
            middle = float(np.exp(sum(ends) / 2))
        else:
            ends, middle = (low, high), (low + high) / 2
        span = ends[1] - ends[0]
        heights = (numbers - ends[0]) / span if span > 0 else np.where(np.isnan(numbers), np.nan, 0.5)
        ticks = [(0.0, low), (0.5, middle), (1.0, high)] if span > 0 else [(0.5, low)]
        return heights, [(height, f"{value:.3g}") for height, value in ticks]
    names = sorted({str(value) for value in present})
    height = {name: (index + 0.5) / len(names) for index, name in enumerate(names)}
    return (
        np.array([np.nan if value is None else height[str(value)] for value in column]),
        [(height[name], name) for name in names],
    )
