"""How the benchmarks measure: each candidate in a fresh process, CPU seconds and peak memory from the system.

CPU seconds (user and system, all threads) are what is compared: wall time on a shared machine says little.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

QUICK = bool(os.environ.get("STEELYARD_BENCH_QUICK"))  # a smoke run: small data, one round, no figure means anything
ROWS = os.environ.get("STEELYARD_BENCH_ROWS")  # where run.py collects what is measured


def sized(whole: int, quick: int) -> int:
    """How much data: that of the benchmark, or that of a smoke run."""
    return quick if QUICK else whole


LIMIT = sized(3600, 30)  # CPU seconds that a candidate may take: none holds up the whole run
ENOUGH = 3.0  # CPU seconds of a candidate, its set-up too, after which it is not run again
PREFIX = f"""
import json, resource, time
resource.setrlimit(resource.RLIMIT_CPU, ({LIMIT}, {LIMIT + 5}))
def _used():
    r = resource.getrusage(resource.RUSAGE_SELF)
    return r.ru_utime + r.ru_stime
"""
SUFFIX = """
_end = (_used(), time.perf_counter())
try:  # a child begins with its parent's peak where the system hands that on
    _peak = int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
except OSError:
    _peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"cpu": _end[0] - _start[0], "wall": _end[1] - _start[1], "peak": _peak, "all": _used()}))
"""


@dataclass(frozen=True)
class Run:
    """What the cheapest of the runs cost; `cpu` counts from the end of the set-up, or from the start of the process."""

    cpu: float
    wall: float
    peak_mb: float
    runs: int = 1


def measure(work: str, setup: str = "", *, repeat: int = 3, whole: bool = False) -> Run | str:
    """Run Python code in fresh processes and keep the cheapest; a text says why it could not run.

    With `whole`, the process's own start and its imports count too. What takes long is run less often than `repeat`.
    """
    repeat = 1 if QUICK else repeat
    start = "0.0" if whole else "_used()"
    code = f"{PREFIX}{setup}\n_start = ({start}, time.perf_counter())\n{work}\n{SUFFIX}"
    best: Run | None = None
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    spent = 0.0
    for turn in range(1, repeat + 1):  # compiled modules are kept, as they are where packages are installed
        begin = time.perf_counter()
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=kept)
        if done.returncode == -signal.SIGXCPU:
            return f"stopped after {LIMIT} CPU s"
        if done.returncode:
            return done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit code {done.returncode}"
        data = json.loads(done.stdout.strip().splitlines()[-1])
        scale = 1024 if sys.platform != "darwin" else 1024 * 1024
        wall = time.perf_counter() - begin if whole else data["wall"]
        run = Run(data["cpu"], wall, data["peak"] / scale)
        best = replace(run if best is None or run.cpu < best.cpu else best, runs=turn)
        spent += data["all"]
        if spent > ENOUGH:
            break
    assert best is not None
    return best


def record(group: str, name: str, run: Run | str, base: Run | str | None = None) -> None:
    """Add a row to the table of the whole run, where there is one; `base` is our own row of the group."""
    if ROWS is None:
        return
    row: dict[str, object] = {"script": Path(sys.argv[0]).stem, "group": group, "name": name}
    if isinstance(run, str):
        row["not_run"] = run
    else:
        ratio = run.cpu / base.cpu if isinstance(base, Run) and base.cpu > 0 else None
        row |= {key: round(value, 6) for key, value in asdict(run).items()} | {"ratio": ratio and round(ratio, 3)}
    with open(ROWS, "a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def table(title: str, ours: str, runs: dict[str, Run | str]) -> None:
    """Print CPU seconds, wall seconds, peak memory, and how many times our CPU each one takes."""
    print(f"\n{title}")
    base = runs[ours]
    for name, run in runs.items():
        record(title, name, run, base)
        if isinstance(run, str):
            print(f"  {name:<48} not run: {run}")
            continue
        ratio = f"{run.cpu / base.cpu:8.2f} ×" if isinstance(base, Run) and base.cpu > 0 else ""
        print(f"  {name:<48} {run.cpu:8.3f} CPU s {run.wall:8.3f} s {run.peak_mb:8.0f} MB {ratio}")
