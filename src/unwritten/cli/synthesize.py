"""``unwritten synthesize PRIMITIVES -o DIR``: words from letter clips."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tqdm import tqdm

from unwritten.cli._arguments import add_workers, not_negative, settings_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``unwritten synthesize``."""
    parser.add_argument("primitives", type=Path, help="folder that holds the letter clips, at any depth")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="folder for the words")
    parser.add_argument("--style", nargs="+", default=[], help="styles to make (default: all)")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--words", type=Path, metavar="FILE", help="words or phrases, one a line")
    which.add_argument("--count", type=int, default=0, metavar="N", help="the N most frequent words (default: all)")
    parser.add_argument("--mode", choices=["clean", "published"], default="clean")
    parser.add_argument("--upper", dest="upper_case", action="store_true", help="spell with capitals")
    parser.add_argument("--takes", type=int, default=1, metavar="N", help="versions of each word")
    parser.add_argument("--pause", dest="pause_s", type=float, default=0.0, metavar="S", help="seconds between letters")
    parser.add_argument("--gap", type=float, default=0.5, metavar="S", help="seconds between the words of a phrase")
    parser.add_argument("--fill", choices=["freeze", "black"], default="freeze", help="what pauses and gaps show")
    parser.add_argument(
        "--short-side", type=int, default=540, metavar="PX", help="shorter side of clean pictures (default: 540)"
    )
    parser.add_argument("--fps", type=float, default=0.0, help="frames a second of clean words (default: the letters')")
    parser.add_argument("--crf", type=int, default=25, help="quality of clean pictures, 0 (best) to 51 (default: 25)")
    parser.add_argument("--seed", type=not_negative, default=0, help="of the draw among takes")
    add_workers(parser)


def run(arguments: argparse.Namespace) -> int:
    """Make the words; the manifest's path is printed last."""
    from unwritten.benchmark.synthesis.synthesize import SynthesisSettings, synthesize
    from unwritten.words.lists import read_words

    settings = settings_of(
        SynthesisSettings,
        arguments,
        "synthesize",
        styles=arguments.style,
        gap_s=arguments.gap,
        short_side_px=arguments.short_side,
        rate_hz=arguments.fps,
    )
    words = read_words(arguments.words) if arguments.words else None
    bars: dict[str, tqdm] = {}

    def report(stage: str, done: int, total: int) -> None:
        if stage not in bars:
            hidden = not sys.stderr.isatty()
            bars[stage] = tqdm(total=total, desc=stage, unit=stage[:-1], file=sys.stderr, disable=hidden)
        bars[stage].update(done - bars[stage].n)

    try:
        manifest = synthesize(
            arguments.primitives,
            arguments.output,
            settings,
            words,
            workers=arguments.workers,
            report=report,
            announce=lambda line: print(line, file=sys.stderr),
        )
    finally:
        for bar in bars.values():
            bar.close()
    print(manifest)
    return 0
