"""Every command in the README, and every one that makes a number of it, is run here in small or by ``.ci/run``.

Or it says why not.
"""

from __future__ import annotations

import os
import re
import runpy
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from synthesis_clips import letter_clips

from unwritten import cli
from unwritten.files import project_root
from unwritten.models.checkpoint import default_checkpoint

README = (project_root() / "README.md").read_text(encoding="utf-8")
RESULTS = (project_root() / "docs" / "results" / "README.md").read_text(encoding="utf-8")

# The command as the README has it, and the line of .ci/run that is the same with a folder of its own.
IN_CI = {
    "python3 -m venv .venv": 'python3 -m venv "$work/venv"',
    ". .venv/bin/activate": '. "$work/venv/bin/activate"',
    "pip install -e .[dev]": "pip install -q -e '.[dev]'",
    "python train.py experiment=quickstart": 'python train.py experiment=quickstart "hydra.run.dir=$work/quickstart"',
    "pytest -n 2": "pytest -q -n 2",
}
NOT_HERE = {
    "unwritten fetch samples": "needs the network; test_fetch_public.py has it from a server of its own",
    "unwritten fetch unipen": "the same",
    "unwritten corpora UNIPEN -o DIR": "reads 450 MB; test_handwriting_corpora.py has it, slow",
    "unwritten fetch benchmark -o DIR": "the data set is gated: it needs a token of somebody who was let in",
    "python evaluate.py reader=[ctc,blind-constant,gpt-4o] benchmark=unwritten benchmark.root=DIR": "costs money",
}
# What is added to a command so that it takes seconds.
FEW = "benchmark.limit=1 intervals.replicates=100"
BRIEF = (
    "model=tiny trainer=cpu trainer.max_epochs=1 score_items=0 processes=1 data.loader.items_per_epoch=8"
    " data.takes=1 data.words=20 data.simulated_writers.standard=2 data.simulated_writers.cursive=2"
    " data.loader.max_items=4 data.loader.validation_items=4 data.loader.workers=0"
)
HERE = {
    "python evaluate.py benchmark=handwriting benchmark.root=letters.npz benchmark.condition=shots"
    " benchmark.held_share=0.1 benchmark.limit=1000"
    " reader=[ctc,ctc-benchmark,ctc-letters-ordered,ctc-letters,ctc-free,blind-constant,blind-letters]": FEW,
    "python evaluate.py benchmark=handwriting benchmark.root=words_with_hover.npz benchmark.condition=live"
    " benchmark.held_share=0.1 benchmark.limit=1000"
    " reader=[ctc,ctc-benchmark,ctc-letters-ordered,ctc-letters,ctc-free,blind-constant,blind-letters]": FEW,
    "python evaluate.py benchmark=unwritten benchmark.root=SAMPLES benchmark.letter_shots=true"
    " reader=[ctc-benchmark,ctc]": FEW,
    "python evaluate.py reader=published": "",
    "unwritten read samples/words/standard/above_muted.mp4": "",
    "unwritten read CLIP --modality video --length 5 --json": "",
    "unwritten read CLIP --lexicon order": "",
    "unwritten read CLIP --replay replay.mp4": "",
    "unwritten track CLIP -o track.csv --overlay overlay.mp4 --ink ink.png": "",
    "unwritten audit DIR": "--workers 1",
    "unwritten synthesize LETTERS -o WORDS": "--style standard --count 1 --short-side 64 --workers 1",
    "unwritten evaluate benchmark=unwritten benchmark.root=DIR": FEW,
    "unwritten report RUN... -o report.html": "--items 1",
    "unwritten human DIR -o trials": "",
    "python train.py experiment=shipped data.corpora=[FILE,...]": BRIEF,
    "python train.py experiment=quickstart logger=wandb": BRIEF,
    "python train.py -m hparams_search=optuna experiment=quickstart": BRIEF + " hparams_search.trials=1",
}
SLOW = [command for command in HERE if "--replay" in command or "train.py" in command]


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def commands() -> Iterator[str]:
    """Every command of the shell blocks, its words apart by one space and without quotes."""
    for line in "\n".join(blocks("sh")).replace("\\\n", " ").splitlines():
        for part in line.split("&&"):
            words = shlex.split(part, comments=True)
            if words:
                yield " ".join(words)


def commands_of_numbers() -> Iterator[str]:
    """Every evaluation by which a number of the README was made."""
    for command in re.findall(r"`(python evaluate\.py [^`]+)`", RESULTS):
        yield " ".join(shlex.split(command))


def test_no_command_is_left_out_and_none_has_gone() -> None:
    assert sorted([*commands(), *commands_of_numbers()]) == sorted([*IN_CI, *NOT_HERE, *HERE])
    fences = re.findall(r"^```(\w*)\n.*?^```$", README, re.DOTALL | re.MULTILINE)
    assert set(fences) == {"sh", "python"}, "a block of another kind may hold commands too"


def test_what_continuous_integration_runs_stands_there() -> None:
    lines = (project_root() / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    for line in IN_CI.values():
        assert any(found.strip().startswith(line) for found in lines), line


@pytest.fixture(scope="module")
def letters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return letter_clips(tmp_path_factory.mktemp("letters"))


@pytest.fixture
def place(request: pytest.FixtureRequest, letters: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory in which all names of the README exist."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_MODE", "offline")
    for script in ("train.py", "evaluate.py", "conf"):
        (tmp_path / script).symlink_to(project_root() / script)
    for name in ("DIR", "LETTERS"):
        shutil.copytree(letters / "cursive" if name == "DIR" else letters, tmp_path / name)
    command = getattr(request, "param", "")
    if "npz" in command or "FILE" in command:
        unipen = request.getfixturevalue("unipen")
        for name in ("letters.npz", "words_with_hover.npz"):
            (tmp_path / name).symlink_to(unipen / name)
        few_samples(unipen / "letters.npz", tmp_path / "FILE.npz")
    if "SAMPLES" in command or "CLIP" in command:
        sample = request.getfixturevalue("sample_clips") / "letters" / "standard"
        shutil.copytree(sample, tmp_path / "SAMPLES")
        (tmp_path / "CLIP.mp4").symlink_to(sample / "a-1.mp4")
    if "samples/" in command:
        (tmp_path / "samples" / "words" / "standard").mkdir(parents=True)
        word = request.getfixturevalue("data") / "above.mp4"
        (tmp_path / "samples" / "words" / "standard" / "above_muted.mp4").symlink_to(word)
    return tmp_path


def few_samples(source: Path, target: Path, every: int = 100) -> None:
    """A corpus of one sample in a hundred, of all writers."""
    with np.load(source) as whole:
        offsets = whole["offsets"]
        chosen = np.arange(0, len(offsets) - 1, every)
        points = np.concatenate([np.arange(offsets[at], offsets[at + 1]) for at in chosen])
        counts = np.diff(offsets)[chosen]
        kept = {name: whole[name][points] for name in ("xy_centimm", "pen_down")}
        kept |= {name: whole[name][chosen] for name in ("label", "writer", "site", "rate_hz")}
        np.savez(target, **kept, offsets=np.concatenate([[0], np.cumsum(counts)]))


def launch(words: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    """Run a command in this process, which holds torch already; the exit status."""
    if words[0] == "unwritten":
        return cli.main(words[1:])
    assert words[0] == "python"
    GlobalHydra.instance().clear()
    monkeypatch.setattr(sys, "argv", words[1:])
    with pytest.raises(SystemExit) as stop:
        runpy.run_path(words[1], run_name="__main__")
    return int(stop.value.code or 0)


@pytest.mark.parametrize(
    ("place", "command"),
    [pytest.param(each, each, marks=[pytest.mark.slow] if each in SLOW else []) for each in HERE],
    indirect=["place"],
)
def test_the_command_does_its_work(place: Path, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if not default_checkpoint().is_file() and "train.py" not in command:
        pytest.skip("checkpoints/ holds no checkpoint")
    words = command.replace("CLIP", "CLIP.mp4").replace("FILE,...", "FILE.npz").split() + HERE[command].split()
    if "RUN..." in words:
        words[words.index("RUN...")] = "run"
        made = ["python", "evaluate.py", "reader=blind-constant", "benchmark=unwritten", "benchmark.root=DIR"]
        assert launch([*made, "hydra.run.dir=run"], monkeypatch) == 0
    before = set(place.rglob("*"))
    assert launch(words, monkeypatch) == 0
    made_files = [path.name for path in place.rglob("*") if path not in before]
    for name in promised(words):
        assert name in made_files
    os.chdir(project_root())


def promised(words: list[str]) -> list[str]:
    """Files that the command says it makes."""
    if "evaluate.py" in words or "evaluate" in words:
        return ["scores.json"] if "reader=published" in words else ["scores.json", "answers.parquet"]
    if "train.py" in words:
        return ["best.ckpt"]
    return [word for word in words if "." in word and words[words.index(word) - 1].startswith("-")]


@pytest.mark.parametrize("command", NOT_HERE)
def test_a_command_that_cannot_run_here_is_at_least_understood(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    program, *words = command.removeprefix("python ").split()
    if program == "unwritten":
        with pytest.raises(SystemExit) as stop:
            cli.main([*words, "--help"])
        assert stop.value.code == 0
        assert all(word in capsys.readouterr().out for word in words if word.startswith("-"))
        return
    GlobalHydra.instance().clear()
    with initialize_config_dir(str(project_root() / "conf"), version_base="1.3"):
        config = compose(Path(program).stem, words)
    assert "gpt-4o" in config.reader and config.benchmark.root == "DIR"


def test_the_python_lines_do_what_they_say(sample_clips: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "clip.mp4").symlink_to(sample_clips / "letters" / "standard" / "a-1.mp4")
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("python")
    names: dict[str, object] = {}
    exec(code, names)
    assert len(names["path"].time_s) == len(names["path"].tip_px)  # type: ignore[attr-defined]
    assert names["sound"].ndim == 1  # type: ignore[attr-defined]
