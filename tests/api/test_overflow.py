"""Numbers so large that their squares or sums overflow are refused, with the limit in the message."""

from __future__ import annotations

from typing import Any

import pytest

import steelyard as sy
from steelyard.core.errors import InputError

HUGE = [1.1e12, 1e200, 1e308, -1e308]


@pytest.mark.parametrize("huge", HUGE)
def test_weights_above_the_limit_are_refused(huge: float) -> None:
    truth = {"dish": ["a", "b", "c"], "weight": [1e12, 10, 10]}
    with pytest.raises(InputError, match=r"row 1, column 'weight'.*from -1e\+12 to 1e\+12"):
        sy.evaluate("weights", truth, {"dish": ["a", "b", "c"], "weight": [10, huge, 10]})
    if huge > 0:
        with pytest.raises(InputError, match=r"row 0, column 'weight'.*from 0 to 1e\+12"):
            sy.evaluate("weights", {"dish": ["a"], "weight": [huge]}, {"dish": ["a"], "weight": [1]})


def test_weights_at_the_limit_are_scored() -> None:
    """Of 1e12, 1e12 and 10 the last is right: within@10 is a third."""
    truth = {"dish": ["a", "b", "c"], "weight": [1e12, 1e12, 10]}
    report = sy.evaluate(
        "weights", truth, {"dish": ["a", "b", "c"], "weight": [1, -1e12, 10]}, metrics=["within@10", "rmse"]
    )
    assert report["within@10"].value == pytest.approx(100 / 3)
    assert report["rmse"].value == pytest.approx((5e24 / 3) ** 0.5, rel=1e-9)
    assert "<html" in report.to_html()


@pytest.mark.parametrize(
    ("task", "truth", "predictions", "column"),
    [
        ("sequences", {"sequence": ["s"], "t": [0], "weight": [1e200]}, {"sequence": ["s"], "t": [0], "weight": [1]}, "weight"),
        ("sequences", {"sequence": ["s"], "t": [0], "weight": [1], "kcal_per_g": [1e200]}, {"sequence": ["s"], "t": [0], "weight": [1]}, "kcal_per_g"),
        ("losses", {"image": ["i"], "value": [1e308]}, {"image": ["i"], "value": [-1e308]}, "value"),
        ("labels", {"id": [1], "label": ["a"], "sample_weight": [1e308]}, {"id": [1], "label": ["a"]}, "sample_weight"),
        ("boxes", {"image": [1], "label": [1], "x": [0], "y": [0], "w": [1], "h": [1], "sample_weight": [1e300]}, {"image": [1], "label": [1], "x": [0], "y": [0], "w": [1], "h": [1], "score": [1]}, "sample_weight"),
    ],
)  # fmt: skip
def test_other_amounts_have_the_same_limit(task: str, truth: Any, predictions: Any, column: str) -> None:
    with pytest.raises(InputError, match=rf"column '{column}'.*to 1e\+12"):
        sy.evaluate(task, truth, predictions)


RUN = {"query": ["q", "q"], "doc": ["a", "b"], "score": [1.0, 0.5]}


@pytest.mark.parametrize(("gain", "relevance", "limit"), [("exponential", 2000, "500"), ("exponential", 501, "500"), ("linear", 1e308, r"1e\+12")])  # fmt: skip
def test_a_gain_that_overflows_is_refused(gain: str, relevance: float, limit: str) -> None:
    truth = {"query": ["q", "q"], "doc": ["a", "b"], "relevance": [1, relevance]}
    with pytest.raises(
        InputError, match=rf"metric 'ndcg': a relevance of .* is above {limit}, the largest for gain={gain}"
    ):
        sy.evaluate("rankings", truth, RUN, metrics=f"ndcg(gain={gain})")


def test_a_gain_at_the_limit_is_scored() -> None:
    """The one document of 2^500 stands second: 1 / log2(3)."""
    truth = {"query": ["q", "q"], "doc": ["a", "b"], "relevance": [0, 500]}
    report = sy.evaluate("rankings", truth, RUN, metrics="ndcg(gain=exponential)", confidence=None)
    assert next(iter(report.scores.values())).value == pytest.approx(0.6309297535714575, rel=1e-12)
