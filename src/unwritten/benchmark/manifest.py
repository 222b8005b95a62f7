"""The table of a benchmark's items: one row each, as ``manifest.parquet`` and ``manifest.csv`` beside the data.

The manifest is written last, so a folder that has one is complete, and it is validated when read. A person may write
``manifest.csv`` by hand: a file, ``style`` and ``source`` are enough.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unwritten.errors import UnwrittenError
from unwritten.files import cell_text, digest_file, plain_cell, whole_file
from unwritten.types import MODALITIES, STYLES, Clip, Modality
from unwritten.words.lists import letters_of

if TYPE_CHECKING:
    import pandas as pd

SOURCES = ("letter", "synthetic", "live", "simulated", "own")
COLUMNS = (
    "id",
    "word",
    "style",
    "source",
    "writer",
    *MODALITIES,
    "letter_clips",
    "letter_times_s",
    "duration_s",
    "digest",
)
CSV, PARQUET = "manifest.csv", "manifest.parquet"

Span = tuple[float, float]


def letter_id(style: str, letter: str) -> str:
    """Name of the letter clip of a style, as ``Clip.letter_clips`` holds it: ``standard/a``."""
    return f"{style}/{letter}"


def letters_used(source: str, style: str, label: str) -> tuple[str, ...]:
    """The letter clips that a clip is made of: its own letter, those of a synthetic word, none of a live word."""
    if source not in ("letter", "synthetic"):
        return ()
    return tuple(letter_id(style, letter) for letter in letters_of(label))


@dataclass(frozen=True)
class Item:
    """One row of a manifest.

    Attributes:
        clip: the clip, with the paths of its files.
        letter_times_s: start and end of each letter in the pictures (in the sound where there are none), in seconds;
            empty where unknown, else one for each of ``clip.letter_clips``.
        duration_s: length of the longest file in seconds, None when unknown.
        digest: :func:`digest_clip` of the files, empty when unknown.
    """

    clip: Clip
    letter_times_s: tuple[Span, ...] = ()
    duration_s: float | None = None
    digest: str = ""


def digest_clip(clip: Clip) -> str:
    """SHA-256 over the SHA-256 of each file of a clip, in the order audio, video, av; tells content, not place."""
    total = hashlib.sha256()
    for modality in clip.modalities:
        total.update(f"{modality}:{digest_file(clip.files[modality])}\n".encode())
    return total.hexdigest()


def measure(
    clips: Sequence[Clip], workers: int | None = None, report: Callable[[int], None] | None = None
) -> list[Item]:
    """Items with duration and digest, read from the clips' files in parallel.

    Args:
        clips: clips that lie in files.
        workers: threads; as many as there are processors when None.
        report: is told after each item how many are done.

    Raises:
        UnwrittenError: a file cannot be read.
    """
    items = []
    with ThreadPoolExecutor(workers or os.cpu_count()) as pool:
        for item in pool.map(_measure, clips):
            items.append(item)
            if report is not None:
                report(len(items))
    return items


def _measure(clip: Clip) -> Item:
    from unwritten.media import probe

    try:
        duration_s = max(probe(clip.files[modality]).duration_s for modality in clip.modalities)
        return Item(clip, duration_s=round(duration_s, 6), digest=digest_clip(clip))
    except OSError as error:
        raise UnwrittenError(f"{error.filename}: cannot be read ({error.strerror})") from error


def write_manifest(folder: Path | str, items: Iterable[Item]) -> Path:
    """Write ``manifest.parquet`` and, last of all, ``manifest.csv`` into ``folder``; paths become relative to it.

    Call it when every file is whole. Returns the path of the CSV file.

    Raises:
        UnwrittenError: an id stands twice, an item has no file, or the folder cannot be written.
    """
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = Path(folder)
    rows = [_row(item, folder) for item in sorted(items, key=lambda item: item.clip.id)]
    for before, after in pairwise(rows):
        if before["id"] == after["id"]:
            raise UnwrittenError(f"{folder / CSV}: two items have the id {after['id']}; give each an id of its own")
    text = pa.string()
    schema = pa.schema(
        [(column, text) for column in COLUMNS[:8]]
        + [
            ("letter_clips", pa.list_(text)),
            ("letter_times_s", pa.list_(pa.list_(pa.float64()))),
            ("duration_s", pa.float64()),
            ("digest", text),
        ]
    )
    with whole_file(folder / PARQUET) as temporary:
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), temporary)
    flat = pd.DataFrame(rows, columns=list(COLUMNS))
    flat["letter_clips"] = [";".join(row["letter_clips"]) for row in rows]
    flat["letter_times_s"] = [
        ";".join(f"{start:.6f}-{end:.6f}" for start, end in row["letter_times_s"]) for row in rows
    ]
    with whole_file(folder / CSV) as temporary:
        flat.map(plain_cell).to_csv(temporary, index=False)
    return folder / CSV


def _row(item: Item, folder: Path) -> dict[str, Any]:
    clip = item.clip
    if not clip.files:
        raise UnwrittenError(
            f"{folder / CSV}: the item {clip.id} has no file; only clips that lie in files can be listed"
        )
    if any(";" in letter for letter in clip.letter_clips):
        raise UnwrittenError(
            f"{folder / CSV}: the item {clip.id} uses a letter clip with ; in its id; rename that clip"
        )
    files = {modality: _relative(clip.files[modality], folder) for modality in clip.modalities}
    return {
        **{name: getattr(clip, name) for name in ("id", "word", "style", "source", "writer")},
        **{modality: files.get(modality) for modality in MODALITIES},
        "letter_clips": list(clip.letter_clips),
        "letter_times_s": [list(span) for span in item.letter_times_s],
        "duration_s": item.duration_s,
        "digest": item.digest,
    }


def _relative(path: Path, folder: Path) -> str:
    # The file itself may be a link into a store whose names say nothing: only its folder is resolved.
    path = path.parent.resolve() / path.name
    try:
        return Path(os.path.relpath(path, folder.resolve())).as_posix()
    except ValueError:  # another drive
        return path.as_posix()


def read_manifest(path: Path | str, styles: Sequence[str] = STYLES, verify: bool = False) -> list[Item]:
    """Read and validate a manifest; relative paths are taken from its folder.

    A row without ``id`` is named after its first file; a synthetic word without ``letter_clips`` gets those of its
    style. Columns that are not of the manifest are ignored.

    Args:
        path: ``manifest.csv``, ``manifest.parquet`` or the folder that holds one of them (CSV first: people edit it).
        styles: the styles that exist.
        verify: also compare each item's digest with its files.

    Raises:
        UnwrittenError: the table cannot be read, has no items, names a file that is missing, an unknown style or
            source, an id twice, letter times that do not fit, or (with ``verify``) files that have changed.
    """
    path = Path(path)
    if path.is_dir():
        path = next((path / name for name in (CSV, PARQUET) if (path / name).is_file()), path / CSV)
    if not path.is_file():
        raise UnwrittenError(f"{path}: there is no manifest; write one with `unwritten manifest -o`")
    table = _read_table(path)
    if not {"style", "source"} <= set(table.columns) or not set(MODALITIES) & set(table.columns):
        raise UnwrittenError(
            f"{path}: needs the columns style and source and at least one of {', '.join(MODALITIES)}; has"
            f" {', '.join(map(str, table.columns)) or 'none'}"
        )
    items = [_item(row, number, path, styles) for number, row in enumerate(table.to_dict("records"), start=2)]
    if not items:
        raise UnwrittenError(f"{path}: lists no item; add a row for each clip, or remove the file")
    seen: dict[str, int] = {}
    for number, item in enumerate(items, start=2):
        if item.clip.id in seen:
            raise UnwrittenError(f"{path}: rows {seen[item.clip.id]} and {number} both have the id {item.clip.id}")
        seen[item.clip.id] = number
    missing = [file for item in items for file in item.clip.files.values() if not file.is_file()]
    if missing:
        more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise UnwrittenError(
            f"{path}: names {missing[0]}{more}, which is not there; restore the file or remove its row"
        )
    if verify:
        for item in items:
            if item.digest and digest_clip(item.clip) != item.digest:
                raise UnwrittenError(
                    f"{path}: the files of {item.clip.id} are not those that were listed; write it anew"
                )
    return items


def _read_table(path: Path) -> pd.DataFrame:
    import pandas as pd
    import pyarrow as pa

    try:
        if path.suffix == ".parquet":
            return pd.read_parquet(path)
        return pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig").map(cell_text)
    except (OSError, ValueError, pa.ArrowException, pd.errors.ParserError) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise UnwrittenError(f"{path}: cannot be read as a manifest ({reason}); repair or remove it") from error


def _item(row: Mapping[Any, Any], number: int, path: Path, styles: Sequence[str]) -> Item:
    where = f"{path}: row {number}"

    def text(column: str) -> str:
        value = row.get(column)
        return value.strip() if isinstance(value, str) else ""

    style, source, word = text("style"), text("source"), text("word")
    if source not in SOURCES:
        raise UnwrittenError(f"{where} has the unknown source {source!r}; known are {', '.join(SOURCES)}")
    if style not in styles and not (source == "own" and not style):
        raise UnwrittenError(
            f"{where} has the unknown style {style!r}; known are {', '.join(styles)}, others by config"
        )
    files: dict[Modality, Path] = {modality: path.parent / text(modality) for modality in MODALITIES if text(modality)}
    if not files:
        raise UnwrittenError(f"{where} names no file; fill at least one of {', '.join(MODALITIES)}")
    first = next(iter(files.values()))
    clip = Clip(
        id=text("id") or Path(os.path.relpath(first, path.parent)).with_suffix("").as_posix(),
        files=files,
        style=style,
        word=word or None,
        source=source,
        writer=text("writer") or style,
    )
    clips, spans = _letters(row.get("letter_clips"), where), _spans(row.get("letter_times_s"), where)
    if not clips and word and source in ("letter", "synthetic"):
        clips = letters_used(source, style, word)
    if spans and len(spans) != len(clips):
        raise UnwrittenError(f"{where} has {len(spans)} letter times for {len(clips)} letter clips; list one for each")
    if len({letter.rpartition("/")[0] for letter in clips}) > 1:
        raise UnwrittenError(f"{where} joins letter clips of several styles ({'; '.join(clips)}); a word has one style")
    return Item(replace(clip, letter_clips=clips), spans, _duration(row.get("duration_s"), where), text("digest"))


def _letters(value: Any, where: str) -> tuple[str, ...]:
    if value is None or isinstance(value, float):
        return ()
    if isinstance(value, str):
        return tuple(letter.strip() for letter in value.split(";") if letter.strip())
    return tuple(str(letter) for letter in value)


def _spans(value: Any, where: str) -> tuple[Span, ...]:
    if value is None or isinstance(value, float):
        return ()
    try:
        if isinstance(value, str):
            pairs = [span.split("-") for span in value.split(";") if span.strip()]
        else:
            pairs = [list(span) for span in value]
        spans = tuple((float(start), float(end)) for start, end in pairs)
    except ValueError as error:
        raise UnwrittenError(
            f"{where} has letter_times_s {value!r}; write start-end in seconds, joined by ;"
        ) from error
    if any(not 0 <= start <= end < math.inf for start, end in spans):
        raise UnwrittenError(f"{where} has letter_times_s {value!r}; each must end after it starts")
    return spans


def _duration(value: Any, where: str) -> float | None:
    try:
        duration_s = float(value) if value not in (None, "") else math.nan
    except ValueError:
        duration_s = -1.0
    if duration_s < 0 or math.isinf(duration_s):
        raise UnwrittenError(f"{where} has duration_s {value!r}; write seconds, or nothing")
    return None if math.isnan(duration_s) else duration_s
