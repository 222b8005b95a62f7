"""A Lightning trainer as the configuration asks: device, precision, callbacks."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import lightning
import torch
from lightning.fabric.utilities.exceptions import MisconfigurationException
from lightning.pytorch.callbacks import EMAWeightAveraging, ModelCheckpoint, TQDMProgressBar

from unwritten.config import INFINITE, bounded
from unwritten.errors import UsageError
from unwritten.training.callbacks import SeedEveryEpoch, WholeCheckpointIO

_BANNER = logging.getLogger("lightning.pytorch.utilities.rank_zero")


@dataclass(frozen=True)
class TrainerSettings:
    """Where and how long a run computes.

    Attributes:
        accelerator: ``auto`` takes CUDA if present, else the CPU; ``mps``, a Mac's GPU, was never tried.
        devices: how many of them on each machine, which of them, or ``auto``.
        num_nodes: machines.
        strategy: Lightning's; ``ddp`` for several devices or processes.
        precision: ``auto`` is bf16 where the device computes in it, else single precision.
        max_epochs: length of the run, and of the learning rate's schedule.
        gradient_clip_val: greatest norm of the gradient; 0 does not clip.
        ema_decay: of the averaged weights, which are validated and kept; 0 keeps the last weights.
        compile: compile the network.
        deterministic: Lightning's flag; the native CTC loss on CUDA has no deterministic gradient.
        threads: of the model on a CPU; None leaves PyTorch's choice.
    """

    accelerator: str = "auto"
    devices: int | str | tuple[int, ...] = "auto"
    num_nodes: int = 1
    strategy: str = "auto"
    precision: str = "auto"
    max_epochs: int = 40
    gradient_clip_val: float = 1.0
    ema_decay: float = 0.998
    compile: bool = False
    deterministic: bool | str = False
    threads: int | None = None

    def __post_init__(self) -> None:
        bounded(self, max_epochs=(1, INFINITE), gradient_clip_val=(0.0, INFINITE), num_nodes=(1, INFINITE))
        bounded(self, ema_decay=(0.0, 0.999999))
        if isinstance(self.devices, int) and self.devices < 1 and self.devices != -1:
            raise ValueError(f"devices={self.devices}: give 1 or more, -1 for all, a list of them, or auto")
        if self.threads is not None:
            bounded(self, threads=(1, INFINITE))


def best_and_last(run_dir: Path) -> tuple[ModelCheckpoint, ModelCheckpoint]:
    """Keep ``checkpoints/best.ckpt`` by the validation loss, and ``checkpoints/last.ckpt`` to go on from.

    They are two: Lightning's own ``save_last`` leaves out the epochs that are not the best so far. The last comes
    second, so that it knows which was the best.
    """
    best, last = (
        ModelCheckpoint(
            run_dir / "checkpoints",
            filename=name,
            monitor=monitor,
            enable_version_counter=False,
            auto_insert_metric_name=False,
        )
        for name, monitor in (("best", "val/loss"), ("last", None))
    )
    return best, last


def make_trainer(
    settings: TrainerSettings,
    run_dir: Path,
    seed: int,
    checkpoints: Sequence[ModelCheckpoint],
    callbacks: Sequence[lightning.Callback] = (),
) -> lightning.Trainer:
    """The trainer of a run directory.

    Raises:
        UsageError: the machine lacks what the settings ask for, or Lightning refuses a setting.
    """
    if settings.threads:
        torch.set_num_threads(int(settings.threads))
    used: list[lightning.Callback] = [*checkpoints, SeedEveryEpoch(seed), TQDMProgressBar(refresh_rate=10), *callbacks]
    if settings.ema_decay:
        used.append(EMAWeightAveraging(decay=float(settings.ema_decay)))
    try:
        # Without its banner: what is wrong with the data is found only afterwards, and is one line.
        _BANNER.setLevel(logging.WARNING)
        return lightning.Trainer(
            default_root_dir=run_dir,
            accelerator=accelerator(settings.accelerator),
            devices=list(settings.devices) if isinstance(settings.devices, tuple) else settings.devices,
            num_nodes=settings.num_nodes,
            strategy=settings.strategy,
            precision=precision(settings.precision, settings.accelerator),  # type: ignore[arg-type]
            max_epochs=settings.max_epochs,
            gradient_clip_val=settings.gradient_clip_val,
            deterministic=settings.deterministic,  # type: ignore[arg-type]
            callbacks=used,
            logger=False,
            plugins=[WholeCheckpointIO()],
            use_distributed_sampler=False,
            num_sanity_val_steps=0,
            log_every_n_steps=10,
            enable_model_summary=False,
        )
    except (MisconfigurationException, ModuleNotFoundError, ValueError) as error:
        raise UsageError(f"trainer: {' '.join(str(error).split())}") from error
    finally:
        _BANNER.setLevel(logging.NOTSET)


def accelerator(wanted: str) -> str:
    """``auto`` becomes CUDA where there is a device, else the CPU; Lightning's own would take a Mac's GPU too."""
    if wanted != "auto":
        return wanted
    return "cuda" if torch.cuda.is_available() else "cpu"


def precision(wanted: str, accelerator: str) -> str:
    """``auto`` becomes bf16 where the device computes in it, else single precision."""
    if wanted != "auto":
        return wanted
    if accelerator in ("auto", "gpu", "cuda") and torch.cuda.is_available():
        return "bf16-mixed" if torch.cuda.is_bf16_supported() else "32-true"
    return (
        "bf16-mixed"
        if torch.backends.mkldnn.is_available() and torch.ops.mkldnn._is_mkldnn_bf16_supported()
        else "32-true"
    )
