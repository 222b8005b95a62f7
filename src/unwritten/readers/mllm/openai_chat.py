"""Chat completions: OpenAI's own models, vLLM, and every server that speaks this protocol.

``options`` of a reader of this provider:

- ``detail``: of images, ``low``, ``high`` or ``auto``;
- ``token_limit``: name of the field for the most tokens, ``max_tokens`` or ``max_completion_tokens``;
- ``body``: further fields of the request, e.g. ``reasoning_effort``, or vLLM's ``mm_processor_kwargs``; ``{fps}`` as a
  value becomes the rate of the video that is sent.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from unwritten.errors import UnwrittenError, UsageError
from unwritten.readers.mllm.parts import Part, Picture, Request, Sound, Text, Turn, Video
from unwritten.readers.mllm.provider import (
    CallError,
    Finish,
    Reply,
    ServiceClient,
    retry_after_seconds,
    trouble_of_status,
)
from unwritten.readers.mllm.settings import LimitSettings, MllmSettings, SamplingSettings

OPTIONS = {"detail", "token_limit", "body"}
_FINISH: Mapping[str, Finish] = {"stop": "stop", "length": "length", "content_filter": "blocked"}


class OpenAIClient(ServiceClient):
    """Chat completions by OpenAI's own client, whose retries are off: patience is ours.

    Args:
        settings, sampling, limits: see :class:`ServiceClient`.
        key: of the account.
    """

    def __init__(self, settings: MllmSettings, sampling: SamplingSettings, limits: LimitSettings, key: str) -> None:
        import openai

        super().__init__(settings, sampling, limits)
        self._client = openai.AsyncOpenAI(
            api_key=key, base_url=settings.base_url, max_retries=0, timeout=self.timeout_s
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def check(self, model: str) -> None:
        """Look the model up in the server's list; a server without a list is believed.

        Raises:
            UsageError: the model is not in the list.
            UnwrittenError: the key is refused, or nobody listens.
        """
        import openai

        where = self.settings.base_url or "OpenAI"
        try:
            known = [entry.id async for entry in self._client.models.list()]
        except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
            raise UnwrittenError(
                f"{self.settings.name}: {where} refuses the key in {self.settings.key_env} ({error.status_code})"
            ) from None
        except openai.APIConnectionError as error:
            raise UnwrittenError(
                f"{self.settings.name}: {where} does not answer ({type(error).__name__}); start the server or correct "
                "base_url"
            ) from None
        except (openai.APIError, AttributeError, TypeError, ValueError):
            return
        if model not in known:
            shown = ", ".join(sorted(known)[:8]) + (", ..." if len(known) > 8 else "")
            raise UsageError(f"{self.settings.name}: {where} knows no model {model!r}; it has {shown or 'none'}")

    async def ask(self, model: str, request: Request) -> Reply:
        """One chat completion."""
        import openai

        try:
            completion = await self._client.chat.completions.create(**self.body(model, request))
        except openai.APIStatusError as error:
            raise _call_error(error.status_code, error.message, error.code, error.response.headers) from None
        except openai.APITimeoutError:
            raise CallError("no reply in time", "retry", billed=True) from None
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            raise CallError(f"connection lost ({type(cause).__name__})", "retry", billed=True) from None
        except (openai.APIError, ValueError) as error:
            raise CallError(f"the reply is not what the protocol says ({error})", "retry", billed=True) from None
        return _reply(completion)

    def body(self, model: str, request: Request) -> dict[str, Any]:
        """The fields of the request."""
        options = self.settings.options
        body: dict[str, Any] = {
            "model": model,
            "messages": [self._message(turn) for turn in request.turns],
            str(options.get("token_limit") or "max_tokens"): request.max_tokens,
        }
        for name in ("temperature", "top_p", "seed"):
            value = getattr(self.sampling, name)
            if value is not None:
                body[name] = value
        videos = [part for part in request.parts() if isinstance(part, Video)]
        extra = _with_fps(options.get("body") or {}, videos[-1].fps if videos else None)
        if extra:
            body["extra_body"] = extra
        return body

    def _message(self, turn: Turn) -> dict[str, Any]:
        if turn.role == "assistant":
            return {"role": "assistant", "content": "".join(part.text for part in turn.parts if isinstance(part, Text))}
        return {"role": "user", "content": [self._content(part) for part in turn.parts]}

    def _content(self, part: Part) -> dict[str, Any]:
        if isinstance(part, Text):
            return {"type": "text", "text": part.text}
        data = base64.b64encode(part.data).decode()
        if isinstance(part, Picture):
            url = {"url": f"data:{part.mime};base64,{data}"}
            detail = self.settings.options.get("detail")
            return {"type": "image_url", "image_url": {**url, "detail": str(detail)} if detail else url}
        if isinstance(part, Sound):
            return {"type": "input_audio", "input_audio": {"data": data, "format": part.format}}
        return {"type": "video_url", "video_url": {"url": f"data:{part.mime};base64,{data}"}}


def _with_fps(value: Any, fps: float | None) -> Any:
    """The value with the rate of the video in place of ``{fps}``; fields that ask for it vanish without a video."""
    if isinstance(value, Mapping):
        filled = {name: _with_fps(inner, fps) for name, inner in value.items()}
        return {name: inner for name, inner in filled.items() if inner is not None and inner != {}}
    if value == "{fps}":
        return fps
    return value


def _call_error(status: int, message: str, code: object, headers: Mapping[str, str]) -> CallError:
    text = f"{status} {code or ''} {message}"
    if "content_filter" in text or "content_policy" in text:
        return CallError(f"blocked: {text}", "call")
    trouble = trouble_of_status(status, text)
    wait_s = retry_after_seconds(headers.get("retry-after")) if trouble == "retry" else None
    return CallError(text, trouble, wait_s)


def _reply(completion: Any) -> Reply:
    choices = getattr(completion, "choices", None)
    if choices is None:
        # A page of HTML under status 200 comes through the client as plain text.
        raise CallError(f"the reply is no JSON ({str(completion)[:80]!r})", "retry", billed=True)
    usage = getattr(completion, "usage", None)
    counted = getattr(usage, "prompt_tokens_details", None)
    facts: dict[str, Any] = {
        "tokens_in": getattr(usage, "prompt_tokens", None),
        "tokens_out": getattr(usage, "completion_tokens", None),
        "audio_tokens_in": getattr(counted, "audio_tokens", None),
        "model": str(getattr(completion, "model", "") or ""),
    }
    if not choices:
        return Reply("", "other", "no choices", **facts)
    choice = choices[0]
    reason = str(choice.finish_reason or "")
    message = choice.message
    refusal = getattr(message, "refusal", None)
    if refusal:
        return Reply(str(refusal), "refused", reason, **facts)
    content = message.content
    if isinstance(content, list):
        content = "".join(str(piece.get("text", "")) for piece in content if isinstance(piece, Mapping))
    return Reply(str(content or ""), _FINISH.get(reason, "other"), reason, **facts)
