"""Sides of grounding for tests: columns of rows, and the goldens that the references made."""

from __future__ import annotations

import json
from typing import Any

import steelyard as sy
from support.paths import TESTS

GOLDENS: dict[str, Any] = json.loads((TESTS / "goldens" / "grounding.json").read_text(encoding="utf-8"))
NOWHERE = (float("nan"),) * 4
Side = dict[str, list[Any]]


def scores(truth: Any, predictions: Any, *metrics: str, **settings: Any) -> list[float]:
    report = sy.evaluate("grounding", truth, predictions, list(metrics), confidence=None, **settings)
    return [report[metric].value for metric in metrics]


def side(rows: list[tuple[Any, ...]], *names: str) -> Side:
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def extents(corners: list[float]) -> tuple[float, ...]:
    x1, y1, x2, y2 = corners
    return x1, y1, x2 - x1, y2 - y1


BOXED = ("image", "expression", "x", "y", "w", "h")
