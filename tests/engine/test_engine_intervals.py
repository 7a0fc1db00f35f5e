"""Intervals: each rule as it is written down, with scipy's quantiles, over every kind of range."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.lazy import lazy

from steelyard.engine.intervals import (
    LINE,
    Estimate,
    Parts,
    UnitSample,
    by_jackknife,
    by_parts,
    by_range,
    influences,
    jackknife,
    percentile_interval,
)

optimize = lazy("scipy.optimize")
scipy_stats = lazy("scipy.stats")

INF = math.inf
RANGES = [LINE, (3.0, INF), (-INF, 9.0), (2.0, 10.0), (-10.0, 10.0)]


def line(x: Any, bounds: tuple[float, float]) -> Any:
    lo, hi = bounds
    if bounds == LINE:
        return np.asarray(x, dtype=float)
    if hi == INF:
        return np.log(np.asarray(x) - lo)
    if lo == -INF:
        return -np.log(hi - np.asarray(x))
    return np.log((np.asarray(x) - lo) / (hi - np.asarray(x)))


def back(y: float, bounds: tuple[float, float]) -> float:
    lo, hi = bounds
    if bounds == LINE:
        return y
    if hi == INF:
        return lo + math.exp(y)
    if lo == -INF:
        return hi - math.exp(-y)
    return lo + (hi - lo) * math.exp(y) / (1 + math.exp(y))


def slope(value: float, bounds: tuple[float, float]) -> float:
    """How fast the line moves, by a small step."""
    step = 1e-6
    return float(line(value + step, bounds) - line(value - step, bounds)) / (2 * step)


def by_rule(value: float, se: float, df: float, bounds: tuple[float, float], confidence: float) -> tuple[float, float]:
    """Student's t on the line, `se` being of the line."""
    reach = scipy_stats.t.ppf((1 + confidence) / 2, df) * se
    middle = float(line(value, bounds))
    return back(middle - reach, bounds), back(middle + reach, bounds)


def check(estimate: Estimate, interval: Any, se: float, df: float, notes: tuple[str, ...] = (), why: str = "") -> None:
    assert estimate.interval == (None if interval is None else pytest.approx(interval, rel=1e-6))
    assert estimate.se == pytest.approx(se, rel=1e-6, nan_ok=True)
    assert estimate.df == pytest.approx(df, rel=1e-6, nan_ok=True)
    assert estimate.notes == notes
    assert estimate.undefined_reason == why


def left_out_of(x: Any) -> Any:
    """Leaving out one value of a mean."""
    return (x.sum() - x) / (len(x) - 1)


def test_an_estimate_of_nothing() -> None:
    estimate = Estimate()
    assert (estimate.interval, estimate.undefined_reason, estimate.notes) == (None, "", ())
    assert math.isnan(estimate.se)
    assert math.isnan(estimate.df)


# The share of units that may differ


def test_units_that_agree_may_be_a_part_of_all() -> None:
    assert UnitSample(12).may_differ(0.95) == pytest.approx(1 - 0.025 ** (1 / 12), rel=1e-12)
    assert UnitSample(12).may_differ(0.8) == pytest.approx(1 - 0.1 ** (1 / 12), rel=1e-12)
    assert UnitSample(12, np.full(12, 7.0)).may_differ(0.8) == pytest.approx(1 - 0.1 ** (1 / 12), rel=1e-9)


@pytest.mark.parametrize("weights", [[8.0, 1.0, 1.0], [50.0, 30.0, 1.0, 1.0, 1.0, 0.1], [3.0, 2.0, 0.0, 1.0]])
def test_unequal_units_may_hide_more(weights: list[float]) -> None:
    """sum a max(0, 1 - lambda / a), with lambda from sum min(0, log(lambda / a)) = log(alpha / 2)."""
    a = np.array([w for w in weights if w]) / sum(weights)
    edge = optimize.brentq(lambda y: np.minimum(0, y - np.log(a)).sum() - math.log(0.025), -40, 0, xtol=1e-14)
    expected = float((a * np.maximum(0, 1 - math.exp(edge) / a)).sum())
    assert UnitSample(len(weights), np.array(weights)).may_differ(0.95) == pytest.approx(expected, rel=1e-9)


# The jackknife


def test_influences_by_hand() -> None:
    u, times = influences(np.array([1.0, math.nan, 4.0]), None)
    assert (u.tolist(), times.tolist()) == ([-1.5, 1.5], [1.0, 1.0])
    u, times = influences(np.array([1.0, math.nan, 5.0]), np.array([3.0, 9.0, 1.0]))
    assert (u.tolist(), times.tolist()) == ([-1.0, 3.0], [3.0, 1.0])
    for left_out, alike in (([math.nan], None), ([], None), ([1.0, 2.0], [0.0, 0.0])):
        u, times = influences(np.array(left_out), None if alike is None else np.array(alike))
        assert (u.tolist(), times.tolist()) == ([], [])


def test_the_jackknife_by_hand() -> None:
    """Of 0, 0, 0, 4: u is -1, -1, -1, 3, its squares add to 12 and its fourth powers to 84."""
    se, df = jackknife(np.array([0.0, 0.0, 0.0, 4.0]))
    assert se == pytest.approx(math.sqrt(3 / 4 * 12))
    assert df == pytest.approx(8 / (4 * 84 / 144 - 1))
    assert jackknife(np.array([0.0, 4.0, math.nan]), np.array([3.0, 1.0, 5.0])) == pytest.approx((se, df))


def test_the_jackknife_without_spread() -> None:
    assert jackknife(np.array([5.0])) == (0.0, INF)
    assert jackknife(np.array([math.nan, math.nan])) == (0.0, INF)
    assert jackknife(np.array([5.0, 5.0 + 1e-14, math.nan])) == (0.0, INF)
    assert jackknife(np.array([-5.0, -5.0 + 4e-12])) == (0.0, INF)
    assert jackknife(np.array([5.0, 5.0 + 1e-10]))[0] == pytest.approx(0.5e-10, rel=1e-4)
    # Two values, half of the units each: the fourth moment is the least there is, and the error rests on all.
    assert jackknife(np.array([1.0, 3.0])) == (1.0, INF)
    assert jackknife(np.array([1.0, 3.0]), np.array([4.0, 4.0])) == (pytest.approx(math.sqrt(7)), INF)


# Rule A


@pytest.mark.parametrize("bounds", RANGES)
@pytest.mark.parametrize("ratio", [0.5, 1.05, 3.0])
@pytest.mark.parametrize("confidence", [0.95, 0.8])
def test_the_range_scale(bounds: tuple[float, float], ratio: float, confidence: float) -> None:
    """The jackknife's standard error counts where it is larger than that of the draws, up to a tenth more."""
    rng = np.random.default_rng(1)
    x = rng.uniform(4, 8, 40)
    value, left = float(x.mean()), x.std(ddof=1) / math.sqrt(40)
    draws = rng.normal(size=300)
    draws = value + (draws - draws.mean()) / draws.std(ddof=1) * left / ratio
    h = slope(value, bounds)
    drawn = line(draws, bounds).std(ddof=1)
    se = min(max(drawn, left * h), 1.1 * drawn)
    df = min(2 * 40 / (scipy_stats.kurtosis(x, fisher=False) - 1), 39)
    estimate = by_range(value, draws, left_out_of(x), bounds, UnitSample(40), confidence)
    low, high = by_rule(value, se, df, bounds, confidence)
    if math.isinf(bounds[0]) != math.isinf(bounds[1]):  # the open end: that with the worst unit once more
        more = np.append(x, x.max() if math.isinf(bounds[1]) else x.min())
        mean, df_more = float(more.mean()), min(2 * 41 / (scipy_stats.kurtosis(more, fisher=False) - 1), 40)
        se_more = more.std(ddof=1) / math.sqrt(41) * slope(mean, bounds) * se / (left * h)
        ends = by_rule(mean, se_more, df_more, bounds, confidence)
        low, high = (low, max(high, ends[1])) if math.isinf(bounds[1]) else (min(low, ends[0]), high)
    check(estimate, (low, high), se / h, df)


@pytest.mark.parametrize("bounds", RANGES)
def test_without_a_jackknife_the_draws_decide(bounds: tuple[float, float]) -> None:
    draws = np.random.default_rng(2).normal(6, 0.2, 200)
    se = line(draws, bounds).std(ddof=1)
    estimate = by_range(6.0, draws, None, bounds, UnitSample(50), 0.95)
    check(estimate, by_rule(6.0, se, 49, bounds, 0.95), se / slope(6.0, bounds), 49)


def test_degrees_of_freedom_have_a_floor() -> None:
    """One of 40 units makes nearly all of the spread: 2 n / (kappa - 1) is about 2, and 4 is taken."""
    rng = np.random.default_rng(3)
    x = rng.normal(0, 0.1, 40)
    x[7] = 30.0
    value = float(x.mean())
    draws = value + rng.normal(0, 0.7, 300)
    left = x.std(ddof=1) / math.sqrt(40)
    se = min(max(draws.std(ddof=1), left), 1.1 * draws.std(ddof=1))
    estimate = by_range(value, draws, left_out_of(x), LINE, UnitSample(40), 0.95)
    check(estimate, by_rule(value, se, 4, LINE, 0.95), se, 4)
    for k in (3, 5):  # about 2 k
        x = np.where(np.arange(400) < k, 30.0, 0.0)
        df = 2 * 400 / (scipy_stats.kurtosis(x, fisher=False) - 1)
        assert 4 < df < 12
        estimate = by_range(float(x.mean()), draws, left_out_of(x), LINE, UnitSample(400), 0.95)
        assert estimate.df == pytest.approx(df)
        assert estimate.notes == ()


def test_two_units_have_one_degree_of_freedom() -> None:
    draws = np.array([5.0, 6.0, 7.0, 6.5])
    estimate = by_range(6.0, draws, None, (0.0, 10.0), UnitSample(2), 0.95)
    se = line(draws, (0.0, 10.0)).std(ddof=1)
    check(estimate, by_rule(6.0, se, 1, (0.0, 10.0), 0.95), se / slope(6.0, (0.0, 10.0)), 1)
    assert by_range(6.0, draws, None, (0.0, 10.0), UnitSample(1), 0.95).df == 1


def test_draws_without_a_value_are_left_out_and_counted() -> None:
    """One in a hundred may be lost in silence."""
    draws = np.random.default_rng(4).normal(6, 0.2, 2000)
    for lost, notes in ((20, ()), (21, ("has no value in 21 of 2,000 draws, which the interval leaves out",))):
        some = draws.copy()
        some[:lost] = math.nan
        se = draws[lost:].std(ddof=1)
        estimate = by_range(6.0, some, None, LINE, UnitSample(30), 0.95)
        check(estimate, by_rule(6.0, se, 29, LINE, 0.95), se, 29, notes)


def test_fewer_than_two_draws() -> None:
    for draws in ([math.nan] * 3, [math.nan, 2.0], []):
        estimate = by_range(6.0, np.array(draws), None, LINE, UnitSample(30), 0.95)
        check(estimate, None, math.nan, math.nan, (), "fewer than two draws have a value")
    assert by_range(6.0, np.array([5.0, 7.0, math.nan]), None, LINE, UnitSample(30), 0.95).interval is not None


@pytest.mark.parametrize(
    ("end", "count", "inner"), [(10.0, 10, True), (10.0, 11, False), (0.0, 10, True), (0.0, 11, False)]
)
def test_draws_on_an_end_of_the_range(end: float, count: int, inner: bool) -> None:
    """The line has no place for them. Up to one in twenty they are left out; more, and the spread is taken as it is."""
    draws = np.random.default_rng(5).normal(6, 0.5, 200)
    draws[:count] = end
    bounds, h = (0.0, 10.0), 10 / (6 * 4)
    se = line(draws[count:], bounds).std(ddof=1) if inner else draws.std(ddof=1) * h
    estimate = by_range(6.0, draws, None, bounds, UnitSample(50), 0.95)
    check(estimate, by_rule(6.0, se, 49, bounds, 0.95), se / h, 49)


def test_all_draws_but_one_on_the_ends() -> None:
    """Then the line has no spread, even where such draws are few enough: here one of two."""
    draws = np.array([0.0, 10.0, 10.0])
    estimate = by_range(6.0, draws, None, (0.0, 10.0), UnitSample(50), 0.95)
    se = draws.std(ddof=1) * 10 / 24
    check(estimate, by_rule(6.0, se, 49, (0.0, 10.0), 0.95), draws.std(ddof=1), 49)


def test_draws_that_are_all_alike_leave_the_jackknife() -> None:
    x = np.random.default_rng(6).uniform(4, 8, 40)
    value, left = float(x.mean()), x.std(ddof=1) / math.sqrt(40)
    bounds = (0.0, 10.0)
    h = slope(value, bounds)
    df = min(2 * 40 / (scipy_stats.kurtosis(x, fisher=False) - 1), 39)
    estimate = by_range(value, np.full(100, value), left_out_of(x), bounds, UnitSample(40), 0.95)
    check(estimate, by_rule(value, left * h, df, bounds, 0.95), left, df)


def test_ends_beyond_what_a_number_holds() -> None:
    """Draws over hundreds of powers of e: an end is cut at e^700, and nothing overflows."""
    draws = np.exp(np.array([-600.0, 100.0, -600.0, 100.0]))
    high = by_range(1.0, draws, None, (0.0, INF), UnitSample(50), 0.95).interval
    assert high is not None
    assert high[1] == pytest.approx(math.exp(700), rel=1e-9)
    low = by_range(-1.0, -draws, None, (-INF, 0.0), UnitSample(50), 0.95).interval
    assert low is not None
    assert low[0] == pytest.approx(-math.exp(700), rel=1e-9)
    both = by_range(
        0.5, np.exp(np.array([-700.0, -10.0, -700.0, -10.0])), None, (0.0, 1.0), UnitSample(50), 0.95
    ).interval
    assert both is not None
    assert 0 < both[0] < 1e-300
    assert both[1] == 1.0


def test_alike_units_count_as_many() -> None:
    """Rows of a jackknife that stand for 3, 1 and 36 units: the same as 40 rows."""
    times = np.array([3.0, 1.0, 36.0])
    rows = np.array([5.0, 7.0, 6.1])
    draws = np.random.default_rng(9).normal(6, 0.1, 200)
    parts = Parts(np.array([0.6]), np.array([40.0]), np.eye(1))
    listed, kinds = np.repeat(rows, [3, 1, 36]), UnitSample(40, None, times)
    for bounds in RANGES:
        estimate = by_range(6.0, draws, rows, bounds, kinds, 0.95)
        same = by_range(6.0, draws, listed, bounds, UnitSample(40), 0.95)
        check(estimate, same.interval, same.se, same.df, same.notes)
    estimate = by_parts(6.0, draws, rows, parts, (2.0, 10.0), kinds, 0.95)
    same = by_parts(6.0, draws, listed, parts, (2.0, 10.0), UnitSample(40), 0.95)
    low, high = ends_of(24.0, 40.0, 0.025)
    check(estimate, (6 - 8 * (0.6 - low), 6 + 8 * (high - 0.6)), same.se, same.df)


# No spread


def test_units_that_agree() -> None:
    """Each end lies as far off as the share that may differ could move the value: 1 - .025 ** (1 / 12)."""
    share = 1 - 0.025 ** (1 / 12)
    same = np.full(100, 7.0)
    interval = (7 - 5 * share, 7 + 3 * share)
    check(by_range(7.0, same, np.full(12, 7.0), (2.0, 10.0), UnitSample(12), 0.95), interval, 0.0, 11)
    check(by_range(7.0, same * (1 + 1e-14), None, (2.0, 10.0), UnitSample(12), 0.95), interval, 0.0, 11)
    share = 1 - 0.1 ** (1 / 1200)
    why = f"all 1,200 units agree; up to {100 * share:.2g} % of units may differ"
    for bounds in ((0.0, INF), (-INF, 9.0), LINE):
        estimate = by_range(7.0, same, np.full(1200, 7.0), bounds, UnitSample(1200), 0.8)
        check(estimate, None, 0.0, 1199, (), why)
    assert why == "all 1,200 units agree; up to 0.19 % of units may differ"


def test_tiny_values_are_not_alike() -> None:
    """The spread is held against the size of the values, not against 1."""
    draws = np.array([1e-20, 2e-20, 3e-20, 2e-20])
    estimate = by_range(2e-20, draws, None, LINE, UnitSample(50), 0.95)
    check(estimate, by_rule(2e-20, draws.std(ddof=1), 49, LINE, 0.95), draws.std(ddof=1), 49)


@pytest.mark.parametrize("value", [10.0, 10.0 + 1e-13, 11.0])
def test_a_value_on_the_end_of_its_range(value: float) -> None:
    """The percentiles of the draws, united with what units that agree may hide; inside the range."""
    draws = np.linspace(9, 10, 101)
    share = 1 - 0.025 ** (1 / 50)
    estimate = by_range(value, draws, None, (2.0, 10.0), UnitSample(50), 0.95)
    check(estimate, (min(9.025, value - (value - 2) * share), 10.0), draws.std(ddof=1), 49)
    few = by_range(value, draws, None, (2.0, 10.0), UnitSample(500), 0.95)
    check(few, (9.025, 10.0), draws.std(ddof=1), 499)


@pytest.mark.parametrize("value", [2.0, 2.0 + 1e-13, 1.0])
def test_a_value_on_the_low_end(value: float) -> None:
    draws = np.linspace(2, 3, 101)
    share = 1 - 0.025 ** (1 / 50)
    estimate = by_range(value, draws, None, (2.0, 10.0), UnitSample(50), 0.95)
    check(estimate, (2.0, max(2.975, value + (10 - value) * share)), draws.std(ddof=1), 49)
    check(by_range(value, draws, None, (2.0, 10.0), UnitSample(500), 0.95), (2.0, 2.975), draws.std(ddof=1), 499)


def test_an_end_at_zero_is_near_only_to_what_is_tiny() -> None:
    """A small error of a range from 0 up is a value, unless it is as small as rounding."""
    draws = np.array([1e-9, 2e-9, 3e-9, 2e-9])
    se = line(draws, (0.0, INF)).std(ddof=1)
    estimate = by_range(2e-9, draws, None, (0.0, INF), UnitSample(50), 0.95)
    check(estimate, by_rule(2e-9, se, 49, (0.0, INF), 0.95), se * 2e-9, 49)


def test_an_end_of_a_range_without_another() -> None:
    draws = np.linspace(0, 1, 101)
    draws[:3] = math.nan
    kept = draws[3:]
    notes = ("has no value in 3 of 101 draws, which the interval leaves out",)
    estimate = by_range(0.0, draws, None, (0.0, INF), UnitSample(50), 0.8)
    # The percentiles of the draws, and the value itself.
    check(estimate, (0.0, np.quantile(kept, 0.9)), kept.std(ddof=1), 49, notes)
    estimate = by_range(1.0, draws, None, (-INF, 1.0), UnitSample(50), 0.8)
    check(estimate, (np.quantile(kept, 0.1), 1.0), kept.std(ddof=1), 49, notes)
    same = by_range(0.0, np.where(draws > 0, 0.0, draws), np.zeros(50), (0.0, INF), UnitSample(50), 0.95)
    check(same, None, 0.0, 49, notes, "all 50 units agree; up to 7.1 % of units may differ")


def test_percentiles() -> None:
    assert percentile_interval(np.array([math.nan, 1.0]), 0.95) is None
    assert percentile_interval(np.array([1.0, math.nan, 3.0]), 0.5) == (1.5, 2.5)
    assert percentile_interval(np.arange(101.0), 0.9) == pytest.approx((5.0, 95.0))


# Rule B


def ends_of(x: float, n: float, tail: float) -> tuple[float, float]:
    """The mean of the Clopper-Pearson and the Jeffreys ends."""
    beta = scipy_stats.beta.ppf
    low = (beta(tail, x, n - x + 1) + beta(tail, x + 0.5, n - x + 0.5)) / 2
    high = (beta(1 - tail, x + 1, n - x) + beta(1 - tail, x + 0.5, n - x + 0.5)) / 2
    return float(low), float(high)


@pytest.mark.parametrize("confidence", [0.95, 0.8])
def test_the_ends_of_proportions(confidence: float) -> None:
    """.25 of 40, .9 of 10.5; none of 12 and all of 7 have Clopper and Pearson's, tail ** (1 / n)."""
    tail = (1 - confidence) / 2
    parts = Parts(np.array([0.25, 0.9, 0.0, 1.0]), np.array([40.0, 10.5, 12.0, 7.0]), np.eye(4))
    low, high = parts.ends(confidence)
    first, second = ends_of(10.0, 40.0, tail), ends_of(0.9 * 10.5, 10.5, tail)
    assert low == pytest.approx([first[0], second[0], 0.0, tail ** (1 / 7)], rel=1e-8)
    assert high == pytest.approx([first[1], second[1], 1 - tail ** (1 / 12), 1.0], rel=1e-8)


def test_ends_hold_the_share() -> None:
    """Of one unit and a share near an end the formula may pass the share; an end never does."""
    parts = Parts(np.array([0.001, 0.999]), np.array([1.0, 1.0]), np.eye(2))
    low, high = parts.ends(0.05)
    assert (low <= parts.share).all()
    assert (high >= parts.share).all()


def test_parts_from_what_units_move() -> None:
    """Two parts that move against each other, one that does not move, one at its end and one unmoved inside."""
    deviations = np.array(
        [[0.3, -0.1, 0.0, 0.1, 0.0], [-0.3, 0.1, 0.0, -0.1, 0.0], [0.0, math.nan, 0.0, 0.0, 0.0]],
    )
    share, rows, units = np.array([0.5, 0.2, 0.0, 1.0, 0.3]), np.array([9.0, 99, 6, 5, 0]), np.array([9.0, 9, 6, 4, 3])
    parts = Parts.of(share, rows, units, deviations, 0.5)
    assert parts.share.tolist() == share.tolist()
    # p (1 - p) / (factor x sum of squares), from 1 up to the rows; the units where there is no spread, or an end.
    assert parts.effective == pytest.approx([0.25 / 0.09, 0.16 / 0.01, 6.0, 4.0, 1.0])
    expected = np.eye(5)
    expected[0, 1] = expected[1, 0] = expected[1, 3] = expected[3, 1] = -1.0
    expected[0, 3] = expected[3, 0] = 1.0
    assert parts.correlation == pytest.approx(expected, abs=1e-12)
    halves = Parts.of(np.array([0.5, 0.5]), np.array([9.0, 9]), np.array([9.0, 9]), np.array([[1.0, 1], [1, 0]]), 1.0)
    assert halves.correlation == pytest.approx(np.array([[1.0, math.sqrt(0.5)], [math.sqrt(0.5), 1.0]]))
    assert halves.effective.tolist() == [1.0, 1.0]
    tiny = Parts.of(np.array([0.5]), np.array([9.0]), np.array([9.0]), np.array([[1e-9], [0.0]]), 1.0)
    assert tiny.effective.tolist() == [9.0]


def test_mover() -> None:
    """sqrt(d' R d) / G of the distances to the ends, on the scale of the range, inside it."""
    parts = Parts(np.array([0.5, 0.8]), np.array([30.0, 40.0]), np.array([[1.0, 0.5], [0.5, 1.0]]))
    (low1, high1), (low2, high2) = ends_of(15.0, 30.0, 0.025), ends_of(32.0, 40.0, 0.025)
    below = np.array([0.5 - low1, 0.8 - low2])
    above = np.array([high1 - 0.5, high2 - 0.8])
    reach = [50 * math.sqrt(d[0] ** 2 + d[1] ** 2 + d[0] * d[1]) for d in (below, above)]
    x = np.random.default_rng(7).uniform(0, 1, 40)
    df = min(2 * 40 / (scipy_stats.kurtosis(x, fisher=False) - 1), 39)
    draws = np.append(np.linspace(60, 70, 50), [math.nan] * 2)
    estimate = by_parts(65.0, draws, left_out_of(x), parts, (0.0, 100.0), UnitSample(40), 0.95)
    notes = ("has no value in 2 of 52 draws, which the interval leaves out",)
    check(estimate, (65 - reach[0], 65 + reach[1]), x.std(ddof=1) / math.sqrt(40), df, notes)
    estimate = by_parts(65.0, draws, None, parts, (0.0, 100.0), UnitSample(40), 0.95)
    check(estimate, (65 - reach[0], 65 + reach[1]), draws[:50].std(ddof=1), 39, notes)
    for value, clipped in ((5.0, (0.0, 5 + reach[1])), (95.0, (95 - reach[0], 100.0))):
        estimate = by_parts(value, draws[:50], np.full(40, 1.0), parts, (0.0, 100.0), UnitSample(40), 0.95)
        check(estimate, clipped, draws[:50].std(ddof=1), 39)
    heavy = np.where(np.arange(40) == 3, 30.0, 0.0)
    estimate = by_parts(65.0, draws[:1], left_out_of(heavy), parts, (0.0, 100.0), UnitSample(40), 0.95)
    assert (estimate.df, estimate.notes) == (4, ())
    bare = by_parts(65.0, draws[:1], None, parts, (0.0, 100.0), UnitSample(1), 0.95)
    check(bare, (65 - reach[0], 65 + reach[1]), math.nan, 1)


def test_parts_that_cancel_out_have_no_reach() -> None:
    """Two parts that only move against each other: rounding below 0 is 0."""
    r = np.array([[1.0, -1.0 - 1e-12], [-1.0 - 1e-12, 1.0]])
    parts = Parts(np.array([0.5, 0.5]), np.array([30.0, 30.0]), r)
    estimate = by_parts(0.5, np.array([0.5, 0.6]), None, parts, (0.0, 1.0), UnitSample(40), 0.95)
    assert estimate.interval == (0.5, 0.5)


# Few long units, and differences


def test_the_interval_of_few_long_units() -> None:
    """Of leave-one-out 1, 2, 3, 6: se is sqrt(3 / 4 x 14), with three degrees of freedom."""
    left_out = np.array([1.0, 2.0, 3.0, 6.0])
    se = math.sqrt(0.75 * 14)
    reach = scipy_stats.t.ppf(0.95, 3) * se
    check(by_jackknife(3.0, left_out, LINE, 0.9), (3 - reach, 3 + reach), se, 3)
    check(by_jackknife(3.0, left_out, (0.0, 4.0), 0.9), (0.0, 4.0), se, 3)
    for few in (left_out[:3], np.append(left_out, math.nan)):
        check(by_jackknife(3.0, few, LINE, 0.9), None, math.nan, math.nan)
