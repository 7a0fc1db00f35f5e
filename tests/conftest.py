"""What all tests share."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

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
