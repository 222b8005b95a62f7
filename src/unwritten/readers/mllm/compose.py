"""From a clip to a request: the media that the model takes, what the rung gives, demonstrations and the question."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict

from unwritten.errors import UnwrittenError
from unwritten.readers.base import number_of_letters
from unwritten.readers.mllm.demonstrations import demonstrations
from unwritten.readers.mllm.media import encode
from unwritten.readers.mllm.parts import Part, Request, Text, Turn, media_digest
from unwritten.readers.mllm.prompts import question, tells_length
from unwritten.readers.mllm.rungs import Baseline, given_parts
from unwritten.readers.mllm.settings import MediaSettings
from unwritten.readers.mllm.setup import Setup
from unwritten.types import MODALITIES, Clip, Modality

_RELAY = (
    "Listen to this recording of a pen as a hand writes one word on paper. Describe what you hear for somebody who can "
    "only see the hand: how many separate touches, how long each is and how it sounds, where the pauses are. End with "
    "your own guess of the word."
)
_RELAY_TOKENS = 400
LONGEST_HEARD = "x " * 2 * _RELAY_TOKENS
"""As long as what the audio model says of a sound may be."""
_GIVEN = ("ink", "segmentation", "strokes", "letters")


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

    def compose_relay(self, clip: Clip) -> Request:
        """The request that lets the audio model put the sound of a clip into words."""
        encoded = encode(clip, "av", self._sound_only(), None, self.setup.rendered)
        sound = tuple(part for part in encoded.parts if not isinstance(part, Text) and part.mime.startswith("audio"))
        return Request((Turn("user", (*sound, Text(_RELAY))),), _RELAY_TOKENS)

    def relays(self, modality: Modality) -> bool:
        """True when one model hears and another sees."""
        return modality == "av" and self.setup.media.av == "relay"

    def wrong_with(self, clip: Clip, modality: Modality) -> str:
        """Why this clip cannot be asked about, empty when it can."""
        name = self.setup.settings.row
        if modality not in self.modalities():
            return f"{name} takes no {modality}; it takes {', '.join(self.modalities()) or 'none'}"
        if modality not in clip.modalities:
            return f"{clip.id}: has no {modality} file; leave out modality={modality} or add the file"
        if clip.shot is not None:
            return f"{clip.id}: is one shot of a longer file; give whole files to {name}"
        if clip.recording is None and not clip.files[modality].is_file():
            return f"{clip.files[modality]}: no such file"
        if self.setup.settings.score_candidates and not self._words(clip):
            return f"{clip.id}: the candidate list has no word of its length"
        try:
            self._shown(clip, modality)
        except UnwrittenError as error:
            return str(error)
        return ""

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
            if self.relays(modality):
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

    def _sound_only(self) -> MediaSettings:
        values = asdict(self.setup.media) | {"av": "separate", "fps": 0.5, "fps_ladder": (), "max_frames": 1}
        return MediaSettings(**values)

    def scored_words(self, clip: Clip) -> tuple[str, ...]:
        """The words whose likelihood is asked for instead of a reply; empty where the model writes."""
        return self._words(clip) if self.setup.settings.score_candidates else ()

    def _words(self, clip: Clip) -> tuple[str, ...]:
        return self.setup.words.get(number_of_letters(clip) or 0, ())

    def _expected(self, clip: Clip) -> int | None:
        """The length that an answer must have: only if the question told it."""
        told = tells_length(self.setup.prompt, self.setup.prompt_text)
        return number_of_letters(clip) if told else None
