"""The sides of a comparison: each model scored once, with its values under the draws that all of them share."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.core.errors import InputError
from steelyard.core.frozen import frozen
from steelyard.core.metric import Metric
from steelyard.core.plan import POINT
from steelyard.core.request import Request
from steelyard.core.state import State
from steelyard.core.totals import Totals
from steelyard.core.weights import Floats
from steelyard.engine.score import left_out_totals, score
from steelyard.results.score import Score


class KeptTotals(Totals):
    """Totals whose values of some metrics are kept: a number for each row, where the totals may be large."""

    def __init__(self, totals: Totals, metrics: Sequence[Metric]) -> None:
        super().__init__(totals.state, totals.weights)
        self._values = {metric: totals.of(metric) for metric in metrics}

    def of(self, metric: Metric) -> Floats:
        """A metric's value for each row of weights."""
        return self._values[metric] if metric in self._values else super().of(metric)


@frozen
class Side:
    """One model of a comparison: its state and scores, and totals of the plain weights, the draws and the jackknife."""

    state: State
    scores: dict[str, Score]
    plain: Totals
    drawn: Totals
    left_out: Totals | None


def sides_of(states: Sequence[State], metrics: Sequence[Metric], request: Request) -> list[Side]:
    """The sides of states, which must list their units, the same ones."""
    states = State.unified(states)
    units = states[0].units
    for other in states[1:]:
        same = (
            len(other) == len(units) and (other.units.ids == units.ids).all() and (other.units.own == units.own).all()
        )
        if not same:
            raise InputError(
                "the two predictions were not scored on the same units", remedy="Use the same truth for both."
            )
    weights = request.plan.bind(units)
    sides = []
    for state in states:
        drawn, left_out = Totals(state, weights), left_out_totals(state)
        scores = score(state, metrics, request, drawn, left_out=left_out)
        kept = metrics if units.drawn > 1 else ()
        left = None if left_out is None else KeptTotals(left_out, kept)
        sides.append(Side(state, scores, state.totals(POINT), KeptTotals(drawn, kept), left))
    return sides
