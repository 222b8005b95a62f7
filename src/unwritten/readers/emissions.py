"""Emissions kept in memory, so that readers that differ in decoding alone run the network once for each clip."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unwritten.errors import UnwrittenError
from unwritten.tracking.settings import TrackerSettings
from unwritten.types import Clip, Modality, Recording

Emissions = NDArray[np.float32]


@dataclass(frozen=True)
class _Entry:
    emissions: Emissions
    recording: weakref.ref[Recording] | None


class EmissionCache:
    """The latest emissions by clip, modality, checkpoint and tracker; those used longest ago leave first.

    Args:
        most_bytes: of emissions held; a word's take some 20 kB.
    """

    def __init__(self, most_bytes: int = 256 << 20) -> None:
        self.most_bytes = most_bytes
        self.held_bytes = 0
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()

    def get_or_compute(
        self,
        clip: Clip,
        modality: Modality,
        checkpoint: str,
        tracker: TrackerSettings | None,
        compute: Callable[[], Emissions],
    ) -> Emissions:
        """The emissions of a clip, computed if need be.

        Args:
            clip: a recording in memory must be the same object, a file unchanged.
            modality: what of it is read.
            checkpoint: digest of the network.
            tracker: settings of the tracker.
            compute: gives the emissions ``[U, C]``.
        """
        key = (clip.id, modality, checkpoint, tracker, clip.shot, _source(clip, modality))
        entry = self._entries.get(key)
        # Once an object is gone, another may have its identity.
        if entry is not None and (entry.recording is None or entry.recording() is clip.recording):
            self._entries.move_to_end(key)
            return entry.emissions
        emissions = compute()
        self._drop(key)
        self._entries[key] = _Entry(emissions, None if clip.recording is None else weakref.ref(clip.recording))
        self.held_bytes += emissions.nbytes
        while self.held_bytes > self.most_bytes:
            self._drop(next(iter(self._entries)))
        return emissions

    def _drop(self, key: Hashable) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self.held_bytes -= entry.emissions.nbytes


def _source(clip: Clip, modality: Modality) -> Hashable:
    if clip.recording is not None:
        return id(clip.recording)
    if modality not in clip.files:
        return None
    path = clip.files[modality]
    try:
        state = path.stat()
    except OSError as error:
        raise UnwrittenError(f"{path}: cannot be read ({error.strerror}); check the file") from error
    return str(path), state.st_mtime_ns, state.st_size
