"""What the tests share: where the real clips and the handwriting corpus lie, when they are there."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest


def _shared_folder(name: str) -> Path:
    root = Path(os.environ.get("UNWRITTEN_SHARED", Path(__file__).resolve().parents[2] / "shared"))
    folder = root / "data" / name
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there; set UNWRITTEN_SHARED to the folder that holds data/{name}")
    return folder


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """Take back what a command run in this process left in the root logger: its stream is gone after the test."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture(scope="session")
def data() -> Path:
    """Folder of the three real benchmark clips that a clone holds."""
    return Path(__file__).parent / "data"


@pytest.fixture(scope="session")
def sample_clips() -> Path:
    """Folder of all public benchmark clips."""
    return _shared_folder("unwritten-samples")


@pytest.fixture(scope="session")
def ground_truth() -> Path:
    """Folder of pen tips, shots and views marked by eye on those clips."""
    return _shared_folder("ground_truth")


@pytest.fixture(scope="session")
def unipen() -> Path:
    """Folder of the UNIPEN corpus."""
    return _shared_folder("unipen")
