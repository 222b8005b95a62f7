"""What a clip's name says of its modality; it decides before the content does."""

from __future__ import annotations

from pathlib import Path

from unwritten.types import Modality

AUDIO_SUFFIXES = frozenset({".mp3", ".wav", ".flac", ".m4a", ".aac", ".ogg", ".oga", ".opus", ".aif", ".aiff", ".wma"})
VIDEO_SUFFIXES = frozenset({".mp4", ".mov", ".m4v", ".webm", ".mkv", ".avi", ".3gp", ".mpg", ".mpeg", ".ts", ".mts"})
MUTED_MARK = "_muted"


def modality_from_name(path: Path | str) -> Modality | None:
    """``audio`` for a sound suffix, ``video`` for a name that ends in ``_muted``, None when the name does not tell.

    An audio item may hide its video, so a caller must ask here before it looks into the file.
    """
    path = Path(path)
    if path.suffix.lower() in AUDIO_SUFFIXES:
        return "audio"
    if path.stem.lower().endswith(MUTED_MARK):
        return "video"
    return None
