"""Scores: which rule each metric takes, on which units, and every field of the score."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.engine_states import Count, Long, Mean, Share, state_of

from steelyard.core.plan import COUNT, JACKKNIFE, MOST_LEFT_OUT, POINT
from steelyard.core.request import Request
from steelyard.engine.intervals import Estimate, Parts, UnitSample, by_jackknife, by_parts, by_range
from steelyard.engine.score import left_out_totals, left_rows, nothing_drawn, parts_of, remarks, sample_of, score
from steelyard.results.score import Score

RNG = np.random.default_rng(0)
VALUES = RNG.uniform(2, 8, 40)
REQUEST = Request("any", draws=200)


def whole(metric: Any, value: float, estimate: Estimate, units: int, **more: Any) -> Score:
    given = {"n_excluded": 0, "excluded": "", "notes": ("0 are lost.",), **more}
    return Score(
        spec=str(metric), label="Mean of x", value=value, interval=estimate.interval, units=units, better="lower",
        measured_in="g", se=estimate.se, df=estimate.df, **given,
    )  # fmt: skip


def test_a_mean_has_the_interval_of_its_range() -> None:
    state = state_of(VALUES, lost=[2.0] + [0.0] * 39)
    draws, left = state.totals(REQUEST.plan).of(Mean()), (VALUES.sum() - VALUES) / 39
    expected = by_range(VALUES.mean(), draws, left, (0.0, 10.0), UnitSample(40), 0.95)
    scores = score(state, [Mean()], REQUEST)
    assert list(scores) == ["mean"]
    assert scores["mean"].interval == pytest.approx(expected.interval, rel=1e-9)
    assert (scores["mean"].value, scores["mean"].se, scores["mean"].df) == pytest.approx(
        (VALUES.mean(), expected.se, expected.df)
    )
    exact = replace(expected, interval=scores["mean"].interval, se=scores["mean"].se, df=scores["mean"].df)
    facts = {"n_excluded": 2, "excluded": "rows", "notes": ("2 are lost.",)}
    assert scores["mean"] == whole(Mean(), scores["mean"].value, exact, 40, **facts)
    assert scores["mean"].draws is None


def test_draws_are_kept_where_they_are_asked_for() -> None:
    state = state_of(VALUES)
    request = Request("any", draws=200, save_draws=True)
    draws = state.totals(request.plan).of(Mean())
    scores = score(state, [Mean(), Count()], request)
    assert scores["mean"].draws is not None
    assert scores["mean"].draws.tolist() == draws.tolist()
    assert (scores["count"].interval, scores["count"].value) == (None, pytest.approx(VALUES.sum()))
    other = state_of(VALUES + 1).totals(request.plan)
    jackknife = state_of(VALUES * 0.9).totals(JACKKNIFE)  # as it was made elsewhere
    elsewhere = score(state, [Mean()], request, leave_one_out=jackknife)["mean"]
    expected = by_range(VALUES.mean(), draws, jackknife.of(Mean()), (0.0, 10.0), UnitSample(40), 0.95)
    assert (elsewhere.interval, elsewhere.df) == (pytest.approx(expected.interval), pytest.approx(expected.df))
    shared = score(state, [Mean()], request, other)["mean"].draws
    assert shared is not None
    assert shared.tolist() == other.of(Mean()).tolist()


def test_no_interval_is_made_unasked() -> None:
    scores = score(state_of(VALUES / 10), [Mean(), Share()], Request("any", confidence=None))
    assert [one.interval for one in scores.values()] == [None, None]
    assert [math.isnan(one.se) for one in scores.values()] == [True, True]
    assert list(scores) == ["mean", "share"]


def test_an_undefined_score_says_why() -> None:
    state = state_of(VALUES, n=np.zeros(40))
    scores = score(state, [Mean(), Count()], REQUEST)
    assert math.isnan(scores["mean"].value)
    assert (scores["mean"].undefined_reason, scores["mean"].notes, scores["mean"].interval) == (
        "there is nothing",
        (),
        None,
    )
    assert (scores["count"].undefined_reason, scores["count"].notes, scores["count"].excluded) == (
        "",
        ("0 are lost.",),
        "",
    )
    assert math.isnan(scores["count"].se)


def test_one_unit_has_no_interval() -> None:
    result = score(state_of([5.0]), [Mean()], REQUEST)["mean"]
    assert (result.value, result.interval, result.units, result.why_no_interval) == (5.0, None, 1, "")
    assert score(state_of([5.0, 6.0]), [Mean()], REQUEST)["mean"].interval is not None


@pytest.mark.parametrize(("units", "rule"), [(29, "t"), (30, "range")])
def test_few_long_units_have_students_interval(units: int, rule: str) -> None:
    x = VALUES[:units]
    state = state_of(x)
    left = (x.sum() - x) / (units - 1)
    result = score(state, [Long()], REQUEST)["long"]
    if rule == "t":
        expected = by_jackknife(float(x.mean()), left, (0.0, 10.0), 0.95)
    else:
        expected = by_range(
            float(x.mean()), state.totals(REQUEST.plan).of(Long()), left, (0.0, 10.0), UnitSample(units), 0.95
        )
    assert result.interval == pytest.approx(expected.interval)
    assert (result.se, result.df) == pytest.approx((expected.se, expected.df))


def test_weights_are_shares_and_units_without_one_are_none() -> None:
    """A unit of weight 0 is not left out, not counted, and moves nothing."""
    weight = np.array([2.0, 0.0, 1.0, 1.0, 3.0])
    state = state_of([1.0, 9.0, 2.0, 4.0, 6.0], weight=weight, lost=np.ones(5))
    sample = sample_of(state.units)
    assert sample.units == 4
    assert sample.shares is not None
    assert sample.shares.tolist() == [2.0, 1.0, 1.0, 3.0]
    assert sample.copies is not None
    assert sample.copies.tolist() == [1.0, 0.0, 1.0, 1.0, 1.0]
    scores = score(state, [Mean(), Long()], REQUEST)
    assert scores["mean"].value == pytest.approx(26 / 7)
    assert (scores["mean"].units, scores["mean"].n_excluded, scores["mean"].notes[0]) == (4, 4, "4 are lost.")
    left = np.array([24 / 5, 24 / 6, 22 / 6, 8 / 4])
    expected = by_jackknife(26 / 7, left, (0.0, 10.0), 0.95)
    assert scores["long"].interval == pytest.approx(expected.interval)
    assert left_rows(state.units, np.arange(5.0)).tolist() == [0.0, 2.0, 3.0, 4.0]
    assert left_rows(state.units, np.arange(3.0)).tolist() == [0.0, 1.0, 2.0]


def test_samples() -> None:
    """Units that count the same are many alike ones; kinds stand for their copies."""
    plain = sample_of(state_of(VALUES).units)
    assert (plain.units, plain.shares, plain.copies) == (40, None, None)
    kinds = sample_of(state_of([1.0, 2.0], copies=np.array([3, 5])).units)
    assert (kinds.units, kinds.shares) == (8, None)
    assert kinds.copies is not None
    assert kinds.copies.tolist() == [3.0, 5.0]
    heavy = sample_of(state_of([1.0, 2.0, 3.0], weight=np.array([2.0, 0.0, 7.0]), copies=np.array([2, 4, 1])).units)
    assert heavy.units == 3
    assert heavy.shares is not None
    assert heavy.shares.tolist() == [2.0, 2.0, 7.0]


def test_samples_of_clusters() -> None:
    """Three units in two clusters, of weights 3 and 4; equal clusters have no shares."""
    cluster = np.array(["b", "a", "b"], dtype=object)
    result = sample_of(state_of([1.0, 2.0, 3.0], weight=np.array([1.0, 4.0, 2.0]), cluster=cluster).units)
    assert (result.units, result.copies) == (2, None)
    assert result.shares is not None
    assert sorted(result.shares.tolist()) == [3.0, 4.0]
    small = sample_of(state_of([1.0, 2.0, 3.0], weight=np.array([0.5, 0.0, 0.2]), cluster=cluster).units)
    assert (small.units, small.shares) == (1, None)
    even = sample_of(state_of([1.0, 2.0, 3.0], weight=np.array([1.0, 3.0, 2.0]), cluster=cluster).units)
    assert (even.units, even.shares) == (2, None)
    units = state_of([1.0, 2.0, 3.0], cluster=cluster).units
    assert left_rows(units, np.arange(3.0)).tolist() == [0.0, 1.0, 2.0]


def test_one_cluster_has_no_interval() -> None:
    state = state_of(np.ones(1200), cluster=np.array(["a"] * 1200, dtype=object))
    request = Request("any", draws=200, cluster="video")
    why = "all 1,200 units are of one video, and an interval needs two"
    result = score(state, [Mean()], request)["mean"]
    assert (result.interval, result.why_no_interval, result.clusters) == (None, why, 1)
    assert result.notes == ("0 are lost.", f"mean has no interval: {why}.")
    assert nothing_drawn(state.units, Request("any", confidence=None, cluster="video")) == Estimate()
    assert nothing_drawn(state_of([1.0]).units, REQUEST) == Estimate()


def test_many_kinds_have_no_jackknife() -> None:
    for rows, made in ((MOST_LEFT_OUT, True), (MOST_LEFT_OUT + 1, False)):
        state = state_of(np.arange(float(rows)), copies=np.full(rows, 2))
        assert (left_out_totals(state) is not None) == made
        assert (sample_of(state.units).copies is not None) == made
    listed = left_out_totals(state_of(np.arange(float(MOST_LEFT_OUT + 1))))
    assert listed is not None


def test_draws_of_kinds_are_made_again_by_unit() -> None:
    """Only draws by unit are paired between models; the interval stays that of the kinds."""
    kinds, units = state_of([2.0, 4.0], copies=np.array([30, 20])), state_of([2.0] * 30 + [4.0] * 20)
    request = Request("any", draws=200, save_draws=True)
    result = score(kinds, [Mean()], request, per_unit=lambda: units)["mean"]
    assert result.draws is not None
    assert result.draws.tolist() == units.totals(request.plan).of(Mean()).tolist()
    assert result.interval == score(kinds, [Mean()], request)["mean"].interval
    assert result.units == 50


def shares(state: Any) -> Any:
    sample = sample_of(state.units)
    return parts_of(Share(), state.totals(POINT), state.totals(REQUEST.plan), left_out_totals(state), sample)


def by_hand(hits: Any, of: Any, weight: Any, units: Any) -> Parts:
    """The proportions, their leave-one-out deviations, and how many units each stands on."""
    weight = np.asarray(weight, dtype=float)[:, np.newaxis]
    share = (weight * hits).sum(axis=0) / (weight * of).sum(axis=0)
    kept = np.flatnonzero(weight[:, 0] > 0)
    hit, all_of = weight * hits, weight * of
    left = (hit.sum(axis=0) - hit[kept]) / (all_of.sum(axis=0) - all_of[kept])
    n = len(kept)
    rows = ((weight > 0) * of).sum(axis=0)
    return Parts.of(share, rows, np.asarray(units, float), left - left.mean(axis=0), (n - 1) / n)


@pytest.mark.parametrize("weight", [None, np.array([1.0, 2.0, 0.0, 1.0, 3.0, 1.0])])
def test_parts_of_a_metric(weight: Any) -> None:
    """Two proportions of rows: x and lost, of n. A unit without rows is not a unit of a part, nor one without weight."""
    x, lost, n = (np.array(c, float) for c in ([1, 0, 2, 1, 0, 0], [0, 1, 0, 2, 1, 0], [2, 1, 3, 2, 2, 0]))
    state = state_of(x, n=n, lost=lost, weight=weight)
    own = np.ones(6) if weight is None else weight
    units = float(((n > 0) & (own > 0)).sum())
    expected = by_hand(np.stack([x, lost], 1), np.stack([n, n], 1), own, [units, units])
    outcome = shares(state)
    assert outcome.share == pytest.approx(expected.share)
    assert outcome.effective == pytest.approx(expected.effective)
    assert outcome.correlation == pytest.approx(expected.correlation)
    result = score(state, [Share()], REQUEST)["share"]
    draws, left = state.totals(REQUEST.plan).of(Share()), state.totals(JACKKNIFE).of(Share())
    value = float(100 * expected.share.mean())
    interval = by_parts(value, draws, left, expected, (0.0, 100.0), sample_of(state.units), 0.95)
    assert result.value == pytest.approx(value)
    assert result.interval == pytest.approx(interval.interval)
    assert (result.se, result.df) == pytest.approx((interval.se, interval.df))


def test_parts_of_kinds_are_those_of_their_units() -> None:
    kinds = state_of([1.0, 0.0, 1.0], lost=[0.0, 1.0, 1.0], copies=np.array([3, 4, 2]))
    each = [np.repeat(column, [3, 4, 2]) for column in ([1.0, 0.0, 1.0], [0.0, 1.0, 1.0])]
    units = shares(state_of(each[0], lost=each[1]))
    result = shares(kinds)
    assert result.share == pytest.approx(units.share)
    assert result.effective == pytest.approx(units.effective)
    assert result.correlation == pytest.approx(units.correlation)


def test_parts_without_a_jackknife_are_moved_by_the_draws() -> None:
    state = state_of([1.0, 0.0, 1.0, 1.0], lost=[0.0, 1.0, 1.0, 0.0])
    drawn = state.totals(REQUEST.plan)
    result = parts_of(Share(), state.totals(POINT), drawn, None, UnitSample(4))
    hits, of = Share().proportions(drawn)
    moved = hits[of[:, 0] > 0] / of[of[:, 0] > 0]
    expected = Parts.of(np.array([0.75, 0.5]), np.full(2, 4.0), np.full(2, 4.0), moved - moved.mean(axis=0), 1 / 199)
    assert result is not None
    assert result.effective == pytest.approx(expected.effective)
    assert result.correlation == pytest.approx(expected.correlation)


def test_parts_that_do_not_move_have_their_units() -> None:
    """All hit, none hit: the spread is rounding, so each stands on its units: four of five have rows."""
    result = shares(state_of([2.0, 1.0, 3.0, 1.0, 0.0], n=np.array([2.0, 1.0, 3.0, 1.0, 0.0])))
    assert result.share.tolist() == [1.0, 0.0]
    assert result.effective.tolist() == [4.0, 4.0]
    assert result.correlation.tolist() == np.eye(2).tolist()
    cluster = np.array(["a", "b", "a", "b", "c"], dtype=object)
    grouped = shares(state_of([2.0, 1.0, 3.0, 1.0, 0.0], n=np.array([2.0, 1.0, 3.0, 1.0, 0.0]), cluster=cluster))
    assert grouped.effective.tolist() == [2.0, 2.0]


def test_a_metric_without_parts() -> None:
    state = state_of(VALUES)
    assert parts_of(Mean(), state.totals(POINT), state.totals(REQUEST.plan), None, UnitSample(40)) is None


def test_remarks() -> None:
    assert remarks("mae", Estimate(undefined_reason="nothing", notes=("is odd", "is new"))) == (
        "mae has no interval: nothing.",
        "mae is odd.",
        "mae is new.",
    )
    assert remarks("mae", Estimate()) == ()


def test_the_counts_behind_remarks_are_of_units() -> None:
    """Lost rows are counted once per unit, whatever the user's weights."""
    state = state_of([1.0, 2.0, 3.0], lost=[1.0, 1.0, 0.0], weight=np.array([5.0, 5.0, 5.0]))
    assert float(state.totals(COUNT)[Mean().requirements()[2]][0]) == 2.0
    assert score(state, [Mean()], REQUEST)["mean"].n_excluded == 2
