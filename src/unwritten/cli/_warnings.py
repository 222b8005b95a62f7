"""Warnings of a command, said after its work; what stops it is said alone."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from logging.handlers import MemoryHandler

from unwritten.errors import UnwrittenError


@contextmanager
def held_warnings() -> Iterator[None]:
    """Keep warnings until the block ends, one line each on stderr; when it raises, its error is the one line.

    Raises:
        UnwrittenError: as the block does.
    """
    shown = logging.StreamHandler(sys.stderr)
    shown.setFormatter(logging.Formatter("unwritten: %(message)s"))
    held = MemoryHandler(capacity=10_000, flushLevel=logging.CRITICAL + 1, target=shown, flushOnClose=False)
    held.setLevel(logging.WARNING)
    logger = logging.getLogger("unwritten")
    logger.addHandler(held)
    try:
        yield
    except UnwrittenError:
        held.buffer.clear()
        raise
    finally:
        logger.removeHandler(held)
        held.flush()
