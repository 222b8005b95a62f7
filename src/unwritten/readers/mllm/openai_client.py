"""OpenAI's own client: for OpenAI's models, vLLM, llama.cpp, Ollama, OpenRouter, and all that speak its protocols.

``options`` of a reader of this provider:

- ``api``: ``chat`` (completions) or ``responses``; sound goes by chat completions, which alone take it;
- ``effort``: of reasoning, e.g. ``low``; it is in the reader's name, for it makes another row;
- ``detail``: of images, ``low``, ``high`` or ``auto``;
- ``audio_url``: true where a server takes sound as an address instead of ``input_audio``;
- ``token_limit``: name of the field for the most tokens, ``max_tokens`` or ``max_completion_tokens``;
- ``body``: further fields of the request, e.g. vLLM's ``mm_processor_kwargs``; ``{fps}`` as a value becomes the rate of
  the video that is sent.
"""

from __future__ import annotations

from unwritten.errors import UnwrittenError, UsageError
from unwritten.readers.mllm import openai_chat, openai_responses
from unwritten.readers.mllm.parts import Request
from unwritten.readers.mllm.provider import CallError, Reply, ServiceClient
from unwritten.readers.mllm.sampling import sampling_taken
from unwritten.readers.mllm.settings import LimitSettings, MllmSettings, SamplingSettings
from unwritten.readers.mllm.troubles import refusal

OPTIONS = {"api", "effort", "detail", "audio_url", "token_limit", "body"}
APIS = ("chat", "responses")


class OpenAIClient(ServiceClient):
    """Chat completions and responses by OpenAI's own client, whose retries are off: patience is ours.

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

    async def check(self, model: str) -> str:
        """Look the model up in the server's list; a server without a list is believed.

        Raises:
            UsageError: the model is not in the list.
            UnwrittenError: the key is refused, or nobody listens.
        """
        import openai

        where = self.settings.base_url or "OpenAI"
        try:
            known = {entry.id: entry async for entry in self._client.models.list()}
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
            return ""
        if model not in known:
            shown = ", ".join(sorted(known)[:8]) + (", ..." if len(known) > 8 else "")
            raise UsageError(f"{self.settings.name}: {where} knows no model {model!r}; it has {shown or 'none'}")
        # OpenAI's field, and OpenRouter's.
        dates = (getattr(known[model], name, None) for name in ("shutdown_date", "expiration_date"))
        return str(next((date for date in dates if date), ""))

    async def ask(self, model: str, request: Request) -> Reply:
        """One response, or one chat completion."""
        import openai

        options = self.settings.options
        sampling = sampling_taken(model, self.sampling)
        try:
            if options.get("api") == "responses" and openai_responses.takes(request):
                fields = openai_responses.body(model, request, sampling, options)
                return openai_responses.reply(await self._client.responses.create(**fields))
            fields = openai_chat.body(model, request, sampling, options)
            return openai_chat.reply(await self._client.chat.completions.create(**fields))
        except openai.APIStatusError as error:
            said = f"{error.code or ''} {error.message}"
            raise refusal(error.status_code, said, error.response.headers) from None
        except openai.APITimeoutError:
            raise CallError("no reply in time", "retry", billed=True) from None
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            raise CallError(f"connection lost ({type(cause).__name__})", "retry", billed=True) from None
        except (openai.APIError, ValueError) as error:
            raise CallError(f"the reply is not what the protocol says ({error})", "retry", billed=True) from None
