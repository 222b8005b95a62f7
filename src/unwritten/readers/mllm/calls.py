"""One question to one model: from the store when it was answered before, else within budget, pace and deadline."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from unwritten.readers.mllm.costs import cost_of, estimate_tokens_in, most_cost
from unwritten.readers.mllm.parts import Request
from unwritten.readers.mllm.provider import CallError, Client, Reply
from unwritten.readers.mllm.sampling import sampling_taken
from unwritten.readers.mllm.settings import LimitSettings
from unwritten.readers.mllm.setup import Setup
from unwritten.readers.mllm.store import ReplyStore, reply_key


@dataclass(frozen=True)
class Called:
    """A reply and what it took.

    Attributes:
        asked: the model that was asked.
        reply: what the model said.
        cost: US dollars, None when unknown.
        seconds: of the call that brought it, as it was when it was made.
        stored: True when nothing was asked now.
    """

    asked: str
    reply: Reply
    cost: float | None
    seconds: float
    stored: bool


class Pace:
    """Spaces calls so that an account's limits per minute hold, and stops all of them when a server asks for it.

    Args:
        limits: requests and tokens a minute.
    """

    def __init__(self, limits: LimitSettings) -> None:
        self.limits = limits
        self._next_s = 0.0

    def pause(self, seconds: float) -> None:
        """Let no call start for so long."""
        self._next_s = max(self._next_s, time.monotonic() + seconds)

    async def turn(self, tokens: float) -> None:
        """Wait for this call's turn."""
        start_s = max(self._next_s, time.monotonic())
        spacing_s = 60.0 / self.limits.requests_per_minute if self.limits.requests_per_minute else 0.0
        if self.limits.tokens_per_minute:
            spacing_s = max(spacing_s, 60.0 * tokens / self.limits.tokens_per_minute)
        self._next_s = start_s + spacing_s
        await asyncio.sleep(max(0.0, start_s - time.monotonic()))
        while time.monotonic() < self._next_s - spacing_s - 1e-3:  # a pause came meanwhile
            await asyncio.sleep(max(0.01, self._next_s - spacing_s - time.monotonic()))


class Caller:
    """Asks on behalf of one reader.

    Args:
        setup: what the reader is made of.
        client: the provider's.
        store: where replies are kept.
    """

    def __init__(self, setup: Setup, client: Client, store: ReplyStore) -> None:
        self.setup, self.client, self.store = setup, client, store
        self.settings, self.sampling, self.limits = setup.settings, setup.sampling, setup.limits
        self.secrets = setup.secrets
        self.pace = Pace(setup.limits)

    def about(
        self, reader: str, model: str, request: Request, item: str, modality: str, purpose: str, words: tuple[str, ...]
    ) -> dict[str, Any]:
        """What a reply's key is made of, and where it belongs."""
        # What is not sent makes no other question.
        options = {name: value for name, value in self.settings.options.items() if name != "strict_model"}
        sampling = {
            **asdict(replace(sampling_taken(model, self.sampling), max_tokens=request.max_tokens)),
            "provider": self.settings.provider,
            "options": options,
            "base_url": self.settings.base_url,
        }
        return {
            "reader": reader,
            "model": model,
            "prompt": request.prompt_digest + (f" {' '.join(words)}" if words else ""),
            "sampling": json.dumps(sampling, sort_keys=True, default=str),
            "media": request.media_digest,
            "item": item,
            "modality": modality,
            "purpose": purpose,
        }

    def stored(self, about: Mapping[str, Any]) -> Called | None:
        """The reply to the same question, None when it was never answered.

        Raises:
            CallError: it was asked and was too large for the model.
        """
        found = self.store.get(reply_key(about))
        if found is None:
            return None
        outcome, reply, facts = found
        if outcome == "too_large":
            raise CallError(facts["error"], "too_large")
        return Called(about["model"], reply, facts["cost"], facts["seconds"], True)

    async def call(
        self,
        about: Mapping[str, Any],
        request: Request,
        sent: Mapping[str, object] | None = None,
        words: tuple[str, ...] = (),
    ) -> Called:
        """The model's reply.

        Args:
            about: from :meth:`about`.
            request: what to ask.
            sent: what is sent, to be kept with the reply.
            words: score these instead of asking for a reply.

        Raises:
            CallError: no reply came.
            BudgetSpentError: the call might have passed the budget.
        """
        found = self.stored(about)
        if found is not None:
            return found
        from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt
        from tenacity.wait import wait_random_exponential

        backoff = wait_random_exponential(multiplier=self.limits.first_wait_s, max=self.limits.longest_wait_s)

        def wait_s(state: RetryCallState) -> float:
            error = state.outcome.exception() if state.outcome else None
            asked_s = error.retry_after_s if isinstance(error, CallError) else None
            if asked_s is None:
                return float(backoff(state))
            # The server speaks to the account, not to this call: everybody waits.
            self.pace.pause(min(asked_s, self.limits.longest_wait_s))
            return min(asked_s, self.limits.longest_wait_s)

        retrying = AsyncRetrying(
            stop=stop_after_attempt(self.limits.attempts),
            retry=retry_if_exception(lambda error: isinstance(error, CallError) and error.trouble == "retry"),
            wait=wait_s,
            reraise=True,
        )
        try:
            called: Called = await retrying(self._once, about, request, words)
        except CallError as error:
            if error.trouble == "too_large":
                self.store.put(reply_key(about), about, "too_large", Reply(""), None, 0.0, str(error), sent)
            raise
        finally:
            await self.client.done(request)
        self.store.put(reply_key(about), about, "reply", called.reply, called.cost, called.seconds, "", sent)
        return called

    async def _once(self, about: Mapping[str, Any], request: Request, words: tuple[str, ...]) -> Called:
        prices = self.setup.prices_of(about["model"])
        most = most_cost(request, prices)
        await self.pace.turn(estimate_tokens_in(request, prices) + request.max_tokens)
        number = self.store.reserve(self.setup.run, about["reader"], about["item"], most, self.setup.budget)
        start_s = time.perf_counter()
        if words:
            asking = self.client.score(about["model"], request, words)
        else:
            asking = self.client.ask(about["model"], request)
        try:
            # The clients' own timeouts begin anew with every byte; this one does not.
            reply = await asyncio.wait_for(asking, self.limits.deadline_s)
        except TimeoutError:
            message = f"no reply within {self.limits.deadline_s:g} s"
            self.store.settle(number, most, "deadline", time.perf_counter() - start_s, message)
            raise CallError(message, "retry", billed=True) from None
        except CallError as error:
            message = self.secrets.redact(str(error), 300)
            self.store.settle(number, most if error.billed else 0.0, "failed", time.perf_counter() - start_s, message)
            raise CallError(message, error.trouble, error.retry_after_s, error.billed) from None
        seconds = time.perf_counter() - start_s
        reply = replace(reply, text=self.secrets.redact(reply.text))
        cost = cost_of(reply, prices)
        self.store.settle(number, most if cost is None else cost, "answered", seconds)
        return Called(about["model"], reply, cost, seconds, False)
