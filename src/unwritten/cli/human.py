"""``unwritten human ITEMS -o DIR``: a page of trials for people, whose answers are scored as a reader's are."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from unwritten.cli._arguments import not_negative, settings_of
from unwritten.errors import UnwrittenError, UsageError
from unwritten.types import MODALITIES, Clip, Modality
from unwritten.wording import counted

if TYPE_CHECKING:
    from unwritten.report.trials import Baseline

_READER = "ctc"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("items", type=Path, metavar="ITEMS", help="folder of clips, or a manifest")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="folder of the page")
    parser.add_argument(
        "--count",
        type=int,
        default=15,
        metavar="N",
        help="trials of one participant, fewer where there are fewer (default: 15)",
    )
    parser.add_argument("--no-length", action="store_true", help="do not tell the number of letters")
    parser.add_argument(
        "--modality", choices=MODALITIES, nargs="+", default=list(MODALITIES), help="what to show (default: all three)"
    )
    parser.add_argument("--seed", type=not_negative, default=0, help="of the order (default: 0)")
    parser.add_argument("--one-file", action="store_true", help="put the media into the page: one file to hand on")
    parser.add_argument("--consent", type=Path, metavar="FILE", help="text that participants agree to")
    parser.add_argument(
        "--baseline",
        type=Path,
        metavar="RUN",
        help="take the baseline's answers from a run instead of reading the clips",
    )
    parser.add_argument("--checkpoint", type=Path, metavar="FILE", help="of the baseline (default: the one shipped)")
    parser.add_argument("--no-baseline", action="store_true", help="the last screen shows the words alone")


def run(arguments: argparse.Namespace) -> int:
    """Write the page.

    Raises:
        UsageError: an impossible count, or options that contradict each other.
        UnwrittenError: the clips, the text or the run cannot be read.
    """
    if arguments.count < 1:
        raise UsageError(f"--count {arguments.count}: give 1 or more")
    if arguments.no_baseline and (arguments.baseline or arguments.checkpoint):
        raise UsageError("--no-baseline with --baseline or --checkpoint: leave out one of them")
    if arguments.baseline and arguments.checkpoint:
        raise UsageError("--baseline with --checkpoint: a run's answers are taken as they are; leave out one of them")
    consent = None
    if arguments.consent is not None:
        try:
            consent = arguments.consent.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "is no UTF-8 text"
            raise UnwrittenError(f"{arguments.consent}: cannot be read ({reason}); give a text file") from error
    from unwritten.report.trials import TrialSettings, plan, write_trials

    told = not arguments.no_length
    shown = tuple(modality for modality in MODALITIES if modality in arguments.modality)
    settings = settings_of(TrialSettings, arguments, "human", modalities=shown, length_told=told, consent=consent)
    clips = _clips(arguments.items)
    baseline = None if arguments.no_baseline else _baseline(arguments, settings.length_told)
    trials = len(plan(clips, settings))
    if trials < settings.count:
        print(f"unwritten: each participant gets {counted(trials, 'trial')}, all that there are", file=sys.stderr)
        settings = replace(settings, count=trials)
    page = write_trials(clips, arguments.output, settings, baseline, _progress if sys.stderr.isatty() else None)
    print(page)
    return 0


def _progress(done: int, total: int) -> None:
    print(f"\r{done} of {counted(total, 'trial')}", end="\n" if done == total else "", file=sys.stderr, flush=True)


def _clips(items: Path) -> list[Clip]:
    from unwritten.benchmark import find_clips
    from unwritten.benchmark.manifest import read_manifest

    if items.is_file():
        return [item.clip for item in read_manifest(items)]
    return find_clips(items)


def _baseline(arguments: argparse.Namespace, length_told: bool) -> Baseline | None:
    if arguments.baseline is not None:
        return _stored(arguments.baseline)
    from unwritten.models.checkpoint import default_checkpoint

    if arguments.checkpoint is None and not default_checkpoint().is_file():
        print("unwritten: no checkpoint is there, so the last screen shows the words alone", file=sys.stderr)
        return None
    from unwritten.decoding.settings import DecodingSettings
    from unwritten.readers.ctc import CtcReader
    from unwritten.store import Store

    # As conf/reader/ctc.yaml has it: told what people are told.
    reader = CtcReader(
        arguments.checkpoint,
        mode=_READER,
        lexicon="english",
        length_known=length_told,
        decoding=DecodingSettings(answer="expected_ola", frequency_weight=0.3),
        store=Store(),
    )
    return lambda clip, modality: next(reader.read([clip], modality)).word


def _stored(run: Path) -> Baseline:
    from unwritten.scoring.table import read_answers

    table = read_answers(run)
    own = table[table["reader"] == _READER]
    if own.empty:
        raise UnwrittenError(f"{run}: holds no answer of the reader {_READER}; run evaluate.py reader={_READER}")
    answers = {(row.item, row.modality): row.word for row in own.itertuples(index=False)}

    def answer(clip: Clip, modality: Modality) -> str:
        return str(answers.get((clip.id, modality), ""))

    return answer
