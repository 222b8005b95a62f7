"""From a recording to the model's input: both streams on one clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from unwritten.config import settings_from
from unwritten.features.canonical import canonical_xy
from unwritten.features.kinematics import (
    CHANNELS,
    KinematicsSettings,
    differentiate,
    kinematic_channels,
)
from unwritten.features.spectrogram import SpectrogramSettings, frame_count, log_mel
from unwritten.types import Features, FloatArray, Recording, Track


@dataclass(frozen=True)
class FeatureSettings:
    """How a recording becomes the model's input; stored in every checkpoint.

    Attributes:
        kinematics: rate, windows and columns of the kinematics.
        spectrogram: the log-mel spectrogram; its rate is the kinematics' rate.
        rotate: turn the track to the canonical view (False is an ablation).
        scale_per_shot: scale every shot by itself (an ablation).
        piece_s: shots longer than this are centred and scaled in pieces, for takes of several words; None does not.
    """

    kinematics: KinematicsSettings = field(default_factory=KinematicsSettings)
    spectrogram: SpectrogramSettings = field(default_factory=SpectrogramSettings)
    rotate: bool = True
    scale_per_shot: bool = False
    piece_s: float | None = None

    def __post_init__(self) -> None:
        if self.piece_s is not None and not self.piece_s > 0:
            raise ValueError(f"piece_s={self.piece_s}: give a number above 0, or null")
        if self.kinematics.rate_hz != self.spectrogram.rate_hz:
            raise ValueError("kinematics.rate_hz and spectrogram.rate_hz must be one rate")

    @classmethod
    def from_mapping(cls, node: Mapping[str, Any] | None) -> FeatureSettings:
        """Build from nested plain values, as stored in a checkpoint or composed by Hydra.

        Raises:
            UsageError: a key is unknown or a value refused.
        """
        values = dict(node or {})
        for name, part in (("kinematics", KinematicsSettings), ("spectrogram", SpectrogramSettings)):
            values[name] = settings_from(part, values.get(name), f"features.{name}")
        return settings_from(cls, values, "features")

    def as_mapping(self) -> dict[str, Any]:
        """Nested plain values that ``from_mapping`` takes back."""
        return asdict(self)


def track_features(track: Track, settings: FeatureSettings) -> tuple[FloatArray, np.ndarray, np.ndarray]:
    """Kinematics of a track: channels float32 ``[N, K]``, known bool ``[N]``, shot int ``[N]``."""
    motion = differentiate(
        track.time_s,
        canonical_xy(track, settings.rotate, settings.scale_per_shot, settings.piece_s),
        track.visible,
        track.shot,
        settings.kinematics,
    )
    contact = np.interp(motion.time_s, track.time_s, np.where(track.visible, track.contact, 0.5))
    return kinematic_channels(motion, contact, settings.kinematics), motion.known, motion.shot


def extract(recording: Recording, settings: FeatureSettings) -> Features:
    """Features of a recording; a stream that it lacks is masked throughout.

    The clock is the track's, on which sound is placed by ``audio_offset_s``; without a track it is the sound's.

    Raises:
        ValueError: the recording holds neither a track nor sound.
    """
    track, waveform = recording.track, recording.waveform
    rate_hz = settings.kinematics.rate_hz
    if track is not None and len(track):
        kinematics, known, shot = track_features(track, settings)
        count = len(kinematics)
    elif waveform is not None:
        count = frame_count(len(waveform), recording.sample_rate_hz, rate_hz)
        kinematics = np.zeros((count, len(CHANNELS)), dtype=np.float32)
        known, shot = np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.int64)
        track = None
    else:
        raise ValueError("a recording needs a track or sound")
    mels = settings.spectrogram.n_mels
    spectrogram = np.zeros((count, mels), dtype=np.float32)
    heard = np.zeros(count, dtype=np.bool_)
    if waveform is not None and len(waveform):
        offset_s = recording.audio_offset_s
        starts_s = [time - offset_s for time in track.shot_starts_s] if track is not None else None
        spectrogram = log_mel(
            waveform,
            recording.sample_rate_hz,
            settings.spectrogram,
            start_s=-offset_s,
            n_frames=count,
            shot_starts_s=starts_s,
        )
        time_s = np.arange(count) / rate_hz - offset_s
        heard = (time_s >= 0) & (time_s < len(waveform) / recording.sample_rate_hz)
    return Features(
        kinematics=np.asarray(kinematics, dtype=np.float32),
        kinematics_mask=np.asarray(known, dtype=np.bool_),
        spectrogram=spectrogram,
        spectrogram_mask=heard,
        shot=np.asarray(shot),
        rate_hz=rate_hz,
        trust=1.0 if track is None or not track.visible.any() else float(track.confidence[track.visible].mean()),
    )
