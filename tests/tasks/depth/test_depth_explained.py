"""Depth: what other tools print for the same maps, against what they printed."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from support.paths import ROOT
from support.refusal import refuses

import steelyard as sy

GOLDENS = json.loads((ROOT / "tests" / "goldens" / "depth.json").read_text())
BOUNDS = {"min": 0.001, "max": 80}
RATIOS = {f"{letter}{k}": f"delta@{k}" for letter in "ad" for k in (1, 2, 3)}
RATIOS |= {f"delta{k}_acc": f"delta@{k}" for k in (1, 2, 3)}
NAMES = {
    "log_10": "log10",
    "abs_relative_difference": "abs_rel",
    "squared_relative_difference": "sq_rel",
    "rmse_linear": "rmse",
    "i_rmse": "irmse",
    "silog_rmse": "silog",
    "imae_per_km": "imae",
    "irmse_per_km": "irmse",
    "log_rmse": "rmse_log",
    "sq_rel_over_gt_squared": "sq_rel",
    **RATIOS,
}


def grid(rows: Any) -> Any:
    return np.array([[float(v) for v in row] for row in rows], dtype=np.float32)


def theirs(tool: str, images: list[Any], options: dict[str, Any]) -> dict[str, float]:
    names = [f"i{k}" for k in range(len(images))]
    sides = ({"image": names, "map": [grid(image[side]) for image in images]} for side in ("gt", "pred"))
    report = sy.evaluate("depth", *sides, ["abs_rel"], options=options, confidence=None, explain=[tool])
    return dict(report.explanations[0].theirs)


@pytest.mark.parametrize(
    ("tool", "golden", "options"),
    [
        ("zoedepth", "zoedepth garg 0.001 80", {"crop": "garg", "clamp": "no"}),
        ("zoedepth", "zoedepth eigen kitti 0.001 80", {"crop": "eigen", "bounds": "closed"}),
        ("dav2", "dav2 0.001 80", {}),
        ("marigold", "marigold least_square", {"clamp": "no"}),
        ("marigold", "marigold least_square", {"align": "median"}),
        ("monodepth2", "median", {}),
        ("monodepth2", "median", {"align": "affine", "align_per": "dataset"}),
    ],
)
def test_tools_print_what_they_printed(tool: str, golden: str, options: dict[str, Any]) -> None:
    printed = theirs(tool, GOLDENS["images"], {**BOUNDS, **options})
    expected = [image[golden] for image in GOLDENS["images"]]
    compared = {name: NAMES.get(name, name) for name in expected[0] if NAMES.get(name, name) in printed}
    assert set(compared.values()) == set(printed)
    for name, spec in compared.items():
        mean = float(np.mean([image[name] for image in expected]))
        assert printed[spec] == pytest.approx(mean, rel=5e-6, abs=2e-5 if "silog" in name else 2e-6), name


def test_the_development_kit_of_kitti() -> None:
    case = GOLDENS["kitti_devkit"][0]
    printed = theirs("kitti", [case], BOUNDS | {"holes": "worst", "max": 20})
    for name, value in case["devkit"].items():
        if NAMES.get(name, name) in printed:
            assert printed[NAMES.get(name, name)] == pytest.approx(value, rel=2e-6, abs=2e-6), name


def test_negative_depths_are_right_in_depth_anything() -> None:
    case = GOLDENS["edges"]["prediction negative"]
    printed = theirs("dav2", [case], BOUNDS)
    for name in ("d1", "d2", "d3"):
        assert printed[NAMES[name]] == case["dav2"][name] == 1.0
    assert printed["abs_rel"] == pytest.approx(case["dav2"]["abs_rel"])


def test_unknown_tools_are_refused() -> None:
    with refuses("E-unknown-name", "raft"):
        theirs("raft", GOLDENS["images"], BOUNDS)
