"""Test sets drawn from a population that is measured once, and how often their intervals hold the metric's mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from steelyard.core import catalogue
from steelyard.core.frozen import frozen
from steelyard.core.metric import Metric
from steelyard.core.request import Request
from steelyard.core.state import State
from steelyard.engine.measure import per_unit_state
from steelyard.engine.run import measure_sides
from steelyard.engine.score import score
from steelyard.results.score import Score
from support.populations import Population

BAND = (0.93, 0.97)
NORMAL_WIDTH = 2 * 1.96


@frozen
class Cell:
    """What the sets of one size say of a metric. `sets` counts those in which it is defined."""

    sets: int
    coverage: float
    width: float
    none: float

    @property
    def outside(self) -> int:
        """-1 below the band, 1 above, by more than two standard errors; 0 inside, and for what never varies."""
        if not np.isfinite(self.width):
            return 0
        low, high = (2 * np.sqrt(edge * (1 - edge) / self.sets) for edge in BAND)
        return int(self.coverage > BAND[1] + high) - int(self.coverage < BAND[0] - low)


def measured(task: str, population: Population, units: int, seed: int) -> tuple[State, list[Metric]]:
    """What the population's metrics need, of all units, each a row of its own."""
    kind = catalogue.find_task(task)
    specs = list(population.metrics) or [str(metric) for metric in catalogue.metrics(task)]
    policy = {"missing": "worst", "extra": "skip", **dict(population.policy)}
    sides = population.draw(np.random.default_rng(seed), units)
    data = measure_sides(kind, Request.of(task, specs, policy), *sides)
    metrics = [metric for metric in data.metrics if not metric.total]
    return per_unit_state(data.pairs, data.state, data.metrics), metrics


def drawn_set(state: State, units: int, rng: np.random.Generator) -> State:
    """Units drawn with replacement, so that the population may be small: one that is drawn twice is two units."""
    times = np.bincount(rng.integers(0, len(state), units), minlength=len(state))
    parts = [state.take(np.flatnonzero(times > k)) for k in range(int(times.max()))]
    whole = State.stack(parts) if len(parts) > 1 else parts[0]
    return replace(whole, units=replace(whole.units, ids=np.arange(units)))


def coverage(
    state: State, metrics: Sequence[Metric], units: int, sets: int, draws: int, rng: np.random.Generator
) -> dict[str, Cell]:
    """By metric. A metric that is defined in less than half of the sets is left out."""
    scores = [
        score(drawn_set(state, units, rng), metrics, Request.of("", None, {"draws": draws, "seed": k}))
        for k in range(sets)
    ]
    by_metric = {str(metric): [one[str(metric)] for one in scores if one[str(metric)].defined] for metric in metrics}
    return {spec: cell_of(defined) for spec, defined in by_metric.items() if len(defined) >= max(2, sets / 2)}


def cell_of(defined: Sequence[Score]) -> Cell:
    """What scores of several test sets say."""
    values = np.array([one.value for one in defined])
    ends = np.array([one.interval for one in defined if one.interval is not None]).reshape(-1, 2)
    mean, sd = values.mean(), values.std(ddof=1)
    held = (ends[:, 0] <= mean) & (mean <= ends[:, 1])
    with np.errstate(divide="ignore", invalid="ignore"):
        width = (ends[:, 1] - ends[:, 0]).mean() / (NORMAL_WIDTH * sd) if len(ends) else np.nan
    return Cell(
        sets=len(defined),
        coverage=float(held.mean()) if len(ends) else np.nan,
        width=float(width),
        none=1 - len(ends) / len(defined),
    )
