"""Letter clips brought into one form, once, so that words can be joined from them without decoding.

A prepared letter is a film (H.264 without reordered frames, AAC), the frames of an MP3, and a line of JSON that is
written last. Its sound is as long as its pictures to the sample. After the letter follow pictures of a pause, as many
as the longest pause needs; a word takes the first few of them or none.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from av.container import OutputContainer
from av.video.frame import VideoFrame
from av.video.stream import VideoStream
from numpy.typing import NDArray

from unwritten.benchmark.synthesis import mp3 as synthesis_mp3
from unwritten.benchmark.synthesis.settings import Canvas, SynthesisSettings
from unwritten.errors import UnwrittenError
from unwritten.files import digest_file, whole_file
from unwritten.media import Picture, open_video, probe, read_audio_report
from unwritten.types import Clip

SAMPLE_RATE_HZ = synthesis_mp3.SAMPLE_RATE_HZ
AAC_SAMPLES = 1_024
_AAC_BITRATE = 96_000
# "stitchable" keeps the headers of all letters the same, whatever their content. Without the macroblock tree, because
# x264's AVX-512 code for it takes in memory that nobody wrote, so that one film in some twenty came out another.
X264_PARAMS = "stitchable=1:open-gop=0:mbtree=0"
_FADE_S = 0.005  # the ends of a clip's sound are steps, which a codec spreads over a frame
_CAMERA_RATES = [Fraction(rate * 1000, 1000 + drop) for rate in (24, 25, 30, 50, 60, 120) for drop in (0, 1)]


@dataclass(frozen=True)
class Letter:
    """A prepared letter clip.

    Attributes:
        group: name of the letter clip, as manifests list it.
        film: path of the prepared film; the MP3 frames lie beside it.
        frames: number of pictures of the letter itself.
        tail_frames: number of pictures of a pause after it.
        rate: frames a second.
        source: digest of the files that it was made from, and of the settings; a change makes it anew.
    """

    group: str
    film: Path
    frames: int
    tail_frames: int
    rate: Fraction
    source: str

    @property
    def sound(self) -> Path:
        """File of the MP3 frames."""
        return self.film.with_suffix(".mp3")


def sources_of(clip: Clip) -> tuple[Path, Path]:
    """The files that pictures and sound are taken from: one file when it has both, so that they stay together."""
    if "av" in clip.files:
        return clip.files["av"], clip.files["av"]
    return clip.files["video"], clip.files["audio"]


def is_usable(clip: Clip) -> bool:
    """True when a clip has pictures and sound."""
    return "av" in clip.files or {"audio", "video"} <= set(clip.files)


def choose_canvas(clips: Sequence[Clip], settings: SynthesisSettings) -> Canvas:
    """The size and rate that suit most of a style's letter clips, in square pixels."""
    shapes: Counter[Fraction] = Counter()
    rates: Counter[Fraction] = Counter()
    for clip in clips:
        pictures = sources_of(clip)[0]
        first = next(open_video(pictures))
        height, width = first.luma().shape
        shapes[Fraction(width * first.sample_aspect_ratio / height).limit_denominator(64)] += 1
        info = probe(pictures).video
        rates[camera_rate(info.rate_hz if info and info.rate_hz else 30.0)] += 1
    shape = min(shapes, key=lambda shape: (-shapes[shape], shape))
    rate = (
        Fraction(settings.rate_hz).limit_denominator(1001) if settings.rate_hz else max(rates, key=lambda r: rates[r])
    )
    short = settings.short_side_px
    long_px = 2 * round(short * float(max(shape, 1 / shape)) / 2)
    return Canvas(short, long_px, rate) if shape < 1 else Canvas(long_px, short, rate)


def camera_rate(rate_hz: float) -> Fraction:
    """The camera's rate that a header means: 60000/1001 for 19001/317; other rates as they are."""
    near = min(_CAMERA_RATES, key=lambda rate: abs(float(rate) - rate_hz))
    return near if abs(float(near) - rate_hz) < 2e-4 * rate_hz else Fraction(rate_hz).limit_denominator(1001)


def prepare(clip: Clip, film: Path, canvas: Canvas, settings: SynthesisSettings, tail_s: float) -> Letter:
    """Bring one letter clip into the form that words are joined from; does nothing when that is done already.

    Args:
        clip: the letter clip.
        film: where the prepared film goes.
        canvas: size and rate of the style.
        settings: quality and fill.
        tail_s: length of the longest pause that may follow a letter.

    Raises:
        UnwrittenError: the clip has no pictures or no sound that decodes, or the place cannot be written.
    """
    pictures, sound = sources_of(clip)
    made_of = (digest_file(pictures), digest_file(sound), canvas, settings.crf, settings.fill, tail_s)
    source = hashlib.sha256(repr(made_of).encode()).hexdigest()
    group = clip.letter_clips[0] if clip.letter_clips else clip.id
    note = film.with_suffix(".json")
    if note.is_file() and film.is_file() and film.with_suffix(".mp3").is_file():
        kept = json.loads(note.read_text(encoding="utf-8"))
        if kept["source"] == source:
            return Letter(group, film, kept["frames"], kept["tail_frames"], canvas.rate, source)
    tail_frames = round(tail_s * canvas.rate)
    with whole_file(film) as temporary:
        frames, waveform = _encode(pictures, sound, temporary, canvas, settings, tail_frames)
    with whole_file(film.with_suffix(".mp3")) as temporary:
        temporary.write_bytes(b"".join(synthesis_mp3.encode_frames(waveform)))
    with whole_file(note) as temporary:
        temporary.write_text(json.dumps({"source": source, "frames": frames, "tail_frames": tail_frames}), "utf-8")
    return Letter(group, film, frames, tail_frames, canvas.rate, source)


def _encode(
    pictures: Path, sound: Path, target: Path, canvas: Canvas, settings: SynthesisSettings, tail_frames: int
) -> tuple[int, NDArray[np.float32]]:
    with av.open(f"file:{target}", "w", format="mp4", options={"movie_timescale": str(SAMPLE_RATE_HZ)}) as container:
        video = _add_video(container, canvas, settings.crf)
        audio = container.add_stream("aac", rate=SAMPLE_RATE_HZ, layout="mono")
        assert isinstance(audio, AudioStream)
        audio.bit_rate = _AAC_BITRATE
        frames, last = 0, np.zeros((canvas.height_px, canvas.width_px, 3), np.uint8)
        for last in steady(fitted(pictures, canvas), canvas.rate):
            container.mux(video.encode(_frame(last, frames, canvas.rate)))
            frames += 1
        filler = np.zeros_like(last) if settings.fill == "black" else last
        for index in range(tail_frames):
            container.mux(video.encode(_frame(filler, frames + index, canvas.rate)))
        container.mux(video.encode(None))
        waveform = fitted_sound(sound, sound == pictures, frames / canvas.rate, (frames + tail_frames) / canvas.rate)
        for start in range(0, len(waveform), AAC_SAMPLES):
            block = AudioFrame.from_ndarray(waveform[None, start : start + AAC_SAMPLES].copy(), "fltp", "mono")
            block.sample_rate, block.pts, block.time_base = SAMPLE_RATE_HZ, start, Fraction(1, SAMPLE_RATE_HZ)
            container.mux(audio.encode(block))
        container.mux(audio.encode(None))
    return frames, waveform


def _add_video(container: OutputContainer, canvas: Canvas, crf: int) -> VideoStream:
    video = container.add_stream("libx264", rate=canvas.rate)
    assert isinstance(video, VideoStream)
    video.width, video.height, video.pix_fmt = canvas.width_px, canvas.height_px, "yuv420p"
    context = video.codec_context
    context.time_base, context.sample_aspect_ratio = 1 / canvas.rate, canvas.aspect
    context.thread_count = 1  # letters are prepared side by side
    video.options = {
        "crf": str(crf),
        "preset": "medium",
        "bf": "0",  # decoding order is showing order, so joined streams need no shift
        "g": str(round(2 * canvas.rate)),
        "x264-params": X264_PARAMS,
    }
    return video


def _frame(image: NDArray[np.uint8], index: int, rate: Fraction) -> VideoFrame:
    frame = VideoFrame.from_ndarray(image, format="rgb24")
    frame.pts, frame.time_base = index, 1 / rate
    return frame


def fitted(path: Path, canvas: Canvas) -> Iterator[tuple[float, NDArray[np.uint8]]]:
    """Time and picture ``[H, W, 3]`` of each frame, scaled into the canvas without distortion.

    What the canvas has and the picture has not is filled with the picture's own edge: black bars would be edges that
    nobody filmed.
    """
    for picture in open_video(path):
        yield picture.time_s, _fit(picture, canvas)


def _fit(picture: Picture, canvas: Canvas) -> NDArray[np.uint8]:
    import cv2

    image = picture.rgb()
    height, width = image.shape[:2]
    shown_width, shown_canvas = width * picture.sample_aspect_ratio, canvas.width_px * float(canvas.aspect)
    scale = min(shown_canvas / shown_width, canvas.height_px / height)
    new_width = min(canvas.width_px, max(1, round(shown_width * scale / float(canvas.aspect))))
    new_height = min(canvas.height_px, max(1, round(height * scale)))
    if (new_width, new_height) != (width, height):
        shrinks = new_width <= width and new_height <= height
        how = cv2.INTER_AREA if shrinks else cv2.INTER_CUBIC
        image = np.asarray(cv2.resize(image, (new_width, new_height), interpolation=how), np.uint8)
    left, top = (canvas.width_px - new_width) // 2, (canvas.height_px - new_height) // 2
    right, bottom = canvas.width_px - new_width - left, canvas.height_px - new_height - top
    if left or top or right or bottom:
        image = np.pad(image, ((top, bottom), (left, right), (0, 0)), mode="edge")
    return np.ascontiguousarray(image, np.uint8)


def steady(pictures: Iterator[tuple[float, NDArray[np.uint8]]], rate: Fraction) -> Iterator[NDArray[np.uint8]]:
    """Pictures at an even rate: for each moment the one nearest in time. The last one lasts as long as the others."""
    index, first_s, last_s, last = 0, 0.0, 0.0, None
    count = 0
    for time_s, image in pictures:
        while last is not None and index / rate <= (last_s + time_s) / 2:
            yield last
            index += 1
        last_s, last = time_s, image
        count += 1
    if last is None:
        return
    period_s = (last_s - first_s) / (count - 1) if count > 1 else float(1 / rate)
    for _ in range(max(1, round((last_s + period_s) * rate)) - index):
        yield last


def fitted_sound(path: Path, shares_clock: bool, length_s: Fraction, total_s: Fraction) -> NDArray[np.float32]:
    """The sound of a letter, trimmed or padded to its pictures, then silence up to ``total_s`` and a little beyond.

    Args:
        path: file with the sound.
        shares_clock: the pictures come from the same file, so its time stamps tell how the two lie.
        length_s: length of the pictures.
        total_s: length with the pause.

    Returns:
        float32 ``[N]`` at ``SAMPLE_RATE_HZ``, with two frames of silence to spare.
    """
    sound, report = read_audio_report(path, SAMPLE_RATE_HZ)
    offset = round(report.offset_s * SAMPLE_RATE_HZ) if shares_clock else 0
    sound = np.pad(sound, (offset, 0)) if offset > 0 else sound[-offset:]
    sound = sound[: round(length_s * SAMPLE_RATE_HZ)].copy()
    if len(sound) == 0:
        raise UnwrittenError(f"{path}: its sound and its pictures do not overlap; record the letter again")
    fade = np.linspace(0.0, 1.0, min(len(sound), round(_FADE_S * SAMPLE_RATE_HZ)), dtype=np.float32)
    sound[: len(fade)] *= fade
    sound[len(sound) - len(fade) :] *= fade[::-1]
    blocks = -(-round(total_s * SAMPLE_RATE_HZ) // AAC_SAMPLES) + 2
    waveform = np.zeros(blocks * AAC_SAMPLES, np.float32)
    waveform[: len(sound)] = np.clip(sound, -1.0, 1.0)
    return waveform
