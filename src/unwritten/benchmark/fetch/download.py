"""Files from the web, each known by its size and digest: what is whole is not fetched again, what broke off goes on."""

from __future__ import annotations

import hashlib
import http.client
import os
import ssl
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import NoReturn

from unwritten.errors import UnwrittenError

TIMEOUT_S = 60.0
_BLOCK = 1 << 20
_WEB_ERRORS = (urllib.error.URLError, TimeoutError, ConnectionError, ssl.SSLError)
_NO_CONNECTION = "check the connection and run the same command to go on"


@dataclass(frozen=True)
class RemoteFile:
    """One file to fetch.

    Attributes:
        path: where it goes, relative, with ``/`` between folders.
        url: where it comes from.
        size: bytes.
        digest: of its content, in hexadecimal.
        algorithm: of the digest, as ``hashlib`` names it.
    """

    path: str
    url: str
    size: int
    digest: str
    algorithm: str = "sha256"


def refuse_unsafe(names: Sequence[str], source: str) -> None:
    """Check that files of these names stay inside a folder, on every system, and that none is hidden.

    Raises:
        UnwrittenError: a name is absolute, leads out of the folder, or is hidden.
    """
    for name in names:
        parts = PurePosixPath(name).parts
        outside = (
            not parts
            or name.startswith("/")
            or "\\" in name
            or "\0" in name
            or PureWindowsPath(name).drive != ""
            or any(part.startswith(".") for part in parts)
        )
        if outside:
            raise UnwrittenError(
                f"{source}: lists {name!r}, which is hidden or leads out of the folder; nothing was fetched"
            )


def read_url(url: str, limit: int = 10_000_000) -> bytes:
    """The answer to a question whose answer is short.

    Raises:
        UnwrittenError: there is no connection, or the server refuses.
    """
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_S) as response:
            return bytes(response.read(limit))
    except (OSError, http.client.HTTPException, ValueError) as error:
        _explain(url, error)


def fetch_files(files: Sequence[RemoteFile], target: Path | str) -> None:
    """Fetch files into a folder, one after the other.

    Raises:
        UnwrittenError: a name leads out of the folder, there is no connection, the server refuses, breaks off or sends
            something else, or the disk is full. Files that are whole stay, and what came of the next one.
    """
    target = Path(target)
    refuse_unsafe([file.path for file in files], str(target))
    for file in files:
        path = target.joinpath(*PurePosixPath(file.path).parts)
        if _is_whole(path, file):
            continue
        part = path.with_name(f"{path.name}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if part.exists() and part.stat().st_size > file.size:
                part.unlink()
            if not _is_whole(part, file):
                _append(file, path, part)
            part.replace(path)
        except OSError as error:
            if error.errno is None or isinstance(error, _WEB_ERRORS):
                _explain(file.url, error)
            reason = os.strerror(error.errno)
            raise UnwrittenError(
                f"{path}: cannot be written ({reason}); choose another place or free some space"
            ) from error
        except (http.client.HTTPException, ValueError) as error:
            _explain(file.url, error)


def _append(file: RemoteFile, path: Path, part: Path) -> None:
    """Go on with ``part`` until it is the file."""
    have = part.stat().st_size if part.exists() else 0
    # A part as long as the file and yet another has to be fetched anew.
    have = 0 if have >= file.size else have
    request = urllib.request.Request(file.url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        response = urllib.request.urlopen(request, timeout=TIMEOUT_S)
    except urllib.error.HTTPError as error:
        if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:  # the part is longer than what is there
            part.unlink()
        raise
    with response:
        goes_on = have > 0 and response.status == http.client.PARTIAL_CONTENT
        is_page = response.headers.get_content_type() == "text/html"
        if is_page and path.suffix.lower() not in (".html", ".htm"):
            raise UnwrittenError(
                f"{file.url}: a web page came instead of the file; sign in to the network or mend the proxy, then run "
                "the same command"
            )
        with part.open("ab" if goes_on else "wb") as stream:
            size = have if goes_on else 0
            while size <= file.size and (block := response.read(_BLOCK)):
                stream.write(block)
                size += len(block)
    if size < file.size:
        raise UnwrittenError(f"{path}: broke off at {size} of {file.size} bytes; run the same command to go on")
    if not _is_whole(part, file):
        part.unlink()
        raise UnwrittenError(
            f"{path}: is not what was published (its {file.algorithm} differs); run the same command to fetch it anew"
        )


def _is_whole(path: Path, file: RemoteFile) -> bool:
    if not path.is_file() or path.stat().st_size != file.size:
        return False
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, file.algorithm).hexdigest() == file.digest.lower()


def _explain(url: str, error: Exception) -> NoReturn:
    if isinstance(error, urllib.error.HTTPError):
        hint = "it was taken away" if error.code in (404, 410) else "run the same command later to go on"
        raise UnwrittenError(f"{url}: the server answered {error.code}; {hint}") from error
    if isinstance(error, ValueError):
        raise UnwrittenError(f"{url}: is no address; mend it") from error
    raise UnwrittenError(f"{url}: cannot be reached; {_NO_CONNECTION}") from error
