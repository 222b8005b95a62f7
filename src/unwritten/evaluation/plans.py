"""What an evaluation would ask and pay for: one table over all its readers; nothing is read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from unwritten.evaluation.loop import asked_items
from unwritten.readers.base import Plan, Reader
from unwritten.scoring.text import format_table, texts
from unwritten.types import MODALITIES, Clip, Modality
from unwritten.wording import counted


def plans(readers: Iterable[Reader], clips: Sequence[Clip], modality: Modality | None) -> list[Plan]:
    """The plan of each reader in each modality that it takes."""
    made = []
    for reader in readers:
        for given in MODALITIES if modality is None else (modality,):
            if given in reader.modalities():
                items = asked_items(reader, clips, given)
                reader.begin(items, given)
                made.append(reader.plan(items, given))
    return made


def format_plans(made: Sequence[Plan]) -> str:
    """The table, and lines on what stands outside it."""
    headings = (
        "reader", "modality", "items", "calls", "answered", "tokens in", "tokens out", "at most $", "minutes",
        "MB to send",
    )  # fmt: skip
    rows = [
        [
            *texts(plan, "reader", "modality"),
            *(f"{count:,}" for count in (plan.items, plan.calls, plan.answered, plan.tokens_in, plan.tokens_out)),
            "unknown" if plan.usd is None else f"{plan.usd:.2f}",
            "-" if plan.minutes is None else f"{plan.minutes:.1f}",
            f"{plan.sent_mb:.1f}",
        ]
        for plan in made
    ]
    known = [plan for plan in made if plan.usd is not None]
    lines = [format_table(headings, rows), "", f"At most ${sum(plan.usd or 0.0 for plan in known):.2f} in all"]
    unknown = list(dict.fromkeys(plan.reader for plan in made if plan.usd is None))
    if unknown:
        lines[-1] += f", and what {', '.join(unknown)} cost, whose prices are not known (reader.NODE.prices)"
    lines[-1] += "; follow-up questions and repeated calls come on top."
    lines.append("Minutes: the least that the limits per minute leave; a reader without limits has none (-).")
    if any(plan.reckoned for plan in made):
        lines.append("Numbers of many items are reckoned from a part of them, evenly spread.")
    lines += [
        f"{plan.reader} {plan.modality}: {counted(plan.left_out, 'item')} cannot be asked"
        for plan in made
        if plan.left_out
    ]
    return "\n".join(lines)
