"""How time, memory and states grow with the data, for every task: the page docs/growth.md.

    python benchmarks/growth.py [TASK ...] [--units 200]

Data are those that the laws are tested on (tests/drawn*.py), 1, 10 and 100 times: copies with ids of their own. Each
size is scored once with all default metrics and 1,000 draws, with one thread and with two, in a process of its own.
`power` is the growth of CPU seconds over the last tenfold step: 1 is in proportion, 1.1 about n log n, 2 quadratic.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import steelyard as sy
from steelyard.metrics import catalogue

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))
PAGE = ROOT / "docs" / "growth.md"
STEPS = (1, 10, 100)


def copies(columns: dict[str, Any], ids: set[str], count: int) -> dict[str, Any]:
    """The rows so many times, each time under ids of their own."""
    made: dict[str, Any] = {}
    for name, column in columns.items():
        if name in ids:
            made[name] = [f"{copy}/{value}" for copy in range(count) for value in column]
        elif isinstance(column, np.ndarray):
            made[name] = np.concatenate([column] * count)
        else:
            made[name] = list(column) * count
    return made


def measure(task: str, units: int, step: int) -> dict[str, float]:
    """One size of one task."""
    from drawn import DRAWN

    drawn, definition = DRAWN[task], catalogue.find_task(task)
    truth, predictions = drawn.draw(np.random.default_rng(0), units)
    ids = {definition.truth.key[0], drawn.unit} - {""}
    truth, predictions = (copies(dict(side), ids, step) for side in (truth, predictions))
    settings: dict[str, Any] = dict(drawn.policy)
    row: dict[str, float] = {"units": units * step}
    for threads in (1, 2):
        sy.use_threads(threads)
        cpu, wall = time.process_time(), time.perf_counter()
        report = sy.evaluate(task, truth, predictions, **settings)
        row[f"cpu_{threads}"] = time.process_time() - cpu
        row[f"wall_{threads}"] = time.perf_counter() - wall
    assert report.scores
    row["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else 1 << 20)
    accumulator = sy.Accumulator(task, **settings)
    accumulator.update(truth, predictions)
    row["state_kb"] = len(accumulator.to_bytes()) / 1024
    return row


def many_classes(classes: int) -> dict[str, float]:
    """Labels of so many classes, five rows each."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, classes, 5 * classes)
    predicted = np.where(rng.random(truth.size) < 0.7, truth, rng.integers(0, classes, truth.size))
    cpu = time.process_time()
    sy.evaluate("labels", truth, predicted, draws=200)
    return {"units": classes, "cpu_1": time.process_time() - cpu}


def many_slices(slices: int) -> dict[str, float]:
    """Weights in so many slices, three rows each."""
    rng = np.random.default_rng(0)
    ids = [f"d{i}" for i in range(3 * slices)]
    weight = rng.gamma(2, 60, len(ids))
    truth = {"dish": ids, "item": ids, "weight": weight, "place": [f"p{i // 3}" for i in range(len(ids))]}
    cpu = time.process_time()
    try:
        sy.evaluate(
            "weights", truth, {"dish": ids, "item": ids, "weight": weight * 1.1}, "mae", by=["place"], draws=200
        )
    except sy.InputError:
        return {"units": slices, "cpu_1": time.process_time() - cpu, "refused": 1}
    return {"units": slices, "cpu_1": time.process_time() - cpu}


def in_process(*arguments: str) -> dict[str, float]:
    """A measurement in a process of its own."""
    command = [sys.executable, __file__, "--one", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ})
    if done.returncode:
        sys.exit(f"{' '.join(arguments)}: {done.stderr}")
    made: dict[str, float] = json.loads(done.stdout)
    return made


def power(rows: list[dict[str, float]]) -> float:
    """Of the last step."""
    a, b = rows[-2:]
    return math.log(b["cpu_1"] / a["cpu_1"]) / math.log(b["units"] / a["units"])


def page(tasks: dict[str, list[dict[str, float]]], shapes: dict[str, list[dict[str, float]]]) -> str:
    """What was measured, as Markdown."""
    head = ["task", "units", "CPU s, one thread", "CPU s, two", "wall s, one", "two", "peak MB", "state kB", "power"]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for task, rows in tasks.items():
        for row in rows:
            last = f"{power(rows):.2f}" if row is rows[-1] else ""
            cells = [
                task,
                f"{row['units']:,.0f}",
                *(f"{row[key]:.2f}" for key in ("cpu_1", "cpu_2", "wall_1", "wall_2")),
            ]
            cells += [f"{row['peak_mb']:.0f}", f"{row['state_kb']:,.0f}", last]
            lines.append(f"| {' | '.join(cells)} |")
    other = ["| shape | size | CPU s | power |", "|---|---|---|---|"]
    for shape, rows in shapes.items():
        measured = [row for row in rows if "refused" not in row]
        for row in rows:
            last = f"{power(measured):.2f}" if row is measured[-1] else ""
            text = "refused by a message" if "refused" in row else f"{row['cpu_1']:.2f}"
            other.append(f"| {shape} | {row['units']:,.0f} | {text} | {last} |")
    machine = (
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {time.strftime('%Y-%m-%d')}"
    )
    return "\n\n".join([
        "# How it grows", f"Made by `python benchmarks/growth.py` on {machine}. " + " ".join(PARAGRAPH.split()),
        "\n".join(lines), "## Many classes, many slices", "\n".join(other),
    ]) + "\n"  # fmt: skip


PARAGRAPH = """Data that the laws of every task are tested on, 1, 10 and 100 times; all default metrics with intervals
from 1,000 draws. *Power* is the growth of CPU seconds over the last tenfold step: 1 is in proportion, about 1.1 is
n log n, 2 would be quadratic. Two threads cost a little more CPU and less time. A state is what a shard sends."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", nargs="*")
    parser.add_argument("--units", type=int, default=200)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        name, size = asked.task[0], int(asked.task[1])
        shapes = {"classes of labels": many_classes, "slices": many_slices}
        print(json.dumps(shapes[name](size) if name in shapes else measure(name, asked.units, size)))
        return
    tasks: dict[str, list[dict[str, float]]] = {}
    for task in asked.task or catalogue.built_in():
        tasks[task] = [in_process(task, str(step), "--units", str(asked.units)) for step in STEPS]
        print(f"{task}: power {power(tasks[task]):.2f}", [round(row["cpu_1"], 3) for row in tasks[task]], flush=True)
    if asked.task:
        return
    shapes_measured = {
        "classes of labels": [in_process("classes of labels", str(n)) for n in (1_000, 10_000, 100_000)],
        "slices": [in_process("slices", str(n)) for n in (100, 1_000, 10_000, 1_000_000)],
    }
    PAGE.write_text(page(tasks, shapes_measured), encoding="utf-8")


if __name__ == "__main__":
    main()
