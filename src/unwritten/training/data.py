"""Batches of composed items: bounded by frames, of like length, the same for any number of workers and devices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import lightning
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, Sampler

from unwritten.features.extract import FeatureSettings
from unwritten.models.encoder import SUBSAMPLING
from unwritten.models.module import Batch
from unwritten.simulation.camera import CameraSettings
from unwritten.training.pool import Pool
from unwritten.training.samples import (
    ComposedItem,
    PlannedItem,
    Planner,
    SoundAugmentSettings,
    compose,
    item_frames,
)


@dataclass(frozen=True)
class LoaderSettings:
    """Sizes of batches and epochs.

    Attributes:
        items_per_epoch: planned items of an epoch.
        max_frames: feature frames of a batch, padding included.
        max_items: items of a batch.
        longest_s: items longer than this are left out of training.
        validation_items: items of the fixed validation set.
        workers: processes that compose batches.
    """

    items_per_epoch: int = 8_192
    max_frames: int = 16_384
    max_items: int = 64
    longest_s: float = 20.0
    validation_items: int = 512
    workers: int = 1


_PAD_FRAMES = 64
"""Batches are padded to a multiple of this: a new shape costs the CPU's kernels more than a few frames of padding."""


def padded_frames(frames: int) -> int:
    """Frames of an item with padding to the next multiple of ``_PAD_FRAMES``."""
    return -(-frames // _PAD_FRAMES) * _PAD_FRAMES


def collate(items: Sequence[ComposedItem], alphabet: str) -> Batch:
    """Pad items to one batch; masks are False in the padding."""
    longest = padded_frames(max(len(item.kinematics) for item in items))
    first = items[0]
    kinematics = np.zeros((len(items), longest, first.kinematics.shape[1]), dtype=np.float32)
    spectrogram = np.zeros((len(items), longest, first.spectrogram.shape[1]), dtype=np.float32)
    known = np.zeros((len(items), longest), dtype=np.bool_)
    heard = np.zeros((len(items), longest), dtype=np.bool_)
    for row, item in enumerate(items):
        frames = len(item.kinematics)
        kinematics[row, :frames] = item.kinematics
        spectrogram[row, :frames] = item.spectrogram
        known[row, :frames] = item.kinematics_mask
        heard[row, :frames] = item.spectrogram_mask
    labels = [alphabet.index(letter) + 1 for item in items for letter in item.word]
    return Batch(
        torch.from_numpy(kinematics),
        torch.from_numpy(known),
        torch.from_numpy(spectrogram),
        torch.from_numpy(heard),
        torch.tensor([len(item.kinematics) for item in items]),
        torch.tensor(labels),
        torch.tensor([len(item.word) for item in items]),
    )


def bucket(frames: Sequence[int], settings: LoaderSettings, rng: np.random.Generator) -> list[list[int]]:
    """Group item numbers into batches of like length within the bounds, in random order."""
    order = np.argsort(np.asarray(frames) + rng.integers(0, 30, size=len(frames)), kind="stable")
    batches: list[list[int]] = []
    current: list[int] = []
    longest = 0
    for index in order:
        longest = max(longest, padded_frames(frames[index]))
        if current and (len(current) == settings.max_items or longest * (len(current) + 1) > settings.max_frames):
            batches.append(current)
            current, longest = [], padded_frames(frames[index])
        current.append(int(index))
    if current:
        batches.append(current)
    return [batches[number] for number in rng.permutation(len(batches))]


class SimulatedBatches(Dataset[Batch]):
    """Batch (epoch, number) of a planner; a pure function of the two."""

    def __init__(
        self,
        planner: Planner,
        pool: Pool,
        camera: CameraSettings,
        sound: SoundAugmentSettings,
        features: FeatureSettings,
        settings: LoaderSettings,
        alphabet: str,
        items: int,
    ) -> None:
        self.planner, self.pool, self.camera, self.sound = planner, pool, camera, sound
        self.features, self.settings, self.alphabet, self.items = features, settings, alphabet, items
        self._epoch: int | None = None
        self._plan: list[PlannedItem] = []
        self._batches: list[list[int]] = []

    def batches(self, epoch: int) -> list[list[int]]:
        """Item numbers of every batch of an epoch."""
        if self._epoch != epoch:
            rate_hz = self.features.kinematics.rate_hz
            limit = int(self.settings.longest_s * rate_hz)
            plan = self.planner.plan(epoch, self.items)
            frames = [item_frames(item, self.pool, rate_hz) for item in plan]
            # An item must leave the network enough emission frames for its letters and the blanks between equal ones.
            fits = [
                n
                for n, (item, count) in enumerate(zip(plan, frames, strict=True))
                if 2 * SUBSAMPLING * (len(item.word) + 1) <= count <= limit
            ]
            self._plan = [plan[n] for n in fits]
            self._batches = bucket(
                [frames[n] for n in fits], self.settings, np.random.default_rng([self.planner.seed, epoch, 1])
            )
            self._epoch = epoch
        return self._batches

    def __getitem__(self, key: tuple[int, int]) -> Batch:
        epoch, number = key
        chosen = self.batches(epoch)[number]
        items = [compose(self._plan[n], self.pool, self.camera, self.sound, self.features) for n in chosen]
        return collate(items, self.alphabet)


class EpochSampler(Sampler[tuple[int, int]]):
    """Keys (epoch, number) of an epoch's batches, dealt out to the devices in turn; all get equally many."""

    def __init__(self, batches: SimulatedBatches, rank: int = 0, devices: int = 1) -> None:
        self.source, self.rank, self.devices = batches, rank, devices
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Called by Lightning before every epoch."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return ((self.epoch, number) for number in range(self.rank, len(self) * self.devices, self.devices))

    def __len__(self) -> int:
        return len(self.source.batches(self.epoch)) // self.devices


class SimulatedData(lightning.LightningDataModule):
    """Training batches from one pool, validation batches from another of other writers."""

    def __init__(self, training: SimulatedBatches, validation: SimulatedBatches, settings: LoaderSettings) -> None:
        super().__init__()
        self.training, self.validation, self.settings = training, validation, settings

    def train_dataloader(self) -> DataLoader[Batch]:
        """Batches of the trainer's current epoch."""
        trainer = self.trainer
        rank, devices = (trainer.global_rank, trainer.world_size) if trainer is not None else (0, 1)
        return self._loader(self.training, rank, devices)

    def val_dataloader(self) -> DataLoader[Batch]:
        """The same batches every time, whole on every device."""
        return self._loader(self.validation, 0, 1)

    def _loader(self, batches: SimulatedBatches, rank: int, devices: int) -> DataLoader[Batch]:
        workers = self.settings.workers
        return DataLoader(
            batches,
            batch_size=None,
            sampler=EpochSampler(batches, rank, devices),
            num_workers=workers,
            persistent_workers=workers > 0,
            prefetch_factor=4 if workers else None,
            pin_memory=torch.cuda.is_available(),
        )
