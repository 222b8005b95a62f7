"""``unwritten store``: what is kept of earlier work (tracks, features, performed handwriting), and pruning it."""

from __future__ import annotations

import argparse
import json
import re
from collections import defaultdict
from pathlib import Path

from unwritten.errors import UnwrittenError, UsageError
from unwritten.files import readable
from unwritten.store import Store
from unwritten.wording import counted

_UNITS = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("--store", type=Path, metavar="DIR", help="default: $UNWRITTEN_STORE, else the user's cache")
    parser.add_argument(
        "--prune", metavar="SIZE", help="delete what was used longest ago until SIZE is left, e.g. 2GB, 500MB or 0"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Show the store by kind, after pruning it if asked.

    Raises:
        UsageError: the size is none.
        UnwrittenError: an entry cannot be deleted.
    """
    store = Store(arguments.store)
    if store.root.exists() and not store.root.is_dir():
        raise UnwrittenError(f"{store.root}: is no folder; name the store's with --store DIR or UNWRITTEN_STORE")
    deleted = store.prune(size_in_bytes(arguments.prune)) if arguments.prune is not None else []
    counts: dict[str, int] = defaultdict(int)
    sizes: dict[str, int] = defaultdict(int)
    for entry in store.entries():
        counts[entry.kind] += 1
        sizes[entry.kind] += entry.size
    stale = store.stale_parts()
    if arguments.json:
        kinds = {kind: {"entries": counts[kind], "bytes": sizes[kind]} for kind in sorted(counts)}
        print(json.dumps({"store": str(store.root), "kinds": kinds, "stale": len(stale), "deleted": len(deleted)}))
        return 0
    print(store.root)
    for kind in sorted(counts):
        print(f"  {kind:<12} {counted(counts[kind], 'entry', 'entries'):>16} {readable(sizes[kind]):>10}")
    print(f"  {'all':<12} {counted(sum(counts.values()), 'entry', 'entries'):>16} {readable(sum(sizes.values())):>10}")
    if arguments.prune is not None:
        print(f"deleted {counted(len(deleted), 'file')}")
    elif stale or counts["unreadable"]:
        print(f"{counted(len(stale), 'half-written file')} of killed processes, which --prune SIZE deletes")
    return 0


def size_in_bytes(text: str) -> int:
    """Bytes of ``2GB``, ``500 MB``, ``1.5g`` or ``0``.

    Raises:
        UsageError: it is no size.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)b?\s*", text, flags=re.IGNORECASE)
    if match is None:
        raise UsageError(f"--prune {text}: is no size; write it like 2GB, 500MB or 0")
    return int(float(match[1]) * _UNITS[match[2].lower()])
