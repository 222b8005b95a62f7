"""Outputs are whole or not there, and nothing but the named file is touched."""

from __future__ import annotations

import os
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unwritten.errors import UnwrittenError
from unwritten.files import cell_text, plain_cell, whole_file


def test_a_file_appears_whole_or_not_at_all(tmp_path):
    path = tmp_path / "deep" / "out.txt"
    with whole_file(path) as temporary:
        temporary.write_text("half")
        assert not path.exists()
    assert path.read_text() == "half"
    with pytest.raises(RuntimeError), whole_file(path) as temporary:
        temporary.write_text("other")
        raise RuntimeError
    assert path.read_text() == "half"
    assert [entry.name for entry in path.parent.iterdir()] == ["out.txt"]


def test_a_link_is_written_through(tmp_path):
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    with whole_file(tmp_path / "link.txt") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


def test_a_device_is_written_to_and_stays_a_device(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with whole_file(pipe) as temporary:
        temporary.write_text("through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_folder_in_the_way_is_named_in_one_line(tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(UnwrittenError, match=r"out: cannot be written"), whole_file(tmp_path / "out") as temporary:
        temporary.write_text("x")
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


def test_a_name_of_the_longest_that_a_file_may_have_is_written(tmp_path):
    for name in ("a" * 251 + ".txt", "é" * 125 + ".txt"):
        with whole_file(tmp_path / name) as temporary:
            temporary.write_text("whole")
        assert (tmp_path / name).read_text() == "whole"
    assert len(list(tmp_path.iterdir())) == 2


@given(st.text())
def test_no_cell_of_a_table_begins_as_a_formula_and_each_is_read_back(text):
    cell = plain_cell(text)
    assert not str(cell).startswith(("=", "+", "-", "@", "\t", "\r"))
    assert cell_text(str(cell)) == text
    assert plain_cell(-3.5) == -3.5
