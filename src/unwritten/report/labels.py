"""How readers are called and what each was told beside the clip."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unwritten.report.inputs import Results

MODALITY_NAMES = {"audio": "sound", "video": "muted video", "av": "sound + video"}
"""What a modality is to a person."""

NONE, MINUS = "\N{EN DASH}", "\N{MINUS SIGN}"
"""What stands where nothing is known, and before a negative number."""

_PUBLISHED_NAMES = {
    "published-human": "People",
    "published-qwen2.5-omni-7b": "Qwen2.5-Omni-7B",
    "published-gpt-4o": "GPT-4o",
    "published-gemini-2.5-pro": "Gemini 2.5 Pro",
    "published-gemini-2.5-flash": "Gemini 2.5 Flash",
}
_LISTS = {"english": "all English words", "benchmark": "the benchmark's word list"}


def reader_label(reader: str) -> str:
    """The reader's name for a person: a published one as the paper writes it."""
    return _PUBLISHED_NAMES.get(reader, reader)


def side_information(results: Results, run: int | None, reader: str) -> str:
    """What the reader was told beside the clip, from the run's configuration.

    Args:
        results: all runs.
        run: place of the run; None for a published number.
        reader: its name in this report.
    """
    if run is None:
        return "as published" if reader == "published-human" else "n, an English word"
    own = next((name for (place, name), new in results.renamed.items() if place == run and new == reader), reader)
    base, _, snapped = own.partition("-snapped-")
    nodes = results.runs[run].readers
    # A recorded or multimodal reader may carry more than its node's name: a person, a rung.
    name = max(
        (name for name in nodes if base == name or base.startswith((f"{name}-", f"{name}+"))), key=len, default=""
    )
    told = _told(nodes.get(name, {}))
    return f"{told}; snapped to {_LISTS.get(snapped, snapped)}" if snapped else told


def _told(node: Mapping[str, Any]) -> str:
    kind = node.get("kind")
    if kind == "ctc":
        mode = node.get("mode", "ctc")
        if mode == "ctc-free":
            told = "nothing"
        elif mode == "ctc-letters":
            told = "n"
        else:
            decoding = node.get("decoding")
            weight = float(decoding.get("frequency_weight") or 0.0) if isinstance(decoding, Mapping) else 0.0
            words = _LISTS.get(str(node.get("lexicon")), str(node.get("lexicon")))
            told = ("n, " if node.get("length_known", True) else "") + words
            told += " (flat)" if weight == 0 else " (with frequencies)"
        if mode != "ctc" and _orders_letters(node.get("decoding")):
            order = "which letters follow which in English"
            told = order if mode == "ctc-free" else f"{told}, {order}"
        return told + ("; one frame a second, sound to the first join" if node.get("as_sent") else "")
    if kind == "blind":
        words = str(node.get("words", "english"))
        return f"n, {_LISTS.get(words, words)}; no clip"
    if kind == "recorded":
        return "as recorded"
    if kind == "mllm":
        rung = node.get("rung")
        extra = str(rung.get("name") or "media") if isinstance(rung, Mapping) else "media"
        return "n, an English word" + ("" if extra == "media" else f"; given {extra}")
    return "not recorded"


def _orders_letters(decoding: object) -> bool:
    from unwritten.decoding.settings import DecodingSettings

    if not isinstance(decoding, Mapping) or not decoding.get("letter_order"):
        return False
    return bool(decoding.get("letter_order_weight", DecodingSettings.letter_order_weight))


def percent(value: float | None, digits: int = 1) -> str:
    """A fraction in percent; a dash where nothing is known."""
    return NONE if value is None else f"{100 * value:.{digits}f}"


def points(value: float | None) -> str:
    """A difference of fractions in points, signed."""
    return NONE if value is None else f"{100 * value:+.1f}".replace("-", MINUS)


def interval(low: float | None, high: float | None) -> str:
    """The limits in percent; empty where nothing is known."""
    return "" if low is None or high is None else f"{100 * low:.1f} to {100 * high:.1f}"
