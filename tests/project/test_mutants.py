"""The tool that changes the source: the share of a sample, and the record that the scorecard takes of it."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import make_trust
import mutant_table
import pytest
from support.paths import ROOT


def file(name: str, mutants: int, noticed: int, survived: int) -> mutant_table.File:
    """A file of which some mutants were run."""
    codes = {f"x__mutmut_{i}": 1 if i < noticed else 0 for i in range(noticed + survived)}
    return mutant_table.File(name, Path(name), mutants, codes)


def test_a_share_weighs_files_by_all_of_their_mutants() -> None:
    files = [file("core/a.py", 100, 9, 1), file("core/b.py", 300, 5, 0)]
    share, error = mutant_table.estimate(files)
    assert share == pytest.approx((100 * 0.9 + 300 * 1.0) / 400)
    assert error == pytest.approx(math.sqrt((100 / 400) ** 2 * (0.9 * 0.1 / 9) * (1 - 10 / 100)))


def test_a_file_that_was_run_whole_adds_no_error() -> None:
    assert mutant_table.estimate([file("core/a.py", 10, 9, 1)]) == (0.9, 0.0)


def test_files_of_which_few_were_run_are_taken_together() -> None:
    files = [
        file("core/a.py", 100, 9, 1),
        file("core/b.py", 30, 2, 0),
        file("core/c.py", 20, 1, 1),
        file("d.py", 2, 2, 0),
    ]
    share, error = mutant_table.estimate(files)
    assert share == pytest.approx((100 * 0.9 + 50 * 0.75 + 2 * 1.0) / 152)
    few = (50 / 152) ** 2 * (0.75 * 0.25 / 3) * (1 - 4 / 50)
    assert error == pytest.approx(math.sqrt((100 / 152) ** 2 * (0.9 * 0.1 / 9) * (1 - 10 / 100) + few))


def test_the_scorecard_takes_the_sample_and_its_interval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, part = [file("core/a.py", 10, 10, 0)], [file("tasks/b.py", 1001, 501, 0)]
    text, shares = mutant_table.table({"core": whole, "tasks": part}, 3)
    assert shares == {"core": 1.0, "tasks": 1.0}
    assert "drawn by file with seed 3" in text
    (tmp_path / "mutants.md").write_text(text, encoding="utf-8")
    monkeypatch.setattr(make_trust, "OUT", tmp_path)
    record = make_trust.take_mutants()
    assert record["rooms"]["tasks"] == {
        "mutants": "1001", "run": "501", "noticed": "501", "share": "100.0%", "error": "0.00%", "low": "100.0%",
        "high": "100.0%",
    }  # fmt: skip
    shown = make_trust.shown_mutants(record)
    assert "| core | 10 | 10 | 100.0% | all were run |" in shown
    assert "| tasks | 1,001 | 501 | 100.0% | 100.0% to 100.0% |" in shown


@pytest.mark.skipif(sys.platform != "linux", reason="commands are forked on Linux")
def test_a_command_of_a_test_runs_in_a_fork_and_brings_back_what_it_reached(tmp_path: Path) -> None:
    program = f"""
import os, sys
from pathlib import Path
sys.path.insert(0, {str(ROOT / "tools")!r})
os.chdir({str(ROOT)!r})
import mutant_tests
mutant_tests.run_commands_here()
from hostile import child
from support import forked
perform = child.perform
def reach(args, python):
    mutant_tests.HITS.add("reached in the fork")
    perform(args, python)
child.perform = reach
done = forked.CommandLine().run(["--version"], Path({str(tmp_path)!r}), {{}})
print(os.getpid(), done.returncode, done.stdout.split()[0], *mutant_tests.HITS)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    process, *rest = done.stdout.split(maxsplit=1)
    assert (process.isdigit(), rest, done.stderr) == (True, ["0 steelyard reached in the fork\n"], "")
