"""How far simulated sound is from real sound, as the model sees it.

The path of the pen in real clips is played through the simulation, so that real and simulated frames differ in sound
alone. One real microphone at one table is a single draw of all recording conditions: its distance from many simulated
recordings is therefore set against that of one simulated recording from the others. T is the number of frames, M of mel
bands.

    python -m unwritten.studies.sound_realism CLIP... --figure sound.png
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_closing, binary_opening, gaussian_filter1d
from scipy.stats import energy_distance

from unwritten.features.spectrogram import log_mel
from unwritten.files import whole_file
from unwritten.media import read_audio
from unwritten.simulation.motion import MOTION_RATE_HZ, Motion
from unwritten.simulation.sound import simulate_sound
from unwritten.simulation.sound_level import contact_energy
from unwritten.simulation.sound_settings import sound_settings
from unwritten.tracking import track
from unwritten.types import BoolArray, FloatArray, Track

SAMPLE_RATE_HZ = 16_000
FRAME_RATE_HZ = 60.0
_CONTACT_DB = 4.5
_USUAL_SPEED_MM_S = 40.0
_LAGS_S = np.arange(-0.2, 0.45, 0.01)


@dataclass(frozen=True)
class Shot:
    """One shot of a real clip: its sound and the pen's path in the sound's time.

    Attributes:
        name: clip and shot.
        waveform: float32 ``[N]`` at 16 kHz.
        xy_mm: ``[C, 2]`` at 200 Hz.
        pen_down: ``[C]``.
        lag_s: by how much the sound came later than the picture.
        fit: correlation of log speed with the level of the scratch at that lag.
    """

    name: str
    waveform: NDArray[np.float32]
    xy_mm: FloatArray
    pen_down: BoolArray
    lag_s: float
    fit: float


@dataclass(frozen=True)
class Realism:
    """Distances of the real recording and of single simulated ones, each from the other simulated recordings.

    Attributes:
        real_accuracy, simulated_accuracy: balanced accuracy of a small classifier that tells frames apart, on shots
            that it did not train on; 0.5 is chance. One number, and one for each simulated recording left out.
        real_distance, simulated_distance: energy distance of contact frames, mean over bands, in units of 10 dB.
        real_level_db, simulated_level_db: mean level ``[M]`` of contact frames over the floor.
    """

    real_accuracy: float
    simulated_accuracy: FloatArray
    real_distance: float
    simulated_distance: FloatArray
    real_level_db: FloatArray
    simulated_level_db: FloatArray


def shots_of_clip(path: Path | str, least_fit: float = 0.5) -> list[Shot]:
    """The shots of a real clip whose speed explains the level of the scratch, with the lag at which it does so best.

    Raises:
        UnwrittenError: the file holds no video or no sound.
    """
    seen, waveform = track(path), read_audio(path, SAMPLE_RATE_HZ)
    level_db = gaussian_filter1d(contact_energy(waveform, SAMPLE_RATE_HZ, MOTION_RATE_HZ), 2.0)
    shots = []
    for number in np.unique(seen.shot):
        shot = _shot(f"{Path(path).stem}/{number}", seen, seen.shot == number, waveform, level_db)
        if shot is not None and shot.fit >= least_fit:
            shots.append(shot)
    return shots


def _shot(
    name: str, seen: Track, frames: BoolArray, waveform: NDArray[np.float32], level_db: FloatArray
) -> Shot | None:
    known = frames & seen.visible
    if known.sum() < 20:
        return None
    time_s, tip_px = seen.time_s[known], gaussian_filter1d(seen.tip_px[known], 1.0, axis=0)
    start_s, end_s = float(seen.time_s[frames][0]), float(seen.time_s[frames][-1])
    end_s = min(end_s, len(waveform) / SAMPLE_RATE_HZ)
    clock_s = np.arange(start_s, end_s, 1 / MOTION_RATE_HZ)
    if len(clock_s) < 60:
        return None
    path_px = np.stack([np.interp(clock_s, time_s, tip_px[:, axis]) for axis in (0, 1)], axis=1)
    speed = np.hypot(*np.gradient(path_px, 1 / MOTION_RATE_HZ, axis=0).T)
    level = level_db[np.round(clock_s * MOTION_RATE_HZ).astype(int).clip(0, len(level_db) - 1)]
    log_speed = np.log(speed + 0.1 * np.quantile(speed, 0.8) + 1e-6)
    fits = [_fit(log_speed, level, round(lag * MOTION_RATE_HZ)) for lag in _LAGS_S]
    lag = round(float(_LAGS_S[int(np.argmax(fits))]) * MOTION_RATE_HZ)
    source = np.clip(np.arange(len(clock_s)) - lag, 0, len(clock_s) - 1)
    scratching = binary_opening(binary_closing(level > _CONTACT_DB, iterations=3), iterations=4)
    moving = speed[source][scratching]
    usual = float(np.quantile(moving, 0.7)) if len(moving) else 1.0
    samples = waveform[round(start_s * SAMPLE_RATE_HZ) : round(end_s * SAMPLE_RATE_HZ)]
    xy_mm = path_px[source] * [1, -1] * (_USUAL_SPEED_MM_S / max(usual, 1e-6))
    return Shot(name, samples, xy_mm, scratching, lag / MOTION_RATE_HZ, float(max(fits)))


def _fit(log_speed: FloatArray, level: FloatArray, lag: int) -> float:
    """Correlation of the level with the speed ``lag`` steps before it, over the steps where both are known."""
    count = len(level) - abs(lag)
    if count < 40:
        return -1.0
    before, after = log_speed[max(0, -lag) :][:count], level[max(0, lag) :][:count]
    return float(np.corrcoef(before, after)[0, 1]) if before.std() > 0 and after.std() > 0 else -1.0


def compare(shots: Sequence[Shot], severity: str = "measured", draws: int = 10, seed: int = 0) -> Realism:
    """Set the real shots and single simulated recordings of them against ``draws`` simulated recordings.

    Args:
        shots: of one microphone and table, at least two.
        severity: of the simulation.
        draws: number of simulated recordings.
        seed: of the simulation and the classifier.
    """
    if len(shots) < 2:
        raise ValueError("at least two shots are needed: the classifier is tested on shots that it did not train on")
    real = [_frames(shot.waveform, shot) for shot in shots]
    simulated = [simulate_shots(shots, severity, seed + draw) for draw in range(draws)]
    groups = [[_frames(sound, shot) for sound, shot in zip(sounds, shots, strict=True)] for sounds in simulated]
    others = [groups[:draw] + groups[draw + 1 :] for draw in range(draws)]
    contact_real = np.concatenate([mel[down] for mel, down in real])
    contact_simulated = np.concatenate([mel[down] for group in groups for mel, down in group])
    return Realism(
        real_accuracy=_accuracy(real, groups, seed),
        simulated_accuracy=np.array([_accuracy(groups[draw], others[draw], seed) for draw in range(draws)]),
        real_distance=_distance(real, groups),
        simulated_distance=np.array([_distance(groups[draw], others[draw]) for draw in range(draws)]),
        real_level_db=10 * contact_real.mean(axis=0),
        simulated_level_db=10 * contact_simulated.mean(axis=0),
    )


def simulate_shots(shots: Sequence[Shot], severity: str, seed: int) -> list[NDArray[np.float32]]:
    """One simulated recording of the paths of all shots, cut at their joins."""
    lengths = [len(shot.pen_down) for shot in shots]
    motion = Motion(
        np.arange(sum(lengths)) / MOTION_RATE_HZ,
        np.concatenate([shot.xy_mm for shot in shots]),
        np.concatenate([shot.pen_down for shot in shots]),
        np.repeat(np.arange(len(shots)), lengths),
        "",
        np.zeros((0, 2)),
    )
    settings = replace(sound_settings(severity), lag_s=(0.0, 0.0))  # the paths are in the sound's time already
    waveform = simulate_sound(motion, settings, np.random.default_rng(seed), SAMPLE_RATE_HZ)
    cuts = np.round(np.cumsum(lengths)[:-1] * (SAMPLE_RATE_HZ / MOTION_RATE_HZ)).astype(int)
    return np.split(waveform, cuts)


_Group = list[tuple[NDArray[np.float32], BoolArray]]


def _frames(waveform: NDArray[np.float32], shot: Shot) -> tuple[NDArray[np.float32], BoolArray]:
    """Log-mel frames ``[T, M]`` of a shot and which of them have contact."""
    mel = log_mel(waveform, SAMPLE_RATE_HZ, shot_starts_s=[0.0])
    step = np.round(np.arange(len(mel)) * (MOTION_RATE_HZ / FRAME_RATE_HZ)).astype(int)
    return mel, shot.pen_down[step.clip(0, len(shot.pen_down) - 1)]


def _distance(one: _Group, many: Sequence[_Group]) -> float:
    first = np.concatenate([mel[down] for mel, down in one])
    second = np.concatenate([mel[down] for group in many for mel, down in group])
    return float(np.mean([energy_distance(first[:, band], second[:, band]) for band in range(first.shape[1])]))


def _accuracy(one: _Group, many: Sequence[_Group], seed: int) -> float:
    """Balanced accuracy of telling ``one`` from ``many``, frame by frame, mean over left-out shots."""
    scores = []
    for out in range(len(one)):
        rest = [index for index in range(len(one)) if index != out]
        tell = _classifier(
            np.concatenate([_context(one[index][0]) for index in rest]),
            np.concatenate([_context(group[index][0]) for group in many for index in rest]),
            seed,
        )
        right = tell(_context(one[out][0])).mean()
        wrong = np.mean([tell(_context(group[out][0])).mean() for group in many])
        scores.append((right + 1 - wrong) / 2)
    return float(np.mean(scores))


def _context(mel: NDArray[np.float32]) -> NDArray[np.float32]:
    """Each frame with the spread of its bands over five frames, ``[T, 2 M]``."""
    padded = np.pad(mel, ((2, 2), (0, 0)), mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 5, axis=0)
    return np.concatenate([mel, windows.std(axis=-1)], axis=1)


def _classifier(positive: FloatArray, negative: FloatArray, seed: int) -> Callable[[FloatArray], BoolArray]:
    """Train one hidden layer of 32 units on balanced classes; returns a function from ``[T, D]`` to bool ``[T]``."""
    import torch

    inputs = np.concatenate([positive, negative])
    mean, spread = inputs.mean(axis=0), inputs.std(axis=0) + 1e-6
    x = torch.tensor((inputs - mean) / spread, dtype=torch.float32)
    y = torch.cat([torch.ones(len(positive)), torch.zeros(len(negative))])
    weight = torch.cat([torch.full((len(positive),), len(inputs) / len(positive)), torch.full((len(negative),), 1.0)])
    weight[len(positive) :] = len(inputs) / len(negative)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = torch.nn.Sequential(
            torch.nn.Linear(x.shape[1], 32), torch.nn.ReLU(), torch.nn.Dropout(0.3), torch.nn.Linear(32, 1)
        )
        optimizer = torch.optim.AdamW(network.parameters(), lr=3e-3, weight_decay=0.1)
        for _ in range(8):
            for batch in torch.randperm(len(x)).split(256):
                losses = torch.nn.functional.binary_cross_entropy_with_logits(
                    network(x[batch])[:, 0], y[batch], weight=weight[batch]
                )
                optimizer.zero_grad()
                losses.backward()
                optimizer.step()
    network.eval()

    def tell(frames: FloatArray) -> BoolArray:
        with torch.inference_mode():
            scaled = torch.tensor((frames - mean) / spread, dtype=torch.float32)
            return np.asarray(network(scaled)[:, 0].numpy() > 0)

    return tell


def draw_figure(
    shots: Sequence[Shot], path: Path | str, severity: str = "measured", seeds: Sequence[int] = (1, 2)
) -> None:
    """Write a PNG with the spectrogram of the real shots above simulated recordings of the same paths.

    Raises:
        UnwrittenError: the file cannot be written.
    """
    from matplotlib.figure import Figure
    from PIL import Image

    rows = [("real", np.concatenate([shot.waveform for shot in shots]))]
    rows += [(f"simulated, {severity}, seed {s}", np.concatenate(simulate_shots(shots, severity, s))) for s in seeds]
    dither = 1e-9 * np.random.default_rng(0).standard_normal(max(len(waveform) for _, waveform in rows))
    figure = Figure(figsize=(11, 2.2 * len(rows)), layout="constrained")
    for axes, (title, waveform) in zip(figure.subplots(len(rows), 1, sharex=True), rows, strict=True):
        axes.specgram(
            waveform + dither[: len(waveform)],
            NFFT=512,
            noverlap=256,
            Fs=SAMPLE_RATE_HZ,
            vmin=-125,
            vmax=-80,
            cmap="magma",
        )
        axes.set_title(title, loc="left", fontsize=9)
        axes.set_ylabel("Hz", fontsize=8)
        axes.tick_params(labelsize=7)
    axes.set_xlabel("s", fontsize=8)
    picture = io.BytesIO()
    figure.savefig(picture, dpi=70)
    with whole_file(path) as temporary, Image.open(picture) as image:  # noise hardly compresses: few colours do
        image.convert("RGB").quantize(24, dither=Image.Dither.NONE).save(temporary, optimize=True)


def main(argv: Sequence[str] | None = None) -> None:
    """Print the comparison of real clips with their simulation."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clips", nargs="+", type=Path, help="video files with sound")
    parser.add_argument("--severity", default="measured")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--figure", type=Path, help="write spectrograms, real above simulated, to this PNG")
    arguments = parser.parse_args(argv)
    shots = [shot for clip in arguments.clips for shot in shots_of_clip(clip)]
    for shot in shots:
        print(f"{shot.name}: sound {1000 * shot.lag_s:+.0f} ms after the picture, fit {shot.fit:.2f}")
    found = compare(shots, arguments.severity, arguments.draws)
    print(f"classifier: real {found.real_accuracy:.2f}, one simulated recording {_range(found.simulated_accuracy)}")
    print(
        f"energy distance: real {found.real_distance:.3f}, one simulated recording {_range(found.simulated_distance)}"
    )
    print("contact over floor, dB, lowest to highest band:")
    for name, values in (("real", found.real_level_db), ("simulated", found.simulated_level_db)):
        print(f"  {name:9s}", " ".join(f"{value:4.1f}" for value in values[::4]))
    if arguments.figure is not None:
        draw_figure(shots, arguments.figure, arguments.severity)


def _range(values: FloatArray) -> str:
    return f"median {np.median(values):.3f}, range {values.min():.3f} to {values.max():.3f}"


if __name__ == "__main__":
    main()
