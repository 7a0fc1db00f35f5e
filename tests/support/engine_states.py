"""Small states and metrics by hand, for the tests of the engine."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from steelyard.core.block import SumBlock
from steelyard.core.frozen import frozen
from steelyard.core.metadata import Metadata
from steelyard.core.metric import Metric
from steelyard.core.state import State
from steelyard.core.statistic import SharedCache, Sum
from steelyard.core.units import Units


@frozen
class Given(Sum):
    """A column that a state is given."""

    name = "engine.given"
    of: str

    def measure(self, pairs: Any, cache: SharedCache) -> SumBlock:
        return SumBlock(pairs[self.of])


X, N, LOST = Given("x"), Given("n"), Given("lost")


@frozen
class Mean(Metric):
    """The mean of x.

    Undefined when there is nothing.
    """

    name, title, range, better, measured_in = "mean", "Mean of x", (0.0, 10.0), "lower", "g"

    def requirements(self) -> Any:
        return X, N, LOST

    def reduce(self, totals: Any) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(totals[N] > 0, totals[X] / totals[N], np.nan)

    def excluded(self, totals: Any) -> tuple[float, str]:
        return float(totals[LOST][0]), "rows"

    def notes(self, totals: Any) -> tuple[str, ...]:
        return (f"{totals[LOST][0]:g} are lost.",)


@frozen
class High(Mean):
    """The same, better high."""

    name, better = "high", "higher"


@frozen
class Endless(Mean):
    """The same without ends."""

    name, range, better = "endless", (-np.inf, np.inf), "zero"


@frozen
class NearOne(Mean):
    """The same, best at one."""

    name, range, better = "near_one", (-3.0, 10.0), "one"


@frozen
class Long(Mean):
    """The same of few long units."""

    name = "long"
    small_sample: ClassVar[str] = "t"


@frozen
class Count(Mean):
    """A sum over all units."""

    name, range = "count", (0.0, np.inf)
    total: ClassVar[bool] = True

    def reduce(self, totals: Any) -> Any:
        return totals[X]


@frozen
class Share(Mean):
    """The mean of two proportions, in hundredths: of x by n and of lost by n."""

    name, range = "share", (0.0, 100.0)

    def reduce(self, totals: Any) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(totals[N] > 0, 50 * (totals[X] + totals[LOST]) / totals[N], np.nan)

    def proportions(self, totals: Any) -> Any:
        return np.stack([totals[X], totals[LOST]], axis=1), np.stack([totals[N], totals[N]], axis=1)


def state_of(x: Any, n: Any = None, lost: Any = None, weight: Any = None, copies: Any = None, **units: Any) -> State:
    """Units with a value each, one row each where nothing else is said."""
    x = np.asarray(x, dtype=float)
    columns = {X: x, N: np.ones(len(x)) if n is None else n, LOST: np.zeros(len(x)) if lost is None else lost}
    named = Units(np.array([f"u{i:03}" for i in range(len(x))]), weight, copies, **units)
    return State(
        named, Metadata(), {need: SumBlock(np.asarray(values, dtype=float)) for need, values in columns.items()}
    )
