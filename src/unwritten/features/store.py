"""Results on disk that are computed once: arrays, keyed by what they were computed from.

An entry is one ``.npz`` file named by the digest of its key (content digests, settings, code version); it is written
whole or not at all, so any number of processes may read and fill one store, and a killed one loses only what it was at.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unwritten.errors import UnwrittenError
from unwritten.files import whole_file

Arrays = dict[str, np.ndarray]


def default_store() -> Path:
    """Folder of the store: ``UNWRITTEN_STORE``, else ``unwritten`` in the user's cache."""
    named = os.environ.get("UNWRITTEN_STORE")
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return Path(named) if named else cache / "unwritten"


@dataclass(frozen=True)
class Entry:
    """One stored result: its file, size in bytes, kind and key."""

    path: Path
    size: int
    kind: str
    key: Mapping[str, Any]


class Store:
    """A folder of results.

    Args:
        root: where entries lie; made when the first one is written.
    """

    def __init__(self, root: Path | str | None = None) -> None:
        self.root = Path(root) if root else default_store()

    def path(self, kind: str, key: Mapping[str, Any]) -> Path:
        """File of the entry of this kind and key, whether it exists or not."""
        text = json.dumps({"kind": kind, **key}, sort_keys=True, default=str)
        digest = hashlib.sha256(text.encode()).hexdigest()[:32]
        return self.root / kind / digest[:2] / f"{digest}.npz"

    def get(self, kind: str, key: Mapping[str, Any]) -> Arrays | None:
        """The entry's arrays, or None when it does not exist or cannot be read."""
        path = self.path(kind, key)
        try:
            with np.load(path, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files if name != "__key__"}
        except FileNotFoundError:
            return None
        except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile):
            with suppress(OSError):
                path.unlink()  # a damaged entry is worth nothing: it is computed anew
            return None
        with suppress(OSError):
            os.utime(path)  # pruning goes by the last use
        return arrays

    def put(self, kind: str, key: Mapping[str, Any], arrays: Arrays) -> None:
        """Write an entry whole.

        Raises:
            UnwrittenError: the store cannot be written.
        """
        text = json.dumps({"kind": kind, **key}, sort_keys=True, default=str)
        with whole_file(self.path(kind, key)) as temporary, temporary.open("wb") as stream:
            np.savez(stream, __key__=np.array(text), **arrays)  # type: ignore[arg-type]

    def get_or_compute(self, kind: str, key: Mapping[str, Any], compute: Callable[[], Arrays]) -> Arrays:
        """The entry's arrays, computed and stored if need be."""
        found = self.get(kind, key)
        if found is None:
            found = compute()
            self.put(kind, key, found)
        return found

    def entries(self) -> Iterator[Entry]:
        """Every readable entry."""
        for path in sorted(self.root.glob("*/??/[!.]*.npz")):  # a dot marks what a killed process left half-written
            try:
                with np.load(path, allow_pickle=False) as archive:
                    key = json.loads(str(archive["__key__"]))
            except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile):
                key = {"kind": "unreadable"}
            yield Entry(path, path.stat().st_size, key.pop("kind"), key)

    def prune(self, keep_bytes: int) -> list[Path]:
        """Delete the entries used longest ago until the rest fits in ``keep_bytes``; returns what was deleted.

        Raises:
            UnwrittenError: an entry cannot be deleted.
        """
        entries = sorted(self.entries(), key=lambda entry: entry.path.stat().st_mtime)
        total = sum(entry.size for entry in entries)
        deleted = []
        for entry in entries:
            if total <= keep_bytes:
                break
            try:
                entry.path.unlink()
            except OSError as error:
                raise UnwrittenError(
                    f"{entry.path}: cannot be deleted ({error.strerror}); check its permissions"
                ) from error
            total -= entry.size
            deleted.append(entry.path)
        return deleted
