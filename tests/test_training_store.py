"""The store under many processes, full disks and kill -9, and the commands that fill, show and prune it."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from unwritten.cli import main
from unwritten.cli.store import readable, size_in_bytes
from unwritten.errors import UsageError
from unwritten.parallel import run_jobs
from unwritten.store import Store, StoreError

FILL = """
    import functools, sys, time
    import numpy as np
    from unwritten.store import Store
    from unwritten.parallel import run_jobs

    def work(n, root, log):
        def compute():
            with open(log, "a") as stream:
                stream.write(f"{n}\\n")
            time.sleep(0.05)
            return {"x": np.full(5_000, n)}
        return int(Store(root).get_or_compute("big", {"n": n}, compute)["x"][0])

    if __name__ == "__main__":
        root, log, processes = sys.argv[1:]
        job = functools.partial(work, root=root, log=log)
        results = dict(run_jobs(job, range(40), int(processes), progress=False))
        assert results == {n: n for n in range(40)}, results
"""


@pytest.fixture
def fill(tmp_path):
    script = tmp_path / "fill.py"
    script.write_text(textwrap.dedent(FILL))

    def start(root, log, processes=2):
        log.touch()
        return subprocess.Popen([sys.executable, str(script), str(root), str(log), str(processes)])

    return start


def test_many_processes_fill_and_read_one_store_at_once(fill, tmp_path):
    running = [fill(tmp_path / "store", tmp_path / f"log{n}", processes=1) for n in range(4)]
    assert [process.wait(60) for process in running] == [0] * 4
    assert sum(1 for _ in Store(tmp_path / "store").entries()) == 40
    assert Store(tmp_path / "store").stale_parts(older_than_s=0) == []


def test_after_kill_9_the_next_run_redoes_only_what_was_in_flight(fill, tmp_path):
    root, log = tmp_path / "store", tmp_path / "log"
    process = fill(root, log)
    deadline = time.monotonic() + 60
    while len(log.read_text().splitlines()) < 8 and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    while time.monotonic() < deadline:  # the workers notice that their parent is gone, and end
        before = log.read_text()
        time.sleep(0.4)
        if log.read_text() == before:
            break
    started, kept = set(log.read_text().split()), {str(entry.key["n"]) for entry in Store(root).entries()}
    assert 8 <= len(started) < 40, "it was killed too late to show anything"
    assert len(started - kept) <= 2
    again = tmp_path / "again"
    assert fill(root, again).wait(60) == 0
    assert set(again.read_text().split()) == {str(n) for n in range(40)} - kept


def test_jobs_give_their_numbers_whatever_order_they_end_in():
    assert dict(run_jobs(abs, [-3, 2, -1], processes=1, progress=False)) == {0: 3, 1: 2, 2: 1}


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EACCES, errno.EROFS])
def test_a_full_disk_is_one_line_and_leaves_nothing_behind(tmp_path, monkeypatch, error):
    def savez(stream, **arrays):
        stream.write(b"half")
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(np, "savez", savez)
    with pytest.raises(StoreError, match=rf"{os.strerror(error)}.*free some") as caught:
        Store(tmp_path).put("x", {}, {"x": np.zeros(1)})
    assert "\n" not in str(caught.value)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_size_limit_of_the_system_is_one_line(tmp_path):
    script = textwrap.dedent(
        """
        import resource, signal, sys
        import numpy as np
        from unwritten.store import Store, StoreError
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
        try:
            Store(sys.argv[1]).put("x", {}, {"x": np.zeros(100_000)})
        except StoreError as error:
            print(error)
        """
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True)
    assert "cannot be written (File too large)" in done.stdout
    assert done.stdout.count("\n") == 1
    assert not list(tmp_path.rglob("*.npz"))


def filled(root, count=3):
    store = Store(root)
    for n in range(count):
        store.put("track" if n else "features", {"n": n}, {"x": np.zeros(1000)})
        os.utime(store.path("track" if n else "features", {"n": n}), (1000 + n, 1000 + n))
    return store


def test_the_store_is_shown_by_kind_and_pruned_from_what_was_used_longest_ago(tmp_path, capsys):
    store = filled(tmp_path)
    part = store.path("track", {"n": 1}).with_name(".abc.123.part.npz")
    part.write_bytes(b"half")
    os.utime(part, (1000, 1000))
    assert main(["store", "--store", str(tmp_path), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert {kind: facts["entries"] for kind, facts in shown["kinds"].items()} == {"features": 1, "track": 2}
    assert shown["stale"] == 1
    keep = shown["kinds"]["track"]["bytes"]
    assert main(["store", "--store", str(tmp_path), "--prune", str(keep)]) == 0
    assert "deleted 2 files" in capsys.readouterr().out
    assert not part.exists()
    assert store.get("features", {"n": 0}) is None
    assert store.get("track", {"n": 2}) is not None


def test_a_part_that_is_being_written_is_not_pruned(tmp_path):
    store = filled(tmp_path)
    part = store.path("track", {"n": 1}).with_name(".abc.123.part.npz")
    part.write_bytes(b"half")
    store.prune(keep_bytes=0)
    assert part.exists()


@pytest.mark.parametrize(("text", "size"), [("0", 0), ("2GB", 2_000_000_000), ("1.5m", 1_500_000), ("10 kB", 10_000)])
def test_sizes_are_read_as_people_write_them(text, size):
    assert size_in_bytes(text) == size


def test_what_is_no_size_is_refused_and_sizes_are_shown_readably():
    with pytest.raises(UsageError, match="is no size"):
        size_in_bytes("lots")
    assert [readable(size) for size in (12, 3_400, 5_600_000, 7.8e9)] == ["12 B", "3 kB", "6 MB", "7.8 GB"]


@pytest.fixture
def sounds(tmp_path):
    from unwritten.media import write_audio

    folder = tmp_path / "clips"
    rng = np.random.default_rng(0)
    for name in ("standard/above", "standard/bread", "cursive/chair"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_audio(folder / f"{name}.mp3", rng.normal(0, 0.1, 16_000).astype(np.float32), 16_000)
    return folder


def test_prepared_clips_are_not_heard_again(sounds, tmp_path, monkeypatch, capsys):
    store = tmp_path / "store"
    command = ["prepare", str(sounds), "--processes", "1", "--store", str(store)]
    assert main(command) == 0
    assert "3 of 3 files" in capsys.readouterr().out
    assert {entry.kind for entry in Store(store).entries()} == {"features"}

    def fails(*arguments):
        raise AssertionError("it was heard again")

    monkeypatch.setattr("unwritten.recordings.record.record_file", fails)
    assert main(command) == 0


def test_a_changed_setting_and_a_changed_file_are_computed_anew(sounds, tmp_path):
    from unwritten.features.extract import FeatureSettings
    from unwritten.recordings.record import stored_features

    path, store = sounds / "standard" / "above.mp3", Store(tmp_path / "store")
    first = stored_features(path, "audio", FeatureSettings(), None, store)
    again = stored_features(path, "audio", FeatureSettings(), None, store)
    np.testing.assert_array_equal(first.spectrogram, again.spectrogram)
    stored_features(path, "audio", FeatureSettings(rotate=False), None, store)
    assert sum(1 for _ in store.entries()) == 2
    path.write_bytes((sounds / "standard" / "bread.mp3").read_bytes())
    assert not np.array_equal(
        stored_features(path, "audio", FeatureSettings(), None, store).spectrogram, first.spectrogram
    )
    assert sum(1 for _ in store.entries()) == 3


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_done(sounds, tmp_path, capsys):
    (sounds / "standard" / "bread.mp3").write_bytes(b"no sound at all")
    assert main(["prepare", str(sounds), "--processes", "1", "--store", str(tmp_path / "store")]) == 1
    error = capsys.readouterr().err.splitlines()
    assert "bread.mp3" in error[0]
    assert "1 of 3 files could not be read" in error[1]


def test_an_unwritable_store_ends_the_work_in_one_line(sounds, tmp_path, capsys):
    blocked = tmp_path / "blocked"
    blocked.write_text("a file")
    assert main(["prepare", str(sounds), "--processes", "1", "--store", str(blocked)]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "cannot be written" in error
