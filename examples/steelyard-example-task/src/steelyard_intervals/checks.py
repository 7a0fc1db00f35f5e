"""What `steelyard check intervals` looks for, beside recordings that are on one side only."""

from __future__ import annotations

import numpy as np

from steelyard.extend import CheckData, Checks, Problem, with_ids

CHECKS = with_ids(Checks(), repeats=False)


@CHECKS.add("other-unit-of-time", "error", "no event can be matched", "Give start and end in seconds on both sides.")
def other_unit_of_time(data: CheckData) -> Problem | None:
    """Predicted events are a hundred times as long as true ones, or as short: milliseconds, or minutes."""
    if data.prediction is None:
        return None
    true, predicted = (side["end"] - side["start"] for side in (data.truth, data.prediction))
    true, predicted = true[~np.isnan(true)], predicted[~np.isnan(predicted)]
    if not len(true) or not len(predicted):
        return None
    longer = float(np.median(predicted) / np.median(true))
    if 0.01 < longer < 100:
        return None
    return Problem(f"Predicted events are {longer:g} times as long as true ones.", len(predicted), len(predicted))
