"""Training items, each a function of (seed, epoch, index): a plan of what is written, then film and sound of it.

The plan of an epoch is cheap and names every item's pool entries, so lengths are known before anything is simulated:
batches are bounded by frames and hold items of like length. T is the number of feature frames.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unwritten.config import INFINITE, bounded
from unwritten.features.extract import FeatureSettings, track_features
from unwritten.features.spectrogram import SpectrogramSettings
from unwritten.simulation.camera import CameraSettings, film
from unwritten.simulation.misplacement import misplace_strokes, stretch_strokes
from unwritten.simulation.motion import MOTION_RATE_HZ, Motion
from unwritten.simulation.warp import warp
from unwritten.training.joins import Join, draw_join, placed
from unwritten.training.pool import Pool

_POSITIVE = (0.0, INFINITE)


@dataclass(frozen=True)
class MixSettings:
    """What an epoch is made of.

    Attributes:
        spelled: share of words spelled letter by letter from one writer's single letters, one shot each.
        letters: share of single letters; the rest are words written in one take.
        joined: share of texts joined in one take from one writer's words, or from one writer's single letters.
        longest_joined: letters and spaces of the longest joined text.
        random_spelling: share of spelled words that are random letters, so that shapes are read and not guessed.
        longest_spelled: letters of the longest spelled word.
        word_flatness: exponent on word frequencies; 0 draws all words alike.
        style_weights: how often a style is drawn for spelled words and letters, by name; 1 when not named.
        misplaced: probability that a letter filmed alone has a stroke that begins off from where the last one ended.
        misplaced_reach: standard deviation of that shift in letter heights.
        stretched: probability that a letter filmed alone has a stroke of another length and direction than it should.
        stretched_spread: standard deviation of the logarithm of its length over what it should be.
        stretched_turn_rad: standard deviation of its direction against what it should be.
        warp: standard deviation of a smooth change of shape, in letter heights; makes new hands of the corpus's.
        repeat_epoch: every epoch is the first one again, to see whether the network can learn it by heart.
    """

    spelled: float = 0.5
    letters: float = 0.15
    joined: float = 0.0
    longest_joined: int = 24
    random_spelling: float = 0.25
    longest_spelled: int = 5
    word_flatness: float = 0.3
    style_weights: dict[str, float] = field(default_factory=dict)
    misplaced: float = 0.35
    misplaced_reach: float = 0.14
    stretched: float = 0.4
    stretched_spread: float = 0.25
    stretched_turn_rad: float = 0.14
    warp: float = 0.08
    repeat_epoch: bool = False

    def __post_init__(self) -> None:
        share = (0.0, 1.0)
        bounded(self, joined=share, longest_joined=(4, INFINITE))
        bounded(self, spelled=share, letters=share, random_spelling=share, misplaced=share, stretched=share)
        bounded(self, word_flatness=_POSITIVE, misplaced_reach=_POSITIVE, stretched_spread=_POSITIVE, warp=_POSITIVE)
        bounded(self, stretched_turn_rad=(0.0, 3.0), longest_spelled=(2, INFINITE))


@dataclass(frozen=True)
class SoundAugmentSettings:
    """What differs between recordings of one sound. Energies in units of the spectrogram's ``scale_db``.

    Attributes:
        gain: standard deviation of a clip's loudness over the floor.
        tilt: standard deviation of a smooth change of loudness over the bands.
        shot_floor: standard deviation of a shot's floor against the floor that was taken off, when cuts are unknown.
        shot_floor_probability: how often cuts are taken as unknown.
        offset_s: standard deviation of the delay of sound against pictures, per shot.
        band_masks, band_width: SpecAugment's number and greatest width of masked bands (Park et al. 2019).
        video_only, audio_only: shares of items that lack the other modality altogether.
    """

    gain: float = 0.25
    tilt: float = 0.2
    shot_floor: float = 0.4
    shot_floor_probability: float = 0.35
    offset_s: float = 0.06
    band_masks: int = 2
    band_width: int = 6
    video_only: float = 0.0
    audio_only: float = 0.0

    def __post_init__(self) -> None:
        share = (0.0, 1.0)
        bounded(self, shot_floor_probability=share, video_only=share, audio_only=share)
        bounded(self, gain=_POSITIVE, tilt=_POSITIVE, shot_floor=_POSITIVE, offset_s=_POSITIVE)
        bounded(self, band_masks=_POSITIVE, band_width=_POSITIVE)


class PlannedItem(NamedTuple):
    """One item of an epoch.

    Attributes:
        entries: the pool's, in order.
        word: what they write.
        seed: of everything else.
        joins: what lies between neighbouring entries; none where each was shot by itself.
    """

    entries: tuple[int, ...]
    word: str
    seed: int
    joins: tuple[Join, ...] = ()

    @property
    def shot_by_shot(self) -> bool:
        """Whether every letter was filmed by itself."""
        return len(self.entries) == len(self.word) and not self.joins


class SoundChange(NamedTuple):
    """How the sound of one item differs from what is stored; ``models.batch.LoadedBatch`` applies it.

    Attributes:
        gain: factor on energies over the floor; tilt: float32 ``[M]`` added to them.
        floor: float32 ``[T]`` added to every band of a frame.
        kept: bool ``[M]`` False in masked bands.
    """

    gain: float
    tilt: NDArray[np.float32]
    floor: NDArray[np.float32]
    kept: NDArray[np.bool_]


class ComposedItem(NamedTuple):
    """Features of one item.

    Attributes:
        kinematics: float32 ``[T, K]``; kinematics_mask: bool ``[T]``.
        energies: bytes ``[T, M]``; spectrogram_mask: bool ``[T]``; change: how they differ from what is stored.
        shot: int64 ``[T]`` which letter of the word was shot by itself then, -1 in a word that was written in one take.
        word: what is written.
    """

    kinematics: NDArray[np.float32]
    kinematics_mask: NDArray[np.bool_]
    energies: NDArray[np.uint8]
    spectrogram_mask: NDArray[np.bool_]
    change: SoundChange
    shot: NDArray[np.int64]
    word: str


class Planner:
    """Plans epochs over a pool.

    Args:
        pool: performed samples of the writers to train on.
        words: words to spell; weights: their relative frequencies ``[W]``.
        mix: what an epoch is made of.
        seed: with the epoch and the item's index it determines everything.
    """

    def __init__(
        self, pool: Pool, words: tuple[str, ...], weights: NDArray[np.float64], mix: MixSettings, seed: int
    ) -> None:
        self.mix = mix
        self.seed = seed
        lengths = np.char.str_len(pool.labels)
        self._letters = np.flatnonzero(lengths == 1)
        self._words = np.flatnonzero(lengths > 1)
        self._labels = pool.labels
        short = np.array([len(word) <= mix.longest_spelled for word in words])
        self._spellings = np.array(words)[short]
        weights = np.asarray(weights, dtype=np.float64)[short] ** mix.word_flatness
        self._spelling_weights = weights / weights.sum()
        by_hand: dict[tuple[str, str], dict[str, list[int]]] = {}
        for index in self._letters:
            hand = (str(pool.writers[index]), str(pool.styles[index]))
            by_hand.setdefault(hand, {}).setdefault(str(pool.labels[index]), []).append(int(index))
        # A hand with few letters can spell next to nothing: it serves as single letters only.
        self._hands = [letters for _, letters in sorted(by_hand.items()) if len(letters) >= 8]
        hand_styles = [style for (_, style), letters in sorted(by_hand.items()) if len(letters) >= 8]
        sizes = np.array([sum(map(len, letters.values())) for letters in self._hands], dtype=np.float64)
        weight = np.sqrt(sizes) * np.array([mix.style_weights.get(style, 1.0) for style in hand_styles])
        self._hand_weights = weight / weight.sum() if len(weight) else weight
        letter_weights = np.array([mix.style_weights.get(str(pool.styles[i]), 1.0) for i in self._letters])
        self._letter_weights = letter_weights / letter_weights.sum() if len(letter_weights) else letter_weights
        word_weights = np.array([mix.style_weights.get(str(pool.styles[i]), 1.0) for i in self._words])
        self._word_weights = word_weights / word_weights.sum() if len(word_weights) else word_weights
        by_writer: dict[tuple[str, str], list[int]] = {}
        for index in self._words if mix.joined else ():
            if " " not in str(pool.labels[index]):
                by_writer.setdefault((str(pool.writers[index]), str(pool.styles[index])), []).append(int(index))
        self._joinable = [entries for _, entries in sorted(by_writer.items()) if len(entries) >= 8]

    def plan(self, epoch: int, count: int) -> list[PlannedItem]:
        """The items of an epoch, in no order that matters."""
        rng = np.random.default_rng([self.seed, 0 if self.mix.repeat_epoch else epoch])
        kinds = rng.random(count)
        seeds = rng.integers(2**31, size=count)
        spellings = rng.choice(len(self._spellings), size=(count, 4), p=self._spelling_weights)
        hands = rng.choice(len(self._hands), size=count, p=self._hand_weights) if self._hands else np.zeros(count, int)
        singles = rng.choice(self._letters, size=count, p=self._letter_weights) if len(self._letters) else None
        wholes = rng.choice(self._words, size=count, p=self._word_weights) if len(self._words) else None
        items = []
        for n in range(count):
            spelled = kinds[n] < self.mix.spelled
            if 0.0 <= kinds[n] - self.mix.spelled < self.mix.joined and (self._joinable or self._hands):
                items.append(self._joined_text(int(hands[n]), spellings[n], int(seeds[n]), rng))
                continue
            if (spelled or wholes is None) and self._hands and kinds[n] < max(self.mix.spelled, 1 - self.mix.letters):
                letters = self._hands[hands[n]]
                word = self._spelling(letters, spellings[n], rng)
                entries = tuple(letters[letter][int(rng.integers(len(letters[letter])))] for letter in word)
            else:
                single = kinds[n] > 1 - self.mix.letters or wholes is None
                index = int((singles if single and singles is not None else wholes)[n])  # type: ignore[index]
                word, entries = str(self._labels[index]), (index,)
            items.append(PlannedItem(entries, word, int(seeds[n])))
        return items

    def _spelling(self, letters: dict[str, list[int]], drawn: NDArray[np.integer], rng: np.random.Generator) -> str:
        if rng.random() >= self.mix.random_spelling:
            for index in drawn:
                word = str(self._spellings[index])
                if set(word) <= letters.keys():
                    return word
        own = sorted(letters)
        return "".join(
            own[int(rng.integers(len(own)))] for _ in range(int(rng.integers(2, self.mix.longest_spelled + 1)))
        )

    def _joined_text(self, hand: int, drawn: NDArray[np.integer], seed: int, rng: np.random.Generator) -> PlannedItem:
        """Words of one writer beside and below one another; half of the time letter by letter."""
        groups: list[list[int]] = []
        wanted = int(rng.integers(1, 6))
        if self._hands and (not self._joinable or rng.random() < 0.5):
            letters = self._hands[hand]
            for _ in range(wanted):
                word = _cased(self._spelling(letters, rng.permutation(drawn), rng), letters, rng)
                groups.append([letters[letter][int(rng.integers(len(letters[letter])))] for letter in word])
        else:
            entries = self._joinable[int(rng.integers(len(self._joinable)))]
            groups = [[entries[int(chosen)]] for chosen in rng.integers(len(entries), size=wanted + 1)]
        chosen, spaces, length = list(groups[0]), [""] * (len(groups[0]) - 1), self._written(groups[0])
        for group in groups[1:]:
            length += 1 + self._written(group)
            if length > self.mix.longest_joined:
                break
            spaces += ["\n" if rng.random() < 0.2 else " ", *[""] * (len(group) - 1)]
            chosen += group
        word = str(self._labels[chosen[0]])
        for space, entry in zip(spaces, chosen[1:], strict=True):
            word += space.replace("\n", " ") + str(self._labels[entry])
        return PlannedItem(tuple(chosen), word, seed, tuple(draw_join(space, rng) for space in spaces))

    def _written(self, entries: list[int]) -> int:
        return sum(len(str(self._labels[entry])) for entry in entries)


def _cased(word: str, letters: Mapping[str, object], rng: np.random.Generator) -> str:
    """Some words with a capital, some in capitals, some with a sign after them, if the hand has these."""
    draw = rng.random()
    other = word.upper() if draw < 0.15 else word.capitalize() if draw < 0.4 else word
    word = other if set(other) <= letters.keys() else word
    own = sorted(letters.keys() & set(".,?!:;'-")) if rng.random() < 0.25 else []
    return word + own[int(rng.integers(len(own)))] if own else word


def item_frames(item: PlannedItem, pool: Pool, rate_hz: float) -> int:
    """Upper bound of an item's feature frames."""
    samples = sum(int(pool.starts[entry + 1] - pool.starts[entry]) for entry in item.entries)
    samples += sum(join.samples for join in item.joins)
    return int(samples * rate_hz / MOTION_RATE_HZ) + 1


def compose(
    item: PlannedItem,
    pool: Pool,
    camera: CameraSettings,
    sound: SoundAugmentSettings,
    features: FeatureSettings,
    mix: MixSettings,
) -> ComposedItem:
    """Film and sound one planned item."""
    rng = np.random.default_rng(item.seed)
    motion = _joined(item, pool)
    height_mm = float(pool.heights_mm[item.entries[0]])
    if item.shot_by_shot:
        moved = misplace_strokes(
            motion.xy_mm, motion.pen_down, motion.shot, height_mm, mix.misplaced, mix.misplaced_reach, rng
        )
        moved = stretch_strokes(
            moved,
            motion.pen_down,
            motion.shot,
            mix.stretched,
            mix.stretched_spread,
            mix.stretched_turn_rad,
            rng,
        )
        motion = replace(motion, xy_mm=moved)
    if mix.warp > 0:
        motion = replace(motion, xy_mm=warp(motion.xy_mm, motion.shot, height_mm, mix.warp, rng))
    track = film(motion, height_mm, camera, rng)
    kinematics, known, _ = track_features(track, features)
    energies, heard, change = _sounded(item, pool, len(kinematics), sound, features, rng)
    if len(pool.mel):
        draw = rng.random()
        if draw < sound.video_only:
            heard = np.zeros_like(heard)
        elif draw > 1.0 - sound.audio_only:
            kinematics, known = np.zeros_like(kinematics), np.zeros_like(known)
    samples = pool.starts[np.array(item.entries) + 1] - pool.starts[np.array(item.entries)]
    shot = letter_shots(item, samples / MOTION_RATE_HZ * features.kinematics.rate_hz, len(kinematics))
    return ComposedItem(kinematics, known, energies, heard, change, shot, item.word)


def letter_shots(item: PlannedItem, lengths: NDArray[np.floating], frames: int) -> NDArray[np.int64]:
    """Which letter each of so many frames belongs to, -1 where they are not shot one by one.

    Args:
        item: what is joined.
        lengths: ``[E]`` frames of each entry.
        frames: T of the item.
    """
    if not item.shot_by_shot:
        return np.full(frames, -1, dtype=np.int64)
    ends = np.round(np.cumsum(lengths)).astype(np.int64)
    return np.minimum(np.searchsorted(ends, np.arange(frames), side="right"), len(ends) - 1)


def _joined(item: PlannedItem, pool: Pool) -> Motion:
    spans = [slice(pool.starts[entry], pool.starts[entry + 1]) for entry in item.entries]
    paths: list[NDArray[np.floating]] = [pool.xy_centimm[span] / 100.0 for span in spans]
    contacts = [pool.pen_down[span] for span in spans]
    shots = np.repeat(np.arange(len(spans)), [len(path) for path in paths])
    if item.joins:
        labels = [str(pool.labels[entry]) for entry in item.entries]
        paths, contacts = placed(paths, contacts, labels, item.joins, float(pool.heights_mm[item.entries[0]]))
        shots = np.zeros(sum(map(len, paths)), dtype=np.int64)
    return Motion(
        time_s=np.arange(len(shots)) / MOTION_RATE_HZ,
        xy_mm=np.concatenate(paths),
        pen_down=np.concatenate(contacts),
        shot=shots,
        word=item.word,
        letter_spans_s=np.zeros((0, 2)),
    )


def sound_change(
    sound: SoundAugmentSettings, bands: SpectrogramSettings, frames: int, rng: np.random.Generator
) -> SoundChange:
    """Draw a loudness, a tilt and masked bands for an item of so many frames, whose floor stays as it is."""
    bend = np.linspace(-1.0, 1.0, bands.n_mels)
    tilt = rng.normal(0.0, sound.tilt) * bend + rng.normal(0.0, sound.tilt) * (bend**2 - 0.33)
    gain = float(np.exp(0.5 * rng.normal(0.0, sound.gain)))
    kept = np.ones(bands.n_mels, dtype=np.bool_)
    for _ in range(sound.band_masks):
        width = int(rng.integers(sound.band_width + 1))
        first = int(rng.integers(bands.n_mels - width + 1))
        kept[first : first + width] = False
    return SoundChange(gain, (0.3 * tilt).astype(np.float32), np.zeros(frames, dtype=np.float32), kept)


def _sounded(
    item: PlannedItem,
    pool: Pool,
    frames: int,
    sound: SoundAugmentSettings,
    features: FeatureSettings,
    rng: np.random.Generator,
) -> tuple[NDArray[np.uint8], NDArray[np.bool_], SoundChange]:
    bands = features.spectrogram
    energies = np.zeros((frames, bands.n_mels), dtype=np.uint8)
    heard = np.zeros(frames, dtype=np.bool_)
    change = sound_change(sound, bands, frames, rng)
    if not len(pool.mel):
        return energies, heard, change
    rate_hz = bands.rate_hz
    unknown_cuts = len(item.entries) > 1 and not item.joins and rng.random() < sound.shot_floor_probability
    start_s = 0.0
    for number, entry in enumerate(item.entries):
        mel = pool.mel[pool.mel_starts[entry] : pool.mel_starts[entry + 1]]
        begin = round((start_s + rng.normal(0.0, sound.offset_s)) * rate_hz)
        low, high = max(0, begin), min(frames, begin + len(mel))
        if high > low:
            energies[low:high] = mel[low - begin : high - begin]
            heard[low:high] = True
            change.floor[low:high] = rng.normal(0.0, sound.shot_floor) if unknown_cuts else 0.0
        start_s += float(pool.starts[entry + 1] - pool.starts[entry]) / MOTION_RATE_HZ
        start_s += item.joins[number].samples / MOTION_RATE_HZ if number < len(item.joins) else 0.0
    return energies, heard, change
