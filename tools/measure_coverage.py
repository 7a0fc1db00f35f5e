"""Run the whole test suite and count the lines and branches that it reaches, in Python and in the native core.

    python tools/measure_coverage.py [TESTS ...]

Run by `make coverage`; it takes about twice as long as `make test`. The native core is built with gcc's counters into
an environment of its own, which sees the packages of this one. Writes out/coverage: summary.json for the scorecard,
missing.md with what no test reaches, by file. Below 95 % is an error. Settings stand in pyproject.toml.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "build" / "coverage"
FOLDER = ROOT / "build" / "coverage-env"
PYTHON = FOLDER / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
OUT = ROOT / "out" / "coverage"
WANTED = 95.0


def prepare() -> None:
    """An environment with a native core that counts."""
    subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", FOLDER], check=True)
    site = Path(
        subprocess.run(
            [PYTHON, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
            capture_output=True, text=True, check=True,
        ).stdout.strip()
    )  # fmt: skip
    (site / "packages.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    subprocess.run(
        [sys.executable, "-m", "pip", "--quiet", "--python", PYTHON, "install", "--no-build-isolation", "--no-deps",
         "--ignore-installed", "--config-settings=cmake.define.STEELYARD_COVERAGE=ON",
         f"--config-settings=build-dir={BUILD}", "--editable", ROOT],
        check=True,
    )  # fmt: skip


def run_tests(tests: list[str]) -> int:
    """The suite, with counters of Python in every process."""
    for old in (*BUILD.rglob("*.gcda"), *ROOT.glob(".coverage*")):
        old.unlink()
    command = [PYTHON, "-m", "coverage", "run", "-m", "pytest", "-n", "2", "--dist", "worksteal", *tests]
    failed = subprocess.run(command, cwd=ROOT, check=False).returncode
    subprocess.run([PYTHON, "-m", "coverage", "combine", "--quiet"], cwd=ROOT, check=True)
    subprocess.run([PYTHON, "-m", "coverage", "json", "--quiet", "-o", OUT / "python.json"], cwd=ROOT, check=True)
    subprocess.run(
        [PYTHON, "-m", "gcovr", "--root", ROOT, "--filter", "native/kernels/", "--filter", "native/bindings/",
         "--exclude-throw-branches", "--exclude-unreachable-branches", "--merge-mode-functions", "merge-use-line-min",
         "--gcov-ignore-parse-errors", "all", "--json-summary", OUT / "native.json",
         "--json", OUT / "native_lines.json", BUILD],
        cwd=ROOT, check=True,
    )  # fmt: skip
    return failed


def percent(part: float, whole: float) -> float:
    return round(100 * part / whole, 2) if whole else 100.0


def summary() -> dict[str, Any]:
    """Shares of lines and branches."""
    python = json.loads((OUT / "python.json").read_text(encoding="utf-8"))["totals"]
    native = json.loads((OUT / "native.json").read_text(encoding="utf-8"))
    return {
        "python_lines": percent(python["covered_lines"], python["num_statements"]),
        "python_branches": percent(python["covered_branches"], python["num_branches"]),
        "native_lines": percent(native["line_covered"], native["line_total"]),
        "native_branches": percent(native["branch_covered"], native["branch_total"]),
    }


def spans(lines: list[int]) -> str:
    """1, 2, 3, 7 as "1-3, 7"."""
    parts: list[list[int]] = []
    for line in lines:
        if parts and line == parts[-1][1] + 1:
            parts[-1][1] = line
        else:
            parts.append([line, line])
    return ", ".join(f"{a}-{b}" if a != b else str(a) for a, b in parts)


def missing() -> str:
    """What no test reaches, by file."""
    python = json.loads((OUT / "python.json").read_text(encoding="utf-8"))["files"]
    native = json.loads((OUT / "native_lines.json").read_text(encoding="utf-8"))["files"]
    rows = [(name, one["missing_lines"]) for name, one in python.items()]
    rows += [(one["file"], sorted({x["line_number"] for x in one["lines"] if not x["count"]})) for one in native]
    listed = [f"| {name} | {len(lines)} | {spans(lines)} |" for name, lines in sorted(rows) if lines]
    return "\n".join(["| file | lines | which |", "|---|---|---|", *listed]) + "\n"


def main(tests: list[str]) -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    if shutil.which("gcov") is None:
        sys.exit("the native core is counted by gcov, which comes with gcc: there is none on this machine")
    prepare()
    failed = run_tests(tests)
    shares = summary()
    (OUT / "summary.json").write_text(json.dumps(shares, indent=1) + "\n", encoding="utf-8")
    (OUT / "missing.md").write_text(missing(), encoding="utf-8")
    for name, share in shares.items():
        print(f"{name:16} {share:6.2f} %")
    below = [name for name, share in shares.items() if share < WANTED]
    if failed or (below and not tests):
        sys.exit("tests failed" if failed else f"below {WANTED} %: {', '.join(below)}")


if __name__ == "__main__":
    main(sys.argv[1:])
