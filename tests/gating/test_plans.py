"""Plans from comparisons and pilots."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.refusal import refused

import steelyard as sy
from steelyard.gating.plan import plan

TRUTH = {"dish": list("abcd"), "weight": [10.0, 20.0, 30.0, 40.0], "hall": list("xxyy"), "day": list("mmtt")}


A = {"dish": list("abcd"), "weight": [11.0, 18.0, 33.0, 36.0]}


B = {"dish": list("abcd"), "weight": [12.0, 17.0, 35.0, 46.0]}


C = {"dish": list("abcd"), "weight": [10.0, 21.0, 31.0, 40.0]}


def report(side: dict[str, Any], metrics: Any = ("mae",), **settings: Any) -> sy.Report:
    return sy.evaluate("weights", TRUTH, side, list(metrics), draws=100, **settings)


@pytest.fixture(scope="module")
def three() -> sy.Lineup:
    return sy.compare("weights", TRUTH, [A, B, C], metrics=["mae"], draws=100)


def test_plans_of_one_comparison_are_the_same_however_it_is_held(three: sy.Lineup) -> None:
    two = sy.compare("weights", TRUTH, [A, B], metrics=["mae"], draws=100)
    assert plan(two, targets={"mae": 1.0}) == plan(two[0], targets={"mae": 1.0})
    names = [three[0].a.name, *(comparison.b.name for comparison in three.comparisons)]
    apart = [replace(report(side), request=three[0].b.request) for side in (C, B)]
    held = plan(three, model=names[2], baseline=names[1])
    assert held.metrics == plan(apart[0], baseline=apart[1]).metrics


def test_plans_that_cannot_be_made(three: sy.Lineup) -> None:
    one, same = report(A), sy.compare("weights", TRUTH, A, A, ["mae"], draws=100)
    assert [
        refused(call)
        for call in (
            lambda: plan(same),
            lambda: plan(three, baseline=one),
            lambda: plan(one, model="a"),
            lambda: plan(one, baseline=same),
        )
    ] == [
        "no difference of the pilot has a standard error. Take a pilot whose two models differ somewhere.",
        "a result of several models holds its own baselines. Name one of its models.",
        "holds one model alone. Leave `model` out.",
        "is not a result of 'evaluate'. Give a result.",
    ]
