"""The outer structure of WebM and Matroska files (RFC 8794, RFC 9559): where one ends."""

from __future__ import annotations

import mmap

Buffer = mmap.mmap | bytes

EBML_ID = b"\x1a\x45\xdf\xa3"
_SEGMENT = 0x18538067
_CLUSTER = 0x1F43B675
# Children of a segment, and of a cluster: a browser's recorder leaves both sizes unknown, so they end where another
# kind of element begins.
_IN_SEGMENT = frozenset(
    {_CLUSTER, 0x114D9B74, 0x1549A966, 0x1654AE6B, 0x1C53BB6B, 0x1941A469, 0x1043A770, 0x1254C367, 0xEC, 0xBF}
)
_IN_CLUSTER = frozenset({0xE7, 0xA3, 0xA0, 0xAB, 0xA7, 0x5854, 0xAF, 0xEC, 0xBF})


def walk(data: Buffer, position: int) -> tuple[int, bool]:
    """End of the WebM file that starts at ``position``, and whether it claims to go on beyond the data."""
    length = len(data)
    _, position, size = _element(data, position)
    position += size or 0
    while position < length:
        identifier, body, size = _element(data, position)
        if identifier != _SEGMENT:
            return position, False
        if size is not None:
            position = body + size
            continue
        position = _walk_unknown(data, body)
    return position, position > length


def _walk_unknown(data: Buffer, position: int) -> int:
    known = _IN_SEGMENT | _IN_CLUSTER
    while position < len(data):
        identifier, body, size = _element(data, position)
        if identifier not in known:
            return position
        position = body if size is None else body + size
    return position


def _element(data: Buffer, position: int) -> tuple[int, int, int | None]:
    """Identifier of the element at ``position``, first byte of its body, its size (None: unknown)."""
    head = bytes(data[position : position + 12])
    if not head or head[0] == 0:
        return 0, position, None
    width = 9 - head[0].bit_length()
    identifier = int.from_bytes(head[:width], "big")
    if width > 4 or len(head) <= width or head[width] == 0:
        return 0, position, None
    size_width = 9 - head[width].bit_length()
    size = int.from_bytes(head[width : width + size_width], "big") & ((1 << 7 * size_width) - 1)
    unknown = size == (1 << 7 * size_width) - 1
    return identifier, position + width + size_width, None if unknown else size
