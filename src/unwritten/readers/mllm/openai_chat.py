"""Chat completions: how a request and its reply look there, at OpenAI and at every server that speaks the protocol."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from unwritten.readers.mllm.parts import Part, Picture, Request, Sound, Text, Turn, Video
from unwritten.readers.mllm.provider import CallError, Finish, Reply
from unwritten.readers.mllm.settings import SamplingSettings

_FINISH: Mapping[str, Finish] = {"stop": "stop", "length": "length", "content_filter": "blocked"}


def body(model: str, request: Request, sampling: SamplingSettings, options: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the request.

    Args:
        model: exact version.
        request: any.
        sampling: what the model takes of it.
        options: of the reader.
    """
    fields: dict[str, Any] = {
        "model": model,
        "messages": [_message(turn, options) for turn in request.turns],
        str(options.get("token_limit") or "max_tokens"): request.max_tokens,
    }
    for name in ("temperature", "top_p", "seed"):
        if getattr(sampling, name) is not None:
            fields[name] = getattr(sampling, name)
    if options.get("effort"):
        fields["reasoning_effort"] = str(options["effort"])
    videos = [part for part in request.parts() if isinstance(part, Video)]
    extra = _with_fps(options.get("body") or {}, videos[-1].fps if videos else None)
    if extra:
        fields["extra_body"] = extra
    return fields


def _message(turn: Turn, options: Mapping[str, Any]) -> dict[str, Any]:
    if turn.role == "assistant":
        return {"role": "assistant", "content": "".join(part.text for part in turn.parts if isinstance(part, Text))}
    return {"role": "user", "content": [_content(part, options) for part in turn.parts]}


def _content(part: Part, options: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    data = base64.b64encode(part.data).decode()
    url = {"url": f"data:{part.mime};base64,{data}"}
    if isinstance(part, Picture):
        detail = options.get("detail")
        return {"type": "image_url", "image_url": {**url, "detail": str(detail)} if detail else url}
    if isinstance(part, Sound):
        if options.get("audio_url"):
            return {"type": "audio_url", "audio_url": url}
        return {"type": "input_audio", "input_audio": {"data": data, "format": part.format}}
    return {"type": "video_url", "video_url": url}


def _with_fps(value: Any, fps: float | None) -> Any:
    """The value with the rate of the video in place of ``{fps}``; fields that ask for it vanish without a video."""
    if isinstance(value, Mapping):
        filled = {name: _with_fps(inner, fps) for name, inner in value.items()}
        return {name: inner for name, inner in filled.items() if inner is not None and inner != {}}
    if value == "{fps}":
        return fps
    return value


def reply(completion: Any) -> Reply:
    """What the model said.

    Raises:
        CallError: the completion is none.
    """
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
