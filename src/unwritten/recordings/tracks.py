"""The track of a file, tracked once: what the store keeps of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from unwritten.files import digest_file
from unwritten.sources import code_digest
from unwritten.store import Arrays, Store
from unwritten.tracking.settings import TrackerSettings, nib_weights
from unwritten.types import Track


def stored_track(path: Path | str, settings: TrackerSettings, store: Store | None) -> Track:
    """The track of a file, from the store when it was tracked before under the same settings."""
    from unwritten.tracking import track

    if store is None or not Path(path).is_file():
        return track(path, settings)
    key = {"code": code_digest(__name__), "file": digest_file(path), "tracker": tracker_key(settings)}
    return _track_from_arrays(store.get_or_compute("track", key, lambda: _arrays_from_track(track(path, settings))))


def tracker_key(settings: TrackerSettings) -> Mapping[str, Any]:
    """What a track depends on besides its file and the code: settings, and the weights of the learned detector."""
    weights = nib_weights()
    return {**asdict(settings), "weights": digest_file(weights) if settings.detector and weights.is_file() else None}


def _arrays_from_track(track: Track) -> Arrays:
    bridged = track.bridged if track.bridged is not None else np.zeros(len(track), dtype=np.bool_)
    writing = np.nan if track.writing_rad is None else track.writing_rad
    page = {} if track.page_px is None else {"page_px": track.page_px}
    return page | {
        "time_s": track.time_s,
        "tip_px": track.tip_px,
        "visible": track.visible,
        "confidence": track.confidence,
        "shot": track.shot,
        "shaft_rad": track.shaft_rad,
        "contact": track.contact,
        "bridged": bridged,
        "frame": np.array([*track.size_px, track.sample_aspect_ratio, writing, float(track.mirrored)]),
    }


def _track_from_arrays(arrays: Arrays) -> Track:
    width, height, aspect, writing, mirrored = (float(value) for value in arrays.pop("frame"))
    return Track(
        **arrays,
        size_px=(width, height),
        sample_aspect_ratio=aspect,
        writing_rad=None if np.isnan(writing) else writing,
        mirrored=bool(mirrored),
    )
