"""Qwen2.5-Omni on this machine, by ``transformers``: its thinker, which writes; the talker, which speaks, stays away.

``options`` of a reader of this provider:

- ``device``: ``auto``, ``cpu``, ``cuda``, ``cuda:1``, ...;
- ``dtype``: ``bfloat16``, ``float16`` or ``float32``;
- ``attention``: ``sdpa``, ``eager`` or ``flash_attention_2``;
- ``frame_pixels``: fewest and most pixels of one video frame;
- ``total_pixels``: most pixels of one video, all frames together;
- ``system``: the system turn, where it shall not be the one of the model's own format.

The model gets the same encoded media that a server would get. Without caps on frames and pixels a long video at 30
frames a second asks for hundreds of gigabytes; what does not fit is tried again at the next lower frame rate.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from unwritten.errors import UnwrittenError, UsageError
from unwritten.readers.mllm.parts import Request
from unwritten.readers.mllm.provider import CallError, Reply
from unwritten.readers.mllm.qwen_inputs import (
    FRAME_PIXELS,
    SYSTEM,
    TOTAL_PIXELS,
    end_of_turn,
    load_processor,
    qwen_inputs,
)
from unwritten.readers.mllm.settings import LimitSettings, MllmSettings, SamplingSettings

DTYPES = ("bfloat16", "float16", "float32")
OPTIONS = {"device", "dtype", "attention", "frame_pixels", "total_pixels", "system"}


class LocalQwen:
    """Generates text, or scores a list of words, with local weights.

    Args:
        settings: the reader; ``model`` is a folder or a name on the Hugging Face hub.
        sampling: how replies are drawn; temperature 0 or None is greedy.
        limits: the deadline ends a generation with what it has.
    """

    def __init__(self, settings: MllmSettings, sampling: SamplingSettings, limits: LimitSettings) -> None:
        self.settings, self.sampling, self.limits = settings, sampling, limits
        dtype = settings.options.get("dtype")
        if dtype not in (None, *DTYPES):
            raise UsageError(f"reader {settings.name}: options.dtype: {dtype!r} is not one of {', '.join(DTYPES)}")

    async def check(self, model: str) -> str:
        """Look whether the model's own settings are there; its weights are loaded when the first clip is read.

        Raises:
            UsageError: there is no such model.
        """
        from transformers import AutoConfig

        try:
            await asyncio.to_thread(AutoConfig.from_pretrained, model)
        except (OSError, ValueError) as error:
            raise UsageError(_not_loaded(model, error)) from error
        return ""

    async def done(self, request: Request) -> None:
        """Nothing is kept for further attempts."""

    async def close(self) -> None:
        """The weights stay for the next modality."""

    async def ask(self, model: str, request: Request) -> Reply:
        """Generate a reply."""
        return await asyncio.to_thread(self._guarded, self._generate, model, request)

    async def score(self, model: str, request: Request, words: tuple[str, ...]) -> Reply:
        """Probabilities of these words, each followed by the end of the turn, normalised over the list."""
        return await asyncio.to_thread(self._guarded, self._score, model, request, words)

    def _guarded(self, work: Any, model: str, *arguments: Any) -> Reply:
        options = self.settings.options
        try:
            with _ONE_AT_A_TIME:
                loaded = load_qwen(
                    model,
                    str(options.get("device") or "auto"),
                    str(options.get("dtype") or "bfloat16"),
                    str(options.get("attention") or "sdpa"),
                )
                with torch.inference_mode():
                    reply: Reply = work(loaded, *arguments)
            return reply
        except torch.OutOfMemoryError as error:
            torch.cuda.empty_cache()
            raise CallError(f"out of memory ({str(error)[:120]})", "too_large") from None
        except RuntimeError as error:
            if "memory" in str(error).lower():
                raise CallError(f"out of memory ({str(error)[:120]})", "too_large") from None
            raise CallError(f"the model failed ({str(error)[:200]})") from None
        except UnwrittenError as error:
            raise CallError(str(error), "run") from None

    def _generate(self, loaded: tuple[Any, Any], request: Request) -> Reply:
        model, processor = loaded
        inputs = self.inputs(processor, request, model)
        greedy, end = not self.sampling.temperature, end_of_turn(processor)
        if self.sampling.seed is not None:
            torch.manual_seed(self.sampling.seed)
        drawn = {} if greedy else {"temperature": self.sampling.temperature, "top_p": self.sampling.top_p or 1.0}
        output = model.generate(
            **inputs,
            max_new_tokens=request.max_tokens,
            max_time=self.limits.deadline_s,
            do_sample=not greedy,
            eos_token_id=end,
            pad_token_id=end,
            **drawn,
        )
        said = output[0, inputs["input_ids"].shape[1] :]
        ended = bool(len(said)) and int(said[-1]) == end
        return Reply(
            processor.tokenizer.decode(said, skip_special_tokens=True),
            "stop" if ended else "length",
            "end of turn" if ended else "limit",
            tokens_in=int(inputs["input_ids"].shape[1]),
            tokens_out=len(said),
            model=self.settings.model,
        )

    def _score(self, loaded: tuple[Any, Any], request: Request, words: Sequence[str]) -> Reply:
        model, processor = loaded
        inputs = self.inputs(processor, request, model)
        scores = word_log_probs(model, processor, inputs, words)
        shares = np.exp(scores - scores.max())
        shares /= shares.sum()
        order = np.argsort(-shares, kind="stable")
        candidates = tuple((words[index], float(shares[index])) for index in order)
        return Reply(
            candidates[0][0],
            "stop",
            "likelihood",
            tokens_in=int(inputs["input_ids"].shape[1]),
            tokens_out=0,
            model=self.settings.model,
            candidates=candidates,
        )

    def inputs(self, processor: Any, request: Request, model: Any) -> dict[str, torch.Tensor]:
        """The request as tensors, where and as the model takes them."""
        options = self.settings.options
        fewest, most = options.get("frame_pixels") or FRAME_PIXELS
        total = int(options.get("total_pixels") or TOTAL_PIXELS)
        system = str(options.get("system") or SYSTEM)
        values = qwen_inputs(processor, request, (int(fewest), int(most)), total, system)
        return {
            name: value.to(model.device, model.dtype if value.is_floating_point() and name != _STEPS else value.dtype)
            for name, value in values.items()
        }


def word_log_probs(
    model: Any, processor: Any, inputs: dict[str, torch.Tensor], words: Sequence[str]
) -> NDArray[np.float64]:
    """Log probability ``[W]`` of each word and the end of the turn after a prompt, which is read once.

    Args:
        model: the thinker.
        processor: its own.
        inputs: the prompt as tensors.
        words: W words.
    """
    # Releases of transformers call it one or the other.
    name = "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"
    prompt = model(**inputs, use_cache=True)
    cache, first = prompt[name], prompt.logits[0, -1].float().log_softmax(-1)
    length = inputs["input_ids"].shape[1]
    end = end_of_turn(processor)
    scores = np.zeros(len(words))
    for row, word in enumerate(words):
        tokens = [*processor.tokenizer.encode(word, add_special_tokens=False), end]
        score = float(first[tokens[0]])
        if len(tokens) > 1:
            fed = torch.tensor([tokens[:-1]], device=model.device)
            # Positions run on from the prompt's, in which a picture takes fewer than it has tokens.
            place = length + torch.arange(fed.shape[1], device=model.device) + model.model.rope_deltas.reshape(-1)[0]
            mask = torch.ones((1, length + fed.shape[1]), dtype=torch.long, device=model.device)
            output = model(
                input_ids=fed,
                attention_mask=mask,
                position_ids=place.expand(3, 1, -1),
                use_cache=True,
                **{name: cache},
            )
            each = output.logits[0].float().log_softmax(-1)
            score += sum(float(each[at, token]) for at, token in enumerate(tokens[1:]))
            cache.crop(-fed.shape[1])
        scores[row] = score
    return scores


@lru_cache(maxsize=1)
def load_qwen(model: str, device: str, dtype: str, attention: str) -> tuple[Any, Any]:
    """The thinker and its processor.

    Raises:
        UnwrittenError: they cannot be loaded.
    """
    from transformers import Qwen2_5OmniThinkerForConditionalGeneration

    placed: dict[str, Any] = {"device_map": device} if device != "cpu" else {}
    try:
        processor = load_processor(model)
        network = Qwen2_5OmniThinkerForConditionalGeneration.from_pretrained(
            model, dtype=getattr(torch, dtype), attn_implementation=attention, **placed
        )
    except (OSError, ValueError) as error:
        raise UnwrittenError(_not_loaded(model, error)) from error
    return network.eval(), processor


def _not_loaded(model: str, error: Exception) -> str:
    reason = " ".join(str(error).split())[:160]
    return f"{model}: cannot be loaded ({reason}); give a folder or a name on the hub"


_ONE_AT_A_TIME = threading.Lock()
_STEPS = "video_second_per_grid"  # seconds stay exact, whatever the weights' precision
