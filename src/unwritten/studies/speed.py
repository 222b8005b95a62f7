"""``python -m unwritten.studies.speed``: how fast the parts are, each against something that does the same.

Every measurement runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

from unwritten.errors import UnwrittenError
from unwritten.files import whole_file
from unwritten.studies.speed_measures import MEASURES, Row

_PACKAGES = ("numpy", "numba", "torch", "torchaudio", "lightning", "opencv-python", "av", "flashlight-text")


def main() -> int:
    """Measure, print the table, write JSON."""
    parser = argparse.ArgumentParser(prog="python -m unwritten.studies.speed", description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=list(MEASURES), action="append", help="measure only this; may be repeated")
    parser.add_argument("--threads", type=int, default=1, help="of every library (default: 1)")
    parser.add_argument("--quick", action="store_true", help="next to no work: its figures mean nothing")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the table as JSON, too")
    parser.add_argument("--measure", choices=list(MEASURES), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print("\n" + json.dumps(measured(arguments.measure, arguments.threads, arguments.quick)))
        return 0
    result = {"threads": arguments.threads, "cpus": os.cpu_count(), "versions": versions(), "rows": []}
    failed = 0
    for name in arguments.only or MEASURES:
        try:
            result["rows"] += in_process(name, arguments.threads, arguments.quick)
        except UnwrittenError as error:
            failed += 1
            print(f"bench: {error}", file=sys.stderr)
    print(format_rows(result))
    if arguments.json:
        with whole_file(arguments.json) as temporary:
            temporary.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return int(failed > 0)


def in_process(name: str, threads: int, quick: bool) -> list[dict[str, Any]]:
    """Rows of one measurement, run in a process of its own.

    Raises:
        UnwrittenError: it failed.
    """
    limits = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(threads))
    command = [sys.executable, "-m", "unwritten.studies.speed", "--measure", name, "--threads", str(threads)]
    done = subprocess.run(
        [*command, *(["--quick"] if quick else [])],
        capture_output=True,
        text=True,
        env={**os.environ, **limits},
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise UnwrittenError(f"{name}: could not be measured ({reason})")
    rows: list[dict[str, Any]] = json.loads(done.stdout.strip().splitlines()[-1])
    return rows


def measured(name: str, threads: int, quick: bool) -> list[dict[str, Any]]:
    """Rows of one measurement with the peak memory of this process and its children."""
    import logging

    import torch

    warnings.filterwarnings("ignore")
    for logger in ("lightning.pytorch", "lightning.fabric", "unwritten"):
        logging.getLogger(logger).setLevel(logging.ERROR)
    torch.set_num_threads(threads)
    rows = MEASURES[name](quick)
    return [{"measure": name, **asdict(row), "peak_mib": peak_mib()} for row in rows]


def peak_mib() -> float:
    """Largest memory that this process, or the largest of its children, ever held, in MiB."""
    unit = 2**20 if sys.platform == "darwin" else 2**10
    largest = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return largest / unit


def versions() -> dict[str, str]:
    """Of Python and of the packages that the figures depend on."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": platform.python_version(), "processor": platform.processor() or platform.machine()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def format_rows(result: dict[str, Any]) -> str:
    """The table as text."""
    names = ", ".join(f"{name} {number}" for name, number in result["versions"].items())
    cells = [["what", "against", "own", "other", "unit", "ratio", "peak MiB", "note"]]
    for row in result["rows"]:
        shown = Row(**{name: row[name] for name in Row.__dataclass_fields__})
        numbers = [f"{shown.own:.3g}", f"{shown.other:.3g}", shown.unit, f"{shown.ratio:.2f}", f"{row['peak_mib']:.0f}"]
        cells.append([shown.name, shown.against, *numbers, shown.note])
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    return "\n".join([f"threads {result['threads']} of {result['cpus']} cores; {names}", "", *lines])


if __name__ == "__main__":
    sys.exit(main())
