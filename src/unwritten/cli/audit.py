"""``unwritten audit DIR``: what is wrong with a copy of the benchmark."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections import Counter
from pathlib import Path

from tqdm import tqdm

from unwritten.cli._arguments import add_workers
from unwritten.wording import counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``unwritten audit``."""
    parser.add_argument("folder", type=Path, help="folder that holds the clips, at any depth")
    parser.add_argument("--json", action="store_true", help='print a list of {"file", "kind", "detail"} instead')
    parser.add_argument("--headers", action="store_true", help="do not decode pictures: faster, finds less")
    add_workers(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the faults; status 0 whether there are any or not."""
    from unwritten.benchmark.audit.file import AuditSettings
    from unwritten.benchmark.audit.folder import audit, media_files

    count = len(media_files(arguments.folder))
    with tqdm(total=count, unit="file", file=sys.stderr, disable=not sys.stderr.isatty()) as bar:
        faults = audit(
            arguments.folder,
            AuditSettings(look=not arguments.headers),
            workers=arguments.workers,
            report=lambda done, total: bar.update(),
        )
    if arguments.json:
        print(json.dumps([dataclasses.asdict(fault) for fault in faults], indent=1))
        return 0
    last = ""
    for fault in faults:
        if fault.file != last:
            print(fault.file)
        last = fault.file
        print(f"  {fault.kind}: {fault.detail}")
    kinds = Counter(fault.kind for fault in faults)
    files = {kind: len({fault.file for fault in faults if fault.kind == kind}) for kind in kinds}
    print(f"{'' if not faults else chr(10)}{counted(count, 'file')}, {counted(len(faults), 'fault')}")
    for kind, number in kinds.most_common():
        print(f"{number:6d}  {kind} (in {counted(files[kind], 'file')})")
    return 0
