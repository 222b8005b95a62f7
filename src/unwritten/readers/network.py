"""A checkpoint that reads clips: from a recording to features to emissions. U is the number of emission frames, A of
labels.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from unwritten.features.extract import FeatureSettings, extract
from unwritten.files import digest_file
from unwritten.models.checkpoint import default_checkpoint, load_model
from unwritten.models.encoder import SUBSAMPLING
from unwritten.models.fusion import HEADS
from unwritten.recordings.clips import clip_features
from unwritten.store import Store
from unwritten.tracking.settings import TrackerSettings
from unwritten.types import Clip, Features, Modality, Recording

Emissions = NDArray[np.float32]
Heard = tuple[Emissions, float]
"""Emissions ``[U, A]`` of a clip, and how far its track is to be trusted."""


class CtcNetwork:
    """A checkpoint that turns recordings into emissions.

    Args:
        checkpoint: a checkpoint file; None takes the one that the project ships.

    Raises:
        UnwrittenError: it cannot be read.
    """

    def __init__(self, checkpoint: Path | str | None = None) -> None:
        self.path = Path(checkpoint) if checkpoint else default_checkpoint()
        loaded = load_model(self.path)
        self.network = loaded.network
        self.about = loaded.about
        self.features = FeatureSettings.from_mapping(loaded.features)
        self.alphabet = loaded.network.settings.alphabet
        self.emission_rate_hz = self.features.kinematics.rate_hz / SUBSAMPLING
        self._kept = EmissionCache()

    def features_of(self, recording: Recording) -> Features:
        """Features as the network was trained on."""
        return extract(recording, self.features)

    def log_probs(self, features: Features, modality: Modality) -> Emissions:
        """Emissions float32 ``[U, A]`` of the modality's head: log probabilities, the blank first."""
        with torch.inference_mode():
            logits = self.network(
                torch.from_numpy(features.kinematics)[None],
                torch.from_numpy(features.kinematics_mask)[None],
                torch.from_numpy(features.spectrogram)[None],
                torch.from_numpy(features.spectrogram_mask)[None],
                torch.tensor([len(features)]),
            )[HEADS.index(modality)]
            return logits[0].float().log_softmax(-1).numpy()

    def emissions_of(
        self, clip: Clip, modality: Modality, tracker: TrackerSettings | None = None, store: Store | None = None
    ) -> Emissions:
        """Emissions ``[U, A]`` of a clip in one modality, computed once for all readers of this network.

        Raises:
            UnwrittenError: the clip lacks the modality, or its file has nothing to read.
        """
        return self._heard(clip, modality, tracker, store)[0]

    def trust_of(
        self, clip: Clip, modality: Modality, tracker: TrackerSettings | None = None, store: Store | None = None
    ) -> float:
        """How far the track of a clip is to be trusted (``Features.trust``); it costs nothing beside the emissions."""
        return self._heard(clip, modality, tracker, store)[1]

    def _heard(self, clip: Clip, modality: Modality, tracker: TrackerSettings | None, store: Store | None) -> Heard:
        def compute() -> Heard:
            features = clip_features(clip, modality, self.features, tracker, store)
            return self.log_probs(features, modality), features.trust

        return self._kept.get_or_compute(clip, modality, tracker, compute)


def shared_network(checkpoint: Path | str | None = None) -> tuple[CtcNetwork, str]:
    """One network for all readers of a file, as long as its content stays the same, and the digest of that content.

    Raises:
        UnwrittenError: it cannot be read.
    """
    path = Path(checkpoint) if checkpoint else default_checkpoint()
    # A file that is missing has no digest; loading says so in the words that a user needs.
    digest = digest_file(path) if path.is_file() else ""
    return _network(str(path), digest), digest


@lru_cache(maxsize=4)
def _network(checkpoint: str, digest: str) -> CtcNetwork:
    return CtcNetwork(checkpoint)


class EmissionCache:
    """The latest emissions of one network, so that readers that differ in decoding alone run it once for each clip.

    As in the store, what was read is known by its content: the digest of a file; a recording in memory by its identity.
    Emissions that were used longest ago leave first.

    Args:
        most_bytes: of emissions held; a word's take some 20 kB.
    """

    def __init__(self, most_bytes: int = 256 << 20) -> None:
        self.most_bytes = most_bytes
        self.held_bytes = 0
        self._entries: OrderedDict[Hashable, tuple[Heard, Callable[[], Recording | None]]] = OrderedDict()

    def get_or_compute(
        self, clip: Clip, modality: Modality, tracker: TrackerSettings | None, compute: Callable[[], Heard]
    ) -> Heard:
        """Emissions and trust of a clip in one modality, tracked with these settings; computed if need be."""
        recording, path = clip.recording, clip.files.get(modality)
        if recording is None and (path is None or not path.is_file()):
            return compute()  # which says what is missing
        content = digest_file(path) if recording is None and path is not None else id(recording)
        key = (content, clip.shot, modality, tracker)
        if key in self._entries:
            heard, whose = self._entries[key]
            if whose() is recording:  # once an object is gone, another may have its identity
                self._entries.move_to_end(key)
                return heard
            self._drop(key)
        heard = compute()
        self._entries[key] = (heard, weakref.ref(recording) if recording is not None else lambda: None)
        self.held_bytes += heard[0].nbytes
        while self.held_bytes > self.most_bytes:
            self._drop(next(iter(self._entries)))
        return heard

    def _drop(self, key: Hashable) -> None:
        self.held_bytes -= self._entries.pop(key)[0][0].nbytes
