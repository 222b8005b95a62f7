"""What every provider's client gives back, and how it says that it could not."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from unwritten.errors import UsageError
from unwritten.readers.mllm.parts import Request
from unwritten.readers.mllm.settings import LimitSettings, MllmSettings, SamplingSettings

Finish = Literal["stop", "length", "blocked", "refused", "other"]
Trouble = Literal["retry", "too_large", "call", "run"]


@dataclass(frozen=True)
class Reply:
    """What a model said.

    Attributes:
        text: as it came; empty when it said nothing.
        finish: why it stopped; ``blocked`` by a filter, ``refused`` by the model in a field of its own.
        reason: the provider's own word for it.
        tokens_in, tokens_out: as the provider counted, hidden thinking included in ``tokens_out``.
        audio_tokens_in: those of ``tokens_in`` that were sound, where the provider tells.
        model: the version that answered, as the provider says.
        candidates: words with probabilities, best first, of a model that scored a list.
    """

    text: str
    finish: Finish = "stop"
    reason: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    audio_tokens_in: int | None = None
    model: str = ""
    candidates: tuple[tuple[str, float], ...] = ()
    details: Mapping[str, object] = field(default_factory=dict)


class CallError(Exception):
    """A call that gave no reply.

    Args:
        message: for a person; keys and media are taken out by whoever keeps it.
        trouble: ``retry`` may pass; ``too_large`` asks for less media; ``call`` concerns this item, ``run`` all.
        retry_after_s: the server's own wish.
        billed: True when the server may have charged for it.
    """

    def __init__(
        self, message: str, trouble: Trouble = "call", retry_after_s: float | None = None, billed: bool = False
    ) -> None:
        super().__init__(message)
        self.trouble: Trouble = trouble
        self.retry_after_s = retry_after_s
        self.billed = billed


class Client(Protocol):
    """A provider's client, used within one event loop."""

    async def check(self, model: str) -> str:
        """Ask, free of charge, whether the model exists; its shutdown date (YYYY-MM-DD), empty where none is told.

        Raises:
            UnwrittenError: it does not, or the key is refused, or nobody listens.
        """
        ...

    async def ask(self, model: str, request: Request) -> Reply:
        """One call, without any retry.

        Raises:
            CallError: it gave no reply.
        """
        ...

    async def score(self, model: str, request: Request, words: tuple[str, ...]) -> Reply:
        """Probabilities of these words as the reply.

        Raises:
            CallError: it could not be done.
        """
        ...

    async def done(self, request: Request) -> None:
        """Let go of what was kept for further attempts at a request."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


class ServiceClient:
    """What the clients of all services on the network share.

    Args:
        settings: the reader.
        sampling: how replies are drawn.
        limits: the deadline bounds the client's own timeout.
    """

    def __init__(self, settings: MllmSettings, sampling: SamplingSettings, limits: LimitSettings) -> None:
        self.settings, self.sampling = settings, sampling
        # A little later than ours, which speaks first and says what it is.
        self.timeout_s = limits.deadline_s + 5

    async def score(self, model: str, request: Request, words: tuple[str, ...]) -> Reply:
        """Not offered by any of them."""
        raise CallError(f"{self.settings.provider} scores no list of words; set score_candidates=false", "run")

    async def done(self, request: Request) -> None:
        """Most keep nothing."""


def check_options(settings: MllmSettings, known: Collection[str], where: str) -> None:
    """Refuse an option that this provider does not know.

    Args:
        settings: the reader.
        known: of its provider's module.
        where: the reader's node, for the message.

    Raises:
        UsageError: see above.
    """
    every = {"strict_model", *known}
    unknown = sorted(set(settings.options) - every)
    if unknown:
        raise UsageError(f"{where}.options.{unknown[0]}: {settings.provider} knows {', '.join(sorted(every))}")
