"""From a clip's file to a recording: the track, the sound, or both, and nothing that the modality does not hold."""

from __future__ import annotations

import logging
from dataclasses import asdict
from pathlib import Path

import numpy as np

from unwritten.errors import UnwrittenError
from unwritten.files import digest_file
from unwritten.media import modality_from_name
from unwritten.store import Arrays, Store
from unwritten.tracking.settings import TrackerSettings
from unwritten.types import Clip, Modality, Recording, Track

_LOG = logging.getLogger("unwritten")
_SILENCE = 10 ** (-75 / 20)  # full scale 1: below the noise of any microphone that was switched on
TRACK_VERSION = 2
"""Raised when the tracker changes what it gives under the same settings."""


def modality_of_file(path: Path | str) -> Modality:
    """What a file is for: its name decides (``.mp3`` is sound, ``_muted`` is video), then its content.

    Raises:
        UnwrittenError: the file cannot be read or holds neither video nor sound.
    """
    named = modality_from_name(path)
    if named is not None:
        return named
    from unwritten.media import probe

    info = probe(path)
    if info.video is not None and info.audio is not None:
        return "av"
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
    track = waveform = None
    offset_s = 0.0
    if modality in ("video", "av"):
        track = stored_track(path, tracker or TrackerSettings(), store)
        if len(track) < 2:
            raise UnwrittenError(f"{path}: there is nothing to read, it has one frame only; give a film of the writing")
    if modality in ("audio", "av"):
        from unwritten.media import read_audio_report

        waveform, report = read_audio_report(path)
        for message in report.warnings:
            _LOG.warning("%s", message)
        offset_s = report.offset_s if modality == "av" else 0.0
        if modality == "audio" and (not len(waveform) or float(np.abs(waveform).max()) < _SILENCE):
            raise UnwrittenError(f"{path}: there is nothing to read, its sound is silent; give a recording of the pen")
    if track is not None and not track.visible.any():
        raise UnwrittenError(f"{path}: there is nothing to read, no pen is in view; film the tip of the pen")
    return Recording(track=track, waveform=waveform, audio_offset_s=offset_s)


def record_clip(
    clip: Clip, modality: Modality, tracker: TrackerSettings | None = None, store: Store | None = None
) -> Recording:
    """The recording of a clip in one modality, from memory or from its file.

    Raises:
        UnwrittenError: the clip lacks the modality, or its file has nothing to read.
    """
    if clip.recording is not None:
        return clip.recording.only(modality)
    if modality not in clip.files:
        raise UnwrittenError(f"{clip.id}: has no {modality} file; leave out modality={modality} or add the file")
    if clip.shot is not None:
        from unwritten.recordings.shots import record_shot  # which records whole files

        return record_shot(clip, modality, tracker, store)
    return record_file(clip.files[modality], modality, tracker, store)


def stored_track(path: Path | str, settings: TrackerSettings, store: Store | None) -> Track:
    """The track of a file, from the store when it was tracked before under the same settings."""
    from unwritten.tracking import track

    if store is None or not Path(path).is_file():
        return track(path, settings)
    key = {"version": TRACK_VERSION, "file": digest_file(path), "tracker": asdict(settings)}
    return _track_from_arrays(store.get_or_compute("track", key, lambda: _arrays_from_track(track(path, settings))))


def _arrays_from_track(track: Track) -> Arrays:
    bridged = track.bridged if track.bridged is not None else np.zeros(len(track), dtype=np.bool_)
    writing = np.nan if track.writing_rad is None else track.writing_rad
    return {
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
