"""Checkpoints: Lightning's own while training, and a small one to ship that loads with ``weights_only=True``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from unwritten.config import settings_from
from unwritten.errors import UnwrittenError
from unwritten.files import project_root, whole_file
from unwritten.models.fusion import FusionModel, ModelSettings

FORMAT = 2
"""Raised when what a checkpoint means changes."""


@dataclass(frozen=True)
class LoadedModel:
    """A network that is ready to read.

    Attributes:
        network: in evaluation mode, on the CPU.
        features: settings of the features that it was trained on, as plain values.
        about: data, protocol, seed and command that made it, as far as the checkpoint says.
    """

    network: FusionModel
    features: Mapping[str, Any]
    about: Mapping[str, Any]


def default_checkpoint() -> Path:
    """The checkpoint that the project ships."""
    return project_root() / "checkpoints" / "unwritten.ckpt"


def save_small(network: FusionModel, features: Mapping[str, Any], about: Mapping[str, Any], path: Path | str) -> None:
    """Write the weights in half precision with everything that a reader needs.

    Raises:
        UnwrittenError: the file cannot be written.
    """
    content = {
        "format": FORMAT,
        "model": asdict(network.settings),
        "features": dict(features),
        "about": dict(about),
        "weights": {name: value.half() for name, value in network.state_dict().items()},
    }
    with whole_file(path) as temporary:
        torch.save(content, temporary)


def load_model(path: Path | str | None = None) -> LoadedModel:
    """Load a small checkpoint or one that training wrote.

    Raises:
        UnwrittenError: the file is missing, is no checkpoint, or belongs to another version or architecture.
    """
    path = Path(path) if path is not None else default_checkpoint()
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError as error:
        raise UnwrittenError(f"{path}: no such checkpoint; train one with python train.py or name another") from error
    except Exception as error:  # the unpickler raises whatever the bytes lead it to
        raise UnwrittenError(f"{path}: is not a checkpoint that can be read; name one that train.py wrote") from error
    if not isinstance(content, dict):
        raise UnwrittenError(f"{path}: is not a checkpoint of this project; name one that train.py wrote")
    try:
        return _loaded(path, content)
    except (AttributeError, KeyError, MemoryError, RuntimeError, TypeError, ValueError) as error:
        raise UnwrittenError(
            f"{path}: is not a whole checkpoint ({' '.join(f'{type(error).__name__} {error}'.split())[:100]});"
            " name one that train.py wrote"
        ) from error


def _loaded(path: Path, content: dict[str, Any]) -> LoadedModel:
    if "hyper_parameters" in content:
        settings, features = content["hyper_parameters"]["model"], content["hyper_parameters"]["features"]
        about = content["hyper_parameters"].get("about", {})
        prefix = "network."
        weights = {
            name.removeprefix(prefix): value for name, value in content["state_dict"].items() if name.startswith(prefix)
        }
    elif content.get("format") == FORMAT:
        settings, features, about = content["model"], content["features"], content["about"]
        weights = dict(content["weights"])
    else:
        raise UnwrittenError(
            f"{path}: has checkpoint format {content.get('format')}, this version reads {FORMAT}; use the version of "
            "unwritten that wrote it, or train anew"
        )
    if not isinstance(features, Mapping) or not features or not weights:
        raise ValueError("no features or no weights")
    if not all(isinstance(value, torch.Tensor) and value.is_floating_point() for value in weights.values()):
        raise ValueError("weights that are no floating-point tensors")
    with torch.device("meta"):  # settings of a damaged file may ask for any size: shapes are compared first
        shapes = {
            name: value.shape
            for name, value in FusionModel(settings_from(ModelSettings, settings, "model")).state_dict().items()
        }
    if shapes != {name: value.shape for name, value in weights.items()}:
        raise UnwrittenError(f"{path}: its weights belong to another architecture; train anew or name another")
    network = FusionModel(settings_from(ModelSettings, settings, "model"))
    weights = {name: value.float() for name, value in weights.items()}
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        raise UnwrittenError(
            f"{path}: its weights belong to another architecture; train anew or name another"
        ) from error
    return LoadedModel(network.eval(), features, about)
