"""Fetching the gated data set, against a small hub on loopback."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from unwritten import cli
from unwritten.benchmark.fetch.hub import REPOSITORY, fetch
from unwritten.errors import UnwrittenError

COMMIT = "0123456789abcdef0123456789abcdef01234567"
FILES = {
    "letters/standard/a-1.mp3": b"sound of a" * 300,
    "letters/standard/a-1_muted.mp4": b"pictures of a" * 500,
    "words/cursive/cursive: above.mp4": b"a name with a space and a colon" * 100,
}


class Hub(ThreadingHTTPServer):
    """Answers as the hub does for one gated data set; ``good`` has accepted the terms, ``other`` has not."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.sent: list[str] = []
        self.break_after: int | None = None
        self.status: int | None = None
        self.page = b""
        self.files = FILES
        self.daemon_threads = True

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Hub

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.respond(body=False)

    def do_GET(self) -> None:
        self.respond(body=True)

    def respond(self, body: bool) -> None:
        from urllib.parse import unquote, urlsplit

        path = unquote(urlsplit(self.path).path)
        hub = self.server
        if hub.status is not None:
            return self.send(hub.status, hub.page, {"Content-Type": "text/html"}, body)
        if path.startswith(f"/api/datasets/{REPOSITORY}/tree/{COMMIT}"):
            tree = [
                {"type": "file", "path": name, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}
                for name, data in hub.files.items()
            ]
            return self.send(200, json.dumps(tree).encode(), {"Content-Type": "application/json"}, body)
        if path in (f"/api/datasets/{REPOSITORY}", f"/api/datasets/{REPOSITORY}/revision/{COMMIT}"):
            info = {"id": REPOSITORY, "sha": COMMIT, "gated": "manual", "siblings": []}
            return self.send(200, json.dumps(info).encode(), {"Content-Type": "application/json"}, body)
        if path.startswith(f"/api/datasets/{REPOSITORY}/revision/"):
            return self.send(404, b"", {"X-Error-Code": "RevisionNotFound"})
        resolve = f"/datasets/{REPOSITORY}/resolve/{COMMIT}/"
        if not path.startswith(resolve):
            return self.send(404, b"", {"X-Error-Code": "RepoNotFound"})
        authorization = self.headers.get("Authorization")
        if authorization != "Bearer good":
            return self.send(401 if authorization is None else 403, b"", {"X-Error-Code": "GatedRepo"})
        name = path.removeprefix(resolve)
        data = hub.files[name]
        headers = {"ETag": f'"{hashlib.sha1(data).hexdigest()}"', "X-Repo-Commit": COMMIT}
        if body:
            hub.sent.append(name)
            if hub.break_after is not None and len(hub.sent) > hub.break_after:
                return self.send(503, b"", {})
        return self.send(200, data, headers, body)

    def send(self, status: int, data: bytes, headers: dict[str, str], body: bool = True) -> None:
        self.send_response(status)
        for key, value in {**headers, "Content-Length": str(len(data))}.items():
            self.send_header(key, value)
        self.end_headers()
        if body:
            self.wfile.write(data)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    server = Hub()
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", server.address)
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    # Its retries of a broken answer wait for seconds.
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda _: None)
    yield server
    server.shutdown()
    server.server_close()


def test_every_file_arrives_whole(hub: Hub, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    fetch(tmp_path / "data", token="good", before=lambda files, size: told.append((files, size)))
    for name, data in FILES.items():
        assert (tmp_path / "data" / name).read_bytes() == data
    assert told == [(len(FILES), sum(map(len, FILES.values())))]


def test_a_second_fetch_asks_for_nothing_that_is_there(hub: Hub, tmp_path: Path) -> None:
    fetch(tmp_path / "data", token="good", patterns=("letters/*",))
    assert sorted(hub.sent) == sorted(name for name in FILES if name.startswith("letters/"))
    hub.sent.clear()
    fetch(tmp_path / "data", token="good")
    assert hub.sent == ["words/cursive/cursive: above.mp4"]


def test_an_interrupted_fetch_goes_on(hub: Hub, tmp_path: Path) -> None:
    hub.break_after = 1
    with pytest.raises(UnwrittenError, match="run the same command again"):
        fetch(tmp_path / "data", token="good", workers=1)
    assert sum((tmp_path / "data" / name).is_file() for name in FILES) < len(FILES)
    hub.break_after = None
    fetch(tmp_path / "data", token="good")
    assert all((tmp_path / "data" / name).read_bytes() == data for name, data in FILES.items())


def test_a_missing_token_is_one_line_with_the_fix(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(UnwrittenError, match=r"no valid token.*accept the terms at http.*hf auth login") as caught:
        fetch(tmp_path / "data")
    assert "\n" not in str(caught.value)


def test_terms_that_are_not_accepted_are_one_line_with_the_page(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(UnwrittenError, match=rf"not accepted its terms; open http.*/datasets/{REPOSITORY}") as caught:
        fetch(tmp_path / "data", token="other")
    assert "\n" not in str(caught.value)


def test_a_refusal_is_not_taken_for_success_because_a_file_is_there(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_text("something else")
    hub.status = 401
    with pytest.raises(UnwrittenError, match="hf auth login"):
        fetch(tmp_path)
    hub.status = 403
    with pytest.raises(UnwrittenError, match="accept the terms"):
        fetch(tmp_path, token="other")


def test_a_hub_that_is_away_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "old.txt").write_text("something else")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda _: None)
    with pytest.raises(UnwrittenError, match="cannot be reached"):
        fetch(tmp_path, token="good")


def test_a_web_page_instead_of_the_hub_is_said(hub: Hub, tmp_path: Path) -> None:
    hub.status, hub.page = 200, b"<html>Please sign in</html>"
    with pytest.raises(UnwrittenError, match="did not answer as a hub does") as caught:
        fetch(tmp_path, token="good")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["../out.mp4", "/tmp/out.mp4", "..\\out.mp4", "C:\\out.mp4"])
def test_a_name_that_leads_out_of_the_folder_is_refused(hub: Hub, tmp_path: Path, name: str) -> None:
    hub.files = {**FILES, name: b"bad"}
    with pytest.raises(UnwrittenError, match="hidden or leads out of the folder; nothing was fetched"):
        fetch(tmp_path / "deep" / "data", token="good")
    assert not list(tmp_path.rglob("*"))


def test_hidden_files_of_a_repository_are_left_there(hub: Hub, tmp_path: Path) -> None:
    hub.files = {**FILES, ".gitattributes": b"x", ".git/hooks/post-checkout": b"bad", "words/.hidden": b"bad"}
    fetch(tmp_path, token="good")
    assert set(hub.sent) == set(FILES)
    assert not (tmp_path / ".git").exists() and not (tmp_path / "words/.hidden").exists()


def test_unknown_revisions_and_names_are_said(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(UnwrittenError, match="has no revision old"):
        fetch(tmp_path, token="good", revision="old")
    with pytest.raises(UnwrittenError, match="was not found"):
        fetch(tmp_path, repository="some/thing", token="good")
    with pytest.raises(UnwrittenError, match="write owner/name"):
        fetch(tmp_path, repository="a b", token="good")


def test_the_command_prints_one_line_and_exits_1(hub: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["fetch", "benchmark", "-o", str(tmp_path / "data")]) == 1
    error = capsys.readouterr().err
    assert error.startswith("unwritten: RiRi-y/unwritten-benchmark: ") and error.count("\n") == 1
