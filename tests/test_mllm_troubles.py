"""What is waited for, what ends a run, and what stops after three items, by each vendor's real client."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from mllm_loopback import Behaviour, claude_says, fails, gemini_quota, gemini_says, says, serving, small_clip
from omegaconf import OmegaConf

from unwritten.readers import mllm
from unwritten.readers.mllm.provider import CallError
from unwritten.readers.mllm.troubles import Streak, trouble_of_status, wait_of_headers
from unwritten.types import Answer, Clip

LOCATION = "User location is not supported for the API use."


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> list[Clip]:
    clip = small_clip(tmp_path_factory.mktemp("clip"))
    return [Clip(f"c{i}", files=clip.files, word="cat" + "s" * i) for i in range(10)]


def ask(server: Any, store: Any, clips: list[Clip], provider: str, **changes: Any) -> list[Answer]:
    base = {
        "kind": "mllm",
        "name": "x",
        "model": "m",
        "provider": provider,
        "abilities": ["image", "audio"],
        "base_url": server.url if provider != "openai" else f"{server.url}/v1",
        "store": str(store / "replies.sqlite3"),
        "prompt": {"sentences": ["It has {letters}."], "follow_up": ""},
        "limits": {"first_wait_s": 0.01, "deadline_s": 30.0, "attempts": 3, "concurrency": 1},
    }
    reader = mllm.load(OmegaConf.merge(OmegaConf.create(base), OmegaConf.create(changes)))
    return list(reader.read(clips, "video"))


def test_googles_quota_for_a_minute_is_waited_for_and_its_quota_for_a_day_ends_the_run(clips, tmp_path):
    minute = gemini_quota("GenerateRequestsPerMinutePerProjectPerModel", "0.4s")
    with serving(minute, minute, gemini_says("cat")) as server:
        (answer,) = ask(server, tmp_path / "minute", clips[:1], "gemini")
        assert answer.word == "cat"
        assert all(later - earlier >= 0.4 for earlier, later in zip(server.asked_at, server.asked_at[1:], strict=False))
    with serving(gemini_quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier")) as server:
        answers = ask(server, tmp_path / "day", clips[:3], "gemini")
        assert len(server.asked) == 1
    assert [answer.state for answer in answers] == ["failed"] * 3
    assert all("PerDay" in answer.error for answer in answers)


@pytest.mark.parametrize(
    ("status", "text", "trouble"),
    [
        (429, "RESOURCE_EXHAUSTED check your plan and billing details", "retry"),
        (429, "rate_limit_exceeded Rate limit reached on requests per min (RPM): Limit 3", "retry"),
        (429, "rate_limit_exceeded Rate limit reached on requests per day (RPD): Limit 200", "run"),
        (429, "Rate limit exceeded: free-models-per-day", "run"),
        (429, "insufficient_quota You exceeded your current quota, check your plan and billing details", "run"),
        (400, "invalid_request_error Your credit balance is too low to access the API", "run"),
        (402, "billing_error", "run"),
        (403, "PERMISSION_DENIED BILLING_DISABLED", "run"),
        (529, "overloaded_error", "retry"),
        (400, f"FAILED_PRECONDITION {LOCATION}", "call"),
        (400, "unsupported_parameter temperature", "call"),
        (400, "prompt is too long: 300000 tokens", "too_large"),
    ],
)
def test_codes_and_quota_names_decide_not_the_word_billing(status, text, trouble):
    assert trouble_of_status(status, text) == trouble


TEMPERATURE = "`temperature` is deprecated for this model"


@pytest.mark.parametrize(
    ("provider", "trouble"),
    [("openai", fails(400, TEMPERATURE)), ("anthropic", fails(400, TEMPERATURE)), ("gemini", fails(400, LOCATION))],
)
def test_an_error_that_every_item_would_meet_is_met_three_times_and_told_once(
    clips, tmp_path, caplog, provider: str, trouble: Behaviour
):
    with serving(trouble) as server, caplog.at_level(logging.WARNING, "unwritten"):
        answers = ask(server, tmp_path, clips, provider)
        assert len(server.asked) == 3
    assert [answer.state for answer in answers] == ["failed"] * len(clips)
    assert "3 items in a row met the same error" in answers[-1].error
    assert len([record for record in caplog.records if "asks nothing further" in record.getMessage()]) == 1


def test_errors_of_single_items_stop_nothing(clips, tmp_path):
    bad = fails(400, "could not decode image 17")
    with serving(bad, bad, says("cats"), bad, bad, says("cat")) as server:
        answers = ask(server, tmp_path, clips, "openai")
        assert len(server.asked) == len(clips)
    assert sum(answer.state == "failed" for answer in answers) == 4


def test_a_row_of_errors_is_one_only_where_they_are_alike():
    row = Streak(3)
    assert not row.met(CallError("400 no such field a (request 1)"))
    assert not row.met(CallError("400 no such field a (request 2)"))
    assert not row.met(CallError("400 no such field b (request 3)"))
    assert not row.met(CallError("blocked: 400 the prompt"))
    assert [row.met(CallError(f"400 no such field b (request {n})")) for n in range(3)] == [False, False, True]


def test_milliseconds_to_wait_are_obeyed_before_seconds(clips, tmp_path):
    assert wait_of_headers({"retry-after-ms": "250", "retry-after": "9"}) == 0.25
    assert wait_of_headers({"retry-after": "9"}) == 9.0
    assert wait_of_headers({"retry-after-ms": "soon"}) is None
    for provider, good in (("openai", says("cat")), ("anthropic", claude_says("cat"))):
        with serving(fails(429, retry_after="30", retry_after_ms="300"), good) as server:
            (answer,) = ask(server, tmp_path / provider, clips[:1], provider)
            waited_s = server.asked_at[1] - server.asked_at[0]
        assert answer.word == "cat"
        assert 0.3 <= waited_s < 20


def test_a_file_that_is_long_in_processing_is_uploaded_once(clips, tmp_path, monkeypatch):
    monkeypatch.setattr("unwritten.readers.mllm.gemini._POLL_S", 0.1)
    with serving(fails(503), gemini_says("cat")) as server:
        server.processing = ["PROCESSING"] * 12
        (answer,) = ask(
            server,
            tmp_path,
            clips[:1],
            "gemini",
            abilities=["video"],
            media={"pictures": "video"},
            options={"inline_bytes": 100},
            limits={"deadline_s": 0.8, "attempts": 5},
        )
        assert answer.word == "cat"
        assert len(server.asked) == 2  # one attempt ended while the file was processed, one met a busy server
        assert len(server.uploaded) == 1
        assert [method for method, _ in server.other].count("DELETE") == 1
