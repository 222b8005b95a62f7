"""The items to page through: which of them, and all that is shown of each."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from unwritten.errors import UnwrittenError
from unwritten.report.evidence import Evidence, gather
from unwritten.report.html import filled
from unwritten.report.inputs import Results, Run
from unwritten.report.labels import MODALITY_NAMES, reader_label
from unwritten.report.sent import Sent, what_was_sent
from unwritten.scoring.scores import item_scores
from unwritten.types import MODALITIES, Clip
from unwritten.wording import counted

if TYPE_CHECKING:
    from unwritten.readers.network import CtcNetwork

Load = Callable[[Run], tuple[list[Clip], "CtcNetwork | None"]]
"""Gives the clips of a run and the network of its baseline."""


@dataclass(frozen=True)
class GallerySettings:
    """What the gallery holds.

    Attributes:
        items: at most so many, spread evenly over styles and lengths; 0 leaves the gallery out.
        media: False shows answers alone, without opening any clip.
    """

    items: int = 60
    media: bool = True


@dataclass(frozen=True)
class Gallery:
    """The chosen items and what to say of the choice."""

    items: list[dict[str, Any]]
    readers: list[dict[str, Any]]
    total: int
    notes: list[str]


def spread(table: pd.DataFrame, most: int) -> list[str]:
    """At most ``most`` items, evenly over style, then length, then the table's own order."""
    items = table.drop_duplicates("item")
    order = items.assign(length=items["truth"].str.len()).sort_values(["style", "length"], kind="stable")["item"]
    if len(order) <= most:
        return list(order)
    return [str(order.iloc[int(place)]) for place in np.linspace(0, len(order) - 1, most)]


def build_gallery(results: Results, settings: GallerySettings, load: Load) -> Gallery:
    """Choose items of every run, gather what there is of each, and set all readers' answers beside it.

    Args:
        results: all runs.
        settings: how many, and whether with media.
        load: gives a run's clips and network; its UnwrittenError is told in the page.
    """
    tables: list[pd.DataFrame] = []
    notes: list[str] = []
    clips: dict[str, tuple[Clip, CtcNetwork | None]] = {}
    for place, run in enumerate(results.runs):
        if run.table.empty:
            continue
        own = run.table.assign(reader=[results.name_of(place, reader) for reader in run.table["reader"]])
        tables.append(own)
        if settings.media and settings.items:
            try:
                found, network = load(run)
            except UnwrittenError as error:
                notes.append(f"{run.name}: no pictures and sound, as its clips are not at hand ({error})")
                continue
            for clip in found:
                clips.setdefault(f"{own['benchmark'].iloc[0]}\n{clip.id}", (clip, network))
    if not tables or not settings.items:
        return Gallery([], [], 0, notes)
    joined = pd.concat(tables, ignore_index=True)
    joined["item"] = joined["benchmark"] + "\n" + joined["item"]
    right = item_scores(joined).set_index(["item", "reader", "modality"])["ola"].to_dict()
    readers = _readers(joined)
    places = {(entry["reader"], entry["modality"]): place for place, entry in enumerate(readers)}
    chosen = spread(joined, settings.items)
    items = []
    for key in _progress(chosen):
        rows = joined[joined["item"] == key]
        evidence = gather(*clips[key]) if key in clips else Evidence()
        items.append(_item(key, rows, evidence, clips[key][0] if key in clips else None, right, places))
    return Gallery(items, readers, joined["item"].nunique(), notes)


def _progress(items: list[str]) -> Iterable[str]:
    from tqdm import tqdm

    return tqdm(items, desc="gallery", unit="item", mininterval=1.0, disable=not sys.stderr.isatty())


def _readers(table: pd.DataFrame) -> list[dict[str, Any]]:
    pairs = table[["reader", "modality"]].drop_duplicates()
    order = {modality: place for place, modality in enumerate(MODALITIES)}
    readers = list(dict.fromkeys(pairs["reader"]))
    found = sorted(pairs.itertuples(index=False), key=lambda p: (readers.index(p.reader), order[p.modality]))
    return [
        {
            "reader": pair.reader,
            "modality": pair.modality,
            "label": reader_label(pair.reader),
            "name": MODALITY_NAMES.get(pair.modality, pair.modality),
        }
        for pair in found
    ]


def _item(
    key: str,
    rows: pd.DataFrame,
    evidence: Evidence,
    clip: Clip | None,
    right: Mapping[tuple[str, str, str], float],
    places: Mapping[tuple[str, str], int],
) -> dict[str, Any]:
    answers = []
    sent: dict[Sent, int] = {}  # several models may be sent the same
    for row in rows.itertuples(index=False):
        own = what_was_sent(clip, row.modality, json.loads(row.details or "{}").get("sent") or {})
        ola = right.get((key, row.reader, row.modality))
        answers.append(
            {
                "by": places[row.reader, row.modality],
                "word": row.word,
                "raw": row.raw if row.raw != row.word else "",
                "state": row.state,
                "error": row.error,
                "ola": None if ola is None else round(float(ola), 3),
                "top": [[word, round(float(p), 3)] for word, p in row.candidates[:5]],
                "sent": None if own is None else sent.setdefault(own, len(sent)),
            }
        )
    return {
        "id": key.partition("\n")[2],
        **rows.iloc[0][["benchmark", "truth", "style", "source", "writer"]],
        "answers": answers,
        "sent": [asdict(one) for one in sent],
        **asdict(evidence),
    }


def json_script(id: str, content: Any) -> str:
    """Data inside a page: text that cannot end its element or begin another."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return f'<script type="application/json" id="{id}">{text.replace("<", chr(92) + "u003c")}</script>'


def gallery_html(gallery: Gallery, main: tuple[str, str] | None) -> str:
    """The gallery's frame and its data; ``main`` is the (reader, modality) that right and wrong are about first."""
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in gallery.notes)
    if not gallery.items:
        return notes
    pairs = [(entry["reader"], entry["modality"]) for entry in gallery.readers]
    chosen = pairs.index(main) if main in pairs else 0
    options = "".join(
        f'<option value="{place}"{" selected" if place == chosen else ""}>{escape(entry["label"])}, '
        f"{escape(entry['name'])}</option>"
        for place, entry in enumerate(gallery.readers)
    )
    styles = "".join(f"<option>{escape(s)}</option>" for s in dict.fromkeys(item["style"] for item in gallery.items))
    cut = (
        f"{len(gallery.items)} of {gallery.total} items, spread evenly over styles and lengths."
        if gallery.total > len(gallery.items)
        else f"{counted(gallery.total, 'item')}, all that there are."
    )
    return filled(
        "gallery.html",
        chosen=cut,
        notes=notes,
        readers=options,
        styles=styles,
        data=json_script("gallery-data", {"items": gallery.items, "readers": gallery.readers}),
    )
