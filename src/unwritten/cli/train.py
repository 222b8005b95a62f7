"""``unwritten train OVERRIDES``: what ``train.py`` does, from anywhere. Its arguments are Hydra's."""

from __future__ import annotations

from collections.abc import Sequence

from unwritten.run import command_line
from unwritten.training.train import train


def main(argv: Sequence[str]) -> int:
    """Run it; returns the exit status."""
    return command_line("unwritten train", train, argv)
