"""Simulated writers: each has a hand of its own and writes any word in it. T is the number of pen positions.

A writer is drawn from a seed: slant, size, roundness, pace, spacing, tremor, which variants of the letters, and a
personal distortion of each. Writing a word adds what differs from one time to the next. Both are deterministic in
(seed, style, word, take).
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from unwritten.errors import UnwrittenError
from unwritten.handwriting.glyphs import Glyph, Targets, alphabet
from unwritten.handwriting.hand import minimum_jerk, passage_durations, power_law_times
from unwritten.handwriting.plan import Plan, plan_word
from unwritten.handwriting.retrace import retrace_word
from unwritten.handwriting.traits import Hand, WriterSettings, draw_hand
from unwritten.handwriting.written import WrittenWord
from unwritten.types import Strokes

ALPHABET_OF_STYLE = {"standard": "print", "print": "print", "cursive": "cursive", "retrace": "print"}


class SimulatedWriter:
    """A writer of ``style`` (``standard`` or ``print``, ``cursive``, ``retrace``) whose hand ``seed`` decides.

    Raises:
        UnwrittenError: there is no such style.
    """

    def __init__(self, seed: int, style: str = "standard", settings: WriterSettings | None = None) -> None:
        if style not in ALPHABET_OF_STYLE:
            raise UnwrittenError(f"{style}: no such style of writing; there are {', '.join(ALPHABET_OF_STYLE)}")
        self.seed = seed
        self.style = style
        self.settings = settings or WriterSettings()
        self.name = f"simulated/{style}-{seed}"
        self.hand = draw_hand(_generator(seed, style, "hand"), self.settings)
        self._shapes = alphabet(ALPHABET_OF_STYLE[style])
        self._own: dict[str, Glyph] = {}

    def write(self, word: str, take: int = 0) -> Strokes:
        """The pen's path while the writer writes ``word``, from the first touch of the paper to the last.

        Args:
            word: letters a to z and A to Z.
            take: the writer writes the same word a little differently each time.

        Raises:
            UnwrittenError: the word is empty or holds a character that the alphabet lacks.
        """
        return self.write_word(word, take).strokes

    def write_letter(self, letter: str, take: int = 0) -> Strokes:
        """As ``write``, for a single letter.

        Raises:
            UnwrittenError: ``letter`` is not one letter of the alphabet.
        """
        if len(letter) != 1:
            raise UnwrittenError(f"{letter!r} is not one letter; use write for words")
        return self.write(letter, take)

    def write_word(self, word: str, take: int = 0) -> WrittenWord:
        """As ``write``, with the time of each letter."""
        if not word:
            raise UnwrittenError("an empty word cannot be written; give at least one letter")
        unknown = sorted(set(word) - self._shapes.keys())
        if unknown:
            raise UnwrittenError(f"{word!r}: no way to write {', '.join(map(repr, unknown))}; use letters a-z and A-Z")
        rng = _generator(self.seed, self.style, f"word {take} {word}")
        glyphs = [self.own_glyph(letter) for letter in word]
        plan = plan_word(word, glyphs, self.hand, self.settings, rng)
        written = self._perform(plan, word, rng)
        return retrace_word(written, rng) if self.style == "retrace" else written

    def own_glyph(self, letter: str) -> Glyph:
        """This writer's way to write ``letter``."""
        if letter not in self._own:
            rng = _generator(self.seed, self.style, f"letter {letter}")
            variants = self._shapes[letter]
            index = 0 if rng.random() < 0.4 else int(rng.integers(len(variants)))
            glyph = variants[index]
            if ALPHABET_OF_STYLE[self.style] == "print" and self.hand.lifts_at_corners > 0:
                glyph = _stroke_by_stroke(glyph, self.hand.lifts_at_corners, self.settings.restart_jitter, rng)
            self._own[letter] = _personal(glyph, self.hand, self.settings.personal_jitter, rng)
        return self._own[letter]

    def _perform(self, plan: Plan, word: str, rng: np.random.Generator) -> WrittenWord:
        hand, settings = self.hand, self.settings
        pace_s = hand.pace_s * (settings.cursive_pace if self.style == "cursive" else 1.0)
        pace_s *= settings.isolated_pace if len(word) == 1 else 1.0
        durations_s = passage_durations(plan.points, plan.corner, settings.stop_cost) * pace_s
        durations_s *= np.where(plan.lifted, hand.travel_pace, 1.0)
        durations_s *= np.exp(rng.normal(0.0, settings.timing_spread, len(durations_s)))
        durations_s += plan.pause_s
        fine_hz = 2 * settings.rate_hz
        path = minimum_jerk(plan.points, plan.corner, durations_s, fine_hz)
        path_s = power_law_times(path, fine_hz)
        passed_s = np.interp(np.concatenate([[0.0], np.cumsum(durations_s)]), np.arange(len(path)) / fine_hz, path_s)
        time_s = np.arange(int(path_s[-1] * settings.rate_hz) + 1) / settings.rate_hz
        units = np.stack([np.interp(time_s, path_s, path[:, axis]) for axis in range(2)], axis=1)
        segment = np.clip(np.searchsorted(passed_s, time_s, side="right") - 1, 0, len(durations_s) - 1)
        xy_mm = _on_paper(units, hand) + _tremor(time_s, hand.tremor_mm, rng)
        strokes = Strokes(time_s, xy_mm, ~plan.lifted[segment], label=word, writer=self.name, source="simulated")
        return WrittenWord(strokes, passed_s[plan.letter_targets])


def _generator(seed: int, style: str, purpose: str) -> np.random.Generator:
    digest = hashlib.blake2b(f"{seed}\0{style}\0{purpose}".encode(), digest_size=16).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest, "big")))


def _stroke_by_stroke(glyph: Glyph, share: float, jitter: float, rng: np.random.Generator) -> Glyph:
    """The letter with the pen lifted at a share of its corners; what follows begins near the corner, not at it."""
    strokes: list[Targets] = []
    for stroke in glyph.strokes:
        first, points = 0, stroke.points.copy()
        for corner in np.flatnonzero(stroke.corner):
            if rng.random() >= share:
                continue
            strokes.append(Targets(points[first : corner + 1].copy(), stroke.corner[first : corner + 1]))
            first = int(corner)
            points[first] += rng.normal(0.0, jitter, 2)
        strokes.append(Targets(points[first:], stroke.corner[first:]))
    return replace(glyph, strokes=tuple(strokes))


def _personal(glyph: Glyph, hand: Hand, jitter: float, rng: np.random.Generator) -> Glyph:
    """The model letter, stretched, rounded and moved about as this writer does every time."""
    stretch = np.exp(rng.normal(0.0, [0.07, 0.03]))
    strokes = tuple(_distorted(stroke, hand, stretch, jitter, rng) for stroke in glyph.strokes)
    return Glyph(
        entry=_distorted(glyph.entry, hand, stretch, jitter, rng),
        strokes=strokes,
        exit=_distorted(glyph.exit, hand, stretch, jitter, rng),
        delayed=tuple(_distorted(stroke, hand, stretch, jitter, rng) for stroke in glyph.delayed),
        width=max(float(stroke.points[:, 0].max()) for stroke in strokes),
    )


def _distorted(
    stroke: Targets, hand: Hand, stretch: NDArray[np.float64], jitter: float, rng: np.random.Generator
) -> Targets:
    points = stroke.points * stretch
    if len(points) > 2:
        bulge = points[1:-1] - 0.5 * (points[:-2] + points[2:])
        points[1:-1] += np.where(stroke.corner[1:-1, None], 0.0, hand.roundness) * bulge
    if len(points) > 0:
        # Neighbouring targets move together, so that a bowl stays a bowl.
        own = rng.normal(0.0, jitter, (len(points), 2))
        points = points + 0.6 * own + 0.8 * rng.normal(0.0, jitter, 2)
    return Targets(points, stroke.corner)


def _on_paper(units: NDArray[np.float64], hand: Hand) -> NDArray[np.float64]:
    """Positions ``[T, 2]`` in millimetres from positions in x-heights."""
    x, y = units[:, 0] * hand.aspect, units[:, 1]
    y = np.where(y > 1.0, 1.0 + (y - 1.0) * hand.tall, np.where(y < 0.0, y * hand.deep, y))
    return np.stack([x + hand.slant * y, y + hand.slope * x], axis=1) * hand.x_height_mm


def _tremor(time_s: NDArray[np.float64], amplitude_mm: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Slow drift and physiological tremor ``[T, 2]``: a few sines of random frequency and phase."""
    frequency_hz = np.concatenate([rng.uniform(0.4, 2.5, (2, 2)), rng.uniform(6.0, 12.0, (3, 2))])
    gain_mm = amplitude_mm * np.array([4.0, 2.0, 1.0, 0.8, 0.6])[:, None]
    phase = rng.uniform(0.0, 2 * math.pi, (5, 2))
    angle = 2 * math.pi * frequency_hz[:, None, :] * time_s[None, :, None] + phase[:, None, :]
    return (gain_mm[:, None, :] * np.sin(angle)).sum(axis=0)
