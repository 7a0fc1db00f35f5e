"""Comparisons: the difference, its interval, the worlds, and every field, from the values of each unit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from engine_states import Count, Endless, High, Long, Mean, NearOne, Share, state_of

from steelyard.core.draws import SwapDraws, unit_keys
from steelyard.core.errors import InputError
from steelyard.core.plan import JACKKNIFE
from steelyard.core.request import Request
from steelyard.engine.compare import compare
from steelyard.engine.families import p_value
from steelyard.engine.intervals import LINE, Sample, by_jackknife, of_difference
from steelyard.engine.margins import margin_verdict
from steelyard.engine.planning import showable
from steelyard.engine.ranks import standing
from steelyard.engine.sides import sides_of
from steelyard.results.score import Difference

RNG = np.random.default_rng(1)
A = RNG.uniform(2, 8, 40)
B = np.clip(A + RNG.normal(0.4, 1.0, 40), 0.5, 9.5)
REQUEST = Request("any", draws=200, seed=3)


def both(metrics: Any, a: Any = A, b: Any = B, request: Request = REQUEST, **more: Any) -> Any:
    first, second = sides_of([state_of(a), state_of(b)], metrics, request)
    return compare(first, second, metrics, request, **more)


def drawn(metric: Any, values: Any, request: Request = REQUEST) -> Any:
    return state_of(values).totals(request.plan).of(metric)


def left(values: Any) -> Any:
    return (values.sum() - values) / (len(values) - 1)


def coins(units: int, request: Request = REQUEST) -> Any:
    """Which units each world swaps."""
    keys = unit_keys(np.array([f"u{i:03}" for i in range(units)]))
    rows = np.concatenate(list(SwapDraws(keys, np.ones(units), request.seed, request.draws).blocks()))
    return rows[:, :units] == 0


def worlds(a: Any, b: Any, size: Any = lambda v: v, request: Request = REQUEST) -> Any:
    """The difference of means in each world."""
    swapped = coins(len(a), request)
    first, second = np.where(swapped, b, a).mean(axis=1), np.where(swapped, a, b).mean(axis=1)
    return size(second) - size(first)


def test_a_difference_of_means() -> None:
    compared = both([Mean()])["mean"]
    gap = B.mean() - A.mean()
    expected = of_difference(gap, drawn(Mean(), B) - drawn(Mean(), A), left(B) - left(A), (0.0, 10.0), Sample(40), 0.95)
    d = compared.difference
    assert d.difference == pytest.approx(gap)
    assert d.interval == pytest.approx(expected.interval)
    assert (d.se, d.df) == pytest.approx((expected.se, expected.df))
    assert d.showable == pytest.approx(showable(expected.se, expected.df, 0.95))
    assert np.abs(compared.worlds) == pytest.approx(np.abs(worlds(A, B)), rel=1e-5, abs=1e-6)
    assert compared.worlds.dtype == np.float32
    assert compared.size == pytest.approx(abs(gap), rel=1e-6)
    assert (d.p, d.p_method) == p_value(compared.size, compared.worlds)
    sides = sides_of([state_of(A), state_of(B)], [Mean()], REQUEST)
    assert d == Difference(
        spec="mean", label="Mean of x", a=sides[0].scores["mean"], b=sides[1].scores["mean"], difference=d.difference,
        interval=d.interval, p=d.p, p_holm=math.nan, verdict="", units=40, better="lower", measured_in="g", se=d.se,
        df=d.df, p_method=d.p_method, showable=d.showable,
    )  # fmt: skip


def test_another_confidence() -> None:
    request = Request("any", draws=200, seed=3, confidence=0.8, margin={"mean": "0.5"})
    d = both([Mean()], request=request)["mean"].difference
    gap = B.mean() - A.mean()
    expected = of_difference(gap, drawn(Mean(), B) - drawn(Mean(), A), left(B) - left(A), (0.0, 10.0), Sample(40), 0.8)
    assert d.interval == pytest.approx(expected.interval)
    assert d.showable == pytest.approx(showable(expected.se, expected.df, 0.8))
    assert d.margin_level == pytest.approx(0.1)
    bare = both([Mean()], request=Request("any", draws=200, seed=3, confidence=None))["mean"].difference
    plain = both([Mean()])["mean"].difference
    assert (bare.interval, bare.p, bare.a.interval) == (plain.interval, plain.p, None)


@pytest.mark.parametrize(("metric", "best", "width"), [(Endless(), 0.0, math.inf), (NearOne(), 1.0, 9.0)])
def test_distances_from_the_best_value(metric: Any, best: float, width: float) -> None:
    """|mean - best| of B less that of A; its range is that of the larger distance."""

    def far(values: Any) -> Any:
        return np.abs(values - best)

    result = both([metric])[str(metric)]
    gap = far(B.mean()) - far(A.mean())
    assert result.difference.difference == pytest.approx(gap)
    assert np.abs(result.worlds) == pytest.approx(np.abs(worlds(A, B, far)), rel=1e-5, abs=1e-6)
    below, above = 0.2 + RNG.uniform(-1, 1, 40), 2.0 + RNG.uniform(-1, 1, 40)
    turned = both([metric], below, above)[str(metric)].difference
    assert turned.difference == pytest.approx(far(above.mean()) - far(below.mean()))
    same = both([metric], np.full(40, 2.0), np.full(40, 2.0))[str(metric)].difference
    share = 1 - 0.025 ** (1 / 40)
    if math.isinf(width):
        assert same.interval is None
        assert same.notes == (
            f"{metric} has no interval: all 40 units agree; up to {100 * share:.2g} % of units may differ.",
        )
    else:
        assert same.interval is not None
        assert same.interval[1] > share


def test_one_prediction_against_itself() -> None:
    d = both([Mean()], same=True)["mean"].difference
    assert (d.interval, d.se) == ((0.0, 0.0), 0.0)
    assert d.df > 1
    assert math.isnan(d.showable)


@pytest.mark.parametrize("units", [5, 12, 13, 29, 30])
def test_few_long_units(units: int) -> None:
    """Below 30 units Student's interval of the jackknife; up to 12 units p walks all swaps."""
    a, b = A[:units], B[:units]
    d = both([Long()], a, b)["long"].difference
    gap = b.mean() - a.mean()
    if units < 30:
        expected = by_jackknife(gap, left(b) - left(a), LINE, 0.95)
    else:
        draws = drawn(Long(), b) - drawn(Long(), a)
        expected = of_difference(gap, draws, left(b) - left(a), (0.0, 10.0), Sample(units), 0.95)
    assert d.interval == pytest.approx(expected.interval)
    if units <= 12:
        signs = 1 - 2 * ((np.arange(2**units)[:, np.newaxis] >> np.arange(units)) & 1)
        every = np.abs(signs @ (b - a)) / units
        assert d.p == pytest.approx(float((every >= abs(gap) * (1 - 1e-9)).mean()))
        assert d.p_method == "all swaps"
    else:
        assert d.p_method in ("swaps", "tail bound")
    assert both([Mean()], a, b)["mean"].difference.p_method != "all swaps"


def test_sums_have_no_interval_but_a_p() -> None:
    result = both([Count(), Long()], A[:10], B[:10])
    d = result["count"].difference
    assert d.difference == pytest.approx(B[:10].sum() - A[:10].sum())
    assert (d.interval, math.isnan(d.se)) == (None, True)
    assert 0 < d.p <= 1
    assert list(result) == ["count", "long"]


def test_what_is_undefined_is_not_compared() -> None:
    sides = sides_of([state_of(A), state_of(B, n=np.zeros(40))], [Mean()], REQUEST)
    comparison = compare(sides[0], sides[1], [Mean()], REQUEST)["mean"]
    d = comparison.difference
    assert math.isnan(d.difference)
    assert math.isnan(d.p)
    assert (d.interval, d.p_method, d.why, comparison.worlds) == (None, "", "there is nothing", None)
    assert math.isnan(comparison.size)
    turned = compare(sides[1], sides[0], [Mean()], REQUEST)["mean"].difference
    assert turned.why == "there is nothing"


def test_one_unit_is_not_compared() -> None:
    d = both([Mean()], [3.0], [4.0])["mean"].difference
    assert (d.difference, d.interval, d.units, d.p_method) == (1.0, None, 1, "")
    assert math.isnan(d.p)
    two = both([Mean()], [3.0, 5.0], [4.0, 4.5])["mean"].difference
    assert 0 < two.p <= 1


def test_units_must_be_the_same() -> None:
    message = "the two predictions were not scored on the same units. Use the same truth for both."
    weighted = state_of(A, weight=np.full(40, 2.0))
    renamed = state_of(A)
    renamed = renamed.take(np.arange(40)[::-1])
    for other in (state_of(A[:39]), weighted, renamed):
        with pytest.raises(InputError) as refused:
            sides_of([state_of(A), other], [Mean()], REQUEST)
        assert str(refused.value) == message


def margin_of(metric: Any, margin: str, a: Any = A, b: Any = B) -> Difference:
    request = Request("any", draws=200, seed=3, margin={str(metric): margin, "elsewhere": "1"})
    difference: Difference = both([metric], a, b, request)[str(metric)].difference
    return difference


@pytest.mark.parametrize("metric", [Mean(), High()])
@pytest.mark.parametrize("margin", [0.05, 0.3, 0.6, 1.5])
@pytest.mark.parametrize("swap", [False, True])
def test_a_margin_moves_the_interval_of_the_gain(metric: Any, margin: float, swap: bool) -> None:
    a, b = (B, A) if swap else (A, B)
    d = margin_of(metric, str(margin), a, b)
    assert d.interval is not None
    turn = 1 if metric.better == "higher" else -1
    low, high = sorted(turn * end for end in d.interval)
    expected = margin_verdict((low + margin, high + margin), (low - margin, high - margin))
    assert (d.margin, d.margin_verdict, d.margin_level) == (margin, expected, pytest.approx(0.025))
    assert math.isnan(d.margin_relative)


@pytest.mark.parametrize("metric", [Mean(), High(), NearOne()])
@pytest.mark.parametrize("percent", [1, 6, 12, 40])
@pytest.mark.parametrize("swap", [False, True])
def test_a_share_of_a_is_drawn_with_it(metric: Any, percent: int, swap: bool) -> None:
    """The intervals of the gain plus and less the share of A's value, which is drawn too."""
    a, b = (B, A) if swap else (A, B)
    d = margin_of(metric, f"{percent}%", a, b)
    part = percent / 100
    turn, best = (1 if metric.better == "higher" else -1), (1.0 if metric.better == "one" else 0.0)
    ends = []
    for side in (1, -1):

        def gained(first: Any, second: Any, side: int = side) -> Any:
            first, second = np.abs(first - best), np.abs(second - best)
            return turn * (second - first) + side * part * first

        estimate = of_difference(
            float(gained(a.mean(), b.mean())), gained(drawn(metric, a), drawn(metric, b)), gained(left(a), left(b)),
            (0.0, 9.0) if best else (0.0, 10.0), Sample(40), 0.95,
        )  # fmt: skip
        ends.append(estimate.interval)
    assert d.margin == pytest.approx(part * abs(a.mean() - best))
    assert d.margin_relative == part
    assert d.margin_verdict == margin_verdict(ends[0], ends[1])


def test_margins_of_what_has_no_interval() -> None:
    undecided = margin_of(Count(), "5")
    assert (undecided.margin, undecided.margin_verdict) == (5.0, "undecided")
    without = both([Mean()])["mean"].difference
    assert (without.margin_verdict, math.isnan(without.margin)) == ("", True)
    request = Request("any", draws=200, margin={"mean": "1"})
    sides = sides_of([state_of(A), state_of(B, n=np.zeros(40))], [Mean()], request)
    assert compare(sides[0], sides[1], [Mean()], request)["mean"].difference.margin_verdict == ""


def test_sides_keep_their_values() -> None:
    first, second = sides_of([state_of(A), state_of(B)], [Mean()], REQUEST)
    assert first.drawn.of(Mean()).tolist() == drawn(Mean(), A).tolist()
    assert second.drawn.of(Mean()).tolist() == drawn(Mean(), B).tolist()
    assert second.drawn.of(High()).tolist() == drawn(High(), B).tolist()
    assert second.left_out is not None
    assert second.left_out.of(Mean()).tolist() == state_of(B).totals(JACKKNIFE).of(Mean()).tolist()
    assert float(second.plain.of(Mean())[0]) == pytest.approx(B.mean())


def test_clusters_are_swapped_together() -> None:
    """Four clusters of two and three units: 16 worlds."""
    cluster = np.array(["a", "a", "b", "b", "c", "c", "c", "d", "d"], dtype=object)
    a, b = A[:9], B[:9]
    request = Request("any", draws=200, seed=3, cluster="video")
    sides = sides_of([state_of(v, cluster=cluster) for v in (a, b)], [Long()], request)
    difference = compare(sides[0], sides[1], [Long()], request)["long"].difference
    sums = np.array([(b - a)[cluster == name].sum() for name in "abcd"])
    every = np.abs((1 - 2 * ((np.arange(16)[:, np.newaxis] >> np.arange(4)) & 1)) @ sums)
    assert difference.p == pytest.approx(float((every >= abs(sums.sum()) * (1 - 1e-9)).mean()))
    assert (difference.p_method, difference.units, difference.a.clusters) == ("all swaps", 9, 4)
    one = np.array(["a"] * 9, dtype=object)
    sides = sides_of([state_of(v, cluster=one) for v in (a, b)], [Long()], request)
    d = compare(sides[0], sides[1], [Long()], request)["long"].difference
    assert d.notes == ("long has no interval: all 9 units are of one video, and an interval needs two.",)


def test_proportions_are_compared_on_the_line() -> None:
    a, b = (np.where(RNG.random(40) < p, 1.0, 0.0) for p in (0.5, 0.8))
    d = both([Share()], a, b)["share"].difference
    gap = 50 * (b.mean() - a.mean())
    draws = drawn(Share(), b) - drawn(Share(), a)
    expected = of_difference(gap, draws, 50 * (left(b) - left(a)), (0.0, 100.0), Sample(40), 0.95)
    assert d.interval == pytest.approx(expected.interval)


# Ranks


def test_ranks_of_models() -> None:
    """Two models that differ by far, and one between that neither is shown apart from."""
    base = RNG.normal(0, 1, 500)
    draws = [5 + base, 5.5 + base + RNG.normal(0, 1.0, 500), 9 + base + RNG.normal(0, 0.1, 500)]
    values = [5.0, 5.5, 9.0]
    standings = standing(High(), values, draws, 0.95)
    assert standings is not None
    assert (standings.spec, standings.ranks, standings.confidence) == ("high", ((2, 3), (2, 3), (1, 1)), 0.95)
    turned = standing(Mean(), values, draws, 0.95)
    assert turned is not None
    assert turned.ranks == ((1, 2), (1, 2), (3, 3))
    near = standing(NearOne(), [1.0, -4.0, 9.0], [1 + base / 9, -4 + base / 9, 9 + base / 9], 0.95)
    assert near is not None
    assert near.ranks == ((1, 1), (2, 2), (3, 3))


def test_models_without_a_rank() -> None:
    base = RNG.normal(0, 1, 500)
    standings = standing(
        High(), [5.0, math.nan, 9.0], [5 + base, base * math.nan, 9 + base + RNG.normal(0, 0.1, 500)], 0.9
    )
    assert standings is not None
    assert standings.ranks == ((2, 2), (0, 0), (1, 1))
    same = standing(High(), [5.0, 5.0], [5 + base, 5 + base], 0.95)
    assert same is not None
    assert same.ranks == ((1, 2), (1, 2))
    assert standing(High(), [5.0, math.nan], [base, base], 0.95) is None
    assert standing(Count(), [5.0, 6.0], [base, base + 1], 0.95) is None
