"""Beginning with what another network has learned: the shipped checkpoint, say, before one's own letter clips."""

from __future__ import annotations

import hashlib
from pathlib import Path

from torch import Tensor

from unwritten.errors import UnwrittenError
from unwritten.features.extract import FeatureSettings
from unwritten.models.checkpoint import LoadedModel, load_model
from unwritten.models.fusion import LABELLED, RECALL
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

    The module may read more letters than the checkpoint: those have no weights yet and begin as unlikely as the
    checkpoint's unlikeliest letter. It may cut long takes into pieces where the checkpoint does not. What only training
    asks for is not in a small checkpoint and begins anew.

    Raises:
        UnwrittenError: it has another architecture or other features than the run, or letters that the run lacks.
    """
    before, after = begun.network.settings, module.network.settings
    theirs = {
        "model": vars(before) | {"alphabet": ""},
        "features": FeatureSettings.from_mapping(begun.features).as_mapping() | {"piece_s": None},
    }
    ours = {
        "model": vars(after) | {"alphabet": ""},
        "features": FeatureSettings.from_mapping(module.hparams["features"]).as_mapping() | {"piece_s": None},
    }
    difference = first_difference(theirs, ours)
    if difference:
        name, then, now = difference
        raise UnwrittenError(
            f"{path}: has {name}={then}, this run has {now}; give the same, or begin with start_from=null"
        )
    lost = [letter for letter in before.alphabet if letter not in after.alphabet]
    if lost:
        raise UnwrittenError(
            f"{path}: reads {''.join(lost)}, which model.alphabet lacks; add them, or begin with start_from=null"
        )
    labels = [0, *(after.alphabet.index(letter) + 1 for letter in before.alphabet)]
    module.network.load_state_dict(
        {
            name: _widened(name, weight, labels, len(after.alphabet) + 1)
            for name, weight in begun.network.state_dict().items()
        }
    )
    digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    module.hparams["about"]["started_from"] = {"sha256": digest, "protocol": begun.about["protocol"]}


def _widened(name: str, weight: Tensor, labels: list[int], count: int) -> Tensor:
    """Weights of ``count`` labels from those of a few, which go to ``labels``; others' stay as they are."""
    layer, _, part = name.rpartition(".")
    if layer in LABELLED:
        wide = weight.new_zeros(count, *weight.shape[1:])
        if part == "bias":
            wide += weight.min()
        wide[labels] = weight
        return wide
    if name == f"{RECALL}.weight":
        wide = weight.new_zeros(len(weight), count)
        wide[:, labels] = weight
        return wide
    return weight
