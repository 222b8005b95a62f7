"""Whether a run directory's last checkpoint is one that this run can go on from."""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from unwritten.config import settings_from
from unwritten.errors import UnwrittenError
from unwritten.features.extract import FeatureSettings
from unwritten.files import whole_file
from unwritten.models.fusion import ModelSettings
from unwritten.models.module import CtcModule, OptimiserSettings


def last_checkpoint(run_dir: Path, module: CtcModule, state: Path | str | None = None) -> Path | None:
    """The checkpoint to go on from, None in a new run directory.

    A new run directory may go on from a state that ``save_state`` wrote. Its handwriting, and with it the length of its
    schedule, may be another than before.

    Raises:
        UnwrittenError: it cannot be read, another version of the project wrote it, or the run that it belongs to had
            other settings; going on would give weights that neither run stands for.
    """
    path = run_dir / "checkpoints" / "last.ckpt"
    if not path.is_file():
        if state is None:
            return None
        path = Path(state)
        if not path.is_file():
            raise UnwrittenError(f"{path}: no such state; name one that unwritten export --resumable wrote")
    else:
        state = None
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        parameters, weights = content["hyper_parameters"], content["state_dict"]
    except (pickle.UnpicklingError, RuntimeError, EOFError, OSError, zipfile.BadZipFile, ValueError) as error:
        raise UnwrittenError(f"{path}: cannot be read as a checkpoint; delete it to train anew") from error
    except (KeyError, TypeError) as error:
        raise UnwrittenError(f"{path}: is no training checkpoint of this project; choose another run dir") from error
    mine = module.hparams
    try:
        stored = {
            "model": asdict(settings_from(ModelSettings, parameters["model"], "model")),
            "features": FeatureSettings.from_mapping(parameters["features"]).as_mapping(),
            "optimiser": asdict(settings_from(OptimiserSettings, parameters["optimiser"], "optimiser")),
            "seed": parameters.get("about", {}).get("seed"),
        }
    except (UnwrittenError, KeyError, TypeError) as error:
        raise UnwrittenError(
            f"{path}: another version of unwritten wrote it ({error}); use that version, or another hydra.run.dir"
        ) from error
    wanted = {
        "model": mine["model"],
        "features": FeatureSettings.from_mapping(mine["features"]).as_mapping(),
        "optimiser": mine["optimiser"],
        "seed": mine["about"].get("seed"),
    }
    if state is not None:
        stored["optimiser"]["total_steps"] = wanted["optimiser"]["total_steps"]
    difference = first_difference(stored, wanted)
    if difference:
        name, then, now = difference
        raise UnwrittenError(
            f"{path}: was trained with {name}={then}, this run has {now}; "
            "give the same options, or another hydra.run.dir"
        )
    shapes = {name: tuple(value.shape) for name, value in weights.items()}
    if shapes != {name: tuple(value.shape) for name, value in module.state_dict().items()}:
        raise UnwrittenError(
            f"{path}: its weights belong to another version's architecture; use that version, or another hydra.run.dir"
        )
    return path


def save_state(checkpoint: Path | str, path: Path | str) -> None:
    """Write what a run needs to go on from its ``last.ckpt``, in less than half of the bytes.

    Weights are the averaged ones in half precision and take the place of the current ones too; the optimiser's moments
    are bfloat16. So a run that goes on from it nears the weights of an undisturbed one and does not meet them.

    Raises:
        UnwrittenError: it is no training checkpoint, or the file cannot be written.
    """
    try:
        content = torch.load(checkpoint, map_location="cpu", weights_only=True)
        averaged = {name: value.half() for name, value in content["state_dict"].items()}
        moments = [state for optimiser in content["optimizer_states"] for state in optimiser["state"].values()]
    except (pickle.UnpicklingError, RuntimeError, EOFError, OSError, KeyError, TypeError, ValueError) as error:
        raise UnwrittenError(f"{checkpoint}: is no training checkpoint; name the last.ckpt of a run") from error
    content["state_dict"] = averaged
    if "current_model_state" in content:
        content["current_model_state"] = averaged  # one tensor under two names is written once
    for state in moments:
        state |= {name: value.bfloat16() for name, value in state.items() if name.startswith("exp_avg")}
    with whole_file(path) as temporary:
        torch.save(content, temporary)


def first_difference(one: Any, other: Any, name: str = "") -> tuple[str, Any, Any] | None:
    """Name and both values of the first setting that differs between nested mappings."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in sorted({*one, *other}, key=str):
            found = first_difference(one.get(key), other.get(key), f"{name}.{key}".lstrip("."))
            if found:
                return found
        return None
    as_list = [list(value) if isinstance(value, tuple) else value for value in (one, other)]
    return None if as_list[0] == as_list[1] else (name, one, other)
