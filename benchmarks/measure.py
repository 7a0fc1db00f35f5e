"""How the benchmarks measure: each candidate in a fresh process, CPU seconds and peak memory from the system.

CPU seconds (user and system, all threads) are what is compared: wall time on a shared machine says little.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass

PREFIX = """
import json, resource, time
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
print(json.dumps({"cpu": _end[0] - _start[0], "wall": _end[1] - _start[1], "peak": _peak}))
"""


@dataclass(frozen=True)
class Run:
    """What a run cost; `cpu` counts from the end of the set-up, or from the start of the process."""

    cpu: float
    wall: float
    peak_mb: float


def measure(work: str, setup: str = "", *, repeat: int = 3, whole: bool = False) -> Run | str:
    """Run Python code in fresh processes and keep the cheapest; a text says why it could not run.

    With `whole`, the process's own start and its imports count too.
    """
    start = "0.0" if whole else "_used()"
    code = f"{PREFIX}{setup}\n_start = ({start}, time.perf_counter())\n{work}\n{SUFFIX}"
    best: Run | None = None
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for _ in range(repeat):  # compiled modules are kept, as they are where packages are installed
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=kept)
        if done.returncode:
            return done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit code {done.returncode}"
        data = json.loads(done.stdout.strip().splitlines()[-1])
        scale = 1024 if sys.platform != "darwin" else 1024 * 1024
        run = Run(data["cpu"], data["wall"], data["peak"] / scale)
        if best is None or run.cpu < best.cpu:
            best = run
    assert best is not None
    return best


def table(title: str, ours: str, runs: dict[str, Run | str]) -> None:
    """Print CPU seconds, wall seconds, peak memory, and how many times our CPU each one takes."""
    print(f"\n{title}")
    base = runs[ours]
    for name, run in runs.items():
        if isinstance(run, str):
            print(f"  {name:<48} not run: {run}")
            continue
        ratio = f"{run.cpu / base.cpu:8.2f} ×" if isinstance(base, Run) and base.cpu > 0 else ""
        print(f"  {name:<48} {run.cpu:8.3f} CPU s {run.wall:8.3f} s {run.peak_mb:8.0f} MB {ratio}")
