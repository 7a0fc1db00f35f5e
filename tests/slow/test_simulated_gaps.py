"""How often groups that do not differ show a gap, by simulation. STEELYARD_SETS=400 draws as many as docs/statistics.md.

PYTHONPATH=tests python tests/slow/test_simulated_gaps.py prints the rows of the table.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.lazy import lazy

import steelyard as sy

scipy_stats = lazy("scipy.stats")
SETS = int(os.environ.get("STEELYARD_SETS", "40"))
Draw = Callable[[np.random.Generator], tuple[str, Any, Any, str]]


def labels(sizes: list[int], right: float = 0.8) -> Draw:
    """Groups of rows, the same share of them right in each."""

    def draw(rng: np.random.Generator) -> tuple[str, Any, Any, str]:
        group = np.repeat(np.arange(len(sizes)), sizes)
        label = rng.integers(0, 2, len(group))
        named = np.where(rng.random(len(group)) < right, label, 1 - label)
        truth = {"id": np.arange(len(group)), "label": label, "part": group}
        return "labels", truth, {"id": truth["id"], "label": named}, "accuracy"

    return draw


def weights(dishes: int, groups: int, *, shared: bool) -> Draw:
    """Skewed errors of weights; groups of dishes, or of the items that every dish has."""

    def draw(rng: np.random.Generator) -> tuple[str, Any, Any, str]:
        dish = np.repeat(np.arange(dishes), groups if shared else 1)
        group = np.tile(np.arange(groups), dishes) if shared else dish % groups
        error = rng.normal(0, 10, dishes)[dish] + rng.exponential(20, len(dish))
        rows = {"dish": dish, "item": group.astype(str)}
        truth = {**rows, "weight": np.full(len(dish), 300.0), "part": group}
        return "weights", truth, {**rows, "weight": 300 + error}, "mae"

    return draw


CASES: dict[str, Draw] = {
    "`accuracy` .8, two groups of 30": labels([30, 30]),
    "`accuracy` .8, five groups of 30": labels([30] * 5),
    "`accuracy` .8, groups of 10, 10, 10 and 200": labels([10, 10, 10, 200]),
    "`mae` of skewed errors, two groups of 30 dishes": weights(60, 2, shared=False),
    "`mae` of skewed errors, five groups of 30 dishes": weights(150, 5, shared=False),
    "`mae` of three items of each of 60 dishes": weights(60, 3, shared=True),
}


def alarms(draw: Draw, sets: int) -> int:
    """In how many sets groups that do not differ show a gap."""
    rng, count = np.random.default_rng(8), 0
    for k in range(sets):
        task, truth, answers, spec = draw(rng)
        gap = sy.evaluate(task, truth, answers, [spec], by="part", draws=200, seed=k).gap("part", spec)
        count += gap.p <= 0.05
    return count


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_groups_that_do_not_differ_seldom_show_a_gap(name: str) -> None:
    assert alarms(CASES[name], SETS) <= scipy_stats.binom.ppf(0.999, SETS, 0.07)


if __name__ == "__main__":
    for case, draw_case in CASES.items():
        print(f"| {case} | {alarms(draw_case, SETS) / SETS:.3f} |", flush=True)
