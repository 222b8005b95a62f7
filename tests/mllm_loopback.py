"""Servers on loopback that speak the vendors' protocols, well or badly, and remember what they were asked."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from unwritten.media import write_audio, write_video
from unwritten.types import Clip

Behaviour = Callable[["Handler"], None]
Models = Sequence[str] | Mapping[str, str | None]


class Server(ThreadingHTTPServer):
    """A server whose answers to questions are scripted; the last behaviour repeats."""

    daemon_threads = True

    def __init__(self, behaviours: Sequence[Behaviour], models: Models) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.behaviours = list(behaviours)
        # Each with its shutdown date, None where none is told.
        self.models: dict[str, str | None] = dict(models) if isinstance(models, Mapping) else dict.fromkeys(models)
        self.processing: list[str] = []  # states of uploaded files before ACTIVE
        self.asked: list[dict[str, Any]] = []
        self.asked_at: list[float] = []
        self.asked_how: list[tuple[str, dict[str, str]]] = []  # path and headers
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
        if self.path.partition("?")[0] == "/v1/models":
            listed = [
                {"id": name, "object": "model", "created": 0, "owned_by": "x", "shutdown_date": date}
                for name, date in self.server.models.items()
            ]
            self.json({"object": "list", "data": listed})
        elif "/models/" in self.path:
            name = self.path.split("/models/")[1].split("?")[0]
            if name in self.server.models:
                ends = self.server.models[name] and f"{self.server.models[name]}T00:00:00Z"
                claude = {"id": name, "type": "model", "display_name": name, "lifecycle": "active", "retires_at": ends}
                self.json({"name": f"models/{name}", "created_at": "2026-01-01T00:00:00Z", **claude})
            else:
                self.json({"error": {"code": 404, "message": "no such model", "status": "NOT_FOUND"}}, 404)
        elif "/files/" in self.path:
            left = self.server.processing.pop(0) if self.server.processing else "ACTIVE"
            self.json({"name": "files/clip", "uri": f"{self.server.url}/files/clip", "state": left})

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
        self.body = json.loads(body)
        with server.lock:
            behaviour = server.behaviours.pop(0) if len(server.behaviours) > 1 else server.behaviours[0]
            server.asked.append(self.body)
            server.asked_at.append(time.monotonic())
            server.asked_how.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
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
    text: str | None,
    finish: str = "stop",
    refusal: str | None = None,
    tokens: tuple[int, int] = (100, 2),
    served: str = "",
) -> Behaviour:
    """A chat completion; ``served`` names another model than the asked one."""

    def behave(handler: Handler) -> None:
        message = {"role": "assistant", "content": text, "refusal": refusal}
        handler.json(
            {
                "id": "x",
                "object": "chat.completion",
                "created": 0,
                "model": served or handler.body["model"],
                "choices": [{"index": 0, "finish_reason": finish, "message": message}],
                "usage": {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)},
            }
        )

    return behave


def gemini_says(
    text: str | None = None,
    finish: str = "STOP",
    block: str | None = None,
    candidates: bool = True,
    thought: int = 0,
    served: str = "",
) -> Behaviour:
    """A ``generateContent`` reply; ``served`` names another model than the asked one."""

    def behave(handler: Handler) -> None:
        reply: dict[str, Any] = {
            "modelVersion": served or handler.path.split("/models/")[1].partition(":")[0],
            "usageMetadata": {"promptTokenCount": 500, "candidatesTokenCount": 3, "thoughtsTokenCount": thought},
        }
        if block:
            reply["promptFeedback"] = {"blockReason": block}
        elif candidates:
            content = {"role": "model", "parts": [{"text": text}] if text is not None else []}
            reply["candidates"] = [{"content": content, "finishReason": finish}]
        handler.json(reply)

    return behave


def responds(
    text: str | None, status: str = "completed", why: str | None = None, refusal: str | None = None, served: str = ""
) -> Behaviour:
    """A response of the Responses API."""

    def behave(handler: Handler) -> None:
        pieces = [{"type": "output_text", "text": text, "annotations": []}] if text is not None else []
        pieces += [{"type": "refusal", "refusal": refusal}] if refusal else []
        handler.json(
            {
                "id": "resp_x",
                "object": "response",
                "created_at": 0,
                "status": status,
                "incomplete_details": {"reason": why} if why else None,
                "model": served or handler.body["model"],
                "output": [
                    {"type": "reasoning", "id": "rs_x", "summary": []},
                    {"type": "message", "id": "msg_x", "role": "assistant", "status": "completed", "content": pieces},
                ],
                "usage": {
                    "input_tokens": 300,
                    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
                    "output_tokens": 40,
                    "output_tokens_details": {"reasoning_tokens": 38},
                    "total_tokens": 340,
                },
            }
        )

    return behave


def claude_says(text: str | None, stop: str = "end_turn", served: str = "") -> Behaviour:
    """A message of Anthropic's API, after a block of thinking."""

    def behave(handler: Handler) -> None:
        blocks: list[dict[str, Any]] = [{"type": "thinking", "thinking": "perhaps dog", "signature": "s"}]
        blocks += [{"type": "text", "text": text}] if text is not None else []
        handler.json(
            {
                "id": "msg_x",
                "type": "message",
                "role": "assistant",
                "model": served or handler.body["model"],
                "content": blocks,
                "stop_reason": stop,
                "stop_sequence": None,
                "usage": {
                    "input_tokens": 200,
                    "output_tokens": 30,
                    "output_tokens_details": {"thinking_tokens": 25},
                },
            }
        )

    return behave


def fails(
    status: int, message: str = "no", retry_after: str | None = None, code: str | None = None, **headers: str
) -> Behaviour:
    """An error in the shape that all vendors understand; further headers by name, their dashes as underscores."""

    def behave(handler: Handler) -> None:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        sent |= {"retry-after": retry_after} if retry_after else {}
        error = {"message": message, "code": code or status, "status": "ERR", "type": code or "error"}
        handler.json({"type": "error", "error": error}, status, sent)

    return behave


def gemini_quota(quota: str, retry_delay: str | None = "0.05s") -> Behaviour:
    """Google's 429, whose message is the same whichever quota is used up."""

    def behave(handler: Handler) -> None:
        google = "type.googleapis.com/google.rpc"
        details: list[dict[str, Any]] = [
            {"@type": f"{google}.Help", "links": [{"url": "https://ai.google.dev/gemini-api/docs/rate-limits"}]},
            {"@type": f"{google}.QuotaFailure", "violations": [{"quotaId": quota, "quotaMetric": "requests"}]},
        ]
        details += [{"@type": f"{google}.RetryInfo", "retryDelay": retry_delay}] if retry_delay else []
        message = "You exceeded your current quota, please check your plan and billing details."
        error = {"code": 429, "message": message, "status": "RESOURCE_EXHAUSTED", "details": details}
        handler.json({"error": error}, 429)

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
def serving(*behaviours: Behaviour, models: Models = ("m",)) -> Iterator[Server]:
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
