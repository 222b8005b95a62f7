"""Readers of UNIPEN, InkML and IAM-OnDB: what their files say comes out in millimetres and seconds, y up."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from unwritten.errors import UnwrittenError
from unwritten.handwriting import SimulatedWriter, lift_pen, load, load_npz
from unwritten.handwriting.iam import read_file as read_iam
from unwritten.handwriting.iam import split_words
from unwritten.handwriting.inkml import read_file as read_inkml
from unwritten.handwriting.unipen import read_folder
from unwritten.types import Strokes

INK = """
.PEN_DOWN
0 0
100 200
.PEN_UP
.PEN_DOWN
200 0
300 0
400 0
.PEN_UP
400 100
.PEN_DOWN
500 0
500 100
"""
HEAD = ".COORD X Y\n.X_POINTS_PER_MM 100\n.Y_POINTS_PER_MM 100\n.POINTS_PER_SECOND 100\n.WRITER_ID w1 \n"


def _unipen(folder: Path, segments: str, header: str | None = None, ink: str = INK) -> Path:
    """A UNIPEN folder with one writer at site ``xyz``; 100 points a millimetre, 100 a second."""
    for name, text in (("include/xyz/doc.doc", HEAD if header is None else header), ("include/xyz/ink.dat", ink)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    data = folder / "data" / "6" / "xyz" / "w1.dat"
    data.parent.mkdir(parents=True, exist_ok=True)
    data.write_text(f".VERSION 1.0\n.INCLUDE xyz/doc.doc\n.INCLUDE xyz/ink.dat\n{segments}\n")
    return folder


def test_an_empty_pen_up_has_no_number_in_unipen(tmp_path: Path) -> None:
    corpus = read_folder(_unipen(tmp_path, '.SEGMENT WORD 1-3 ? "to"'))
    sample = corpus[0]
    assert (sample.label, sample.writer) == ("to", "xyz/w1")
    np.testing.assert_allclose(sample.xy_mm, [[0, 0], [1, 0], [2, 0], [2, 1], [3, 0], [3, 1]], atol=1e-6)
    np.testing.assert_array_equal(sample.pen_down, [1, 1, 1, 0, 1, 1])
    np.testing.assert_allclose(np.diff(sample.time_s), 0.01, atol=1e-6)


def test_points_within_components_are_counted_from_nought_and_both_ends_belong(tmp_path: Path) -> None:
    corpus = read_folder(_unipen(tmp_path, '.SEGMENT CHARACTER 1:1-1:2 ? "a"\n.SEGMENT CHARACTER 1-1:1 ? "b"'))
    np.testing.assert_allclose(corpus[0].xy_mm, [[0, 0], [1, 0]], atol=1e-6)
    assert len(corpus[1]) == 2


def test_strokes_that_no_recorded_travel_connects_are_not_joined_by_ink(tmp_path: Path) -> None:
    sample = read_folder(_unipen(tmp_path, '.SEGMENT CHARACTER 0,3 ? "t"'))[0]
    assert sample.pen_down[:2].all() and sample.pen_down[-2:].all()
    assert not sample.pen_down[2:-2].any() and len(sample) > 8
    assert np.hypot(*np.diff(sample.xy_mm, axis=0).T).max() < 2.5


@pytest.mark.parametrize(
    ("segments", "header", "reason"),
    [
        ('.SEGMENT WORD 9 ? "to"', None, "components that the file lacks"),
        ('.SEGMENT WORD 1:7 ? "to"', None, "components that the file lacks"),
        (".SEGMENT WORD 1 ?", None, "a segment without a label"),
        ('.SEGMENT WORD 1 ? "To"', None, "a label outside the alphabet"),
        (
            '.SEGMENT WORD 1 ? "to"',
            ".X_POINTS_PER_MM 9\n.Y_POINTS_PER_MM 9\n.WRITER_ID w\n",
            "an impossible rate",
        ),
        ('.SEGMENT WORD 1 ? "to"', ".POINTS_PER_SECOND 100\n.WRITER_ID w\n", "no resolution"),
        ('.SEGMENT WORD 1 ? "to"', ".POINTS_PER_SECOND 100\n", "no writer"),
    ],
)
def test_what_unipen_does_not_say_is_counted(tmp_path: Path, segments: str, header: str | None, reason: str) -> None:
    with pytest.raises(UnwrittenError, match=f"1 with {reason}"):
        read_folder(_unipen(tmp_path, segments, header))
    if header is None:
        corpus = read_folder(_unipen(tmp_path, f'{segments}\n.SEGMENT WORD 1-3 ? "to"'))
        assert len(corpus) == 1
        assert corpus.skipped == {reason: 1}


def test_a_broken_unipen_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnwrittenError, match="no include folder"):
        read_folder(tmp_path)


@pytest.mark.parametrize(
    ("segments", "changes", "reason"),
    [
        ('.SEGMENT WORD 1-3 ? "to"\n.INCLUDE xyz/absent.dat', {}, "an .INCLUDE that is not there"),
        (
            '.SEGMENT WORD 1-3 ? "to"',
            {"ink": ".PEN_DOWN\n1 2\n.PEN_UP\n1 2 3\n.PEN_DOWN\n1 2\n.PEN_UP\n1 2\n"},
            "components that are not rows of numbers as .COORD says",
        ),
        ('.SEGMENT WORD 1-3 ? "to"', {"header": ".INCLUDE xyz/doc.doc\n"}, "files that include each other without end"),
    ],
)
def test_a_broken_unipen_file_costs_its_own_segments_alone(
    tmp_path: Path, segments: str, changes: dict[str, str], reason: str
) -> None:
    with pytest.raises(UnwrittenError, match=f"1 with {reason}"):
        read_folder(_unipen(tmp_path, segments, **changes))
    whole = tmp_path / "data" / "6" / "xyz" / "w2.dat"
    (tmp_path / "include/xyz/whole.dat").write_text(HEAD + INK)
    whole.write_text('.INCLUDE xyz/whole.dat\n.SEGMENT WORD 1-3 ? "to"\n')
    corpus = read_folder(tmp_path)
    assert len(corpus) == 1 and corpus.skipped == {reason: 1}


def test_a_keyword_in_the_text_of_a_comment_is_no_keyword(tmp_path: Path) -> None:
    comment = ".COMMENT stores\n    .PEN_DOWN and .PEN_UP\n\t.COORD\n"
    assert len(read_folder(_unipen(tmp_path, '.SEGMENT WORD 1-3 ? "to"', header=comment + HEAD))) == 1


def test_real_unipen_files_give_the_same_samples_as_the_corpus_made_of_them(unipen: Path) -> None:
    raw = load(unipen / "raw-sample")
    assert raw.skipped == {"a label outside the alphabet": 48}
    samples = defaultdict(list)
    for sample in raw:
        samples[sample.writer, sample.label].append(sample)
    words = load_npz(unipen / "words_with_hover.npz")
    same_sites = np.flatnonzero(np.isin(words.sites, ["cea", "pri"]))
    assert len(same_sites) == 210
    for index in same_sites:
        known = words[index]
        assert any(
            len(found) == len(known)
            and np.abs(found.xy_mm - known.xy_mm).max() < 0.011
            and (found.pen_down == known.pen_down).all()
            for found in samples[known.writer, known.label]
        ), (known.writer, known.label)


INKML = """<ink xmlns="http://www.w3.org/2003/InkML"><annotation type="writer">ann</annotation>
<definitions><context xml:id="c"><inkSource xml:id="s">{source}</inkSource><traceFormat>
<channel name="X" type="decimal" units="{unit}"/><channel name="Y" type="decimal" units="{unit}"/>{time}</traceFormat>
</context></definitions>
<traceGroup><annotation type="truth">to</annotation>{traces}</traceGroup></ink>"""
T_CHANNEL = '<channel name="T" type="integer" units="ms"/>'


def _inkml(folder: Path, traces: str, unit: str = "cm", time: str = T_CHANNEL, source: str = "") -> Path:
    path = folder / "word.inkml"
    path.write_text(INKML.format(traces=traces, unit=unit, time=time, source=source))
    return path


def test_inkml_comes_in_millimetres_and_seconds_with_y_up(tmp_path: Path) -> None:
    traces = "<trace>1 2 500, 1.5 3 510, 2 4 520</trace><trace>3 2 700, 3 3 710</trace>"
    (sample,) = read_inkml(_inkml(tmp_path, traces))
    assert (sample.label, sample.writer) == ("to", "ann")
    np.testing.assert_allclose(sample.xy_mm[:3], [[0, 0], [5, -10], [10, -20]], atol=1e-9)
    np.testing.assert_allclose(sample.time_s[[0, 2, -1]], [0.0, 0.02, 0.21], atol=1e-9)
    np.testing.assert_array_equal(sample.pen_down[[0, 1, 2, 3, -3, -2, -1]], [1, 1, 1, 0, 0, 1, 1])
    assert len(load(tmp_path / "word.inkml")) == len(load(tmp_path)) == 1


def test_inkml_differences_are_summed_as_the_recommendation_says(tmp_path: Path) -> None:
    trace = """<trace>1125 18432, '23'43, "7"-8, 3-5, 7 -3, 6 2, 6 8, 3 6</trace>"""
    source = '<sampleRate value="50"/>'
    (sample,) = read_inkml(_inkml(tmp_path, trace, "mm", "", source))
    places = sample.xy_mm * [1, -1] + [1125, 18432]
    expected = [[1125, 18432], [1148, 18475], [1178, 18510], [1211, 18540], [1251, 18567], [1297, 18596], [1349, 18633]]
    np.testing.assert_allclose(places[:7], expected)
    np.testing.assert_allclose(np.diff(sample.time_s), 0.02)


def test_inkml_device_units_go_through_the_stated_resolution(tmp_path: Path) -> None:
    resolution = '<channelProperty channel="{}" name="resolution" value="5" units="1/mm"/>'
    source = f"<channelProperties>{resolution.format('X')}{resolution.format('Y')}</channelProperties>"
    (sample,) = read_inkml(_inkml(tmp_path, "<trace>0 0 0, 10 0 10, 20 0 20</trace>", "dev", source=source))
    assert sample.xy_mm[-1, 0] == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("traces", "time", "message"),
    [
        ("<trace>1 2, 3 4</trace>", "", "no T channel and no sampleRate"),
        ("<trace>1 2 3, 4</trace>", T_CHANNEL, "point 1 of a trace"),
        ("<trace> </trace>", T_CHANNEL, "no points"),
        ("<trace>1 2 30, 3 4 20</trace>", T_CHANNEL, "backwards"),
        ("", T_CHANNEL, "no traces"),
    ],
)
def test_broken_inkml_is_refused(tmp_path: Path, traces: str, time: str, message: str) -> None:
    with pytest.raises(UnwrittenError, match=message) as caught:
        read_inkml(_inkml(tmp_path, traces, time=time))
    assert "word.inkml" in str(caught.value)


def test_xml_with_entities_or_of_another_kind_is_refused(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.inkml"
    bomb.write_text('<!DOCTYPE ink [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><ink>&b;</ink>')
    with pytest.raises(UnwrittenError, match=r"bomb\.inkml"):
        read_inkml(bomb)
    bomb.write_text("<svg/>")
    with pytest.raises(UnwrittenError, match="svg"):
        read_inkml(bomb)
    with pytest.raises(UnwrittenError, match="svg"):
        read_iam(bomb)
    bomb.write_text("<ink><trace>")
    with pytest.raises(UnwrittenError, match="XML"):
        read_inkml(bomb)


def _iam(folder: Path, gaps: tuple[float, float, float]) -> Path:
    """IAM-OnDB's layout with one line ``so far`` of four strokes, ``gaps`` apart."""
    left, strokes = 1000.0, ""
    for number, gap in enumerate((*gaps, 0.0)):
        points = "".join(
            f'<Point x="{left + 20 * k:.0f}" y="{500 + 30 * (k % 2)}" time="{100 + number + 0.02 * k:.2f}"/>'
            for k in range(6)
        )
        strokes += f'<Stroke colour="black" start_time="0" end_time="0">{points}</Stroke>'
        left += 100 + gap
    line = folder / "lineStrokes" / "a01" / "a01-000" / "a01-000u-02.xml"
    text = folder / "ascii" / "a01" / "a01-000" / "a01-000u.txt"
    form = folder / "original" / "a01" / "a01-000" / "strokesu.xml"
    for file in (line, text, form):
        file.parent.mkdir(parents=True, exist_ok=True)
    session = "<WhiteboardCaptureSession>{}</WhiteboardCaptureSession>"
    line.write_text(session.format(f"<StrokeSet>{strokes}</StrokeSet>"))
    text.write_text("OCR:\n\nfirst line\nzo tar\n\nCSR:\n\nfirst line\nso far\n")
    form.write_text(session.format('<General><Form id="1" writerID="10084"/></General>'))
    return line


def test_a_line_of_iam_has_its_text_writer_time_and_travel(tmp_path: Path) -> None:
    line = read_iam(_iam(tmp_path, (20, 200, 20)))
    assert (line.label, line.writer) == ("so far", "iam/10084")
    assert line.xy_mm[1, 1] < line.xy_mm[0, 1]
    assert line.time_s[0] == 0 and line.time_s[-1] == pytest.approx(3.1)
    assert not line.pen_down.all()
    corpus = load(tmp_path)
    assert list(corpus.labels) == ["so", "far"]
    assert corpus[0].pen_down[0] and corpus[1].pen_down[-1]


def test_a_line_whose_words_are_not_plainly_apart_is_left_out(tmp_path: Path) -> None:
    line = read_iam(_iam(tmp_path, (100, 110, 105)))
    assert split_words(line) == []
    with pytest.raises(UnwrittenError, match="without clear gaps"):
        load(tmp_path)


def test_a_point_without_time_is_refused(tmp_path: Path) -> None:
    line = _iam(tmp_path, (20, 200, 20))
    line.write_text(line.read_text().replace(' time="100.04"', ""))
    with pytest.raises(UnwrittenError, match="Point"):
        read_iam(line)


def test_what_is_no_handwriting_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent.npz"):
        with pytest.raises(UnwrittenError, match=path.name):
            load(path)
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(UnwrittenError, match=r"notes\.txt"):
        load(tmp_path / "notes.txt")


def test_a_jump_of_a_pen_that_is_said_to_be_down_becomes_travel() -> None:
    written = SimulatedWriter(4).write("t")
    down = written.pen_down
    only_down = Strokes(np.arange(down.sum()) / 200, written.xy_mm[down], np.ones(down.sum(), np.bool_), label="t")
    lifted = lift_pen(only_down)
    assert (~lifted.pen_down).sum() >= 2
    assert np.diff(lifted.pen_down.astype(int)).tolist().count(-1) == 1
    np.testing.assert_array_equal(lifted.xy_mm[lifted.pen_down], only_down.xy_mm)
    cursive = SimulatedWriter(4, "cursive").write("e")
    assert lift_pen(cursive).pen_down.all()
