"""The command line in a process of its own, without the time that a fresh one takes to start.

On Linux a server that has Steelyard loaded forks for every command, as the tests of hostile files do; elsewhere, and
where a test sets the environment of the command, a fresh interpreter runs it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.paths import TESTS

CHILD = TESTS / "hostile" / "child.py"
DEADLINE = 120.0
STRICT = {"PYTHONWARNINGS": "error"}


@contextmanager
def started(command: list[str], **named: Any) -> Iterator[subprocess.Popen[Any]]:
    """A process that does not outlive the block: what still runs at its end is killed, and its streams are closed."""
    with subprocess.Popen(command, **named) as process:
        try:
            yield process
        finally:
            process.kill()


class CommandLine:
    """Runs `steelyard ARGS` in a folder, and gives what subprocess.run would."""

    def __init__(self) -> None:
        self._server: subprocess.Popen[str] | None = None
        self._started_with: dict[str, str] = {}

    @property
    def pid(self) -> int | None:
        """The process of the server, where it was started."""
        return None if self._server is None else self._server.pid

    def run(self, args: list[str], cwd: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
        """Run one command; `env` is added to the environment."""
        if sys.platform != "linux" or env:
            return self._fresh(args, cwd, env)
        now = dict(os.environ)
        if self._server is None:
            self._started_with = now
            self._server = subprocess.Popen(
                [sys.executable, str(CHILD), "serve"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**now, **STRICT},
            )
        if self._started_with.keys() - now.keys() - {"PYTEST_CURRENT_TEST"}:
            return self._fresh(args, cwd, env)
        changed = {name: value for name, value in now.items() if self._started_with.get(name) != value}
        return self._forked(self._server, args, cwd, changed)

    def _forked(
        self, server: subprocess.Popen[str], args: list[str], cwd: Path, env: dict[str, str]
    ) -> subprocess.CompletedProcess[str]:
        assert server.stdin is not None
        assert server.stdout is not None
        with tempfile.TemporaryDirectory() as kept:
            asked = request(args, cwd, env, kept)
            server.stdin.write(json.dumps(asked) + "\n")
            server.stdin.flush()
            return completed(asked, json.loads(server.stdout.readline()))

    def _fresh(self, args: list[str], cwd: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "steelyard", *args],
            cwd=cwd,
            env={**os.environ, **STRICT, **env},
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=DEADLINE,
        )

    def close(self) -> None:
        """End the server."""
        if self._server is not None:
            self._server.communicate(timeout=60)


def request(args: list[str], cwd: Path, env: dict[str, str], kept: str) -> dict[str, Any]:
    """What the process of a command is told; what it prints is kept in a folder."""
    streams = {name: str(Path(kept) / name) for name in ("stdout", "stderr")}
    return {
        "folder": str(cwd),
        "args": args,
        "python": "",
        "env": env,
        "deadline": DEADLINE,
        "memory": None,
        "alone": False,
        "stdin": os.devnull,
        **streams,
    }


def completed(asked: dict[str, Any], ended: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    """A command that was asked for and has ended, as subprocess.run gives it."""
    out, err = (Path(asked[name]).read_text(encoding="utf-8") for name in ("stdout", "stderr"))
    if ended["hang"]:
        raise subprocess.TimeoutExpired(asked["args"], DEADLINE, out, err)
    code = ended["code"] if ended["signal"] is None else -ended["signal"]
    return subprocess.CompletedProcess(asked["args"], code, out, err)
