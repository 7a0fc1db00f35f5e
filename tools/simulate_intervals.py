"""How often intervals hold what test sets of that size score on average, by simulation, for every metric of a task.

    python tools/simulate_intervals.py [TASK...] [--units 30 60 150] [--sets 400] [--draws 200] [--seed 0]
                                       [--metrics SPEC...] [--population 2000] [--jobs 2] [--outside] [--page FILE]

A population is drawn and measured once (tests/support/populations.py). Test sets are drawn from it, every metric is
scored with its interval, and the table says by metric and number of units

- coverage: the share of intervals that hold the mean of the metric over the sets, in percent,
- width: how wide they are on average, against 2 x 1.96 x the standard deviation of the metric over the sets,
- none: the share of scores without an interval.

One standard error of a coverage near 95 % is 1.1 points with 400 sets. `--outside` prints only what lies outside 93 to
97 % by more than two of them. `--page` writes the tables into a page, between its marks.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from support.populations import of_task
from support.sampling import Cell, coverage, measured

from steelyard.core import catalogue

SMALLER = {"captions": 500, "volumes": 500, "answers": 800, "oriented": 800, "boxes3d": 800}  # units of a population
MARKS = ("<!-- simulated: start -->", "<!-- simulated: end -->")


def simulated(job: tuple[str, int, int, argparse.Namespace]) -> dict[str, Cell]:
    """The cells of a task's population at one number of units, by metric."""
    task, index, units, asked = job
    population = asked.population or SMALLER.get(task, 2000)
    state, metrics = measured(task, of_task(task)[index], population, asked.seed)
    if asked.metrics:
        metrics = [metric for metric in metrics if str(metric) in asked.metrics]
    rng = np.random.default_rng([asked.seed + 1, units])
    return coverage(state, metrics, units, asked.sets, asked.draws, rng)


def rows(name: str, tables: list[dict[str, Cell]], asked: argparse.Namespace) -> list[str]:
    """The table's rows of a population."""
    lines = []
    for spec in dict.fromkeys(spec for table in tables for spec in table):
        cells = [table.get(spec) for table in tables]
        if asked.outside and not any(cell and cell.outside for cell in cells):
            continue
        shares = [f"{100 * cell.coverage:.1f}" if cell else "–" for cell in cells]
        texts = [
            [f"**{share}**" if cell and cell.outside else share for share, cell in zip(shares, cells, strict=True)],
            [f"{cell.width:.2f}" if cell else "–" for cell in cells],
            [f"{100 * cell.none:.0f}" if cell else "–" for cell in cells],
        ]
        lines.append(f"| {name} | `{spec}` | " + " | ".join(map(" / ".join, texts)) + " |")
    return lines


def main() -> None:
    """Simulate and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", metavar="TASK")
    parser.add_argument("--units", type=int, nargs="+", default=[30, 60, 150])
    parser.add_argument("--sets", type=int, default=400)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--metrics", nargs="+", metavar="SPEC")
    parser.add_argument(
        "--population", type=int, help="units of a population; 2,000, or fewer where drawing takes long"
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--outside", action="store_true")
    parser.add_argument("--page", type=Path)
    asked = parser.parse_args()
    sizes = " / ".join(map(str, asked.units))
    lines = [f"| population | metric | coverage at {sizes} units | width | none |", "|---" * 5 + "|"]
    print("\n".join(lines), flush=True)
    tasks = asked.tasks or [task.name for task in catalogue.TASKS.values()]
    populations = [(task, index) for task in tasks for index in range(len(of_task(task)))]
    jobs = [(*population, units, asked) for population in populations for units in asked.units]
    with multiprocessing.get_context("spawn").Pool(asked.jobs) as pool:
        tables = pool.imap(simulated, jobs, chunksize=1)
        for task, index in populations:
            made = rows(f"{task}, {of_task(task)[index].name}", [next(tables) for _ in asked.units], asked)
            print("\n".join(made), flush=True)
            lines += made
    if asked.page:
        text = asked.page.read_text(encoding="utf-8")
        before, rest = text.split(MARKS[0])
        after = rest.split(MARKS[1])[1]
        page = f"{before}{MARKS[0]}\n\n" + "\n".join(lines) + f"\n\n{MARKS[1]}{after}"
        asked.page.write_text(page, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
