"""The sides of a comparison: each model scored once, with its values under the draws that all of them share."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from steelyard.core.errors import Incompatible
from steelyard.core.frozen import Frozen
from steelyard.core.metric import Metric
from steelyard.core.plan import POINT
from steelyard.core.request import Request
from steelyard.core.state import Reducible, State, Totals
from steelyard.core.weights import Floats
from steelyard.engine.flips import Coins, Influence, influences
from steelyard.engine.intervals import UnitSample
from steelyard.engine.measure import unit_values
from steelyard.engine.score import left_out_totals, left_rows, score, with_values
from steelyard.results.score import Score


class KeptTotals(Totals):
    """Totals whose values of some metrics are kept: a number for each row, where the totals may be large."""

    def __init__(self, totals: Totals, metrics: Sequence[Metric]) -> None:
        super().__init__(totals.state, totals.weights)
        self._values: dict[Reducible, Floats] = {metric: totals.of(metric) for metric in metrics}

    def of(self, metric: Reducible) -> Floats:
        return self._values[metric] if metric in self._values else super().of(metric)


class ComparedModel(Frozen):
    """One model of a comparison: its state and scores, totals of the plain weights, the draws and the jackknife, and
    the influences of the units on each metric.

    Where only some units have truth, these are of the labelled ones, `judged` is of the same units by a proxy of truth,
    and `others` of the units without truth; the scores are then by truth and proxy.
    """

    state: State
    scores: dict[str, Score]
    plain: Totals
    drawn: Totals
    leave_one_out: Totals | None
    influences: dict[Metric, Influence]
    judged: ComparedModel | None = None
    others: ComparedModel | None = None

    @cached_property
    def _agreeing(self) -> dict[Metric, UnitSample]:
        return {}

    @cached_property
    def _unit_values(self) -> dict[Metric, Floats]:
        return {}

    def unit_values(self, metric: Metric) -> Floats:
        """The metric for each unit alone, computed once per model of a line-up."""
        if metric not in self._unit_values:
            self._unit_values[metric] = unit_values(self.state, [metric])[str(metric)]
        return self._unit_values[metric]

    def agreeing(self, metric: Metric, sample: UnitSample) -> UnitSample:
        """The units that have a value of their own, which takes long and is asked for once per model of a line-up."""
        if metric not in self._agreeing:
            self._agreeing[metric] = with_values(self.state, metric, sample)
        return self._agreeing[metric]


def sides_of(
    states: Sequence[State], metrics: Sequence[Metric], request: Request,
    scores: Sequence[dict[str, Score]] | None = None,
) -> list[ComparedModel]:  # fmt: skip
    """The sides of states, which must list their units, the same ones. `scores` are theirs, where they were made."""
    states = State.unified(states)
    units = states[0].units
    for other in states[1:]:
        same = (
            len(other) == len(units) and (other.units.ids == units.ids).all() and (other.units.own == units.own).all()
        )
        if not same:
            raise Incompatible(
                "the two predictions were not scored on the same units", remedy="Use the same truth for both."
            )
    weights, coins = request.plan.bind(units), Coins.of(units, request.seed, request.draws)
    sides = []
    for i, state in enumerate(states):
        plain, drawn, leave_one_out = state.totals(POINT), Totals(state, weights), left_out_totals(state)
        assert leave_one_out is not None  # the units are listed
        own = (
            score(state, metrics, request, drawn, leave_one_out=leave_one_out, plain=plain)
            if scores is None
            else scores[i]
        )
        tested = metrics if units.n_resampled > 1 else ()
        left = KeptTotals(leave_one_out, tested)
        moved = influences({metric: left_rows(units, left.of(metric)) for metric in tested}, coins)
        sides.append(ComparedModel(state, own, plain, KeptTotals(drawn, tested if scores is None else ()), left, moved))
    return sides
