"""How often intervals of mAP hold what test sets of that size score on average, by simulation.

    python tools/simulate_intervals.py CLASSES IMAGES [--sets 150] [--draws 300] [--seed 0]

Draws test sets from one population of 40,000 images and prints, for three metrics, the share of sets whose interval
holds the mean over the sets, and the population's own value: for percentiles of the draws as they are, for BCa (below
1,000 images), and for draws moved to the estimate. The table in docs/boxes.md is made with it.
"""

from __future__ import annotations

import argparse

import numpy as np

from steelyard.core.draws import BootstrapDraws, unit_keys
from steelyard.core.options import Options
from steelyard.core.stats import Stats
from steelyard.core.task import Policy
from steelyard.core.weights import LeaveOneOut
from steelyard.engine.intervals import BCA_BELOW, bca_interval, centred_interval, percentile_interval
from steelyard.io.sources import read_sides
from steelyard.metrics import catalogue

POPULATION = 40_000
SPECS = ("map", "map50", "map(area=small)")
NOTHING = (float("nan"), float("nan"))


def draw_population(rng: np.random.Generator, classes: int) -> Stats:
    """Images with seven objects each and classes of very different frequency; a detector that finds three of four."""
    image = np.repeat(np.arange(POPULATION), rng.poisson(7, POPULATION))
    n = len(image)
    share = 1 / np.arange(1, classes + 1) ** 0.8
    share /= share.sum()
    label = rng.choice(classes, n, p=share)
    size = np.exp(rng.normal(4.2, 0.9, (n, 2))).clip(4, 400)
    box = np.concatenate([rng.random((n, 2)) * 600, size], axis=1)
    found = np.flatnonzero(rng.random(n) < 0.75)
    spread = 0.02 + 0.15 * rng.random((len(found), 1))
    near = box[found] + rng.normal(0, 1, (len(found), 4)) * np.tile(size[found], 2) * spread
    near[:, 2:] = np.abs(near[:, 2:]) + 0.1
    far = np.concatenate([rng.random((n, 2)) * 600, np.exp(rng.normal(4.2, 0.9, (n, 2))).clip(4, 400)], axis=1)
    named = np.where(rng.random(len(found)) < 0.93, label[found], rng.choice(classes, len(found), p=share))
    boxes = np.concatenate([near, far])
    truth = {"image": image, "label": label, **dict(zip("xywh", box.T, strict=True))}
    predictions = {
        "image": np.concatenate([image[found], rng.choice(image, n)]),
        "label": np.concatenate([named, rng.choice(classes, n, p=share)]),
        **dict(zip("xywh", boxes.T, strict=True)),
        "score": np.concatenate([rng.beta(4, 2, len(found)), rng.beta(2, 4, n)]),
    }
    task = catalogue.find_task("boxes")
    return task.measure(task.join(*read_sides(task, truth, predictions, {}), Policy(), Options(task.options)))


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("classes", type=int)
    parser.add_argument("images", type=int)
    parser.add_argument("--sets", type=int, default=150)
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    rng = np.random.default_rng(asked.seed)
    population = draw_population(rng, asked.classes)
    for spec in SPECS:
        metric = catalogue.parse(spec, "boxes")
        values: list[float] = []
        ways: dict[str, list[tuple[float, float]]] = {"percentile": [], "BCa": [], "moved": []}
        for k in range(asked.sets):
            part = population.take(np.sort(rng.choice(len(population), asked.images, replace=False)))
            drawn = BootstrapDraws(unit_keys(part.units), part.weight, k, asked.draws)
            value, draws = float(metric.reduce(part, part.whole())[0]), metric.reduce(part, drawn)
            values.append(value)
            ways["percentile"].append(percentile_interval(draws, 0.95) or NOTHING)
            ways["moved"].append(centred_interval(draws, value, 0.95) or NOTHING)
            if asked.images < BCA_BELOW:
                left_out = metric.reduce(part, LeaveOneOut(part.weight))
                ways["BCa"].append(bca_interval(draws, value, left_out, 0.95) or NOTHING)
        mean, whole = float(np.mean(values)), float(metric.reduce(population, population.whole())[0])
        print(
            f"{spec}: mean over test sets {mean:.4f} (standard deviation {np.std(values):.4f}), population {whole:.4f}"
        )
        for name, intervals in ways.items():
            if intervals:
                low, high = np.array(intervals).T
                held = [float(np.mean((low <= target) & (target <= high))) for target in (mean, whole)]
                print(f"  {name:10}  holds the mean {held[0]:.3f}, the population's value {held[1]:.3f}")


if __name__ == "__main__":
    main()
