"""``unwritten prepare DIR``: track and extract every clip of a folder into the store, so that reading it is quick.

Killed at any moment, the same command goes on: finished clips are in the store, and only what was in flight is redone.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from functools import partial
from pathlib import Path
from typing import get_args

from unwritten.cli._arguments import at_least_one
from unwritten.cli._clips import add_folder, patterns
from unwritten.errors import UnwrittenError
from unwritten.features.extract import FeatureSettings
from unwritten.store import Store, StoreError
from unwritten.types import Modality
from unwritten.wording import counted

_File = tuple[Path, Modality]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_folder(parser)
    parser.add_argument("--modality", choices=get_args(Modality), help="only files of this modality")
    parser.add_argument(
        "--processes", type=at_least_one, default=os.cpu_count() or 1, help="default: one for each core"
    )
    parser.add_argument("--checkpoint", type=Path, help="whose features to extract; default: the shipped one's")
    parser.add_argument("--store", type=Path, metavar="DIR", help="default: $UNWRITTEN_STORE, else the user's cache")


def run(arguments: argparse.Namespace) -> int:
    """Prepare every file; one that cannot be read is named and does not stop the others.

    Raises:
        UsageError: fewer than one process.
        UnwrittenError: the folder holds no clip, the store cannot be written, or, at the end, some files failed.
    """
    from unwritten.benchmark.letters import find_clips
    from unwritten.parallel import run_jobs

    features = _features(arguments.checkpoint)
    clips = find_clips(arguments.folder, patterns(arguments))
    files: list[_File] = [
        (path, modality)
        for clip in clips
        for modality, path in clip.files.items()
        if arguments.modality in (None, modality)
    ]
    work = partial(_prepare, features=features, root=arguments.store)
    failed = 0
    for _, error in run_jobs(work, files, arguments.processes, "prepare", "file", sys.stderr.isatty()):
        if error:
            failed += 1
            print(f"unwritten: {error}", file=sys.stderr)
    print(f"{len(files) - failed} of {counted(len(files), 'file')} in {Store(arguments.store).root}")
    if failed:
        raise UnwrittenError(
            f"{arguments.folder}: {failed} of {counted(len(files), 'file')} could not be read, see above"
        )
    return 0


def _features(checkpoint: Path | None) -> FeatureSettings:
    from unwritten.models.checkpoint import default_checkpoint, load_model

    if checkpoint is None and not default_checkpoint().is_file():
        return FeatureSettings()
    return FeatureSettings.from_mapping(load_model(checkpoint).features)


def _prepare(file: _File, features: FeatureSettings, root: Path | None) -> str:
    """Fill the store for one file; returns what went wrong with it, or nothing."""
    import cv2
    import torch

    from unwritten.recordings.record import stored_features

    # The files keep the cores busy; threads within one would only be in each other's way.
    cv2.setNumThreads(1)
    torch.set_num_threads(1)
    logger, (path, modality) = logging.getLogger("unwritten"), file
    level = logger.level  # of the caller's process, when one works alone
    logger.setLevel(logging.ERROR)
    try:
        stored_features(path, modality, features, None, Store(root))
    except StoreError:
        raise
    except (UnwrittenError, ValueError) as error:
        return str(error) if str(path) in str(error) else f"{path}: {error}"
    finally:
        logger.setLevel(level)
    return ""
