"""Keys of stored results follow from the code that makes them, and from nothing else."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from unwritten.sources import PACKAGE, code_digest, dependencies, module_file

TRACK, FEATURES, PERFORMED = "unwritten.recordings.tracks", "unwritten.recordings.record", "unwritten.training.pool"


@pytest.fixture
def changed(tmp_path):
    """Digest of the code of a result after a change of a module."""
    numbers = iter(range(100))

    def digest(result, module, old, new):
        package = tmp_path / str(next(numbers)) / PACKAGE.name
        shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__", "conf", "checkpoints"))
        path = module_file(module, package)
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
        return code_digest(result, package)

    return digest


@pytest.mark.parametrize(
    ("result", "module"),
    [
        (TRACK, "unwritten.tracking.path"),
        (TRACK, "unwritten.media.video"),
        (TRACK, "unwritten.types"),
        (FEATURES, "unwritten.tracking.path"),
        (FEATURES, "unwritten.features.kinematics"),
        (PERFORMED, "unwritten.simulation.pen"),
        (PERFORMED, "unwritten.simulation.sound_noise"),
        (PERFORMED, "unwritten.features.spectrogram"),
    ],
)
def test_a_line_of_code_that_a_result_depends_on_changes_its_key(changed, result, module):
    assert changed(result, module, "from __future__", "CHANGED = 1\nfrom __future__") != code_digest(result)


def test_a_docstring_and_a_comment_do_not_change_it(changed):
    comment = ("unwritten.tracking.path", "from __future__", "# A remark.\n\nfrom __future__")
    assert changed(TRACK, *comment) == code_digest(TRACK)
    assert changed(TRACK, "unwritten.tracking.path", '"""', '"""Other words: ') == code_digest(TRACK)
    inner = ("unwritten.tracking.settings", '"""What the tracker', '"""All that the tracker')
    assert changed(TRACK, *inner) == code_digest(TRACK)


@pytest.mark.parametrize(
    ("result", "module"),
    [
        (TRACK, "unwritten.report.page"),
        (TRACK, "unwritten.features.kinematics"),
        (TRACK, "unwritten.simulation.pen"),
        (FEATURES, "unwritten.decoding.decode"),
        (PERFORMED, "unwritten.tracking.path"),
        (PERFORMED, "unwritten.training.fit"),
        (PERFORMED, "unwritten.simulation.camera"),
    ],
)
def test_a_module_that_it_does_not_use_does_not_change_it(changed, result, module):
    assert changed(result, module, "from __future__", "CHANGED = 1\nfrom __future__") == code_digest(result)


def test_imports_are_found_inside_functions_and_in_lazy_packages():
    assert {"unwritten.tracking.detector", "unwritten.tracking.hand", "unwritten.media.video"} <= dependencies(TRACK)


def test_a_digest_imports_nothing_of_what_it_reads():
    script = "import sys, unwritten.sources as s; s.code_digest('unwritten.training.pool'); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "torch", "unwritten.training"} & set(loaded)
