"""What asking would take at most, reckoned without asking: of many items a part is encoded, evenly spread."""

from __future__ import annotations

from collections.abc import Sequence

from unwritten.errors import UnwrittenError
from unwritten.readers.base import Plan
from unwritten.readers.mllm.calls import Called, Caller
from unwritten.readers.mllm.compose import LONGEST_HEARD, Composer
from unwritten.readers.mllm.costs import estimate_tokens_in, most_cost
from unwritten.readers.mllm.parts import Request, Text
from unwritten.readers.mllm.provider import CallError
from unwritten.readers.mllm.settings import LimitSettings
from unwritten.readers.mllm.store import ReplyStore
from unwritten.types import Clip, Modality

_ENCODED = 40


def plan_of(composer: Composer, name: str, clips: Sequence[Clip], modality: Modality) -> Plan:
    """The plan of one reader; of a relay both calls count.

    Args:
        composer: makes the requests.
        name: the reader's.
        clips: items to ask about.
        modality: what is given of them.
    """
    setup = composer.setup
    ready = [clip for clip in clips if not composer.wrong_with(clip, modality)]
    looked = ready[:: max(1, -(-len(ready) // _ENCODED))]
    calls, answered, unread, sent_bytes = 0, 0, 0, 0
    tokens_in, tokens_out, usd = 0.0, 0.0, 0.0
    priced = True
    store = ReplyStore(setup.store)
    caller = Caller(setup, None, store)  # type: ignore[arg-type]  # nothing is asked
    try:
        for clip in looked:
            try:
                requests = _open_requests(composer, name, clip, modality, caller)
            except (UnwrittenError, ValueError, OSError):
                unread += 1
                continue
            answered += not requests
            for model, request in requests:
                prices = setup.prices_of(model)
                most = most_cost(request, prices)
                priced = priced and most is not None
                calls += 1
                usd += most or 0.0
                tokens_in += estimate_tokens_in(request, prices)
                tokens_out += request.max_tokens
                sent_bytes += sum(len(part.data) for part in request.parts() if not isinstance(part, Text))
    finally:
        store.close()
    share = len(ready) / len(looked) if looked else 0.0
    return Plan(
        reader=name,
        modality=modality,
        items=len(ready),
        calls=round(calls * share),
        answered=round(answered * share),
        left_out=len(clips) - len(ready) + round(unread * share),
        tokens_in=round(tokens_in * share),
        tokens_out=round(tokens_out * share),
        usd=usd * share if priced else None,
        minutes=_minutes(setup.limits, calls * share, (tokens_in + tokens_out) * share),
        sent_mb=sent_bytes * share / 1e6,
        reckoned=len(looked) < len(ready),
    )


def _open_requests(
    composer: Composer, name: str, clip: Clip, modality: Modality, caller: Caller
) -> list[tuple[str, Request]]:
    """(model, request) of the calls that this item still takes, none when it is answered."""
    setup = composer.setup
    heard, out = "", []
    if composer.relays(modality):
        relay = composer.compose_relay(clip)
        known = _known(caller, name, setup.model("audio"), relay, clip, modality, "relay")
        heard = LONGEST_HEARD if known is None else known.reply.text
        out += [(setup.model("audio"), relay)] if known is None else []
    request, _ = composer.compose(clip, modality, heard=heard)
    words = composer.scored_words(clip)
    try:
        known = None if out else _known(caller, name, setup.model(modality), request, clip, modality, "answer", words)
    except CallError:  # it was too large at this rate: a lower one is asked
        known = None
    return out if known is not None else [*out, (setup.model(modality), request)]


def _known(
    caller: Caller,
    name: str,
    model: str,
    request: Request,
    clip: Clip,
    modality: Modality,
    purpose: str,
    words: tuple[str, ...] = (),
) -> Called | None:
    return caller.stored(caller.about(name, model, request, clip.id, modality, purpose, words))


def _minutes(limits: LimitSettings, calls: float, tokens: float) -> float | None:
    """Minutes that the limits per minute leave no shorter; None without limits."""
    bounds = [(calls, limits.requests_per_minute), (tokens, limits.tokens_per_minute)]
    known = [amount / most for amount, most in bounds if most]
    return max(known) if known else None
