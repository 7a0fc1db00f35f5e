"""Looks at one test set, groups of units and units that go together: formulas and whole messages."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.engine_states import Count, Mean, state_of
from support.lazy import lazy
from support.refusal import refuses

from steelyard.api import evaluate, measure
from steelyard.core import catalogue
from steelyard.core.plan import JACKKNIFE
from steelyard.core.request import Request
from steelyard.core.units import Units
from steelyard.engine.groups import check_nested, plan_notes, weight_notes
from steelyard.engine.looks import at_level, spent_at
from steelyard.engine.run import measure_sides
from steelyard.engine.together import design_effect, together_notes

scipy_stats = lazy("scipy.stats")

INF = math.inf


def test_the_level_of_a_look() -> None:
    """An equal part where looks are planned; else 6 / (pi k)^2, which adds up to all of it."""
    assert spent_at(0.05, 3, 20) == pytest.approx(0.0025)
    assert spent_at(0.05, 1, None) == pytest.approx(0.05 * 6 / math.pi**2)
    assert spent_at(0.05, 4, None) == pytest.approx(0.05 * 6 / math.pi**2 / 16)
    assert sum(spent_at(0.05, k, None) for k in range(1, 20_000)) == pytest.approx(0.05, rel=1e-4)


def test_an_interval_at_another_level() -> None:
    """On the scale of the range the reach grows as Student's t does."""
    grown = scipy_stats.t.ppf(1 - 0.0025 / 2, 9) / scipy_stats.t.ppf(0.975, 9)
    interval = at_level(1.0, (0.5, 2.0), (-INF, INF), 0.3, 9.0, (0.05, 0.0025))
    assert interval == pytest.approx((1 - 0.5 * grown, 1 + grown))
    logs = at_level(1.0, (0.5, 2.0), (0.0, INF), 0.3, 9.0, (0.05, 0.0025))
    assert logs == pytest.approx((0.5**grown, 2.0**grown))
    normal = scipy_stats.norm.ppf(0.995) / scipy_stats.norm.ppf(0.95)
    assert at_level(1.0, (0.5, 2.0), (-INF, INF), 0.3, math.nan, (0.1, 0.01)) == pytest.approx(
        (1 - 0.5 * normal, 1 + normal)
    )
    assert at_level(1.0, None, (0.0, 1.0), 0.3, 9.0, (0.05, 0.01)) is None
    assert at_level(math.nan, (0.0, 1.0), (0.0, 1.0), 0.3, 9.0, (0.05, 0.01)) is None


def test_units_that_agree_at_another_level() -> None:
    """12 of 12: .025 ** (1 / 12) at 5 %, .005 ** (1 / 12) at 1 %."""
    interval = at_level(1.0, (0.025 ** (1 / 12), 1.0), (0.0, 1.0), 0.0, 11.0, (0.05, 0.01))
    assert interval == pytest.approx((0.005 ** (1 / 12), 1.0))
    share, wider = (1 - tail ** (1 / 12) for tail in (0.025, 0.005))
    inside = at_level(0.6, (0.6 - 0.6 * share, 0.6 + 0.4 * share), (0.0, 1.0), 0.0, 11.0, (0.05, 0.01))
    assert inside == pytest.approx((0.6 - 0.6 * wider, 0.6 + 0.4 * wider))
    end = at_level(0.0, (0.0, 0.4), (0.0, INF), 0.1, 11.0, (0.05, 0.01))
    assert end == (0.0, 0.4)  # no room to count in


def test_the_design_effect() -> None:
    """Groups of two that move alike: twice the variance. Against each other: none."""
    u = np.array([1.0, 1.0, -1.0, -1.0])
    assert design_effect(u, np.array([0, 0, 1, 1])) == 2.0
    assert design_effect(u, np.array([0, 1, 0, 1])) == 0.0
    assert design_effect(u, np.arange(4)) == 1.0
    assert design_effect(np.zeros(4), np.arange(4)) == 0.0


def grouped_state(alike: bool, groups: int = 12, size: int = 5) -> Any:
    rng = np.random.default_rng(0)
    code = np.repeat(np.arange(groups), size)
    centre = rng.normal(0, 1.5, groups)[code] if alike else 0.0
    x = 5 + centre + rng.normal(0, 0.3, groups * size)
    return x, code, state_of(x, groups={"video": code.astype(np.uint64)})


def test_units_of_one_group_are_warned_of() -> None:
    x, code, state = grouped_state(alike=True)
    request = Request("weights", draws=100)
    task = catalogue.find_task("weights")
    effect = design_effect(x - x.mean(), code)
    notes = together_notes(task, request, [Mean()], [state], [None])
    assert notes == (
        f"Dishes of one video go together (design effect {effect:.1f}): intervals are about "
        f"{math.sqrt(effect):.1f} times too narrow. Resample by 'video' (cluster).",
    )
    for quiet in (
        (Request("weights", confidence=None), state),
        (request, grouped_state(alike=False)[2]),
        (request, grouped_state(alike=True, groups=4)[2]),
        (request, grouped_state(alike=True, size=1)[2]),
        (request, state_of(x)),
    ):
        assert together_notes(task, quiet[0], [Mean()], [quiet[1]], [None]) == ()


def test_notes_of_clusters() -> None:
    task = catalogue.find_task("weights")
    request = Request("weights", cluster="video")
    for count, expected in (
        (1, "An interval needs at least two clusters; there is one by 'video'."),
        (
            2,
            "Only 2 clusters of 40 dishes by 'video': below 20 clusters an interval is rough and tends to be too narrow.",
        ),
        (
            19,
            "Only 19 clusters of 40 dishes by 'video': below 20 clusters an interval is rough and tends to be too narrow.",
        ),
        (20, "Drawn as 20 clusters of 40 dishes by 'video'."),
    ):
        cluster = np.array([str(i % count) for i in range(40)], dtype=object)
        assert plan_notes(task, state_of(np.ones(40), cluster=cluster), request) == (expected,)


def test_notes_of_strata() -> None:
    task = catalogue.find_task("weights")
    request = Request("weights", strata="site")
    for names, expected in (
        ("aabb", ()),
        ("aabcc", ("Stratum 'b' has one dish only and is joined to the next.",)),
        ("aabcdd", ("2 strata have one dish only and are joined to the next: 'b', 'c'.",)),
    ):
        state = state_of(np.ones(len(names)), stratum=np.array(list(names), dtype=object))
        assert plan_notes(task, state, request) == expected


def test_notes_of_strata_of_clusters() -> None:
    """Two clusters in stratum a, one in b."""
    state = state_of(
        np.ones(6), cluster=np.array(list("ppqqrr"), dtype=object), stratum=np.array(list("aaaabb"), dtype=object)
    )
    assert plan_notes(catalogue.find_task("weights"), state, Request("weights", cluster="person", strata="site")) == (
        "Only 3 clusters of 6 dishes by 'person': below 20 clusters an interval is rough and tends to be too narrow.",
        "Stratum 'b' has one cluster only and is joined to the next.",
    )


def test_notes_of_weights() -> None:
    """Kish: (sum w)^2 / sum w^2. One dish above a fifth of all weight is named."""
    task = catalogue.find_task("weights")
    ids = np.array(list("abcdefg"))
    even = Units(ids, np.array([2.0, 2.0, 2.0, 0.0, 2.0, 2.0, 2.0]))
    assert weight_notes(task, even) == weight_notes(task, Units(ids)) == ()
    assert weight_notes(task, Units(ids, np.array([5.0, 0, 0, 0, 0, 0, 0]))) == ()
    mild = Units(ids, np.array([1.0, 1, 1, 1, 1, 1, 1.2]))
    assert weight_notes(task, mild) == ("The weights are unequal: 7 dishes are worth 7.0 equal ones (Kish).",)
    heavy = Units(ids, np.array([1.0, 1, 4, 1, 1, 0, 1]))
    assert weight_notes(task, heavy) == (
        "The weights are unequal: 6 dishes are worth 3.9 equal ones (Kish).",
        "Dish 'c' has 44 % of all weight: the scores rest on it.",
    )


def test_a_cluster_in_two_strata() -> None:
    units = Units(
        np.arange(3), cluster=np.array(["p", "q", "p"], dtype=object), stratum=np.array(["x", "x", "y"], dtype=object)
    )
    with refuses("E-conflict", "person", "'p'", "strata", "'x'", "'y'", "'site'"):
        check_nested(units, Request("weights", cluster="person", strata="site"))
    check_nested(Units(np.arange(3), cluster=units.cluster), Request("weights", cluster="person"))


def test_suspected_groups_are_named_as_such_and_constant_in_a_unit() -> None:
    rows = {
        "dish": ["a", "a", "b"], "item": [1, 2, 1], "weight": [1.0, 2.0, 3.0], "video_id": ["v", "v", "v"],
        "Person": ["p", "q", "p"], "colour": ["r", "r", "r"], "site-name": [1.0, 1.0, math.nan],
    }  # fmt: skip
    data = measure("weights", rows, {name: rows[name] for name in ("dish", "item", "weight")}, "mae")
    assert sorted(data.state.units.groups) == ["site-name", "video_id"]


@pytest.mark.parametrize(
    ("videos", "asked", "message"),
    [
        (["v", "v", "w"], "vidio", ("E-missing-column", "'vidio'", "'video'")),
        (
            ["v", " ", "w"],
            "video",
            ("E-empty-cell", "'a'", "'video'"),
        ),
        (
            [None, "v", ""],
            "video",
            ("E-empty-cell", "'a'", "'video'", "2", "'b'"),
        ),
        (
            [1.0, 2.0, 2.0],
            "video",
            ("E-conflict", "'a'", "'1'", "'2'", "'video'"),
        ),
    ],
)
def test_clusters_that_cannot_be_drawn(videos: Any, asked: str, message: tuple[str, ...]) -> None:
    rows = {"dish": ["a", "a", "b"], "item": [1, 2, 1], "weight": [1.0, 2.0, 3.0]}
    with refuses(*message):
        evaluate("weights", {**rows, "video": videos}, rows, "mae", cluster=asked, draws=100)


def test_units_that_lost_all_rows_keep_their_cluster() -> None:
    """Dishes without a prediction are skipped; their person stands in the truth."""
    rows = {"dish": ["a", "b", "c", "d"], "weight": [1.0, 2.0, 3.0, 4.0], "person": ["p", "q", "q", "r"]}
    predicted = {"dish": ["b", "d"], "weight": [2.5, 4.5]}
    request = Request.of("weights", "mae", {"missing": "skip", "cluster": "person"})
    data = measure_sides(catalogue.find_task("weights"), request, rows, predicted)
    assert data.state.units.cluster is not None
    assert data.state.units.cluster.tolist() == ["p", "q", "q", "r"]
    plain = measure("weights", rows, predicted, "mae", missing="skip").state.units
    assert list(plain.groups) == ["person"]
    assert len(set(plain.groups["person"].tolist())) == 3


def test_groups_of_a_difference() -> None:
    """Of two models the difference is asked; the jackknife is taken where it was made; the worst column is named."""
    x, code, first = grouped_state(alike=True)
    moved = np.random.default_rng(1).normal(0, 0.1, len(x))
    none = code.astype(np.uint64) % 2
    groups = {"site": none, "person": (code // 2).astype(np.uint64), "video": code.astype(np.uint64)}
    second = state_of(2 * x - 5 + moved, groups=groups)
    first = state_of(x, groups=groups)
    task, request = catalogue.find_task("weights"), Request("weights", draws=100)
    gap = x - 5 + moved
    effects = {name: design_effect(gap - gap.mean(), c.astype(np.int64)) for name, c in groups.items()}
    worst = max(("person", "video"), key=lambda name: effects[name])
    expected = f"Dishes of one {worst} go together (design effect {effects[worst]:.1f})"
    states = [first, second]
    for left_out in ([None, None], [state.totals(JACKKNIFE) for state in states]):
        notes = together_notes(task, request, [Count(), Mean()], states, left_out)
        assert len(notes) == 1
        assert notes[0].startswith(expected)
