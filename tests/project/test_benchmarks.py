"""The benchmarks run, in a small size, and two tables are compared. No time is asserted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from support.paths import ROOT

BENCHMARKS = ROOT / "benchmarks"


def run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCHMARKS / script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_a_smoke_run_makes_one_table(tmp_path: Path) -> None:
    done = run("run.py", "--quick", "--only", "checks", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    made = json.loads((tmp_path / "table.json").read_text(encoding="utf-8"))
    assert made["scripts"]["checks"]["exit"] == 0
    assert {"date", "system", "processor", "cores", "python", "steelyard", "peers"} <= made["machine"].keys()
    names = [row["name"] for row in made["rows"]]
    assert names == ["steelyard, the whole evaluation", "steelyard, the quick checks alone"]
    assert all({"cpu", "wall", "peak_mb", "ratio"} <= row.keys() for row in made["rows"])
    assert "| steelyard, the quick checks alone |" in (tmp_path / "table.md").read_text(encoding="utf-8")
    again = run("run.py", "--quick", "--only", "checks", "--out", str(tmp_path), "--merge")
    assert again.returncode == 0
    assert len(json.loads((tmp_path / "table.json").read_text(encoding="utf-8"))["rows"]) == 2


def table(path: Path, processor: str = "one", **seconds: float) -> str:
    rows: list[dict[str, Any]] = [
        {"script": "bench_x", "group": "g", "name": name.replace("_", " "), "cpu": cpu} for name, cpu in seconds.items()
    ]
    path.write_text(json.dumps({"machine": {"processor": processor}, "quick": False, "rows": rows}))
    return str(path)


def test_rows_that_got_worse_are_named(tmp_path: Path) -> None:
    """Ours above 10 % alone: not a peer, not what is too short. What is new or gone is named, and no fault."""
    same = {"steelyard_b": 1.0, "peer": 1.0}
    old = table(tmp_path / "old.json", steelyard_a=1.0, steelyard_short=0.001, steelyard_gone=1, **same)
    worse = {"steelyard_b": 1.09, "peer": 9.0}
    new = table(tmp_path / "new.json", steelyard_a=1.2, steelyard_short=0.004, steelyard_new=9, **worse)
    done = run("check.py", new, old)
    assert (done.returncode, done.stdout.splitlines()) == (
        1,
        [
            "new: x: g: steelyard new",
            "not there any more: x: g: steelyard gone",
            "x: g: steelyard a: 1.0000 -> 1.2000 CPU s",
            "1 of 3 rows got worse by more than 10 % since old.json",
        ],
    )
    assert run("check.py", old, old).returncode == 0
    stopped = json.loads(Path(old).read_text(encoding="utf-8"))
    stopped["rows"][0] = {"script": "bench_x", "group": "g", "name": "steelyard a", "not_run": "failed"}
    (tmp_path / "stopped.json").write_text(json.dumps(stopped))
    done = run("check.py", str(tmp_path / "stopped.json"), old)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "not run: x: g: steelyard a")
    assert run("check.py", new, table(tmp_path / "other.json", "two", steelyard_a=1.0)).returncode == 2
    assert run("check.py", str(tmp_path / "none.json"), old).returncode == 2


def test_the_last_table_of_the_same_sort_is_taken(tmp_path: Path) -> None:
    """Without a second table: the newest one committed of this processor and size of data, or a line that says so."""
    newest = max(path for path in (BENCHMARKS / "results").glob("*_bench*.json"))
    done = run("check.py", str(newest))
    assert (done.returncode, done.stdout.splitlines()[-1].startswith("0 of ")) == (0, True)
    assert done.stdout.splitlines()[-1].endswith(f"since {newest.name}")
    done = run("check.py", table(tmp_path / "new.json", "unknown", steelyard_a=1.0))
    assert done.returncode == 2
    assert done.stdout == "no earlier table in benchmarks/results/ of whole data on unknown\n"
