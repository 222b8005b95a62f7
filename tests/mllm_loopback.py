"""Servers on loopback that speak the vendors' protocols, well or badly, and remember what they were asked."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from unwritten.media import write_audio, write_video
from unwritten.types import Clip

Behaviour = Callable[["Handler"], None]


class Server(ThreadingHTTPServer):
    """A server whose answers to questions are scripted; the last behaviour repeats."""

    daemon_threads = True

    def __init__(self, behaviours: Sequence[Behaviour], models: Sequence[str]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.behaviours, self.models = list(behaviours), list(models)
        self.asked: list[dict[str, Any]] = []
        self.asked_at: list[float] = []
        self.other: list[tuple[str, str]] = []
        self.uploaded: list[bytes] = []
        self.lock = threading.Lock()
        self.at_once = self.most_at_once = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is part of the test."""


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.server.other.append(("GET", self.path))
        if self.path.startswith("/v1/models"):
            self.json({"object": "list", "data": [{"id": m, "object": "model"} for m in self.server.models]})
        elif "/models/" in self.path:
            name = self.path.split("/models/")[1].split("?")[0]
            if name in self.server.models:
                self.json({"name": f"models/{name}"})
            else:
                self.json({"error": {"code": 404, "message": "no such model", "status": "NOT_FOUND"}}, 404)
        elif "/files/" in self.path:
            self.json({"name": "files/clip", "uri": f"{self.server.url}/files/clip", "state": "ACTIVE"})

    def do_DELETE(self) -> None:
        self.server.other.append(("DELETE", self.path))
        self.json({})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.path.startswith("/upload/"):
            self.server.other.append(("POST", self.path))
            self.json({}, headers={"x-goog-upload-url": f"{self.server.url}/put", "x-goog-upload-status": "active"})
            return
        if self.path.startswith("/put"):
            self.server.uploaded.append(body)
            file = {"name": "files/clip", "uri": f"{self.server.url}/files/clip", "state": "PROCESSING"}
            self.json({"file": file}, headers={"x-goog-upload-status": "final"})
            return
        server = self.server
        with server.lock:
            behaviour = server.behaviours.pop(0) if len(server.behaviours) > 1 else server.behaviours[0]
            server.asked.append(json.loads(body))
            server.asked_at.append(time.monotonic())
            server.at_once += 1
            server.most_at_once = max(server.most_at_once, server.at_once)
        try:
            behaviour(self)
        finally:
            with server.lock:
                server.at_once -= 1

    def json(self, content: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.raw(json.dumps(content).encode(), "application/json", status, headers)

    def raw(self, data: bytes, kind: str, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"content-type": kind, "content-length": str(len(data)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


def says(
    text: str | None, finish: str = "stop", refusal: str | None = None, tokens: tuple[int, int] = (100, 2)
) -> Behaviour:
    """A chat completion."""

    def behave(handler: Handler) -> None:
        message = {"role": "assistant", "content": text, "refusal": refusal}
        handler.json(
            {
                "id": "x",
                "object": "chat.completion",
                "created": 0,
                "model": "served-version",
                "choices": [{"index": 0, "finish_reason": finish, "message": message}],
                "usage": {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)},
            }
        )

    return behave


def gemini_says(
    text: str | None = None, finish: str = "STOP", block: str | None = None, candidates: bool = True, thought: int = 0
) -> Behaviour:
    """A ``generateContent`` reply."""

    def behave(handler: Handler) -> None:
        reply: dict[str, Any] = {
            "modelVersion": "gemini-served",
            "usageMetadata": {"promptTokenCount": 500, "candidatesTokenCount": 3, "thoughtsTokenCount": thought},
        }
        if block:
            reply["promptFeedback"] = {"blockReason": block}
        elif candidates:
            content = {"role": "model", "parts": [{"text": text}] if text is not None else []}
            reply["candidates"] = [{"content": content, "finishReason": finish}]
        handler.json(reply)

    return behave


def fails(status: int, message: str = "no", retry_after: str | None = None, code: str | None = None) -> Behaviour:
    """An error in the shape that both vendors understand."""

    def behave(handler: Handler) -> None:
        headers = {"retry-after": retry_after} if retry_after else None
        handler.json({"error": {"message": message, "code": code or status, "status": "ERR"}}, status, headers)

    return behave


def html(handler: Handler) -> None:
    """A page under status 200."""
    handler.raw(b"<html>gateway</html>", "text/html")


def broken_json(handler: Handler) -> None:
    """Half an object that claims to be JSON."""
    handler.raw(b'{"choices": [', "application/json")


def drops(handler: Handler) -> None:
    """The connection ends in the middle of the headers."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-le")
    handler.wfile.flush()
    handler.connection.shutdown(socket.SHUT_RDWR)
    handler.close_connection = True


def trickles(handler: Handler) -> None:
    """A byte now and then: no timeout between bytes ever ends it."""
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", "1000")
    handler.end_headers()
    for _ in range(100):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.05)


def slow(seconds: float, then: Behaviour) -> Behaviour:
    """A reply after a while."""

    def behave(handler: Handler) -> None:
        time.sleep(seconds)
        then(handler)

    return behave


@contextmanager
def serving(*behaviours: Behaviour, models: Sequence[str] = ("m",)) -> Iterator[Server]:
    """A server in a thread of its own."""
    server = Server(behaviours, models)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def small_clip(folder: Any, word: str = "cat", name: str = "clip", fps: float = 10.0, seconds: float = 1.0) -> Clip:
    """A clip of moving squares and a hum, whose pixels are not square: 64x48 at 2:1 is 128x48."""
    count = round(fps * seconds)
    images = []
    for index in range(count):
        image = np.full((48, 64, 3), 200, np.uint8)
        image[10:20, 4 + 3 * index % 50 : 14 + 3 * index % 50] = (len(name) * 7) % 200
        images.append(image)
    hum = 0.3 * np.sin(np.arange(round(16_000 * seconds)) * (0.1 + 0.01 * len(word))).astype(np.float32)
    files = {
        "audio": write_audio(folder / f"{name}.mp3", hum),
        "video": write_video(folder / f"{name}_muted.mp4", images, fps=fps, sample_aspect_ratio=2.0, threads=1),
        "av": write_video(folder / f"{name}.mp4", images, fps=fps, waveform=hum, sample_aspect_ratio=2.0, threads=1),
    }
    return Clip(name, files=files, word=word, style="standard", source="own", letter_clips=(f"{name}-letters",))
