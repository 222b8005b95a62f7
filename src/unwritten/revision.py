"""Which revision of the code this is: that of the clone, or the one that a wheel or an sdist was built from.

The build (``.ci/hatch_build.py``) runs this file by its path, so that it imports nothing of the package.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

BAKED = "revision.json"
"""File of the package that a build writes; a clone has none."""


def revision() -> dict[str, Any] | None:
    """``revision`` and whether files are ``changed`` from it; None for a copy of the files without either record."""
    package = Path(__file__).resolve().parent
    if (package / BAKED).is_file():
        found: dict[str, Any] = json.loads((package / BAKED).read_text(encoding="utf-8"))
        return found
    return git_revision(package.parents[1])


def git_revision(root: Path) -> dict[str, Any] | None:
    """The same of the clone at ``root``; None where ``root`` is not the top of one, or there is no git."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(root), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout.strip()

    if not (root / ".git").exists():
        return None  # git would go up and name the revision of whatever project this lies in
    try:
        return {"revision": git("rev-parse", "HEAD"), "changed": bool(git("status", "--porcelain", "-uno"))}
    except (OSError, subprocess.SubprocessError):
        return None


def version_line(version: str) -> str:
    """What ``unwritten --version`` prints."""
    found = revision()
    if found is None:
        return f"unwritten {version} (revision unknown)"
    return f"unwritten {version} (revision {found['revision'][:12]}{', files changed' if found['changed'] else ''})"
