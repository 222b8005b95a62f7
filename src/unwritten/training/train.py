"""What ``train.py`` runs: one training run, or a study of many."""

from __future__ import annotations

from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from unwritten.config import whole_number
from unwritten.training.fit import fit


def train(config: DictConfig) -> float:
    """Run ``train.py``: prepare, fit or resume, score, print the scores; or a study of such runs.

    Returns:
        The validation loss of the best checkpoint, which sweeps minimise.

    Raises:
        UsageError: an unknown setting.
        UnwrittenError: the data cannot be used or the run directory cannot be written.
    """
    from hydra.core.hydra_config import HydraConfig

    if config.get("hparams_search"):
        from unwritten.training.sweep import search

        return search(OmegaConf.to_container(config.hparams_search), whole_number(config.seed, "seed"))  # type: ignore[arg-type]
    return fit(config, Path(HydraConfig.get().runtime.output_dir))
