"""Ranks of models by their distances from zero, without an order, and at the edge of a level."""

from __future__ import annotations

import math

import numpy as np
from engine_states import Endless, High, Mean

from steelyard.core.frozen import frozen
from steelyard.engine.ranks import _shown, _spread, standing


@frozen
class Unordered(Mean):
    """The mean of x, of which no value is better."""

    name, better = "unordered", "none"


def noise(seed: int, size: float = 0.05) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, size, 400)


def test_the_nearest_to_zero_is_first() -> None:
    """At -3, 1 and 2 the distances are 3, 1 and 2; from one they would be 4, 0 and 1, and plain values turn the ends."""
    values = [-3.0, 1.0, 2.0]
    standings = standing(Endless(), values, [v + noise(k) for k, v in enumerate(values)], 0.95)
    assert standings is not None
    assert standings.ranks == ((3, 3), (1, 1), (2, 2))
    tied = standing(Endless(), [-1.0, 1.0, 4.0], [-1 + noise(1), 1 - noise(1), 4 + noise(2)], 0.95)
    assert tied is not None
    assert tied.ranks == ((1, 2), (1, 2), (3, 3))


def test_without_an_order_there_are_no_ranks() -> None:
    draws = [2 + noise(1), 9 + noise(2)]
    assert standing(Unordered(), [2.0, 9.0], draws, 0.95) is None
    assert standing(High(), [2.0, 9.0], draws, 0.95) is not None


def test_a_level_decides_what_is_shown() -> None:
    """A gap of 1.96 standard errors is shown at 90 %, and not at 99 %."""
    wide = noise(3, 1.0)
    gap = 1.96 * float(wide.std(ddof=1))
    draws = gap + wide - wide.mean()
    assert _shown([(gap, draws)], 0.9) == [True]
    assert _shown([(gap, draws)], 0.99) == [False]
    assert _shown([(-gap, -draws)], 0.9) == [True]


def test_draws_that_do_not_vary_show_nothing() -> None:
    far = 5 + noise(4)
    assert _shown([(5.0, np.full(400, 5.0)), (5.0, far)], 0.95) == [False, True]
    assert _shown([(5.0, np.full(400, 5.0))], 0.95) == [False]


def test_the_spread_of_finite_draws() -> None:
    """1, 2 and 3: a standard deviation of one, whatever has no value."""
    assert _spread(np.array([1.0, math.nan, 2.0, math.inf, 3.0])) == 1.0
    assert _spread(np.array([1.0, 3.0])) == math.sqrt(2)
    assert _spread(np.array([1.0, math.nan])) == 0.0
