"""What reports show beside numbers, as plain values that a test can write by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from steelyard.core.figure import Figure, Listing, Texts
from steelyard.core.table import Table


def plain(value: Any) -> Any:
    """A value as Python's own types; texts as they are read."""
    if isinstance(value, Texts):
        return [value.names[code] for code in value.codes]
    return value.tolist() if isinstance(value, np.ndarray) else list(value) if isinstance(value, tuple) else value


def agree(columns: Mapping[str, Any], expected: Mapping[str, Sequence[Any]]) -> None:
    """Columns in their order, numbers within rounding."""
    assert list(columns) == list(expected)
    for name, values in expected.items():
        shown = plain(columns[name])
        if len(values) and all(isinstance(value, int | float) for value in values):
            assert shown == pytest.approx(list(values), abs=1e-12, nan_ok=True), name
        else:
            assert shown == list(values), name


def check_figure(
    figure: Figure, head: Sequence[str], columns: Mapping[str, Sequence[Any]], facts: Mapping[str, Any], caption: str
) -> None:
    """A figure: its name, chart and title, its columns, facts and caption."""
    assert [figure.name, figure.chart, figure.title] == list(head)
    agree(figure.columns, columns)
    assert figure.facts == facts
    assert figure.caption == caption


def check_table(
    table: Table | None, head: Sequence[str], rows: Sequence[str], columns: Sequence[str], values: Sequence[Any]
) -> None:
    """A table: its name, title and corner, its rows, columns and values."""
    assert table is not None
    assert [table.name, table.title, table.corner] == list(head)
    assert list(table.rows) == list(rows)
    assert list(table.columns) == list(columns)
    assert table.values.shape == (len(rows), len(columns))
    np.testing.assert_allclose(table.values, np.array(values, dtype=float).reshape(table.values.shape), atol=1e-12)


def check_listing(
    listing: Listing | None, head: Sequence[str], columns: Mapping[str, Sequence[Any]], colour: str, x: str
) -> None:
    """A listing: its name and title, its columns, and what a picture of it shows."""
    assert listing is not None
    assert [listing.name, listing.title] == list(head)
    agree(listing.columns, columns)
    assert (listing.colour, listing.x) == (colour, x)


def cats_and_sky() -> tuple[dict[str, Any], dict[str, Any]]:
    """An image of segments: a cat found with IoU 3/4, another with 1/2, which is too little, and all of the sky."""
    segments: list[dict[str, Any]] = [
        {"id": 1, "category_id": 1, "name": "cat", "isthing": 1}, {"id": 2, "category_id": 1, "name": "cat", "isthing": 1},
        {"id": 3, "category_id": 2, "name": "sky", "isthing": 0},
    ]  # fmt: skip
    truth = {"image": [1], "map": np.array([[[1, 1, 1, 2, 2, 3, 3]]]), "segments": [segments]}
    prediction = {"image": [1], "map": np.array([[[1, 1, 1, 1, 2, 3, 3]]]), "segments": [segments]}
    return truth, prediction
