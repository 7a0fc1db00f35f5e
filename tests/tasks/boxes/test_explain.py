"""Why two tools disagree: with all settings of a tool, its own numbers come out."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.coco_reference import draw, pairs_of, reference
from support.lazy import lazy
from support.paths import ROOT, TESTS

import steelyard as sy
from steelyard.core.statistic import SharedCache
from steelyard.tasks.boxes.explain import OURS, TOOLS, BoxConventions, explain_tools, values
from steelyard.tasks.boxes.pairs import BoxPairs

jsonschema = lazy("jsonschema")

GOLDENS = json.loads((TESTS / "goldens" / "disagreements.json").read_text())
CASES = {case["seed"]: case for case in GOLDENS["cases"]}


def numbers(pairs: BoxPairs, way: BoxConventions) -> dict[str, float]:
    return values(pairs, SharedCache(), way)


def defined(value: float | None) -> float:
    return float("nan") if value is None or value == -1.0 else value


@pytest.mark.parametrize("tool", ["torchmetrics", "ultralytics"])
def test_versions_are_those_of_the_goldens(tool: str) -> None:
    assert TOOLS[tool].version == GOLDENS["versions"][tool]


@pytest.mark.parametrize("seed", CASES)
def test_torchmetrics(seed: int) -> None:
    result = numbers(pairs_of(*draw(seed)), TOOLS["torchmetrics"].conventions)
    for name, value in CASES[seed]["torchmetrics"].items():
        assert np.array_equal(np.float32(result[name]), np.float32(defined(value)), equal_nan=True), name


@pytest.mark.parametrize("seed", CASES)
def test_ultralytics(seed: int) -> None:
    data, results = draw(seed)
    untied = [{**result, "score": result["score"] + i * 1e-5} for i, result in enumerate(results)]
    outcome = numbers(pairs_of(data, untied), TOOLS["ultralytics"].conventions)
    for name, value in CASES[seed]["ultralytics"].items():
        assert outcome[name] == pytest.approx(defined(value), rel=1e-12, abs=1e-15, nan_ok=True), name


@pytest.mark.parametrize("seed", [seed for seed in list(CASES)[:14] if draw(seed)[0]["annotations"]])
def test_pycocotools(seed: int) -> None:
    data, results = draw(seed)
    data["annotations"][0]["id"] = 0
    expected = reference(data, results).stats
    result = numbers(pairs_of(data, results), TOOLS["pycocotools"].conventions)
    for name, value in zip(("map", "map50", "map75", "map_small", "map_medium", "map_large"), expected, strict=False):
        assert np.array_equal(result[name], defined(value), equal_nan=True), name


def test_points_are_those_of_torch() -> None:
    import torch

    from steelyard.tasks.boxes.explain import linspace_single

    for start, stop, points in ((0.0, 1.0, 101), (0.5, 0.95, 10)):
        assert np.array_equal(linspace_single(start, stop, points), torch.linspace(start, stop, points).numpy())


def under(data: dict[str, Any], results: list[dict[str, Any]], change: Callable[[Any], None]) -> dict[str, float]:
    """The reference's numbers with its parameters or its data changed."""
    e = reference(data, results)
    change(e)
    with contextlib.redirect_stdout(io.StringIO()):
        e.evaluate()
        e.accumulate()
    by_name = {}
    for i, name in enumerate(("all", "small", "medium", "large")):
        part = e.eval["precision"][:, :, :, i, -1]
        values_of = {f"map_{name}" if i else "map": part}
        if not i:
            values_of |= {"map50": part[0], "map75": part[5]}
        for key, values_ in values_of.items():
            by_name[key] = float(np.mean(values_[values_ > -1])) if (values_ > -1).any() else float("nan")
    return by_name


def single_grid(e: Any) -> None:
    import torch

    e.params.recThrs = np.array(torch.linspace(0.0, 1.0, 101).tolist())


def single_ious(e: Any) -> None:
    import torch

    e.params.iouThrs = np.array(torch.linspace(0.5, 0.95, 10).tolist())


def box_areas(e: Any) -> None:
    for annotation in e.cocoGt.dataset["annotations"]:
        annotation["area"] = annotation["bbox"][2] * annotation["bbox"][3]


def no_crowds(e: Any) -> None:
    for annotation in e.cocoGt.dataset["annotations"]:
        annotation["iscrowd"] = 0


ALONE = {
    "recalls": ("single precision", single_grid),
    "ious": ("single precision", single_ious),
    "area": ("of the box", box_areas),
    "crowd": ("ordinary objects", no_crowds),
}


@pytest.mark.parametrize("setting", ALONE)
def test_one_setting_at_a_time(setting: str) -> None:
    """Against pycocotools with that one parameter changed."""
    theirs, change = ALONE[setting]
    moved = 0
    for seed in range(12):
        data, results = draw(seed)
        if not results:
            continue
        expected = under(data, results, change)
        pairs = pairs_of(data, results)
        result = numbers(pairs, replace(OURS, **{setting: theirs}))
        for name, value in expected.items():
            assert np.array_equal(result[name], value, equal_nan=True), (seed, name)
        moved += result != numbers(pairs, OURS)
    assert moved > 0


def test_most_detections_and_lowest_score() -> None:
    """300 of an image over all classes, and nothing at or below 0.001: as if the rest had not been given."""
    rng = np.random.default_rng(2)
    data = {
        "images": [{"id": 1}],
        "categories": [{"id": 1}, {"id": 2}],
        "annotations": [{"id": i + 1, "image_id": 1, "category_id": 1 + i % 2, "bbox": [30 * i, 0, 20, 20], "area": 400, "iscrowd": 0} for i in range(20)],
    }  # fmt: skip
    results = []
    for i in range(420):
        box = [30 * (i % 20) + float(rng.normal(0, 3)), 0, 20, 20]
        results.append(
            {"image_id": 1, "category_id": 1 + int(rng.integers(2)), "bbox": box, "score": float(rng.random())}
        )
    for i in range(15):
        results.append({"image_id": 1, "category_id": 1, "bbox": [30 * i, 0, 20, 20], "score": 0.0005})
    best = sorted(results, key=lambda r: -r["score"])[:300]
    pairs = pairs_of(data, results)
    limited = numbers(pairs, replace(OURS, limit="300 of an image"))
    report = sy.evaluate("boxes", data, best, ["map(max_dets=65535)", "map"], confidence=None)
    assert limited["map"] == report["map(max_dets=65535)"].value
    assert limited["map"] != numbers(pairs, OURS)["map"]
    strong = [r for r in results if r["score"] > 0.001]
    assert numbers(pairs, replace(OURS, least="0.001"))["map"] == numbers(pairs_of(data, strong), OURS)["map"]


def test_straight_lines_by_hand() -> None:
    """Two truths, detections right, wrong, right: recall 0.5, 0.5, 1 and precision 1, 1/2, 2/3.

    The falling curve is 1 to recall 0.5, then a straight line from (0.5, 2/3) to (1, 2/3): between the points 0.50 and
    0.51 of the grid it drops, at 1.00 it is still 2/3 only at the last point of the curve, where it falls to 0.
    """
    truth = {"image": [1, 1], "label": [1, 1], "x": [0, 50], "y": [0, 0], "w": [10, 10], "h": [10, 10]}
    predicted = {
        "image": [1] * 3,
        "label": [1] * 3,
        "x": [0, 200, 50],
        "y": [0] * 3,
        "w": [10] * 3,
        "h": [10] * 3,
        "score": [0.9, 0.8, 0.7],
    }
    report = sy.evaluate("boxes", truth, predicted, "map50", confidence=None, explain="ultralytics")
    curve = next(s for s in report.explanations[0].steps if s.setting == "area under the curve")
    grid = np.linspace(0, 1, 101)
    height = np.interp(grid, [0, 0.5, 0.5, 1, 1, 1], [1, 1, 2 / 3, 2 / 3, 0, 0])
    assert curve.values["map50"] == pytest.approx(np.sum((height[1:] + height[:-1]) / 200), abs=1e-12)


def test_report_and_command_line(steelyard: Callable[..., Any], tmp_path: Path) -> None:
    root = ROOT / "src" / "steelyard"
    sample = root / "samples" / "boxes"
    tools = "pycocotools,torchmetrics,ultralytics"
    run = steelyard("evaluate", "boxes", sample / "truth.json", sample / "model_a.json", "-m", "map", "--ci", "none",
                    "--explain", tools, "-o", "r.json", "-o", "r.html", "-o", "r.md")  # fmt: skip
    assert run.returncode == 0, run.stderr
    for tool in tools.split(","):
        assert f"What {tool} {TOOLS[tool].version} prints" in run.stdout
        assert tool in (tmp_path / "r.html").read_text(encoding="utf-8")
        assert tool in (tmp_path / "r.md").read_text(encoding="utf-8")
    assert max(map(len, run.stdout.splitlines())) <= 80
    data = json.loads((tmp_path / "r.json").read_text())
    jsonschema.validate(data, json.loads((root / "results" / "schema" / "result-2.json").read_text()))
    assert [result["tool"] for result in data["body"]["explanations"]] == tools.split(",")
    assert data["body"]["explanations"][0]["ours"]["map"] == data["body"]["scores"]["map"]["value"]
    wrong = steelyard("evaluate", "boxes", sample / "truth.json", sample / "model_a.json", "--explain", "pycocotool")
    assert wrong.returncode == 2
    assert "Did you mean 'pycocotools'?" in wrong.stderr
    other = steelyard("evaluate", "weights", "t.csv", "p.csv", "--explain", "pycocotools")
    assert other.returncode == 2
    assert "Tasks that have: boxes" in other.stderr


def test_every_difference_says_why() -> None:
    pairs = pairs_of(*draw(3))
    for tool in TOOLS.values():
        (result,) = explain_tools(pairs, [tool.name])
        assert set(result.ours) == set(result.theirs) == set(tool.prints)
        assert result.steps
        for step in result.steps:
            assert step.reason.endswith(".")
            assert step.ours != step.theirs


def test_empty_sides() -> None:
    truth = {"image": [1], "label": [1], "x": [0], "y": [0], "w": [10], "h": [10]}
    none: dict[str, list[Any]] = {"image": [], "label": [], "x": [], "y": [], "w": [], "h": [], "score": []}
    for tool in TOOLS:
        report = sy.evaluate("boxes", truth, none, "map", confidence=None, explain=tool)
        assert report.explanations[0].theirs["map"] == 0.0
        bare = sy.evaluate(
            "boxes", {"images": [1], **{k: [] for k in truth}}, none, "map", confidence=None, explain=tool
        )
        assert np.isnan(bare.explanations[0].theirs["map"])
