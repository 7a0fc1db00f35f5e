"""Join sets of objects by their unit: the ellipses of an image, where objects have no id of their own.

A row without an object (its first value column empty) says that its unit is there: an image in which nothing is to be
found, or nothing was found. A unit that one side does not name at all is missing or extra.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.align.join import check_policy
from steelyard.core.counts import plural
from steelyard.core.deprecated import Renamed, adopt_renamed
from steelyard.core.errors import MissingColumn, Unmatched, first_few
from steelyard.core.frozen import Frozen
from steelyard.core.metadata import Metadata
from steelyard.core.pairs import Array, Coverage, no_slice_column
from steelyard.core.records import Records, as_object, constant_in_unit, factorize
from steelyard.core.task import Policy


class SetPairs(Frozen):
    """Rows of both sides by unit, in the order of the units' ids and inside one in the order of the source.

    `truth_row` are places in the truth's records, `truth_owner` the units they belong to; likewise for predictions.
    `weight` is the user's weight of each unit; None is 1 for all.
    """

    truth: Records
    prediction: Records
    units: Array
    truth_row: Array
    truth_owner: Array
    prediction_row: Array
    prediction_owner: Array
    coverage: Coverage
    weight: Array | None = None

    facts = Renamed("metadata")

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        adopt_renamed(cls, SetPairs, {"facts": "metadata"})

    @property
    def metadata(self) -> Metadata:
        """Sets of objects have no classes."""
        return Metadata()

    def slice_values(self, name: str) -> tuple[Array, Array]:
        """A column, one value per row of either side: truth first.

        A truth column that is the same in all rows of a unit holds for its predictions too; else they need it as well.
        """
        values = self.truth.find(name)
        if values is None:
            raise no_slice_column(self.truth, name)
        mine = as_object(values[self.truth_row].tolist())
        first: Array = np.full(len(self.units), None, dtype=object)
        first[self.truth_owner[::-1]] = mine[::-1]
        same = [a == b or (a != a and b != b) for a, b in zip(mine, first[self.truth_owner], strict=True)]
        theirs = first[self.prediction_owner]
        if not all(same):
            other = self.prediction.find(name)
            if other is None:
                row = int(self.truth_row[same.index(False)])
                raise MissingColumn(
                    f"column '{name}' varies inside a unit, and the predictions in {self.prediction.source} lack it",
                    where=self.truth.place(row),
                    remedy="Add it to the predictions, or slice by a column of whole units.",
                )
            theirs = as_object(other[self.prediction_row].tolist())
        return np.concatenate([mine, theirs]), np.concatenate([self.truth_owner, self.prediction_owner])

    def select(self, keep: Array) -> SetPairs:
        """The rows that a mask over both sides keeps. All units stay."""
        mine, theirs = keep[: len(self.truth_row)], keep[len(self.truth_row) :]
        return replace(
            self,
            truth_row=self.truth_row[mine],
            truth_owner=self.truth_owner[mine],
            prediction_row=self.prediction_row[theirs],
            prediction_owner=self.prediction_owner[theirs],
        )

    def alone(self, unit: int) -> SetPairs:
        """The rows of one unit, which is the only one."""
        mine, theirs = self.truth_owner == unit, self.prediction_owner == unit
        single = replace(self.select(np.concatenate([mine, theirs])), units=self.units[unit : unit + 1])
        return replace(
            single,
            truth_owner=np.zeros_like(single.truth_owner),
            prediction_owner=np.zeros_like(single.prediction_owner),
            weight=None if self.weight is None else self.weight[unit : unit + 1],
        )


def join_sets(truth: Records, prediction: Records, key: str, value: str, policy: Policy, weight: str = "") -> SetPairs:
    """Join by unit. `value` is the column that is nan in a row without an object.

    `weight` names the column of the truth that is the weight of a unit; a unit that has none there weighs 1.
    """
    check_policy(policy)
    ids, (truth_unit, prediction_unit) = factorize(truth[key], prediction[key])
    in_truth, in_prediction = (np.zeros(len(ids), dtype=bool) for _ in range(2))
    in_truth[truth_unit], in_prediction[prediction_unit] = True, True
    missing, extra = in_truth & ~in_prediction, in_prediction & ~in_truth
    if extra.any() and policy.extra == "error":
        row = int(np.argmax(extra[prediction_unit]))
        raise Unmatched(
            f"{key} '{prediction[key][row]}' is not in the truth {truth.source}" + _how_many(ids[extra], key),
            where=prediction.place(row),
            remedy=f"List every {key} in the truth (a row with nothing but its id says that nothing is there), "
            "or choose `extra='skip'`.",
        )
    if missing.any() and policy.missing == "error":
        row = int(np.argmax(missing[truth_unit]))
        raise Unmatched(
            f"{key} '{truth[key][row]}' has no prediction in {prediction.source}" + _how_many(ids[missing], key),
            where=truth.place(row),
            remedy=f"Where nothing was found, list the {key} by a row with nothing but its id or by an option of the "
            "task; or choose `missing='worst'` (nothing found) or `missing='skip'`.",
        )
    used = in_truth & in_prediction if policy.missing == "skip" else in_truth
    place = np.cumsum(used) - 1
    truth_row, truth_owner = _sort_by_unit(truth_unit, used, place)
    prediction_row, prediction_owner = _sort_by_unit(prediction_unit, used, place)
    objects, predicted = ~np.isnan(truth[value]), ~np.isnan(prediction[value])
    without = int(np.count_nonzero(objects & missing[truth_unit]))
    coverage = Coverage(
        int(objects.sum()),
        int(predicted.sum()),
        int(objects.sum()) - without,
        without,
        int(np.count_nonzero(predicted & extra[prediction_unit])),
        policy.missing,
    )
    own = _weights(truth, weight, truth_row, truth_owner, int(used.sum()))
    return SetPairs(
        truth, prediction, ids[used], truth_row, truth_owner, prediction_row, prediction_owner, coverage, own
    )


def _weights(truth: Records, column: str, rows: Array, owner: Array, units: int) -> Array | None:
    if column not in truth:
        return None
    weighted = ~np.isnan(truth[column][rows])
    weights = constant_in_unit(truth, column, owner[weighted], rows[weighted], units)
    return np.where(np.isnan(weights), 1.0, weights)


def _sort_by_unit(unit: Array, used: Array, place: Array) -> tuple[Array, Array]:
    """Rows of the units that are kept, by unit."""
    if used.all() and (unit[1:] >= unit[:-1]).all():
        return np.arange(len(unit)), unit
    rows = np.flatnonzero(used[unit])
    owner = place[unit[rows]]
    if (owner[1:] >= owner[:-1]).all():  # as files by unit have them
        return rows, owner
    order = np.argsort(owner, kind="stable")
    return rows[order], owner[order]


def _how_many(ids: Array, key: str) -> str:
    return f" ({len(ids)} {plural(key)} are so: {first_few(ids.tolist())})" if len(ids) > 1 else ""
