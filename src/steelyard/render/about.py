"""What the metrics of a result mean: as the result says, else as the catalogue does."""

from __future__ import annotations

from collections.abc import Iterable

from steelyard.core import catalogue
from steelyard.core.errors import InputError
from steelyard.core.metric import Description, describe
from steelyard.results.result import Result


def definitions_of(result: Result, task: str, specs: Iterable[str]) -> dict[str, Description]:
    """Descriptions by spec; a metric that this version does not know has none."""
    descriptions = dict(result.details.definitions())
    for spec in specs:
        if spec in descriptions or task not in catalogue.TASKS:
            continue
        try:
            descriptions[spec] = describe(type(catalogue.parse(spec, task)))
        except InputError:  # a metric of another version
            continue
    return descriptions
