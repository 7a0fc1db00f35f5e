"""The gate: its language, what decides, how two results are compared, and what comes out."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import junitparser
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.lazy import lazy
from support.tiers import slow_except

import steelyard as sy
from steelyard.core import catalogue
from steelyard.engine.differences import by_draws, by_intervals, standard_error
from steelyard.gating.rules import parse_rule
from steelyard.results.read import read_result
from steelyard.results.score import Score

jsonschema = lazy("jsonschema")
scipy = lazy("scipy")

SAMPLES = Path(sy.__file__).parent / "samples"
WEIGHTS = SAMPLES / "weights"


def score(metric: str = "mae", value: float | None = 20.0, interval: Any = (15.0, 25.0), **more: Any) -> dict[str, Any]:
    return {
        "spec": metric, "label": metric.upper(), "value": value, "interval": interval and list(interval),
        "why": "" if value is not None else "nothing was weighed", "units": 100, "undefined": 0, "left_out": "",
        "notes": [], "better": "lower", "measured_in": "g", **more,
    }  # fmt: skip


def result(*scores: dict[str, Any], task: str = "weights", truth: str = "0", **settings: Any) -> dict[str, Any]:
    side = {"source": "t.csv", "rows": 100, "digest": "sha256:" + truth * 64}
    body = {
        "request": {
            "task": task, "metrics": [s["spec"] for s in scores], "by": [], "confidence": 0.95, "draws": 1000,
            "seed": 0, "missing": "error", "extra": "error", "columns": {}, "options": {}, **settings,
        },
        "task_facts": {"title": "Weights", "unit": "dish", "item": "item"},
        "scores": {s["spec"]: s for s in scores}, "slices": [],
        "coverage": {"truth": 100, "predictions": 100, "matched": 100, "missing": 0, "extra": 0},
        "sources": {"truth": side, "predictions": {**side, "source": "p.csv"}},
    }  # fmt: skip
    return {"format": "steelyard", "version": 2, "kind": "report", "body": body}


# --- the language

GOOD = {
    "mae > 30": {"metric": "mae", "operator": ">", "bound": 30.0},
    "  mae>=-1e-3 ": {"metric": "mae", "operator": ">=", "bound": -0.001},
    "map < baseline, p < 0.05": {"metric": "map", "operator": "<", "bound": None, "level": 0.05},
    "map<baseline-0.01,p<.05": {"margin": -0.01, "percent": False, "level": 0.05},
    "mae > baseline + 2 %": {"margin": 2.0, "percent": True},
    "|bias| > 5": {"metric": "bias", "absolute": True},
    "ap(kind=step, iou=0.5) < 0.4": {"metric": "ap(kind=step, iou=0.5)", "bound": 0.4},
    'precision(label="a < b, c") <= 0.5': {"metric": 'precision(label="a < b, c")', "operator": "<="},
    "ap@10(norm=hits) < 0.4": {"metric": "ap@10(norm=hits)"},
    "mae[cuisine=home] > 30": {"metric": "mae", "slice": (("cuisine", "home"),)},
    "mae[cuisine=home made, size=small] > 30": {"slice": (("cuisine", "home made"), ("size", "small"))},
    'mae["a column"="x, [y] = \\"z\\""] > 30': {"slice": (("a column", 'x, [y] = "z"'),)},
    "mae[cuisine=*] > baseline": {"slice": (("cuisine", "*"),)},
    "|bias[food=rice]| > baseline": {"metric": "bias", "slice": (("food", "rice"),), "absolute": True},
}


@pytest.mark.parametrize("text", GOOD)
def test_rules(text: str) -> None:
    rule = parse_rule(text)
    assert {name: getattr(rule, name) for name in GOOD[text]} == GOOD[text]


# rule: what the message says, and where its mark stands
BAD = {
    "": ("a metric is expected where the rule ends", 0),
    "> 30": ("a metric is expected where '>' stands", 0),
    "mae": ("one of <, <=, >, >= is expected where the rule ends", 3),
    "mae = 30": ("one of <, <=, >, >= is expected where '=' stands", 4),
    "mae >": ("a number or 'baseline' is expected where the rule ends", 5),
    "mae >> 30": ("a number or 'baseline' is expected where '>' stands", 5),
    "mae => 30": ("one of <, <=, >, >= is expected where '=>' stands", 4),
    "mae > 30g": ("a number or 'baseline' is expected where '30g' stands", 6),
    "mae > 30 %": ("a percentage stands only behind", 9),
    "mae > nan": ("a number or 'baseline' is expected where 'nan' stands", 6),
    "mae > 1e999": ("1e999 is not finite", 6),
    "mae > basline": ("a number or 'baseline' is expected where 'basline' stands", 6),
    "mae > baselines": ("a number or 'baseline' is expected where 'baselines' stands", 6),
    "mae > baseline +": ("a number is expected where the rule ends", 16),
    "mae > baseline + -2": ("one sign is enough", 17),
    "mae > baseline * 2": ("nothing may follow where '*' stands", 15),
    "mae > baseline, q < 0.05": ("'p < 0.05' is expected where 'q' stands", 16),
    "mae > baseline, p > 0.05": ("'<' is expected where '>' stands", 18),
    "mae > baseline, p <= 0.05": ("'<' is expected where '=' stands", 19),
    "mae > baseline, p < 5": ("a level of 5 is not between 0 and 1", 20),
    "mae > baseline, p < 0": ("a level of 0 is not between 0 and 1", 20),
    "mae > baseline,": ("'p < 0.05' is expected where the rule ends", 15),
    "mae > baseline, p < 0.05, p < 0.01": ("nothing may follow where ',' stands", 24),
    "mae > 30, p < 0.05": ("p compares with a baseline, and here is none", 8),
    "mae > 30 and mape > 5": ("nothing may follow where 'and' stands", 9),
    "mae(x > 30": ("'(' is never closed", 3),
    "mae() x > 30": ("nothing may follow from 'x' on", 0),
    "m$e > 30": ("cannot read it from '$e' on", 0),
    "|bias > 5": ("the closing '|' is expected where '>' stands", 6),
    "bias| > 5": ("one of <, <=, >, >= is expected where '|' stands", 4),
    "mae[] > 5": ("a column is expected where ']' stands", 4),
    "mae[food] > 5": ("'=' is expected where ']' stands", 8),
    "mae[food=] > 5": ("a value is expected where ']' stands", 9),
    "mae[food=rice > 5": ("',' or ']' is expected where the rule ends", 17),
    'mae[food="\\x"] > 5': ("is not a quoted text", 9),
}


@pytest.mark.parametrize("text", BAD)
def test_bad_rules_point_at_the_spot(text: str) -> None:
    what, at = BAD[text]
    with pytest.raises(sy.InputError) as caught:
        parse_rule(text)
    message, shown, mark = str(caught.value).split("\n")
    assert what in message
    assert shown == f"  {text}"
    assert mark == " " * (2 + at) + "^"


def test_a_rule_may_not_be_endless() -> None:
    with pytest.raises(sy.InputError, match="too long"):
        parse_rule("mae > " + "1" * 5000)


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet='mae bslin()[]|<>=,."\\p%+-*0123\n\t\x00é', max_size=40))
def test_any_text_is_a_rule_or_an_input_error(text: str) -> None:
    try:
        rule = parse_rule(text)
    except sy.InputError:
        return
    assert parse_rule(rule.text) == rule


# --- what decides

# rule, value, interval: outcome
NUMBERS = [
    ("mae > 30", 20, (15, 25), "pass"),
    ("mae > 30", 35, (31, 40), "fail"),
    ("mae > 30", 35, (29, 40), "undecided"),
    ("mae > 30", 28, (25, 31), "undecided"),
    ("mae > 30", 28, (25, 30), "pass"),  # 30 is not above 30
    ("mae >= 30", 28, (25, 30), "undecided"),
    ("mae < 30", 40, (30, 50), "pass"),
    ("mae <= 30", 40, (30, 50), "undecided"),
    ("mae < 30", 20, (10, 29.9), "fail"),
    ("mae > 30", 31, None, "fail"),
    ("mae > 30", 30, None, "pass"),
    ("mae > 30", None, None, "undecided"),
    ("|mae| > 5", -4, (-6, 3), "undecided"),
    ("|mae| > 5", -8, (-9, -6), "fail"),
    ("|mae| > 5", 1, (-4, 3), "pass"),
    ("|mae| < 1", 3, (-4, 5), "undecided"),  # 0 is inside
]


@pytest.mark.parametrize(("rule", "value", "interval", "expected"), NUMBERS)
def test_a_number_is_held_against_the_interval(rule: str, value: Any, interval: Any, expected: str) -> None:
    verdict = sy.gate(result(score(value=value, interval=interval)), rule)
    assert verdict.outcome == expected
    assert verdict.exit_code == {"pass": 0, "fail": 1, "undecided": 3}[expected]


def test_a_failure_weighs_more_than_doubt() -> None:
    data = result(score(), score("mape", 50.0, (49.0, 51.0)))
    rules = ["mae > 30", "mae > 20", "mape > 40"]
    assert sy.gate(data, rules[:1]).outcome == "pass"
    assert sy.gate(data, rules[:2]).outcome == "undecided"
    assert sy.gate(data, rules).outcome == "fail"
    assert [v.outcome for v in sy.gate(data, rules).verdicts] == ["pass", "undecided", "fail"]


# Unpaired: standard errors from intervals of 95 %, half width 1.96 s. Half widths 5 and 5 give 7.07 of the difference.
BASELINES = [
    ("mae > baseline", 30, 20, "fail"),  # 10 ± 7.07
    ("mae > baseline", 26, 20, "undecided"),  # 6 ± 7.07
    ("mae > baseline", 10, 20, "pass"),
    ("mae > baseline + 5", 30, 20, "undecided"),  # 5 ± 7.07
    ("mae > baseline - 5", 26, 20, "fail"),  # 11 ± 7.07
    ("mae > baseline + 100 %", 30, 20, "undecided"),  # -10 ± sqrt(25 + 100) = 11.2
    ("mae > baseline + 100 %", 28, 20, "pass"),  # -12 ± 11.2
    ("mae > baseline, p < 0.05", 30, 20, "fail"),  # z = 2.77
    ("mae > baseline, p < 0.001", 30, 20, "pass"),
    ("mae > baseline, p < 0.05", 26, 20, "pass"),
    ("mae > baseline, p < 0.05", 5, 20, "pass"),
    ("mae < baseline, p < 0.05", 5, 20, "fail"),
]


@pytest.mark.parametrize(("rule", "value", "before", "expected"), BASELINES)
def test_without_draws_the_intervals_are_taken_as_independent(
    rule: str, value: float, before: float, expected: str
) -> None:
    after, base = (result(score(value=v, interval=(v - 5, v + 5))) for v in (value, before))
    verdict = sy.gate(after, rule, baseline=base)
    assert verdict.outcome == expected
    assert verdict.verdicts[0].method == "unpaired"
    assert "as if the two results were independent" in str(verdict).replace("\n  ", " ")
    assert "both must keep influences" in str(verdict).replace("\n  ", " ")


def test_unpaired_numbers_by_hand() -> None:
    a = result(score(value=20.0, interval=(16.08, 23.92)))  # a standard error of 2
    b = result(score(value=27.0, interval=(21.12, 32.88)))  # of 3
    verdict = sy.gate(b, "mae > baseline, p < 0.05", baseline=a).verdicts[0]
    assert verdict.difference == pytest.approx(7.0)
    assert verdict.p == pytest.approx(2 * scipy.stats.norm.sf(7 / math.sqrt(13)), rel=1e-4)
    reach = scipy.stats.norm.ppf(0.975) * math.sqrt(13)
    assert verdict.difference_interval == pytest.approx((7 - reach, 7 + reach), abs=1e-3)
    known = Score("mae", "MAE", 20.0, (16.08, 23.92))
    assert standard_error(known, 0.95) == pytest.approx(2.0, rel=1e-4)
    assert standard_error(replace(known, se=1.5), 0.95) == 1.5
    assert math.isnan(by_intervals(1.0, (math.nan, 1.0), 0.95).p)
    assert by_intervals(0.0, (0.0, 0.0), 0.95).p == 1


def test_few_units_on_either_side_have_welch_degrees_of_freedom() -> None:
    """Standard errors of 2 (5 degrees of freedom) and 3 (8): 13^2 / (2^4 / 5 + 3^4 / 8) = 12.68."""
    a = result(score(value=20.0, interval=(16.08, 23.92), se=2.0, df=5.0))
    b = result(score(value=27.0, interval=(21.12, 32.88), se=3.0, df=8.0))
    verdict = sy.gate(b, "mae > baseline, p < 0.05", baseline=a).verdicts[0]
    df = 13**2 / (2**4 / 5 + 3**4 / 8)
    assert verdict.p == pytest.approx(2 * scipy.stats.t.sf(7 / math.sqrt(13), df), rel=1e-9)


def test_undefined_cannot_be_judged() -> None:
    verdict = sy.gate(result(score(value=None, interval=None)), "mae > baseline, p < 0.1", baseline=result(score()))
    assert verdict.outcome == "undecided"
    assert "nothing was weighed" in verdict.verdicts[0].reason
    no_interval = sy.gate(
        result(score(interval=None)),
        ["mae > baseline", "mae > baseline, p < 0.1"],
        baseline=result(score(value=10.0, interval=[8.0, 12.0])),
    )
    assert [v.outcome for v in no_interval.verdicts] == ["fail", "undecided"]
    assert no_interval.verdicts[0].method == "value"


def test_slices() -> None:
    report = sy.evaluate(
        "weights", WEIGHTS / "truth.csv", WEIGHTS / "model_b.csv", "mae", by=["cuisine"], save_draws=True
    )
    base = sy.evaluate(
        "weights", WEIGHTS / "truth.csv", WEIGHTS / "model_a.csv", "mae", by=["cuisine"], save_draws=True
    )
    verdict = sy.gate(report, ["mae[cuisine=home] > 30", "mae[cuisine=*] > baseline + 3"], baseline=base)
    assert [v.where for v in verdict.verdicts] == [
        "cuisine=home",
        "cuisine=canteen",
        "cuisine=home",
        "cuisine=restaurant",
    ]
    assert verdict.verdicts[0].value == report.slices["cuisine"]["home"]["mae"].value
    assert {v.method for v in verdict.verdicts[1:]} == {"paired draws"}
    assert verdict.outcome == "pass"


# --- pairs


def evaluated(task: str, truth: Any, predictions: Any, metrics: Any = None, **more: Any) -> sy.Report:
    return sy.evaluate(task, truth, predictions, metrics, save_draws=True, **more)


def drawn_weights(n: int, seed: int = 3) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    rng = np.random.default_rng(seed)
    dish = np.arange(n)
    true = rng.uniform(50, 300, n)
    shared = rng.normal(0, 20, n)
    a = true + shared + rng.normal(0, 5, n)
    b = true + shared + rng.normal(0.8, 5, n)
    return tuple({"dish": dish, "weight": np.abs(weight)} for weight in (true, a, b))  # type: ignore[return-value]


def test_saved_draws_are_those_that_compare_draws() -> None:
    """The gate's interval is Student's, with the spread of the paired draws, which is near the jackknife's of `compare`."""
    truth, a, b = drawn_weights(1200)
    metrics = ["mae", "rmse", "r2", "within@10"]
    comparison = sy.compare("weights", truth, a, b, metrics)
    results = [json.loads(evaluated("weights", truth, p, metrics).to_json()) for p in (a, b)]
    outcome = sy.gate(results[1], [f"{m} > baseline" for m in metrics], baseline=results[0])
    for verdict in outcome.verdicts:
        difference = comparison[verdict.metric]
        assert verdict.difference == pytest.approx(difference.difference, rel=1e-12)
        first, second = (sy.evaluate("weights", truth, p, verdict.metric, save_draws=True) for p in (a, b))
        first, second = first[verdict.metric], second[verdict.metric]
        spread = np.std(second.draws - first.draws, ddof=1)
        reach = scipy.stats.t.ppf(0.975, min(first.df, second.df)) * spread
        expected = (difference.difference - reach, difference.difference + reach)
        assert verdict.difference_interval == pytest.approx(expected, rel=1e-9)
        assert difference.se == pytest.approx(spread, rel=0.1)
        assert verdict.method == "paired draws"


def test_labels_counted_by_kind_are_drawn_by_unit() -> None:
    """Rows without a group are counted, and drawn, by cell of the confusion matrix; two models share no cells."""
    rng = np.random.default_rng(5)
    n = 1500
    ids, true = np.arange(n), rng.integers(0, 4, n)
    a, b = (np.where(rng.random(n) < share, true, rng.integers(0, 4, n)) for share in (0.7, 0.75))
    truth, first, second = ({"id": ids, "label": labels} for labels in (true, a, b))
    comparison = sy.compare("labels", truth, first, second, ["accuracy", "macro(f1)"])
    base, after = (evaluated("labels", truth, p, ["accuracy", "macro(f1)"]) for p in (first, second))
    for verdict in sy.gate(after, ["accuracy < baseline", "macro(f1) < baseline"], baseline=base).verdicts:
        low, high = verdict.difference_interval
        spread = (high - low) / 2 / scipy.stats.t.ppf(0.975, min(r[verdict.metric].df for r in (base, after)))
        assert comparison[verdict.metric].se == pytest.approx(spread, rel=0.1)
    plain = sy.evaluate("labels", truth, second, ["accuracy", "macro(f1)"])
    assert {spec: s.interval for spec, s in plain.scores.items()} == {
        spec: s.interval for spec, s in after.scores.items()
    }


def test_pairs_see_what_intervals_alone_cannot() -> None:
    truth, a, b = drawn_weights(400, seed=8)
    b = {**b, "weight": b["weight"] + 4}
    base, after = evaluated("weights", truth, a, "mae"), evaluated("weights", truth, b, "mae")
    paired = sy.gate(after, "mae > baseline, p < 0.05", baseline=base).verdicts[0]
    apart = sy.gate(
        sy.evaluate("weights", truth, b, "mae"),
        "mae > baseline, p < 0.05",
        baseline=sy.evaluate("weights", truth, a, "mae"),
    ).verdicts[0]
    assert (paired.method, apart.method) == ("paired draws", "unpaired")
    assert paired.p < apart.p
    assert np.ptp(paired.difference_interval) < 0.5 * np.ptp(apart.difference_interval)


@pytest.mark.parametrize("change", [{"seed": 1}, {"draws": 500}])
def test_other_draws_are_not_paired(change: dict[str, int]) -> None:
    truth, a, b = drawn_weights(200)
    base, after = evaluated("weights", truth, a, "mae", **change), evaluated("weights", truth, b, "mae")
    verdict = sy.gate(after, "mae > baseline", baseline=base)
    assert verdict.verdicts[0].method == "unpaired"
    assert "seeds and draws differ" in str(verdict)


def test_a_model_does_not_differ_from_itself() -> None:
    truth, a, _ = drawn_weights(50)
    report = evaluated("weights", truth, a)
    rules = [f"{m} > baseline" for m in ("mae", "rmse", "r2")] + ["mae > baseline, p < 0.999"]
    verdict = sy.gate(report, rules, baseline=report)
    assert verdict.outcome == "pass"
    assert {v.difference for v in verdict.verdicts} == {0.0}
    assert {v.p for v in verdict.verdicts} == {1.0}


def test_p_of_draws_agrees_with_a_t_test() -> None:
    """Means of many units: the bootstrap's p is near that of the paired t-test."""
    rng = np.random.default_rng(11)
    for shift in (0.0, 0.08, 0.15, 0.25):
        x = rng.normal(shift, 1, 400)
        draws = np.array([np.average(x, weights=rng.poisson(1, 400)) for _ in range(4000)])
        ranking = by_draws(float(x.mean()), draws, 0.95)
        assert ranking.p == pytest.approx(scipy.stats.ttest_1samp(x, 0).pvalue, abs=0.03)


@pytest.mark.slow
def test_p_of_draws_holds_its_level() -> None:
    """Where nothing differs, p < 0.05 in about 5 of 100 cases: over 60 units, differences with heavy tails."""
    rng = np.random.default_rng(12)
    cases, units, draws = 1000, 60, 400
    low = 0
    for _ in range(cases):
        x = rng.standard_t(5, units)
        weights = rng.poisson(1, (draws, units))
        low += by_draws(float(x.mean()), weights @ x / weights.sum(axis=1), 0.95).p < 0.05
    assert 0.03 < low / cases < 0.07


def test_a_comparison_is_a_result_with_its_own_baseline(tmp_path: Path, steelyard) -> None:
    comparison = sy.compare("weights", WEIGHTS / "truth.csv", WEIGHTS / "model_b.csv", WEIGHTS / "model_a.csv")
    verdict = sy.gate(comparison, ["mae > baseline, p < 0.05", "mae > 100", "|bias| > baseline", "mae > baseline + 3"])
    assert [v.outcome for v in verdict.verdicts] == ["fail", "pass", "undecided", "fail"]
    assert verdict.verdicts[0].p == comparison["mae"].p
    assert verdict.verdicts[0].method == "paired randomisation"
    assert verdict.verdicts[3].difference_interval[0] == comparison["mae"].interval[0] - 3
    comparison.to_json(tmp_path / "c.json")
    assert steelyard("gate", "c.json", "--fail-if", "mae > baseline, p < 0.05").returncode == 1


def test_improvement_is_remarked() -> None:
    verdict = sy.gate(result(score(value=5.0, interval=(4.0, 6.0))), "mae < baseline", baseline=result(score()))
    assert "'mae < baseline' fails on an improvement" in str(verdict)


# --- bad input


def changed(way: str, value: Any) -> dict[str, Any]:
    data = result(score())
    part: Any = data
    *steps, last = way.split(".")
    for step in steps:
        part = part[int(step)] if step.isdigit() else part[step]
    if value is ...:
        del part[last]
    else:
        part[int(last) if last.isdigit() else last] = value
    return data


BROKEN = {
    "no format": (changed("format", ...), ["'format' is missing"]),
    "another version": (changed("version", 9), ["version is 9 where 2 is expected"]),
    "another kind": (changed("kind", "raport"), ['kind is "raport"', "vlm-score"]),
    "no scores": (changed("body.scores", ...), ["'body.scores' is missing"]),
    "scores are a list": (changed("body.scores", []), ["body.scores is []", "an object"]),
    "a score is no object": (changed("body.scores.mae", 3), ["body.scores.mae is 3", "an object"]),
    "a score under another name": (changed("body.scores.mae.spec", "mape"), ["'body.scores' holds another score under 'mae'"]),
    "value is text": (changed("body.scores.mae.value", "12"), ['body.scores.mae.value is "12"', "a number or null"]),
    "value is true": (changed("body.scores.mae.value", True), ["body.scores.mae.value is true", "a number or null"]),
    "interval of one": (changed("body.scores.mae.interval", [1]), ["body.scores.mae.interval is [1]", "an array of 2"]),
    "interval upside down": (changed("body.scores.mae.interval", [3, 1]), ["'body.scores.mae.interval' goes from 3 to 1", "the lower end comes first"]),
    "direction": (changed("body.scores.mae.better", "up"), ['body.scores.mae.better is "up"', "lower, higher"]),
    "negative units": (changed("body.scores.mae.units", -1), ["body.scores.mae.units is -1", "whole number"]),
    "draws are not base64": (changed("body.scores.mae.draws", "%%"), ["body.scores.mae.draws", "base64 of 64-bit floats"]),
    "too few draws": (changed("body.scores.mae.draws", "AAAAAAAA8D8="), ["'body.scores.mae.draws' holds 1 value", "says 1000"]),
    "confidence": (changed("body.request.confidence", 95), ["'body.request' is broken", "95 is not between 0 and 1"]),
    "no digest": (changed("body.sources.truth.digest", ...), ["'body.sources.truth.digest' is missing"]),
    "half a character": (changed("body.scores.mae.label", "a\ud800"), ["body.scores.mae.label is", "whole characters"]),
    "a list": ([1, 2], ["an array where an object is expected"]),
}  # fmt: skip


def assert_clear(done: Any, expected: list[str]) -> None:
    assert done.returncode == 2, done
    assert done.stdout == ""
    assert done.stderr.startswith("steelyard: ")
    assert "Traceback" not in done.stderr
    for text in expected:
        assert text in done.stderr


@pytest.mark.parametrize("name", BROKEN)
def test_broken_results(name: str, tmp_path: Path) -> None:
    data, expected = BROKEN[name]
    (tmp_path / "r.json").write_text(json.dumps(data))
    with pytest.raises(sy.InputError) as caught:
        sy.gate(tmp_path / "r.json", "mae > 30")
    for text in [str(tmp_path / "r.json"), *expected, "steelyard evaluate"]:
        assert text in str(caught.value)


FILES = {
    "empty": (b"", ["not valid JSON at character 0"]),
    "cut off": (b'{"schema": ', ["not valid JSON at character 11"]),
    "not text": (b"\xff\xff", ["not UTF-8"]),
    "UTF-16": (b"\xff\xfe{\x00}\x00", ["is UTF-16 text"]),
    "deep": (b"[" * 200_000, ["r.json"]),
    "not finite": (json.dumps(changed("body.scores.mae.value", math.nan)).encode(), ["body.scores.mae.value is NaN"]),
}


@pytest.mark.parametrize("name", FILES)
def test_broken_files(name: str, tmp_path: Path) -> None:
    data, expected = FILES[name]
    (tmp_path / "r.json").write_bytes(data)
    with pytest.raises(sy.InputError) as caught:
        sy.gate(tmp_path / "r.json", "mae > 30")
    for text in ["r.json", *expected]:
        assert text in str(caught.value)


def test_the_command_says_what_is_wrong(tmp_path: Path, steelyard) -> None:
    (tmp_path / "r.json").write_text(json.dumps(result(score())))
    assert_clear(steelyard("gate", "none.json", "--fail-if", "mae > 30"), ["none.json: no such file"])
    assert_clear(steelyard("gate", "r.json", "--fail-if", "mae >> 3"), ["where '>' stands", "\n  mae >> 3\n       ^\n"])
    done = steelyard("gate", "r.json", "--fail-if", "mae > 30", GITHUB_STEP_SUMMARY=str(tmp_path))
    assert done.returncode == 2
    assert "GITHUB_STEP_SUMMARY cannot be written" in done.stderr
    assert "Traceback" not in done.stderr


# rule, options: what the message says
REFUSED = {
    "no baseline": ("mae > baseline", [], ["rule 'mae > baseline': there is no baseline", "`baseline='base.json'`"]),
    "unknown metric": ("maee > 3", [], ["task 'weights' has no metric 'maee'", "'mae'"]),
    "unknown setting": ("mape(zeros=1) > 3", [], ["no setting 'zeros'"]),
    "metric that was not scored": ("rmse > 3", [], ["the result has no score 'rmse'", "the metric 'rmse'"]),
    "slices that are not there": ("mae[food=rice] > 3", [], ["the result has no slices by 'food'", "`by='food'`"]),
    "bias without bars": ("bias > baseline", ["--baseline", "a.json"], ["best at zero", "|bias| > baseline"]),
    "best at one": ("slope > baseline", ["--baseline", "a.json"], ["best at one", "against numbers"]),
    "other truth": ("mae > baseline", ["--baseline", "other.json"], ["the truth of r.json", "other.json", "`other_truth=True`"]),
    "other task": ("mae > baseline", ["--baseline", "labels.json"], ["task 'weights'", "'labels'"]),
    "baseline lacks the metric": ("mape > baseline", ["--baseline", "a.json"], ["the baseline has no score 'mape'"]),
    "no such baseline": ("mae > baseline", ["--baseline", "none.json"], ["none.json: no such file"]),
    "rule that does not parse": ("mae >> 3", [], ["is expected where '>' stands", "\n  mae >> 3\n       ^"]),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rule, options, expected = REFUSED[name]
    monkeypatch.chdir(tmp_path)
    scores = [score(), score("bias", better="zero"), score("slope", better="one")]
    for file, data in {
        "r": result(*scores, score("mape")), "a": result(*scores), "other": result(*scores, truth="1"),
        "labels": result(score("accuracy"), task="labels"),
    }.items():  # fmt: skip
        (tmp_path / f"{file}.json").write_text(json.dumps(data))
    with pytest.raises(sy.InputError) as caught:
        sy.gate("r.json", rule, baseline=dict([options] if options else []).get("--baseline"))
    for text in expected:
        assert text in str(caught.value)


def test_refused_of_comparisons() -> None:
    comparison = sy.compare(
        "weights", WEIGHTS / "truth.csv", WEIGHTS / "model_a.csv", WEIGHTS / "model_b.csv", ["mae", "bias"]
    )
    for rule, text in {
        "mae > baseline + 2 %": "plain difference only",
        "mae > baseline + 2, p < 0.05": "plain difference only",
        "|mae| > baseline": "plain difference only",
        "mae[cuisine=home] > 3": "holds no slices",
        "rmse > baseline": "the comparison has no score 'rmse'",
    }.items():
        with pytest.raises(sy.InputError, match="rule") as caught:
            sy.gate(comparison, rule)
        assert text in str(caught.value)
    with pytest.raises(sy.InputError, match="holds its own baseline"):
        sy.gate(comparison, "mae > 3", baseline=result(score()))
    with pytest.raises(sy.InputError, match="a baseline is one result"):
        sy.gate(result(score()), "mae > baseline", baseline=comparison.to_dict())
    with pytest.raises(sy.InputError, match="lets everything pass"):
        sy.gate(comparison, [])


def test_no_rule_is_an_error(tmp_path: Path, steelyard) -> None:
    (tmp_path / "r.json").write_text(json.dumps(result(score())))
    done = steelyard("gate", "r.json")
    assert done.returncode == 2
    assert "--fail-if" in done.stderr


def test_settings_that_differ_are_remarked() -> None:
    verdict = sy.gate(result(score(), missing="skip"), "mae > baseline", baseline=result(score()))
    assert "different settings: missing error and skip" in " ".join(str(verdict).split())
    gaps = result(score(), missing="skip")
    gaps["body"]["coverage"]["missing"] = 7
    text = " ".join(str(sy.gate(gaps, "mae > baseline", baseline=result(score(), missing="skip"))).split())
    assert "no prediction for 0 rows, the result for 7; each leaves out its own" in text
    allowed = sy.gate(result(score()), "mae > baseline", baseline=result(score(), truth="1"), other_truth=True)
    assert "the two stand on different truth" in " ".join(str(allowed).split())
    assert "No rule uses the baseline." in str(sy.gate(result(score()), "mae > 3", baseline=result(score())))


# --- what comes out


def test_exit_codes_and_outputs(tmp_path: Path, steelyard) -> None:
    for name in ("a", "b"):
        done = steelyard(
            "evaluate", "weights", WEIGHTS / "truth.csv", WEIGHTS / f"model_{name}.csv", "--save-draws", "-m", "mae", "-m", "bias",
            "-o", f"{name}.json",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    rules = ["--fail-if", "mae > baseline, p < 0.05", "--fail-if", "mae > 90"]
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    env = {"GITHUB_STEP_SUMMARY": str(summary)}
    worse = steelyard("gate", "a.json", "--baseline", "b.json", *rules, "--junit", "j.xml", **env)
    assert (worse.returncode, worse.stderr) == (1, "wrote j.xml\n")
    better = steelyard("gate", "b.json", "--baseline", "a.json", *rules)
    assert (better.returncode, better.stderr) == (0, "")
    doubtful = steelyard("gate", "a.json", "--fail-if", "mae > 24", "--json")
    assert doubtful.returncode == 3
    data = json.loads(doubtful.stdout)
    schema = json.loads((files("steelyard.results") / "schema" / "result-2.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(data)
    assert data["body"]["outcome"] == "undecided"
    for counted, code in (("pass", 0), ("fail", 1)):
        held = steelyard("gate", "a.json", "--fail-if", "mae > 24", "--undecided", counted, "--json")
        assert (held.returncode, json.loads(held.stdout)["body"]["outcome"]) == (code, "undecided")
        assert held.stderr == f"The gate is undecided, which counts as a {counted}: --undecided {counted}.\n"
    failing = steelyard("gate", "a.json", "--fail-if", "mae > 10", "--undecided", "pass")
    assert (failing.returncode, failing.stderr) == (1, "")
    assert max(map(len, worse.stdout.splitlines())) <= 80

    text = summary.read_text()
    assert text.startswith("before\n### ✗ FAIL: weights, 60 dishes")
    assert "| ✗ FAIL | `mae > baseline, p < 0.05` |" in text

    suite = next(iter(junitparser.JUnitXml.fromfile(str(tmp_path / "j.xml"))))
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (2, 1, 0, 0)
    first, second = suite
    assert first.name == "mae > baseline, p < 0.05"
    assert isinstance(first.result[0], junitparser.Failure)
    assert "Mean absolute error (mae) 23.78 g against 16.09 g" in first.result[0].message
    assert second.is_passed


HOSTILE = "<script>alert(1)</script>|`*_]&\"'\x00\x0b"


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    hostile = score(label=HOSTILE, measured_in=HOSTILE, value=None, why=HOSTILE)
    data = result(hostile)
    scores = {"mae": hostile, "bias": score("bias", label=HOSTILE)}
    data["body"]["slices"] = [{"by": ["food"], "value": [HOSTILE], "scores": scores}]
    verdict = sy.gate(data, ["mae > 30", "mae[food=*] > 3", "bias[food=*] > 3"])
    xml = verdict.to_junit().encode("utf-8")
    suite = next(iter(junitparser.JUnitXml.fromstring(xml)))
    assert (suite.tests, suite.skipped, suite.failures) == (3, 2, 1)
    page = verdict.to_markdown()
    assert "<script>" not in page
    rows = [line for line in page.splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in rows} == {5}


@pytest.mark.parametrize("task", slow_except(catalogue.samples(), "weights", "boxes", "labels"))
def test_results_of_every_task_are_read_back(task: str, tmp_path: Path) -> None:
    sample, folder = catalogue.samples()[task], SAMPLES / task
    options = {
        name: str(folder / value) if (folder / value).exists() else value for name, value in sample.options.items()
    }
    sides = folder / sample.truth, folder / sample.a
    by = [sample.by] if sample.by else []
    report = sy.evaluate(task, *sides, by=by, options=options, draws=100, save_draws=True)
    report.to_json(tmp_path / "r.json")
    again = read_result(tmp_path / "r.json")
    assert isinstance(again, sy.Report)
    assert again == report
    assert again.to_dict() == report.to_dict()
    spec = next(iter(report.scores))
    assert (
        sy.gate(tmp_path / "r.json", [f"{spec} > -1e9", f"{spec} < baseline"], baseline=again).verdicts[1].outcome
        == "pass"
    )
    schema = json.loads((files("steelyard.results") / "schema" / "result-2.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(report.to_dict())


def test_comparisons_are_read_back() -> None:
    comparison = sy.compare("weights", WEIGHTS / "truth.csv", WEIGHTS / "model_a.csv", WEIGHTS / "model_b.csv")
    again = read_result(comparison.to_dict())
    assert again == comparison
    assert again.to_dict() == comparison.to_dict()


def test_draws_are_not_saved_unasked() -> None:
    assert all(
        "draws" not in s
        for s in sy.evaluate("weights", WEIGHTS / "truth.csv", WEIGHTS / "model_a.csv")
        .to_dict()["body"]["scores"]
        .values()
    )
    with pytest.raises(sy.InputError, match="no draws to save"):
        evaluated("weights", WEIGHTS / "truth.csv", WEIGHTS / "model_a.csv", confidence=None)


# --- inside a test suite

SUITE = """
import pytest, steelyard

TRUTH = {"dish": list(range(40)), "weight": [100.0] * 40}
GUESS = {"dish": list(range(40)), "weight": [100.0 + i % 7 for i in range(40)]}
report = steelyard.evaluate("weights", TRUTH, GUESS, "mae")

def test_passes(steelyard_gate):
    assert steelyard_gate(report, "mae > 30").outcome == "pass"

def test_fails(steelyard_gate):
    steelyard_gate(report, "mae > 1", baseline=report.to_dict())

def test_undecided(steelyard_gate):
    steelyard_gate(report, "mae > 2.9")

def test_undecided_is_skipped(steelyard_gate):
    steelyard_gate(report, "mae > 2.9", undecided="skip")

def test_undecided_passes(steelyard_gate):
    steelyard_gate(report, "mae > 2.9", undecided="pass")

def test_wrong_rule(steelyard_gate):
    steelyard_gate(report, "mae >> 2.9")

def test_wrong_choice(steelyard_gate):
    with pytest.raises(pytest.UsageError, match="fail, skip, pass"):
        steelyard_gate(report, "mae > 2", undecided="maybe")
"""


def test_fixture(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SUITE)
    done = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:xdist")
    done.assert_outcomes(passed=3, failed=3, skipped=1)
    done.stdout.fnmatch_lines(
        ["*the whole interval is above 1", "*lies on both sides of 2.9", "*InvalidSpec: rule 'mae >> 2.9'*"]
    )
    pytester.makeini("[pytest]\nsteelyard_undecided = skip\n")
    pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:xdist", "-k", "undecided").assert_outcomes(
        passed=1, skipped=2, deselected=4
    )


def test_plugin_is_light(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "import sys\n\ndef test_it():\n    assert 'steelyard' not in sys.modules\n    assert 'numpy' not in sys.modules\n"
    )
    pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:hypothesispytest").assert_outcomes(passed=1)
