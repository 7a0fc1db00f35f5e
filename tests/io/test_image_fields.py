"""Fields of COCO's images are columns to slice, cluster and stratify by; COLUMN@FILE is not shown in headings."""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from support.refusal import refuses

import steelyard as sy
from steelyard.render.page.figures import slice_figures

IMAGES = [
    {"id": 3, "light": "day", "width": 100, "height": 100, "video": "v1", "tags": ["x"], "rain": None},
    {"id": 1, "light": "night", "width": 100, "height": 50, "video": "v2", "rain": True},
    {"id": 2, "light": "day", "width": 100, "height": 50, "video": "v2"},
    {"id": 9, "light": "night", "width": 100, "height": 50, "video": "v3"},
]
BOX = [10.0, 10.0, 20.0, 20.0]
TRUTH: dict[str, Any] = {
    "images": IMAGES,
    "categories": [{"id": 1, "name": "cat"}],
    "annotations": [
        {"id": k + 1, "image_id": image, "category_id": 1, "bbox": BOX, "area": 400.0, "iscrowd": 0}
        for k, image in enumerate((3, 1, 2))
    ],
}
# Right by day (images 3 and 2), wrong by night: a miss in image 1, and a detection on nothing in image 9.
RESULTS = [{"image_id": image, "category_id": 1, "bbox": BOX, "score": 0.9} for image in (3, 2, 9)]


def test_every_field_that_is_a_text_or_a_number() -> None:
    report = sy.evaluate("boxes", TRUTH, RESULTS, ["f1", "fppi"], by="light", confidence=None)
    day, night = (report.slices["light"][value] for value in ("day", "night"))
    assert (day["f1"].value, day["fppi"].value, day["f1"].units) == (1.0, 0.0, 2)
    assert (night["f1"].value, night["fppi"].value, night["f1"].units) == (0.0, 0.5, 2)
    for name, values in (("height", ["100", "50"]), ("rain", ["(none)", "True"]), ("video", ["v1", "v2", "v3"])):
        assert list(sy.evaluate("boxes", TRUTH, RESULTS, "f1", by=name, confidence=None).slices[name]) == values


@pytest.mark.parametrize("packed", [False, True])
def test_files_are_read_for_it(packed: bool, tmp_path: Path) -> None:
    ending = ".json.gz" if packed else ".json"
    for name, side in (("t", TRUTH), ("p", RESULTS)):
        text = json.dumps(side).encode()
        (tmp_path / f"{name}{ending}").write_bytes(gzip.compress(text) if packed else text)
    sides = tmp_path / f"t{ending}", tmp_path / f"p{ending}"
    report = sy.evaluate("boxes", *sides, "f1", by=["light", ["light", "label"]], confidence=None)
    assert {value: part["f1"].value for value, part in report.slices["light"].items()} == {"day": 1.0, "night": 0.0}
    assert report.slices["light", "label"]["day", "cat"]["f1"].value == 1.0
    comparison = sy.compare("boxes", sides[0], sides[1], sides[1], "f1", by="light", confidence=None)
    assert set(comparison.slices["light"]) == {"day", "night"}


def test_clusters_and_strata() -> None:
    report = sy.evaluate("boxes", TRUTH, RESULTS, "f1", cluster="video", draws=100)
    assert report["f1"].clusters == 3
    with refuses("E-empty-cell", "'2'", "'rain'"):
        sy.evaluate("boxes", TRUTH, RESULTS, "f1", cluster="rain", draws=100)


def test_masks_and_keypoints() -> None:
    truth = copy.deepcopy(TRUTH)
    ring = [[10.0, 10.0, 30.0, 10.0, 30.0, 30.0, 10.0, 30.0]]
    points = [value for k in range(17) for value in (10.0 + k, 10.0 + k, 2)]
    for annotation in truth["annotations"]:
        annotation |= {"segmentation": ring, "keypoints": points, "num_keypoints": 17}
    masks = [{**{k: v for k, v in one.items() if k != "bbox"}, "segmentation": ring} for one in RESULTS]
    poses = [{**{k: v for k, v in one.items() if k != "bbox"}, "keypoints": points} for one in RESULTS]
    for task, results in (("masks", masks), ("keypoints", poses)):
        report = sy.evaluate(task, truth, results, "f1", by="light", confidence=None)
        assert {value: part["f1"].value for value, part in report.slices["light"].items()} == {"day": 1.0, "night": 0.0}


def test_an_unknown_column_names_the_way(tmp_path: Path) -> None:
    with pytest.raises(sy.InputError) as raised:
        sy.evaluate("boxes", TRUTH, RESULTS, "f1", by="lihgt", confidence=None)
    said = str(raised.value)
    assert "there is no column 'lihgt' to slice by" in said
    assert "Did you mean 'light'" in said
    assert "lihgt@FILE" in said
    with refuses("E-missing-column", "'tags'"):  # a list is not a value
        sy.evaluate("boxes", TRUTH, RESULTS, "f1", by="tags", confidence=None)


def test_files_do_not_appear_in_headings(tmp_path: Path) -> None:
    table = tmp_path / "groups.csv"
    table.write_text("image,fog\n3,thick\n1,thin\n2,thick\n9,thin\n", encoding="utf-8")
    by = f"fog@{table}"
    report = sy.evaluate("boxes", TRUTH, RESULTS, "f1", by=by)
    assert report.slices[by]["thick"]["f1"].value == 1.0
    for text in (report.to_text(), report.to_markdown(), report.to_latex()):
        assert "groups.csv" not in text.split("Remarks")[0]
        assert "fog" in text
    assert "<h3>By fog</h3>" in report.to_html()
    assert [figure.name for figure in slice_figures(report).values()] == ["by_fog"]
    (tmp_path / "r.json").write_text(report.to_json(), encoding="utf-8")
    assert sy.load(tmp_path / "r.json").slices[by]["thin"]["f1"].value == 0.0


def test_two_files_with_a_column_of_one_name(tmp_path: Path) -> None:
    for name in ("a", "b"):
        text = "image,fog\n3,thick\n1,thin\n2,thick\n9,thin\n"
        (tmp_path / f"{name}.csv").write_text(text, encoding="utf-8")
    report = sy.evaluate("boxes", TRUTH, RESULTS, "f1", by=[f"fog@{tmp_path / name}.csv" for name in ("a", "b")])
    assert [figure.name for figure in slice_figures(report).values()] == ["by_fog", "by_fog_2"]
