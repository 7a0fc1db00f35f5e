"""Rules of a gate: slices, margins, spellings, prompts."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.lazy import lazy
from support.refusal import refuses

import steelyard as sy
from steelyard.gating.judge import Against, spec_of
from steelyard.gating.plan import plan
from steelyard.gating.rules import parse_rule
from steelyard.results.vlm import PromptScore, VlmScore

scipy_stats = lazy("scipy.stats")

TRUTH = {"dish": list("abcd"), "weight": [10.0, 20.0, 30.0, 40.0], "hall": list("xxyy"), "day": list("mmtt")}


A = {"dish": list("abcd"), "weight": [11.0, 18.0, 33.0, 36.0]}


B = {"dish": list("abcd"), "weight": [12.0, 17.0, 35.0, 46.0]}


def report(side: dict[str, Any], metrics: Any = ("mae",), **settings: Any) -> sy.Report:
    return sy.evaluate("weights", TRUTH, side, list(metrics), draws=100, **settings)


def test_results_of_other_clusters_are_not_paired() -> None:
    one = report(A)
    other = replace(one, request=replace(one.request, cluster="hall"))
    assert [Against(one, base).unpaired_reason for base in (one, other)] == ["", "clusters or strata differ"]


def test_slices_that_are_not_there() -> None:
    held = report(A, by=["hall"])
    with refuses("E-invalid-spec", "'mae[hall=xx] > 3'", "'xx'", "'x'"):
        sy.gate(held, "mae[hall=xx] > 3")
    less = replace(held, slices={"hall": {"y": held.slices["hall"]["y"]}})
    with refuses("E-invalid-spec", "'mae[hall=x] > baseline'", "'x'"):
        sy.gate(held, "mae[hall=x] > baseline", baseline=less)


def test_no_slice_that_fits() -> None:
    held = report(A, by=[("hall", "day")])
    rule = "mae[hall=z,day=*] > 3"
    with refuses("E-invalid-spec", "'mae[hall=z,day=*] > 3'", "'z, *'", "'y, t'"):
        sy.gate(held, rule)
    assert [verdict.value for verdict in sy.gate(held, "mae[hall=x,day=*] > 3").verdicts] == [1.5]


def test_too_few_units_for_a_level_are_said() -> None:
    """B is worse in each of the 4 units: no exchange of their signs gives a smaller p than the one there is."""
    both = sy.compare("weights", TRUTH, A, B, ["mae"], draws=100)
    note = f"mae has no p below {both['mae'].p:.2g} with so few units: this rule cannot fail at 0.05."
    (verdict,) = sy.gate(both, "mae > baseline, p < 0.05").verdicts
    assert (verdict.outcome, verdict.notes) == ("pass", (note,))
    assert both["mae"].p >= 2 / 16


def test_the_size_of_a_score_without_an_interval() -> None:
    held = report(A, ["bias"])
    bare = replace(held, scores={"bias": replace(held.scores["bias"], interval=None)})
    (verdict,) = sy.gate(bare, "|bias| > 3").verdicts
    assert (verdict.outcome, verdict.value, verdict.interval) == ("pass", 0.5, None)


def test_a_metric_is_taken_by_each_of_its_spellings() -> None:
    rule = parse_rule("map(iou=0.50) > 0.3")
    assert spec_of(rule, "boxes", {"map(iou=0.5)": 1}, "the result") == "map(iou=0.5)"
    with refuses("E-invalid-spec", "'mea > 3'", "'mea'", "'mae'"):
        spec_of(parse_rule("mea > 3"), "of somebody else", {"mae": 1}, "the result")


@pytest.mark.parametrize(
    ("text", "target"),
    [("mae > baseline + 2 %", "the baseline + 2 %"), ("mae > baseline - 0.5", "the baseline − 0.5")],
)
def test_a_margin_is_said_with_the_baseline(text: str, target: str) -> None:
    assert parse_rule(text).target == target


def prompt_score(name: str, held: sy.Report | None) -> PromptScore:
    return PromptScore(
        model="m", prompt=name, report=held, readings=4, parsed=4, followed_up=0, outcomes={"ok": 4}, lost={},
        problems={}, constant=None, guess=math.nan, controls={},
    )  # fmt: skip


def vlm(*rows: PromptScore) -> VlmScore:
    return VlmScore("weights", rows, (), 4, 0.95, 1)


def test_prompts_that_were_not_compared_are_compared_by_their_reports() -> None:
    held = vlm(prompt_score("one", report(A)), prompt_score("two", report(B)))
    verdict = sy.gate(held, "mae > baseline", model="two", baseline="one").verdicts[0]
    assert (verdict.value, verdict.baseline) == (4.0, 2.5)  # errors 2, 3, 5, 6 and 1, 2, 3, 4
    with refuses("E-conflict", "baseline"):
        sy.gate(held, "mae > baseline", model="two", baseline="two")


def test_a_score_without_an_answer_cannot_be_held_to_a_rule() -> None:
    with refuses("E-missing-data", "reading"):
        plan(vlm(prompt_score("one", None)))


def skipping(side: dict[str, Any], left_out: str) -> dict[str, Any]:
    keep = [i for i, dish in enumerate(side["dish"]) if dish != left_out]
    return {name: [values[i] for i in keep] for name, values in side.items()}


@pytest.mark.parametrize(
    ("settings", "said"),
    [({"sequence": "approximate"}, "sequence"), ({"missing": "skip"}, "missing"), ({"cluster": "hall"}, "clusters")],
)
def test_results_that_keep_influences_but_are_no_pairs(settings: dict[str, Any], said: str) -> None:
    """Two standard errors are left, as of independent results: their root sum of squares, with Welch's t."""
    rng = np.random.default_rng(5)
    ids = [f"d{i}" for i in range(120)]
    truth = {"dish": ids, "weight": np.full(120, 100.0), "hall": [f"h{i // 4}" for i in range(120)]}
    sides = [{"dish": ids, "weight": (100 + rng.normal(0, spread, 120)).tolist()} for spread in (5, 9)]
    if "missing" in settings:
        sides[1] = skipping(sides[1], "d3")
    plain: dict[str, Any] = {"draws": 100, "save_influences": True}
    base, held = (
        sy.evaluate("weights", truth, side, ["mae"], **plain, **more)
        for side, more in zip(sides, ({}, settings), strict=True)
    )
    (verdict,) = sy.gate(held, "mae > baseline", baseline=base).verdicts
    errors = [one["mae"].se for one in (base, held)]
    degrees = [one["mae"].df for one in (base, held)]
    error = math.hypot(*errors)
    df = error**4 / sum(e**4 / d for e, d in zip(errors, degrees, strict=True))
    reach = scipy_stats.t.ppf(0.975, df) * error
    difference = held["mae"].value - base["mae"].value
    assert verdict.method == "unpaired"
    assert verdict.difference == pytest.approx(difference)
    assert verdict.difference_interval == pytest.approx((difference - reach, difference + reach))
    assert verdict.p == pytest.approx(2 * scipy_stats.t.sf(abs(difference) / error, df))
    assert said in " ".join(verdict.notes)
