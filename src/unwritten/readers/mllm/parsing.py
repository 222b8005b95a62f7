"""From a model's reply to one word and a state: what any person would understand is taken, nothing is chosen.

Thinking never answers. Of the rest the first kind that is there decides: a container for answers (tags, JSON, a box);
the reply that is the word, or spells it; a word after ``Answer:`` (the last one counts); "the word is ..."; one word
set apart by quotes or markdown; a word with a line or sentence of its own, or with its explanation after it. Two
different words of one kind are malformed: choosing is not for us. Where prose surrounds a bare word it must have the
length that was told, for there words that describe the writing look alike.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from unwritten.types import State

_STRAIGHT = {0x201C: '"', 0x201D: '"', 0x201E: '"', 0x2018: "'", 0x2019: "'", 0xAB: '"', 0xBB: '"'}
_THINKING = re.compile(
    r"<(/?)\s*(?:think|thinking|thoughts?|reasoning|reflection|scratchpad|analysis)\s*>|[\[\u25c1](/?)think[\]\u25b7]",
    re.IGNORECASE,
)
_FORMAT = re.compile(r"</?(?:b|i|u|s|p|em|strong|br|span|code|div|mark|pre|samp)\s*/?>", re.IGNORECASE)
_LATEX = re.compile(r"\\(?:text\w*|math\w+|emph)\s*\{([^{}]*)\}")
_FENCE = re.compile(r"```[\w-]*[ \t]*(?:\n|$)|```|~~~\w*")
_TAGGED = re.compile(
    r"<\s*(answer|final[_ ]answer|final|word|output|result)\s*>(.*?)(?:<\s*/\s*\1\s*>|\Z)", re.DOTALL | re.IGNORECASE
)
_BOXED = re.compile(r"\\boxed\s*\{+\s*([^{}]*?)\s*\}+")
_KEYS = (
    "answer", "final_answer", "final answer", "word", "guess", "prediction", "result", "response", "output",
    "transcription", "text", "letters", "letter",
)  # fmt: skip

_WORD = r"[A-Za-z]+"
# Single letters with something between them; a slash would be a choice.
_BETWEEN = r"(?:[ \t]*[-\u2010-\u2015.,_|\u00b7\u2022][ \t]*|[ \t]+)"
_SPELLED = rf"[A-Za-z]{_BETWEEN}[A-Za-z](?:{_BETWEEN}[A-Za-z])*"
_VALUE = rf"(?:{_SPELLED}(?![A-Za-z])|{_WORD})"
_QUOTES = r"[*_`\"'\[\](){}<>]"
_NO_CHOICE = r"(?!\s*[,;(]?\s*(?:or|and|vs|versus)\b)(?!\s*/)"
_ONLY = re.compile(rf"(?:\(?\d+[.)]\s*)?[\W\d_]*({_VALUE})[\W\d_]*(?:\(\s*\d+[\s-]*letters?\s*\)[\W\d_]*)?")
_LEAD = re.compile(
    r"(?:(?:um+|uh|hmm+|ok|okay|sure|certainly|well|so|yes|sorry|apologies|maybe|perhaps|probably|possibly|likely|most"
    r"|best|final|my|the|i|i'd|i'll|i'm|am|would|will|go|with|say|guess(?:ing)?|think|believe|it|it's|that|that's|this"
    r"|is|be|answer|word|letter|reads|says|says|spells|fairly|sure)\b[\s,:;.!*_-]*)+",
    re.IGNORECASE,
)
_LABEL = re.compile(
    rf"\b(?:answer|word|guess|letters?|reply|response|transcription|output|result)\s*(?:is|was)?\s*[*_`\"']*\s*"
    rf"(?:[:=]|->|=>|\u2192)[\s*_`\"']*{_QUOTES}*\s*({_VALUE})\s*(?={_QUOTES}*[.,;!?\s]*(?:\(\s*\d+[\s-]*letters?\s*\)"
    rf"[\s.]*)?{_QUOTES}*\s*(?:\n|$))",
    re.IGNORECASE,
)
_VERB = (
    r"(?:(?:is|was)(?:\s+(?:written|spelled|read))?|(?:would|might|could|must|may|should)(?:\s+also)?\s+be"
    r"|seems?\s+to\s+(?:be|say|read|spell)|appears?\s+to\s+(?:be|say|read|spell)|looks\s+like|sounds\s+like|reads"
    r"|says|spells)"
)
_MAYBE = r"(?:\s+(?:probably|likely|most\s+likely|perhaps|maybe|possibly|clearly|simply|just|the\s+word|the\s+letter))?"
_SUBJECT = (
    r"(?:word|answer|guess|letters?|reading)(?:\s+(?:written|here|shown|i\s+see|in\s+the\s+(?:video|audio|clip)))?"
)
_SAYS_QUOTED = re.compile(
    rf"(?:{_SUBJECT}|\b(?:it|this|that|which|he|she|they|hand|pen))\s*(?:'s|\s{_VERB}){_MAYBE}\s*:?\s*"
    rf"{_QUOTES}+({_VALUE})[.,]?{_QUOTES}++{_NO_CHOICE}",
    re.IGNORECASE,
)
_OF_LETTER = re.compile(r"letter", re.IGNORECASE)
_END = r"\s*(?:[.!;]?\s*(?:$|\n)|[.!;]\s)"
_SAYS = re.compile(rf"{_SUBJECT}\s+{_VERB}{_MAYBE}\s*:?\s+({_VALUE})(?={_END})", re.IGNORECASE)
_IT_SAYS = re.compile(rf"\b(?:it|this|that)(?:'s|\s+{_VERB}){_MAYBE}\s+({_VALUE})(?={_END})", re.IGNORECASE)
_I_SAY = re.compile(
    rf"\bI(?:'d|\s+would|'ll|\s+will)?\s+(?:say|guess|think|believe|read|see|go\s+with|answer)(?:\s+(?:it's|it\s+is|it"
    rf"\s+says|that\s+it\s+is|the\s+word(?:\s+is)?))?\s*:?\s*{_QUOTES}*({_VALUE}){_QUOTES}*(?={_END})",
    re.IGNORECASE,
)
_APART = re.compile(
    rf"\*\*\s*({_VALUE})[.,]?\s*\*\*|`({_VALUE})`|\"({_VALUE})[.,!]?\"|(?<![A-Za-z])'({_VALUE})[.,]?'(?![A-Za-z])"
)
_THEN = r"(?:\s*[-\u2013\u2014:;(]\s*|[.!]\s+|\s*,?\s+(?=(?:because|since|as|based|given|due)\b))"
_EXPLAINED = re.compile(rf"{_QUOTES}*({_VALUE}){_QUOTES}*{_THEN}(\S+(?:\s+\S+)+)", re.DOTALL | re.IGNORECASE)
_CHOICE = re.compile(
    r"\b(?:or|alternatively|either|maybe|perhaps|possibly|could(?:\s+also)?\s+be|might(?:\s+also)?\s+be)\b",
    re.IGNORECASE,
)
_NONE = {
    "none", "unknown", "unclear", "nothing", "refused", "sorry", "unsure", "unable", "illegible", "unreadable",
    "undetermined", "indeterminate", "inaudible", "invisible", "uncertain", "impossible",
}  # fmt: skip
# Said of the writing or as a way to begin, never as the word itself where prose surrounds it.
_DESCRIBES = {
    "written", "handwritten", "visible", "legible", "audible", "there", "here", "given", "shown", "missing", "common",
    "simple", "cursive", "print", "printed", "retraced", "lowercase", "uppercase", "english", "short", "long", "clear",
    "blurry", "silent", "muted", "empty", "blank", "dark", "hard", "difficult", "tough", "tricky", "possible",
    "likely", "unlikely", "probable", "audio", "video", "image", "sound", "not", "correct", "right", "wrong", "fast",
    "slow", "yes", "no", "ok", "okay", "sure", "certainly", "well", "hmm", "first", "second", "then", "next",
    "finally", "look", "looking", "watch", "watching", "listen", "listening", "based", "hello", "hi", "thanks",
    "unfortunately", "regrettably", "apologies", "note", "answer", "guess", "word", "letter", "letters", "final",
    "reasoning", "explanation", "analysis", "goodbye", "step", "hand", "pen", "frame", "frames", "stroke", "strokes",
    "maybe", "perhaps", "probably", "possibly", "this", "that", "it", "the", "a", "an", "i", "so", "and", "but",
    "however", "overall", "also", "done", "please", "great", "understood", "alright", "observation", "observations",
    "summary", "conclusion", "confidence", "style", "black", "round",
}  # fmt: skip
_REFUSAL = re.compile(
    r"\b(?:i\s*'?\s*a?m\s+(?:very\s+|really\s+)?(?:sorry|unable|not\s+able)|i\s+(?:apologi[sz]e|can\s*(?:not|'t)|"
    r"cannot|could\s*(?:not|n't)|do\s*n(?:o|')t\s+have\s+(?:the\s+ability|access)|won't)|"
    r"(?:unable|not\s+able|not\s+possible|impossible)\s+to\s+(?:determine|identify|tell|read|recogni[sz]e|see|hear|watch"
    r"|listen|process|view|know)|as\s+an?\s+(?:ai|language)|no\s+(?:audio|video|image|file|sound)\s+(?:was|is|has))"
    r"|^\W*n\s*/\s*a\W*$",
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
    text = without_thinking(plain_letters(reply)).strip()
    if not re.search(r"\w", text):
        return Parsed("", "empty", "nothing")
    held = _contained(text)
    if held is not None:
        inner = parse(held, n)
        return Parsed(inner.word, inner.state, "pattern" if inner.state == "answered" else inner.how)
    text = _FENCE.sub("\n", _FORMAT.sub("", _LATEX.sub(r"\1", text))).strip().strip("$").strip()
    for how, find in _KINDS:
        words = list(dict.fromkeys(_letters(value) for value in find(text, n)))
        if len(words) > 1:
            return Parsed("", "malformed", "several")
        if words and words[0] in _NONE and len(words[0]) != n:
            return Parsed("", "refused", "refusal")
        if words:
            return _of_length(words[0], n, how)
    if _REFUSAL.search(text):
        return Parsed("", "refused", "refusal")
    return Parsed("", "malformed", "several")


def plain_letters(text: str) -> str:
    """The text with full-width and styled letters as plain ones, straight quotes, and no marks without width."""
    # Signs such as the trademark's hold no letters that somebody wrote.
    whole = unicodedata.normalize("NFC", text)
    plain = (one if unicodedata.category(one) == "So" else unicodedata.normalize("NFKC", one) for one in whole)
    return "".join(one for one in "".join(plain).translate(_STRAIGHT) if unicodedata.category(one) != "Cf")


def without_thinking(text: str) -> str:
    """The text outside blocks of thinking, nested ones included; what a lone mark opens or closes is thinking too."""
    kept: list[str] = []
    depth, last = 0, 0
    for mark in _THINKING.finditer(text):
        if depth == 0:
            kept.append(text[last : mark.start()])
        if mark[1] or mark[2]:
            if depth == 0:
                kept.clear()  # its beginning was the server's own
            depth = max(0, depth - 1)
        else:
            depth += 1
        last = mark.end()
    return "".join(kept) + (text[last:] if depth == 0 else "")


def _contained(text: str) -> str | None:
    """What stands in a container for answers, None without one."""
    held = [match[2] for match in _TAGGED.finditer(text)] or _BOXED.findall(_LATEX.sub(r"\1", text))
    if held:
        return str(held[-1])
    start, end = text.find("{"), text.rfind("}")
    for piece in (text[start : end + 1] if 0 <= start < end else "", _FENCE.sub("", text).strip()):
        try:
            value = json.loads(piece)
        except ValueError:
            continue
        found = _from_json(value)
        if found is not None:
            return found
    return None


def _from_json(value: Any) -> str | None:
    if isinstance(value, dict):
        named = {str(key).lower(): inner for key, inner in value.items()}
        key = next((key for key in _KEYS if key in named), None)
        return None if key is None else _from_json(named[key])
    if isinstance(value, list) and value and all(isinstance(entry, str) for entry in value):
        return "".join(value) if all(len(entry) == 1 for entry in value) else " or ".join(dict.fromkeys(value))
    return value if isinstance(value, str) else None


def _letters(value: str) -> str:
    return re.sub(r"[^A-Za-z]", "", value).lower()


def _whole(text: str, n: int | None) -> Iterable[str]:
    lead = _LEAD.match(text)
    for told, led in ((text, False), (text[lead.end() :] if lead else "", True)):
        match = _ONLY.fullmatch(told)
        if match and not (led and _describes(match[1], n)):
            return [match[1]]
    words = re.findall(r"[^\W\d_]+", text)
    letters = len(words) > 1 and all(len(word) == 1 and word.isascii() for word in words)
    if letters and not re.search(r"[/\d]", text):  # a slash would be a choice
        return ["".join(words)]
    same = len(words) > 1 and len({word.lower() for word in words}) == 1 and words[0].isascii()
    return words[:1] if same else []


def _labelled(text: str, n: int | None) -> Iterable[str]:
    return [match[1] for match in _LABEL.finditer(text)][-1:]


def _said(text: str, n: int | None) -> Iterable[str]:
    # "The third letter is round" speaks of no word; of a single letter it may.
    quoted = [match[1] for match in _SAYS_QUOTED.finditer(text) if n == 1 or not _OF_LETTER.match(match[0])]
    if quoted:
        return quoted
    found = [match[1] for match in _SAYS.finditer(text) if n == 1 or not _OF_LETTER.match(match[0])]
    plain = [value for value in found if not _describes(value, n)]
    loose = [match[1] for pattern in (_IT_SAYS, _I_SAY) for match in pattern.finditer(text)]
    return plain + _bare(loose, n)


def _apart(text: str, n: int | None) -> Iterable[str]:
    found = [next(group for group in match.groups() if group) for match in _APART.finditer(text)]
    words = [value for value in found if not _describes(value, n) or len(_letters(value)) == n]
    # A letter in quotes is looked at, not given as the word.
    return [value for value in words if n == 1 or len(_letters(value)) > 1]


def _alone(text: str, n: int | None) -> Iterable[str]:
    """Words with a line of their own, or that are the first or the last sentence."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    sentences = re.split(r"(?<=[.!?])\s+", text)
    alone = map(_ONLY.fullmatch, dict.fromkeys([*lines, sentences[0], sentences[-1]]))
    return _bare([match[1] for match in alone if match], n)


def _explained(text: str, n: int | None) -> Iterable[str]:
    match = _EXPLAINED.match(text)
    if match is None or _CHOICE.search(match[2]):
        return []
    return _bare([match[1]], n)


def _bare(values: Iterable[str], n: int | None) -> list[str]:
    """Those that may be the word although nothing but prose sets them apart."""
    words = [value for value in values if not _describes(value, n) and _letters(value) not in _NONE]
    return [value for value in words if n is None or len(_letters(value)) == n]


def _describes(value: str, n: int | None) -> bool:
    """True of what is said of the writing; a single letter that was asked for is an answer."""
    return n != 1 and _letters(value) in _DESCRIBES


_KINDS: tuple[tuple[str, Callable[[str, int | None], Iterable[str]]], ...] = (
    ("whole", _whole),
    ("pattern", _labelled),
    ("pattern", _said),
    ("pattern", _apart),
    ("pattern", _alone),
    ("pattern", _explained),
)


def _of_length(word: str, n: int | None, how: str) -> Parsed:
    return Parsed(word, "answered", how) if n is None or len(word) == n else Parsed(word, "malformed", "length")
