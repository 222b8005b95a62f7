"""What a wheel and an sdist hold beside the files that hatchling finds. An editable install reads the clone."""

from __future__ import annotations

import json
import runpy
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

INSIDE = ("conf", "checkpoints")
"""Folders of the clone that lie in the package once it is installed: ``unwritten.files.project_root`` finds them."""


class BuildHook(BuildHookInterface):
    """Maps ``conf/`` and ``checkpoints/`` into the package, and writes down the revision that is built."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it collects files."""
        if version == "editable":
            return
        included = build_data["force_include"]
        wheel = self.target_name == "wheel"
        if wheel:
            included.update({str(Path(self.root, name)): f"unwritten/{name}" for name in INSIDE})
        module = runpy.run_path(str(Path(self.root, "src", "unwritten", "revision.py")))
        revision = module["git_revision"](Path(self.root))
        if revision is not None:  # else this is an sdist, which holds the file already
            self._folder = tempfile.TemporaryDirectory()
            baked = Path(self._folder.name, module["BAKED"])
            baked.write_text(json.dumps(revision) + "\n", encoding="utf-8")
            included[str(baked)] = f"{'' if wheel else 'src/'}unwritten/{baked.name}"
