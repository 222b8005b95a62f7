"""MPEG audio streams: ID3v2 tags, frame headers (ISO/IEC 11172-3, 13818-3) and ADTS, and where one stream ends."""

from __future__ import annotations

import mmap
import re
from dataclasses import dataclass

Buffer = mmap.mmap | bytes

RESYNC_BYTES = 65_536
_SURE_FRAMES = 3  # so many frames in a row are no accident

_BITRATES_KBPS = {  # by (MPEG-1?, layer)
    (True, 1): (0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448),
    (True, 2): (0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384),
    (True, 3): (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    (False, 1): (0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256),
    (False, 2): (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
    (False, 3): (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
_RATES_HZ = {3: (44_100, 48_000, 32_000), 2: (22_050, 24_000, 16_000), 0: (11_025, 12_000, 8_000)}  # by version bits
_SYNC = re.compile(rb"\xff[\xe2-\xff]")
_OTHER_START = re.compile(rb"ID3[\x02-\x04]|\x1a\x45\xdf\xa3|OggS|fLaC|RIFF|(?s:.{4})ftyp")


@dataclass(frozen=True)
class FrameHeader:
    """What the four bytes before an MPEG audio frame say; ``size`` is the whole frame in bytes."""

    version: int
    layer: int
    sample_rate_hz: int
    channels: int
    size: int

    @property
    def stream(self) -> tuple[int, int, int, int]:
        """What stays the same from frame to frame of one stream."""
        return self.version, self.layer, self.sample_rate_hz, self.channels

    @property
    def info_offset(self) -> int:
        """Where an encoder's Xing or Info tag stands in the first frame: after the side information."""
        if self.version == 3:
            return 4 + (17 if self.channels == 1 else 32)
        return 4 + (9 if self.channels == 1 else 17)


def parse_header(head: bytes) -> FrameHeader | None:
    """Read a frame header, None when the bytes are not one (free-format streams count as none)."""
    if len(head) < 4 or head[0] != 0xFF or head[1] & 0xE0 != 0xE0:
        return None
    version, layer = head[1] >> 3 & 3, 4 - (head[1] >> 1 & 3)
    bitrate_index, rate_index, padding = head[2] >> 4, head[2] >> 2 & 3, head[2] >> 1 & 1
    if version == 1 or layer == 4 or bitrate_index in (0, 15) or rate_index == 3:
        return None
    bitrate = _BITRATES_KBPS[(version == 3, layer)][bitrate_index] * 1000
    rate = _RATES_HZ[version][rate_index]
    if layer == 1:
        size = (12 * bitrate // rate + padding) * 4
    else:
        size = (144 if layer == 2 or version == 3 else 72) * bitrate // rate + padding
    return FrameHeader(version, layer, rate, 1 if head[3] >> 6 == 3 else 2, size)


def skip_id3v2(data: Buffer, position: int) -> int:
    """First byte after any ID3v2 tags at ``position``."""
    while data[position : position + 3] == b"ID3" and position + 10 <= len(data):
        head = bytes(data[position : position + 10])
        if head[3] in (0xFF, 0) or any(byte & 0x80 for byte in head[6:10]):
            break
        size = head[6] << 21 | head[7] << 14 | head[8] << 7 | head[9]
        position += 10 + size + (10 if head[5] & 0x10 else 0)
    return position


def starts_frames(data: Buffer, position: int) -> bool:
    """True when ``position`` begins a run of frames of one stream; at the end of the data a shorter run will do."""
    first = header = parse_header(bytes(data[position : position + 4]))
    if first is None:
        return False
    for _ in range(_SURE_FRAMES - 1):
        assert header is not None
        position += header.size
        if position >= len(data) or _ends_here(data, position):
            return position <= len(data)
        header = parse_header(bytes(data[position : position + 4]))
        if header is None or header.stream[:3] != first.stream[:3]:
            return False
    return True


def _ends_here(data: Buffer, position: int) -> bool:
    return _OTHER_START.match(data, position) is not None or _skip_trailer(data, position) > position


def find_frames(data: Buffer, position: int, limit: int | None = None) -> int | None:
    """First byte from ``position`` on that begins a run of frames, before ``limit``; None when none does."""
    limit = len(data) if limit is None else limit
    for found in _SYNC.finditer(data, position, limit):
        if starts_frames(data, found.start()):
            return found.start()
    return None


def walk(data: Buffer, position: int) -> tuple[int, bool]:
    """End of the MPEG audio stream that starts at ``position``, and whether its last frame is cut off.

    A new stream begins at an ID3v2 tag, at an encoder's Xing or Info frame, or where rate or channels change. Bytes
    that are no frame inside a stream are skipped: they are damage, not a boundary.
    """
    position = skip_id3v2(data, position)
    start = find_frames(data, position)
    if start is None:
        return len(data), True
    position, first = start, None
    others = _OtherStarts(data)
    while position < len(data):
        header = parse_header(bytes(data[position : position + 4]))
        if header is None:
            after = _skip_trailer(data, position)
            if after > position:
                return after, False
            if _OTHER_START.match(data, position):
                return position, False
            position = _resync(data, position, others)
            continue
        if first is None:
            first = header
        elif header.stream != first.stream or _is_info_frame(data, position, header):
            if starts_frames(data, position):
                return position, False
            position = _resync(data, position + 1, others)
            continue
        position += header.size
    return min(position, len(data)), position > len(data)


def _is_info_frame(data: Buffer, position: int, header: FrameHeader) -> bool:
    at = position + header.info_offset
    return data[at : at + 4] in (b"Xing", b"Info") or data[position + 36 : position + 40] == b"VBRI"


class _OtherStarts:
    """Where the next container of another kind begins; what was searched is not searched again."""

    def __init__(self, data: Buffer) -> None:
        self._data = data
        self._next = -1

    def after(self, position: int) -> int:
        """First such byte from ``position`` on, the length of the data where there is none; positions only grow."""
        if position > self._next:
            found = _OTHER_START.search(self._data, position)
            self._next = found.start() if found else len(self._data)
        return self._next


def _resync(data: Buffer, position: int, others: _OtherStarts) -> int:
    limit = others.after(position)
    found = find_frames(data, position, limit)
    return limit if found is None else found


def _skip_trailer(data: Buffer, position: int) -> int:
    """First byte after ID3v1, APEv2 and Lyrics3 tags, which close a stream."""
    if data[position : position + 3] == b"TAG":
        return position + 128
    if data[position : position + 8] == b"APETAGEX":
        size = int.from_bytes(data[position + 12 : position + 16], "little")
        has_header = bool(data[position + 23] & 0x80) if position + 24 <= len(data) else False
        after = position + size + (32 if has_header else 0)
        return after + 128 if data[after : after + 3] == b"TAG" else after
    return position


def is_adts(data: Buffer, position: int) -> bool:
    """True when two ADTS frames of AAC follow each other at ``position``."""
    size = _adts_size(data, position)
    if size == 0:
        return False
    return position + size >= len(data) or _adts_size(data, position + size) > 0


def walk_adts(data: Buffer, position: int) -> tuple[int, bool]:
    """End of the ADTS stream that starts at ``position``, after an ID3v2 tag if there is one."""
    position = skip_id3v2(data, position)
    while (size := _adts_size(data, position)) > 0:
        position += size
    return min(position, len(data)), position > len(data)


def _adts_size(data: Buffer, position: int) -> int:
    head = bytes(data[position : position + 7])
    if len(head) < 7 or head[0] != 0xFF or head[1] & 0xF6 != 0xF0:
        return 0
    size = (head[3] & 3) << 11 | head[4] << 3 | head[5] >> 5
    return size if size > 7 else 0
