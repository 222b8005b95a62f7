"""How many clips of each kind, style and modality a folder holds, and what is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from unwritten.benchmark.letters import Found
from unwritten.types import MODALITIES, Clip, Modality
from unwritten.wording import counted
from unwritten.words.lists import LATIN


@dataclass(frozen=True)
class Count:
    """The clips of one source and style.

    Attributes:
        source, style: what is counted.
        clips: how many.
        files: how many of them have each modality.
        incomplete: for each clip that lacks a modality, its id and what it lacks.
        absent: letters a-z (of letter clips only) that have no clip at all.
        capitals: how many of the letter clips are capitals.
    """

    source: str
    style: str
    clips: int
    files: Mapping[Modality, int]
    incomplete: Mapping[str, tuple[Modality, ...]]
    absent: tuple[str, ...] = ()
    capitals: int = 0


def count(clips: Sequence[Clip]) -> list[Count]:
    """Count clips by source and style, in the order of both names."""
    kinds: dict[tuple[str, str], list[Clip]] = {}
    for clip in clips:
        kinds.setdefault((clip.source, clip.style), []).append(clip)
    return [_count(source, style, kinds[source, style]) for source, style in sorted(kinds)]


def _count(source: str, style: str, clips: Sequence[Clip]) -> Count:
    labels = {clip.word for clip in clips if clip.word}
    return Count(
        source=source,
        style=style,
        clips=len(clips),
        files={modality: sum(modality in clip.files for clip in clips) for modality in MODALITIES},
        incomplete={
            clip.id: tuple(modality for modality in MODALITIES if modality not in clip.files)
            for clip in clips
            if len(clip.modalities) < len(MODALITIES)
        },
        absent=tuple(letter for letter in LATIN if letter not in labels) if source == "letter" else (),
        capitals=sum(clip.word.isupper() for clip in clips if clip.word) if source == "letter" else 0,
    )


def describe(found: Found, longest: int = 20) -> str:
    """A table of the counts, then what is missing, at most ``longest`` lines of each kind."""
    counts = count(found.clips)
    width = max(len("style"), *(len(row.style) for row in counts))
    lines = [f"{'source':9}  {'style':{width}}  {'clips':>6}  {'audio':>6}  {'video':>6}  {'av':>6}"]
    for row in counts:
        numbers = "  ".join(f"{number:6d}" for number in (row.clips, *row.files.values()))
        lines.append(f"{row.source:9}  {row.style or '-':{width}}  {numbers}")
    for row in counts:
        if row.absent:
            lines.append(f"{row.style} letters: {row.clips - row.capitals} small, {row.capitals} capital; no clip of")
            lines[-1] += f" {' '.join(row.absent)}"
    missing = [f"{name} lacks {', '.join(lacks)}" for row in counts for name, lacks in row.incomplete.items()]
    for what, entries in (
        (("incomplete clip", "incomplete clips"), missing),
        (("file whose name says nothing", "files whose names say nothing"), [str(path) for path in found.unrecognised]),
        (("copy left out", "copies left out"), [str(path) for path in found.copies]),
    ):
        if entries:
            lines.append(f"{counted(len(entries), *what)}:")
            lines += [f"  {entry}" for entry in entries[:longest]]
            if len(entries) > longest:
                lines.append(f"  and {len(entries) - longest} more")
    return "\n".join(lines)
