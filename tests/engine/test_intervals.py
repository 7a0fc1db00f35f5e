"""The two rules of intervals: against scipy, and against calculations by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.lazy import lazy

import steelyard as sy
from steelyard.core.plan import JACKKNIFE
from steelyard.core.units import Units
from steelyard.core.weights import Entries, LeaveGroupOut, LeaveOneOut
from steelyard.engine.intervals import Parts, UnitSample, by_range, jackknife, percentile_interval
from steelyard.engine.quantiles import beta_quantile, chi2_quantile, log_gamma, t_quantile, t_tail

special = lazy("scipy.special")
scipy_stats = lazy("scipy.stats")

LINE = (-np.inf, np.inf)


def one_item_dishes(truth: Any, predicted: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    ids = [f"dish {i}" for i in range(len(truth))]
    return {"dish": ids, "weight": truth}, {"dish": ids, "weight": predicted}


@pytest.mark.parametrize("p", [0.0125, 0.025, 0.3, 0.975, 0.995])
def test_quantiles_are_scipys(p: float) -> None:
    rng = np.random.default_rng(1)
    a, b = (10 ** rng.uniform(-0.3, 5, 60) for _ in "ab")
    assert beta_quantile(p, a, b) == pytest.approx(scipy_stats.beta.ppf(p, a, b), rel=1e-9)
    for df in (1, 2.5, 4, 30.7, 1e5):
        assert t_quantile(p, df) == pytest.approx(scipy_stats.t.ppf(p, df), rel=1e-9)
        assert chi2_quantile(p, df) == pytest.approx(scipy_stats.chi2.ppf(p, df), rel=1e-9)
        assert t_tail(2.2, df) == pytest.approx(2 * scipy_stats.t.sf(2.2, df), rel=1e-9)
    assert t_quantile(p, np.inf) == pytest.approx(scipy_stats.norm.ppf(p), rel=1e-9)


def test_log_gamma_is_scipys() -> None:
    x = np.array([1e-3, 0.5, 1.0, 3.3, 9.99, 10.0, 250.0, 1e7])
    assert log_gamma(x) == pytest.approx(special.gammaln(x), rel=1e-12, abs=1e-12)


def test_the_jackknife_of_a_mean_is_its_standard_error() -> None:
    """Leaving out one value moves a mean by (mean - x) / (n - 1), so the jackknife is s / sqrt(n), and kappa is x's."""
    x = np.random.default_rng(2).exponential(3, 50)
    se, df = jackknife((x.sum() - x) / 49)
    kurtosis = scipy_stats.kurtosis(x, fisher=False)
    assert se == pytest.approx(x.std(ddof=1) / np.sqrt(50))
    assert df == pytest.approx(100 / (kurtosis - 1))
    assert jackknife(np.full(9, 0.9)) == (0.0, np.inf)


@pytest.mark.parametrize(
    ("bounds", "line", "back"),
    [
        ((0, np.inf), np.log, np.exp),
        ((-np.inf, 1), lambda v: -np.log(1 - v), lambda v: 1 - np.exp(-v)),
        ((0, 1), lambda v: special.logit(v), lambda v: special.expit(v)),
        ((-1, 1), lambda v: 2 * np.arctanh(v), lambda v: np.tanh(v / 2)),
        (LINE, float, float),
    ],
)
def test_range_scale(bounds: tuple[float, float], line: Any, back: Any) -> None:
    """The value on the line, with the draws' spread there, and Student's t with the degrees of freedom of the units."""
    rng = np.random.default_rng(3)
    x = rng.uniform(0.2, 0.9, 40)
    draws = rng.normal(x.mean(), 0.03, 500)
    left_out = (x.sum() - x) / 39
    left = x.std(ddof=1) / np.sqrt(40)
    slope = (line(x.mean() + 1e-6) - line(x.mean() - 1e-6)) / 2e-6
    drawn = np.asarray([line(draw) for draw in draws]).std(ddof=1)
    se = min(max(drawn, left * slope), 1.1 * drawn)
    df = min(2 * 40 / (scipy_stats.kurtosis(x, fisher=False) - 1), 39)
    reach = scipy_stats.t.ppf(0.975, df) * se
    values = by_range(float(x.mean()), draws, left_out, bounds, UnitSample(40), 0.95)
    low, high = back(line(x.mean()) - reach), back(line(x.mean()) + reach)
    if np.isinf(bounds[0]) != np.isinf(bounds[1]):  # the open end: that with the worst unit counted once more
        upper = np.isinf(bounds[1])
        more = np.append(x, x.max() if upper else x.min())
        middle, steep = line(more.mean()), (line(more.mean() + 1e-6) - line(more.mean() - 1e-6)) / 2e-6
        df_more = min(2 * 41 / (scipy_stats.kurtosis(more, fisher=False) - 1), 40)
        reach = scipy_stats.t.ppf(0.975, df_more) * more.std(ddof=1) / np.sqrt(41) * steep * se / (left * slope)
        low, high = (low, max(high, back(middle + reach))) if upper else (min(low, back(middle - reach)), high)
    assert values.interval == pytest.approx((low, high), rel=1e-6)
    assert values.se == pytest.approx(se / slope, rel=1e-6)
    assert values.df == pytest.approx(df)


def test_an_interval_of_means_is_students() -> None:
    """Many units with normal errors: what the range scale gives for a mean is the t interval, but for the draws."""
    rng = np.random.default_rng(4)
    truth = np.full(400, 300.0)
    error = rng.normal(3, 20, 400)
    predicted = sy.evaluate("weights", *one_item_dishes(truth, truth + error), "bias", draws=4000)["bias"]
    expected = scipy_stats.t.interval(0.95, 399, error.mean(), error.std(ddof=1) / 20)
    assert predicted.interval == pytest.approx(expected, abs=0.04 * (expected[1] - expected[0]))


def test_one_proportion_is_between_clopper_pearson_and_jeffreys() -> None:
    for hits, n in ((1, 12), (7, 30), (299, 300)):
        parts = Parts(np.array([hits / n]), np.array([float(n)]), np.eye(1))
        exact = scipy_stats.binomtest(hits, n).proportion_ci(0.95)
        jeffreys = scipy_stats.beta.ppf([0.025, 0.975], hits + 0.5, n - hits + 0.5)
        expected = ((exact.low + jeffreys[0]) / 2, (exact.high + jeffreys[1]) / 2)
        low, high = parts.ends(0.95)
        assert (low[0], high[0]) == pytest.approx(expected, rel=1e-8)


def test_a_proportion_of_units_has_its_units() -> None:
    """One item a dish: 9 of 40 are within, the jackknife's p (1 - p) / se^2 is 39, and the ends are those of 39."""
    truth = np.full(40, 100.0)
    predicted = np.where(np.arange(40) < 9, 105.0, 150.0)
    score = sy.evaluate("weights", *one_item_dishes(truth, predicted), "within@10")["within@10"]
    x, n = 9 / 40 * 39, 39
    low = (scipy_stats.beta.ppf(0.025, x, n - x + 1) + scipy_stats.beta.ppf(0.025, x + 0.5, n - x + 0.5)) / 2
    high = (scipy_stats.beta.ppf(0.975, x + 1, n - x) + scipy_stats.beta.ppf(0.975, x + 0.5, n - x + 0.5)) / 2
    assert score.interval == pytest.approx((100 * low, 100 * high), rel=1e-8)


def test_parts_are_joined_by_mover() -> None:
    """Two proportions that go together half: the distances to their ends, with that correlation, over two."""
    share, r = np.array([0.5, 0.8]), np.array([[1.0, 0.5], [0.5, 1.0]])
    moved = np.random.default_rng(5).multivariate_normal([0, 0], r, 4000)
    moved -= moved.mean(axis=0)
    parts = Parts.of(share, np.array([30.0, 40.0]), np.array([30.0, 40.0]), moved, 1e-9)
    assert parts.correlation == pytest.approx(np.corrcoef(moved.T), abs=1e-9)
    assert parts.effective.tolist() == [30.0, 40.0]  # the squares are tiny: no more than the rows
    low, high = parts.ends(0.95)
    assert (low < share).all()
    assert (share < high).all()


@pytest.mark.parametrize(("right", "expected"), [(12, (73.5352, 100.0)), (0, (0.0, 26.4648))])
def test_perfect_and_empty_scores(right: int, expected: tuple[float, float]) -> None:
    """12 of 12: a population of 73.5 % gives that in 2.5 % of test sets, 0.025 ** (1 / 12)."""
    truth = np.full(12, 100.0)
    predicted = np.where(np.arange(12) < right, 101.0, 200.0)
    score = sy.evaluate("weights", *one_item_dishes(truth, predicted), "within@10")["within@10"]
    assert score.interval == pytest.approx(expected, abs=1e-4)


def test_units_that_agree() -> None:
    """All .9 of 12 units, by hand: .9 less and plus .2646 of the way to each end. An error has no such end."""
    same = np.full(100, 0.9)
    values = by_range(0.9, same, np.full(12, 0.9), (0.0, 1.0), UnitSample(12), 0.95)
    assert values.interval == pytest.approx((0.66182, 0.92646), abs=1e-5)
    truth = np.full(12, 100.0)
    mae = sy.evaluate("weights", *one_item_dishes(truth, truth + 5), "mae")["mae"]
    assert mae.interval is None
    assert mae.why_no_interval == "all 12 units agree; up to 26 % of units may differ"


def test_a_heavy_unit_may_hide_more() -> None:
    """Shares .5, .25, .25: lambda = (.025 * .5 * .25 * .25) ** (1/3), by hand, as all three stay above it."""
    edge = (0.025 * 0.5 * 0.25 * 0.25) ** (1 / 3)
    assert UnitSample(3, np.array([2.0, 1.0, 1.0])).may_differ(0.95) == pytest.approx(1 - 3 * edge)
    assert UnitSample(3, np.ones(3)).may_differ(0.95) == pytest.approx(1 - 0.025 ** (1 / 3))
    assert UnitSample(3).may_differ(0.95) == pytest.approx(1 - 0.025 ** (1 / 3))


def test_an_end_with_draws_that_vary_holds_them() -> None:
    draws = np.where(np.arange(200) < 40, 0.5, 1.0)
    values = by_range(1.0, draws, np.full(60, 1.0), (0.0, 1.0), UnitSample(60), 0.95)
    assert values.interval == (0.5, 1.0)


def test_one_prediction_against_itself_does_not_differ() -> None:
    rng = np.random.default_rng(6)
    truth = rng.uniform(50, 400, 40)
    data, predictions = one_item_dishes(truth, truth + rng.normal(0, 20, 40))
    comparison = sy.compare("weights", data, predictions, predictions, ["mae", "within@10"])
    assert comparison["mae"].interval == comparison["within@10"].interval == (0.0, 0.0)


def test_a_score_of_an_open_range_says_what_it_rests_on() -> None:
    rng = np.random.default_rng(7)
    truth = np.full(100, 500.0)
    error = rng.normal(0, 5, 100)
    error[3] = 300.0
    report = sy.evaluate("weights", *one_item_dishes(truth, truth + error), ["rmse", "within@10"])
    assert report["rmse"].rests_on == 5
    assert report["rmse"].unseen == pytest.approx(1 - 0.025 ** (1 / 100))
    calm = sy.evaluate("weights", *one_item_dishes(truth, truth + rng.uniform(-5, 5, 100)), "rmse")["rmse"]
    assert calm.notes == ()


def test_draws_without_a_value_are_counted() -> None:
    draws = np.random.default_rng(8).normal(0.5, 0.05, 1000)
    draws[:30] = np.nan
    values = by_range(0.5, draws, None, LINE, UnitSample(50), 0.95)
    assert values.notes == ("has no value in 30 of 1,000 draws, which the interval leaves out",)
    draws[:] = np.nan
    assert (
        by_range(0.5, draws, None, LINE, UnitSample(50), 0.95).undefined_reason == "fewer than two draws have a value"
    )


def test_percentiles() -> None:
    assert percentile_interval(np.array([np.nan, np.nan]), 0.95) is None
    assert percentile_interval(np.array([1.0, np.nan, 3.0]), 0.5) == (1.5, 2.5)


def test_many_units_are_left_out_in_groups() -> None:
    """The same as leaving out each group by hand; units without a weight are in none."""
    rng = np.random.default_rng(9)
    own = rng.integers(0, 3, 2500).astype(float)
    weights = JACKKNIFE.bind(Units(np.arange(2500), own))
    assert isinstance(weights, LeaveGroupOut)
    assert 800 < weights.rows <= 1000
    assert ((weights.group >= 0) == (own > 0)).all()
    columns = rng.normal(size=(2500, 2, 3))
    rows = np.concatenate(list(weights.blocks()))
    assert rows.shape == (weights.rows, 2500)
    assert (rows[5] == np.where(weights.group == 5, 0, own)).all()
    assert weights @ columns == pytest.approx(np.einsum("ru,uab->rab", rows, columns))
    assert weights @ columns[:, 0, 0] == pytest.approx(rows @ columns[:, 0, 0])
    entries = Entries(np.repeat(np.arange(2500), 2), rng.integers(0, 4, 5000), rng.normal(size=5000), 4)
    dense = np.zeros((2500, 4))
    np.add.at(dense, (entries.owner, entries.code), entries.value)
    assert weights.scatter(entries) == pytest.approx(rows @ dense)
    assert weights.counts() is None
    plain = JACKKNIFE.bind(Units(np.arange(2500)))
    counted = plain.counts()
    assert counted is not None
    side_by_side = np.concatenate(list(counted)).transpose(0, 2, 1).reshape(-1, 2500)[: plain.rows]
    assert (side_by_side == np.concatenate(list(plain.blocks()))).all()
    assert isinstance(JACKKNIFE.bind(Units(np.arange(1000))), LeaveOneOut)


def test_one_of_many_alike_units_is_left_out() -> None:
    """Kinds of 3 and 2 units: each row lacks one unit of its kind."""
    weights = JACKKNIFE.bind(Units(np.array(["a", "b"]), None, np.array([3, 2])))
    assert np.concatenate(list(weights.blocks())).tolist() == [[2.0, 2.0], [3.0, 1.0]]
    assert (weights @ np.array([10.0, 1.0])).tolist() == [22.0, 31.0]


@pytest.mark.parametrize("gross", [0.0, 0.05])
def test_intervals_hold_the_mean_of_test_sets(gross: float) -> None:
    """200 test sets of 60 dishes. With rare gross errors an interval of rmse is too narrow, and most sets rest on few."""
    rng = np.random.default_rng(11)
    held, few, values, intervals = 0, 0, [], []
    for k in range(200):
        truth = np.full(60, 500.0)
        error = rng.normal(0, 20, 60) + np.where(rng.random(60) < gross, rng.normal(0, 150, 60), 0.0)
        score = sy.evaluate("weights", *one_item_dishes(truth, truth + error), "rmse", draws=200, seed=k)["rmse"]
        values.append(score.value)
        intervals.append(score.interval)
        few += score.rests_on < 9
    mean = np.mean(values)
    held = sum(low <= mean <= high for low, high in intervals)
    if gross:
        assert few >= 100
    else:
        assert 182 <= held <= 197
        assert few <= 60
