"""A viewer on loopback, and what tests ask of it."""

from __future__ import annotations

import hashlib
import os
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import steelyard as sy
from steelyard.view.connections import server as make_server
from steelyard.view.folder import Folder
from steelyard.view.frame import script
from steelyard.view.server import make_app

SAMPLES = Path(sy.__file__).parent / "samples"


SECRET = "TOP-SECRET-8f3a91"


TOKEN = "a-Token_of_the_Tests"


@dataclass
class Answer:
    """What came back over the socket."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")


def settled() -> float:
    """A time far ahead: no file is so new that it may still be written."""
    return 1e12


class Server:
    """A real server on a real port, asked with raw requests: a client would tidy a hostile address."""

    def __init__(self, folder: Path, clock: Callable[[], float] = settled, **more: Any) -> None:
        self.folder = folder
        self.listening = socket.socket()
        self.listening.bind(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        self.app = make_app(Folder(folder), TOKEN, self.port, clock=clock, **more)
        self.server = make_server(self.app)
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.listening]}, daemon=True)
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)

    def close(self) -> None:
        self.server.should_exit = True
        self.thread.join(10)
        self.listening.close()

    def ask(self, target: str | bytes, *, method: str = "GET", host: str | None = "", more: str = "") -> Answer:
        target = target.encode("utf-8", "surrogateescape") if isinstance(target, str) else target
        named = "" if host is None else f"Host: {host or f'127.0.0.1:{self.port}'}\r\n"
        head = method.encode() + b" " + target + b" HTTP/1.1\r\n" + f"{named}{more}Connection: close\r\n\r\n".encode()
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as wire:
            wire.sendall(head)
            data = b"".join(iter(lambda: wire.recv(1 << 16), b""))
        top, _, body = data.partition(b"\r\n\r\n")
        first, *lines = top.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        return Answer(int(first.split()[1]), headers, body)

    def get(self, path: str) -> Answer:
        return self.ask(f"/{TOKEN}{path}")


def evaluate(
    folder: Path, task: str, truth: str, predictions: str, to: str, metrics: Any = None, **more: Any
) -> sy.Report:
    """Score files of a folder as a user in that folder would, so that the result names them plainly."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        report = sy.evaluate(task, truth, predictions, metrics, **more)
        report.to_json(to)
    finally:
        os.chdir(before)
    return report


def run_id(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:16]


ATTRIBUTES = {
    "href", "src", "alt", "class", "id", "lang", "charset", "name", "content", "scope", "type", "value", "checked", "loading", "rel", "action", "method",
    "selected", "min", "max", "step", "placeholder", "list", "formaction", "accesskey", "tabindex", "role", "for", "hidden", "open", "title", "http-equiv", "colspan", "rowspan", "xmlns", "viewbox", "width", "height", "font-family", "x", "y", "x1", "x2", "y1", "y2",
    "cx", "cy", "r", "rx", "ry", "fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "transform", "font-size", "text-anchor", "paint-order", "preserveaspectratio", "d", "points",
}  # fmt: skip


class Looked(HTMLParser):
    """Every element and attribute of a page must be one of ours."""

    def __init__(self, ours: set[str]) -> None:
        super().__init__()
        self.ours, self.titles = ours, ""

    def feed(self, data: str) -> None:
        """The viewer's own script, which is the same on every page, does not depend on the data."""
        super().feed(data.replace(f"<script>{script()}</script>", ""))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in self.ours, tag
        for name, value in attrs:
            assert name in ATTRIBUTES or name.startswith(("aria-", "data-")), name
            if name in ("href", "src", "action", "formaction"):
                assert (value or "").startswith((f"/{TOKEN}/", "#")), value
