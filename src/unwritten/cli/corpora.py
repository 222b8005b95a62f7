"""``unwritten corpora UNIPEN -o DIR``: the files that models learn from, made of UNIPEN as published."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tqdm import tqdm


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``unwritten corpora``."""
    parser.add_argument("unipen", type=Path, help="folder that holds UNIPEN's data and include, or its archive")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="folder for the corpora")
    parser.add_argument(
        "--writers",
        default="shipped",
        metavar="FILE",
        help="names of the writers to take, site/writer, one a line; 'all' takes everybody (default: the writers that "
        "the shipped checkpoint learned from or was held back from)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Make the corpora, then print what each holds and what was left out."""
    from unwritten.handwriting.corpora import make_corpora, opened
    from unwritten.handwriting.unipen_writers import read_writers, shipped_writers
    from unwritten.wording import counted

    if arguments.writers == "all":
        writers = None
    elif arguments.writers == "shipped":
        writers = shipped_writers()
    else:
        writers = read_writers(arguments.writers)
    with (
        opened(arguments.unipen, arguments.output) as folder,
        tqdm(unit="file", file=sys.stderr, disable=not sys.stderr.isatty()) as bar,
    ):

        def report(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        accounts = make_corpora(folder, arguments.output, writers, report)
    for name, account in accounts.items():
        print(f"{name}: {counted(account['samples'], 'sample')} by {counted(account['writers'], 'writer')}")
        for reason, count in account["left out"].items():
            print(f"  left out: {count:,} with {reason}")
    print(f"{arguments.output / 'corpora.json'} has this account")
    return 0
