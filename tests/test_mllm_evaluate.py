"""``evaluate.py`` with a multimodal reader, from the command line to the tables, against a server on loopback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest
from mllm_loopback import Behaviour, Handler, fails, says, serving, small_clip
from mllm_tiny import save_tiny_model

from unwritten.files import project_root
from unwritten.models.checkpoint import default_checkpoint
from unwritten.report.inputs import read_results
from unwritten.report.ladders import ladders_html
from unwritten.simulation.clips import simulated_writers_benchmark

READER = "reader.openai-compatible"
KEY = "sk-secret-0123456789"


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("own")
    for word in ("cat", "dogs"):
        small_clip(folder, word, word)
    return folder


def evaluate(url: str, run: Path, root: Path, *overrides: str) -> subprocess.CompletedProcess[str]:
    return command_line(
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
    )


def command_line(*overrides: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "UNWRITTEN_TEST_KEY": KEY, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "evaluate.py", *overrides]
    return subprocess.run(command, cwd=project_root(), env=environment, capture_output=True, text=True, timeout=900)


def test_a_run_from_the_command_line_is_scored_resumed_and_holds_no_key(benchmark, tmp_path):
    run = tmp_path / "run"
    with serving(says("cat"), fails(400, f"bad {KEY}"), says("dogs")) as server:
        dry = evaluate(server.url, run, benchmark, f"{READER}.dry_run=true")
        assert dry.returncode == 0, dry.stderr
        (line,) = [line for line in dry.stdout.splitlines() if line.startswith("openai-compatible")]
        assert line.split()[:5] == ["openai-compatible", "audio", "2", "2", "0"]  # items, calls, answered
        assert "openai-compatible cost, whose prices are not known" in dry.stdout
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


def test_one_dry_run_over_several_readers_needs_no_key_and_prints_one_table(benchmark, tmp_path):
    result = command_line(
        "reader=[gpt-6.2-sol,gemini-4-carbon,claude-opus-5.5]",
        "benchmark=unwritten",
        f"benchmark.root={benchmark}",
        f"hydra.run.dir={tmp_path / 'run'}",
        "modality=video",
        "dry_run=true",
        "budget_calls=100",
    )
    assert result.returncode == 0, result.stderr
    rows = [line.split()[:4] for line in result.stdout.splitlines()[2:5]]
    assert rows == [[name, "video", "2", "2"] for name in ("gpt-6.2-sol-low", "gemini-4-carbon", "claude-opus-5.5-low")]
    assert "and what gemini-4-carbon cost, whose prices are not known" in result.stdout


def test_replies_of_the_wrong_length_are_a_result_and_not_silence(benchmark, tmp_path):
    with serving(says("elephants")) as server:
        result = evaluate(server.url, tmp_path / "run", benchmark)
    assert result.returncode == 0, result.stderr
    assert "malformed 2" in result.stdout
    assert "no reader answered anything" not in result.stderr


def test_answers_refusals_blocks_and_failures_are_told_apart_in_scores_and_table(tmp_path):
    words = ("cat", "dogs", "map", "sun", "hat")
    for place, word in enumerate(words):  # of other lengths each: the same question is asked but once
        small_clip(tmp_path / "own", word, word, seconds=1 + place / 10)
    script = (
        says("cat"),
        says(None, refusal="I cannot tell handwriting from sound."),
        fails(400, "content_filter: the prompt was flagged", code="content_filter"),
        fails(500),
        says("a b c d e"),
    )
    with serving(*script) as server:
        result = evaluate(server.url, tmp_path / "run", tmp_path / "own")
    assert result.returncode == 0, result.stderr
    (total,) = [row for row in json.loads((tmp_path / "run" / "scores.json").read_text()) if row["style"] == "all"]
    measured = total["answering"]
    counts = {"answered": 1, "refused": 1, "blocked": 1, "empty": 0, "malformed": 1, "failed": 1}
    assert (measured["n"], measured["states"]) == (5, counts)
    assert measured["input_failure_rate"] == pytest.approx(1 / 5)
    assert measured["ola_all"] == total["ola"]
    assert measured["ola_answered"] == pytest.approx(5 * total["ola"])
    assert measured["presence"]["precision"] == pytest.approx(1 / 2)  # of the word and the letters
    assert measured["collapse"]["top_share"] == 1.0
    (line,) = [line for line in result.stdout.splitlines() if "refused 1" in line]
    assert "answered 1, refused 1, blocked 1, malformed 1, failed 1" in line
    assert "I cannot tell" not in result.stdout


def reads_where_letters_are_given(words: Sequence[str]) -> Behaviour:
    """A model that is asked item by item and names each where it is given letters, and else says one thing only."""
    left = iter(words)

    def behave(handler: Handler) -> None:
        content = handler.server.asked[-1]["messages"][-1]["content"]
        told = " ".join(part.get("text", "") for part in content)
        says(next(left) if "read these letters" in told else "qqq")(handler)

    return behave


@pytest.mark.slow
@pytest.mark.skipif(not default_checkpoint().is_file(), reason="checkpoints/ holds no checkpoint")
def test_a_sweep_over_the_rungs_says_where_each_model_recovers(tmp_path, monkeypatch):
    monkeypatch.setenv("UNWRITTEN_STORE", str(tmp_path / "store"))
    rungs = ("media", "ink", "segmentation", "strokes", "letters")
    local, served = "reader.qwen2_5-omni-7b", READER
    (tmp_path / "tiny").mkdir()
    words = [str(clip.word) for clip in simulated_writers_benchmark(limit=8, seed=0, severity_name="measured")]
    words[::3] = [
        f"{word[:-1]}q" for word in words[::3]
    ]  # always right, it would leave nothing to estimate limits from
    with serving(reads_where_letters_are_given(words)) as server:
        sweep = command_line(
            "-m",
            "reader=[qwen2.5-omni-7b,openai-compatible,blind-constant]",
            f"rung={','.join(rungs)}",
            "benchmark.limit=8",
            "modality=video",
            "intervals.replicates=200",
            f"hydra.sweep.dir={tmp_path / 'sweep'}",
            f"{local}.model={save_tiny_model(tmp_path / 'tiny')}",
            f"{local}.options.device=cpu",
            f"{local}.options.dtype=float32",
            f"{local}.options.frame_pixels=[3136,6272]",
            f"{local}.store={tmp_path / 'local.sqlite3'}",
            f"{local}.sampling.max_tokens=4",
            f"{local}.media.fps=2",
            f"{local}.media.fps_ladder=[]",
            f"{served}.model=m",
            f"{served}.abilities=[image]",
            f"{served}.base_url={server.url}/v1",
            f"{served}.store={tmp_path / 'served.sqlite3'}",
            f"{served}.media.fps=1",
            f"{served}.limits.concurrency=1",
        )
    assert sweep.returncode == 0, sweep.stderr
    runs = [tmp_path / "sweep" / str(place) for place in range(len(rungs))]
    joined = command_line(f"answers=[{','.join(map(str, runs))}]", f"hydra.run.dir={tmp_path / 'joined'}")
    assert joined.returncode == 0, joined.stderr
    assert "openai-compatible, video, simulated: recovers at letters." in joined.stdout
    assert "qwen2.5-omni-7b, video, simulated: recovers at no rung." in joined.stdout
    page = ladders_html(read_results(runs))
    assert "openai-compatible, handed one step more each time: simulated" in page
    assert "none of them" in page
    table = pd.read_parquet(tmp_path / "joined" / "answers.parquet")
    asked = table[~table["reader"].str.startswith("blind-")]
    details = [json.loads(text) for text in asked["details"]]
    assert {entry["rung"] for entry in details} == set(rungs)
    digests = [entry["sent"]["request_digest"] for entry in details]
    assert len(set(digests)) == len(digests) == 2 * 5 * 8
