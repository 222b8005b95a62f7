"""What a file says of itself, read from headers only and without trust in its name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import av
import av.error
from av.container import InputContainer
from av.stream import Stream

from unwritten.errors import UnwrittenError
from unwritten.media.parts import Part, split_parts
from unwritten.media.source import check_file, open_container, sound_stream
from unwritten.media.video import picture_stream


@dataclass(frozen=True)
class VideoInfo:
    """The pictures of a file; sizes as coded, before rotation.

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
    """The sound of a file: codec, its own rate and channels, stated length and first time stamp."""

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
        duration_s: stated length of all parts together.
        first_part_s: stated length of the first part, where many players stop.
        video: pictures of the first part that has some, None without any.
        audio: sound of the first part that has some, None without any.
    """

    path: Path
    container: str
    parts: tuple[Part, ...]
    duration_s: float
    first_part_s: float
    video: VideoInfo | None
    audio: AudioInfo | None


def probe(path: Path | str) -> MediaInfo:
    """Read a file's headers. Parts that cannot be opened count for nothing as long as one can.

    Raises:
        UnwrittenError: the file is missing, empty or not media.
    """
    path = check_file(path)
    parts = tuple(split_parts(path))
    names: list[str] = []
    durations_s: list[float] = []
    video: VideoInfo | None = None
    audio: AudioInfo | None = None
    failure: UnwrittenError | None = None
    for part in parts:
        try:
            with open_container(path, part) as container:
                video = video or _video_info(container)
                audio = audio or _audio_info(container)
                names.append(container.format.name)
                durations_s.append(_duration_s(container))
        except UnwrittenError as error:
            failure = failure or error
            durations_s.append(0.0)
    if not names:
        raise failure or UnwrittenError(f"{path}: holds no sound or video; give a media file")
    return MediaInfo(path, names[0], parts, sum(durations_s), durations_s[0], video, audio)


def is_still(video: VideoInfo) -> bool:
    """Whether the header states a single picture."""
    return video.frames == 1


def _duration_s(container: InputContainer) -> float:
    """Stated length; where none is stated (a browser's recording), the end of the last packet."""
    if container.format.name == "mp3":  # the container counts the encoder's delay in, the stream does not
        stream = container.streams.audio[0]
        if stream.duration is not None and stream.time_base is not None:
            return float(stream.duration * stream.time_base)
    if container.duration is not None:
        return container.duration / av.time_base
    end_s = 0.0
    try:
        for packet in container.demux():
            if packet.pts is not None and packet.time_base is not None:
                end_s = max(end_s, float((packet.pts + (packet.duration or 0)) * packet.time_base))
    except av.error.FFmpegError:
        pass
    return end_s


def _times(stream: Stream) -> tuple[float | None, float]:
    """Stated length of a stream and its first time stamp, in seconds."""
    base = stream.time_base
    if base is None:
        return None, 0.0
    duration_s = None if stream.duration is None else float(stream.duration * base)
    return duration_s, 0.0 if stream.start_time is None else float(stream.start_time * base)


def _video_info(container: InputContainer) -> VideoInfo | None:
    stream = picture_stream(container)
    if stream is None:
        return None
    codec, rate, ratio = stream.codec_context, stream.average_rate, stream.sample_aspect_ratio
    duration_s, start_s = _times(stream)
    return VideoInfo(
        codec=codec.name,
        width_px=codec.width,
        height_px=codec.height,
        sample_aspect_ratio=float(ratio) if ratio else 1.0,
        rate_hz=float(rate) if rate else 0.0,
        frames=stream.frames,
        duration_s=duration_s,
        start_s=start_s,
        pixel_format=codec.pix_fmt or "",
    )


def _audio_info(container: InputContainer) -> AudioInfo | None:
    stream = sound_stream(container)
    if stream is None:
        return None
    codec = stream.codec_context
    duration_s, start_s = _times(stream)
    return AudioInfo(codec.name, codec.sample_rate, codec.channels, duration_s, start_s)
