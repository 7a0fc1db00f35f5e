"""Bad input of single tasks: each is refused with its own message."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy

BOXES = {"image": ["a"], "label": ["x"], "cx": [5.0], "cy": [5.0], "w": [4.0], "h": [2.0], "angle": [0.5]}


MAPS = {"image": [1, 2], "map": [np.zeros((2, 2), np.uint8)] * 2}


CASES = {"case": ["a"], "map": [np.ones((2, 2, 2), np.uint8)]}


LONG = "x" * 2_000_000


@pytest.mark.parametrize(
    ("task", "truth", "predictions", "options", "message"),
    [
        ("oriented", {**BOXES, "angle": [400.0]}, {**BOXES, "score": [0.5]}, {}, "angle 400 looks like degrees"),
        ("oriented", {**BOXES, "angle": [400.0]}, {**BOXES, "score": [0.5]}, {"angle": "degrees"},
         "angle 400 is more than a full turn"),
        ("segmentation", MAPS, {**MAPS, "map": np.zeros((2, 2), np.uint8)}, {}, "the maps have shape 2×2"),
        ("segmentation", MAPS, {**MAPS, "map": [np.zeros((2, 2, 2, 2), np.uint8)] * 2}, {}, "a map of shape 2×2×2×2"),
        ("segmentation", MAPS, MAPS, {"palette": ["a=000001", "b=000001"]}, "another class has this colour"),
        ("segmentation", MAPS, MAPS, {"palette": ["a=red"]}, "'a=red' is not a colour"),
        ("segmentation", MAPS, MAPS, {"palette": ["a,0,0,256"]}, "'a,0,0,256' is not a colour"),
        ("volumes", CASES, CASES, {"spacing": (1.0, 0.0, 1.0)}, "option spacing: .*Every size is above zero"),
        ("volumes", CASES, CASES, {"regions": "WT=one"}, "is not a valid region"),
        ("answers", {"question": [1], "answer": [LONG]}, {"question": [1], "answer": ["a"]}, {}, "the answer has 2,000,000 characters"),
        ("captions", {"image": [1], "caption": ["a"]}, {"image": [1], "caption": [LONG]}, {},
         "the caption has 2,000,000 characters"),
    ],
)  # fmt: skip
def test_in_memory(task: str, truth: Any, predictions: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(sy.InputError, match=message):
        sy.evaluate(task, truth, predictions, options=options, confidence=None)


def test_keypoints_beyond_all_pictures() -> None:
    rows = {
        "image": [1], "label": ["p"], "x": [1.0], "y": [1.0], "w": [2.0], "h": [2.0], "keypoints": [[1e13, 1.0, 2.0]],
    }  # fmt: skip
    with pytest.raises(sy.InputError, match="a keypoint is beyond 1e12"):
        sy.evaluate("keypoints", rows, {**rows, "score": [0.5]}, options={"sigmas": "0.1"}, confidence=None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 1 1 2 2\n", "the row has 5 fields"),
        ("1 1 1 2 2 !!\n", "no mask: "),
        ("1 1 1 2.5 2 04\n", "no mask: "),
        ("1 1 1 2 2 04\n1 2 1 4 1 04\n", "A video has one size"),
    ],
)
def test_rows_of_mots(text: str, message: str, tmp_path: Path) -> None:
    for name, rows in (("gt", "1 1 1 2 2 04\n"), ("found", text)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "s.txt").write_text(rows)
    with pytest.raises(sy.InputError, match=message):
        sy.evaluate(
            "tracking", tmp_path / "gt", tmp_path / "found", "hota", options={"format": "mots"}, confidence=None
        )


def test_a_folder_without_tracks(tmp_path: Path) -> None:
    for name in ("gt", "found"):
        (tmp_path / name).mkdir()
    with pytest.raises(sy.InputError, match="contains no files of tracks"):
        sy.evaluate("tracking", tmp_path / "gt", tmp_path / "found", "hota", confidence=None)


def test_other_xml_than_that_of_the_format(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<tea/>")
    with pytest.raises(sy.InputError, match=r"<tea> where <HRSC_Image> is expected"):
        sy.convert(tmp_path, tmp_path / "out.json", from_format="hrsc")
    with pytest.raises(sy.InputError, match=r"<tea> where <annotation> is expected"):
        sy.convert(tmp_path, tmp_path / "out.json", from_format="voc")


def test_samples_without_a_scene(tmp_path: Path) -> None:
    box = {
        "sample_token": "s", "translation": [0, 0, 0], "size": [1, 1, 1], "rotation": [1, 0, 0, 0], "velocity": [0, 0],
        "detection_name": "car", "detection_score": 0.5, "attribute_name": "",
    }  # fmt: skip
    for name, scene in (("truth", {"other": "one"}), ("found", {})):
        content = {"meta": {}, "results": {"s": [box]}, **({"scene": scene} if scene else {})}
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    with pytest.raises(sy.InputError, match="sample 's' has no scene"):
        sy.evaluate("boxes3d", tmp_path / "truth.json", tmp_path / "found.json", confidence=None)


def test_attributes_of_another_class(tmp_path: Path) -> None:
    box = {
        "sample_token": "s", "translation": [0, 0, 0], "size": [1, 1, 1], "rotation": [1, 0, 0, 0], "velocity": [0, 0],
        "detection_name": "traffic_cone", "detection_score": 0.5, "attribute_name": "vehicle.parked",
    }  # fmt: skip
    for name in ("truth", "found"):
        (tmp_path / f"{name}.json").write_text(json.dumps({"meta": {}, "results": {"s": [box]}}))
    with pytest.raises(sy.InputError, match=r"attribute 'vehicle.parked' is not one of .* has none: leave it empty"):
        sy.evaluate("boxes3d", tmp_path / "truth.json", tmp_path / "found.json", confidence=None)


def test_duplicate_ids(tmp_path: Path) -> None:
    box = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 1, 2, 2], "area": 4, "iscrowd": 0}
    truth = {"images": [{"id": 1}], "categories": [{"id": 1, "name": "a"}], "annotations": [box]}
    results = tmp_path / "found.json"
    results.write_text(json.dumps([{"image_id": 1, "category_id": 1, "bbox": [1, 1, 2, 2], "score": 0.5}]))
    for key, message in (
        ("images", "Ids are unique"),
        ("categories", "Ids are unique"),
        ("annotations", "Ids of annot"),
    ):
        file = tmp_path / f"{key}.json"
        file.write_text(json.dumps({**truth, key: 2 * truth[key]}))
        with pytest.raises(sy.InputError, match=f"id 1 appears twice.*{message}"):
            sy.evaluate("boxes", file, results, "map", confidence=None)
