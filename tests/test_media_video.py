"""Pictures: upright, in their own time, one at a time, as OpenCV decodes them."""

from __future__ import annotations

import gc
import itertools
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import av
import cv2
import numpy as np
import pytest

from unwritten.media import modality_from_name, open_video, probe, read_audio_report, read_frames, write_video


def corner(height: int = 48, width: int = 64) -> np.ndarray:
    """A picture with red at the top left, green at the top right, blue at the bottom left."""
    image = np.full((height, width, 3), 128, np.uint8)
    image[:16, :16], image[:16, -16:], image[-16:, :16] = (255, 0, 0), (0, 255, 0), (0, 0, 255)
    return image


def film(
    path: Path,
    images: list[np.ndarray],
    *,
    rotation: int = 0,
    sar: Fraction | None = None,
    pts: list[int] | None = None,
) -> Path:
    """An H.264 file with metadata that ``write_video`` never writes."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=30, options={"crf": "5"})
        stream.height, stream.width = images[0].shape[:2]
        stream.pix_fmt = "yuv444p"
        stream.codec_context.time_base = Fraction(1, 1000)
        if sar:
            stream.codec_context.sample_aspect_ratio = sar
        if rotation:
            stream.set_display_rotation(rotation)
        for index, image in enumerate(images):
            frame = av.VideoFrame.from_ndarray(image, "rgb24")
            frame.pts, frame.time_base = (pts[index] if pts else index * 33), Fraction(1, 1000)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_rotation_metadata_is_applied_once(tmp_path: Path, rotation: int) -> None:
    path = film(tmp_path / "a.mp4", [corner()] * 2, rotation=rotation)
    upright = next(read_frames(path)).image
    assert np.abs(upright.astype(int) - np.rot90(corner(), rotation // 90)).mean() < 4
    assert np.array_equal(upright, cv2.VideoCapture(str(path)).read()[1][..., ::-1])


@pytest.mark.parametrize("rotation", [0, 90])
def test_a_quarter_turn_swaps_the_shape_of_pixels(tmp_path: Path, rotation: int) -> None:
    path = film(tmp_path / "a.mp4", [corner()] * 2, rotation=rotation, sar=Fraction(27, 64))
    expected = 64 / 27 if rotation else 27 / 64
    assert next(read_frames(path)).sample_aspect_ratio == pytest.approx(expected)
    assert probe(path).video.sample_aspect_ratio == pytest.approx(27 / 64)  # type: ignore[union-attr]


def test_luma_lies_as_the_colours_do(tmp_path: Path) -> None:
    path = film(tmp_path / "a.mp4", [corner()] * 2, rotation=90)
    picture = next(open_video(path))
    grey = cv2.cvtColor(picture.rgb(), cv2.COLOR_RGB2GRAY).astype(float)
    assert picture.luma().shape == grey.shape
    assert np.corrcoef(picture.luma().ravel(), grey.ravel())[0, 1] > 0.98


def test_time_is_the_stamps_not_a_count_over_a_rate(tmp_path: Path) -> None:
    stamps = [500, 520, 610, 620, 900]
    path = film(tmp_path / "a.mp4", [corner()] * 5, pts=stamps)
    assert [frame.time_s for frame in read_frames(path)] == pytest.approx([0.0, 0.02, 0.11, 0.12, 0.4], abs=1e-3)


def test_time_increases_strictly_even_where_stamps_do_not() -> None:
    from unwritten.media.video import _Clock

    clock = _Clock()
    clock.restart(0.04)
    times = []
    for pts in [1000, 1040, 1040, 1080, None, 10, 50, 90]:  # a double, a missing one, a restarted clock
        frame = av.VideoFrame(16, 16, "gray")
        frame.pts, frame.time_base = pts, Fraction(1, 1000)
        times.append(clock.time(frame))
    assert times == pytest.approx([0.0, 0.04, 0.08, 0.116, 0.156, 0.196, 0.236, 0.276])


def test_frames_are_those_that_opencv_decodes(sample_clips: Path) -> None:
    path = sample_clips / "words" / "standard" / "above_muted.mp4"
    capture = cv2.VideoCapture(str(path))
    for frame in itertools.islice(read_frames(path), 5):
        assert np.array_equal(capture.read()[1][..., ::-1], frame.image)
    times = np.array([picture.time_s for picture in open_video(path)])
    assert len(times) == 614
    assert times[0] == 0.0
    assert np.all(np.diff(times) > 0)
    assert times[-1] == pytest.approx(10.227, abs=1e-3)
    assert next(read_frames(path)).sample_aspect_ratio == pytest.approx(27 / 64)


def test_webm_under_an_mp4_name_is_read(sample_clips: Path) -> None:
    times = [picture.time_s for picture in open_video(sample_clips / "letters" / "standard" / "a-1.mp4")]
    assert len(times) == 124
    assert times[-1] == pytest.approx(2.052, abs=0.01)


def encoded(path: Path, codec: str, pixel_format: str, image: np.ndarray, **tags: int) -> Path:
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=30, options={"x265-params": "log-level=none"})
        stream.height, stream.width = image.shape[:2]
        stream.pix_fmt = pixel_format
        for name, value in tags.items():
            setattr(stream.codec_context, name, value)
        for index in range(3):
            frame = av.VideoFrame.from_ndarray(image, "rgb24").reformat(
                format=pixel_format, dst_colorspace=av.video.reformatter.Colorspace.BT2020 if tags else None
            )
            frame.pts = index
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def test_ten_bit_hevc_keeps_its_greys(tmp_path: Path) -> None:
    ramp = np.repeat(np.linspace(0, 255, 128).astype(np.uint8)[None, :, None], 64, 0).repeat(3, 2)
    image = next(read_frames(encoded(tmp_path / "a.mp4", "libx265", "yuv420p10le", ramp))).image
    assert image.dtype == np.uint8
    assert np.abs(image.astype(int) - ramp).mean() < 3


def test_hdr_paper_is_bright_and_hdr_ink_is_dark(tmp_path: Path) -> None:
    codes = np.zeros((64, 128, 3), np.uint8)
    codes[:, :64], codes[:, 64:] = 26, 148  # PQ codes of about 1 and 203 cd/m2
    path = encoded(tmp_path / "a.mp4", "libx265", "yuv420p10le", codes, color_primaries=9, color_trc=16, colorspace=9)
    image = next(read_frames(path)).image
    assert image[32, 16].max() < 40
    assert image[32, 112].min() > 190
    assert np.ptp(image[32, 112].astype(int)) < 6


def test_two_films_joined_end_to_end_are_shown_one_after_the_other(tmp_path: Path) -> None:
    one = write_video(tmp_path / "one.mp4", [corner()] * 10, fps=25)
    path = tmp_path / "both.mp4"
    path.write_bytes(one.read_bytes() * 2)
    assert [frame.time_s for frame in read_frames(path)] == pytest.approx(np.arange(20) / 25, abs=1e-3)


def test_memory_does_not_grow_with_length(tmp_path: Path) -> None:
    path = write_video(tmp_path / "long.mp4", itertools.repeat(corner(480, 640), 400), preset="ultrafast")
    # All pictures together are 370 MB; ru_maxrss is in kB, on macOS in bytes.
    code = (
        "import resource, sys; from unwritten.media import read_frames\n"
        "unit = 1024 if sys.platform == 'darwin' else 1\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit\n"
        "frames = read_frames(sys.argv[1]); next(frames); before = peak()\n"
        "count = 1 + sum(1 for _ in frames); print(count, peak() - before)"
    )
    run = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    count, growth_kb = run.stdout.split()
    assert int(count) == 400
    assert float(growth_kb) < 100_000


@pytest.mark.parametrize("suffix", [".mp4", ".webm"])
def test_a_written_clip_has_its_times_its_sound_and_its_pixel_shape(tmp_path: Path, suffix: str) -> None:
    times = np.cumsum([0.0, 0.03, 0.05, 0.02, 0.1, 0.04])
    sound = (0.3 * np.sin(np.arange(8_000) * 0.2)).astype(np.float32)
    path = write_video(tmp_path / f"a{suffix}", [corner(47, 63)] * 6, times, waveform=sound, sample_aspect_ratio=0.5)
    frames = list(read_frames(path))
    assert [frame.time_s for frame in frames] == pytest.approx(times.tolist(), abs=2e-3)
    assert frames[0].image.shape == (48, 64, 3)
    heard, report = read_audio_report(path)
    assert len(heard) == pytest.approx(8_000, abs=20)
    assert abs(report.offset_s) < 0.005
    if suffix == ".mp4":
        assert frames[0].sample_aspect_ratio == pytest.approx(0.5)


def test_names_decide_before_content() -> None:
    assert modality_from_name("words/cursive: above.mp3") == "audio"
    assert modality_from_name("above_muted.mp4") == "video"
    assert modality_from_name("l-1_muted.MP4") == "video"
    assert modality_from_name("above.mp4") is None


def test_pictures_are_given_back_at_once_without_the_garbage_collector(tmp_path: Path) -> None:
    path = film(tmp_path / "a.mp4", [corner()] * 40, rotation=90)
    gc.collect()
    gc.disable()
    try:
        assert sum(1 for _ in open_video(path)) == 40
        assert sum(isinstance(kept, av.VideoFrame) for kept in gc.get_objects()) < 10
    finally:
        gc.enable()
