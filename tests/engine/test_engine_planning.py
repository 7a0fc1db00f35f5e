"""Planning and differences of finished results: the formulas, with scipy's quantiles."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats as scipy_stats

from steelyard.engine.differences import (
    DifferenceEstimate,
    by_draws,
    by_intervals,
    least_df,
    standard_error,
)
from steelyard.engine.planning import Pilot, Planned, cautious_se, reach, showable, smallest_shown, units_for
from steelyard.results.score import Score

GOLDENS = json.loads((Path(__file__).parent.parent / "goldens" / "statistics2.json").read_text(encoding="utf-8"))
PILOT = Pilot("mae", 0.02, 12.0, 100)
T, Z = scipy_stats.t.ppf(0.975, 12), scipy_stats.norm.ppf(0.8)
CAUTIOUS = 0.02 * math.sqrt(12 / scipy_stats.chi2.ppf(0.2, 12))


def score(value: float = 1.0, **more: object) -> Score:
    return Score("mae", "MAE", value, **more)  # type: ignore[arg-type]


def test_the_reach_is_t_plus_the_normal_quantile_of_the_power() -> None:
    assert reach(12.0, 0.95, 0.8) == pytest.approx(T + Z, rel=1e-9)
    assert reach(math.inf, 0.9, 0.5) == pytest.approx(scipy_stats.norm.ppf(0.95), rel=1e-12)


def test_what_is_shown_four_times_in_five() -> None:
    assert showable(0.02, 12.0, 0.95) == pytest.approx((T + Z) * 0.02, rel=1e-9)
    assert showable(0.02, 12.0, 0.95, 0.5) == pytest.approx(T * 0.02, rel=1e-9)
    assert showable(0.02, 0.5, 0.95) > 0
    for se, df in ((0.0, 12.0), (math.nan, 12.0), (-0.1, 12.0), (0.02, 0.0), (0.02, math.nan)):
        assert math.isnan(showable(se, df, 0.95))


def test_a_pilot_may_underestimate() -> None:
    assert cautious_se(PILOT) == pytest.approx(CAUTIOUS, rel=1e-9)


def test_the_smallest_difference_shown_shrinks_with_the_root_of_the_units() -> None:
    assert smallest_shown(PILOT, 400, 0.95, 0.8) == pytest.approx(
        ((T + Z) * 0.02 / 2, (T + Z) * CAUTIOUS / 2), rel=1e-9
    )
    t, z = scipy_stats.t.ppf(0.95, 12), scipy_stats.norm.ppf(0.9)
    assert smallest_shown(PILOT, 25, 0.9, 0.9) == pytest.approx(((t + z) * 0.04, (t + z) * 2 * CAUTIOUS), rel=1e-9)


def test_units_for_a_difference() -> None:
    """n ((t + z) se / target)^2, rounded up; two units at least, and no more than a million million."""
    plain, careful = (100 * ((T + Z) * se / 0.03) ** 2 for se in (0.02, CAUTIOUS))
    assert units_for(PILOT, 0.03, 0.95, 0.8) == Planned(math.ceil(plain), math.ceil(careful))
    assert units_for(PILOT, 50.0, 0.95, 0.8) == Planned(2, 2)
    assert units_for(PILOT, 1e-9, 0.95, 0.8) == Planned(10**12, 10**12)
    exact = 0.02 * reach(12.0, 0.95, 0.8)  # the pilot's own units are just enough
    assert units_for(PILOT, exact, 0.95, 0.8).units == 100


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
