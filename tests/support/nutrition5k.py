"""Four dishes by hand, drawn files of Nutrition5k, and the formula of its evaluation script in plain Python."""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np

DISH = [1, 2, 3, 4]
TRUTH: dict[str, Any] = {
    "dish": DISH,
    "mass": [100, 200, 150, 50],
    "energy": [200, 100, 300, 100],
    "fat": [10, 0, 20, 10],
}
PREDICTED: dict[str, Any] = {
    "dish": DISH,
    "mass": [150, 100, 150, 50],
    "energy": [240, 100, 240, 120],
    "fat": [12, 1, 16, 10],
}
# Errors of mass: 50, -100, 0, 0; of energy: 40, 0, -60, 20; of fat: 2, 1, -4, 0.


def nutrition5k(truth: list[list[Any]], predicted: list[list[Any]]) -> dict[str, float]:
    """The evaluation script's formula, in plain Python: by field, over the dishes of the prediction file."""
    true = {row[0]: row for row in truth}
    result = {}
    for k, name in enumerate(("energy", "mass", "fat", "carbohydrate", "protein"), start=1):
        errors = [abs(float(row[k]) - float(true[row[0]][k])) for row in predicted]
        result[f"mae(target={name})"] = statistics.mean(errors)
        result[f"pmae(target={name})"] = (
            100 * statistics.mean(errors) / statistics.mean(float(true[row[0]][k]) for row in predicted)
        )
    return result


def nutrition5k_rows(seed: int, counted: bool) -> tuple[list[list[Any]], list[list[Any]]]:
    """Drawn dishes as Nutrition5k's metadata has them, and predictions of some of them."""
    rng = np.random.default_rng(seed)
    truth = []
    for dish in range(30):
        groups: list[Any] = []
        count = int(rng.integers(1, 4))
        for food in rng.choice(["white rice", "olive oil", "chicken", "kale"], size=count, replace=False):
            groups += [f"ingr_{rng.integers(500):010d}", food, *np.round(rng.gamma(2, 20, 5), 4)]
        sums = np.array([[float(v) for v in groups[7 * k + 2 : 7 * k + 7]] for k in range(count)]).sum(axis=0)
        head = [f"dish_{1550000000 + dish}", sums[1], sums[0], sums[2], sums[3], sums[4]]
        truth.append([*head, *([count] if counted else []), *groups])
    chosen = rng.permutation(30)[:20]
    predicted = [[truth[i][0], *np.round(np.array(truth[i][1:6], float) * rng.uniform(0.6, 1.5, 5), 3)] for i in chosen]
    return truth, predicted
