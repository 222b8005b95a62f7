"""``unwritten corpus``: draw the balanced evaluation corpus."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from unwritten.cli._arguments import not_negative, settings_of
from unwritten.cli._clips import add_folder, patterns
from unwritten.types import MODALITIES
from unwritten.wording import counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``unwritten corpus``."""
    from unwritten.benchmark.corpus import CorpusSettings

    default = CorpusSettings()
    add_folder(parser)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="folder for the manifest")
    parser.add_argument("--files", type=int, default=default.files, metavar="N", help="how many (default: %(default)s)")
    parser.add_argument(
        "--seed", type=not_negative, default=default.seed, help="which sample is drawn (default: %(default)s)"
    )
    parser.add_argument("--sources", nargs="+", default=list(default.sources), choices=("synthetic", "live"))
    parser.add_argument("--styles", nargs="+", default=[], help="default: all that are there")
    parser.add_argument("--lengths", nargs="+", type=int, default=list(default.lengths), metavar="N")
    parser.add_argument("--modalities", nargs="+", default=list(MODALITIES), choices=MODALITIES)
    parser.add_argument("--tolerance", type=float, default=default.tolerance, help="relative, %(default)s")


def run(arguments: argparse.Namespace) -> int:
    """Write a manifest that names the drawn files where they lie; ``benchmark.root`` takes its folder."""
    from unwritten.benchmark.corpus import CorpusSettings, balanced_corpus
    from unwritten.benchmark.letters import find_clips
    from unwritten.benchmark.manifest import measure, write_manifest

    settings = settings_of(CorpusSettings, arguments, "corpus")
    drawn = balanced_corpus(find_clips(arguments.folder, patterns(arguments)), settings)
    path = write_manifest(arguments.output, measure(drawn))
    print(f"{path}: {counted(len(drawn), 'file')}, seed {settings.seed}")
    for name, values in (
        ("style", [clip.style for clip in drawn]),
        ("length", [len(clip.word or "") for clip in drawn]),
        ("modality", [clip.modalities[0] for clip in drawn]),
    ):
        print(f"  {name}: {', '.join(f'{number} {value}' for value, number in sorted(Counter(values).items()))}")
    return 0
