"""A server on loopback that does with a connection what a test asks."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any


@contextlib.contextmanager
def serving(script: Callable[[Any], None]) -> Iterator[str]:
    """Hand every connection, its request read, to the script; yield the address of the API."""
    listening = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()

    def meet(wire: socket.socket) -> None:
        with wire, contextlib.suppress(OSError):
            wire.settimeout(30)
            _read_request(wire)
            script(wire)

    def accept() -> None:
        while not over.is_set():
            try:
                wire, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=meet, args=(wire,), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
    finally:
        over.set()
        with contextlib.suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join(5)


def _read_request(wire: socket.socket) -> None:
    data = b""
    while b"\r\n\r\n" not in data:
        part = wire.recv(65536)
        if not part:
            return
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    sizes = [line.partition(b":")[2] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")]
    missing = int(sizes[0]) - len(body) if sizes else 0
    while missing > 0:
        part = wire.recv(65536)
        if not part:
            return
        missing -= len(part)


def reply(body: Any, status: str = "200 OK", head: str = "Content-Type: application/json\r\n") -> bytes:
    """A whole answer; what is not bytes is sent as JSON."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return f"HTTP/1.1 {status}\r\n{head}Content-Length: {len(raw)}\r\nConnection: close\r\n\r\n".encode() + raw


def sends(*parts: bytes) -> Callable[[Any], None]:
    """A script that sends these bytes and closes."""

    def script(wire: socket.socket) -> None:
        for part in parts:
            wire.sendall(part)

    return script


def completion(content: Any = "120 g", **more: Any) -> dict[str, Any]:
    """What an API answers, with parts replaced."""
    return {
        "choices": [{"message": {"role": "assistant", "content": content}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 2},
        **more,
    }
