"""Real clips, tracked and heard once through the store, and training items joined from them.

What is joined are tracks and log-mel energies, so that a joined word is scaled as a whole and each shot keeps its own
floor, as in the benchmark's synthetic words. S is the number of clips, T of feature frames, M of mel bands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unwritten.errors import UnwrittenError
from unwritten.features.extract import FeatureSettings, track_features
from unwritten.features.kinematics import CHANNELS
from unwritten.parallel import run_jobs
from unwritten.simulation.camera import CameraSettings
from unwritten.store import Store, StoreError
from unwritten.training.pool import quantise
from unwritten.training.samples import ComposedItem, PlannedItem, SoundAugmentSettings, letter_shots, sound_change
from unwritten.types import Clip, FloatArray, Modality, Track

_BEST_FIRST: tuple[Modality, ...] = ("av", "video", "audio")
_REFERENCE_DIAGONAL_PX = 550.0  # of the camera settings' pixels

AS_THEY_ARE = replace(
    CameraSettings(),
    direction_error_rad=0.0,
    shot_rotation_rad=0.0,
    shot_scale_spread=0.0,
    aspect_median=1.0,
    aspect_spread=0.0,
    shear=0.0,
    jitter_px=0.0,
)
"""A camera that changes nothing, for validation."""
UNCHANGED = SoundAugmentSettings(gain=0.0, tilt=0.0, shot_floor=0.0, offset_s=0.0, band_masks=0)
"""Sound that is left as it is."""


@dataclass(frozen=True)
class ClipBank:
    """Tracked and heard clips.

    Attributes:
        tracks: of each of S clips, None for sound alone.
        mel: of each clip uint8 ``[T, M]`` quantised energies.
        heard: of each clip bool ``[T]``.
        labels, writers, styles: str ``[S]``.
        failed: one line for each clip that could not be read.
    """

    tracks: tuple[Track | None, ...]
    mel: tuple[NDArray[np.uint8], ...]
    heard: tuple[NDArray[np.bool_], ...]
    labels: NDArray[np.str_]
    writers: NDArray[np.str_]
    styles: NDArray[np.str_]
    failed: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.labels)


def load_bank(
    clips: Sequence[Clip], features: FeatureSettings, store: Store, processes: int, alphabet: str, progress: bool = True
) -> ClipBank:
    """Track and hear clips, or take them from the store; each in the richest modality that it has.

    Raises:
        UnwrittenError: not one clip can be read, or the store cannot be written.
    """
    usable = [clip for clip in clips if clip.word and set(clip.word) <= set(alphabet) and clip.files]
    work = partial(_load, features=features, root=store.root)
    done = dict(run_jobs(work, usable, processes, "tracking", "clip", progress))
    loaded = [(clip, done[number]) for number, clip in enumerate(usable)]
    failed = tuple(entry for _, entry in loaded if isinstance(entry, str))
    read = [(clip, entry) for clip, entry in loaded if not isinstance(entry, str)]
    if clips and not read:
        raise UnwrittenError(failed[0] if failed else f"{clips[0].id}: holds letters that the alphabet lacks")
    return ClipBank(
        tracks=tuple(entry[0] for _, entry in read),
        mel=tuple(entry[1] for _, entry in read),
        heard=tuple(entry[2] for _, entry in read),
        labels=np.array([clip.word for clip, _ in read], dtype=np.str_),
        writers=np.array([clip.writer or clip.style for clip, _ in read], dtype=np.str_),
        styles=np.array([clip.style for clip, _ in read], dtype=np.str_),
        failed=failed,
    )


def _load(
    clip: Clip, features: FeatureSettings, root: Path
) -> tuple[Track | None, NDArray[np.uint8], NDArray[np.bool_]] | str:
    """Track, energies and their mask of one clip, or why it cannot be read."""
    # Readers build on models: what they keep of files is reached from here only when clips are trained on.
    from unwritten.recordings.record import stored_features
    from unwritten.recordings.tracks import stored_track
    from unwritten.tracking.settings import TrackerSettings

    store = Store(root)
    modality = next(modality for modality in _BEST_FIRST if modality in clip.files)
    path = clip.files[modality]
    try:
        found = stored_features(path, modality, features, None, store)
        track = stored_track(path, TrackerSettings(), store) if modality != "audio" else None
    except StoreError:
        raise
    except (UnwrittenError, ValueError) as error:
        return str(error)
    return track, quantise(found.spectrogram, features.spectrogram), found.spectrogram_mask


def describe_clips(bank: ClipBank) -> dict[str, Any]:
    """Counts of a bank for the run's record."""
    lengths = np.char.str_len(bank.labels)
    return {
        "letters": int((lengths == 1).sum()),
        "words": int((lengths > 1).sum()),
        "styles": sorted({str(style) for style in bank.styles}),
        "failed": len(bank.failed),
    }


def compose_clips(
    item: PlannedItem, bank: ClipBank, camera: CameraSettings, sound: SoundAugmentSettings, features: FeatureSettings
) -> ComposedItem:
    """Join and vary the clips of one item.

    Args:
        item: which clips in which order, and the seed of everything else.
        bank: where they are.
        camera: how views differ; of the tracker's errors only jitter is added, the clips hold the others.
        sound: how loudness differs.
        features: rate and columns.
    """
    rng = np.random.default_rng(item.seed)
    energies = np.concatenate([bank.mel[entry] for entry in item.entries])
    heard = np.concatenate([bank.heard[entry] for entry in item.entries])
    if any(bank.tracks[entry] is not None for entry in item.entries):
        kinematics, known, _ = track_features(_joined(item, bank, camera, features, rng), features)
    else:
        kinematics, known = np.zeros((len(heard), len(CHANNELS)), np.float32), np.zeros(len(heard), np.bool_)
    count = min(len(kinematics), len(heard))
    kinematics, known = np.asarray(kinematics[:count], dtype=np.float32), np.asarray(known[:count], dtype=np.bool_)
    energies, heard = energies[:count], heard[:count]
    change = sound_change(sound, features.spectrogram, count, rng)
    draw = rng.random()
    if draw < sound.video_only and known.any():
        heard = np.zeros_like(heard)
    elif draw > 1.0 - sound.audio_only and heard.any():
        kinematics, known = np.zeros_like(kinematics), np.zeros_like(known)
    shot = letter_shots(item, np.array([len(bank.mel[entry]) for entry in item.entries]), count)
    return ComposedItem(kinematics, known, energies, heard, change, shot, item.word)


def levelled(track: Track) -> FloatArray:
    """Tip ``[T, 2]`` turned so that writing runs along +x with y down, in diagonals of the frame."""
    return track.along_writing() / max(track.diagonal_px, 1e-9)


def _joined(
    item: PlannedItem, bank: ClipBank, camera: CameraSettings, features: FeatureSettings, rng: np.random.Generator
) -> Track:
    """One track of all clips, one after the other on the features' clock, seen from slightly elsewhere."""
    rate_hz = features.kinematics.rate_hz
    # Filmed letters are as narrow as the camera made them: only the spread is for them.
    aspect, shear = np.exp(rng.normal(0.0, camera.aspect_spread)), rng.normal(0.0, camera.shear)
    squash = np.array([[np.sqrt(aspect), 0.0], [shear, 1.0 / np.sqrt(aspect)]])
    turn_rad = rng.normal(0.0, camera.direction_error_rad)
    joined = len(item.entries) > 1
    parts: list[tuple[NDArray[Any], ...]] = []
    start_s, shots = 0.0, 0
    for entry in item.entries:
        track, frames = bank.tracks[entry], len(bank.mel[entry])
        if track is None:
            clock_s, nothing = np.arange(frames) / rate_hz, np.zeros(frames)
            part: tuple[NDArray[Any], ...] = (
                clock_s + start_s,
                np.zeros((frames, 2)),
                nothing > 0,
                np.full(frames, shots),
                nothing + 0.5,
            )
        else:
            xy = levelled(track) if features.rotate else np.asarray(track.tip_px, np.float64) / track.diagonal_px
            # A clip that is taken as it is holds the changes from shot to shot already.
            angle = turn_rad + (rng.normal(0.0, camera.shot_rotation_rad) if joined else 0.0)
            size = np.exp(rng.normal(0.0, camera.shot_scale_spread)) if joined else 1.0
            turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
            xy = size * xy @ squash @ turn
            xy = xy + rng.normal(0.0, camera.jitter_px / _REFERENCE_DIAGONAL_PX, xy.shape)
            shot = np.asarray(track.shot) - int(track.shot[0]) + shots
            part = (np.asarray(track.time_s) + start_s, xy, np.asarray(track.visible), shot, np.asarray(track.contact))
        parts.append(part)
        start_s += frames / rate_hz
        shots = int(part[3][-1]) + 1
    time_s, xy, visible, shot, contact = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    full = np.ones(len(time_s))
    return Track(time_s, xy, visible.astype(np.bool_), full, shot, 0 * full, contact, (1.0, 1.0), writing_rad=0.0)
