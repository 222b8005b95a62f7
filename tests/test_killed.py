"""Killed at any moment, twenty times over: nothing is lost, nothing is half-written, and the end is the same."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from unwritten.media import write_video

pytestmark = pytest.mark.slow

TIMES = int(os.environ.get("UNWRITTEN_KILLS", "20"))


def _environment(store: Path) -> dict[str, str]:
    return {**os.environ, "UNWRITTEN_STORE": str(store), "OMP_NUM_THREADS": "1", "WANDB_MODE": "disabled"}


def _finish(command: list[str], store: Path) -> float:
    """Run to the end; how long it took."""
    began = time.monotonic()
    done = subprocess.run(command, env=_environment(store), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return time.monotonic() - began


def _killed(command: list[str], store: Path, longest_s: float, look: Callable[[], None], seed: int = 0) -> int:
    """Start again and again and kill at random moments; ``look`` at what lies there each time. How often it ended."""
    rng, ended = np.random.default_rng(seed), 0
    for _ in range(TIMES):
        process = subprocess.Popen(
            command,
            env=_environment(store),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            process.wait(rng.uniform(0.2, longest_s))
            ended += 1
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        look()
    return ended


def _unwritten(*words: str) -> list[str]:
    return [sys.executable, "-m", "unwritten", *words]


def _tables(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("[!.]*.csv"))}


def test_tracks_are_whole_or_not_there(data: Path, tmp_path: Path) -> None:
    clips = tmp_path / "clips"
    clips.mkdir()
    for number in range(2):
        shutil.copy(data / "a-2c_muted.mp4", clips / f"{number}.mp4")
    whole, often = tmp_path / "whole", tmp_path / "often"
    seconds = _finish(_unwritten("track", str(clips), "-o", str(whole)), tmp_path / "store")
    expected = _tables(whole)

    def look() -> None:
        found = _tables(often) if often.is_dir() else {}
        assert all(expected[name] == table for name, table in found.items())

    command = _unwritten("track", str(clips), "-o", str(often))
    _killed(command, tmp_path / "store", seconds, look)
    _finish(command, tmp_path / "store")
    assert _tables(often) == expected


def test_words_are_whole_or_not_there(tmp_path: Path) -> None:
    clips = tmp_path / "clips" / "letters" / "cursive"
    clips.mkdir(parents=True)
    sound = np.random.default_rng(0).normal(0, 0.1, 16_000).astype(np.float32)
    pictures = [np.full((180, 320, 3), 100 + level, np.uint8) for level in range(30)]
    write_video(clips / "a-2c.mp4", pictures, waveform=sound)
    (tmp_path / "words.txt").write_text("a\naa\naaa\n", encoding="utf-8")
    made = {}
    for name in ("whole", "often"):
        made[name] = _unwritten(
            *("synthesize", str(tmp_path / "clips"), "-o", str(tmp_path / name)),
            *("--words", str(tmp_path / "words.txt"), "--style", "cursive"),
        )
    seconds = _finish(made["whole"], tmp_path / "store")

    def files(name: str) -> dict[str, int]:
        root = tmp_path / name
        paths = [path for path in root.rglob("*") if path.is_file() and not path.name.startswith(".")]
        return {str(path.relative_to(root)): path.stat().st_size for path in paths}

    expected = files("whole")
    _killed(made["often"], tmp_path / "store", seconds, lambda: None)
    _finish(made["often"], tmp_path / "store")
    assert files("often") == expected


def test_a_store_that_was_filled_under_kills_gives_the_same_features(data: Path, tmp_path: Path) -> None:
    whole, often = tmp_path / "whole", tmp_path / "often"
    seconds = _finish(_unwritten("prepare", str(data)), whole)
    command = _unwritten("prepare", str(data))
    _killed(command, often, seconds, lambda: None)
    _finish(command, often)

    def entries(store: Path) -> set[str]:
        return {str(path.relative_to(store)) for path in store.rglob("*") if path.is_file() and path.suffix != ".lock"}

    assert {name for name in entries(whole) if not Path(name).name.startswith(".")} <= entries(often)


def test_two_processes_fill_one_store(data: Path, tmp_path: Path) -> None:
    command = _unwritten("prepare", str(data))
    both = [subprocess.Popen(command, env=_environment(tmp_path), stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for process in both:
        _, said = process.communicate()
        assert process.returncode == 0, said
    _finish(command, tmp_path)


def test_an_evaluation_ends_with_the_answers_that_it_would_have_had(tmp_path: Path) -> None:
    def command(name: str) -> list[str]:
        fixed = ["benchmark=simulated", "benchmark.limit=8", "reader=[ctc,blind-constant]", "intervals.replicates=100"]
        return _unwritten("evaluate", *fixed, f"hydra.run.dir={tmp_path / name}")

    seconds = _finish(command("whole"), tmp_path / "store")

    def look() -> None:
        table = tmp_path / "often" / "answers.parquet"
        if table.is_file():
            pd.read_parquet(table)
        for path in (tmp_path / "often").glob("*.json"):
            json.loads(path.read_text(encoding="utf-8"))

    _killed(command("often"), tmp_path / "store", seconds, look)
    _finish(command("often"), tmp_path / "store")
    whole, often = (
        pd.read_parquet(tmp_path / name / "answers.parquet")[["item", "reader", "modality", "raw", "word"]]
        for name in ("whole", "often")
    )
    pd.testing.assert_frame_equal(whole, often)


def test_a_training_that_was_killed_often_ends_with_equal_weights(tmp_path: Path) -> None:
    def command(name: str) -> list[str]:
        return _unwritten("train", "debug=fast", "trainer.max_epochs=6", f"hydra.run.dir={tmp_path / name}")

    seconds = _finish(command("whole"), tmp_path / "store")

    def look() -> None:
        for path in (tmp_path / "often" / "checkpoints").glob("[!.]*.ckpt"):
            torch.load(path, map_location="cpu", weights_only=False)

    _killed(command("often"), tmp_path / "store", seconds, look)
    _finish(command("often"), tmp_path / "store")
    weights = [
        torch.load(tmp_path / name / "checkpoints" / "last.ckpt", map_location="cpu", weights_only=False)["state_dict"]
        for name in ("whole", "often")
    ]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
