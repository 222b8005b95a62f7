"""``unwritten track CLIP... -o track.csv``: follow the tip of the pen, show it, and draw the ink it leaves."""

from __future__ import annotations

import argparse
import logging
import math
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from unwritten.cli._arguments import add_tip
from unwritten.errors import UnwrittenError, UsageError
from unwritten.tracking.settings import HANDS, KINDS, TrackerSettings
from unwritten.wording import counted

_VIDEO_SUFFIXES = {".mp4", ".mov", ".m4v", ".webm", ".mkv", ".avi", ".3gp"}
_OUTPUTS = {"-o": (".csv",), "--overlay": (".mp4", ".webm"), "--ink": (".png", ".svg")}
"""Suffixes of each output, the one that a folder's files get first."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("clips", nargs="+", type=Path, metavar="CLIP", help="video files, or folders of them")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="table of the track (.csv), or a folder")
    parser.add_argument(
        "--overlay", type=Path, metavar="FILE", help="the clip with the track drawn over it, or a folder"
    )
    parser.add_argument("--ink", type=Path, metavar="FILE", help="the recovered ink (.png or .svg), or a folder")
    parser.add_argument(
        "--rotate", type=float, metavar="DEG", help="direction of writing in the picture, clockwise from right"
    )
    add_tip(parser)
    parser.add_argument("--hand", choices=HANDS, default="auto", help="the writing hand (default: auto)")
    parser.add_argument("--mirrored", action=argparse.BooleanOptionalAction, help="whether the picture is mirrored")
    parser.add_argument(
        "--again", action="store_true", help="with several clips: also those whose outputs are there already"
    )
    parser.add_argument("--kind", choices=KINDS, default="auto", help="what to follow: a pen's nib or a fingertip")


def run(arguments: argparse.Namespace) -> int:
    """Track every clip; with several clips each output is a folder that keeps their names.

    Raises:
        UnwrittenError: a clip cannot be read; with several, after the others are done.
    """
    roots = (arguments.output, arguments.overlay, arguments.ink)
    if not any(roots):
        raise UsageError("track: nothing to write; give -o track.csv, --overlay out.mp4 or --ink out.png")
    logging.basicConfig(format="unwritten: %(message)s", stream=sys.stderr, level=logging.WARNING)
    settings = TrackerSettings(kind=arguments.kind, hand=arguments.hand, mirrored=arguments.mirrored, tip=arguments.tip)
    if arguments.rotate is not None:
        if not math.isfinite(arguments.rotate):
            raise UsageError(f"--rotate {arguments.rotate}: give an angle in degrees")
        settings = replace(settings, writing_deg=arguments.rotate)
    clips = _clips(arguments.clips, roots)
    if len(clips) == 1 and not arguments.clips[0].is_dir():
        clip = clips[0][0]
        outputs = [
            root / clip.with_suffix(suffixes[0]).name if root is not None and root.is_dir() else root
            for root, suffixes in zip(roots, _OUTPUTS.values(), strict=True)
        ]
        for output in outputs:
            if output is not None and output.exists() and output.samefile(clip):
                raise UsageError(f"{output}: is the clip itself; give the output another name")
        for (option, suffixes), output in zip(_OUTPUTS.items(), outputs, strict=True):
            device = output is not None and output.exists() and not output.is_file()  # /dev/null has no suffix
            if output is not None and not device and output.suffix.lower() not in suffixes:
                raise UsageError(f"{option} {output}: give a name that ends in {' or '.join(suffixes)}")
        _track_one(clip, settings, *outputs)
        return 0
    if arguments.tip is not None:
        raise UsageError("--tip is for one clip; give the clips one by one")
    for option, path in zip(_OUTPUTS, roots, strict=True):
        if path is not None and any(path.suffix.lower() in suffixes for suffixes in _OUTPUTS.values()):
            raise UsageError(f"{option} {path}: with several clips this is a folder; leave the suffix out")
    _refuse_collisions(clips)
    return _batch(clips, settings, roots, arguments.again)


def _batch(
    clips: list[tuple[Path, Path]], settings: TrackerSettings, roots: tuple[Path | None, ...], again: bool
) -> int:
    """Track one clip after the other; one that fails is named and does not stop the rest."""
    from tqdm import tqdm

    failed = skipped = 0
    for clip, name in tqdm(clips, unit="clip", desc="track", disable=not sys.stderr.isatty()):
        outputs = [
            root / name.with_suffix(suffixes[0]) if root is not None else None
            for root, suffixes in zip(roots, _OUTPUTS.values(), strict=True)
        ]
        if not again:
            outputs = [None if path is not None and _is_newer(path, clip) else path for path in outputs]
            if not any(outputs):
                skipped += 1
                continue
        try:
            _track_one(clip, settings, *outputs)
        except Exception as error:  # whatever is wrong with one clip, the others are tracked
            failed += 1
            line = str(error) if isinstance(error, UnwrittenError) else f"{clip}: {type(error).__name__}: {error}"
            tqdm.write(f"unwritten: {line}", file=sys.stderr)
    done = len(clips) - failed - skipped
    print(f"{counted(done, 'clip')} tracked" + (f", {skipped} there already (--again redoes them)" if skipped else ""))
    if failed:
        raise UnwrittenError(
            f"track: {failed} of {counted(len(clips), 'clip')} could not be read, see above; the others are done"
        )
    return 0


def _is_newer(output: Path, clip: Path) -> bool:
    """Outputs are whole or not there, so one that is not older than its clip is done."""
    try:
        return output.stat().st_mtime >= clip.stat().st_mtime
    except OSError:
        return False


def _refuse_collisions(clips: list[tuple[Path, Path]]) -> None:
    first: dict[Path, Path] = {}
    for clip, name in clips:
        other = first.setdefault(name.with_suffix(""), clip)
        if other != clip:
            raise UsageError(f"track: {other} and {clip} would write the same outputs; track them in two runs")


def _clips(paths: list[Path], outputs: Sequence[Path | None]) -> list[tuple[Path, Path]]:
    """Files to track, each with its name below an output folder; what was written before is no clip."""
    written = [output.resolve() for output in outputs if output is not None]
    clips: dict[Path, Path] = {}
    for path in paths:
        if not path.is_dir():
            clips.setdefault(path, Path(path.name))
            continue
        inside = [
            found
            for found in sorted(path.rglob("*"))
            if found.suffix.lower() in _VIDEO_SUFFIXES
            and not found.name.startswith(".")
            and not any(output != path.resolve() and _real(found).is_relative_to(output) for output in written)
        ]
        if not inside:
            raise UnwrittenError(
                f"{path}: holds no video; give a folder with {', '.join(sorted(_VIDEO_SUFFIXES))} files"
            )
        for found in inside:
            clips.setdefault(found, found.relative_to(path))
    return list(clips.items())


def _real(path: Path) -> Path:
    """Where a link leads; links that go round in a circle lead nowhere, and reading says so."""
    return Path(os.path.realpath(path))


def _track_one(
    clip: Path, settings: TrackerSettings, table: Path | None, overlay: Path | None, ink: Path | None
) -> None:
    from unwritten.tracking.ink import write_ink
    from unwritten.tracking.overlay import write_overlay
    from unwritten.tracking.table import write_track_csv
    from unwritten.tracking.tracker import track

    found = track(clip, settings)
    if table is not None:
        write_track_csv(found, table)
    if ink is not None:
        write_ink(found, ink)
    if overlay is not None:
        write_overlay(overlay, clip, found)
