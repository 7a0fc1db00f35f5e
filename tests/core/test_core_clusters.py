"""Clusters and strata of units by hand: what is drawn, left out, swapped and kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.refusal import refuses

from steelyard.core.draws import unit_keys
from steelyard.core.metadata import Metadata
from steelyard.core.plan import JACKKNIFE, WeightPlan, draw_keys
from steelyard.core.records import as_object
from steelyard.core.request import Request
from steelyard.core.state import State
from steelyard.core.units import Units
from steelyard.core.weights import GivenRows, InStrata, LeaveGroupOut, LeaveOneOut, Plain, Role

IDS = np.arange(5)
CLUSTER = as_object(["n", "m", "n", "k", "m"])
STRATUM = as_object(["x", "y", "x", "y", "y"])


def rows_of(weights: Any) -> list[list[float]]:
    rows: list[list[float]] = np.concatenate(list(weights.blocks())).tolist()
    return rows


def test_strata_keep_their_totals() -> None:
    """Stratum 0 weighs 1 + 3 and stratum 1 weighs 2; a row that has nothing of a stratum leaves it as it is."""
    given = GivenRows(np.array([[2.0, 1, 0], [0, 5, 0.5], [0, 0, 0], [1, 2, 3]]), Role.DRAWS)
    strata = InStrata(given, np.array([1.0, 2, 3]), np.array([0, 1, 0]))
    assert rows_of(strata) == [[4, 2, 0], [0, 2, 4], [1, 2, 3], [1, 2, 3]]
    assert (strata.rows, strata.units, strata.role) == (4, 3, Role.DRAWS)
    assert (strata @ np.array([1.0, 10, 100])).tolist() == [24, 420, 321, 321]
    assert strata.counts() is None
    half = InStrata(Plain(np.array([0.5, 0, 4])), np.ones(3), np.array([0, 1, 0]))
    assert rows_of(half.present()) == [[1, 0, 1]]
    small = InStrata(Plain(np.array([0.25, 0.25])), np.ones(2), np.array([0, 0]))
    assert rows_of(small) == [[1, 1]]
    no_units = InStrata(GivenRows(np.zeros((1, 0)), Role.DRAWS), np.zeros(0), np.zeros(0, np.int64))
    assert no_units.starts.tolist() == []


def test_units_of_a_cluster_are_drawn_by_its_name() -> None:
    units = Units(IDS, cluster=CLUSTER)
    names, code = units.drawn_as
    assert (names.tolist(), code.tolist(), code.dtype) == (["k", "m", "n"], [2, 1, 2, 0, 1], np.int64)
    assert (units.n_resampled, units.has_design, Units(IDS).has_design, Units(IDS, stratum=STRATUM).has_design) == (
        3,
        True,
        False,
        True,
    )
    assert Units(IDS, np.array([1.0, 1, 1, 0, 1]), cluster=CLUSTER).n_resampled == 2
    assert (Units(IDS).n_resampled, Units(IDS, np.array([1.0, 0, 1, 0, 1])).n_resampled) == (5, 3)
    assert [part.tolist() for part in Units(IDS).drawn_as] == [[0, 1, 2, 3, 4]] * 2
    assert draw_keys(units).tolist() == unit_keys(CLUSTER).tolist()
    assert draw_keys(Units(IDS)).tolist() == unit_keys(IDS).tolist()


def test_a_jackknife_leaves_clusters_out() -> None:
    weights = JACKKNIFE.bind(Units(IDS, np.array([1.0, 2, 3, 0, 5]), cluster=CLUSTER))  # k has no weight
    assert isinstance(weights, LeaveGroupOut)
    assert weights.group.tolist() == [1, 0, 1, -1, 0]
    assert rows_of(weights) == [[1, 0, 3, 0, 0], [0, 2, 0, 0, 5]]
    assert rows_of(JACKKNIFE.bind(Units(IDS, cluster=CLUSTER))) == [
        [1, 1, 1, 0, 1], [1, 0, 1, 1, 0], [0, 1, 0, 1, 1],
    ]  # fmt: skip
    assert JACKKNIFE.bind(Units(IDS[:0], cluster=CLUSTER[:0])).rows == 0
    many = JACKKNIFE.bind(Units(np.arange(1500), cluster=as_object([f"c{i}" for i in range(1500)])))
    assert isinstance(many, LeaveGroupOut)
    assert 700 < many.rows <= 1000
    thousand = JACKKNIFE.bind(Units(np.arange(1500), cluster=as_object([f"c{i % 1000}" for i in range(1500)])))
    assert thousand.rows == 1000
    assert isinstance(JACKKNIFE.bind(Units(IDS)), LeaveOneOut)


def test_strata_hold_in_draws_and_in_the_jackknife() -> None:
    units = Units(IDS, np.array([1.0, 2, 3, 4, 5]), stratum=STRATUM)
    for plan in (WeightPlan(Role.DRAWS, 3, rows=40), JACKKNIFE):
        rows = np.array(rows_of(plan.bind(units)))
        assert rows[:, [0, 2]].sum(axis=1) == pytest.approx(np.full(len(rows), 4))
        assert rows[:, [1, 3, 4]].sum(axis=1) == pytest.approx(np.full(len(rows), 11))


def test_units_with_clusters_are_cut_and_stacked() -> None:
    units = Units(IDS, None, None, CLUSTER, STRATUM, {"day": np.arange(5) * 10, "hour": np.arange(5)})
    part = units.take(np.array([3, 0]))
    assert part.cluster is not None
    assert part.stratum is not None
    assert (part.ids.tolist(), part.cluster.tolist(), part.stratum.tolist()) == ([3, 0], ["k", "n"], ["y", "x"])
    assert {name: keys.tolist() for name, keys in part.groups.items()} == {"day": [30, 0], "hour": [3, 0]}
    other = Units(np.array([9]), None, None, as_object(["z"]), None, {"day": np.array([7])})
    both = Units.stack([part, other])
    assert both.cluster is not None
    assert (both.cluster.tolist(), both.stratum) == (["k", "n", "z"], None)
    assert {name: keys.tolist() for name, keys in both.groups.items()} == {"day": [30, 0, 7]}
    turned = Units.stack([other, part])
    assert {name: keys.tolist() for name, keys in turned.groups.items()} == {"day": [7, 30, 0]}
    twice = Units.stack([part, part])
    assert twice.stratum is not None
    assert twice.stratum.tolist() == ["y", "x", "y", "x"]


def test_a_state_takes_the_groups_of_another() -> None:
    def state(units: Units) -> State:
        return State(units, Metadata(), {})

    whole = state(Units(IDS, None, None, CLUSTER, STRATUM, {"day": IDS}))
    mine = state(Units(IDS, np.ones(5)))
    like = mine.grouped_like(whole)
    assert (like.units.cluster is CLUSTER, like.units.stratum is STRATUM, like.units.groups) == (
        True,
        True,
        {"day": IDS},
    )
    assert (like.units.ids is IDS, like.units.weight is mine.units.weight) == (True, True)
    for one, other in (
        (state(Units(IDS, None, np.ones(5))), whole),
        (mine, state(Units(IDS, None, np.ones(5)))),
        (state(Units(IDS[:4])), whole),
    ):
        assert one.grouped_like(other) is one


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cluster": 3}, ("E-invalid-setting", "cluster", "3")),
        ({"strata": ""}, ("E-invalid-setting", "strata")),
        ({"strata": ["a"]}, ("E-invalid-setting", "strata")),
        (
            {"cluster": "a", "strata": "a"},
            ("E-conflict", "'a'", "cluster", "strata"),
        ),
    ],
)
def test_columns_that_are_no_clusters(settings: Any, message: tuple[str, ...]) -> None:
    with refuses(*message):
        Request.of("weights", None, settings)


def test_a_request_with_clusters() -> None:
    request = Request.of("weights", None, {"cluster": "person", "strata": "city"})
    assert (request.cluster, request.strata, request.has_design) == ("person", "city", True)
    assert [Request("w", **one).has_design for one in ({}, {"cluster": "a"}, {"strata": "a"})] == [False, True, True]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sequence": "exat"}, ("E-invalid-setting", "'exat'")),
        (
            {"sequence": "exact", "confidence": None},
            ("E-conflict", "intervals"),
        ),
        *(
            (
                {"sequence": "exact", name: "a"},
                ("E-unsupported", "clusters"),
            )
            for name in ("cluster", "strata", "proxy")
        ),
        (
            {"sequence": "exact", "margin": {"mae": "0.5", "mape": "2% "}},
            ("E-unsupported", "margin", "'mape'"),
        ),
        (
            {"judge_correction": "rate", "proxy": "p"},
            ("E-invalid-setting", "'rate'"),
        ),
        ({"judge_correction": "rates"}, ("E-missing-data", "correct")),
    ],
)
def test_sequences_and_judges_that_are_refused(settings: Any, message: tuple[str, ...]) -> None:
    with refuses(*message):
        Request("weights", **settings).check()


def test_sequences_and_judges_that_are_taken() -> None:
    for settings in (
        {"sequence": "exact", "margin": {"mae": "0.5"}}, {"sequence": "approximate"},
        {"judge_correction": "rates", "proxy": "p"}, {"proxy": "p", "cluster": "c", "strata": "s"},
    ):  # fmt: skip
        Request("weights", **settings).check()  # type: ignore[arg-type]
    with refuses(TypeError, "'proxy'"):
        Request.of("weights", None, {"proxy": "p"})  # type: ignore[typeddict-unknown-key]
