"""Results on disk that are computed once: arrays, keyed by what they were computed from.

An entry is one ``.npz`` file named by the digest of its key: of files, settings and the code that makes it
(``sources.code_digest``). It is written whole or not at all, so any number of processes may read and fill one store,
and a killed one loses only what it was at. Its checksum follows it, so that a damaged one is never taken for a result.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import time
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

_CHECKSUM = 32  # bytes of a SHA-256 at the end of an entry
_STALE_S = 3600.0  # no entry takes an hour to write: its process is gone


def default_store() -> Path:
    """Folder of the store: ``UNWRITTEN_STORE``, else ``unwritten`` in the user's cache."""
    named = os.environ.get("UNWRITTEN_STORE")
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return Path(named) if named else cache / "unwritten"


class StoreError(UnwrittenError):
    """The store itself cannot be written: no further result would be kept."""


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
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError:
            content = b""
        if hashlib.sha256(content[:-_CHECKSUM]).digest() != content[-_CHECKSUM:]:
            with suppress(OSError):
                path.unlink()  # a damaged entry is worth nothing: it is computed anew
            return None
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files if name != "__key__"}
        with suppress(OSError):
            os.utime(path)  # pruning goes by the last use
        return arrays

    def put(self, kind: str, key: Mapping[str, Any], arrays: Arrays) -> None:
        """Write an entry whole.

        Raises:
            StoreError: the store cannot be written, or the disk is full.
        """
        text = json.dumps({"kind": kind, **key}, sort_keys=True, default=str)
        try:
            with whole_file(self.path(kind, key)) as temporary, temporary.open("w+b") as stream:
                np.savez(stream, __key__=np.array(text), **arrays)  # type: ignore[arg-type]
                stream.seek(0)
                checksum = hashlib.file_digest(stream, "sha256").digest()
                stream.write(checksum)
        except UnwrittenError as error:
            raise StoreError(f"{error}, or free some with unwritten store --prune SIZE") from error

    def get_or_compute(self, kind: str, key: Mapping[str, Any], compute: Callable[[], Arrays]) -> Arrays:
        """The entry's arrays, computed and stored if need be."""
        found = self.get(kind, key)
        if found is None:
            found = compute()
            self.put(kind, key, found)
        return found

    def _files(self) -> list[Path]:
        # A dot marks what is being written, or what a killed process left half-written.
        return sorted(self.root.glob("*/??/[!.]*.npz"))

    def entries(self) -> Iterator[Entry]:
        """Every entry; one that cannot be read has kind ``unreadable``."""
        for path in self._files():
            try:
                size = path.stat().st_size
                with np.load(path, allow_pickle=False) as archive:
                    key = json.loads(str(archive["__key__"]))
                kind = str(key.pop("kind"))
            except FileNotFoundError:
                continue  # pruned by another process meanwhile
            except (OSError, ValueError, EOFError, KeyError, NotImplementedError, zipfile.BadZipFile):
                kind, key = "unreadable", {}
            yield Entry(path, size, kind, key)

    def stale_parts(self, older_than_s: float = _STALE_S) -> list[Path]:
        """What killed processes left half-written: temporary files of processes that wrote nothing for a while."""
        now = time.time()
        found = []
        for path in self.root.glob("*/??/.*.part.npz"):
            with suppress(OSError):  # its writer may be renaming it just now
                if now - path.stat().st_mtime > older_than_s:
                    found.append(path)
        return sorted(found)

    def prune(self, keep_bytes: int) -> list[Path]:
        """Delete stale parts and the entries used longest ago until the rest fits in ``keep_bytes``.

        Returns:
            What was deleted. An entry that another process deleted meanwhile is not among it.

        Raises:
            UnwrittenError: an entry cannot be deleted.
        """
        files = []
        for path in self._files():
            with suppress(FileNotFoundError):
                status = path.stat()
                files.append((status.st_mtime, status.st_size, path))
        total = sum(size for _, size, _ in files)
        leaving = self.stale_parts()
        for _, size, path in sorted(files):
            if total <= keep_bytes:
                break
            total -= size
            leaving.append(path)
        deleted = []
        for path in leaving:
            try:
                path.unlink()
            except FileNotFoundError:
                continue
            except OSError as error:
                raise UnwrittenError(
                    f"{path}: cannot be deleted ({error.strerror}); check the permissions of its folder"
                ) from error
            deleted.append(path)
        return deleted
