"""The tool that runs the tests of the replaced packages: which there are, and how it counts."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path

import pytest
import run_peer_suites
from support.paths import ROOT

from steelyard.compat import DROP_INS

JUNIT = """<?xml version="1.0"?><testsuites name="pytest tests"><testsuite name="pytest" errors="1" failures="1" skipped="1" tests="5">
<testcase classname="tests.test_a" name="test_one[x]"/>
<testcase classname="tests.test_a" name="test_two"><failure message="no">assert 1 == 2</failure></testcase>
<testcase classname="tests.test_a" name="test_three"><skipped message="no GPU"/></testcase>
<testcase classname="tests.test_a" name="test_four"><properties/></testcase>
<testcase classname="" name="tests.test_b"><error message="collection failure">ImportError</error></testcase>
</testsuite></testsuites>"""


def test_every_drop_in_has_a_suite_or_a_reason() -> None:
    assert sorted([*run_peer_suites.SUITES, *run_peer_suites.NOT_RUN]) == sorted(DROP_INS)


def test_counts_of_a_report() -> None:
    assert run_peer_suites.counts(JUNIT) == (2, ["test_two", "tests.test_b"])


@pytest.mark.parametrize(
    ("printed", "wanted"),
    [("tests/test_a.py::test_one\n\n82 tests collected in 0.05s\n", 82), ("1 test collected in 0.05s\n", 1)],
)
def test_the_number_of_tests_that_pytest_collects(printed, wanted) -> None:
    assert run_peer_suites.collected(printed) == wanted


def test_failures_and_what_is_left_out_are_named() -> None:
    suite = run_peer_suites.Suite(
        ("tests",),
        left_out={"tests/a.py": "no plots", "tests/b.py": "no plots"},
        note="old names are put in place",
    )
    assert run_peer_suites.reason(suite, ["test_x", "test_y"]) == (
        "failed: `test_x`, `test_y`; no plots; old names are put in place"
    )


def test_only_the_folders_with_tests_are_unpacked(tmp_path: Path) -> None:
    for name in ("peer-1.0/tests/test_a.py", "peer-1.0/peer/data/a.txt", "peer-1.0/peer/__init__.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name, encoding="utf-8")
    with tarfile.open(tmp_path / "source", "w:gz") as source:
        source.add(tmp_path / "peer-1.0", "peer-1.0")
    with zipfile.ZipFile(tmp_path / "wheel", "w") as wheel:
        for path in (tmp_path / "peer-1.0").rglob("*.*"):
            wheel.write(path, path.relative_to(tmp_path / "peer-1.0"))
    for kind in ("source", "wheel"):
        to = tmp_path / f"{kind}-unpacked"
        run_peer_suites.unpack(tmp_path / kind, ("tests", "peer/data"), to)
        files = sorted(path.relative_to(to).as_posix() for path in to.rglob("*.*"))
        assert files == ["data/a.txt", "tests/test_a.py"]


def test_the_page_has_a_line_for_every_drop_in() -> None:
    page = (ROOT / "docs" / "compat.md").read_text(encoding="utf-8")
    match = run_peer_suites.TABLE.search(page)
    assert match is not None
    named = [line.split(" | ")[0].removeprefix("| ") for line in match[0].splitlines() if line.startswith("| ")]
    assert named == ["package", *DROP_INS]
