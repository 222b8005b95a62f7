"""A multimodal model as a reader: ask about each clip, take the word from the reply, say what was sent."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from unwritten.errors import UnwrittenError
from unwritten.readers.base import Plan, Reader, failed_answer
from unwritten.readers.mllm.calls import Called, Caller
from unwritten.readers.mllm.compose import Composer
from unwritten.readers.mllm.judging import is_unclear, judge
from unwritten.readers.mllm.parsing import Parsed
from unwritten.readers.mllm.parts import Request, Text, Turn
from unwritten.readers.mllm.planning import plan_of
from unwritten.readers.mllm.prompts import follow_up_question
from unwritten.readers.mllm.provider import CallError, Client, Reply
from unwritten.readers.mllm.rungs import Baseline
from unwritten.readers.mllm.served import Served
from unwritten.readers.mllm.setup import Setup
from unwritten.readers.mllm.store import BudgetSpentError, ReplyStore
from unwritten.readers.mllm.troubles import Streak
from unwritten.types import MODALITIES, Answer, Clip, Modality, State

_LOG = logging.getLogger("unwritten")


class MllmReader(Composer, Reader):
    """Asks a model about each clip.

    Args:
        setup: what it is made of.
        connect: makes the provider's client within a running event loop.
        baseline: gives letters and their times to rungs that need them.

    A reader stops asking when its budget is used up, its account is refused, another model answers that must not, or
    three items in a row meet the same error; what is left then fails with that reason, and is asked when the same run
    is started again.
    """

    def __init__(self, setup: Setup, connect: Callable[[], Client], baseline: Baseline) -> None:
        super().__init__(setup, baseline)
        self.dry_run = setup.settings.dry_run
        prompt = "" if setup.prompt.name == "final" else f"-{setup.prompt.name}"
        rung = "" if setup.rung.name == "media" else f"+{setup.rung.name}"
        self.name = f"{setup.settings.row}{prompt}{rung}"
        self.protocol = setup.settings.protocol
        self.fingerprint = hashlib.sha256((setup.prompt_text or "").encode()).hexdigest()
        self._connect = connect
        self._stopped: dict[str, str] = {}
        self._streaks = {modality: Streak() for modality in MODALITIES}
        self._served = Served(self.name, setup.settings.strict_model)

    def read(self, clips: Sequence[Clip], modality: Modality) -> Iterator[Answer]:
        """Yield answers as they come; what cannot be asked fails first, before anything is paid for."""
        ready = []
        for clip in clips:
            wrong = self.wrong_with(clip, modality)
            if wrong:
                yield failed_answer(clip, self.name, modality, wrong)
            else:
                ready.append(clip)
        if ready:
            yield from self._in_background(ready, modality)

    def _in_background(self, clips: Sequence[Clip], modality: Modality) -> Iterator[Answer]:
        """Run the event loop in a thread, so that answers can be taken one by one from ordinary code."""
        answers: queue.SimpleQueue[Answer | BaseException | None] = queue.SimpleQueue()
        leave = threading.Event()

        def work() -> None:
            try:
                asyncio.run(self._read_all(clips, modality, answers.put, leave))
                answers.put(None)
            except BaseException as error:
                answers.put(error)

        thread = threading.Thread(target=work, name=f"{self.name} {modality}", daemon=True)
        thread.start()
        try:
            while (answer := answers.get()) is not None:
                if isinstance(answer, BaseException):
                    raise answer
                yield answer
        finally:
            leave.set()
            thread.join(timeout=30)

    async def _read_all(
        self, clips: Sequence[Clip], modality: Modality, put: Callable[[Answer], None], leave: threading.Event
    ) -> None:
        store = ReplyStore(self.setup.store)
        client = self._connect()
        setup = self.setup
        caller = Caller(setup, client, store)
        left = iter(clips)

        async def worker() -> None:
            for clip in left:
                put(await self._answer(clip, modality, caller))

        workers = [asyncio.create_task(worker()) for _ in range(min(setup.limits.concurrency, len(clips)))]

        async def watch() -> None:
            while not leave.is_set():
                await asyncio.sleep(0.1)
            for task in workers:
                task.cancel()

        watcher = asyncio.create_task(watch())
        try:
            await asyncio.gather(*workers)
        except asyncio.CancelledError:
            if not leave.is_set():
                raise
        finally:
            watcher.cancel()
            for task in workers:
                task.cancel()
            await client.close()
            store.close()

    async def _answer(self, clip: Clip, modality: Modality, caller: Caller) -> Answer:
        start_s = time.perf_counter()
        details: dict[str, object] = {"prompt": self.setup.prompt.name, "rung": self.setup.rung.name}
        spent: list[Called] = []
        if self._stopped.get(modality):
            return self._failed(clip, modality, f"not asked: {self._stopped[modality]}", details, spent, start_s)
        try:
            called, sent = await self._ask(clip, modality, caller, details, spent)
            parsed, error = judge(called.reply, self._expected(clip))
            if self.setup.prompt.follow_up and is_unclear(called.reply, parsed):
                parsed = await self._follow_up(clip, modality, caller, called.reply, parsed, details, spent)
                error = "" if parsed.state == "answered" else error
            wrong = self._served.wrong_with(spent)
            if wrong:
                raise CallError(wrong, "run")
        except BudgetSpentError as stop:
            self._stop(str(stop), MODALITIES)
            return self._failed(clip, modality, f"not asked: {stop}", details, spent, start_s)
        except CallError as trouble:
            message = self.setup.secrets.redact(str(trouble), 300)
            if trouble.trouble == "run":
                self._stop(message, MODALITIES)
            elif self._streaks[modality].met(trouble):
                self._stop(f"{self._streaks[modality].most} items in a row met the same error: {message}", (modality,))
            state: State = "blocked" if message.startswith("blocked:") else "failed"
            return self._failed(clip, modality, message, details, spent, start_s, state)
        except (UnwrittenError, ValueError, OSError) as trouble:
            message = self.setup.secrets.redact(str(trouble), 300) or type(trouble).__name__
            return self._failed(clip, modality, message, details, spent, start_s)
        self._streaks[modality].broken()
        reply = called.reply
        served_model, asked_model = self._served.facts(spent)
        details |= {
            "sent": sent,
            "finish": reply.finish,
            "finish_reason": reply.reason,
            "found": parsed.how,
            "from_store": called.stored,
            **asked_model,
            **reply.details,
        }
        return Answer(
            item=clip.id,
            reader=self.name,
            modality=modality,
            raw=reply.text,
            word=parsed.word,
            candidates=reply.candidates[:50],
            state=parsed.state,
            seconds=sum(one.seconds for one in spent),
            tokens_in=_sum([one.reply.tokens_in for one in spent]),
            tokens_out=_sum([one.reply.tokens_out for one in spent]),
            cost=_sum([one.cost for one in spent]),
            error=error,
            served_model=served_model,
            details=details,
        )

    def _stop(self, why: str, modalities: Sequence[Modality]) -> None:
        """Ask nothing further in these modalities, and say so once."""
        if not all(self._stopped.get(modality) for modality in modalities):
            _LOG.warning("%s: asks nothing further in %s: %s", self.name, ", ".join(modalities), why)
        for modality in modalities:
            self._stopped.setdefault(modality, why)

    def _failed(
        self,
        clip: Clip,
        modality: Modality,
        message: str,
        details: dict[str, object],
        spent: Sequence[Called],
        start_s: float,
        state: State = "failed",
    ) -> Answer:
        served_model, asked_model = self._served.facts(spent)
        return Answer(
            clip.id,
            self.name,
            modality,
            state=state,
            seconds=time.perf_counter() - start_s,
            tokens_in=_sum([one.reply.tokens_in for one in spent]),
            tokens_out=_sum([one.reply.tokens_out for one in spent]),
            cost=_sum([one.cost for one in spent]),
            error=" ".join(message.split())[:500],
            served_model=served_model,
            details={**details, **asked_model},
        )

    async def _ask(
        self, clip: Clip, modality: Modality, caller: Caller, details: dict[str, object], spent: list[Called]
    ) -> tuple[Called, dict[str, object]]:
        """Ask at the full frame rate, and at lower ones where the model says that it is too much."""
        heard = ""
        if self.relays(modality):
            heard = await self._relay(clip, caller, spent)
        words = self.scored_words(clip)
        rates = (self.setup.media.fps, *(self.setup.media.fps_ladder if modality != "audio" else ()))
        refused: list[dict[str, object]] = []
        for rate in rates:
            request, sent = await asyncio.to_thread(self.compose, clip, modality, rate, heard)
            about = caller.about(self.name, self.setup.model(modality), request, clip.id, modality, "answer", words)
            details["sent"] = sent
            try:
                called = await caller.call(about, request, sent, words)
            except CallError as error:
                if error.trouble != "too_large" or rate == rates[-1]:
                    raise
                refused.append({"fps": rate, "error": self.setup.secrets.redact(str(error), 200)})
                details["refused_rates"] = refused
                continue
            spent.append(called)
            return called, sent
        raise AssertionError("the last rate returns or raises")

    async def _relay(self, clip: Clip, caller: Caller, spent: list[Called]) -> str:
        request = await asyncio.to_thread(self.compose_relay, clip)
        about = caller.about(self.name, self.setup.model("audio"), request, clip.id, "av", "relay", ())
        called = await caller.call(about, request, {"relay": request.media_digest})
        spent.append(called)
        return called.reply.text

    async def _follow_up(
        self,
        clip: Clip,
        modality: Modality,
        caller: Caller,
        reply: Reply,
        parsed: Parsed,
        details: dict[str, object],
        spent: list[Called],
    ) -> Parsed:
        """One question in words about a reply without a single word; the first verdict stands when it brings none."""
        n = self._expected(clip)
        text = follow_up_question(self.setup.prompt, reply.text, n)
        request = Request((Turn("user", (Text(text),)),), self.setup.sampling.max_tokens)
        # An audio model may refuse a question without sound; the reader's main model takes words.
        about = caller.about(self.name, self.setup.settings.model, request, clip.id, modality, "follow-up", ())
        try:
            called = await caller.call(about, request)
        except CallError as error:
            details["follow_up"] = self.setup.secrets.redact(str(error), 200)
            return parsed
        spent.append(called)
        details["follow_up"] = called.reply.text[:500]
        again, _ = judge(called.reply, n)
        if again.state != "answered" or called.reply.text.strip().strip(".*\"'`") == "NONE":
            return parsed
        return Parsed(again.word, "answered", "follow-up")

    def plan(self, clips: Sequence[Clip], modality: Modality) -> Plan:
        """How many calls these items take, how many are answered already, and what the rest may cost at most."""
        return plan_of(self, self.name, clips, modality)


def _sum(values: Sequence[Any]) -> Any:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
