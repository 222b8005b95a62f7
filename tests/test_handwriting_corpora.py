"""Corpora made of UNIPEN: the shipped checkpoint's files again, the rest under stated rules, always the same bytes."""

from __future__ import annotations

import hashlib
import json
import shutil
import tarfile
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from unwritten import cli
from unwritten.errors import UnwrittenError, UsageError
from unwritten.handwriting import load_npz
from unwritten.handwriting.corpora import RECIPES, gather, load_category, make_corpora
from unwritten.handwriting.corpus import from_arrays
from unwritten.handwriting.unipen import UnipenFolder
from unwritten.handwriting.unipen_writers import read_writers, shipped_writers, table
from unwritten.simulation.clips import load_handwriting_benchmark

HEADER = ".COORD X Y\n.X_POINTS_PER_MM 100\n.Y_POINTS_PER_MM 100\n.POINTS_PER_SECOND {rate}\n.WRITER_ID {writer}\n"


def _zigzag(length_mm: int, left_mm: int = 0) -> str:
    """A stroke of so many millimetres, ten points each, going to and fro over 10 mm."""
    points = ((left_mm * 100 + abs(k % 200 - 100) * 10, 10 * (k % 7)) for k in range(10 * length_mm))
    return ".PEN_DOWN\n" + "".join(f"{x} {y}\n" for x, y in points)


def _file(
    folder: Path, category: str, segments: str, ink: str, site: str = "xyz", writer: str = "w1", rate: float = 100
) -> Path:
    """Add a data file of one writer with 100 units a millimetre."""
    for name, text in (
        (f"include/{site}/{writer}.doc", HEADER.format(rate=rate, writer=writer)),
        (f"include/{site}/{writer}-{category}.dat", ink),
        (
            f"data/{category}/{site}/{writer}.dat",
            f".INCLUDE {site}/{writer}.doc\n.INCLUDE {site}/{writer}-{category}.dat\n{segments}",
        ),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="latin-1")
    return folder


def _made(folder: Path, name: str) -> tuple[list[str], dict[str, int]]:
    """Labels that a recipe takes from a folder, and what it leaves out."""
    (made,) = gather(UnipenFolder(folder), [recipe for recipe in RECIPES if recipe.name == name])
    return [str(label) for label in made.arrays()["label"]], dict(made.dropped)


def test_the_shipped_checkpoints_files_are_made_again_to_the_last_position(unipen: Path) -> None:
    """Of the two sites of the small tree; the slow test has all of it."""
    made = gather(UnipenFolder(unipen / "raw-sample"), RECIPES[:3])
    for corpus in made:
        arrays = from_arrays(corpus.arrays(), "made")
        known = load_npz(unipen / f"{corpus.recipe.name}.npz")
        known = known.subset(np.isin(known.writers, np.unique(arrays.writers)))
        samples = [
            Counter((sample.label, sample.writer, sample.xy_mm.tobytes(), sample.pen_down.tobytes()) for sample in part)
            for part in (arrays, known)
        ]
        assert len(arrays) > 0
        assert samples[0] <= samples[1]
    assert [len(corpus.samples) for corpus in made] == [1593, 210, 71]


@pytest.mark.slow
def test_all_of_unipen_gives_the_files_that_the_shipped_checkpoint_learned_from(unipen: Path, tmp_path: Path) -> None:
    assert cli.main(["corpora", str(unipen / "raw.tar.xz"), "-o", str(tmp_path)]) == 0
    for name in ("letters", "words_with_hover", "words_pen_down_only"):
        with np.load(unipen / f"{name}.npz") as known, np.load(tmp_path / f"{name}.npz") as made:
            for key in known.files:
                np.testing.assert_array_equal(made[key], known[key])
    account = json.loads((tmp_path / "corpora.json").read_text())
    assert account["letters.npz"]["left out"]["a broken rate (site kai)"] == 6768
    assert not any("list" in reason for corpus in account.values() for reason in corpus["left out"])
    assert sum(corpus["samples"] for name, corpus in account.items() if name in ("words.npz", "texts.npz")) > 75_000


def test_the_same_unipen_gives_the_same_bytes(tmp_path: Path) -> None:
    segments = '.SEGMENT CHARACTER 0 ? "7"\n.SEGMENT CHARACTER 1 OK "8"\n'
    folder = _file(tmp_path / "unipen", "1a", segments, _zigzag(20) + _zigzag(22, 30))
    shutil.copytree(folder, tmp_path / "copy")
    for source, target in ((folder, "first"), (tmp_path / "copy", "second")):
        account = make_corpora(source, tmp_path / target)
    digests = [
        {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in (tmp_path / name).iterdir()}
        for name in ("first", "second")
    ]
    assert digests[0] == digests[1]
    assert set(digests[0]) == {"digits.npz", "corpora.json"}
    assert account["digits.npz"]["sha256"] == digests[0]["digits.npz"]


@pytest.mark.parametrize("kind", ["tar.xz", "zip"])
def test_an_archive_is_read_as_the_folder_is(tmp_path: Path, kind: str) -> None:
    folder = _file(tmp_path / "in" / "train", "1a", '.SEGMENT CHARACTER 0 ? "7"', _zigzag(20))
    packed = shutil.make_archive(str(tmp_path / "unipen"), {"tar.xz": "xztar", "zip": "zip"}[kind], tmp_path / "in")
    for source, target in ((str(folder), "a"), (packed, "b")):
        assert cli.main(["corpora", source, "-o", str(tmp_path / target), "--writers", "all"]) == 0
    assert sorted(file.name for file in (tmp_path / "b").iterdir()) == ["corpora.json", "digits.npz"]
    assert (tmp_path / "a/digits.npz").read_bytes() == (tmp_path / "b/digits.npz").read_bytes()


def test_an_archive_writes_nothing_outside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "evil").write_text("x")
    with tarfile.open(tmp_path / "evil.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "evil", arcname="../outside")
    with zipfile.ZipFile(tmp_path / "cut.zip", "w") as members:
        members.writestr("data/x", "1" * 5000)
    (tmp_path / "cut.tar.xz").write_bytes(b"\xfd7zXZ\x00 and no more")
    for name in ("evil.tar.gz", "cut.zip", "cut.tar.xz"):
        assert cli.main(["corpora", str(tmp_path / name), "-o", str(tmp_path / "out" / "deep")]) == 1
        error = capsys.readouterr().err
        assert name in error and error.count("\n") == 1
        assert not (tmp_path / "out" / "outside").exists()
        assert not list((tmp_path / "out" / "deep").iterdir())


def test_labels_are_taken_with_single_spaces_and_what_no_alphabet_holds_is_named(tmp_path: Path) -> None:
    ink = "".join(_zigzag(60, 20 * k) for k in range(4))
    segments = (
        '.SEGMENT TEXT 0 ? "To  be,\n or not"\n.SEGMENT TEXT 1 ? "so \\"far\\""\n'
        '.SEGMENT TEXT 2 ? "fa\xe7ade is"\n.SEGMENT TEXT 3 BAD "to be"\n'
    )
    folder = _file(tmp_path / "unipen", "8", segments, ink)
    labels, dropped = _made(folder, "texts")
    assert labels == ["To be, or not", 'so "far"']
    assert dropped == {"a label outside the alphabet": 1, "a label or ink that its site calls bad": 1}
    account = make_corpora(folder, tmp_path / "out")
    assert account["texts.npz"]["labels outside the alphabet"] == {"fa\xe7ade is": 1}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"site": "art"}, "a broken rate (site art)"),
        ({"rate": 30}, "a rate outside 50 to 250 Hz"),
        ({"rate": 9600}, "an impossible rate"),
        ({"segments": '.SEGMENT WORD 0 ? "XXX"'}, "no label but a placeholder"),
        ({"segments": '.SEGMENT WORD 7 ? "some"'}, "components that the file lacks"),
        ({"segments": '.SEGMENT WORD 0 ? "some"\n.INCLUDE xyz/gone.dat'}, "an .INCLUDE that is not there"),
        ({"ink": ".PEN_DOWN\n1 2\n3\n"}, "components that are not rows of numbers as .COORD says"),
        ({"ink": ".PEN_DOWN\n1 2\nx 4\n"}, "components that are not rows of numbers as .COORD says"),
        ({"ink": ".PEN_DOWN\n1 2\n3 4\n5 6\n"}, "fewer than four positions"),
        ({"ink": ".PEN_DOWN\n1 2\n3 4\n5 6\n40000 1\n"}, "positions farther than 320 mm from the first"),
    ],
)
def test_each_reason_to_leave_a_word_out_is_counted_once(
    tmp_path: Path, changes: dict[str, str | float], reason: str
) -> None:
    options = {"segments": '.SEGMENT WORD 0 ? "some"', "ink": _zigzag(40), **changes}
    folder = _file(tmp_path, "7", **options)  # type: ignore[arg-type]
    assert _made(folder, "mixed_words") == ([], {reason: 1})
    with pytest.raises(UnwrittenError, match="no sample is left"):
        make_corpora(folder, tmp_path / "out")


def test_ink_that_does_not_fit_its_label_is_left_out_by_the_writers_own_measure(tmp_path: Path) -> None:
    lengths_mm = [40, 44, 36, 10, 41, 39, 200]
    words = ["some", "more", "ring", "half", "than", "four", "page"]
    segments = "".join(f'.SEGMENT WORD {k} ? "{word}"\n' for k, word in enumerate(words))
    labels, dropped = _made(_file(tmp_path, "7", segments, "".join(map(_zigzag, lengths_mm))), "mixed_words")
    assert labels == ["some", "more", "ring", "than", "four"]
    assert dropped == {"less ink than the label needs": 1, "more ink than the label needs": 1}


def test_a_segment_of_another_size_than_its_writers_others_is_left_out(tmp_path: Path) -> None:
    huge = ".PEN_DOWN\n" + "".join(f"{300 * k} 0\n" for k in range(80))
    segments = "".join(f'.SEGMENT CHARACTER {k} ? "{letter}"\n' for k, letter in enumerate("abcd"))
    labels, dropped = _made(_file(tmp_path, "1c", segments, _zigzag(20) * 3 + huge), "small_letters")
    assert labels == ["a", "b", "c"]
    assert dropped == {"an absurd size": 1}


def test_a_small_letters_file_of_the_shipped_checkpoint_keeps_what_the_text_files_leave_out(tmp_path: Path) -> None:
    segments = '.SEGMENT CHARACTER 0 BAD "a"\n.SEGMENT CHARACTER 1 ? "A"\n'
    folder = _file(tmp_path, "1c", segments, _zigzag(20) * 2)
    assert _made(folder, "letters")[0] == ["a"]
    assert _made(folder, "small_letters")[0] == []


def test_writers_can_be_chosen_by_a_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for writer in ("ann", "bob"):
        folder = _file(tmp_path / "unipen", "1a", '.SEGMENT CHARACTER 0 ? "7"', _zigzag(20), writer=writer)
    (tmp_path / "who.txt").write_text("# of us\nxyz/ann,training\n\n")
    out = tmp_path / "out"
    assert cli.main(["corpora", str(folder), "-o", str(out), "--writers", str(tmp_path / "who.txt")]) == 0
    assert "left out: 1 with a writer that is not on the list" in capsys.readouterr().out
    assert load_npz(out / "digits.npz", alphabet=None).writers.tolist() == ["xyz/ann"]
    assert cli.main(["corpora", str(folder), "-o", str(out)]) == 1
    assert "2 with a writer that is not on the list" in capsys.readouterr().err
    (tmp_path / "who.txt").write_text("\n")
    with pytest.raises(UnwrittenError, match="names no writer"):
        read_writers(tmp_path / "who.txt")


def test_every_writer_has_the_side_that_the_table_records() -> None:
    rows = table()
    assert len(rows) == len(shipped_writers()) == 711
    assert Counter((row["shipped"], row["side"]) for row in rows) == {
        ("1", "training"): 510,
        ("1", "held"): 62,
        ("0", "training"): 124,
        ("0", "held"): 15,
    }
    sample = {
        "xy_centimm": np.zeros((2 * len(rows), 2)),
        "pen_down": np.ones(2 * len(rows)),
        "offsets": np.arange(0, 2 * len(rows) + 1, 2),
        "label": np.array(["a"] * len(rows)),
        "writer": np.array([row["writer"] for row in rows]),
        "site": np.array(["x"] * len(rows)),
        "rate_hz": np.full(len(rows), 100.0),
    }
    training, held = from_arrays(sample, "table").split_writers((0.9, 0.1), seed=0)
    assert set(training.writers) == {row["writer"] for row in rows if row["side"] == "training"}
    assert set(held.writers) == {row["writer"] for row in rows if row["side"] == "held"}


def test_a_writer_of_the_shipped_files_is_split_under_the_own_name_and_others_with_whom_they_are() -> None:
    rows = {row["writer"]: row for row in table()}
    assert all(row["person"] == row["writer"] for row in rows.values() if row["shipped"] == "1")
    renamed = [row for row in rows.values() if row["person"] != row["writer"]]
    assert len(renamed) == 13
    for row in renamed:
        assert row["side"] == rows[row["person"]]["side"] and rows[row["person"]]["shipped"] == "1"


def test_the_three_files_hold_the_writers_that_the_table_marks(unipen: Path) -> None:
    names = ("letters", "words_with_hover", "words_pen_down_only")
    writers = {str(w) for name in names for w in np.unique(np.load(unipen / f"{name}.npz")["writer"])}
    assert writers == {row["writer"] for row in table() if row["shipped"] == "1"}


def test_a_category_is_the_same_from_unipen_and_from_the_files_made_of_it(tmp_path: Path) -> None:
    segments = "".join(f'.SEGMENT CHARACTER {k} ? "{label}"\n' for k, label in enumerate("7Aa8"))
    folder = _file(tmp_path / "unipen", "2", segments, _zigzag(20) * 4)
    _file(folder, "1a", '.SEGMENT CHARACTER 0 ? "7"\n.SEGMENT CHARACTER 1 ? "8"\n', _zigzag(20) * 2)
    make_corpora(folder, tmp_path / "out")
    for root in (folder, tmp_path / "out", tmp_path / "out" / "characters.npz"):
        assert load_category(root, "1a").labels.tolist() == ["7", "8"]
    assert load_category(tmp_path / "out", "2").labels.tolist() == ["7", "A", "a", "8"]
    with pytest.raises(UnwrittenError, match="no label of category 1d"):
        load_category(tmp_path / "out" / "characters.npz", "1d")
    with pytest.raises(UnwrittenError, match="holds no category 1b"):
        load_category(folder, "1b")
    with pytest.raises(UsageError, match="category 9: known are 1a, 1b, 1c, 1d, 2, 6, 7, 8"):
        load_category(folder, "9")


def test_a_category_becomes_clips_with_its_labels_of_writers_that_training_never_saw(tmp_path: Path) -> None:
    writers = [row["writer"] for row in table() if row["side"] == "held"][:2]
    for writer in (*writers, "xyz/seen"):
        site, _, name = writer.partition("/")
        _file(tmp_path, "1a", '.SEGMENT CHARACTER 0 ? "7"\n.SEGMENT CHARACTER 1 ? "8"', _zigzag(20) * 2, site, name)
    clips = load_handwriting_benchmark(tmp_path, held_share=0.1, category="1a")
    assert sorted((clip.writer, clip.word) for clip in clips) == [(w, d) for w in sorted(writers) for d in "78"]


def test_a_folder_without_categories_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "include").mkdir()
    for source, message in ((tmp_path, "holds no category 1c"), (tmp_path / "gone", "is not a folder")):
        assert cli.main(["corpora", str(source), "-o", str(tmp_path / "out")]) == 1
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1
