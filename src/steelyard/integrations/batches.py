"""Batches of a training loop for an accumulator: arrays get ids, so that nothing is counted twice or lost."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard.core.errors import Conflict, Unsupported
from steelyard.core.plain import is_plain, to_numpy
from steelyard.partial.accumulator import Accumulator


def as_batch(state: Accumulator, truth: Any, predictions: Any, ids: Any, seen: int, rank: int) -> tuple[Any, Any]:
    """Both sides as an accumulator takes them. Arrays without ids are numbered, by rank and by what was `seen`."""
    if not (is_plain(truth) and is_plain(predictions)):
        if ids is not None:
            raise Conflict("ids are for arrays", remedy="Columns have a column of ids.")
        return truth, predictions
    if state.task.plain is None:
        raise Unsupported(
            f"task '{state.task.name}' takes no bare arrays", remedy="Give dicts of columns, with a column of ids."
        )
    converted = state.task.plain(truth, predictions)
    if converted is None:
        raise Unsupported("these arrays cannot be taken", remedy="Give dicts of columns.")
    sides = converted[:2]
    rows = len(to_numpy(next(iter(sides[0].values()))))
    numbers = [f"{rank}-{seen + i}" for i in range(rows)] if ids is None else np.asarray(to_numpy(ids))
    key = state.task.truth.key
    own = {key[0]: numbers} | {name: np.zeros(rows, np.int64) for name in key[1:] if name not in sides[0]}
    return {**own, **sides[0]}, {**own, **sides[1]}
