"""Tables for a paper: every reader is there, and LaTeX sets them whatever they are called."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_runs import make_clips, make_run

from unwritten.report.inputs import read_results
from unwritten.report.papers import _escape_markdown, escape_latex, latex, markdown

AWKWARD = r"[5%&a_{$x^2$}#~\<|]"


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "first", make_clips(), right=0.5)


def test_tables_for_a_paper_have_every_reader_and_even_columns(run_dir: Path) -> None:
    results = read_results([run_dir])
    for reader in ("ctc-free", "blind-constant", "talker+ink", "GPT-4o", "People"):
        assert reader in markdown(results) and reader in latex(results)
    blocks = [block for block in markdown(results).split("\n\n") if block.startswith("|")]
    columns = [{line.replace("\\|", "").count("|") - 1 for line in block.splitlines()} for block in blocks]
    assert columns[0] == {7} and columns[-1] == {11} and all(len(counts) == 1 for counts in columns)
    scores, answering = latex(results).split(r"\begin{tabular}")[1:]
    for tabular, count in ((scores, 7), (answering, 11)):
        body = [line for line in tabular.splitlines() if line.endswith(r"\\") and "multicolumn" not in line]
        assert body and {line.replace(r"\&", "").count("&") + 1 for line in body} == {count}


@given(st.text())
def test_a_markdown_cell_is_one_line_without_an_open_mark_and_says_what_it_was_given(text: str) -> None:
    cell = _escape_markdown(text)
    bare = re.sub(r"\\.", "", cell)
    assert "\n" not in cell and not set(bare) & set("`*_[]<>|~\\")
    assert re.sub(r"\\(.)", r"\1", cell) == " ".join(text.split())


@settings(max_examples=50, deadline=None)
@given(st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=30))
def test_latex_sets_every_text_as_it_is(text: str) -> None:
    bare = re.sub(
        r"\{\[\}|\\(textbackslash|textasciitilde|textasciicircum|textless|textgreater|textbar)\{\}|\\[&%$#_{}]",
        "",
        escape_latex(text),
    )
    assert not set(bare) & set("&%$#_{}~^\\<>|[")


@pytest.fixture(scope="module")
def awkward(run_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The tables of a run of which a reader has a name of special characters."""
    run = Path(shutil.copytree(run_dir, tmp_path_factory.mktemp("awkward") / "run"))
    for name in ("scores.json", "analysis.json"):
        text = (run / name).read_text(encoding="utf-8")
        (run / name).write_text(text.replace('"ctc-free"', json.dumps(AWKWARD)), encoding="utf-8")
    return latex(read_results([run]))


def test_environments_and_braces_of_the_tables_close(awkward: str) -> None:
    assert escape_latex(AWKWARD) in awkward
    bare = awkward.replace(r"\{", "").replace(r"\}", "")
    assert bare.count("{") == bare.count("}")
    open_now: list[str] = []
    for what, name in re.findall(r"\\(begin|end)\{(.+?)\}", awkward):
        if what == "begin":
            open_now.append(name)
        else:
            assert open_now.pop() == name
    assert not open_now


def test_latex_compiles_the_tables_and_they_are_no_wider_than_the_page(awkward: str, tmp_path: Path) -> None:
    program = shutil.which("pdflatex")
    if program is None:
        pytest.skip("no pdflatex is installed")
    (tmp_path / "tables.tex").write_text(awkward, encoding="utf-8")
    document = r"\documentclass[twocolumn]{article}\begin{document}\input{tables.tex}\end{document}"
    command = [program, "-interaction=nonstopmode", "-halt-on-error", "-jobname=paper", document]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "paper.pdf").stat().st_size > 1_000
    assert "Overfull" not in done.stdout
