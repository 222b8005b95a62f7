"""``unwritten split``: divide a benchmark under a protocol and write who is in which part."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from unwritten.cli._arguments import not_negative, settings_of
from unwritten.cli._clips import add_folder, patterns


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``unwritten split``."""
    from unwritten.benchmark.protocols import ATTRIBUTES, PROTOCOLS, ProtocolSettings

    default = ProtocolSettings()
    add_folder(parser)
    parser.add_argument("--protocol", dest="name", choices=PROTOCOLS, required=True)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="CSV", help="table of fold, item and part")
    parser.add_argument("--test", type=float, default=default.test, help="share tested on (closed only; %(default)s)")
    parser.add_argument("--validation", type=float, default=default.validation, help="share set aside (%(default)s)")
    parser.add_argument(
        "--balance",
        nargs="*",
        choices=ATTRIBUTES,
        default=list(default.balance),
        help="attributes whose shares are held",
    )
    parser.add_argument("--tolerance", type=float, default=default.tolerance, help="relative, %(default)s")
    parser.add_argument("--time-limit", dest="time_limit_s", type=float, default=default.time_limit_s, metavar="S")
    parser.add_argument("--seed", type=not_negative, default=default.seed)


def run(arguments: argparse.Namespace) -> int:
    """Write the table and print the parts' sizes and what they share."""
    import pandas as pd

    from unwritten.benchmark.letters import find_clips
    from unwritten.benchmark.protocols import ProtocolSettings, folds
    from unwritten.files import plain_cell, whole_file

    settings = settings_of(ProtocolSettings, arguments, "split")
    made = folds(find_clips(arguments.folder, patterns(arguments)), settings)
    rows = []
    for fold in made:
        parts = {"train": fold.train, "validation": fold.validation, "test": fold.test, "left out": fold.left_out}
        rows += [(fold.name, clip.id, part) for part, clips in parts.items() for clip in clips]
        sizes = Counter({part: len(clips) for part, clips in parts.items()})
        print(f"{fold.name}: {', '.join(f'{size} {part}' for part, size in sizes.items() if size)}")
        print(f"  whole: {', '.join(fold.whole)}; shared by training and test: {', '.join(fold.shared) or 'nothing'}")
    with whole_file(arguments.output) as temporary:
        pd.DataFrame(rows, columns=["fold", "item", "part"]).map(plain_cell).to_csv(temporary, index=False)
    return 0
