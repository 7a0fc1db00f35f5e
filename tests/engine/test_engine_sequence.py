"""Confidence sequences: the money of a gambler product by product, the normal mixture by hand, and every field."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import pytest
from support.engine_states import Count, Endless, High, Mean, N, NearOne, Share, X, state_of
from support.refusal import refuses

from steelyard.core import catalogue
from steelyard.core.errors import InputError
from steelyard.core.frozen import frozen
from steelyard.core.request import Request
from steelyard.engine.intervals import Estimate
from steelyard.engine.score import score
from steelyard.engine.sequence import (
    APPROXIMATE,
    EXACT,
    approximate_reach,
    betting_interval,
    betting_p,
    mixture_p,
    mixture_reach,
    sequenced_difference,
    sequential_scores,
    unit_scores,
)
from steelyard.results.score import Score

SIX = np.array([0.9, 0.8, 1.0, 0.7, 0.95, 0.85])
STAKES = [1e-4 * 9900 ** (k / 59) for k in range(60)]  # sixty from .0001 to .99, each the same times the last
MANY = np.random.default_rng(5).uniform(2, 8, 120)


@frozen
class Part(Mean):
    """The mean of x as one proportion."""

    name, range = "part", (0.0, 1.0)

    def proportions(self, totals: Any) -> Any:
        return totals[X], totals[N]


@frozen
class Squared(Mean):
    """The squared mean of x, which is not a mean."""

    name, range = "squared", (0.0, 100.0)

    def reduce(self, totals: Any) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(totals[N] > 0, (totals[X] / totals[N]) ** 2, np.nan)


@frozen
class Narrow(Mean):
    """The mean of x, whose range some units may leave."""

    name: ClassVar[str] = "narrow"
    range: ClassVar[tuple[float, float]] = (3.0, 7.0)


def money(x: Any, mean: float) -> float:
    """The money of one who bets on scores above the mean, stake by stake."""
    return float(np.mean([np.prod([1 + stake * (value / mean - 1) for value in x]) for stake in STAKES]))


def asked(sequence: str = "exact", **more: Any) -> Request:
    return Request.of("any", None, {"draws": 100, "sequence": sequence, **more})  # type: ignore[typeddict-item]


@pytest.mark.parametrize("confidence", [0.95, 0.6])
def test_ends_are_where_the_money_is_made(confidence: float) -> None:
    """Half of the money is for either side: at an end it has made 2 / alpha."""
    low, high = betting_interval(SIX - 0.3, (0.0, 1.0), confidence)
    assert 0 < low < high < 1
    assert money(SIX - 0.3, low) == pytest.approx(2 / (1 - confidence), rel=1e-6)
    assert money(1.3 - SIX, 1 - high) == pytest.approx(2 / (1 - confidence), rel=1e-6)


def test_an_interval_moves_with_its_range() -> None:
    low, high = betting_interval(SIX, (0.0, 1.0), 0.95)
    assert betting_interval(20 * SIX - 5, (-5.0, 15.0), 0.95) == pytest.approx((20 * low - 5, 20 * high - 5))
    assert betting_interval([*SIX[:4], 1.7, -0.4], (0.0, 1.0), 0.95) == betting_interval(
        [*SIX[:4], 1.0, 0.0], (0.0, 1.0), 0.95
    )


def test_scores_at_an_end() -> None:
    """Of nothing but zeros the lower end is 0, and the upper one where (1 + stake (1 / (1 - m) - 1)) ** 8 is 40."""
    low, high = betting_interval(np.zeros(8), (0.0, 1.0), 0.95)
    assert low == 0.0
    assert np.mean((1 + np.array(STAKES) * (1 / (1 - high) - 1)) ** 8) == pytest.approx(40, rel=1e-6)
    assert betting_interval(np.ones(8), (0.0, 1.0), 0.95) == pytest.approx((1 - high, 1.0))


def test_p_is_one_over_the_money() -> None:
    for mean in (0.4, 0.5):
        assert betting_p(SIX, (0.0, 1.0), mean) == pytest.approx(2 / money(SIX, mean), rel=1e-9)
    assert betting_p(1 - SIX, (0.0, 1.0), 0.5) == pytest.approx(2 / money(SIX, 0.5), rel=1e-9)
    assert betting_p(4 * SIX + 1, (1.0, 5.0), 3.0) == pytest.approx(2 / money(SIX, 0.5), rel=1e-9)
    assert betting_p([*SIX[:5], 3.0], (0.0, 1.0), 0.5) == pytest.approx(2 / money([*SIX[:5], 1.0], 0.5))
    assert betting_p([*(1 - SIX[:5]), -3.0], (0.0, 1.0), 0.5) == pytest.approx(2 / money([*SIX[:5], 1.0], 0.5))
    assert betting_p(SIX, (0.0, 1.0), float(SIX.mean())) == 1.0
    assert betting_p(SIX, (0.0, 1.0), 0.8) == 1.0  # more than half of the money is left


def test_a_mean_at_an_end_is_shown_false_by_one_score() -> None:
    assert betting_p([0.0, 0.0, 0.1], (0.0, 1.0), 0.0) == 0.0
    assert betting_p([0.0, 0.0], (0.0, 1.0), 0.0) == 1.0
    assert betting_p([1.0, 1.0, 0.9], (0.0, 1.0), 1.0) == 0.0


@pytest.mark.parametrize(("units", "confidence"), [(250, 0.95), (400, 0.9)])
def test_the_normal_mixture_by_hand(units: int, confidence: float) -> None:
    """rho^2 is (-2 log alpha + log(1 - 2 log alpha)) / 250; the mixture's boundary at n units is
    sqrt(2 (n rho^2 + 1) / (n rho^2) log(sqrt(n rho^2 + 1) / alpha)) standard errors."""
    alpha = 1 - confidence
    square = units / 250 * (-2 * math.log(alpha) + math.log(1 - 2 * math.log(alpha)))
    reach = math.sqrt(2 * (square + 1) / square * math.log(math.sqrt(square + 1) / alpha))
    assert mixture_reach(units, confidence) == pytest.approx(reach)
    assert mixture_p(reach, units, confidence) == pytest.approx(alpha)
    assert mixture_p(4.0, units, confidence) == pytest.approx(
        math.sqrt(square + 1) * math.exp(-8 * square / (square + 1))
    )
    assert mixture_p(0.1, units, confidence) == 1.0


def test_own_scores_of_a_mean() -> None:
    result = unit_scores(state_of(MANY), Mean())
    assert result is not None
    assert result.tolist() == MANY.tolist()
    kinds = unit_scores(state_of([1.0, 2.0, 4.0], copies=np.array([2, 1, 3])), Mean())
    assert kinds is not None
    assert kinds.tolist() == [1.0, 1.0, 2.0, 4.0, 4.0, 4.0]
    ends = unit_scores(state_of([3.0 - 5e-10, 5.0, 7.0 + 5e-10]), Narrow())
    assert ends is not None


@pytest.mark.parametrize(
    ("state", "metric"),
    [
        (state_of(MANY, weight=np.arange(1.0, 121)), Mean()),
        (state_of(MANY), Endless()),
        (state_of(MANY), Count()),
        (state_of(MANY), Squared()),
        (state_of(MANY, n=np.arange(1.0, 121)), Mean()),
        (state_of(MANY, n=[0.0, *[1.0] * 119]), Mean()),
        (state_of([2.99, 5.0, 6.0]), Narrow()),
        (state_of([4.0, 5.0, 7.01]), Narrow()),
        (state_of(np.ones(12)), Mean()),
        (state_of(np.ones(12), lost=np.ones(12)), Share()),
        (state_of(MANY), catalogue.parse("auroc", "labels")),
    ],
    ids=["weights", "endless", "total", "no mean", "rows", "undefined", "below", "above", "agreeing", "parts", "curve"],
)
def test_what_is_no_mean_of_bounded_scores(state: Any, metric: Any) -> None:
    assert unit_scores(state, metric) is None


def test_units_that_agree_are_one_proportion() -> None:
    result = unit_scores(state_of(np.ones(12)), Part())
    assert result is not None
    assert result.tolist() == [1.0] * 12


def test_scores_of_an_exact_sequence() -> None:
    state, request = state_of(MANY), asked(confidence=0.9)
    plain = score(state, [Mean(), Count()], Request("any", draws=100, confidence=0.9))
    result = sequential_scores(state, [Mean(), Count()], plain, request)
    assert list(result) == ["mean", "count"]
    assert result["count"] == plain["count"]
    assert result["mean"].interval == pytest.approx(betting_interval(MANY, (0.0, 10.0), 0.9))
    assert result["mean"].notes == (*plain["mean"].notes, "mean: the interval holds at every look (betting).")
    assert (result["mean"].value, result["mean"].se) == (plain["mean"].value, plain["mean"].se)
    assert score(state, [Mean()], request)["mean"] == result["mean"]
    assert (EXACT, APPROXIMATE) == (
        "holds at every look (betting)",
        "holds at every look, approximate (normal mixture)",
    )


def test_scores_without_a_value_or_of_one_unit_are_left() -> None:
    one = {"mean": Score("mean", "Mean of x", 4.0)}
    assert sequential_scores(state_of([4.0]), [Mean()], one, asked()) == one
    two = sequential_scores(state_of([4.0, 5.0]), [Mean()], one, asked())["mean"]
    assert two.interval == pytest.approx(betting_interval([4.0, 5.0], (0.0, 10.0), 0.95))
    none = {"mean": Score("mean", "Mean of x", math.nan)}
    assert sequential_scores(state_of([4.0, 5.0]), [Mean()], none, asked()) == none


def test_scores_of_an_approximate_sequence() -> None:
    """The value and so many standard errors, inside the range; why it had no interval is gone."""
    state, reach = state_of(MANY), mixture_reach(120, 0.95)
    given = {
        "squared": Score(
            "squared", "Mean of x", 25.0, None, 120, notes=("kept.",), why_no_interval="all agree", se=2.0
        ),
        "endless": Score("endless", "Mean of x", 5.0, None, 120, se=math.nan),
    }
    result = sequential_scores(state, [Squared(), Endless()], given, asked("approximate"))
    assert result["squared"].interval == pytest.approx((25 - 2 * reach, 25 + 2 * reach))
    assert result["squared"].notes == (
        "kept.",
        "squared: the interval holds at every look, approximate (normal mixture).",
    )
    assert result["squared"].why_no_interval == ""
    assert result["endless"].interval is None
    wide = sequential_scores(
        state, [Squared()], {"squared": Score("squared", "", 50.0, None, 120, se=40.0)}, asked("approximate")
    )
    assert wide["squared"].interval == (0.0, 100.0)


def test_a_difference_of_an_exact_sequence() -> None:
    """Differences of unit scores lie from minus to plus the width of the range."""
    a, b = MANY, np.clip(MANY + np.random.default_rng(6).normal(0.5, 1, 120), 0, 10)
    states, plain = (state_of(a), state_of(b)), Estimate((0.2, 0.8), 0.1, 9.0, "", ("lost",))
    for metric in (Mean(), High()):
        estimate, p, method = sequenced_difference(metric, states, 0.5, plain, asked())
        assert estimate.interval == pytest.approx(betting_interval(b - a, (-10.0, 10.0), 0.95))
        assert (estimate.se, estimate.df) == (0.1, 9.0)
        assert estimate.notes == ("difference holds at every look (betting)",)
        assert (p, method) == (pytest.approx(betting_p(b - a, (-10.0, 10.0), 0.0)), "betting")
    assert 0 < betting_p(b - a, (-10.0, 10.0), 0.0) < 1
    narrow = (state_of(a / 3 + 3), state_of(b / 3 + 3))
    estimate, _, _ = sequenced_difference(Narrow(), narrow, 0.5, plain, asked())
    assert estimate.interval == pytest.approx(betting_interval((b - a) / 3, (-4.0, 4.0), 0.95))


@pytest.mark.parametrize("metric", [NearOne(), Endless(), Squared()])
def test_a_difference_of_an_approximate_sequence(metric: Any) -> None:
    """Distances from the best value are not means of differences, and neither is a square."""
    states, request = (state_of(MANY), state_of(MANY + 1)), asked("approximate", confidence=0.9)
    plain = Estimate((0.2, 0.8), 0.1, 9.0, "", ("lost",))
    estimate, p, method = sequenced_difference(metric, states, -0.25, plain, request)
    reach = mixture_reach(120, 0.9)
    assert estimate.interval == pytest.approx((-0.25 - 0.1 * reach, -0.25 + 0.1 * reach))
    assert estimate.notes == ("difference holds at every look, approximate (normal mixture)",)
    assert (estimate.se, estimate.df) == (0.1, 9.0)
    assert (p, method) == (pytest.approx(mixture_p(2.5, 120, 0.9)), "normal mixture, approximate")
    assert p < 1
    _, p, _ = sequenced_difference(metric, states, 0.0, Estimate((0.0, 0.0), 0.0), request)
    assert p == 1.0
    with pytest.raises(InputError):
        sequenced_difference(metric, states, -0.25, plain, asked())


def test_what_has_no_sequence() -> None:
    with refuses("E-unsupported", "'squared'", "confidence"):
        approximate_reach(Squared(), 500, asked())
    with refuses("E-missing-data", "'squared'", "99", "approximate", "100"):
        approximate_reach(Squared(), 99, asked("approximate"))
    assert approximate_reach(Squared(), 100, asked("approximate", confidence=0.9)) == mixture_reach(100, 0.9)
