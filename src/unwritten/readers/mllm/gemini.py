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
import contextlib
import io
from collections.abc import Iterable, Mapping
from typing import Any

from unwritten.errors import UnwrittenError, UsageError
from unwritten.readers.mllm.parts import Part, Picture, Request, Sound, Text, Video
from unwritten.readers.mllm.provider import CallError, Finish, Reply, ServiceClient
from unwritten.readers.mllm.sampling import sampling_taken
from unwritten.readers.mllm.settings import LimitSettings, MllmSettings, SamplingSettings
from unwritten.readers.mllm.troubles import refusal, retry_after_seconds

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
        self._files = _Files(self._client)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aio.aclose()
        self._client.close()

    async def check(self, model: str) -> str:
        """Look the model up; Google's list tells no dates.

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
        return ""

    async def ask(self, model: str, request: Request) -> Reply:
        """One generation."""
        from google.genai import errors

        try:
            config = self._config(model, request)
            contents = await self._contents(request)
            response = await self._client.aio.models.generate_content(model=model, contents=contents, config=config)
            return _reply(response)
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

    async def done(self, request: Request) -> None:
        """Take away the files that were sent for this request."""
        await self._files.delete(request.parts())

    def _config(self, model: str, request: Request) -> Any:
        from google.genai import types

        options, sampling = self.settings.options, sampling_taken(model, self.sampling)
        thinking = {
            name: options[name] for name in ("thinking_budget", "thinking_level") if options.get(name) is not None
        }
        safety = options.get("safety")
        harms = [types.SafetySetting(category=types.HarmCategory(harm), threshold=safety) for harm in HARMS]
        return types.GenerateContentConfig(
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            seed=sampling.seed,
            max_output_tokens=request.max_tokens,
            thinking_config=types.ThinkingConfig(**thinking) if thinking else None,
            media_resolution=options.get("media_resolution"),
            safety_settings=harms if safety else None,
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        )

    async def _contents(self, request: Request) -> list[Any]:
        from google.genai import types

        total = sum(len(part.data) for part in request.parts() if not isinstance(part, Text))
        inline = total <= int(self.settings.options.get("inline_bytes") or _INLINE_BYTES)
        return [
            types.Content(
                role="user" if turn.role == "user" else "model",
                parts=[await self._part(part, inline) for part in turn.parts],
            )
            for turn in request.turns
        ]

    async def _part(self, part: Part, inline: bool) -> Any:
        from google.genai import types

        if isinstance(part, Text):
            return types.Part(text=part.text)
        rate = types.VideoMetadata(fps=min(part.fps, MOST_FPS)) if isinstance(part, Video) else None
        if inline or isinstance(part, Picture):
            return types.Part(inline_data=types.Blob(data=part.data, mime_type=part.mime), video_metadata=rate)
        file = await self._files.active(part)
        return types.Part(file_data=types.FileData(file_uri=file.uri, mime_type=part.mime), video_metadata=rate)


class _Files:
    """Media in the Files API, each sent once however often its question has to be asked again.

    Args:
        client: Google's.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        # By identity: two items may hold the same media, and one's must not vanish with the other's.
        self._names: dict[int, tuple[Part, str]] = {}

    async def active(self, part: Sound | Video) -> Any:
        """The file of a part, uploaded when it is not there, and ready to be looked at.

        Raises:
            CallError: the service cannot process it.
        """
        files = self._client.aio.files
        if id(part) in self._names:
            file = await files.get(name=self._names[id(part)][1])
        else:
            file = await files.upload(file=io.BytesIO(part.data), config={"mime_type": part.mime})
            self._names[id(part)] = (part, str(file.name))
        while _name(file.state) == "PROCESSING":
            await asyncio.sleep(_POLL_S)
            file = await files.get(name=str(file.name))
        if _name(file.state) == "FAILED":
            raise CallError("the service could not process the uploaded file", "call")
        return file

    async def delete(self, parts: Iterable[Part]) -> None:
        """Take away the files of these parts."""
        for _, name in filter(None, [self._names.pop(id(part), None) for part in parts]):
            # The service deletes files by itself after two days; a failure here must not cost the reply.
            with contextlib.suppress(Exception):
                await self._client.aio.files.delete(name=name)


def _call_error(error: Any) -> CallError:
    """What Google's error means: its quotas' names and its own wait decide, not the message, which may say billing."""
    body = error.details.get("error", error.details) if isinstance(error.details, Mapping) else {}
    entries = [entry for entry in body.get("details") or [] if isinstance(entry, Mapping)]
    quotas = [str(one.get("quotaId") or "") for entry in entries for one in entry.get("violations") or []]
    reasons = [str(entry.get("reason") or "") for entry in entries]
    delays = [str(entry.get("retryDelay") or "") for entry in entries]
    said = " ".join([f"{error.status or ''} {error.message or ''}", *filter(None, (*quotas, *reasons))])
    asked_s = next((retry_after_seconds(delay[:-1]) for delay in delays if delay.endswith("s")), None)
    return refusal(int(error.code or 0), said, getattr(error.response, "headers", None) or {}, asked_s)


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
    retires = getattr(getattr(response, "model_status", None), "retirement_time", None)
    if retires is not None:
        facts["details"]["shutdown_date"] = f"{retires:%Y-%m-%d}"
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
