"""LVIS's rules, against values of LVIS's own package (tools/make_lvis_goldens.py)."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pycocotools import mask as coco_mask
from support.coco_reference import draw
from support.paths import TESTS
from support.refusal import refuses

import steelyard as sy

GOLDENS = TESTS / "goldens" / "lvis.json"
SPECS = {
    "AP": "map(max_dets=300)", "AP50": "map50(max_dets=300)", "AP75": "map75(max_dets=300)",
    "APs": "map(area=small, max_dets=300)", "APm": "map(area=medium, max_dets=300)",
    "APl": "map(area=large, max_dets=300)", "AR@300": "ar@300",
}  # fmt: skip


def federated(seed: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Drawn data in which an image says of some of the classes whether they were looked for, and how far."""
    data, results = draw(seed)
    rng = np.random.default_rng(seed + 1000)
    if seed % 5 == 0:  # more than 300 in an image
        image, kinds = data["images"][0]["id"], [c["id"] for c in data["categories"]]
        results += [
            {"image_id": image, "category_id": int(rng.choice(kinds)), "bbox": [*(rng.random(2) * 100), 20.0, 20.0],
             "score": float(rng.random())}
            for _ in range(350)
        ]  # fmt: skip
    for annotation in data["annotations"]:
        annotation.pop("iscrowd")
    here: dict[int, set[int]] = {}
    for annotation in data["annotations"]:
        here.setdefault(annotation["image_id"], set()).add(annotation["category_id"])
    for image in data["images"]:
        kinds = [c["id"] for c in data["categories"]]
        present = here.get(image["id"], set())
        image["neg_category_ids"] = [k for k in kinds if k not in present and rng.random() < 0.5]
        image["not_exhaustive_category_ids"] = [k for k in kinds if k in present and rng.random() < 0.4]
        image |= {"width": 1000, "height": 1000, "coco_url": f"http://x/val/{image['id']}.jpg"}
    for category in data["categories"]:
        category |= {"frequency": "f", "synset": "x", "synonyms": [], "def": ""}
    for i, result in enumerate(results):
        result["score"] += i * 1e-7  # no ties: the package's order of them is that of its own bookkeeping
    if not results:
        results = [
            {
                "image_id": data["images"][0]["id"],
                "category_id": data["categories"][0]["id"],
                "bbox": [0, 0, 1, 1],
                "score": 0.5,
            }
        ]
    return data, results


def federated_masks(seed: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The same with triangles and quadrilaterals in the boxes, in images of 120 × 150 pixels, and drawn frequencies."""
    data, results = federated(seed)
    rng = np.random.default_rng(seed + 2000)
    for image in data["images"]:
        image |= {"width": 150, "height": 120}
    for category in data["categories"]:
        category["frequency"] = str(rng.choice(["r", "c", "f"]))

    def polygon(box: list[float], corners: int, shift: float) -> list[float]:
        x, y, w, h = box[0] % 110, box[1] % 80, min(box[2], 60.0), min(box[3], 60.0)
        return [x + shift, y, x + w, y + shift, x + w, y + h, x, y + h - shift][: 2 * corners]

    for annotation in data["annotations"]:
        annotation["segmentation"] = [polygon(annotation["bbox"], int(rng.integers(3, 5)), 0.0)]
        rle = coco_mask.merge(coco_mask.frPyObjects(annotation["segmentation"], 120, 150))
        annotation["area"] = float(coco_mask.area(rle))
    for result in results:
        rings = [polygon(result.pop("bbox"), int(rng.integers(3, 5)), float(rng.random() * 3))]
        rle = coco_mask.merge(coco_mask.frPyObjects(rings, 120, 150))
        result["segmentation"] = {"size": rle["size"], "counts": rle["counts"].decode()}
    return data, results


CASES = json.loads(GOLDENS.read_text())["cases"] if GOLDENS.exists() else []
MASK_CASES = json.loads(GOLDENS.read_text())["masks"] if GOLDENS.exists() else []
MASK_SPECS = {**SPECS, "APr": "apr", "APc": "APc", "APf": "map(max_dets=300, frequency=f)"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["seed"]))
def test_equal_to_the_package(case: dict[str, Any], tmp_path: Path) -> None:
    data, results = federated(case["seed"])
    (tmp_path / "t.json").write_text(json.dumps(data))
    (tmp_path / "p.json").write_text(json.dumps(results))
    options = {"truth.format": "lvis"}
    report = sy.evaluate(
        "boxes", tmp_path / "t.json", tmp_path / "p.json", list(SPECS.values()), confidence=None, options=options
    )
    for name, spec in SPECS.items():
        expected = float("nan") if case[name] is None else case[name]
        assert report[spec].value == pytest.approx(expected, rel=1e-12, nan_ok=True), name


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("case", MASK_CASES, ids=lambda case: str(case["seed"]))
def test_masks_are_equal_to_the_package(case: dict[str, Any], packed: bool, tmp_path: Path) -> None:
    if packed and case["seed"] > 2:
        packed = False  # a few are enough
    ending = ".json.gz" if packed else ".json"
    for name, side in zip("tp", federated_masks(case["seed"]), strict=True):
        text = json.dumps(side).encode()
        (tmp_path / f"{name}{ending}").write_bytes(gzip.compress(text) if packed else text)
    report = sy.evaluate(
        "masks", tmp_path / f"t{ending}", tmp_path / f"p{ending}", list(MASK_SPECS.values()), confidence=None,
        options={"format": "lvis"},
    )  # fmt: skip
    assert any(note.startswith("Scored by LVIS's rules") for note in report.notes)
    for name, spec in MASK_SPECS.items():
        expected = float("nan") if case[name] is None else case[name]
        shown = {"apr": "map(max_dets=300, frequency=r)", "APc": "map(max_dets=300, frequency=c)"}.get(spec, spec)
        assert report[shown].value == pytest.approx(expected, rel=1e-12, nan_ok=True), name


def test_masks_that_are_not_lvis(tmp_path: Path) -> None:
    data, results = federated_masks(1)
    (tmp_path / "p.json").write_text(json.dumps(results))
    sides = [tmp_path / "t.json", tmp_path / "p.json"]

    def refused(message: str, **options: str) -> None:
        sides[0].write_text(json.dumps(data))
        with pytest.raises(sy.InputError, match=message):
            sy.evaluate("masks", *sides, "map", confidence=None, options={"format": "lvis", **options})

    refused("overlap=boundary is not supported with the rules of LVIS", overlap="boundary")
    data["images"][0].pop("neg_category_ids")
    refused("'neg_category_ids' is not a list of category ids in every image")
    with refuses("E-conflict", "format=lvis", "file"):
        sy.evaluate("masks", {"image": []}, sides[1], "map", options={"format": "lvis"})
    with refuses("E-conflict", "format=lvis", "JSON"):
        sy.evaluate("masks", sides[0], {"image": []}, "map", options={"format": "lvis"})


def test_rules_of_coco_are_named(tmp_path: Path) -> None:
    data, results = federated(3)
    plain = sy.evaluate("boxes", data, results, "map", confidence=None)
    assert any("format=lvis" in note for note in plain.notes)
    (tmp_path / "t.json").write_text(json.dumps(data))
    ruled = sy.evaluate("boxes", tmp_path / "t.json", results, "map", confidence=None, options={"truth.format": "lvis"})
    assert ruled.notes == (
        "Scored by LVIS's rules: detections beyond an image's 300 best or of a class that was not looked for there are left "
        "out, as is what has no area; a class that is not annotated to the end in an image is a crowd there.",
    )
    assert ruled["map"].value > plain["map"].value


def test_truth_that_does_not_say(tmp_path: Path) -> None:
    data, results = draw(3)
    (tmp_path / "t.json").write_text(json.dumps(data))
    with refuses("E-invalid-value", "'neg_category_ids'"):
        sy.evaluate("boxes", tmp_path / "t.json", results, "map", options={"truth.format": "lvis"})


@pytest.mark.parametrize("seed", [0, 3, 5, 10])
def test_both_readers_agree(seed: int, tmp_path: Path) -> None:
    """A packed truth is read record by record, a plain one natively: the same numbers and the same note."""
    data, results = federated(seed)
    for i, category in enumerate(data["categories"]):
        category["frequency"] = "rcf"[i % 3]
    (tmp_path / "p.json").write_text(json.dumps(results))
    (tmp_path / "t.json").write_text(json.dumps(data))
    (tmp_path / "t.json.gz").write_bytes(gzip.compress(json.dumps(data).encode()))
    specs = [*SPECS.values(), "map(frequency=r)"]
    reports = [
        sy.evaluate("boxes", tmp_path / name, tmp_path / "p.json", specs, confidence=None, options={"format": "lvis"})
        for name in ("t.json", "t.json.gz")
    ]
    values = [[score.value for score in report.scores.values()] for report in reports]
    assert np.array_equal(values[0], values[1], equal_nan=True)
    assert reports[0].notes[0] == reports[1].notes[0]
