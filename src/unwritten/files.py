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

_LONGEST_NAME = 235  # bytes of a file's name that fit beside a process's number
_MARKED = ("=", "+", "-", "@", "\t", "\r", "'")  # beginnings of formulas, and the mark itself


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
    # A name may have 255 bytes on most file systems, the temporary one included.
    stem = place.stem.encode()[: _LONGEST_NAME - len(path.suffix.encode())].decode(errors="ignore")
    temporary = folder / f".{stem}.{os.getpid()}.part{path.suffix}"
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


def plain_cell(value: object) -> object:
    """A cell of a CSV table: text that a spreadsheet would run as a formula gets an apostrophe before it.

    So does text that begins with an apostrophe, so that ``cell_text`` gives back what was written.
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(_MARKED) else value


def cell_text(text: str) -> str:
    """What ``plain_cell`` was given."""
    return text[1:] if text.startswith("'") and text[1:].startswith(_MARKED) else text


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
