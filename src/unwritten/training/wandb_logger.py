"""Logging to Weights & Biases that never blocks or breaks a run; what it cannot take is in the run directory anyway."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lightning.pytorch.loggers import Logger, WandbLogger
from omegaconf import DictConfig, OmegaConf

from unwritten.scoring.scores import Score


class SafeWandbLogger(WandbLogger):
    """A wandb logger whose failures are warnings: the training is worth more than its log."""

    def _safely(self, what: str, action: Callable[[], Any]) -> None:
        try:
            action()
        except Exception as error:  # a server, a disk or a version: whatever fails, the run goes on
            warnings.warn(f"wandb: {what} could not be logged ({type(error).__name__}: {error})", stacklevel=2)

    def log_metrics(self, metrics: Any, step: int | None = None) -> None:
        """Losses and rates."""
        self._safely("metrics", lambda: super(SafeWandbLogger, self).log_metrics(metrics, step))

    def log_hyperparams(self, params: Any, *args: Any, **kwargs: Any) -> None:
        """Nothing: the composed configuration was given at the start."""

    def finalize(self, status: str) -> None:
        """Nothing yet: scores and the checkpoint follow after the last epoch."""

    def after_save_checkpoint(self, checkpoint_callback: Any) -> None:
        """Nothing: the best checkpoint is handed over at the end."""

    def log_results(self, config: DictConfig, scores: Sequence[Score], run_dir: Path) -> None:
        """Scores as a table and in the summary, ink and confusions as images, the checkpoint as an artifact; then end.

        Args:
            config: the composed configuration.
            scores: entries of ``scores.json``; none without scoring.
            run_dir: the run's directory, which holds ``answers.parquet`` and ``checkpoints/best.ckpt``.
        """
        from unwritten.training.figures import confusions_of_run, ink_of_run

        if scores:
            drawn = (int(config.score_items), int(config.seed), str(config.simulation.name))
            self._safely("scores", lambda: self._log_scores(scores))
            self._safely("ink", lambda: self._log_image("ink", ink_of_run(*drawn)))
            letters = str(config.model.alphabet)
            self._safely("confusions", lambda: self._log_image("confusions", confusions_of_run(run_dir, letters)))
        self._safely("the checkpoint", lambda: self._log_checkpoint(run_dir / "checkpoints" / "best.ckpt"))
        self._safely("the end", lambda: self.experiment.finish())

    def _log_scores(self, scores: Sequence[Score]) -> None:
        import wandb

        rows = [asdict(entry) for entry in scores]
        columns: list[str | int] = list(rows[0])
        self.experiment.log({"scores": wandb.Table(columns, [list(row.values()) for row in rows])})
        for row in rows:
            if row["style"] == "all":
                self.experiment.summary[f"ola/{row['reader']}/{row['modality']}"] = row["ola"]

    def _log_image(self, name: str, figure: Any) -> None:
        import wandb

        self.experiment.log({name: wandb.Image(figure)})

    def _log_checkpoint(self, checkpoint: Path) -> None:
        import wandb

        artifact = wandb.Artifact(f"checkpoint-{self.experiment.id}", "model")
        artifact.add_file(str(checkpoint))
        self.experiment.log_artifact(artifact)


def wandb_logger(node: DictConfig, run_dir: Path, config: DictConfig) -> list[Logger]:
    """A wandb logger, offline when nobody is logged in; none when wandb cannot start at all.

    A server that does not answer within ``timeout_s`` makes the run an offline one, to be synced later.

    Args:
        node: ``project``, ``name``, ``timeout_s`` and ``offline`` (None decides by whether a key is there).
        run_dir: where its files lie.
        config: the composed configuration, logged with the run.
    """
    offline = node.offline if node.offline is not None else not _has_key()
    for mode in ("offline",) if offline else ("online", "offline"):
        try:
            return [_started(node, run_dir, config, mode)]
        except Exception as error:  # as above: no failure of wandb's may end a run
            warnings.warn(f"wandb cannot start {mode} ({' '.join(str(error).split())[:200]})", stacklevel=2)
    return []


def _started(node: DictConfig, run_dir: Path, config: DictConfig, mode: str) -> SafeWandbLogger:
    import wandb

    run_dir.mkdir(parents=True, exist_ok=True)
    run = wandb.init(
        project=node.project,
        name=node.name or run_dir.name,
        dir=str(run_dir),
        mode=mode,  # type: ignore[arg-type]
        config=OmegaConf.to_container(config, resolve=True),  # type: ignore[arg-type]
        settings=wandb.Settings(init_timeout=float(node.timeout_s), silent=True),
    )
    return SafeWandbLogger(experiment=run, save_dir=str(run_dir))


def _has_key() -> bool:
    netrc = Path.home() / ".netrc"
    return bool(os.environ.get("WANDB_API_KEY")) or (netrc.is_file() and "api.wandb.ai" in netrc.read_text())
