"""Damaged checkpoints, ink with a broken clock, and names that cannot be written end in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from unwritten.errors import UnwrittenError
from unwritten.files import whole_file
from unwritten.handwriting.inkml import read_file
from unwritten.handwriting.load import load as load_handwriting
from unwritten.models.checkpoint import default_checkpoint, load_model


def changed(**parts: Any) -> dict[str, Any]:
    return torch.load(default_checkpoint(), weights_only=True) | parts


def test_checkpoints_that_are_none_are_refused(tmp_path: Path) -> None:
    whole = changed()
    integers = {name: value.long() for name, value in whole["weights"].items()}
    absurd = dict(whole["model"]) | {name: 10**6 for name, value in whole["model"].items() if type(value) is int}
    damaged = [{}, {"format": 2}, changed(features={}), changed(weights=integers), changed(model=absurd)]
    path = tmp_path / "a.ckpt"
    for content in damaged:
        torch.save(content, path)
        with pytest.raises(UnwrittenError, match=r"a\.ckpt") as caught:
            load_model(path)
        assert "\n" not in str(caught.value)


def test_ink_whose_clock_jumps_is_refused(tmp_path: Path) -> None:
    form = '<traceFormat><channel name="X"/><channel name="Y"/><channel name="T" units="ms"/></traceFormat>'
    path = tmp_path / "a.inkml"
    path.write_text(
        f"<ink>{form}<trace>0 0 0, 1 1 10</trace><trace>2 2 100000000000000, 3 3 100000000000010</trace></ink>"
    )
    with pytest.raises(UnwrittenError, match="jumps"):
        read_file(path)


@pytest.mark.parametrize("name", ["a" * 300 + ".csv", "loop.csv"])
def test_names_that_cannot_be_written(tmp_path: Path, name: str) -> None:
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    with pytest.raises(UnwrittenError, match="cannot be written"), whole_file(tmp_path / name) as temporary:
        temporary.write_text("a")


def test_one_file_of_ink_without_time_does_not_refuse_its_folder(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "a.inkml").write_text("<ink><trace>0 0, 1 1</trace></ink>")
    with pytest.raises(UnwrittenError, match="no InkML file that can be used"):
        load_handwriting(tmp_path)
    form = '<traceFormat><channel name="X"/><channel name="Y"/><channel name="T" units="ms"/></traceFormat>'
    writer = '<annotation type="writer">w</annotation>'
    label = '<annotation type="truth">a</annotation>'
    (tmp_path / "b.inkml").write_text(
        f"<ink>{form}{writer}<traceGroup>{label}<trace>0 0 0, 90 90 10, 180 0 20</trace></traceGroup></ink>"
    )
    assert len(load_handwriting(tmp_path)) == 1
    assert "a.inkml" in caplog.text
