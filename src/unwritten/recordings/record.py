"""What a file holds: its modality, its recording, and the features of it that the store keeps."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unwritten.errors import UnwrittenError
from unwritten.features.extract import FeatureSettings, extract
from unwritten.files import digest_file
from unwritten.media import modality_from_name
from unwritten.media.audio import AudioReport
from unwritten.recordings.tracks import stored_track, tracker_key
from unwritten.sources import code_digest
from unwritten.store import Arrays, Store
from unwritten.tracking.settings import TrackerSettings
from unwritten.types import Features, Modality, Recording

_LOG = logging.getLogger("unwritten")
_SHORTEST_S = 0.05  # less than three frames of the features: no letter is written so quickly
_SILENCE = 10 ** (-75 / 20)  # full scale 1: below the noise of any microphone that was switched on


def modality_of_file(path: Path | str) -> Modality:
    """What a file is for: its name decides (``.mp3`` is sound, ``_muted`` is video), then its content.

    Raises:
        UnwrittenError: the file cannot be read or holds neither video nor sound.
    """
    named = modality_from_name(path)
    if named is not None:
        return named
    from unwritten.media import probe
    from unwritten.media.headers import is_still

    info = probe(path)
    if info.video is not None and info.audio is not None:
        # One picture beside sound is a cover, whether or not the container says so.
        return "audio" if is_still(info.video) else "av"
    if info.video is None and info.audio is None:
        raise UnwrittenError(f"{path}: holds neither video nor sound; give a recording of a hand that writes")
    return "video" if info.video is not None else "audio"


def record_file(
    path: Path | str, modality: Modality, tracker: TrackerSettings | None = None, store: Store | None = None
) -> Recording:
    """Track and hear one file, as far as the modality allows.

    Args:
        path: the file.
        modality: ``audio`` never looks at pictures that the container may hide; ``video`` never listens.
        tracker: settings of the tracker.
        store: where tracks are kept; None computes anew.

    Raises:
        UnwrittenError: the file lacks the modality, or there is nothing in it to read.
    """
    if modality == "audio":
        return record_sound(path)[0]
    track = stored_track(path, tracker or TrackerSettings(), store)
    if len(track) < 2:
        raise UnwrittenError(
            f"{path}: there is nothing to read, it has one frame only; give a film of the writing, or read its sound"
            " (--modality audio)"
        )
    waveform, offset_s = None, 0.0
    if modality == "av":
        waveform, report = _heard(path)
        offset_s = report.offset_s
    if not track.visible.any():
        raise UnwrittenError(f"{path}: there is nothing to read, no pen is in view; film the tip of the pen")
    return Recording(track=track, waveform=waveform, audio_offset_s=offset_s)


def record_sound(path: Path | str) -> tuple[Recording, AudioReport]:
    """The sound of a file alone, and how it was put together.

    Raises:
        UnwrittenError: the file has no sound, or is silent.
    """
    waveform, report = _heard(path)
    if report.duration_s < _SHORTEST_S:
        raise UnwrittenError(
            f"{path}: there is nothing to read, its sound lasts {1000 * report.duration_s:.0f} ms only; give a"
            " recording of the whole word"
        )
    if not len(waveform) or float(np.abs(waveform).max()) < _SILENCE:
        raise UnwrittenError(f"{path}: there is nothing to read, its sound is silent; give a recording of the pen")
    return Recording(waveform=waveform), report


def _heard(path: Path | str) -> tuple[NDArray[np.float32], AudioReport]:
    from unwritten.media import read_audio_report

    waveform, report = read_audio_report(path)
    for message in report.warnings:
        _LOG.warning("%s", message)
    return waveform, report


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
        "code": code_digest(__name__),
        "file": digest_file(path),
        "modality": modality,
        "tracker": tracker_key(tracker) if modality != "audio" else None,
        "features": settings.as_mapping(),
    }
    arrays = store.get_or_compute(
        "features", key, lambda: _arrays_from_features(extract(record_file(path, modality, tracker, store), settings))
    )
    trust = float(arrays.pop("trust"))
    return Features(**arrays, rate_hz=settings.kinematics.rate_hz, trust=trust)


def _arrays_from_features(features: Features) -> Arrays:
    return {
        "kinematics": np.asarray(features.kinematics),
        "kinematics_mask": features.kinematics_mask,
        "spectrogram": np.asarray(features.spectrogram),
        "spectrogram_mask": features.spectrogram_mask,
        "shot": features.shot,
        "trust": np.array(features.trust),
    }
