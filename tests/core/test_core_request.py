"""What a request takes, keeps and refuses, setting by setting."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from support.refusal import refuses

from steelyard.core.catalogue import find_task
from steelyard.core.plan import WeightPlan
from steelyard.core.request import Request, RunDesign, crossed_columns
from steelyard.core.task import Policy
from steelyard.core.weights import Role


@pytest.mark.parametrize(
    ("settings", "design"),
    [
        ({"runs": "seeds"}, ("seeds", False, None, "satterthwaite", "jackknife")),
        ({"runs": "replies"}, ("replies", False, None, "satterthwaite", "jackknife")),
        ({"runs": "readers"}, ("readers", False, None, "hillis", "jackknife")),
        ({"runs": "annotators"}, ("annotators", True, None, "satterthwaite", "jackknife")),
        ({"runs": "seeds", "pair_runs": True}, ("seeds", True, None, "satterthwaite", "jackknife")),
        ({"runs": "seeds", "df": "hillis"}, ("seeds", False, None, "hillis", "jackknife")),
        ({"runs": "readers", "df": "satterthwaite"}, ("readers", False, None, "satterthwaite", "jackknife")),
        ({"runs": "seeds", "fixed": "runs"}, ("seeds", False, "runs", "satterthwaite", "jackknife")),
        ({"runs": "seeds", "fixed": "items"}, ("seeds", False, "items", "satterthwaite", "jackknife")),
        ({"runs": "readers", "cov": "delong"}, ("readers", False, None, "hillis", "delong")),
        ({"runs": "seeds", "cov": "jackknife"}, ("seeds", False, None, "satterthwaite", "jackknife")),
        ({"runs": "annotators", "cov": "jackknife"}, ("annotators", True, None, "satterthwaite", "jackknife")),
        ({"runs": "readers", "like": "or-dbm"}, ("readers", True, None, "hillis", "jackknife")),
        ({"runs": "readers", "like": "mrmcaov-delong"}, ("readers", True, None, "hillis", "delong")),
        ({"runs": "readers", "like": "or-dbm", "fixed": "runs"}, ("readers", True, "runs", "hillis", "jackknife")),
    ],
)
def test_how_runs_are_read(settings: dict[str, Any], design: tuple[Any, ...]) -> None:
    assert dataclasses.astuple(RunDesign.of(**settings)) == design
    rest = {"pair_runs": False, "fixed": None, "df": None, "cov": None, "like": None}
    request = Request("weights", seed=3)
    assert request.with_runs(**{**rest, **settings}) == dataclasses.replace(request, runs=RunDesign.of(**settings))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"runs": "seed"}, ("E-invalid-setting", "runs='seed'", "seeds or readers or annotators or replies")),
        ({"runs": "seeds", "fixed": "units"}, ("E-invalid-setting", "fixed='units'", "runs or items")),
        ({"runs": "seeds", "df": "welch"}, ("E-invalid-setting", "df='welch'", "satterthwaite or hillis")),
        ({"runs": "seeds", "cov": "draws"}, ("E-invalid-setting", "cov='draws'", "jackknife or delong")),
        ({"runs": "annotators", "cov": "delong"}, ("E-conflict", "cov='delong'")),
        ({"runs": "readers", "like": "dbm"}, ("E-invalid-setting", "like='dbm'", "or-dbm, mrmcaov-delong")),
        ({"runs": "seeds", "like": "or-dbm"}, ("E-conflict", "like='or-dbm'", "runs='readers'")),
        ({"runs": "readers", "like": "or-dbm", "df": "hillis"}, ("E-conflict", "like='or-dbm'")),
        ({"runs": "readers", "like": "or-dbm", "cov": "jackknife"}, ("E-conflict", "like='or-dbm'")),
    ],
)
def test_runs_that_are_refused(settings: dict[str, Any], message: tuple[str, ...]) -> None:
    with refuses(*message):
        RunDesign.of(**settings)


def test_settings_of_runs_need_runs() -> None:
    request = Request("weights")
    assert request.with_runs(None, False, None, None, None, None) is request
    given = {"pair_runs": True, "fixed": "runs", "df": "hillis", "cov": "delong", "like": "or-dbm"}
    for name, value in given.items():
        rest = {"pair_runs": False, **dict.fromkeys(("fixed", "df", "cov", "like")), name: value}
        with refuses("E-conflict", f"`{name}`", "`runs='seeds'`"):
            request.with_runs(None, **rest)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"confidence": "0.9"}, ("E-invalid-setting", "confidence is '0.9'", "a number")),
        ({"draws": None}, ("E-invalid-setting", "draws is None", "a whole number")),
        ({"draws": 200.0}, ("E-invalid-setting", "draws is 200.0", "a whole number")),
        ({"seed": None}, ("E-invalid-setting", "seed is None", "a whole number")),
        ({"missing": 1}, ("E-invalid-setting", "missing is 1")),
        ({"extra": False}, ("E-invalid-setting", "extra is False")),
        ({"adjust": 0}, ("E-invalid-setting", "adjust is 0")),
        ({"sequence": True}, ("E-invalid-setting", "sequence is True")),
        ({"judge_correction": 2}, ("E-invalid-setting", "judge_correction is 2")),
        ({"save_draws": 1}, ("E-invalid-setting", "save_draws is 1")),
        ({"save_influences": None}, ("E-invalid-setting", "save_influences is None")),
        ({"superiority": "yes"}, ("E-invalid-setting", "superiority is 'yes'")),
        ({"confidence": -0.5}, ("E-out-of-range", "-0.5")),
        ({"confidence": 0.995, "draws": 199}, ("E-invalid-setting", "199 draws", "0.995")),
        ({"confidence": None, "save_draws": True}, ("E-conflict", "draws")),
        ({"confidence": None, "save_influences": True}, ("E-conflict", "influences")),
        ({"adjust": "bonferroni"}, ("E-invalid-setting", "'bonferroni'", "max-t, holm, fdr, none")),
        ({"cluster": ""}, ("E-invalid-setting", "cluster is ''")),
        ({"cluster": 3}, ("E-invalid-setting", "cluster is 3")),
        ({"strata": ["site"]}, ("E-invalid-setting", "strata is ['site']")),
        ({"strata": ""}, ("E-invalid-setting", "strata is ''")),
        ({"cluster": "site", "strata": "site"}, ("E-conflict", "'site'")),
        ({"tags": {"a b": "x"}}, ("E-invalid-setting", "'a b'")),
        ({"judge_correction": "ratio"}, ("E-invalid-setting", "'ratio'", "difference or rates")),
        ({"judge_correction": "rates"}, ("E-missing-data",)),
        ({"label_probability": "p"}, ("E-invalid-setting", "proxy")),
        ({"label_probability": "", "proxy": "j"}, ("E-invalid-setting", "label_probability is ''")),
        ({"label_probability": 0.5, "proxy": "j"}, ("E-invalid-setting", "label_probability is 0.5")),
        (
            {"label_probability": "p", "proxy": "j", "judge_correction": "rates"},
            ("E-conflict", "`label_probability`", "`judge_correction='rates'`"),
        ),
        (
            {"label_probability": "p", "proxy": "j", "judge_correction": "rates", "cluster": "site"},
            ("E-conflict", "`label_probability`", "`judge_correction='rates'`"),
        ),
        (
            {"label_probability": "p", "proxy": "j", "cluster": "site"},
            ("E-conflict", "`label_probability`", "`cluster`"),
        ),
        ({"sequence": "always"}, ("E-invalid-setting", "'always'", "exact, approximate")),
        ({"sequence": "exact", "confidence": None}, ("E-conflict", "sequence")),
        ({"sequence": "exact", "superiority": True}, ("E-conflict", "`superiority`", "`sequence`")),
        ({"sequence": "exact", "cluster": "site"}, ("E-unsupported", "sequence")),
        ({"sequence": "approximate", "strata": "site"}, ("E-unsupported", "sequence")),
        ({"sequence": "exact", "proxy": "j"}, ("E-unsupported", "sequence")),
        ({"sequence": "exact", "margin": {"mae": "5", "mape": " 2 % "}}, ("E-unsupported", "'mape'")),
    ],
)
def test_settings_that_are_refused(settings: dict[str, Any], message: tuple[str, ...]) -> None:
    with refuses(*message):
        Request("weights", **settings).check()


@pytest.mark.parametrize(
    "settings",
    [
        {"confidence": 0.995, "draws": 200},
        {"confidence": None, "draws": 0},
        {"adjust": "none"},
        {"adjust": "fdr"},
        {"cluster": "dish", "strata": "site"},
        {"judge_correction": "rates", "proxy": "j"},
        {"label_probability": "p", "proxy": "j", "strata": "site"},
        {"sequence": "exact", "margin": {"mae": "5"}},
        {"sequence": "approximate"},
        {"save_influences": True, "save_draws": True, "superiority": True},
        {"missing": "worst", "extra": "skip"},
    ],
)
def test_settings_that_are_taken(settings: dict[str, Any]) -> None:
    Request("weights", **settings).check()


MEASURED = {
    "by": (("food",),),
    "missing": "skip",
    "extra": "error",
    "columns": {"weight": "g"},
    "options": {"a": 1},
    "cluster": "dish",
    "strata": "site",
    "proxy": "j",
    "judge_correction": "rates",
    "label_probability": "p",
}
COMPUTED = {
    "metrics": ("mae",),
    "explain": ("tool",),
    "confidence": 0.9,
    "draws": 200,
    "seed": 3,
    "save_draws": True,
    "save_influences": True,
    "adjust": "holm",
    "margin": {"mae": "5"},
    "superiority": True,
    "sequence": "exact",
    "tags": {"model": "a"},
    "runs": RunDesign("seeds"),
}


def test_what_is_measured_leaves_out_what_is_computed_of_it() -> None:
    request: Any = Request("weights", **MEASURED, **COMPUTED)
    assert {"task", *MEASURED, *COMPUTED} == {field.name for field in dataclasses.fields(Request)}
    assert request.measuring() == Request("weights", **MEASURED, confidence=None, draws=0)  # type: ignore[arg-type]
    assert request.plan == WeightPlan(Role.DRAWS, seed=3, rows=200)


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({}, ()),
        ({"by": (("food", "cut"), ("site",))}, ("food", "cut", "site")),
        ({"strata": "s", "cluster": "c", "label_probability": "p", "proxy": "j"}, ("c", "s", "j", "p")),
        ({"by": (("food",),), "cluster": "c"}, ("food", "c")),
    ],
)
def test_columns_that_settings_name(settings: dict[str, Any], names: tuple[str, ...]) -> None:
    request = Request("weights", **settings)
    assert request.named_columns == names
    assert request.has_design == bool({"cluster", "strata"} & set(settings))


def test_the_level_is_95_percent_unless_it_is_set() -> None:
    assert [Request("weights", confidence=level).level for level in (None, 0.9, 0.95)] == [0.95, 0.9, 0.95]


def test_what_happens_to_rows_of_one_side() -> None:
    task = find_task("weights")
    assert Request("weights").policy(task) == task.policy
    assert Request("weights", missing="common", extra="skip").policy(task) == Policy("skip", "skip")
    assert Request("weights", missing="worst").policy(task) == Policy("worst", task.policy.extra)
    assert Request("weights", extra="error").policy(task) == Policy(task.policy.missing, "error")


@pytest.mark.parametrize(
    ("given", "columns"),
    [
        ("food", ("food",)),
        ("food, cut", ("food", "cut")),
        (["food", "a,b"], ("food", "a,b")),
        (("x",), ("x",)),
        (" a b ", ("a b",)),
    ],
)
def test_columns_to_slice_by(given: Any, columns: tuple[str, ...]) -> None:
    assert crossed_columns(given) == columns


@pytest.mark.parametrize("given", ["", "a,", ",a", [], (), ["a", ""], ["a", 3], 3, None, {"a"}])
def test_what_names_no_column(given: Any) -> None:
    with refuses("E-invalid-setting", f"{given!r}"):
        crossed_columns(given)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"by": 3}, ("E-invalid-setting", "by is 3")),
        ({"by": str}, ("E-invalid-setting", "by is <class 'str'>")),
        ({"explain": 3}, ("E-invalid-setting", "explain is 3")),
        ({"explain": ["a", 3]}, ("E-invalid-setting", "3")),
        ({"tags": "a"}, ("E-invalid-setting", "tags are 'a'", "{'model': 'small'}")),
        ({"margin": 3}, ("E-invalid-setting", "margins are 3", "{'map': 0.005}")),
        ({"options": [1]}, ("E-invalid-setting", "options are [1]", "{'angle': 'radians'}")),
        ({"columns": 3}, ("E-invalid-setting", "columns are 3", "{'weight': 'grams'}")),
    ],
)
def test_what_is_neither_one_nor_several(settings: Any, message: tuple[str, ...]) -> None:
    with refuses(*message):
        Request.of("weights", None, settings)
    with refuses("E-invalid-setting", "metrics is 3"):
        Request.of("weights", 3)  # type: ignore[arg-type]


def test_a_request_of_every_setting() -> None:
    given: Any = {
        "by": "food,cut",
        "missing": "skip",
        "extra": "error",
        "columns": {"weight": "g"},
        "options": {"a": 1},
        "explain": "tool, other",
        "confidence": 0.9,
        "draws": 200,
        "seed": 3,
        "save_draws": True,
        "save_influences": True,
        "adjust": "holm",
        "margin": {"mae": 5},
        "superiority": True,
        "cluster": "dish",
        "strata": "site",
        "tags": {"model": "a"},
    }
    kept = {**given, "by": (("food", "cut"),), "explain": ("tool", "other"), "margin": {"mae": "5"}}
    assert Request.of("weights", "mae", given) == Request("weights", ("mae",), **kept)
    empty: Any = dict.fromkeys(("by", "columns", "options", "tags", "margin"))
    assert Request.of("weights", None, {**empty, "explain": ()}) == Request("weights")
    for name in ("proxy", "judge_correction", "label_probability", "runs", "task", "metrics"):
        with refuses(TypeError, f"'{name}'"):
            Request.of("weights", None, {name: "x"})  # type: ignore[misc]
