"""What the test suite promises of itself: which warnings fail, what it installs, what it says of skipped tests, what it leaves behind."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib

import pytest
from support.paths import ROOT

PLUGIN = """
import warnings
import pytest

class LoudWarning(pytest.PytestWarning):
    pass

def pytest_configure(config):
    config.issue_config_time_warning(LoudWarning("benchmarks are disabled"), stacklevel=2)

def pytest_collection_modifyitems():
    warnings.warn("this hook is old", DeprecationWarning, stacklevel=1)
    warnings.warn(LoudWarning("nothing is measured"), stacklevel=1)

def pytest_terminal_summary():
    warnings.warn("nothing was saved", UserWarning, stacklevel=1)
"""
FAULTS = {
    "warning": "import warnings\ndef test(): warnings.warn('old', DeprecationWarning)",
    "file": "import gc\ndef test():\n    open(__file__)\n    gc.collect()",
    "thread": "import threading\ndef test():\n    one = threading.Thread(target=lambda: 1 / 0)\n    one.start()\n    one.join()",
    "class": "class TestOverlooked:\n    def __init__(self): pass\n    def test(self): pass\ndef test(): pass",
}


def with_filters(pytester: pytest.Pytester) -> None:
    """Give the folder the project's own filters of warnings."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
    pytester.makeini("[pytest]\nfilterwarnings =\n" + "".join(f"    {line}\n" for line in settings["filterwarnings"]))


def test_warnings_of_foreign_plugins_are_no_errors(pytester: pytest.Pytester) -> None:
    with_filters(pytester)
    pytester.makepyfile(pytest_loud=PLUGIN, test_one="def test(): pass")
    pytester.syspathinsert()
    done = pytester.runpytest_subprocess("-p", "pytest_loud", "-p", "no:xdist")
    done.assert_outcomes(passed=1, warnings=4)
    assert done.ret == 0


def test_warnings_of_the_project_are_errors(pytester: pytest.Pytester) -> None:
    with_filters(pytester)
    pytester.makepyfile(**{f"test_{name}": code for name, code in FAULTS.items()})
    done = pytester.runpytest_subprocess("-p", "no:xdist", "--continue-on-collection-errors")
    done.assert_outcomes(passed=1, failed=3, errors=1)  # the plain test beside the class passes


LEAVES = """
import subprocess, sys
kept = []

def test():
    kept.append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(5)"]))
"""
ENDS = (
    LEAVES
    + """
def test_end():
    kept[0].kill()
    kept[0].wait()
"""
)


@pytest.mark.parametrize(("module", "errors"), [(LEAVES, 1), (ENDS, 0)])
def test_a_module_that_leaves_a_process_behind_fails(
    module: str, errors: int, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(str(ROOT / name) for name in ("tests", "tools")))
    conftest = (ROOT / "tests" / "conftest.py").read_text(encoding="utf-8")
    pytester.makeconftest(conftest.replace("timeout=30", "timeout=0.1"))
    pytester.makepyfile(module)
    done = pytester.runpytest_subprocess("-p", "no:xdist")
    done.assert_outcomes(passed=2 - errors, errors=errors)
    assert ("left processes behind: " in done.stdout.str()) == bool(errors)


def test_the_last_line_says_what_was_skipped() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "0", "tests/view/test_view_browser.py"],
        cwd=ROOT, env={**os.environ, "CHROMIUM": str(ROOT / "nowhere")}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    *_, counts, last = done.stdout.splitlines()
    skipped = counts.split(" skipped")[0].split()[-1]
    assert last == (
        f"Tests skipped because a program is missing: {skipped} without Chromium. To run these tests: "
        "make test SYSTEM_PACKAGES=1 (Debian, as root), or install the programs yourself."
    )


# Lines that the formatter leaves alone, by folder. A number is made smaller where lines go, and never larger.
SKIPPED = {"src": 578, "tests": 1022, "tools": 36, "benchmarks": 22, "fuzz": 17, "gpu": 16, "examples": 1}


def test_the_formatter_is_not_switched_off_more_often() -> None:
    mark = "fmt: " + "skip"
    counts = {
        folder: sum(path.read_text(encoding="utf-8").count(mark) for path in (ROOT / folder).rglob("*.py"))
        for folder in SKIPPED
    }
    assert {folder: count for folder, count in counts.items() if count > SKIPPED[folder]} == {}


@pytest.mark.skipif(sys.platform == "win32", reason="make is not part of Windows")
def test_system_packages_are_installed_only_where_they_are_asked_for() -> None:
    ours = {
        name: value
        for name, value in os.environ.items()
        if name not in ("MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "SYSTEM_PACKAGES")
    }

    def commands(*words: str) -> str:
        return subprocess.run(
            ["make", "-n", "test", *words], cwd=ROOT, env=ours, capture_output=True, text=True, check=True
        ).stdout

    plain = commands()
    assert "pytest" in plain
    assert "debian.py" not in plain
    assert "debian.py" not in commands("SYSTEM_PACKAGES=0")
    assert "tools/debian.py" in commands("SYSTEM_PACKAGES=1")
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "make test SYSTEM_PACKAGES=1\nmake test-slow SYSTEM_PACKAGES=1\n" in ci


# How many places of the tests compare words of an error's message. Errors are checked by code and by the data that they name
# (`support.refusal.refuses`): lower the number when you convert some.
PROSE = re.compile(
    r"""match=[rf]*"[^"\n]*[a-z]{2,} [a-z]{2,}|\b(?:refused|refused_parts|refused_evaluation|refusal)\(|"""
    r"""str\(\w+\.value\)(?: ==|\.(?:starts|ends)with)"""
)
MOST_PROSE = 387


def test_errors_are_checked_by_code() -> None:
    """The count only falls."""
    matches = {path: len(PROSE.findall(path.read_text(encoding="utf-8"))) for path in (ROOT / "tests").rglob("*.py")}
    assert sum(matches.values()) <= MOST_PROSE, {str(path): count for path, count in matches.items() if count}
