"""What is installed from a wheel or an sdist is what the clone has, and works where there is no clone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from huggingface_hub import ModelCard

from unwritten.files import digest_file, project_root
from unwritten.models.checkpoint import default_checkpoint
from unwritten.revision import git_revision, version_line

ROOT = project_root()
BAKED = "unwritten/revision.json"


def listed() -> list[str]:
    """The clone's files, as git knows them."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("this is no clone")
    command = ["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard"]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [name for name in names if (ROOT / name).is_file()]


def build(source: Path, target: Path, kind: str) -> Path:
    """Build a wheel or an sdist; the file."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(target)]
    subprocess.run(command, cwd=source, check=True, capture_output=True, timeout=120)
    (made,) = target.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return made


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, tmp_path_factory.mktemp("wheel"), "wheel")


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, tmp_path_factory.mktemp("sdist"), "sdist")


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the wheel was unpacked to, which is what installing does."""
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def run_installed(installed: Path, cwd: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(installed), "UNWRITTEN_STORE": str(cwd / "store")}
    command = [sys.executable, "-m", "unwritten", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=600, env=environment)


def test_a_wheel_holds_the_package_its_configs_and_its_checkpoints_and_nothing_else(wheel: Path) -> None:
    wanted = {name.removeprefix("src/") for name in listed() if name.startswith("src/unwritten/")}
    wanted |= {f"unwritten/{name}" for name in listed() if name.startswith(("conf/", "checkpoints/"))}
    with zipfile.ZipFile(wheel) as archive:
        assert {name for name in archive.namelist() if ".dist-info/" not in name} == wanted | {BAKED}


def test_an_sdist_holds_the_clone_but_no_unfinished_training(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    clone = {name for name in listed() if not name.startswith(".training/")}
    assert names == {*clone, "PKG-INFO", f"src/{BAKED}"}


def test_a_wheel_made_from_the_sdist_is_the_wheel_made_from_the_clone(wheel: Path, sdist: Path, tmp_path: Path) -> None:
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.iterdir()
    again = build(unpacked, tmp_path / "dist", "wheel")
    with zipfile.ZipFile(wheel) as one, zipfile.ZipFile(again) as other:
        first, second = (
            {entry.filename: entry.CRC for entry in archive.infolist() if not entry.filename.endswith("/RECORD")}
            for archive in (one, other)
        )
    assert first == second


def test_the_installed_command_says_which_revision_it_was_built_from(installed: Path, tmp_path: Path) -> None:
    if (revision := git_revision(ROOT)) is None:
        pytest.skip("this is no clone")
    assert json.loads((installed / BAKED).read_text()) == revision
    assert run_installed(installed, tmp_path, "--version").stdout == version_line_of(revision)


def version_line_of(revision: dict[str, object]) -> str:
    from unwritten import __version__

    changed = ", files changed" if revision["changed"] else ""
    return f"unwritten {__version__} (revision {str(revision['revision'])[:12]}{changed})\n"


def test_a_copy_without_git_inside_another_project_does_not_give_that_project_s_revision(tmp_path: Path) -> None:
    for command in (
        ["init", "-q"],
        ["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "--allow-empty", "-mx"],
    ):
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True)
    assert git_revision(tmp_path) is not None
    (tmp_path / "copy").mkdir()
    assert git_revision(tmp_path / "copy") is None


def test_the_version_is_said_without_a_revision_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unwritten.revision.revision", lambda: None)
    assert version_line("0.2.0") == "unwritten 0.2.0 (revision unknown)"


def test_the_model_card_has_the_header_that_hubs_read_and_is_this_checkpoint_s() -> None:
    card = ModelCard.load(ROOT / "checkpoints" / "README.md")
    assert card.data.license == "apache-2.0"
    assert card.data.library_name == "unwritten"
    assert digest_file(default_checkpoint()) in card.text


@pytest.mark.slow
def test_the_installed_package_reads_scores_trains_and_reports_from_an_empty_folder(
    installed: Path, tmp_path: Path
) -> None:
    def done(*words: str) -> str:
        result = run_installed(installed, tmp_path, *words)
        assert result.returncode == 0, result.stderr[-2000:]
        return result.stdout

    assert done("read", str(ROOT / "tests" / "data" / "above.mp4")).splitlines()[0].split()[0] == "above"
    done("train", "debug=fast", "trainer=cpu")
    done("evaluate", "benchmark.limit=2", "reader=[ctc,blind-constant]", "intervals.replicates=100")
    (run,) = (tmp_path / "runs" / "evaluate").iterdir()
    done("report", str(run), "-o", "report.html")
    done("human", str(ROOT / "tests" / "data"), "-o", "trials")
    assert len(list(tmp_path.glob("runs/train/*/checkpoints/best.ckpt"))) == 1
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {"runs", "store", "report.html", "trials"}
