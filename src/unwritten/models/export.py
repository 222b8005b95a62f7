"""ONNX: the network for other runtimes, with any number of items and frames.

B is the batch, T frames at the features' rate, U = ceil(T / 4) emission frames, A labels with the blank first.
"""

from __future__ import annotations

import importlib.util
import io
import json
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import torch
from torch import Tensor

from unwritten.errors import UnwrittenError
from unwritten.files import whole_file
from unwritten.models.checkpoint import LoadedModel
from unwritten.models.fusion import HEADS

INPUTS = ("kinematics", "kinematics_mask", "spectrogram", "spectrogram_mask", "lengths")
"""Names of the inputs, as ``FusionModel.forward`` takes them."""
OUTPUTS = tuple(f"{head}_logits" for head in HEADS)
"""Names of the outputs, each ``[B, U, A]``."""


def export_onnx(model: LoadedModel, path: Path | str) -> Path:
    """Write a network as one ONNX file whose batch and time axes are free.

    What a reader needs besides the weights stands in the file's metadata, each as JSON: ``alphabet``, ``features`` (the
    settings of ``unwritten.features``) and ``about``.

    Args:
        model: the network with what it was trained on.
        path: where to.

    Raises:
        UnwrittenError: the packages of the ``onnx`` extra are missing, or the place cannot be written.
    """
    missing = [name for name in ("onnx", "onnxscript") if importlib.util.find_spec(name) is None]
    if missing:
        raise UnwrittenError(f"{path}: ONNX needs {' and '.join(missing)}; pip install 'unwritten[onnx]'")
    network = model.network.eval()
    free = torch.export.Dim.DYNAMIC
    axes = {0: free, 1: free}
    with _quiet(), torch.no_grad():
        program = torch.onnx.export(
            network,
            example_inputs(model),
            input_names=list(INPUTS),
            output_names=list(OUTPUTS),
            dynamic_shapes=(axes, axes, axes, axes, {0: free}),
            dynamo=True,
        )
    assert program is not None
    about = {"alphabet": network.settings.alphabet, "features": dict(model.features), "about": dict(model.about)}
    program.model.metadata_props.update({name: json.dumps(value) for name, value in about.items()})
    with whole_file(path) as temporary:
        program.save(temporary, external_data=False)
    return Path(path)


def example_inputs(model: LoadedModel, batch: int = 2, frames: int = 64) -> tuple[Tensor, ...]:
    """Inputs of the right shapes and kinds, the last item shorter than the others."""
    settings = model.network.settings
    lengths = torch.full((batch,), frames)
    lengths[-1] = frames - frames // 4
    inside = torch.arange(frames)[None] < lengths[:, None]
    generator = torch.Generator().manual_seed(0)
    return (
        torch.randn(batch, frames, settings.kinematic_inputs, generator=generator),
        inside,
        torch.randn(batch, frames, settings.spectrogram_inputs, generator=generator),
        inside.clone(),
        lengths,
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the exporter's progress and deprecations to itself."""
    level = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(level)
