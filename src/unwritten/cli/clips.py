"""``unwritten clips``: what a folder holds and what is missing."""

from __future__ import annotations

import argparse
import dataclasses
import json

from unwritten.cli._clips import add_folder, patterns


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``unwritten clips``."""
    add_folder(parser)
    parser.add_argument("--json", action="store_true", help="print one object instead of a table")


def run(arguments: argparse.Namespace) -> int:
    """Print the counts by source, style and modality."""
    from unwritten.benchmark.counts import count, describe
    from unwritten.benchmark.letters import search

    found = search(arguments.folder, patterns(arguments))
    if arguments.json:
        facts = {
            "counts": [dataclasses.asdict(row) for row in count(found.clips)],
            "unrecognised": [str(path) for path in found.unrecognised],
            "copies": [str(path) for path in found.copies],
        }
        print(json.dumps(facts, indent=1))
    else:
        print(describe(found))
    return 0
