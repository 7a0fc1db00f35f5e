"""Class labels and scores of rows as numbers: places along the classes, indicators, counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.align.join import codes
from steelyard.core.counts import count_text
from steelyard.core.errors import (
    Conflict,
    EmptyCell,
    EmptyInput,
    InvalidValue,
    MissingColumn,
    UnknownName,
    first_few,
    nearest,
)
from steelyard.core.frozen import Frozen
from steelyard.core.pairs import Array
from steelyard.core.records import Records

SUM_TOLERANCE = 1e-3  # how far the probabilities of a row may be from adding up to 1
MOST_IN_A_TABLE = 4096  # classes x classes that are counted in one table


class Scored(Frozen):
    """Scores or probabilities: one column for each of `classes` (places in the list of classes)."""

    classes: tuple[int, ...]
    values: Array  # (rows, len(classes))


class Counted(Frozen):
    """Classes, and how many rows there are of each: truth by prediction."""

    classes: tuple[str, ...]
    matrix: Array

    def rows(self, side: int) -> dict[str, Array]:
        """The labels of one side, row by row, by cells of the matrix; in as few bytes as hold them."""
        numbers = np.array([int(name) for name in self.classes])
        short = numbers.astype(np.min_scalar_type(-1 - int(numbers.max(initial=0))))
        cells = np.flatnonzero(self.matrix)
        place = np.divmod(cells, len(self.classes))[side]
        return {"label": np.repeat(short[place], self.matrix.ravel()[cells])}


class Coded(Frozen):
    """Classes, and each side's labels: codes (rows,), or 0 and 1 (rows, classes) where a row has several."""

    classes: tuple[str, ...]
    truth: Array
    predicted: Array | None


def class_columns(records: Records, name: str) -> list[str]:
    """Classes that have a column of their own: `name:class`."""
    return [column.partition(":")[2] for column in records.columns if column.startswith(f"{name}:")]


def order_classes(names: Sequence[str]) -> tuple[str, ...]:
    """Classes in their order: as integers where all are integers, else as texts."""
    try:
        whole = all(str(int(name)) == name for name in names)
    except ValueError:
        whole = False
    return tuple(sorted(names, key=int) if whole else sorted(names))


def declared_by_columns(pairs: Any) -> tuple[str, ...] | None:
    """The classes that columns of one per class name, which then are all there are."""
    classes: list[str] | None = None
    sides = [(pairs.truth, "label"), *((pairs.prediction, name) for name in ("label", "score", "probability"))]
    for side, name in sides:
        columns = class_columns(side, name)
        if len(columns) < 2 and not (columns and pairs.several):
            continue
        if classes is not None and set(classes) != set(columns):
            odd = sorted(set(classes) ^ set(columns))
            raise MissingColumn(
                f"columns of '{name}' and others are not of the same classes: {first_few(odd)} is missing in one",
                where=side.source,
                remedy="Give one column for each class wherever there is one per class.",
            )
        classes = columns
    return None if classes is None else order_classes(classes)


def code_single(pairs: Any) -> Coded:
    """Codes of one label per row; a missing prediction is -1."""
    hard = pairs.prediction.find("label")
    columns = [pairs.truth["label"]] + ([] if hard is None else [hard])
    labels, side_codes = codes(*columns)
    sides = [pairs.truth, pairs.prediction]
    names = [str(name).strip() for name in labels.tolist()]
    for side, code in zip(sides, side_codes, strict=False):
        _refuse_empty(side, names, code)
    classes = pairs.declared or declared_by_columns(pairs) or _all_classes(pairs, names)
    place = {name: i for i, name in enumerate(classes)}
    recode = np.array([place.get(name, -1) for name in names], dtype=np.int64)
    for side, code in zip(sides, side_codes, strict=False):
        _refuse_undeclared(side, names, recode, code, classes)
    straight = len(recode) == len(classes) and (recode == np.arange(len(recode))).all()
    coded = [code if straight else recode[code] for code in side_codes]
    truth = coded[0] if pairs.truth_row is None else coded[0][pairs.rows]
    predicted = None
    if hard is not None and pairs.prediction_row is None:
        predicted = coded[1]
    elif hard is not None:
        rows = pairs.prediction_rows
        predicted = np.where(rows >= 0, coded[1][rows] if len(coded[1]) else -1, -1)
    return Coded(classes, truth, predicted)


def _all_classes(pairs: Any, names: Sequence[str]) -> tuple[str, ...]:
    """The labels that occur; with a column for one class of two, that one and 0 and 1 for labels that are 0 or 1."""
    classes = set(names)
    for kind in ("score", "probability"):
        if kind in pairs.prediction and classes <= {"0", "1"}:
            classes |= {"0", "1"}
        classes |= set(class_columns(pairs.prediction, kind))
    return order_classes(list(classes))


def _refuse_empty(side: Records, names: Sequence[str], code: Array) -> None:
    for empty in (i for i, name in enumerate(names) if not name):
        rows = np.flatnonzero(code == empty)
        if len(rows):
            raise EmptyCell(
                "the label is empty", where=side.where(int(rows[0]), "label"), remedy="Give every row a label."
            )


def _refuse_undeclared(
    side: Records, names: Sequence[str], recode: Array, code: Array, classes: tuple[str, ...]
) -> None:
    if (recode >= 0).all():
        return
    wrong = np.flatnonzero(recode[code] < 0)
    if len(wrong):
        label = names[int(code[wrong[0]])]
        unnamed = classes == tuple(map(str, range(len(classes)))) and not label.isdecimal()
        raise UnknownName(
            f"label '{label}' was never declared; the classes are {first_few(classes, 5)}",
            where=side.where(int(wrong[0]), "label"),
            remedy="Name the columns: declare the classes in their order by the option `classes`."
            if unnamed
            else nearest(label, classes),
        )


def code_several(pairs: Any) -> Coded:
    """0 and 1 by row and class, where a row may have several labels."""
    classes = pairs.declared or declared_by_columns(pairs)
    if classes is None:
        sides = [side["labels"] for side in (pairs.truth, pairs.prediction) if "labels" in side]
        classes = order_classes(list({name for side in sides for labels in side.tolist() for name in labels}))
    truth = _indicators(pairs.truth, classes)
    predicted = _indicators(pairs.prediction, classes)
    if truth is None:  # cannot be: the truth was checked to hold labels
        raise EmptyInput("there are no labels", where=pairs.truth.source)
    if predicted is not None:
        rows = pairs.prediction_rows
        missing = rows < 0
        taken = predicted[rows] if len(predicted) else np.zeros((len(rows), len(classes)), np.uint8)
        predicted = np.where(missing[:, np.newaxis], 1 - truth[pairs.rows], taken).astype(np.uint8)
    return Coded(classes, truth[pairs.rows], predicted)


def _indicators(side: Records, classes: tuple[str, ...]) -> Array | None:
    if class_columns(side, "label"):
        return np.stack([side[f"label:{name}"] for name in classes], axis=1).astype(np.uint8)
    if "labels" not in side:
        return None
    place = {name: i for i, name in enumerate(classes)}
    matrix = np.zeros((len(side), len(classes)), dtype=np.uint8)
    for row, labels in enumerate(side["labels"].tolist()):
        for name in labels:
            if name not in place:
                raise UnknownName(
                    f"label '{name}' was never declared; the classes are {first_few(classes, 5)}",
                    where=side.where(row, "labels"),
                    remedy=nearest(name, classes),
                )
            matrix[row, place[name]] = 1
    return matrix


def scored_rows(pairs: Any, kind: str) -> Scored | None:
    """Scores or probabilities in the order of the classes; a missing prediction gets the worst there can be."""
    side, classes = pairs.prediction, pairs.classes
    columns = class_columns(side, kind)
    if kind in side and columns:
        raise Conflict(
            f"there are both '{kind}' and '{kind}:{columns[0]}'", where=side.source, remedy="Keep one of them."
        )
    if kind in side:
        if pairs.several or len(classes) > 2:
            remedy = f"Give a column for each class: {kind}:CLASS."
            if pairs.truth.find("ood") is not None:
                remedy += " If it tells rows out of distribution, set the option `higher=id` or `higher=ood`."
            raise MissingColumn(
                f"one column '{kind}' is for two classes, and there are {len(classes)}: {first_few(classes, 5)}",
                where=side.source,
                remedy=remedy,
            )
        places: tuple[int, ...] = (len(classes) - 1,)
        values = side[kind][:, np.newaxis]
    elif columns:
        if len(columns) > 1 or pairs.several:
            odd = sorted({*classes} ^ {*columns})
            if odd:
                column = f"'{kind}:{odd[0]}'"
                raise MissingColumn(
                    f"there is no column {column}" if odd[0] in classes else f"column {column} is of no class",
                    where=side.source,
                    remedy="Every class needs one, and only classes.",
                )
            columns = list(classes)
        elif len(classes) > 2:
            raise MissingColumn(
                f"there is one column of {kind} and {count_text(len(classes), 'class')}: {first_few(classes, 5)}",
                where=side.source,
                remedy=f"Give a column for each class: {kind}:CLASS.",
            )
        places = tuple(classes.index(name) for name in columns)
        values = np.stack([side[f"{kind}:{name}"] for name in columns], axis=1)
    else:
        return None
    if kind == "probability" and len(places) > 1 and not pairs.several:
        _refuse_sums(side, values)
    if pairs.prediction_row is not None:
        rows = pairs.prediction_rows
        values = values[rows] if len(values) else np.zeros((len(rows), len(places)))
        values = _worst(values, rows < 0, pairs, places, kind)
    return Scored(places, values)


def _refuse_sums(side: Records, values: Array) -> None:
    sums = values.sum(axis=1)
    wrong = np.flatnonzero(np.abs(sums - 1) > SUM_TOLERANCE)
    if len(wrong):
        row = int(wrong[0])
        raise InvalidValue(
            f"the probabilities add up to {sums[row]:.6g}, not to 1 (within {SUM_TOLERANCE:g})"
            + (f"; so do {len(wrong) - 1} other rows'" if len(wrong) > 1 else ""),
            where=side.place(row),
            remedy="Normalise them, or name the columns score:CLASS.",
        )


def _worst(values: Array, missing: Array, pairs: Any, places: tuple[int, ...], kind: str) -> Array:
    """Where a prediction is missing: the lowest value for the true classes, the highest for all others."""
    if not missing.any():
        return values
    truth = pairs.coded_labels.truth[missing]
    positive = truth[:, list(places)] > 0 if pairs.several else truth[:, np.newaxis] == np.array(places)
    low, high = (0.0, 1.0) if kind == "probability" else (-np.inf, np.inf)
    values = values.copy()
    values[missing] = np.where(positive, low, high)
    return values


def count_rows(pairs: Any) -> Counted | None:
    """Rows by their two labels; None where one has no prediction, or there are too many classes for a table."""
    if pairs.truth_row is None and pairs.declared is None:
        truth, predicted = pairs.truth["label"], pairs.prediction["label"]
        if truth.dtype == np.int64 and predicted.dtype == np.int64:
            counted = count_integers(np.ascontiguousarray(truth), np.ascontiguousarray(predicted))
            if counted is not None:
                return counted
    coded = pairs.coded_labels
    if coded.predicted is None or (coded.predicted < 0).any():
        return None
    table = count_codes(coded.truth, coded.predicted, len(coded.classes))
    return None if table is None else Counted(coded.classes, table)


def count_codes(truth: Array, predicted: Array, classes: int) -> Array | None:
    """The confusion matrix of codes; None where there are too many classes for a table."""
    table: Array | None = _native.confusion(truth, predicted, 0, classes) if classes <= MOST_IN_A_TABLE else None
    return table


def count_integers(truth: Array, predicted: Array) -> Counted | None:
    """Classes and the confusion matrix straight from integer labels: nothing as long as the labels is made.

    The range is guessed from the first rows, and looked for where the guess fails. None where the labels are spread
    too far for a table.
    """
    table = None
    for rows in (1 << 16, len(truth)):
        ends = [_native.extent(side[:rows]) for side in (truth, predicted)]
        low, high = min(a for a, _ in ends), max(b for _, b in ends)
        if high - low >= MOST_IN_A_TABLE:
            return None
        table = _native.confusion(truth, predicted, low, high - low + 1)
        if table is not None:
            break
    if table is None:
        return None
    present = np.flatnonzero(table.sum(axis=0) + table.sum(axis=1))
    if len(present) < len(table):
        table = table[np.ix_(present, present)]
    return Counted(tuple(str(low + int(i)) for i in present), table)


class CountedRecords(Records):
    """Labels of which the pairs were counted where they were made: rows stand in the order of the counts."""

    aggregated: Counted | None = None
