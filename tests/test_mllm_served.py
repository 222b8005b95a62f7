"""Which model answered stands in every row; another than the asked one is named, warned of once, and may be refused."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from mllm_loopback import claude_says, gemini_says, responds, says, serving, small_clip
from omegaconf import OmegaConf

from unwritten.readers import mllm
from unwritten.readers.mllm.sampling import sampling_taken
from unwritten.readers.mllm.served import is_asked
from unwritten.readers.mllm.settings import SamplingSettings
from unwritten.scoring.scores import score_table, write_scores
from unwritten.scoring.table import answers_table, read_answers, write_answers
from unwritten.scoring.text import format_scores
from unwritten.types import Answer, Clip

SAME = [
    ("gpt-4o", "gpt-4o-2024-11-20"),
    ("gpt-4o-2024-11-20", "gpt-4o-2024-11-20"),
    ("gpt-4", "gpt-4-0613"),
    ("claude-haiku-4-5", "claude-haiku-4-5-20251001"),
    ("gemini-2.0-flash", "gemini-2.0-flash-001"),
    ("models/gemini-3.8-flash", "gemini-3.8-flash"),
    ("openai/gpt-4o", "gpt-4o-2024-11-20"),
    ("google/gemini-3.8-flash:free", "google/gemini-3.8-flash"),
    ("Qwen/Qwen2.5-Omni-7B", "qwen/qwen2.5-omni-7b"),
    ("qwen3-vl", "qwen3-vl:latest"),
]
OTHER = [
    ("gemini-2.5-pro", "gemini-3.8-flash"),
    ("gemini-2.5-flash", "gemini-2.5-flash-lite"),
    ("gemini-2.5-flash", "gemini-2.5-flash-preview-05-20"),
    ("gpt-4o", "gpt-4o-mini-2024-07-18"),
    ("gpt-4o-2024-11-20", "gpt-4o-2024-08-06"),
    ("gpt-4o-2024-11-20", "gpt-4o"),
    ("gpt-4o", "gpt-4"),
    ("qwen3-vl:8b", "qwen3-vl:4b"),
    ("one/model", "other/model"),
]


@pytest.mark.parametrize(("asked", "served"), SAME)
def test_the_asked_model_is_its_own_name_or_the_snapshot_that_it_stands_for(asked, served):
    assert is_asked(asked, served)


@pytest.mark.parametrize(("asked", "served"), OTHER)
def test_another_model_another_date_and_an_undated_name_for_a_dated_one_are_not_the_asked_one(asked, served):
    assert not is_asked(asked, served)


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> list[Clip]:
    clip = small_clip(tmp_path_factory.mktemp("clip"))
    return [Clip(f"c{i}", files=clip.files, word="cat" + "s" * i, style="standard") for i in range(4)]


def ask(server: Any, store: Path, clips: list[Clip], **changes: Any) -> list[Answer]:
    base = {
        "kind": "mllm",
        "name": "x",
        "model": "gpt-4o",
        "abilities": ["image", "audio"],
        "base_url": f"{server.url}/v1",
        "store": str(store / "replies.sqlite3"),
        "prompt": {"sentences": ["It has {letters}."], "follow_up": ""},
        "limits": {"first_wait_s": 0.01, "concurrency": 1},
    }
    reader = mllm.load(OmegaConf.merge(OmegaConf.create(base), OmegaConf.create(changes)))
    return list(reader.read(clips, "video"))


def test_a_routed_name_is_named_in_answers_scores_and_table_and_warned_of_once(clips, tmp_path, caplog):
    routed = says("cat", served="gpt-6-luna")
    with serving(routed, models=["gpt-4o"]) as server, caplog.at_level(logging.WARNING, "unwritten"):
        answers = ask(server, tmp_path, clips)
    assert {answer.served_model for answer in answers} == {"gpt-6-luna"}
    assert len([one for one in caplog.records if "gpt-6-luna answered, not the asked gpt-4o" in one.getMessage()]) == 1
    table, _ = answers_table(answers, clips, "b", "transfer")
    write_answers(table, tmp_path / "answers.parquet")
    table = read_answers(tmp_path / "answers.parquet")
    assert set(table["served_model"]) == {"gpt-6-luna"}
    scores = score_table(table)
    (total,) = [score for score in scores if score.style == "all"]
    assert total.served_model == "gpt-6-luna, not the asked gpt-4o"
    assert "gpt-6-luna, not the asked gpt-4o" in format_scores(scores)
    write_scores(scores, tmp_path / "scores.json")
    assert json.loads((tmp_path / "scores.json").read_text())[0]["served_model"] == total.served_model


def test_a_version_that_changes_within_a_run_is_named(clips, tmp_path, caplog):
    script = [says("cat", served=f"gpt-4o-2024-{date}") for date in ("08-06", "08-06", "11-20")]
    with serving(*script, models=["gpt-4o"]) as server, caplog.at_level(logging.WARNING, "unwritten"):
        answers = ask(server, tmp_path, clips)
    assert "changed within the run from gpt-4o-2024-08-06 to gpt-4o-2024-11-20" in caplog.text
    (total, *_) = score_table(answers_table(answers, clips, "b", "transfer")[0])
    assert total.served_model == "changed: gpt-4o-2024-08-06 (2), gpt-4o-2024-11-20 (2)"


def test_a_strict_reader_fails_what_another_model_answered_and_pays_for_no_more_of_it(clips, tmp_path):
    strict = {"options": {"strict_model": True}}
    with serving(says("cat", served="gpt-6-luna"), models=["gpt-4o"]) as server:
        answers = ask(server, tmp_path, clips, **strict)
        assert len(server.asked) == 1
        assert [answer.state for answer in answers] == ["failed"] * len(clips)
        assert answers[0].served_model == "gpt-6-luna"
        assert all("gpt-6-luna answered, not the asked gpt-4o" in answer.error for answer in answers)
        lenient = ask(server, tmp_path, clips[:1])  # what was paid for is not paid for again
        assert len(server.asked) == 1
    assert lenient[0].state == "answered"
    with serving(says("cat", served="gpt-4o-2024-11-20"), models=["gpt-4o"]) as server:
        answers = ask(server, tmp_path / "resolved", clips[:1], **strict)
    assert answers[0].state == "answered"


def test_every_vendors_reply_says_which_model_answered(clips, tmp_path):
    served = "else-1"
    kinds = {
        "openai": (says("cat", served=served), {}),
        "responses": (responds("cat", served=served), {"options": {"api": "responses"}}),
        "anthropic": (claude_says("cat", served=served), {"provider": "anthropic"}),
        "gemini": (gemini_says("cat", served=served), {"provider": "gemini"}),
    }
    for name, (behaviour, changes) in kinds.items():
        with serving(behaviour, models=["gpt-4o"]) as server:
            url = f"{server.url}/v1" if name in ("openai", "responses") else server.url
            (answer,) = ask(server, tmp_path / name, clips[:1], **changes, base_url=url)
        assert (answer.word, answer.served_model) == ("cat", served), name


def test_the_end_of_a_model_is_told_before_the_first_call(clips, tmp_path, caplog):
    for provider, good in (("openai", says("cat")), ("anthropic", claude_says("cat"))):
        caplog.clear()
        with serving(good, models={"gpt-4o": "2027-01-14"}) as server, caplog.at_level(logging.WARNING, "unwritten"):
            url = f"{server.url}/v1" if provider == "openai" else server.url
            ask(server, tmp_path / provider, clips[:1], provider=provider, base_url=url)
        assert "gpt-4o shuts down on 2027-01-14" in caplog.text


TAKEN = ["gpt-4o-2024-11-20", "gpt-audio-1.5", "gemini-2.5-pro", "gemini-3.1-pro-preview", "gemini-3.5-flash"]
TAKEN += ["claude-haiku-4-5-20251001", "claude-opus-4-6", "Qwen/Qwen3-Omni-30B-A3B-Instruct"]
REFUSED = ["gpt-5.5-2026-04-23", "gpt-6.2-sol", "o3", "gemini-3.6-flash", "gemini-3.8-flash", "gemini-4-carbon"]
REFUSED += ["google/gemini-4-argon", "claude-opus-4-7", "claude-opus-5-5", "claude-sonnet-5", "claude-haiku-5-5"]
REFUSED += ["anthropic/claude-opus-5.5", "claude-fable-5-1"]


@pytest.mark.parametrize("model", [*TAKEN, *REFUSED])
def test_sampling_settings_go_only_to_models_that_take_them(model):
    taken = sampling_taken(model, SamplingSettings(temperature=0.0, top_p=0.9, seed=3))
    assert [taken.temperature, taken.top_p, taken.seed] == ([0.0, 0.9, 3] if model in TAKEN else [None] * 3)
    assert taken.max_tokens == 64


@pytest.mark.parametrize("model", ["gemini-3.5-flash", "gemini-3.8-flash"])
def test_a_temperature_that_gemini_deprecates_is_not_on_the_wire_even_when_it_is_set(clips, tmp_path, model):
    with serving(gemini_says("cat"), models=[model]) as server:
        ask(server, tmp_path, clips[:1], provider="gemini", model=model, base_url=server.url)
        config = server.asked[0]["generationConfig"]
    assert ({"temperature", "seed"} <= set(config)) == (model == "gemini-3.5-flash")
