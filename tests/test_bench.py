"""The benchmark: what it compares is equal, its table is whole, and the GPU check runs with few packages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from unwritten.config import settings_from
from unwritten.features.kinematics import KinematicsSettings, differentiate, kinematic_channels
from unwritten.files import project_root
from unwritten.models.fusion import ModelSettings
from unwritten.studies import kinematics_numpy
from unwritten.studies import speed_measures as measures
from unwritten.studies.speed import format_rows, main

ROOT = project_root()
BLOCKED = ("hydra", "omegaconf", "wandb", "mediapipe", "av", "wordfreq", "optuna")


@pytest.mark.parametrize("settings", [KinematicsSettings(), KinematicsSettings(contact=False, shot_marks=False)])
def test_kinematics_in_numpy_for_a_batch_equal_numbas(settings):
    tracks = measures.tracks_of(6, seed=3)
    # A track of one sample, one that is never seen, and shots of a single frame.
    one = (np.zeros(1), np.ones((1, 2)), np.ones(1, bool), np.zeros(1, np.int64), np.ones(1))
    time_s = np.arange(40) / 30
    unseen = (time_s, np.zeros((40, 2)), np.zeros(40, bool), np.zeros(40, np.int64), np.ones(40))
    flicker = (time_s, np.cumsum(np.ones((40, 2)), 0), np.ones(40, bool), np.arange(40), np.ones(40))
    tracks += [one, unseen, flicker]
    found = kinematics_numpy.kinematics(tracks, settings)
    for (time_s, xy, visible, shot, contact), channels in zip(tracks, found, strict=True):
        motion = differentiate(time_s, xy, visible, shot, settings)
        wanted = kinematic_channels(motion, np.interp(motion.time_s, time_s, contact), settings)
        np.testing.assert_allclose(channels, wanted, rtol=1e-5, atol=1e-5)


def test_speeds_are_those_of_the_shipped_network():
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        node = OmegaConf.to_container(compose("train").model)
    assert settings_from(ModelSettings, node, "model") == ModelSettings()


def test_the_bench_prints_one_table_and_writes_json_with_threads_versions_and_memory(tmp_path, capsys, monkeypatch):
    path = tmp_path / "bench.json"
    monkeypatch.setattr(sys, "argv", ["bench", "--quick", "--only", "kinematics", "--json", str(path)])
    assert main() == 0
    result = json.loads(path.read_text())
    assert result["threads"] == 1
    assert {"python", "numpy", "numba", "torch"} <= result["versions"].keys()
    assert [row["against"] for row in result["rows"]] == ["NumPy, all tracks at once"]
    assert all(row["peak_mib"] > 10 for row in result["rows"])
    assert capsys.readouterr().out.strip() == format_rows(result)


def test_a_measurement_that_fails_is_one_line_and_the_others_are_kept(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("unwritten.studies.speed._PACKAGES", ("numpy",))

    def in_process(name, threads, quick):
        from unwritten.errors import UnwrittenError

        raise UnwrittenError(f"{name}: could not be measured (no such clip)")

    monkeypatch.setattr("unwritten.studies.speed.in_process", in_process)
    monkeypatch.setattr(sys, "argv", ["bench", "--only", "tracker"])
    assert main() == 1
    assert capsys.readouterr().err == "bench: tracker: could not be measured (no such clip)\n"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tracker", "lexicon", "simulation", "training"])
def test_every_measurement_gives_rows(name):
    rows = measures.MEASURES[name](True)
    assert rows
    assert all(np.isfinite(row.ratio) and row.ratio > 0 for row in rows)


@pytest.mark.slow
def test_the_gpu_check_trains_resumes_and_evaluates_without_packages_that_a_gpu_image_may_lack(tmp_path):
    blocker = """
        import importlib.abc, sys

        class Block(importlib.abc.MetaPathFinder):
            def find_spec(self, name, path=None, target=None):
                if name.split(".")[0] in BLOCKED:
                    raise ModuleNotFoundError(f"No module named {name!r}", name=name)

        sys.meta_path.insert(0, Block())
    """
    (tmp_path / "sitecustomize.py").write_text(f"BLOCKED = {BLOCKED}\n" + textwrap.dedent(blocker))
    result = tmp_path / "gpu.json"
    done = subprocess.run(
        ["sh", str(ROOT / "src/unwritten/studies/gpu_check.sh"), str(result), "--device", "cpu", "--quick"],
        env={**os.environ, "PYTHON": sys.executable, "PYTHONPATH": str(tmp_path), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(result.read_text())
    assert found["passed"]
    assert found["checks"]["a stopped run goes on from its last epoch"]
    assert set(found["ola"]) == {"audio", "video", "av"}
    assert found["quick"]
