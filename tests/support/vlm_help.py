"""What the tests of the runner share: drawn pictures, a scripted model, a server that misbehaves on request."""

from __future__ import annotations

import base64
import io
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from PIL import Image

from steelyard.vlm.backend import Conversation, Reply


def picture(path: Path, grey: int = 0, size: tuple[int, int] = (8, 8), **options: Any) -> Path:
    Image.new("RGB", size, (grey, grey, grey)).save(path, **options)
    return path


def frames_csv(folder: Path, sequences: int = 2, length: int = 3, food: str = "rice") -> Path:
    """Frames whose grey value is their true weight."""
    rows = ["sequence,t,image,food,weight,kcal_per_g"]
    for s in range(sequences):
        for t in range(length):
            grams = 200 - 20 * s - 50 * t
            picture(folder / f"{s}_{t}.png", grams)
            rows.append(f"s{s},{t},{s}_{t}.png,{food},{grams},1.5")
    (folder / "frames.csv").write_text("\n".join(rows) + "\n")
    return folder / "frames.csv"


class Scripted:
    """A model that answers what a function says; it counts what it is asked."""

    workers, batch, pictures = 1, 4, 0
    environment: dict[str, Any] = {}
    settings: dict[str, Any] = {"max_tokens": 8}

    def __init__(self, answer: Callable[[Conversation], str], label: str = "scripted", fingerprint: str = "v1") -> None:
        self.answer, self.label, self.fingerprint = answer, label, fingerprint
        self.asked: list[Conversation] = []

    def generate(self, conversations: Sequence[Conversation]) -> list[Reply]:
        self.asked += conversations
        replies = []
        for conversation in conversations:
            try:
                conversation.picture.load()
                replies.append(Reply(self.answer(conversation)))
            except Exception as error:
                replies.append(Reply("", error=str(error)))
        return replies

    def close(self) -> None:
        pass


def grey_of(conversation: Conversation) -> int:
    return int(conversation.picture.load().getpixel((0, 0))[0])


def completion(text: str, finish: str | None = "stop", tokens: int = 2) -> dict[str, Any]:
    return {
        "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": finish}],
        "usage": {"prompt_tokens": 90, "completion_tokens": tokens},
    }


class Clock:
    """A clock for the code under test: it stands still until somebody waits, or moves it."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.lock = threading.Lock()

    def monotonic(self) -> float:
        return self.now

    time = perf_counter = monotonic

    def move(self, seconds: float) -> None:
        with self.lock:
            self.now += seconds


class Handler(BaseHTTPRequestHandler):
    """One request: `server.script` says what to do with it."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server: Any = self.server
        with server.lock:
            number = len(server.requests)
            server.requests.append((server.clock.monotonic(), dict(self.headers), body))
            server.active += 1
            server.most_active = max(server.most_active, server.active)
        try:
            server.script(self, number, body)
        finally:
            with server.lock:
                server.active -= 1

    def send(self, data: Any, status: int = 200, kind: str = "application/json", **headers: str) -> None:
        raw = data if isinstance(data, bytes) else json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(raw)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *args: Any) -> None:
        pass


def sent_grey(body: dict[str, Any]) -> int:
    """The grey value of the picture that a request carries."""
    url = body["messages"][0]["content"][0]["image_url"]["url"]
    assert url.startswith("data:image/png;base64,")
    return int(Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))).convert("RGB").getpixel((0, 0))[0])


@contextmanager
def serving(script: Callable[[Handler, int, dict[str, Any]], None], clock: Any = time) -> Iterator[Any]:
    """A server on loopback; `.url`, `.requests` with their moments by the clock, `.most_active`."""
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.script, server.requests, server.lock = script, [], threading.Lock()
    server.active = server.most_active = 0
    server.clock = clock
    server.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
