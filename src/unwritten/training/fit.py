"""One training run, from its composed configuration to its scores."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import lightning
import torch
from lightning.pytorch.callbacks import EMAWeightAveraging, ModelCheckpoint, TQDMProgressBar
from lightning.pytorch.loggers import CSVLogger, Logger
from omegaconf import DictConfig, OmegaConf

from unwritten.benchmark.words import word_list
from unwritten.config import settings_from
from unwritten.errors import UsageError
from unwritten.features.extract import FeatureSettings
from unwritten.features.kinematics import CHANNELS
from unwritten.features.store import Store
from unwritten.models.fusion import ModelSettings
from unwritten.models.module import CtcModule, OptimiserSettings
from unwritten.run import record_run
from unwritten.simulation.severity import SimulationSettings
from unwritten.training.callbacks import SeedEveryEpoch, WholeCheckpointIO
from unwritten.training.data import LoaderSettings, SimulatedBatches, SimulatedData
from unwritten.training.handwriting import HandwritingSettings, describe, pools
from unwritten.training.samples import MixSettings, Planner, SoundAugmentSettings


def train(config: DictConfig) -> float:
    """Run ``train.py``: prepare, fit or resume, score, print the scores.

    Returns:
        The validation loss of the best checkpoint, which sweeps minimise.

    Raises:
        UsageError: an unknown setting.
        UnwrittenError: the data cannot be used or the run directory cannot be written.
    """
    from hydra.core.hydra_config import HydraConfig

    return fit(config, Path(HydraConfig.get().runtime.output_dir))


def fit(config: DictConfig, run_dir: Path) -> float:
    """Train in a run directory, going on from its last checkpoint when it has one.

    Returns:
        The validation loss of the best checkpoint.

    Raises:
        UsageError: an unknown setting.
        UnwrittenError: the data cannot be used or the run directory cannot be written.
    """
    record_run(config, run_dir)
    if config.trainer.threads:
        torch.set_num_threads(int(config.trainer.threads))
    data, module = prepare(config)
    checkpoints = ModelCheckpoint(
        run_dir / "checkpoints",
        filename="best",
        monitor="val/loss",
        save_last=True,
        enable_version_counter=False,
        auto_insert_metric_name=False,
    )
    trainer = make_trainer(config, run_dir, checkpoints)
    last = run_dir / "checkpoints" / "last.ckpt"
    trainer.fit(module, data, ckpt_path=str(last) if last.is_file() else None, weights_only=True)
    if trainer.interrupted:
        raise KeyboardInterrupt
    best = run_dir / "checkpoints" / "best.ckpt"
    loss = checkpoints.best_model_score
    if trainer.is_global_zero and int(config.score_items) > 0:
        score(config, best, run_dir)
    return float(loss) if loss is not None else float("nan")


def prepare(config: DictConfig) -> tuple[SimulatedData, CtcModule]:
    """Data and a fresh module of a composed configuration."""
    seed = int(config.seed)
    node: dict[str, Any] = OmegaConf.to_container(config.data, resolve=True)  # type: ignore[assignment]
    mix = settings_from(MixSettings, node.pop("mix"), "data.mix")
    augment = settings_from(SoundAugmentSettings, node.pop("augment"), "data.augment")
    loader = settings_from(LoaderSettings, node.pop("loader"), "data.loader")
    handwriting = settings_from(HandwritingSettings, node, "data")
    features = FeatureSettings.from_mapping(OmegaConf.to_container(config.features, resolve=True))  # type: ignore[arg-type]
    simulation = SimulationSettings.from_mapping(OmegaConf.to_container(config.simulation, resolve=True))  # type: ignore[arg-type]
    model = settings_from(ModelSettings, config.model, "model")
    model = replace(model, kinematic_inputs=len(CHANNELS), spectrogram_inputs=features.spectrogram.n_mels)
    training, validation = pools(
        handwriting, simulation, features.spectrogram, seed, Store(config.store), int(config.processes)
    )
    print(f"training on {describe(training)}\nvalidating on {describe(validation)}")
    words = word_list("english")
    parts = (words.words, words.frequency)
    made = (simulation.camera, augment, features, loader, model.alphabet)
    batches = SimulatedBatches(Planner(training, *parts, mix, seed), training, *made, items=loader.items_per_epoch)
    held = SimulatedBatches(
        Planner(validation, *parts, mix, seed + 1), validation, *made, items=loader.validation_items
    )
    optimiser = settings_from(
        OptimiserSettings,
        {
            **OmegaConf.to_container(config.optimiser, resolve=True),  # type: ignore[dict-item]
            "total_steps": int(config.trainer.max_epochs) * len(batches.batches(0)),
        },
        "optimiser",
    )
    lightning.seed_everything(seed, verbose=False)
    about = {
        "protocol": str(config.protocol),
        "seed": seed,
        "simulation": simulation.name,
        "training": describe(training),
    }
    module = CtcModule(model, optimiser, features.as_mapping(), about)
    if config.trainer.compile:
        module.network.compile()
    return SimulatedData(batches, held, loader), module


def make_trainer(config: DictConfig, run_dir: Path, checkpoints: ModelCheckpoint) -> lightning.Trainer:
    """A Lightning trainer as the configuration asks."""
    node = config.trainer
    callbacks: list[lightning.Callback] = [
        checkpoints,
        SeedEveryEpoch(int(config.seed)),
        TQDMProgressBar(refresh_rate=10),
    ]
    if node.ema_decay:
        callbacks.append(EMAWeightAveraging(decay=float(node.ema_decay)))
    return lightning.Trainer(
        default_root_dir=run_dir,
        accelerator=node.accelerator,
        devices=node.devices,
        num_nodes=node.num_nodes,
        strategy=node.strategy,
        precision=precision(str(node.precision), str(node.accelerator)),  # type: ignore[arg-type]
        max_epochs=node.max_epochs,
        gradient_clip_val=node.gradient_clip_val,
        deterministic=node.deterministic,
        callbacks=callbacks,
        logger=make_logger(config.logger, run_dir, config),
        plugins=[WholeCheckpointIO()],
        use_distributed_sampler=False,
        num_sanity_val_steps=0,
        log_every_n_steps=10,
        enable_model_summary=False,
    )


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


def make_logger(node: DictConfig, run_dir: Path, config: DictConfig) -> Logger:
    """The run's logger.

    Raises:
        UsageError: an unknown kind.
    """
    if node.kind == "csv":
        return CSVLogger(run_dir, name="", version="metrics")
    if node.kind == "wandb":
        from unwritten.training.wandb_logger import wandb_logger

        return wandb_logger(node, run_dir, config)
    raise UsageError(f"logger.kind={node.kind}: known are csv, wandb")


def score(config: DictConfig, checkpoint: Path, run_dir: Path) -> None:
    """Score the checkpoint and blind guessing on simulated clips of writers that nobody trained on; print the table."""
    from unwritten.evaluation import Job, read_items
    from unwritten.files import digest_file
    from unwritten.readers.base import Reader
    from unwritten.readers.blind import BlindReader, BlindSettings
    from unwritten.readers.ctc import MODES, CtcReader
    from unwritten.readers.log import AnswerLog
    from unwritten.scoring.intervals import IntervalSettings
    from unwritten.scoring.scores import score_table, write_scores
    from unwritten.scoring.table import answers_table, write_answers
    from unwritten.scoring.text import format_scores
    from unwritten.simulation.clips import simulated_writers_benchmark
    from unwritten.types import MODALITIES

    clips = simulated_writers_benchmark(int(config.score_items), int(config.seed), str(config.simulation.name))
    settings = json.dumps([digest_file(checkpoint), int(config.score_items), int(config.seed)])
    blind = [BlindSettings(f"blind-{strategy}", strategy) for strategy in ("constant", "letters", "random")]
    readers: list[Reader] = [*(CtcReader(checkpoint, mode) for mode in MODES), *map(BlindReader, blind)]
    answers, asked = [], []
    with AnswerLog(run_dir / "answers.jsonl") as log:
        for reader in readers:
            for modality in MODALITIES:
                items = [clip for clip in clips if modality in clip.modalities]
                asked += [(reader.name, modality, clip.id) for clip in items]
                answers += read_items(Job(reader, str(config.protocol), settings), items, modality, log)
    table, _ = answers_table(answers, clips, "simulated writers", str(config.protocol), asked)
    write_answers(table, run_dir / "answers.parquet")
    scores = score_table(table, IntervalSettings())
    write_scores(scores, run_dir / "scores.json")
    print(format_scores([entry for entry in scores if entry.style == "all"]))
