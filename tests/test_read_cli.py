"""``unwritten read``: every kind of file, and one line for what cannot be read."""

from __future__ import annotations

import json
import wave

import numpy as np
import pytest

from unwritten.cli import main
from unwritten.media import write_audio, write_video
from unwritten.models.checkpoint import default_checkpoint

pytestmark = pytest.mark.skipif(not default_checkpoint().is_file(), reason="checkpoints/ holds no checkpoint")

CLIPS = [
    ("words/standard/above_muted.mp4", "video"),
    ("words/standard/above.mp3", "audio"),
    ("words/standard/above.mp4", "av"),
    ("letters/cursive/a-2c_muted.mp4", "video"),
    ("letters/cursive/a-2c.mp3", "audio"),
    ("letters/retrace/a-3r.mp4", "av"),
]


@pytest.mark.parametrize(("name", "modality"), CLIPS)
def test_every_sample_clip_gives_a_word_candidates_and_letters(sample_clips, capsys, name, modality):
    assert main(["read", str(sample_clips / name), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["modality"] == modality
    assert answer["word"].isalpha()
    assert answer["candidates"][0][0] == answer["word"]
    probabilities = [probability for _, probability in answer["candidates"]]
    assert probabilities == sorted(probabilities, reverse=True)
    assert sum(probabilities) <= 1 + 1e-6
    assert {"letters", "seconds"} <= answer.keys()


def test_an_audio_item_never_reaches_the_tracker_whatever_its_container_hides(sample_clips, capsys, monkeypatch):
    import unwritten.recordings.record as recording

    def refuse(*_):
        raise AssertionError("the tracker was asked about an audio item")

    monkeypatch.setattr(recording, "stored_track", refuse)
    assert main(["read", str(sample_clips / "letters/standard/a-1.mp3"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["modality"] == "audio"


def test_the_number_of_letters_binds_the_answer(sample_clips, capsys):
    for length in (1, 3, 5):
        assert main(["read", str(sample_clips / "words/standard/above.mp3"), "--length", str(length), "--json"]) == 0
        assert len(json.loads(capsys.readouterr().out)["word"]) == length


def test_without_a_list_the_order_of_english_letters_makes_the_word_likelier(sample_clips, capsys):
    probability = {}
    for lexicon in ("none", "order"):
        clip = str(sample_clips / "words/standard/above_muted.mp4")
        assert main(["read", clip, "--lexicon", lexicon, "--length", "5", "--json"]) == 0
        probability[lexicon] = dict(json.loads(capsys.readouterr().out)["candidates"]).get("above", 0.0)
    assert probability["order"] > probability["none"]


def black_video(path):
    write_video(path, [np.zeros((48, 64, 3), dtype=np.uint8)] * 30, fps=30)


def one_frame(path):
    write_video(path, [np.full((48, 64, 3), 200, dtype=np.uint8)], fps=30)


def silent_video(path):
    write_video(path, [np.full((48, 64, 3), 200, dtype=np.uint8)] * 30, fps=30)


def silence(path):
    write_audio(path, np.zeros(16_000, dtype=np.float32), 16_000)


def noise(path):
    write_audio(path, np.random.default_rng(0).normal(0, 0.1, 16_000).astype(np.float32), 16_000)


BAD = [
    ("missing.mp4", None, []),
    ("folder.mp4", lambda path: path.mkdir(), []),
    ("empty.mp4", lambda path: path.touch(), []),
    ("text.mp4", lambda path: path.write_text("not a video at all\n" * 50), []),
    ("black.mp4", black_video, []),
    ("one.mp4", one_frame, []),
    ("mute.mp4", silent_video, ["--modality", "audio"]),
    ("sound.wav", noise, ["--modality", "video"]),
    ("silence.wav", silence, []),
]


@pytest.mark.parametrize(("name", "make", "more"), BAD, ids=[entry[0] for entry in BAD])
def test_what_cannot_be_read_is_named_in_one_line_with_status_1(tmp_path, capfd, name, make, more):
    path = tmp_path / name
    if make is not None:
        make(path)
    assert main(["read", str(path), *more]) == 1
    captured = capfd.readouterr()
    assert captured.out == ""
    lines = [line for line in captured.err.splitlines() if line.startswith("unwritten: ")]
    assert len(lines) == 1
    assert name in lines[0]
    assert "Traceback" not in captured.err


def test_a_length_that_no_word_has_is_bad_usage(tmp_path, capsys):
    path = tmp_path / "x.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16_000)
        file.writeframes(np.random.default_rng(0).integers(-3000, 3000, 32_000).astype("<i2").tobytes())
    assert main(["read", str(path), "--length", "0"]) == 2
    assert "--length 0" in capsys.readouterr().err


@pytest.mark.parametrize("with_sound", [False, True])
def test_a_black_clip_is_one_line(tmp_path, capsys, with_sound):
    black_video(tmp_path / "black_muted.mp4")
    path = tmp_path / "black_muted.mp4"
    if with_sound:
        path = tmp_path / "black.mp4"
        pictures = [np.zeros((48, 64, 3), dtype=np.uint8)] * 30
        write_video(path, pictures, fps=30, waveform=np.zeros(16_000, np.float32))
    assert main(["read", str(path)]) == 1
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert str(path) in line and "no pen is in view" in line


def test_a_length_that_no_word_has_is_bad_usage_before_anything_is_read(tmp_path, capsys):
    sound = write_audio(tmp_path / "a.mp3", np.zeros(16_000, np.float32))
    assert main(["read", str(sound), "--length", "99"]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "--length 99" in line and "12 letters" in line


def test_a_film_that_was_cut_off_says_how_much_is_missing(tmp_path, caplog):
    from unwritten.media import read_frames

    path = tmp_path / "whole.mp4"
    rng = np.random.default_rng(0)
    write_video(path, rng.integers(0, 255, (60, 64, 96, 3)).astype(np.uint8), fps=30)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    count = sum(1 for _ in read_frames(path))
    (record,) = caplog.records
    said = float(record.getMessage().split("the last ")[2].split(" s are missing")[0])
    assert said == pytest.approx(2.0 - count / 30, abs=0.02) and 0.5 < said < 1.5
