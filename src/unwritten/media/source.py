"""Opening a media file, or one part of it, with errors that name the file and the fix.

Whatever a decoder does with damaged bytes, and whatever the code around it takes for granted that they break, ends here
in one line: every file is decoded inside ``open_container``.
"""

from __future__ import annotations

import io
import os
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import av
import av.error
import av.stream
from av.audio.stream import AudioStream
from av.container import InputContainer

from unwritten.errors import UnwrittenError
from unwritten.media.mpeg import parse_header
from unwritten.media.parts import Part

# A playlist under a media name must not make the reader fetch other files or addresses.
_OPTIONS = {"protocol_whitelist": "file"}
# libav shows any text named .txt as a terminal recording; that is never a clip.
_NOT_MEDIA = {"tty", "concat", "ffmetadata", "srt", "webvtt", "ass"}
# What damage provokes: libav's own errors, and the code around it that meets a header without sense.
_SURPRISES = (
    av.error.FFmpegError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    TypeError,
    ValueError,
    struct.error,
)

SAMPLE_RATES_HZ = (2_000, 768_000)
"""Below the first not even a pen's tap is left (its click reaches 1.5 kHz); no converter goes over the second.

A rate of 1 Hz would turn each byte into a second: 128 kB into 17 GB at the model's rate.
"""
MAX_PIXELS = 7_680 * 4_320
"""8K (ITU-R BT.2020). A picture costs up to ten bytes a pixel while it is converted; a larger one is no film."""


class ByteRange(io.RawIOBase):
    """A read-only window of ``size`` bytes from ``offset`` of a binary file, for decoders that want a file."""

    def __init__(self, stream: IO[bytes], offset: int, size: int) -> None:
        self._stream, self._offset, self._size, self._position = stream, offset, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        origin = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        self._position = max(0, origin + offset)
        return self._position

    def read(self, size: int = -1) -> bytes:
        left = max(0, self._size - self._position)
        size = left if size is None or size < 0 else min(size, left)
        self._stream.seek(self._offset + self._position)
        data = self._stream.read(size)
        self._position += len(data)
        return data


def check_file(path: Path | str) -> Path:
    """Return ``path`` as a Path when it is a readable file that is not empty.

    Raises:
        UnwrittenError: it is missing, a folder, a pipe or device, empty or unreadable.
    """
    path = Path(path)
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise UnwrittenError(f"{path}: is a folder; give one clip")
        if not stat.S_ISREG(mode):  # to open a pipe that nobody writes to would wait for ever
            raise UnwrittenError(
                f"{path}: is not a regular file but a pipe or device; save the clip and give that file"
            )
        with path.open("rb") as stream:
            if not stream.read(1):
                raise UnwrittenError(f"{path}: is empty (0 bytes); copy or download it again")
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UnwrittenError(f"{path}: no such file; check its name") from error
    except ValueError as error:
        raise UnwrittenError(f"{str(path)!r}: no file can have this name ({error}); check it") from error
    except OSError as error:
        raise UnwrittenError(f"{path}: cannot be opened ({error.strerror}); check its permissions") from error
    return path


@contextmanager
def open_container(path: Path, part: Part | None = None) -> Iterator[InputContainer]:
    """Open a file, or one part of it, whatever its name says.

    Args:
        path: the file; names with colons and spaces are fine.
        part: the byte range to open, None for the whole file.

    Raises:
        UnwrittenError: nothing in it can be read as media, its rate or size is absurd, or its decoder breaks while
            the block runs.
    """
    stream: IO[bytes] | None = None
    whole = part is None or (part.offset == 0 and part.size == path.stat().st_size)
    try:
        if not whole:
            assert part is not None
            stream = path.open("rb")
        # Without "file:" a name like "cursive: above.mp3" is taken for an address of protocol "cursive".
        source = f"file:{path}" if stream is None or part is None else ByteRange(stream, part.offset, part.size)
        try:
            container = av.open(source, mode="r", options=_OPTIONS if whole else None)
        except av.error.InvalidDataError:
            # Of a few MPEG audio frames FFmpeg's guess at the format is sometimes wrong.
            if not _has_mpeg_frames(_head(path, part)):
                raise
            if stream is not None and part is not None:
                source = ByteRange(stream, part.offset, part.size)
            container = av.open(source, mode="r", format="mp3")
    except (av.error.FFmpegError, OSError, ValueError) as error:
        if stream is not None:
            stream.close()
        raise UnwrittenError(f"{path}: {_why_unreadable(path, part)}") from error
    try:
        with container:
            if container.format.name in _NOT_MEDIA or not container.streams:
                raise UnwrittenError(f"{path}: {_why_unreadable(path, part)}")
            _check_bounds(path, container)
            yield container
    except _SURPRISES as error:
        raise UnwrittenError(f"{path}: {_why_unreadable(path, part)}") from error
    finally:
        if stream is not None:
            stream.close()


def _head(path: Path, part: Part | None) -> bytes:
    offset, size = (part.offset, part.size) if part else (0, path.stat().st_size)
    with path.open("rb") as stream:
        stream.seek(offset)
        return stream.read(min(size, 4096))


def _has_mpeg_frames(head: bytes) -> bool:
    """Whether bytes begin with two MPEG audio frames, one right after the other."""
    first = parse_header(head[:4])
    return first is not None and parse_header(head[first.size : first.size + 4]) is not None


def _why_unreadable(path: Path, part: Part | None) -> str:
    head = _head(path, part)
    if b"ftyp" in head[:16]:
        return "its index (moov) is missing or broken, so the recording was cut off; copy it again or re-export it"
    if head and sum(byte in b"\t\n\r" or 32 <= byte < 127 for byte in head) > 0.97 * len(head):
        return "is text, not media, whatever its name says; give a sound or video file"
    return "holds no sound or video that can be decoded; copy it again, or convert it to mp4, webm, wav or mp3"


def _check_bounds(path: Path, container: InputContainer) -> None:
    sound = sound_stream(container)
    if sound is not None and not has_sane_rate(sound.codec_context.sample_rate):
        low, high = SAMPLE_RATES_HZ
        raise UnwrittenError(
            f"{path}: states {sound.codec_context.sample_rate} sound samples a second, sound has {low} to {high};"
            " export it again"
        )
    for stream in container.streams.video:
        if is_picture_stream(stream):
            size = (stream.codec_context.width, stream.codec_context.height)
            if size[0] * size[1] > MAX_PIXELS:
                raise UnwrittenError(
                    f"{path}: has pictures of {size[0]} by {size[1]} pixels; scale it down to 7680 by 4320 or less"
                )


def has_sane_rate(rate_hz: int) -> bool:
    """Whether a sample rate can be a sound's; an unknown one (0) shows when the first block decodes."""
    return rate_hz == 0 or SAMPLE_RATES_HZ[0] <= rate_hz <= SAMPLE_RATES_HZ[1]


def sound_stream(container: InputContainer) -> AudioStream | None:
    """The stream of sound that players choose, None when none has a decoder."""
    stream = container.streams.best("audio")
    if isinstance(stream, AudioStream) and stream.codec_context is not None:
        return stream
    return next((stream for stream in container.streams.audio if stream.codec_context is not None), None)


def is_picture_stream(stream: av.stream.Stream) -> bool:
    """True for moving pictures; False without a decoder, and for a cover, which libav also calls a video stream."""
    return stream.type == "video" and not is_cover(stream) and stream.codec_context is not None


def is_cover(stream: av.stream.Stream) -> bool:
    """Whether the container calls a picture stream its cover."""
    return bool(stream.disposition & av.stream.Disposition.attached_pic)
