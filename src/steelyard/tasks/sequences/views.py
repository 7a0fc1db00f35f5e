"""What the page of sequences draws: the mean curve, weights over time, errors by phase, predicted against true."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from steelyard.core.figure import Array, Figure, Listing, Texts
from steelyard.core.metric import Metric
from steelyard.core.pairs import Pairs
from steelyard.core.state import State
from steelyard.core.statistic import SharedCache
from steelyard.tasks.sequences.errors import sequence_columns
from steelyard.tasks.sequences.meals import phase_of, places
from steelyard.tasks.shared.agreement import agreement_figures, other_texts
from steelyard.tasks.shared.regression import rows_of

MOST_TRACES = 6
STEPS = 21  # points of the mean curve


def figures(pairs: Pairs, state: State, metrics: Sequence[Metric]) -> Mapping[str, Callable[[], Figure]]:
    """The mean curve, weights over time, errors by phase, and predicted against true grams."""
    truth, prediction = rows_of(pairs, SharedCache())
    own: dict[str, Callable[[], Figure]] = {"traces": lambda: traces(pairs)}
    if np.bincount(pairs.owner, minlength=1).max() > 1:
        own = {"consumption": lambda: consumption(pairs), **own, "error_by_phase": lambda: error_by_phase(pairs)}
    return {**own, **agreement_figures(truth, prediction, "frame")}


def consumption(pairs: Pairs) -> Figure:
    """The mean curve of what is left over the meal, true and predicted, with a 95 % interval of each mean."""
    cache = SharedCache()
    place, frames = places(pairs, cache)
    meals = np.flatnonzero(np.bincount(pairs.owner, minlength=len(pairs.units)) > 1)
    starts = np.searchsorted(pairs.owner, [meals, meals + 1])
    grid = np.linspace(0.0, 1.0, STEPS)
    share = place / np.maximum(frames - 1, 1)
    columns: dict[str, list[object]] = {name: [] for name in ("series", "x", "y", "low", "high")}
    for name, values in zip(("true", "predicted"), rows_of(pairs, cache), strict=True):
        curves = np.array([np.interp(grid, share[a:b], values[a:b]) for a, b in starts.T.tolist()])
        mean = curves.mean(axis=0)
        half = _t_95(len(meals) - 1) * curves.std(axis=0, ddof=1) / np.sqrt(len(meals)) if len(meals) > 2 else 0 * mean
        columns["series"] += [name] * STEPS
        for key, numbers in zip(("x", "y", "low", "high"), (100 * grid, mean, mean - half, mean + half), strict=True):
            columns[key] += numbers.tolist()
    few = "" if len(meals) > 2 else " There are too few sequences for an interval."
    return Figure(
        "consumption",
        "curves",
        "Consumption curve: what is left over the meal",
        columns,
        {"x": "part of the meal, % of frames", "y": "mean weight left, g"},
        f"The mean over {len(meals)} sequences of two frames or more, straight lines between frames. The band is a "
        f"95 % interval of the mean, point by point.{few}",
    )


def _t_95(df: int) -> float:
    """The 97.5 % point of Student's t, by its expansion about the normal one; exact to 0.01 from 4 degrees on."""
    z = 1.959963984540054
    terms = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96, (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + terms[0] / df + terms[1] / df**2 + terms[2] / df**3


def error_by_phase(pairs: Pairs) -> Figure:
    """The spread of errors in the thirds of the meal."""
    cache = SharedCache()
    truth, prediction = rows_of(pairs, cache)
    phase, error = phase_of(*places(pairs, cache)), prediction - truth
    columns: dict[str, list[float]] = {name: [] for name in ("low", "high", "count", "p10", "p25", "p50", "p75", "p90")}
    for third, (low, high) in enumerate(((0, 33), (33, 67), (67, 100))):
        inside = error[phase == third]
        if len(inside):
            numbers = [low, high, len(inside), *np.quantile(inside, [0.1, 0.25, 0.5, 0.75, 0.9]).tolist()]
            for name, value in zip(columns, numbers, strict=True):
                columns[name].append(float(value))
    return Figure(
        "error_by_phase",
        "spread",
        "Error by phase of the meal",
        columns,
        {"x": "part of the meal, % of frames", "y": "error, g"},
        "The frames of the first, the middle and the last third. The line is the median error, the box the middle "
        "half, the whisker the middle 80 %. Above zero the prediction is too high.",
    )


def traces(pairs: Pairs) -> Figure:
    """The weight of some sequences over time, with its prediction: the worst, those in the middle, the best."""
    work = SharedCache()
    columns_of = sequence_columns(pairs, work)
    truth, prediction = rows_of(pairs, work)
    errors, shown = columns_of["mean_error"], np.flatnonzero(columns_of["rows"] > 0)
    order = shown[np.argsort(-errors[shown], kind="stable")]
    middle = max(0, len(order) // 2 - 1)
    chosen = dict.fromkeys([*order[:2].tolist(), *order[middle : middle + 2].tolist(), *order[-2:].tolist()])
    columns: dict[str, list[object]] = {"panel": [], "series": [], "x": [], "y": []}
    t = pairs.truth_column("t")
    for unit in list(chosen)[:MOST_TRACES]:
        rows = np.flatnonzero(pairs.owner == unit)
        rows = rows[np.argsort(t[rows], kind="stable")]
        for name, values in (("true", truth), ("predicted", prediction)):
            columns["panel"] += [f"{pairs.units[unit]}: mean error {errors[unit]:.3g} g"] * len(rows)
            columns["series"] += [name] * len(rows)
            columns["x"] += t[rows].tolist()
            columns["y"] += values[rows].tolist()
    return Figure(
        "traces",
        "traces",
        "Weight over time: the worst, the middle, the best",
        columns,
        {"x": "frame", "y": "weight, g"},
        "Two sequences each with the largest, the middle and the smallest mean error.",
    )


def listing(pairs: Pairs, state: State) -> Listing:
    """Every frame with its error, and the text columns of the truth beside it."""
    truth, prediction = rows_of(pairs, SharedCache())
    columns: dict[str, Array | Texts] = {
        "sequence": Texts(pairs.owner, [str(u) for u in pairs.units.tolist()]),
        "frame": pairs.truth_column("t"),
        "true, g": truth,
        "predicted, g": prediction,
        "error, g": prediction - truth,
        "absolute error, g": np.abs(prediction - truth),
        **other_texts(pairs, pairs.truth_row),
    }
    return Listing("frames", "Frames", columns, x="error, g")
