"""Which model answered: vendors route retired names to newer models, and a row must not be scored as the old one."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence

from unwritten.readers.mllm.calls import Called

_LOG = logging.getLogger("unwritten")
# What an alias resolves to is its own name with a date or a number of three or four digits after it:
# gpt-4o-2024-11-20, claude-haiku-4-5-20251001, gemini-2.0-flash-001, qwen3-235b-2507.
_SNAPSHOT = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8}|\d{3,4})")
_ROUTES = re.compile(r":(?:latest|free|nitro|floor|exacto)$")  # tags that choose a way to the same model


def is_asked(asked: str, served: str) -> bool:
    """True when the served name is the asked one: the same, or the dated snapshot that an undated name stands for.

    A snapshot that was asked for by its date is no other date's and not the undated name, of which nobody knows what it
    stands for.

    Args:
        asked: the model's name in the request.
        served: the model's name in the reply.
    """
    wanted, given = _plain(asked), _plain(served)
    if "/" not in wanted or "/" not in given:
        wanted, given = wanted.rpartition("/")[2], given.rpartition("/")[2]
    if wanted == given:
        return True
    return given.startswith(wanted) and _SNAPSHOT.fullmatch(given[len(wanted) :]) is not None


def _plain(name: str) -> str:
    return _ROUTES.sub("", name.strip().lower().removeprefix("models/"))


class Served:
    """The models that answered one reader, asked name by asked name.

    Args:
        reader: its name, for warnings.
        strict: what another model answered is wrong, and so is a reply that names none.
    """

    def __init__(self, reader: str, strict: bool) -> None:
        self._reader, self._strict = reader, strict
        self._first: dict[str, str] = {}
        self._warned: set[str] = set()

    def facts(self, called: Sequence[Called]) -> tuple[str, dict[str, object]]:
        """The models that answered these calls in turn, and for the answer's details whether each was the asked one."""
        names = " + ".join(dict.fromkeys(one.reply.model for one in called if one.reply.model))
        asked = " + ".join(dict.fromkeys(one.asked for one in called))
        other = any(one.reply.model and not is_asked(one.asked, one.reply.model) for one in called)
        return names, {"asked_model": asked, "other_model": other} if asked else {}

    def wrong_with(self, called: Sequence[Called]) -> str:
        """Why these replies may not count where models are held to their names; else warned of once, and empty."""
        for one in called:
            line = self._line(one.asked, one.reply.model)
            if line and self._strict:
                return line
            if line and one.reply.model and line not in self._warned:
                self._warned.add(line)
                _LOG.warning("%s: %s; its answers say so, options.strict_model=true fails them", self._reader, line)
        return ""

    def _line(self, asked: str, served: str) -> str:
        if not served:
            return f"the server does not say which model answered for {asked}"
        if not is_asked(asked, served):
            return f"{served} answered, not the asked {asked}"
        first = self._first.setdefault(asked, served)
        return "" if first == served else f"the model behind {asked} changed within the run from {first} to {served}"
