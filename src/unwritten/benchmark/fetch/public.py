"""What anybody may fetch: the benchmark's sample clips, and UNIPEN."""

from __future__ import annotations

import csv
import hashlib
import json
import os
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from urllib.parse import quote

from unwritten.benchmark.fetch.download import RemoteFile, fetch_files, read_url, refuse_unsafe
from unwritten.errors import UnwrittenError
from unwritten.files import whole_file

Announce = Callable[[int, int], None]
"""Is told, before anything is fetched, how many files and bytes there are."""

SAMPLES = "RiRi-y/unwritten-benchmark/d5a71942375ec091be9f9b5b3e553f1969e3ed7a"
"""Repository on GitHub and the commit that brought the clips: its whole name, since raw files want no short one."""
UNIPEN_RECORD = "1195803"
"""UNIPEN train_r01_v07 on Zenodo, doi:10.5281/zenodo.1195803."""


def sample_files() -> list[RemoteFile]:
    """The public sample clips; ``UNWRITTEN_GITHUB`` names another place than GitHub's for raw files."""
    base = os.environ.get("UNWRITTEN_GITHUB", "https://raw.githubusercontent.com").rstrip("/")
    table = files("unwritten.benchmark.fetch").joinpath("samples.csv").read_text(encoding="utf-8")
    return [
        RemoteFile(row["path"], f"{base}/{SAMPLES}/{quote(row['source'])}", int(row["bytes"]), row["sha256"])
        for row in csv.DictReader(table.splitlines())
    ]


def fetch_samples(target: Path | str, before: Announce) -> None:
    """Fetch the sample clips, named and laid out as the benchmark's, with their licence.

    Raises:
        UnwrittenError: as ``fetch_files``.
    """
    clips = sample_files()
    before(len(clips), sum(clip.size for clip in clips))
    licence = files("unwritten.benchmark.fetch").joinpath("samples_license.txt").read_text(encoding="utf-8")
    with whole_file(Path(target) / "LICENSE") as temporary:
        temporary.write_text(licence, encoding="utf-8")
    fetch_files(clips, target)


def fetch_unipen(target: Path | str, before: Announce) -> list[Path]:
    """Fetch the files of UNIPEN's record, as the record lists them; ``UNWRITTEN_ZENODO`` names another Zenodo.

    Returns:
        The files.

    Raises:
        UnwrittenError: the record cannot be read, and as ``fetch_files``.
    """
    base = os.environ.get("UNWRITTEN_ZENODO", "https://zenodo.org").rstrip("/")
    url = f"{base}/api/records/{UNIPEN_RECORD}"
    answer = read_url(url)
    try:
        record = [_record_file(url, entry) for entry in json.loads(answer)["files"]]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnwrittenError(
            f"{url}: did not answer with a record of files; sign in to the network or try again later"
        ) from error
    if not record:
        raise UnwrittenError(f"{url}: the record has no files; try again later")
    refuse_unsafe([file.path for file in record], url)
    before(len(record), sum(file.size for file in record))
    fetch_files(record, target)
    return [Path(target, file.path) for file in record]


def _record_file(url: str, entry: dict[str, str]) -> RemoteFile:
    algorithm, _, digest = entry["checksum"].partition(":")
    if algorithm not in hashlib.algorithms_guaranteed or not digest:
        raise ValueError(algorithm)
    content = f"{url}/files/{quote(entry['key'])}/content"
    return RemoteFile(entry["key"], content, int(entry["size"]), digest, algorithm)
