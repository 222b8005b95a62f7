"""Batches of composed items: bounded by frames, of like length, the same for any number of workers.

A step's batch is dealt out to all devices item by item, so that no item comes twice, every device has the same lengths
to work on, and a step of D devices is a step of one device whose batches are D times as large.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import lightning
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, Sampler

from unwritten.config import INFINITE, bounded
from unwritten.errors import UsageError
from unwritten.features.extract import FeatureSettings
from unwritten.features.spectrogram import SpectrogramSettings
from unwritten.models.batch import LoadedBatch
from unwritten.models.encoder import SUBSAMPLING
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
    """Sizes of one device's batches, and of epochs.

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

    def __post_init__(self) -> None:
        least = (1, INFINITE)
        bounded(self, items_per_epoch=least, max_frames=least, max_items=least, validation_items=least)
        bounded(self, longest_s=(0.0, INFINITE), workers=(0, INFINITE))


_PAD_FRAMES = 64
"""Batches are padded to a multiple of this: a new shape costs the CPU's kernels more than a few frames of padding."""


def padded_frames(frames: int) -> int:
    """Frames of an item with padding to the next multiple of ``_PAD_FRAMES``."""
    return -(-frames // _PAD_FRAMES) * _PAD_FRAMES


def collate(items: Sequence[ComposedItem], alphabet: str, bands: SpectrogramSettings) -> LoadedBatch:
    """Pad items to one batch; masks are False in the padding."""
    longest = padded_frames(max(len(item.kinematics) for item in items))
    kinematics = np.zeros((len(items), longest, items[0].kinematics.shape[1]), dtype=np.float32)
    energies = np.zeros((len(items), longest, bands.n_mels), dtype=np.uint8)
    floor = np.zeros((len(items), longest), dtype=np.float32)
    known = np.zeros((len(items), longest), dtype=np.bool_)
    heard = np.zeros((len(items), longest), dtype=np.bool_)
    shots = np.full((len(items), longest), -1, dtype=np.int64)
    first = 0
    for row, item in enumerate(items):
        frames = len(item.kinematics)
        kinematics[row, :frames] = item.kinematics
        energies[row, :frames] = item.energies
        floor[row, :frames] = item.change.floor
        known[row, :frames] = item.kinematics_mask
        heard[row, :frames] = item.spectrogram_mask
        shots[row, :frames] = np.where(item.shot >= 0, item.shot + first, -1)
        first += len(item.word)
    labels = [alphabet.index(letter) + 1 for item in items for letter in item.word]
    return LoadedBatch(
        torch.from_numpy(kinematics),
        torch.from_numpy(known),
        torch.from_numpy(energies),
        torch.from_numpy(heard),
        torch.tensor([bands.lowest, bands.highest]),
        torch.tensor([item.change.gain for item in items]),
        torch.from_numpy(np.stack([item.change.tilt for item in items])),
        torch.from_numpy(floor),
        torch.from_numpy(np.stack([item.change.kept for item in items])),
        torch.from_numpy(shots[:, ::SUBSAMPLING].copy()),
        torch.tensor([len(item.kinematics) for item in items]),
        torch.tensor(labels, dtype=torch.int32),  # what cuDNN's CTC takes
        torch.tensor([len(item.word) for item in items]),
    )


def bucket(
    frames: Sequence[int], settings: LoaderSettings, rng: np.random.Generator, devices: int = 1
) -> list[list[int]]:
    """Group item numbers into a step's batches of like length, in random order; each device's part is in the bounds."""
    order = np.argsort(np.asarray(frames) + rng.integers(0, 30, size=len(frames)), kind="stable")
    batches: list[list[int]] = []
    current: list[int] = []
    longest = 0
    for index in order:
        longest = max(longest, padded_frames(frames[index]))
        each = -(-(len(current) + 1) // devices)
        if current and (each > settings.max_items or longest * each > settings.max_frames):
            batches.append(current)
            current, longest = [], padded_frames(frames[index])
        current.append(int(index))
    if current:
        batches.append(current)
    return [batches[number] for number in rng.permutation(len(batches))]


def as_many(batches: list[list[int]], count: int) -> list[list[int]]:
    """Exactly ``count`` batches: the largest are halved, or the last are left out.

    Lightning takes the first epoch's number for every epoch's; a shorter epoch would end without validation.
    """
    batches = list(batches)
    while len(batches) < count:
        largest = max(range(len(batches)), key=lambda number: len(batches[number]))
        batch = batches[largest]
        if len(batch) < 2:
            break
        batches[largest] = batch[::2]
        batches.append(batch[1::2])
    return batches[:count]


class SimulatedBatches(Dataset[LoadedBatch]):
    """One device's part of batch (epoch, number) of a planner; a pure function of the two."""

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
        devices: int = 1,
    ) -> None:
        self.planner, self.pool, self.camera, self.sound = planner, pool, camera, sound
        self.features, self.settings, self.alphabet, self.items = features, settings, alphabet, items
        self.rank, self.devices = 0, devices
        self._per_epoch: int | None = None
        self._epoch: int | None = None
        self._plan: list[PlannedItem] = []
        self._batches: list[list[int]] = []

    def part(self, rank: int, devices: int) -> SimulatedBatches:
        """The same batches as one of several devices sees them."""
        other = copy.copy(self)
        other.rank, other.devices = rank, devices
        if devices != self.devices:
            other._per_epoch = other._epoch = None
        return other

    def item_frames(self, item: PlannedItem) -> int:
        """Upper bound of an item's feature frames."""
        return item_frames(item, self.pool, self.features.kinematics.rate_hz)

    def compose(self, item: PlannedItem) -> ComposedItem:
        """Features of an item."""
        return compose(item, self.pool, self.camera, self.sound, self.features, self.planner.mix)

    def batches(self, epoch: int) -> list[list[int]]:
        """Item numbers of every batch of an epoch, of all devices together; every epoch has equally many."""
        if self._per_epoch is None and epoch != 0:
            self.batches(0)
        if self._epoch != epoch:
            rate_hz = self.features.kinematics.rate_hz
            limit = int(self.settings.longest_s * rate_hz)
            plan = self.planner.plan(epoch, self.items)
            frames = [self.item_frames(item) for item in plan]
            # An item must leave the network enough emission frames for its letters and the blanks between equal ones.
            fits = [
                n
                for n, (item, count) in enumerate(zip(plan, frames, strict=True))
                if 2 * SUBSAMPLING * (len(item.word) + 1) <= count <= limit
            ]
            self._plan = [plan[n] for n in fits]
            rng = np.random.default_rng([self.planner.seed, epoch, 1])
            if not fits:
                raise UsageError(
                    f"data.loader.longest_s={self.settings.longest_s}: no item of an epoch is as short and holds its "
                    "letters; give more seconds, or more data.loader.items_per_epoch"
                )
            batches = bucket([frames[n] for n in fits], self.settings, rng, self.devices)
            if self._per_epoch is None:
                self._per_epoch = len(batches)
            self._batches = as_many(batches, self._per_epoch)
            self._epoch = epoch
        return self._batches

    def __getitem__(self, key: tuple[int, int]) -> LoadedBatch:
        epoch, number = key
        batch = self.batches(epoch)[number]
        chosen = batch[self.rank :: self.devices]
        items = [self.compose(self._plan[n]) for n in chosen or batch[:1]]
        if not chosen:
            # Every device takes part in every step; an item that is masked throughout counts for nothing.
            items = [_masked(items[0])]
        return collate(items, self.alphabet, self.features.spectrogram)


def _masked(item: ComposedItem) -> ComposedItem:
    return item._replace(
        kinematics_mask=np.zeros_like(item.kinematics_mask), spectrogram_mask=np.zeros_like(item.spectrogram_mask)
    )


class EpochSampler(Sampler[tuple[int, int]]):
    """Keys (epoch, number) of an epoch's batches.

    Args:
        batches: whose keys they are.
        fixed: stay at the first epoch, as validation does.
    """

    def __init__(self, batches: SimulatedBatches, fixed: bool = False) -> None:
        self.source, self.epoch, self.fixed = batches, 0, fixed

    def set_epoch(self, epoch: int) -> None:
        """Called by Lightning before every epoch, on validation loaders too."""
        if not self.fixed:
            self.epoch = epoch

    def __iter__(self) -> Iterator[tuple[int, int]]:
        epoch = self.epoch
        return iter([(epoch, number) for number in range(len(self.source.batches(epoch)))])

    def __len__(self) -> int:
        return len(self.source.batches(self.epoch))


class LateLoader(DataLoader[LoadedBatch]):
    """A loader that begins to fetch when the first batch is asked for.

    A resumed trainer starts its loader before it tells the sampler the epoch: processes that fetch ahead would begin
    with the first epoch's batches.
    """

    def __iter__(self) -> Any:
        """Yield the batches."""
        yield from super().__iter__()


class SimulatedData(lightning.LightningDataModule):
    """Training batches from one pool, validation batches from another of other writers.

    Args:
        training: batches for as many devices as the trainer has.
        validation: batches for one device; their items are dealt out.
        settings: the loader's.
    """

    def __init__(self, training: SimulatedBatches, validation: SimulatedBatches, settings: LoaderSettings) -> None:
        super().__init__()
        self.training, self.validation, self.settings = training, validation, settings

    def _rank(self) -> tuple[int, int]:
        trainer = self.trainer
        return (trainer.global_rank, trainer.world_size) if trainer is not None else (0, 1)

    def train_dataloader(self) -> DataLoader[LoadedBatch]:
        """This device's part of the trainer's current epoch."""
        return self._loader(self.training.part(*self._rank()))

    def val_dataloader(self) -> DataLoader[LoadedBatch]:
        """This device's part of the validation set, the same one every time."""
        return self._loader(self.validation.part(*self._rank()), fixed=True)

    def _loader(self, batches: SimulatedBatches, fixed: bool = False) -> DataLoader[LoadedBatch]:
        workers = self.settings.workers
        return LateLoader(
            batches,
            batch_size=None,
            sampler=EpochSampler(batches, fixed),
            num_workers=workers,
            persistent_workers=workers > 0,
            prefetch_factor=4 if workers else None,
            pin_memory=torch.cuda.is_available(),
            # A loader draws a number whenever it starts; from its own generator, lest dropout depend on when that was.
            generator=torch.Generator(),
        )
