"""What a file says of itself, read from headers only and without trust in its name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import av
from av.container import InputContainer

from unwritten.media.parts import Part, split_parts
from unwritten.media.source import check_file, open_container
from unwritten.media.video import picture_stream


@dataclass(frozen=True)
class VideoInfo:
    """The pictures of a part; sizes as coded, before rotation.

    Attributes:
        codec: name of the codec.
        width_px, height_px: coded size.
        sample_aspect_ratio: width of a coded pixel over its height, **before** rotation.
        rate_hz: average frame rate that the header states; 0 when it states none.
        frames: number of frames that the header states; 0 when it states none. Headers lie.
        duration_s: length that the header states, None when it states none.
        start_s: time stamp of the first picture.
        pixel_format: libav's name of the pixel format.
    """

    codec: str
    width_px: int
    height_px: int
    sample_aspect_ratio: float
    rate_hz: float
    frames: int
    duration_s: float | None
    start_s: float
    pixel_format: str


@dataclass(frozen=True)
class AudioInfo:
    """The sound of a part: codec, its own rate and channels, stated length and first time stamp."""

    codec: str
    sample_rate_hz: int
    channels: int
    duration_s: float | None
    start_s: float


@dataclass(frozen=True)
class MediaInfo:
    """What a file holds.

    Attributes:
        path: the file.
        container: libav's name of the container of the first part, by content (``mov,mp4,...``, ``matroska,webm``).
        parts: the joined parts, one for a plain file.
        duration_s: stated length of the first part, what a player that stops there shows; None if not stated.
        video: pictures of the first part, None without any.
        audio: sound of the first part, None without any.
    """

    path: Path
    container: str
    parts: tuple[Part, ...]
    duration_s: float | None
    video: VideoInfo | None
    audio: AudioInfo | None


def probe(path: Path | str) -> MediaInfo:
    """Read a file's headers.

    Raises:
        UnwrittenError: the file is missing, empty or not media.
    """
    path = check_file(path)
    parts = tuple(split_parts(path))
    with open_container(path, parts[0] if parts else None) as container:
        return MediaInfo(
            path=path,
            container=container.format.name,
            parts=parts,
            duration_s=None if container.duration is None else container.duration / av.time_base,
            video=_video_info(container),
            audio=_audio_info(container),
        )


def _video_info(container: InputContainer) -> VideoInfo | None:
    stream = picture_stream(container)
    if stream is None:
        return None
    codec, rate, ratio = stream.codec_context, stream.average_rate, stream.sample_aspect_ratio
    base = stream.time_base
    return VideoInfo(
        codec=codec.name,
        width_px=codec.width,
        height_px=codec.height,
        sample_aspect_ratio=float(ratio) if ratio else 1.0,
        rate_hz=float(rate) if rate else 0.0,
        frames=stream.frames,
        duration_s=float(stream.duration * base) if stream.duration is not None and base else None,
        start_s=float(stream.start_time * base) if stream.start_time is not None and base else 0.0,
        pixel_format=codec.pix_fmt or "",
    )


def _audio_info(container: InputContainer) -> AudioInfo | None:
    if not container.streams.audio:
        return None
    stream = container.streams.audio[0]
    base = stream.time_base
    return AudioInfo(
        codec=stream.codec_context.name,
        sample_rate_hz=stream.codec_context.sample_rate,
        channels=stream.codec_context.channels,
        duration_s=float(stream.duration * base) if stream.duration is not None and base else None,
        start_s=float(stream.start_time * base) if stream.start_time is not None and base else 0.0,
    )
