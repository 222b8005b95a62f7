"""The corpora that models learn from, made of UNIPEN as published: one ``.npz`` file for each recipe below.

The first three are what the shipped checkpoint learned from, and their rules stay as they were. The others hold all of
UNIPEN for text, under stricter rules. A sample that a recipe refuses is counted under its first reason; labels that
it refuses are named too. Nothing is mended and nothing is guessed: positions are written as recorded, and where a
tablet kept no travel between two strokes there is none. UNIPEN names most ink several times over: category 2 repeats
1a to 1d, 7 repeats 6, and the texts of 8 are made of the words of 7 where a site marked both.
"""

from __future__ import annotations

import json
import lzma
import re
import string
import tarfile
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unwritten.errors import UnwrittenError, UsageError
from unwritten.files import digest_file, whole_file
from unwritten.handwriting.corpus import NPZ_KEYS, HandwritingCorpus, from_arrays, load_npz
from unwritten.handwriting.unipen import Segment, UnipenFolder, is_unipen

BROKEN_SITES = ("art", "kai", "not")
"""Their headers state 10 Hz, 9600 Hz (a baud rate) and none: the true rate is unknown."""
RATE_HZ = (50.0, 250.0)
FARTHEST_MM = 320.0
"""From the first position, along either axis: what int16 holds in hundredths of a millimetre. Texts may go farther."""
LEAST_POSITIONS = 4
NAMED_LABELS = 40
"""How many of the labels that a recipe refuses its account names, the most frequent first."""
PLACEHOLDERS = ("XXX", "Word!")
"""What some sites put where they had no label."""
SMALL_SIGNS = ".,:;'`\"-_~^"
SMALL_SIGN = 0.25
"""How much of a letter they count, next to nothing being too little to divide by."""
INK_OF_ONE = (1 / 6, 6.0)
INK_OF_MORE = (0.42, 2.4)
LARGEST = 6.0
"""Ink, as length on paper, and size of a sample for each letter of its label, as multiples of its writer's
median in the same file, below and above which label and ink do not fit: one letter may be an i or an m, a word of three
or more may not. Seen in pictures of what they leave out: segments with a part of their word, with another word, with a
whole page, with a last stroke across the tablet, and letters in another unit than the rest of their file."""


@dataclass(frozen=True)
class Recipe:
    """What goes into one file.

    Attributes:
        name: the file is ``NAME.npz``.
        category: UNIPEN's: 1a digits, 1b capitals, 1c small letters, 1d signs, 2 mixed characters, 6 words, 7 words of
            any characters, 8 texts.
        label: regular expression that a whole label has to fit.
        hover: True takes samples with recorded travel, False those without; None both.
        text: labels are taken with white space made single spaces, and label and ink have to fit each other.
    """

    name: str
    category: str
    label: str
    hover: bool | None = None
    text: bool = True

    @property
    def level(self) -> str:
        """The kind of UNIPEN's segments."""
        return {"6": "WORD", "7": "WORD", "8": "TEXT"}.get(self.category, "CHARACTER")


RECIPES = (
    Recipe("letters", "1c", "[a-z]", text=False),
    Recipe("words_with_hover", "6", "[a-z]{2,8}", hover=True, text=False),
    Recipe("words_pen_down_only", "6", "[a-z]{2,5}", hover=False, text=False),
    Recipe("digits", "1a", "[0-9]"),
    Recipe("capitals", "1b", "[A-Z]"),
    Recipe("small_letters", "1c", "[a-z]"),
    Recipe("signs", "1d", f"[{re.escape(string.punctuation)}]"),
    Recipe("characters", "2", "[!-~]"),
    Recipe("words", "6", "[A-Za-z]+"),
    Recipe("mixed_words", "7", "[!-~]+"),
    Recipe("texts", "8", "[ -~]+"),
)


def refusal(recipe: Recipe, segment: Segment, label: str) -> str:
    """Why a recipe does not take a segment whatever its writer's others are like, empty when it does."""
    if segment.site in BROKEN_SITES:
        return f"a broken rate (site {segment.site})"
    if segment.problem:
        return segment.problem
    if not RATE_HZ[0] <= segment.rate_hz <= RATE_HZ[1]:
        return "a rate outside 50 to 250 Hz"
    if recipe.text and segment.quality == "BAD":
        return "a label or ink that its site calls bad"
    if recipe.text and label in PLACEHOLDERS:
        return "no label but a placeholder"
    if not re.fullmatch(recipe.label, label):
        return _OUTSIDE
    if recipe.hover is not None and recipe.hover != any(not is_down for _, is_down in segment.parts):
        return "no recorded travel" if recipe.hover else "recorded travel"
    return ""


_OUTSIDE = "a label outside the alphabet"


@dataclass(frozen=True)
class _Sample:
    label: str
    writer: str
    site: str
    rate_hz: float
    xy_centimm: NDArray[np.int32]
    pen_down: NDArray[np.uint8]
    ink_mm: float
    size_mm: float

    @property
    def letters(self) -> float:
        """Length of the label in letters, without spaces and with little for commas and the like."""
        visible = self.label.replace(" ", "")
        return sum(SMALL_SIGN if character in SMALL_SIGNS else 1.0 for character in visible)


@dataclass
class Made:
    """One file in the making.

    Attributes:
        recipe: what goes into it.
        samples: what went in so far.
        dropped: how many samples did not, by reason.
        labels: the labels among them that the alphabet does not hold.
    """

    recipe: Recipe
    samples: list[_Sample] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)

    def offer(self, segment: Segment, writers: Collection[str] | None) -> None:
        """Take a segment, or count why not."""
        label = " ".join(segment.label.split()) if self.recipe.text else segment.label
        reason = refusal(self.recipe, segment, label)
        if not reason and writers is not None and segment.writer not in writers:
            reason = "a writer that is not on the list"
        if not reason:
            # In float32 from here on, as the files that the shipped checkpoint learned from were made: halves of a
            # hundredth of a millimetre are frequent (500 points an inch), and this decides how they are rounded. Those
            # files also have y's resolution along x, which is another at one site (aga: 857 and 979 points an inch).
            per_mm = segment.per_mm if self.recipe.text else segment.per_mm[1]
            parts = [(points / per_mm, is_down) for points, is_down in segment.parts]
            xy_mm = np.concatenate([points for points, _ in parts]).astype(np.float32)
            xy_centimm = (xy_mm - xy_mm[0]) * np.float32(100)
            if len(xy_mm) < LEAST_POSITIONS:
                reason = "fewer than four positions"
            elif self.recipe.category != "8" and np.abs(xy_centimm).max() > 100 * FARTHEST_MM:
                reason = "positions farther than 320 mm from the first"
        if reason:
            self.dropped[reason] += 1
            if reason == _OUTSIDE:
                self.labels[label] += 1
            return
        on_paper = [points for points, is_down in parts if is_down]
        self.samples.append(
            _Sample(
                label,
                segment.writer,
                segment.site,
                segment.rate_hz,
                np.round(xy_centimm).astype(np.int32 if self.recipe.category == "8" else np.int16),
                np.concatenate([np.full(len(points), is_down, np.uint8) for points, is_down in parts]),
                sum(float(np.hypot(*np.diff(points, axis=0).T).sum()) for points in on_paper),
                float(np.ptp(np.concatenate(on_paper), axis=0).max()),
            )
        )

    def drop_misfits(self) -> None:
        """Leave out samples whose ink does not fit their label, by the writer's own measure."""
        if not self.samples or not self.recipe.text:
            return
        letters = np.array([sample.letters for sample in self.samples])
        _, of_writer = np.unique([sample.writer for sample in self.samples], return_inverse=True)
        ink = _per_median(np.array([sample.ink_mm for sample in self.samples]) / letters, of_writer)
        size = _per_median(np.array([sample.size_mm for sample in self.samples]) / letters, of_writer)
        wordless = np.array([not any(map(str.isalnum, sample.label)) for sample in self.samples])
        least = np.where(wordless, 0.0, np.where(letters < 3, INK_OF_ONE[0], INK_OF_MORE[0]))
        most = np.where(letters < 3, INK_OF_ONE[1], INK_OF_MORE[1])
        reasons = np.select(
            [size > LARGEST, ink < least, ink > most],
            ["an absurd size", "less ink than the label needs", "more ink than the label needs"],
            default="",
        )
        self.dropped.update(str(reason) for reason in reasons if reason)
        self.samples = [sample for sample, reason in zip(self.samples, reasons, strict=True) if not reason]

    def arrays(self) -> dict[str, Any]:
        """The file's arrays, as ``load_npz`` takes them."""
        lengths = [len(sample.xy_centimm) for sample in self.samples]
        columns = (
            np.concatenate([np.zeros((0, 2), np.int16), *(sample.xy_centimm for sample in self.samples)]),
            np.concatenate([np.zeros(0, np.uint8), *(sample.pen_down for sample in self.samples)]),
            np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            np.array([sample.label for sample in self.samples], dtype=np.str_),
            np.array([sample.writer for sample in self.samples], dtype=np.str_),
            np.array([sample.site for sample in self.samples], dtype=np.str_),
            np.array([sample.rate_hz for sample in self.samples], dtype=np.float32),
        )
        return dict(zip(NPZ_KEYS, columns, strict=True))

    def account(self) -> dict[str, Any]:
        """What went in, and what did not and why."""
        return {
            "category": self.recipe.category,
            "labels": self.recipe.label,
            "samples": len(self.samples),
            "writers": len({sample.writer for sample in self.samples}),
            "sites": dict(sorted(Counter(sample.site for sample in self.samples).items())),
            "left out": dict(sorted(self.dropped.items())),
            "labels outside the alphabet": dict(
                sorted(self.labels.items(), key=lambda named: (-named[1], named[0]))[:NAMED_LABELS]
            ),
        }


def _per_median(values: NDArray[np.float64], of_writer: NDArray[np.integer]) -> NDArray[np.float64]:
    """``values [S]`` as multiples of their writer's median."""
    medians = np.array([np.median(values[of_writer == number]) for number in range(of_writer.max() + 1)])
    return values / np.maximum(medians[of_writer], 1e-6)


def gather(
    folder: UnipenFolder,
    recipes: Sequence[Recipe] = RECIPES,
    writers: Collection[str] | None = None,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> list[Made]:
    """Read each data file of the recipes' categories once and offer its segments to them.

    Args:
        folder: UNIPEN.
        recipes: what to make.
        writers: take these alone; None for all.
        report: is told how many data files are done, and of how many.

    Raises:
        UnwrittenError: there is no data file of any of the categories.
    """
    made = [Made(recipe) for recipe in recipes]
    by_category: dict[str, list[Made]] = {}
    for corpus in made:
        by_category.setdefault(corpus.recipe.category, []).append(corpus)
    # Categories name the same ink: file by file through all of them, it is read once.
    found = sorted(
        (file.relative_to(folder.data / category).as_posix(), category)
        for category in by_category
        for file in folder.files(category)
    )
    if not found:
        raise UnwrittenError(
            f"{folder.data}: holds no category {', '.join(by_category)}; give UNIPEN as published, data/1a to data/8"
        )
    for done, (name, category) in enumerate(found):
        report(done, len(found))
        level = by_category[category][0].recipe.level
        for segment in folder.segments(folder.data / category / name, (level,)):
            for corpus in by_category[category]:
                corpus.offer(segment, writers)
    report(len(found), len(found))
    for corpus in made:
        corpus.drop_misfits()
    return made


@contextmanager
def opened(unipen: Path | str, beside: Path | str) -> Iterator[Path]:
    """The folder of UNIPEN: a folder as it is, an archive unpacked into ``beside`` for as long as it is needed.

    Raises:
        UnwrittenError: it is neither, the archive is broken or holds no UNIPEN, or there is no room for it.
    """
    unipen, beside = Path(unipen), Path(beside)
    if not unipen.is_file():
        yield unipen
        return
    try:
        beside.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".unipen.", dir=beside) as unpacked:
            if zipfile.is_zipfile(unipen):
                with zipfile.ZipFile(unipen) as members:
                    members.extractall(unpacked)
            else:
                with tarfile.open(unipen) as archive:
                    archive.extractall(unpacked, filter="data")
            folder = next((path.parent for path in sorted(Path(unpacked).rglob("include")) if is_unipen(path)), None)
            if folder is None:
                raise UnwrittenError(f"{unipen}: holds no UNIPEN; give an archive with its folders data and include")
            yield folder
    except (tarfile.TarError, zipfile.BadZipFile, lzma.LZMAError, zlib.error, EOFError) as error:
        reason = str(error).partition("\n")[0]
        raise UnwrittenError(f"{unipen}: is no whole archive ({reason}); fetch it anew, or give the folder") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise UnwrittenError(
            f"{unipen}: cannot be unpacked into {beside} ({reason}); choose another place or free some space"
        ) from error


def make_corpora(
    unipen: Path | str,
    target: Path | str,
    writers: Collection[str] | None = None,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, Any]:
    """Make every file of ``RECIPES`` that the folder has samples for, then ``corpora.json``, the account of it.

    The same UNIPEN gives the same bytes.

    Args:
        unipen: the folder that holds ``data`` and ``include``.
        target: the folder for the files.
        writers: take these alone; None for all.
        report: is told how many data files are done, and of how many.

    Returns:
        The account: for each file how much it holds by whom, what was left out and why, and the file's SHA-256.

    Raises:
        UnwrittenError: it is no UNIPEN folder, no sample is left, or the files cannot be written.
    """
    target = Path(target)
    made = gather(UnipenFolder(unipen), RECIPES, writers, report)
    if not any(corpus.samples for corpus in made):
        reasons = sum((corpus.dropped for corpus in made), Counter[str]())
        listed = ", ".join(f"{count} with {reason}" for reason, count in sorted(reasons.items()))
        raise UnwrittenError(f"{unipen}: no sample is left ({listed or 'there is none'}); give UNIPEN as published")
    accounts: dict[str, Any] = {}
    for corpus in made:
        name = f"{corpus.recipe.name}.npz"
        accounts[name] = corpus.account()
        if corpus.samples:
            with whole_file(target / name) as temporary:
                np.savez_compressed(temporary, **corpus.arrays())
            accounts[name]["sha256"] = digest_file(target / name)
    with whole_file(target / "corpora.json") as temporary:
        temporary.write_text(json.dumps(accounts, indent=1) + "\n", encoding="utf-8")
    return accounts


def load_category(root: Path | str, category: str) -> HandwritingCorpus:
    """One category of UNIPEN, under the rules of its recipe for text.

    Args:
        root: UNIPEN, a folder that ``make_corpora`` filled, or an ``.npz`` file, of which the labels that the category
            may have are taken.
        category: ``1a``, ``1b``, ``1c``, ``1d``, ``2``, ``6``, ``7`` or ``8``.

    Raises:
        UsageError: there is no such category.
        UnwrittenError: there is none of it.
    """
    root = Path(root)
    recipes = {recipe.category: recipe for recipe in RECIPES if recipe.text}
    if category not in recipes:
        raise UsageError(f"category {category}: known are {', '.join(recipes)}")
    recipe = recipes[category]
    if root.is_dir() and is_unipen(root):
        (made,) = gather(UnipenFolder(root), [recipe])
        return replace(from_arrays(made.arrays(), str(root), alphabet=None), skipped=dict(made.dropped))
    corpus = load_npz(root / f"{recipe.name}.npz" if root.is_dir() else root, alphabet=None)
    fits = np.array([re.fullmatch(recipe.label, label) is not None for label in corpus.labels])
    if not fits.any():
        raise UnwrittenError(f"{root}: holds no label of category {category}; give a file or folder that does")
    return corpus.subset(fits)
