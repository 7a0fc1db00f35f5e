"""Tasks `masks` and `keypoints`: equal to pycocotools to the bit, in every form of input; what each setting means."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pycocotools import mask as reference_mask
from support.coco_drawn import HEIGHT, WIDTH, draw_coco, reference_eval
from support.coco_reference import TWELVE
from support.tiers import slow_except
from test_masks_native import blobs, boundary

import steelyard as sy
from steelyard.core import catalogue
from steelyard.core.options import Options
from steelyard.core.task import Policy
from steelyard.io.coco import parse_coco
from steelyard.tasks.boxes.precision import reference_arrays

# pycocotools itself warns under numpy 2.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

TEN = [
    "map", "map50", "map75", "map(area=medium)", "map(area=large)",
    "ar@20", "ar@20(iou=0.5)", "ar@20(iou=0.75)", "ar@20(area=medium)", "ar@20(area=large)",
]  # fmt: skip


def values(report: sy.Report, names: list[str]) -> list[float]:
    result = [report[name].value for name in names]
    return [-1.0 if np.isnan(v) else v for v in result]


@pytest.mark.parametrize("block", slow_except(range(4), 0))
def test_the_twelve_and_the_ten_are_equal_to_the_bit(block: int) -> None:
    """On every machine: OKS may differ from the reference's by some ulp, as exp does, but no pair of these data lies so
    near to a threshold, and the ten are made of which pairs lie above."""
    for seed in range(100 + block * 15, 115 + block * 15):
        data, results = draw_coco(seed, texts=seed % 5 == 0)
        report = sy.evaluate("masks", data, results["segm"], TWELVE, confidence=None)
        assert values(report, TWELVE) == list(reference_eval(data, results["segm"], "segm").stats)
        report = sy.evaluate("keypoints", data, results["keypoints"], TEN, confidence=None)
        assert values(report, TEN) == list(reference_eval(data, results["keypoints"], "keypoints").stats)


def test_whole_arrays_are_equal_to_the_bit() -> None:
    for seed in range(30):
        data, results = draw_coco(seed)
        task = catalogue.find_task("masks")
        truth = parse_coco(json.dumps(data).encode(), "truth", what="masks")
        predicted = parse_coco(json.dumps(results["segm"]).encode(), "prediction", what="masks", truth=truth)
        arrays = reference_arrays(task.join(truth, predicted, Policy(), Options(task.options)))
        expected = reference_eval(data, results["segm"], "segm").eval
        for name in ("precision", "recall", "scores"):
            assert np.array_equal(arrays[name], expected[name]), name


def test_every_form_of_input_gives_the_same(tmp_path: Path) -> None:
    """COCO files, dicts, polygons as results, tables, pixels one dict per image, and batches of them."""
    data, results = draw_coco(7)
    for ann in data["annotations"]:  # one area for all forms: the mask's own
        ann["area"] = float(reference_mask.area(as_rle(ann["segmentation"])))
    for i, result in enumerate(results["segm"]):  # no ties: equal scores would keep the order of the input
        result["score"] = round(result["score"], 1) + i / 1000
    expected = values(sy.evaluate("masks", data, results["segm"], TWELVE, confidence=None), TWELVE)
    (tmp_path / "truth.json").write_text(json.dumps(data, indent=1))
    (tmp_path / "results.json").write_text(json.dumps(results["segm"]))
    paths = tmp_path / "truth.json", str(tmp_path / "results.json")
    assert values(sy.evaluate("masks", *paths, TWELVE, confidence=None), TWELVE) == expected

    truth = {
        "image": [a["image_id"] for a in data["annotations"]],
        "label": [a["category_id"] for a in data["annotations"]],
        "mask": [json.dumps(a["segmentation"]) for a in data["annotations"]],
        "crowd": [a["iscrowd"] for a in data["annotations"]],
        "height": [HEIGHT] * len(data["annotations"]),
        "width": [WIDTH] * len(data["annotations"]),
    }
    outcome = {
        "image": [r["image_id"] for r in results["segm"]],
        "label": [r["category_id"] for r in results["segm"]],
        "mask": [r["segmentation"] for r in results["segm"]],
        "score": [r["score"] for r in results["segm"]],
    }
    listed = {**truth, "images": [image["id"] for image in data["images"]]}
    del listed["height"], listed["width"]
    listed["mask"] = [as_rle(json.loads(m)) for m in truth["mask"]]
    assert values(sy.evaluate("masks", listed, outcome, TWELVE, confidence=None), TWELVE) == expected

    per_image = []
    for image in data["images"]:
        own = [a for a in data["annotations"] if a["image_id"] == image["id"]]
        per_image.append({
            "image": image["id"],
            "masks": np.array([reference_mask.decode(as_rle(a["segmentation"])) for a in own]).reshape(-1, HEIGHT, WIDTH),
            "labels": [a["category_id"] for a in own], "crowd": [a["iscrowd"] for a in own],
        })  # fmt: skip
    predicted = []
    for image in data["images"]:
        own = [r for r in results["segm"] if r["image_id"] == image["id"]]
        predicted.append({
            "image": image["id"], "masks": [r["segmentation"] for r in own],
            "labels": [r["category_id"] for r in own], "scores": [r["score"] for r in own],
        })  # fmt: skip
    assert values(sy.evaluate("masks", per_image, predicted, TWELVE, confidence=None), TWELVE) == expected
    gathered = sy.Accumulator("masks")
    for one, other in zip(per_image[::-1], predicted[::-1], strict=True):
        gathered.update([one], [other])
    assert values(gathered.report(TWELVE, confidence=None), TWELVE) == expected


def as_rle(segmentation: Any) -> dict[str, Any]:
    mask = segmentation
    if isinstance(segmentation, list):
        mask = reference_mask.merge(reference_mask.frPyObjects(segmentation, HEIGHT, WIDTH))
    elif isinstance(segmentation["counts"], list):
        mask = reference_mask.frPyObjects(segmentation, HEIGHT, WIDTH)
    counts = mask["counts"]
    return {"size": [HEIGHT, WIDTH], "counts": counts.decode() if isinstance(counts, bytes) else counts}


def test_polygons_of_results_are_drawn_with_the_truths_sizes() -> None:
    data, _ = draw_coco(11)
    results = [
        {"image_id": a["image_id"], "category_id": a["category_id"], "segmentation": a["segmentation"], "score": 0.5}
        for a in data["annotations"]
    ]
    report = sy.evaluate("masks", data, results, ["mean_iou", "recall"], confidence=None)
    assert report["mean_iou"].value == 1.0


def test_a_table_of_polygons_needs_the_size() -> None:
    truth = {"image": [1], "label": [1], "mask": ["[[0, 0, 9, 0, 9, 9]]"], "height": [20], "width": [30]}
    predicted = {"image": [1], "label": [1], "mask": ["[[0, 0, 9, 0, 9, 9]]"], "score": [0.5]}
    with pytest.raises(sy.InputError, match="needs the height and width"):
        sy.evaluate("masks", truth, predicted, "map", confidence=None)


def test_boundary_iou_by_hand() -> None:
    """Matched by the lesser of IoU and boundary IoU: the mean of the matched shows it, against OpenCV's erosion."""
    rng = np.random.default_rng(3)
    truth, predicted, expected = [], [], []
    while len(expected) < 12:
        pixels = blobs(rng, 80, 100)
        other = pixels.copy()
        other[rng.integers(0, 80, 30), rng.integers(0, 100, 30)] ^= 1
        pair = [pixels, other]
        edges = [boundary(p, 0.05) for p in pair]
        share = min(float((a & b).sum() / (a | b).sum()) for a, b in (pair, edges))
        if share < 0.3:
            continue
        number = len(expected)
        truth.append({"image": number, "masks": pixels[None], "labels": [1]})
        predicted.append({"image": number, "masks": other[None], "labels": [1], "scores": [0.9]})
        expected.append(share)
    options = {"overlap": "boundary", "dilation": 0.05}
    report = sy.evaluate("masks", truth, predicted, ["mean_iou(iou=0.3)"], confidence=None, options=options)
    assert report["mean_iou(iou=0.3)"].value == pytest.approx(np.mean(expected), abs=1e-12)
    plain = sy.evaluate("masks", truth, predicted, ["mean_iou(iou=0.3)"], confidence=None)
    assert plain["mean_iou(iou=0.3)"].value > report["mean_iou(iou=0.3)"].value


def found_once(data: dict[str, Any], results: list[dict[str, Any]], label: int) -> bool:
    """Whether some object of the class is overlapped by half or more by a detection of the class."""
    return any(
        reference_mask.iou([r["segmentation"]], [as_rle(a["segmentation"])], [0])[0, 0] >= 0.5
        for a in data["annotations"]
        for r in results
        if not a["iscrowd"] and a["image_id"] == r["image_id"] and a["category_id"] == r["category_id"] == label
    )


def test_error_costs_are_tides() -> None:
    """tidecv in its mask mode. It takes a class without truth for 0: every class must keep some, also once repaired."""
    import tidecv

    compared = 0
    names = {"cls": "Cls", "loc": "Loc", "both": "Both", "dupe": "Dupe", "bkg": "Bkg", "miss": "Miss"}
    some = dict.fromkeys(names, 0)
    for seed in range(200, 320):
        data, result = draw_coco(seed)
        scores = np.random.default_rng(seed).permutation(len(result["segm"])) / (len(result["segm"]) + 1)
        results = [{**r, "score": float(s)} for r, s in zip(result["segm"], scores, strict=True)]
        used = {a["category_id"] for a in data["annotations"] if not a["iscrowd"]} | {r["category_id"] for r in results}
        if len(results) > 60 or any(not found_once(data, results, c) for c in used):
            continue
        truth, predicted = tidecv.Data("truth"), tidecv.Data("found")
        for category in data["categories"]:
            truth.add_class(category["id"], category["name"])
        for image in sorted(item["id"] for item in data["images"]):
            truth.add_image(image, str(image))
            for a in data["annotations"]:
                if a["image_id"] == image:
                    add = truth.add_ignore_region if a["iscrowd"] else truth.add_ground_truth
                    mask = as_rle(a["segmentation"])
                    add(image, a["category_id"], list(reference_mask.toBbox(mask)), mask)
        for r in results:
            box = list(reference_mask.toBbox(r["segmentation"]))
            predicted.add_detection(r["image_id"], r["category_id"], r["score"], box, r["segmentation"])
        run = tidecv.TIDE().evaluate(truth, predicted, mode=tidecv.TIDE.MASK)
        expected = {error.short_name: value for error, value in run.fix_main_errors().items()}
        specs = {kind: "dap" if kind == "loc" else f"dap(error={kind})" for kind in names}
        report = sy.evaluate("masks", data, results, list(specs.values()), confidence=None)
        for kind, spec in specs.items():
            assert 100 * report[spec].value == pytest.approx(expected[names[kind]], abs=1e-8), (seed, kind)
            some[kind] += expected[names[kind]] > 0
        compared += 1
    assert compared > 10
    assert min(some.values()) > 0, some


def test_sigmas() -> None:
    data, results = draw_coco(7)
    sigmas = np.linspace(0.02, 0.15, 17)

    def change(e: Any) -> None:
        e.params.kpt_oks_sigmas = sigmas

    expected = list(reference_eval(data, results["keypoints"], "keypoints", change).stats)
    for given in (sigmas.tolist(), ",".join(map(repr, sigmas.tolist()))):
        report = sy.evaluate("keypoints", data, results["keypoints"], TEN, confidence=None, options={"sigmas": given})
        assert values(report, TEN) == expected


def test_keypoints_as_columns_and_by_image() -> None:
    data, results = draw_coco(3)
    expected = values(sy.evaluate("keypoints", data, results["keypoints"], TEN, confidence=None), TEN)
    anns = data["annotations"]
    truth = {
        "image": [a["image_id"] for a in anns], "label": [a["category_id"] for a in anns],
        "keypoints": np.array([a["keypoints"] for a in anns]), "area": [a["area"] for a in anns],
        "crowd": [a["iscrowd"] for a in anns], "images": [i["id"] for i in data["images"]],
        **{name: [a["bbox"][i] for a in anns] for i, name in enumerate("xywh")},
    }  # fmt: skip
    predicted = {
        "image": [r["image_id"] for r in results["keypoints"]],
        "label": [r["category_id"] for r in results["keypoints"]],
        "keypoints": [r["keypoints"] for r in results["keypoints"]],
        "score": [r["score"] for r in results["keypoints"]],
    }
    assert values(sy.evaluate("keypoints", truth, predicted, TEN, confidence=None), TEN) == expected
    one = [
        {
            "image": 1,
            "keypoints": np.array([[[1.0, 2, 2], [5, 6, 1]]]),
            "labels": [1],
            "area": [40.0],
            "boxes": [[0, 0, 6, 7]],
        }
    ]
    other = [{"image": 1, "keypoints": [[1.0, 2, 2, 5, 6, 1]], "labels": [1], "scores": [0.7]}]
    report = sy.evaluate("keypoints", one, other, ["mean_oks", "map"], confidence=None, options={"sigmas": 0.05})
    assert report["mean_oks"].value == 1.0
    assert report["map"].value == pytest.approx(1.0, abs=1e-15)


def test_slices_intervals_and_tables() -> None:
    data, results = draw_coco(7)
    for task, kind in (("masks", "segm"), ("keypoints", "keypoints")):
        report = sy.evaluate(task, data, results[kind], ["map", "f1"], by=["label"], draws=100)
        assert report["map"].interval is not None
        assert set(report.slices["label"]) <= {c["name"] for c in data["categories"]}
        confusion = report.table("confusion")
        hits = np.trace(confusion.values[:-1, :-1])
        assert hits == round(
            sy.evaluate(task, data, results[kind], "recall", confidence=None)["recall"].value * counted(data, task)
        )
    comparison = sy.compare("masks", data, results["segm"], results["segm"][::2], "map", draws=100)
    assert comparison["map"].p is not None


def counted(data: dict[str, Any], task: str) -> int:
    anns = [a for a in data["annotations"] if not a["iscrowd"]]
    return len([a for a in anns if task == "masks" or a["num_keypoints"]])


def test_points_at_working_points_by_hand() -> None:
    """Two persons, one found exactly with score 0.9; a detection of score 0.6 is nowhere."""
    points = [10.0, 10.0, 2, 60.0, 10.0, 2, 60.0, 90.0, 2]
    away = [900.0 + value if i % 3 < 2 else value for i, value in enumerate(points)]
    other = [300.0 + value if i % 3 < 2 else value for i, value in enumerate(points)]
    truth = {"image": ["a", "a"], "label": ["person"] * 2, "keypoints": [points, other]}
    predictions = {"image": ["a", "a"], "label": ["person"] * 2, "keypoints": [points, away], "score": [0.9, 0.6]}
    expected = {
        "fbeta(beta=2)": 0.5,  # one of two is right, one of two is found
        "dece": 0.5 * abs(1 - 0.9) + 0.5 * 0.6,
        "olrp": 0.5,  # at score 0.9: no error of place, none wrong, one of two missed
        "olrp(part=fn)": 0.5,
        "precision_at(recall=0.5)": 1.0,
        "recall_at(precision=1)": 0.5,
    }
    report = sy.evaluate("keypoints", truth, predictions, list(expected), confidence=None, options={"sigmas": 0.05})
    for spec, value in expected.items():
        assert report[spec].value == pytest.approx(value, abs=1e-12), spec
