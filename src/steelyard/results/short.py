"""What an interpreter shows of results and scores: a few lines, made where all texts are made."""

from __future__ import annotations

from typing import Any

from steelyard.results.registry import load


def result_repr(self: Any) -> str:
    """`__repr__` of a result: its first lines."""
    return str(load("steelyard.render.brief:brief")(self))


def score_repr(self: Any) -> str:
    """`__repr__` of a score."""
    return str(load("steelyard.render.brief:score_brief")(self))


def difference_repr(self: Any) -> str:
    """`__repr__` of a difference."""
    return str(load("steelyard.render.brief:difference_brief")(self))


def units_repr(self: Any) -> str:
    """`__repr__` of a table of units."""
    return str(load("steelyard.render.brief:units_brief")(self))
