"""Which sampling settings a model takes, by its name."""

from __future__ import annotations

import re
from dataclasses import replace

from unwritten.readers.mllm.settings import SamplingSettings

_GEMINI = re.compile(r"(?:^|/)gemini-(\d+)(?:\.(\d+))?")
_CLAUDE = re.compile(r"(?:^|/)claude-(opus|sonnet|haiku|fable|mythos)-(\d+)(?:[.-](\d{1,2})(?!\d))?")
_REASONS = re.compile(r"(?:^|/)(?:gpt-[5-9]|o[1-9](?:-|$))")
# The first version of each line that takes no temperature any more: platform.claude.com's migration guides.
_CLAUDE_SINCE = {"opus": (4, 7), "sonnet": (5, 0), "haiku": (5, 5), "fable": (0, 0), "mythos": (0, 0)}
_GEMINI_SINCE = (3, 6)  # temperature, top_p and top_k are deprecated: ai.google.dev, guide of Gemini 3.6


def sampling_taken(model: str, sampling: SamplingSettings) -> SamplingSettings:
    """The settings that may be sent: models that deprecate or refuse temperature, top_p and seed get none of them."""
    name = model.lower()
    refuses = _REASONS.search(name) is not None
    if gemini := _GEMINI.search(name):
        refuses = (int(gemini[1]), int(gemini[2] or 0)) >= _GEMINI_SINCE
    if claude := _CLAUDE.search(name):
        refuses = (int(claude[2]), int(claude[3] or 0)) >= _CLAUDE_SINCE[claude[1]]
    return replace(sampling, temperature=None, top_p=None, seed=None) if refuses else sampling
