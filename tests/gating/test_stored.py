"""Finished results compared with each other."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.refusal import refuses

import steelyard as sy
from steelyard.gating.pairing import compare_results
from steelyard.gating.stored import compare_stored

TRUTH = {"dish": list("abcd"), "weight": [10.0, 20.0, 30.0, 40.0], "hall": list("xxyy"), "day": list("mmtt")}


A = {"dish": list("abcd"), "weight": [11.0, 18.0, 33.0, 36.0]}


B = {"dish": list("abcd"), "weight": [12.0, 17.0, 35.0, 46.0]}


C = {"dish": list("abcd"), "weight": [10.0, 21.0, 31.0, 40.0]}


def report(side: dict[str, Any], metrics: Any = ("mae",), **settings: Any) -> sy.Report:
    return sy.evaluate("weights", TRUTH, side, list(metrics), draws=100, **settings)


@pytest.fixture(scope="module")
def three() -> sy.Lineup:
    return sy.compare("weights", TRUTH, [A, B, C], metrics=["mae"], draws=100)


def test_a_difference_of_what_is_undefined_is_undefined() -> None:
    one = report(A)
    bare = replace(
        one, scores={"mae": replace(one.scores["mae"], value=math.nan, interval=None, undefined_reason="none")}
    )
    difference = compare_results(bare, one).differences["mae"]
    assert [math.isnan(value) for value in (difference.difference, difference.p)] == [True, True]
    assert difference.interval is None


def stored(folder: Path, **held: Any) -> list[Path]:
    for name, one in held.items():
        one.to_json(folder / f"{name}.json")
    return [folder / f"{name}.json" for name in held]


def test_models_of_one_file_are_compared(three: sy.Lineup, tmp_path: Path) -> None:
    (path,) = stored(tmp_path, three=three)
    names = [three[0].a.name, *(comparison.b.name for comparison in three.comparisons)]
    made = compare_stored([path], names[2], names[1])
    assert (made.a.name, made.b.name) == (names[1], names[2])
    assert made["mae"].difference == pytest.approx(0.5 - 4.0)  # errors 0, 1, 1, 0 and 2, 3, 5, 6
    with refuses("E-missing-data", str(path)):
        compare_stored([path], names[0])


def test_files_that_cannot_be_compared(tmp_path: Path) -> None:
    labels = {"id": [1, 2], "label": ["a", "b"]}
    other = sy.evaluate("labels", labels, labels, ["accuracy"], draws=100)
    both = sy.compare("weights", TRUTH, A, B, ["mae"], draws=100)
    first, second, third, compared = stored(tmp_path, a=report(A), b=report(B), c=other, d=both)
    with refuses("E-incompatible", str(third), "'labels'", str(first), "'weights'"):
        compare_stored([first, second, third])
    with refuses("E-invalid-result", str(compared)):
        compare_stored([first, compared])
