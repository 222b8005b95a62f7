"""What an evaluation would ask and pay for, over several readers, before anything is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mllm_loopback import says, serving, small_clip
from omegaconf import OmegaConf

from unwritten.evaluation.plans import format_plans, plans
from unwritten.readers import mllm
from unwritten.readers.blind import BlindReader, BlindSettings
from unwritten.types import Clip


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> list[Clip]:
    folder = tmp_path_factory.mktemp("clips")
    return [small_clip(folder, word, word) for word in ("cat", "dogs")]


def reader(name: str, store: Path, url: str = "http://127.0.0.1:9", **changes: Any) -> Any:
    base = {
        "kind": "mllm",
        "name": name,
        "model": "sees",
        "abilities": ["image", "audio"],
        "base_url": f"{url}/v1",
        "check_model": False,
        "store": str(store / "replies.sqlite3"),
        "prompt": {"sentences": ["It has {letters}."], "follow_up": ""},
        "media": {"fps": 5.0},
        "sampling": {"max_tokens": 10},
    }
    return mllm.load(OmegaConf.merge(OmegaConf.create(base), OmegaConf.create(changes)))


RELAY = {
    "models": {"audio": "hears"},
    "media": {"av": "relay"},
    "prices": {"input": 0.0, "output": 1e6},  # a dollar a token of what the seeing model says
    "model_prices": {"audio": {"input": 0.0, "output": 2e6}},
}


def test_a_relay_counts_both_calls_each_at_its_own_models_price(clips, tmp_path):
    both = reader("relay", tmp_path, **RELAY).plan(clips, "av")
    assert (both.items, both.calls) == (2, 4)
    assert both.tokens_out == 2 * (400 + 10)
    assert both.usd == pytest.approx(2 * (2 * 400 + 10))
    alone = reader("relay", tmp_path, **RELAY).plan(clips, "video")
    assert (alone.calls, alone.usd) == (2, pytest.approx(20))
    unpriced = reader("relay", tmp_path, **{**RELAY, "model_prices": {}})
    assert unpriced.plan(clips, "av").usd is None and unpriced.plan(clips, "video").usd is not None


def test_what_a_relay_really_costs_is_within_what_was_planned_and_answered_items_cost_nothing(clips, tmp_path):
    with serving(says("two touches", tokens=(100, 300)), says("cat", tokens=(100, 2)), models=["sees"]) as server:
        planned = reader("relay", tmp_path, server.url, **RELAY).plan(clips[:1], "av")
        (answer,) = reader("relay", tmp_path, server.url, **RELAY).read(clips[:1], "av")
        after = reader("relay", tmp_path, server.url, **RELAY).plan(clips, "av")
        assert len(server.asked) == 2
    assert answer.cost == pytest.approx(2 * 300 + 2)
    assert answer.cost <= planned.usd
    assert (after.answered, after.calls) == (1, 2)


def test_several_readers_are_one_table_with_calls_tokens_cost_and_minutes(clips, tmp_path):
    readers = [
        reader("priced", tmp_path, prices={"input": 1.0, "output": 1.0}, limits={"requests_per_minute": 4}),
        reader("unpriced", tmp_path, abilities=["image"]),
        BlindReader(BlindSettings()),
    ]
    text = format_plans(plans(readers, [*clips, Clip("mute", files={"video": Path("gone.mp4")}, word="x")], None))
    table = [line.split() for line in text.split("\n\n")[0].splitlines()]
    assert [row[:2] for row in table[2:]] == [
        *(["priced", modality] for modality in ("audio", "video", "av")),
        ["unpriced", "video"],
        *(["blind-constant", modality] for modality in ("audio", "video", "av")),
    ]
    rows = {(row[0], row[1]): row[2:] for row in table[2:]}
    assert rows["priced", "audio"][:3] == ["2", "2", "0"]
    assert rows["priced", "audio"][6] == "0.5"  # two calls, four a minute
    assert rows["unpriced", "video"][5:7] == ["unknown", "-"]
    assert rows["blind-constant", "av"][1] == "0" and rows["blind-constant", "av"][5] == "0.00"
    assert "and what unpriced cost, whose prices are not known" in text
    assert "priced video: 1 item cannot be asked" in text
