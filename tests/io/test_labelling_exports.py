"""Exports of labelling tools, written by their documented schemas: Label Studio, CVAT, Roboflow, Ultralytics' data.yaml."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from support.refusal import refuses

import steelyard as sy
from steelyard.io.formats.convert import read_dataset


def rectangle(label: str, x: float, y: float, w: float, h: float, **more: Any) -> dict[str, Any]:
    """A region of Label Studio in an image of 200 × 100 pixels."""
    return {
        "id": f"{label}{x}",
        "from_name": "label",
        "to_name": "image",
        "type": "rectanglelabels",
        "image_rotation": 0,
        "original_width": 200,
        "original_height": 100,
        "value": {"x": x, "y": y, "width": w, "height": h, "rotation": 0, "rectanglelabels": [label]},
    } | more


def task(number: int, image: str, result: list[Any], predicted: list[Any] | None = None) -> dict[str, Any]:
    predictions = [] if predicted is None else [{"id": 1, "model_version": "a", "score": 0.25, "result": predicted}]
    annotation = {"id": 10 + number, "completed_by": 1, "result": result, "was_cancelled": False, "ground_truth": False}
    return {"id": number, "annotations": [annotation], "predictions": predictions, "data": {"image": image}}


CUP, FORK = rectangle("cup", 10, 20, 25, 50), rectangle("fork", 50, 0, 10, 10)
TASKS = [
    task(1, "/data/upload/3/0a1b2c3d-plate%201.jpg", [CUP, FORK], [CUP | {"score": 0.9}]),
    task(2, "/data/local-files/?d=kitchen/b.jpg", [], [FORK | {"score": 0.5}]),
]


def written(path: Path, data: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path


def test_label_studio_is_read_in_pixels(tmp_path: Path) -> None:
    data = read_dataset(written(tmp_path / "export.json", TASKS))
    assert data.format == "labelstudio"
    assert [p.file for p in data.pictures] == ["0a1b2c3d-plate 1.jpg", "kitchen/b.jpg"]
    assert [(p.width, p.height) for p in data.pictures] == [(200, 100), (None, None)]
    assert data.box.tolist() == [[20, 20, 50, 50], [100, 0, 20, 10]]
    assert [c.name for c in data.categories] == ["cup", "fork"]
    assert data.score is None


def test_one_export_holds_both_sides(tmp_path: Path) -> None:
    path = written(tmp_path / "export.json", TASKS)
    report = sy.evaluate("boxes", path, path, ["map50", "recall"], confidence=None)
    assert report["map50"].value == pytest.approx(0.5)  # the cup is detected; the fork of image 2 does not exist
    assert report["recall"].value == 0.5
    assert report["map50"].units == 2


def test_label_studio_beside_other_formats(tmp_path: Path) -> None:
    """An uploaded file is known by the name that it had before, and by the one that Label Studio gave it."""
    truth = written(tmp_path / "export.json", TASKS)
    for name in ("plate 1", "0a1b2c3d-plate 1"):
        table = written(
            tmp_path / "p.csv", f"image,label,x,y,w,h,score\n{name},cup,20,20,50,50,0.9\nb,fork,0,0,5,5,0.5\n"
        )
        assert sy.score("boxes", truth, table, "map50") == pytest.approx(0.5)
    done = sy.convert(truth, tmp_path / "coco.json")
    assert (done.source_format, done.images, done.boxes, done.classes) == ("labelstudio", 2, 2, 2)
    coco = json.loads((tmp_path / "coco.json").read_text())
    assert [row["bbox"] for row in coco["annotations"]] == [[20, 20, 50, 50], [100, 0, 20, 10]]
    assert sy.score("boxes", tmp_path / "coco.json", truth, "map50") == pytest.approx(0.5)  # its predictions


def test_other_regions_of_label_studio(tmp_path: Path) -> None:
    polygon = CUP | {
        "type": "polygonlabels",
        "value": {"points": [[0, 0], [50, 0], [50, 100]], "polygonlabels": ["cup"]},
    }
    shape = {"x": 0, "y": 0, "width": 10, "height": 10, "rotation": 0}
    apart = [
        CUP | {"type": "rectangle", "value": shape},
        CUP | {"type": "labels", "value": {**shape, "labels": ["cup", "red"]}},
    ]
    turned = CUP | {"value": {**CUP["value"], "x": 50, "y": 50, "rotation": 90}}
    brush = CUP | {"type": "brushlabels", "value": {"format": "rle", "rle": [1], "brushlabels": ["cup"]}}
    path = written(tmp_path / "export.json", [task(1, "s3://bucket/a.jpg", [polygon, *apart, turned, brush])])
    data = read_dataset(path)
    assert data.pictures[0].file == "a.jpg"
    assert data.extra_of(0)["segmentation"] == [[0, 0, 100, 0, 100, 100]]
    # 50 × 50 pixels turned clockwise by a right angle around its first corner, which is at 100, 50.
    assert data.box.round(9).tolist() == [[0, 0, 100, 100], [0, 0, 20, 10], [0, 0, 20, 10], [50, 50, 50, 50]]
    assert [data.categories[k].name for k in data.category] == ["cup", "cup", "red", "cup"]
    assert len(data.notes) == 2
    assert "brushlabels" in "".join(data.notes)
    report = sy.evaluate(
        "boxes",
        path,
        {"image": ["a"], "label": ["cup"], "x": [0], "y": [0], "w": [9], "h": [9], "score": [1]},
        confidence=None,
    )
    assert any("brushlabels" in note for note in report.notes)


def with_region(**changed: Any) -> list[Any]:
    return [task(1, "a.jpg", [CUP | changed])]


def with_value(**changed: Any) -> list[Any]:
    return with_region(value={**CUP["value"], **changed})


TWICE = TASKS[0] | {"annotations": TASKS[0]["annotations"] * 2}
MODELS = TASKS[0] | {"predictions": [{"model_version": "a", "result": []}, {"model_version": "b", "result": []}]}


@pytest.mark.parametrize(
    ("tasks", "side", "message"),
    [
        ([TWICE], "truth", ("E-conflict", "task 1", "2")),
        ([MODELS], "prediction", ("E-conflict", "task 1", "'a', 'b'")),
        ([TASKS[0], TASKS[0]], "truth", ("E-duplicate-key", "0a1b2c3d-plate 1.jpg")),
        ([task(1, "", [CUP])], "truth", ("E-missing-key", "task 1", "image")),
        (with_region(original_width=None, original_height=None), "truth", ("E-missing-data", "a.jpg", "region 0")),
        (with_region(original_width=-3), "truth", ("E-invalid-number", "-3", "region 0")),
        (with_region(image_rotation=90), "truth", ("E-invalid-value", "90")),
        (with_value(x="ten"), "truth", ("E-invalid-number", "ten", "region 0")),
        (with_value(x=float("nan")), "truth", ("E-invalid-number", "nan")),
        (with_value(width=-1), "truth", ("E-out-of-range", "region 0")),
        (with_value(rotation="left"), "truth", ("E-invalid-number", "left")),
        ([task(1, "a.jpg", [CUP, FORK | {"original_width": 100}])], "truth", ("E-conflict", "region 1")),
        ([task(1, "a.jpg", [], [CUP | {"score": "high"}])], "prediction", ("E-invalid-number", "high")),
        ([TASKS[0] | {"annotations": []}], "truth", ("E-empty-input",)),
        ([TASKS[0] | {"annotations": {}}], "truth", ("E-invalid-value", "annotations")),
        ([7], "truth", ("E-invalid-value", "task 0")),
        ({"a": 1}, "truth", ("E-invalid-file",)),
    ],
)
def test_label_studio_that_cannot_be_read(tasks: Any, side: str, message: tuple[str, ...], tmp_path: Path) -> None:
    from steelyard.io.formats.format import ReadOptions

    path = written(tmp_path / "export.json", tasks)
    with refuses(*message, str(path)):
        read_dataset(path, ReadOptions(format="labelstudio"), side)


def test_a_task_that_is_not_labelled_is_left_out(tmp_path: Path) -> None:
    skipped = TASKS[1] | {"annotations": [{"result": [], "was_cancelled": True}]}
    best = TASKS[0]["annotations"][0] | {"ground_truth": True}
    marked = TASKS[0] | {"annotations": [best, TASKS[0]["annotations"][0] | {"result": []}]}
    data = read_dataset(written(tmp_path / "export.json", [marked, skipped]))
    assert (len(data.pictures), len(data)) == (1, 2)
    assert "1 task without" in data.notes[0]


ROBOFLOW = """filename,width,height,class,xmin,ymin,xmax,ymax
a_jpg.rf.0f.jpg,200,100,cup,20,20,70,70
a_jpg.rf.0f.jpg,200,100,fork,100,0,120,10
b_png.rf.1e.jpg,50,50,cup,0,0,5,5
"""


def test_tables_of_roboflow(tmp_path: Path) -> None:
    truth = written(tmp_path / "valid" / "_annotations.csv", ROBOFLOW)
    data = read_dataset(truth)
    assert data.format == "roboflow"
    assert [(p.file, p.width, p.height) for p in data.pictures] == [
        ("a_jpg.rf.0f.jpg", 200, 100),
        ("b_png.rf.1e.jpg", 50, 50),
    ]
    assert data.box.tolist() == [[20, 20, 50, 50], [100, 0, 20, 10], [0, 0, 5, 5]]
    predicted_rows = "filename,class,xmin,ymin,xmax,ymax,confidence\na_jpg.rf.0f.jpg,cup,20,20,70,70,0.9\n"
    assert sy.score("boxes", truth, written(tmp_path / "p.csv", predicted_rows), "recall") == pytest.approx(1 / 3)
    assert sy.convert(truth, tmp_path / "out.json").boxes == 3
    with refuses("E-invalid-file", str(truth)):
        read_dataset(tmp_path / "valid")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ROBOFLOW.replace("cup,20", "cup,left"), ("E-invalid-number", "left", "line 2")),
        (ROBOFLOW.replace("a_jpg.rf.0f.jpg,200", ",200", 1), ("E-empty-cell", "line 2", "'filename'")),
        (ROBOFLOW.replace("200,100", "wide,100"), ("E-invalid-number", "wide", "line 2")),
        (ROBOFLOW.replace("cup,20,20,70,70", "cup,70,20,20,70"), ("E-out-of-range", "line 2")),
    ],
)
def test_tables_of_roboflow_that_cannot_be_read(text: str, message: tuple[str, ...], tmp_path: Path) -> None:
    with refuses(*message):
        read_dataset(written(tmp_path / "_annotations.csv", text))


def png(path: Path, width: int, height: int) -> None:
    """A picture of which only the head is read."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + head + struct.pack(">I", zlib.crc32(b"IHDR" + head))
    )


@pytest.mark.parametrize(
    ("val", "folder", "root"),
    [
        ("../valid/images", "valid/{}", ""),
        ("images/val", "{}/val", "path: .\n"),
        ("valid/images", "plates/valid/{}", "path: plates\n"),
    ],
)
def test_data_yaml_and_predictions_of_ultralytics(val: str, folder: str, root: str, tmp_path: Path) -> None:
    """Roboflow's and Ultralytics' layouts; predictions as `model.val(save_json=True)` writes them."""
    png(tmp_path / folder.format("images") / "a.png", 200, 100)
    png(tmp_path / folder.format("images") / "12.png", 100, 100)
    written(tmp_path / folder.format("labels") / "a.txt", "0 0.225 0.45 0.25 0.5\n1 0.55 0.05 0.1 0.1\n")
    written(tmp_path / folder.format("labels") / "12.txt", "0 0.5 0.5 0.5 0.5\n")
    truth = written(
        tmp_path / "data.yaml", f"{root}train: ../train/images\nval: {val}  # held out\nnc: 2\nnames: ['cup', 'fork']\n"
    )
    rows = [
        {"image_id": "a", "file_name": "a.png", "category_id": 1, "bbox": [20, 20, 50, 50], "score": 0.9},
        {"image_id": "a", "file_name": "a.png", "category_id": 2, "bbox": [100, 0, 20, 10], "score": 0.8},
        {"image_id": 12, "file_name": "12.png", "category_id": 2, "bbox": [25, 25, 50, 50], "score": 0.95},
    ]
    predictions = written(tmp_path / "predictions.json", rows)
    # cup: 1 of 2 found; fork: found second, behind a wrong one, so precision 1/2 at all recalls. COCO's 101 points.
    assert sy.score("boxes", truth, predictions, "map50") == pytest.approx((51 / 101 + 0.5) / 2)
    older = written(tmp_path / "older.json", [row | {"category_id": row["category_id"] - 1} for row in rows])
    assert sy.score("boxes", truth, older, "map50") == pytest.approx((51 / 101 + 0.5) / 2)
    with refuses("E-unmatched", "3", "2"):
        sy.evaluate("boxes", truth, written(tmp_path / "coco.json", [rows[0] | {"category_id": 3}]))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("names: [a]\n", "E-missing-key"),
        ("val: [a, b]\nnames: [a]\n", "E-missing-key"),
        ("val: nowhere\nnames: [a]\n", "E-missing-file"),
        ("val: images\nnames: [a]\n", "E-missing-file"),
    ],
)
def test_data_yaml_that_cannot_be_read(text: str, code: str, tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    with refuses(code):
        read_dataset(written(tmp_path / "data.yaml", text))


def test_coco_of_roboflow(tmp_path: Path) -> None:
    """Class 0 is the project itself and has no boxes: it is in no mean."""
    data = {
        "info": {"year": "2026"},
        "licenses": [],
        "categories": [
            {"id": 0, "name": "plates", "supercategory": "none"},
            {"id": 1, "name": "cup", "supercategory": "plates"},
        ],
        "images": [{"id": 0, "file_name": "a_jpg.rf.0f.jpg", "height": 100, "width": 200, "extra": {"name": "a.jpg"}}],
        "annotations": [
            {
                "id": 0,
                "image_id": 0,
                "category_id": 1,
                "bbox": [20, 20, 50, 50],
                "area": 2500,
                "segmentation": [],
                "iscrowd": 0,
            }
        ],
    }
    truth = written(tmp_path / "_annotations.coco.json", data)
    rows = [{"image_id": 0, "category_id": 1, "bbox": [20, 20, 50, 50], "score": 0.9}]
    assert sy.score("boxes", truth, rows, "map") == pytest.approx(1.0)


def test_files_of_other_tools_are_not_mistaken(tmp_path: Path) -> None:
    results = [{"data": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 5, 5], "score": 1, "annotations": []}]
    assert read_dataset(written(tmp_path / "r.json", results)).format == "coco"
    with refuses("E-invalid-file"):
        read_dataset(written(tmp_path / "cut.json", json.dumps(TASKS)[:200]))
