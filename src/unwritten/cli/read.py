"""``unwritten read CLIP``: print the word that a clip shows, sounds, or both."""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from unwritten.cli._arguments import add_tip
from unwritten.cli._warnings import held_warnings
from unwritten.errors import UnwrittenError, UsageError

if TYPE_CHECKING:
    from unwritten.decoding.text import ReadWord
    from unwritten.readers.ctc import CtcReader

# A letter of the benchmark's clips takes two seconds with its rests; a clip of more than twice that for each letter of
# the answer, and longer than any short word, holds more than the word.
_SLOWEST_LETTER_S, _LONG_S = 4.0, 15.0
_ORDER = 4  # letters looked at together by --lexicon order


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("clip", type=Path, metavar="CLIP", help="a video or sound file of a hand that writes")
    parser.add_argument(
        "--modality", choices=("auto", "video", "audio", "av"), default="auto", help="what to use of it (default: auto)"
    )
    parser.add_argument("--length", type=int, metavar="N", help="number of letters, when it is known; 1 for a letter")
    parser.add_argument(
        "--lexicon",
        default="benchmark",
        metavar="LIST",
        help="benchmark, english, none (any letters), order (any letters, likelier as they follow in English), "
        "or a file with a word a line",
    )
    parser.add_argument("--text", action="store_true", help="read a text: words, capitals, digits and signs")
    parser.add_argument("--checkpoint", type=Path, metavar="FILE", help="a checkpoint (default: the one shipped)")
    parser.add_argument(
        "--rotate", type=float, metavar="DEG", help="direction of writing in the picture, clockwise from right"
    )
    add_tip(parser)
    parser.add_argument(
        "--replay", type=Path, metavar="FILE", help="write a video (.mp4, .webm) of the ink, sound, letters and words"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Read one clip.

    Raises:
        UnwrittenError: the clip cannot be read or holds nothing to read.
    """
    if arguments.length is not None and arguments.length < 1:
        raise UsageError(f"--length {arguments.length}: a word has at least one letter")
    if arguments.rotate is not None and not math.isfinite(arguments.rotate):
        raise UsageError(f"--rotate {arguments.rotate}: give an angle in degrees")
    if arguments.replay is not None:
        from unwritten.replay.film import check_replay_path

        check_replay_path(arguments.replay, arguments.clip)
    if arguments.lexicon not in ("none", "order", "benchmark", "english") and not Path(arguments.lexicon).is_file():
        raise UsageError(
            f"--lexicon {arguments.lexicon}: neither benchmark, english, order or none, nor a file; give one of them"
        )
    if arguments.text and arguments.length is not None:
        raise UsageError("--text takes no --length: a text has any number of letters")
    from unwritten.recordings.record import modality_of_file
    from unwritten.types import Clip

    start_s = time.perf_counter()
    modality = modality_of_file(arguments.clip) if arguments.modality == "auto" else arguments.modality
    reader = _reader(arguments)
    _check_length(arguments, reader)
    clip = Clip(str(arguments.clip), {modality: arguments.clip}, length=arguments.length)
    with held_warnings():
        clip = replace(clip, recording=reader.recording_of(clip, modality))
    try:
        reading = reader.reading(clip, modality)
    except UnwrittenError as error:
        raise UnwrittenError(f"{arguments.clip}: {error}") from error
    answer = reading.answer(reader.name)
    seconds = time.perf_counter() - start_s
    if arguments.replay is not None:
        from unwritten.replay.film import write_replay

        write_replay(arguments.replay, reading)
    unsure, spans_s = reading.decoded.unsure, reading.decoded.letter_spans_s
    lasts_s = len(reading.emissions) / reading.decoding.rate_hz
    if lasts_s > max(_LONG_S, _SLOWEST_LETTER_S * len(answer.word)):
        unsure = True
        print(
            f"unwritten: {arguments.clip}: lasts {lasts_s:.0f} s, and one word is looked for; cut it at each word",
            file=sys.stderr,
        )
    if arguments.json:
        print(
            json.dumps(
                {
                    "word": answer.word,
                    "candidates": [[word, round(probability, 6)] for word, probability in answer.candidates],
                    "letters": answer.raw,
                    "modality": modality,
                    "seconds": round(seconds, 3),
                    "unsure": unsure,
                    "letter_times_s": [[round(first, 3), round(last, 3)] for first, last in spans_s],
                }
                | ({"words": [_word(one) for one in reading.words]} if arguments.text else {})
            )
        )
        return 0
    print(answer.word + ("  (not sure)" if unsure else ""))
    if arguments.text:
        print(f"modality: {modality}, {seconds:.1f} s", file=sys.stderr)
        return 0
    print("candidates: " + "  ".join(f"{word} {probability:.1%}" for word, probability in answer.candidates))
    print(f"letters without a lexicon: {answer.raw or '-'}")
    print(f"modality: {modality}, {seconds:.1f} s", file=sys.stderr)
    return 0


def _reader(arguments: argparse.Namespace) -> CtcReader:
    """The reader of evaluations, told what the arguments tell."""
    from unwritten.decoding.settings import DecodingSettings
    from unwritten.readers.ctc import ANY_LENGTH, CtcReader
    from unwritten.tracking.settings import TrackerSettings

    name = arguments.lexicon
    tracker = replace(TrackerSettings(), writing_deg=arguments.rotate, tip=arguments.tip)
    if arguments.text:
        mode = "ctc-text-free" if name == "none" else "ctc-text"
        return CtcReader(arguments.checkpoint, mode, lexicon=ANY_LENGTH, tracker=tracker)
    return CtcReader(
        arguments.checkpoint,
        mode="ctc-letters" if name in ("none", "order") else "ctc",
        lexicon=ANY_LENGTH if name in ("none", "order", "benchmark") else name,
        decoding=DecodingSettings(letter_order=_ORDER if name == "order" else 0),
        tracker=tracker,
    )


def _word(one: ReadWord) -> dict[str, object]:
    candidates = [[word, round(probability, 6)] for word, probability in one.candidates]
    return {"word": one.word, "times_s": [round(time_s, 3) for time_s in one.span_s], "candidates": candidates}


def _check_length(arguments: argparse.Namespace, reader: CtcReader) -> None:
    """Refuse a length that no word of the list has, before anything is read."""
    if arguments.length in (None, 1):
        return
    words = reader.lexicon_of(None)
    if words is not None and arguments.length not in words.lengths:
        raise UsageError(
            f"--length {arguments.length}: the list {arguments.lexicon} has no such word, its longest has"
            f" {words.lengths.max()} letters; give another length, or --lexicon none"
        )
