"""Writing clips and sound that every player reads: H.264 with AAC in MP4, VP9 with Opus in WebM, common sound files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import av
import av.error
import numpy as np
from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from av.container import OutputContainer
from av.video.frame import VideoFrame
from av.video.stream import VideoStream
from numpy.typing import NDArray

from unwritten.errors import UnwrittenError
from unwritten.files import whole_file

_TICKS_HZ = 90_000  # time base of written pictures: 30, 59.94 and 25 frames a second are whole or nearly whole in it
_OPUS_HZ = 48_000
_MP4_TICKS_HZ = 720_000  # edit lists end on a sample; in the usual milliseconds some padding would be heard
# Rates that the encoder takes; others are resampled to 48 kHz.
_RATES_HZ = {
    "aac": {8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000},
    "libmp3lame": {8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000},
    "libopus": {_OPUS_HZ},
}
_AUDIO_CODECS = {
    ".wav": ("wav", "pcm_s16le"),
    ".mp3": ("mp3", "libmp3lame"),
    ".m4a": ("ipod", "aac"),
    ".flac": ("flac", "flac"),
    ".ogg": ("ogg", "libopus"),
    ".opus": ("ogg", "libopus"),
}
_VIDEO_CODECS = {".mp4": ("mp4", "libx264", "aac"), ".webm": ("webm", "libvpx-vp9", "libopus")}
_BLOCK = 4_096


def write_audio(
    path: Path | str, waveform: NDArray[np.floating], sample_rate_hz: int = 16_000, *, bitrate: int = 128_000
) -> Path:
    """Write mono sound; the suffix chooses wav (16 bit), flac (16 bit), mp3, m4a (AAC), ogg or opus.

    Args:
        path: where to; folders are made, and the file is whole or not there.
        waveform: float ``[N]``; clipped to [-1, 1].
        sample_rate_hz: its rate.
        bitrate: bits a second of the lossy formats.

    Raises:
        UnwrittenError: unknown suffix, empty sound, or the place cannot be written.
    """
    path = Path(path)
    if path.suffix.lower() not in _AUDIO_CODECS:
        known = ", ".join(sorted(_AUDIO_CODECS))
        raise UnwrittenError(f"{path}: cannot write sound with the suffix {path.suffix!r}; use one of {known}")
    if len(waveform) == 0:
        raise UnwrittenError(f"{path}: there is no sound to write")
    container_format, codec = _AUDIO_CODECS[path.suffix.lower()]
    with whole_file(path) as temporary, _output(path, temporary, container_format) as container:
        stream = _add_audio(container, codec, sample_rate_hz, bitrate)
        for frame in _audio_frames(waveform, sample_rate_hz, stream):
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def write_video(
    path: Path | str,
    frames: Iterable[NDArray[np.uint8]],
    time_s: Sequence[float] | NDArray[np.floating] | None = None,
    *,
    fps: float = 30.0,
    waveform: NDArray[np.floating] | None = None,
    sample_rate_hz: int = 16_000,
    sample_aspect_ratio: float = 1.0,
    crf: int = 18,
    preset: str = "veryfast",
    threads: int = 0,
) -> Path:
    """Write pictures, and sound with them, for any player or browser: ``.mp4`` (H.264, AAC) or ``.webm`` (VP9, Opus).

    Args:
        path: where to; folders are made, and the file is whole or not there.
        frames: RGB uint8 ``[H, W, 3]`` each; taken one at a time. Odd sizes are extended by one row or column.
        time_s: ``[T]`` presentation times, strictly increasing; None for a steady rate.
        fps: the steady rate when ``time_s`` is None.
        waveform: float ``[N]`` mono sound that starts with the first picture, None for a silent file.
        sample_rate_hz: rate of the sound.
        sample_aspect_ratio: width of a pixel over its height.
        crf: quality, 0 (lossless) to 51.
        preset: x264's preset.
        threads: encoder threads, 0 for as many as there are cores.

    Raises:
        UnwrittenError: unknown suffix, no pictures, sizes that change, times that do not increase, or the place cannot
            be written.
    """
    path = Path(path)
    if path.suffix.lower() not in _VIDEO_CODECS:
        raise UnwrittenError(f"{path}: cannot write video with the suffix {path.suffix!r}; use .mp4 or .webm")
    container_format, video_codec, audio_codec = _VIDEO_CODECS[path.suffix.lower()]
    iterator = iter(frames)
    first = next(iterator, None)
    if first is None:
        raise UnwrittenError(f"{path}: there are no pictures to write")
    rate = Fraction(fps).limit_denominator(1001)
    times = _times(path, time_s, fps)
    with whole_file(path) as temporary, _output(path, temporary, container_format) as container:
        stream = container.add_stream(video_codec, rate=rate)
        assert isinstance(stream, VideoStream)
        height, width = first.shape[:2]
        stream.width, stream.height = width + width % 2, height + height % 2
        stream.pix_fmt = "yuv420p"
        stream.codec_context.time_base = Fraction(1, _TICKS_HZ)
        stream.codec_context.sample_aspect_ratio = Fraction(sample_aspect_ratio).limit_denominator(1000)
        stream.codec_context.thread_count = threads
        if video_codec == "libx264":
            # x264's AVX-512 macroblock tree takes in memory that nobody wrote: files would differ by chance.
            stream.options = {"crf": str(crf), "preset": preset, "x264-params": "mbtree=0"}
        else:
            stream.options = {"crf": str(crf), "b": "0", "deadline": "realtime", "cpu-used": "6", "row-mt": "1"}
        sound: Iterator[AudioFrame] = iter(())
        if waveform is not None:
            audio_stream = _add_audio(container, audio_codec, sample_rate_hz, 128_000)
            sound = _audio_frames(waveform, sample_rate_hz, audio_stream)
        for image, at_s in zip(_chain(first, iterator), times, strict=False):
            if image.shape != first.shape:
                raise UnwrittenError(f"{path}: pictures change size from {first.shape} to {image.shape}; resize them")
            container.mux(stream.encode(_video_frame(image, at_s)))
            # Sound goes in as its time comes, so that a player need not seek between the two.
            for block in sound:
                container.mux(audio_stream.encode(block))
                if block.time is not None and block.time > at_s:
                    break
        if next(iterator, None) is not None:
            raise UnwrittenError(f"{path}: there are more pictures than times")
        container.mux(stream.encode(None))
        if waveform is not None:
            for block in sound:
                container.mux(audio_stream.encode(block))
            container.mux(audio_stream.encode(None))
    return path


def _output(path: Path, temporary: Path, container_format: str) -> OutputContainer:
    is_mp4 = container_format in ("mp4", "ipod")
    options = {"movflags": "+faststart", "movie_timescale": str(_MP4_TICKS_HZ)} if is_mp4 else {}
    try:
        return av.open(f"file:{temporary}", "w", format=container_format, options=options)
    except av.error.FFmpegError as error:
        raise UnwrittenError(f"{path}: cannot be written ({error.strerror}); choose another place") from error


def _chain(first: NDArray[np.uint8], rest: Iterator[NDArray[np.uint8]]) -> Iterator[NDArray[np.uint8]]:
    yield first
    yield from rest


def _times(path: Path, time_s: Sequence[float] | NDArray[np.floating] | None, fps: float) -> Iterator[float]:
    if time_s is None:
        index = 0
        while True:
            yield index / fps
            index += 1
    times = np.asarray(time_s, np.float64)
    if np.any(np.diff(times) <= 0):
        raise UnwrittenError(f"{path}: picture times must increase strictly")
    yield from times.tolist()


def _video_frame(image: NDArray[np.uint8], at_s: float) -> VideoFrame:
    height, width = image.shape[:2]
    if height % 2 or width % 2:  # 4:2:0 chroma needs even sizes
        image = np.pad(image, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")
    frame = VideoFrame.from_ndarray(np.ascontiguousarray(image), format="rgb24")
    frame.pts, frame.time_base = round(at_s * _TICKS_HZ), Fraction(1, _TICKS_HZ)
    return frame


def _add_audio(container: OutputContainer, codec: str, sample_rate_hz: int, bitrate: int) -> AudioStream:
    rates = _RATES_HZ.get(codec)
    rate = sample_rate_hz if rates is None or sample_rate_hz in rates else _OPUS_HZ
    stream = container.add_stream(codec, rate=rate, layout="mono")
    assert isinstance(stream, AudioStream)
    if rates is not None:
        stream.bit_rate = min(bitrate, 6 * rate)  # an AAC or MP3 frame has no room for more
    return stream


def _audio_frames(waveform: NDArray[np.floating], sample_rate_hz: int, stream: AudioStream) -> Iterator[AudioFrame]:
    """Blocks of the waveform in the encoder's format and rate."""
    context = stream.codec_context
    resampler = av.AudioResampler(format=context.format, layout="mono", rate=context.sample_rate)
    samples = np.clip(np.nan_to_num(np.asarray(waveform, np.float32)), -1.0, 1.0)
    for start in range(0, len(samples), _BLOCK):
        frame = AudioFrame.from_ndarray(
            np.ascontiguousarray(samples[None, start : start + _BLOCK]), format="fltp", layout="mono"
        )
        frame.sample_rate, frame.pts, frame.time_base = sample_rate_hz, start, Fraction(1, sample_rate_hz)
        yield from resampler.resample(frame)
    yield from resampler.resample(None)
