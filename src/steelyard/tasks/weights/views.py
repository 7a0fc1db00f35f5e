"""What the page of weights draws: predicted against true grams, item by item."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from steelyard.core.figure import Array, Figure, Listing, Texts
from steelyard.core.metric import Metric
from steelyard.core.pairs import Pairs
from steelyard.core.state import State
from steelyard.core.statistic import SharedCache
from steelyard.tasks.shared.agreement import agreement_figures, other_texts
from steelyard.tasks.shared.regression import rows_of


def figures(pairs: Pairs, state: State, metrics: Sequence[Metric]) -> Mapping[str, Callable[[], Figure]]:
    """Predicted against true grams, item by item."""
    return agreement_figures(*rows_of(pairs, SharedCache()), "item")


def listing(pairs: Pairs, state: State) -> Listing:
    """Every item with its error, and the text columns of the truth beside it."""
    truth, prediction = rows_of(pairs, SharedCache())
    columns: dict[str, Array | Texts] = {"dish": Texts.of(pairs.units[pairs.owner].tolist())}
    if "item" in pairs.truth:
        columns["item"] = Texts.of(pairs.truth_column("item").tolist())
    columns |= {"true, g": truth, "predicted, g": prediction, "error, g": prediction - truth}
    columns["absolute error, g"] = np.abs(prediction - truth)
    columns |= other_texts(pairs, pairs.truth_row)
    return Listing("items", "Items", columns, x="error, g")
