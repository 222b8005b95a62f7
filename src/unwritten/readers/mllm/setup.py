"""All that a multimodal reader is made of, in one piece."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from unwritten.readers.mllm.keys import Secrets
from unwritten.readers.mllm.prompts import PromptSettings
from unwritten.readers.mllm.settings import (
    BudgetSettings,
    LimitSettings,
    MediaSettings,
    MllmSettings,
    PriceSettings,
    RungSettings,
    SamplingSettings,
)


@dataclass(frozen=True)
class Setup:
    """All that a reader is made of.

    Attributes:
        settings, media, prompt, rung, sampling, limits, budget: see there.
        prices: of ``settings.model``.
        model_prices: of ``settings.models``, by modality as they are.
        prompt_text: a user's exact question, None for the prompt's sentences.
        words: candidate list by length, empty without one.
        run: the run that pays.
        store: file of all replies.
        secrets: what no stored text may hold.
        rendered: folder for the files of simulated clips; None takes the user's store.
    """

    settings: MllmSettings
    media: MediaSettings
    prompt: PromptSettings
    rung: RungSettings
    sampling: SamplingSettings
    limits: LimitSettings
    budget: BudgetSettings
    prices: PriceSettings
    run: str
    store: Path
    prompt_text: str | None = None
    words: dict[int, tuple[str, ...]] = field(default_factory=dict)
    secrets: Secrets = field(default_factory=Secrets)
    rendered: Path | None = None
    model_prices: Mapping[str, PriceSettings] = field(default_factory=dict)

    def model(self, modality: str) -> str:
        """The model that is asked about a modality."""
        return self.settings.models.get(modality, self.settings.model)

    def prices_of(self, model: str) -> PriceSettings:
        """What a call of this model costs; of a further model without prices of its own nothing is known."""
        if model == self.settings.model:
            return self.prices
        modality = next((name for name, own in self.settings.models.items() if own == model), "")
        return self.model_prices.get(modality, PriceSettings())
