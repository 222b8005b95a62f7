"""A multimodal model as a reader: ask about each clip, take the word from the reply, say what was sent."""

from __future__ import annotations

import asyncio
import hashlib
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from unwritten.errors import UnwrittenError
from unwritten.readers.base import Reader, failed_answer
from unwritten.readers.mllm.calls import Called, Caller
from unwritten.readers.mllm.compose import Composer, Setup
from unwritten.readers.mllm.costs import most_cost
from unwritten.readers.mllm.judging import is_unclear, judge
from unwritten.readers.mllm.media import encode
from unwritten.readers.mllm.parsing import Parsed
from unwritten.readers.mllm.parts import Request, Text, Turn, media_digest
from unwritten.readers.mllm.prompts import follow_up_question
from unwritten.readers.mllm.provider import CallError, Client, Reply
from unwritten.readers.mllm.rungs import Baseline
from unwritten.readers.mllm.store import BudgetSpentError, ReplyStore
from unwritten.types import Answer, Clip, Modality, State
from unwritten.wording import counted

_RELAY = (
    "Listen to this recording of a pen as a hand writes one word on paper. Describe what you hear for somebody who can "
    "only see the hand: how many separate touches, how long each is and how it sounds, where the pauses are. End with "
    "your own guess of the word."
)
_RELAY_TOKENS = 400
_PLANNED = 40  # items that a dry run encodes; further ones are reckoned from these


class MllmReader(Composer, Reader):
    """Asks a model about each clip.

    Args:
        setup: what it is made of.
        connect: makes the provider's client within a running event loop.
        baseline: gives letters and their times to rungs that need them.

    A reader stops asking when its budget is used up or its account is refused; what is left then fails with that
    reason, and is asked when the same run is started again.
    """

    def __init__(self, setup: Setup, connect: Callable[[], Client], baseline: Baseline) -> None:
        super().__init__(setup, baseline)
        self.dry_run = setup.settings.dry_run
        prompt = "" if setup.prompt.name == "final" else f"-{setup.prompt.name}"
        rung = "" if setup.rung.name == "media" else f"+{setup.rung.name}"
        self.name = f"{setup.settings.name}{prompt}{rung}"
        self.protocol = setup.settings.protocol
        self.fingerprint = hashlib.sha256((setup.prompt_text or "").encode()).hexdigest()
        self._connect = connect
        self._stopped = ""

    def read(self, clips: Sequence[Clip], modality: Modality) -> Iterator[Answer]:
        """Yield answers as they come; what cannot be asked fails first, before anything is paid for."""
        ready = []
        for clip in clips:
            wrong = self._wrong_with(clip, modality)
            if wrong:
                yield failed_answer(clip, self.name, modality, wrong)
            else:
                ready.append(clip)
        if ready:
            yield from self._in_background(ready, modality)

    def _wrong_with(self, clip: Clip, modality: Modality) -> str:
        if modality not in self.modalities():
            taken = ", ".join(self.modalities()) or "none"
            return f"{self.name} takes no {modality}; it takes {taken}"
        if modality not in clip.modalities:
            return f"{clip.id}: has no {modality} file; leave out modality={modality} or add the file"
        if clip.shot is not None:
            return f"{clip.id}: is one shot of a longer file; give whole files to {self.name}"
        if clip.recording is None and not clip.files[modality].is_file():
            return f"{clip.files[modality]}: no such file"
        if self.setup.settings.score_candidates and not self._words(clip):
            return f"{clip.id}: the candidate list has no word of its length"
        try:
            self._shown(clip, modality)
        except UnwrittenError as error:
            return str(error)
        return ""

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
        caller = Caller(
            setup.settings,
            client,
            store,
            setup.run,
            setup.sampling,
            setup.limits,
            setup.budget,
            setup.prices,
            setup.secrets,
        )
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
        try:
            if self._stopped:
                raise BudgetSpentError(self._stopped)
            called, sent = await self._ask(clip, modality, caller, details, spent)
            parsed, error = judge(called.reply, self._expected(clip))
            if self.setup.prompt.follow_up and is_unclear(called.reply, parsed):
                parsed = await self._follow_up(clip, modality, caller, called.reply, parsed, details, spent)
        except BudgetSpentError as stop:
            self._stopped = str(stop)
            return self._failed(clip, modality, f"not asked: {stop}", details, spent, start_s)
        except CallError as trouble:
            message = self.setup.secrets.redact(str(trouble), 300)
            if trouble.trouble == "run":
                self._stopped = message
            state: State = "blocked" if message.startswith("blocked:") else "failed"
            return self._failed(clip, modality, message, details, spent, start_s, state)
        except (UnwrittenError, ValueError, OSError) as trouble:
            message = self.setup.secrets.redact(str(trouble), 300) or type(trouble).__name__
            return self._failed(clip, modality, message, details, spent, start_s)
        reply = called.reply
        details |= {
            "sent": sent,
            "finish": reply.finish,
            "finish_reason": reply.reason,
            "found": parsed.how,
            "model": reply.model or self._model(modality),
            "from_store": called.stored,
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
            details=details,
        )

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
            details=details,
        )

    async def _ask(
        self, clip: Clip, modality: Modality, caller: Caller, details: dict[str, object], spent: list[Called]
    ) -> tuple[Called, dict[str, object]]:
        """Ask at the full frame rate, and at lower ones where the model says that it is too much."""
        heard = ""
        if self._relays(modality):
            heard = await self._relay(clip, caller, spent)
        words = self._words(clip) if self.setup.settings.score_candidates else ()
        rates = (self.setup.media.fps, *(self.setup.media.fps_ladder if modality != "audio" else ()))
        refused: list[dict[str, object]] = []
        for rate in rates:
            request, sent = await asyncio.to_thread(self.compose, clip, modality, rate, heard)
            about = caller.about(self.name, self._model(modality), request, clip.id, modality, "answer", words)
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
        encoded = await asyncio.to_thread(encode, clip, "av", self._sound_only(), None, self.setup.rendered)
        sound = tuple(part for part in encoded.parts if not isinstance(part, Text) and part.mime.startswith("audio"))
        request = Request((Turn("user", (*sound, Text(_RELAY))),), _RELAY_TOKENS)
        about = caller.about(self.name, self._model("audio"), request, clip.id, "av", "relay", ())
        called = await caller.call(about, request, {"relay": media_digest(sound)})
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

    def plan(self, clips: Sequence[Clip], modality: Modality) -> str:
        """One line: how many calls these items take, how many are answered already, and what the rest may cost at most.

        Nothing is asked. Of many items a part is encoded, evenly spread, and the rest reckoned from it.
        """
        wrong = [clip for clip in clips if self._wrong_with(clip, modality)]
        ready = [clip for clip in clips if clip not in wrong]
        step = max(1, -(-len(ready) // _PLANNED))
        looked = ready[::step]
        store = ReplyStore(self.setup.store)
        caller = Caller(
            self.setup.settings,
            None,  # type: ignore[arg-type]  # nothing is asked
            store,
            self.setup.run,
            self.setup.sampling,
            self.setup.limits,
            self.setup.budget,
            self.setup.prices,
            self.setup.secrets,
        )
        answered, usd, sent_bytes, unread = 0, 0.0, 0, 0
        try:
            for clip in looked:
                try:
                    request, sent = self.compose(clip, modality)
                    about = caller.about(self.name, self._model(modality), request, clip.id, modality, "answer", ())
                    known = caller.stored(about) is not None
                except CallError:
                    known = False
                except (UnwrittenError, ValueError, OSError):
                    unread += 1
                    continue
                answered += known
                sent_bytes += 0 if known else int(str(sent["bytes"]))
                usd += 0.0 if known else most_cost(request, self.setup.prices) or 0.0
        finally:
            store.close()
        share = len(ready) / len(looked) if looked else 0.0
        calls = round((len(looked) - answered - unread) * share) * (2 if self._relays(modality) else 1)
        cost = f"at most ${usd * share:.2f}" if self.setup.prices.known else "cost unknown (no prices)"
        about_it = "about " if step > 1 else ""
        words = [
            f"{self.name} {modality}: {about_it}{counted(calls, 'call')} for {counted(len(ready), 'item')}",
            f"{about_it}{round(answered * share)} answered already",
            cost,
            f"{about_it}{sent_bytes * share / 1e6:.1f} MB to send",
        ]
        if wrong or unread:
            words.append(f"{counted(len(wrong) + round(unread * share), 'item')} cannot be asked")
        return ", ".join(words) + "; follow-up questions and repeated calls come on top"


def _sum(values: Sequence[Any]) -> Any:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
