"""The ``unwritten`` command. Each subcommand is a module here with ``add_arguments(parser)`` and ``run(arguments)``;
``train`` and ``evaluate``, whose arguments are Hydra's, have ``main(argv)``.

Only the chosen subcommand's module is imported, so that ``unwritten --help`` is quick and one missing system library
does not break the others.
"""

from __future__ import annotations

import argparse
import importlib
import platform
import sys
from collections.abc import Sequence
from typing import Any

from unwritten import __version__
from unwritten.cli._arguments import OneLineParser
from unwritten.errors import UnwrittenError

_DESCRIPTION = "Read the word that a hand writes with a dry pen: from video, from the scratch of the pen, or from both."

COMMANDS: dict[str, str] = {
    "read": "print the word that a clip shows, sounds, or both",
    "track": "follow the tip of the pen and draw the ink that it would leave",
    "train": "train a reader: the overrides of train.py",
    "evaluate": "score readers on a benchmark: the overrides of evaluate.py",
    "prepare": "track and extract a folder of clips into the store, so that reading it is quick",
    "store": "show what is kept of earlier work, and prune it",
    "export": "write a small checkpoint to ship, or ONNX for other runtimes",
    "corpora": "make the files that models learn from, of UNIPEN as published",
    "fetch": "fetch sample clips, UNIPEN, or the gated benchmark with your token; without a name, list them",
    "clips": "count the clips below a folder, by kind, style and modality, with what is missing",
    "manifest": "write the table of a folder's clips, or check the one that is there",
    "split": "divide a benchmark under a protocol, with groups kept whole",
    "corpus": "draw the balanced evaluation corpus: 300 files over style, length and modality",
    "audit": "list what is wrong with a copy of the benchmark",
    "synthesize": "make words from letter clips",
    "report": "one page with everything that evaluations found, and tables for a paper",
    "human": "a page of trials for people, whose answers are scored as a reader's are",
}

_HYDRA = ("train", "evaluate")


class _Version(argparse.Action):
    """Looks the revision up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
        from unwritten.revision import version_line

        print(version_line(__version__))
        parser.exit()


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand; returns the exit status: 0 done, 1 the work could not be done, 2 bad usage."""
    try:
        return _run(list(sys.argv[1:] if argv is None else argv))
    except UnwrittenError as error:
        print(f"unwritten: {error}", file=sys.stderr)
        return error.exit_status
    except BrokenPipeError:
        return 1
    except KeyboardInterrupt:
        print("unwritten: interrupted; finished files are whole, run the same command to go on", file=sys.stderr)
        return 130


def _run(argv: list[str]) -> int:
    parser = OneLineParser(prog="unwritten", description=_DESCRIPTION)
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and the revision, then exit")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    chosen = next((word for word in argv if not word.startswith("-")), None)
    if chosen in COMMANDS:
        _refuse_intel_mac()
    if chosen in _HYDRA and argv[0] == chosen:
        return int(importlib.import_module(f"unwritten.cli.{chosen}").main(argv[1:]))
    module = None
    for name, summary in COMMANDS.items():
        subparser = subparsers.add_parser(name, help=summary, description=summary)
        if name == chosen and name not in _HYDRA:
            module = importlib.import_module(f"unwritten.cli.{name}")
            module.add_arguments(subparser)
    arguments = parser.parse_args(argv)
    assert module is not None
    return int(module.run(arguments))


def _refuse_intel_mac() -> None:
    if sys.platform == "darwin" and platform.machine() == "x86_64":
        raise UnwrittenError(
            "there is no PyTorch for Intel Macs, so nothing works here; take a Mac with Apple silicon (and a Python "
            "made for it), Linux or Windows"
        )
