"""Few labels: the formulas of PPI++ and of Rogan and Gladen, written out for means, and every field of the score."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.engine_states import LOST, Count, Given, Mean, N, X, state_of
from support.lazy import lazy

from steelyard.core.block import SumBlock
from steelyard.core.draws import unit_keys
from steelyard.core.errors import InputError
from steelyard.core.frozen import frozen
from steelyard.core.request import Request
from steelyard.engine.intervals import UnitSample, by_range
from steelyard.engine.proxy import _halves, _trust, cross_fitted, proxy_scores
from steelyard.engine.score import score
from steelyard.results.score import FewLabels, Score

scipy_stats = lazy("scipy.stats")

GOLDENS = json.loads((Path(__file__).parent.parent / "goldens" / "statistics2.json").read_text(encoding="utf-8"))
RNG = np.random.default_rng(7)
TRUE = RNG.uniform(3, 7, 64)
CHEAP = TRUE + RNG.normal(0.5, 0.8, 64)
Y, F, OTHERS = TRUE[:24], CHEAP[:24], CHEAP[24:]
REQUEST = Request("any", draws=200, seed=4, proxy="judge.csv")


def scored(y: Any, f: Any, others: Any, request: Request = REQUEST, metric: Any = None, **units: Any) -> Score:
    states = [state_of(x, **units) for x in (y, f)]
    metric = Mean() if metric is None else metric
    result = proxy_scores(states[0], states[1], state_of(others), [metric], request)
    assert list(result) == [str(metric)]
    return result[str(metric)]


def first_half(n: int) -> Any:
    """Every second unit in the order of the keys."""
    keys = unit_keys(state_of(np.zeros(n)).units.ids).tolist()
    mine = np.zeros(n, dtype=bool)
    mine[sorted(range(n), key=lambda i: keys[i])[::2]] = True
    return mine


def expected_trust(y: Any, f: Any, spread: float) -> list[float]:
    """cov(y, f) / n over var(f) / n and the variance of the others' mean, of each half about its own means."""
    n, mine = len(y), first_half(len(y))
    halves = [np.cov(y[h], f[h]) / n for h in (mine, ~mine)]
    return [float(np.clip(both[0, 1] / (both[1, 1] + spread), 0, 1)) for both in halves]


def test_a_mean_by_truth_and_proxy() -> None:
    """theta = mean(y) + lambda (mean of the others - mean of f), its influences raised by the others' variance."""
    n = len(Y)
    y_draws, f_draws, o_draws = (state_of(x).totals(REQUEST.plan).of(Mean()) for x in (Y, F, OTHERS))
    spread = OTHERS.var(ddof=1) / len(OTHERS)
    trust = expected_trust(Y, F, spread)
    mean = sum(trust) / 2
    assert 0.2 < min(trust) < max(trust) < 0.9
    assert abs(trust[0] - trust[1]) > 0.02
    value = Y.mean() + mean * (OTHERS.mean() - F.mean())
    own = np.where(first_half(n), trust[1], trust[0])
    r = (Y - Y.mean()) - own * (F - F.mean())
    u = -r / (n - 1)
    of_labels = (n - 1) / n * ((u - u.mean()) ** 2).sum()
    u = u * math.sqrt(1 + mean**2 * spread / of_labels)
    estimate = by_range(value, y_draws + mean * (o_draws - f_draws), u, (0.0, 10.0), UnitSample(n), 0.95)
    alone = score(state_of(Y), [Mean()], REQUEST)["mean"]
    result = scored(Y, F, OTHERS)
    assert result.value == pytest.approx(value, rel=1e-12)
    assert result.interval == pytest.approx(estimate.interval, rel=1e-9)
    assert (result.se, result.df) == pytest.approx((estimate.se, estimate.df))
    about = result.few_labels
    assert about is not None
    assert about.trust == pytest.approx(mean)
    assert about == FewLabels(
        40, about.trust, "difference", alone.value, alone.interval, alone.se, pytest.approx(OTHERS.mean()), 24,
        about.residual_variance, pytest.approx(spread),
    )  # fmt: skip
    squares = sum(((r[h] - r[h].mean()) ** 2).sum() for h in (first_half(n), ~first_half(n)))
    assert about.residual_variance == pytest.approx(squares / (n - 2))
    assert result.notes == (
        f"mean is {Y.mean():.4g} by truth alone and {OTHERS.mean():.4g} by the proxy on the others, which is trusted "
        f"to {mean:.2f}; its standard error is {100 * estimate.se / alone.se:.0f} % of that by truth alone.",
    )
    assert (result.spec, result.label, result.units, result.better) == ("mean", "Mean of x", 24, "lower")


def test_halves_are_by_key() -> None:
    units = state_of(np.zeros(9)).units
    assert _halves(units).tolist() == first_half(9).tolist()
    order = np.array([4, 8, 0, 2, 7, 1, 3, 6, 5])
    assert _halves(units.take(order)).tolist() == first_half(9)[order].tolist()
    persons = np.array(list("ccbbaa"), dtype=object)
    keys = unit_keys(np.array(["a", "b", "c"], dtype=object))
    middle = int(np.argsort(keys)[1])
    by_person = _halves(state_of(np.zeros(6), cluster=persons).units)
    assert by_person.tolist() == [i != middle for i in range(3)]


def test_trust_of_some_rows() -> None:
    """Deviations -2, 0, 2 and -1, 0, 1 of three rows of five: covariance 4 / 2 / 5 over variance 2 / 2 / 5 + 0.6."""
    a, b = np.array([3.0, 5.0, 7.0]), np.array([0.0, 1.0, 2.0])
    assert _trust(a, b, 5, 0.6) == pytest.approx(0.4 / 0.8)
    assert _trust(a / 4, b, 5, 0.0) == pytest.approx(0.5)
    assert _trust(-a, b, 5, 0.6) == 0.0
    assert _trust(a, b, 5, 0.0) == 1.0
    assert _trust(a[:1], b[:1], 5, 0.6) == 0.0
    assert _trust(a[:2], b[:2], 5, 0.1) == pytest.approx(1 / 5 / (0.5 / 5 + 0.1))
    assert _trust(np.zeros(3), np.zeros(3), 5, 0.0) == 0.0


def test_rows_without_a_value_move_nothing() -> None:
    """Influences of eight rows of which two have none, either by truth or by proxy."""
    y = np.array([0.1, 0.4, np.nan, 0.2, 0.5, 0.3, 0.9, 0.6])
    f = np.array([0.2, 0.3, 0.8, 0.1, 0.7, 0.3, np.nan, 0.4])
    known, mine = ~(np.isnan(y) | np.isnan(f)), first_half(8)
    trust = []
    for half in (mine & known, ~mine & known):
        both = np.cov(y[half], f[half]) / 6
        trust.append(float(np.clip(both[0, 1] / (both[1, 1] + 0.001), 0, 1)))
    fit = cross_fitted(y, f, 0.001, mine)
    assert fit.trust == pytest.approx(sum(trust) / 2)
    assert 0 < min(trust) < max(trust)
    raw = y - np.where(mine, trust[1], trust[0]) * f
    assert fit.residual[known] == pytest.approx(raw[known])
    assert np.isnan(fit.residual[~known]).all()
    squares = sum(((raw[h] - raw[h].mean()) ** 2).sum() for h in (mine & known, ~mine & known))
    assert fit.of_labels == pytest.approx(squares / (6 * 4))


def test_a_proxy_that_is_the_truth_leaves_no_residual() -> None:
    """Where all others agree, the proxy is trusted whole, and no labelled unit moves anything."""
    y = np.array([-0.225, 0.075, -0.125, 0.275])
    fit = cross_fitted(y, y, 0.0, first_half(4))
    assert (fit.trust, fit.of_labels, fit.jackknife_values.tolist()) == (1.0, 0.0, [0.0] * 4)


@frozen
class Right(Mean):
    """The share of right units."""

    name, range, better = "right", (0.0, 1.0), "higher"

    def proportions(self, totals: Any) -> Any:
        return totals[X], totals[N]


@frozen
class RightOfTwo(Mean):
    """The mean of two shares, of right units among those of two classes."""

    name, range, better = "right_of_two", (0.0, 1.0), "higher"

    def reduce(self, totals: Any) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            return (totals[X] / totals[N] + totals[LOST] / totals[OF]) / 2

    def requirements(self) -> Any:
        return X, N, LOST, OF

    def excluded(self, totals: Any) -> tuple[float, str]:
        return 0.0, ""

    def notes(self, totals: Any) -> tuple[str, ...]:
        return ()

    def proportions(self, totals: Any) -> Any:
        return np.stack([totals[X], totals[LOST]], axis=1), np.stack([totals[N], totals[OF]], axis=1)


OF = Given("of")


def test_a_proportion_has_the_golden_interval() -> None:
    """The page's own numbers: the golden's halves are every second unit, so units are given in such an order."""
    golden = GOLDENS["proxy"]
    place = np.argsort(~first_half(12), kind="stable")  # the units of the first half, then those of the second
    order = np.empty(12, dtype=int)
    order[place] = np.argsort(~np.array(golden["first_half"]), kind="stable")
    y, f = (np.array(golden[name])[order] for name in ("truth", "judge_same"))
    result = scored(y, f, golden["judge_others"], metric=Right())
    about = result.few_labels
    assert about is not None
    assert about.trust == pytest.approx(sum(golden["trust"]) / 2, rel=1e-12)
    assert result.value == pytest.approx(golden["value"], rel=1e-12)
    assert result.interval == pytest.approx(golden["interval"], rel=1e-9)
    v, n_e = golden["value"] * (1 - golden["value"]), golden["effective"]
    assert n_e == 12  # the bound from below: what the formula gives is less
    assert v / (about.residual_variance / 12 + about.trust**2 * about.proxy_variance) < 12
    assert result.se**2 == pytest.approx(about.residual_variance / 12 + about.trust**2 * about.proxy_variance)
    assert (about.labelled, about.others) == (12, 60)


def proportion(y: Any, f: Any, others: Any) -> tuple[float, float, float]:
    """The page's formulas: value, effective units and s^2."""
    y, f, others = (np.asarray(one, dtype=float) for one in (y, f, others))
    n, rest, half = len(y), len(others), first_half(len(y))
    spread = others.var(ddof=1) / rest
    trust = expected_trust(y, f, spread)
    theta = min(max(y.mean() + sum(trust) / 2 * (others.mean() - f.mean()), 0.0), 1.0)
    r, v = y - np.where(half, trust[1], trust[0]) * f, theta * (1 - theta)
    squares = sum(((r[h] - r[h].mean()) ** 2).sum() for h in (half, ~half))
    s2 = (squares + 4 * v) / (n + 2)
    effective = v / (s2 / n + (sum(trust) / 2) ** 2 * spread) if v else n
    return theta, float(np.clip(effective, n, n + rest)), s2


def ends(p: float, n: float) -> tuple[float, float]:
    """The mean of Clopper and Pearson's ends and of Jeffreys'."""
    beta = scipy_stats.beta.ppf
    x, y = p * n, n - p * n
    low = (beta(0.025, x, y + 1) + beta(0.025, x + 0.5, y + 0.5)) / 2 if x > 0 else 0.0
    high = (beta(0.975, x + 1, y) + beta(0.975, x + 0.5, y + 0.5)) / 2 if y > 0 else 1.0
    return (0.025 ** (1 / n) if y <= 0 else float(low)), (1 - 0.025 ** (1 / n) if x <= 0 else float(high))


@pytest.mark.parametrize(("wrong", "missed"), [((3, 17, 30), (3, 17)), ((3, 17, 30), (3, 8)), ((), ()), ((3,), (5,))])
def test_a_proportion_follows_the_formulas(wrong: tuple[int, ...], missed: tuple[int, ...]) -> None:
    """40 units, some wrong, some wrong by the judge; 400 more of which 40 are wrong by the judge."""
    y, f = np.ones(40), np.ones(40)
    y[list(wrong)], f[list(missed)] = 0.0, 0.0
    others = np.repeat([1.0, 0.0], [360, 40])
    theta, effective, s2 = proportion(y, f, others)
    result = scored(y, f, others, metric=Right())
    assert result.value == pytest.approx(theta)
    assert result.interval == pytest.approx(ends(theta, effective), rel=1e-9)
    assert result.few_labels is not None
    assert result.few_labels.residual_variance == pytest.approx(s2)
    plain = scored(y, f, others, replace(REQUEST, confidence=None), metric=Right())
    assert plain.few_labels is not None
    assert plain.few_labels.residual_variance == pytest.approx(s2)


def test_a_proxy_of_few_labels_narrows_a_proportion_near_one() -> None:
    """What the range scale made wider than the labels' own interval."""
    y, f = np.ones(40), np.ones(40)
    y[7] = f[7] = f[20] = 0.0
    result = scored(y, f, np.repeat([1.0, 0.0], [740, 60]), metric=Right())
    assert result.interval is not None
    assert result.few_labels is not None
    assert result.few_labels.labels_interval is not None
    low, high = result.few_labels.labels_interval
    assert result.interval[1] - result.interval[0] < high - low


def test_units_of_several_rows_count_by_their_rows() -> None:
    """Ten equal rows per unit: as many units, and up to ten times the rows; unequal ones are worth fewer units."""
    rng = np.random.default_rng(3)
    y = rng.binomial(10, 0.8, 40).astype(float)
    f = np.clip(y + rng.integers(-1, 2, 40), 0, 10)
    rest = rng.binomial(10, 0.8, 400).astype(float)
    states = [state_of(x, n=np.full(len(x), 10.0)) for x in (y, f, rest)]
    result = proxy_scores(*states, [Right()], REQUEST)["right"]
    psi = result.few_labels
    assert psi is not None
    assert result.interval is not None
    v = result.value * (1 - result.value)
    variance = psi.residual_variance / 40 + psi.trust**2 * psi.proxy_variance
    assert 40 < v / variance < 4400
    assert result.interval == pytest.approx(ends(result.value, v / variance), rel=1e-9)
    n = np.where(np.arange(40) < 4, 91.0, 1.0)
    whole = proxy_scores(
        state_of(n, n=n), state_of(n, n=n), state_of(np.ones(50)), [Right()], REQUEST
    )["right"]  # fmt: skip
    kish = n.sum() ** 2 / (n**2).sum()
    assert whole.interval == pytest.approx((0.025 ** (1 / kish), 1.0))


def two_shares(x: Any, of_first: Any) -> Any:
    """Units of two classes, each right or wrong."""
    x, first = np.asarray(x, dtype=float), np.asarray(of_first)
    base = state_of(x * first, n=first.astype(float), lost=x * ~first)
    return replace(base, blocks={**base.blocks, OF: SumBlock((~first).astype(float))})


def test_a_mean_of_two_proportions() -> None:
    """Each part with four pseudo-units, joined by MOVER with the correlation of the corrected influences."""
    rng = np.random.default_rng(5)
    first = np.arange(60) % 3 == 0
    y = (rng.random(60) < 0.8).astype(float)
    f = np.where(rng.random(60) < 0.9, y, 1 - y)
    of_others = np.arange(600) % 3 == 0
    others = (rng.random(600) < 0.78).astype(float)
    states = two_shares(y, first), two_shares(f, first), two_shares(others, of_others)
    result = proxy_scores(*states, [RightOfTwo()], REQUEST)["right_of_two"]
    about = result.few_labels
    assert about is not None
    trust, half = about.trust, first_half(60)

    def influences(x: Any, mine: Any) -> Any:
        """Of a share among the units of a class; the jackknife has each a little larger, (n - 1) / (m - 1)."""
        n, m = len(x), mine.sum()
        psi = np.where(mine, (x - x[mine].mean()) * (n - 1) / (m - 1), 0.0)
        return psi

    def alike(m: int) -> float:
        """The variance of a unit over that of a row: 1 but for the jackknife's (n - 1) / (m - 1)."""
        return (59 / 60 * m / (m - 1)) ** 2

    theta, low, high, matrix = [], [], [], []
    own = cross_fitted(
        sum(influences(y, c) for c in (first, ~first)) / 2,
        sum(influences(f, c) for c in (first, ~first)) / 2,
        about.proxy_variance,
        half,
    )
    assert own.trust == pytest.approx(trust)
    labels, rest = [], []
    for mine, theirs in ((first, of_others), (~first, ~of_others)):
        p = y[mine].mean() + trust * (others[theirs].mean() - f[mine].mean())
        r = influences(y, mine) - own.own * influences(f, mine)
        for h in (half, ~half):
            r[h] -= r[h].mean()
        labels.append(r / math.sqrt(60 * 58))
        rest.append(trust * influences(others, theirs) / math.sqrt(600 * 599))
        m = mine.sum()
        shrunk = ((m - 2) * (labels[-1] ** 2).sum() + 4 * alike(m) * p * (1 - p) / m) / (m + 2)
        effective = max(p * (1 - p) / (shrunk + (rest[-1] ** 2).sum()), m)
        theta.append(p)
        one = ends(p, effective)
        low.append(one[0])
        high.append(one[1])
    matrix = [
        [labels[i] @ labels[j] + rest[i] @ rest[j] for j in (0, 1)] for i in (0, 1)
    ]  # fmt: skip
    correlation = matrix[0][1] / math.sqrt(matrix[0][0] * matrix[1][1])
    value = sum(theta) / 2
    assert result.value == pytest.approx(value)
    reach = []
    for side in (np.subtract(theta, low), np.subtract(high, theta)):
        reach.append(math.sqrt(side[0] ** 2 + side[1] ** 2 + 2 * correlation * side[0] * side[1]) / 2)
    assert result.interval == pytest.approx((value - reach[0], value + reach[1]), rel=1e-6)


def test_classes_that_the_proxy_lacks_take_the_range_scale() -> None:
    """The judge's other units have no unit of the second class: no proportions to join."""
    rng = np.random.default_rng(6)
    first = np.arange(30) % 2 == 0
    y = (rng.random(30) < 0.8).astype(float)
    states = two_shares(y, first), two_shares(y, first), two_shares(np.ones(90), np.ones(90, dtype=bool))
    result = proxy_scores(*states, [RightOfTwo()], REQUEST)["right_of_two"]
    assert result.few_labels is not None
    assert math.isnan(result.few_labels.proxy_alone)


@pytest.mark.parametrize(
    ("y", "others", "end"), [([0.0, 0.2, 0.1, 0.4] * 3, 0.2, 0.0), ([9.9, 9.7, 9.8] * 4, 9.6, 10.0)]
)
def test_the_value_stays_in_its_range(y: list[float], others: float, end: float) -> None:
    f = 5 + 2 * (np.array(y) - np.mean(y))
    result = scored(y, f, others + 0.01 * np.arange(-20, 20))
    assert result.value == end


def test_without_intervals_the_value_is_the_same() -> None:
    whole = scored(Y, F, OTHERS)
    plain = scored(Y, F, OTHERS, Request("any", draws=200, seed=4, confidence=None))
    assert (plain.value, plain.interval) == (whole.value, None)
    assert math.isnan(plain.se)
    assert plain.few_labels is not None
    assert whole.few_labels is not None
    assert (plain.few_labels.trust, plain.few_labels.proxy_alone) == (
        whole.few_labels.trust,
        whole.few_labels.proxy_alone,
    )
    assert plain.notes == (whole.notes[0].partition(";")[0] + ".",)


def test_another_confidence() -> None:
    wide, narrow = (
        scored(Y, F, OTHERS, Request("any", draws=200, seed=4, confidence=level)).interval for level in (0.99, 0.5)
    )
    assert wide is not None
    assert narrow is not None
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_draws_are_not_kept() -> None:
    result = scored(Y, F, OTHERS, Request("any", draws=200, save_draws=True))
    assert result.draws is None
    assert result.interval is not None


def test_one_label_says_nothing_of_the_proxy() -> None:
    result = scored([4.0], [5.0], OTHERS)
    assert (result.value, result.interval, result.units) == (4.0, None, 1)
    assert math.isnan(result.se)
    assert result.few_labels is not None
    assert (result.few_labels.trust, result.few_labels.others) == (0.0, 40)
    two = scored([4.0, 4.5], [5.0, 5.5], OTHERS)
    assert two.interval is not None


def test_without_a_value_by_the_proxy_the_labels_stand_alone() -> None:
    alone = score(state_of(Y), [Mean()], REQUEST)["mean"]
    nothing = state_of(OTHERS, n=np.zeros(40))
    result = proxy_scores(state_of(Y), state_of(F), nothing, [Mean()], REQUEST)["mean"]
    assert (result.value, result.interval, result.se, result.df) == (alone.value, alone.interval, alone.se, alone.df)
    assert result.notes == ("mean has no value by the proxy, and is that of the labelled units.",)
    assert result.few_labels is not None
    assert result.few_labels.trust == 0.0
    assert math.isnan(result.few_labels.proxy_alone)
    same = proxy_scores(state_of(Y), state_of(F, n=np.zeros(24)), state_of(OTHERS), [Mean()], REQUEST)["mean"]
    assert (same.value, same.interval, same.se, same.df) == (alone.value, alone.interval, alone.se, alone.df)
    assert same.few_labels is not None
    assert (same.few_labels.trust, same.few_labels.proxy_alone) == (0.0, pytest.approx(OTHERS.mean()))


def test_totals_and_what_has_no_value_are_those_of_the_labels() -> None:
    total = proxy_scores(state_of(Y), state_of(F), state_of(OTHERS), [Count(), Mean()], REQUEST)
    assert list(total) == ["count", "mean"]
    assert total["count"] == score(state_of(Y), [Count()], REQUEST)["count"]
    assert total["count"].few_labels is None
    assert total["mean"] == scored(Y, F, OTHERS)
    empty = proxy_scores(state_of(Y, n=np.zeros(24)), state_of(F), state_of(OTHERS), [Mean()], REQUEST)["mean"]
    assert (empty.undefined_reason, empty.few_labels) == ("there is nothing", None)


def test_weights_of_labelled_units_are_shares() -> None:
    """The fewer units the weights leave, the wider the interval where all of them agree."""
    weight = np.array([1.0, 9.0] * 6)
    result = scored([10.0] * 12, [10.0] * 12, [10.0] * 5, weight=weight)
    assert result.interval is not None
    expected = 10 - 10 * UnitSample(12, weight).may_differ(0.95)
    assert result.interval == pytest.approx((expected, 10.0))


# The rates of error of a judge

RIGHT = np.repeat([1.0, 0.0], 50)
JUDGED = np.repeat([1.0, 0.0, 1.0], [45, 45, 10])  # sensitivity 45 of 50, specificity 40 of 50
REST = np.repeat([1.0, 0.0], [500, 500])
BY_RATES = Request("any", draws=200, seed=4, proxy="judge.csv", judge_correction="rates")


def test_rates_are_those_of_rogan_and_gladen() -> None:
    """(.5 + .8 - 1) / (.9 + .8 - 1), and draws of Jeffreys' posterior of each of the three shares."""
    result = scored(RIGHT, JUDGED, REST, BY_RATES)
    assert result.value == pytest.approx(0.3 / 0.7)
    rng = np.random.default_rng(4)
    shares = [rng.beta(hits + 0.5, misses + 0.5, 20_000) for hits, misses in ((45, 5), (40, 10), (500, 500))]
    drawn = np.clip((shares[2] + shares[1] - 1) / (shares[0] + shares[1] - 1), 0, 1)
    assert result.interval == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])))
    assert result.se == pytest.approx(drawn.std(ddof=1), rel=1e-9)
    # The delta method: three binomial variances, each times the square of its slope.
    theta = 0.3 / 0.7
    parts = (0.25 / 1000, theta**2 * 0.09 / 50, (1 - theta) ** 2 * 0.16 / 50)
    assert result.se == pytest.approx(math.sqrt(sum(parts)) / 0.7, rel=0.1)
    alone = score(state_of(RIGHT), [Mean()], BY_RATES)["mean"]
    assert result.few_labels == FewLabels(1000, 1.0, "rates", 0.5, alone.interval, alone.se, 0.5, 100)
    assert result.notes == (
        f"mean is 0.5 by truth alone and 0.5 by the proxy on the others; its standard error is "
        f"{100 * result.se / alone.se:.0f} % of that by truth alone.",
    )


def test_rates_at_another_confidence_and_without() -> None:
    at = Request("any", draws=200, seed=4, proxy="judge.csv", judge_correction="rates", confidence=0.8)
    rng = np.random.default_rng(4)
    shares = [rng.beta(hits + 0.5, misses + 0.5, 20_000) for hits, misses in ((45, 5), (40, 10), (500, 500))]
    drawn = np.clip((shares[2] + shares[1] - 1) / (shares[0] + shares[1] - 1), 0, 1)
    assert scored(RIGHT, JUDGED, REST, at).interval == pytest.approx(tuple(np.quantile(drawn, [0.1, 0.9])))
    none = Request("any", draws=200, proxy="judge.csv", judge_correction="rates", confidence=None)
    result = scored(RIGHT, JUDGED, REST, none)
    assert (result.value, result.interval) == (pytest.approx(0.3 / 0.7), None)
    assert math.isnan(result.se)
    assert result.notes == ("mean is 0.5 by truth alone and 0.5 by the proxy on the others.",)


@pytest.mark.parametrize(("rest", "value"), [([1.0] * 100, 1.0), ([0.0] * 100, 0.0)])
def test_a_share_by_rates_stays_in_its_range(rest: list[float], value: float) -> None:
    assert scored(RIGHT, JUDGED, rest, BY_RATES).value == value


def test_a_judge_no_better_than_chance_is_refused() -> None:
    """Half of both kinds right: the ends are those of the difference of two posteriors, whose variances add up."""
    judged = np.tile([1.0, 0.0], 50)
    with pytest.raises(InputError) as refused:
        scored(RIGHT, judged, REST, BY_RATES)
    rng = np.random.default_rng(4)
    gain = rng.beta(25.5, 25.5, 20_000) + rng.beta(25.5, 25.5, 20_000) - 1
    low, high = np.quantile(gain, [0.025, 0.975])
    assert high == pytest.approx(1.96 * math.sqrt(2 * scipy_stats.beta.var(25.5, 25.5)), rel=0.05)
    assert str(refused.value) == (
        f"the judge may be no better than chance for 'mean': sensitivity + specificity - 1 is from {low:.2f} to "
        f"{high:.2f}. Label more units, or correct the judge's mean error."
    )


@pytest.mark.parametrize(("truth", "kind"), [(1.0, "right"), (0.0, "wrong")])
def test_labels_of_one_kind_are_refused(truth: float, kind: str) -> None:
    with pytest.raises(InputError) as refused:
        scored(np.full(1200, truth), np.tile([1.0, 0.0], 600), REST, BY_RATES)
    assert str(refused.value) == (
        f"all 1,200 labelled units are {kind} by 'mean', so one of the judge's rates of error cannot be known. Label "
        "units of both kinds, or correct the judge's mean error."
    )


@pytest.mark.parametrize(
    "truth",
    [
        state_of([1.0, 0.5, 0.0, 1.0]),
        state_of([1.0, 0.0, 0.0, 1.0], weight=np.array([1.0, 1.0, 1.0, 2.0])),
        state_of([1.0, 0.0, 0.0, 1.0], n=[1.0, 3.0, 3.0, 1.0]),
        state_of([1.0, 0.0, 0.0, 1.0], n=[1.0, 1.0, 0.0, 1.0]),
    ],
    ids=["halves", "weights", "rows", "undefined"],
)
def test_rates_need_the_share_of_right_units(truth: Any) -> None:
    with pytest.raises(InputError) as refused:
        proxy_scores(truth, state_of([1.0, 0.0, 0.0, 1.0]), state_of(REST), [Mean()], BY_RATES)
    assert str(refused.value) == (
        "'mean' is not the share of units that are right, which is all that a judge's rates correct. Name such a "
        "metric, as accuracy of labels, or correct the judge's mean error."
    )
