"""What everything that can read a clip looks like.

A reader's node in the configuration lies in ``conf/reader/NAME.yaml``. Its first line, ``# @package reader.NAME`` (a
dot in NAME written as ``_``), gives each its own node, so that ``reader=NAME`` and ``reader=[A,B]`` compose.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from unwritten.errors import UnwrittenError
from unwritten.types import MODALITIES, Answer, Clip, Modality


@dataclass(frozen=True)
class Plan:
    """What reading some items would take at most.

    Attributes:
        reader, modality: who and what.
        items: that can be read.
        calls: of a service, each once; 0 for a reader of its own.
        answered: items whose answer is known already.
        left_out: items that cannot be read.
        tokens_in, tokens_out: of these calls, replies as long as they may be.
        usd: most that these calls cost; None when a price is unknown.
        minutes: that limits per minute leave no shorter; None without limits.
        sent_mb: megabytes of media.
        reckoned: the numbers follow from a part of the items.
    """

    reader: str
    modality: Modality
    items: int
    calls: int = 0
    answered: int = 0
    left_out: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    usd: float | None = 0.0
    minutes: float | None = None
    sent_mb: float = 0.0
    reckoned: bool = False


class Reader(ABC):
    """A clip goes in, an answer comes out; everything that an evaluation may ask of it stands here.

    Attributes:
        name: the reader's name in tables, e.g. ``ctc`` or ``blind-constant``.
        protocol: what it learned from; None takes the evaluation's setting.
        fingerprint: what else its answers depend on beside its settings, such as the digest of a checkpoint.
        reads_shots: it reads one shot of a file where ``Clip.shot`` asks for it; others would read the whole file, and
            are not asked about shots.
        dry_run: nothing is to be read; the evaluation prints ``plan`` and ends.
    """

    name: str
    protocol: str | None = None
    fingerprint: str = ""
    reads_shots: bool = False
    dry_run: bool = False

    def modalities(self) -> tuple[Modality, ...]:
        """The modalities that this reader can take; all unless it says otherwise."""
        return MODALITIES

    @abstractmethod
    def read(self, clips: Sequence[Clip], modality: Modality) -> Iterator[Answer]:
        """Yield one answer for each clip as it comes, in any order.

        A clip that cannot be read is an answer with ``state="failed"`` and a one-line ``error``. Truth may be used only
        for what the protocol tells every reader: the number of letters.
        """

    def asked(self, clips: Sequence[Clip], modality: Modality) -> Sequence[Clip]:
        """The clips that this reader is to answer: people answer a sample, and what nobody asked them is no failure."""
        return clips

    def begin(self, clips: Sequence[Clip], modality: Modality) -> None:  # noqa: B027  # most need not know
        """Hear, before ``read`` or ``plan``, which clips the whole run asks, those answered already among them."""

    def plan(self, clips: Sequence[Clip], modality: Modality) -> Plan:
        """What reading these clips would take, without reading them; wanted when an evaluation is run dry."""
        return Plan(self.name, modality, len(clips))

    def unknown_items(self, clips: Sequence[Clip]) -> Sequence[str]:
        """Items that this reader has answers to and that are none of these clips."""
        return ()


class ClipReader(Reader):
    """A reader that takes one clip after the other; a clip that cannot be read fails, and the next one is taken."""

    @abstractmethod
    def answer(self, clip: Clip, modality: Modality) -> Answer:
        """What this reader says of one clip; its time is taken by ``read``.

        Raises:
            UnwrittenError: the clip cannot be read.
            ValueError: something in it makes no sense.
        """

    def read(self, clips: Sequence[Clip], modality: Modality) -> Iterator[Answer]:
        """One answer for each clip, in order."""
        for clip in clips:
            start_s = time.perf_counter()
            try:
                answer = self.answer(clip, modality)
            except (UnwrittenError, ValueError) as error:
                answer = failed_answer(clip, self.name, modality, error)
            yield replace(answer, seconds=time.perf_counter() - start_s)


def failed_answer(
    clip: Clip, reader: str, modality: Modality, error: BaseException | str, seconds: float = 0.0
) -> Answer:
    """The answer of a reader that could not read a clip; ``error`` is folded to one line."""
    line = " ".join(str(error).split()) or type(error).__name__
    return Answer(clip.id, reader, modality, state="failed", seconds=seconds, error=line[:500])


def not_asked(readers: Sequence[Reader], clips: Sequence[Clip], modality: Modality | None) -> list[str]:
    """A line for each reader that a wish for one modality leaves out.

    Args:
        readers: of the evaluation.
        clips: its items.
        modality: the only one that is wanted; None for all.

    Raises:
        UnwrittenError: no item has it, or no reader takes it.
    """
    if modality is None:
        return []
    held = sorted({name for clip in clips for name in clip.modalities})
    if clips and modality not in held:
        raise UnwrittenError(f"modality={modality}: no item has it; there is {', '.join(held)}")
    out = [reader for reader in readers if modality not in reader.modalities()]
    lines = [f"{one.name}: is not asked in {modality}; it takes {', '.join(one.modalities()) or 'none'}" for one in out]
    if len(out) == len(readers):
        raise UnwrittenError(f"modality={modality}: {lines[0]}; choose another modality or reader")
    return lines


def number_of_letters(clip: Clip) -> int | None:
    """The length of the word, which every reader is told; None when it is unknown."""
    return len(clip.word) if clip.word else clip.length
