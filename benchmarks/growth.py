"""How time, memory and states grow with the data, for every task: the page docs/growth.md and its picture.

    python benchmarks/growth.py [NAME ...] [--units 200] [--draws 1000] [--out out/growth.json]

The data of the laws (tests/support/drawn*.py), 1, 10 and 100 times, as copies with ids of their own. Each
size is scored with all default metrics and their intervals, with one thread and with two, in a process of its own.
`power` is the growth of CPU seconds over the last tenfold step: 1 is in proportion, 1.1 about n log n, 2 quadratic.
Shapes (benchmarks/growth_shapes.py) have much of one thing: classes, slices, duplicate ids. What is measured is
kept in `--out`, and NAMEs are measured again there. The page says what is not measured.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import platform
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from growth_chart import chart
from growth_shapes import SHAPES

import steelyard as sy
from steelyard.core import catalogue

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support.drawn import DRAWN  # noqa: E402

PAGE, PICTURE = ROOT / "docs" / "growth.md", ROOT / "docs" / "images" / "growth.svg"
STEPS = (1, 10, 100)
Rows = list[dict[str, float]]


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


def measure(task: str, units: int, step: int, draws: int) -> dict[str, float]:
    """One size of one task."""
    drawn, definition = DRAWN[task], catalogue.find_task(task)
    truth, predictions = drawn.draw(np.random.default_rng(0), units)
    ids = {definition.truth.key[0], drawn.unit} - {""}
    sy.evaluate(task, dict(truth), dict(predictions), draws=100, **drawn.policy)  # what is loaded late is not counted
    truth, predictions = (copies(dict(side), ids, step) for side in (truth, predictions))
    settings: dict[str, Any] = dict(drawn.policy)
    row: dict[str, float] = {"units": units * step}
    for threads in (1, 2):
        with sy.use_threads(threads):
            cpu, wall = time.process_time(), time.perf_counter()
            report = sy.evaluate(task, truth, predictions, draws=draws, **settings)
            row[f"cpu_{threads}"] = time.process_time() - cpu
            row[f"wall_{threads}"] = time.perf_counter() - wall
    assert report.scores
    row["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else 1 << 20)
    accumulator = sy.Accumulator(task, **settings)
    accumulator.update(truth, predictions)
    row["state_kb"] = len(accumulator.to_bytes()) / 1024
    return row


def in_process(work: Callable[..., dict[str, float]], *arguments: int | str) -> dict[str, float]:
    """A measurement in a process of its own, which has what this one has loaded where the system can fork."""
    ways = multiprocessing.get_all_start_methods()
    with multiprocessing.get_context("fork" if "fork" in ways else "spawn").Pool(1) as pool:
        return pool.apply(work, arguments)


def power(rows: Rows) -> float:
    """Of the last step that was not refused."""
    a, b = [row for row in rows if "refused" not in row or all("refused" in one for one in rows)][-2:]
    return math.log(b["cpu_1"] / a["cpu_1"]) / math.log(b["units"] / a["units"])


def page(tasks: dict[str, Rows], shapes: dict[str, Rows], units: int, draws: int) -> str:
    """What was measured, as Markdown."""
    head = ["task", "units", "CPU s, one thread", "CPU s, two", "peak MB", "state kB", "power"]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for task, rows in tasks.items():
        for row in rows:
            last = f"{power(rows):.2f}" if row is rows[-1] else ""
            cells = [task, f"{row['units']:,.0f}"]
            cells += [f"{row[key]:.3g}" for key in ("cpu_1", "cpu_2")]
            cells += [f"{row['peak_mb']:.0f}", f"{row['state_kb']:,.0f}", last]
            lines.append(f"| {' | '.join(cells)} |")
    other = ["| what there is much of | how many | CPU s | | power |", "|---|---|---|---|---|"]
    for shape, rows in shapes.items():
        for row in rows:
            last = f"{power(rows):.2f}" if row is rows[-1] else ""
            said = "refused by a message" if "refused" in row else ""
            other.append(f"| {shape} | {row['units']:,.0f} | {row['cpu_1']:.3g} | {said} | {last} |")
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    absent = [name for name in (*catalogue.built_in(), *SHAPES) if name not in tasks and name not in shapes]
    absent += [f"{counts[len(shapes[name])]:,} {name}" for name, (_, counts) in SHAPES.items()
               if name in shapes and len(shapes[name]) < len(counts)]  # fmt: skip
    parts = [
        "# How it grows",
        f"Made by `python benchmarks/growth.py --units {units} --draws {draws}` on {machine},"
        f" {time.strftime('%Y-%m-%d')}, with other work on the machine: CPU seconds count."
        f" {' '.join(TASKS.format(draws=f'{draws:,}').split())}",
        "![CPU seconds of every task](images/growth.svg)",
        "\n".join(lines),
        "## Much of one thing",
        " ".join(MUCH.split()),
        "\n".join(other),
        *([f"Not measured in this run: {', '.join(absent)}."] if absent else []),
    ]
    return "\n\n".join(parts) + "\n"


TASKS = """Data that the laws of every task are tested on, 1, 10 and 100 times, all default metrics with intervals from
{draws} draws. *Power* is the growth of CPU seconds over the last tenfold step: 1 is in proportion, about 1.1 is
n log n, 2 would be quadratic; below 1 a fixed part still counts. Two threads share the work, and cost about the same
CPU. The clock is left out: it says little on a machine with other work. A state is what a shard sends."""
MUCH = """Shapes that make careless programs quadratic. What cannot be meant is refused, by a message that says where;
most of that time is spent on reading. COCO's metrics look at the hundred boxes of an image with the
highest scores of a class, as the reference does; the others match all boxes of a class with one another."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="*", help="tasks and shapes that are measured again; all that are not there else")
    parser.add_argument("--units", type=int, default=200)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "growth.json")
    asked = parser.parse_args()
    sizes: dict[str, tuple[int, ...]] = dict.fromkeys(catalogue.built_in(), STEPS)
    sizes |= {name: counts for name, (_, counts) in SHAPES.items()}
    known: dict[str, Rows] = json.loads(asked.out.read_text(encoding="utf-8")) if asked.out.exists() else {}
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    for name, counts in sizes.items():
        if name not in asked.name and (asked.name or name in known):
            continue
        if name in SHAPES:
            known[name] = [in_process(SHAPES[name][0], count) for count in counts]
        else:
            known[name] = [in_process(measure, name, asked.units, count, asked.draws) for count in counts]
        asked.out.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
        print(f"{name}: power {power(known[name]):.2f}", [round(row["cpu_1"], 3) for row in known[name]], flush=True)
    tasks = {name: known[name] for name in catalogue.built_in() if name in known}
    PICTURE.write_text(chart(tasks), encoding="utf-8")
    shapes = {name: known[name] for name in SHAPES if name in known}
    PAGE.write_text(page(tasks, shapes, asked.units, asked.draws), encoding="utf-8")


if __name__ == "__main__":
    main()
