"""Bad input ends in one line that names the file and what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from unwritten.errors import UnwrittenError
from unwritten.media import probe, read_audio, read_frames, write_audio, write_video


def frames(path: Path) -> None:
    list(read_frames(path))


READERS = [read_audio, frames, probe]


def refused(read: Callable[[Path], object], path: Path) -> str:
    with pytest.raises(UnwrittenError) as caught:
        read(path)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    return message


@pytest.mark.parametrize("read", READERS)
def test_a_missing_file(tmp_path: Path, read: Callable[[Path], object]) -> None:
    assert "no such file" in refused(read, tmp_path / "a.mp4")


@pytest.mark.parametrize("read", READERS)
def test_a_folder(tmp_path: Path, read: Callable[[Path], object]) -> None:
    assert "folder" in refused(read, tmp_path)


@pytest.mark.parametrize("read", READERS)
def test_an_empty_file(tmp_path: Path, read: Callable[[Path], object]) -> None:
    path = tmp_path / "a.mp4"
    path.touch()
    assert "empty" in refused(read, path)


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("name", ["a.mp4", "a.mp3", "a.txt", "cursive: a.mp4"])
def test_text_under_a_media_name(tmp_path: Path, read: Callable[[Path], object], name: str) -> None:
    path = tmp_path / name
    path.write_text("The quick brown fox jumps over the lazy dog.\n" * 50)
    assert "text" in refused(read, path)


@pytest.mark.parametrize("read", READERS)
def test_noise_under_a_media_name(tmp_path: Path, read: Callable[[Path], object]) -> None:
    path = tmp_path / "a.mp4"
    path.write_bytes(np.random.default_rng(0).integers(0, 255, 5_000, np.uint8).tobytes().replace(b"\xff", b"\xfe"))
    refused(read, path)


def test_a_playlist_cannot_make_it_open_other_files(tmp_path: Path) -> None:
    write_audio(tmp_path / "secret.wav", np.zeros(16_000))
    path = tmp_path / "a.mp3"
    path.write_text("ffconcat version 1.0\nfile secret.wav\n")
    refused(read_audio, path)


def test_silent_video_asked_for_sound(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", [np.zeros((48, 64, 3), np.uint8)] * 3)
    message = refused(read_audio, path)
    assert "no sound" in message
    assert "--modality video" in message


def test_sound_asked_for_video(tmp_path: Path) -> None:
    path = write_audio(tmp_path / "a.mp3", np.zeros(16_000))
    message = refused(frames, path)
    assert "no pictures" in message
    assert "--modality audio" in message


def test_a_film_cut_off_before_its_index(tmp_path: Path) -> None:
    whole = write_video(tmp_path / "whole.mp4", [np.zeros((48, 64, 3), np.uint8)] * 3)
    data = whole.read_bytes()
    path = tmp_path / "cut.mp4"
    path.write_bytes(data[: data.index(b"moov") + 20])
    assert "cut off" in refused(frames, path)


def test_one_picture_is_read_but_is_no_clip_to_who_needs_motion(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", [np.zeros((48, 64, 3), np.uint8)])
    assert len(list(read_frames(path))) == 1
    assert "nothing moves" in refused(lambda path: list(read_frames(path, min_frames=2)), path)


def test_a_file_that_may_not_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_audio(tmp_path / "a.wav", np.zeros(100))

    def deny(self: Path, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", deny)
    assert "permissions" in refused(read_audio, path)


@pytest.mark.parametrize("name", ["a.txt", "a"])
def test_unknown_suffixes_are_not_written(tmp_path: Path, name: str) -> None:
    refused(lambda path: write_audio(path, np.zeros(100)), tmp_path / name)
    refused(lambda path: write_video(path, [np.zeros((48, 64, 3), np.uint8)]), tmp_path / name)


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    sizes = [np.zeros((48, 64, 3), np.uint8), np.zeros((64, 48, 3), np.uint8)]
    assert "change size" in refused(lambda path: write_video(path, sizes), tmp_path / "a.mp4")
    assert list(tmp_path.iterdir()) == []
