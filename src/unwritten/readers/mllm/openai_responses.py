"""OpenAI's Responses API: how a request and its reply look there. Pictures go in, sound does not."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from unwritten.readers.mllm.parts import Part, Picture, Request, Sound, Text, Turn, Video
from unwritten.readers.mllm.provider import CallError, Finish, Reply
from unwritten.readers.mllm.settings import SamplingSettings

_PASSING = {"server_error", "rate_limit_exceeded", "vector_store_timeout"}


def takes(request: Request) -> bool:
    """True when the request holds nothing that this protocol has no part for."""
    return not any(isinstance(part, Sound | Video) for part in request.parts())


def body(model: str, request: Request, sampling: SamplingSettings, options: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the request.

    Args:
        model: exact version.
        request: what :func:`takes` allows.
        sampling: what the model takes of it.
        options: of the reader.
    """
    fields: dict[str, Any] = {
        "model": model,
        "input": [_message(turn, options.get("detail")) for turn in request.turns],
        "max_output_tokens": request.max_tokens,
        "store": False,  # nobody asks for these replies again
    }
    if options.get("effort"):
        fields["reasoning"] = {"effort": str(options["effort"])}
    for name in ("temperature", "top_p"):
        if getattr(sampling, name) is not None:
            fields[name] = getattr(sampling, name)
    if options.get("body"):
        fields["extra_body"] = dict(options["body"])
    return fields


def _message(turn: Turn, detail: object) -> dict[str, Any]:
    if turn.role == "assistant":
        return {"role": "assistant", "content": "".join(part.text for part in turn.parts if isinstance(part, Text))}
    return {"role": "user", "content": [_content(part, detail) for part in turn.parts]}


def _content(part: Part, detail: object) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "input_text", "text": part.text}
    assert isinstance(part, Picture)
    url = f"data:{part.mime};base64,{base64.b64encode(part.data).decode()}"
    return {"type": "input_image", "image_url": url, "detail": str(detail or "auto")}


def reply(response: Any) -> Reply:
    """What the model said.

    Raises:
        CallError: the response is none, or says that it failed.
    """
    output = getattr(response, "output", None)
    if output is None:
        raise CallError(f"the reply is no JSON ({str(response)[:80]!r})", "retry", billed=True)
    if response.status == "failed":
        code = str(getattr(response.error, "code", "") or "")
        message = f"the response failed ({code} {getattr(response.error, 'message', '') or ''})"
        raise CallError(message, "retry" if code in _PASSING else "call", billed=True)
    usage = getattr(response, "usage", None)
    thought = getattr(getattr(usage, "output_tokens_details", None), "reasoning_tokens", None)
    facts: dict[str, Any] = {
        "tokens_in": getattr(usage, "input_tokens", None),
        "tokens_out": getattr(usage, "output_tokens", None),
        "model": str(getattr(response, "model", "") or ""),
        "details": {"tokens_thought": thought} if thought else {},
    }
    pieces = [piece for item in output if item.type == "message" for piece in item.content]
    refused = "".join(piece.refusal for piece in pieces if piece.type == "refusal")
    text = "".join(piece.text for piece in pieces if piece.type == "output_text")
    if refused:
        return Reply(refused, "refused", "refusal", **facts)
    reason = str(getattr(response.incomplete_details, "reason", "") or response.status or "")
    finish: Finish = "other"
    if reason in ("completed", "max_output_tokens"):
        finish = "stop" if reason == "completed" else "length"
    elif reason == "content_filter":
        finish = "blocked"
    return Reply("" if finish == "blocked" else text, finish, reason, **facts)
