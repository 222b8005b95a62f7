"""From a clip to its recording and features, whatever it is: a recording in memory, files, or one shot of them."""

from __future__ import annotations

from unwritten.errors import UnwrittenError
from unwritten.features.extract import FeatureSettings, extract
from unwritten.recordings.record import record_file, stored_features
from unwritten.recordings.shots import record_shot
from unwritten.store import Store
from unwritten.tracking.settings import TrackerSettings
from unwritten.types import Clip, Features, Modality, Recording


def record_clip(
    clip: Clip, modality: Modality, tracker: TrackerSettings | None = None, store: Store | None = None
) -> Recording:
    """The recording of a clip in one modality, from memory or from its file.

    Args:
        clip: the item.
        modality: nothing else of it is looked at or listened to.
        tracker: settings of the tracker; None takes the defaults.
        store: where tracks of files are kept; None computes anew.

    Raises:
        UnwrittenError: the clip lacks the modality, or its file has nothing to read.
    """
    if clip.recording is not None:
        return clip.recording.only(modality)
    if modality not in clip.files:
        raise UnwrittenError(f"{clip.id}: has no {modality} file; leave out modality={modality} or add the file")
    if clip.shot is not None:
        return record_shot(clip, modality, tracker, store)
    return record_file(clip.files[modality], modality, tracker, store)


def clip_features(
    clip: Clip, modality: Modality, settings: FeatureSettings, tracker: TrackerSettings | None, store: Store | None
) -> Features:
    """Features of a clip in one modality; those of a whole file are kept in the store.

    Raises:
        UnwrittenError: the clip lacks the modality, or its file has nothing to read.
    """
    if clip.recording is None and clip.shot is None and modality in clip.files:
        return stored_features(clip.files[modality], modality, settings, tracker, store)
    return extract(record_clip(clip, modality, tracker, store), settings)
