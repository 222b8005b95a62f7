"""Claims about simulated clips as files: three modalities, sound in step with pictures, no empty promises."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from unwritten.errors import UnwrittenError
from unwritten.media import probe, read_audio, read_frames
from unwritten.simulation.scene import SceneSettings, clip_with_files, render_clip
from unwritten.types import Clip, Recording, Track

RATE_HZ = 16_000
SCENE = SceneSettings(noise=0, table="laminate")


def make_recording(offset_s: float = 0.0, first_s: float = 0.0) -> Recording:
    time_s = first_s + np.arange(8) / 25
    ones = np.ones(8)
    tip = np.array([70.0, 90.0]) + 10 * np.stack([np.cos(9 * time_s), np.sin(9 * time_s)], axis=1)
    track = Track(time_s, tip, ones > 0, ones, np.zeros(8, int), -1.2 * ones, ones, (160.0, 160.0))
    waveform = np.zeros(RATE_HZ, np.float32)
    waveform[4_000:4_016] = 0.8
    return Recording(track, waveform, RATE_HZ, offset_s)


def click_s(path: Path) -> float:
    return float(np.abs(read_audio(path, RATE_HZ)).argmax()) / RATE_HZ


def test_a_recording_becomes_three_files_named_as_the_benchmark_names_them(tmp_path: Path) -> None:
    files = render_clip(make_recording(), tmp_path / "standard: above", SCENE)
    assert {modality: path.name for modality, path in files.items()} == {
        "audio": "standard: above.mp3",
        "video": "standard: above_muted.mp4",
        "av": "standard: above.mp4",
    }
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in files.values())
    muted, both, sound = (probe(files[modality]) for modality in ("video", "av", "audio"))
    assert muted.audio is None and muted.video is not None
    assert both.audio is not None and both.video is not None
    assert sound.video is None


def test_the_muted_file_and_the_one_with_sound_show_the_same_pictures(tmp_path: Path) -> None:
    files = render_clip(make_recording(), tmp_path / "clip", SCENE)
    muted, both = (list(read_frames(files[modality])) for modality in ("video", "av"))
    assert len(muted) == len(both) == 8
    for first, second in zip(muted, both, strict=True):
        assert np.array_equal(first.image, second.image)
        assert first.time_s == pytest.approx(second.time_s, abs=1e-3)


@pytest.mark.parametrize(("offset_s", "first_s"), [(0.0, 0.0), (0.12, 0.0), (-0.1, 0.0), (0.5, 0.4)])
def test_sound_keeps_its_place_against_the_pictures(tmp_path: Path, offset_s: float, first_s: float) -> None:
    files = render_clip(make_recording(offset_s, first_s), tmp_path / "clip", SCENE)
    expected = 0.25 + offset_s - first_s
    assert click_s(files["audio"]) == pytest.approx(expected, abs=0.004)
    assert click_s(files["av"]) == pytest.approx(expected, abs=0.004)


def test_the_same_seed_writes_the_same_bytes_of_video(tmp_path: Path) -> None:
    first = render_clip(make_recording(), tmp_path / "a", SCENE, seed=5)["video"]
    second = render_clip(make_recording(), tmp_path / "b", SCENE, seed=5)["video"]
    other = render_clip(make_recording(), tmp_path / "c", SCENE, seed=6)["video"]
    assert first.read_bytes() == second.read_bytes() != other.read_bytes()


def test_what_a_recording_lacks_is_not_written(tmp_path: Path) -> None:
    whole = make_recording()
    assert set(render_clip(Recording(whole.track), tmp_path / "silent", SCENE)) == {"video"}
    assert set(render_clip(Recording(None, whole.waveform), tmp_path / "dark", SCENE, audio_suffix=".m4a")) == {"audio"}
    with pytest.raises(UnwrittenError, match="nothing"):
        render_clip(Recording(), tmp_path / "nothing", SCENE)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dark.m4a", "silent_muted.mp4"]


def test_a_simulated_item_gets_files_once_and_new_ones_when_it_changes(tmp_path: Path) -> None:
    clip = Clip("live/0007", recording=make_recording(), word="above")
    first = clip_with_files(clip, tmp_path, SCENE)
    assert set(first.files) == {"audio", "video", "av"} and first.word == "above"
    stamps = {path: path.stat().st_mtime_ns for path in first.files.values()}
    again = clip_with_files(clip, tmp_path, SCENE)
    assert dict(again.files) == dict(first.files)
    assert stamps == {path: path.stat().st_mtime_ns for path in again.files.values()}
    other = clip_with_files(Clip("live/0007", recording=make_recording(0.1)), tmp_path, SCENE)
    assert not set(other.files.values()) & set(first.files.values())
    assert clip_with_files(first, tmp_path / "elsewhere") is first
