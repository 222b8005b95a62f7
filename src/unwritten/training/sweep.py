"""A study of many training runs: Optuna proposes, bad trials are pruned, everything is in one file.

Killed at any moment, the same command goes on: the trial that was in flight continues from its last checkpoint. Several
processes, on one machine or on many that share the folder, may run the same command beside each other.
"""

from __future__ import annotations

import logging
import math
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lightning
import optuna
import psutil
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock
from optuna.trial import TrialState

from unwritten.config import INFINITE, bounded, real_number
from unwritten.errors import UnwrittenError, UsageError
from unwritten.training.callbacks import process_rank
from unwritten.training.sweep_summary import TrialSummary, format_summary, write_summary

STUDY_FILE = "study.log"
_SHOWN_STATES = {TrialState.COMPLETE: "complete", TrialState.PRUNED: "pruned", TrialState.FAIL: "failed"}


@dataclass(frozen=True)
class SearchSettings:
    """What a study tries.

    Attributes:
        name: of the study.
        trials: how many; those that were pruned or failed count.
        space: for each override its values: ``{low, high}`` with ``log`` or ``step``, integers if all numbers are, or
            ``{choices}``; a config group such as ``model`` is chosen by name.
        startup_trials: random ones before the sampler (TPE) proposes, and complete ones before anything is pruned.
        warmup_epochs: of a trial before it may be pruned.
    """

    name: str = "default"
    trials: int = 30
    space: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    startup_trials: int = 8
    warmup_epochs: int = 3

    def __post_init__(self) -> None:
        bounded(self, trials=(1, INFINITE), startup_trials=(0, INFINITE), warmup_epochs=(0, INFINITE))
        if not self.space:
            raise ValueError("space is empty; give at least one override and its values")
        for name, node in self.space.items():
            keys = set(node)
            if not ({"low", "high"} <= keys <= {"low", "high", "log", "step"} or keys == {"choices"}):
                raise ValueError(f"space.{name} needs low and high (and log or step), or choices")
            if "choices" in keys:
                if isinstance(node["choices"], str) or not isinstance(node["choices"], Sequence) or not node["choices"]:
                    raise ValueError(f"space.{name}.choices={node['choices']}: give a list of values")
                continue
            low, high = (
                real_number(node[key], f"hparams_search.space.{name}.{key}", low=-INFINITE) for key in ("low", "high")
            )
            if low > high or (node.get("log") and low <= 0):
                raise ValueError(f"space.{name}.low={low:g}: give at most high={high:g}, and above 0 with log")
            if real_number(node.get("step", 1.0), f"hparams_search.space.{name}.step") == 0:
                raise ValueError(f"space.{name}.step=0: give more than 0")


class PruneTrial(lightning.Callback):
    """Tell the study every epoch's validation loss, and stop when it is a bad one."""

    def __init__(self, trial: optuna.Trial) -> None:
        self.trial = trial

    def on_validation_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Called by Lightning.

        Raises:
            TrialPruned: the trial is worse than the median of the others at this epoch.
        """
        loss = float(trainer.callback_metrics["val/loss"])
        if math.isfinite(loss):
            self.trial.report(loss, trainer.current_epoch)
        if self.trial.should_prune():
            raise optuna.TrialPruned(f"epoch {trainer.current_epoch}: val/loss {loss:.4f}")


Run = Callable[[list[str], Path, PruneTrial], float]
"""Trains with further overrides in a run directory; gives the loss to minimise."""


def run_study(settings: SearchSettings, run: Run, study_dir: Path, seed: int) -> list[TrialSummary]:
    """Run trials until the study has as many as it should; write its table and figure after each.

    Args:
        settings: of the study.
        run: one training run.
        study_dir: holds ``study.log``, one folder for each trial, ``trials.csv`` and ``trials.png``.
        seed: of the sampler.

    Raises:
        UnwrittenError: the study file cannot be read or written, or no trial at all was completed.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = open_study(settings, study_dir, seed)
    revive(study)
    while len(_counted(study)) < settings.trials:
        _one_trial(study, settings, run, study_dir)
        write_summary(summaries(study), study_dir)
    found = summaries(study)
    write_summary(found, study_dir)
    print(f"\n{format_summary(found)}\n\n{study_dir}: {STUDY_FILE}, trials.csv, trials.png")
    if not any(trial.state == "complete" for trial in found):
        reason = next((trial.error for trial in found if trial.error), "all were pruned")
        raise UnwrittenError(f"{study_dir}: no trial of {len(found)} was completed; the first failed with: {reason}")
    return found


def open_study(settings: SearchSettings, study_dir: Path, seed: int) -> optuna.Study:
    """The study in ``study_dir``, made if need be.

    Raises:
        UnwrittenError: its file cannot be read or written.
    """
    path = study_dir / STUDY_FILE
    try:
        study_dir.mkdir(parents=True, exist_ok=True)
        # Optuna's own choice of lock is a symbolic link, which Windows keeps for administrators.
        storage = JournalStorage(JournalFileBackend(str(path), JournalFileOpenLock(str(path))))
        study = optuna.create_study(
            storage=storage, study_name=settings.name, direction="minimize", load_if_exists=True
        )
        begun = len(study.get_trials(deepcopy=False))
    except (OSError, ValueError, KeyError) as error:
        raise UnwrittenError(
            f"{path}: cannot be used as a study ({' '.join(str(error).split())}); choose another hydra.sweep.dir"
        ) from error
    # A sampler that was started anew with the same seed would propose the first trials over again.
    study.sampler = optuna.samplers.TPESampler(seed=seed + begun, n_startup_trials=settings.startup_trials)
    study.pruner = optuna.pruners.MedianPruner(
        n_startup_trials=settings.startup_trials, n_warmup_steps=settings.warmup_epochs
    )
    return study


def revive(study: optuna.Study) -> None:
    """Queue the trials whose process was killed once more, to go on in their own run directories."""
    for trial in study.get_trials(states=(TrialState.RUNNING,)):
        if trial.user_attrs.get("host") == socket.gethostname() and not _alive(int(trial.user_attrs.get("pid", 0))):
            with suppress(RuntimeError, ValueError):  # another process was quicker
                study._storage.set_trial_user_attr(trial._trial_id, "interrupted", True)
                study.tell(trial.number, state=TrialState.FAIL)
                study.enqueue_trial(trial.params, user_attrs={"folder": trial.user_attrs["folder"]})


def _alive(pid: int) -> bool:
    # This process may have a number that the killed one had before it.
    return pid != os.getpid() and psutil.pid_exists(pid)


def _counted(study: optuna.Study) -> list[optuna.trial.FrozenTrial]:
    finished = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL, TrialState.RUNNING)
    return [trial for trial in study.get_trials(states=finished) if not trial.user_attrs.get("interrupted")]


def _one_trial(study: optuna.Study, settings: SearchSettings, run: Run, study_dir: Path) -> None:
    trial = study.ask()
    folder = str(trial.user_attrs.get("folder") or f"trial-{trial.number:04d}")
    for name, value in (("folder", folder), ("pid", os.getpid()), ("host", socket.gethostname())):
        trial.set_user_attr(name, value)
    overrides = [f"{name}={_suggest(trial, name, node)}" for name, node in settings.space.items()]
    print(f"\ntrial {trial.number}: {' '.join(overrides)}")
    try:
        loss = run(overrides, study_dir / folder, PruneTrial(trial))
    except optuna.TrialPruned:
        study.tell(trial, state=TrialState.PRUNED)
    except UsageError as error:
        _fail(study, trial, error)
        raise  # every other trial would be refused alike
    except Exception as error:  # whatever a bad trial does, the others go on
        _fail(study, trial, error)
    except BaseException:
        trial.set_user_attr("interrupted", True)
        study.tell(trial, state=TrialState.FAIL)
        study.enqueue_trial(trial.params, user_attrs={"folder": folder})
        raise
    else:
        if math.isfinite(loss):
            study.tell(trial, loss)
        else:
            _fail(study, trial, ArithmeticError(f"val/loss is {loss}"))


def _fail(study: optuna.Study, trial: optuna.Trial, error: Exception) -> None:
    line = f"{type(error).__name__}: {' '.join(str(error).split())}"[:500]
    trial.set_user_attr("error", line)
    study.tell(trial, state=TrialState.FAIL)
    logging.getLogger(__name__).warning("trial %d failed: %s", trial.number, line)


def _suggest(trial: optuna.Trial, name: str, node: Mapping[str, Any]) -> Any:
    if "choices" in node:
        return trial.suggest_categorical(name, list(node["choices"]))
    low, high, step, log = node["low"], node["high"], node.get("step"), bool(node.get("log"))
    if all(isinstance(value, int) for value in (low, high, step or 1)):
        return trial.suggest_int(name, low, high, step=step or 1, log=log)
    return trial.suggest_float(name, float(low), float(high), step=step, log=log)


def summaries(study: optuna.Study) -> list[TrialSummary]:
    """The finished trials of a study, in order; those that another one went on with are left out."""
    return [
        TrialSummary(
            name=str(trial.user_attrs.get("folder", trial.number)),
            state=_SHOWN_STATES[trial.state],
            loss=trial.value if trial.state == TrialState.COMPLETE else _last_value(trial),
            values=trial.params,
            epochs=len(trial.intermediate_values),
            error=str(trial.user_attrs.get("error", "")),
        )
        for trial in study.get_trials(states=tuple(_SHOWN_STATES))
        if not trial.user_attrs.get("interrupted")
    ]


def _last_value(trial: optuna.trial.FrozenTrial) -> float | None:
    return trial.intermediate_values[max(trial.intermediate_values)] if trial.intermediate_values else None


def search(node: Mapping[str, Any], seed: int) -> float:
    """Run the study of a Hydra application: ``train.py -m hparams_search=optuna``.

    Args:
        node: plain values of the ``hparams_search`` node.
        seed: of the sampler.

    Returns:
        The best validation loss.

    Raises:
        UsageError: an unknown setting, or several devices, which train one model, not a study.
        UnwrittenError: no trial was completed.
    """
    from hydra import compose
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode

    from unwritten.config import settings_from
    from unwritten.training.fit import fit

    if process_rank() != 0:
        raise UsageError("hparams_search: trials run on one device each; start the command once for every device")
    settings = settings_from(SearchSettings, node, "hparams_search")
    hydra = HydraConfig.get()
    study_dir = Path(hydra.sweep.dir if hydra.mode == RunMode.MULTIRUN else hydra.runtime.output_dir).resolve()
    name = str(hydra.job.config_name)
    given = list(hydra.overrides.task)

    def run(overrides: list[str], run_dir: Path, prune: PruneTrial) -> float:
        return fit(compose(name, [*given, *overrides]), run_dir, [prune])

    found = run_study(settings, run, study_dir, seed)
    return min(trial.loss for trial in found if trial.state == "complete" and trial.loss is not None)
