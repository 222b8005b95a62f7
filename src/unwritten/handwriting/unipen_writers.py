"""UNIPEN's writers: who of them the shipped checkpoint learned from, and who is whom.

``unipen_writers.csv`` has a row for each writer of the corpora: ``writer`` (site/name), ``person``, ``side`` (of
``split_writers((0.9, 0.1), seed=0)``: ``training`` or ``held``) and ``shipped`` (1 for those in the three files that
the shipped checkpoint learned from or was held back from, 0 for those in other categories alone).

Sites that one laboratory ran share writers. A person is split under one name, so that somebody known from the three
files stays on that side wherever else she wrote. The three files themselves split every name by itself, as they always
did: five persons are in both parts there, under two names.
"""

from __future__ import annotations

import csv
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from unwritten.errors import UnwrittenError


@lru_cache(maxsize=1)
def table() -> tuple[dict[str, str], ...]:
    """The rows of ``unipen_writers.csv``."""
    text = files("unwritten.handwriting").joinpath("unipen_writers.csv").read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))


def shipped_writers() -> frozenset[str]:
    """All writers of the table."""
    return frozenset(row["writer"] for row in table())


@lru_cache(maxsize=1)
def persons() -> dict[str, str]:
    """The name under which a writer is split, for those who wrote at two sites."""
    return {row["writer"]: row["person"] for row in table() if row["writer"] != row["person"]}


def read_writers(path: Path | str) -> frozenset[str]:
    """Names of writers, one a line; of a table with commas the first column. Empty lines and ``#`` are left out.

    Raises:
        UnwrittenError: the file cannot be read or names nobody.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UnwrittenError(f"{path}: cannot be read ({error}); give a text file, one site/writer a line") from error
    names = frozenset(name for line in lines if (name := line.partition(",")[0].strip()) and not name.startswith("#"))
    if not names - {"writer"}:
        raise UnwrittenError(f"{path}: names no writer; give one site/writer a line")
    return names
