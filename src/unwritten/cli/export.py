"""``unwritten export CHECKPOINT -o FILE``: a small checkpoint to ship, or ONNX for other runtimes."""

from __future__ import annotations

import argparse
from pathlib import Path

from unwritten.errors import UsageError


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
    from unwritten.models.checkpoint import load_model, save_small

    model = load_model(arguments.checkpoint)
    if suffix == ".ckpt":
        save_small(model.network, model.features, model.about, output)
    else:
        from unwritten.models.export import export_onnx

        export_onnx(model, output)
    count = sum(value.numel() for value in model.network.parameters())
    print(f"{output}: {count:,} parameters, {output.stat().st_size / 1e6:.1f} MB")
    return 0
