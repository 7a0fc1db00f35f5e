"""Margins: how they are read, what is refused, and the verdicts."""

from __future__ import annotations

import math
from typing import Any

import pytest
from support.refusal import refuses

from steelyard.core import catalogue
from steelyard.engine.margins import Margin, margin_verdict, margins_of, parse_margin


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (0.005, Margin(0.005)),
        (2, Margin(2.0)),
        ("0.5", Margin(0.5)),
        (" 2% ", Margin(0.02, relative=True)),
        ("150 %", Margin(1.5, relative=True)),
        ("1e-3", Margin(0.001)),
    ],
)
def test_margins_are_numbers_or_shares(given: Any, expected: Margin) -> None:
    assert parse_margin("mae", given) == expected


@pytest.mark.parametrize("given", ["much", "", "%", True, False, math.nan, "nan", math.inf, "-inf", None, "2%%"])
def test_what_is_no_number_is_refused(given: Any) -> None:
    with refuses("E-invalid-setting", "'mae'", f"{given!r}"):
        parse_margin("mae", given)


@pytest.mark.parametrize("given", [0, -0.1, "-3%", "0%"])
def test_a_margin_is_above_zero(given: Any) -> None:
    with refuses("E-out-of-range", "'mae'", str(given), "0"):
        parse_margin("mae", given)


def test_margins_are_of_metrics_that_are_compared() -> None:
    metrics = [catalogue.parse(spec, "weights") for spec in ("mae", "bias", "r2")]
    assert margins_of({"mae": "2%", "r2": 0.1}, metrics) == {"mae": Margin(0.02, relative=True), "r2": Margin(0.1)}
    assert margins_of({}, metrics) == {}
    with refuses("E-unknown-name", "'mea'", "'mae'"):
        margins_of({"mea": 1}, metrics)


def test_a_metric_without_a_direction_has_no_margin() -> None:
    specs = [metric for metric in catalogue.metrics("labels") if metric.better == "none"]
    spec = str(specs[0])
    with refuses("E-unsupported", f"'{spec}'"):
        margins_of({spec: 1}, specs)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (-0.5, 0.5, "equivalent"),
        (-0.5, 1.0, "not worse"),
        (-0.5, 3.0, "not worse"),
        (-1.0, 0.5, "undecided"),
        (-3.0, 0.5, "undecided"),
        (-3.0, -1.0, "undecided"),
        (-3.0, -1.5, "worse beyond margin"),
    ],
)
def test_verdicts_of_a_margin_of_one(low: float, high: float, expected: str) -> None:
    """The interval of the gain, moved up and down by the margin; an end on the margin decides nothing."""
    assert margin_verdict((low + 1, high + 1), (low - 1, high - 1)) == expected


def test_without_an_interval_nothing_is_decided() -> None:
    assert margin_verdict(None, (-2.0, -1.0)) == margin_verdict((1.0, 2.0), None) == "undecided"
