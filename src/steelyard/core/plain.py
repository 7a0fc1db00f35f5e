"""Sides that are bare arrays: lists, NumPy, Series, tensors. A task that can mean only one thing by them takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.counts import count_text
from steelyard.core.errors import Conflict, InvalidNumber, InvalidValue, MissingKey, ShapeMismatch
from steelyard.core.records import as_object

Array = NDArray[Any]
_OF_FRAMES = ("__dataframe__", "get_column", "iterrows")  # what data frames of several libraries have
PlainPair = tuple[
    Any, Any, tuple[str, ...]
]  # both sides as columns, and what a reader must know of how they were taken


def to_numpy(values: Any) -> Any:
    """A tensor as an array, wherever it lives and whether it is trained; anything else as it is.

    NumPy has no bfloat16 and no numbers of 8 bits: they become single precision, which holds each of them.
    """
    if not (hasattr(values, "detach") and hasattr(values, "cpu")):
        return values
    values = values.detach().cpu()
    if str(values.dtype).startswith(("torch.bfloat16", "torch.float8")):
        values = values.float()
    return values.numpy()


def is_plain(data: Any) -> bool:
    """Whether data is values without names: a list, an array, a tensor, a Series."""
    if isinstance(data, list | tuple) or hasattr(data, "detach"):
        return True
    return hasattr(data, "__array__") and not any(hasattr(data, name) for name in ("column_names", *_OF_FRAMES))


def plain_pair(truth: Any, predictions: Any) -> tuple[Array, Array] | None:
    """Both sides as arrays of as many rows; None where neither is plain."""
    plain = [is_plain(truth), is_plain(predictions)]
    if not any(plain) or predictions is None:
        return None
    if not all(plain):
        bare, other = ("truth", "predictions") if plain[0] else ("predictions", "truth")
        form = type(truth if plain[0] else predictions).__name__
        raise MissingKey(
            f"values of type {form} have no column names, and {other} have",
            where=bare,
            remedy="Give both sides in the same form.",
        )
    a, b = values_of(truth, "truth"), values_of(predictions, "predictions")
    if len(a) != len(b):
        raise ShapeMismatch(
            f"truth has {count_text(len(a), 'value')} and predictions have {len(b):,}",
            remedy="Arrays without ids are joined by position: give one prediction per row of truth.",
        )
    _refuse_other_order(truth, predictions)
    return a, b


def _refuse_other_order(truth: Any, predictions: Any) -> None:
    """Raise where both are Series of pandas with the same index in another order: which rows belong together?"""
    if not (hasattr(truth, "iloc") and hasattr(predictions, "iloc")):
        return
    first, second = truth.index, predictions.index
    if not first.equals(second) and not len(first.symmetric_difference(second)):
        raise Conflict(
            "truth and predictions have the same index in another order",
            remedy="Series are joined by position: give `predictions.loc[truth.index]`, or drop the index with "
            "`reset_index(drop=True)`.",
        )


def values_of(data: Any, source: str) -> Array:
    """Values as an array of one or two dimensions; a second axis of 1 is dropped."""
    data = to_numpy(data)
    if hasattr(data, "__array__"):
        array = np.asarray(data)
    elif any(isinstance(value, dict) for value in data):
        raise InvalidValue("list of dicts is not data that can be read", where=source, remedy="Give a dict of columns.")
    elif data and all(isinstance(value, list | tuple) for value in data):
        array = _matrix(data, source)
    else:
        numbers = set(map(type, data)) <= {int, float}
        array = np.asarray(data) if data and numbers else as_object(list(data))
    if array.ndim not in (1, 2):
        raise ShapeMismatch(f"the array has {array.ndim} dimensions", where=source, remedy="Give one value per row.")
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def _matrix(rows: Any, source: str) -> Array:
    if len({len(row) for row in rows}) > 1:
        raise ShapeMismatch("rows have different lengths", where=source, remedy="Give one value per class in each row.")
    try:
        return np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidNumber(
            "a row holds values that are not numbers", where=source, remedy="Give scores as numbers."
        ) from None
