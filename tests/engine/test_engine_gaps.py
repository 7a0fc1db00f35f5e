"""Differences that rest on more than their draws: the jackknife, distances from the best value, and sequences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.engine_states import Count, Endless, Mean, state_of

from steelyard.core.request import Request
from steelyard.engine.compare import compare
from steelyard.engine.intervals import LINE, Estimate
from steelyard.engine.score import score
from steelyard.engine.sequence import sequenced_difference
from steelyard.engine.sides import sides_of

RNG = np.random.default_rng(8)
A = RNG.uniform(2, 8, 40)
GAP = np.array([0.01, -0.01] * 18 + [1.5, -1.2, 0.9, -0.2])  # four units move nearly everything
B = A + GAP
REQUEST = Request("any", draws=200, seed=3)


def both(metrics: Any, first: Any, second: Any, request: Request = REQUEST) -> Any:
    sides = sides_of([first, second], metrics, request)
    return compare(sides[0], sides[1], metrics, request)


def drawn(metric: Any, values: Any) -> Any:
    return state_of(values).totals(REQUEST.plan).of(metric)


def left(values: Any) -> Any:
    return (values.sum() - values) / (len(values) - 1)


def test_degrees_of_freedom_are_those_of_the_jackknife() -> None:
    """2 n / (kurtosis - 1) of what each unit moves: here about four, where the units would say 39."""
    difference = both([Mean()], state_of(A), state_of(B))["mean"].difference
    u = GAP - GAP.mean()
    df = 80 / (40 * (u**4).sum() / (u**2).sum() ** 2 - 1)
    assert 4 < df < 8
    assert difference.df == pytest.approx(df)
    assert difference.notes == ()


def test_only_units_with_a_value_can_be_said_to_agree() -> None:
    """Three of twelve units have a value with A: 1 - .025 ** (1 / 3) of all may differ, times a width of ten."""
    first = state_of(np.full(12, 5.0) * ([1] * 3 + [0] * 9), n=[1.0] * 3 + [0.0] * 9)
    second = state_of(np.full(12, 5.0) * ([1] * 5 + [0] * 7), n=[1.0] * 5 + [0.0] * 7)
    difference = both([Mean()], first, second)["mean"].difference
    reach = 10 * (1 - 0.025 ** (1 / 3))
    assert difference.interval == pytest.approx((-reach, reach))
    assert difference.units == 12


def test_a_sequence_takes_the_place_of_worlds() -> None:
    """The interval, the p and its method are those of the sequence; a total keeps its flips."""
    states = state_of(A), state_of(np.clip(B + 1, 0, 10))
    request = Request("any", draws=200, seed=3, sequence="exact")
    result = both([Mean(), Count()], *states, request)
    plain = both([Mean(), Count()], *states)
    was = plain["mean"].difference
    expected = sequenced_difference(Mean(), states, was.difference, Estimate(was.interval, was.se, was.df), request)
    one = result["mean"].difference
    assert (one.interval, one.p, one.p_method) == (expected[0].interval, expected[1], "betting")
    assert (one.se, one.df, one.difference) == (was.se, was.df, was.difference)
    assert one.notes == ("mean difference holds at every look (betting).",)
    assert result["mean"].test is None
    total = result["count"]
    assert (total.difference.p, total.difference.p_method) == (
        plain["count"].difference.p,
        plain["count"].difference.p_method,
    )
    assert total.test is not None


def test_an_approximate_sequence_takes_the_standard_error() -> None:
    a, b = (np.tile(x, 3) for x in (A / 4, B / 4 + 0.1))
    states = state_of(a), state_of(b)
    request = Request("any", draws=200, seed=3, sequence="approximate")
    was, result = (
        both([Endless()], *states)["endless"].difference,
        both([Endless()], *states, request)["endless"].difference,
    )
    expected = sequenced_difference(Endless(), states, was.difference, Estimate(was.interval, was.se, was.df), request)
    assert (result.interval, result.p, result.p_method) == (expected[0].interval, expected[1], expected[2])
    assert was.interval is not None
    assert result.interval is not None
    assert result.interval[0] < was.interval[0] < was.interval[1] < result.interval[1]
    assert (-math.inf, math.inf) == LINE


def test_a_score_at_an_end_rests_on_the_units_that_have_a_value() -> None:
    """Three of twelve units have one, ten of ten: the lower end is 10 * .025 ** (1 / 3)."""
    state = state_of(np.full(12, 10.0) * ([1] * 3 + [0] * 9), n=[1.0] * 3 + [0.0] * 9)
    result = score(state, [Mean()], REQUEST)["mean"]
    assert (result.value, result.interval) == (10.0, pytest.approx((10 * 0.025 ** (1 / 3), 10.0)))
