"""Simulated sound set against real sound: what the comparison measures, and that the simulation passes it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from unwritten.studies.sound_realism import Shot, compare, draw_figure, shots_of_clip, simulate_shots

RATE_HZ = 16_000


def _shots(seed: int, severity: str = "measured") -> list[Shot]:
    """Three shots of loops whose sound is simulated too: a 'real' recording that belongs to the simulation."""
    time_s = np.arange(300) / 200
    empty = np.zeros(300 * 80, np.float32)
    shots = [
        Shot(
            f"made/{number}",
            empty,
            np.stack(
                [3 * np.sin(2 * np.pi * (1.5 + 0.3 * number) * time_s), 3 * np.cos(2 * np.pi * 2 * time_s)], axis=1
            ),
            (time_s > 0.3) & (time_s < 1.1),
            0.0,
            1.0,
        )
        for number in range(3)
    ]
    sounds = simulate_shots(shots, severity, seed)
    return [replace(shot, waveform=sound) for shot, sound in zip(shots, sounds, strict=True)]


def test_a_recording_made_by_the_simulation_lies_among_the_others() -> None:
    found = compare(_shots(seed=1_000), draws=4)
    assert found.real_accuracy <= found.simulated_accuracy.max() + 0.05
    assert found.real_distance <= 1.5 * found.simulated_distance.max()


def test_sound_of_another_kind_is_told_apart() -> None:
    rng = np.random.default_rng(0)
    shots = []
    for shot in _shots(seed=1_000):  # white noise as loud with the pen up as down: no floor, no scratch
        shots.append(replace(shot, waveform=(1e-3 * rng.standard_normal(len(shot.waveform))).astype(np.float32)))
    found = compare(shots, draws=4)
    assert found.real_distance > 2 * found.simulated_distance.max()
    assert found.real_level_db[30] < 2 < found.simulated_level_db[30] - 3


def test_one_shot_is_too_few() -> None:
    with pytest.raises(ValueError, match="two shots"):
        compare(_shots(1)[:1])


def test_the_figure_is_written_whole(tmp_path) -> None:  # type: ignore[no-untyped-def]
    draw_figure(_shots(1), tmp_path / "sound.png", seeds=(1,))
    assert (tmp_path / "sound.png").read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in tmp_path.iterdir()] == ["sound.png"]


@pytest.mark.slow
def test_real_clips_lie_among_simulated_recordings(sample_clips) -> None:  # type: ignore[no-untyped-def]
    shots = shots_of_clip(sample_clips / "words/standard/above.mp4")
    assert len(shots) >= 4
    found = compare(shots, draws=6)
    assert found.real_accuracy <= found.simulated_accuracy.max() + 0.03
    assert found.real_distance <= found.simulated_distance.max()
    high = slice(28, 40)
    assert found.simulated_level_db[high].mean() < found.real_level_db[high].mean() + 1.0  # no easier than real
