"""``unwritten track CLIP... -o track.csv``: follow the tip of the pen, show it, and draw the ink it leaves."""

from __future__ import annotations

import argparse
import logging
import sys
from dataclasses import replace
from pathlib import Path

from unwritten.errors import UnwrittenError, UsageError
from unwritten.tracking.settings import HANDS, KINDS, TrackerSettings

_VIDEO_SUFFIXES = {".mp4", ".mov", ".m4v", ".webm", ".mkv", ".avi", ".3gp"}
_SHEETS = {".csv": "-o", ".mp4": "--overlay", ".webm": "--overlay", ".png": "--ink", ".svg": "--ink"}


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
    parser.add_argument("--hand", choices=HANDS, default="auto", help="the writing hand (default: auto)")
    parser.add_argument("--mirrored", action=argparse.BooleanOptionalAction, help="whether the picture is mirrored")
    parser.add_argument("--kind", choices=KINDS, default="auto", help="what to follow: a pen's nib or a fingertip")


def run(arguments: argparse.Namespace) -> int:
    """Track every clip; with several clips each output is a folder that keeps their names.

    Raises:
        UnwrittenError: a clip cannot be read; with several, after the others are done.
    """
    if not (arguments.output or arguments.overlay or arguments.ink):
        raise UsageError("track: nothing to write; give -o track.csv, --overlay out.mp4 or --ink out.png")
    logging.basicConfig(format="unwritten: %(message)s", stream=sys.stderr, level=logging.WARNING)
    settings = replace(TrackerSettings(), kind=arguments.kind, hand=arguments.hand, mirrored=arguments.mirrored)
    if arguments.rotate is not None:
        settings = replace(settings, writing_deg=arguments.rotate)
    clips = _clips(arguments.clips)
    if len(clips) == 1 and not arguments.clips[0].is_dir():
        _track_one(clips[0][0], settings, *_single_outputs(arguments, clips[0][0]))
        return 0
    for option, path in (("-o", arguments.output), ("--overlay", arguments.overlay), ("--ink", arguments.ink)):
        if path is not None and path.suffix.lower() in _SHEETS:
            raise UsageError(f"{option} {path}: with several clips this is a folder; leave the suffix out")
    from tqdm import tqdm

    failures: list[UnwrittenError] = []
    for clip, name in tqdm(clips, unit="clip", desc="track", disable=not sys.stderr.isatty()):
        outputs = [
            root / name.with_suffix(suffix) if root is not None else None
            for root, suffix in ((arguments.output, ".csv"), (arguments.overlay, ".mp4"), (arguments.ink, ".png"))
        ]
        try:
            _track_one(clip, settings, *outputs)
        except UnwrittenError as error:
            failures.append(error)
            tqdm.write(f"unwritten: {error}", file=sys.stderr)
    if failures:
        raise UnwrittenError(
            f"track: {len(failures)} of {len(clips)} clips could not be read, see above; the others are done"
        )
    return 0


def _clips(paths: list[Path]) -> list[tuple[Path, Path]]:
    """Files to track, each with its name below an output folder."""
    clips: list[tuple[Path, Path]] = []
    for path in paths:
        if not path.is_dir():
            clips.append((path, Path(path.name)))
            continue
        inside = sorted(found for found in path.rglob("*") if found.suffix.lower() in _VIDEO_SUFFIXES)
        if not inside:
            raise UnwrittenError(
                f"{path}: holds no video; give a folder with {', '.join(sorted(_VIDEO_SUFFIXES))} files"
            )
        clips += [(found, found.relative_to(path)) for found in inside]
    return clips


def _single_outputs(arguments: argparse.Namespace, clip: Path) -> tuple[Path | None, Path | None, Path | None]:
    """A single clip's outputs; an output that is a folder gets a file of the clip's name."""

    def place(path: Path | None, suffix: str) -> Path | None:
        return path / clip.with_suffix(suffix).name if path is not None and path.is_dir() else path

    return place(arguments.output, ".csv"), place(arguments.overlay, ".mp4"), place(arguments.ink, ".png")


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
