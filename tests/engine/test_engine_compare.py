"""Comparisons: the difference, its interval, the worlds, and every field, from the values of each unit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.engine_states import Count, Endless, High, Long, Mean, NearOne, Share, state_of
from support.refusal import refuses

from steelyard import _native
from steelyard.core.draws import unit_keys
from steelyard.core.plan import JACKKNIFE
from steelyard.core.request import Request
from steelyard.engine.compare import compare
from steelyard.engine.flips import Coins, Influence, flip_test
from steelyard.engine.margins import margin_verdict
from steelyard.engine.paired import MetricTraits
from steelyard.engine.planning import min_detectable
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


KEYS = unit_keys(np.array([f"u{i:03}" for i in range(40)]))


def signs(units: int, request: Request = REQUEST) -> Any:
    """The coins of all worlds: all of them for 12 units or fewer."""
    if units <= 12:
        return 2.0 * ((np.arange(1 << units)[:, np.newaxis] >> np.arange(units)) & 1) - 1
    return 2 * _native.flip_totals(KEYS[:units], np.eye(units), request.seed, 0, request.draws) - 1


def flipped(values: Any, request: Request = REQUEST, confidence: float = 0.95) -> Any:
    """The flips of a mean of values, whose influences are the values less it."""
    values = np.asarray(values, dtype=float)
    coins = Coins(KEYS[: len(values)], request.seed, request.draws)
    psi = values - values.mean()
    return flip_test(float(values.mean()), Influence(coins, psi, coins.sums(psi[:, np.newaxis])[:, 0]), confidence)


def share_of_worlds(values: Any) -> float:
    """p by the definition: the worlds in which the mean of flipped values is as large."""
    values = np.asarray(values, dtype=float)
    means = np.abs(signs(len(values)) @ values) / len(values)
    extreme = np.count_nonzero(means >= abs(values.mean()) * (1 - 1e-9))
    return extreme / len(means) if len(values) <= 12 else (1 + extreme) / (1 + len(means))


def se_of(values: Any) -> float:
    return float(np.std(values, ddof=1) / math.sqrt(len(values)))


def test_a_difference_of_means() -> None:
    compared = both([Mean()])["mean"]
    gap = B - A
    d = compared.difference
    expected = flipped(gap)
    assert d.difference == pytest.approx(gap.mean())
    assert d.interval == pytest.approx(expected.interval)
    assert (d.p, d.p_method) == (pytest.approx(share_of_worlds(gap)), "flips")
    assert d.se == pytest.approx(se_of(gap))
    u = gap - gap.mean()
    assert d.df == pytest.approx(min(80 / (40 * (u**4).sum() / (u**2).sum() ** 2 - 1), 39))
    assert d.min_detectable == pytest.approx(min_detectable(d.se, d.df, 0.95))
    assert compared.test.worlds == pytest.approx(np.abs(signs(40) @ gap) / 40, rel=1e-5, abs=1e-6)
    assert compared.test.worlds.dtype == np.float32
    assert compared.test.spread == pytest.approx(math.sqrt(float((gap**2).sum())) / 40)
    sides = sides_of([state_of(A), state_of(B)], [Mean()], REQUEST)
    assert d == Difference(
        spec="mean", label="Mean of x", a=sides[0].scores["mean"], b=sides[1].scores["mean"], difference=d.difference,
        interval=d.interval, p=d.p, p_holm=math.nan, verdict="", units=40, better="lower", measured_in="g", se=d.se,
        df=d.df, p_method=d.p_method, min_detectable=d.min_detectable,
        null_hypothesis="both models have the same mean in the population of units",
    )  # fmt: skip


def test_another_confidence() -> None:
    request = Request("any", draws=200, seed=3, confidence=0.8, margin={"mean": "0.5"})
    d = both([Mean()], request=request)["mean"].difference
    assert d.interval == pytest.approx(flipped(B - A, confidence=0.8).interval)
    assert d.min_detectable == pytest.approx(min_detectable(d.se, d.df, 0.8))
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
    assert result.difference.difference == pytest.approx(far(B.mean()) - far(A.mean()))
    gap, total = share_of_worlds(B - A), flipped(B + A - 2 * best).p
    assert result.difference.p == pytest.approx(max(gap, total))
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
    assert math.isnan(d.min_detectable)


@pytest.mark.parametrize("metric", [Mean(), Long()])
@pytest.mark.parametrize("units", [4, 6, 12, 13, 30])
def test_few_units(metric: Any, units: int) -> None:
    """Up to 12 units p walks all flips; below six units nothing can be excluded."""
    gap = B[:units] - A[:units]
    d = both([metric], A[:units], B[:units])[str(metric)].difference
    assert d.p == pytest.approx(share_of_worlds(gap))
    assert d.p_method == ("all flips" if units <= 12 else "flips")
    if units < 6:
        assert d.interval is None
        assert d.notes[0] == f"{metric} has no interval: {units} units are too few for a confidence of 95 %."
    else:
        assert d.interval == pytest.approx(flipped(gap).interval)


def test_sums_have_no_interval_but_a_p() -> None:
    result = both([Count(), Long()], A[:10], B[:10])
    d = result["count"].difference
    assert d.difference == pytest.approx(B[:10].sum() - A[:10].sum())
    assert (d.interval, math.isnan(d.se)) == (None, True)
    gap = B[:10] - A[:10]
    assert d.p == share_of_worlds(9 * (gap - gap.mean()) + gap.sum())  # a sum's influence is n - 1 times the deviation
    assert list(result) == ["count", "long"]


def test_what_is_undefined_is_not_compared() -> None:
    sides = sides_of([state_of(A), state_of(B, n=np.zeros(40))], [Mean()], REQUEST)
    comparison = compare(sides[0], sides[1], [Mean()], REQUEST)["mean"]
    d = comparison.difference
    assert math.isnan(d.difference)
    assert math.isnan(d.p)
    assert (d.interval, d.p_method, d.undefined_reason, comparison.test) == (None, "", "there is nothing", None)
    turned = compare(sides[1], sides[0], [Mean()], REQUEST)["mean"].difference
    assert turned.undefined_reason == "there is nothing"


def test_one_unit_is_not_compared() -> None:
    d = both([Mean()], [3.0], [4.0])["mean"].difference
    assert (d.difference, d.interval, d.units, d.p_method) == (1.0, None, 1, "")
    assert math.isnan(d.p)
    two = both([Mean()], [3.0, 5.0], [4.0, 4.5])["mean"].difference
    assert 0 < two.p <= 1


def test_units_must_be_the_same() -> None:
    weighted = state_of(A, weight=np.full(40, 2.0))
    renamed = state_of(A)
    renamed = renamed.take(np.arange(40)[::-1])
    for other in (state_of(A[:39]), weighted, renamed):
        with refuses("E-incompatible", "scored"):
            sides_of([state_of(A), other], [Mean()], REQUEST)


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
def test_a_share_of_a_is_as_uncertain_as_a(metric: Any, percent: int, swap: bool) -> None:
    """The gain plus and less a share of A's value is a mean of units too: B less (1 -+ share) times A."""
    a, b = (B, A) if swap else (A, B)
    d = margin_of(metric, f"{percent}%", a, b)
    part, best = percent / 100, 1.0 if metric.better == "one" else 0.0
    turn = 1 if metric.better == "higher" else -1
    ends = []
    for side in (1, -1):
        times = 1 - turn * side * part
        low, high = flipped((b - best) - times * (a - best)).interval
        if best:
            total = flipped((b - best) + times * (a - best)).interval
            corners = [math.copysign(min(abs(g), abs(t)), g * t) for g in (low, high) for t in total]
            low, high = min(corners), max(corners)
        ends.append(tuple(sorted(turn * end for end in (low, high))))
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
    assert second.leave_one_out is not None
    assert second.leave_one_out.of(Mean()).tolist() == state_of(B).totals(JACKKNIFE).of(Mean()).tolist()
    assert float(second.plain.of(Mean())[0]) == pytest.approx(B.mean())


def test_clusters_are_flipped_together() -> None:
    """Four clusters of equal size: 16 worlds of their means."""
    cluster = np.array(["a", "a", "b", "b", "c", "c", "d", "d"], dtype=object)
    a, b = A[:8], B[:8]
    request = Request("any", draws=200, seed=3, cluster="video")
    sides = sides_of([state_of(v, cluster=cluster) for v in (a, b)], [Mean()], request)
    difference = compare(sides[0], sides[1], [Mean()], request)["mean"].difference
    means = np.array([(b - a)[cluster == name].mean() for name in "abcd"])
    assert difference.p == pytest.approx(share_of_worlds(means))
    assert (difference.p_method, difference.units, difference.a.clusters) == ("all flips", 8, 4)
    one = np.array(["a"] * 8, dtype=object)
    sides = sides_of([state_of(v, cluster=one) for v in (a, b)], [Mean()], request)
    d = compare(sides[0], sides[1], [Mean()], request)["mean"].difference
    assert d.notes == ("mean has no interval: all 8 units are of one video, and an interval needs two.",)


def test_proportions() -> None:
    a, b = (np.where(RNG.random(40) < p, 1.0, 0.0) for p in (0.5, 0.8))
    d = both([Share()], a, b)["share"].difference
    assert d.interval == pytest.approx(flipped(50 * (b - a)).interval)


def test_differences_that_all_units_show_alike() -> None:
    """B is 1 g above A in all 40 dishes, of a range of 10: up to 1 - .025 ** (1 / 40) of all may lose 10."""
    a = np.full(40, 4.0)
    d = both([Mean()], a, a + 1.0)["mean"].difference
    share = 1 - 0.025 ** (1 / 40)
    assert d.interval == pytest.approx((1 - share * 11, 1 + share * 9))
    assert (d.p, d.p_method) == (pytest.approx(2 * (10 / 11) ** 40), "agreement")
    endless = both([Endless()], a, a + 1.0)["endless"].difference
    assert (endless.interval, endless.p_method) == (None, "tail bound")


# Ranks


def model(values: Any) -> Influence:
    values = np.asarray(values, dtype=float)
    coins = Coins(unit_keys(np.arange(len(values))), 3, 500)
    psi = values - values.mean()
    return Influence(coins, psi, coins.sums(psi[:, np.newaxis])[:, 0])


def test_ranks_of_models() -> None:
    """Two models that differ by far, and one between that neither is shown apart from."""
    base = RNG.normal(0, 1, 60)
    units = [5 + base, 5.1 + base + RNG.normal(0, 2.0, 60), 9 + base + RNG.normal(0, 0.1, 60)]
    values, each = [float(one.mean()) for one in units], [model(one) for one in units]
    standings = standing(MetricTraits.of(High()), values, each, 0.95)
    assert standings is not None
    assert (standings.spec, standings.ranks, standings.confidence) == ("high", ((2, 3), (2, 3), (1, 1)), 0.95)
    turned = standing(MetricTraits.of(Mean()), values, each, 0.95)
    assert turned is not None
    assert turned.ranks == ((1, 2), (1, 2), (3, 3))
    units = [1 + base / 9, -4 + base / 9, 9 + base / 9 + RNG.normal(0, 0.1, 60)]
    near = standing(
        MetricTraits.of(NearOne()), [float(one.mean()) for one in units], [model(one) for one in units], 0.95
    )
    assert near is not None
    assert near.ranks == ((1, 1), (2, 2), (3, 3))


def test_equal_distances_share_their_rank() -> None:
    """At -1, 1 and 4 the first two are equally far from 0, whichever way each errs."""
    rng = np.random.default_rng(9)
    units = [centre + rng.normal(0, 0.5, 60) for centre in (-1.0, 1.0, 4.0)]
    standings = standing(
        MetricTraits.of(Endless()), [float(one.mean()) for one in units], [model(one) for one in units], 0.95
    )
    assert standings is not None
    assert standings.ranks == ((1, 2), (1, 2), (3, 3))


def test_models_without_a_rank() -> None:
    base = RNG.normal(0, 1, 60)
    each = [model(5 + base), model(base), model(9 + base + RNG.normal(0, 0.1, 60))]
    standings = standing(MetricTraits.of(High()), [5.0, math.nan, 9.0], each, 0.9)
    assert standings is not None
    assert standings.ranks == ((2, 2), (0, 0), (1, 1))
    assert standings.letters == ("b", "", "a")
    same = standing(MetricTraits.of(High()), [5.0, 5.0], [each[0], each[0]], 0.95)
    assert same is not None
    assert same.ranks == ((1, 2), (1, 2))
    assert standing(MetricTraits.of(High()), [5.0, math.nan], each[:2], 0.95) is None
    assert standing(MetricTraits.of(Count()), [5.0, 6.0], each[:2], 0.95) is None


def test_a_level_decides_which_ranks_are_shown() -> None:
    """A gap of about 2.2 standard errors is shown at 90 %, and not at 99 %."""
    base = np.random.default_rng(10).normal(0, 1, 100)
    gap = base - base.mean() + 0.22
    for confidence, expected in ((0.9, ((2, 2), (1, 1))), (0.99, ((1, 2), (1, 2)))):
        standings = standing(MetricTraits.of(High()), [0.0, 0.22], [model(np.zeros(100)), model(gap)], confidence)
        assert standings is not None
        assert standings.ranks == expected
