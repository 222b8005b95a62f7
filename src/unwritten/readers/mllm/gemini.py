"""Gemini through Google's own client, whose retries are off.

Video is sent with its frame rate: without one the service looks at one picture a second. Files beyond the size that a
request may have go through the Files API and are deleted afterwards.

``options`` of a reader of this provider:

- ``thinking_budget`` (tokens; 0 switches thinking off where the model allows it) or ``thinking_level``;
- ``safety``: threshold of all categories, e.g. ``BLOCK_NONE``;
- ``media_resolution``: e.g. ``MEDIA_RESOLUTION_LOW``;
- ``api_version``: ``v1beta`` by default;
- ``inline_bytes``: most bytes of media within a request.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Mapping
from typing import Any

from unwritten.errors import UnwrittenError, UsageError
from unwritten.readers.mllm.parts import Part, Picture, Request, Sound, Text, Video
from unwritten.readers.mllm.provider import (
    CallError,
    Finish,
    Reply,
    ServiceClient,
    retry_after_seconds,
    trouble_of_status,
)
from unwritten.readers.mllm.settings import LimitSettings, MllmSettings, SamplingSettings

OPTIONS = {"thinking_budget", "thinking_level", "safety", "media_resolution", "api_version", "inline_bytes"}
HARMS = (
    "HARM_CATEGORY_HARASSMENT",
    "HARM_CATEGORY_HATE_SPEECH",
    "HARM_CATEGORY_SEXUALLY_EXPLICIT",
    "HARM_CATEGORY_DANGEROUS_CONTENT",
)
MOST_FPS = 24.0  # the service takes rates in (0, 24]
# A request may have 20 MB, and base64 makes four bytes of three.
_INLINE_BYTES = 14_000_000
_BLOCKED = {
    "SAFETY",
    "RECITATION",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "MODEL_ARMOR",
    "LANGUAGE",
    "ESCALATION",
}
_POLL_S = 1.0


class GeminiClient(ServiceClient):
    """Generates content by ``google-genai``.

    Args:
        settings, sampling, limits: see :class:`ServiceClient`.
        key: of the account.
    """

    def __init__(self, settings: MllmSettings, sampling: SamplingSettings, limits: LimitSettings, key: str) -> None:
        from google import genai
        from google.genai import types

        super().__init__(settings, sampling, limits)
        self._client = genai.Client(
            api_key=key,
            vertexai=False,
            http_options=types.HttpOptions(
                base_url=settings.base_url,
                api_version=str(settings.options.get("api_version") or "v1beta"),
                timeout=int(1000 * self.timeout_s),
                retry_options=types.HttpRetryOptions(attempts=1),
            ),
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aio.aclose()
        self._client.close()

    async def check(self, model: str) -> None:
        """Look the model up.

        Raises:
            UsageError: there is no such model.
            UnwrittenError: the key is refused, or nobody listens.
        """
        from google.genai import errors

        name = self.settings.name
        try:
            await self._client.aio.models.get(model=model)
        except errors.APIError as error:
            text = f"{error.code} {error.status or ''} {error.message or ''}"
            if error.code in (401, 403) or (error.code == 400 and "api key" in text.lower()):
                raise UnwrittenError(
                    f"{name}: Gemini refuses the key in {self.settings.key_env} ({error.code})"
                ) from None
            if error.code == 404:
                raise UsageError(f"{name}: Gemini knows no model {model!r}; give its exact version") from None
        except Exception as error:  # whatever the transport raises: the client brings its own or another
            where = self.settings.base_url or "Gemini"
            raise UnwrittenError(
                f"{name}: {where} does not answer ({type(error).__name__}); check the network"
            ) from None

    async def ask(self, model: str, request: Request) -> Reply:
        """One generation."""
        from google.genai import errors

        uploaded: list[str] = []
        try:
            contents = await self._contents(request, uploaded)
            response = await self._client.aio.models.generate_content(
                model=model, contents=contents, config=self._config(request)
            )
        except errors.APIError as error:
            raise _call_error(error) from None
        except CallError:
            raise
        except (TimeoutError, OSError) as error:
            raise CallError(f"connection lost ({type(error).__name__})", "retry", billed=True) from None
        except Exception as error:
            # The client's transport may be httpx or aiohttp, whose errors share no base; JSON errors are ValueErrors.
            kind = "the reply is no JSON" if isinstance(error, ValueError) else "connection lost"
            raise CallError(f"{kind} ({type(error).__name__})", "retry", billed=True) from None
        finally:
            for file in uploaded:
                await self._delete(file)
        return _reply(response)

    def _config(self, request: Request) -> Any:
        from google.genai import types

        options = self.settings.options
        thinking = {
            name: options[name] for name in ("thinking_budget", "thinking_level") if options.get(name) is not None
        }
        safety = options.get("safety")
        harms = [types.SafetySetting(category=types.HarmCategory(harm), threshold=safety) for harm in HARMS]
        return types.GenerateContentConfig(
            temperature=self.sampling.temperature,
            top_p=self.sampling.top_p,
            seed=self.sampling.seed,
            max_output_tokens=request.max_tokens,
            thinking_config=types.ThinkingConfig(**thinking) if thinking else None,
            media_resolution=options.get("media_resolution"),
            safety_settings=harms if safety else None,
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        )

    async def _contents(self, request: Request, uploaded: list[str]) -> list[Any]:
        from google.genai import types

        total = sum(len(part.data) for part in request.parts() if not isinstance(part, Text))
        inline = total <= int(self.settings.options.get("inline_bytes") or _INLINE_BYTES)
        return [
            types.Content(
                role="user" if turn.role == "user" else "model",
                parts=[await self._part(part, inline, uploaded) for part in turn.parts],
            )
            for turn in request.turns
        ]

    async def _part(self, part: Part, inline: bool, uploaded: list[str]) -> Any:
        from google.genai import types

        if isinstance(part, Text):
            return types.Part(text=part.text)
        rate = types.VideoMetadata(fps=min(part.fps, MOST_FPS)) if isinstance(part, Video) else None
        if inline or isinstance(part, Picture):
            return types.Part(inline_data=types.Blob(data=part.data, mime_type=part.mime), video_metadata=rate)
        file = await self._upload(part, uploaded)
        return types.Part(file_data=types.FileData(file_uri=file.uri, mime_type=part.mime), video_metadata=rate)

    async def _upload(self, part: Sound | Video, uploaded: list[str]) -> Any:
        from google.genai import types

        files = self._client.aio.files
        file = await files.upload(file=io.BytesIO(part.data), config=types.UploadFileConfig(mime_type=part.mime))
        uploaded.append(str(file.name))
        while str(getattr(file.state, "value", file.state)) == "PROCESSING":
            await asyncio.sleep(_POLL_S)
            file = await files.get(name=str(file.name))
        if str(getattr(file.state, "value", file.state)) == "FAILED":
            raise CallError("the service could not process the uploaded file", "call")
        return file

    async def _delete(self, name: str) -> None:
        import contextlib

        # The service deletes files by itself after two days; a failure here must not cost the reply.
        with contextlib.suppress(Exception):
            await self._client.aio.files.delete(name=name)


def _call_error(error: Any) -> CallError:
    status = int(error.code or 0)
    text = f"{status} {error.status or ''} {error.message or ''}"
    trouble = trouble_of_status(status, text)
    wait_s = None
    if trouble == "retry":
        headers = getattr(error.response, "headers", None) or {}
        wait_s = retry_after_seconds(headers.get("retry-after") or headers.get("Retry-After"))
        wait_s = wait_s if wait_s is not None else _retry_delay_s(error.details)
    return CallError(text, trouble, wait_s)


def _retry_delay_s(details: Any) -> float | None:
    """The wait that Google puts into an error's body: ``{"@type": ".../RetryInfo", "retryDelay": "17s"}``."""
    body = details.get("error", details) if isinstance(details, Mapping) else {}
    for entry in body.get("details") or []:
        delay = str(entry.get("retryDelay") or "") if isinstance(entry, Mapping) else ""
        if delay.endswith("s"):
            return retry_after_seconds(delay[:-1])
    return None


def _reply(response: Any) -> Reply:
    usage = response.usage_metadata
    thought = getattr(usage, "thoughts_token_count", None) or 0
    out = getattr(usage, "candidates_token_count", None)
    by_kind = getattr(usage, "prompt_tokens_details", None) or []
    sound = [entry.token_count or 0 for entry in by_kind if _name(entry.modality) == "AUDIO"]
    facts: dict[str, Any] = {
        "tokens_in": getattr(usage, "prompt_token_count", None),
        "tokens_out": None if usage is None else (out or 0) + thought,
        "audio_tokens_in": sum(sound) if sound else None,
        "model": str(response.model_version or ""),
        "details": {"tokens_thought": thought} if thought else {},
    }
    feedback = response.prompt_feedback
    if feedback is not None and feedback.block_reason is not None:
        return Reply("", "blocked", f"prompt: {_name(feedback.block_reason)}", **facts)
    if not response.candidates:
        return Reply("", "other", "no candidates", **facts)
    candidate = response.candidates[0]
    reason = _name(candidate.finish_reason)
    pieces = (candidate.content.parts if candidate.content else None) or []
    text = "".join(piece.text for piece in pieces if piece.text and not piece.thought)
    finish: Finish = "other"
    if reason in _BLOCKED:
        finish = "blocked"
    elif reason in ("STOP", "MAX_TOKENS"):
        finish = "stop" if reason == "STOP" else "length"
    return Reply("" if finish == "blocked" else text, finish, reason, **facts)


def _name(value: Any) -> str:
    return str(getattr(value, "value", value) or "")
