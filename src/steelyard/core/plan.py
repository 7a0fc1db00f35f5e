"""Plan: rows of weights as a description without arrays. It pickles, travels, and is bound where the units are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from steelyard.core.draws import BootstrapDraws, unit_keys
from steelyard.core.frozen import Frozen
from steelyard.core.units import Units
from steelyard.core.weights import (
    Array,
    EachUnit,
    Floats,
    InStrata,
    LeaveGroupOut,
    LeaveOneOut,
    Plain,
    Role,
    Weights,
)

MOST_LEFT_OUT = 1000  # rows of a jackknife; more units are left out in so many groups, by their ids


class WeightPlan(Frozen):
    """Which rows of weights are wanted.

    `seed`, `first` and `rows` say which draws; the other roles have as many rows as they need.
    """

    role: Role
    seed: int = 0
    first: int = 0
    rows: int = 0

    def bind(self, units: Units) -> Weights:
        """The rows for these units: a draw's weight depends on the seed, the unit's id and the draw alone.

        Units of a cluster take its name for their id; strata keep their totals.
        """
        if self.role is Role.POINT:
            return Plain(lambda: units.plain, whole=True, even=units.unweighted and not units.deduplicated)
        if self.role is Role.COUNT:
            return Plain(lambda: units.unit_counts, role=Role.COUNT)
        if self.role is Role.UNITS:
            return EachUnit(len(units))
        if self.role is Role.JACKKNIFE:
            return _in_strata(_left_out(units), units)
        draws = BootstrapDraws(draw_keys(units), units.own, self.seed, self.rows, units.copies, first=self.first)
        return _in_strata(draws, units)


def draw_keys(units: Units) -> Array:
    """The key that each row is drawn by: that of its id, or of its cluster."""
    if units.cluster is None:
        return unit_keys(units.ids)
    names, code = units.drawn_as
    return np.asarray(unit_keys(names)[code])


def coin_keys(units: Units) -> Array:
    """A key for each row of the jackknife that leaves something out: of the unit, of the cluster, or of the group."""
    weighted = units.plain > 0
    if units.cluster is not None and units.n_resampled <= MOST_LEFT_OUT:
        names, code = units.drawn_as
        return np.asarray(unit_keys(names)[np.unique(code[weighted])])
    keys = draw_keys(units)
    if len(keys) <= MOST_LEFT_OUT:
        return np.asarray(keys[weighted])
    return unit_keys(np.unique(keys[weighted] % np.uint64(MOST_LEFT_OUT)).astype(np.int64))


def left_out_rows(units: Units) -> Array:
    """The row of the jackknife that leaves out each unit; negative where no row does."""
    rows = _left_out(units)
    return rows.group if isinstance(rows, LeaveGroupOut) else np.arange(len(units))


def _in_strata(rows: Weights, units: Units) -> Weights:
    """Return the rows with the total of every stratum preserved."""
    return rows if units.stratum is None else InStrata(rows, units.own, units.strata[1])


def _left_out(units: Units) -> Weights:
    plain = units.plain
    if units.copies is not None:
        return LeaveOneOut(plain, units.own)
    if units.cluster is None or units.n_resampled > MOST_LEFT_OUT:
        return leave_groups_out(plain, lambda: draw_keys(units))
    return _without_each(plain, units.drawn_as[1])


def leave_groups_out(base: Floats, keys: Callable[[], Array]) -> Weights:
    """Each unit left out, or where they are many, each of a thousand groups that the units' keys give."""
    if len(base) <= MOST_LEFT_OUT:
        return LeaveOneOut(base)
    return _without_each(base, (keys() % np.uint64(MOST_LEFT_OUT)).astype(np.int64))


def _without_each(base: Floats, group: Array) -> Weights:
    """Each group left out of those that have a unit with a weight."""
    used, place = np.unique(np.where(base > 0, group, -1), return_inverse=True)
    first = int((used[:1] < 0).any())  # units without a weight
    return LeaveGroupOut(base, (place.reshape(-1) - first).astype(np.int32), len(used) - first)


POINT = WeightPlan(Role.POINT)
COUNT = WeightPlan(Role.COUNT)
UNITS = WeightPlan(Role.UNITS)
JACKKNIFE = WeightPlan(Role.JACKKNIFE)
