"""Runs a row in a folder of its own, and says all that is wrong with how it ended."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hostile.rows import Row
from hostile.servers_help import serving

CHILD = Path(__file__).with_name("child.py")
DEADLINE = float(os.environ.get("STEELYARD_HOSTILE_DEADLINE", "60"))
LONGEST = 9000  # characters of a message: nothing hostile is recited
# Nothing that moves the cursor, colours, or turns the direction of writing reaches a terminal.
UNCLEAN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
ENVIRONMENT = {
    "PYTHONWARNINGS": "error",
    "PYTHONIOENCODING": "utf-8",
    "OPENBLAS_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
    "GITHUB_STEP_SUMMARY": "",
}


@dataclass
class Ended:
    """How a row's process ended, and what it printed."""

    code: int | None
    signal: int | None
    hang: bool
    stdout: str
    stderr: str
    left: bool = False


class Runner:
    """Runs rows; where the platform forks well, through a server that has everything loaded."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.count = folder, 0
        self.server: subprocess.Popen[str] | None = None
        if sys.platform == "linux":
            self.server = subprocess.Popen(
                [sys.executable, str(CHILD), "serve"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, **ENVIRONMENT},
            )

    def close(self) -> None:
        if self.server is not None:
            self.server.communicate(timeout=DEADLINE)

    def run(self, row: Row, folder: Path) -> Ended:
        """Run the row in the folder, with its server where it has one."""
        if row.server is None:
            return self._run(row, folder, "")
        with serving(row.server) as url:
            return self._run(row, folder, url)

    def _run(self, row: Row, folder: Path, url: str) -> Ended:
        args = [arg.replace("{url}", url) for arg in row.args]
        self.count += 1
        with tempfile.TemporaryDirectory(dir=self.folder) as kept:
            streams = {name: str(Path(kept) / name) for name in ("stdin", "stdout", "stderr")}
            Path(streams["stdin"]).write_bytes(row.stdin)
            if row.stdout:
                streams["stdout"] = row.stdout
            if self.server is None:
                return self._plain(row, folder, args)
            request = {
                "folder": str(folder), "args": args, "python": row.python, "env": dict(row.env), "deadline": DEADLINE,
                "memory": row.memory, "alone": self._alone(row), **streams,
            }  # fmt: skip
            assert self.server.stdin is not None
            assert self.server.stdout is not None
            self.server.stdin.write(json.dumps(request) + "\n")
            self.server.stdin.flush()
            answer: dict[str, Any] = json.loads(self.server.stdout.readline())
            texts = [
                Path(streams[name]).read_bytes().decode("utf-8", "replace") if Path(streams[name]).is_file() else ""
                for name in ("stdout", "stderr")
            ]
        return Ended(answer["code"], answer["signal"], answer["hang"], *texts, answer["left"])

    def _alone(self, row: Row) -> bool:
        """Whether a row has a process of its own: threads of other packages and metrics that it defines would stay."""
        stays = any(name in row.python for name in ("polars", "torch", "Metric"))
        return stays or bool(row.stdout) or not row.memory or row.server is not None

    def _plain(self, row: Row, folder: Path, args: list[str]) -> Ended:
        asked = json.dumps({"args": args, "python": row.python, "memory": row.memory})
        try:
            done = subprocess.run(
                [sys.executable, str(CHILD), asked], cwd=folder, env={**os.environ, **ENVIRONMENT, **row.env},
                input=row.stdin, capture_output=True, timeout=DEADLINE,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return Ended(None, None, True, "", "")
        texts = [(text or b"").decode("utf-8", "replace") for text in (done.stdout, done.stderr)]
        signal = -done.returncode if done.returncode < 0 else None
        return Ended(done.returncode, signal, False, texts[0], texts[1])


def lay_out(row: Row, folder: Path) -> None:
    """Make the row's files."""
    for name, made in row.files.items():
        path = folder / name
        if callable(made):
            made(path)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(made if isinstance(made, bytes) else made.encode("utf-8", "surrogatepass"))


def contents(folder: Path) -> dict[str, str]:
    """Every path below a folder, and a digest of what a plain file holds."""
    by_name = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        name = str(path.relative_to(folder)).replace(os.sep, "/")
        if stat.S_ISREG(mode) and os.access(path, os.R_OK):
            by_name[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            by_name[name] = f"{stat.S_IFMT(mode):o}"
    return by_name


def faults(row: Row, ended: Ended, before: dict[str, str], after: dict[str, str]) -> list[str]:
    """All that is wrong, in words; nothing where the row holds."""
    printed = f"{ended.stdout}\n{ended.stderr}"
    wrong = []
    if ended.hang:
        wrong.append("it hangs")
    if ended.signal is not None:
        wrong.append(f"signal {ended.signal}")
    if ended.left:
        wrong.append("processes are left behind")
    if ended.code is not None and ended.code != row.code:
        wrong.append(f"exit code {ended.code}, not {row.code}")
    if "Traceback" in printed or "Warning:" in ended.stderr:
        wrong.append("a traceback or a warning of Python's")
    wrong += [f"does not say {text!r}" for text in row.says if text not in printed]
    wrong += [f"says {text!r}" for text in row.never if text in printed]
    unclean = UNCLEAN.search(printed)
    if unclean:
        wrong.append(f"prints {unclean.group()!r}")
    if row.code == 2:
        if ended.stdout:
            wrong.append("refused, and yet something on stdout")
        if ended.stderr.startswith("steelyard:") and ended.stderr.count("\n") not in (
            1,
            3,
        ):  # a rule is shown with a mark below
            wrong.append(f"{ended.stderr.count(chr(10))} lines where one message is expected")
    if len(ended.stderr) > LONGEST:
        wrong.append(f"a message of {len(ended.stderr):,} characters")
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name) and not any(name == w or name.startswith(f"{w}/") for w in row.writes):
            wrong.append(f"'{name}' {'is changed' if name in before and name in after else 'is new or gone'}")
    wrong += [f"'{name}' is not written" for name in row.writes if name not in after]
    return wrong
