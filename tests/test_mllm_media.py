"""What is sent is what the item claims, on real clips and on made ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from mllm_loopback import small_clip

from unwritten.errors import UnwrittenError
from unwritten.media import probe, read_audio, read_frames, write_video
from unwritten.readers.mllm.media import encode, sample_frames
from unwritten.readers.mllm.parts import Part, Picture, Sound, Video
from unwritten.readers.mllm.settings import MediaSettings
from unwritten.types import Clip

FILM = MediaSettings(pictures="video", fps=10.0, av="muxed", longest_side_px=256)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Clip:
    return small_clip(tmp_path_factory.mktemp("made"), seconds=2.0, fps=30.0)


def write(part: Part, path: Path) -> Path:
    assert isinstance(part, Picture | Sound | Video)
    path.write_bytes(part.data)
    return path


def test_the_whole_sound_of_joined_files_is_sent_and_nothing_else(sample_clips, tmp_path):
    clip = Clip("above", files={"audio": sample_clips / "words/standard/above.mp3"}, word="above")
    encoded = encode(clip, "audio", MediaSettings())
    (sound,) = encoded.parts
    file = write(sound, tmp_path / "sent.wav")
    assert probe(file).video is None
    assert len(read_audio(file)) / 16_000 == pytest.approx(9.982, abs=0.05)  # many players stop at 2.04 s
    assert encoded.sent["sound_s"] == pytest.approx(9.982, abs=0.05)


def test_an_audio_item_whose_container_hides_the_video_sends_none_of_it(sample_clips, tmp_path):
    hiding = sample_clips / "letters/standard/a-1.mp3"
    assert probe(hiding).video is not None
    (sound,) = encode(Clip("a", files={"audio": hiding}, word="a"), "audio", MediaSettings()).parts
    assert probe(write(sound, tmp_path / "sent.wav")).video is None


def test_squashed_pixels_come_out_square(sample_clips):
    clip = Clip("above", files={"video": sample_clips / "words/standard/above_muted.mp4"}, word="above")
    encoded = encode(clip, "video", MediaSettings(fps=1.0, longest_side_px=256))
    width, height = encoded.sent["size_px"]  # type: ignore[misc]
    assert width / height == pytest.approx(9 / 16, abs=0.02)  # 640x480 at 27:64 is a portrait
    assert sum(isinstance(part, Picture) for part in encoded.parts) == encoded.sent["frames"]


def test_muted_video_has_no_sound_track_and_both_together_have_one(made, tmp_path):
    (muted,) = encode(made, "video", FILM).parts
    (both,) = encode(made, "av", FILM).parts
    assert probe(write(muted, tmp_path / "muted.mp4")).audio is None
    sounding = write(both, tmp_path / "both.mp4")
    assert probe(sounding).audio is not None
    assert len(read_audio(sounding)) / 16_000 == pytest.approx(2.0, abs=0.1)
    pictures, sound = encode(made, "av", MediaSettings(pictures="video", fps=10.0)).parts
    assert isinstance(pictures, Video) and isinstance(sound, Sound)
    assert probe(write(pictures, tmp_path / "beside.mp4")).audio is None


@pytest.mark.parametrize("fps", [30.0, 25.0, 15.0, 10.0, 1.0])
def test_the_rate_sent_is_the_rate_asked_and_is_what_is_stored(made, tmp_path, fps):
    encoded = encode(made, "video", FILM, fps)
    frames = list(read_frames(write(encoded.parts[0], tmp_path / "sent.mp4")))
    assert len(frames) == encoded.sent["frames"] == pytest.approx(2.0 * fps, abs=1)
    if len(frames) > 2:
        assert encoded.sent["fps"] == pytest.approx(fps, rel=0.05)
    assert encoded.sent["fps_asked"] == fps


def test_no_more_frames_go_out_than_allowed_and_they_span_the_clip(made):
    images, times_s = sample_frames(made.files["video"], 30.0, 7, 64)
    assert len(images) == 7
    assert times_s[0] == 0.0
    assert times_s[-1] == pytest.approx(59 / 30, abs=0.02)
    assert max(images[0].shape[:2]) <= 64


def test_a_slow_clip_is_not_padded_with_repeated_frames(tmp_path):
    clip = small_clip(tmp_path, fps=5.0)
    encoded = encode(clip, "video", FILM, 30.0)
    assert encoded.sent["frames"] == 5
    assert encoded.sent["fps"] == pytest.approx(5.0, abs=0.1)


def test_the_same_clip_has_the_same_digest_and_any_other_setting_another(made):
    digests = [encode(made, "av", FILM).sent["digest"] for _ in range(2)]
    assert digests[0] == digests[1]
    others = [
        encode(made, "video", FILM).sent["digest"],
        encode(made, "audio", FILM).sent["digest"],
        encode(made, "av", FILM, 5.0).sent["digest"],
        encode(made, "av", MediaSettings(fps=10.0)).sent["digest"],
    ]
    assert len({digests[0], *others}) == 5


def test_pictures_that_change_size_are_sent_in_one_size(tmp_path):
    parts = [
        write_video(tmp_path / f"{side}.mp4", [np.full((side, side, 3), 90, np.uint8)] * 10, fps=10, threads=1)
        for side in (32, 64)
    ]
    joined = tmp_path / "joined.mp4"
    joined.write_bytes(b"".join(part.read_bytes() for part in parts))
    images, _ = sample_frames(joined, 10.0, 100, 64)
    assert {image.shape for image in images} == {(32, 32, 3)}


def test_a_missing_modality_is_named(made):
    with pytest.raises(UnwrittenError, match="has no video file"):
        encode(Clip("x", files={"audio": made.files["audio"]}), "video", FILM)


@pytest.mark.parametrize(
    "wrong",
    [
        {"fps": 0.0},
        {"fps_ladder": (10.0,)},
        {"av": "muxed", "pictures": "frames"},
        {"pictures": "paintings"},
        {"max_frames": 0},
    ],
)
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(ValueError, match="|".join(["fps", "av", "pictures", "max_frames"])):
        MediaSettings(**wrong)
