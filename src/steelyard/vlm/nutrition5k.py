"""Nutrition5k: dishes with their weight and energy, from the data set's own headerless CSV.

A line is id, kcal, mass, fat, carb, protein, then groups of seven fields an ingredient; in some releases a count of the
ingredients stands before them. Each dish becomes a sequence of one frame.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from os import PathLike
from pathlib import Path

from steelyard.core.counts import count_text
from steelyard.core.errors import EmptyInput, InvalidFile, InvalidNumber
from steelyard.core.frozen import Frozen
from steelyard.io.text import open_text
from steelyard.io.write import csv_text, write_text


class Dish(Frozen):
    """A dish as the data set weighed it; `ingredients` are names and grams."""

    id: str
    kcal: float
    mass: float
    ingredients: tuple[tuple[str, float], ...]

    @property
    def kcal_per_g(self) -> float:
        """Energy density; nan for a dish that weighs nothing."""
        return self.kcal / self.mass if self.mass > 0 else float("nan")


def read_dishes(path: str | PathLike[str]) -> Iterator[Dish]:
    """Every dish of a metadata file."""
    source = str(path)
    with open_text(Path(path), source) as file:
        for row in csv.reader(file):
            if row:
                yield _dish(row, source)


def _dish(row: list[str], source: str) -> Dish:
    where = f"{source}, dish '{row[0]}'"
    if len(row) < 6:
        remedy = "A dish has an id, kcal, mass, fat, carb and protein."
        raise InvalidFile(f"the row has {count_text(len(row), 'field')}", where=where, remedy=remedy)
    start = 6 if len(row) == 6 or row[6].startswith("ingr_") else 7
    rest = row[start:]
    while rest and not rest[-1].strip():
        rest.pop()
    if len(rest) % 7:
        raise InvalidFile(f"{count_text(len(rest), 'field')} of ingredients do not divide by seven", where=where)
    try:
        kcal, mass = float(row[1]), float(row[2])
        ingredients = tuple((rest[i + 1], float(rest[i + 2])) for i in range(0, len(rest), 7))
    except ValueError as error:
        raise InvalidNumber(f"not a number: {error}", where=where) from None
    if not (0 <= kcal < 1e6 and 0 <= mass < 1e6):
        raise InvalidFile(f"{kcal:g} kcal and {mass:g} g are not a dish's", where=where)
    return Dish(row[0], kcal, mass, ingredients)


def write_frames(
    metadata: str | PathLike[str], images: str | PathLike[str], output: str | PathLike[str], name: str = "rgb.png"
) -> tuple[int, int]:
    """Write frames for the dishes that have an image `IMAGES/ID/NAME`; how many, and how many have none.

    The food is named by the dish's heaviest ingredients.
    """
    rows = []
    without = 0
    base = Path(output).resolve().parent
    for dish in read_dishes(metadata):
        image = Path(images).resolve() / dish.id / name
        if not image.exists():
            without += 1
            continue
        shown = image.relative_to(base) if image.is_relative_to(base) else image
        heaviest = sorted(dish.ingredients, key=lambda part: -part[1])[:3]
        food = ", ".join(part for part, _ in heaviest)
        rows.append([dish.id, 0, shown.as_posix(), food, dish.mass, dish.kcal_per_g])
    if not rows:
        remedy = f"Each dish has its image at {Path(images) / 'DISH' / name}; `name` gives another name."
        raise EmptyInput("no dish has an image", where=str(metadata), remedy=remedy)
    write_text(output, csv_text(["sequence", "t", "image", "food", "weight", "kcal_per_g"], rows))
    return len(rows), without
