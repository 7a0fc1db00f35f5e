"""Run the whole test suite and count the lines and branches that it reaches, in Python and in the native core.

    python tools/measure_coverage.py [--add] [--workers N] [TESTS ...]

Run by `make coverage`, in about twice the time of `make test-all`. The native core is built with gcc's counters into
an environment of its own, which sees the packages of this one. Writes out/coverage: summary.json for the scorecard,
missing.md with what no test reaches and what is not counted, by file. Below 95 % is an error. With --add the counts of
the last run are kept. Settings stand in pyproject.toml.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "build" / "coverage"
DATA = ROOT / "build" / "coverage-data"
FOLDER = ROOT / "build" / "coverage-env"
PYTHON = FOLDER / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
OUT = ROOT / "out" / "coverage"
WANTED = 95.0
DECIDES = re.compile(r"\b(if|for|while|switch|case)\b|\?|&&|\|\|")

# Tests fork commands, which end by os._exit: that would lose the native counts of the process.
KEEP_COUNTS = """
import ctypes, os, sys

def keep_counts_and_exit(code, exit=os._exit):
    native = sys.modules.get("steelyard._native")
    if native is not None:
        ctypes.CDLL(native.__file__).steelyard_keep_counts()
    exit(code)

os._exit = keep_counts_and_exit
"""

# A process whose folder is gone cannot be measured, and must say what it says without.
START = """
import contextlib

with contextlib.suppress(OSError):
    import coverage

    coverage.process_startup()
"""

# Else workers that write their counts for more than ten seconds are killed by xdist.
PATIENCE = """
from xdist.workermanage import NodeManager

NodeManager.EXIT_TIMEOUT = 600
"""


def prepare() -> None:
    """An environment with a native core that counts; it sees the packages of this one."""
    subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", FOLDER], check=True)
    site = Path(
        subprocess.run(
            [PYTHON, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
            capture_output=True, text=True, check=True,
        ).stdout.strip()
    )  # fmt: skip
    packages = [path for path in sys.path if Path(path).name == "site-packages"]
    (site / "packages.pth").write_text("\n".join(packages) + "\n", encoding="utf-8")
    (site / "keep_counts.py").write_text(KEEP_COUNTS, encoding="utf-8")
    (site / "wait_for_counts.py").write_text(PATIENCE, encoding="utf-8")
    (site / "keep_counts.pth").write_text("import keep_counts\n", encoding="utf-8")
    # Packages' own .pth files are not read from there: the one that starts coverage in a new process is written here.
    (site / "zz_coverage.pth").write_text("import start_coverage\n", encoding="utf-8")
    (site / "start_coverage.py").write_text(START, encoding="utf-8")
    subprocess.run(
        [sys.executable, "-m", "pip", "--quiet", "--python", PYTHON, "install", "--no-build-isolation", "--no-deps",
         "--ignore-installed", "--config-settings=cmake.define.STEELYARD_COVERAGE=ON",
         "--config-settings=cmake.define.STEELYARD_TESTS=ON",
         f"--config-settings=build-dir={BUILD}", "--editable", ROOT],
        check=True,
    )  # fmt: skip


def clear() -> None:
    """Forget the counts of the last run."""
    shutil.rmtree(DATA, ignore_errors=True)
    for old in BUILD.rglob("*.gcda"):
        old.unlink()


def run_tests(tests: list[str], workers: int) -> int:
    """Run the suite, with counters of Python in every process, and the C++ tests of the kernels."""
    DATA.mkdir(parents=True, exist_ok=True)
    for simd in ("baseline", "avx2"):
        subprocess.run([BUILD / "native" / "kernel_tests"], env={**os.environ, "STEELYARD_SIMD": simd}, check=True)
    pytest = ["pytest", "-m", "", "-p", "wait_for_counts", "-n", str(workers), "--dist", "worksteal"]
    command = [str(PYTHON), "-m", "coverage", "run", "-m", *pytest, *tests]
    return subprocess.run(command, cwd=ROOT, env=environment(), check=False).returncode


def environment() -> dict[str, str]:
    return {**os.environ, "COVERAGE_FILE": str(DATA / ".coverage")}


def collect() -> None:
    """Add up what the processes counted."""

    def run(*args: str | Path) -> None:
        subprocess.run([str(PYTHON), "-m", *map(str, args)], cwd=ROOT, env=environment(), check=True)

    run("coverage", "combine", "--quiet", "--append")
    ours = f"--include={ROOT / 'src' / '*'}"  # not what a test installed
    run("coverage", "json", "--quiet", ours, "-o", OUT / "python.json")
    (OUT / "native.json").write_text(json.dumps(native_counts()), encoding="utf-8")


def percent(part: float, whole: float) -> float:
    return round(100 * part / whole, 2) if whole else 100.0


def counted_by_gcov() -> Iterator[dict[str, Any]]:
    """What gcov says of the native core's files, once for every object that was compiled from them.

    Its JSON says of every branch whether it is taken by an exception, as its text does not where nothing ran.
    """
    for notes in sorted(BUILD.rglob("*.gcno")):
        command = ["gcov", "--branch-probabilities", "--branch-counts", "--json-format", "--stdout", str(notes)]
        said = json.loads(subprocess.run(command, cwd=BUILD, capture_output=True, check=True).stdout)
        for file in said["files"]:
            path = (Path(said["current_working_directory"]) / file["file"]).resolve()
            if any(path.is_relative_to(ROOT / "native" / room) for room in ("kernels", "bindings")):
                yield {**file, "file": path.relative_to(ROOT).as_posix()}


def native_counts() -> dict[str, dict[str, tuple[int, list[int]]]]:
    """Of every line of every file how often it ran, and each of its branches.

    The instances of a template are added up, functions that share a line are not. A branch is one of the source: those
    on a line that decides nothing are the compiler's, for destructors and static values, and a call that may throw is
    none.
    """
    runs: dict[str, Counter[int]] = {}
    taken: dict[str, Counter[tuple[int, tuple[int, ...], int]]] = {}
    for file in counted_by_gcov():
        name = file["file"]
        source = (ROOT / name).read_text(encoding="utf-8").splitlines()
        spans_of = {
            one["name"]: (one["start_line"], one["start_column"], one["end_line"], one["end_column"])
            for one in file["functions"]
        }
        instances = Counter(spans_of.values())
        for line in file["lines"]:
            number, branches = line["line_number"], line["branches"]
            runs.setdefault(name, Counter())[number] += line["count"]
            if not DECIDES.search(source[number - 1].partition("//")[0]):
                continue
            span = spans_of.get(line.get("function_name"))
            several = 1
            if span is None:  # of a lambda in a template: the branches of its instances stand one behind the other
                around = [one for one in instances if one[0] <= number <= one[2]]
                span = max(around, default=(0, 0, 0, 0))
                several = instances[span] if around and len(branches) % instances[span] == 0 else 1
            thrown = {place for place, branch in enumerate(branches) if branch["throw"]}
            for place, branch in enumerate(branches):
                if not thrown & {place, place + 1}:
                    key = number, span, place % (len(branches) // several)
                    taken.setdefault(name, Counter())[key] += branch["count"]
    branches_of: dict[tuple[str, int], list[int]] = {}
    for name, counts in taken.items():
        for (number, _, _), count in sorted(counts.items()):
            branches_of.setdefault((name, number), []).append(count)
    return {
        name: {str(line): (count, branches_of.get((name, line), [])) for line, count in sorted(lines.items())}
        for name, lines in sorted(runs.items())
    }


def read_native() -> dict[str, dict[int, tuple[int, list[int]]]]:
    files = json.loads((OUT / "native.json").read_text(encoding="utf-8"))
    return {
        name: {int(line): (count, branches) for line, (count, branches) in lines.items()}
        for name, lines in files.items()
    }


def summary() -> dict[str, Any]:
    """Shares of lines and branches."""
    python = json.loads((OUT / "python.json").read_text(encoding="utf-8"))["totals"]
    lines = [line for file in read_native().values() for line in file.values()]
    taken = [count > 0 for _, branches in lines for count in branches]
    return {
        "python_lines": percent(python["covered_lines"], python["num_statements"]),
        "python_branches": percent(python["covered_branches"], python["num_branches"]),
        "native_lines": percent(sum(count > 0 for count, _ in lines), len(lines)),
        "native_branches": percent(sum(taken), len(taken)),
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


def listed(rows: dict[str, tuple[list[int], list[int]]]) -> list[str]:
    shown = [
        f"| {name} | {spans(lines) or '-'} | {spans(sorted(set(branches) - set(lines))) or '-'} |"
        for name, (lines, branches) in sorted(rows.items())
        if lines or branches
    ]
    return ["| file | lines that no test reaches | lines with a branch that no test takes |", "|---|---|---|", *shown]


def missing() -> str:
    """What no test reaches and what is not counted, by file."""
    python = json.loads((OUT / "python.json").read_text(encoding="utf-8"))["files"]
    ours = {
        name: (one["missing_lines"], [abs(start) for start, _ in one["missing_branches"]])
        for name, one in python.items()
    }
    theirs = {
        name: (
            sorted(number for number, (count, _) in lines.items() if not count),
            sorted(number for number, (_, branches) in lines.items() if not all(branches)),
        )
        for name, lines in read_native().items()
    }
    excluded = [
        f"| {name} | {spans(one['excluded_lines'])} |" for name, one in sorted(python.items()) if one["excluded_lines"]
    ]
    parts = [
        "# What no test reaches", "", "## Python", "", *listed(ours), "", "## Native core", "", *listed(theirs), "",
        "## Not counted", "", "By the rules under `tool.coverage.report` in pyproject.toml:", "",
        "| file | lines |", "|---|---|", *excluded,
    ]  # fmt: skip
    return "\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description="Count the lines and branches that the tests reach.")
    parser.add_argument("--add", action="store_true", help="add to the counts of the last run")
    parser.add_argument("--workers", type=int, default=2, help="so many processes")
    parser.add_argument("tests", nargs="*", help="files of tests, or after -- options of pytest; all tests without")
    asked = parser.parse_args()
    if shutil.which("gcov") is None:
        sys.exit("the native core is counted by gcov, which comes with gcc: there is none on this machine")
    OUT.mkdir(parents=True, exist_ok=True)
    prepare()
    if not asked.add:
        clear()
    failed = run_tests(asked.tests, asked.workers)
    collect()
    shares = summary()
    given = " ".join(asked.tests)
    note = {"note": f"Of `pytest {given}` and the C++ tests alone, so these are lower bounds."} if given else {}
    (OUT / "summary.json").write_text(json.dumps({**shares, **note}, indent=1) + "\n", encoding="utf-8")
    (OUT / "missing.md").write_text(missing(), encoding="utf-8")
    for name, share in shares.items():
        print(f"{name:16} {share:6.2f} %")
    below = [name for name, share in shares.items() if share < WANTED]
    if failed or (below and not asked.tests):
        sys.exit("tests failed" if failed else f"below {WANTED} %: {', '.join(below)}")


if __name__ == "__main__":
    main()
