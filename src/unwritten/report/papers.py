"""The score table, and how readers answered, as a paper prints them: Markdown and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Sequence

from unwritten.report.html import filled
from unwritten.report.inputs import PUBLISHED, Results, Row
from unwritten.report.labels import interval, percent, reader_label, side_information
from unwritten.types import MODALITIES

_HEADINGS = {"audio": "A", "video": "MV", "av": "AV"}


def _lines(results: Results) -> list[tuple[str, str, list[list[str]]]]:
    """Blocks of (benchmark, protocol, rows); a row is reader, told, n, one cell for each modality, failed."""
    blocks = []
    groups: list[tuple[str, str, Sequence[Row]]] = [
        (b, p, [row for row in results.totals(b) if row["protocol"] == p]) for b, p in results.groups()
    ]
    printed = results.printed
    groups += [
        (b, PUBLISHED, [row for row in printed if row["benchmark"] == b])
        for b in dict.fromkeys(row["benchmark"] for row in printed)
    ]
    for benchmark, protocol, rows in groups:
        lines = []
        for reader in dict.fromkeys(row["reader"] for row in rows):
            own = {row["modality"]: row for row in rows if row["reader"] == reader}
            first = next(iter(own.values()))
            counts = [row["n"] for row in own.values() if row["n"] is not None]
            cells = [_cell(own.get(modality)) for modality in MODALITIES]
            failed = sum(row["failed"] or 0 for row in own.values())
            n = "" if not counts else str(counts[0]) if len(set(counts)) == 1 else f"{min(counts)} to {max(counts)}"
            told = side_information(results, first.get("run"), reader)
            lines.append([reader_label(reader), told, n, *cells, str(failed) if counts else ""])
        blocks.append((benchmark, protocol, lines))
    return blocks


_ANSWERING = (
    "reader", "given", "n", "no answer", "lost %", "present F1 %", "pass %", "OLA answered %", "top answer %",
    "entropy %", "model that answered",
)  # fmt: skip


def _answering_lines(results: Results) -> list[tuple[str, list[list[str]]]]:
    """(benchmark, rows) of the readers that can fail to answer, or did."""
    blocks: dict[str, list[list[str]]] = {}
    for row in results.totals():
        measured = row.get("answering")
        if not measured:
            continue
        missing = [f"{state} {n}" for state, n in measured["states"].items() if n and state != "answered"]
        varied = measured["collapse"] or {}
        shares = [
            measured["input_failure_rate"], measured["presence"]["f1"], measured["pass_rate"], measured["ola_answered"],
            varied.get("top_share"), varied.get("entropy_share"),
        ]  # fmt: skip
        blocks.setdefault(row["benchmark"], []).append(
            [
                reader_label(row["reader"]), _HEADINGS[row["modality"]], str(measured["n"]),
                ", ".join(missing) or "none",
                *("" if share is None else percent(share) for share in shares),
                str(row.get("served_model") or ""),
            ]
        )  # fmt: skip
    return list(blocks.items())


def _answering_note() -> str:
    return (
        "How readers answered that can fail to. Lost: items that never reached the reader; present: a usable answer,"
        " one word of the right length; pass: replied, one word, right length, right first letter and right word; OLA"
        " over answered items alone; top answer: share of the most frequent one; entropy: of the answers, over the most"
        " that so many could have."
    )


def _cell(row: Row | None) -> str:
    if row is None:
        return ""
    limits = interval(row["ola_low"], row["ola_high"])
    return percent(row["ola"], 1 if row["n"] is not None else 2) + (
        f" [{limits.replace(' to ', ', ')}]" if limits else ""
    )


def _note(results: Results) -> str:
    given = sorted({row["given"] for row in results.totals() if row.get("given")})
    return (
        "Ordered letter accuracy in percent with its 95 % interval, which crosses words with the letter clips that they"
        f" share{', ' + ' or '.join(given) if given else ''}. Told: what a reader knows beside the clip, n the"
        " number of letters; A: sound, MV: muted video, AV: both; failed: items"
        " without a usable answer over all modalities, each counted 0."
    )


def markdown(results: Results) -> str:
    """Tables for a README or a supplement, one for each benchmark and protocol."""
    out = []
    for benchmark, protocol, rows in _lines(results):
        out.append(f"**{benchmark}**, protocol {protocol}\n")
        out.append("| reader | told | items | A | MV | AV | failed |\n| --- | --- | ---: | ---: | ---: | ---: | ---: |")
        out += [_markdown_row(row) for row in rows]
        out.append("")
    out += [_note(results), ""]
    for benchmark, rows in _answering_lines(results):
        out.append(f"**{benchmark}**, answers that did not come\n")
        out.append(f"| {' | '.join(_ANSWERING)} |\n| --- | --- | ---: | --- |{' ---: |' * 6} --- |")
        out += [_markdown_row(row) for row in rows]
        out += ["", _answering_note(), ""]
    return "\n".join(out)


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_escape_markdown(cell) for cell in cells) + " |"


def _escape_markdown(text: str) -> str:
    """Text that Markdown shows as it is, in one cell: no link, emphasis, code or HTML of a reader's name."""
    return re.sub(r"([\\`*_\[\]<>|~])", r"\\\1", " ".join(text.split()))


_SPECIAL = {"&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}"} | {
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",  # after a line's end it would be the space to the next
}
_PREAMBLE = r"""% As wide as the page of a paper in two columns. \usepackage{booktabs} makes the rules finer.
\providecommand{\toprule}{\hline}\providecommand{\midrule}{\hline}\providecommand{\bottomrule}{\hline}"""


def escape_latex(text: str) -> str:
    """Text that LaTeX sets as it is."""
    return "".join(_SPECIAL.get(character, character) for character in text)


def latex(results: Results) -> str:
    """``table*`` environments for a paper, with the rules of ``booktabs`` where the paper loads it."""
    head = "Reader & Told & Items & " + " & ".join(_HEADINGS.values()) + " & Failed"
    blocks = [
        (f"{benchmark}, protocol {protocol}", [[_latex_cell(cell, at) for at, cell in enumerate(row)] for row in rows])
        for benchmark, protocol, rows in _lines(results)
    ]
    out = [_PREAMBLE, _latex_table(_note(results), "unwritten", "llrrrrr", head, blocks)]
    answering = [
        (benchmark, [list(map(escape_latex, row)) for row in rows]) for benchmark, rows in _answering_lines(results)
    ]
    if answering:
        head = " & ".join(escape_latex(name[:1].upper() + name[1:]) for name in _ANSWERING)
        out += ["", _latex_table(_answering_note(), "unwritten-answering", "llrlrrrrrrl", head, answering)]
    return "\n".join([*out, ""])


def _latex_table(
    caption: str, label: str, columns: str, head: str, blocks: Sequence[tuple[str, list[list[str]]]]
) -> str:
    """A table of several blocks, each under its title."""
    body = []
    for place, (title, rows) in enumerate(blocks):
        body.append(r"\midrule" if place else r"\toprule")
        if not place:
            body.append(rf"{head} \\ \midrule")
        body.append(rf"\multicolumn{{{len(columns)}}}{{l}}{{\emph{{{escape_latex(title)}}}}} \\")
        body += [" & ".join(row) + r" \\" for row in rows]
    return filled("table.tex", caption=escape_latex(caption), label=label, columns=columns, body="\n".join(body))


def _latex_cell(cell: str, column: int) -> str:
    if column in (3, 4, 5):
        value, bracket, limits = cell.partition(" [")
        return escape_latex(value) + (rf" {{\scriptsize [{escape_latex(limits)}}}" if bracket else "")
    return escape_latex(cell.replace("(with frequencies)", "(by freq.)"))
