"""Gemini's own client against loopback servers: rates, thinking, blocks, uploads."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from mllm_loopback import Server, drops, fails, gemini_says, html, serving, slow, small_clip, trickles
from omegaconf import OmegaConf

from unwritten.errors import UnwrittenError, UsageError
from unwritten.media import probe
from unwritten.readers import mllm
from unwritten.types import Answer, Clip, Modality

KEY = "AIzaTestTestTestTestTestTestTest"


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Clip:
    return small_clip(tmp_path_factory.mktemp("clip"))


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNWRITTEN_TEST_KEY", KEY)


def ask(server: Server, store: Path, clip: Clip, modality: Modality = "av", **changes: Any) -> Answer:
    base = {
        "kind": "mllm",
        "name": "g",
        "model": "g-1",
        "provider": "gemini",
        "abilities": ["image", "audio", "video"],
        "key_env": "UNWRITTEN_TEST_KEY",
        "base_url": server.url,
        "store": str(store / "replies.sqlite3"),
        "prompt": {"sentences": ["{opening}", "It has {letters}."], "follow_up": ""},
        "media": {"pictures": "video", "av": "muxed", "fps": 5.0},
        "limits": {"first_wait_s": 0.01, "deadline_s": 30.0, "attempts": 3},
    }
    node = OmegaConf.merge(OmegaConf.create(base), OmegaConf.create(changes))
    (answer,) = mllm.load(node).read([clip], modality)
    return answer


def test_video_goes_with_its_rate_its_sound_and_the_settings(clip, tmp_path):
    options = {"thinking_budget": 0, "safety": "BLOCK_NONE"}
    with serving(gemini_says("cat", thought=7), models=["g-1"]) as server:
        answer = ask(server, tmp_path, clip, options=options, sampling={"seed": 3, "temperature": 0.5})
        request = server.asked[0]
    media, question = request["contents"][0]["parts"]
    assert media["videoMetadata"]["fps"] == pytest.approx(5.0, abs=0.3)
    assert media["videoMetadata"]["fps"] == answer.details["sent"]["fps"]
    file = tmp_path / "sent.mp4"
    file.write_bytes(base64.b64decode(media["inlineData"]["data"].replace("-", "+").replace("_", "/")))
    info = probe(file)
    assert info.video is not None
    assert info.audio is not None
    assert "3 letters" in question["text"]
    config = request["generationConfig"]
    assert config["thinkingConfig"]["thinking_budget"] == 0
    assert (config["seed"], config["temperature"]) == (3, 0.5)
    assert len(request["safetySettings"]) == 4
    assert answer.word == "cat"
    assert (answer.tokens_in, answer.tokens_out) == (500, 10)  # thinking is paid for
    assert answer.served_model == "g-1"


def test_muted_video_carries_no_sound_and_audio_no_pictures(clip, tmp_path):
    for modality, kind in (("video", "video/mp4"), ("audio", "audio/wav")):
        with serving(gemini_says("cat"), models=["g-1"]) as server:
            ask(server, tmp_path / modality, clip, modality)
            part = server.asked[0]["contents"][0]["parts"][0]
        assert part["inlineData"]["mime_type"] == kind
        file = tmp_path / f"sent-{modality}"
        file.write_bytes(base64.b64decode(part["inlineData"]["data"].replace("-", "+").replace("_", "/")))
        info = probe(file)
        assert (info.audio is None) == (modality == "video")
        assert (info.video is None) == (modality == "audio")


def test_media_past_the_inline_size_go_through_the_files_api_and_are_deleted(clip, tmp_path, monkeypatch):
    monkeypatch.setattr("unwritten.readers.mllm.gemini._POLL_S", 0.01)
    with serving(gemini_says("cat"), models=["g-1"]) as server:
        answer = ask(server, tmp_path, clip, options={"inline_bytes": 100})
        part = server.asked[0]["contents"][0]["parts"][0]
        assert answer.word == "cat"
        assert len(server.uploaded[0]) == answer.details["sent"]["bytes"]
        held = part["fileData"]
        # The service takes either spelling, and releases of the client differ.
        assert str(held.get("file_uri") or held.get("fileUri")).endswith("/files/clip")
        assert part["videoMetadata"]["fps"] == answer.details["sent"]["fps"]
        assert any(method == "DELETE" and path.endswith("files/clip") for method, path in server.other)


EMPTY = [
    (gemini_says(block="PROHIBITED_CONTENT"), "blocked", "PROHIBITED_CONTENT"),
    (gemini_says("no", finish="SAFETY"), "blocked", "SAFETY"),
    (gemini_says(candidates=False), "empty", "no candidates"),
    (gemini_says(None), "empty", "STOP"),
    (gemini_says(None, finish="MAX_TOKENS", thought=64), "empty", "token limit"),
    (gemini_says("Sorry, I cannot determine the word.", finish="STOP"), "refused", "refused"),
    (gemini_says("two words"), "malformed", "no single word"),
]


@pytest.mark.parametrize(("behaviour", "state", "why"), EMPTY)
def test_each_way_of_saying_nothing_has_its_state_and_no_word(clip, tmp_path, behaviour, state, why):
    with serving(behaviour, models=["g-1"]) as server:
        answer = ask(server, tmp_path, clip, "audio")
    assert (answer.state, answer.word) == (state, "")
    assert why in answer.error


TROUBLES = [fails(429), fails(429, retry_after="0"), fails(500), html, drops]


@pytest.mark.parametrize("trouble", TROUBLES, ids=["429", "429-after", "500", "html", "drop"])
def test_what_may_pass_is_asked_again(clip, tmp_path, trouble):
    with serving(trouble, gemini_says("cat"), models=["g-1"]) as server:
        answer = ask(server, tmp_path, clip, "audio")
        assert (answer.state, answer.word, len(server.asked)) == ("answered", "cat", 2)
    with serving(trouble, models=["g-1"]) as server:
        answer = ask(server, tmp_path / "stays", clip, "audio")
        assert len(server.asked) == 3
    assert (answer.state, answer.word) == ("failed", "")
    assert answer.error


@pytest.mark.parametrize("behaviour", [trickles, slow(3.0, gemini_says("cat"))], ids=["trickle", "slow"])
def test_the_deadline_ends_a_call(clip, tmp_path, behaviour):
    with serving(behaviour, models=["g-1"]) as server:
        answer = ask(server, tmp_path, clip, "audio", limits={"deadline_s": 0.4, "attempts": 1})
    assert answer.state == "failed"
    assert "0.4 s" in answer.error


def test_a_rate_that_the_service_would_not_take_is_refused(clip, tmp_path):
    with serving(gemini_says("cat"), models=["g-1"]) as server:
        with pytest.raises(UsageError, match="at most 24 frames a second"):
            ask(server, tmp_path, clip, media={"fps": 30.0})
        assert not server.asked


def test_an_unknown_model_and_a_refused_key_are_said_before_any_question(clip, tmp_path):
    with serving(gemini_says("cat"), models=["g-2"]) as server:
        with pytest.raises(UsageError, match="knows no model 'g-1'"):
            ask(server, tmp_path, clip)
        assert not server.asked
    with pytest.raises(UnwrittenError, match="does not answer"):
        ask(server, tmp_path, clip)


def test_the_key_is_in_no_error_and_not_in_the_store(clip, tmp_path):
    with serving(fails(403, f"key {KEY} is not allowed"), models=["g-1"]) as server:
        answer = ask(server, tmp_path, clip, "audio")
    assert answer.state == "failed"
    assert KEY not in str(answer)
    assert KEY.encode() not in b"".join(file.read_bytes() for file in tmp_path.iterdir())
