"""evaluate.py from its configuration to its files: resumes, rescores, survives broken readers, says what is wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig

from unwritten.errors import UsageError
from unwritten.evaluation.evaluate import stored_tables
from unwritten.evaluation.items import load_benchmark
from unwritten.evaluation.jobs import Job, load_jobs
from unwritten.evaluation.log import AnswerLog
from unwritten.evaluation.loop import read_items
from unwritten.files import project_root
from unwritten.readers import Reader
from unwritten.run import record_run, refuse_other_settings
from unwritten.scoring.table import read_answers
from unwritten.types import Answer, Clip, Modality

CONTRACT = {
    *("reader", "benchmark", "protocol", "modality", "style", "n"),
    *("ola", "ola_low", "ola_high", "word_accuracy", "answered", "failed"),
}
READERS = sorted(path.stem for path in (project_root() / "conf" / "reader").glob("*.yaml"))


def composed(*overrides: str) -> DictConfig:
    with initialize_config_dir(str(project_root() / "conf"), version_base="1.3"):
        return compose("evaluate", list(overrides))


def run(*overrides: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(project_root() / "evaluate.py"), *overrides]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment, timeout=100)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that looks like the benchmark to a reader that opens nothing."""
    for style in ("standard", "cursive"):
        for word in ("cat", "house"):
            for name in (f"{word}.mp3", f"{word}_muted.mp4", f"{word}.mp4"):
                path = tmp_path / "clips" / "words" / style / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f"{style} {name}")
    return tmp_path / "clips"


class Stub(Reader):
    """Answers the truth; breaks once at the items named."""

    def __init__(self, name: str = "stub", breaks_at: Sequence[str] = ()) -> None:
        self.name = name
        self.breaks_at = set(breaks_at)
        self.asked_for: list[str] = []

    def modalities(self) -> tuple[Modality, ...]:
        return ("audio", "av")

    def read(self, clips: Sequence[Clip], modality: Modality) -> Iterator[Answer]:
        for clip in clips:
            self.asked_for.append(clip.id)
            if clip.id in self.breaks_at:
                raise RuntimeError("the reader\nfell over")
            yield Answer(clip.id, self.name, modality, raw=clip.word or "", word=clip.word or "")


CLIPS = [Clip(name, word=name) for name in ("one", "two", "three", "four")]


@pytest.mark.parametrize("name", READERS)
def test_every_reader_composes_alone_into_a_node_of_its_own(name: str) -> None:
    config = composed(f"reader={name}")
    assert list(config.reader) == [name.replace(".", "_")]
    assert config.reader[name.replace(".", "_")].kind in ("blind", "ctc", "mllm", "published", "recorded")


def test_several_readers_compose_and_the_default_has_the_baseline_and_the_floor() -> None:
    assert list(composed("reader=[ctc,blind-constant]").reader) == ["ctc", "blind-constant"]
    assert {"ctc", "ctc-letters", "ctc-free", "blind-constant"} <= set(composed().reader)


def test_a_broken_item_fails_alone_and_the_rest_is_read(tmp_path: Path) -> None:
    reader = Stub(breaks_at=["two"])
    with AnswerLog(tmp_path / "answers.jsonl") as log:
        answers = {answer.item: answer for answer in read_items(Job(reader, "transfer", "s"), CLIPS, "av", log)}
    assert answers["two"].state == "failed" and answers["two"].error == "the reader fell over"
    assert all(answers[name].state == "answered" for name in ("one", "three", "four"))


def test_a_killed_run_goes_on_where_it_stopped_and_tries_failed_items_again(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    with AnswerLog(path) as log:
        read_items(Job(Stub(breaks_at=["two"]), "transfer", "s"), CLIPS[:3], "av", log)
    # The kill came in the middle of a line.
    path.write_bytes(path.read_bytes() + b'{"settings": "s", "answer": {"item": "fo')
    log = AnswerLog(path)
    assert log.torn == 1
    reader = Stub()
    with log:
        answers = read_items(Job(reader, "transfer", "s"), CLIPS, "av", log)
    assert reader.asked_for == ["two", "four"]
    assert {answer.item: answer.word for answer in answers} == {clip.id: clip.word for clip in CLIPS}
    assert len(AnswerLog(path).stored("stub", "av", "s")) == 4


def test_answers_made_under_other_settings_are_read_again(tmp_path: Path) -> None:
    with AnswerLog(tmp_path / "answers.jsonl") as log:
        read_items(Job(Stub(), "transfer", "old"), CLIPS, "av", log)
        reader = Stub()
        read_items(Job(reader, "transfer", "new"), CLIPS, "av", log)
    assert len(reader.asked_for) == len(CLIPS)


def test_settings_tell_runs_apart() -> None:
    digests = [
        load_jobs(composed("reader=blind-random", *more))[0].settings
        for more in ([], [], ["reader.blind-random.power=1.0"], ["seed=1"], ["benchmark.limit=7"])
    ]
    assert digests[0] == digests[1] and len(set(digests)) == 4


def test_a_run_leaves_what_others_rely_on_and_can_be_scored_again_without_the_clips(folder: Path) -> None:
    out = folder.parent / "run"
    arguments = ["benchmark=unwritten", f"benchmark.root={folder}", f"hydra.run.dir={out}"]
    first = run("reader=[blind-constant,blind-random]", *arguments, cwd=folder.parent)
    assert first.returncode == 0, first.stderr
    rows = json.loads((out / "scores.json").read_text())
    assert all(set(row) == CONTRACT for row in rows)
    assert {(row["reader"], row["modality"], row["style"]) for row in rows} == {
        (reader, modality, style)
        for reader in ("blind-constant", "blind-random")
        for modality in ("audio", "video", "av")
        for style in ("all", "standard", "cursive")
    }
    total = next(row for row in rows if row["style"] == "all")
    assert (total["n"], total["answered"], total["failed"], total["benchmark"]) == (4, 4, 0, "unwritten")
    assert "blind-constant" in first.stdout and "above chance" in first.stdout
    table = read_answers(out)
    assert len(table) == 2 * 3 * 4 and set(table["protocol"]) == {"transfer"}
    provenance = json.loads((out / "provenance.json").read_text())
    assert provenance["packages"]["numpy"] and "git" in provenance
    assert "blind-random" in (out / "config.yaml").read_text()
    other = run("reader=blind-random", *arguments, cwd=folder.parent)
    assert other.returncode == 2 and len(other.stderr.strip().splitlines()) == 1
    assert f"{out}: holds scores.json of a run with other settings (reader.blind-constant." in other.stderr
    assert "choose another hydra.run.dir" in other.stderr and json.loads((out / "scores.json").read_text()) == rows
    repeat = run("reader=[blind-constant,blind-random]", *arguments, cwd=folder.parent)
    assert repeat.returncode == 0 and json.loads((out / "scores.json").read_text()) == rows
    again = run(f"answers={out}", f"hydra.run.dir={folder.parent / 'again'}", cwd=folder.parent)
    assert again.returncode == 0, again.stderr
    assert json.loads((folder.parent / "again" / "scores.json").read_text()) == rows


def test_runs_that_share_a_reader_are_told_apart(folder: Path, tmp_path: Path) -> None:
    from unwritten.scoring.table import answers_table, write_answers

    for name in ("first", "second"):
        answers = [Answer(clip.id, "ctc", "av", word=clip.word or "") for clip in CLIPS]
        write_answers(answers_table(answers, CLIPS, "b", "transfer")[0], tmp_path / name / "answers.parquet")
    table, _ = stored_tables([str(tmp_path / "first"), str(tmp_path / "second")])
    assert set(table["reader"]) == {"ctc", "ctc@second"}


@pytest.mark.parametrize(
    ("overrides", "status", "message"),
    [
        (["reader=nobody"], 2, "Could not find 'reader/nobody'"),
        (["reader=blind-constant", "benchmark=unwritten", "benchmark.root=/no/such/place"], 1, "/no/such/place"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path: Path, overrides: list[str], status: int, message: str) -> None:
    result = run(*overrides, f"hydra.run.dir={tmp_path / 'run'}", cwd=tmp_path)
    assert result.returncode == status
    assert len(result.stderr.strip().splitlines()) == 1 and message in result.stderr


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["benchmark.kind=elsewhere"], "known are simulated"),
        (["benchmark.limit=0"], "benchmark.limit=0: give 1 or more"),
        (["benchmark=unwritten"], "benchmark.root=DIR"),
    ],
)
def test_a_benchmark_that_cannot_be_is_refused(overrides: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load_benchmark(composed(*overrides).benchmark)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["reader=blind-constant", "protocol=guess"], "known are transfer"),
        (["reader=[blind-constant,blind-random]", "reader.blind-random.name=blind-constant"], "two readers"),
        (["reader=blind-constant", "reader.blind-constant.kind=seer"], "known are blind"),
        (["reader=blind-constant", "+reader.blind-constant.luck=1"], "luck: no such setting"),
        (["reader=recorded"], "needs reader.recorded.file"),
    ],
)
def test_a_reader_that_cannot_be_is_refused(overrides: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load_jobs(composed(*overrides))


def test_money_and_speed_may_change_when_a_run_goes_on(tmp_path: Path) -> None:
    from unwritten.evaluation.evaluate import _FREE

    config = composed("reader=gpt-4o", "modality=av")
    record_run(config, tmp_path)
    more = composed("reader=gpt-4o", "modality=av", "+budget_usd=20", "reader.gpt-4o.limits.attempts=1")
    other = composed("reader=gpt-4o", "modality=audio")
    refuse_other_settings(other, tmp_path, "scores.json", _FREE)  # nothing was scored yet
    (tmp_path / "scores.json").write_text("[]")
    refuse_other_settings(more, tmp_path, "scores.json", _FREE)
    with pytest.raises(UsageError, match=r"other settings \(modality\); choose another"):
        refuse_other_settings(other, tmp_path, "scores.json", _FREE)


@pytest.mark.parametrize(
    ("overrides", "named"),
    [
        (["reader=[]"], "reader=[]: name at least one reader"),
        (["fusion_margin=abc"], "fusion_margin=abc: give a number from 0 to 1"),
        (["snap=[nope]"], "nope"),
        (["seed=a"], "seed=a: give a whole number"),
        (["benchmark=handwriting", "benchmark.root=x.npz", "benchmark.held_share=abc"], "benchmark.held_share=abc"),
        (["benchmark=handwriting", "benchmark.root=x.npz", "benchmark.category=9"], "category 9: known are 1a, 1b"),
    ],
)
def test_a_value_that_means_nothing_is_said_before_anything_is_read(
    tmp_path: Path, overrides: list[str], named: str
) -> None:
    done = run("reader=blind-constant", *overrides, f"hydra.run.dir={tmp_path / 'run'}", cwd=tmp_path)
    assert done.returncode in (1, 2)
    assert done.stderr.count("\n") == 1 and named in done.stderr
    assert not done.stdout
    assert not any(path.suffix in (".jsonl", ".parquet", ".json") for path in tmp_path.rglob("*"))
