"""Keys from the environment, and texts from which they and other people's media are taken out before they are kept."""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit

from unwritten.errors import UsageError

_BASE64 = re.compile(r"(?:data:[\w/+.-]+;base64,)?[A-Za-z0-9+/_-]{120,}={0,2}")
_KEY_LIKE = re.compile(r"\b(?:sk-[\w-]{8,}|AIza[\w-]{20,}|Bearer\s+[\w.~+/-]{8,}=*)|(?<=key=)[\w-]{8,}", re.IGNORECASE)


class Secrets:
    """Values that must never be seen.

    Args:
        values: the keys in use.
    """

    def __init__(self, *values: str) -> None:
        self._values = tuple(value for value in values if len(value) >= 4)

    def redact(self, text: str, most: int | None = None) -> str:
        """The text without keys, without anything that looks like one, and without long base64."""
        for value in self._values:
            text = text.replace(value, "[key]")
        text = _KEY_LIKE.sub("[key]", text)
        return text if most is None else " ".join(_BASE64.sub("[media]", text).split())[:most]

    def __repr__(self) -> str:
        return f"Secrets({len(self._values)} values)"


def key_from_environment(variable: str, where: str) -> str:
    """The key in an environment variable; a placeholder when none is needed.

    Args:
        variable: its name, empty for servers that ask for no key.
        where: the reader's node, for the message.

    Raises:
        UsageError: the variable is unset or empty.
    """
    if not variable:
        return "none"
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", variable):
        raise UsageError(f"{where}.key_env: is not the name of an environment variable; a key itself never goes there")
    key = os.environ.get(variable, "").strip()
    if not key:
        raise UsageError(f"{where}: no key; set the environment variable {variable}, or use {where}.dry_run=true")
    return key


def check_base_url(url: str | None, where: str) -> None:
    """Refuse an address that is none, or that holds a key: it would end up in the run's configuration.

    Raises:
        UsageError: see above.
    """
    if url is None:
        return
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{where}.base_url={Secrets().redact(url, 100)}: is no address; give http://HOST:PORT/v1")
    if parts.username or parts.password or parts.query:
        raise UsageError(f"{where}.base_url: holds a user, password or query; keys belong in the environment")
