"""From pairs to a state: exactly what the metrics declare is measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from steelyard.core.block import CellsBlock
from steelyard.core.metric import Metric
from steelyard.core.pairs import Countable, metadata_of
from steelyard.core.plan import UNITS
from steelyard.core.state import State, Totals
from steelyard.core.statistic import RankingReader, SharedCache, Statistic
from steelyard.core.units import Units
from steelyard.core.weights import Floats

MOST_CELLS = 1 << 23  # numbers that the cells of some units may give at a time


def needs_of(metrics: Iterable[Metric]) -> list[Statistic]:
    """What a state must keep for these metrics, each statistic once."""
    declared = [wanted for metric in metrics for wanted in metric.requirements()]
    return list(dict.fromkeys(wanted.ranking if isinstance(wanted, RankingReader) else wanted for wanted in declared))


def reads_curve(metric: Metric) -> bool:
    """Whether a metric reads a ranking, for which the jackknife's standard error may be too large."""
    return any(isinstance(statistic, RankingReader) for statistic in metric.requirements())


def measure_state(pairs: Any, metrics: Sequence[Metric], cache: SharedCache | None = None) -> State:
    """The state that these metrics need."""
    if isinstance(pairs, Countable):
        declared = list(dict.fromkeys(wanted for metric in metrics for wanted in metric.requirements()))
        blocks = pairs.answered(declared)
        if blocks is not None:
            units: Any = pairs
            return State(Units(units.units), metadata_of(pairs), blocks)
    return State.of(pairs, needs_of(metrics), cache)


def per_unit_state(pairs: Any, state: State, metrics: Sequence[Metric]) -> State:
    """Return the state with one row per unit; aggregated units are measured again."""
    return (
        measure_state(pairs.per_unit(), metrics) if state.units.deduplicated and isinstance(pairs, Countable) else state
    )


def unit_values(state: State, metrics: Sequence[Metric]) -> dict[str, Floats]:
    """Every metric for each unit alone, by its spec."""
    cells = [block.entries.size for block in state.blocks.values() if isinstance(block, CellsBlock)]
    most = max(1, MOST_CELLS // max([1, *cells]))
    parts = [Totals(state, weights) for weights in (UNITS.bind(state.units).parts(most) if cells else ())]
    if len(parts) < 2:
        parts = [state.totals(UNITS)]
    return {str(metric): np.concatenate([totals.of(metric) for totals in parts]) for metric in metrics}
