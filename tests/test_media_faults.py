"""Files that break decoders, claim the absurd, or have clocks that stand still: the right value, or one line."""

from __future__ import annotations

import os
import resource
import struct
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from unwritten.benchmark.audit.file import AuditSettings, gather
from unwritten.errors import UnwrittenError
from unwritten.media import (
    mpeg,
    open_video,
    probe,
    read_audio,
    read_audio_report,
    read_frames,
    split_parts,
    write_audio,
    write_video,
)

RATE_HZ = 16_000
_NOISE = np.random.default_rng(0).normal(0.0, 0.1, RATE_HZ).astype(np.float32)
_PICTURES = [np.full((48, 64, 3), level, np.uint8) for level in range(0, 250, 10)]


def wav(path: Path, samples: np.ndarray, *, rate_hz: int = RATE_HZ, channels: int = 1) -> Path:
    """A WAV file whose header says what it is told to: 16-bit integers or 32-bit floats."""
    code, width = (3, 4) if samples.dtype == np.float32 else (1, 2)
    form = struct.pack("<HHIIHH", code, channels, rate_hz, rate_hz * channels * width, channels * width, 8 * width)
    data = samples.tobytes()
    chunks = b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", len(data)) + data
    path.write_bytes(b"RIFF" + struct.pack("<I", len(chunks)) + chunks)
    return path


def flipped(path: Path, place: int, bit: int) -> None:
    content = bytearray(path.read_bytes())
    content[place % len(content)] ^= 1 << bit
    path.write_bytes(content)


def as_shorts(samples: np.ndarray) -> np.ndarray:
    return np.round(30_000 * np.clip(samples, -1, 1)).astype("<i2")


@pytest.mark.parametrize("read", [read_audio, lambda path: list(open_video(path))])
def test_a_file_that_breaks_its_decoder_ends_in_one_line_that_names_it(tmp_path: Path, read: object) -> None:
    none = wav(tmp_path / "none.wav", as_shorts(_NOISE), channels=0)
    ones = tmp_path / "ones.mp3"
    ones.write_bytes(b"\xff" * 100_000)
    for path in (none, ones):
        with pytest.raises(UnwrittenError, match=path.name) as caught:
            read(path)  # type: ignore[operator]
        assert "\n" not in str(caught.value)


def test_a_video_track_that_says_it_is_sound_is_no_traceback(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", _PICTURES, waveform=_NOISE)
    path.write_bytes(path.read_bytes().replace(b"vide", b"soun", 1))
    facts = gather(path, "a", AuditSettings())
    assert "Traceback" not in facts.error
    assert facts.size > 0


@pytest.mark.parametrize("suffix", [".mp4", ".webm"])
def test_any_bit_may_flip(tmp_path: Path, suffix: str) -> None:
    whole = write_video(tmp_path / f"whole{suffix}", _PICTURES, waveform=_NOISE).read_bytes()
    path = tmp_path / f"a{suffix}"
    rng = np.random.default_rng(1)
    for _ in range(60):
        path.write_bytes(whole)
        # Half of the flips go into headers, at either end.
        place = rng.integers(len(whole)) if rng.random() < 0.5 else rng.integers(-1200, 600)
        flipped(path, int(place), int(rng.integers(8)))
        facts = gather(path, "a", AuditSettings())
        assert "\n" not in facts.error


def test_samples_that_are_no_numbers_are_silence(tmp_path: Path) -> None:
    samples = _NOISE.copy()
    samples[100:200], samples[300], samples[301] = np.nan, np.inf, -np.inf
    waveform, report = read_audio_report(wav(tmp_path / "a.wav", samples))
    expected = np.where(np.isfinite(samples), samples, 0)
    assert np.array_equal(waveform, expected)
    assert "102 samples are not numbers" in report.warnings[0]


@pytest.mark.parametrize("rate_hz", [1, 100, 4_000_000_000])
def test_an_absurd_sample_rate_is_refused_by_name(tmp_path: Path, rate_hz: int) -> None:
    samples = np.zeros(64_000, "<i2")
    content = wav(tmp_path / "a.wav", samples).read_bytes()
    path = tmp_path / "a.wav"
    path.write_bytes(content[:24] + struct.pack("<I", rate_hz) + content[28:])
    with pytest.raises(UnwrittenError, match=r"a\.wav"):
        read_audio(path)


def test_channels_that_cancel_give_the_louder_one(tmp_path: Path) -> None:
    stereo = np.stack((_NOISE, -0.9 * _NOISE - 0.1 * _NOISE * (np.arange(RATE_HZ) % 2 == 5)), axis=1)
    path = wav(tmp_path / "a.wav", as_shorts(stereo * [1.0, 1.0 / 0.9]), channels=2)
    waveform, report = read_audio_report(path)
    assert np.abs(waveform - as_shorts(_NOISE) / 32_768).max() < 2 / 32_768
    assert "cancel" in report.warnings[0]


def test_independent_and_one_sided_channels_are_averaged(tmp_path: Path) -> None:
    other = np.random.default_rng(2).normal(0.0, 0.1, RATE_HZ)
    for pair in ((_NOISE, other), (_NOISE, 0 * _NOISE)):
        shorts = as_shorts(np.stack(pair, axis=1))
        waveform, report = read_audio_report(wav(tmp_path / "a.wav", shorts, channels=2))
        assert np.allclose(waveform, shorts.mean(axis=1) / 32_768, atol=1e-7)
        assert not report.warnings


def film_with_stamps(path: Path, stamps: list[int], ticks_hz: int = 90_000) -> Path:
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        stream.time_base = Fraction(1, ticks_hz)
        stream.codec_context.time_base = Fraction(1, 25)
        packets = []
        for number, image in enumerate(_PICTURES[: len(stamps)]):
            frame = av.VideoFrame.from_ndarray(image, format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, 25)
            packets += stream.encode(frame)
        packets += stream.encode(None)
        for packet, stamp in zip(packets, stamps, strict=True):
            packet.pts = packet.dts = stamp
            packet.time_base = Fraction(1, ticks_hz)
            container.mux(packet)
    return path


def test_stamps_that_stand_still_are_spread_over_the_period(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    moving = [3_600 * step for step in range(10)]
    still = [moving[-1] + 1 + step for step in range(10)]  # 11 microseconds apart, as a copy by packets leaves them
    path = film_with_stamps(tmp_path / "a.mp4", moving + still)
    times = np.array([picture.time_s for picture in open_video(path)])
    assert np.diff(times) == pytest.approx(np.full(19, 0.04), abs=1e-3)
    assert "stand still" in caplog.text


def test_a_clock_that_stood_still_catches_up(tmp_path: Path) -> None:
    stamps = [3_600 * step for step in range(10)]
    path = film_with_stamps(tmp_path / "a.mp4", [*stamps[:5], stamps[4] + 1, *stamps[5:]])
    times = np.array([picture.time_s for picture in open_video(path)])
    assert np.diff(times).min() > 0.03
    assert times[-1] - stamps[-1] / 90_000 < 0.025  # the sound beside it is in step again


def test_a_jump_of_hours_is_named_and_ends_the_film(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    stamps = [3_600 * step for step in range(10)] + [3_600 * 10 * 90_000 // 10 * 10 + 3_600 * step for step in range(5)]
    path = film_with_stamps(tmp_path / "a.mkv", stamps)
    assert max(picture.time_s for picture in open_video(path)) < 1
    assert "jump" in caplog.text


def test_a_pipe_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    os.mkfifo(path)
    for read in (probe, read_audio, read_frames):
        with pytest.raises(UnwrittenError, match="not a regular file"):
            list(read(path))  # type: ignore[arg-type, operator]
    assert "not a regular file" in gather(path, "a", AuditSettings()).error


@pytest.mark.parametrize("name", ["a" * 300 + ".mp4", "loop.mp4"])
def test_names_that_no_file_has(tmp_path: Path, name: str) -> None:
    (tmp_path / "loop.mp4").symlink_to(tmp_path / "loop.mp4")
    with pytest.raises(UnwrittenError):
        probe(tmp_path / name)
    assert gather(tmp_path / name, "a", AuditSettings()).error


@pytest.mark.parametrize("kind", [b"abcd", b"\x01\x02\x03\x04", b"\xa9zzz"])
def test_a_box_that_no_standard_lists_is_skipped(tmp_path: Path, kind: bytes) -> None:
    path = write_video(tmp_path / "a.mp4", _PICTURES, waveform=_NOISE)
    content = path.read_bytes()
    size = int.from_bytes(content[:4], "big")
    path.write_bytes(content[:size] + struct.pack(">I", 24) + kind + bytes(16) + content[size:])
    # The offsets of the samples point 24 bytes too low now, but the file is one part with pictures and sound.
    info = probe(path)
    assert len(info.parts) == 1
    assert info.video is not None
    assert info.audio is not None


def test_pictures_that_do_not_decode_are_not_called_missing(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", _PICTURES, waveform=_NOISE)
    content = path.read_bytes()
    start = content.index(b"avcC")
    path.write_bytes(content[: start + 4] + bytes(60) + content[start + 64 :])
    with pytest.raises(UnwrittenError) as caught:
        list(open_video(path))
    assert "no pictures" not in str(caught.value)


def test_sound_beside_one_picture_is_read_as_sound(tmp_path: Path) -> None:
    from unwritten.recordings.record import modality_of_file

    assert modality_of_file(write_video(tmp_path / "a.mp4", _PICTURES[:1], waveform=_NOISE)) == "audio"
    assert modality_of_file(write_video(tmp_path / "b.mp4", _PICTURES, waveform=_NOISE)) == "av"


def test_ten_milliseconds_are_nothing_to_read(tmp_path: Path) -> None:
    from unwritten.recordings.record import record_sound

    with pytest.raises(UnwrittenError, match="10 ms"):
        record_sound(write_audio(tmp_path / "a.wav", _NOISE[:160]))


def test_thousands_of_joined_files_are_refused_and_parts_are_found_in_linear_time(tmp_path: Path) -> None:
    one = wav(tmp_path / "one.wav", as_shorts(_NOISE[:4])).read_bytes()
    joined = tmp_path / "joined.wav"
    joined.write_bytes(one * 200)
    assert len(split_parts(joined)) == 200
    joined.write_bytes(one * 200_000)
    with pytest.raises(UnwrittenError, match="more than 2000 media files"):
        split_parts(joined)


def test_damage_between_frames_is_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that are searched for the next container, over those that there are: it does not grow with the damage."""
    frame = b"\xff\xfb\x90\x00" + bytes(413)
    searched: list[int] = []

    class Counting:
        match = staticmethod(mpeg._OTHER_START.match)

        @staticmethod
        def search(data: bytes, position: int) -> object:
            searched.append(len(data) - position)
            return None

    monkeypatch.setattr(mpeg, "_OTHER_START", Counting)
    data = (frame + b"xx" * 30) * 500
    mpeg.walk(data, 0)
    assert sum(searched) <= len(data)


_MEASURE = """
import sys
from pathlib import Path
from unwritten.recordings.record import record_sound
from unwritten.features.extract import FeatureSettings, extract
extract(record_sound(sys.argv[1])[0], FeatureSettings())
import resource
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
def test_an_hour_of_sound_stays_below_a_gigabyte_and_a_half(tmp_path: Path) -> None:
    path = wav(tmp_path / "a.wav", as_shorts(np.tile(_NOISE, 3_600)))
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))  # noqa: E731
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, str(path)], capture_output=True, text=True, check=True, preexec_fn=limit
    )
    assert int(done.stdout) < 1_500_000
