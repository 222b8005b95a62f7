"""The store: computed once, whole or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from unwritten.errors import UnwrittenError
from unwritten.store import Store


def test_an_entry_is_computed_once_and_again_when_its_key_changes(tmp_path):
    store, calls = Store(tmp_path), []

    def compute():
        calls.append(1)
        return {"x": np.arange(3)}

    for _ in range(2):
        np.testing.assert_array_equal(
            store.get_or_compute("track", {"file": "abc", "window": 1}, compute)["x"], [0, 1, 2]
        )
    assert len(calls) == 1
    store.get_or_compute("track", {"file": "abc", "window": 2}, compute)
    assert len(calls) == 2


def test_a_corrupt_entry_is_computed_anew(tmp_path):
    store = Store(tmp_path)
    store.put("track", {"a": 1}, {"x": np.ones(100)})
    path = store.path("track", {"a": 1})
    path.write_bytes(path.read_bytes()[:200])
    assert store.get("track", {"a": 1}) is None
    assert store.get_or_compute("track", {"a": 1}, lambda: {"x": np.zeros(2)})["x"].shape == (2,)


def test_an_entry_with_any_bit_flipped_is_computed_anew(tmp_path):
    store, rng = Store(tmp_path), np.random.default_rng(0)
    store.put("track", {"a": 1}, {"x": np.arange(20), "y": np.ones(3, dtype=np.float32)})
    path = store.path("track", {"a": 1})
    whole = path.read_bytes()
    for bit in [0, 8 * len(whole) - 1, *rng.integers(8 * len(whole), size=300)]:
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << (bit % 8)
        path.write_bytes(flipped)
        assert len(list(store.entries())) == 1
        assert store.get("track", {"a": 1}) is None, bit
    path.write_bytes(whole)
    found = store.get("track", {"a": 1})
    assert found is not None
    np.testing.assert_array_equal(found["x"], np.arange(20))


def test_a_writer_killed_in_the_middle_leaves_only_whole_entries(tmp_path):
    script = textwrap.dedent(
        """
        import sys, numpy as np
        from unwritten.store import Store
        store = Store(sys.argv[1])
        for n in range(10_000):
            store.put("big", {"n": n}, {"x": np.full(20_000, n)})
            if n == 3:
                print("going", flush=True)
        """
    )
    process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    entries = list(Store(tmp_path).entries())
    assert len(entries) >= 4
    assert all(entry.kind == "big" for entry in entries)
    for entry in entries:
        values = Store(tmp_path).get("big", entry.key)
        assert values is not None
        assert (values["x"] == entry.key["n"]).all()


def test_pruning_deletes_what_was_used_longest_ago(tmp_path):
    store = Store(tmp_path)
    for n in range(3):
        store.put("x", {"n": n}, {"x": np.zeros(1000)})
        os.utime(store.path("x", {"n": n}), (1000 + n, 1000 + n))
    size = next(store.entries()).size
    deleted = store.prune(keep_bytes=2 * size)
    assert deleted == [store.path("x", {"n": 0})]


def test_a_store_that_cannot_be_written_says_so_in_one_line(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    with pytest.raises(UnwrittenError, match="cannot be written"):
        Store(blocked).put("x", {}, {"x": np.zeros(1)})
