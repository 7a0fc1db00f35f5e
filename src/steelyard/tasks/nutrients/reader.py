"""Tables of nutrients, and Nutrition5k's files: CSV without a header, with ingredients behind the targets."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.errors import EmptyInput, InvalidFile, InvalidSetting, MissingColumn, nearest
from steelyard.core.opening import is_entry
from steelyard.core.options import Options
from steelyard.core.records import Array, Records, as_object
from steelyard.core.task import Task
from steelyard.io import rows
from steelyard.io.dialect import note
from steelyard.io.once import of_truth
from steelyard.io.read import read_table
from steelyard.io.table import Table
from steelyard.io.text import check_blank, ending, open_text
from steelyard.tasks.nutrients.data import MEAN, OWN, TARGETS, ingredients_of

FIELDS = ("dish", "energy", "mass", "fat", "carbohydrate", "protein")  # the first fields of Nutrition5k's rows
PART = 10_000  # rows that are looked at together
GROUP = 7  # fields of an ingredient: id, name, grams, calories, fat, carbohydrate, protein


def read_sides(
    task: Task, truth: Any, predictions: Any, columns: Mapping[str, str], options: Options | None = None
) -> tuple[Records, Records]:
    """Truth and predictions, each a table or a file of Nutrition5k, or one table with both."""
    options = options or Options(task.options)
    true_table, table = of_truth(_table, truth, options, "truth"), None
    mapping = _own_columns(task, true_table, columns, options, "truth", both=predictions is None)
    if predictions is not None:
        table = _table(predictions, options, "prediction")
        mapping = _own_columns(task, table, mapping, options, "prediction")
    first, second = rows.read_sides(task, true_table, table, mapping)
    if options.of("synonyms"):
        synonyms = _synonyms(options.of("synonyms"))
        first, second = _with_synonyms(first, synonyms), _with_synonyms(second, synonyms)
    for name in first.columns:
        if (name in TARGETS or name.startswith(OWN)) and name not in second:
            shown = name.removeprefix(OWN)
            note(f"{first.source}: '{shown}' is not scored, because the predictions do not have it.")
    return first, second


def read_side(task: Task, data: Any, columns: Mapping[str, str], side: str) -> Records:
    """One side alone."""
    return rows.read_side(task, _table(data, Options(task.options), side), columns, side)


def _own_columns(
    task: Task, table: Table, columns: Mapping[str, str], options: Options, side: str, both: bool = False
) -> dict[str, str]:
    """The mapping of columns, with those that the option `target` names. With `both` the table has both sides."""
    reserved = {"target", MEAN, *task.truth.names} - set(TARGETS)
    mapping = dict(columns)
    for name in options.of("target", side) or {}:
        if name in reserved:
            raise InvalidSetting(f"a target cannot be called '{name}'", remedy="Rename the column.")
        if name in TARGETS:
            continue
        known = {f"{OWN}{name}": mapping.pop(f"{side}.{name}", mapping.get(name, name))}
        if both:
            known[f"predicted_{OWN}{name}"] = f"predicted_{name}"
        for target, source in known.items():
            if source not in table.columns and target in table.columns:
                continue
            if source not in table.columns:
                raise MissingColumn(
                    f"column '{source}' is missing, which the option `target` names",
                    where=table.source,
                    remedy=nearest(source, table.columns),
                )
            mapping[target if both else f"{side}.{target}"] = source
        if both or side == "prediction":
            mapping.pop(name, None)
    return mapping


def _table(data: Any, options: Options, side: str) -> Table:
    """A table, whatever it is in."""
    where = "truth" if side == "truth" else "predictions"
    form = options.of("format", side)
    if not isinstance(data, str | PathLike) or form == "table":
        return read_table(data, where)
    path = Path(data)
    if form == "nutrition5k" or (ending(path) == ".csv" and is_entry(path) and _is_headless(path, str(data))):
        if form != "nutrition5k":
            note(f"{data}: read as Nutrition5k's CSV without a header: {', '.join(FIELDS)}.")
        return _read_nutrition5k(path, str(data))
    return read_table(data, where)


def _is_headless(path: Path, source: str) -> bool:
    """Whether the first line has an id and five numbers, as rows of Nutrition5k do."""
    with open_text(path, source) as file:
        line = next((line for line in islice(file, 100) if line.strip()), "")
    fields = line.split(",")
    return len(fields) >= len(FIELDS) and all(_is_number(text) for text in fields[1 : len(FIELDS)])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _read_nutrition5k(path: Path, source: str) -> Table:
    """The rows of a file of Nutrition5k: six fields, then the ingredients in groups of seven."""
    fields: list[list[str]] = []
    ingredients: list[tuple[str, ...]] = []
    lines: list[int] = []
    with open_text(path, source) as file:
        reader = csv.reader(file, strict=True)
        try:
            blank = 0
            last = 0
            while part := list(islice(reader, PART)):
                numbers = range(last + 1, last + 1 + len(part))
                if reader.line_num != numbers[-1]:  # a field with line breaks
                    ends = np.cumsum([1 + sum(text.count("\n") for text in row) for row in part])
                    numbers = (last + ends).tolist()
                last = reader.line_num
                if all(len(row) == len(FIELDS) for row in part):
                    fields += part
                    ingredients += [()] * len(part)
                    lines += numbers
                    continue
                for row, line in zip(part, numbers, strict=True):
                    if not any(text.strip() for text in row):
                        blank += 1
                        check_blank(blank, source)
                        continue
                    where = f"{source}, line {line}"
                    if len(row) < len(FIELDS):
                        count = count_text(len(row), "field")
                        raise InvalidFile(f"the row has {count}", where=where, remedy=f"It needs {_listed()}.")
                    fields.append(row[: len(FIELDS)])
                    ingredients.append(_ingredients(row[len(FIELDS) :], where))
                    lines.append(line)
        except csv.Error as error:
            raise InvalidFile(f"not readable as CSV: {error}", where=f"{source}, line {reader.line_num}") from None
    if not fields:
        raise EmptyInput("the file is empty", where=source, remedy=f"A row has {_listed()}.")
    dish, *targets = zip(*fields, strict=True)
    columns = {"dish": as_object(dish), **dict(zip(FIELDS[1:], map(_numbers, targets), strict=True))}
    if any(ingredients):
        listed: Array = np.empty(len(ingredients), dtype=object)
        listed[:] = ingredients
        columns["ingredients"] = listed
    return Table(source, columns, np.array(lines, dtype=np.int64))


def _numbers(column: Sequence[str]) -> Array:
    """A column as numbers if all of it are, else as texts, whose faults are named later."""
    try:
        numbers = np.array([float(text) for text in column])
    except ValueError:
        return as_object(column)
    whole = "".join(column)
    return numbers if whole.isascii() and "_" not in whole else as_object(column)


def _listed() -> str:
    return f"{', '.join(FIELDS[:-1])} and {FIELDS[-1]}, in this order"


def _ingredients(rest: list[str], where: str) -> tuple[str, ...]:
    """The ingredients behind the targets as `name=grams`. A number of ingredients may stand before them."""
    while rest and not rest[-1].strip():
        rest = rest[:-1]
    if len(rest) % GROUP == 1 and rest[0].strip().isdecimal():
        rest = rest[1:]
    if len(rest) % GROUP:
        raise InvalidFile(
            f"the row has {count_text(len(rest), 'field')} behind the targets, which are not groups of {GROUP}",
            where=where,
            remedy="An ingredient is id, name, grams, calories, fat, carbohydrate and protein.",
        )
    grams: dict[str, float] = {}
    for start in range(0, len(rest), GROUP):
        name, amount = rest[start + 1].strip(), rest[start + 2]
        if not _is_number(amount):
            raise InvalidFile(f"'{amount[:40]}' is not the mass of an ingredient", where=where, remedy="Give grams.")
        grams[name] = grams.get(name, 0.0) + float(amount)
    return tuple(f"{name}={amount!r}" for name, amount in grams.items())


def _synonyms(path: Any) -> dict[str, str]:
    """What each name counts as."""
    table = read_table(path, "synonyms")
    for name in ("name", "same_as"):
        if name not in table.columns:
            raise MissingColumn(
                f"column '{name}' is missing", where=table.source, remedy="A list of synonyms has name and same_as."
            )
    names, meant = ([" ".join(str(v).split()).casefold() for v in table.columns[c]] for c in ("name", "same_as"))
    return dict(zip(names, meant, strict=True))


def _with_synonyms(records: Records, synonyms: Mapping[str, str]) -> Records:
    if "ingredients" not in records:
        return records
    rows: Array = np.empty(len(records), dtype=object)
    for row, grams in enumerate(ingredients_of(records)):
        merged: dict[str, float] = {}
        for name, amount in grams.items():
            meant = synonyms.get(name, name)
            merged[meant] = merged.get(meant, 0.0) + amount
        rows[row] = tuple(name if np.isnan(a) else f"{name}={float(a)!r}" for name, a in merged.items())
    return replace(records, columns={**records.columns, "ingredients": rows})
