"""Files that are whole or not there: every output is written to a temporary name beside it, then renamed."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from unwritten.errors import UnwrittenError


def project_root() -> Path:
    """Folder that holds ``conf/`` and ``checkpoints/``: the clone, or the package where a wheel brought them inside."""
    package = Path(__file__).resolve().parent
    return package if (package / "conf").is_dir() else package.parents[1]


@contextmanager
def whole_file(path: Path | str) -> Iterator[Path]:
    """Give a temporary path with the same suffix beside ``path`` and rename it to ``path`` when the block succeeds.

    Raises:
        UnwrittenError: the folder cannot be made or written, or the disk is full; nothing is left behind.
    """
    path = Path(path)
    try:
        # A link is written through, and a device such as /dev/null is written to: renaming over either would
        # destroy it.
        place = path.resolve()
        device = place.exists() and not place.is_file() and not place.is_dir()
    except (OSError, RuntimeError) as error:  # a name that is too long, links that go round in a circle
        reason = getattr(error, "strerror", None) or "its links go round in a circle"
        raise UnwrittenError(f"{path}: cannot be written ({reason}); choose another place") from error
    folder = Path(tempfile.gettempdir()) if device else place.parent
    temporary = folder / f".{place.stem}.{os.getpid()}.part{path.suffix}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield temporary
        if device:
            with temporary.open("rb") as source, place.open("wb") as target:
                shutil.copyfileobj(source, target)
        else:
            temporary.replace(place)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UnwrittenError(
            f"{path}: cannot be written ({reason}); choose another place or free some space"
        ) from error
    finally:
        with suppress(OSError):
            temporary.unlink()


def digest_file(path: Path | str) -> str:
    """SHA-256 of a file's content, in hexadecimal."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def readable(size: float) -> str:
    """A size with a unit of a thousand."""
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
