"""Checks of an estimator as an instrument: does it heap on round numbers, does it rise where nothing was added?"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from steelyard.core.block import SumBlock
from steelyard.core.frozen import frozen
from steelyard.core.metric import Between, Metric
from steelyard.core.pairs import Array, Pairs
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Requirement, SharedCache, Sum, sum_by_unit
from steelyard.core.weights import Floats, ratio
from steelyard.tasks.shared.rows import ROWS, rows_of


def step_columns(truth: Array, prediction: Array, owner: Array, units: int) -> dict[str, Array]:
    """By unit: steps to the next frame in which the truth does not rise, and those in which the prediction does."""
    inside = owner[1:] == owner[:-1]
    steps = inside & (np.diff(truth) <= 0)
    rises = steps & (np.diff(prediction) > 0)
    return {
        name: np.bincount(owner[1:][mask], minlength=units).astype(float)
        for name, mask in (("steps", steps), ("rises", rises))
    }


@frozen
class RoundNumbers(Metric):
    r"""Heaping: how many more of the predictions than of the true weights are multiples of a round number.

    $h_k = 100 \sum_i w_i\,([\,k \mid \hat y_i\,] - [\,k \mid y_i\,]) \;/\; \sum_i w_i$

    People and language models like round numbers; scales do not. 0 is no heaping, 100 says that all predictions are
    round and no true weight is.

    Undefined when nothing was weighed.

    Pros:
    - Shows that a number was guessed rather than read.

    Cons:
    - Says nothing about how far off the guess is.
    """

    name = "heaping"
    title = "Heaping on round numbers"
    better = "zero"
    range = (-100, 100)
    measured_in = "%"
    at = "step"

    step: Annotated[float, Between(1e-9, 1e9)] = 10

    @property
    def label(self) -> str:
        return f"Heaping on multiples of {self.step:g}"

    def needs(self) -> tuple[Requirement, ...]:
        return RoundExcess(float(self.step)), ROWS

    def reduce(self, totals: TotalsView) -> Floats:
        return 100 * ratio(totals[RoundExcess(float(self.step))], totals[ROWS])


@frozen
class RoundExcess(Sum):
    """How many more predictions than true weights are multiples of a number."""

    name = "rows.round_excess"

    step: float

    def measure(self, pairs: Pairs, cache: SharedCache) -> SumBlock:
        truth, prediction = (np.mod(side, self.step) == 0 for side in rows_of(pairs, cache))
        return sum_by_unit(prediction.astype(float) - truth, pairs.owner, len(pairs.units))


@frozen
class Steps(Sum):
    """Steps to the next frame: column 0 those in which the truth does not rise, column 1 the rises among them."""

    name = "sequences.steps"

    def measure(self, pairs: Pairs, cache: SharedCache) -> SumBlock:
        columns = step_columns(*rows_of(pairs, cache), pairs.owner, len(pairs.units))
        return SumBlock(np.stack([columns["steps"], columns["rises"]], axis=1))


@frozen
class RisingSteps(Metric):
    r"""Rising steps: how often the predicted weight rises from a frame to the next although the true weight does not.

    $100 \sum_i \sum_t [\hat W_{i,t+1} > \hat W_{i,t} \wedge W_{i,t+1} \le W_{i,t}]
    \;/\; \sum_i \sum_t [W_{i,t+1} \le W_{i,t}]$

    Food that is eaten does not come back. Steps are between frames that stand next to each other among those scored.

    Undefined when no sequence has two frames of which the second is not heavier.

    Pros:
    - Shows noise that the mean error hides, without needing a scale.

    Cons:
    - A constant prediction never rises.
    """

    name = "rises"
    title = "Rising steps"
    better = "lower"
    range = (0, 100)
    measured_in = "%"

    def needs(self) -> tuple[Requirement, ...]:
        return (Steps(),)

    def reduce(self, totals: TotalsView) -> Floats:
        return 100 * ratio(*self.proportions(totals))

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats]:
        counts = totals[Steps()]
        return counts[:, 1], counts[:, 0]
