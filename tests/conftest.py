"""What all tests share."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "tools"))
sys.path.insert(0, str(Path(__file__).parent))
import browser as browser_tools
import latex
from support.forked import CommandLine
from support.wording import check_when_made

pytest_plugins = ["pytester"]

# The same examples in every run, so that a green suite stays green; STEELYARD_EXPLORE=1 looks for new ones.
hypothesis.settings.register_profile("repeatable", derandomize=True)
hypothesis.settings.register_profile("explore", derandomize=False)
hypothesis.settings.load_profile("explore" if os.environ.get("STEELYARD_EXPLORE") else "repeatable")

ROOT = Path(__file__).parent.parent
PROGRAMS = {browser_tools.HOW: "Chromium", latex.HOW: "LaTeX"}
SHARED = pytest.StashKey[list[Any]]()  # what lives as long as the run: each has a pid
ENABLE = "To run these tests: make test SYSTEM_PACKAGES=1 (Debian, as root), or install the programs yourself."


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None]:
    """End the run by saying what was skipped for want of a program, below the counts that pytest prints."""
    yield
    gc.unfreeze()  # else nothing that is left is destroyed at the end, and other packages complain of leaks
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or hasattr(session.config, "workerinput"):
        return
    reasons = [str(report.longrepr[2]).removeprefix("Skipped: ") for report in reporter.stats.get("skipped", ())]
    missing = Counter(PROGRAMS[reason] for reason in reasons if reason in PROGRAMS)
    if missing:
        each = " and ".join(f"{count} without {name}" for name, count in sorted(missing.items()))
        reporter.write_line(f"Tests skipped because a program is missing: {each}. {ENABLE}")


def pytest_collection_finish() -> None:
    """Keep what collecting made out of every later search for garbage."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def wording() -> Iterator[None]:
    """What is said in errors, findings and pictures has the form that such words have."""
    end = check_when_made()
    yield
    end()


@pytest.fixture(scope="module", autouse=True)
def nothing_left_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """A module ends the processes that it starts, and closes its files; what it drops is complained of here, by its name."""
    before = children()
    yield
    gc.collect()  # a file or a process that was dropped warns now, and not in the middle of another module
    gc.freeze()  # what is left lives until the end: modules that were imported, caches
    shared = {one.pid for one in request.session.stash.get(SHARED, [])}
    left = [process for process in children() - before if not shared & family(process)]
    if left:
        import psutil

        left = psutil.wait_procs(left, timeout=30)[1]  # what was told to end may take a moment
    assert not left, f"{request.node.name} left processes behind: {[shown(process) for process in left]}"


def children() -> set[Any]:
    """The processes below this one; but for those that Python's multiprocessing keeps for as long as it runs."""
    try:
        import psutil
    except ImportError:  # wheels are tested with few packages
        return set()
    below, own = psutil.Process().children(recursive=True), set(psutil.Process().children())
    return {
        process
        for process in below
        if "multiprocessing.resource_tracker" not in (command := shown(process))
        and not ("multiprocessing.forkserver" in command and process in own)  # its children have the same command
    }


def family(process: Any) -> set[int]:
    """A process and those that it descends from."""
    import psutil

    try:
        return {process.pid, *(parent.pid for parent in process.parents())}
    except psutil.Error:
        return {process.pid}


def shown(process: Any) -> str:
    """The command of a process."""
    import psutil

    try:
        return " ".join(process.cmdline()) or f"{process.name()} ({process.status()})"
    except psutil.Error:
        return "ended"


@pytest.fixture(scope="session")
def command_line(request: pytest.FixtureRequest) -> Iterator[CommandLine]:
    """What runs commands, for all tests of a process."""
    line = CommandLine()
    request.session.stash.setdefault(SHARED, []).append(line)
    yield line
    line.close()


@pytest.fixture(scope="session")
def browser(request: pytest.FixtureRequest) -> Iterator[browser_tools.Browser]:
    """One Chromium for all tests of a process; each opens pages of its own."""
    with browser_tools.Browser() as running:
        request.session.stash.setdefault(SHARED, []).append(running)
        yield running


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
    from support.vlm_help import frames_csv

    from steelyard.vlm.frames import read_frames

    return read_frames(frames_csv(tmp_path))
