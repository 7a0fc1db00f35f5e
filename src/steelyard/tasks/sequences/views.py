"""What the page of sequences draws: weights over time, and predicted against true grams."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from steelyard.core.figure import Array, Figure, Listing, Texts
from steelyard.core.metric import Metric
from steelyard.core.pairs import Pairs
from steelyard.core.state import State
from steelyard.core.statistic import SharedCache
from steelyard.tasks.sequences.errors import sequence_columns
from steelyard.tasks.shared.agreement import agreement_figures, other_texts
from steelyard.tasks.shared.regression import rows_of

MOST_TRACES = 6


def figures(pairs: Pairs, state: State, metrics: Sequence[Metric]) -> Mapping[str, Callable[[], Figure]]:
    """Weights over time, and predicted against true grams."""
    truth, prediction = rows_of(pairs, SharedCache())
    return {"traces": lambda: traces(pairs), **agreement_figures(truth, prediction, "frame")}


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
