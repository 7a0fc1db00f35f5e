"""Columns that name groups of units, read from pairs that are written by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.engine_states import state_of
from support.refusal import refuses

from steelyard.core import catalogue
from steelyard.core.draws import unit_keys
from steelyard.core.errors import InputError
from steelyard.core.pairs import Countable
from steelyard.core.records import as_object
from steelyard.core.request import Request
from steelyard.engine.groups import by_unit, with_groups

WEIGHTS = catalogue.find_task("weights")


class Rows:
    """A truth with columns, and other ones."""

    def __init__(self, columns: dict[str, Any], other: dict[str, Any]) -> None:
        self.source = "t.csv"
        self.columns = {name: as_object(values) for name, values in columns.items()}
        self.source_names = (*columns, *other)
        self.other = {name: np.array(v) if isinstance(v, range) else as_object(v) for name, v in other.items()}

    def find(self, name: str) -> Any:
        return self.columns.get(name, self.other.get(name))

    def own_name(self, name: str) -> str:
        return name


class Pairs(SimpleNamespace):
    """Pairs of some rows of a truth, each of which belongs to a unit."""

    def slice_values(self, name: str) -> Any:
        if name in getattr(self, "odd", ()):
            raise InputError("odd")
        return self.truth.find(name)[self.rows], self.owner


def pairs_of(units: list[Any], rows: list[int], owner: list[int], ids: list[Any] | None, **more: Any) -> Pairs:
    """Pairs whose truth has a dish per row, or none."""
    known = ("odd", "grouped")
    other = {name: values for name, values in more.items() if name not in known}
    truth = Rows({} if ids is None else {"dish": ids}, other)
    kept = {name: more[name] for name in known if name in more}
    return Pairs(truth=truth, units=as_object(units), rows=np.array(rows, int), owner=owner, **kept)


def clusters(pairs: Any, **asked: str) -> Any:
    request = Request("weights", **{"cluster": "video", **asked})  # type: ignore[arg-type]
    return with_groups(WEIGHTS, request, pairs, state_of(np.ones(len(pairs.units)))).units


def test_every_unit_has_the_value_of_its_rows() -> None:
    """Whole numbers have no point, and texts no spaces about them."""
    rows = {"video": [1.0, 2.0, 2.0, " v "], "site": ["n", "s", "s", "s"], "person": ["p", "q", "q", "r"]}
    pairs = pairs_of(["a", "b", "c"], [0, 1, 2, 3], [2, 0, 0, 1], None, **rows)
    units = clusters(pairs, strata="site")
    assert units.cluster.tolist() == ["2", "v", "1"]
    assert units.stratum.tolist() == ["s", "s", "n"]
    assert units.groups == {}  # what is named needs no guess
    whole = clusters(pairs_of(["a", "b"], [0, 1], [0, 1], None, video=range(7, 9)))
    assert whole.cluster.tolist() == ["7", "8"]
    alone = with_groups(WEIGHTS, Request("weights", strata="site"), pairs, state_of(np.ones(3))).units
    assert (alone.cluster, alone.stratum.tolist()) == (None, ["s", "s", "n"])
    assert sorted(alone.groups) == ["person", "site", "video"]


def test_units_that_lost_their_rows_take_those_of_the_truth() -> None:
    """Units b and d have no pair: their rows stand in the truth by their id, whatever its type."""
    pairs = pairs_of(["a", 2, "c", "d"], [0, 3], [0, 2], ["a", "2", "2", "c", "d", "e"], video=list("vwwxyz"))
    assert clusters(pairs).cluster.tolist() == ["v", "w", "x", "y"]
    groups = with_groups(WEIGHTS, Request("weights"), pairs, state_of(np.ones(4))).units.groups
    assert groups["video"].tolist() == unit_keys(as_object(list("vwxy"))).tolist()


def test_rows_of_groups_are_found_by_their_group() -> None:
    """Where rows are grouped, units are the groups and not the rows' own ids."""
    rows = {"group": ["a", "b", "b"], "video": ["v", "w", "w"]}
    pairs = pairs_of(["a", "b"], [0], [0], ["b", "x", "y"], grouped=True, **rows)
    assert clusters(pairs).cluster.tolist() == ["v", "w"]
    plain = pairs_of(["a", "b"], [0], [0], ["x", "b", "y"], grouped=False, **rows)
    assert clusters(plain).cluster.tolist() == ["v", "w"]


def test_units_without_any_row_are_refused() -> None:
    lone = pairs_of(["a", "b"], [0], [0], None, video=["v"])
    with refuses("E-unmatched", "t.csv", "'b'", "'video'"):
        clusters(lone)
    many = pairs_of(["a", "b", "c"], [0], [1], ["b"], video=["v"])
    with refuses("E-unmatched", "t.csv", "'a'", "'video'", "2", "'c'"):
        clusters(many, cluster="video")


def test_columns_that_are_missing_empty_or_torn() -> None:
    pairs = pairs_of(["a", "b"], [0, 1, 2], [0, 1, 1], ["a", "b", "b"], vidoe=list("vvw"), site=["n", "", None])
    with refuses("E-missing-column", "t.csv", "'video'", "'vidoe'"):
        clusters(pairs)
    with refuses("E-missing-column", "t.csv", "'dihs'", "'dish'"):
        clusters(pairs, cluster="dihs")
    with refuses("E-conflict", "t.csv", "dish", "'b'", "'v'", "'w'", "'vidoe'"):
        clusters(pairs, cluster="vidoe", strata="site")
    with refuses("E-empty-cell", "t.csv", "dish", "'b'", "'site'"):
        clusters(pairs, cluster="dish", strata="site")
    with refuses("E-conflict", "video", "'v'", "strata", "'n'", "'s'", "'site'"):
        clusters(pairs_of(["a", "b"], [0, 1], [0, 1], None, video=["v", "v"], site=["n", "s"]), strata="site")


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("video", True), ("Patient-ID", True), ("subject_name", True), ("id_site", True), ("name_id_date", True),
        ("SOURCE", True), ("sequence", True), ("person", True), ("videos", False), ("id", False), ("name", False),
        ("video_site", False), ("video length", False), ("dish", False), ("", False),
    ],
)  # fmt: skip
def test_names_of_groups(name: str, is_one: bool) -> None:
    pairs = pairs_of(["a", "b", "c"], [0, 1, 2], [0, 1, 2], None, **{name: list("vvw")})
    result = with_groups(WEIGHTS, Request("weights"), pairs, state_of(np.ones(3))).units.groups
    assert list(result) == ([name] if is_one else [])


def test_suspected_columns_are_the_same_in_all_rows_of_a_unit() -> None:
    """A column that differs inside a unit is none, and neither is one that cannot be read or that a unit lacks."""
    rows = {"video": list("vvw"), "site": list("nss"), "date": list("xyz"), "person": list("pqr")}
    pairs = pairs_of(["a", "b"], [0, 1, 2], [0, 0, 1], None, odd=("date",), **rows)
    result = with_groups(WEIGHTS, Request("weights"), pairs, state_of(np.ones(2))).units.groups
    assert {name: keys.tolist() for name, keys in result.items()} == {
        "video": unit_keys(as_object(["v", "w"])).tolist()
    }
    assert result["video"].dtype == np.uint64
    lacking = pairs_of(["a", "b"], [0], [0], None, video=["v"])
    assert with_groups(WEIGHTS, Request("weights"), lacking, state_of(np.ones(2))).units.groups == {}
    after = pairs_of(["a", "b"], [0, 1, 2], [0, 0, 1], None, date=list("xyz"), odd=("date",), video=list("vvw"))
    assert list(with_groups(WEIGHTS, Request("weights"), after, state_of(np.ones(2))).units.groups) == ["video"]


class Counted(Countable):
    """Pairs that count their units, or list them."""

    def __init__(self, pairs: Pairs, kinds: Any) -> None:
        self.truth, self.units, self._kinds, self._pairs = pairs.truth, pairs.units, kinds, pairs

    @property
    def distinct_units(self) -> Any:
        return self._kinds

    def slice_values(self, name: str) -> Any:
        return self._pairs.slice_values(name)

    def per_unit(self) -> Any:
        return "listed"


def test_units_that_are_counted_have_no_groups() -> None:
    pairs = pairs_of(["a", "b"], [0, 1], [0, 1], None, video=list("vv"))
    state = state_of(np.ones(2))
    assert list(with_groups(WEIGHTS, Request("weights"), Counted(pairs, None), state).units.groups) == ["video"]
    assert with_groups(WEIGHTS, Request("weights"), Counted(pairs, state.units), state).units.groups == {}
    kinds = state_of(np.ones(2), copies=np.array([3, 4]))
    assert with_groups(WEIGHTS, Request("weights"), pairs, kinds) is kinds


def test_units_are_listed_where_each_must_be_known() -> None:
    counted = Counted(pairs_of(["a"], [0], [0], None, video=["v"]), None)
    for asked in ({"cluster": "video"}, {"strata": "video"}, {"proxy": "judge"}):
        assert by_unit(Request("labels", **asked), counted) == "listed"  # type: ignore[arg-type]
        assert by_unit(Request("labels", **asked), "others") == "others"  # type: ignore[arg-type]
    assert by_unit(Request("labels"), counted) is counted
