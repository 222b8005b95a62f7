"""``unwritten fetch``: data from where its owners publish it; the same command again goes on where it stopped."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from unwritten.cli._arguments import at_least_one

DATA_SETS = {
    "samples": "the benchmark's public sample clips, 16 files, 16 MB (MIT licence)",
    "unipen": "tablet handwriting to learn from, 450 MB unpacked (CC BY 4.0; its notice of 1999 asks for research use)",
    "benchmark": "The Unwritten Benchmark, with your own Hugging Face token (gated; its terms are its owners')",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``unwritten fetch``."""
    which = parser.add_subparsers(dest="data_set", metavar="DATA")
    for name, summary in DATA_SETS.items():
        one = which.add_parser(name, help=summary, description=summary)
        one.add_argument(
            "-o", "--output", type=Path, default=Path(name), metavar="DIR", help="folder to fill (default: %(default)s)"
        )
        if name == "benchmark":
            one.add_argument("--repository", metavar="OWNER/NAME", help="another data set of the same layout")
            one.add_argument("--revision", help="branch, tag or commit (default: the newest)")
            one.add_argument("--token", help="a token (default: HF_TOKEN, or what `hf auth login` stored)")
            one.add_argument("--only", nargs="+", default=[], metavar="PATTERN", help="only paths like '*standard*'")
            one.add_argument(
                "--workers", type=at_least_one, default=8, metavar="N", help="files at once (default: %(default)s)"
            )


def run(arguments: argparse.Namespace) -> int:
    """Fetch, then say what to do with it; without a name, list what there is."""
    if arguments.data_set is None:
        for name, summary in DATA_SETS.items():
            print(f"{name:<10} {summary}")
        print("unwritten fetch NAME [-o DIR]")
        return 0
    fetchers: dict[str, Callable[[argparse.Namespace, Callable[[int, int], None]], str]] = {
        "samples": _samples,
        "unipen": _unipen,
        "benchmark": _benchmark,
    }

    def before(files: int, size: int) -> None:
        from unwritten.files import readable
        from unwritten.wording import counted

        print(f"{counted(files, 'file')}, {readable(size)}, into {arguments.output}", file=sys.stderr)

    print(f"{arguments.output} is whole; {fetchers[arguments.data_set](arguments, before)}")
    return 0


def _samples(arguments: argparse.Namespace, before: Callable[[int, int], None]) -> str:
    from unwritten.benchmark.fetch.public import fetch_samples

    fetch_samples(arguments.output, before)
    return f"`unwritten read {arguments.output}/words/standard/above_muted.mp4` reads one"


def _unipen(arguments: argparse.Namespace, before: Callable[[int, int], None]) -> str:
    from unwritten.benchmark.fetch.public import fetch_unipen

    archive = max(fetch_unipen(arguments.output, before), key=lambda path: path.stat().st_size)
    return f"`unwritten corpora {archive} -o corpora` makes the files that models learn from"


def _benchmark(arguments: argparse.Namespace, before: Callable[[int, int], None]) -> str:
    from unwritten.benchmark.fetch.hub import REPOSITORY, fetch

    fetch(
        arguments.output,
        arguments.repository or REPOSITORY,
        arguments.revision,
        arguments.token,
        tuple(arguments.only),
        arguments.workers,
        before,
    )
    return f"`unwritten clips {arguments.output}` counts what it holds"
