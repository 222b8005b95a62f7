"""What a server's refusal means for the calls to come: wait, send less, give this item up, or end the run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from unwritten.readers.mllm.provider import CallError, Trouble

_UNPAID = (
    "insufficient_quota",  # OpenAI's code of an account without credit
    "billing_hard_limit_reached",
    "billing_not_active",
    "billing_error",  # Anthropic's
    "billing_disabled",  # Google's reason
    "credit balance is too low",  # Anthropic's, under status 400
)
_DAILY = re.compile(r"per[\s_-]?day|\bdaily\b|\((?:RPD|TPD)\)", re.IGNORECASE)
_TOO_LARGE = (
    "context length",
    "context_length",
    "context window",
    "maximum context",
    "too many images",
    "too many frames",
    "too large",
    "too long",
    "exceeds the maximum",
    "out of memory",
    "max_model_len",
    "max-model-len",
    "maximum model length",
    "longer than the maximum",
)
_OWN = re.compile(r"\S*\d\S*")


def refusal(status: int, text: str, headers: Mapping[str, str], asked_s: float | None = None) -> CallError:
    """A server's error reply as what it means.

    Args:
        status: of the reply.
        text: code and message; codes decide, not the word billing, of which ordinary rate limits speak too.
        headers: of the reply.
        asked_s: the wait that the body asks for, where it holds one.
    """
    said = f"{status} {text}"
    if any(word in text for word in ("content_filter", "content_policy")):
        return CallError(f"blocked: {said}", "call")
    trouble = trouble_of_status(status, text)
    if trouble != "retry":
        return CallError(said, trouble)
    from_headers_s = wait_of_headers(headers)
    return CallError(said, trouble, asked_s if from_headers_s is None else from_headers_s)


def trouble_of_status(status: int, text: str) -> Trouble:
    """What an HTTP status means for the calls to come.

    Args:
        status: of the reply.
        text: of its body.
    """
    lowered = text.lower()
    if any(code in lowered for code in _UNPAID) or (status == 429 and _DAILY.search(text)):
        return "run"
    if status in (401, 402, 403, 404) or (status == 400 and "api key" in lowered):
        return "run"
    if status in (408, 409, 425, 429):
        return "retry"
    if status == 413 or (status in (400, 422, 500) and any(word in lowered for word in _TOO_LARGE)):
        return "too_large"
    return "retry" if status >= 500 else "call"


def wait_of_headers(headers: Mapping[str, str]) -> float | None:
    """Seconds that a reply asks to wait: ``retry-after-ms``, the finer one, before ``retry-after``."""
    try:
        return max(0.0, float(headers.get("retry-after-ms") or "") / 1000)
    except ValueError:
        return retry_after_seconds(headers.get("retry-after"))


def retry_after_seconds(value: str | None) -> float | None:
    """Seconds of a ``Retry-After`` header: a number or an HTTP date (RFC 9110, section 10.2.3)."""
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


class Streak:
    """Counts items in a row that failed alike, so that an error that every item would meet is met but a few times.

    Args:
        most: so many alike are enough.
    """

    def __init__(self, most: int = 3) -> None:
        self.most = most
        self._kind, self._count = "", 0

    def broken(self) -> None:
        """An item got through."""
        self._kind, self._count = "", 0

    def met(self, error: CallError) -> bool:
        """True when this error, whatever numbers and ids it names, ends a row that is long enough."""
        if error.trouble != "call" or str(error).startswith("blocked:"):
            self.broken()
            return False
        kind = _OWN.sub("#", str(error))
        self._count = self._count + 1 if kind == self._kind else 1
        self._kind = kind
        return self._count >= self.most
