"""``unwritten manifest``: write the table of a folder's clips, or check the one that is there."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from unwritten.cli._arguments import add_workers
from unwritten.cli._clips import add_folder, patterns
from unwritten.wording import counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``unwritten manifest``."""
    add_folder(parser)
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", help="where to write it (default: here)")
    parser.add_argument(
        "--check", action="store_true", help="compare the manifest that is there with its files instead"
    )
    add_workers(parser, "threads")


def run(arguments: argparse.Namespace) -> int:
    """Write ``manifest.parquet`` and ``manifest.csv``, or check them."""
    from tqdm import tqdm

    from unwritten.benchmark.letters import Found, search
    from unwritten.benchmark.manifest import measure, read_manifest, write_manifest

    settings = patterns(arguments)
    if arguments.check:
        items = read_manifest(arguments.folder, settings.styles, verify=True)
        without = sum(not item.digest for item in items)
        note = f"; {without} without a digest to compare" if without else ""
        print(f"{arguments.folder}: {counted(len(items), 'item')} as listed{note}")
        return 0
    # What manifests say stays, with the letters' times; files that they do not list are added by their names.
    found = search(arguments.folder, settings)
    times = {item.clip.id: item.letter_times_s for item in found.listed}
    known = {path for item in found.listed for path in item.clip.files.values()}
    added = search(arguments.folder, replace(settings, manifest=False), known) if known else Found(())
    ids = {clip.id for clip in found.clips}
    clips = [*found.clips, *(clip for clip in added.clips if clip.id not in ids)]
    with tqdm(total=len(clips), unit="clip", file=sys.stderr, disable=not sys.stderr.isatty()) as bar:
        items = measure(clips, arguments.workers, report=lambda done: bar.update())
    items = [replace(item, letter_times_s=times.get(item.clip.id, ())) for item in items]
    path = write_manifest(arguments.output or Path(), items)
    print(f"{path.resolve()}: {counted(len(items), 'item')}")
    return 0
