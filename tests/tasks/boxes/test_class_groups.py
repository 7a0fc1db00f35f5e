"""Means over some of the classes: LVIS's rare, common and frequent ones, and base and novel ones of open vocabularies."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.paths import TESTS
from support.refusal import refuses

import steelyard as sy

GOLDENS = TESTS / "goldens" / "class_groups.json"
CASES = {case["id"]: case for case in json.loads(GOLDENS.read_text(encoding="utf-8"))["cases"]}
LVIS = {
    "AP": "map(max_dets=300)", "APr": "map(max_dets=300, frequency=r)", "APc": "map(max_dets=300, frequency=c)",
    "APf": "map(max_dets=300, frequency=f)", "AP50": "map50(max_dets=300)",
}  # fmt: skip


def lvis(case: str) -> tuple[Any, Any]:
    if case != "lvis/no_rare":
        return CASES[case]["input"]["truth"], CASES[case]["input"]["results"]
    truth = json.loads(json.dumps(CASES["lvis/common"]["input"]["truth"]))
    for category in truth["categories"]:
        if category["name"] == "fork":
            category["frequency"] = "c"
    return truth, CASES["lvis/common"]["input"]["results"]


def files(folder: Path, truth: Any, results: Any) -> tuple[Path, Path]:
    paths = folder / "truth.json", folder / "results.json"
    for path, data in zip(paths, (truth, results), strict=True):
        path.write_text(json.dumps(data))
    return paths


@pytest.mark.parametrize("case", ["lvis/common", "lvis/max_300", "lvis/no_rare"])
def test_lvis_by_frequency(case: str, tmp_path: Path) -> None:
    """To the bit of lvis 0.5.3; a group without truth is undefined, not -1."""
    paths = files(tmp_path, *lvis(case))
    report = sy.evaluate("boxes", *paths, list(LVIS.values()), confidence=None, options={"format": "lvis"})
    for name, score in zip(LVIS, report.scores.values(), strict=True):
        expected = CASES[case]["expected"][name]
        if expected == -1:
            assert math.isnan(score.value)
            assert score.undefined_reason
        else:
            assert score.value == expected, name


def test_a_group_is_the_same_alone_and_behind_all_classes(tmp_path: Path) -> None:
    """Behind a mean over all classes it is read from their curves: to the same bit, and in draws by itself."""
    paths = files(tmp_path, *lvis("lvis/common"))
    settings: dict[str, Any] = {"draws": 100, "save_draws": True, "options": {"format": "lvis"}}
    for name in ("APr", "APc", "APf"):
        alone, behind = (
            sy.evaluate("boxes", *paths, specs, **settings).scores[LVIS[name]]
            for specs in ([LVIS[name]], [LVIS["AP"], LVIS[name]])
        )
        assert alone.value == behind.value == CASES["lvis/common"]["expected"][name]
        assert np.array_equal(alone.draws, behind.draws, equal_nan=True)


def test_intervals_and_units_know_the_groups(tmp_path: Path) -> None:
    """The interval is made from draws of the same mean, and every image has a value of its own."""
    paths = files(tmp_path, *lvis("lvis/common"))
    report = sy.evaluate("boxes", *paths, ["map(frequency=f)"], draws=100, options={"format": "lvis"})
    (score,) = report.scores.values()
    assert score.interval is not None
    assert score.interval[0] < score.value < score.interval[1]
    assert score.label == "mAP, IoU 0.5:0.95, frequent classes"
    assert len(report.units().values["map(frequency=f)"]) == 8


def test_base_and_novel_classes() -> None:
    case = CASES["open_vocabulary/base_novel"]
    data, expected = case["input"], case["expected"]
    base, novel = (f"[{', '.join(data[name])}]" for name in ("base", "novel"))
    specs = {
        "base_ap50": f"map50(classes={base})", "novel_ap50": f"map50(classes={novel})", "all_ap50": "map50",
        "base_ap": f"map(classes={base})", "novel_ap": f"map(classes={novel})",
    }  # fmt: skip
    report = sy.evaluate("boxes", data["truth"], data["results"], list(specs.values()), confidence=None)
    for name, score in zip(specs, report.scores.values(), strict=True):
        assert score.value == pytest.approx(expected[name], abs=case["tolerance"])
    one = sy.evaluate("boxes", data["truth"], data["results"], ["map50(classes=fork)"], confidence=None)
    assert next(iter(one.scores.values())).value == pytest.approx(expected["novel_ap50"], abs=1e-12)


@pytest.mark.parametrize(
    ("spec", "part"),
    [
        ("map(frequency=r)", ("E-missing-key", "'frequency'")),
        ("map(classes=[cup, spoon])", ("E-unknown-name", "'spoon'")),
        ("map(frequency=x)", ("E-invalid-spec", "frequency")),
        ("map50(frequency=r, classes=[cup])", ("E-conflict", "say")),
        ("map(classes=[])", ("E-invalid-spec", "classes")),
    ],
)
def test_refused(spec: str, part: tuple[str, ...]) -> None:
    data = CASES["open_vocabulary/base_novel"]["input"]
    with refuses(*part):
        sy.evaluate("boxes", data["truth"], data["results"], [spec])
