"""The baseline on what models are sent: a frame a second, and sound up to the first join."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from unwritten.readers.as_sent import AsSentReader, AsSentSettings, thin_track
from unwritten.readers.base import ClipReader
from unwritten.recordings.clips import record_clip
from unwritten.types import MODALITIES, Answer, Clip, Modality, Recording, Track


class Keeper(ClipReader):
    """Keeps the recordings that it is given."""

    name = "keeper"
    fingerprint = "abc"

    def __init__(self) -> None:
        self.seen: list[Recording] = []

    def recording_of(self, clip: Clip, modality: Modality) -> Recording:
        return record_clip(clip, modality)

    def answer(self, clip: Clip, modality: Modality) -> Answer:
        assert clip.recording is not None and not clip.files
        self.seen.append(clip.recording)
        return Answer(clip.id, self.name, modality, word="a")


def track_at(time_s: np.ndarray, shot: np.ndarray) -> Track:
    count = len(time_s)
    return Track(
        time_s=time_s,
        tip_px=np.column_stack([np.arange(count), np.arange(count)]).astype(float),
        visible=np.ones(count, dtype=bool),
        confidence=np.ones(count),
        shot=shot,
        shaft_rad=np.zeros(count),
        contact=np.ones(count),
        size_px=(640.0, 480.0),
        writing_rad=0.5,
    )


@pytest.mark.parametrize("rate_hz", [29.97, 30.0, 59.94])
def test_one_frame_a_second_is_left_from_the_first_on(rate_hz: float) -> None:
    time_s = np.arange(round(5.5 * rate_hz)) / rate_hz
    thinned = thin_track(track_at(time_s, np.zeros(len(time_s), dtype=int)), 1.0)
    assert len(thinned) == 6
    assert np.allclose(thinned.time_s, np.arange(6), atol=1 / rate_hz)
    assert len(thinned.tip_px) == len(thinned.contact) == 6
    assert thinned.writing_rad == 0.5 and thinned.size_px == (640.0, 480.0)


def test_a_simulated_word_keeps_the_sound_of_its_first_shot() -> None:
    time_s = np.arange(120) / 30
    recording = Recording(track_at(time_s, (time_s >= 2).astype(int)), np.zeros(64_000, dtype=np.float32))
    clip = Clip("x", word="is", recording=recording)
    inner = Keeper()
    reader = AsSentReader(inner)
    for modality in MODALITIES:
        (answer,) = reader.read([clip], modality)
        assert answer.reader == "keeper" and answer.seconds > 0
    audio, video, both = inner.seen
    assert audio.track is None and audio.waveform is not None and len(audio.waveform) == 32_000
    assert video.waveform is None and video.track is not None and len(video.track) == 4
    assert both.track is not None and both.waveform is not None
    assert reader.fingerprint == "abc"


def test_one_take_keeps_all_its_sound_and_whole_sound_can_be_asked_for() -> None:
    time_s = np.arange(120) / 30
    shots = (time_s >= 2).astype(int)
    recording = Recording(track_at(time_s, shots), np.zeros(64_000, dtype=np.float32))
    one_take = replace(recording, track=track_at(time_s, np.zeros(120, dtype=int)))
    inner = Keeper()
    list(AsSentReader(inner).read([Clip("x", word="is", recording=one_take)], "audio"))
    whole = AsSentSettings(frames_per_second=None, sound="whole")
    list(AsSentReader(inner, whole).read([Clip("x", word="is", recording=recording)], "av"))
    assert inner.seen[0].waveform is not None and len(inner.seen[0].waveform) == 64_000
    assert inner.seen[1].waveform is not None and len(inner.seen[1].waveform) == 64_000
    assert inner.seen[1].track is not None and len(inner.seen[1].track) == 120


def test_the_published_sound_of_a_word_ends_after_its_first_letter(sample_clips: Path) -> None:
    path = sample_clips / "words" / "standard" / "above.mp3"
    inner = Keeper()
    clip = Clip("above", files={"audio": path}, word="above")
    list(AsSentReader(inner).read([clip], "audio"))
    whole_s = 9.98
    assert inner.seen[0].waveform is not None
    # Five letters joined byte by byte: common readers stop after the first.
    assert 1.5 < len(inner.seen[0].waveform) / 16_000 < 0.3 * whole_s


def test_settings_that_keep_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="keeps no picture"):
        AsSentSettings(frames_per_second=0)
    with pytest.raises(ValueError, match="is not one of"):
        AsSentSettings(sound="loud")  # type: ignore[arg-type]
