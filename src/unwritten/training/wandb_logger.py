"""Logging to Weights & Biases that never blocks or breaks a run."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from lightning.pytorch.loggers import CSVLogger, Logger, WandbLogger
from omegaconf import DictConfig, OmegaConf


def wandb_logger(node: DictConfig, run_dir: Path, config: DictConfig) -> Logger:
    """A wandb logger, offline when nobody is logged in; a CSV logger when wandb cannot start at all.

    Args:
        node: ``project``, ``name`` and ``offline`` (None decides by whether a key is there).
        run_dir: where its files lie.
        config: the composed configuration, logged with the run.
    """
    offline = node.offline if node.offline is not None else not _has_key()
    try:
        import wandb

        wandb.init(
            project=node.project,
            name=node.name,
            dir=str(run_dir),
            mode="offline" if offline else "online",
            config=OmegaConf.to_container(config, resolve=True),  # type: ignore[arg-type]
            settings=wandb.Settings(init_timeout=30, silent=True),
        )
        return WandbLogger(experiment=wandb.run, save_dir=str(run_dir))
    except Exception as error:  # whatever a server or a disk does to wandb, the training is worth more
        warnings.warn(f"wandb cannot start ({error}); logging to CSV instead", stacklevel=2)
        return CSVLogger(run_dir, name="", version="metrics")


def _has_key() -> bool:
    netrc = Path.home() / ".netrc"
    return bool(os.environ.get("WANDB_API_KEY")) or (netrc.is_file() and "api.wandb.ai" in netrc.read_text())
