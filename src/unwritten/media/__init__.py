"""Any file to frames with time and square pixels, any file to a mono waveform, and back to files that play anywhere.

The names below load on first use, so that knowing what a file name says does not load a video library.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unwritten.media.audio import AudioPart, AudioReport, read_audio, read_audio_report
    from unwritten.media.headers import AudioInfo, MediaInfo, VideoInfo, probe
    from unwritten.media.names import modality_from_name
    from unwritten.media.parts import Part, split_parts
    from unwritten.media.video import Picture, open_video, read_frames
    from unwritten.media.write import write_audio, write_video

_MODULES = {
    "AudioInfo": "headers",
    "AudioPart": "audio",
    "AudioReport": "audio",
    "MediaInfo": "headers",
    "Part": "parts",
    "Picture": "video",
    "VideoInfo": "headers",
    "modality_from_name": "names",
    "open_video": "video",
    "probe": "headers",
    "read_audio": "audio",
    "read_audio_report": "audio",
    "read_frames": "video",
    "split_parts": "parts",
    "write_audio": "write",
    "write_video": "write",
}
__all__ = [
    "AudioInfo",
    "AudioPart",
    "AudioReport",
    "MediaInfo",
    "Part",
    "Picture",
    "VideoInfo",
    "modality_from_name",
    "open_video",
    "probe",
    "read_audio",
    "read_audio_report",
    "read_frames",
    "split_parts",
    "write_audio",
    "write_video",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value
