"""Plans from comparisons and pilots."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.lazy import lazy
from support.refusal import refused, refuses

import steelyard as sy
from steelyard.gating.plan import plan

scipy_stats = lazy("scipy.stats")

TRUTH = {"dish": list("abcd"), "weight": [10.0, 20.0, 30.0, 40.0], "hall": list("xxyy"), "day": list("mmtt")}


A = {"dish": list("abcd"), "weight": [11.0, 18.0, 33.0, 36.0]}


B = {"dish": list("abcd"), "weight": [12.0, 17.0, 35.0, 46.0]}


C = {"dish": list("abcd"), "weight": [10.0, 21.0, 31.0, 40.0]}


def report(side: dict[str, Any], metrics: Any = ("mae",), **settings: Any) -> sy.Report:
    return sy.evaluate("weights", TRUTH, side, list(metrics), draws=100, **settings)


@pytest.fixture(scope="module")
def three() -> sy.Lineup:
    return sy.compare("weights", TRUTH, [A, B, C], metrics=["mae"], draws=100)


def test_plans_of_one_comparison_are_the_same_however_it_is_held(three: sy.Lineup) -> None:
    two = sy.compare("weights", TRUTH, [A, B], metrics=["mae"], draws=100)
    assert plan(two, targets={"mae": 1.0}) == plan(two[0], targets={"mae": 1.0})
    names = [three[0].a.name, *(comparison.b.name for comparison in three.comparisons)]
    apart = [replace(report(side), request=three[0].b.request) for side in (C, B)]
    held = plan(three, model=names[2], baseline=names[1])
    assert held.metrics == plan(apart[0], baseline=apart[1]).metrics


def test_plans_that_cannot_be_made(three: sy.Lineup) -> None:
    one, same = report(A), sy.compare("weights", TRUTH, A, A, ["mae"], draws=100)
    assert [
        refused(call)
        for call in (
            lambda: plan(same),
            lambda: plan(three, baseline=one),
            lambda: plan(one, model="a"),
            lambda: plan(one, baseline=same),
        )
    ] == [
        "no difference of the pilot has a standard error. Take a pilot whose two models differ somewhere.",
        "a result of several models holds its own baselines. Name one of its models.",
        "holds one model alone. Leave `model` out.",
        "is not a result of 'evaluate'. Give a result.",
    ]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"units": [0]}, ("E-out-of-range", "0", "units")),
        ({"units": [100, -5]}, ("E-out-of-range", "-5", "units")),
        ({"units": [2.5]}, ("E-out-of-range", "2.5", "units")),
        ({"width": 2.0}, ("E-missing-data", "'mae'", "width")),
        ({"width": {"mae": 2.0}}, ("E-missing-data", "'mae'", "width")),
    ],
)
def test_sizes_that_cannot_be_planned(three: sy.Lineup, settings: dict[str, Any], message: tuple[str, ...]) -> None:
    """Four units have no interval at 95 %: of 16 worlds the seen one and its opposite are 1 in 8."""
    assert three[0]["mae"].interval is None
    with refuses(*message):
        plan(three[0], **settings)


def test_a_width_for_all_metrics_is_for_those_with_an_interval() -> None:
    """mae of the twenty dishes has an interval; in the hall of four dishes it has none."""
    rng = np.random.default_rng(1)
    ids, halls = [f"d{i}" for i in range(20)], ["a"] * 16 + ["b"] * 4
    truth = {"dish": ids, "weight": np.full(20, 100.0), "hall": halls}
    a, b = ({"dish": ids, "weight": 100 + rng.normal(0, spread, 20)} for spread in (9, 12))
    pilot = sy.compare("weights", truth, a, b, ["mae"], by="hall", draws=100)
    low, high = pilot["mae"].interval or (math.nan, math.nan)
    assert plan(pilot, width=1.0).metrics[0].needed_for_width.units == math.ceil(20 * (high - low) ** 2)  # type: ignore[union-attr]
    with refuses("E-missing-data", "'mae'", "width"):
        plan(pilot, width=1.0, slice="hall=b")
    with refuses("E-missing-data", "'c'"):
        plan(pilot, slice="hall=c")


@pytest.fixture(scope="module")
def seeds() -> dict[str | None, sy.Comparison]:
    """Four seeds of two models on sixty units, by what is fixed; the seeds of each differ widely."""
    rng = np.random.default_rng(3)
    ids, label = np.arange(60), rng.integers(0, 2, 60)
    sides = []
    for rights in ((0.5, 0.6, 0.7, 0.8), (0.6, 0.75, 0.85, 0.95)):
        runs = [np.where(rng.random(60) < right, label, 1 - label) for right in rights]
        sides.append([{"id": ids, "label": run} for run in runs])
    truth = {"id": ids, "label": label}
    return {
        fixed: sy.compare("labels", truth, *sides, ["accuracy"], runs="seeds", fixed=fixed)
        for fixed in (None, "runs", "items")
    }


def test_a_pilot_of_these_runs_alone_is_planned_by_units(seeds: dict[str | None, sy.Comparison]) -> None:
    """Fixed runs vary nothing: the error is that of units, and falls with their root. See Obuchowski and Rockette 1995."""
    pilot = seeds["runs"]
    d = pilot["accuracy"]
    reach = scipy_stats.t.ppf(0.975, 59) + scipy_stats.norm.ppf(0.9)
    planned = plan(pilot, units=[60, 240], targets={"accuracy": 0.05}, power=0.9).metrics[0]
    assert [shown for _, shown, _ in planned.curve] == pytest.approx([reach * d.se, reach * d.se / 2])
    assert planned.needed is not None
    assert planned.needed.units == math.ceil(60 * (reach * d.se / 0.05) ** 2)
    with_seeds = plan(seeds[None], units=[60, 240], power=0.9).metrics[0]
    assert with_seeds.curve[1][1] > 1.5 * planned.curve[1][1]


def test_pilots_that_speak_of_their_own_runs_or_units_alone(seeds: dict[str | None, sy.Comparison]) -> None:
    with refuses("E-conflict", "runs", "fixed"):
        plan(seeds["runs"], runs=[3])
    with refuses("E-incompatible", "units", "fixed"):
        plan(seeds["items"])


def test_a_plan_from_clusters() -> None:
    """Twelve kitchens of five dishes. The table is (V_between + V_within m0 / m) K / K', whose sum at K' = K and m = m0 is
    V itself, and more dishes in a kitchen only take away from the second part.
    """
    rng = np.random.default_rng(4)
    n, kitchens = 60, np.repeat(np.arange(12), 5)
    ids = [f"d{i}" for i in range(n)]
    truth = {"dish": ids, "weight": np.full(n, 200.0), "kitchen": [f"k{k}" for k in kitchens]}
    a, b = (
        {"dish": ids, "weight": 200 + rng.normal(0, spread, 12)[kitchens] + rng.normal(0, 5, n)} for spread in (9, 15)
    )
    pilot = sy.compare("weights", truth, a, b, ["mae"], cluster="kitchen", draws=200)
    d = pilot["mae"]
    reach = scipy_stats.t.ppf(0.975, d.df) + scipy_stats.norm.ppf(0.8)
    made = plan(pilot, cluster="kitchen", units=[12, 48])
    table = made.metrics[0].table
    assert table is not None
    assert (made.unit, made.units) == ("kitchen", 12)
    assert [shown for _, shown, _ in made.metrics[0].curve] == pytest.approx([reach * d.se, reach * d.se / 2])
    assert (table.rows, table.columns) == ((6, 12, 24, 48), (2, 5, 10, 20))
    v = np.array([[shown for shown, _ in row] for row in table.cells]) ** 2
    assert v[1, 1] == pytest.approx((reach * d.se) ** 2)
    assert v[3] == pytest.approx(v[1] / 4)
    # V_between + V_within 5 / m is a line in 1 / m
    assert (v[1, 2] - v[1, 3]) / (1 / 10 - 1 / 20) == pytest.approx((v[1, 1] - v[1, 3]) / (1 / 5 - 1 / 20))
    plain = plan(pilot)
    assert (plain.unit, plain.units, plain.metrics[0].table) == ("dish", 60, None)
    assert [note for note in plain.notes if "kitchen" in note]


def test_one_result_says_nothing_of_a_difference() -> None:
    for settings in ({"targets": {"mae": 1.0}, "width": 1.0}, {"family": 3, "width": 1.0}, {}):
        with refuses("E-missing-data", "difference"):
            plan(report(A), **settings)
