"""``unwritten fetch``: the gated benchmark from Hugging Face, with the user's own token."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from unwritten.cli._arguments import at_least_one


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``unwritten fetch``."""
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="folder to fill")
    parser.add_argument("--repository", default=None, metavar="OWNER/NAME", help="another data set of the same layout")
    parser.add_argument("--revision", default=None, help="branch, tag or commit (default: the newest)")
    parser.add_argument("--token", default=None, help="a token (default: HF_TOKEN, or what `hf auth login` stored)")
    parser.add_argument("--only", nargs="+", default=[], metavar="PATTERN", help="fetch only paths like '*standard*'")
    parser.add_argument(
        "--workers", type=at_least_one, default=8, metavar="N", help="files at once (default: %(default)s)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Fetch, then print what has arrived."""
    from unwritten.benchmark.fetch import REPOSITORY, fetch
    from unwritten.files import readable
    from unwritten.wording import counted

    def before(files: int, size: int) -> None:
        print(f"{counted(files, 'file')}, {readable(size)}, into {arguments.output}", file=sys.stderr)

    fetch(
        arguments.output,
        arguments.repository or REPOSITORY,
        arguments.revision,
        arguments.token,
        tuple(arguments.only),
        arguments.workers,
        before,
    )
    print(f"{arguments.output} is whole; `unwritten clips {arguments.output}` counts what it holds")
    return 0
