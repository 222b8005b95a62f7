"""What goes over the wire to each vendor and what comes back, as kept in ``cassettes``: a client that changes it shows.

A cassette holds the request that the vendor's real client sends, its keys and media cut, with the client's version, a
whole reply in the vendor's format, and what is taken from it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from mllm_loopback import Handler, serving, small_clip
from omegaconf import OmegaConf

from unwritten.readers import mllm
from unwritten.types import Clip

CASSETTES = sorted((Path(__file__).parent / "cassettes").glob("*.json"))
KEY = "sk-test-0123456789abcdef"
_HEADERS = ("authorization", "x-api-key", "x-goog-api-key", "anthropic-version", "content-type")
_MEDIA = re.compile(r"[A-Za-z0-9+/_-]{100,}={0,2}")


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Clip:
    return small_clip(tmp_path_factory.mktemp("clip"), "cat")


def cut(value: Any) -> Any:
    """The value without keys and media."""
    if isinstance(value, dict):
        return {name: cut(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [cut(inner) for inner in value]
    return _MEDIA.sub("[media]", value.replace(KEY, "[key]")) if isinstance(value, str) else value


def replays(reply: Any) -> Any:
    def behave(handler: Handler) -> None:
        handler.json(reply)

    return behave


@pytest.mark.parametrize("path", CASSETTES, ids=lambda path: path.stem)
def test_the_request_is_the_kept_one_and_the_kept_reply_is_understood(path, clip, tmp_path, monkeypatch):
    monkeypatch.setenv("UNWRITTEN_TEST_KEY", KEY)
    cassette = json.loads(path.read_text())
    with serving(replays(cassette["reply"]), models=[cassette["reader"]["model"]]) as server:
        base = {
            "kind": "mllm",
            "name": path.stem,
            "key_env": "UNWRITTEN_TEST_KEY",
            "base_url": server.url + cassette["base"],
            "store": str(tmp_path / "replies.sqlite3"),
            "prompt": {"sentences": ["It has {letters}."], "follow_up": ""},
            "media": {"fps": 2.0},
        }
        node = OmegaConf.merge(OmegaConf.create(base), OmegaConf.create(cassette["reader"]))
        (answer,) = mllm.load(node).read([clip], cassette["modality"])
        where, headers = server.asked_how[0]
        sent = {
            "path": where,
            "headers": {name: headers[name] for name in _HEADERS if name in headers},
            "body": server.asked[0],
        }
    assert cut(sent) == cassette["request"], f"{cassette['client']} sent something else"
    taken = {name: getattr(answer, name) for name in cassette["taken"]}
    assert taken == cassette["taken"], answer.error


def test_no_cassette_holds_a_key_or_media():
    assert len(CASSETTES) >= 7
    for path in CASSETTES:
        text = path.read_text()
        assert KEY not in text and not _MEDIA.search(text), path.name
