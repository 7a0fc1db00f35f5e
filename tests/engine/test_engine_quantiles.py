"""The distributions against scipy, with the number of steps that they may take."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.lazy import lazy

from steelyard.engine import quantiles
from steelyard.engine.quantiles import (
    beta_cdf,
    beta_quantile,
    chi2_quantile,
    gamma_cdf,
    log_gamma,
    normal,
    t_quantile,
    t_tail,
)

special = lazy("scipy.special")
scipy_stats = lazy("scipy.stats")


def test_log_gamma() -> None:
    """On both sides of 10, where the series begins without a recurrence; whole numbers by factorials."""
    x = np.array([1e-3, 0.25, 0.5, 1.7, 3.3, 6.01, 9.999, 10.0, 10.001, 25.5, 1e4, 1e9])
    assert log_gamma(x) == pytest.approx(special.gammaln(x), rel=2e-14, abs=3e-13)
    for n in range(1, 20):
        assert float(log_gamma(n + 1)) == pytest.approx(math.log(math.factorial(n)), rel=1e-14, abs=3e-14)
    # The series ends with its fifth term. The sixth, 691 / (360360 x^11), is what it may miss.
    for shifted in (8.001, 8.5, 10.0):
        x = shifted - 8 if shifted < 10 else shifted
        missed = abs(float(log_gamma(x)) - float(special.gammaln(x)))
        assert missed < 1.2 * 691 / (360360 * shifted**11) + 1e-14


def test_beta_cdf(monkeypatch: pytest.MonkeyPatch) -> None:
    """On both sides of the mean, out to the ends, with few terms: the fraction is read from the side where it is short."""
    monkeypatch.setattr(quantiles, "_MOST_TERMS", 40)
    a = np.array([0.5, 0.5, 1.0, 2.0, 3.0, 7.5, 30.0, 30.0, 200.0, 1.0])
    b = np.array([0.5, 12.0, 1.0, 5.0, 0.5, 7.5, 2.0, 90.0, 180.0, 30.0])
    for x in (1e-12, 0.01, 0.2, 0.35, 0.5, 0.55, 0.8, 0.97, 1 - 1e-9):
        assert beta_cdf(x, a, b) == pytest.approx(special.betainc(a, b, x), rel=3e-12, abs=1e-290)
    assert beta_cdf([-0.5, 0.0, 1.0, 1.5], 2.0, 3.0).tolist() == [0.0, 0.0, 1.0, 1.0]
    # x is where the two sides meet, (a + 1) / (a + b + 2).
    assert float(beta_cdf(3 / 9, 2.0, 5.0)) == pytest.approx(special.betainc(2, 5, 3 / 9), rel=1e-13)
    assert beta_cdf([[0.1], [0.9]], [1.0, 2.0], 3.0).shape == (2, 2)


def test_beta_cdf_of_one_and_of_whole_numbers_by_hand() -> None:
    """I_x(a, 1) = x^a and I_x(1, b) = 1 - (1 - x)^b; I_x(2, 2) = x^2 (3 - 2 x)."""
    x = np.array([0.1, 0.4, 0.5, 0.6, 0.9])
    assert beta_cdf(x, 3.0, 1.0) == pytest.approx(x**3, rel=1e-13)
    assert beta_cdf(x, 1.0, 4.0) == pytest.approx(1 - (1 - x) ** 4, rel=1e-13)
    assert beta_cdf(x, 2.0, 2.0) == pytest.approx(x**2 * (3 - 2 * x), rel=1e-13)


def test_beta_quantile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Newton's steps begin so near that few are needed. Levels, a and b may be arrays."""
    monkeypatch.setattr(quantiles, "_MOST_STEPS", 18)
    p = np.array([0.005, 0.025, 0.2, 0.5, 0.975])[:, np.newaxis]
    a = np.array([0.5, 1.5, 12.0, 250.0, 900.0])
    for b in (0.5, 4.0, 60.0):
        assert beta_quantile(p, a, b) == pytest.approx(scipy_stats.beta.ppf(p, a, b), rel=1e-10)
    monkeypatch.setattr(quantiles, "_MOST_STEPS", 7)
    for b in (12.0, 250.0):
        assert beta_quantile(0.025, a[2:4], b) == pytest.approx(scipy_stats.beta.ppf(0.025, a[2:4], b), rel=1e-11)


def test_beta_quantiles_near_an_end() -> None:
    assert float(beta_quantile(0.975, 13.0, 0.01)) == pytest.approx(1.0, abs=1e-15)
    assert float(beta_quantile(0.025, 0.01, 5.0)) == pytest.approx(scipy_stats.beta.ppf(0.025, 0.01, 5.0), rel=1e-9)


@pytest.mark.parametrize("p", [0.005, 0.2, 0.5, 0.975])
def test_t_and_chi_squared(p: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantiles, "_MOST_STEPS", 12)
    monkeypatch.setattr(quantiles, "_MOST_T_STEPS", 12)
    for df in (1, 3.7, 29, 1e6):
        assert chi2_quantile(p, df) == pytest.approx(scipy_stats.chi2.ppf(p, df), rel=1e-9)
    for df in (3.7, 4, 29, 300.5, 1e6):
        assert t_quantile(p, df) == pytest.approx(scipy_stats.t.ppf(p, df), rel=1e-9, abs=1e-15)
    for df in (1.1e7, math.inf):
        assert t_quantile(p, df) == pytest.approx(normal().inv_cdf(p), rel=1e-15, abs=1e-15)
    if p != 0.5:
        assert t_quantile(p, 1e7) == pytest.approx(scipy_stats.t.ppf(p, 1e7), rel=3e-9)
        assert t_quantile(p, 1e7) != normal().inv_cdf(p)


def test_t_by_hand() -> None:
    """One degree of freedom is Cauchy's: tan(pi (p - 1/2)). Two: 2 (p - 1/2) sqrt(2 / (4 p (1 - p)))."""
    for p in (0.1, 0.25, 0.5, 0.75, 0.975):
        assert t_quantile(p, 1) == pytest.approx(math.tan(math.pi * (p - 0.5)), rel=1e-10, abs=1e-15)
        assert t_quantile(p, 2) == pytest.approx(2 * (p - 0.5) * math.sqrt(2 / (4 * p * (1 - p))), rel=1e-10, abs=1e-15)
    assert t_quantile(0.5, 7) == 0.0


def test_the_tail_of_t() -> None:
    for df in (1, 4, 30.7, 1e6):
        for t in (-3.1, 0.0, 0.4, 2.2, 40.0):
            assert t_tail(t, df) == pytest.approx(2 * scipy_stats.t.sf(abs(t), df), rel=1e-9)
    assert t_tail(1.0, 1) == pytest.approx(0.5)  # Cauchy: half lies beyond one
    for df in (1.1e7, math.inf):
        assert t_tail(-1.96, df) == t_tail(1.96, df) == pytest.approx(2 * scipy_stats.norm.sf(1.96), rel=1e-12)
    assert t_tail(2.0, 1e7) != 2 * normal().cdf(-2.0)


def test_gamma_cdf(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both the series and the fraction, with few terms; P(1, x) = 1 - exp(-x)."""
    monkeypatch.setattr(quantiles, "_MOST_TERMS", 60)
    for a in (0.5, 1.0, 2.0, 4.5, 25.0):
        for x in (1e-9, 0.3, 1.0, a, a + 0.99, a + 1, a + 1.01, 3 * a, 60.0):
            assert gamma_cdf(x, a) == pytest.approx(special.gammainc(a, x), rel=1e-12)
    assert gamma_cdf(0.7, 1.0) == pytest.approx(1 - math.exp(-0.7), rel=1e-14)
    assert gamma_cdf(2.7, 1.0) == pytest.approx(1 - math.exp(-2.7), rel=1e-14)
    assert gamma_cdf(0.0, 2.0) == gamma_cdf(-1.0, 2.0) == 0.0


def test_chi_squared_by_hand() -> None:
    """Of two degrees of freedom it is exponential: -2 log(1 - p). A tiny share lies far below the start."""
    assert chi2_quantile(0.3, 2) == pytest.approx(-2 * math.log(0.7), rel=1e-11)
    assert chi2_quantile(1e-6, 4) == pytest.approx(scipy_stats.chi2.ppf(1e-6, 4), rel=1e-7)


def test_zero_is_moved_away_from_itself() -> None:
    """The fractions divide by such numbers."""
    assert quantiles._away(np.array([0.0, 2.0, -3.0])).tolist() == [1e-300, 2.0, -3.0]
    assert [quantiles._far(x) for x in (0.0, -1e-301, 2.0, -3.0)] == [1e-300, 1e-300, 2.0, -3.0]


def test_a_root_is_bracketed_where_newtons_step_leaves() -> None:
    """A slope that is far too small throws the step out of the bracket; halves still find the root, 0.3."""
    root = quantiles._solve(
        lambda x: x**3 - 0.027, lambda x: np.full_like(x, 1e-9), np.array([5.0]), np.array([-10.0]), np.array([10.0])
    )
    assert root == pytest.approx([0.3], rel=1e-9)
    exact = quantiles._solve(
        lambda x: x - 2.0, lambda x: np.ones_like(x), np.array([2.0]), np.array([0.0]), np.array([9.0])
    )
    assert exact.tolist() == [2.0]


def test_the_normal_distribution_is_the_standard_one() -> None:
    assert (normal().mean, normal().stdev) == (0.0, 1.0)
