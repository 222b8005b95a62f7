"""Counts as they are read."""

from __future__ import annotations

import pytest

from unwritten.wording import counted


@pytest.mark.parametrize(
    ("count", "words", "said"),
    [
        (0, ("clip",), "0 clips"),
        (1, ("clip",), "1 clip"),
        (1200, ("clip",), "1,200 clips"),
        (1, ("entry", "entries"), "1 entry"),
        (2, ("entry", "entries"), "2 entries"),
    ],
)
def test_one_is_singular_and_all_else_plural(count, words, said):
    assert counted(count, *words) == said
