"""``unwritten export CHECKPOINT -o FILE``: a small checkpoint to ship, or ONNX for other runtimes."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from unwritten.errors import UsageError
from unwritten.types import Modality

_SEED = 7  # of the clips that calibrate; evaluations draw theirs with seed 0 unless told otherwise


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("checkpoint", type=Path, metavar="CHECKPOINT", help="best.ckpt of a run, or a small checkpoint")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="FILE",
        help=".ckpt: the weights in half precision with all that a reader needs; .onnx: the network, single precision",
    )
    parser.add_argument(
        "--resumable",
        action="store_true",
        help="keep what training needs to go on (resume_from=FILE), of a run's last.ckpt",
    )
    parser.add_argument(
        "--calibrate",
        type=Path,
        nargs="+",
        default=[],
        metavar="HANDWRITING",
        help="fit one temperature for each head on simulated clips of these corpora's held-back writers, and keep it",
    )
    parser.add_argument(
        "--held-share",
        type=float,
        default=0.1,
        metavar="SHARE",
        help="data.validation_share of the training run (seed 0), whose writers calibrate (default: %(default)s)",
    )
    parser.add_argument(
        "--limit", type=int, default=150, help="clips of each corpus and condition (default: %(default)s)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the file and say how large it is.

    Raises:
        UsageError: a suffix that is neither.
        UnwrittenError: the checkpoint cannot be read, the file cannot be written, or ONNX is not installed.
    """
    output: Path = arguments.output
    suffix = output.suffix.lower()
    if suffix not in (".ckpt", ".onnx"):
        raise UsageError(f"{output}: give a name that ends in .ckpt (small checkpoint) or .onnx")
    if not (0 < arguments.held_share < 1 and arguments.limit > 0):
        raise UsageError("--held-share lies between 0 and 1, --limit above 0")
    if arguments.resumable:
        if suffix != ".ckpt" or arguments.calibrate:
            raise UsageError("--resumable writes a .ckpt as training left it: neither .onnx nor --calibrate")
        from unwritten.training.resume import save_state

        save_state(arguments.checkpoint, output)
        print(f"{output}: {output.stat().st_size / 1e6:.1f} MB; go on with python train.py ... resume_from={output}")
        return 0
    from unwritten.models.checkpoint import LoadedModel, load_model, save_small
    from unwritten.models.temperature import divide_logits

    model = load_model(arguments.checkpoint)
    if arguments.calibrate:
        temperatures = calibrated(arguments.checkpoint, arguments.calibrate, arguments.held_share, arguments.limit)
        print(", ".join(f"{name} {value:.2f}" for name, value in temperatures.items()), "(temperatures of the heads)")
        about = {**model.about, "temperatures": dict(temperatures)}
        model = LoadedModel(divide_logits(model.network, temperatures), model.features, about)
    if suffix == ".ckpt":
        save_small(model.network, model.features, model.about, output)
    else:
        from unwritten.models.export import export_onnx

        export_onnx(model, output)
    count = sum(value.numel() for value in model.network.parameters())
    print(f"{output}: {count:,} parameters, {output.stat().st_size / 1e6:.1f} MB")
    return 0


def calibrated(
    checkpoint: Path, handwriting: Sequence[Path], held_share: float, limit: int
) -> Mapping[Modality, float]:
    """Temperatures from words spelled in single letters and words in one take, of writers that were held back.

    Raises:
        UsageError: nothing that can be spelled or read.
        UnwrittenError: the handwriting cannot be read or used.
    """
    import numpy as np

    from unwritten.handwriting import load
    from unwritten.readers.ctc import CtcReader
    from unwritten.readers.temperature import fit_temperatures
    from unwritten.simulation.clips import load_handwriting_benchmark

    clips = []
    for path in handwriting:
        lengths = np.char.str_len(load(path).labels)
        for condition, there in (("shots", (lengths == 1).any()), ("live", (lengths > 1).any())):
            if there:
                clips += load_handwriting_benchmark(path, condition, limit, "measured", _SEED, held_share)
    return fit_temperatures(CtcReader(checkpoint), clips)
