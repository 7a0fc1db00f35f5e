"""What all tests share."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "tools"))
sys.path.insert(0, str(Path(__file__).parent))
import browser
import latex
from forked import CommandLine

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parent.parent
PROGRAMS = {browser.HOW: "Chromium", latex.HOW: "LaTeX"}
ENABLE = "To run these tests: make test SYSTEM_PACKAGES=1 (Debian, as root), or install the programs yourself."


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None]:
    """End the run by saying what was skipped for want of a program, below the counts that pytest prints."""
    yield
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or hasattr(session.config, "workerinput"):
        return
    reasons = [str(report.longrepr[2]).removeprefix("Skipped: ") for report in reporter.stats.get("skipped", ())]
    missing = Counter(PROGRAMS[reason] for reason in reasons if reason in PROGRAMS)
    if missing:
        each = " and ".join(f"{count} without {name}" for name, count in sorted(missing.items()))
        reporter.write_line(f"Tests skipped because a program is missing: {each}. {ENABLE}")


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
