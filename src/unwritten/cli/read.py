"""``unwritten read CLIP``: print the word that a clip shows, sounds, or both."""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from dataclasses import replace
from pathlib import Path

from unwritten.cli._warnings import held_warnings
from unwritten.errors import UnwrittenError, UsageError

_LONGEST = 12
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
    parser.add_argument("--checkpoint", type=Path, metavar="FILE", help="a checkpoint (default: the one shipped)")
    parser.add_argument(
        "--rotate", type=float, metavar="DEG", help="direction of writing in the picture, clockwise from right"
    )
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
    from unwritten.decoding.decode import decode
    from unwritten.decoding.settings import DecodingSettings
    from unwritten.readers.ctc import CtcNetwork
    from unwritten.recordings.record import modality_of_file, record_file
    from unwritten.tracking.settings import TrackerSettings

    start_s = time.perf_counter()
    modality = modality_of_file(arguments.clip) if arguments.modality == "auto" else arguments.modality
    network = CtcNetwork(arguments.checkpoint)
    lexicon = _lexicon(arguments.lexicon, arguments.length, network.alphabet)
    if lexicon is not None and arguments.length is not None and arguments.length not in lexicon.lengths:
        longest = int(lexicon.lengths.max())
        raise UsageError(
            f"--length {arguments.length}: the list {arguments.lexicon} has no such word, its longest has {longest}"
            " letters; give another length, or --lexicon none"
        )
    tracker = TrackerSettings()
    if arguments.rotate is not None:
        tracker = replace(tracker, writing_deg=arguments.rotate)
    with held_warnings():
        recording = record_file(arguments.clip, modality, tracker)
    settings = DecodingSettings(
        alphabet=network.alphabet,
        rate_hz=network.emission_rate_hz,
        letter_order=_ORDER if arguments.lexicon == "order" else 0,
    )
    emissions = network.log_probs(network.features_of(recording), modality)
    try:
        decoded = decode(emissions, settings, lexicon, arguments.length)
    except UnwrittenError as error:
        raise UnwrittenError(f"{arguments.clip}: {error}") from error
    seconds = time.perf_counter() - start_s
    if arguments.replay is not None:
        from unwritten.replay.belief import Reading
        from unwritten.replay.film import write_replay

        read = Reading(arguments.clip, modality, recording, emissions, settings, decoded, lexicon, arguments.length)
        write_replay(arguments.replay, read)
    if arguments.json:
        print(
            json.dumps(
                {
                    "word": decoded.word,
                    "candidates": [[word, round(probability, 6)] for word, probability in decoded.candidates],
                    "letters": decoded.letters,
                    "modality": modality,
                    "seconds": round(seconds, 3),
                    "unsure": decoded.unsure,
                    "letter_times_s": [[round(first, 3), round(last, 3)] for first, last in decoded.letter_spans_s],
                }
            )
        )
        return 0
    print(decoded.word + ("  (not sure)" if decoded.unsure else ""))
    print("candidates: " + "  ".join(f"{word} {probability:.1%}" for word, probability in decoded.candidates))
    print(f"letters without a lexicon: {decoded.letters or '-'}")
    print(f"modality: {modality}, {seconds:.1f} s", file=sys.stderr)
    return 0


def _lexicon(name: str, length: int | None, alphabet: str):  # type: ignore[no-untyped-def]
    """The words that may be: the named list; ``benchmark`` without a length up to five adds long words and letters."""
    from unwritten.decoding.alphabet import Alphabet
    from unwritten.decoding.lexicon import Lexicon
    from unwritten.readers.ctc import named_lexicon
    from unwritten.words.lists import WordListSettings, read_words, word_list

    if name not in ("none", "order", "benchmark", "english") and not Path(name).is_file():
        raise UsageError(f"--lexicon {name}: neither benchmark, english, order or none, nor a file; give one of them")
    if name in ("none", "order") or length == 1:
        return None
    if name == "benchmark" and not 2 <= (length or 0) <= 5:
        words = word_list(settings=WordListSettings(longest=_LONGEST))
        # A clip of unknown length may show a single letter; each is as likely as a middling word.
        usable = words.only(word for word in words if set(word) <= set(alphabet))
        middling = sorted(usable.frequency)[len(usable) // 2]
        singles = [letter for letter in alphabet if letter not in usable]
        return Lexicon.build(
            (*usable.words, *singles), [*usable.frequency, *[middling] * len(singles)], Alphabet(alphabet)
        )
    if name in ("benchmark", "english"):
        return named_lexicon(name, alphabet)
    return Lexicon.build(read_words(name), alphabet=Alphabet(alphabet))
