"""The error breakdown of boxes against tidecv."""

from __future__ import annotations

import numpy as np
import pytest
from support.coco_reference import draw
from support.lazy import lazy

import steelyard as sy

tidecv = lazy("tidecv")

NAMES = {"cls": "Cls", "loc": "Loc", "both": "Both", "dupe": "Dupe", "bkg": "Bkg", "miss": "Miss"}


def tide(data: dict, results: list) -> dict[str, float]:
    truth, predicted = tidecv.Data("truth"), tidecv.Data("found")
    for category in data["categories"]:
        truth.add_class(category["id"], category["name"])
    for image in sorted(item["id"] for item in data["images"]):
        truth.add_image(image, str(image))
        for a in data["annotations"]:
            if a["image_id"] == image:
                add = truth.add_ignore_region if a["iscrowd"] else truth.add_ground_truth
                add(image, a["category_id"], a["bbox"])
    for r in results:
        predicted.add_detection(r["image_id"], r["category_id"], r["score"], r["bbox"])
    run = tidecv.TIDE().evaluate(truth, predicted, mode=tidecv.TIDE.BOX)
    main = {error.short_name: value for error, value in run.fix_main_errors().items()}
    special = {error.short_name: value for error, value in run.fix_special_errors().items()}
    return {**{ours: main[theirs] for ours, theirs in NAMES.items()}, "fp": special["FalsePos"], "fn": special["FalseNeg"],
            "ap": run.ap}  # fmt: skip


def classes_of(data: dict, results: list) -> set[int]:
    real = {a["category_id"] for a in data["annotations"] if not a["iscrowd"]}
    return real | {r["category_id"] for r in results}


def found_once(data: dict, results: list, label: int) -> bool:
    """Whether some object of the class is overlapped by half or more by a detection of the class."""

    def iou(a: list[float], b: list[float]) -> float:
        w = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
        h = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
        inter = max(w, 0) * max(h, 0)
        return inter / (a[2] * a[3] + b[2] * b[3] - inter) if inter else 0.0

    return any(
        iou(a["bbox"], r["bbox"]) >= 0.5
        for a in data["annotations"]
        for r in results
        if not a["iscrowd"] and a["image_id"] == r["image_id"] and a["category_id"] == r["category_id"] == label
    )


def test_costs_are_tides() -> None:
    compared = 0
    some = dict.fromkeys([*NAMES, "fp", "fn"], 0)
    for seed in range(200):
        data, results = draw(seed)
        rng = np.random.default_rng(seed)
        scores = rng.permutation(len(results)) / (len(results) + 1)  # no ties: tidecv orders them by chance of input
        results = [{**r, "score": float(s)} for r, s in zip(results, scores, strict=True)]
        # tidecv takes a class without truth into its mean, as 0; ours is over classes with truth. So every class must
        # keep some truth, also once the missed are taken out.
        if not results or any(not found_once(data, results, c) for c in classes_of(data, results)):
            continue
        expected = tide(data, results)
        specs = {kind: "dap" if kind == "loc" else f"dap(error={kind})" for kind in [*NAMES, "fp", "fn"]}
        report = sy.evaluate("boxes", data, results, list(specs.values()), confidence=None)
        for kind, spec in specs.items():
            assert 100 * report[spec].value == pytest.approx(expected[kind], abs=1e-8), (seed, kind)
            some[kind] += expected[kind] > 0
        compared += 1
    assert compared > 20
    assert min(some.values()) > 3, some
