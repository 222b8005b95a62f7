"""Find letter clips, synthetic words and live words by their names, wherever they lie below a folder.

The benchmark names the standard letter l ``l-1.mp3`` (sound), ``l-1_muted.mp4`` (pictures) and ``l-1.mp4`` (both);
cursive letters end in ``-2c``, retraced ones in ``-3r``; live words carry the same marks; synthetic words carry none
and take their style from the folder (or from a prefix: ``cursive: above.mp4``). Capitals are labels of their own. A
manifest beside the data says instead what lies below its folder.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import regex

from unwritten.benchmark.manifest import Item, letters_used, read_manifest
from unwritten.errors import UnwrittenError
from unwritten.files import digest_file
from unwritten.types import MODALITIES, STYLES, Clip, Modality
from unwritten.words.lists import letters_of

_LETTERS = r"(?:\p{L}\p{M}*)+"


def _default_modalities() -> Mapping[str, str]:
    video = r"\.(?:mp4|m4v|mov|webm|mkv)"
    return {
        "audio": r"\.(?:mp3|wav|m4a|aac|flac|ogg|opus)",
        "video": rf"[_-]muted{video}",
        "av": video,
    }


@dataclass(frozen=True)
class ClipPatterns:
    """How names are read. All patterns are regular expressions that ignore case in suffixes and folders.

    Attributes:
        modalities: for each modality the end of the file's name; the first that fits, in this order, wins.
        marks: for each style the mark that letter clips and live words carry after a hyphen.
        folders: for each style what a folder's name holds; the nearest folder that names exactly one style decides.
        name: the rest of a name: groups ``text``, and ``mark`` or ``style`` where it has them.
        live_folder: a folder whose name fits holds live words even where they carry no mark.
        writers: for each style who wrote it; a style that is not listed has a writer of its own name.
        fold_case: take a capital for its small letter.
        manifest: read ``manifest.csv`` (or ``manifest.parquet``) where a folder has one, instead of the names below it.
    """

    modalities: Mapping[str, str] = field(default_factory=_default_modalities)
    marks: Mapping[str, str] = field(default_factory=lambda: {"standard": "1", "cursive": "2c", "retrace": "3r"})
    folders: Mapping[str, str] = field(default_factory=lambda: {style: style for style in STYLES})
    name: str = rf"(?:(?P<style>{_LETTERS})\s*[:_]\s*)?(?P<text>{_LETTERS}(?: {_LETTERS})*)(?:-(?P<mark>\w+))?"
    live_folder: str = r"(?<![a-z])live(?![a-z])"
    writers: Mapping[str, str] = field(default_factory=dict)
    fold_case: bool = False
    manifest: bool = True

    def __post_init__(self) -> None:
        for name in ("modalities", "marks", "folders", "writers"):
            if not isinstance(getattr(self, name), Mapping):
                raise ValueError(f"{name}: give names with values, as in {{{name}: {{NAME: VALUE}}}}")
        unknown = sorted(set(self.modalities) - set(MODALITIES))
        if unknown:
            raise ValueError(f"modalities: {unknown[0]!r} is not one of {', '.join(MODALITIES)}")
        for pattern in (*self.modalities.values(), *self.folders.values(), self.name, self.live_folder):
            try:
                regex.compile(pattern)
            except regex.error as error:
                raise ValueError(f"{pattern!r} is no regular expression: {error}") from error

    @property
    def styles(self) -> tuple[str, ...]:
        """The styles that names can have."""
        return tuple(dict.fromkeys((*self.marks, *self.folders)))


@dataclass(frozen=True)
class Found:
    """What a folder holds.

    Attributes:
        clips: every clip, ordered by id.
        listed: those of them that a manifest lists, with what else it says.
        unrecognised: media files whose names say nothing.
        copies: files left out because another file of the same content claims the same name.
    """

    clips: tuple[Clip, ...]
    listed: tuple[Item, ...] = ()
    unrecognised: tuple[Path, ...] = ()
    copies: tuple[Path, ...] = ()


@dataclass(frozen=True)
class _Named:
    """What the name of one file says."""

    modality: Modality
    source: str
    style: str
    label: str
    stem: Path


def find_clips(root: Path | str, settings: ClipPatterns = ClipPatterns()) -> list[Clip]:
    """The clips below ``root``, ordered by id; see :func:`search`.

    Raises:
        UnwrittenError: the folder is missing or holds no clip, or two different files claim one name.
    """
    return list(search(root, settings).clips)


def search(
    root: Path | str, settings: ClipPatterns = ClipPatterns(), passed_over: Collection[Path] = frozenset()
) -> Found:
    """Find every clip below ``root`` and say which media files were not understood.

    Hidden files and folders are skipped. A clip's id is its path below ``root`` without suffix and modality mark; where
    its modalities lie in different folders, it is ``source/style/name``.

    Args:
        root: the folder.
        settings: how names are read.
        passed_over: files, below ``root`` as it is given, to take no notice of; a folder of nothing else is no error.

    Raises:
        UnwrittenError: the folder is missing or holds no clip, or two different files claim one name.
    """
    root = Path(root)
    if not root.is_dir():
        raise UnwrittenError(f"{root}: no such folder; give the folder that holds the clips")
    listed: list[Item] = []
    claims: dict[tuple[str, str, str], dict[Modality, tuple[Path, Path]]] = {}
    unrecognised: list[Path] = []
    copies: list[Path] = []
    for folder, manifest, files in _folders(root, settings):
        if manifest is not None:
            listed += _listed(manifest, folder.relative_to(root), settings)
        for path in files:
            if path in passed_over:
                continue
            suffix = _suffix(path, settings)
            named = _read_name(path, root, *suffix, settings) if suffix else None
            if suffix and named is None:
                unrecognised.append(path)
            elif named is not None:
                claim = claims.setdefault((named.source, named.style, named.label), {})
                if named.modality not in claim:
                    claim[named.modality] = (path, named.stem)
                elif _same_content(claim[named.modality][0], path):
                    copies.append(path)
                else:
                    raise UnwrittenError(
                        f"{path}: claims the same name as {claim[named.modality][0]}; rename one of the two takes,"
                        f" or list both with ids of their own in {root / 'manifest.csv'}"
                    )
    clips = [item.clip for item in listed] + [_clip(key, claim, settings) for key, claim in claims.items()]
    if not clips and not passed_over:
        raise UnwrittenError(
            f"{root}: no clip found; names must read like a-1.mp4, a-2c_muted.mp4, above-3r.mp3 or standard/above.mp4,"
            " or a manifest.csv must list the files"
        )
    clips.sort(key=lambda clip: clip.id)
    for before, after in pairwise(clips):
        if before.id == after.id:
            raise UnwrittenError(f"{root}: two clips have the id {after.id}; rename one or change it in the manifest")
    return Found(tuple(clips), tuple(listed), tuple(unrecognised), tuple(copies))


def _folders(root: Path, settings: ClipPatterns) -> Iterator[tuple[Path, Path | None, list[Path]]]:
    """Each folder with its manifest or its files, in a fixed order; nothing is read below a manifest."""
    for name, folders, files in os.walk(root):
        folder = Path(name)
        folders[:] = sorted(entry for entry in folders if not entry.startswith("."))
        manifest = next((folder / entry for entry in ("manifest.csv", "manifest.parquet") if entry in files), None)
        if settings.manifest and manifest is not None:
            folders.clear()
            yield folder, manifest, []
        else:
            yield folder, None, [folder / entry for entry in sorted(files) if not entry.startswith(".")]


def _listed(manifest: Path, below: Path, settings: ClipPatterns) -> list[Item]:
    items = read_manifest(manifest, settings.styles)
    return [replace(item, clip=replace(item.clip, id=(below / item.clip.id).as_posix())) for item in items]


def _suffix(path: Path, settings: ClipPatterns) -> tuple[str, Modality] | None:
    """The name without its end, and the modality that the end stands for; None for a file that is no medium."""
    name = unicodedata.normalize("NFC", path.name)
    for modality in MODALITIES:
        if modality in settings.modalities:
            end = regex.search(f"(?:{settings.modalities[modality]})$", name, regex.IGNORECASE)
            if end:
                return name[: end.start()], modality
    return None


def _read_name(path: Path, root: Path, stem: str, modality: Modality, settings: ClipPatterns) -> _Named | None:
    """What a file's name and folders say of it; None when the name fits no pattern."""
    match = regex.fullmatch(settings.name, stem)
    if match is None:
        return None
    groups = match.groupdict()
    label, mark, style = groups["text"], groups.get("mark"), groups.get("style")
    if mark is not None:
        style = next((style for style, known in settings.marks.items() if str(known).lower() == mark.lower()), None)
        if style is None:
            return None
    elif style is not None:
        style = style.lower()
        if style not in settings.styles:
            return None
    folders = _folder_names(path, root)
    style = style or _folder_style(folders, settings)
    label = label.lower() if settings.fold_case else label
    if len(letters_of(label)) == 1:
        source = "letter"
    elif mark is not None or any(regex.search(settings.live_folder, folder, regex.IGNORECASE) for folder in folders):
        source = "live"
    else:
        source = "synthetic" if style else "own"
    if source == "letter" and not style:
        return None
    return _Named(modality, source, style or "", label, path.relative_to(root).with_name(stem))


def _folder_names(path: Path, root: Path) -> list[str]:
    """Names of the folders around a file, nearest first, up to ``root`` itself."""
    inside = [folder.name for folder in path.relative_to(root).parents if folder.name]
    return [unicodedata.normalize("NFC", name) for name in (*inside, root.resolve().name)]


def _folder_style(folders: Iterable[str], settings: ClipPatterns) -> str | None:
    for folder in folders:
        styles = [
            style for style, pattern in settings.folders.items() if regex.search(pattern, folder, regex.IGNORECASE)
        ]
        if len(styles) == 1:
            return styles[0]
    return None


def _same_content(one: Path, other: Path) -> bool:
    return one.stat().st_size == other.stat().st_size and digest_file(one) == digest_file(other)


def _clip(key: tuple[str, str, str], claim: Mapping[Modality, tuple[Path, Path]], settings: ClipPatterns) -> Clip:
    source, style, label = key
    stems = {stem for _, stem in claim.values()}
    stem = stems.pop() if len(stems) == 1 else Path(source, style, min(stems, key=lambda path: path.name).name)
    return Clip(
        id=stem.as_posix(),
        files={modality: claim[modality][0] for modality in MODALITIES if modality in claim},
        style=style,
        word=label,
        source=source,
        writer=settings.writers.get(style, style),
        letter_clips=letters_used(source, style, label),
    )
