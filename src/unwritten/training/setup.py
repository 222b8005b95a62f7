"""From settings to data and a fresh module; needs no configuration library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import lightning
import numpy as np

from unwritten.config import settings_from, whole_number
from unwritten.errors import UsageError
from unwritten.features.extract import FeatureSettings
from unwritten.features.kinematics import CHANNELS
from unwritten.models.fusion import ModelSettings
from unwritten.models.module import CtcModule, OptimiserSettings
from unwritten.simulation.severity import SimulationSettings
from unwritten.store import Store
from unwritten.training.data import LoaderSettings, SimulatedBatches, SimulatedData
from unwritten.training.handwriting import HandwritingSettings, describe, pools
from unwritten.training.samples import MixSettings, Planner, SoundAugmentSettings


@dataclass(frozen=True)
class TrainingSettings:
    """Everything that determines a run's weights on one kind of device.

    Attributes:
        seed: of every random choice.
        protocol: what the data make of the numbers, kept for the record.
        max_epochs: length of the schedule.
        handwriting: whose handwriting.
        simulation: how it is performed, filmed and heard.
        mix, augment: what items are made of.
        loader: sizes of batches and epochs.
        features, model, optimiser: as named.
    """

    seed: int = 0
    protocol: str = "transfer"
    max_epochs: int = 40
    handwriting: HandwritingSettings = field(default_factory=HandwritingSettings)
    simulation: SimulationSettings = field(default_factory=SimulationSettings)
    mix: MixSettings = field(default_factory=MixSettings)
    augment: SoundAugmentSettings = field(default_factory=SoundAugmentSettings)
    loader: LoaderSettings = field(default_factory=LoaderSettings)
    features: FeatureSettings = field(default_factory=FeatureSettings)
    model: ModelSettings = field(default_factory=ModelSettings)
    optimiser: OptimiserSettings = field(default_factory=OptimiserSettings)

    @classmethod
    def from_mapping(cls, config: Mapping[str, Any]) -> TrainingSettings:
        """Build from the plain values of a composed configuration.

        Raises:
            UsageError: a key is unknown or a value refused.
        """
        node = dict(config["data"])
        mix = settings_from(MixSettings, node.pop("mix"), "data.mix")
        augment = settings_from(SoundAugmentSettings, node.pop("augment"), "data.augment")
        loader = settings_from(LoaderSettings, node.pop("loader"), "data.loader")
        return cls(
            seed=whole_number(config["seed"], "seed"),
            protocol=str(config["protocol"]),
            max_epochs=whole_number(config["trainer"]["max_epochs"], "trainer.max_epochs", least=1),
            handwriting=settings_from(HandwritingSettings, node, "data"),
            simulation=SimulationSettings.from_mapping(config["simulation"]),
            mix=mix,
            augment=augment,
            loader=loader,
            features=FeatureSettings.from_mapping(config["features"]),
            model=settings_from(ModelSettings, config["model"], "model"),
            optimiser=settings_from(OptimiserSettings, config["optimiser"], "optimiser"),
        )


def assemble(
    settings: TrainingSettings,
    store: Store,
    processes: int = 1,
    devices: int = 1,
    words: tuple[Sequence[str], Sequence[float]] | None = None,
    quiet: bool = False,
) -> tuple[SimulatedData, CtcModule]:
    """Data and a fresh module.

    Args:
        settings: of the run.
        store: where performed handwriting is kept.
        processes: that perform it.
        devices: that each step is dealt out to.
        words: words with relative frequencies to spell and to let simulated writers write; None takes the English list.
        quiet: do not say what the data hold.

    Raises:
        UsageError: there is no handwriting.
        UnwrittenError: a corpus cannot be read, or the store cannot be written.
    """
    features, loader, seed = settings.features, settings.loader, settings.seed
    model = replace(settings.model, kinematic_inputs=len(CHANNELS), spectrogram_inputs=features.spectrogram.n_mels)
    frequent = None if words is None else tuple(words[0])
    training, validation = pools(
        settings.handwriting,
        settings.simulation,
        features.spectrogram,
        model.alphabet,
        seed,
        store,
        processes,
        frequent,
    )
    unknown = sorted(set("".join({*training.labels, *validation.labels})) - set(model.alphabet))
    if unknown:
        raise UsageError(f"model.alphabet={model.alphabet}: the handwriting also holds {''.join(unknown)}; add them")
    if not quiet:
        print(f"training on {describe(training)}\nvalidating on {describe(validation)}")
    if words is None:
        from unwritten.words.lists import word_list

        english = word_list("english")
        parts = (english.words, english.frequency)
    else:
        parts = (tuple(words[0]), np.asarray(words[1], dtype=np.float64))
    made = (settings.simulation.camera, settings.augment, features, loader, model.alphabet)
    planner = Planner(training, *parts, settings.mix, seed)
    batches = SimulatedBatches(planner, training, *made, items=loader.items_per_epoch, devices=devices)
    held_planner = Planner(validation, *parts, settings.mix, seed + 1)
    held = SimulatedBatches(held_planner, validation, *made, items=loader.validation_items, devices=devices)
    optimiser = replace(settings.optimiser, total_steps=settings.max_epochs * len(batches.batches(0)))
    lightning.seed_everything(seed, verbose=False)
    about = {
        "protocol": settings.protocol,
        "seed": seed,
        "simulation": settings.simulation.name,
        "training": describe(training),
    }
    return SimulatedData(batches, held, loader), CtcModule(model, optimiser, features.as_mapping(), about)
