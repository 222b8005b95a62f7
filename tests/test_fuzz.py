"""Whatever is broken in what a user brings: a result, or one line and exit status 1 or 2.

A seeded fuzzer of media, checkpoints, run directories and configurations. Quick by default, thousands of cases with
``-m slow``; a case that fails is named by its number and made again by it.
"""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf
from report_runs import make_clips, make_run

from unwritten.cli import main
from unwritten.errors import UnwrittenError
from unwritten.media import probe, read_audio, read_frames, write_audio, write_video
from unwritten.models.checkpoint import default_checkpoint, load_model

Mutation = Callable[[bytearray, np.random.Generator], bytearray]
_LARGE = b"\xff\xff\xff\xff"


def _flip(content: bytearray, rng: np.random.Generator) -> bytearray:
    for place in rng.integers(len(content), size=int(rng.integers(1, 9))):
        content[place] ^= 1 << int(rng.integers(8))
    return content


def _flip_early(content: bytearray, rng: np.random.Generator) -> bytearray:
    """In the headers, which lie at either end."""
    for place in rng.integers(min(400, len(content)), size=int(rng.integers(1, 5))):
        content[place if rng.random() < 0.7 else -1 - place] = int(rng.integers(256))
    return content


def _cut(content: bytearray, rng: np.random.Generator) -> bytearray:
    return content[: int(rng.integers(len(content)))]


def _lose(content: bytearray, rng: np.random.Generator) -> bytearray:
    first, last = sorted(rng.integers(len(content), size=2))
    del content[first:last]
    return content


def _repeat(content: bytearray, rng: np.random.Generator) -> bytearray:
    first, last = sorted(rng.integers(len(content), size=2))
    return content[:last] + content[first:]


def _claim(content: bytearray, rng: np.random.Generator) -> bytearray:
    """Sizes and counts of four bytes that are absurd."""
    for place in rng.integers(min(2000, len(content)), size=2):
        absurd = (_LARGE, bytes(4), struct.pack(">I", int(rng.integers(1 << 31))), struct.pack("<I", 1))
        content[place : place + 4] = absurd[int(rng.integers(len(absurd)))]
    return content


def _fill(content: bytearray, rng: np.random.Generator) -> bytearray:
    first, last = sorted(rng.integers(len(content), size=2))
    content[first:last] = rng.bytes(int(last - first)) if rng.random() < 0.5 else bytes(int(last - first))
    return content


MUTATIONS: tuple[Mutation, ...] = (_flip, _flip_early, _cut, _lose, _repeat, _claim, _fill)


def _mutated(whole: bytes, rng: np.random.Generator) -> bytes:
    content = bytearray(whole)
    for _ in range(int(rng.integers(1, 3))):
        if content:
            content = MUTATIONS[int(rng.integers(len(MUTATIONS)))](content, rng)
    return bytes(content)


def _one_line(error: UnwrittenError) -> None:
    assert "\n" not in str(error).strip() and str(error).strip()


@pytest.fixture(scope="module")
def media(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A small whole file of every container that is written here."""
    folder = tmp_path_factory.mktemp("media")
    sound = np.random.default_rng(0).normal(0, 0.1, 8_000).astype(np.float32)
    pictures = [np.full((48, 64, 3), level, np.uint8) for level in range(0, 200, 25)]
    films = [write_video(folder / f"film{suffix}", pictures, waveform=sound) for suffix in (".mp4", ".webm")]
    return [*films, *(write_audio(folder / f"sound{suffix}", sound) for suffix in (".wav", ".mp3"))]


def _media_cases(media: list[Path], folder: Path, numbers: range) -> None:
    whole = [(path.suffix, path.read_bytes()) for path in media]
    for number in numbers:
        rng = np.random.default_rng([1, number])
        suffix, content = whole[number % len(whole)]
        path = folder / f"case{suffix}"
        path.write_bytes(_mutated(content, rng))
        for read in (probe, read_audio, lambda path: sum(1 for _ in read_frames(path))):
            try:
                read(path)
            except UnwrittenError as error:
                _one_line(error)
            except Exception as error:
                raise AssertionError(f"media case {number} ({suffix}): {error!r}") from error


def test_broken_media_are_read_or_named(media: list[Path], tmp_path: Path) -> None:
    _media_cases(media, tmp_path, range(120))


@pytest.mark.slow
def test_thousands_of_broken_media_are_read_or_named(media: list[Path], tmp_path: Path) -> None:
    _media_cases(media, tmp_path, range(120, 4120))


def _checkpoint_cases(folder: Path, numbers: range) -> None:
    whole, path = default_checkpoint().read_bytes(), folder / "case.ckpt"
    for number in numbers:
        rng = np.random.default_rng([2, number])
        if number % 3:
            path.write_bytes(_mutated(whole, rng))
        else:
            torch.save(_with_junk(torch.load(default_checkpoint(), weights_only=True), rng), path)
        try:
            load_model(path)
        except UnwrittenError as error:
            _one_line(error)
        except Exception as error:
            raise AssertionError(f"checkpoint case {number}: {error!r}") from error


_JUNK: tuple[object, ...] = (None, -1, 0, 10**9, 2.5, float("nan"), "", "x", [], {}, [[1]], {"a": 1}, True)


def _with_junk(tree: object, rng: np.random.Generator) -> object:
    """The tree with one of its values gone, or another in its place."""
    if not isinstance(tree, dict) or not tree or rng.random() < 0.15:
        return _JUNK[int(rng.integers(len(_JUNK)))]
    names = list(tree)
    name = names[int(rng.integers(len(names)))]
    if rng.random() < 0.1:
        return {other: value for other, value in tree.items() if other != name}
    return {**tree, name: _with_junk(tree[name], rng)}


def test_broken_checkpoints_are_loaded_or_named(tmp_path: Path) -> None:
    _checkpoint_cases(tmp_path, range(40))


@pytest.mark.slow
def test_a_thousand_broken_checkpoints_are_loaded_or_named(tmp_path: Path) -> None:
    _checkpoint_cases(tmp_path, range(40, 1040))


def _run_cases(whole: Path, folder: Path, numbers: range, said: Callable[[], str]) -> None:
    for number in numbers:
        rng = np.random.default_rng([3, number])
        run = folder / "run"
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(whole, run)
        files = sorted(path for path in run.iterdir() if path.is_file())
        victim = files[int(rng.integers(len(files)))]
        if rng.random() < 0.1:
            victim.unlink()
        else:
            victim.write_bytes(_mutated(victim.read_bytes(), rng))
        try:
            status = main(["report", str(run), "-o", str(folder / "page.html")])
        except Exception as error:
            raise AssertionError(f"run directory case {number} ({victim.name}): {error!r}") from error
        lines = said().strip().splitlines()
        assert status in (0, 1, 2) and (status == 0 or len(lines) == 1), (number, victim.name, lines)


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("run"), make_clips())


def test_broken_run_directories_are_reported_or_named(
    whole_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _run_cases(whole_run, tmp_path, range(25), lambda: capsys.readouterr().err)


@pytest.mark.slow
def test_hundreds_of_broken_run_directories_are_reported_or_named(
    whole_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _run_cases(whole_run, tmp_path, range(25, 525), lambda: capsys.readouterr().err)


_VALUES = ("null", "-1", "0", "1e999", "nan", "true", "x", "[]", "{}", "[1,2]", "{a: 1}", "''", "1e18", "2.5")


def _names(tree: object, name: str = "") -> list[str]:
    inner = tree.items() if isinstance(tree, dict) else ()
    below = [found for key, value in inner for found in _names(value, f"{name}.{key}" if name else str(key))]
    return ([name] if name else []) + below


def _config_cases(folder: Path, numbers: range, said: Callable[[], str]) -> None:
    from hydra import compose, initialize_config_dir

    from unwritten.files import project_root

    with initialize_config_dir(str(project_root() / "conf"), version_base=None):
        names = _names(
            OmegaConf.to_container(
                compose("evaluate", ["benchmark=unwritten", "benchmark.root=nowhere"]), resolve=False
            )
        )
    names = [name for name in names if not name.startswith("hydra")]
    for number in numbers:
        rng = np.random.default_rng([4, number])
        override = f"{names[int(rng.integers(len(names)))]}={_VALUES[int(rng.integers(len(_VALUES)))]}"
        # The benchmark is not there: whatever the override does, nothing is evaluated.
        fixed = ["benchmark=unwritten", f"benchmark.root={folder / 'nowhere'}", f"hydra.run.dir={folder / 'run'}"]
        try:
            status = main(["evaluate", *fixed, override])
        except Exception as error:
            raise AssertionError(f"configuration case {number} ({override}): {error!r}") from error
        lines = said().strip().splitlines()
        assert status in (1, 2) and len(lines) == 1, (number, override, status, lines)


def test_odd_values_of_settings_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _config_cases(tmp_path, range(25), lambda: capsys.readouterr().err)


@pytest.mark.slow
def test_hundreds_of_odd_values_of_settings_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _config_cases(tmp_path, range(25, 625), lambda: capsys.readouterr().err)
