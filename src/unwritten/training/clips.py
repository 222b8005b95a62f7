"""Training on real clips under a protocol: clips as they are, and words joined from one hand's letter clips."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import lightning
import numpy as np
from numpy.typing import NDArray

from unwritten.benchmark import find_clips
from unwritten.benchmark.protocols import PROTOCOLS, Fold, ProtocolSettings, folds
from unwritten.config import settings_from
from unwritten.errors import UsageError
from unwritten.features.extract import FeatureSettings
from unwritten.features.kinematics import CHANNELS
from unwritten.models.module import CtcModule
from unwritten.simulation.camera import CameraSettings
from unwritten.store import Store
from unwritten.training.clip_bank import AS_THEY_ARE, UNCHANGED, ClipBank, compose_clips, describe_clips, load_bank
from unwritten.training.data import LoaderSettings, SimulatedBatches, SimulatedData
from unwritten.training.samples import ComposedItem, MixSettings, PlannedItem, Planner, SoundAugmentSettings
from unwritten.training.setup import TrainingSettings
from unwritten.types import Clip
from unwritten.wording import counted
from unwritten.words import word_list

_HELD_WORDS = 10  # one word in so many of those that can be joined is kept for validation, where clips give none


@dataclass(frozen=True)
class ClipSettings:
    """Which clips a model learns from.

    Attributes:
        kind: ``clips``, which tells this node from one of handwriting.
        clips: folder that holds the clips, at any depth.
        protocol: ``closed``, ``live`` or ``cross-style``; see ``unwritten.benchmark.protocols``.
        held_style: the style that ``cross-style`` tests on.
        validation: share of the training words that is set aside.
    """

    kind: str = "clips"
    clips: str | None = None
    protocol: str = "live"
    held_style: str | None = None
    validation: float = 0.1

    def __post_init__(self) -> None:
        if self.protocol not in PROTOCOLS or self.protocol == "transfer":
            raise ValueError(
                f"protocol={self.protocol}: closed, live and cross-style learn from clips; transfer learns from none"
            )
        if (self.held_style is not None) != (self.protocol == "cross-style"):
            raise ValueError("held_style belongs to protocol=cross-style: it names the style to test on")

    @classmethod
    def from_mapping(cls, node: Mapping[str, Any]) -> ClipSettings:
        """Build from the plain values of the ``data`` node; those of batches and mixing are left to others."""
        return settings_from(cls, {k: v for k, v in node.items() if k not in ("mix", "augment", "loader")}, "data")


def chosen_fold(settings: ClipSettings, seed: int) -> Fold:
    """The division of the folder's clips under the protocol; ``closed`` adds its words' letter clips to its training.

    Raises:
        UsageError: no folder, or a style that no clip has.
        UnwrittenError: the folder does not hold what the protocol needs.
    """
    if not settings.clips:
        raise UsageError("data=clips needs data.clips=DIR, where the clips lie")
    clips = find_clips(settings.clips)
    try:
        protocol = ProtocolSettings(settings.protocol, validation=settings.validation, seed=seed)  # type: ignore[arg-type]
    except ValueError as error:
        raise UsageError(f"data: {error}") from error
    made = folds(clips, protocol)
    if settings.protocol == "cross-style":
        named = {fold.test[0].style: fold for fold in made}
        if settings.held_style not in named:
            raise UsageError(f"data.held_style={settings.held_style}: the clips have {', '.join(sorted(named))}")
        return named[settings.held_style]
    fold = made[0]
    if settings.protocol == "closed":
        used = {letter for clip in fold.train for letter in clip.letter_clips}
        letters = tuple(clip for clip in clips if clip.source == "letter" and clip.id in used)
        fold = replace(fold, train=(*fold.train, *letters))
    return fold


class ClipPlanner(Planner):
    """Plans epochs over clips; never joins a word that is tested or validated on.

    Args:
        bank: the clips to learn from.
        words: words to join; weights: their relative frequencies ``[W]``.
        mix: ``spelled`` is the share of joined words, ``letters`` that of single letters, the rest are words as filmed.
        seed: with the epoch and the item's index it determines everything.
        held: words that are never joined, by chance neither.
    """

    def __init__(
        self,
        bank: ClipBank,
        words: tuple[str, ...],
        weights: NDArray[np.float64],
        mix: MixSettings,
        seed: int,
        held: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__(bank, words, weights, mix, seed)  # type: ignore[arg-type]  # it asks for labels and hands alone
        self.held = held

    def _spelling(self, letters: dict[str, list[int]], drawn: NDArray[np.integer], rng: np.random.Generator) -> str:
        for _ in range(100):
            word = super()._spelling(letters, drawn, rng)
            if word not in self.held:
                return word
        return next(iter(sorted(letters)))


class ClipBatches(SimulatedBatches):
    """Batch (epoch, number) over a bank of clips."""

    def __init__(
        self,
        planner: ClipPlanner,
        bank: ClipBank,
        camera: CameraSettings,
        sound: SoundAugmentSettings,
        features: FeatureSettings,
        settings: LoaderSettings,
        alphabet: str,
        items: int,
        devices: int = 1,
    ) -> None:
        super().__init__(planner, bank, camera, sound, features, settings, alphabet, items, devices)  # type: ignore[arg-type]
        self.bank = bank

    def item_frames(self, item: PlannedItem) -> int:
        """Feature frames of an item."""
        return sum(len(self.bank.mel[entry]) for entry in item.entries)

    def compose(self, item: PlannedItem) -> ComposedItem:
        """Features of an item."""
        return compose_clips(item, self.bank, self.camera, self.sound, self.features)


def assemble_clips(
    config: Mapping[str, Any], store: Store, processes: int = 1, devices: int = 1, quiet: bool = False
) -> tuple[SimulatedData, CtcModule]:
    """Data and a fresh module of a composed configuration whose ``data.kind`` is ``clips``.

    Raises:
        UsageError: a setting is unknown or missing.
        UnwrittenError: the folder does not hold what the protocol needs, or nothing in it can be read.
    """
    clip_settings = ClipSettings.from_mapping(config["data"])
    shared = {name: config["data"][name] for name in ("mix", "augment", "loader")}
    settings = TrainingSettings.from_mapping({**config, "data": shared})
    features, loader, seed = settings.features, settings.loader, settings.seed
    model = replace(settings.model, kinematic_inputs=len(CHANNELS), spectrogram_inputs=features.spectrogram.n_mels)
    fold = chosen_fold(clip_settings, seed)
    bank = load_bank(fold.train, features, store, processes, model.alphabet, not quiet)
    held_bank = load_bank(fold.validation, features, store, processes, model.alphabet, not quiet)
    tested = frozenset(clip.word.lower() for clip in fold.test if clip.word) if "word" in fold.whole else frozenset()
    held = tested | {str(word) for word in held_bank.labels}
    listed = word_list("benchmark")
    free = [n for n, word in enumerate(listed.words) if word not in held]
    if not len(held_bank):  # letters alone: some words are joined for validation only
        kept = free[:: max(1, min(_HELD_WORDS, len(free)))]
        held |= {listed.words[n] for n in kept}
        free = sorted(set(free) - set(kept))
    else:
        kept = []
    words, weights = tuple(listed.words[n] for n in free), np.asarray(listed.frequency)[free]
    sizes = (features, loader, model.alphabet)
    planner = ClipPlanner(bank, words, weights, settings.mix, seed, held)
    batches = ClipBatches(
        planner, bank, settings.simulation.camera, settings.augment, *sizes, loader.items_per_epoch, devices
    )
    if len(held_bank):
        plain = replace(settings.mix, spelled=0.0, letters=0.0)
        held_planner = ClipPlanner(held_bank, words, weights, plain, seed + 1)
    else:
        joined = replace(settings.mix, spelled=1.0, letters=0.0, random_spelling=0.0)
        parts = (tuple(listed.words[n] for n in kept), np.asarray(listed.frequency)[kept])
        held_planner = ClipPlanner(bank, *parts, joined, seed + 1)
    source = held_bank if len(held_bank) else bank
    validation = ClipBatches(
        held_planner, source, AS_THEY_ARE, UNCHANGED, *sizes, loader.validation_items, devices=devices
    )
    counts = describe_clips(bank)
    if not quiet:
        print(f"protocol {fold.name}: training on {counts}, validating on {describe_clips(held_bank)}")
        tested_on = counted(len(fold.test), "clip")
        print(f"tested on {tested_on}; whole: {', '.join(fold.whole)}; shared: {', '.join(fold.shared)}")
        for line in (*bank.failed, *held_bank.failed):
            print(f"left out: {line}")
    optimiser = replace(settings.optimiser, total_steps=settings.max_epochs * max(1, len(batches.batches(0))))
    lightning.seed_everything(seed, verbose=False)
    about = {
        "protocol": fold.name,
        "seed": seed,
        "training": counts,
        "whole": list(fold.whole),
        "shared": list(fold.shared),
    }
    return SimulatedData(batches, validation, loader), CtcModule(model, optimiser, features.as_mapping(), about)


def tested_clips(config: Mapping[str, Any], limit: int) -> list[Clip]:
    """The clips that a run's protocol tests on, at most ``limit`` of them, drawn evenly by the run's seed."""
    seed = int(config["seed"])
    test = chosen_fold(ClipSettings.from_mapping(config["data"]), seed).test
    order = np.random.default_rng([seed, 7]).permutation(len(test))[:limit]
    return [test[number] for number in sorted(order)]
