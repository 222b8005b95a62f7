"""Small pieces of HTML: tables, sections, figures with the table that says the same."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Template

from unwritten.report.labels import MINUS, MODALITY_NAMES, NONE, percent
from unwritten.types import MODALITIES


@dataclass(frozen=True)
class Cell:
    """A table's cell.

    Attributes:
        text: what is read.
        key: what is sorted by; the text where it is None.
        under: a second, smaller line.
        strong: stands out.
    """

    text: str
    key: float | str | None = None
    under: str = ""
    strong: bool = False


def given(modality: str) -> Cell:
    """What a reader was given, sorted as modalities are."""
    order: dict[str, int] = {name: place for place, name in enumerate(MODALITIES)}
    return Cell(MODALITY_NAMES.get(modality, modality), order.get(modality))


def share(value: float | None, strong: bool = False) -> Cell:
    """A fraction in percent."""
    return Cell(percent(value), value, strong=strong)


def number(value: int | None) -> Cell:
    """A count; a dash where there is none."""
    return Cell(NONE if value is None else str(value), value)


def table(
    caption: str, headings: Sequence[str], rows: Sequence[Sequence[Cell | str]], sortable: bool = False, id: str = ""
) -> str:
    """A table whose first column names its row; columns of numbers are set right."""
    cells = [[cell if isinstance(cell, Cell) else Cell(cell) for cell in row] for row in rows]
    numeric = [all(_is_number(row[place].text) for row in cells) for place in range(len(headings))]
    kinds = [' class="n"' if is_numeric else "" for is_numeric in numeric]
    inner = (lambda name: f'<button type="button">{name}</button>') if sortable else (lambda name: name)
    head = "".join(f'<th scope="col"{k}>{inner(escape(h))}</th>' for h, k in zip(headings, kinds, strict=True))
    body = []
    for row in cells:
        tags = ["th scope='row'"] + ["td"] * (len(row) - 1)
        body.append("<tr>" + "".join(map(_cell, row, tags, kinds)) + "</tr>")
    own = f' id="{id}"' if id else ""
    label = escape(caption)
    return (
        f'<div class="scroll" role="region" aria-label="{label}" tabindex="0">'
        f"<table{own}{' class=sortable' if sortable else ''}><caption>{label}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def _cell(cell: Cell, tag: str, kind: str) -> str:
    key = "" if cell.key is None else f' data-key="{escape(str(cell.key))}"'
    text = escape(cell.text)
    if tag != "td":
        text = text.replace("@", "<wbr>@")  # where a reader's name may break on a phone
    text = f"<strong>{text}</strong>" if cell.strong else text
    under = f"<small>{escape(cell.under)}</small>" if cell.under else ""
    # A long text gets room, a short one keeps to its line.
    kind = kind or (' class="wide"' if len(cell.text) > 20 else "")
    return f"<{tag}{kind}{key}>{text}{under}</{tag.split()[0]}>"


def _is_number(text: str) -> bool:
    return not text or text[0] in f"0123456789+-{MINUS}{NONE}$<"


def section(id: str, heading: str, body: str, lead: str = "") -> str:
    """A section of the page; ``lead`` says in a sentence what it shows."""
    text = f'<p class="lead">{escape(lead)}</p>' if lead else ""
    return f'<section id="{id}" aria-labelledby="h-{id}"><h2 id="h-{id}">{escape(heading)}</h2>{text}{body}</section>'


def figure(graphic: str, caption: str, numbers: str = "", kind: str = "") -> str:
    """A figure with its caption and, folded away, the table of its numbers."""
    below = details("The numbers as a table", numbers) if numbers else ""
    own = f' class="{kind}"' if kind else ""
    return f"<figure{own}>{graphic}<figcaption>{escape(caption)}</figcaption>{below}</figure>"


def details(summary: str, inner: str) -> str:
    """Something folded away under a line that says what it is."""
    return f"<details><summary>{escape(summary)}</summary>{inner}</details>"


def static(name: str) -> str:
    """A file that pages are made from."""
    return (Path(__file__).with_name("static") / name).read_text(encoding="utf-8")


def filled(name: str, **values: object) -> str:
    """A page or a part of one: the template of this name with its ``$placeholders`` filled."""
    return Template(static(name)).substitute(values)


def data_uri(kind: str, data: bytes) -> str:
    """The data as an address that needs no file."""
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"
