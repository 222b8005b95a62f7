"""Beginning with what another network has learned: the shipped checkpoint, say, before one's own letter clips."""

from __future__ import annotations

import hashlib
from pathlib import Path

from unwritten.errors import UnwrittenError
from unwritten.features.extract import FeatureSettings
from unwritten.models.checkpoint import LoadedModel, load_model
from unwritten.models.module import CtcModule
from unwritten.training.resume import first_difference


def load_beginning(path: Path | str) -> LoadedModel:
    """A checkpoint that a run may begin with.

    Raises:
        UnwrittenError: it is no checkpoint, or it learned from labelled clips, which a run's protocol cannot know of.
    """
    begun = load_model(path)
    protocol = begun.about.get("protocol")
    if protocol != "transfer":
        raise UnwrittenError(
            f"{path}: learned under protocol={protocol}, so this run's tests could hold what it has seen; begin with a "
            "checkpoint of protocol=transfer"
        )
    return begun


def begin_with(begun: LoadedModel, path: Path | str, module: CtcModule) -> None:
    """Give a fresh module the weights of a checkpoint, and keep in its record whose they are.

    What only training asks for is not in a small checkpoint and begins anew.

    Raises:
        UnwrittenError: it has another architecture or other features than the run.
    """
    theirs = {
        "model": vars(begun.network.settings),
        "features": FeatureSettings.from_mapping(begun.features).as_mapping(),
    }
    ours = {
        "model": vars(module.network.settings),
        "features": FeatureSettings.from_mapping(module.hparams["features"]).as_mapping(),
    }
    difference = first_difference(theirs, ours)
    if difference:
        name, then, now = difference
        raise UnwrittenError(
            f"{path}: has {name}={then}, this run has {now}; give the same, or begin with start_from=null"
        )
    module.network.load_state_dict(begun.network.state_dict())
    digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    module.hparams["about"]["started_from"] = {"sha256": digest, "protocol": begun.about["protocol"]}
