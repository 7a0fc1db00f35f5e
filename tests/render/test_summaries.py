"""What results come to in sentences: made from numbers that are set by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.core.figure import Figure
from steelyard.core.table import Table
from steelyard.render.page import comparison as comparison_page
from steelyard.render.page import report as report_page
from steelyard.render.summaries import gap_sentence, weak_classes
from steelyard.results.score import Gap
from steelyard.results.vlm import PromptScore, VlmScore

N = 60
TRUTH = {
    "dish": list(range(N)),
    "item": ["rice"] * N,
    "weight": [100.0 + n for n in range(N)],
    "site": ["a", "b"] * (N // 2),
}


def predicted(*errors: float) -> dict[str, Any]:
    weights = [w + errors[n % len(errors)] for n, w in enumerate(TRUTH["weight"])]  # type: ignore[operator]
    return {"dish": TRUTH["dish"], "item": TRUTH["item"], "weight": weights}


@pytest.fixture(scope="module")
def comparison() -> sy.Comparison:
    return sy.compare(
        "weights", TRUTH, predicted(9, -11, 4), predicted(3, -2, 1), ["mae", "bias"], by="site", draws=100
    )


def first_of(comparison: sy.Comparison, **changes: Any) -> sy.Comparison:
    """The comparison with another first difference alone."""
    return replace(comparison, differences={"mae": replace(comparison["mae"], **changes)}, slices={})


def test_who_is_better_by_how_much(comparison: sy.Comparison) -> None:
    changes = {"difference": -6.0, "interval": (-8.04, -4.04), "p_adjusted": 0.0123, "verdict": "better"}
    assert first_of(comparison, **changes).verdict == (
        "B is better than A in Mean absolute error: −6.0 g [−8.0, −4.0] (p = 0.012)."
    )
    assert "p < 0.001" in first_of(comparison, p_adjusted=1e-9, verdict="worse").verdict


def test_what_is_undecided_and_how_many_units_would_decide_it(comparison: sy.Comparison) -> None:
    # 4 g are detected with 60 units: 2 g need four times as many, 180 more.
    changes = {"difference": -2.0, "interval": (-5.0, 1.0), "p_adjusted": 0.2, "verdict": "no difference shown"}
    text = first_of(comparison, **changes, min_detectable=4.0).verdict
    assert text.startswith("Undecided in Mean absolute error: B − A is −2.0 g [−5.0, 1.0] (p = 0.200).")
    assert "about 180 more dishes" in text
    far = first_of(comparison, **changes, min_detectable=21.0).verdict
    assert "more than 100 times the 60 dishes" in far
    assert "more dishes" not in first_of(comparison, **changes, min_detectable=1.0).verdict
    assert "more dishes" not in first_of(comparison, **changes, min_detectable=math.nan).verdict


def test_too_few_units_are_undecided(comparison: sy.Comparison) -> None:
    text = first_of(comparison, verdict="cannot be shown", units=4).verdict
    assert text.startswith("Undecided in Mean absolute error: too few units to test (4 dishes)")
    undefined = first_of(comparison, verdict="undefined", undefined_reason="nothing was weighed")
    assert undefined.verdict == "Undecided: nothing was weighed."


def test_metrics_and_slices_are_counted(comparison: sy.Comparison) -> None:
    text = comparison.verdict
    assert text.startswith("B is better than A in Mean absolute error")
    assert "Of 2 metrics B is better in mae" in text
    assert text.endswith("By site, B is better in a, b.")
    both = {spec: replace(d, verdict="no difference shown") for spec, d in comparison.differences.items()}
    assert "All 2 metrics are undecided." in replace(comparison, differences=both, slices={}).verdict
    assert text in " ".join(comparison.to_text().split())
    assert comparison.verdict.replace("[", "\\[").replace("]", "\\]") in comparison.to_markdown()
    assert f'<p class="says" role="note" aria-label="Summary">{text}</p>' in comparison.to_html()
    assert text in str(comparison._repr_html_())


def test_the_best_of_several_models() -> None:
    models = {"near": predicted(1, -1, 2), "far": predicted(30, -40, 20), "same": predicted(1, -1, 2)}
    lineup = sy.compare("weights", TRUTH, models, metrics=["mae", "bias"], draws=100)
    assert lineup.verdict.startswith("Undecided in Mean absolute error: the best of 3 models may be near or same.")
    alone = replace(lineup.standings["mae"], ranks=((1, 1), (3, 3), (2, 2)))
    best = "near is the best of 3 models: Mean absolute error 1.33 g [1.21, 1.4"
    assert replace(lineup, standings={"mae": alone}).verdict.startswith(best)
    nobody = replace(alone, ranks=((1, 3), (1, 3), (1, 3)))
    assert replace(lineup, standings={"mae": nobody}).verdict == (
        "Undecided: none of 3 models is shown to be better than another in Mean absolute error."
    )
    assert "far worse than near" in replace(lineup, standings={}).verdict


def gap(**changes: Any) -> Gap:
    values: dict[str, Any] = {
        "by": "light",
        "spec": "map",
        "label": "mAP",
        "low": "night",
        "high": "day",
        "difference": 0.081,
        "interval": (0.021, 0.141),
        "p": 0.004,
        "p_adjusted": 0.0081,
        "worst": "night",
        "groups": 2,
    }
    return Gap(**{**values, **changes})


def test_gaps_as_sentences() -> None:
    assert gap_sentence(gap()) == "By light, map is 0.081 [0.021, 0.141] lower for night than for day (p = 0.008)."
    several = gap_sentence(gap(groups=3))
    assert several == (
        "By light, map differs between 3 groups (p = 0.008): night is worst, and the largest gap is 0.081 [0.021, 0.141]."
    )
    assert "night is lowest, day highest" in gap_sentence(gap(groups=3, worst=""))
    assert gap_sentence(gap(p_adjusted=0.06, interval=(0.0, 0.162))) == (
        "By light, undecided: the largest gap in map between 2 groups is 0.081 [0.000, 0.162] (p = 0.060)."
    )


def test_weak_classes_are_below_the_mean_with_all_classes_together() -> None:
    # The mean is 0.5. With four classes intervals are 2.498 / 1.960 = 1.274 times as wide: 0.2 + 1.274 * 0.2 = 0.455 is
    # below it, 0.4 + 1.274 * 0.09 = 0.515 is not, though its own interval is.
    columns = {"name": ["pear", "fig", "kiwi", "date"], "value": [0.2, 0.4, 0.6, 0.8]}
    ends = {"low": [0.1, 0.3, 0.5, 0.7], "high": [0.4, 0.49, 0.7, 0.9]}
    figure = Figure("f1_class", "bars", "F1 by class", {**columns, **ends})
    assert weak_classes(figure, 0.95) == ["pear"]
    assert weak_classes(Figure("f1_class", "bars", "F1 by class", columns), 0.95) == []
    # Of many classes a picture shows some: the mean is that of the table.
    values = np.array([[1, 0.2], [1, 0.4], [1, 0.6], [1, 0.8], [1, 0.1]])
    table = Table("f1_class", "F1", "class", ("pear", "fig", "kiwi", "date", "plum"), ("n", "f1"), values)
    assert weak_classes(replace(figure, table=table), 0.95) == []
    lower = Figure(
        "error_class", "bars", "Error", {"name": ["a", "b"], "value": [9, 1], "low": [8, 0.5], "high": [10, 2]}
    )
    assert weak_classes(lower, 0.95) == ["a"]


def test_a_report_without_a_value_says_why() -> None:
    report = sy.evaluate("weights", TRUTH, predicted(1), ["mae"], draws=100)
    none = replace(
        report, scores={"mae": replace(report["mae"], value=math.nan, undefined_reason="nothing was weighed")}
    )
    assert none.verdict == "No metric has a value: nothing was weighed."


def test_pools_drifts_and_gates_have_a_verdict() -> None:
    wide = sy.evaluate("weights", TRUTH, predicted(9, -11, 4), ["mae"], draws=100, save_influences=True)
    pool = sy.pool([wide, wide], shared_units=True)
    assert pool.verdict.startswith("Pooled over 2 sets: Mean absolute error 8.00 g")
    assert pool.verdict in " ".join(pool.to_text().split())
    gate = sy.gate(wide, "mae > 5")
    assert gate.verdict == "Failed: 1 of 1 rule (mae > 5)."
    assert sy.gate(wide, "mae > 50").verdict == "Passed: 1 rule."


def test_a_page_of_many_units_lists_fewer_metrics(comparison: sy.Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    report = sy.evaluate("weights", TRUTH, predicted(9, -11, 4), ["mae", "bias", "rmse"], draws=100)
    # 60 dishes of 3 metrics are 180 cells; of 2 models and 2 metrics 360 with the differences.
    for most, listed, compared in ((360, 3, 2), (179, 2, 1), (1, 1, 1)):
        monkeypatch.setattr(report_page, "MOST_CELLS", most)
        monkeypatch.setattr(comparison_page, "MOST_CELLS", most)
        assert len(report_page.listings_of(report, report.units())[-1].columns) == 1 + listed
        assert len(comparison_page.listings([comparison])[0].columns) == 1 + 3 * compared


def test_a_page_lists_only_metrics_that_single_units_have() -> None:
    sides = [0, 1, 1, 0], np.array([[0.8, 0.2], [0.6, 0.4], [0.7, 0.3], [0.9, 0.1]])
    report = sy.evaluate("labels", *sides, ["macro(roc_auc)", "accuracy"], confidence=None)
    assert not np.isfinite(report.units().values["macro(roc_auc)"]).any()
    listing = report_page.listings_of(report, report.units())[-1]
    assert (list(listing.columns)[1:], listing.x) == (["accuracy"], "accuracy")


def prompt(name: str, metric: str, value: float) -> PromptScore:
    made = sy.evaluate("weights", TRUTH, predicted(9, -11, 4), [metric], confidence=None)
    return PromptScore(
        model="m",
        prompt=name,
        report=replace(made, scores={metric: replace(made[metric], value=value)}),
        readings=N,
        parsed=N,
        followed_up=0,
        outcomes={"ok": N},
        lost={},
        problems={},
        constant=None,
        guess=math.nan,
        controls={},
    )


@pytest.mark.parametrize(
    ("metric", "values"),
    [
        ("bias", (20.0, 3.0, -25.0)),
        ("slope", (1.4, 0.9, 0.5)),
        ("mae", (20.0, 3.0, 25.0)),
        ("r2", (0.5, 0.9, -0.4)),
    ],
)
def test_the_best_prompt_is_the_one_nearest_to_the_best_value(metric: str, values: tuple[float, ...]) -> None:
    """A bias of 3 g is better than one of 20 g and than one of -25 g, and a slope of 0.9 than 1.4 and 0.5."""
    rows = tuple(prompt(name, metric, value) for name, value in zip(("over", "near", "under"), values, strict=True))
    sentence = VlmScore("weights", rows, (), N, 0.95, 1).verdict
    assert [name for name in ("over", "near", "under") if name in sentence] == ["near"]
    assert "best value of all prompts" in sentence
