"""Few labels: the formulas of PPI++ and of Rogan and Gladen, written out for means, and every field of the score."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from engine_states import Count, Mean, state_of
from scipy import stats as scipy_stats

from steelyard.core.draws import unit_keys
from steelyard.core.errors import InputError
from steelyard.core.request import Request
from steelyard.engine.intervals import Sample, by_range
from steelyard.engine.proxy import _cross_fitted, _halves, _trust, proxy_scores
from steelyard.engine.score import score
from steelyard.results.score import FewLabels, Score

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
    """cov(y, f) / n over var(f) / n and the variance of the others' mean, of each half about the means of all."""
    a, b, n = y - y.mean(), f - f.mean(), len(y)
    mine = first_half(n)
    halves = [(np.mean(a[h] * b[h]) / (n - 1), np.mean(b[h] ** 2) / (n - 1)) for h in (mine, ~mine)]
    return [float(np.clip(both / (own + spread), 0, 1)) for both, own in halves]


def test_a_mean_by_truth_and_proxy() -> None:
    """theta = mean(y) + lambda (mean of the others - mean of f), its influences raised by the others' variance."""
    n = len(Y)
    y_draws, f_draws, o_draws = (state_of(x).totals(REQUEST.plan).of(Mean()) for x in (Y, F, OTHERS))
    spread = o_draws.var(ddof=1)
    trust = expected_trust(Y, F, spread)
    mean = sum(trust) / 2
    assert 0.2 < min(trust) < max(trust) < 0.9
    assert abs(trust[0] - trust[1]) > 0.02
    value = Y.mean() + mean * (OTHERS.mean() - F.mean())
    own = np.where(first_half(n), trust[1], trust[0])
    u = (-(Y - Y.mean()) + own * (F - F.mean())) / (n - 1)
    of_labels = (n - 1) / n * ((u - u.mean()) ** 2).sum()
    u = u * math.sqrt(1 + mean**2 * spread / of_labels)
    estimate = by_range(value, y_draws + mean * (o_draws - f_draws), u, (0.0, 10.0), Sample(n), 0.95)
    alone = score(state_of(Y), [Mean()], REQUEST)["mean"]
    result = scored(Y, F, OTHERS)
    assert result.value == pytest.approx(value, rel=1e-12)
    assert result.interval == pytest.approx(estimate.interval, rel=1e-9)
    assert (result.se, result.df) == pytest.approx((estimate.se, estimate.df))
    about = result.few_labels
    assert about is not None
    assert about.trust == pytest.approx(mean)
    assert about == FewLabels(
        40, about.trust, "difference", alone.value, alone.interval, alone.se, pytest.approx(OTHERS.mean())
    )
    assert result.notes == (
        f"mean is {Y.mean():.4g} by truth alone and {OTHERS.mean():.4g} by the proxy on the others, which is trusted "
        f"to {mean:.2f}; its standard error is {100 * estimate.se / alone.se:.0f} % of that by truth alone.",
    )
    assert (result.spec, result.label, result.units, result.better) == ("mean", "Mean of x", 24, "lower")


def test_halves_are_by_key_and_rows_of_groups_by_place() -> None:
    units = state_of(np.zeros(9)).units
    assert _halves(units, 9).tolist() == first_half(9).tolist()
    order = np.array([4, 8, 0, 2, 7, 1, 3, 6, 5])
    assert _halves(units.take(order), 9).tolist() == first_half(9)[order].tolist()
    assert _halves(units, 5).tolist() == [True, False, True, False, True]


def test_trust_of_some_rows() -> None:
    """4 / 3 (rows less one, by three) times 2 and times 6, and a spread of 8: 8/3 of 16."""
    a, b = np.array([1.0, 0.0, 0.5]), np.array([1.0, 1.0, 2.0])
    assert _trust(a, b, 5, 8.0) == pytest.approx((8 / 3) / 16)
    assert _trust(a, b, 5, 0.0) == pytest.approx(1 / 3)
    assert _trust(-a, b, 5, 8.0) == 0.0
    assert _trust(9 * a, b, 5, 0.0) == 1.0
    assert _trust(a[:1], b[:1], 5, 8.0) == 0.0
    assert _trust(a[:2], b[:2], 5, 0.0) == pytest.approx(0.5)
    assert _trust(np.zeros(3), np.zeros(3), 5, 0.0) == 0.0
    assert _trust(np.array([0.1, 0.2]), np.array([0.1, 0.2]), 2, 0.0) == pytest.approx(1.0)


def test_rows_without_a_value_move_nothing() -> None:
    """Means of eight rows of which two have none, either by truth or by proxy."""
    y = np.array([0.1, 0.4, np.nan, 0.2, 0.5, 0.3, 0.9, 0.6])
    f = np.array([0.2, 0.3, 0.8, 0.1, 0.7, 0.3, np.nan, 0.4])
    others = np.array([0.2, 0.9, np.nan, 0.55])
    spread = np.array([0.2, 0.9, 0.55]).var(ddof=1)
    a, b, known = y - np.nanmean(y), f - np.nanmean(f), ~(np.isnan(y) | np.isnan(f))
    mine = first_half(8)
    trust = []
    for half in (mine & known, ~mine & known):
        times = 7 / half.sum()
        both, own = times * (a[half] * b[half]).sum(), times * (b[half] ** 2).sum()
        trust.append(float(np.clip(both / (own + spread), 0, 1)))
    mean, u = _cross_fitted([y, f], others, state_of(np.zeros(8)).units)
    assert mean == pytest.approx(sum(trust) / 2)
    assert 0 < min(trust) < max(trust) < 1
    raw = a - np.where(mine, trust[1], trust[0]) * b
    centred = raw[known] - raw[known].mean()
    of_labels = 5 / 6 * (centred**2).sum()
    assert u[known] == pytest.approx(raw[known] * math.sqrt(1 + mean**2 * spread / of_labels))
    assert np.isnan(u).tolist() == (~known).tolist()


def test_a_proxy_that_is_the_truth_of_all_units_leaves_nothing() -> None:
    """Where all others agree, the proxy is trusted whole, and no labelled unit moves anything."""
    y = np.array([0.1, 0.4, 0.2, 0.6])
    mean, u = _cross_fitted([y, y], np.full(5, 0.3), state_of(np.zeros(4)).units)
    assert (mean, u.tolist()) == (1.0, [0.0] * 4)


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
    assert (empty.why, empty.few_labels) == ("there is nothing", None)


def test_weights_of_labelled_units_are_shares() -> None:
    """The fewer units the weights leave, the wider the interval where all of them agree."""
    weight = np.array([1.0, 9.0] * 6)
    result = scored([10.0] * 12, [10.0] * 12, [10.0] * 5, weight=weight)
    assert result.interval is not None
    expected = 10 - 10 * Sample(12, weight).may_differ(0.95)
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
    assert result.few_labels == FewLabels(1000, 1.0, "rates", 0.5, alone.interval, alone.se, 0.5)
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
        f"{high:.2f}. Label more units, or leave --judge-correction out."
    )


@pytest.mark.parametrize(("truth", "kind"), [(1.0, "right"), (0.0, "wrong")])
def test_labels_of_one_kind_are_refused(truth: float, kind: str) -> None:
    with pytest.raises(InputError) as refused:
        scored(np.full(1200, truth), np.tile([1.0, 0.0], 600), REST, BY_RATES)
    assert str(refused.value) == (
        f"all 1,200 labelled units are {kind} by 'mean', so one of the judge's rates of error cannot be known. Label "
        "units of both kinds, or leave --judge-correction out."
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
        "metric, as -m accuracy of labels, or leave --judge-correction out."
    )
