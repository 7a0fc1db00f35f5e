"""A headless Chromium, spoken to by its DevTools protocol: what the browser tests, screenshots and benchmarks share.

with Browser() as browser:
    page = browser.open(path, dark=True)
    page.run("document.title")
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
HOW = "needs Chromium: install it (Debian: apt-get install chromium), or set CHROMIUM to its path"
# A browser that runs as root, in a container, with little shared memory; nothing that talks to the network on its own.
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--mute-audio",
    "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-default-apps", "--disable-extensions", "--force-color-profile=srgb",
)  # fmt: skip


def find() -> str | None:
    """The path of a Chromium, or None."""
    named = os.environ.get("CHROMIUM")
    if named:
        return named if os.path.exists(named) else None
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Page:
    """One tab. `errors` are what its console and policy complained of, `requests` the addresses that it asked for."""

    def __init__(self, socket: Any, session: str) -> None:
        self._socket, self._session, self._number = socket, session, 0
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.dialogs: list[str] = []
        self.loaded = False

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """One command of the protocol."""
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": params, "sessionId": self._session}
        self._socket.send(json.dumps(message))
        while True:
            reply = json.loads(self._socket.recv(timeout=180))
            if reply.get("sessionId") != self._session:
                continue
            if reply.get("id") == number:
                if "error" in reply:
                    raise RuntimeError(f"{method}: {reply['error']['message']}")
                result: dict[str, Any] = reply["result"]
                return result
            self._take(reply)

    def _take(self, event: dict[str, Any]) -> None:
        method, params = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "assert"):
            self.errors.append(" ".join(str(a.get("value", a.get("description", ""))) for a in params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.errors.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Page.javascriptDialogOpening":
            self.dialogs.append(params["message"])
            self._number += 1
            close = {"id": self._number, "method": "Page.handleJavaScriptDialog", "params": {"accept": False}}
            self._socket.send(json.dumps({**close, "sessionId": self._session}))
        elif method == "Page.loadEventFired":
            self.loaded = True

    def go(self, address: str, *, seconds: float = 120) -> None:
        """Open an address and wait until it is loaded and its script is ready."""
        self.loaded = False
        self.call("Page.navigate", url=address)
        self.wait(lambda: self.loaded, seconds)
        ready = "document.documentElement.dataset.ready || document.documentElement.dataset.failed || ''"
        self.wait(lambda: bool(self.run(ready)), seconds)

    def visit(self, address: str, *, seconds: float = 120) -> None:
        """Open a page that has no script, and wait until it is loaded."""
        self.loaded = False
        self.call("Page.navigate", url=address)
        self.wait(lambda: self.loaded, seconds)

    def wait(self, done: Callable[[], bool], seconds: float = 120) -> None:
        """Wait until something holds."""
        end = time.monotonic() + seconds
        while not done():
            if time.monotonic() > end:
                raise TimeoutError(f"the page did not get there; it said {self.errors}")
            time.sleep(0.02)
            self.run("0")  # takes in what has happened

    def run(self, expression: str) -> Any:
        """The value of an expression in the page; a promise is waited for."""
        reply = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in reply:
            details = reply["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description") or details["text"])
        return reply["result"].get("value")

    def press(self, key: str, *, shift: bool = False) -> None:
        """Press a key, as a person does."""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38, "End": 35, "Home": 36,
                 "PageDown": 34, "PageUp": 33, " ": 32}  # fmt: skip
        params: dict[str, Any] = {"key": key, "code": "Space" if key == " " else key, "modifiers": 8 if shift else 0}
        params["windowsVirtualKeyCode"] = codes[key]
        text = {"Enter": "\r", " ": " "}.get(key)
        down = {"type": "keyDown", "text": text} if text else {"type": "rawKeyDown"}
        self.call("Input.dispatchKeyEvent", **down, **params)
        self.call("Input.dispatchKeyEvent", type="keyUp", **params)

    def screenshot(self, path: str | Path, *, whole: bool = True, most: int = 16000) -> None:
        """A picture of the page, or of what is in sight."""
        params: dict[str, Any] = {"format": "png"}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            height = min(most, size["height"])
            params["clip"] = {"x": 0, "y": 0, "width": size["width"], "height": height, "scale": 1}
            params["captureBeyondViewport"] = True
        Path(path).write_bytes(base64.b64decode(self.call("Page.captureScreenshot", **params)["data"]))

    def close(self) -> None:
        """Close the tab."""
        self.call("Page.close")

    def pdf(self) -> bytes:
        """The page as it is printed."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=False)["data"])


class Browser:
    """A browser of its own, with its own empty profile."""

    def __init__(self, path: str | None = None) -> None:
        program = path or find()
        if program is None:
            raise RuntimeError(HOW)
        from websockets.sync.client import connect

        self._profile = tempfile.TemporaryDirectory(prefix="steelyard-browser", ignore_cleanup_errors=True)
        self._process = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={self._profile.name}", "--remote-debugging-port=0", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        port_file = Path(self._profile.name) / "DevToolsActivePort"
        end = time.monotonic() + 120
        while not port_file.exists() or len(port_file.read_text().splitlines()) < 2:
            if self._process.poll() is not None or time.monotonic() > end:
                self._process.kill()
                raise RuntimeError(f"{program} did not start")
            time.sleep(0.05)
        port, address = port_file.read_text().splitlines()[:2]
        self._open = ExitStack()
        self._socket = self._open.enter_context(
            connect(f"ws://127.0.0.1:{port}{address}", max_size=None, open_timeout=120, proxy=None)
        )
        self._number = 0

    @property
    def pid(self) -> int:
        """The browser's process."""
        return self._process.pid

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        self._number -= 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": params}))
        while True:
            reply = json.loads(self._socket.recv(timeout=180))
            if reply.get("id") == self._number:
                result: dict[str, Any] = reply["result"]
                return result

    def page(self, *, dark: bool = False, width: int = 1200, height: int = 900, phone: bool = False) -> Page:
        """An empty tab."""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self._socket, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        page.call("Emulation.setEmulatedMedia", features=features)
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        return page

    def open(self, path: str | Path, **options: Any) -> Page:
        """A page from disk, ready."""
        page = self.page(**options)
        page.go(Path(path).resolve().as_uri())
        return page

    def close(self) -> None:
        """End the browser."""
        try:
            self._open.close()
        finally:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(10)
            self._profile.cleanup()

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
