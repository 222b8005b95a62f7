"""Simulated clips to be read and scored: recordings with known words, from handwriting that nobody trained on."""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

import numpy as np

from unwritten.errors import UnwrittenError, UsageError
from unwritten.handwriting import load
from unwritten.handwriting.corpora import load_category
from unwritten.handwriting.corpus import HandwritingCorpus, from_strokes
from unwritten.handwriting.writers import SimulatedWriter
from unwritten.simulation.camera import film_with_truth
from unwritten.simulation.motion import Motion
from unwritten.simulation.severity import SimulationSettings, severity
from unwritten.simulation.sound import simulate_sound
from unwritten.simulation.writing import LetterBank, join_shots, letter_heights_mm, perform_sample
from unwritten.types import Clip, Recording, Truth
from unwritten.words.lists import word_list

CONDITIONS = ("live", "shots")
SAMPLE_RATE_HZ = 16_000


def record(
    motion: Motion, height_mm: float, settings: SimulationSettings, rng: np.random.Generator
) -> tuple[Recording, Truth]:
    """Film and sound one motion, and keep what it truly was.

    Where the letters of one take meet is not known, so that only motions of one shot per letter have letter times.
    """
    track, truth = film_with_truth(motion, height_mm, settings.camera, rng)
    recording = Recording(track, simulate_sound(motion, settings.sound, rng, SAMPLE_RATE_HZ), SAMPLE_RATE_HZ)
    cuts = np.flatnonzero(np.diff(motion.shot)) + 1
    if len(cuts) + 1 == len(motion.word):
        truth = replace(truth, letter_spans_s=motion.letter_spans_s, boundaries_s=motion.time_s[cuts])
    return recording, truth


def live_clips(
    corpus: HandwritingCorpus, settings: SimulationSettings, limit: int | None, seed: int, style: str = "standard"
) -> list[Clip]:
    """Samples as they are, one take each; a random ``limit`` of them."""
    heights_mm = letter_heights_mm(corpus)
    order = np.random.default_rng([seed, 0]).permutation(len(corpus))[:limit]
    clips = []
    for index in order:
        rng = np.random.default_rng([seed, 1, int(index)])
        motion = perform_sample(corpus, int(index), heights_mm[index], settings.pen, int(rng.integers(2**31)), style)
        clips.append(_clip(f"live-{index}", motion, float(heights_mm[index]), settings, rng, ()))
    return clips


def spelled_clips(
    corpus: HandwritingCorpus, settings: SimulationSettings, limit: int | None, seed: int, style: str = "standard"
) -> list[Clip]:
    """Lexicon words spelled with one writer's single letters, cut and joined as the benchmark's synthetic words are.

    Writers are taken in turn; each item's word is drawn evenly from those words of the benchmark's list that the
    writer's letters cover.

    Raises:
        UnwrittenError: no writer's letters cover any word.
    """
    bank = LetterBank.of(corpus)
    words = word_list("benchmark").words
    covered = {
        writer: [word for word in words if bank.covers(writer, word)] for writer in bank.writers(least_letters=2)
    }
    writers = [writer for writer, own in covered.items() if own]
    if not writers:
        raise UnwrittenError(
            f"{corpus.source}: no writer's letters cover a word; condition=shots needs letters, try condition=live"
        )
    clips = []
    for number in range(limit if limit is not None else len(corpus)):
        rng = np.random.default_rng([seed, 2, number])
        writer = writers[number % len(writers)]
        word = covered[writer][int(rng.integers(len(covered[writer])))]
        chosen = bank.spell(writer, word, rng)
        height_mm = float(bank.heights_mm[chosen[0]])
        shots = [
            perform_sample(bank.corpus, index, height_mm, settings.pen, int(rng.integers(2**31)), style)
            for index in chosen
        ]
        groups = tuple(f"{writer}/{letter}-{index}" for letter, index in zip(word, chosen, strict=True))
        clips.append(_clip(f"shots-{number}", join_shots(shots, word), height_mm, settings, rng, groups))
    return clips


def _clip(
    name: str,
    motion: Motion,
    height_mm: float,
    settings: SimulationSettings,
    rng: np.random.Generator,
    groups: tuple[str, ...],
) -> Clip:
    recording, truth = record(motion, height_mm, settings, rng)
    return Clip(
        id=name,
        style=motion.style,
        word=motion.word,
        source="simulated",
        writer=motion.writer,
        letter_clips=groups,
        recording=recording,
        truth=truth,
    )


def load_handwriting_benchmark(
    root: Path | str,
    condition: str = "live",
    limit: int | None = None,
    severity_name: str = "measured",
    seed: int = 0,
    held_share: float = 0.0,
    category: str | None = None,
) -> list[Clip]:
    """Clips simulated from a file or folder of handwriting.

    Args:
        root: an ``.npz`` corpus, a UNIPEN or IAM-OnDB folder, or an InkML file.
        condition: ``live`` takes the samples as they are, ``shots`` spells words with one writer's single letters.
        limit: how many clips; None as many as there are samples.
        severity_name: ``mild``, ``measured`` or ``harsh``.
        seed: every choice follows from it.
        held_share: keep only the writers that a training run with seed 0 and this ``data.validation_share`` held back;
            0 keeps all.
        category: one of UNIPEN's, ``1a`` to ``8``, from UNIPEN or files made of it, with the labels that it has; None
            takes the words and letters of a to z that are there.

    Raises:
        UsageError: an unknown condition, severity or category.
        UnwrittenError: the handwriting cannot be read or used.
    """
    if condition not in CONDITIONS:
        raise UsageError(f"benchmark.condition={condition}: known are {', '.join(CONDITIONS)}")
    settings = severity(severity_name)
    corpus = load(root) if category is None else load_category(root, category)
    if held_share > 0:
        corpus = corpus.split_writers((1.0 - held_share, held_share), seed=0)[1]
    make = live_clips if condition == "live" else spelled_clips
    return make(corpus, settings, limit, seed)


SIMULATED_STYLES = ("standard", "cursive")
_WRITERS_OF_A_STYLE = 100  # seeds that a style has for each seed of the benchmark


def written_by(writers: list[SimulatedWriter], words: tuple[str, ...], takes: int, seed: int) -> HandwritingCorpus:
    """A corpus of simulated writers: every letter ``takes`` times and some words of ``words`` each."""
    strokes = []
    rng = np.random.default_rng([seed, 3])
    for writer in writers:
        strokes += [
            writer.write_letter(letter, take) for letter in "abcdefghijklmnopqrstuvwxyz" for take in range(takes)
        ]
        strokes += [writer.write(words[int(index)]) for index in rng.integers(len(words), size=10 * takes)]
    return from_strokes(strokes, "simulated writers")


def simulated_writers_benchmark(limit: int = 100, seed: int = 0, severity_name: str = "measured") -> list[Clip]:
    """Clips of simulated writers that no training uses: half in one take, half spelled letter by letter.

    Training draws writers with seeds below 1,000,000; these have seeds above.
    """
    settings = severity(severity_name)
    words = tuple(word_list("benchmark").words[:2000])
    kinds: list[list[Clip]] = []
    each = -(-limit // (2 * len(SIMULATED_STYLES)))
    writers = min(_WRITERS_OF_A_STYLE, max(6, -(-each // 10)))  # each writes ten words in one take ...
    takes = max(1, -(-each // (10 * writers)))  # ... or more, where there are too few writers
    for number, style in enumerate(SIMULATED_STYLES):
        base = 1_000_000 + 1_000 * seed + 100 * number
        corpus = written_by([SimulatedWriter(base + k, style) for k in range(writers)], words, takes, seed)
        whole = corpus.subset(np.char.str_len(corpus.labels) > 1)
        for made in (
            live_clips(whole, settings, each, seed, style),
            spelled_clips(corpus, settings, each, seed, style),
        ):
            kinds.append([replace(clip, id=f"{style}-{clip.id}") for clip in made])
    # One of each kind in turn, so that any limit keeps the kinds even.
    return [clip for row in zip_longest(*kinds) for clip in row if clip is not None][:limit]
