"""From a model's reply to one word and a state: patterns only, no guess that a person would not make.

Order of what is tried: the reply is the word; a word after ``Answer:`` (the last one counts); "the word is ..."; one
word set apart by quotes or markdown. With two different words set apart a reply is malformed: choosing is not for us.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from unwritten.types import State

# Curly quotes, which models like, to straight ones.
_STRAIGHT = {0x201C: '"', 0x201D: '"', 0x2018: "'", 0x2019: "'"}
_WORD = r"[A-Za-z]+"
_WRAP = r"[\s\"'`*_~«»()\[\]<>#:.,;!?…-]*"
_ONLY = re.compile(rf"{_WRAP}({_WORD}){_WRAP}", re.ASCII)
_ANSWER = re.compile(
    rf"(?:final\s+answer|answer|word|guess)\s*(?:is)?\s*[*_`]*\s*[:=]\s*[*_`\"'\s]*({_WORD})(?=[\s*_`\"'.,;!?]*(?:\n|$))",
    re.IGNORECASE,
)
_SAYS = re.compile(
    rf"(?:word|answer|guess)(?:\s+(?:written|here|shown))?\s+(?:is|was|would\s+be|might\s+be|could\s+be|seems\s+to\s+be"
    rf"|appears\s+to\s+be)\s*:?\s*[*_`\"']+({_WORD})[*_`\"']+"
    rf"|(?:word|answer|guess)\s+(?:is|was)\s*:?\s*({_WORD})\s*[.!]?\s*$",
    re.IGNORECASE,
)
_APART = re.compile(rf"\*\*\s*({_WORD})[.,]?\s*\*\*|`({_WORD})`|[\"]({_WORD})[.,]?[\"]")
_NOT_AN_ANSWER = {"none", "unknown", "unclear", "nothing", "refused", "sorry", "unsure", "not", "unable", "the", "a"}
_REFUSAL = re.compile(
    r"\b(?:i\s*'?\s*a?m\s+(?:very\s+|really\s+)?(?:sorry|unable|not\s+able)|i\s+(?:apologi[sz]e|can\s*(?:not|'t)|"
    r"cannot|could\s*(?:not|n't)|do\s*n(?:o|')t\s+have\s+(?:the\s+ability|access)|won't)|"
    r"(?:unable|not\s+able|not\s+possible|impossible)\s+to\s+(?:determine|identify|tell|read|recogni[sz]e|see|hear|watch"
    r"|listen|process|view|know)|as\s+an?\s+(?:ai|language)|no\s+(?:audio|video|image|file|sound)\s+(?:was|is|has))",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Parsed:
    """What a reply says.

    Attributes:
        word: lower case, empty when none was found.
        state: ``answered``, ``refused``, ``empty`` or ``malformed``.
        how: what found the word or why there is none: ``whole``, ``pattern``, ``length``, ``several``, ``refusal``,
            ``nothing``.
    """

    word: str
    state: State
    how: str


def parse(reply: str, n: int | None) -> Parsed:
    """Take the word from a reply.

    Args:
        reply: as it came.
        n: how many letters the word must have; None takes any.

    A single word of another length is ``malformed`` and kept in ``word``: it says nothing about the item's letters in
    order, but what the model said stays visible.
    """
    text = reply.translate(_STRAIGHT).strip()
    if not re.search(r"\w", text):
        return Parsed("", "empty", "nothing")
    whole = _ONLY.fullmatch(text)
    if whole:
        word = whole.group(1).lower()
        # "unknown" and "sorry" are words too: when they have the right length nobody can tell, and they count as said.
        if word in _NOT_AN_ANSWER and n is not None and len(word) != n:
            return Parsed("", "refused", "refusal")
        return _of_length(word, n, "whole")
    found = [match.group(1) for match in _ANSWER.finditer(text)][-1:]
    found = found or [match.group(1) or match.group(2) for match in _SAYS.finditer(text)]
    found = found or [next(group for group in match.groups() if group) for match in _APART.finditer(text)]
    words = list(dict.fromkeys(word.lower() for word in found))
    if len(words) == 1:
        if words[0] not in _NOT_AN_ANSWER or (n is not None and len(words[0]) == n):
            return _of_length(words[0], n, "pattern")
    elif len(words) > 1:
        return Parsed("", "malformed", "several")
    if _REFUSAL.search(text):
        return Parsed("", "refused", "refusal")
    return Parsed("", "malformed", "several")


def _of_length(word: str, n: int | None, how: str) -> Parsed:
    return Parsed(word, "answered", how) if n is None or len(word) == n else Parsed(word, "malformed", "length")
