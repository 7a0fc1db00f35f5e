"""Pairs of the sides of a scene."""

from __future__ import annotations

from typing import Any

from steelyard.core import catalogue
from steelyard.core.options import Options
from steelyard.core.task import Policy
from steelyard.io.sources import read_sides


def pairs_of(task: str, truth: Any, predictions: Any, **options: Any) -> Any:
    known = catalogue.find_task(task)
    given = Options(known.options, options)
    return known.join(*read_sides(known, truth, predictions, {}, given), Policy(), given)
