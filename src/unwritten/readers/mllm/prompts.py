"""What a model is asked, from the configuration: sentences with the number of letters and the style note filled in.

A sentence is left out when it speaks of something that is not known (``{letters}`` without a truth) or not given
(``{candidates}`` without a list). Only the placeholders below are replaced; every other brace stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from unwritten.errors import UsageError
from unwritten.types import MODALITIES, Modality

OPENINGS: Mapping[str, str] = {
    "audio": "Listen.",
    "video": "Watch.",
    "av": "Watch and listen.",
    "given": "This was recovered.",
}


@dataclass(frozen=True)
class PromptSettings:
    """One way to ask; ``conf/prompt`` holds the texts.

    Attributes:
        name: in the reader's name; ``final`` leaves the name as it is.
        sentences: the question, in order. Placeholders: ``{opening}`` (by what is sent), ``{letters}`` ("5 letters"),
            ``{n}``, ``{style_note}``, ``{candidates}``.
        openings: the text of ``{opening}`` for each modality, and for ``given``: what was recovered without the clip.
        style_note: the text of ``{style_note}``.
        file: a text file that is the whole question instead of ``sentences``, taken as it is but for placeholders.
        demonstrations: solved items of other words shown first.
        candidates: ``english``, ``benchmark`` or a file of words: offered are those of the right length.
        most_candidates: the most frequent so many of them.
        follow_up: the question that pulls a word out of a reply that is not one; empty asks nothing further.
            Placeholders: ``{of_letters}`` (" of 5 letters"), ``{reply}``.
        max_tokens: most tokens of a reply, where a prompt needs more than the reader's own setting.
    """

    name: str = "final"
    sentences: tuple[str, ...] = ("{opening}", "Which word is it?")
    openings: Mapping[str, str] = field(default_factory=lambda: dict(OPENINGS))
    style_note: str = ""
    file: str | None = None
    demonstrations: int = 0
    candidates: str | None = None
    most_candidates: int = 200
    follow_up: str = ""
    max_tokens: int | None = None

    def __post_init__(self) -> None:
        missing = [given for given in (*MODALITIES, "given") if given not in self.openings]
        if missing:
            raise ValueError(f"openings: lacks one for {missing[0]}")
        if self.demonstrations < 0:
            raise ValueError(f"demonstrations: {self.demonstrations} is no number of items; give 0 or more")


def read_prompt_file(settings: PromptSettings, where: str) -> str | None:
    """The text of the user's prompt file, None without one.

    Raises:
        UsageError: it cannot be read or is empty.
    """
    if not settings.file:
        return None
    path = Path(settings.file)
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "is not UTF-8 text"
        raise UsageError(f"{path}: {where}.file cannot be read ({reason}); give a text file") from error
    if not text:
        raise UsageError(f"{path}: {where}.file is empty; write the question into it")
    return text


def question(
    settings: PromptSettings,
    given: Modality | Literal["given"],
    n: int | None,
    candidates: Sequence[str] = (),
    text: str | None = None,
) -> str:
    """The question for one item.

    Args:
        settings: the prompt.
        given: the clip's modality, or ``given`` where only what was recovered from it is sent.
        n: number of letters, None when unknown.
        candidates: words to choose from, empty for any word.
        text: a user's exact text instead of the sentences.
    """
    known = {
        "opening": settings.openings[given],
        "letters": None if n is None else f"{n} letter{'s' if n != 1 else ''}",
        "n": None if n is None else str(n),
        "style_note": settings.style_note or None,
        "candidates": ", ".join(candidates) or None,
    }
    if text is not None:
        return _filled(text, {name: value or "" for name, value in known.items()})
    sentences = [
        _filled(sentence, {name: value or "" for name, value in known.items()})
        for sentence in settings.sentences
        if not any("{" + name + "}" in sentence for name, value in known.items() if value is None)
    ]
    return " ".join(sentences)


def tells_length(settings: PromptSettings, text: str | None = None) -> bool:
    """True when the question says how many letters the word has, so that another length is no answer to it."""
    asked = " ".join(settings.sentences) if text is None else text
    return "{letters}" in asked or "{n}" in asked


def follow_up_question(settings: PromptSettings, reply: str, n: int | None) -> str:
    """The question about a reply that is not one word; long replies keep their start and end."""
    if len(reply) > 3000:
        reply = f"{reply[:1000]} [...] {reply[-2000:]}"
    of_letters = "" if n is None else f" of {n} letter{'s' if n != 1 else ''}"
    # The reply last: it may hold braces of its own.
    return _filled(settings.follow_up, {"of_letters": of_letters}).replace("{reply}", reply)


def _filled(text: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text
