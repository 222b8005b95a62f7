"""One way from a clip to an answer: one base of all readers, one loop, and the command reads as evaluations do."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from unwritten.cli import main
from unwritten.evaluation.jobs import load_jobs
from unwritten.evaluation.log import AnswerLog
from unwritten.evaluation.loop import read_all
from unwritten.files import project_root
from unwritten.models.checkpoint import default_checkpoint
from unwritten.readers import Reader, mllm
from unwritten.readers.blind import BlindReader, BlindSettings
from unwritten.readers.recorded import RecordedReader
from unwritten.types import Answer, Clip, Modality

SOURCE = Path(str(project_root())) / "src" / "unwritten"


def test_nothing_is_asked_of_a_reader_by_the_name_of_an_attribute() -> None:
    asked = []
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in ("getattr", "hasattr")
            ):
                whose = ast.unparse(node.args[0])
                if whose.rpartition(".")[2] in ("reader", "job"):
                    asked.append(f"{path.name}:{node.lineno} {whose}")
    assert not asked


def test_every_kind_of_reader_has_the_one_base(tmp_path: Path) -> None:
    node = {"kind": "mllm", "name": "m", "model": "m", "abilities": ["audio"], "base_url": "http://127.0.0.1:9/v1"}
    remote = mllm.load(OmegaConf.create({**node, "dry_run": True, "store": str(tmp_path / "r.sqlite3")}))
    answered = RecordedReader(tmp_path / "none.csv", answers=[Answer("a", "recorded", "audio", word="cat")])
    clips = [Clip("a", word="cat"), Clip("b", word="dog")]
    for reader in (BlindReader(BlindSettings()), answered, remote):
        assert isinstance(reader, Reader)
        before = {name: repr(value) for name, value in vars(reader).items()}
        asked = reader.asked(clips, "audio")
        assert [clip.id for clip in asked] == (["a"] if reader is answered else ["a", "b"])
        assert {name: repr(value) for name, value in vars(reader).items()} == before, "asked() changed its reader"
        assert reader.unknown_items(clips) == () and reader.name in str(reader.plan(clips[:1], "audio"))


SETTINGS = {
    "benchmark": ("reader=ctc-benchmark", "reader.ctc-benchmark.decoding.answer=likeliest"),
    "none": ("reader=ctc-letters", "+reader.ctc-letters.decoding={}"),
    "order": ("reader=ctc-letters-ordered", "reader.ctc-letters-ordered.decoding.answer=likeliest"),
}
CASES: list[tuple[str, Modality, str]] = [
    ("above.mp3", "audio", "benchmark"),
    ("above.mp3", "audio", "order"),
    ("a-2c_muted.mp4", "video", "none"),
    ("above.mp4", "av", "benchmark"),
]


@pytest.mark.skipif(not default_checkpoint().is_file(), reason="checkpoints/ holds no checkpoint")
@pytest.mark.parametrize(("name", "modality", "lexicon"), CASES)
def test_the_command_and_an_evaluation_give_one_answer_to_one_clip(
    data: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    modality: Modality,
    lexicon: str,
) -> None:
    monkeypatch.setenv("UNWRITTEN_STORE", str(tmp_path / "store"))
    path, word = data / name, "above" if "above" in name else "a"
    command = ["read", str(path), "--length", str(len(word)), "--lexicon", lexicon, "--modality", modality, "--json"]
    assert main(command) == 0
    read = json.loads(capsys.readouterr().out)
    with initialize_config_dir(str(project_root() / "conf"), version_base="1.3"):
        config = compose("evaluate", list(SETTINGS[lexicon]))
    key = next(iter(config.reader))
    if lexicon == "benchmark":
        config.reader[key].decoding.frequency_weight = 0.3
    with AnswerLog(tmp_path / "answers.jsonl") as log:
        table, _ = read_all(load_jobs(config), [Clip(name, {modality: path}, word=word)], log, "samples")
    (row,) = table.to_dict("records")
    assert (row["word"], row["raw"], row["modality"]) == (read["word"], read["letters"], read["modality"])
    assert [[word, round(float(value), 6)] for word, value in row["candidates"]] == read["candidates"]
