"""What all tests share."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from forked import CommandLine

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def command_line() -> Iterator[CommandLine]:
    """What runs commands, for all tests of a process."""
    line = CommandLine()
    yield line
    line.close()


@pytest.fixture
def steelyard(tmp_path: Path, command_line: CommandLine) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the command line in an empty folder, as a user would."""

    def run(*args: str | Path, cwd: Path = tmp_path, **env: str) -> subprocess.CompletedProcess[str]:
        return command_line.run([str(arg) for arg in args], cwd, env)

    return run


@pytest.fixture
def fast_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Back-off of questions to servers at a hundredth: waits are asserted where they matter."""
    import tenacity

    real = tenacity.wait_random_exponential
    monkeypatch.setattr(tenacity, "wait_random_exponential", lambda **k: real(multiplier=0.002, max=0.02))


@pytest.fixture
def frames(tmp_path: Path) -> Any:
    """Two sequences of three pictures."""
    from vlm_help import frames_csv

    from steelyard.vlm.frames import read_frames

    return read_frames(frames_csv(tmp_path))
