"""Imports point one way: between rooms in one order, and in no circle between modules, inside a room either."""

from __future__ import annotations

import graphlib

import pytest

from unwritten.sources import PACKAGE, imported

ORDER = (
    # What every room may use, and what uses none.
    *("errors", "wording", "types", "files", "revision", "config", "parallel", "sources", "run", "store"),
    "words",  # decoding, simulation and benchmark all take their words from here
    "media",
    "handwriting",
    "tracking",
    "features",
    "recordings",  # join tracks, sounds and features of files
    "simulation",  # makes recordings of handwriting, with the errors that tracks have
    "models",
    "decoding",
    "benchmark",
    "scoring",  # below readers: those that hand on printed scores build them
    "readers",
    "evaluation",
    "training",  # scores what it trained by evaluation's loop
    "replay",
    "report",
    "studies",
    "cli",
)
"""Rooms and single modules of the package; each imports only from itself and from those before it."""

MODULES = sorted(
    ".".join((PACKAGE.name, *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
    for path in PACKAGE.rglob("*.py")
)


def room(module):
    return module.split(".")[1] if "." in module else ""


def test_every_room_has_its_place_in_the_order():
    assert {room(module) for module in MODULES} - {"", "__main__"} == set(ORDER)


@pytest.mark.parametrize("place", range(len(ORDER)), ids=ORDER)
def test_a_room_imports_only_from_rooms_before_it(place):
    allowed = {"", *ORDER[: place + 1]}
    wrong = {
        f"{module} imports {other}"
        for module in MODULES
        if room(module) == ORDER[place]
        for other in imported(module)
        if room(other) not in allowed
    }
    assert not wrong


def test_no_module_imports_itself_by_way_of_others_not_even_inside_a_function():
    graph = {module: imported(module) for module in MODULES}
    assert len(list(graphlib.TopologicalSorter(graph).static_order())) == len(MODULES)


def test_imports_are_seen_at_the_top_inside_functions_and_for_types(tmp_path):
    package = tmp_path / "house"
    package.mkdir()
    for name in ("top", "inner", "typed", "caught"):
        (package / f"{name}.py").touch()
    (package / "__init__.py").touch()
    (package / "all.py").write_text(
        "from house.top import x\n"
        "if TYPE_CHECKING:\n    from house import typed\n"
        "def f():\n    try:\n        from house.inner import y\n    except OSError:\n        import house.caught\n"
    )
    assert imported("house.all", package) == {"house.top", "house.typed", "house.caught", "house.inner"}
