"""Who may learn from what: the four protocols, strictest first, as folds that keep groups whole.

==============  =============================================  ==============================  ======================
protocol        learns from                                    is tested on                    whole between the two
==============  =============================================  ==============================  ======================
``transfer``    no labelled clip of the benchmark              every clip                      word, letter clip, writer
``live``        letter clips, synthetic words                  live words                      word, letter clip
``cross-style`` two styles                                     the third                       letter clip, writer
``closed``      synthetic words                                other words, same letter clips  word
==============  =============================================  ==============================  ======================

A number without its protocol means nothing: the synthetic words hold one take of each letter and style, so under
``closed`` a reader has seen every letter clip that it is tested on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from unwritten.benchmark.splits import SplitSettings, crossing_groups, split
from unwritten.config import INFINITE, bounded
from unwritten.errors import UnwrittenError
from unwritten.types import Clip
from unwritten.words.lists import letters_of

Protocol = Literal["transfer", "live", "cross-style", "closed"]
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)
Group = Literal["word", "letter clip", "writer"]
GROUPS: tuple[Group, ...] = get_args(Group)
Attribute = Literal["style", "length", "style x length", "letter", "style x letter"]
ATTRIBUTES: tuple[Attribute, ...] = get_args(Attribute)

# The letters that the public sample clips show, the letter a and the word above: a reader whose cameras, noise or
# rotation were set from them has seen no other.
PUBLIC_LETTERS = frozenset("above")


@dataclass(frozen=True)
class ProtocolSettings:
    """Which protocol, and how its training part is divided.

    Attributes:
        name: ``transfer``, ``live``, ``cross-style`` or ``closed``.
        test: share of the synthetic words that ``closed`` tests on.
        validation: share of the training clips that is set aside, whole words at a time; 0 sets none aside.
        balance: the attributes whose shares are held when words are divided.
        tolerance: how far a share may lie from its target, as a part of the target.
        time_limit_s: when the search for a split ends.
        seed: which split is taken.
    """

    name: Protocol = "transfer"
    test: float = 0.2
    validation: float = 0.1
    balance: tuple[Attribute, ...] = ("style x length", "style x letter")
    tolerance: float = 0.25
    time_limit_s: float = 60.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.name not in PROTOCOLS:
            raise ValueError(f"name: {self.name!r} is not one of {', '.join(PROTOCOLS)}")
        unknown = sorted(set(self.balance) - set(ATTRIBUTES))
        if unknown:
            raise ValueError(f"balance: {unknown[0]!r} is not one of {', '.join(ATTRIBUTES)}")
        if not 0 < self.test < 1 or not 0 <= self.validation < 1 - self.test:
            raise ValueError(f"test, validation: {self.test} and {self.validation} leave no training part")
        bounded(self, tolerance=(0.0, INFINITE), time_limit_s=(0.0, INFINITE), seed=(0, INFINITE))


@dataclass(frozen=True)
class Fold:
    """One division of a benchmark under a protocol.

    Attributes:
        protocol: the protocol's name; every number of this fold carries it.
        name: the protocol, with the style that is tested where there are several folds.
        train, validation, test: clips, ordered by id.
        left_out: clips in none of the three, because they would break a group that must stay whole.
        whole: kinds of groups of which none crosses from ``train`` or ``validation`` to ``test``.
        shared: kinds of groups that do cross, to be said beside every number.
    """

    protocol: Protocol
    name: str
    train: tuple[Clip, ...]
    validation: tuple[Clip, ...]
    test: tuple[Clip, ...]
    left_out: tuple[Clip, ...]
    whole: tuple[Group, ...]
    shared: tuple[Group, ...]


def group_keys(clip: Clip, kinds: Iterable[Group]) -> tuple[str, ...]:
    """The groups that a clip belongs to, e.g. ``word above``, ``letter clip standard/a``, ``writer standard``.

    A live or own recording is a clip of its own; words are compared without case.
    """
    keys: list[str] = []
    for kind in kinds:
        if kind == "word" and clip.word:
            keys.append(f"word {clip.word.lower()}")
        elif kind == "letter clip":
            keys += [f"letter clip {letter}" for letter in dict.fromkeys(clip.letter_clips or (clip.id,))]
        elif kind == "writer":
            keys.append(f"writer {clip.writer or clip.style or clip.id}")
    return tuple(keys)


def attribute_keys(clip: Clip, kinds: Iterable[Attribute]) -> tuple[str, ...]:
    """The attributes of a clip whose shares a split can hold; a letter counts as often as the word has it."""
    letters = letters_of(clip.word or "")
    keys: list[str] = []
    for kind in kinds:
        if kind == "letter":
            keys += [f"letter {letter}" for letter in letters]
        elif kind == "style x letter":
            keys += [f"{clip.style} {letter}" for letter in letters]
        elif kind == "style x length":
            keys.append(f"{clip.style} words of {len(letters)}")
        else:
            keys.append(f"style {clip.style}" if kind == "style" else f"words of {len(letters)}")
    return tuple(keys)


def split_clips(
    clips: Sequence[Clip], whole: Sequence[Group], balance: Sequence[Attribute], settings: SplitSettings
) -> tuple[dict[str, tuple[Clip, ...]], float]:
    """Divide clips into the parts of ``settings.shares``, with ``""`` for those left out; see :func:`splits.split`.

    Returns:
        The clips of each part, ordered by id, and the largest deviation from a share.

    Raises:
        UnwrittenError: no split fits; the message says what is missed.
    """
    clips = sorted(clips, key=lambda clip: clip.id)
    found = split(
        [group_keys(clip, whole) for clip in clips], [attribute_keys(clip, balance) for clip in clips], settings
    )
    parts: dict[str, tuple[Clip, ...]] = dict.fromkeys((*settings.shares, ""), ())
    for name in parts:
        parts[name] = tuple(clip for clip, part in zip(clips, found.part, strict=True) if part == name)
    return parts, found.deviation


def folds(clips: Sequence[Clip], settings: ProtocolSettings = ProtocolSettings()) -> list[Fold]:
    """The folds of a protocol: one, or for ``cross-style`` one for each style.

    Raises:
        UnwrittenError: the clips do not have what the protocol needs, or no split holds the shares.
    """
    clips = sorted((clip for clip in clips if clip.source != "simulated"), key=lambda clip: clip.id)
    make = {"transfer": _transfer, "live": _live, "cross-style": _cross_style, "closed": _closed}[settings.name]
    made = make(clips, settings)
    for fold in made:
        check(fold)
    return made


def check(fold: Fold) -> None:
    """Raise UnwrittenError when a group that ``fold`` calls whole crosses to its test part, or that part is empty."""
    if not fold.test:
        raise UnwrittenError(f"protocol {fold.name}: no clip is left to test on; give a folder that holds some")
    learnt = (*fold.train, *fold.validation)
    groups = [group_keys(clip, fold.whole) for clip in (*learnt, *fold.test)]
    crossing = crossing_groups(groups, ["train"] * len(learnt) + ["test"] * len(fold.test))
    if crossing:
        raise UnwrittenError(
            f"protocol {fold.name}: {crossing[0]} stands on both sides; correct writer or letter_clips in the manifest"
        )


def without_letters(clips: Iterable[Clip], shown: Iterable[str] = PUBLIC_LETTERS) -> list[Clip]:
    """The clips of which no letter is among ``shown``: the row that public sample clips cannot have helped."""
    shown = {letter.lower() for letter in shown}
    return [clip for clip in clips if clip.word and shown.isdisjoint(letters_of(clip.word.lower()))]


def _transfer(clips: Sequence[Clip], settings: ProtocolSettings) -> list[Fold]:
    return [Fold("transfer", "transfer", (), (), tuple(clips), (), GROUPS, ())]


def _live(clips: Sequence[Clip], settings: ProtocolSettings) -> list[Fold]:
    test = tuple(clip for clip in clips if clip.source == "live")
    _need(test, settings, "live words, named like above-1.mp4")
    tested = {key for clip in test for key in group_keys(clip, ("word",))}
    source = [clip for clip in clips if clip.source in ("letter", "synthetic")]
    _need(source, settings, "letter clips or synthetic words")
    learn = [clip for clip in source if tested.isdisjoint(group_keys(clip, ("word",)))]
    left_out = tuple(clip for clip in source if not tested.isdisjoint(group_keys(clip, ("word",))))
    train, validation = _validation(learn, settings)
    return [Fold("live", "live", train, validation, test, left_out, ("word", "letter clip"), ("writer",))]


def _cross_style(clips: Sequence[Clip], settings: ProtocolSettings) -> list[Fold]:
    styles = sorted({clip.style for clip in clips if clip.style})
    if len(styles) < 2:
        raise UnwrittenError(f"protocol cross-style: needs two styles or more, has {', '.join(styles) or 'none'}")
    made = []
    for style in styles:
        test = tuple(clip for clip in clips if clip.style == style)
        learn = [clip for clip in clips if clip.style and clip.style != style]
        train, validation = _validation(learn, settings)
        whole: tuple[Group, ...] = ("letter clip", "writer")
        made.append(Fold("cross-style", f"cross-style {style}", train, validation, test, (), whole, ("word",)))
    return made


def _closed(clips: Sequence[Clip], settings: ProtocolSettings) -> list[Fold]:
    words = [clip for clip in clips if clip.source == "synthetic"]
    _need(words, settings, "synthetic words")
    shares = {"train": 1 - settings.test - settings.validation, "test": settings.test}
    if settings.validation:
        shares["validation"] = settings.validation
    parts, _ = split_clips(words, ("word",), settings.balance, _split_settings(settings, shares))
    shared: tuple[Group, ...] = ("letter clip", "writer")
    validation = parts.get("validation", ())
    return [Fold("closed", "closed", parts["train"], validation, parts["test"], (), ("word",), shared)]


def _validation(learn: Sequence[Clip], settings: ProtocolSettings) -> tuple[tuple[Clip, ...], tuple[Clip, ...]]:
    """Training and validation clips; letter clips all train, since their words hold their letters anyway."""
    words = [clip for clip in learn if clip.source != "letter"]
    if not settings.validation or not words:
        return tuple(learn), ()
    shares = {"train": 1 - settings.validation, "validation": settings.validation}
    parts, _ = split_clips(words, ("word",), settings.balance, _split_settings(settings, shares))
    chosen = {clip.id for clip in parts["validation"]}
    return tuple(clip for clip in learn if clip.id not in chosen), parts["validation"]


def _split_settings(settings: ProtocolSettings, shares: dict[str, float]) -> SplitSettings:
    return SplitSettings(shares, settings.tolerance, time_limit_s=settings.time_limit_s, seed=settings.seed)


def _need(clips: Sequence[Clip], settings: ProtocolSettings, what: str) -> None:
    if not clips:
        raise UnwrittenError(f"protocol {settings.name}: needs {what}; the folder holds none")
