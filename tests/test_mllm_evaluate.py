"""``evaluate.py`` with a multimodal reader, from the command line to the tables, against a server on loopback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from mllm_loopback import fails, says, serving, small_clip

from unwritten.files import project_root

READER = "reader.openai-compatible"
KEY = "sk-secret-0123456789"


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("own")
    for word in ("cat", "dogs"):
        small_clip(folder, word, word)
    return folder


def evaluate(url: str, run: Path, root: Path, *overrides: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "evaluate.py",
        "reader=openai-compatible",
        "benchmark=unwritten",
        f"benchmark.root={root}",
        f"hydra.run.dir={run}",
        "modality=audio",
        "intervals.replicates=100",
        f"{READER}.model=m",
        f"{READER}.abilities=[audio]",
        f"{READER}.base_url={url}/v1",
        f"{READER}.key_env=UNWRITTEN_TEST_KEY",
        f"{READER}.store={run.parent / 'replies.sqlite3'}",
        f"{READER}.limits.attempts=1",
        f"{READER}.limits.concurrency=1",
        f"{READER}.prompt.follow_up=''",
        *overrides,
    ]
    environment = {**os.environ, "UNWRITTEN_TEST_KEY": KEY, "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, cwd=project_root(), env=environment, capture_output=True, text=True, timeout=300)


def test_a_run_from_the_command_line_is_scored_resumed_and_holds_no_key(benchmark, tmp_path):
    run = tmp_path / "run"
    with serving(says("cat"), fails(400, f"bad {KEY}"), says("dogs")) as server:
        dry = evaluate(server.url, run, benchmark, f"{READER}.dry_run=true")
        assert dry.returncode == 0, dry.stderr
        assert "openai-compatible audio: 2 calls for 2 items" in dry.stdout
        assert not server.asked
        first = evaluate(server.url, run, benchmark)
        assert first.returncode == 0, first.stderr
        second = evaluate(server.url, run, benchmark)
        assert second.returncode == 0, second.stderr
        assert len(server.asked) == 3
    table = pd.read_parquet(run / "answers.parquet")
    assert list(table["state"]) == ["answered", "answered"]
    (total,) = [row for row in json.loads((run / "scores.json").read_text()) if row["style"] == "all"]
    assert (total["n"], total["answered"], total["ola"]) == (2, 2, 1.0)
    sent = json.loads(table["details"].iloc[0])["sent"]
    assert sent["digest"] and sent["bytes"] > 1000
    for file in [*run.rglob("*"), tmp_path / "replies.sqlite3"]:
        if file.is_file():
            assert KEY.encode() not in file.read_bytes(), file
    assert KEY not in "".join(one.stdout + one.stderr for one in (dry, first, second))


def test_an_unknown_model_is_one_line_and_bad_usage(benchmark, tmp_path):
    with serving(says("cat"), models=["other"]) as server:
        result = evaluate(server.url, tmp_path / "run", benchmark)
        assert not server.asked
    assert result.returncode == 2
    assert result.stderr.strip().endswith("knows no model 'm'; it has other")
    assert len(result.stderr.strip().splitlines()) == 1
