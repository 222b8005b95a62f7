"""Options that the commands over a folder of clips share."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from unwritten.benchmark.letters import ClipPatterns
from unwritten.config import settings_from
from unwritten.errors import UsageError


def add_folder(parser: argparse.ArgumentParser) -> None:
    """Add the folder and how names in it are read."""
    parser.add_argument("folder", type=Path, help="folder that holds the clips, at any depth")
    parser.add_argument(
        "--patterns", type=Path, metavar="YAML", help="how names are read: a file of ClipPatterns settings"
    )
    parser.add_argument("--fold-case", action="store_true", help="take a capital for its small letter")


def patterns(arguments: argparse.Namespace) -> ClipPatterns:
    """The settings that :func:`add_folder`'s options say.

    Raises:
        UsageError: the YAML file cannot be read or holds an unknown setting.
    """
    node: Any = {}
    if arguments.patterns is not None:
        import yaml
        from omegaconf import OmegaConf

        try:
            node = OmegaConf.load(arguments.patterns)
        except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
            raise UsageError(f"{arguments.patterns}: cannot be read as YAML ({reason})") from error
        if not OmegaConf.is_dict(node):
            raise UsageError(f"{arguments.patterns}: holds no settings by name; write NAME: VALUE lines")
        node = node.get("patterns", node)
    if arguments.fold_case:
        node = {**node, "fold_case": True}
    return settings_from(ClipPatterns, node, str(arguments.patterns or "patterns"))
