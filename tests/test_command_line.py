"""``unwritten train`` and ``unwritten evaluate`` are the two scripts, from anywhere, with Hydra's arguments."""

from __future__ import annotations

import argparse
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from unwritten import cli
from unwritten.files import project_root

NAMES = ("train", "evaluate")


def said(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    capsys.readouterr()
    status = cli.main(words)
    return status, *capsys.readouterr()


@pytest.mark.parametrize("name", NAMES)
def test_the_command_composes_what_the_script_composes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["seed=3", "--cfg", "job", "--resolve"]
    monkeypatch.setattr(sys, "argv", [f"{name}.py", *words])
    with pytest.raises(SystemExit) as stop:
        runpy.run_path(str(project_root() / f"{name}.py"), run_name="__main__")
    script = capsys.readouterr().out
    assert stop.value.code == 0
    assert said([name, *words], capsys) == (0, script, "")
    assert "seed: 3" in script


@pytest.mark.parametrize("name", NAMES)
def test_help_lists_the_groups_of_the_configuration(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = said([name, "--help"], capsys)
    assert status == 0
    assert out.startswith(f"{name} is powered by Hydra")
    assert "simulation: harsh, measured" in out


def test_a_folder_of_one_s_own_adds_to_the_configuration_and_goes_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine" / "experiment").mkdir(parents=True)
    (tmp_path / "mine" / "experiment" / "mine.yaml").write_text("# @package _global_\nseed: 41\n")
    status, out, _ = said(["train", "--config-dir", "mine", "experiment=mine", "--cfg", "job"], capsys)
    assert status == 0
    assert "seed: 41" in out
    status, _, error = said(["train", "--config-dir", "none", "--cfg", "job"], capsys)
    assert status == 2
    assert error.count("\n") == 1
    assert "none" in error


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("words", [["nosuch=1"], ["--nosuch"], ["data=nosuch"], ["--experimental-rerun", "x"]])
def test_what_is_not_there_is_one_line(name: str, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    status, _, error = said([name, *words], capsys)
    assert status == 2
    assert error.count("\n") == 1
    assert error.startswith(f"unwritten {name}: ")


def test_relative_run_directories_lie_below_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["benchmark.limit=1", "reader=blind-constant", "intervals.replicates=100", "hydra.run.dir=here"]
    assert said(["evaluate", *words], capsys)[0] == 0
    assert (tmp_path / "here" / "scores.json").is_file()


def test_a_python_whose_argparse_reads_help_texts_at_once_starts_all_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As Python 3.14 does; a help text of Hydra 1.3 is no text until it is shown."""
    container: Any = argparse._ActionsContainer
    add_argument = container.add_argument

    def check(self: Any, action: argparse.Action) -> None:
        if action.help and not isinstance(action.help, str):
            raise ValueError("badly formed help string")

    def add_and_check(self: Any, *names: Any, **options: Any) -> argparse.Action:
        action: argparse.Action = add_argument(self, *names, **options)
        self._check_help(action)
        return action

    monkeypatch.setattr(container, "_check_help", check, raising=False)
    monkeypatch.setattr(container, "add_argument", add_and_check)
    from hydra._internal.utils import get_args_parser

    with pytest.raises(ValueError, match="badly formed help string"):
        get_args_parser()
    status, out, _ = said(["evaluate", "--cfg", "job"], capsys)
    assert status == 0
    assert "benchmark:" in out
    with pytest.raises(ValueError, match="badly formed help string"):
        get_args_parser()  # what others build is checked as before
