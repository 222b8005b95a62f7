"""One training run, from its composed configuration to its scores."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import lightning
from lightning.pytorch.loggers import CSVLogger, Logger
from omegaconf import DictConfig, OmegaConf

from unwritten.benchmark.protocols import PROTOCOLS
from unwritten.config import check_parts, settings_from, whole_number
from unwritten.errors import UnwrittenError, UsageError
from unwritten.files import whole_file
from unwritten.models.checkpoint import default_checkpoint
from unwritten.models.module import CtcModule
from unwritten.run import record_run, refuse_other_settings
from unwritten.scoring.scores import Score
from unwritten.store import Store
from unwritten.training.callbacks import process_rank
from unwritten.training.data import SimulatedData
from unwritten.training.resume import last_checkpoint
from unwritten.training.score import score
from unwritten.training.setup import TrainingSettings, assemble
from unwritten.training.start import begin_with, load_beginning
from unwritten.training.trainer import TrainerSettings, best_and_last, make_trainer

LOGGERS = ("csv", "wandb")
"""Kinds of loggers; a table of the losses is always written."""
_PARTS = (
    *("data", "data.mix", "data.augment", "data.loader"),
    *("features", "model", "optimiser", "simulation", "trainer", "logger"),
)
_VALUES = ("seed", "store", "processes", "start_from", "resume_from", "protocol", "score_items", "hparams_search")
# What may change when a run goes on: where and how fast it computes and what it says, not what it computes.
_FREE = (
    "store",
    "processes",
    "resume_from",
    "score_items",
    "logger.*",
    "hparams_search*",
    *(f"trainer.{name}" for name in ("accelerator", "strategy", "precision", "compile", "deterministic", "threads")),
    "data.loader.workers",
)


def fit(config: DictConfig, run_dir: Path, callbacks: Sequence[lightning.Callback] = ()) -> float:
    """Train in a run directory, going on from its last checkpoint when it has one.

    Args:
        config: the composed configuration.
        run_dir: where everything is written.
        callbacks: further ones for the trainer.

    Returns:
        The validation loss of the best checkpoint.

    Raises:
        UsageError: an unknown setting.
        UnwrittenError: the data cannot be used, or the run directory cannot be written or is another run's.
    """
    check_parts(config, _PARTS, _VALUES)
    if config.protocol not in PROTOCOLS:
        raise UsageError(f"protocol={config.protocol}: known are {', '.join(PROTOCOLS)}")
    settings = settings_from(TrainerSettings, config.trainer, "trainer")
    seed = whole_number(config.seed, "seed")
    items = whole_number(config.score_items, "score_items")
    if config.logger.kind not in LOGGERS:
        raise UsageError(f"logger.kind={config.logger.kind}: known are {', '.join(LOGGERS)}")
    refuse_other_settings(config, run_dir, "checkpoints/last.ckpt", _FREE)
    checkpoints = best_and_last(run_dir)
    trainer = make_trainer(settings, run_dir, seed, checkpoints, callbacks)
    start = default_checkpoint() if config.get("start_from") == "shipped" else config.get("start_from")
    begun = load_beginning(start) if start else None  # before long preparations
    data, module = prepare(config, trainer.world_size)
    if begun is not None:
        begin_with(begun, start, module)
    last = last_checkpoint(run_dir, module, config.get("resume_from"))
    if process_rank() == 0:  # nothing of an earlier run is touched before this one is known to go on with it
        record_run(config, run_dir)
        trainer.loggers = make_loggers(config.logger, run_dir, config)
    if settings.compile:
        module.network.compile()
    try:
        trainer.fit(module, data, ckpt_path=last, weights_only=True)
    except SystemExit as stop:
        if trainer.interrupted:  # Lightning turns an interrupt into an exit
            raise KeyboardInterrupt from stop
        raise
    best = run_dir / "checkpoints" / "best.ckpt"
    best_loss = checkpoints[0].best_model_score
    loss = float(best_loss) if best_loss is not None else float("nan")
    if trainer.is_global_zero:
        with whole_file(run_dir / "result.json") as temporary:
            temporary.write_text(json.dumps({"val_loss": loss, "epochs": trainer.current_epoch}) + "\n")
        scores = score(config, best, run_dir) if items > 0 else []
        log_results(config, trainer.loggers, scores, run_dir)
    return loss


def prepare(config: DictConfig, devices: int = 1) -> tuple[SimulatedData, CtcModule]:
    """Data and a fresh module of a composed configuration, for a step on so many devices."""
    node: Any = OmegaConf.to_container(config, resolve=True)
    processes = whole_number(config.processes, "processes", least=1)
    if node["data"].get("kind") == "clips":
        from unwritten.training.clips import assemble_clips

        quiet = process_rank() != 0
        return assemble_clips(node, Store(config.store), processes, devices, quiet)
    settings = TrainingSettings.from_mapping(node)
    quiet = process_rank() != 0
    return assemble(settings, Store(config.store), processes, devices, quiet=quiet)


def make_loggers(node: DictConfig, run_dir: Path, config: DictConfig) -> list[Logger]:
    """The run's loggers: always a table in ``metrics/metrics.csv``, and what the configuration adds to it.

    Raises:
        UnwrittenError: the run directory cannot be written.
    """
    keep_metrics(run_dir / "metrics")
    loggers: list[Logger] = [CSVLogger(run_dir, name="", version="metrics")]
    if node.kind == "wandb":
        from unwritten.training.wandb_logger import wandb_logger

        loggers += wandb_logger(node, run_dir, config)
    return loggers


def keep_metrics(folder: Path) -> None:
    """Set aside the table of an interrupted run as ``metrics.1.csv`` and so on: the CSV logger begins a new one.

    Raises:
        UnwrittenError: the folder cannot be written.
    """
    table = folder / "metrics.csv"
    if table.is_file():
        number = 1 + len(list(folder.glob("metrics.*.csv")))
        try:
            table.rename(folder / f"metrics.{number}.csv")
        except OSError as error:
            raise UnwrittenError(f"{table}: cannot be set aside ({error.strerror}); choose another run dir") from error


def log_results(config: DictConfig, loggers: Sequence[Logger], scores: Sequence[Score], run_dir: Path) -> None:
    """Hand scores, images and the checkpoint to wandb, where it is among the loggers."""
    if config.logger.kind != "wandb":
        return
    from unwritten.training.wandb_logger import SafeWandbLogger

    for logger in loggers:
        if isinstance(logger, SafeWandbLogger):
            logger.log_results(config, scores, run_dir)
