"""``unwritten evaluate OVERRIDES``: what ``evaluate.py`` does, from anywhere. Its arguments are Hydra's."""

from __future__ import annotations

from collections.abc import Sequence

from unwritten.evaluation.evaluate import evaluate
from unwritten.run import command_line


def main(argv: Sequence[str]) -> int:
    """Run it; returns the exit status."""
    return command_line("unwritten evaluate", evaluate, argv)
