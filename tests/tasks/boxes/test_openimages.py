"""OpenImages' rules, against values of TensorFlow's own code (tools/make_openimages_goldens.py) and by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from support.drawn_openimages import BOXES, HIERARCHY, KINDS, drawn
from support.paths import TESTS

import steelyard as sy

GOLDENS = json.loads((TESTS / "goldens" / "openimages.json").read_text(encoding="utf-8"))
RULES = {"weight 1": "openimages", "weight 0": "openimages_v2"}
HEAD = "ImageID,LabelName,Score,XMin,XMax,YMin,YMax\n"


def written(folder: Path, boxes: str, labels: str | None, predictions: str, hierarchy: Any = None) -> dict[str, Any]:
    """The files, and how they are evaluated."""
    for name, text in (("boxes.csv", boxes), ("predictions.csv", predictions), ("labels.csv", labels or "")):
        (folder / name).write_text(text, encoding="utf-8")
    options: dict[str, Any] = {"format": "openimages"}
    if labels is not None:
        options["verified"] = str(folder / "labels.csv")
    if hierarchy is not None:
        (folder / "hierarchy.json").write_text(json.dumps(hierarchy), encoding="utf-8")
        options["hierarchy"] = str(folder / "hierarchy.json")
    return {"truth": folder / "boxes.csv", "predictions": folder / "predictions.csv", "options": options}


@pytest.mark.parametrize("case", GOLDENS["cases"], ids=lambda case: str(case["seed"]))
def test_drawn(case: dict[str, Any], tmp_path: Path) -> None:
    given = written(tmp_path, *drawn(case["seed"]), HIERARCHY)
    for weight, rule in RULES.items():
        specs = {"mean": f"ap(kind=voc, rule={rule})"}
        specs |= {name: f"ap(kind=voc, rule={rule}, label={name})" for name in KINDS}
        report = sy.evaluate("boxes", metrics=list(specs.values()), confidence=None, **given)
        for name, spec in specs.items():
            expected = case[weight].get(name)
            if expected is None:
                assert math.isnan(report[spec].value)
            else:
                assert report[spec].value == pytest.approx(expected, abs=1e-12), (weight, name)


def test_goldens_have_groups_that_matter() -> None:
    apart = [case for case in GOLDENS["cases"] if case["weight 1"]["mean"] != case["weight 0"]["mean"]]
    assert len(apart) > 10


def test_expansion_by_hand(tmp_path: Path) -> None:
    """A box goes to all classes above; a label that holds goes up, one that does not goes down; the root is none."""
    boxes = f"{BOXES}\na,x,puppy,1,0.1,0.2,0.1,0.2,0,0,0,0,0\n"
    labels = "ImageID,Source,LabelName,Confidence\nb,v,dog,1\nc,v,animal,0\n"
    rows = [f"{image},{kind},0.5,0.1,0.2,0.1,0.2" for image in "abc" for kind in KINDS]
    given = written(tmp_path, boxes, labels, HEAD + "\n".join(rows) + "\n", HIERARCHY)
    report = sy.evaluate("boxes", metrics=["fppi(score=0)", "recall(score=0)"], confidence=None, **given)
    # kept: puppy, dog, animal in a (all hits); dog, animal in b; all but the tree in c
    assert report["fppi(score=0)"].value == pytest.approx(7 / 3)
    assert report["recall(score=0)"].value == 1.0
    assert report.notes[0] == (
        "Read by OpenImages' rules: detections of a class that has neither a box nor a verified label in their image are "
        "left out; a box that holds a group is taken for one by ap(rule=openimages) alone."
    )


def test_intervals_and_slices(tmp_path: Path) -> None:
    given = written(tmp_path, *drawn(3), HIERARCHY)
    report = sy.evaluate("boxes", metrics="ap(kind=voc, rule=openimages)", draws=100, by="label", **given)
    (score,) = report.scores.values()
    assert score.interval is not None
    assert score.interval[0] <= score.value <= score.interval[1]


def test_groups_in_a_table() -> None:
    """Two detections inside a group are one hit; by COCO's rules they are two false positives."""
    truth = {"image": ["a"], "label": ["x"], "x": [0], "y": [0], "w": [100], "h": [100], "group_of": [True]}
    predictions = {"image": ["a", "a"], "label": ["x", "x"], "x": [0, 50], "y": [0, 50], "w": [10, 10], "h": [10, 10],
             "score": [0.9, 0.8]}  # fmt: skip
    specs = ["ap(kind=voc, rule=openimages)", "ap(kind=voc)", "ap(kind=voc, rule=openimages_v2)"]
    values = [score.value for score in sy.evaluate("boxes", truth, predictions, specs, confidence=None).scores.values()]
    assert values[:2] == [1.0, 0.0]
    assert math.isnan(values[2])


def test_check(tmp_path: Path) -> None:
    """Fractions are what the format has; groups and unverified classes are said."""
    rows = [f"{image},x,cat,1,0.1,0.2,0.1,0.2,0,0,{int(image == 0)},0,0" for image in range(30)]
    predictions = [f"{image},cat,0.{image + 10},0.1,0.2,0.1,0.2" for image in range(30)] + ["7,dog,0.5,0.1,0.2,0.1,0.2"]
    labels = "ImageID,Source,LabelName,Confidence\n1,v,dog,0\n"
    given = written(tmp_path, "\n".join([BOXES, *rows, ""]), labels, HEAD + "\n".join([*predictions, ""]))
    report = sy.check("boxes", given["truth"], given["predictions"], options=given["options"])
    codes = {finding.code: finding for finding in report.findings}
    assert "fractions" not in codes
    assert codes["groups"].count == 1
    assert codes["unverified-classes"].count == 1
    assert "line 32: class dog" in codes["unverified-classes"].examples[0]


def test_convert(tmp_path: Path) -> None:
    """With the pictures boxes are pixels, and a table keeps the groups; without them nothing is written."""
    (tmp_path / "boxes.csv").write_text(f"{BOXES}\na,x,cat,1,0.25,0.5,0.1,0.2,0,0,1,0,0\n", encoding="utf-8")
    with pytest.raises(sy.InputError, match="sizes of the pictures are not known"):
        sy.convert(tmp_path / "boxes.csv", tmp_path / "t.csv", from_format="openimages")
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (400).to_bytes(4, "big") + (200).to_bytes(4, "big") + bytes(8)
    (pictures / "a.png").write_bytes(head)
    sy.convert(tmp_path / "boxes.csv", tmp_path / "t.csv", from_format="openimages", images=pictures)
    text = (tmp_path / "t.csv").read_text(encoding="utf-8").splitlines()
    assert text == ["image,label,x,y,w,h,group_of,width,height", "a,cat,100,20,100,20,true,400,200"]
    done = sy.convert(tmp_path / "boxes.csv", tmp_path / "t.json", from_format="openimages", images=pictures)
    assert "boxes of groups" in [loss.what for loss in done.losses]


LINE = "a,x,cat,1,0.1,0.2,0.1,0.2,0,0,0,0,0"
FAULTS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "no column": ({"boxes": "ImageID,LabelName\na,cat\n"}, ["boxes.csv", "column 'XMin' is missing"]),
    "a text": ({"boxes": f"{BOXES}\n{LINE.replace('0.1,0.2', 'low,0.2', 1)}\n"}, ["line 2", "XMin is 'low'"]),
    "infinite": ({"predictions": f"{HEAD}a,cat,inf,0.1,0.2,0.1,0.2\n"}, ["predictions.csv, line 2", "Score is 'inf'"]),
    "exchanged": ({"boxes": f"{BOXES}\n{LINE.replace('0.1,0.2', '0.2,0.1', 1)}\n"}, ["line 2", "negative size"]),
    "pixels": ({"predictions": f"{HEAD}a,cat,0.5,10,20,10,20\n"}, ["predictions.csv, line 2", "from 0 to 1"]),
    "a flag": ({"boxes": f"{BOXES}\n{LINE[:-5]}7,0,0\n"}, ["line 2", "IsGroupOf is 7"]),
    "no label": ({"boxes": f"{BOXES}\n{LINE.replace('cat', '')}\n"}, ["line 2", "LabelName is empty"]),
    "a machine's label": ({"labels": "ImageID,Source,LabelName,Confidence\na,m,cat,0.7\n"}, ["labels.csv, line 2", "0 or 1"]),
    "scores in the truth": ({"boxes": f"{HEAD}a,cat,0.5,0.1,0.2,0.1,0.2\n"}, ["boxes.csv", "'Score' where truth"]),
    "not in the hierarchy": ({"hierarchy": {"LabelName": "r", "Subcategory": [{"LabelName": "dog"}]}}, ["line 2", "'cat' is not in"]),
    "below itself": (
        {"hierarchy": {"Subcategory": [{"LabelName": "cat", "Subcategory": [{"LabelName": "cat"}]}]}},
        ["hierarchy.json", "'cat' stands below itself"],
    ),
    "no hierarchy": ({"hierarchy": {"Subcategory": ["cat"]}}, ["hierarchy.json", "'LabelName'"]),
    "an unknown class": ({"predictions": f"{HEAD}a,cow,0.5,0.1,0.2,0.1,0.2\n"}, ["predictions.csv, line 2", "class 'cow' is not in"]),
    "an unknown image": ({"predictions": f"{HEAD}z,cat,0.5,0.1,0.2,0.1,0.2\n"}, ["predictions.csv, line 2", "image 'z' is not in"]),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_bad_input(fault: str, tmp_path: Path) -> None:
    changed, words = FAULTS[fault]
    plain = {"boxes": f"{BOXES}\n{LINE}\n", "labels": None, "predictions": f"{HEAD}a,cat,0.5,0.1,0.2,0.1,0.2\n"}
    given = written(tmp_path, **{**plain, **changed})
    with pytest.raises(sy.InputError) as error:
        sy.evaluate("boxes", metrics="map", confidence=None, **given)
    for word in words:
        assert word in str(error.value)
