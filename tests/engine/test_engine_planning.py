"""Planning and differences of finished results: the formulas, with scipy's quantiles."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.lazy import lazy

from steelyard.engine.differences import (
    DifferenceEstimate,
    by_draws,
    by_intervals,
    least_df,
    standard_error,
)
from steelyard.engine.planning import (
    Pilot,
    cautious_se,
    cluster_table,
    family_level,
    label_table,
    label_variance,
    labels_for_width,
    min_detectable,
    proportion_of,
    reach,
    reach_with,
    run_table,
    smallest_shown,
    units_for,
    units_for_width,
    units_with_runs,
    variance_with,
    width_at,
    widths,
)
from steelyard.engine.together import one_way
from steelyard.results.plan import Planned
from steelyard.results.score import ClusterVariance, FewLabels, RunSpread, Score

scipy_stats = lazy("scipy.stats")

GOLDENS = json.loads((Path(__file__).parent.parent / "goldens" / "statistics2.json").read_text(encoding="utf-8"))
PILOT = Pilot("mae", 0.02, 12.0, 100)
# By scipy: t.ppf(0.975, 12), norm.ppf(0.8) and chi2.ppf(0.2, 12).
T, Z, CHI2 = 2.1788128296672284, 0.8416212335729143, 7.807327678660992
CAUTIOUS = 0.02 * math.sqrt(12 / CHI2)


def score(value: float = 1.0, **more: object) -> Score:
    return Score("mae", "MAE", value, **more)  # type: ignore[arg-type]


def test_the_constants_are_scipys() -> None:
    scipys = scipy_stats.t.ppf(0.975, 12), scipy_stats.norm.ppf(0.8), scipy_stats.chi2.ppf(0.2, 12)
    assert pytest.approx(scipys, rel=1e-12) == (T, Z, CHI2)


def test_the_reach_is_t_plus_the_normal_quantile_of_the_power() -> None:
    assert reach(12.0, 0.95, 0.8) == pytest.approx(T + Z, rel=1e-9)
    assert reach(math.inf, 0.9, 0.5) == pytest.approx(scipy_stats.norm.ppf(0.95), rel=1e-12)


def test_what_is_shown_four_times_in_five() -> None:
    assert min_detectable(0.02, 12.0, 0.95) == pytest.approx((T + Z) * 0.02, rel=1e-9)
    assert min_detectable(0.02, 12.0, 0.95, 0.5) == pytest.approx(T * 0.02, rel=1e-9)
    assert min_detectable(0.02, 0.5, 0.95) > 0
    for se, df in ((0.0, 12.0), (math.nan, 12.0), (-0.1, 12.0), (0.02, 0.0), (0.02, math.nan)):
        assert math.isnan(min_detectable(se, df, 0.95))


def test_a_pilot_may_underestimate() -> None:
    assert cautious_se(PILOT) == pytest.approx(CAUTIOUS, rel=1e-9)


def test_the_smallest_difference_shown_shrinks_with_the_root_of_the_units() -> None:
    assert smallest_shown(PILOT, 400, 0.95, 0.8) == pytest.approx(
        ((T + Z) * 0.02 / 2, (T + Z) * CAUTIOUS / 2), rel=1e-9
    )
    t, z = scipy_stats.t.ppf(0.95, 12), scipy_stats.norm.ppf(0.9)
    assert smallest_shown(PILOT, 25, 0.9, 0.9) == pytest.approx(((t + z) * 0.04, (t + z) * 2 * CAUTIOUS), rel=1e-9)


def test_units_for_a_difference() -> None:
    """n ((t + z) se / target)^2, rounded up; two units at least, and no more than a million million.

    From 10 to 90 % of pilots with 12 degrees of freedom say chi2 / 12 times as many.
    """
    plain, careful = (100 * ((T + Z) * se / 0.03) ** 2 for se in (0.02, CAUTIOUS))
    ends = [math.ceil(plain * scipy_stats.chi2.ppf(p, 12) / 12) for p in (0.1, 0.9)]
    assert units_for(PILOT, 0.03, 0.95, 0.8) == Planned(math.ceil(plain), math.ceil(careful), *ends)
    assert units_for(PILOT, 50.0, 0.95, 0.8) == Planned(2, 2, 2, 2)
    assert units_for(PILOT, 1e-9, 0.95, 0.8) == Planned(*[10**12] * 4)
    exact = 0.02 * reach(12.0, 0.95, 0.8)  # the pilot's own units are just enough
    assert units_for(PILOT, exact, 0.95, 0.8).units == 100


@pytest.mark.parametrize(("df", "low", "high"), [(30, 0.69, 1.34), (60, 0.77, 1.24)])
def test_the_range_of_pilots(df: float, low: float, high: float) -> None:
    """chi2(.1) / df and chi2(.9) / df, from tables of chi2: 20.6 and 40.3 of 30, 46.5 and 74.4 of 60."""
    assert Pilot("mae", 1.0, df, 100).spread == pytest.approx((low, high), abs=0.005)


def test_units_for_a_width() -> None:
    """An interval 4 wide from 100 units is 2 wide with four times as many."""
    pilot = Pilot("mae", 1.0, 12.0, 100, width=4.0)
    assert units_for_width(pilot, 2.0, 0.95).units == 400
    assert units_for_width(pilot, 2.0, 0.95).cautious == math.ceil(400 * 12 / scipy_stats.chi2.ppf(0.2, 12))
    assert widths(pilot, 400, 0.95) == pytest.approx((2.0, 2.0 * math.sqrt(12 / scipy_stats.chi2.ppf(0.2, 12))))


def ends_of(share: float, n: float) -> tuple[float, float]:
    """The mean of Clopper and Pearson's and Jeffreys' ends, by scipy."""
    x, beta = share * n, scipy_stats.beta.ppf
    low = (beta(0.025, x, n - x + 1) + beta(0.025, x + 0.5, n - x + 0.5)) / 2
    return float(low), float((beta(0.975, x + 1, n - x) + beta(0.975, x + 0.5, n - x + 0.5)) / 2)


def test_units_for_the_width_of_a_proportion() -> None:
    """The ends are solved for n: at the planned units the interval is as wide as wanted, and at one fewer wider.

    n (width now / wanted)^2 would be too many: the ends of few units lie further apart than their root says.
    """
    now = ends_of(0.9, 50.0)
    assert proportion_of(0.9, now, (0.0, 1.0), 0.95) == pytest.approx((0.9, 50.0), rel=1e-6)
    assert proportion_of(90.0, (100 * now[0], 100 * now[1]), (0.0, 100.0), 0.95) == pytest.approx((0.9, 50.0), rel=1e-6)
    assert proportion_of(0.9, (now[0] - 0.02, now[1]), (0.0, 1.0), 0.95) is None  # not the ends of one proportion
    assert proportion_of(0.9, now, (0.0, math.inf), 0.95) is None
    pilot = Pilot("accuracy", 0.04, 30.0, 100, width=now[1] - now[0], share=0.9, effective=50.0)
    n = units_for_width(pilot, 0.05, 0.95).units
    reached = [high - low for low, high in (ends_of(0.9, 50 * units / 100) for units in (n, n - 1))]
    assert reached[0] <= 0.05 < reached[1]
    assert n < 100 * (pilot.width / 0.05) ** 2
    assert width_at(pilot, 400, 0.95) == pytest.approx(ends_of(0.9, 200)[1] - ends_of(0.9, 200)[0])


def test_the_level_of_a_family() -> None:
    """Bonferroni's without influences; of equal influences each test keeps the whole level, of independent ones Sidak's."""
    rng = np.random.default_rng(0)
    assert family_level(0.05, 12) == (0.05 / 12, "Bonferroni")
    assert family_level(0.05, 1)[0] == pytest.approx(0.05)
    psi = rng.normal(0, 1, 400)
    level, method = family_level(0.05, 5, [psi] * 5)
    assert method == "max-T"
    assert level == pytest.approx(0.05, abs=0.005)
    level, _ = family_level(0.05, 5, list(rng.normal(0, 1, (5, 400))))
    assert level == pytest.approx(1 - 0.95 ** (1 / 5), abs=0.002)
    shared = [psi + 0.5 * rng.normal(0, 1, 400) for _ in range(5)]  # correlated by .8
    five, ten = family_level(0.05, 5, shared)[0], family_level(0.05, 10, shared)[0]
    assert 0.05 / 10 < ten < five < 0.05
    assert family_level(0.05, 5, [np.zeros(400)]) == (0.01, "Bonferroni")


def test_the_variance_between_and_within_clusters() -> None:
    """Two clusters of two, by hand: 1, 3 and 5, 11. MSB = (2 - 5)^2 * 2 * 2 = 36, MSW = (2 + 18) / 2 = 10, m0 = 2.

    Between: (36 - 10) / 2 = 13, over 2 clusters 6.5. Within: 10 over 4 units, 2.5.
    """
    parts = one_way(np.array([1.0, 3.0, 5.0, 11.0]), np.array([0, 0, 1, 1]), 2)
    assert parts == ClusterVariance(6.5, 2.5, 2, 2.0)
    assert one_way(np.array([1.0, 3.0]), np.array([0, 1]), 2) is None
    assert one_way(np.array([1.0, 3.0]), np.array([0, 0]), 1) is None
    table = cluster_table(Pilot("mae", 3.0, 12.0, 2), parts, [2, 8], 0.95, 0.8)
    assert (table.rows, table.columns) == ((2, 8), (1, 2, 4, 8))
    # The pilot's own cell is its own error; 4 units per cluster halve the part within; 4 times the clusters halve all.
    assert table.cells[0][1][0] == pytest.approx((T + Z) * 3)
    assert table.cells[0][2][0] == pytest.approx((T + Z) * 3 * math.sqrt((6.5 + 1.25) / 9))
    assert table.cells[1][2][0] == pytest.approx((T + Z) * 3 * math.sqrt((6.5 + 1.25) / 9) / 2)
    assert table.cells[0][1][1] == pytest.approx((T + Z) * 3 * math.sqrt(12 / scipy_stats.chi2.ppf(0.2, 12)))


SPREAD = RunSpread("seeds", (0.7, 0.8, 0.75, 0.77), 4, 200, v_items=5.0, v_runs=3.0, v_both=1.0)


def test_the_variance_of_more_runs_and_units() -> None:
    """V(n', R') by hand: (5 - 1) n/n' + (3 - 1) R/R' + 1 nR/(n'R'). At the pilot 4 + 2 + 1 = 7."""
    assert variance_with(SPREAD, 1.0, 4) == (3.0, 4.0)
    assert variance_with(SPREAD, 2.0, 8) == (1.0 + 0.25, 2.0)
    df = 3.25**2 / (1.25**2 / 7 + 2.0**2 / 399)
    far = scipy_stats.t.ppf(0.975, df)
    assert reach_with(SPREAD, 2.0, 8, 0.95, 0.8) == pytest.approx((far + Z) * math.sqrt(3.25), rel=1e-6)
    assert reach_with(SPREAD, 2.0, 8, 0.95, None) == pytest.approx(2 * far * math.sqrt(3.25), rel=1e-6)
    # Two models with runs of their own: twice the degrees of freedom of runs.
    own = replace(SPREAD, values=())
    df = 3.25**2 / (1.25**2 / 14 + 2.0**2 / 399)
    assert reach_with(own, 2.0, 8, 0.95, None) == pytest.approx(2 * scipy_stats.t.ppf(0.975, df) * math.sqrt(3.25))
    table = run_table(Pilot("accuracy", math.sqrt(7), 9.0, 200), SPREAD, [200, 400], [3, 8], 0.95, 0.8)
    assert table.cells[1][1][0] == pytest.approx((far + Z) * math.sqrt(3.25), rel=1e-6)
    assert table.cells[1][1][1] == pytest.approx(table.cells[1][1][0] * math.sqrt(9 / scipy_stats.chi2.ppf(0.2, 9)))


def test_units_that_runs_allow() -> None:
    """With as many runs, V falls to 2 and no further: what needs less cannot be reached by units."""
    pilot = Pilot("accuracy", math.sqrt(7), 9.0, 200)
    n = units_with_runs(pilot, SPREAD, 8.0, 0.95, 0.8).units
    reached = [reach_with(SPREAD, units / 200, 4, 0.95, 0.8) for units in (n, n - 1)]
    assert reached[0] <= 8.0 < reached[1]
    assert units_with_runs(pilot, SPREAD, 3.0, 0.95, 0.8).units == 10**12


FEW = FewLabels(
    740, 0.5, "difference", 0.8, None, 0.05, 0.75, labelled=60, residual_variance=0.06, proxy_variance=0.0004
)


def test_what_labels_and_judged_units_bring() -> None:
    """V = .06 / n' + .25 * .0004 * 740 / N': .0011 now; .0006 with twice the labels, .00105 with twice the judged."""
    assert label_variance(FEW, 60, 740) == pytest.approx(0.0011)
    assert label_variance(FEW, 120, 740) == pytest.approx(0.0006)
    assert label_variance(FEW, 60, 1480) == pytest.approx(0.00105)
    pilot = Pilot("accuracy", 0.033, 40.0, 60, width=0.13)
    table = label_table(pilot, FEW, 0.95)
    assert (table.rows, table.columns) == ((30, 60, 120, 240), (370, 740, 1480, 2960))
    assert table.cells[1][1][0] == pytest.approx(0.13)
    assert table.cells[2][1][0] == pytest.approx(0.13 * math.sqrt(0.0006 / 0.0011))
    assert table.cells[1][2][0] == pytest.approx(0.13 * math.sqrt(0.00105 / 0.0011))
    # A width of .13 sqrt(.0006 / .0011) needs twice the labels; below .13 sqrt(.0001 / .0011) none are enough.
    wanted = labels_for_width(pilot, FEW, 0.13 * math.sqrt(0.0006 / 0.0011), 0.95)
    assert wanted.units == 120
    caution = 40 / scipy_stats.chi2.ppf(0.2, 40)
    assert wanted.cautious == math.ceil(caution * 0.06 / (0.0006 - caution * 0.0001))
    assert labels_for_width(pilot, FEW, 0.039, 0.95) is None


def test_a_difference_from_paired_draws() -> None:
    """Draws 1, 2, 3, 6 of a difference of 3: moved to no difference they are -2, -1, 0, 3; one of four is as far out."""
    draws = np.array([1.0, 2.0, math.nan, 3.0, 6.0])
    se = float(np.std([1, 2, 3, 6], ddof=1))
    far = scipy_stats.norm.ppf(0.975) * se
    assert by_draws(3.0, draws, 0.95) == DifferenceEstimate(
        3.0, (pytest.approx(3 - far), pytest.approx(3 + far)), 2 / 5, pytest.approx(se)
    )
    far = scipy_stats.t.ppf(0.95, 7) * se
    assert by_draws(3.0, draws, 0.9, 7.0).interval == pytest.approx((3 - far, 3 + far), rel=1e-9)
    assert by_draws(-3.0, -draws, 0.95).p == 2 / 5
    rounded = np.array([*[6.0] * 5, *[6.0 - 1e-13] * 5, 5.0, 6.0 - 1e-9])
    assert by_draws(3.0, rounded, 0.95).p == 11 / 13  # equal up to rounding is as far out
    assert by_draws(0.0, np.zeros(9), 0.95) == DifferenceEstimate(0.0, (0.0, 0.0), 1.0, 0.0)


def test_few_draws_as_far_out_have_the_bound_of_the_tail() -> None:
    """99 draws of which none is as far out: 1 / 100, or 3.18 normal tails, or Student's tail, whichever holds."""
    draws = np.random.default_rng(0).normal(4, 1, 99)
    draws = 4 + (draws - draws.mean()) / draws.std(ddof=1)
    bound = 3.18 * 2 * scipy_stats.norm.sf(4)
    for df, expected in ((math.inf, bound), (8.0, 2 * scipy_stats.t.sf(4, 8)), (2.0, 1 / 100)):
        assert by_draws(4.0, draws, 0.95, df).p == pytest.approx(expected, rel=1e-6)
        assert by_draws(-4.0, -draws, 0.95, df).p == pytest.approx(expected, rel=1e-6)
    # Nine as far out are too few to count, ten are enough.
    for far, expected in (
        (9, 3.18 * 2 * scipy_stats.norm.sf(4 / math.sqrt(9 * 16 * (1 - 9 / 999) / 998))),
        (10, 11 / 1000),
    ):
        some = np.where(np.arange(999) < far, 8.0, 4.0)
        assert by_draws(4.0, some, 0.95).p == pytest.approx(expected, rel=1e-6)


def test_no_difference_from_too_few_draws() -> None:
    for difference, draws in ((3.0, [1.0, math.nan]), (math.nan, [1.0, 2.0, 3.0]), (3.0, [])):
        result = by_draws(difference, np.array(draws), 0.95)
        assert (result.interval, math.isnan(result.p), math.isnan(result.se)) == (None, True, True)
        assert result.difference == difference or math.isnan(difference)
    assert by_draws(3.0, np.array([1.0, 2.0]), 0.95).interval is not None


def test_degrees_of_freedom_of_a_difference() -> None:
    assert least_df(score(df=9.0), score(df=4.5), score(df=0.0), score()) == 4.5
    assert least_df(score(), score(df=-1.0)) == math.inf


def test_a_difference_from_two_standard_errors() -> None:
    """3 and 4 make 5; a difference of 9.8 is 1.96 of them."""
    result = by_intervals(9.8, (3.0, 4.0), 0.95)
    far = 5 * scipy_stats.norm.ppf(0.975)
    assert result == DifferenceEstimate(
        9.8,
        (pytest.approx(9.8 - far), pytest.approx(9.8 + far)),
        pytest.approx(2 * scipy_stats.norm.sf(1.96)),
        5.0,
        math.inf,
    )
    assert by_intervals(-9.8, (3.0, 4.0), 0.8).p == result.p
    far = 5 * scipy_stats.norm.ppf(0.9)
    assert by_intervals(-9.8, (3.0, 4.0), 0.8).interval == pytest.approx((-9.8 - far, -9.8 + far))
    assert by_intervals(0.0, (0.0, 0.0), 0.95) == by_intervals(0.0, (0.0, 0.0), 0.5)
    alike = by_intervals(0.0, (0.0, 0.0), 0.95)
    assert (alike.difference, alike.interval, alike.p) == (0.0, (0.0, 0.0), 1.0)
    apart = by_intervals(2.0, (0.0, 0.0), 0.95)
    assert (apart.difference, apart.interval, apart.p) == (2.0, (2.0, 2.0), 0.0)
    assert math.isnan(apart.se)


def test_welch_golden() -> None:
    """Degrees of freedom, p and interval are those of scipy's `ttest_ind(equal_var=False)`."""
    golden = GOLDENS["unpaired"]
    first, second = (np.array(golden[name]) for name in ("first", "second"))
    errors = tuple(float(x.std(ddof=1)) / math.sqrt(len(x)) for x in (first, second))
    df = len(first) - 1, len(second) - 1
    result = by_intervals(float(second.mean() - first.mean()), errors, 0.95, df)  # type: ignore[arg-type]
    assert result.difference == pytest.approx(golden["difference"])
    assert (result.df, result.p) == pytest.approx((golden["df"], golden["p"]), rel=1e-9)
    assert result.interval == pytest.approx(golden["interval"], rel=1e-9)


def test_welch_keeps_its_level_where_normal_tails_do_not() -> None:
    """12 gamma units against 12, equal means: normal tails reject 7 %, Welch's t 5 %."""
    rng, low = np.random.default_rng(3), np.zeros(2)
    sets = 4000
    x = rng.gamma(2, 1, (sets, 2, 12))
    gap, se = x[:, 1].mean(-1) - x[:, 0].mean(-1), x.std(axis=-1, ddof=1) / math.sqrt(12)
    for i in range(sets):
        errors = (float(se[i, 0]), float(se[i, 1]))
        low += [by_intervals(float(gap[i]), errors, 0.95, df).p <= 0.05 for df in ((math.inf, math.inf), (11.0, 11.0))]
    normal, welch = low / sets
    assert normal > 0.06
    assert 0.035 < welch < 0.056


@pytest.mark.parametrize(("difference", "errors"), [(math.nan, (1.0, 1.0)), (2.0, (math.nan, 1.0))])
def test_no_difference_without_errors(difference: float, errors: tuple[float, float]) -> None:
    result = by_intervals(difference, errors, 0.95)
    assert (result.interval, math.isnan(result.p), math.isnan(result.se)) == (None, True, True)
    assert result.difference == difference or math.isnan(difference)


def test_the_standard_error_of_a_score() -> None:
    """Its own, or a normal one's: an interval of 90 % is 2 x 1.645 of it."""
    assert standard_error(score(se=0.5, interval=(0.0, 9.0)), 0.95) == 0.5
    expected = 3.0 / (2 * scipy_stats.norm.ppf(0.95))
    assert standard_error(score(interval=(-1.0, 2.0)), 0.9) == pytest.approx(expected)
    assert standard_error(score(interval=(-1.0, 2.0), se=0.0), 0.9) == pytest.approx(expected)
    assert math.isnan(standard_error(score(), 0.9))
    assert math.isnan(standard_error(score(interval=(-1.0, 2.0)), None))
