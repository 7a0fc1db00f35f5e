"""Embeddings and their labels, from a dict of arrays or an .npz file."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.embeddings import DeviceEmbeddings, Embeddings
from steelyard.core.errors import Incompatible, InvalidNumber, InvalidValue, ShapeMismatch, UnknownName, nearest
from steelyard.core.plain import to_numpy
from steelyard.core.records import Array
from steelyard.io.read import as_ids
from steelyard.io.table import Table
from steelyard.maps.arrays import array_names, numpy_file

LARGEST = 1e100
VECTORS = ("query", "gallery")
TEXTS = ("query_label", "gallery_label", "query_id", "gallery_id")


def is_embeddings(data: Any) -> bool:
    """Whether a mapping holds vectors, or labels of them, rather than rows of a list."""
    if not isinstance(data, Mapping):
        return False
    if "query_label" in data:
        return True
    if "query" not in data:
        return False
    queries = data["query"]
    if hasattr(queries, "ndim"):
        return bool(queries.ndim == 2)
    try:
        return np.ndim(queries) == 2
    except ValueError:  # rows of several lengths
        return False


def read_npz(path: Path, source: str) -> Embeddings:
    """Read arrays by name from a file that numpy wrote."""
    names = array_names(str(path))
    known = [name for name in names if name in VECTORS + TEXTS]  # another name is refused before it is read
    return to_embeddings(dict.fromkeys(names) | {name: numpy_file(str(path), name) for name in known}, source)


def to_embeddings(data: Mapping[str, Any], source: str) -> Embeddings:
    """Check names, shapes and values. Vectors become double precision; labels and ids stay whole numbers or text.

    Matrices of a GPU stay there as they are, where Triton can search them.
    """
    columns: dict[str, Array] = {}
    for name in map(str, data):
        if name not in VECTORS + TEXTS:
            raise UnknownName(
                f"there is no array '{name}' in embeddings", where=source, remedy=nearest(name, VECTORS + TEXTS)
            )
    stay = _stay([data[name] for name in VECTORS if name in data])
    for name in VECTORS:
        if name in data:
            columns[name] = _tensor(data[name], name, source) if stay else _matrix(data[name], name, source)
    for name in TEXTS:
        if name in data:
            values = to_numpy(data[name])
            array = values if isinstance(values, np.ndarray) else np.array(values, dtype=object)
            if array.ndim != 1:
                raise ShapeMismatch(
                    f"array '{name}' has {array.ndim} dimensions", where=source, remedy="Give one value a vector."
                )
            if array.dtype.kind in "US":
                array = array.astype(str).astype(object)
            columns[name] = as_ids(Table(source, {name: array}), name, array)
    if len({columns[name].shape[1] for name in VECTORS if name in columns}) > 1:
        sizes = " and ".join(f"{columns[name].shape[1]} in '{name}'" for name in VECTORS)
        raise Incompatible(f"the vectors differ in length: {sizes}", where=source, remedy="Both come from one model.")
    for part in VECTORS:
        lengths = {name: len(column) for name, column in columns.items() if name.startswith(part)}
        if len(set(lengths.values())) > 1:
            said = ", ".join(f"'{name}' {length}" for name, length in lengths.items())
            raise Incompatible(f"arrays of one part differ in length: {said}", where=source)
    return (DeviceEmbeddings if stay else Embeddings)(source, columns)


def _stay(matrices: list[Any]) -> bool:
    """Whether all matrices are tensors of one GPU that can be searched there."""
    devices = {str(matrix.device) if getattr(matrix, "is_cuda", False) else "" for matrix in matrices}
    return len(devices) == 1 and "" not in devices and find_spec("triton") is not None


def _tensor(values: Any, name: str, source: str) -> Any:
    """A tensor of a GPU, checked there."""
    values = values.detach()
    if values.ndim != 2 or values.shape[1] == 0 or values.is_complex() or "bool" in str(values.dtype):
        _refuse_shape(name, tuple(values.shape), values.dtype, source)
    if not values.is_floating_point():
        values = values.double()
    _refuse_wrong(values.isfinite().all(1).cpu().numpy(), (values.abs().amax(1) <= LARGEST).cpu().numpy(), name, source)
    return values


def _refuse_shape(name: str, shape: tuple[int, ...], dtype: Any, source: str) -> None:
    raise ShapeMismatch(
        f"array '{name}' has shape {shape} and type {dtype}",
        where=source,
        remedy="Vectors are a matrix of numbers, one per row.",
    )


def _matrix(values: Any, name: str, source: str) -> Array:
    array = np.asarray(to_numpy(values))
    if array.ndim != 2 or array.shape[1] == 0 or array.dtype.kind not in "fiu":
        _refuse_shape(name, array.shape, array.dtype, source)
    matrix = np.ascontiguousarray(array, dtype=np.float64)
    finite, near = np.isfinite(matrix), abs(matrix) <= LARGEST
    _refuse_wrong(np.asarray(finite.all(axis=1)), np.asarray(near.all(axis=1)), name, source)
    return matrix


def _refuse_wrong(finite: Array, near: Array, name: str, source: str) -> None:
    """Raise where a vector is not finite, or too large."""
    wrong = np.flatnonzero(~finite)
    if len(wrong):
        raise InvalidNumber(
            f"a vector holds a number that is not finite ({len(wrong)} vectors do)",
            where=f"{source}, array '{name}', row {wrong[0]}",
            remedy="Every number must be finite.",
        )
    far = np.flatnonzero(~near)
    if len(far):
        raise InvalidValue(
            f"a vector holds a number beyond {LARGEST:g} ({len(far)} vectors do)",
            where=f"{source}, array '{name}', row {far[0]}",
            remedy="Its square must be a number too.",
        )
