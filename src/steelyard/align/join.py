"""Join rows of truth and predictions by their key: the unit's id, or the unit's and the item's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steelyard import _native
from steelyard.core.counts import share_text
from steelyard.core.errors import DuplicateKey, InputError, InvalidSetting, MissingColumn, Unmatched, nearest
from steelyard.core.pairs import Array, Coverage, Pairs
from steelyard.core.records import (
    Records,
    UnfilledRecords,
    as_object,
    constant_in_unit,
    distinct_values,
    factorize,
    in_text_order,
    missing_key_hint,
)
from steelyard.core.task import Policy


def codes(*columns: Array) -> tuple[Array, list[Array]]:
    """The sorted distinct values, and each column as positions in them, as `factorize` gives them.

    Of texts only the distinct ones are compared and sorted as Python strings.
    """
    if all(column.dtype == object for column in columns):
        part = _native.factor_texts([text for column in columns for text in column.tolist()])
        if part is not None:
            texts = np.concatenate(columns)[part[1]]
            return in_text_order(texts, np.split(part[0], np.cumsum([len(column) for column in columns])[:-1]))
    distinct, local = [], []
    for column in columns:
        part = _native.factor_texts(column.tolist()) if column.dtype == object else None
        if column.dtype.kind == "U":
            wide = np.ascontiguousarray(column, dtype=column.dtype.newbyteorder("=") if column.dtype.itemsize else "U1")
            part = _native.factor_rows(wide.view(np.uint32).reshape(len(wide), wide.dtype.itemsize // 4))
        if part is None:
            return factorize(*columns)
        code, first = part
        distinct.append(as_object(column[first].tolist()))
        local.append(code)
    names, places = factorize(*distinct)
    return names, [place[code] for place, code in zip(places, local, strict=True)]


MISSING = ("error", "worst", "skip")
EXTRA = ("error", "skip")


def check_policy(policy: Policy) -> None:
    """Raise where a policy has a name that does not exist."""
    for name, value, allowed in (("missing", policy.missing, MISSING), ("extra", policy.extra, EXTRA)):
        if value not in allowed:
            raise InvalidSetting(f"{name}='{value}' is not a valid policy", remedy=nearest(str(value), allowed))


def join_rows(
    truth: Records, prediction: Records, key: tuple[str, ...], policy: Policy, weight: str = "", worst: bool = True
) -> Pairs:
    """Join by key. Units and rows come out in the order of their ids, whatever order they came in.

    `weight` names the column of the truth that is the weight of a unit, where it has one. `worst` says whether messages
    suggest missing='worst', which some tasks refuse.
    """
    check_policy(policy)
    whole, key = key, _common_key(truth, prediction, key)
    if len(key) == 1 and _same_and_rising(truth[key[0]], prediction[key[0]]):
        return _with_unit_weights(in_order(truth, prediction, truth[key[0]], policy), weight)
    units, (truth_unit, prediction_unit) = codes(truth[key[0]], prediction[key[0]])
    truth_code, prediction_code = truth_unit, prediction_unit
    for name in key[1:]:
        distinct, (t, p) = codes(truth[name], prediction[name])
        truth_code, prediction_code = truth_code * len(distinct) + t, prediction_code * len(distinct) + p

    truth_order = np.argsort(truth_code, kind="stable")
    prediction_order = np.argsort(prediction_code, kind="stable")
    _refuse_duplicates(truth, key, whole, truth_code, truth_order)
    _refuse_duplicates(prediction, key, whole, prediction_code, prediction_order)

    sorted_predictions = prediction_code[prediction_order]
    place = np.searchsorted(sorted_predictions, truth_code[truth_order])
    matched = np.zeros(len(truth_order), dtype=bool)
    inside = place < len(sorted_predictions)
    matched[inside] = sorted_predictions[place[inside]] == truth_code[truth_order][inside]
    prediction_row = np.full(len(truth_order), -1, dtype=np.int64)
    prediction_row[matched] = prediction_order[place[matched]]

    used = np.zeros(len(prediction), dtype=bool)
    used[prediction_row[matched]] = True
    missing, extra = truth_order[~matched], np.flatnonzero(~used)
    choice = "`missing='worst'` or `missing='skip'`" if worst else "`missing='skip'`"
    if len(missing) and policy.missing == "error" and isinstance(prediction, UnfilledRecords):
        raise Unmatched(
            "the cell is empty or nan, so the prediction is missing",
            where=prediction.unfilled,
            remedy=f"Give every row a value, or choose {choice}.",
        )
    if len(missing) and policy.missing == "error":
        raise _one_sided(truth, key, missing, "truth", "prediction", prediction.source, choice)
    if len(extra) and policy.extra == "error":
        raise _one_sided(prediction, key, extra, "predictions", "truth", truth.source, "`extra='skip'`")

    kept = distinct_values(truth_unit)
    renumber = np.full(len(units), -1, dtype=np.int64)
    renumber[kept] = np.arange(len(kept))
    pairs = Pairs(
        truth,
        prediction,
        units[kept],
        renumber[truth_unit[truth_order]],
        truth_order,
        prediction_row,
        np.zeros(len(kept), dtype=bool),
        Coverage(len(truth), len(prediction), int(matched.sum()), len(missing), len(extra), policy.missing),
    )
    return _with_unit_weights(pairs.select(matched) if policy.missing == "skip" else pairs, weight)


def _with_unit_weights(pairs: Pairs, column: str) -> Pairs:
    """Return the pairs with the unit weights that a column of the truth gives."""
    if column not in pairs.truth:
        return pairs
    own = constant_in_unit(pairs.truth, column, pairs.owner, pairs.truth_row, len(pairs.units))
    return replace(pairs, weight=np.nan_to_num(own))


def in_order(truth: Records, prediction: Records, units: Array, policy: Policy) -> Pairs:
    """Row by row: for sides that hold the same ids in the same order, each a unit of its own."""
    rows = np.arange(len(truth))
    coverage = Coverage(len(truth), len(prediction), len(truth), 0, 0, policy.missing)
    return Pairs(truth, prediction, units, rows, rows, rows, np.zeros(len(truth), dtype=bool), coverage)


def _same_and_rising(truth: Array, prediction: Array) -> bool:
    """Whether both sides hold the same integer ids in rising order, so that nothing need be sorted."""
    if truth.dtype.kind not in "iu" or prediction.dtype.kind not in "iu" or len(truth) != len(prediction):
        return False
    return bool((truth[1:] > truth[:-1]).all() and (truth == prediction).all())


def _common_key(truth: Records, prediction: Records, key: tuple[str, ...]) -> tuple[str, ...]:
    common = tuple(name for name in key if name in truth and name in prediction)
    for name in key:
        if (name in truth) != (name in prediction):
            has, lacks = (truth, prediction) if name in truth else (prediction, truth)
            raise MissingColumn(
                f"column '{name}' is missing, which {has.source} has",
                where=lacks.source,
                remedy=f"Both sides need '{name}' to be joined by it, or neither may have it.",
            )
    return common


def _refuse_duplicates(
    records: Records, key: tuple[str, ...], whole: tuple[str, ...], code: Array, order: Array
) -> None:
    ordered = code[order]
    repeated = np.flatnonzero(ordered[1:] == ordered[:-1])
    if not len(repeated):
        return
    second = int(order[repeated + 1].min())
    first = int(np.flatnonzero(code == code[second])[0])
    raise DuplicateKey(
        f"{_key_text(records, key, second)} appears twice, first at {records.place(first)}"
        + (f" ({len(repeated)} rows repeat a key)" if len(repeated) > 1 else ""),
        where=records.place(second),
        remedy=" ".join(["Each may appear only once.", *missing_key_hint(records, key, whole)]),
    )


def _one_sided(
    records: Records,
    key: tuple[str, ...],
    rows: Array,
    here: str,
    there: str,
    other: str,
    choice: str,
) -> InputError:
    row = int(rows.min())
    share = f"{share_text(len(rows), len(records), 'row', 'have', f'of the {here}')} no {there}"
    return Unmatched(
        f"{share} in {other}; the first is {_key_text(records, key, row)}",
        where=records.place(row),
        remedy=f"Add them, or choose {choice}.",
    )


def _key_text(records: Records, key: tuple[str, ...], row: int) -> str:
    return ", ".join(f"{records.names.get(name, name)} '{records[name][row]}'" for name in key)
