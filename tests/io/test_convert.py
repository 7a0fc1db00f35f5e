"""Formats in and out: hand-written files give hand-calculated boxes, round trips keep all that is not named as lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.paths import ROOT

import steelyard as sy
from steelyard.io.formats.convert import Conversion, convert, read_dataset
from steelyard.io.formats.dataset import Dataset
from steelyard.io.formats.format import ReadOptions, WriteOptions

SAMPLE = ROOT / "src" / "steelyard" / "samples" / "boxes"

# The example of the VOC devkit's documentation (2007_000042-like): pixels from 1, the last included.
VOC = """<annotation>
  <folder>VOC2007</folder><filename>000001.jpg</filename>
  <source><database>The VOC2007 Database</database></source>
  <size><width>353</width><height>500</height><depth>3</depth></size>
  <segmented>0</segmented>
  <object><name>dog</name><pose>Left</pose><truncated>1</truncated><difficult>0</difficult>
    <bndbox><xmin>48</xmin><ymin>240</ymin><xmax>195</xmax><ymax>371</ymax></bndbox></object>
  <object><name>person</name><pose>Left</pose><truncated>1</truncated><difficult>1</difficult>
    <bndbox><xmin>8</xmin><ymin>12</ymin><xmax>352</xmax><ymax>498</ymax></bndbox>
    <part><name>head</name><bndbox><xmin>9</xmin><ymin>13</ymin><xmax>20</xmax><ymax>20</ymax></bndbox></part></object>
</annotation>
"""
CVAT = """<?xml version="1.0" encoding="utf-8"?>
<annotations><version>1.1</version>
  <meta><task><labels><label><name>car</name></label><label><name>bus</name></label></labels></task></meta>
  <image id="3" name="street/a.png" width="100" height="50">
    <box label="bus" occluded="1" source="manual" xtl="10.50" ytl="2.00" xbr="30.75" ybr="12.00" z_order="2">
      <attribute name="plate">AB &amp; 1</attribute></box>
    <polygon label="car" occluded="0" points="1.00,1.00;9.00,1.00;9.00,5.50" z_order="0"></polygon>
    <mask label="car" occluded="0" rle="1, 2, 3" left="4" top="5" width="3" height="2"></mask>
    <polyline label="car" points="0,0;1,1"></polyline>
  </image>
  <image id="4" name="street/b.png" width="10" height="10"></image>
</annotations>
"""


def put(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_voc_counts_pixels_from_one(tmp_path: Path) -> None:
    data = read_dataset(put(tmp_path, {"Annotations/000001.xml": VOC}))
    assert data.format == "voc"
    assert [c.name for c in data.categories] == ["dog", "person"]
    assert data.box.tolist() == [[47, 239, 148, 132], [7, 11, 345, 487]]
    assert data.difficult is not None
    assert data.difficult.tolist() == [False, True]
    picture = data.pictures[0]
    assert (picture.id, picture.file, picture.width, picture.height) == ("000001", "000001.jpg", 353, 500)
    assert data.extra_of(0) == {"pose": "Left", "truncated": 1}
    assert any("1 parts" in note for note in data.notes)
    edges = read_dataset(tmp_path, ReadOptions(pixels="edges"))
    assert edges.box.tolist() == [[48, 240, 147, 131], [8, 12, 344, 486]]


def test_cvat(tmp_path: Path) -> None:
    data = read_dataset(put(tmp_path, {"a.xml": CVAT}) / "a.xml")
    assert [c.name for c in data.categories] == ["car", "bus"]
    assert data.box.tolist() == [[10.5, 2, 20.25, 10], [1, 1, 8, 4.5], [4, 5, 3, 2]]
    assert data.category.tolist() == [1, 0, 0]
    assert [p.id for p in data.pictures] == ["street/a", "street/b"]
    assert data.extra_of(0) == {"source": "manual", "occluded": 1, "z_order": 2, "attributes": {"plate": "AB & 1"}}
    assert data.extra_of(1)["segmentation"] == [[1, 1, 9, 1, 9, 5.5]]
    # rows 011 / 000 of the mask at left 4, top 5 in an image 50 high: one pixel in each of the columns 5 and 6
    assert data.extra_of(2)["segmentation"] == {"size": [50, 100], "counts": [255, 1, 49, 1, 4694]}
    assert data.notes == ["1 shape of kind <polyline> is left out: only boxes are read."]


def test_yolo(tmp_path: Path) -> None:
    from PIL import Image

    files = {"labels/a.txt": "1 0.5 0.5 0.25 0.5\n\n0 0.1 0.2 0.2 0.4\n", "data.yaml": "names: [cat, 'hot dog']\n"}
    folder = put(tmp_path, files)
    (folder / "images").mkdir()
    Image.new("RGB", (200, 100)).save(folder / "images" / "a.png")
    Image.new("RGB", (20, 10)).save(folder / "images" / "empty.jpg")
    data = read_dataset(folder)
    assert [(p.id, p.file, p.width, p.height) for p in data.pictures] == [
        ("a", "a.png", 200, 100),
        ("empty", "empty.jpg", 20, 10),
    ]
    assert [c.name for c in data.categories] == ["cat", "hot dog"]
    assert data.category.tolist() == [1, 0]
    assert data.box.tolist() == [[75, 25, 50, 50], [0, 0, 40, 40]]


def test_yolo_polygons_and_scores(tmp_path: Path) -> None:
    files = {"labels/a.txt": "0 0.1 0.1 0.5 0.1 0.5 0.9 0.75\n", "image_sizes.csv": "image,width,height\na,100,10\n"}
    data = read_dataset(put(tmp_path, files))
    assert data.box.tolist() == [[10, 1, 40, 8]]
    assert data.score is not None
    assert data.score.tolist() == [0.75]
    assert data.extra_of(0)["segmentation"] == [[10, 1, 50, 1, 50, 9]]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("names:\n  0: cat\n  1: dog # a comment\nnc: 2\n", ["cat", "dog"]),
        ("names:\n- cat\n- 'a: b'\n", ["cat", "a: b"]),
        ("names: {0: cat, 1: \"d, e\"}\n", ["cat", "d, e"]),
        ("nc: 2\nnames: [ 'it''s',\n  dog ]\nval: x\n", ["it's", "dog"]),
    ],
)  # fmt: skip
def test_names_of_a_yaml_file(tmp_path: Path, text: str, names: list[str]) -> None:
    files = {
        "labels/a.txt": "1 0.5 0.5 0.1 0.1\n",
        "image_sizes.csv": "image,width,height\na,10,10\n",
        "data.yaml": text,
    }
    assert [c.name for c in read_dataset(put(tmp_path, files)).categories] == names


# What every format holds of a data set; a loss names what may differ.
NAMED = {
    "ids of images": {"image ids"},
    "names of images": {"image ids"},
    "ids of classes": {"class ids"},
    "names of classes": {"class ids", "class names"},
    "classes without boxes": {"classes", "class ids", "class names"},
    "endings of image files": {"files"},
    "files of images": {"files"},
    "sizes and files of images": {"sizes", "files"},
    "areas that are not width × height": {"areas"},
    "ids of boxes": {"ids"},
    "crowd flags": {"crowd"},
    "difficult flags": {"difficult"},
    "segmentations": {"segmentations"},
    "scores": set(),
    "fractions of pixels": {"boxes", "areas", "segmentations"},
    "classes that an image lacks": set(),
}


def facets(data: Dataset) -> dict[str, Any]:
    """What a data set says, by image and class names, in an order that no format changes."""
    stems = [p.stem for p in data.pictures]
    shown = [c.display_name for c in data.categories]
    order = sorted(range(len(data)), key=lambda row: stems[data.picture[row]])

    def flags(values: Any) -> list[bool]:
        return [bool(values is not None and values[row]) for row in order]

    area = data.box[:, 2] * data.box[:, 3]
    if data.area is not None:
        area = np.where(np.isnan(data.area), area, data.area)
    used = {stems[i] for i in data.picture.tolist()}
    return {
        "boxes": [(stems[data.picture[r]], shown[data.category[r]], data.box[r].tolist()) for r in order],
        "scores": None if data.score is None else [data.score[r] for r in order],
        "areas": [area[r] for r in order],
        "crowd": flags(data.crowd),
        "difficult": flags(data.difficult),
        "ids": [data.extra_of(r).get("id") for r in order],
        "segmentations": [data.extra_of(r).get("segmentation") or None for r in order],
        "images": sorted(stems) if data.score is None else sorted(used),
        "image ids": sorted((p.stem, str(p.id)) for p in data.pictures if data.score is None or p.stem in used),
        "sizes": sorted((p.stem, p.width, p.height) for p in data.pictures if data.score is None or p.stem in used),
        "files": sorted((p.stem, p.file) for p in data.pictures if data.score is None or p.stem in used),
        "classes": sorted(shown),
        "class ids": sorted((c.display_name, str(c.id)) for c in data.categories),
        "class names": sorted(c.display_name for c in data.categories),
    }


def check_trip(before: Dataset, after: Dataset, done: Conversion) -> None:
    may_differ: set[str] = set()
    for loss in done.losses:
        quoted = loss.what.startswith("'") or loss.what.startswith("the file's head")
        may_differ |= set() if quoted else NAMED[loss.what]
    a, b = facets(before), facets(after)
    for name in a:
        if name not in may_differ:
            assert a[name] == b[name], (name, done.losses)


TARGETS = {"coco": "t.json", "lvis": "t.json", "voc": "t", "yolo": "t", "cvat": "t.xml", "csv": "t.csv"}
number = (
    st.floats(0, 900, allow_subnormal=False).map(lambda v: round(v, 3))
    | st.integers(0, 900).map(float)
    | st.floats(0, 900)
)


@st.composite
def coco(draw: st.DrawFn, scored: bool = False) -> Any:
    """COCO data with all that formats differ in."""
    images = draw(st.lists(st.integers(0, 10**6), min_size=1, max_size=4, unique=True))
    kinds = draw(st.lists(st.integers(0, 90), min_size=1, max_size=4, unique=True))
    rows = []
    for i in range(draw(st.integers(0, 6))):
        box = [draw(number) for _ in range(4)]
        row: dict[str, Any] = {
            "image_id": draw(st.sampled_from(images)),
            "category_id": draw(st.sampled_from(kinds)),
            "bbox": box,
        }
        if scored:
            row["score"] = draw(st.floats(-5, 5))
        else:
            row |= {
                "id": i * 7,
                "area": draw(st.sampled_from([box[2] * box[3], 12.5])),
                "iscrowd": draw(st.integers(0, 1)),
            }
        x, y, w, h = box
        kind = draw(st.integers(0, 3))
        if kind == 1:
            row["segmentation"] = [[x, y, x + w, y, x + w, y + h]]
        elif kind == 2:
            row["segmentation"] = [[x, y, x + w, y, x + w, y + h], [1, 1, 2, 2, 3, 1]]
        elif kind == 3:
            row["segmentation"] = {"size": [1000, 1000], "counts": [2003, 5, 1000 * 1000 - 2008]}
        rows.append(row)
    if scored:
        return rows
    words = st.text("abc é&<'\"#:,", min_size=1, max_size=6).map(lambda t: t.strip() or "x")
    names = draw(st.lists(words, min_size=len(kinds), max_size=len(kinds), unique=True))
    return {
        "info": {"year": 2017},
        "images": [{"id": v, "file_name": f"{draw(st.sampled_from(['', 'sub/']))}im{v}.jpg", "width": 1000, "height": 1000, "license": 1} for v in images],
        "annotations": rows,
        "categories": [{"id": v, "name": name, "supercategory": "thing"} for v, name in zip(kinds, names, strict=True)],
    }  # fmt: skip


def there_and_back(data: Any, target: str, folder: Path) -> None:
    source = folder / "source.json"
    source.write_text(json.dumps(data))
    out = folder / TARGETS[target]
    manner = WriteOptions(pixels="edges")
    done = convert(source, out, to=target, options=manner, force=True)
    again = read_dataset(
        out, ReadOptions(format=target, pixels="edges"), "prediction" if isinstance(data, list) else "truth"
    )
    check_trip(read_dataset(source), again, done)
    assert done.lossless == (not [loss for loss in done.losses if loss.kind == "lost"])


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=coco())
def test_round_trip_of_truth(target: str, data: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    there_and_back(data, target, tmp_path_factory.mktemp("trip"))


@pytest.mark.parametrize("target", ["coco", "csv"])
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=coco(scored=True).filter(bool))
def test_round_trip_of_predictions(target: str, data: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    there_and_back(data, target, tmp_path_factory.mktemp("trip"))


def test_coco_to_coco_is_the_same_data(tmp_path: Path) -> None:
    data = json.loads((SAMPLE / "truth.json").read_text())
    data["info"] = {"description": "naïve"}
    data["licenses"] = []
    data["images"][0]["flickr_url"] = "x"
    data["annotations"][0]["segmentation"] = [[1, 2.5, 3, 4, 5, 6]]
    data["annotations"][1]["segmentation"] = {"size": [480, 640], "counts": "abc"}
    (tmp_path / "in.json").write_text(json.dumps(data))
    done = convert(tmp_path / "in.json", tmp_path / "out.json")
    assert done.losses == ()
    assert json.loads((tmp_path / "out.json").read_text()) == data


@pytest.mark.parametrize("target", ["voc", "yolo", "cvat", "csv", "lvis"])
def test_every_format_gives_the_same_scores(target: str, tmp_path: Path) -> None:
    """Without crowds and other areas, which some formats cannot hold."""
    data = json.loads((SAMPLE / "truth.json").read_text())
    for annotation in data["annotations"]:
        annotation["iscrowd"] = 0
        annotation["area"] = annotation["bbox"][2] * annotation["bbox"][3]
    truth, predictions = tmp_path / "truth.json", tmp_path / "predictions.json"
    truth.write_text(json.dumps(data))
    results = json.loads((SAMPLE / "model_a.json").read_text())
    for i, result in enumerate(results):
        result["score"] += i * 1e-9  # no ties: their order is that of the images, whose ids are texts in some formats
    predictions.write_text(json.dumps(results))
    expected = sy.evaluate("boxes", truth, predictions, confidence=None)
    out_t, out_p = tmp_path / "t" / TARGETS[target], tmp_path / "p" / TARGETS[target]
    edges = WriteOptions(pixels="edges")
    convert(truth, out_t, to=target, options=edges)
    convert(predictions, out_p, to=target, options=edges, like=truth)
    options = {"format": target, "pixels": "edges"}
    for a, b in ((out_t, out_p), (truth, out_p)):
        report = sy.evaluate("boxes", a, b, confidence=None, options=options if b is not truth and a is out_t else
                            {"prediction.format": target, "pixels": "edges"})  # fmt: skip
        assert {k: s.value for k, s in report.scores.items()} == pytest.approx(
            {k: s.value for k, s in expected.scores.items()}, rel=1e-13
        )


def test_formats_are_recognised(tmp_path: Path) -> None:
    for target, name in TARGETS.items():
        out = tmp_path / target / name
        convert(SAMPLE / "truth.json", out, to=target, options=WriteOptions(pixels="edges"))
        assert read_dataset(out, ReadOptions(pixels="edges")).format == target


def test_difficult_counts_neither_way(tmp_path: Path) -> None:
    """As the VOC devkit: a detection on a difficult object is neither a hit nor a false positive, however many there are."""
    truth = {
        "image": [1, 1],
        "label": ["a", "a"],
        "x": [0, 50],
        "y": [0, 0],
        "w": [10, 10],
        "h": [10, 10],
        "difficult": [False, True],
    }
    predicted = {
        "image": [1] * 4,
        "label": ["a"] * 4,
        "x": [0, 50, 50, 200],
        "y": [0] * 4,
        "w": [10] * 4,
        "h": [10] * 4,
        "score": [0.7, 0.9, 0.8, 0.6],
    }
    report = sy.evaluate("boxes", truth, predicted, ["precision(score=0)", "recall(score=0)", "map50"], confidence=None)
    assert [report[m].value for m in ("precision(score=0)", "recall(score=0)", "map50")] == pytest.approx(
        [0.5, 1.0, 1.0]
    )
    counted = sy.evaluate(
        "boxes", {k: v for k, v in truth.items() if k != "difficult"}, predicted, "precision(score=0)", confidence=None
    )
    assert counted["precision(score=0)"].value == 0.5
    # a box twice as wide lies half inside: a crowd would take it, a difficult object does not
    wide = {**predicted, "x": [0, 50, 45, 200], "w": [10, 10, 30, 10]}
    found_wide = sy.evaluate("boxes", truth, wide, "precision(score=0)", confidence=None)
    assert found_wide["precision(score=0)"].value == pytest.approx(1 / 3)


@pytest.mark.filterwarnings("ignore:__array__ implementation")  # of pycocotools itself
def test_masks_keep_their_pixels(tmp_path: Path) -> None:
    """Against pycocotools: the mask that CVAT gives back is the mask that went in, packed or not."""
    from pycocotools import mask

    rng = np.random.default_rng(3)
    for seed in range(20):
        full = np.zeros((37, 23), dtype=np.uint8, order="F")
        top, left = rng.integers(0, 20), rng.integers(0, 10)
        full[top : top + rng.integers(1, 17), left : left + rng.integers(1, 13)] = 1
        full &= rng.random(full.shape) < rng.choice([0.5, 1.0])
        if not full.any():
            continue
        packed = mask.encode(np.asfortranarray(full))
        data = {
            "images": [{"id": 1, "file_name": "a.png", "width": 23, "height": 37}],
            "categories": [{"id": 1, "name": "a"}],
            "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": mask.toBbox(packed).tolist(), "iscrowd": 0,
                             "area": float(mask.area(packed)), "segmentation": {"size": [37, 23], "counts": packed["counts"].decode()}}],
        }  # fmt: skip
        (tmp_path / "in.json").write_text(json.dumps(data))
        done = convert(tmp_path / "in.json", tmp_path / "out.xml", force=True)
        assert not any(loss.what == "segmentations" for loss in done.losses)
        back = read_dataset(tmp_path / "out.xml").extra_of(0)["segmentation"]
        again = mask.decode(mask.frPyObjects(back, 37, 23))
        assert np.array_equal(again, full), seed


def test_lvis_says_what_was_looked_for(tmp_path: Path) -> None:
    convert(SAMPLE / "truth.json", tmp_path / "l.json", to="lvis")
    data = json.loads((tmp_path / "l.json").read_text())
    present = {(a["image_id"], a["category_id"]) for a in data["annotations"]}
    for image in data["images"]:
        assert {c["id"] for c in data["categories"] if (image["id"], c["id"]) not in present} == set(
            image["neg_category_ids"]
        )
        assert image["not_exhaustive_category_ids"] == []
    assert {c["frequency"] for c in data["categories"]} <= set("rcf")
    again = convert(tmp_path / "l.json", tmp_path / "again.json", to="lvis")
    assert again.losses == ()
    assert json.loads((tmp_path / "again.json").read_text()) == data


def test_command_line(steelyard: Callable[..., Any], tmp_path: Path) -> None:
    run = steelyard("convert", SAMPLE / "truth.json", "y", "--to", "yolo")
    assert run.returncode == 0, run.stderr
    assert "lost: crowd flags (5): yolo has none" in run.stdout
    assert "lost: areas that are not width × height (92)" in run.stdout
    again = steelyard("convert", SAMPLE / "truth.json", "y", "--to", "yolo")
    assert again.returncode == 2
    assert "not empty" in again.stderr
    strict = steelyard("convert", SAMPLE / "truth.json", "z", "--to", "yolo", "--strict")
    assert strict.returncode == 2
    assert "Nothing was written" in strict.stderr
    assert not (tmp_path / "z").exists()
    printed = steelyard("convert", "y", "t.csv", "--json")
    data = json.loads(printed.stdout)
    assert (data["source_format"], data["target_format"], data["images"], data["boxes"]) == ("yolo", "csv", 80, 245)
