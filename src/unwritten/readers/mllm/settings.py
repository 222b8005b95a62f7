"""What a multimodal reader is: which model, what it is asked, what it is sent, and what it may spend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, get_args

from unwritten.types import MODALITIES, Modality

Ability = Literal["image", "audio", "video"]
ABILITIES: tuple[Ability, ...] = get_args(Ability)
Provider = Literal["openai", "anthropic", "gemini", "transformers"]
Pictures = Literal["frames", "video"]
AvForm = Literal["separate", "muxed", "relay"]


def _one_of(name: str, value: object, known: tuple[Any, ...]) -> None:
    if value not in known:
        raise ValueError(f"{name}: {value!r} is not one of {', '.join(map(str, known))}")


def _that_are_set(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options without those that are None or empty, inside them too."""
    inner = {name: _that_are_set(value) if isinstance(value, Mapping) else value for name, value in options.items()}
    return {name: value for name, value in inner.items() if value is not None and value != {} and value != ""}


@dataclass(frozen=True)
class MediaSettings:
    """How a clip is encoded.

    Attributes:
        pictures: ``frames`` sends images with their times, ``video`` a video file.
        fps: pictures a second; never more than the clip has.
        fps_ladder: lower rates, tried in turn when a model refuses a request as too large or runs out of memory.
        max_frames: most pictures of one clip; a longer clip is sampled more thinly, and its true rate is stored.
        longest_side_px: longer side of a picture in square pixels; smaller pictures stay as they are.
        jpeg_quality: of images, 1 to 100.
        crf: x264's quality of video files, 0 (lossless) to 51.
        audio_format: of sound sent by itself.
        sample_rate_hz: of all sound.
        av: ``separate`` sends pictures and sound side by side; ``muxed`` one video file with its sound; ``relay`` lets
            the audio model put what it hears into words first, for families of which no model both sees and hears.
    """

    pictures: Pictures = "frames"
    fps: float = 5.0
    fps_ladder: tuple[float, ...] = ()
    max_frames: int = 100
    longest_side_px: int = 512
    jpeg_quality: int = 90
    crf: int = 18
    audio_format: Literal["wav", "mp3"] = "wav"
    sample_rate_hz: int = 16_000
    av: AvForm = "separate"

    def __post_init__(self) -> None:
        _one_of("pictures", self.pictures, get_args(Pictures))
        _one_of("audio_format", self.audio_format, ("wav", "mp3"))
        _one_of("av", self.av, get_args(AvForm))
        if not self.fps > 0:
            raise ValueError(f"fps: {self.fps} shows no picture; give a positive number")
        rates = (self.fps, *self.fps_ladder)
        if any(later >= earlier or later <= 0 for earlier, later in pairwise(rates)):
            raise ValueError(f"fps_ladder: {list(self.fps_ladder)} must fall from below fps={self.fps}")
        if self.max_frames < 1 or self.longest_side_px < 28:
            raise ValueError("max_frames must be 1 or more, longest_side_px 28 or more")
        if self.av == "muxed" and self.pictures != "video":
            raise ValueError("av: muxed needs pictures=video; frames carry no sound")


@dataclass(frozen=True)
class SamplingSettings:
    """How a reply is drawn; None leaves the provider's default.

    Attributes:
        temperature, top_p, seed: as the providers define them.
        max_tokens: most tokens of a reply, hidden thinking included; what a call is reserved in the budget for.
    """

    temperature: float | None = 0.0
    top_p: float | None = None
    seed: int | None = 0
    max_tokens: int = 64


@dataclass(frozen=True)
class LimitSettings:
    """How fast and how stubbornly a server is asked.

    Attributes:
        concurrency: calls at once.
        requests_per_minute, tokens_per_minute: the account's limits; None for none.
        deadline_s: longest wait for one call, however slowly its reply trickles in.
        attempts: calls for one question, the first included, when the server is busy, broken or unreachable.
        first_wait_s: wait before the second attempt; doubles each time, with jitter, unless ``Retry-After`` says more.
        longest_wait_s: longest wait between attempts.
    """

    concurrency: int = 4
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    deadline_s: float = 180.0
    attempts: int = 6
    first_wait_s: float = 2.0
    longest_wait_s: float = 120.0

    def __post_init__(self) -> None:
        if self.concurrency < 1 or self.attempts < 1:
            raise ValueError("concurrency and attempts must be 1 or more")
        for name in ("requests_per_minute", "tokens_per_minute", "deadline_s"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name}: {value} lets no call through; give a positive number")


@dataclass(frozen=True)
class BudgetSettings:
    """What the whole run may spend, over all its multimodal readers and all its restarts; None for no limit.

    Attributes:
        usd: US dollars; needs prices.
        calls: calls, repeated ones included.
    """

    usd: float | None = None
    calls: int | None = None


@dataclass(frozen=True)
class PriceSettings:
    """What a call costs; prices in US dollars for a million tokens, None when unknown.

    Attributes:
        input, output: of text, pictures and replies.
        audio_input: of sound; ``input`` when None.
        tokens_per_image, tokens_per_video_frame, tokens_per_audio_s: for the estimate before a call.
    """

    input: float | None = None
    output: float | None = None
    audio_input: float | None = None
    tokens_per_image: float = 85.0
    tokens_per_video_frame: float = 258.0
    tokens_per_audio_s: float = 32.0

    @property
    def known(self) -> bool:
        """True when a call's cost can be told."""
        return self.input is not None and self.output is not None


@dataclass(frozen=True)
class RungSettings:
    """What a reader is given beside the clip: one rung of the ladder from perception to reading.

    Attributes:
        name: in the reader's name; ``media`` leaves the name as it is.
        media: send the clip itself, as far as the model can take it.
        ink: the recovered path of the pen, as a picture, or as points for models without sight.
        segmentation: which part of the path is which letter.
        strokes: the strokes of each letter in words.
        letters: the letters that the trained baseline reads without a lexicon.
        checkpoint: of the baseline; None takes the one that the project ships.
    """

    name: str = "media"
    media: bool = True
    ink: bool = False
    segmentation: bool = False
    strokes: bool = False
    letters: bool = False
    checkpoint: str | None = None

    @property
    def needs_track(self) -> bool:
        """True when something is drawn from the pen's path, which sound alone does not show."""
        return self.ink or self.segmentation or self.strokes

    @property
    def gives(self) -> bool:
        """True when the model is given more than the clip."""
        return self.needs_track or self.letters


@dataclass(frozen=True)
class MllmSettings:
    """One reader.

    Attributes:
        name: in tables.
        provider: ``openai`` (any server of its protocols), ``anthropic``, ``gemini`` or ``transformers`` (here).
        model: exact version.
        models: another model for a modality, e.g. an audio model.
        abilities: what the model takes beside text.
        modalities: what it is asked in; empty takes all that the abilities allow.
        key_env: environment variable that holds the key; empty when the server asks for none.
        base_url: of the server; None for the provider's own.
        check_model: ask the server for the model's name before anything is paid for.
        options: what only this provider knows, see its module; and ``strict_model``, which fails what another model
            than the asked one answered. Those that are None or empty are not set.
        dry_run: print calls and cost, ask nothing.
        store: SQLite file of all replies; None takes the user's own.
        score_candidates: local models score the prompt's candidate list by likelihood instead of writing a reply.
        protocol: what the answers count as; None takes the evaluation's.
        seed: of the choice of demonstrations.
    """

    name: str = "mllm"
    provider: Provider = "openai"
    model: str = ""
    models: Mapping[str, str] = field(default_factory=dict)
    abilities: tuple[Ability, ...] = ()
    modalities: tuple[Modality, ...] = ()
    key_env: str = ""
    base_url: str | None = None
    check_model: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)
    dry_run: bool = False
    store: str | None = None
    score_candidates: bool = False
    protocol: str | None = None
    seed: int = 0

    @property
    def strict_model(self) -> bool:
        """True when an answer of another model, or of a version that changed within the run, fails."""
        return bool(self.options.get("strict_model"))

    @property
    def row(self) -> str:
        """The name with the effort of reasoning, which makes another row."""
        effort = self.options.get("effort")
        return f"{self.name}-{effort}" if effort else self.name

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", _that_are_set(self.options))
        _one_of("provider", self.provider, get_args(Provider))
        if not self.model:
            raise ValueError("model: is empty; give the model's exact version")
        for ability in self.abilities:
            _one_of("abilities", ability, ABILITIES)
        for modality in (*self.modalities, *self.models):
            _one_of("modalities", modality, MODALITIES)
