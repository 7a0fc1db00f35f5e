"""Files of `labels`: tables as those of every task, lists of pairs of LFW and IJB, and vectors.

LFW's `pairs.txt` has the number of folds and of pairs of a kind in line 1, then `name number number` for two images of
one person and `name number name number` for those of two. A list of IJB's templates has `template template 0-or-1` in
each line.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np

from steelyard.core.errors import EmptyInput, InvalidFile
from steelyard.core.options import Options
from steelyard.core.pairs import Array
from steelyard.core.records import Records, as_object
from steelyard.core.task import Task
from steelyard.io import rows
from steelyard.io.frames import from_memory
from steelyard.io.once import of_truth
from steelyard.io.read import read_table, to_records
from steelyard.io.table import Table
from steelyard.io.text import open_text
from steelyard.tasks.labels.preparation import PEOPLE, PairRecords
from steelyard.tasks.labels.vectors import (
    Vectors,
    all_pairs,
    is_arrays,
    is_vectors,
    read_npz,
    read_vectors,
    require_listed,
    scores_of_list,
)


def read_sides(
    task: Task, truth: Any, predictions: Any, columns: Mapping[str, str], options: Options | None = None
) -> tuple[Records, Records]:
    """Truth and predictions: tables, or pairs and the vectors of their images."""
    options = options or Options(task.options)
    truth = _as_table(truth)
    if not is_vectors(predictions):
        predictions = _table_of_arrays(str(predictions)) if is_arrays(predictions) else predictions
        require_listed(options.of("pairing"))
        true, predicted = rows.read_sides(task, truth, predictions, columns)
        return _with_people(truth, true), predicted
    vectors = read_vectors(predictions)
    true = of_truth(to_records, of_truth(read_table, truth, "truth"), task.truth, columns, "truth")
    if not len(true):
        raise EmptyInput("there are no rows", where=true.source, remedy="The truth needs at least one.")
    if options.of("pairing") == "all":
        return all_pairs(true, vectors, options.of("distance"))
    if all(true.find(name) is not None for name in PEOPLE) and vectors.names is not None:
        vectors = _by_stem(true, vectors)
    true = _with_people(truth, true)
    return true, scores_of_list(true, vectors, options.of("distance"))


def _with_people(truth: Any, true: Records) -> Records:
    """Records of LFW's list, whose people are known; others as they are."""
    if not isinstance(truth, Table) or not all(name in truth.columns for name in (*PEOPLE, "same")):
        return true
    return PairRecords(true.source, true.columns, true.other, true.place, true.names)


def read_side(task: Task, data: Any, columns: Mapping[str, str], side: str) -> Records:
    """One side alone."""
    if side == "truth":
        data = _as_table(data)
    elif is_arrays(data) and not is_vectors(data):
        data = _table_of_arrays(str(data))
    return rows.read_side(task, data, columns, side)


def _as_table(data: Any) -> Any:
    """A list of pairs or arrays as a table; anything else as it is."""
    if is_arrays(data):
        return of_truth(_table_of_arrays, str(data))
    if isinstance(data, str | PathLike) and str(data).lower().endswith(".txt"):
        return of_truth(read_pairs, str(data))
    return data


def _table_of_arrays(path: str) -> Table:
    return from_memory(read_npz(path), path)


def read_pairs(path: str) -> Table:
    """A list of pairs: LFW's `pairs.txt`, or pairs of IJB's templates."""
    from pathlib import Path  # data in memory need none, and it is slow to import

    with open_text(Path(path), path) as file:
        lines = [(number, line.split()) for number, line in enumerate(file, 1) if line.strip()]
    if not lines:
        raise EmptyInput("the file is empty", where=path, remedy="It needs a pair per line.")
    if len(lines[0][1]) < 3:
        return _lfw(path, lines)
    numbers = np.array([number for number, _ in lines])
    for number, fields in lines:
        if len(fields) != 3 or fields[2] not in ("0", "1"):
            raise InvalidFile(
                f"'{' '.join(fields)[:60]}' is not a pair of templates",
                where=f"{path}, line {number}",
                remedy="Each line needs: template template 0-or-1.",
            )
    first, second, same = (as_object([fields[k] for _, fields in lines]) for k in range(3))
    return Table(path, {"template_a": first, "template_b": second, "same": same}, numbers)


def _lfw(path: str, lines: list[tuple[int, list[str]]]) -> Table:
    """Pairs with the people and images of both sides, and their folds where the first line says how many."""
    header = lines[0][1]
    if not all(field.isdigit() for field in header):
        raise InvalidFile(
            f"'{' '.join(header)[:60]}' is neither a pair nor the first line of LFW's pairs",
            where=f"{path}, line {lines[0][0]}",
            remedy="Line 1 is the number of folds and the number of pairs of a kind in each: 10 300.",
        )
    columns: dict[str, list[Any]] = {name: [] for name in ("person_a", "person_b", "a", "b", "same")}
    for number, fields in lines[1:]:
        one = len(fields) == 3
        names = (fields[0], fields[0]) if one else (fields[0], fields[2] if len(fields) > 2 else "")
        images = fields[1:] if one else fields[1::2]
        if len(fields) not in (3, 4) or not all(image.isdigit() for image in images):
            raise InvalidFile(
                f"'{' '.join(fields)[:60]}' is not a pair",
                where=f"{path}, line {number}",
                remedy="Write: name number number, or name number name number.",
            )
        values = (
            *names,
            *(f"{name}_{int(image):04}" for name, image in zip(names, images, strict=True)),
            str(int(one)),
        )
        for name, value in zip(columns, values, strict=True):
            columns[name].append(value)
    table: dict[str, Array] = {name: as_object(values) for name, values in columns.items()}
    many = len(lines) - 1
    if len(header) == 2:
        folds, size = (int(field) for field in header)
        if many != 2 * folds * size:
            raise InvalidFile(
                f"line 1 says {folds} folds of {size} pairs of each kind, and there are {many} pairs",
                where=path,
                remedy="Is the file complete?",
            )
        table["fold"] = np.arange(many) // (2 * size)
    return Table(path, table, np.array([number for number, _ in lines[1:]]))


def _by_stem(truth: Records, vectors: Vectors) -> Vectors:
    """Vectors by the names of their files without folder and ending, where the truth does not have whole names."""
    from pathlib import Path

    first = truth.find("a")
    if vectors.names is None or first is None:
        return vectors
    names = vectors.names.tolist()
    stems = [Path(name).stem for name in names]
    if set(map(str, first.tolist())) & set(names) or len(set(stems)) < len(stems):
        return vectors
    return Vectors(vectors.source, vectors.values, vectors.key, as_object(stems))
