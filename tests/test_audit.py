"""The audit finds what is wrong with published clips, each kind of fault where it is planted, and nothing elsewhere."""

from __future__ import annotations

import itertools
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unwritten.benchmark.audit.folder import AuditSettings, Fault, audit
from unwritten.benchmark.audit.pictures import look_at_pictures, runs
from unwritten.cli import main
from unwritten.errors import UnwrittenError
from unwritten.media import write_audio, write_video

RATE_HZ = 16_000


def moving(count: int, seed: int = 0, height: int = 96, width: int = 64) -> list[np.ndarray]:
    """A scene with a camera's noise and a dark square that wanders over it."""
    rng = np.random.default_rng(seed)
    scene = rng.integers(90, 255, (height // 16, width // 16, 3)).repeat(16, 0).repeat(16, 1)
    images = []
    for index in range(count):
        image = scene + rng.normal(0, 6, scene.shape)
        at = 4 + index % (width - 24)
        image[20:36, at : at + 12] = 20
        images.append(np.clip(image, 0, 255).astype(np.uint8))
    return images


def sound(seconds: float, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 0.1, round(seconds * RATE_HZ)).astype(np.float32)


def trio(folder: Path, name: str, images: list[np.ndarray], fps: float = 30) -> None:
    """The three faultless files of one clip."""
    heard = sound(len(images) / fps, int(images[0].sum()))
    write_video(folder / f"{name}.mp4", images, fps=fps, waveform=heard)
    write_video(folder / f"{name}_muted.mp4", images, fps=fps)
    write_audio(folder / f"{name}.mp3", heard)


def kinds(faults: list[Fault], file: str) -> set[str]:
    return {fault.kind for fault in faults if fault.file == file}


def audit_one(folder: Path) -> list[Fault]:
    return audit(folder, workers=1)


def test_every_fault_of_the_published_clips_is_found(sample_clips: Path) -> None:
    faults = audit(sample_clips, workers=1)
    for letter in ("letters/cursive/a-2c", "letters/retrace/a-3r"):
        assert {"container", "hidden-video", "duplicate"} <= kinds(faults, f"{letter}.mp3")
        assert "duplicate" in kinds(faults, f"{letter}.mp4")
    assert {"container", "sound-length", "frame-rate", "frame-count"} <= kinds(faults, "letters/standard/a-1.mp4")
    assert {"container", "hidden-video"} <= kinds(faults, "letters/standard/a-1.mp3")
    assert "sound-length" in kinds(faults, "letters/cursive/a-2c.mp4")
    assert {"joined", "sound-length"} <= kinds(faults, "words/standard/above.mp3")
    muted = "words/standard/above_muted.mp4"
    assert {"pixel-shape", "black-frames", "frame-size", "frame-rate"} <= kinds(faults, muted)
    assert {"frame-count", "sound-length"} <= kinds(faults, "words/standard/above.mp4")
    details = {(fault.file, fault.kind): fault.detail for fault in faults}
    assert "20%" in details["words/standard/above.mp3", "joined"]
    assert "-261 ms" in details["words/standard/above.mp3", "sound-length"]
    assert "27:64" in details[muted, "pixel-shape"]
    assert "249-251" in details[muted, "black-frames"]
    assert any("19001/317" in fault.detail for fault in faults if fault.file == muted)
    assert not any(fault.kind in ("shot-count", "truncated", "unreadable", "missing-file") for fault in faults)


def test_shots_are_those_marked_by_eye(sample_clips: Path, ground_truth: Path) -> None:
    for name, marked in json.loads((ground_truth / "shots.json").read_text()).items():
        facts = look_at_pictures(sample_clips / name)
        assert list(facts.first_of_shot) == marked["first_frames"]
        assert list(facts.black) == marked["black_frames"]


def test_a_clean_folder_has_no_fault(tmp_path: Path) -> None:
    for seed, letter in enumerate("ab"):
        trio(tmp_path / "standard", f"{letter}-1", moving(20, seed))
    trio(tmp_path / "words" / "standard", "ab", moving(20, 0) + moving(20, 1))
    assert audit_one(tmp_path) == []


@pytest.mark.parametrize(
    ("kind", "file"),
    [
        ("empty", "b-1.mp4"),
        ("unreadable", "b-1.mp4"),
        ("truncated", "b-1.mp3"),
        ("hidden-sound", "b-1_muted.mp4"),
        ("missing-stream", "b-1.mp4"),
        ("sound-length", "b-1.mp4"),
        ("frozen-frames", "b-1_muted.mp4"),
        ("black-frames", "b-1_muted.mp4"),
        ("shot-count", "b-1_muted.mp4"),
        ("missing-file", "b-1.mp3"),
        ("frame-rate", "b-1_muted.mp4"),
        ("frame-size", "b-1_muted.mp4"),
        ("mixed-sound", "b-1.mp3"),
        ("joined", "b-1.mp3"),
        ("name", "standard: ab.mp3"),
    ],
)
def test_a_planted_fault_is_found_in_its_file(tmp_path: Path, kind: str, file: str) -> None:
    folder = tmp_path / "standard"
    trio(folder, "a-1", moving(20, 0))
    trio(folder, "c-1", moving(20, 2))
    trio(folder, "b-1", moving(20, 1))
    path, images = folder / file, moving(20, 1)
    match kind:
        case "empty":
            path.write_bytes(b"")
        case "unreadable":
            path.write_text("not a film\n" * 20)
        case "truncated":
            path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])
        case "hidden-sound":
            shutil.copy(folder / "b-1.mp4", path)
        case "missing-stream":
            shutil.copy(folder / "b-1_muted.mp4", path)
        case "sound-length":
            write_video(path, images, waveform=sound(0.4))
        case "frozen-frames":
            write_video(path, images[:10] + [images[10]] * 10, crf=0)
        case "black-frames":
            write_video(path, [*images[:16], *[np.zeros_like(images[0])] * 4])
        case "shot-count":
            write_video(path, images[:10] + moving(10, 5))
        case "missing-file":
            (folder / "b-1_muted.mp4").unlink()
        case "frame-rate":
            write_video(path, images, np.r_[0 : 10 / 30 : 10j, 0.6:1:10j])
        case "frame-size":
            write_video(path, moving(20, 1, 64, 96))
        case "mixed-sound":
            other = write_audio(tmp_path / "x.mp3", np.zeros(44_100), 44_100)
            path.write_bytes(path.read_bytes() + other.read_bytes())
            other.unlink()
        case "joined":
            path.write_bytes(path.read_bytes() * 3)
        case "name":
            shutil.copy(folder / "a-1.mp3", path)
    faults = audit_one(tmp_path)
    assert kind in kinds(faults, f"standard/{file}"), faults
    clean = {"standard/a-1_muted.mp4", "standard/c-1.mp3", "standard/c-1.mp4", "standard/c-1_muted.mp4"}
    assert not any(kinds(faults, name) for name in clean)


def test_headers_alone_are_enough_for_joined_sound(sample_clips: Path) -> None:
    faults = audit(sample_clips / "words", AuditSettings(look=False), workers=1)
    assert "joined" in kinds(faults, "standard/above.mp3")


@given(st.sets(st.integers(0, 30)))
def test_runs_hold_every_number_once(numbers: set[int]) -> None:
    spans = runs(sorted(numbers))
    assert [number for first, last in spans for number in range(first, last + 1)] == sorted(numbers)
    assert all(later[0] > earlier[1] + 1 for earlier, later in itertools.pairwise(spans))


def test_the_command_prints_a_list_for_machines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trio(tmp_path, "a-1", moving(6))
    (tmp_path / "a-1.mp3").write_bytes((tmp_path / "a-1.mp4").read_bytes())
    assert main(["audit", str(tmp_path), "--json", "--workers", "1"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {"file", "kind", "detail"} == set(rows[0])
    assert {"hidden-video", "duplicate"} <= {row["kind"] for row in rows if row["file"] == "a-1.mp3"}
    assert main(["audit", str(tmp_path), "--headers", "--workers", "1"]) == 0
    out = capsys.readouterr().out
    assert "hidden-video (in 1 file)" in out


@pytest.mark.parametrize("folder", ["missing", "empty", "file"])
def test_a_folder_without_clips_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], folder: str
) -> None:
    path = tmp_path / folder
    if folder == "empty":
        path.mkdir()
    if folder == "file":
        path.write_text("x")
    with pytest.raises(UnwrittenError):
        audit(path)
    assert main(["audit", str(path)]) == 1
    error = capsys.readouterr().err
    assert str(path) in error
    assert error.count("\n") == 1
