"""What happens around training steps: random numbers that resume exactly, files that are whole."""

from __future__ import annotations

import errno
import os
from typing import Any

import lightning
import torch
from lightning.fabric.plugins.io.torch_io import TorchCheckpointIO
from lightning.pytorch.utilities import rank_zero_only

from unwritten.files import whole_file


class SeedEveryEpoch(lightning.Callback):
    """Seed dropout from (seed, epoch, device), so that a resumed run draws what an undisturbed one would."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def on_train_epoch_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Called by Lightning."""
        torch.manual_seed(self.seed * 1_000_003 + trainer.current_epoch * 1_009 + trainer.global_rank)


class WholeCheckpointIO(TorchCheckpointIO):
    """Writes a checkpoint to a temporary name first: a run killed while saving still has its last one."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
        """Save to ``path``, whole or not at all.

        Raises:
            UnwrittenError: the folder cannot be written, or the disk is full.
        """
        with whole_file(path) as temporary:
            try:
                super().save_checkpoint(checkpoint, temporary, storage_options)
            except RuntimeError as error:  # PyTorch's word for a file that could not be written to its end
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error


def process_rank() -> int:
    """Rank of this process before a trainer exists, as Lightning reads it from what started it; 0 when it is alone."""
    return int(getattr(rank_zero_only, "rank", 0) or 0)
