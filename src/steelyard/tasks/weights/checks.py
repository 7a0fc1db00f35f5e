"""Checks of `weights`: grams, dishes and items."""

from __future__ import annotations

import numpy as np

from steelyard.checks.check import FEW, CheckData, Checks, Problem, some_rows
from steelyard.checks.ids import with_ids
from steelyard.checks.numbers import constant, copies, negative, rows_shifted, unit_of_weight
from steelyard.core.records import factorize, median

CHECKS = with_ids(Checks())
CHECKS.add(
    "unit-of-weight", "error", "kilograms, ounces or pounds where grams are expected", "Give grams on both sides."
)(unit_of_weight)
CHECKS.add(
    "rows-shifted", "error", "each row has its neighbour's prediction", "Join predictions by id, not by their order.",
    quick=False,
)(rows_shifted)  # fmt: skip
CHECKS.add("constant", "warning", "all predictions are the same number", "Are these the model's answers?")(
    constant("weight", "weight")
)
CHECKS.add("copies-of-truth", "warning", "predictions that are the truth itself", "Are these predictions of a model?")(
    copies("weight", "weight")
)
CHECKS.add(
    "negative", "note", "weights below 0 for more than 5 % of the rows",
    "Cut them off at 0 where they are meant to be 0.",
    quick=False,
)(negative)  # fmt: skip


@CHECKS.add(
    "totals-as-items", "error", "every item has the weight of its whole dish",
    "Give the weight of each item, or leave 'item' out on both sides.", quick=False,
)  # fmt: skip
def totals_as_items(data: CheckData) -> Problem | None:
    """Items of a dish that all have one prediction, which fits the sum of the dish and not the item."""
    if data.pairs is None or "item" not in data.pairs.truth:
        return None
    rows, places = data.paired_rows
    if len(rows) < FEW:
        return None
    truth, predicted = data.numbers("weight", "weight")
    _, (dish,) = factorize(data.pairs.truth["dish"][rows])
    many = np.bincount(dish)
    low, high = np.full(len(many), np.inf), np.full(len(many), -np.inf)
    np.minimum.at(low, dish, predicted)
    np.maximum.at(high, dish, predicted)
    total = np.bincount(dish, weights=truth)
    several = (many > 1) & (total > 0)
    same = several & (low == high)
    if several.sum() < 10 or same.sum() < 0.9 * several.sum():
        return None
    inside = same[dish] & (truth > 0)
    to_item = median(np.abs(predicted[inside] - truth[inside]) / truth[inside])
    to_dish = median(np.abs(low[same] - total[same]) / total[same])
    if to_dish > 0.5 or to_item < 2 * to_dish:
        return None
    return Problem(
        f"All items of a dish have the same prediction in {same.sum() / several.sum():.0%} of the dishes, "
        f"and it is off "
        f"by {to_dish:.0%} from the dish's total and by {to_item:.0%} from the item.",
        int(inside.sum()), len(rows), some_rows(data.pairs.prediction, places[inside], "weight"),
    )  # fmt: skip
