"""What a multimodal model was sent of an item: its frames are taken from the clip again as they were then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np

from unwritten.errors import UnwrittenError
from unwritten.report.evidence import jpeg_uri
from unwritten.types import Clip, Modality
from unwritten.wording import counted

_SHOWN = 8  # frames of a strip at most, evenly spread, first and last among them
_HEIGHT_PX = 64


@dataclass(frozen=True)
class Sent:
    """Of one answer.

    Attributes:
        frames: data URI of a JPEG, frames side by side; empty without pictures or clip.
        text: what was sent, in words.
    """

    frames: str
    text: str


def what_was_sent(clip: Clip | None, modality: Modality, sent: Mapping[str, Any]) -> Sent | None:
    """The frames that a model was sent, and what else; None where the answer keeps no record of it.

    Args:
        clip: the item, None when it is not at hand.
        modality: of the answer.
        sent: ``details.sent`` of the answer.
    """
    pieces, frames = [], ""
    if sent.get("frames"):
        width, height = sent["size_px"]
        kind = "as a video" if sent.get("pictures") == "video" else "as images"
        rate = f"{float(sent['fps']):.3g} a second"
        pieces.append(f"{counted(int(sent['frames']), 'frame')} at {rate}, {width}x{height}, {kind}")
        if clip is not None:
            try:
                frames = _strip(clip, modality, sent)
            except (UnwrittenError, OSError, ValueError):
                pieces.append("the clip cannot be read now")
    if sent.get("sound_s"):
        pieces.append(f"{sent['sound_s']:.1f} s of sound")
    if sent.get("given"):
        pieces.append(f"given {', '.join(sent['given'])}")
    return Sent(frames, "; ".join(pieces)) if pieces else None


def _strip(clip: Clip, modality: Modality, sent: Mapping[str, Any]) -> str:
    from unwritten.readers.mllm.media import clip_file, sample_frames

    count = int(sent["frames"])
    images, _ = sample_frames(clip_file(clip, modality), float(sent["fps_asked"]), count, max(sent["size_px"]))
    if len(images) != count:
        raise ValueError(f"{clip.id}: gives {len(images)} frames now, not {count}")
    chosen = np.unique(np.linspace(0, count - 1, min(_SHOWN, count)).round().astype(int))
    width = max(1, round(images[0].shape[1] * _HEIGHT_PX / images[0].shape[0]))
    small = [cv2.resize(images[place], (width, _HEIGHT_PX), interpolation=cv2.INTER_AREA) for place in chosen]
    return jpeg_uri(np.concatenate(small, axis=1), 70)
