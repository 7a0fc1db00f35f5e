"""How often intervals hold what test sets of that size score on average, by simulation, for every metric of a task.

    python tools/simulate_intervals.py [TASK...] [--units 30 60 150 300] [--sets 200] [--draws 200] [--seed 0]

A population of units is drawn once for each task, as the law tests draw it; for `weights` and `labels` there are harder
ones: heavy tails, gross errors, rare classes. Test sets are drawn from it, every metric is scored with its interval,
and the table says which share of the intervals holds the mean over the sets, and which share of the scores said that
they rest on few units. One standard error of a share near 0.95 is 1.5 points with 200 sets. The table in
docs/statistics.md is made with it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from drawn import DRAWN

from steelyard.core.request import Request
from steelyard.core.state import State
from steelyard.engine.measure import listed
from steelyard.engine.run import measure_sides
from steelyard.engine.score import score
from steelyard.metrics import catalogue

POPULATION = 12_000
BothSides = tuple[dict[str, Any], dict[str, Any]]


def dishes(rng: np.random.Generator, gross: float) -> BothSides:
    """Dishes of one item: lognormal weights, errors that grow with them, and a share that is grossly off."""
    ids = np.arange(POPULATION)
    truth = rng.lognormal(5, 0.5, POPULATION)
    factor = np.where(rng.random(POPULATION) < gross, rng.uniform(0.3, 2.5, POPULATION), 1.0)
    return {"dish": ids, "weight": truth}, {"dish": ids, "weight": truth * rng.lognormal(0, 0.15, POPULATION) * factor}


def classes(rng: np.random.Generator, rare: float, right: float) -> BothSides:
    """Labels of five classes, of which one is rare, with so many of them right."""
    ids = np.arange(POPULATION)
    share = np.array([0.4, 0.25, 0.2, 0.15 - rare, rare])
    truth = rng.choice(5, POPULATION, p=share)
    named = np.where(rng.random(POPULATION) < right, truth, rng.choice(5, POPULATION, p=share))
    return {"id": ids, "label": truth}, {"id": ids, "label": named}


def populations(task: str, rng: np.random.Generator) -> Iterator[tuple[str, BothSides]]:
    """Truth and predictions to draw test sets from, by name."""
    if task == "weights":
        yield "plain errors", dishes(rng, 0.0)
        yield "3 % gross errors", dishes(rng, 0.03)
    elif task == "labels":
        yield "3 % class, 80 % right", classes(rng, 0.03, 0.8)
        yield "3 % class, 97 % right", classes(rng, 0.03, 0.97)
    else:
        sides = DRAWN[task].draw(rng, 2000)
        yield "as the laws draw it", (sides[0], sides[1])


def measured(task: str, sides: BothSides) -> tuple[State, list[Any]]:
    """What the task's metrics need, of all units, each a row of its own."""
    definition = catalogue.find_task(task)
    specs = [str(metric) for metric in catalogue.metrics(task)]
    data = measure_sides(definition, Request.of(task, specs, {"missing": "worst", "extra": "skip"}), *sides)
    return listed(definition, data.pairs, data.state, data.metrics), list(data.metrics)


def coverage(
    state: State, metrics: list[Any], units: int, sets: int, draws: int, rng: np.random.Generator
) -> dict[str, tuple[float, float, int]]:
    """By metric: the share of intervals that hold the mean, the share that says it rests on few units, and sets."""
    by_metric: dict[str, list[Any]] = {str(metric): [] for metric in metrics}
    for k in range(sets):
        part = state.take(np.sort(rng.choice(len(state), units, replace=False)))
        request = Request.of("", None, {"draws": draws, "seed": k})
        for spec, one in score(part, metrics, request).items():
            if one.defined:
                by_metric[spec].append(one)
    shares = {}
    for spec, scores in by_metric.items():
        if len(scores) < sets // 2:
            continue
        mean = float(np.mean([one.value for one in scores]))
        held = [one.interval is not None and one.interval[0] <= mean <= one.interval[1] for one in scores]
        flagged = [any("rests on few units" in note for note in one.notes) for one in scores]
        shares[spec] = (float(np.mean(held)), float(np.mean(flagged)), len(scores))
    return shares


def main() -> None:
    """Simulate and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", metavar="TASK")
    parser.add_argument("--units", type=int, nargs="+", default=[30, 60, 150, 300])
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    print("| population | metric | " + " | ".join(f"{n} units" for n in asked.units) + " | few units said |")
    print("|---" * (len(asked.units) + 3) + "|")
    for task in asked.tasks or list(DRAWN):
        rng = np.random.default_rng(asked.seed)
        for name, sides in populations(task, rng):
            state, metrics = measured(task, sides)
            tables = [coverage(state, metrics, n, asked.sets, asked.draws, rng) for n in asked.units]
            for spec in map(str, metrics):
                cells = [f"{table[spec][0]:.3f}" if spec in table else "–" for table in tables]
                flags = [f"{table[spec][1]:.0%}" for table in tables if spec in table]
                if flags:
                    print(
                        f"| {task}, {name} | `{spec}` | " + " | ".join(cells) + f" | {', '.join(flags)} |", flush=True
                    )


if __name__ == "__main__":
    main()
