"""Results as values: equality, slices, types and missing details."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.refusal import refuses

import steelyard as sy
from steelyard.gating.plan import plan
from steelyard.render.frames import report_sheets
from steelyard.render.page import figures
from steelyard.results.forms import form_of
from steelyard.results.read import parse_result
from steelyard.results.result import with_stored
from steelyard.results.same import same
from steelyard.results.score import canonical

TRUTH = {"dish": list("abcd"), "weight": [10.0, 20.0, 30.0, 40.0], "hall": list("xxyy")}


A = {"dish": list("abcd"), "weight": [11.0, 18.0, 33.0, 36.0]}


B = {"dish": list("abcd"), "weight": [12.0, 17.0, 35.0, 46.0]}


@pytest.fixture(scope="module")
def report() -> sy.Report:
    return sy.evaluate("weights", TRUTH, A, ["mae", "bias"], draws=100, by=["hall"])


@pytest.fixture(scope="module")
def both() -> sy.Comparison:
    return sy.compare("weights", TRUTH, A, B, ["mae"], draws=100)


def test_what_is_equal(report: sy.Report) -> None:
    assert (report == 7, report == copy.copy(report), same(np.zeros(2), [0.0, 0.0])) == (False, True, False)
    assert with_stored(report, None) is report
    assert canonical("mae", "") == "mae"


def test_slices_that_no_run_gives(report: sy.Report) -> None:
    def changed(i: int, **entry: Any) -> dict[str, Any]:
        data = copy.deepcopy(report.to_dict())
        data["body"]["slices"][i] |= entry
        return data

    assert parse_result(report.to_dict(), "r.json") == report
    with refuses("E-invalid-result", "r.json", "body.slices[0].value", "2"):
        parse_result(changed(0, by=["hall", "day"]), "r.json")
    with refuses("E-invalid-result", "r.json", "'body.slices[1]'"):
        parse_result(changed(1, value=["x"]), "r.json")


def test_types_that_no_result_holds() -> None:
    with refuses(TypeError, "'bytes'"):
        form_of(bytes)


def test_results_that_no_run_gives(both: sy.Comparison) -> None:
    lineup = sy.compare("weights", TRUTH, [A, B], metrics=["mae"], draws=100)
    assert replace(lineup, comparisons=()).faults() == {"comparisons": "is empty"}
    held = plan(both)
    empty = replace(held, metrics=(replace(held.metrics[0], curve=()),))
    assert (held.faults(), empty.faults()) == ({}, {"metrics": "holds a metric without a size"})


def test_results_that_were_read_without_details(report: sy.Report, both: sy.Comparison) -> None:
    bare = parse_result(both.to_dict(), "c.json")
    with refuses(ValueError, "result"):
        bare.units()
    alone = parse_result(report.to_dict(), "r.json")
    assert list(report_sheets(alone)) == ["scores"]
    assert list(report_sheets(report)) == ["scores", "units"]
    assert len(figures.figures_of(alone)) <= len(figures.figures_of(report))
