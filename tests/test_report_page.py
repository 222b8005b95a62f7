"""A report says everything that its runs found, in one file that is safe to open and can be read by anybody."""

from __future__ import annotations

import base64
import dataclasses
import json
import re
import shutil
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from browser import run_in_page
from hypothesis import given, settings
from hypothesis import strategies as st
from report_runs import make_clips, make_run, moving_pen

from unwritten.cli import main
from unwritten.errors import UnwrittenError
from unwritten.report.evidence import emissions_svg, first_frame, gather, ink_svg
from unwritten.report.gallery import GallerySettings, spread
from unwritten.report.inputs import Run, read_results
from unwritten.report.labels import side_information
from unwritten.report.ladders import find_ladders
from unwritten.report.page import make_page
from unwritten.types import Clip


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "first", make_clips(), right=0.5)


def load(_: Run) -> tuple[list[Clip], None]:
    return make_clips(), None


@pytest.fixture(scope="module")
def page(run_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(make_page(read_results([run_dir]), GallerySettings(), load), encoding="utf-8")
    return path


VOID = {"meta", "input", "img", "br", "link", "hr", "line", "rect", "circle", "path"}


class Document(HTMLParser):
    """Checks that elements close in order, and keeps what the tests ask for."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.labels: list[str] = []
        self.pictures: list[dict[str, str | None]] = []
        self.images_without_text = 0
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        self.ids += [found["id"] or ""] if "id" in found else []
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]
        self.labels += (found.get("aria-labelledby") or "").split()
        if tag == "svg":
            self.pictures.append(found)
        self.images_without_text += tag == "img" and not found.get("alt")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open and self.open.pop() == tag, f"</{tag}> closes something else"


def test_the_page_is_one_file_that_asks_for_nothing(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    document = Document(text)
    assert all(link.startswith(("#", "data:")) for link in document.links), document.links
    assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest|https?://", text)
    assert "default-src 'none'" in text


def test_the_page_is_well_formed_and_every_plot_has_words(page: Path) -> None:
    document = Document(page.read_text(encoding="utf-8"))
    assert not document.open
    assert [name for name, count in Counter(document.ids).items() if count > 1] == []
    assert set(document.labels) <= set(document.ids)
    plots = [picture for picture in document.pictures if picture.get("aria-hidden") != "true"]
    assert len(plots) >= 6 and all(plot.get("role") == "img" and plot.get("aria-labelledby") for plot in plots)
    assert document.images_without_text == 0


def test_every_section_that_the_run_has_data_for_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    parts = "scores forest fusion parts confusions ladders items answering cost provenance"
    for name in parts.split():
        assert f'<section id="{name}"' in text
    for said in ("People", "GPT-4o", "floor", "95 % interval", "told", "n, all English words (with frequencies)"):
        assert said in text
    assert "refused 5" in text, "kinds of failure are told"
    assert "$1.50" in text, "and what it cost: six items at 25 cents"
    assert "abc123 with changes" in text


def test_numbers_stand_as_they_were_scored(page: Path, run_dir: Path) -> None:
    rows = json.loads((run_dir / "scores.json").read_text())
    row = next(r for r in rows if (r["reader"], r["modality"], r["style"]) == ("ctc", "av", "all"))
    text = page.read_text(encoding="utf-8")
    assert f"<dd>{100 * row['ola']:.1f} %</dd>" in text
    assert f"{100 * row['ola_low']:.1f} to {100 * row['ola_high']:.1f}" in text


def test_what_a_model_says_cannot_run_or_break_the_page(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "<script>document.body" not in text and "<img src=x" not in text
    found = run_in_page(page, "return document.body.dataset.attacked ?? 'safe';")
    assert found == "safe"


def test_two_runs_of_one_reader_are_told_apart(run_dir: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(run_dir, tmp_path / "second"))
    analysis = json.loads((other / "analysis.json").read_text())
    for row in analysis["scores"]:
        row["ola"] = 1.0
    (other / "analysis.json").write_text(json.dumps(analysis), encoding="utf-8")
    results = read_results([run_dir, other])
    totals = {row["reader"]: row["ola"] for row in results.totals() if row["modality"] == "av"}
    assert totals["ctc@second"] == 1.0 > totals["ctc@first"]
    assert side_information(results, 1, "ctc@second") == "n, all English words (with frequencies)"
    assert "ctc@second" in make_page(results, GallerySettings(items=3, media=False), load)


@pytest.mark.parametrize(
    ("node", "told"),
    [
        ("mode: ctc-free", "nothing"),
        ("mode: ctc-free, decoding: {letter_order: 4}", "which letters follow which in English"),
        ("mode: ctc-letters, decoding: {letter_order: 4}", "n, which letters follow which in English"),
        ("mode: ctc-letters, decoding: {letter_order: 4, letter_order_weight: 0.0}", "n"),
    ],
)
def test_a_reader_without_a_list_says_whether_it_knows_how_letters_follow_each_other(
    run_dir: Path, tmp_path: Path, node: str, told: str
) -> None:
    other = Path(shutil.copytree(run_dir, tmp_path / "other"))
    config = (other / "config.yaml").read_text(encoding="utf-8")
    assert "mode: ctc-free" in config
    (other / "config.yaml").write_text(config.replace("mode: ctc-free", node), encoding="utf-8")
    assert side_information(read_results([other]), 0, "ctc-free") == told


def test_the_floor_is_that_of_the_very_items_that_a_reader_was_asked(run_dir: Path) -> None:
    results = read_results([run_dir])
    table = results.runs[0].table
    row = next(row for row in results.totals() if (row["reader"], row["modality"]) == ("talker", "av"))
    # blind-constant says "car": two of three letters of "cat", the a of "map", the r of "heron".
    assert results.floor(row) == pytest.approx((2 / 3 + 1 / 3 + 1 / 5) / 6)
    asked = table[(table["reader"] != "talker") | (table["item"] == "item/cat")]
    run = dataclasses.replace(results.runs[0], table=asked)
    assert dataclasses.replace(results, runs=[run]).floor(row) == pytest.approx(2 / 3)


def test_published_numbers_are_there_without_being_asked_and_never_twice(run_dir: Path) -> None:
    results = read_results([run_dir])
    people = [row for row in results.published if row["reader"] == "published-human" and row["style"] == "all"]
    assert sorted(row["modality"] for row in people) == ["audio", "av", "video"]
    assert all(row["protocol"] != "published" for row in results.scores)


def test_a_model_handed_ink_and_a_baseline_handed_tips_are_rungs(run_dir: Path, tmp_path: Path) -> None:
    names = [ladder.rungs for ladder in find_ladders(read_results([run_dir]))]
    assert (("talker", "the clip alone"), ("talker+ink", "ink")) in names
    assert (("ctc-free", "nothing"), ("ctc", "n, all English words (with frequencies)")) in names
    rows = json.loads((run_dir / "scores.json").read_text())
    handed = [{**row, "reader": "ctc+tips"} for row in rows if row["reader"] == "ctc"]
    (tmp_path / "scores.json").write_text(json.dumps(rows + handed), encoding="utf-8")
    found = find_ladders(read_results([tmp_path]))
    assert (("ctc", "the clip alone"), ("ctc+tips", "tips")) in [ladder.rungs for ladder in found]


def test_the_gallery_holds_no_more_items_than_asked(run_dir: Path) -> None:
    text = make_page(read_results([run_dir]), GallerySettings(items=2, media=False), load)
    data = json.loads(re.search(r'id="gallery-data">(.*?)</script>', text, re.S).group(1))  # type: ignore[union-attr]
    assert len(data["items"]) == 2 and "2 of 6 items" in text
    assert 'id="items"' not in make_page(read_results([run_dir]), GallerySettings(items=0), load)


@settings(max_examples=20, deadline=None)
@given(total=st.integers(1, 60), most=st.integers(1, 60))
def test_a_spread_of_items_repeats_none_and_reaches_every_style(total: int, most: int) -> None:
    table = pd.DataFrame({"item": [f"i{k}" for k in range(total)], "truth": ["ab"] * total})
    table["style"] = ["standard" if k % 2 else "cursive" for k in range(total)]
    chosen = spread(table, most)
    assert len(chosen) == len(set(chosen)) == min(total, most)
    if most > 1 and total > 1:
        assert set(table.set_index("item").loc[chosen, "style"]) == {"standard", "cursive"}


def test_clips_that_are_gone_leave_their_answers(run_dir: Path) -> None:
    def gone(run: Run) -> tuple[list[Clip], None]:
        raise UnwrittenError("DIR: is not there")

    text = make_page(read_results([run_dir]), GallerySettings(), gone)
    assert "its clips are not at hand" in text and 'id="g-item"' in text


def test_ink_keeps_its_shots_and_fades_where_the_pen_is_up() -> None:
    svg = ink_svg(moving_pen())
    assert svg.count("class='divider'") == 1
    assert "stroke-opacity='0.16'" in svg and "stroke-opacity='1.00'" in svg
    assert len(svg) < 12_000


@settings(max_examples=20, deadline=None)
@given(word=st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=8))
def test_emissions_name_the_letters_in_the_order_of_their_peaks(word: str) -> None:
    alphabet = "abcdefghijklmnopqrstuvwxyz"
    probability = np.full((40 * len(word), 27), 1e-4)
    for place, letter in enumerate(word):
        probability[40 * place + 20, 1 + alphabet.index(letter)] = 0.9
    svg = emissions_svg(probability, alphabet, 30.0)
    assert f"Peaks in order: {' '.join(word)}</desc>" in svg


def test_a_simulated_item_shows_ink_and_sound_but_no_frame() -> None:
    evidence = gather(make_clips()[0], None)
    assert evidence.ink and evidence.sound.startswith("data:image/png;base64,") and not evidence.frame
    assert evidence.duration_s == pytest.approx(2.0, abs=0.1) and not evidence.missing


def test_the_thumbnail_of_a_squashed_clip_has_its_true_shape(sample_clips: Path) -> None:
    import cv2

    uri = first_frame(sample_clips / "words" / "standard" / "above_muted.mp4")
    data = np.frombuffer(base64.b64decode(uri.partition(",")[2]), np.uint8)
    height, width = cv2.imdecode(data, cv2.IMREAD_COLOR).shape[:2]
    assert width / height == pytest.approx(9 / 16, rel=0.02)


def test_headings_sort_and_arrows_page(page: Path) -> None:
    found = run_in_page(
        page,
        """
        const table = document.querySelector("table.sortable");
        const button = [...table.querySelectorAll("th button")].find(b => b.textContent === "OLA %");
        const column = button.closest("th").cellIndex;
        const values = () => [...table.tBodies[0].rows].map(row => Number(row.cells[column].dataset.key));
        button.click(); const down = values(); button.click(); const up = values();
        const count = () => document.getElementById("g-count").textContent;
        document.getElementById("viewer").scrollIntoView({ behavior: "instant" });
        const press = key => document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
        const pages = [count()]; press("ArrowRight"); pages.push(count()); press("ArrowLeft"); pages.push(count());
        const select = document.getElementById("g-verdict");
        select.value = "wrong"; select.dispatchEvent(new Event("change")); const wrong = count();
        select.value = "right"; select.dispatchEvent(new Event("change")); const right = count();
        return { down, up, order: button.closest("th").getAttribute("aria-sort"), pages, wrong, right,
          shown: document.getElementById("g-item").innerText };
        """,
    )
    assert found["down"] == sorted(found["down"], reverse=True) and found["up"] == sorted(found["up"])
    assert found["order"] == "ascending"
    assert found["pages"] == ["1 of 6", "2 of 6", "1 of 6"]
    assert found["wrong"] == found["right"] == "1 of 3"
    assert "Recovered ink" in found["shown"] and "candidates" in found["shown"]


def test_a_phone_needs_no_sideways_scrolling(page: Path) -> None:
    found = run_in_page(
        page,
        """
        document.querySelectorAll("details").forEach(details => { details.open = true; });
        return [document.documentElement.scrollWidth, innerWidth];
        """,
        width_px=360,
    )
    wide, window = found
    assert wide <= window == 360


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["{missing}", "-o", "{out}"], "is no run directory"),
        (["{empty}", "-o", "{out}"], "holds no scores.json"),
        (["{damaged}", "-o", "{out}"], "cannot be read as JSON"),
        (["{run}", "{run}", "-o", "{out}"], "given twice"),
        (["{run}"], "nothing to write"),
        (["{run}", "-o", "{out}", "--items", "-1"], "--items -1"),
        (["{run}", "-o", "{run}/scores.json/page.html", "--items", "0"], "cannot be written"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], said: str, run_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("empty", "damaged"):
        (tmp_path / name).mkdir()
    (tmp_path / "damaged" / "scores.json").write_text("[{", encoding="utf-8")
    names = {name: tmp_path / name for name in ("missing", "empty", "damaged", "out")} | {"run": run_dir}
    assert main(["report", *(argument.format(**names) for argument in arguments)]) in (1, 2)
    error = capsys.readouterr().err.strip()
    assert "\n" not in error and said in error


def test_the_command_writes_page_and_tables(run_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, text, table = tmp_path / "r.html", tmp_path / "t.md", tmp_path / "t.tex"
    command = ["report", str(run_dir), "-o", str(page), "--items", "2", "--no-media"]
    assert main([*command, "--markdown", str(text), "--latex", str(table), "--title", "A < B"]) == 0
    assert capsys.readouterr().out.split() == [str(text), str(table), str(page)]
    assert "<title>A &lt; B</title>" in page.read_text(encoding="utf-8")
    assert r"\toprule" in table.read_text() and "| ctc |" in text.read_text()
