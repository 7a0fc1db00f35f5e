"""Pictures of predicted against true numbers, for every task that predicts grams: figures as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from steelyard.core.counts import plural
from steelyard.core.figure import Array, Figure, Texts, points_or_cells
from steelyard.core.pairs import Pairs
from steelyard.core.table import Table

BINS = 8


def agreement_figures(
    truth: Array, prediction: Array, item: str, measured_in: str = "g"
) -> Mapping[str, Callable[[], Figure]]:
    """Predicted against true, error by size, and the differences against the means."""
    finite = np.isfinite(truth) & np.isfinite(prediction)
    truth, prediction = truth[finite], prediction[finite]
    if not len(truth):
        return {}
    return {
        "agreement": lambda: agreement(truth, prediction, item, measured_in),
        "error_by_size": lambda: error_by_size(truth, prediction, item, measured_in),
        "bland_altman": lambda: bland_altman(truth, prediction, item, measured_in),
    }


def agreement(truth: Array, prediction: Array, item: str, measured_in: str) -> Figure:
    """Predicted against true, with the line of identity."""
    return Figure(
        "agreement",
        "agreement",
        "Predicted against true",
        points_or_cells(truth, prediction),
        {"x": f"true, {measured_in}", "y": f"predicted, {measured_in}", "item": item},
        f"Each point is one {item}. On the line prediction and truth are equal; above it the prediction is too high.",
        binned_table("agreement", truth, prediction, measured_in),
    )


def error_by_size(truth: Array, prediction: Array, item: str, measured_in: str) -> Figure:
    """The spread of errors in bins of the true value that hold equally many."""
    error, bins = prediction - truth, bins_of(truth)
    columns: dict[str, list[float]] = {name: [] for name in ("low", "high", "count", "p10", "p25", "p50", "p75", "p90")}
    for inside in bins:
        quantiles = np.quantile(error[inside], [0.1, 0.25, 0.5, 0.75, 0.9]).tolist()
        values = [float(truth[inside].min()), float(truth[inside].max()), float(inside.sum()), *quantiles]
        for name, value in zip(columns, values, strict=True):
            columns[name].append(value)
    return Figure(
        "error_by_size",
        "spread",
        "Error by true value",
        columns,
        {"x": f"true, {measured_in}", "y": f"error, {measured_in}"},
        f"The {plural(item)} in groups of equal number by their true value. The line is the median error, the box "
        "the middle half, the whisker the middle 80 %. Above zero the prediction is too high.",
    )


def bland_altman(truth: Array, prediction: Array, item: str, measured_in: str) -> Figure:
    """Differences against means, with the mean difference and the limits of agreement."""
    mean, difference = (truth + prediction) / 2, prediction - truth
    bias = float(difference.mean())
    spread = float(difference.std(ddof=1)) if len(difference) > 1 else 0.0
    limits = {"bias": bias, "low": bias - 1.96 * spread, "high": bias + 1.96 * spread}
    table = Table(
        "bland_altman",
        "Limits of agreement",
        "",
        ("mean difference", "lower limit", "upper limit", plural(item)),
        (measured_in,),
        np.array([[limits["bias"]], [limits["low"]], [limits["high"]], [float(len(truth))]]),
    )
    return Figure(
        "bland_altman",
        "bland_altman",
        "Difference against mean (Bland–Altman)",
        points_or_cells(mean, difference),
        {
            "x": f"mean of true and predicted, {measured_in}",
            "y": f"predicted − true, {measured_in}",
            "item": item,
            **limits,
        },
        "The solid line is the mean difference. Between the dashed lines (1.96 standard deviations) lie about 95 % of "
        f"the {plural(item)}, if differences are normal.",
        table,
    )


def bins_of(values: Array, most: int = BINS) -> list[Array]:
    """Masks of groups of about equal number, by value; equal values stay together."""
    edges = np.unique(np.quantile(values, np.linspace(0, 1, most + 1)))
    if len(edges) == 1:
        return [np.ones(len(values), dtype=bool)]
    place = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
    return [place == i for i in range(len(edges) - 1) if (place == i).any()]


def binned_table(name: str, truth: Array, prediction: Array, measured_in: str) -> Table:
    """Means by bins of the true value: what the picture of points says in numbers."""
    rows, values = [], []
    for inside in bins_of(truth):
        t, p = truth[inside], prediction[inside]
        rows.append(f"{t.min():.4g} to {t.max():.4g}")
        values.append([len(t), t.mean(), p.mean(), np.abs(p - t).mean(), (p - t).mean()])
    columns = ("number", "mean true", "mean predicted", "mean absolute error", "mean error")
    return Table(name, "Means by true value", f"true, {measured_in}", tuple(rows), columns, np.array(values))


def other_texts(pairs: Pairs, rows: Array, most: int = 4) -> dict[str, Texts]:
    """Columns of the truth that no metric reads (the food, the kitchen): a few, in the order of their names."""
    other = pairs.truth.other
    return {name: Texts.of(other[name][rows].tolist()) for name in sorted(other)[:most]}
