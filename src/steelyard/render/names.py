"""What the models of a comparison are called: by their names, or A, B, C where they have none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steelyard.results.comparison import Comparison

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
LONGEST = 14  # characters of a name that heads a column of a terminal's table


def names_of(comparisons: Sequence[Comparison]) -> list[str]:
    """The names of all models, the one to beat first."""
    models = [comparisons[0].a, *(one.b for one in comparisons)]
    return [model.name or letter_of(place) for place, model in enumerate(models)]


def named_pairs(comparisons: Sequence[Comparison]) -> list[tuple[str, str, Comparison]]:
    """Each comparison with the names of the model to beat and of the other."""
    first, *others = names_of(comparisons)
    return [(first, name, one) for name, one in zip(others, comparisons, strict=True)]


def letter_of(place: int) -> str:
    """What a model without a name is called."""
    return LETTERS[place] if place < len(LETTERS) else f"model {place + 1}"


def heads_of(comparison: Comparison) -> tuple[str, str]:
    """What two models are called in a head of a narrow table: letters where a name is too long for it."""
    a, b = names_of([comparison])
    return (a, b) if max(len(a), len(b)) <= LONGEST else (letter_of(0), letter_of(1))
