"""Results that keep influences: what they hold, and that tests from files are those from data."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.refusal import refuses

import steelyard as sy
from steelyard.core.draws import unit_keys
from steelyard.gating.stored import compare_stored
from steelyard.render.text import comparison_text
from steelyard.results.influences import unpack_keys

SAMPLES = Path(sy.__file__).parent / "samples"
WEIGHTS = SAMPLES / "weights"
SAME = ("difference", "interval", "p", "p_adjusted", "p_holm", "p_method", "adjust", "family", "smallest_p", "verdict",
        "se", "df", "units", "notes", "min_detectable", "null_hypothesis", "undefined_reason")  # fmt: skip


def assert_same_tests(data: sy.Comparison, files: sy.Comparison) -> None:
    """Every number of a comparison from files is that from data."""
    assert list(data.differences) == list(files.differences)
    for spec, one in data.differences.items():
        for name in SAME:
            first, second = getattr(one, name), getattr(files[spec], name)
            both_nan = isinstance(first, float) and math.isnan(first) and math.isnan(second)
            assert both_nan or first == second, (spec, name, first, second)


def stored(tmp_path: Path, name: str, task: str, truth: Any, predictions: Any, metrics: Any, **settings: Any) -> Path:
    path = tmp_path / f"{name}.json"
    sy.evaluate(task, truth, predictions, metrics, save_influences=True, **settings).to_json(path)
    return path


def drawn_labels(n: int, seed: int, right: float) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)
    ids = np.arange(n)
    models = []
    for share in (right, right + 0.05):
        wrong = rng.random(n) > share
        models.append({"id": ids, "label": np.where(wrong, (truth + 1) % 3, truth)})
    return {"id": ids, "label": truth, "video": ids // 4}, models[0], models[1]


CASES = {
    "weights": ("weights", WEIGHTS / "truth.csv", WEIGHTS / "model_a.csv", WEIGHTS / "model_b.csv", None, {}),
    "few draws, another seed": (
        "weights", WEIGHTS / "truth.csv", WEIGHTS / "model_a.csv", WEIGHTS / "model_b.csv", ["mae", "bias"],
        {"draws": 250, "seed": 7, "confidence": 0.9},
    ),
    "labels": ("labels", *drawn_labels(80, 1, 0.8), None, {}),
    "clusters": ("labels", *drawn_labels(90, 2, 0.7), ["accuracy", "f1"], {"cluster": "video"}),
    "groups": ("labels", *drawn_labels(1500, 3, 0.9), ["accuracy", "kappa"], {}),
    "all worlds": ("labels", *drawn_labels(9, 4, 0.5), ["accuracy"], {}),
    "boxes": (
        "boxes", SAMPLES / "boxes" / "truth.json", SAMPLES / "boxes" / "model_a.json",
        SAMPLES / "boxes" / "model_b.json", ["map", "map50", "f1"], {"draws": 200},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_files_give_the_tests_of_the_data(case: str, tmp_path: Path) -> None:
    task, truth, a, b, metrics, settings = CASES[case]
    data = sy.compare(task, truth, a, b, metrics, **settings)
    files = [stored(tmp_path, n, task, truth, p, metrics, **settings) for n, p in (("a", a), ("b", b))]
    made = compare_stored(files)
    assert isinstance(made, sy.Comparison)
    assert_same_tests(data, made)
    assert made.notes[-1].startswith("Made from the influences")


def test_ranks_from_files_are_those_of_the_data(tmp_path: Path) -> None:
    truth, a, b = drawn_labels(120, 5, 0.6)
    c = drawn_labels(120, 5, 0.9)[2]
    data = sy.compare("labels", truth, [a, b, c], metrics=["accuracy", "f1"])
    files = [stored(tmp_path, n, "labels", truth, p, ["accuracy", "f1"]) for n, p in (("a", a), ("b", b), ("c", c))]
    made = compare_stored(files)
    assert isinstance(made, sy.Lineup)
    assert made.standings == data.standings
    for one, other in zip(data.comparisons, made.comparisons, strict=True):
        assert_same_tests(one, other)


def test_a_difference_without_spread_rests_on_the_same_units(tmp_path: Path) -> None:
    ids = np.arange(12)
    truth = {"id": ids, "label": ["a"] * 6 + ["b"] * 6}
    right, wrong = {"id": ids, "label": truth["label"]}, {"id": ids, "label": ["b"] * 6 + ["a"] * 6}
    files = [stored(tmp_path, n, "labels", truth, p, "accuracy") for n, p in (("a", wrong), ("b", right))]
    made = compare_stored(files)
    assert isinstance(made, sy.Comparison)
    assert made["accuracy"].p_method == "agreement"
    assert made["accuracy"].p == pytest.approx(2.0**-11, rel=1e-6)  # McNemar's, 12 of 12 one way
    assert_same_tests(sy.compare("labels", truth, wrong, right, "accuracy"), made)


def test_a_file_holds_value_and_influences_of_a_mean(tmp_path: Path) -> None:
    """psi of a mean are the deviations, and the keys are those of the ids."""
    errors = np.array([3.0, -1.0, 4.0, 1.0, -5.0])
    ids = [f"d{i}" for i in range(5)]
    truth = {"dish": ids, "item": ["x"] * 5, "weight": np.full(5, 100.0)}
    predictions = {"dish": ids, "item": ["x"] * 5, "weight": 100.0 + errors}
    report = sy.evaluate("weights", truth, predictions, ["mae"], save_influences=True)
    report.to_json(tmp_path / "r.json")
    kept = json.loads((tmp_path / "r.json").read_text())["body"]["influences"]
    assert kept["of"] == "units"
    assert kept["units"] == 5
    assert sorted(unpack_keys(kept["keys"]).tolist()) == sorted(unit_keys(np.array(ids, dtype=object)).tolist())
    assert report.influences is not None
    one = report.influences.models[0]["mae"]
    assert one.value == pytest.approx(2.8)
    assert one.psi == pytest.approx(np.abs(errors) - 2.8)
    assert sy.load(tmp_path / "r.json") == report


def test_many_units_are_kept_in_a_thousand_groups() -> None:
    truth, a, _ = drawn_labels(2500, 6, 0.9)
    kept = sy.evaluate("labels", truth, a, ["accuracy"], save_influences=True).influences
    assert kept is not None
    assert kept.of == "groups"
    assert kept.units == 2500
    assert len(kept.models[0]["accuracy"].psi) == len(kept.unit_keys) <= 1000


def test_influences_are_left_out_unless_asked_for(tmp_path: Path) -> None:
    report = sy.evaluate("weights", WEIGHTS / "truth.csv", WEIGHTS / "model_a.csv", ["mae"], by=["cuisine"])
    assert report.influences is None
    assert "influences" not in report.to_dict()["body"]
    assert "slice_influences" not in report.to_dict()["body"]


def test_results_without_influences_say_so(tmp_path: Path) -> None:
    files = []
    for name in ("a", "b"):
        files.append(tmp_path / f"{name}.json")
        sy.evaluate("weights", WEIGHTS / "truth.csv", WEIGHTS / f"model_{name}.csv", ["mae"]).to_json(files[-1])
    made = compare_stored(files)
    assert "as if they were independent: both must keep influences" in made.notes[0]


def test_results_that_leave_out_rows_are_not_paired(tmp_path: Path) -> None:
    truth, a, b = drawn_labels(60, 7, 0.7)
    fewer = {name: np.asarray(values)[:50] for name, values in b.items()}
    files = [
        stored(tmp_path, "a", "labels", truth, a, "accuracy"),
        stored(tmp_path, "b", "labels", truth, fewer, "accuracy", missing="skip"),
    ]
    assert "each result leaves out its own" in compare_stored(files).notes[0]


def test_a_gate_by_influences_is_that_of_the_comparison(tmp_path: Path) -> None:
    sides = (WEIGHTS / "truth.csv", WEIGHTS / "model_a.csv", WEIGHTS / "model_b.csv")
    data = sy.compare("weights", *sides, ["mae", "bias"])
    files = [stored(tmp_path, n, "weights", sides[0], p, ["mae", "bias"], by=["cuisine"])
             for n, p in zip("ab", sides[1:], strict=True)]  # fmt: skip
    rules = ["mae > baseline, p < 0.05", "|bias| > baseline", "mae > baseline + 1"]
    plain, bias, margin = sy.gate(files[1], rules, baseline=files[0]).verdicts
    assert plain.method == "paired randomisation"
    assert (plain.p, plain.difference_interval) == (data["mae"].p, data["mae"].interval)
    assert (bias.p, bias.difference_interval) == (data["bias"].p, data["bias"].interval)
    interval = data["mae"].interval
    assert interval is not None
    assert margin.difference_interval == pytest.approx((interval[0] - 1, interval[1] - 1))
    by_slice = sy.compare("weights", *sides, ["mae"], by=["cuisine"]).slices["cuisine"]
    for verdict in sy.gate(files[1], ["mae[cuisine=*] > baseline"], baseline=files[0]).verdicts:
        value = verdict.where.partition("=")[2]
        assert (verdict.p, verdict.difference_interval) == (by_slice[value]["mae"].p, by_slice[value]["mae"].interval)


def test_a_comparison_with_influences_takes_rules_with_margins(tmp_path: Path) -> None:
    sides = (WEIGHTS / "truth.csv", WEIGHTS / "model_a.csv", WEIGHTS / "model_b.csv")
    plain = sy.compare("weights", *sides, ["mae"])
    with refuses("E-invalid-spec", "comparison"):
        sy.gate(plain, ["mae > baseline + 2%"])
    kept = sy.compare("weights", *sides, ["mae"], save_influences=True, margin={"mae": "2%"})
    kept.to_json(tmp_path / "c.json")
    assert sy.load(tmp_path / "c.json") == kept
    one = sy.gate(tmp_path / "c.json", ["mae > baseline + 2%"]).verdicts[0]
    assert one.difference == pytest.approx(kept["mae"].b.value - 1.02 * kept["mae"].a.value)
    assert one.outcome == "pass"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda kept: kept.update(keys="%%%"), ("E-invalid-result", "base64", "64-bit")),
        (lambda kept: kept.update(digest="sha256:0"), ("E-invalid-result", "a.json", "match")),
        (lambda kept: kept.update(models=[]), ("E-invalid-result", "a.json", "empty")),
        (lambda kept: kept["models"][0]["mae"].update(psi="AAAAAAAAAAA="), ("E-invalid-result", "1", "mae", "60")),
        (lambda kept: kept["models"][0]["mae"].update(psi="x"), ("E-invalid-result", "a.json", "broken")),
        (lambda kept: kept["models"][0]["mae"].update(range=[1.0, 0.0]), ("E-invalid-result", "1", "0")),
    ],
)
def test_broken_influences_are_refused(change: Any, message: tuple[str, ...], tmp_path: Path) -> None:
    path = stored(tmp_path, "a", "weights", WEIGHTS / "truth.csv", WEIGHTS / "model_a.csv", ["mae"])
    data = json.loads(path.read_text())
    change(data["body"]["influences"])
    path.write_text(json.dumps(data))
    with refuses(*message):
        sy.load(path)


def test_what_has_no_influences_is_refused() -> None:
    with refuses("E-conflict", "influences"):
        sy.evaluate("weights", WEIGHTS / "truth.csv", WEIGHTS / "model_a.csv", save_influences=True, confidence=None)
    with refuses("E-invalid-setting", "save_influences", "1"):
        sy.evaluate("weights", WEIGHTS / "truth.csv", WEIGHTS / "model_a.csv", save_influences=1)  # type: ignore[arg-type]


def test_results_without_intervals_have_no_verdict_and_say_why(tmp_path: Path) -> None:
    ids = np.arange(5)
    truth = {"dish": ids, "weight": np.full(5, 100.0)}
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    for path, error in zip(files, (1, 2), strict=True):
        predictions = {"dish": ids, "weight": 100 + error * (1 + ids)}
        sy.evaluate("weights", truth, predictions, "mae", confidence=None).to_json(path)
    made = compare_stored(files)
    assert made["mae"].difference == pytest.approx(3.0)
    why = "a result without intervals says nothing of chance: evaluate both with intervals"
    assert (made["mae"].verdict, made["mae"].undefined_reason) == ("undefined", why)
    assert f"mae has no verdict: {why}." in " ".join(comparison_text(made).split())
    made.to_html(tmp_path / "page.html")
    assert f"mae has no verdict: {why}." in (tmp_path / "page.html").read_text(encoding="utf-8")
