"""Checks that weights, sequences and losses share: numbers of one unit against numbers of another."""

from __future__ import annotations

import numpy as np

from steelyard.checks.check import FEW, CheckData, Problem, Test, some_rows
from steelyard.core.records import Array, distinct_values, median

UNITS = {  # what the predictions must be multiplied by, if so
    1000.0: "the predictions are kilograms",
    0.001: "the predictions are milligrams, or the truth is kilograms",
    28.349523125: "the predictions are ounces",
    1 / 28.349523125: "the truth is ounces",
    453.59237: "the predictions are pounds",
    1 / 453.59237: "the truth is pounds",
}
NEAR = 0.7  # a median distance of logarithms that a poor model keeps: a factor of two


def unit_of_weight(data: CheckData, name: str = "weight", said: str = "predictions") -> Problem | None:
    """Whether another unit brings the predictions from far away to near the truth."""
    truth, predicted = data.numbers(name, name)
    use = (truth > 0) & (predicted > 0)
    if np.count_nonzero(use) < FEW:
        return None
    distance = np.log(predicted[use]) - np.log(truth[use])
    plain = median(np.abs(distance))
    if plain < 2:
        return None
    fits = {factor: median(np.abs(distance + np.log(factor))) for factor in UNITS}
    factor, best = min(fits.items(), key=lambda pair: pair[1])
    if best > NEAR or best > plain / 3:
        return None
    return Problem(
        f"Half of the {said} are off by a factor of {np.exp(plain):,.0f} or more, and of "
        f"{np.exp(best):.2g} or more "
        f"if {UNITS[factor]}.",
        int(use.sum()),
        len(use),
        some_rows(data.pairs.prediction, data.paired_rows[1][use], name),
    )


def constant(name: str, other: str) -> Test:
    """Whether every prediction is the same number, though the truth varies."""

    def test(data: CheckData) -> Problem | None:
        truth, predicted = data.numbers(name, other)
        truth, predicted = truth[~np.isnan(predicted)], predicted[~np.isnan(predicted)]
        if len(predicted) < FEW or (predicted != predicted[0]).any() or (truth == truth[0]).all():
            return None
        return Problem(
            f"Every prediction is {predicted[0]:g}.", len(predicted), len(predicted),
            some_rows(data.pairs.prediction, data.paired_rows[1], other),
        )  # fmt: skip

    return test


def copies(name: str, other: str) -> Test:
    """Whether predictions are the truth to the digit."""

    def test(data: CheckData) -> Problem | None:
        truth, predicted = data.numbers(name, other)
        there = ~np.isnan(truth) & ~np.isnan(predicted)
        same = there & (truth == predicted)
        count = int(np.count_nonzero(there))
        if count < FEW or np.count_nonzero(same) < 0.95 * count or len(distinct_values(truth[there])) < 5:
            return None
        return Problem(
            f"{np.count_nonzero(same) / count:.0%} of the predictions are equal to the truth in every digit.",
            int(np.count_nonzero(same)), count, some_rows(data.pairs.prediction, data.paired_rows[1][same], other),
        )  # fmt: skip

    return test


def rows_shifted(data: CheckData, name: str = "weight") -> Problem | None:
    """Whether predictions fit the row before or after their own, in the order of the truth's file."""
    if data.pairs is None or data.quick or len(data.pairs.prediction_row) > 200_000:
        return None
    rows, places = data.paired_rows
    if len(rows) < FEW or name not in data.pairs.truth or name not in data.pairs.prediction:
        return None
    order = np.argsort(rows, kind="stable")
    truth = data.pairs.truth[name][rows[order]]
    predicted = data.pairs.prediction[name][places[order]]
    plain = float(np.mean(np.abs(predicted - truth)))
    for step, word in ((1, "before"), (-1, "after")):
        a, b = (truth[:-1], predicted[1:]) if step == 1 else (truth[1:], predicted[:-1])
        moved = float(np.mean(np.abs(a - b)))
        if moved < plain / 3:
            return Problem(
                f"The mean error is {plain:.3g}, and {moved:.3g} where each row of the truth is taken "
                f"with the prediction "
                f"of the row {'after' if step == 1 else 'before'}: predictions stand one row {word} their own.",
                len(rows), len(rows), some_rows(data.pairs.prediction, places[order], name),
            )  # fmt: skip
    return None


def negative(data: CheckData, name: str = "weight", said: str = "weights") -> Problem | None:
    """Predicted weights below 0, of which nothing can be."""
    _, predicted = data.numbers(name, name)
    below = np.flatnonzero(predicted < 0)
    if data.quick or len(below) <= 0.05 * len(predicted):
        return None
    return Problem(
        f"Predicted {said} are below 0.", len(below), len(predicted),
        some_rows(data.pairs.prediction, data.paired_rows[1][below], name),
    )  # fmt: skip


def lower_is_better(score: Array, positive: Array) -> float:
    """The chance that a positive has the higher score, ties counting half; nan where one kind is lacking."""
    count, others = int(positive.sum()), int((~positive).sum())
    if not count or not others:
        return float("nan")
    _, place, many = np.unique(score, return_inverse=True, return_counts=True)
    rank = (np.cumsum(many) - (many - 1) / 2)[place]
    return float((rank[positive].sum() - count * (count + 1) / 2) / (count * others))


def surely_reversed(area: float, positives: int, negatives: int) -> bool:
    """Whether an area under the ROC curve lies too far below one half to be chance or a poor model."""
    least = min(positives, negatives)
    return least >= 10 and area < 0.5 - max(0.15, 2.5 / np.sqrt(least))
