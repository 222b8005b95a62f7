"""Features of files, kept in the store: tracked, heard and extracted once per content and settings."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np

from unwritten.features.extract import FeatureSettings, extract
from unwritten.files import digest_file
from unwritten.recordings.record import TRACK_VERSION, record_file
from unwritten.store import Arrays, Store
from unwritten.tracking.settings import TrackerSettings
from unwritten.types import Features, Modality

_VERSION = 1  # raised when the same settings give other features


def stored_features(
    path: Path | str,
    modality: Modality,
    settings: FeatureSettings,
    tracker: TrackerSettings | None,
    store: Store | None,
) -> Features:
    """Features of a file in one modality, from the store when they were extracted before under the same settings.

    Args:
        path: the file; its content is what counts, not its name.
        modality: what may be looked at and listened to.
        settings: of the features.
        tracker: None takes the default settings.
        store: None computes anew.

    Raises:
        UnwrittenError: the file lacks the modality, there is nothing in it to read, or the store cannot be written.
    """
    tracker = tracker or TrackerSettings()
    if store is None or not Path(path).is_file():
        return extract(record_file(path, modality, tracker, store), settings)
    key = {
        "version": [_VERSION, TRACK_VERSION],
        "file": digest_file(path),
        "modality": modality,
        "tracker": asdict(tracker) if modality != "audio" else None,
        "features": settings.as_mapping(),
    }
    arrays = store.get_or_compute(
        "features", key, lambda: _arrays(extract(record_file(path, modality, tracker, store), settings))
    )
    return Features(**arrays, rate_hz=settings.kinematics.rate_hz)


def _arrays(features: Features) -> Arrays:
    return {
        "kinematics": np.asarray(features.kinematics),
        "kinematics_mask": features.kinematics_mask,
        "spectrogram": np.asarray(features.spectrogram),
        "spectrogram_mask": features.spectrogram_mask,
        "shot": features.shot,
    }
