"""Labels of two sides that are written in two ways: True beside 1, and scores where labels are expected."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steelyard.core.errors import InvalidValue
from steelyard.core.pairs import Array
from steelyard.core.records import Records

WORDS = {"true": 1, "false": 0}


def alike(truth: Records, prediction: Records) -> tuple[Records, Records]:
    """Both sides with labels that can be compared.

    Where one side has the words True and False and the other has integers, the words are read as 1 and 0. Fractions
    where the truth has none are scores, and refused.
    """
    if "label" not in truth or "label" not in prediction:
        return truth, prediction
    mine, theirs = truth["label"], prediction["label"]
    if mine.dtype.kind == "i" and _words(theirs):
        prediction = _number_labels(prediction)
    elif theirs.dtype.kind == "i" and _words(mine):
        truth = _number_labels(truth)
    elif theirs.dtype.kind in "OU":
        _refuse_scores(mine, prediction)
    return truth, prediction


def _words(column: Array) -> bool:
    """Whether labels are the words True and False; most columns show it in their first row."""
    if column.dtype.kind not in "OU" or not len(column) or str(column[0]).strip().lower() not in WORDS:
        return False
    return {str(value).strip().lower() for value in column.tolist()} <= WORDS.keys()


def _number_labels(records: Records) -> Records:
    numbers = np.array([WORDS[str(value).strip().lower()] for value in records["label"].tolist()], dtype=np.int64)
    return replace(records, columns={**records.columns, "label": numbers})


def _fraction(value: object) -> bool:
    try:
        number = float(str(value))
    except ValueError:
        return False
    return number != int(number) if np.isfinite(number) else False


def _refuse_scores(truth: Array, prediction: Records) -> None:
    labels = prediction["label"]
    row = next((row for row in range(min(3, len(labels))) if _fraction(labels[row])), None)
    if row is None:
        return
    labels_seen = set(map(str, np.unique(truth).tolist() if truth.dtype.kind == "i" else truth.tolist()))
    if not any(map(_fraction, labels_seen)):
        raise InvalidValue(
            f"'{labels[row]}' is not a label: it looks like a score",
            where=prediction.where(row, "label"),
            remedy="Scores go in a column 'score', probabilities in 'probability'.",
        )
