"""What a state may hold. Its checksum tells damage, not intent: contents are checked as any other input is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.core.counts import count_text
from steelyard.core.errors import InvalidResult
from steelyard.core.numerals import is_whole
from steelyard.core.rankings import Rankings
from steelyard.core.records import Array, BoxRecords, Column, Records, Schema
from steelyard.io.container import unfit


def check_records(records: Records, schema: Schema, where: str) -> None:
    """Columns of one side: as long as each other, of the kinds and within the bounds that the schema says."""
    if isinstance(records, Rankings):
        _check_rankings(records, where)
    else:
        rows = len(records)
        for name in (*schema.key[:1], *(column.name for column in schema.columns if column.required)):
            if name not in records:
                raise unfit(where, f"the state lacks the column '{name}'")
        for name, values in records.columns.items():
            _check_length(values, rows, name, where)
            declared = schema.column(name) or schema.column(name.partition(":")[0])
            if declared is not None:
                type_ = declared.many if ":" in name and declared.many else declared.type
                _check_column(values, declared, type_, name, where)
    for name, values in records.other.items():
        _check_length(values, len(records), name, where)
    if not isinstance(records.names, Mapping) or not all(type(name) is str for name in records.names.values()):
        raise unfit(where, "the column names are not strings")
    if isinstance(records, BoxRecords):
        _check_listed(records, where)


def check_sorted(ids: Array, name: str, where: str) -> None:
    """Ids of units: whole numbers or texts, each once, in their order."""
    _check_ids(ids, name, where)
    if len(ids) and not bool((ids[1:] > ids[:-1]).all()):
        raise unfit(where, f"'{name}' are not in order, or not each once")


def check_numbers(values: Array, shape: Sequence[int | None], kinds: str, name: str, where: str) -> None:
    """An array of numbers: its shape (None: any), and what numpy calls its kind."""
    fits = values.ndim == len(shape) and all(
        want is None or want == size for want, size in zip(shape, values.shape, strict=True)
    )
    if not fits or values.dtype.kind not in kinds:
        raise unfit(where, f"'{name}' is of type {values.dtype} and of shape {values.shape}")


def check_weights(values: Array, units: int, name: str, where: str) -> None:
    """Weights or copies of units: finite, and not negative."""
    check_numbers(values, (units,), "iuf", name, where)
    if not np.isfinite(values).all() or (values < 0).any():
        raise unfit(where, f"a value of '{name}' is negative or not finite")


def check_counts(values: Array, shape: Sequence[int | None], name: str, where: str) -> None:
    """Counts: whole numbers, not negative."""
    check_numbers(values, shape, "iu", name, where)
    if values.size and int(values.min()) < 0:
        raise unfit(where, f"a count of '{name}' is negative")


def check_answers(arrays: Mapping[str, Array], asked: Mapping[str, int | None], where: str) -> None:
    """Answers, named by what was asked, the class and their place; `asked` says how many rows each has (None: any)."""
    for name, values in arrays.items():
        question, _, place = name.rpartition(".")
        if question not in asked or not is_whole(place):
            raise unfit(where, f"nobody asked for '{name}'")
        if values.dtype.kind not in "iufb" or not 1 <= values.ndim <= 4:
            raise unfit(where, f"'{name}' is of type {values.dtype} and of shape {values.shape}")
        first = arrays.get(f"{question}.0")
        rows = asked[question]
        if first is None or (place != "0" and f"{question}.{int(place) - 1}" not in arrays):
            raise unfit(where, f"'{name}' stands alone")
        if rows not in (None, 1) and len(values) != rows:
            raise unfit(where, f"'{name}' has {count_text(len(values), 'row')}, and {rows} draws were asked for")


def check_range(values: Array, limit: int, name: str, where: str) -> None:
    """Places in something of so many: whole numbers from 0 up."""
    check_numbers(values, (None,), "iu", name, where)
    if len(values) and (int(values.min()) < 0 or int(values.max()) >= limit):
        raise unfit(where, f"a value of '{name}' is not from 0 to {limit - 1}")


def check_steps(values: Array, last: int, name: str, where: str) -> None:
    """Where parts begin, and where the last ends: from 0 up to the last, never down."""
    check_numbers(values, (None,), "iu", name, where)
    steps = values.astype(np.int64)
    if not len(steps) or steps[0] != 0 or int(steps[-1]) != last or (np.diff(steps) < 0).any():
        raise unfit(where, f"'{name}' do not lead from 0 to {last}")


def _check_length(values: Array, rows: int, name: str, where: str) -> None:
    if len(values) != rows:
        raise unfit(where, f"column '{name}' has {count_text(len(values), 'row')}, and others have {rows}")


def _check_ids(values: Array, name: str, where: str) -> None:
    whole = values.ndim == 1 and values.dtype.kind in "iu"
    texts = values.ndim == 1 and values.dtype == object and all(type(value) is str for value in values.tolist())
    if not whole and not texts and len(values):
        raise unfit(where, f"'{name}' are neither whole numbers nor texts")


def _check_column(values: Array, column: Column, type_: str, name: str, where: str) -> None:
    if type_ in ("number", "integer"):
        _check_values(values, column, name, where)
    elif type_ in ("id", "label"):
        _check_ids(values, name, where)
    elif type_ == "flag":
        check_numbers(values, (None,), "b", name, where)
    elif type_ == "numbers":
        check_numbers(values, (None, None), "iuf", name, where)
        if not np.isfinite(values).all():
            raise unfit(where, f"a number of '{name}' is not finite")
    elif not all(_FITS[type_](value) for value in values.tolist()):
        raise unfit(where, f"a value of '{name}' is not of type '{type_}'")
    elif type_ == "mask":
        try:
            _native.mask_box(values.tolist())
        except ValueError as error:
            raise unfit(where, f"column '{name}': {error}") from None


_FITS: dict[str, Any] = {
    "text": lambda value: type(value) is str,
    "labels": lambda value: isinstance(value, tuple) and all(type(part) is str for part in value),
    "mask": lambda value: type(value) is bytes,
    "map": lambda value: type(value) in (bytes, str),
    "volume": lambda value: type(value) in (bytes, str),
    "field": lambda value: type(value) in (bytes, str),
    "picture": lambda value: type(value) in (bytes, str),
    "points": lambda value: (
        value is None or (isinstance(value, np.ndarray) and value.shape[1:] == (2,) and bool(np.isfinite(value).all()))
    ),
}


def _check_values(values: Array, column: Column, name: str, where: str) -> None:
    check_numbers(values, (None,), "iufb", name, where)
    numbers = values.astype(np.float64)
    wrong = ~np.isfinite(numbers)
    if column.empty:
        wrong &= ~np.isnan(numbers)
    if column.minimum is not None:
        wrong |= numbers < column.minimum
    if column.maximum is not None:
        wrong |= numbers > column.maximum
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidResult(
            f"{numbers[row]:g} is not allowed here", where=f"{where}, row {row}, column '{name}'",
            remedy="No state that Steelyard wrote holds it: make it again.",
        )  # fmt: skip


def _check_listed(records: BoxRecords, where: str) -> None:
    for name in ("images", "labels"):
        listed = getattr(records, name)
        if listed is not None:
            _check_ids(listed, name, where)
    names = records.label_names
    expected = 0 if records.labels is None else len(records.labels)
    if not isinstance(names, tuple) or len(names) not in (0, expected) or not all(type(name) is str for name in names):
        raise unfit(where, "the names of the classes do not fit the classes")
    if type(records.zero_id) is not int or not -1 <= records.zero_id < max(1, len(records)):
        raise unfit(where, f"no row has the number {records.zero_id}")


def _check_rankings(records: Rankings, where: str) -> None:
    rows = len(records.values)
    check_numbers(records.values, (None,), "iuf", "values", where)
    bad = np.flatnonzero(~np.isfinite(records.values))
    if len(bad):
        raise unfit(where, f"the score in row {bad[0]} is {records.values[bad[0]]:g}")
    if len(records.documents) != rows:
        raise unfit(where, f"{count_text(len(records.documents), 'document', 'have')} {rows} scores")
    _check_ids(records.queries, "queries", where)
    names = records.queries.tolist()
    if len(set(names)) < len(names):
        raise unfit(where, "a query stands there twice")
    check_steps(records.starts, rows, "starts", where)
    if len(records.starts) != len(names) + 1:
        raise unfit(where, f"{count_text(len(names), 'query', 'have')} {len(records.starts) - 1} parts")
    if records.order is not None:
        check_range(records.order, rows, "order", where)
        if len(records.order) != rows or len(np.unique(records.order)) != rows:
            raise unfit(where, "'order' is not a permutation of the rows")
    for name, values in records.columns.items():
        _check_length(values, rows, name, where)
