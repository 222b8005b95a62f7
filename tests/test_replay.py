"""The replay shows the clip at its own times, with the ink, the sound and the words that were read."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pytest

from unwritten.decoding import DecodingSettings, Lexicon, decode
from unwritten.errors import UsageError
from unwritten.media import read_frames, write_audio, write_video
from unwritten.readers.ctc import Reading
from unwritten.replay.belief import belief_over_time
from unwritten.replay.drawing import INK, Box
from unwritten.replay.film import write_replay
from unwritten.replay.ink import InkOverTime
from unwritten.types import Clip, Recording, Track

RATE_HZ = 15.0
WORDS = ("ab", "ba", "cab", "abc")


def emissions_of(word, frames=24):
    """Emissions that spell a word with a letter every six frames, not quite surely."""
    probability = np.full((frames, 27), 0.002)
    probability[:, 0] = 1.0
    for number, letter in enumerate(word):
        probability[4 + 6 * number, [0, "abcdefghijklmnopqrstuvwxyz".index(letter) + 1]] = 0.3, 0.7
    return np.log(probability / probability.sum(axis=1, keepdims=True)).astype(np.float32)


def a_track(times, size=(160.0, 120.0)):
    turn = np.linspace(0.0, 2 * np.pi, len(times))
    tip = np.stack((80 + 30 * np.cos(turn), 60 + 30 * np.sin(turn)), axis=1)
    shot = np.repeat([0, 1], [len(times) // 2, len(times) - len(times) // 2])
    full = np.ones(len(times))
    return Track(times, tip, full > 0, full, shot, full, full * 0.9, size, writing_rad=0.0)


def a_reading(clip, recording, modality, length=None):
    emissions = emissions_of("ab")
    settings = DecodingSettings(rate_hz=RATE_HZ)
    lexicon = Lexicon.build(WORDS)
    decoded = decode(emissions, settings, lexicon, length)
    read = Clip("clip", {modality: clip}, recording=recording)
    return Reading(read, modality, emissions, settings, decoded, lexicon, length)


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    """A clip of two seconds with uneven picture times and a hum."""
    path = tmp_path_factory.mktemp("clip") / "clip.mp4"
    times = np.cumsum(np.r_[0.0, np.tile([0.04, 0.06], 19)])
    pictures = (np.full((120, 160, 3), 40 + 5 * number, np.uint8) for number in range(len(times)))
    waveform = 0.1 * np.sin(2 * np.pi * 440 * np.arange(32_000) / 16_000).astype(np.float32)
    write_video(path, pictures, times, waveform=waveform)
    return path, times, waveform


def test_a_replay_has_the_clips_own_times_and_sound_and_plays_in_browsers(tmp_path, clip):
    path, times, waveform = clip
    reading = a_reading(path, Recording(a_track(times), waveform), "av")
    out = write_replay(tmp_path / "replay.mp4", reading)
    with av.open(str(out)) as container:
        video, sound = container.streams.video[0], container.streams.audio[0]
        assert (video.codec_context.name, video.pix_fmt, sound.codec_context.name) == ("h264", "yuv420p", "aac")
        assert video.height <= 720
        assert float(sound.duration * sound.time_base) == pytest.approx(2.0, abs=0.1)
    frames = list(read_frames(out))
    np.testing.assert_allclose([frame.time_s for frame in frames], times, atol=2e-3)
    # The clip stands in it with square pixels: 160 x 120 as 453 x 340, grey as it was.
    assert abs(int(frames[20].image[100, 200].mean()) - (40 + 5 * 20)) < 12


def test_a_clip_of_sound_alone_has_a_replay_as_long_as_it(tmp_path, clip):
    _, _, waveform = clip
    path = write_audio(tmp_path / "clip.mp3", waveform)
    out = write_replay(tmp_path / "replay.mp4", a_reading(path, Recording(None, waveform), "audio"))
    frames = list(read_frames(out))
    assert frames[-1].time_s == pytest.approx(2.0, abs=0.05)
    assert not np.array_equal(frames[0].image, frames[-1].image)


def test_a_muted_clip_has_a_silent_replay(tmp_path, clip):
    path, times, _ = clip
    out = write_replay(tmp_path / "replay.webm", a_reading(path, Recording(a_track(times)), "video", length=1))
    with av.open(str(out)) as container:
        assert not container.streams.audio
        assert container.streams.video[0].codec_context.name == "vp9"


@pytest.mark.parametrize("length", [None, 1, 2])
def test_the_belief_ends_as_the_answer_and_changes_on_the_way(clip, length):
    path, times, _ = clip
    reading = a_reading(path, Recording(a_track(times)), "video", length)
    belief = belief_over_time(reading, float(times[-1]))
    probability = dict(zip(belief.words, belief.at(99.0), strict=True))
    for word, value in reading.decoded.candidates[:2]:
        assert probability[word] == pytest.approx(value, abs=1e-5)
    assert (belief.probability.sum(axis=1) <= 1 + 1e-9).all()
    assert np.ptp(belief.probability, axis=0).max() > 0.1


def test_without_a_lexicon_the_strings_that_were_found_are_followed():
    emissions, settings = emissions_of("ba"), DecodingSettings(rate_hz=RATE_HZ)
    decoded = decode(emissions, settings)
    belief = belief_over_time(Reading(Clip("clip"), "video", emissions, settings, decoded), 2.0)
    assert belief.words[0] == "ba"


@pytest.mark.parametrize(("offset_s", "first"), [(0.0, 100), (0.05, 900), (-0.003, 52)])
def test_sound_that_starts_apart_from_the_pictures_is_moved_to_its_place(clip, offset_s, first):
    _, times, _ = clip
    waveform = np.zeros(16_000, np.float32)
    waveform[100] = 1.0
    moved = Recording(a_track(times), waveform, audio_offset_s=offset_s).aligned_waveform()
    assert int(moved.argmax()) == first


def test_ink_grows_and_stays_upright():
    times = np.arange(40) / 20.0
    # A stroke along the direction of writing, which runs upwards in the picture: level in the canonical view.
    tip = np.stack((np.full(40, 80.0), 110.0 - 2 * np.arange(40)), axis=1)
    full = np.ones(40)
    track = Track(times, tip, full > 0, full, np.zeros(40, int), full, full, (160.0, 120.0), writing_rad=-np.pi / 2)
    ink = InkOverTime(track, Box(0, 0, 400, 200))
    dark = []
    for index in range(40):
        pane = np.full((200, 400, 3), 255, np.uint8)
        ink.grow(pane, index)
        dark.append(np.argwhere((pane == INK).all(axis=2)))
    assert len(dark[5]) < len(dark[20]) < len(dark[39])
    rows, columns = dark[39].max(axis=0) - dark[39].min(axis=0)
    assert columns > 20 * rows
    assert dark[5][:, 1].min() < 200 < dark[39][:, 1].max()


def test_pictures_are_taken_one_at_a_time(tmp_path, clip, monkeypatch):
    path, times, _ = clip
    taken, written = [], []

    def frames(_):
        for number, frame in enumerate(read_frames(path)):
            taken.append(number)
            yield frame

    def write(_, pictures, times, **__):
        for number, _picture in enumerate(pictures):
            written.append(number)
            assert len(taken) <= number + 1

    monkeypatch.setattr("unwritten.media.read_frames", frames)
    monkeypatch.setattr("unwritten.media.write_video", write)
    write_replay(tmp_path / "out.mp4", a_reading(path, Recording(a_track(times)), "video"))
    assert len(written) == len(times)


def test_a_place_that_no_replay_can_be_written_to_is_refused(tmp_path, clip):
    path, times, _ = clip
    reading = a_reading(path, Recording(a_track(times)), "video")
    with pytest.raises(UsageError, match=r"out\.gif: a replay is a video"):
        write_replay(tmp_path / "out.gif", reading)
    before = path.read_bytes()
    with pytest.raises(UsageError, match="is the clip itself"):
        write_replay(path, reading)
    assert path.read_bytes() == before


@pytest.mark.slow
def test_reading_a_real_clip_writes_its_replay(tmp_path, sample_clips, capsys):
    from unwritten.cli import main
    from unwritten.models.checkpoint import default_checkpoint

    if not default_checkpoint().is_file():
        pytest.skip("no shipped checkpoint")
    clip = Path(sample_clips) / "letters" / "cursive" / "a-2c.mp4"
    out = tmp_path / "replay.mp4"
    assert main(["read", str(clip), "--length", "1", "--replay", str(out)]) == 0
    assert sum(1 for _ in read_frames(out)) == sum(1 for _ in read_frames(clip))
