"""What a reply counts as."""

from __future__ import annotations

from unwritten.readers.mllm.parsing import Parsed, parse
from unwritten.readers.mllm.provider import Reply


def is_unclear(reply: Reply, parsed: Parsed) -> bool:
    """True when a reply may hold an answer that no pattern finds; a short refusal holds none."""
    essay = parsed.how == "refusal" and reply.finish != "refused" and len(reply.text) > 120
    return parsed.how == "several" or essay


def judge(reply: Reply, n: int | None) -> tuple[Parsed, str]:
    """What a reply counts as, and a line on why there is no word.

    Args:
        reply: a model's.
        n: the length that the word must have, None for any.
    """
    if reply.finish == "blocked":
        return Parsed("", "blocked", "nothing"), f"blocked by the provider: {reply.reason}"
    if reply.finish == "refused":
        return Parsed("", "refused", "refusal"), "the model refused"
    if reply.candidates:
        return Parsed(reply.candidates[0][0], "answered", "likelihood"), ""
    parsed = parse(reply.text, n)
    if parsed.state == "empty":
        why = "the reply is only thinking" if reply.text.strip(" .\n") else "the reply is empty"
        why = "the token limit was used up before any word" if reply.finish == "length" else why
        return parsed, f"{why} ({reply.reason or 'no finish reason'})"
    if parsed.state == "malformed":
        cut = "; it was cut at the token limit" if reply.finish == "length" else ""
        length = f"the word has {len(parsed.word)} letters, not {n}"
        return parsed, (length if parsed.how == "length" else "the reply names no single word") + cut
    return parsed, "the model refused" if parsed.state == "refused" else ""
