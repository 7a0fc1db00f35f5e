"""Bars by class: their order, their intervals, and what is said of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from steelyard.core.figure import Figure
from steelyard.engine.details import _without, class_figure, with_intervals
from steelyard.results.score import Score


def scored(name: str, value: float, ends: tuple[float, float] | None = None, **more: Any) -> Score:
    return Score(f"f1(label={name})", f"F1 of '{name}'", value, ends, **more)


def test_classes_the_worst_first() -> None:
    scores = {
        "cat": scored("cat", 0.8, (0.7, 0.9)), "dog": scored("dog", 0.2), "cow": scored("cow", math.nan, undefined_reason="no row"),
        "ant": scored("ant", 0.5, (0.25, 0.75)),
    }  # fmt: skip
    figure = class_figure(scores, 1004)
    assert (figure.name, figure.chart, figure.title, figure.facts) == ("by_class", "bars", "F1 by class", {"x": "F1"})
    assert figure.columns == {"name": ["dog", "ant", "cat"], "value": [0.2, 0.5, 0.8]}
    assert figure.caption == "The 4 of 1,004 classes with the most data. The worst first."
    assert class_figure(scores, 4).caption == "The worst first."
    table = figure.table
    assert table is not None
    assert (table.name, table.title, table.corner) == ("by_class", "F1 by class", "class")
    assert (table.rows, table.columns) == (("dog", "ant", "cat"), ("F1", "low", "high"))
    np.testing.assert_array_equal(table.values, [[0.2, math.nan, math.nan], [0.5, 0.25, 0.75], [0.8, 0.7, 0.9]])


def test_of_what_is_better_low_the_highest_is_worst() -> None:
    scores = {name: scored(name, value, better="lower") for name, value in (("a", 0.1), ("b", 0.9), ("c", 0.5))}
    assert class_figure(scores, 3).columns["name"] == ["b", "c", "a"]


def test_both_ends_of_many_classes() -> None:
    scores = {f"c{i:02}": scored(f"c{i:02}", i / 100) for i in range(30)}
    figure = class_figure(scores, 30)
    assert figure.columns["name"] == [f"c{i:02}" for i in (*range(12), *range(18, 30))]
    assert figure.caption == "The worst first. The worst 12 and the best 12 of 30; the table has all."
    assert figure.table is not None
    assert len(figure.table.rows) == 30


def test_no_class_has_a_score() -> None:
    figure = class_figure({}, 0)
    assert (figure.title, len(figure), figure.caption) == ("score by class", 0, "The worst first.")
    assert figure.table is not None
    assert figure.table.values.shape == (0, 3)


@pytest.mark.parametrize(
    ("label", "name", "kept"),
    [
        ("F1 of 'cat'", "cat", "F1"), ("AP (cat)", "cat", "AP"), ("IoU: cat", "cat", "IoU"), ("IoU, cat", "cat", "IoU"),
        ("AP", "cat", "AP"), ("cat", "cat", "cat"), ("category of cat", "cat", "category"), ('F1 of "x"', "x", "F1"),
    ],
)  # fmt: skip
def test_a_label_without_the_class(label: str, name: str, kept: str) -> None:
    assert _without(label, name) == kept


def test_bars_with_their_intervals() -> None:
    scores = {"cat": scored("cat", 0.8, (0.7, 0.9)), "dog": scored("dog", 0.3, (0.2, 0.4)), "ant": scored("ant", 0.5)}
    bars = Figure(
        "ap_class", "bars", "AP", {"name": ["ant", "cat", "dog", "x"], "value": [0.5, 0.8, 0.2, 1]}, {}, "Said."
    )
    shown = with_intervals(bars, scores)  # the bar of dogs shows another number than the score
    assert list(shown.columns) == ["name", "value", "low", "high"]
    assert shown.columns["low"] == pytest.approx([math.nan, 0.7, math.nan, math.nan], nan_ok=True)
    assert shown.columns["high"] == pytest.approx([math.nan, 0.9, math.nan, math.nan], nan_ok=True)
    assert shown.caption == "Said. The line on a bar is its interval."
    assert with_intervals(bars, {"ant": scores["ant"], "dog": scores["dog"]}) is bars
    near = Figure("ap_class", "bars", "AP", {"name": ["cat", "cat"], "value": [0.8 + 1e-10, 0.8 + 1e-8]})
    assert with_intervals(near, scores).columns["low"] == pytest.approx([0.7, math.nan], nan_ok=True)
    assert with_intervals(near, scores).caption == "The line on a bar is its interval."
    zero = {"cat": scored("cat", 0.0, (0.0, 0.1))}
    small = Figure("ap_class", "bars", "AP", {"name": ["cat", "cat"], "value": [1e-13, 1e-11]})
    assert with_intervals(small, zero).columns["high"] == pytest.approx([0.1, math.nan], nan_ok=True)
