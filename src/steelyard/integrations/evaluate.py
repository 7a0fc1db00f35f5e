"""Hugging Face `evaluate`, in both directions: our metrics as its module, and an interval for a module of its own.

`evaluate.load(steelyard.integrations.evaluate.MODULE, "labels")` gives a module whose `compute(predictions=...,
references=..., metrics=[...])` returns scores and the ends of their intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.errors import MissingData, ShapeMismatch
from steelyard.core.plain import is_plain, to_numpy
from steelyard.core.plan import WeightPlan
from steelyard.core.units import Units
from steelyard.core.weights import Role
from steelyard.engine.intervals import LINE, UnitSample, by_range
from steelyard.results.score import Score

MODULE = str(Path(__file__).parent / "steelyard_module" / "steelyard_module.py")


def with_intervals(
    module: Any, predictions: Sequence[Any], references: Sequence[Any], *, draws: int = 500, seed: int = 0,
    confidence: float = 0.95, bounds: tuple[float, float] = LINE, **settings: Any,
) -> dict[str, Score]:  # fmt: skip
    """The numbers of a module of `evaluate`, each with an interval from bootstrap draws of the rows.

    `module` is anything whose `compute(predictions=, references=)` gives a dict; `settings` are its own. `bounds` is
    the range that its numbers can have, such as (0, 1), which keeps intervals inside. Rows must be independent.
    """
    sides = [to_numpy(side) if is_plain(side) else list(side) for side in (predictions, references)]
    count = len(sides[0])
    if count != len(sides[1]):
        raise ShapeMismatch(
            f"there are {count_text(count, 'prediction')} and {len(sides[1]):,} references", remedy="Give as many."
        )
    if count < 2 or not 100 <= draws <= 100_000:
        raise MissingData(
            f"{count_text(count, 'row')} and {count_text(draws, 'draw')} make no interval",
            remedy="Use 2 rows and 100 draws or more.",
        )

    def compute_rows(rows: Any) -> dict[str, float]:
        some = [[side[int(row)] for row in rows] for side in sides]
        given = module.compute(predictions=some[0], references=some[1], **settings)
        return {name: float(value) for name, value in given.items() if np.ndim(value) == 0 and _is_number(value)}

    whole = compute_rows(range(count))
    weights = WeightPlan(Role.DRAWS, seed=seed, rows=draws).bind(Units(np.arange(count)))
    values = [
        compute_rows(np.repeat(np.arange(count), row.astype(np.int64))) for block in weights.blocks() for row in block
    ]
    scores = {}
    for name, value in whole.items():
        drawn = np.array([one.get(name, np.nan) for one in values])
        estimate = by_range(value, drawn, None, bounds, UnitSample(count), confidence)
        scores[name] = Score(
            spec=name, label=name, value=value, interval=estimate.interval, units=count, notes=estimate.notes,
            why_no_interval=estimate.undefined_reason, se=estimate.se, df=estimate.df, better="none",
        )  # fmt: skip
    return scores


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
