"""Words made as the benchmark's paper makes them: joined byte by byte, as faulty as the published ones."""

from __future__ import annotations

import shutil
from pathlib import Path

import av
import pytest
from synthesis_clips import LETTERS, RATE_HZ, clicks_s, flashes_s, letter_clips, make

from unwritten.media import probe, read_audio, read_frames, split_parts, write_video


@pytest.fixture(scope="module")
def primitives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return letter_clips(tmp_path_factory.mktemp("primitives"))


def naively_heard_s(path: Path) -> float:
    samples = 0
    try:
        with av.open(str(path)) as container:
            for frame in container.decode(audio=0):
                samples += frame.samples
    except av.error.FFmpegError:
        pass
    return samples / RATE_HZ


def test_published_audio_is_joined_byte_by_byte_and_films_are_copied(primitives: Path, tmp_path: Path) -> None:
    item = make(primitives, tmp_path, ["abcab"], mode="published", short_side_px=540)["words/standard/abcab"]
    letters = [primitives / "standard" / f"{letter}-1" for letter in "abcab"]
    joined = b"".join(letter.with_name(f"{letter.name}.mp3").read_bytes() for letter in letters)
    assert item.clip.files["audio"].read_bytes() == joined
    assert len(split_parts(item.clip.files["audio"])) == 5
    truth_s = sum(len(read_audio(letter.with_name(f"{letter.name}.mp3"))) for letter in letters) / RATE_HZ
    assert len(read_audio(item.clip.files["audio"])) / RATE_HZ == pytest.approx(truth_s, abs=0.001)
    assert abs(naively_heard_s(item.clip.files["audio"]) - truth_s) > 0.02
    with av.open(str(item.clip.files["video"])) as film, av.open(f"{letters[0]}_muted.mp4") as letter:
        copies = [bytes(packet) for packet in film.demux(video=0) if packet.size]
        originals = [bytes(packet) for packet in letter.demux(video=0) if packet.size]
    assert copies[: len(originals)] == originals
    assert len(flashes_s(item.clip.files["video"])) == 5
    assert len(clicks_s(item.clip.files["av"])) == 5
    pictures_s = sum(LETTERS[letter][0] for letter in "abcab") / 30
    assert abs(truth_s - pictures_s) > 0.05  # the drift of published words


def test_published_films_that_cannot_be_copied_are_squashed_as_published(primitives: Path, tmp_path: Path) -> None:
    folder = tmp_path / "letters" / "standard"
    shutil.copytree(primitives / "standard", folder)
    images = [frame.image[:90] for frame in read_frames(folder / "b-1_muted.mp4")]
    write_video(folder / "b-1_muted.mp4", images, fps=30)
    item = make(tmp_path / "letters", tmp_path / "out", ["ab"], mode="published")["words/standard/ab"]
    video = probe(item.clip.files["video"]).video
    assert video is not None
    assert (video.width_px, video.height_px) == (640, 480)
    assert video.sample_aspect_ratio == pytest.approx(64 / 96 * 480 / 640, rel=0.01)
    assert len(flashes_s(item.clip.files["video"])) == 2
    assert probe(item.clip.files["av"]).video.width_px == 64  # type: ignore[union-attr]


def test_two_syntheses_of_a_squashed_word_have_one_digest(primitives: Path, tmp_path: Path) -> None:
    folder = tmp_path / "letters" / "standard"
    shutil.copytree(primitives / "standard", folder)
    images = [frame.image[:90] for frame in read_frames(folder / "b-1_muted.mp4")]
    write_video(folder / "b-1_muted.mp4", images, fps=30)  # another height: films cannot be copied
    first, second = (make(tmp_path / "letters", tmp_path / name, ["ab"], mode="published") for name in ("one", "two"))
    assert [item.digest for item in first.values()] == [item.digest for item in second.values()]
