"""How near simulated tracks come to real ones: the same numbers of both, shot by shot.

``python -m unwritten.studies.track_realism CLIP... --corpus letters.npz [--figure FILE]`` prints, for each number,
the values of the real shots and where they lie among simulated ones (0 lowest, 1 highest). Places spread evenly when
the simulation is right; the last column gives the chance of a mean so far from one half.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unwritten.features.canonical import canonical_xy
from unwritten.features.kinematics import KinematicsSettings, differentiate
from unwritten.files import whole_file
from unwritten.handwriting import load
from unwritten.simulation.camera import film
from unwritten.simulation.severity import severity
from unwritten.simulation.writing import LetterBank, perform_sample
from unwritten.tracking import track
from unwritten.types import Track

NUMBERS = (
    "seconds",
    "share of time at rest",
    "path, heights",
    "peak speed, heights/s",
    "median speed in motion",
    "rests",
    "share of time in contact",
    "jitter, % of height",
    "width over height",
)
"""What ``shot_numbers`` gives, in order; a height is the canonical view's unit."""


def shot_numbers(track: Track) -> NDArray[np.float64]:
    """Numbers ``[shots, len(NUMBERS)]`` of every shot with at least half a second of track."""
    settings = KinematicsSettings()
    xy = canonical_xy(track)
    motion = differentiate(track.time_s, xy, track.visible, track.shot, settings)
    rows = []
    for number in np.unique(track.shot):
        inside = (motion.shot == number) & motion.known
        frames = (track.shot == number) & track.visible
        if inside.sum() < settings.rate_hz / 2:
            continue
        speed = motion.speed[inside]
        moving = speed > 0.4
        rests = int((np.diff(moving.astype(int)) == -1).sum())
        smooth = np.stack(
            [np.interp(track.time_s[frames], motion.time_s, motion.position[:, k]) for k in (0, 1)], axis=1
        )
        jitter = float(np.median(np.abs(xy[frames] - smooth)))
        extent = np.ptp(xy[frames], axis=0)
        rows.append(
            [
                inside.sum() / settings.rate_hz,
                1.0 - moving.mean(),
                speed.sum() / settings.rate_hz,
                speed.max(),
                np.median(speed[moving]) if moving.any() else 0.0,
                rests,
                float((track.contact[frames] > 0.5).mean()),
                100.0 * jitter,
                extent[0] / max(extent[1], 1e-6),
            ]
        )
    return np.array(rows).reshape(-1, len(NUMBERS))


def simulated_tracks(
    corpus_path: Path | str, count: int, severity_name: str = "measured", seed: int = 0
) -> list[Track]:
    """Tracks of single letters drawn evenly from a corpus."""
    bank = LetterBank.of(load(corpus_path))
    settings = severity(severity_name)
    rng = np.random.default_rng(seed)
    tracks = []
    for index in rng.integers(len(bank.corpus), size=count):
        height_mm = float(bank.heights_mm[index])
        motion = perform_sample(bank.corpus, int(index), height_mm, settings.pen, int(rng.integers(2**31)))
        tracks.append(film(motion, height_mm, settings.camera, rng))
    return tracks


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table; see the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clips", nargs="+", type=Path, metavar="CLIP")
    parser.add_argument("--corpus", type=Path, required=True, help="single letters of handwriting")
    parser.add_argument("--count", type=int, default=2000, help="simulated letters")
    parser.add_argument("--severity", default="measured")
    parser.add_argument("--figure", type=Path, help="PNG of real shots above simulated ones")
    arguments = parser.parse_args(argv)
    real_tracks = [track(path) for path in arguments.clips]
    simulated = simulated_tracks(arguments.corpus, arguments.count, arguments.severity)
    real = np.concatenate([shot_numbers(one) for one in real_tracks])
    drawn = np.concatenate([shot_numbers(one) for one in simulated])
    print("| number | real shots: median (range) | simulated: 5, 50, 95 % | mean place of the real ones | p |")
    print("| --- | --- | --- | --- | --- |")
    for column, name in enumerate(NUMBERS):
        below = (drawn[:, column][None] < real[:, column, None]).mean(axis=1)
        same = (drawn[:, column][None] == real[:, column, None]).mean(axis=1)
        place = float((below + same / 2).mean())
        low, middle, high = np.quantile(drawn[:, column], (0.05, 0.5, 0.95))
        values = real[:, column]
        print(
            f"| {name} | {np.median(values):.2f} ({values.min():.2f} to {values.max():.2f}) | "
            f"{low:.2f}, {middle:.2f}, {high:.2f} | {place:.2f} | {_chance(place, len(values)):.2f} |"
        )
    if arguments.figure:
        _draw(real_tracks, simulated, arguments.figure)


def _chance(place: float, shots: int) -> float:
    """Two-sided chance of a mean of ``shots`` uniform numbers so far from one half (normal approximation)."""
    from scipy.stats import norm

    return float(2 * norm.sf(abs(place - 0.5) * np.sqrt(12 * shots)))


def _draw(real: Sequence[Track], simulated: Sequence[Track], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    shots = [(one, number) for one in real for number in np.unique(one.shot)][:8]
    shots += [(one, 0) for one in simulated[: 16 - len(shots) + 8]]
    figure, axes = pyplot.subplots(3, 8, figsize=(16, 6.4))
    for axis, (one, number) in zip(axes.flat, shots, strict=False):
        chosen = (one.shot == number) & one.visible
        xy, contact = canonical_xy(one)[chosen], one.contact[chosen]
        axis.plot(xy[:, 0], xy[:, 1], color="0.8", linewidth=0.8)
        axis.scatter(xy[:, 0], xy[:, 1], c=contact, s=5, cmap="coolwarm_r", vmin=0, vmax=1)
        axis.set(xlim=(-2, 2), ylim=(-2, 2), aspect="equal", xticks=[], yticks=[])
    for row, name in enumerate(("real", "simulated", "simulated")):
        axes[row, 0].set_ylabel(name)
    figure.tight_layout()
    with whole_file(path) as temporary:
        figure.savefig(temporary, dpi=60)


if __name__ == "__main__":
    main()
