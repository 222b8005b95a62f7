"""Counts as they are read: one clip, two clips."""

from __future__ import annotations


def counted(count: int, noun: str, plural: str = "") -> str:
    """A count and its noun, ``1 clip`` or ``1,200 clips``; ``plural`` where that is more than an s."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
