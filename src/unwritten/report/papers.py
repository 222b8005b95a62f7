"""The score table as a paper prints it: Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Sequence

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
    printed = [row for row in results.published if row["style"] == "all"]
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
        f" share{', ' + ' or '.join(given) if given else ''}. n: items; A: sound, MV: muted video, AV: both;"
        " failed: items without a usable answer over all modalities, each counted 0."
    )


def markdown(results: Results) -> str:
    """Tables for a README or a supplement, one for each benchmark and protocol."""
    out = []
    for benchmark, protocol, rows in _lines(results):
        out.append(f"**{benchmark}**, protocol {protocol}\n")
        out.append("| reader | told | n | A | MV | AV | failed |\n| --- | --- | ---: | ---: | ---: | ---: | ---: |")
        out += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
        out.append("")
    return "\n".join([*out, _note(results), ""])


_SPECIAL = {"&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}"} | {
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}


def escape_latex(text: str) -> str:
    """Text that LaTeX sets as it is."""
    return "".join(_SPECIAL.get(character, character) for character in text)


def latex(results: Results) -> str:
    r"""One ``table`` with ``booktabs`` rules for a paper; needs ``\usepackage{booktabs}``."""
    body = []
    for place, (benchmark, protocol, rows) in enumerate(_lines(results)):
        body.append(r"\midrule" if place else r"\toprule")
        if not place:
            body.append("Reader & Told & $n$ & " + " & ".join(_HEADINGS.values()) + r" & Failed \\ \midrule")
        title = escape_latex(f"{benchmark}, protocol {protocol}")
        body.append(rf"\multicolumn{{7}}{{l}}{{\emph{{{title}}}}} \\")
        body += [" & ".join(_latex_cell(cell, at) for at, cell in enumerate(row)) + r" \\" for row in rows]
    return "\n".join(
        [
            r"% needs \usepackage{booktabs}",
            r"\begin{table*}[t]",
            r"\centering\small",
            rf"\caption{{{escape_latex(_note(results))}}}",
            r"\label{tab:unwritten}",
            r"\begin{tabular}{llrrrrr}",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table*}",
            "",
        ]
    )


def _latex_cell(cell: str, column: int) -> str:
    if column in (3, 4, 5):
        value, bracket, limits = cell.partition(" [")
        return escape_latex(value) + (rf" {{\scriptsize [{escape_latex(limits)}}}" if bracket else "")
    return escape_latex(cell)
