"""How often intervals hold what test sets of that size score on average, by simulation, for every metric of a task.

    python tools/simulate_intervals.py [TASK...] [--units 30 60 150] [--sets 400] [--draws 200] [--seed 0]
                                       [--metrics SPEC...] [--population 2000] [--jobs 2] [--outside] [--data FILE]
    python tools/simulate_intervals.py --page docs/statistics.md --data docs/coverage.csv

A population is drawn and measured once (tests/support/populations.py). Test sets are drawn from it, every metric is
scored with its interval, and the table has for each metric and number of units

- coverage: the share of intervals that hold the mean of the metric over the sets, in percent,
- width: how wide they are on average, against 2 x 1.96 x the standard deviation of the metric over the sets,
- none: the share of scores without an interval.

One standard error of a coverage near 95 % is 1.1 points with 400 sets. `--outside` prints only what lies outside 93 to
97 % by more than two of them. `--data` writes all cells into a CSV file. With `--page`, nothing is simulated: a summary
of that file is written into the page, between its marks.
"""

from __future__ import annotations

import argparse
import csv
import multiprocessing
import statistics
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


COLUMNS = ("task", "population", "metric", "units", "coverage", "width", "none", "outside")
Row = dict[str, str]


def rows(task: str, population: str, units: int, cells: dict[str, Cell]) -> list[Row]:
    """The rows of the CSV file."""
    return [
        {
            "task": task,
            "population": population,
            "metric": spec,
            "units": str(units),
            "coverage": f"{100 * cell.coverage:.1f}",
            "width": f"{cell.width:.2f}",
            "none": f"{100 * cell.none:.0f}",
            "outside": {-1: "below", 0: "", 1: "above"}[cell.outside],
        }
        for spec, cell in cells.items()
    ]


def summary(table: list[Row]) -> str:
    """The coverage of every task at each number of units, and the rows that lie below the band."""
    sizes = sorted({int(row["units"]) for row in table})
    lines = ["| task | rows | " + " | ".join(f"{n} units" for n in sizes) + " |", "|---" * (2 + len(sizes)) + "|"]
    for task in dict.fromkeys(row["task"] for row in table):
        texts = []
        for n in sizes:
            cells = [row for row in table if row["task"] == task and row["units"] == str(n)]
            shares = [float(row["coverage"]) for row in cells if row["coverage"] != "nan"]
            outside = [sum(row["outside"] == side for row in cells) for side in ("below", "above")]
            middle = f"{statistics.median(shares):.1f} ({min(shares):.1f} to {max(shares):.1f})"
            texts.append(
                middle + "".join(f", {k} {side}" for k, side in zip(outside, ("below", "above"), strict=True) if k)
            )
        count = len({(row["population"], row["metric"]) for row in table if row["task"] == task})
        lines.append(f"| {task} | {count} | " + " | ".join(texts) + " |")
    below = [row for row in table if row["outside"] == "below"]
    named = [
        f"`{row['metric']}` of {row['task']} ({row['population']}) at {row['units']} units: {row['coverage']} %"
        for row in below
    ]
    return "\n".join([*lines, "", f"Below the band: {'; '.join(named)}." if named else "No row lies below the band."])


def write_page(page: Path, data: Path) -> None:
    """The summary of the CSV file, between the marks of the page."""
    with data.open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    before, rest = page.read_text(encoding="utf-8").split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    page.write_text(f"{before}{MARKS[0]}\n\n{summary(table)}\n\n{MARKS[1]}{after}", encoding="utf-8", newline="\n")


def main() -> None:
    """Simulate, and print the table."""
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
    parser.add_argument("--data", type=Path)
    parser.add_argument("--page", type=Path)
    asked = parser.parse_args()
    if asked.page:
        write_page(asked.page, asked.data)
        return
    tasks = asked.tasks or [task.name for task in catalogue.TASKS.values()]
    places = [(task, index, units) for task in tasks for index in range(len(of_task(task))) for units in asked.units]
    table = []
    print(*COLUMNS, sep=",", flush=True)
    with multiprocessing.get_context("spawn").Pool(asked.jobs) as pool:
        jobs = [(*place, asked) for place in places]
        for (task, index, units), cells in zip(places, pool.imap(simulated, jobs, chunksize=1), strict=True):
            made = rows(task, of_task(task)[index].name, units, cells)
            csv.DictWriter(sys.stdout, COLUMNS).writerows(row for row in made if row["outside"] or not asked.outside)
            sys.stdout.flush()
            table += made
    if asked.data:
        with asked.data.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(table)


if __name__ == "__main__":
    main()
