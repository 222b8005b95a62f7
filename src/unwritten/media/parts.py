"""The parts of a file that is several media files joined end to end, found by content and never by name.

A player follows the first container it meets and stops at its end, so the parts after it are never heard. Each part
here is a byte range that decodes by itself. Boundaries come from the structure (boxes, elements, frames), not from a
search for magic bytes, so that such bytes inside the media data do no harm.

Formats: ISO/IEC 14496-12 boxes (MP4, MOV), RFC 8794 EBML (WebM, Matroska), ID3v2 with ISO/IEC 11172-3 and 13818-3
frames (MP3), ADTS, RIFF (WAV, AVI), Ogg pages, FLAC.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from unwritten.errors import UnwrittenError
from unwritten.media import ebml, mpeg

Buffer = mmap.mmap | bytes

_BOXES = frozenset(
    b"ftyp moov mdat free skip wide uuid moof mfra sidx styp ssix meta pdin prft emsg udta pnot PICT junk".split()
)
_MOST_PARTS = 2000  # each is opened by itself, in a few milliseconds
_FOREIGN_BOXES = 16  # so many in a row, at the most, that no standard lists
_SIGNATURE = re.compile(
    rb"\x1a\x45\xdf\xa3|ID3[\x02-\x04]|OggS\x00\x02|fLaC[\x00\x80]\x00\x00\x22|(?:RIFF|RF64)(?s:.{4})(?:WAVE|AVI )"
    rb"|\x00\x00(?s:.{2})ftyp"
)


@dataclass(frozen=True)
class Part:
    """One media file inside a file.

    Attributes:
        offset: its first byte.
        size: its length in bytes.
        container: ``mp4``, ``webm``, ``mp3``, ``aac``, ``wav``, ``avi``, ``ogg``, ``flac`` or ``other``.
        truncated: True when its own structure says that it goes on beyond the end of the file.
    """

    offset: int
    size: int
    container: str
    truncated: bool = False


def split_parts(path: Path | str) -> list[Part]:
    """Find the parts of a file in the order in which they lie; a plain file has one.

    Bytes that belong to no container, such as padding between parts, are left out; a file that starts with nothing
    known is one part called ``other``. Reads headers only, so a long video costs no more than a short one.

    Raises:
        UnwrittenError: there are thousands of parts.
    """
    with mapped(Path(path)) as data:
        parts = split_buffer(data)
    if len(parts) > _MOST_PARTS:
        raise UnwrittenError(f"{path}: is more than {_MOST_PARTS} media files joined end to end; cut it into its parts")
    return parts


@contextmanager
def mapped(path: Path) -> Iterator[Buffer]:
    """The content of a file as a read-only buffer that is not loaded into memory."""
    with path.open("rb") as stream:
        if stream.seek(0, 2) == 0:
            yield b""
            return
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
            yield data


def split_buffer(data: Buffer) -> list[Part]:
    """``split_parts`` on bytes."""
    parts: list[Part] = []
    position, length = 0, len(data)
    while position < length:
        kind = container_at(data, position)
        if kind is None:
            start = _next_start(data, position)
            if not parts and (start is None or start > mpeg.RESYNC_BYTES):
                return [Part(0, length, "other")]
            if start is None:
                break
            position = start
            continue
        end, truncated = _WALKERS[kind](data, position)
        end = max(end, position + 1)
        parts.append(Part(position, min(end, length) - position, kind, truncated))
        if len(parts) > _MOST_PARTS:
            break
        position = end
    return parts


def container_at(data: Buffer, position: int) -> str | None:
    """Which container starts at this byte, None when none does."""
    head = bytes(data[position : position + 16])
    if head[4:8] in _BOXES and (head[4:8] in (b"ftyp", b"moov", b"wide", b"mdat", b"free", b"skip")):
        return "mp4"
    if head.startswith(ebml.EBML_ID):
        return "webm"
    if head[:4] in (b"RIFF", b"RF64"):
        return {b"WAVE": "wav", b"AVI ": "avi"}.get(head[8:12])
    if head.startswith(b"OggS"):
        return "ogg"
    if head.startswith(b"fLaC"):
        return "flac"
    after_tag = mpeg.skip_id3v2(data, position)
    if after_tag > position:
        inner = bytes(data[after_tag : after_tag + 4])
        if inner == b"fLaC":
            return "flac"
        if mpeg.is_adts(data, after_tag):
            return "aac"
        return "mp3" if mpeg.find_frames(data, after_tag) is not None else None
    if mpeg.is_adts(data, position):
        return "aac"
    return "mp3" if mpeg.starts_frames(data, position) else None


def _next_start(data: Buffer, position: int) -> int | None:
    found = _SIGNATURE.search(data, position)
    frames = mpeg.find_frames(data, position, limit=found.start() if found else None)
    starts = [start for start in (found.start() if found else None, frames) if start is not None and start > position]
    return min(starts, default=None)


def _walk_boxes(data: Buffer, position: int) -> tuple[int, bool]:
    length, seen = len(data), False
    while position + 8 <= length:
        size, kind = int.from_bytes(data[position : position + 4], "big"), bytes(data[position + 4 : position + 8])
        if (kind not in _BOXES and not _is_foreign_box(data, position)) or (kind == b"ftyp" and seen):
            return position, False
        if size == 1 and position + 16 <= length:
            size = int.from_bytes(data[position + 8 : position + 16], "big")
        elif size == 0:  # the last box may leave its size out: it reaches to the end of the file
            size = length - position
        if size < 8:
            return position, False
        seen, position = True, position + size
    return (length if position + 8 > length else position), position > length


def _is_foreign_box(data: Buffer, position: int) -> bool:
    """Whether a box of a type that no standard lists lies here: box after box, it leads to one that is listed.

    ISO/IEC 14496-12 has readers skip types that they do not know.
    """
    for _ in range(_FOREIGN_BOXES):
        size = int.from_bytes(data[position : position + 4], "big")
        if size == 1:
            size = int.from_bytes(data[position + 8 : position + 16], "big")
        position += size
        kind = bytes(data[position + 4 : position + 8])
        if size < 8 or len(kind) < 4:
            return False
        if kind in _BOXES:
            return kind != b"ftyp"
    return False


def _walk_riff(data: Buffer, position: int) -> tuple[int, bool]:
    size = int.from_bytes(data[position + 4 : position + 8], "little")
    if (
        size in (0, 0xFFFFFFFF) or data[position : position + 4] == b"RF64"
    ):  # written by a recorder that never came back
        return len(data), False
    end = position + 8 + size + size % 2
    # A large AVI is a row of RIFF chunks of type AVIX.
    while data[end : end + 4] == b"RIFF" and data[end + 8 : end + 12] == b"AVIX":
        end += 8 + int.from_bytes(data[end + 4 : end + 8], "little")
    return min(end, len(data)), end > len(data) + 1


def _walk_ogg(data: Buffer, position: int) -> tuple[int, bool]:
    only_headers = True
    while data[position : position + 4] == b"OggS" and position + 27 <= len(data):
        begins = bool(data[position + 5] & 0x02)
        if begins and not only_headers:
            return position, False
        only_headers = only_headers and begins
        segments = data[position + 26]
        position += 27 + segments + sum(data[position + 27 : position + 27 + segments])
    return position, position > len(data)


def _walk_flac(data: Buffer, position: int) -> tuple[int, bool]:
    # FLAC frames carry no length: the next part is found by its signature.
    found = _SIGNATURE.search(data, mpeg.skip_id3v2(data, position) + 8)
    return (found.start() if found else len(data)), False


_WALKERS: dict[str, Callable[[Buffer, int], tuple[int, bool]]] = {
    "mp4": _walk_boxes,
    "webm": ebml.walk,
    "wav": _walk_riff,
    "avi": _walk_riff,
    "ogg": _walk_ogg,
    "flac": _walk_flac,
    "aac": mpeg.walk_adts,
    "mp3": mpeg.walk,
}
