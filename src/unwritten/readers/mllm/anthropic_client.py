"""Claude through Anthropic's own client, whose retries are off. It sees frames; it hears nothing.

``options`` of a reader of this provider:

- ``effort``: ``low`` to ``max``; it is in the reader's name, for it makes another row;
- ``body``: further fields of the request, e.g. ``thinking``.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from unwritten.errors import UnwrittenError, UsageError
from unwritten.readers.mllm.parts import Part, Picture, Request, Text
from unwritten.readers.mllm.provider import CallError, Finish, Reply, ServiceClient
from unwritten.readers.mllm.sampling import sampling_taken
from unwritten.readers.mllm.settings import LimitSettings, MllmSettings, SamplingSettings
from unwritten.readers.mllm.troubles import refusal

OPTIONS = {"effort", "body"}
_FINISH: Mapping[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "blocked",  # by the classifiers that watch the reply, not in the model's words
}


class AnthropicClient(ServiceClient):
    """Messages by ``anthropic``.

    Args:
        settings, sampling, limits: see :class:`ServiceClient`.
        key: of the account.
    """

    def __init__(self, settings: MllmSettings, sampling: SamplingSettings, limits: LimitSettings, key: str) -> None:
        import anthropic

        super().__init__(settings, sampling, limits)
        self._client = anthropic.AsyncAnthropic(
            api_key=key, base_url=settings.base_url, max_retries=0, timeout=self.timeout_s
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def check(self, model: str) -> str:
        """Look the model up.

        Raises:
            UsageError: there is no such model.
            UnwrittenError: the key is refused, or nobody listens.
        """
        import anthropic

        name = self.settings.name
        try:
            known = await self._client.models.retrieve(model)
        except anthropic.NotFoundError:
            raise UsageError(f"{name}: Anthropic knows no model {model!r}; give its exact version") from None
        except (anthropic.AuthenticationError, anthropic.PermissionDeniedError) as error:
            raise UnwrittenError(
                f"{name}: Anthropic refuses the key in {self.settings.key_env} ({error.status_code})"
            ) from None
        except anthropic.APIConnectionError as error:
            where = self.settings.base_url or "Anthropic"
            raise UnwrittenError(
                f"{name}: {where} does not answer ({type(error).__name__}); check the network"
            ) from None
        except (anthropic.APIError, ValueError):
            return ""
        return str(getattr(known, "retires_at", None) or "")[:10]

    async def ask(self, model: str, request: Request) -> Reply:
        """One message."""
        import anthropic

        try:
            return _reply(await self._client.messages.create(**self.body(model, request)))
        except anthropic.APIStatusError as error:
            told = error.body.get("error") if isinstance(error.body, Mapping) else None
            said = f"{told.get('type')} {told.get('message')}" if isinstance(told, Mapping) else error.message
            raise refusal(error.status_code, said, error.response.headers) from None
        except anthropic.APITimeoutError:
            raise CallError("no reply in time", "retry", billed=True) from None
        except anthropic.APIConnectionError as error:
            cause = error.__cause__ or error
            raise CallError(f"connection lost ({type(cause).__name__})", "retry", billed=True) from None
        except (anthropic.APIError, ValueError) as error:
            raise CallError(f"the reply is not what the protocol says ({error})", "retry", billed=True) from None

    def body(self, model: str, request: Request) -> dict[str, Any]:
        """The fields of the request."""
        options, sampling = self.settings.options, sampling_taken(model, self.sampling)
        fields: dict[str, Any] = {
            "model": model,
            "max_tokens": request.max_tokens,
            "messages": [{"role": turn.role, "content": [_content(p) for p in turn.parts]} for turn in request.turns],
        }
        if options.get("effort"):
            fields["output_config"] = {"effort": str(options["effort"])}
        # The client has no fields for them any more, as only models before Opus 4.7 take them.
        drawn = {name: getattr(sampling, name) for name in ("temperature", "top_p")}
        extra = {**{name: value for name, value in drawn.items() if value is not None}, **(options.get("body") or {})}
        return {**fields, "extra_body": extra} if extra else fields


def _content(part: Part) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    if not isinstance(part, Picture):
        raise CallError(f"Claude takes no {part.mime}; leave audio and video out of abilities", "run")
    data = base64.b64encode(part.data).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": part.mime, "data": data}}


def _reply(message: Any) -> Reply:
    content = getattr(message, "content", None)
    if content is None or isinstance(message, str):
        # A page of HTML under status 200 comes through the client as plain text.
        raise CallError(f"the reply is no JSON ({str(message)[:80]!r})", "retry", billed=True)
    usage = getattr(message, "usage", None)
    thought = getattr(getattr(usage, "output_tokens_details", None), "thinking_tokens", None)
    cached = [getattr(usage, name, None) or 0 for name in ("cache_creation_input_tokens", "cache_read_input_tokens")]
    counted = getattr(usage, "input_tokens", None)
    facts: dict[str, Any] = {
        "tokens_in": None if counted is None else counted + sum(cached),
        "tokens_out": getattr(usage, "output_tokens", None),
        "model": str(getattr(message, "model", "") or ""),
        "details": {"tokens_thought": thought} if thought else {},
    }
    reason = str(getattr(message, "stop_reason", "") or "")
    finish = _FINISH.get(reason, "other")
    text = "".join(block.text for block in content if block.type == "text")
    return Reply("" if finish == "blocked" else text, finish, reason, **facts)
