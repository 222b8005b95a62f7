"""From a clip to a request: the media that the model takes, what the rung gives, demonstrations and the question."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from unwritten.readers.base import number_of_letters
from unwritten.readers.mllm.demonstrations import demonstrations
from unwritten.readers.mllm.keys import Secrets
from unwritten.readers.mllm.media import encode
from unwritten.readers.mllm.parts import Part, Request, Text, Turn, media_digest
from unwritten.readers.mllm.prompts import PromptSettings, question, tells_length
from unwritten.readers.mllm.rungs import Baseline, given_parts
from unwritten.readers.mllm.settings import (
    BudgetSettings,
    LimitSettings,
    MediaSettings,
    MllmSettings,
    PriceSettings,
    RungSettings,
    SamplingSettings,
)
from unwritten.types import MODALITIES, Clip, Modality

_GIVEN = ("ink", "segmentation", "strokes", "letters")


@dataclass(frozen=True)
class Setup:
    """All that a reader is made of.

    Attributes:
        settings, media, prompt, rung, sampling, limits, budget, prices: see there.
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


class Composer:
    """Knows what a model can be asked, and composes it.

    Args:
        setup: what the reader is made of.
        baseline: gives letters and their times to rungs that need them.
    """

    def __init__(self, setup: Setup, baseline: Baseline) -> None:
        self.setup = setup
        self._baseline = baseline
        self._pool: dict[str, tuple[Clip, ...]] = {}

    def modalities(self) -> tuple[Modality, ...]:
        """Those that the model can take, or at least what the rung gives of them."""
        wanted = self.setup.settings.modalities or MODALITIES
        return tuple(modality for modality in MODALITIES if modality in wanted and self._offers(modality))

    def begin(self, clips: Sequence[Clip], modality: Modality) -> None:
        """Draw demonstrations from these clips, whatever is left to be read."""
        self._pool[modality] = tuple(clips)

    def takes(self, modality: Modality) -> bool:
        """True when the clip itself can be sent."""
        able = set(self.setup.settings.abilities)
        sees = ("image" if self.setup.media.pictures == "frames" else "video") in able
        hears = "audio" in able
        return {"audio": hears, "video": sees, "av": sees and hears}[modality]

    def _offers(self, modality: Modality) -> bool:
        rung = self.setup.rung
        if rung.needs_track and modality == "audio":
            return False
        if rung.media and self.takes(modality):
            return True
        # Without eyes and ears, or where the rung keeps the clip back, what is given must be something.
        return rung.gives and (not rung.media or not self.setup.settings.abilities)

    def compose(
        self, clip: Clip, modality: Modality, fps: float | None = None, heard: str = ""
    ) -> tuple[Request, dict[str, object]]:
        """The request about one clip and the facts of what it sends.

        Args:
            clip: the item.
            modality: what is given of it.
            fps: rate of its pictures, None for the settings' own.
            heard: what another model said of its sound.

        Raises:
            UnwrittenError: the clip cannot be encoded, or has nothing that the rung could give.
        """
        turns = []
        shown = self._shown(clip, modality)
        for other in shown:
            parts, _ = self._item(other, modality, fps, "")
            turns += [Turn("user", parts), Turn("assistant", (Text(other.word or ""),))]
        parts, sent = self._item(clip, modality, fps, heard)
        request = Request((*turns, Turn("user", parts)), self.setup.prompt.max_tokens or self.setup.sampling.max_tokens)
        whole = hashlib.sha256(f"{request.prompt_digest}{request.media_digest}".encode()).hexdigest()
        sent |= {"request_digest": whole, "shown": [other.id for other in shown]}
        return request, sent

    def _item(
        self, clip: Clip, modality: Modality, fps: float | None, heard: str
    ) -> tuple[tuple[Part, ...], dict[str, object]]:
        setup = self.setup
        parts: tuple[Part, ...] = ()
        sent: dict[str, object] = {"modality": modality}
        sends_clip = setup.rung.media and self.takes(modality)
        if sends_clip:
            encoded = encode(clip, modality, setup.media, fps, setup.rendered)
            parts, sent = encoded.parts, dict(encoded.sent)
            if self._relays(modality):
                parts = tuple(part for part in parts if isinstance(part, Text) or not part.mime.startswith("audio"))
        if heard:
            parts = (*parts, Text(f"Somebody who listened to the sound of the same pen reports: {heard}"))
        if setup.rung.gives:
            parts = (*parts, *self._given(clip, modality))
            sent["given"] = [name for name in _GIVEN if getattr(setup.rung, name)]
        candidates = () if setup.settings.score_candidates else self._words(clip)
        asked = question(
            setup.prompt, modality if sends_clip else "given", number_of_letters(clip), candidates, setup.prompt_text
        )
        media = [part for part in parts if not isinstance(part, Text)]
        sent |= {"bytes": sum(len(part.data) for part in media), "digest": media_digest(media)}
        return (*parts, Text(asked)), sent

    def _given(self, clip: Clip, modality: Modality) -> tuple[Part, ...]:
        from unwritten.recordings.clips import record_clip
        from unwritten.store import Store

        recording = record_clip(clip, modality, None, Store())
        sees = "image" in self.setup.settings.abilities
        return given_parts(clip, modality, self.setup.rung, sees, recording, self._baseline)

    def _shown(self, clip: Clip, modality: Modality) -> list[Clip]:
        k = self.setup.prompt.demonstrations
        if k == 0:
            return []
        return demonstrations(clip, self._pool.get(modality, ()), k, modality, self.setup.settings.seed)

    def _relays(self, modality: Modality) -> bool:
        return modality == "av" and self.setup.media.av == "relay"

    def _sound_only(self) -> MediaSettings:
        values = asdict(self.setup.media) | {"av": "separate", "fps": 0.5, "fps_ladder": (), "max_frames": 1}
        return MediaSettings(**values)

    def _model(self, modality: str) -> str:
        return self.setup.settings.models.get(modality, self.setup.settings.model)

    def _words(self, clip: Clip) -> tuple[str, ...]:
        return self.setup.words.get(number_of_letters(clip) or 0, ())

    def _expected(self, clip: Clip) -> int | None:
        """The length that an answer must have: only if the question told it."""
        told = tells_length(self.setup.prompt, self.setup.prompt_text)
        return number_of_letters(clip) if told else None
