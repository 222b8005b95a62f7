"""Batches, as loaders send them and as the network takes them. B items, T frames of the longest, K columns, M bands."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

_STREAMS = 10
"""Tensors of a loaded batch that travel to the device."""


class Batch(NamedTuple):
    """Padded items as the network takes them. L labels in all.

    Attributes:
        kinematics: float32 ``[B, T, K]``; kinematics_mask: bool ``[B, T]``.
        spectrogram: float32 ``[B, T, M]``; spectrogram_mask: bool ``[B, T]``.
        shots: int64 ``[B, U]`` at each emission frame the place in ``targets`` of the letter that was shot by itself
            then, -1 elsewhere.
        lengths: int64 ``[B]`` frames of each item, on the CPU.
        targets: int32 ``[L]`` labels of all items, one after the other; target_lengths: int64 ``[B]``; on the CPU.
    """

    kinematics: Tensor
    kinematics_mask: Tensor
    spectrogram: Tensor
    spectrogram_mask: Tensor
    shots: Tensor
    lengths: Tensor
    targets: Tensor
    target_lengths: Tensor


class LoadedBatch(NamedTuple):
    """Padded items as loaders send them: sound as stored bytes, beside what is to differ about it.

    Bytes are a quarter of what has to travel, and the arithmetic on every frame and band is the device's.

    Attributes:
        kinematics, kinematics_mask, spectrogram_mask, shots, lengths, targets, target_lengths: as in ``Batch``.
        energies: uint8 ``[B, T, M]`` steps from the lowest to the highest log-mel energy.
        bounds: float32 ``[2]`` lowest and highest energy.
        gain: float32 ``[B]`` factor on what is over the floor; tilt: float32 ``[B, M]`` added to it.
        floor: float32 ``[B, T]`` added to every band of a frame.
        kept: bool ``[B, M]`` False in masked bands.
    """

    kinematics: Tensor
    kinematics_mask: Tensor
    energies: Tensor
    spectrogram_mask: Tensor
    bounds: Tensor
    gain: Tensor
    tilt: Tensor
    floor: Tensor
    kept: Tensor
    shots: Tensor
    lengths: Tensor
    targets: Tensor
    target_lengths: Tensor

    def to(self, device: torch.device) -> LoadedBatch:
        """Move the streams, from pinned memory without waiting; lengths and targets stay where CTC wants them."""
        streams = (tensor.to(device, non_blocking=True) for tensor in self[:_STREAMS])
        return LoadedBatch._make((*streams, *self[_STREAMS:]))

    def varied(self) -> Batch:
        """Spectrograms of what differs between recordings of one sound, computed where the batch lies."""
        lowest, highest = self.bounds[0], self.bounds[1]
        mel = self.energies.float() * ((highest - lowest) / 255.0) + lowest
        # What differs between rooms and microphones scales the scratch, not the floor that was taken off.
        mel = torch.where(mel > 0.0, mel * self.gain[:, None, None] + self.tilt[:, None, :], mel)
        mel = (mel + self.floor[:, :, None]) * self.kept[:, None, :]
        mel = torch.clamp(mel, lowest, highest) * self.spectrogram_mask[:, :, None]
        unchanged = (self.shots, self.lengths, self.targets, self.target_lengths)
        return Batch(self.kinematics, self.kinematics_mask, mel, self.spectrogram_mask, *unchanged)
