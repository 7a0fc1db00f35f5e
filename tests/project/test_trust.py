"""The scorecard takes what `make fuzz`, `make kills` and `make simulate` leave in out/, and shows it."""

from __future__ import annotations

import json
from pathlib import Path

import make_trust
import pytest
from support.paths import ROOT

XML = (
    '<?xml version="1.0"?><testsuites><testsuite name="{name}" tests="3" failures="1" errors="0" skipped="0" timestamp="2026-11-19T02:00:00">'
    '<testcase name="a"><system-out>--- Captured Out ---\n50 of 61 kills came in time\n</system-out></testcase>'
    '<testcase name="b"><system-out>7 kills came in time\n</system-out></testcase><testcase name="c"/>'
    "</testsuite></testsuites>"
)


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(make_trust, "OUT", tmp_path)
    return tmp_path


def test_kills(out: Path) -> None:
    (out / "kills.xml").write_text(XML.format(name="pytest"), encoding="utf-8")
    record = make_trust.take_kills()
    assert record == {"passed": 2, "failed": 1, "kills": 57}
    assert make_trust.shown_kills(record).startswith("57 kills in the middle of commands that write")


def test_fuzz(out: Path) -> None:
    (out / "fuzz.txt").write_text(
        "seconds 60\nboxes: 1200 runs without a find in 60 s, seed 7\nmaps: 34 runs without a find in 60 s, seed 8\n",
        encoding="utf-8",
    )
    record = make_trust.take_fuzz()
    assert record == {"targets": 2, "runs": 1234, "seconds": 60}
    assert "2 targets that reach every native entry, 60 s each" in make_trust.shown_fuzz(record)


def test_simulate(out: Path) -> None:
    (out / "simulate.xml").write_text(XML.format(name="sets-400"), encoding="utf-8")
    record = make_trust.take_simulate()
    assert (record["passed"], record["failed"], record["sets"]) == (2, 1, 400)
    assert record["shares"] >= record["inside"] > 0
    assert "2 simulated tests of intervals, p-values and plans passed, 1 failed, on 400 test sets each." in (
        make_trust.shown_simulate(record)
    )
    (out / "simulate.xml").write_text(XML.format(name="pytest"), encoding="utf-8")
    with pytest.raises(SystemExit, match="does not say how many test sets"):
        make_trust.take_simulate()


def test_runs_on_several_machines(out: Path) -> None:
    (out / "tests.xml").write_text(XML.format(name="make test; x86_64, Python 3.11.7, NumPy 2.4.0"), encoding="utf-8")
    other = XML.format(name="make test-slow; aarch64, Python 3.13.5, NumPy 2.5.1").replace('skipped="0"', 'skipped="1"')
    (out / "tests-other.xml").write_text(other, encoding="utf-8")
    record = make_trust.take_tests()
    slow = {"command": "make test-slow", "machine": "aarch64, Python 3.13.5, NumPy 2.5.1"}
    fast = {"command": "make test", "machine": "x86_64, Python 3.11.7, NumPy 2.4.0"}
    when = {"version": make_trust.__version__, "date": "2026-11-19"}
    assert record["rows"] == [
        {**slow, **when, "passed": 1, "failed": 1, "skipped": 1},
        {**fast, **when, "passed": 2, "failed": 1, "skipped": 0},
    ]
    line = f"| make test | x86_64, Python 3.11.7, NumPy 2.4.0 | {when['version']} | 2026-11-19 | 2 | 1 | 0 |"
    assert line in make_trust.shown_tests(record)
    old = {"command": "make test", "machine": "aarch64, Python 3.11.2", "version": "0.2.0"}
    stale = {**old, "machine": "x86_64, Python 3.11.2, NumPy 1.26.4"}
    kept = make_trust.take({"tests": {"taken": 0, "rows": [old, stale]}})
    assert kept["tests"]["rows"] == [*record["rows"], old]
    (out / "tests.xml").write_text(XML.format(name="pytest"), encoding="utf-8")
    with pytest.raises(SystemExit, match=r"tests\.xml"):
        make_trust.take_tests()


def test_peers(out: Path) -> None:
    row = {"package": "ranx", "version": "0.3.21", "passed": 57, "failed": 4, "left_out": 0, "reason": "messages"}
    (out / "peer_suites.json").write_text(json.dumps({"rows": [row]}), encoding="utf-8")
    record = make_trust.take_peers()
    assert make_trust.shown_peers(record).endswith("| ranx | 0.3.21 | 57 | 4 | 0 | messages |")


def test_the_commands_leave_what_is_taken() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    for part in ("$(OUT)/kills.xml", "$(OUT)/simulate.xml", "$(OUT)/fuzz.txt", "junit_suite_name=sets-$(SETS)"):
        assert part in text
    assert "runs without a find" in (ROOT / "fuzz" / "harness.py").read_text(encoding="utf-8")
