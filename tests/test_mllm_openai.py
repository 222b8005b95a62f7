"""Chat completions by the real client against servers that behave well and badly."""

from __future__ import annotations

import base64
import json
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from mllm_loopback import (
    Server,
    broken_json,
    drops,
    fails,
    html,
    says,
    serving,
    slow,
    small_clip,
    trickles,
)
from omegaconf import OmegaConf

from unwritten.errors import UnwrittenError, UsageError
from unwritten.media import probe
from unwritten.readers import mllm
from unwritten.types import Answer, Clip, Modality

KEY = "sk-test-0123456789abcdef"
ESSAY = "The hand moves down, then around. Several letters might fit: perhaps a c, perhaps an e, and then a t or an l."
PATIENT = {"first_wait_s": 0.01, "longest_wait_s": 5.0, "deadline_s": 30.0, "attempts": 3, "concurrency": 1}


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Clip:
    return small_clip(tmp_path_factory.mktemp("clip"))


def node(server: Server | None, store: Path, **changes: Any) -> Any:
    base: dict[str, Any] = {
        "kind": "mllm",
        "name": "m",
        "model": "m",
        "provider": "openai",
        "abilities": ["image", "audio", "video"],
        "key_env": "UNWRITTEN_TEST_KEY",
        "base_url": f"{server.url}/v1" if server else None,
        "store": str(store / "replies.sqlite3"),
        "prompt": {"sentences": ["{opening}", "It has {letters}."], "follow_up": ""},
        "limits": PATIENT,
    }
    return OmegaConf.merge(OmegaConf.create(base), OmegaConf.create(changes))


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNWRITTEN_TEST_KEY", KEY)


def ask(
    server: Server, store: Path, clips: Sequence[Clip], modality: Modality = "audio", **changes: Any
) -> list[Answer]:
    return list(mllm.load(node(server, store, **changes)).read(clips, modality))


def texts(request: dict[str, Any]) -> str:
    return " ".join(part.get("text", "") for part in request["messages"][-1]["content"])


REPLIES = [
    ("cat", "answered", "cat"),
    ("CAT", "answered", "cat"),
    ("Cat.", "answered", "cat"),
    ('"cat"!', "answered", "cat"),
    ("**cat**", "answered", "cat"),
    ("The word is **cat**.", "answered", "cat"),
    ("First a c, then an a.\n\nAnswer: cat", "answered", "cat"),
    ("I'm sorry, but I can't help with that.", "refused", ""),
    ("two words", "malformed", ""),
    ("cats", "malformed", "cats"),
    (ESSAY, "malformed", ""),
    ("", "empty", ""),
    ("...", "empty", ""),
    (None, "empty", ""),
]


@pytest.mark.parametrize(("reply", "state", "word"), REPLIES)
def test_a_reply_is_one_word_or_says_why_not(clip, tmp_path, reply, state, word):
    with serving(says(reply)) as server:
        (answer,) = ask(server, tmp_path, [clip])
    assert (answer.state, answer.word) == (state, word)
    assert answer.raw == (reply or "")


def test_filters_refusals_and_the_token_limit_have_states_of_their_own(clip, tmp_path):
    with serving(says(None, "content_filter")) as server:
        (blocked,) = ask(server, tmp_path / "1", [clip])
    with serving(says(None, refusal="No.")) as server:
        (refused,) = ask(server, tmp_path / "2", [clip])
    with serving(says("", "length")) as server:
        (cut,) = ask(server, tmp_path / "3", [clip])
    with serving(fails(400, "content_filter triggered", code="content_filter")) as server:
        (blocked_before,) = ask(server, tmp_path / "4", [clip])
    assert (blocked.state, refused.state, cut.state, blocked_before.state) == ("blocked", "refused", "empty", "blocked")
    assert "token limit" in cut.error
    assert not any(answer.word for answer in (blocked, refused, cut, blocked_before))


TROUBLES = [fails(429), fails(429, retry_after="0"), fails(500), fails(503), html, broken_json, drops]


@pytest.mark.parametrize("trouble", TROUBLES, ids=["429", "429-after", "500", "503", "html", "half-json", "drop"])
def test_what_may_pass_is_asked_again_and_what_stays_fails_with_its_cause(clip, tmp_path, trouble):
    with serving(trouble, says("cat")) as server:
        (answer,) = ask(server, tmp_path / "passes", [clip])
        assert (answer.state, answer.word, len(server.asked)) == ("answered", "cat", 2)
    with serving(trouble) as server:
        (answer,) = ask(server, tmp_path / "stays", [clip])
        assert len(server.asked) == PATIENT["attempts"]  # the client's own retries would multiply this
    assert (answer.state, answer.word, answer.raw) == ("failed", "", "")
    assert answer.error and "\n" not in answer.error


def test_retry_after_is_waited_for(clip, tmp_path):
    with serving(fails(429, retry_after="0.6"), says("cat")) as server:
        ask(server, tmp_path, [clip])
        assert server.asked_at[1] - server.asked_at[0] >= 0.6


@pytest.mark.parametrize("behaviour", [trickles, slow(3.0, says("cat"))], ids=["trickle", "slow"])
def test_the_deadline_ends_a_call_however_its_reply_comes(clip, tmp_path, behaviour):
    with serving(behaviour) as server:
        (answer,) = ask(server, tmp_path, [clip], limits={"deadline_s": 0.4, "attempts": 1})
        waited_s = time.monotonic() - server.asked_at[0]
    assert answer.state == "failed"
    assert "0.4 s" in answer.error
    assert waited_s < 2.5  # either reply takes 3 s and more


def test_a_refused_account_stops_the_run_at_the_first_call(clip, tmp_path):
    clips = [Clip(f"c{i}", files=clip.files, word="cat") for i in range(3)]
    with serving(fails(429, "You exceeded your quota", code="insufficient_quota")) as server:
        answers = ask(server, tmp_path, clips)
        assert len(server.asked) == 1
    assert [answer.state for answer in answers] == ["failed"] * 3


def test_keys_and_media_appear_nowhere(clip, tmp_path, capsys):
    media = base64.b64encode(clip.files["audio"].read_bytes()).decode()
    with serving(fails(400, f"bad request from {KEY}: {media}"), says(f"my key is {KEY}")) as server:
        first, second = ask(server, tmp_path, [clip, Clip("again", files=clip.files, word="dog")])
    stored = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    seen = f"{first}{second}{capsys.readouterr()}"
    assert KEY not in seen
    assert KEY.encode() not in stored
    assert media[:200] not in seen
    assert media[:200].encode() not in stored
    assert "bad request" in first.error


def test_sound_goes_out_encoded_again_and_without_pictures(clip, tmp_path):
    hides = Clip("hides", files={"audio": clip.files["av"]}, word="cat")  # a container with the answer's motion
    with serving(says("cat")) as server:
        (answer,) = ask(server, tmp_path, [hides])
        (part,) = [p for p in server.asked[0]["messages"][0]["content"] if p["type"] == "input_audio"]
    sound = tmp_path / "sent.wav"
    sound.write_bytes(base64.b64decode(part["input_audio"]["data"]))
    assert part["input_audio"]["format"] == "wav"
    assert probe(sound).video is None
    assert answer.details["sent"]["sound_s"] == pytest.approx(1.0, abs=0.1)
    assert "pictures" not in answer.details["sent"]


def test_frames_go_out_with_their_times_in_square_pixels(clip, tmp_path):
    with serving(says("cat")) as server:
        (answer,) = ask(server, tmp_path, [clip], "video", media={"fps": 5.0}, options={"detail": "low"})
        content = server.asked[0]["messages"][0]["content"]
    images = [part for part in content if part["type"] == "image_url"]
    assert len(images) == 5 == answer.details["sent"]["frames"]
    assert [part["text"] for part in content if part.get("text", "").endswith(" s")][:2] == ["0.00 s", "0.20 s"]
    assert answer.details["sent"]["size_px"] == [128, 48]
    assert answer.details["sent"]["fps"] == pytest.approx(5.0, abs=0.3)
    assert images[0]["image_url"]["detail"] == "low"
    assert not [part for part in content if part["type"] == "input_audio"]


def test_a_video_file_is_muted_and_states_its_rate(clip, tmp_path):
    body = {"mm_processor_kwargs": {"fps": "{fps}"}}
    with serving(says("cat")) as server:
        (answer,) = ask(
            server, tmp_path, [clip], "video", media={"pictures": "video", "fps": 5.0}, options={"body": body}
        )
        request = server.asked[0]
    (part,) = [p for p in request["messages"][0]["content"] if p["type"] == "video_url"]
    video = tmp_path / "sent.mp4"
    video.write_bytes(base64.b64decode(part["video_url"]["url"].split(",")[1]))
    info = probe(video)
    assert info.audio is None
    assert info.video is not None
    assert request["mm_processor_kwargs"]["fps"] == pytest.approx(answer.details["sent"]["fps"])


def test_pictures_and_sound_go_side_by_side_or_by_way_of_a_listener(clip, tmp_path):
    with serving(says("cat")) as server:
        ask(server, tmp_path, [clip], "av")
        kinds = {part["type"] for part in server.asked[0]["messages"][0]["content"]}
    assert kinds == {"text", "image_url", "input_audio"}
    with serving(says("three scratches"), says("cat"), models=["m", "ears"]) as server:
        (answer,) = ask(server, tmp_path / "relay", [clip], "av", media={"av": "relay"}, models={"audio": "ears"})
        heard, seen = server.asked
    assert heard["model"] == "ears"
    assert {part["type"] for part in heard["messages"][0]["content"]} == {"text", "input_audio"}
    assert seen["model"] == "m"
    assert {part["type"] for part in seen["messages"][0]["content"]} == {"text", "image_url"}
    assert "three scratches" in texts(seen)
    assert answer.tokens_in == 200


def test_a_refused_video_is_sent_again_at_lower_rates_and_the_rates_are_kept(clip, tmp_path):
    too_long = fails(400, "This model's maximum context length is 32768 tokens")
    media = {"pictures": "video", "fps": 10.0, "fps_ladder": [5.0, 2.0]}
    with serving(too_long, too_long, says("cat")) as server:
        (answer,) = ask(server, tmp_path, [clip], "video", media=media)
        assert len(server.asked) == 3
        (again,) = ask(server, tmp_path, [clip], "video", media=media)
        assert len(server.asked) == 3  # refusals are remembered too
        assert again.details["refused_rates"] == answer.details["refused_rates"]
    assert answer.word == "cat"
    assert answer.details["sent"]["fps_asked"] == 2.0
    assert [step["fps"] for step in answer.details["refused_rates"]] == [10.0, 5.0]


def test_what_was_answered_is_not_asked_again_and_what_failed_is(clip, tmp_path):
    other = Clip("other", files=clip.files, word="hound")
    with serving(says("cat"), fails(400), says("hound")) as server:
        first = ask(server, tmp_path, [clip, other])
        second = ask(server, tmp_path, [clip, other])
        assert len(server.asked) == 3
    assert [answer.state for answer in first] == ["answered", "failed"]
    assert [answer.word for answer in second] == ["cat", "hound"]
    assert second[0].details["from_store"] is True
    assert second[0].tokens_in == first[0].tokens_in == 100


@pytest.mark.parametrize(
    "change",
    [
        {"sampling": {"temperature": 1.0}},
        {"sampling": {"seed": 7}},
        {"model": "m2"},
        {"prompt": {"sentences": ["Which word has {letters}?"]}},
        {"media": {"sample_rate_hz": 8000}},
        {"options": {"body": {"reasoning_effort": "low"}}},
    ],
)
def test_every_setting_that_matters_asks_anew(clip, tmp_path, change):
    with serving(says("cat"), models=["m", "m2"]) as server:
        ask(server, tmp_path, [clip])
        ask(server, tmp_path, [clip], **change)
        assert len(server.asked) == 2


def test_the_budget_in_calls_is_never_passed_and_holds_over_restarts(clip, tmp_path, monkeypatch):
    monkeypatch.setattr(mllm, "_PROCESS", f"run-{tmp_path.name}")
    clips = [Clip(f"c{i}", files=clip.files, word="cat" + "s" * i) for i in range(5)]
    with serving(says("cat")) as server:
        for _ in range(2):
            answers = ask(server, tmp_path, clips, budget={"calls": 3}, limits={"concurrency": 3})
            assert len(server.asked) == 3
    assert sorted(answer.state for answer in answers)[:2] == ["answered", "failed"]
    assert all("budget of 3 calls" in answer.error for answer in answers if answer.state == "failed")


def test_the_budget_in_money_stops_before_it_is_passed(clip, tmp_path, monkeypatch):
    monkeypatch.setattr(mllm, "_PROCESS", f"run-{tmp_path.name}")
    clips = [Clip(f"c{i}", files=clip.files, word="cat" + "s" * i) for i in range(6)]
    prices = {"input": 1000.0, "output": 1000.0, "tokens_per_audio_s": 10}  # a call of 102 tokens costs 10 cents
    with serving(says("cat", tokens=(100, 2))) as server:
        answers = ask(server, tmp_path, clips, budget={"usd": 0.45}, prices=prices)
        assert 1 <= len(server.asked) < 6
    spent = sum(answer.cost or 0.0 for answer in answers)
    assert spent == pytest.approx(0.102 * len(server.asked))
    assert spent <= 0.45
    with pytest.raises(UsageError, match="the prices of m are unknown"):
        mllm.load(node(None, tmp_path, budget={"usd": 1.0}))


def test_no_more_calls_run_at_once_than_allowed_and_none_faster(clip, tmp_path):
    clips = [Clip(f"c{i}", files=clip.files, word="cat" + "s" * i) for i in range(6)]
    with serving(slow(0.05, says("cat"))) as server:
        ask(server, tmp_path, clips, limits={"concurrency": 2, "requests_per_minute": 600})
        assert server.most_at_once <= 2
        gaps = [later - earlier for earlier, later in zip(server.asked_at, server.asked_at[1:], strict=False)]
    assert sum(gaps) >= 5 * 0.1 - 0.05


def test_a_dry_run_asks_nothing_needs_no_key_and_says_what_it_would_cost(clip, tmp_path, monkeypatch):
    monkeypatch.delenv("UNWRITTEN_TEST_KEY")
    with serving(says("cat")) as server:
        reader = mllm.load(
            node(server, tmp_path, dry_run=True, prices={"input": 1e6, "output": 1e6}, sampling={"max_tokens": 10})
        )
        plan = reader.plan([clip, Clip("silent", word="x")], "audio")
        assert not server.asked
        assert not server.other
    assert (plan.items, plan.calls, plan.answered, plan.left_out) == (1, 1, 0, 1)
    assert plan.usd == pytest.approx(plan.tokens_in + plan.tokens_out, abs=1)  # a dollar a token
    assert plan.tokens_out == 10


def test_what_is_wrong_is_said_before_the_first_call(clip, tmp_path, monkeypatch):
    with serving(says("cat"), models=["m", "n"]) as server:
        with pytest.raises(UsageError, match="knows no model 'gpt-9'; it has m, n"):
            mllm.load(node(server, tmp_path, model="gpt-9"))
        with pytest.raises(UsageError, match="cannot be asked in av"):
            mllm.load(node(server, tmp_path, abilities=["image"], modalities=["video", "av"]))
        reader = mllm.load(node(server, tmp_path, abilities=["image"]))
        (wrong,) = reader.read([clip], "audio")
        assert "takes no audio; it takes video" in wrong.error
        only_sound = Clip("only-sound", files={"audio": clip.files["audio"]}, word="cat")
        (lacking,) = reader.read([only_sound], "video")
        assert "has no video file" in lacking.error
        with pytest.raises(UsageError, match="keys belong in the environment"):
            mllm.load(node(server, tmp_path, base_url="http://me:secret@localhost/v1"))
        with pytest.raises(UsageError, match="a key itself never goes there"):
            mllm.load(node(server, tmp_path, key_env="sk-proj-1234567890"))
        with pytest.raises(UsageError, match=r"options\.detial"):
            mllm.load(node(server, tmp_path, options={"detial": "low"}))
        monkeypatch.delenv("UNWRITTEN_TEST_KEY")
        with pytest.raises(UsageError, match="no key; set the environment variable UNWRITTEN_TEST_KEY"):
            mllm.load(node(server, tmp_path))
        assert not server.asked
    with pytest.raises(UnwrittenError, match="does not answer"):
        mllm.load(node(server, tmp_path, key_env=""))


def test_an_unclear_reply_is_followed_by_one_question_in_words(clip, tmp_path):
    follow_up = {"prompt": {"follow_up": "They said: {reply}. Which word{of_letters}?"}}
    with serving(says(ESSAY), says("cat")) as server:
        (answer,) = ask(server, tmp_path / "1", [clip], **follow_up)
        assert len(server.asked) == 2
        assert {part["type"] for part in server.asked[1]["messages"][0]["content"]} == {"text"}
        assert ESSAY in texts(server.asked[1])
    assert (answer.state, answer.word, answer.raw, answer.error) == ("answered", "cat", ESSAY, "")
    with serving(says(ESSAY), says("NONE")) as server:
        (answer,) = ask(server, tmp_path / "2", [clip], **follow_up)
    assert (answer.state, answer.word) == ("malformed", "")


KILLED = """
import sys, json, os
from pathlib import Path
sys.path.insert(0, {tests!r})
from omegaconf import OmegaConf
from unwritten.readers import mllm
from unwritten.types import Clip
reader = mllm.load(OmegaConf.create(json.loads({node!r})))
mllm_clips = [Clip(f"c{{i}}", files={{"audio": Path({audio!r})}}, word="cat" + "s" * i) for i in range(12)]
for answer in reader.read(mllm_clips, "audio"):
    print(answer.item, flush=True)
"""


def test_a_killed_process_loses_only_what_was_in_flight(clip, tmp_path):
    with serving(says("cat"), *[says("cat")] * 4, slow(0.3, says("cat"))) as server:
        settings = OmegaConf.to_container(node(server, tmp_path, limits={"concurrency": 2}))
        script = textwrap.dedent(KILLED).format(
            tests=str(Path(__file__).parent), node=json.dumps(settings), audio=str(clip.files["audio"])
        )
        process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        for _ in range(5):
            process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        time.sleep(0.5)  # what the dead process had sent is still being taken in
        sent_before = len(server.asked)
        with sqlite3.connect(tmp_path / "replies.sqlite3") as db:
            (kept,) = db.execute("SELECT COUNT(*) FROM replies").fetchone()
        assert kept >= 5
        server.behaviours[:] = [says("cat")]
        clips = [Clip(f"c{i}", files={"audio": clip.files["audio"]}, word="cat" + "s" * i) for i in range(12)]
        answers = ask(server, tmp_path, clips)
        assert len(answers) == 12
        asked_again = len(server.asked) - sent_before
    assert asked_again == 12 - kept
    assert sent_before - kept <= 2  # the two calls in flight
