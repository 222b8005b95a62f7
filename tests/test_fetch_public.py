"""Sample clips and UNIPEN from their publishers: whole or one clear line, and nothing outside the folder."""

from __future__ import annotations

import errno
import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unwritten import cli
from unwritten.benchmark import find_clips
from unwritten.benchmark.fetch import download, public
from unwritten.benchmark.fetch.download import RemoteFile, fetch_files, refuse_unsafe
from unwritten.errors import UnwrittenError

DATA = bytes(range(256)) * 4000


class Web(ThreadingHTTPServer):
    """Serves ``files`` by path, with ranges; breaks off after ``break_after`` bytes when that is set."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.files: dict[str, bytes] = {}
        self.asked: list[tuple[str, str | None]] = []
        self.break_after: int | None = None
        self.knows_ranges = True
        self.page: bytes | None = None
        self.daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Who breaks off is no error here."""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Answer(BaseHTTPRequestHandler):
    server: Web

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        web, path, wanted = self.server, unquote(self.path), self.headers.get("Range")
        web.asked.append((path, wanted))
        if web.page is not None:
            return self.send(200, web.page, "text/html; charset=utf-8")
        if path not in web.files:
            return self.send(404, b"no", "text/plain")
        data, kind = web.files[path], "application/json" if path.startswith("/api") else "application/octet-stream"
        if wanted and web.knows_ranges:
            begin = int(wanted.removeprefix("bytes=").removesuffix("-"))
            return self.send(206, data[begin:], kind) if begin < len(data) else self.send(416, b"", kind)
        return self.send(200, data, kind)

    def send(self, status: int, data: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data if self.server.break_after is None else data[: self.server.break_after])


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    server = Web()
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    for name in ("UNWRITTEN_GITHUB", "UNWRITTEN_ZENODO"):
        monkeypatch.setenv(name, server.address)
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    yield server
    server.shutdown()
    server.server_close()


def _record(web: Web, files: dict[str, bytes], **changes: Any) -> None:
    """Put UNIPEN's record on the server, as Zenodo answers."""
    entries = [
        {"key": name, "size": len(data), "checksum": f"md5:{hashlib.md5(data).hexdigest()}", "links": {}, **changes}
        for name, data in files.items()
    ]
    web.files["/api/records/1195803"] = json.dumps({"id": 1195803, "files": entries}).encode()
    for name, data in files.items():
        web.files[f"/api/records/1195803/files/{name}/content"] = data


def _remote(web: Web, name: str = "a.bin", data: bytes = DATA) -> RemoteFile:
    web.files[f"/{name}"] = data
    return RemoteFile(name, f"{web.address}/{name}", len(data), hashlib.sha256(data).hexdigest())


def _left(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_unipen_arrives_as_its_record_lists_it(web: Web, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _record(web, {"train r01.tgz": DATA, "README": b"credit them"})
    assert cli.main(["fetch", "unipen", "-o", str(tmp_path)]) == 0
    assert (tmp_path / "train r01.tgz").read_bytes() == DATA
    assert _left(tmp_path) == ["README", "train r01.tgz"]
    told = capsys.readouterr()
    assert f"unwritten corpora {tmp_path / 'train r01.tgz'} -o" in told.out
    assert told.err.startswith("2 files, 1 MB")
    web.asked.clear()
    assert cli.main(["fetch", "unipen", "-o", str(tmp_path)]) == 0
    assert [path for path, _ in web.asked] == ["/api/records/1195803"]


def test_the_sample_clips_arrive_named_as_the_benchmark_names_them(
    web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sample_clips: Path
) -> None:
    listed = public.sample_files()
    here = {clip.path: sample_clips / clip.path for clip in listed if (sample_clips / clip.path).is_file()}
    assert len(listed) == 16 and len(here) == 12
    for clip in listed:
        if clip.path in here:
            web.files[unquote(clip.url.removeprefix(web.address))] = here[clip.path].read_bytes()
    monkeypatch.setattr(public, "sample_files", lambda: [clip for clip in listed if clip.path in here])
    assert cli.main(["fetch", "samples", "-o", str(tmp_path)]) == 0
    assert _left(tmp_path) == ["LICENSE", *sorted(here)]
    assert "MIT License" in (tmp_path / "LICENSE").read_text()
    assert {(clip.word, clip.style) for clip in find_clips(tmp_path)} == {
        ("a", "standard"),
        ("a", "cursive"),
        ("a", "retrace"),
        ("above", "standard"),
    }


def test_every_sample_stays_inside_and_has_its_digest() -> None:
    listed = public.sample_files()
    refuse_unsafe([clip.path for clip in listed], "samples")
    assert all(len(clip.digest) == 64 and clip.size > 0 and "%20" in clip.url for clip in listed)
    assert len({clip.path for clip in listed}) == 16
    assert not any(character in clip.path for clip in listed for character in ': "')


@pytest.mark.parametrize("knows_ranges", [True, False])
def test_a_download_that_broke_off_goes_on(web: Web, tmp_path: Path, knows_ranges: bool) -> None:
    file = _remote(web)
    web.break_after, web.knows_ranges = 300_000, knows_ranges
    with pytest.raises(UnwrittenError, match=r"a\.bin: broke off at 300000 of 1024000 bytes; run the same command"):
        fetch_files([file], tmp_path)
    assert _left(tmp_path) == ["a.bin.part"]
    web.break_after = None
    web.asked.clear()
    fetch_files([file], tmp_path)
    assert (tmp_path / "a.bin").read_bytes() == DATA
    assert _left(tmp_path) == ["a.bin"]
    assert web.asked == [("/a.bin", "bytes=300000-")]


def test_another_file_of_the_same_length_is_not_taken(web: Web, tmp_path: Path) -> None:
    file = _remote(web)
    web.files["/a.bin"] = DATA[::-1]
    with pytest.raises(UnwrittenError, match=r"a\.bin: is not what was published \(its sha256 differs\)"):
        fetch_files([file], tmp_path)
    assert _left(tmp_path) == []
    web.files["/a.bin"] = DATA
    fetch_files([file], tmp_path)
    assert _left(tmp_path) == ["a.bin"]


@pytest.mark.parametrize("part", [b"something else" * 100, DATA[::-1], DATA + b"more"])
def test_a_part_of_something_else_does_not_stay_in_the_way(web: Web, tmp_path: Path, part: bytes) -> None:
    file = _remote(web)
    (tmp_path / "a.bin.part").write_bytes(part)
    for _ in range(2):
        try:
            fetch_files([file], tmp_path)
        except UnwrittenError as error:
            assert "run the same command" in str(error)
    assert (tmp_path / "a.bin").read_bytes() == DATA


def test_a_part_longer_than_what_the_server_has_does_not_stay_in_the_way(web: Web, tmp_path: Path) -> None:
    file = _remote(web)
    (tmp_path / "a.bin.part").write_bytes(DATA[:500_000])
    web.files["/a.bin"] = DATA[:1000]
    with pytest.raises(UnwrittenError, match="answered 416"):
        fetch_files([file], tmp_path)
    web.files["/a.bin"] = DATA
    fetch_files([file], tmp_path)
    assert _left(tmp_path) == ["a.bin"]


def test_an_answer_without_end_is_cut_off(web: Web, tmp_path: Path) -> None:
    file = _remote(web, data=DATA[:1000])
    web.files["/a.bin"] = DATA * 20
    with pytest.raises(UnwrittenError, match="is not what was published"):
        fetch_files([file], tmp_path)
    assert _left(tmp_path) == []


def test_a_web_page_instead_of_the_file_is_said(web: Web, tmp_path: Path) -> None:
    file = _remote(web)
    web.page = b"<html>Please sign in</html>"
    with pytest.raises(UnwrittenError, match=r"a\.bin: a web page came instead of the file"):
        fetch_files([file], tmp_path)
    with pytest.raises(UnwrittenError, match=r"records/1195803: did not answer with a record"):
        public.fetch_unipen(tmp_path, lambda files, size: None)
    assert _left(tmp_path) == []


@pytest.mark.parametrize("answer", [b"[]", b"{}", b'{"files": 3}', b'{"files": [{"key": "a"}]}', b"\xff\xfe", b""])
def test_a_record_that_is_none_is_one_line(
    web: Web, tmp_path: Path, answer: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    web.files["/api/records/1195803"] = answer
    assert cli.main(["fetch", "unipen", "-o", str(tmp_path)]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "records/1195803: did not answer with a record of files" in error
    assert _left(tmp_path) == []


@pytest.mark.parametrize("changes", [{"checksum": "rot13:abc"}, {"checksum": "md5:"}, {"size": "many"}])
def test_a_record_without_digest_or_size_is_not_fetched(web: Web, tmp_path: Path, changes: dict[str, str]) -> None:
    _record(web, {"a.tgz": DATA}, **changes)
    with pytest.raises(UnwrittenError, match="did not answer with a record of files"):
        public.fetch_unipen(tmp_path, lambda files, size: None)
    assert _left(tmp_path) == []


UNSAFE = [
    "../a",
    "a/../../b",
    "/etc/a",
    "..\\a",
    "C:\\a",
    "C:a",
    "\\\\host\\a",
    ".git/hooks/post-checkout",
    "a/.b",
    "",
    "a\0b",
]


@pytest.mark.parametrize("name", UNSAFE)
def test_names_that_lead_out_of_the_folder_or_are_hidden_are_refused(web: Web, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "deep" / "data"
    _record(web, {"good.tgz": DATA, name: b"bad"})
    with pytest.raises(UnwrittenError, match="hidden or leads out of the folder; nothing was fetched"):
        public.fetch_unipen(folder, lambda files, size: None)
    with pytest.raises(UnwrittenError, match="hidden or leads out"):
        fetch_files([RemoteFile(name, web.address, 1, "00")], folder)
    assert _left(tmp_path) == []


@settings(max_examples=200, deadline=None)
@given(st.text("ab./\\:~ \0", min_size=1, max_size=12))
def test_every_name_that_is_let_through_stays_in_the_folder_and_shows(name: str) -> None:
    try:
        refuse_unsafe([name], "list")
    except UnwrittenError:
        return
    for system in (PurePosixPath, PureWindowsPath):
        path = system(name)
        assert not path.anchor and path.parts
        assert not any(part.startswith(".") for part in path.parts)


def test_no_network_and_a_file_that_is_gone_are_one_line_each(
    web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["fetch", "samples", "-o", str(tmp_path)]) == 1
    gone = capsys.readouterr().err
    assert "the server answered 404; it was taken away" in gone
    for address, message in (("http://127.0.0.1:9", "cannot be reached"), ("nowhere", "is no address")):
        monkeypatch.setenv("UNWRITTEN_GITHUB", address)
        monkeypatch.setenv("UNWRITTEN_ZENODO", address)
        for name in ("samples", "unipen"):
            assert cli.main(["fetch", name, "-o", str(tmp_path)]) == 1
            error = capsys.readouterr().err
            assert message in error and error.splitlines()[-1].startswith(f"unwritten: {address}")
            assert "Traceback" not in error


def test_a_full_disk_is_said_and_the_next_try_goes_on(
    web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = _remote(web)
    whole = Path.open

    def full(path: Path, mode: str = "r", *arguments: Any, **options: Any) -> Any:
        if "w" in mode or "a" in mode:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return whole(path, mode, *arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(download.Path, "open", full)
        with pytest.raises(UnwrittenError, match=r"a\.bin: cannot be written \(No space left on device\)"):
            fetch_files([file], tmp_path)
    fetch_files([file], tmp_path)
    assert _left(tmp_path) == ["a.bin"]
    (tmp_path / "b.bin").mkdir()
    with pytest.raises(UnwrittenError, match=r"b\.bin: cannot be written"):
        fetch_files([_remote(web, "b.bin")], tmp_path)


def test_without_a_name_fetch_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["fetch"]) == 0
    listed = capsys.readouterr().out
    for name in ("samples", "unipen", "benchmark", "MIT", "CC BY 4.0", "gated"):
        assert name in listed
    with pytest.raises(SystemExit) as caught:
        cli.main(["fetch", "everything"])
    assert caught.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1
