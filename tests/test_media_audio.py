"""Sound: the whole of it, from whatever the file really holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unwritten.errors import UnwrittenError
from unwritten.media import read_audio, read_audio_report, split_parts, write_audio, write_video

RATE_HZ = 16_000


def tone(seconds: float, frequency_hz: float = 440.0, rate_hz: int = RATE_HZ) -> np.ndarray:
    return (0.5 * np.sin(2 * np.pi * frequency_hz * np.arange(round(seconds * rate_hz)) / rate_hz)).astype(np.float32)


def loudest_hz(waveform: np.ndarray) -> float:
    spectrum = np.abs(np.fft.rfft(waveform * np.hanning(len(waveform))))
    return float(np.argmax(spectrum) * RATE_HZ / len(waveform))


def joined(path: Path, *files: Path) -> Path:
    path.write_bytes(b"".join(file.read_bytes() for file in files))
    return path


def test_a_published_word_is_heard_to_its_last_letter(sample_clips: Path) -> None:
    waveform, report = read_audio_report(sample_clips / "words" / "standard" / "above.mp3")
    assert len(waveform) / RATE_HZ == pytest.approx(9.982, abs=0.01)
    assert len(report.parts) == len("above")
    assert report.lost_s == 0.0
    letter_rms = [
        np.sqrt(np.mean(waveform[int(part.start_s * RATE_HZ) :][: int(part.duration_s * RATE_HZ)] ** 2))
        for part in report.parts
    ]
    assert min(letter_rms) > 1e-4


def test_containers_rates_and_channels_may_differ_inside_one_file(sample_clips: Path, tmp_path: Path) -> None:
    word = sample_clips / "words" / "standard" / "above.mp3"
    parts = split_parts(word)
    mp3s = word.read_bytes()[parts[2].offset :]
    letters = [sample_clips / "letters" / "cursive" / "a-2c.mp3", sample_clips / "letters" / "retrace" / "a-3r.mp3"]
    path = tmp_path / "word.mp3"
    path.write_bytes(letters[0].read_bytes() + letters[1].read_bytes() + mp3s)
    waveform, report = read_audio_report(path)
    assert [part.container for part in report.parts] == ["mp4", "mp4", "mp3", "mp3", "mp3"]
    assert {(part.sample_rate_hz, part.channels) for part in report.parts} == {(48_000, 2), (22_050, 1)}
    alone = sum(len(read_audio(letter)) for letter in letters) / RATE_HZ
    assert len(waveform) / RATE_HZ == pytest.approx(alone + 1.956 + 1.865 + 2.118, abs=0.01)


def test_webm_under_a_sound_name_gives_its_sound(sample_clips: Path) -> None:
    assert len(read_audio(sample_clips / "letters" / "standard" / "a-1.mp3")) / RATE_HZ == pytest.approx(2.05, abs=0.05)


@pytest.mark.parametrize("suffix", [".wav", ".flac", ".mp3", ".m4a", ".ogg", ".opus"])
def test_what_is_written_comes_back_without_delay_or_padding(tmp_path: Path, suffix: str) -> None:
    waveform = np.concatenate([np.zeros(4_000, np.float32), tone(0.5), np.zeros(2_345, np.float32)])
    heard = read_audio(write_audio(tmp_path / f"a{suffix}", waveform))
    assert len(heard) == len(waveform)
    assert np.sqrt(np.mean((heard - waveform) ** 2)) < 0.02


@pytest.mark.parametrize("first", [".wav", ".flac", ".mp3", ".m4a", ".ogg"])
@pytest.mark.parametrize("second", [".wav", ".flac", ".mp3", ".m4a", ".ogg"])
def test_any_two_formats_joined_end_to_end_are_both_heard(tmp_path: Path, first: str, second: str) -> None:
    low = write_audio(tmp_path / f"low{first}", tone(0.4, 400.0))
    high = write_audio(tmp_path / f"high{second}", tone(0.6, 2_000.0))
    waveform, report = read_audio_report(joined(tmp_path / "both.mp3", low, high))
    assert [round(part.duration_s, 3) for part in report.parts] == [0.4, 0.6]
    assert loudest_hz(waveform[:6_400]) == pytest.approx(400, abs=10)
    assert loudest_hz(waveform[6_400:]) == pytest.approx(2_000, abs=10)


def test_mp3_streams_without_any_header_are_told_apart_by_their_rate(tmp_path: Path) -> None:
    low = write_audio(tmp_path / "low.mp3", tone(0.5, 400.0))
    high = write_audio(tmp_path / "high.mp3", tone(0.5, 2_000.0, rate_hz=44_100), 44_100)
    path = tmp_path / "bare.mp3"
    path.write_bytes(bare_frames(low) + bare_frames(high))
    assert [part.container for part in split_parts(path)] == ["mp3", "mp3"]
    assert len(read_audio(path)) / RATE_HZ == pytest.approx(1.0, abs=0.15)  # without headers the padding stays in


def bare_frames(path: Path) -> bytes:
    """The frames of an MP3 file after its ID3 tag and its Info frame."""
    from unwritten.media import mpeg

    data = path.read_bytes()
    start = mpeg.skip_id3v2(data, 0)
    header = mpeg.parse_header(data[start : start + 4])
    assert header is not None
    return data[start + header.size :]


def test_a_file_that_ends_early_gives_what_there_was_and_says_what_is_lost(tmp_path: Path) -> None:
    whole = write_audio(tmp_path / "whole.mp3", tone(4.0))
    cut = tmp_path / "cut.mp3"
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    waveform, report = read_audio_report(cut)
    assert 1.5 < len(waveform) / RATE_HZ < 2.5
    assert report.lost_s == pytest.approx(4.0 - len(waveform) / RATE_HZ, abs=0.1)
    assert "lost" in " ".join(report.warnings)
    assert str(cut) in report.warnings[0]


def test_damage_in_the_middle_does_not_shift_what_follows(tmp_path: Path) -> None:
    click = np.zeros(3 * RATE_HZ, np.float32)
    click[int(2.5 * RATE_HZ) :][:400] = tone(400 / RATE_HZ, 1_000.0)
    data = bytearray(write_audio(tmp_path / "a.mp3", click + 0.01 * tone(3.0)).read_bytes())
    middle = len(data) // 2
    data[middle : middle + 2_000] = bytes(2_000)
    damaged = tmp_path / "damaged.mp3"
    damaged.write_bytes(data)
    waveform, report = read_audio_report(damaged)
    assert report.lost_s > 0.05
    assert np.argmax(np.abs(waveform)) / RATE_HZ == pytest.approx(2.51, abs=0.1)


def test_a_broken_part_between_whole_ones_is_named_and_passed_over(tmp_path: Path) -> None:
    good = write_audio(tmp_path / "good.mp3", tone(0.5))
    film = write_video(tmp_path / "film.mp4", [np.zeros((64, 64, 3), np.uint8)] * 5, waveform=tone(0.2))
    data = film.read_bytes()
    at = data.index(b"moov")
    broken = data[:at] + b"skip" + data[at + 4 :]  # the index is gone, the structure holds
    path = tmp_path / "word.mp3"
    path.write_bytes(good.read_bytes() + broken + good.read_bytes())
    waveform, report = read_audio_report(path)
    assert len(waveform) == RATE_HZ
    assert [bool(part.fault) for part in report.parts] == [False, True, False]
    assert any("part 2 of 3" in warning and "moov" in warning for warning in report.warnings)


def test_channels_are_averaged_not_summed(tmp_path: Path) -> None:
    import av

    left = tone(0.5)
    path = tmp_path / "stereo.wav"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("pcm_f32le", rate=RATE_HZ, layout="stereo")
        frame = av.AudioFrame.from_ndarray(np.stack([left, left]).T.reshape(1, -1).copy(), "flt", "stereo")
        frame.sample_rate = RATE_HZ
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    assert np.abs(read_audio(path) - left).max() < 1e-6


@settings(max_examples=15, deadline=None)
@given(st.integers(8_000, 48_000), st.integers(8_000, 48_000), st.integers(1_000, 20_000))
def test_resampling_keeps_length_and_place(source_hz: int, target_hz: int, samples: int) -> None:
    from unwritten.media.pcm import Resampler

    time_s = np.arange(samples) / source_hz
    centre = time_s[-1] / 2
    bump = np.exp(-(((time_s - centre) / 0.004) ** 2)).astype(np.float32)
    resampler = Resampler(source_hz, target_hz)
    out = np.concatenate([resampler.push(block) for block in np.array_split(bump, 3)] + [resampler.finish()])
    assert len(out) == round(samples * target_hz / source_hz)
    where = np.sum(np.arange(len(out)) / target_hz * out**2) / np.sum(out**2)
    assert where == pytest.approx(centre, abs=1.5 / min(source_hz, target_hz))


@settings(max_examples=40, deadline=None)
@given(st.binary(min_size=1, max_size=300), st.integers(0, 2))
def test_no_bytes_make_it_do_anything_but_read_or_refuse(
    tmp_path_factory: pytest.TempPathFactory, tail: bytes, kind: int
) -> None:
    head = [b"", b"\x00\x00\x00\x18ftypisom", b"ID3\x04\x00\x00\x00\x00\x00\x05"][kind]
    path = tmp_path_factory.mktemp("fuzz") / "a.mp3"
    path.write_bytes(head + tail)
    parts = split_parts(path)
    assert all(part.offset >= 0 and part.size > 0 and part.offset + part.size <= len(head + tail) for part in parts)
    try:
        read_audio(path)
    except UnwrittenError as error:
        assert str(path) in str(error)
