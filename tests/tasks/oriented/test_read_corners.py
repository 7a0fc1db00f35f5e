"""Files of oriented boxes, YOLO-OBB and DOTA: what they come to in the other format, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.read_help import contents, png, write
from support.refusal import refuses

import steelyard as sy
from steelyard.tasks.oriented.reader import detect

LINE = "0 0.1 0.2 0.5 0.2 0.5 0.6 0.1 0.6"
DOTA = "10.0 10.0 50.0 10.0 50.0 30.0 10.0 30.0"
NAMES = "names:\n  0: cat\n"
TRUTH = "image,label,x1,y1,x2,y2,x3,y3,x4,y4"
ROW = "10,10,50,10,50,30,10,30"


def losses(done: Any) -> list[str]:
    return [loss.text() for loss in done.losses]


def test_sizes_come_from_the_pictures_or_from_another_data_set(tmp_path: Path) -> None:
    """Fractions of 100 × 50 pixels; the images of `like` whose size is empty give none."""
    like = "image,label,x,y,w,h,width,height\na,cat,0,0,1,1,100,50\nb,cat,0,0,1,1,,\n"
    write(tmp_path, {"like.csv": like, "y/labels/a.txt": f"{LINE}\n", "y/data.yaml": NAMES})
    sy.convert(tmp_path / "y", tmp_path / "d", from_format="yolo-obb", to_format="dota", like=tmp_path / "like.csv")
    assert contents(tmp_path / "d") == {"a.txt": f"{DOTA} cat 0\n", "b.txt": ""}
    write(tmp_path, {"y/images/a.png": png(100, 50)})
    done = sy.convert(tmp_path / "y", tmp_path / "e", from_format="yolo-obb", to_format="dota")
    assert contents(tmp_path / "e") == {"a.txt": f"{DOTA} cat 0\n"}
    assert losses(done) == ["lost: sizes of images (1): DOTA has no place for them"]


def test_yolo_obb_is_written(tmp_path: Path) -> None:
    """Truth has a file per image, also without objects and without a size; predictions only of images with objects."""
    rows = f"a,cat,{ROW},100,50\nb,,,,,,,,,,,\nc,,,,,,,,,,8,6\n"
    write(tmp_path, {"t.csv": f"{TRUTH},width,height\n{rows}"})
    sy.convert(tmp_path / "t.csv", tmp_path / "y", to_format="yolo-obb")
    yaml = "path: .\ntrain: images\nval: images\nnc: 1\nnames:\n  0: cat\n"
    sizes = "image,width,height\na,100,50\nc,8,6\n"
    assert contents(tmp_path / "y") == {
        "labels/a.txt": f"{LINE}\n", "labels/b.txt": "", "labels/c.txt": "", "image_sizes.csv": sizes, "data.yaml": yaml,
    }  # fmt: skip
    write(tmp_path, {"p.csv": f"{TRUTH},score,width,height\na,cat,{ROW},0.25,100,50\nb,,,,,,,,,,,,\n"})
    sy.convert(tmp_path / "p.csv", tmp_path / "z", to_format="yolo-obb")
    sizes = "image,width,height\na,100,50\n"
    assert contents(tmp_path / "z") == {
        "labels/a.txt": f"{LINE} 0.25\n", "image_sizes.csv": sizes, "data.yaml": yaml,
    }  # fmt: skip


def test_yolo_obb_refuses(tmp_path: Path) -> None:
    (tmp_path / "y" / "labels").mkdir(parents=True)

    def read() -> Any:
        return sy.convert(tmp_path / "y", tmp_path / "d", from_format="yolo-obb", to_format="dota")

    with refuses("E-empty-input", str(tmp_path / "y")):
        read()
    labels = tmp_path / "y" / "labels"
    write(labels, {"a.txt": f"{LINE}\n"})
    with refuses("E-missing-file", str(labels), "'a'", str(labels)):
        read()
    assert not (tmp_path / "d").exists()


@pytest.mark.parametrize(
    ("to", "keys"), [("yolo-obb", "YOLO-OBB has class and corners"), ("dota", "DOTA has corners, class and difficult")]
)
def test_what_text_files_of_corners_lose(tmp_path: Path, to: str, keys: str) -> None:
    name = {"yolo-obb": "YOLO-OBB", "dota": "DOTA"}[to]
    rows = f"a,cat,{ROW},100,50,true,true,night\na,cat,{ROW},100,50,false,false,\n"
    write(tmp_path, {"t.csv": f"{TRUTH},width,height,crowd,difficult,light\n{rows}"})
    done = sy.convert(tmp_path / "t.csv", tmp_path / "out", to_format=to)
    sizes = ["lost: sizes of images (1): DOTA has no place for them"]
    hard = ["lost: difficult flags (1): YOLO-OBB has no place for them"]
    assert losses(done) == [
        f"lost: crowd flags (1): {name} has no place for them", *(sizes if to == "dota" else hard),
        f"lost: other keys of objects (1): {keys}",
    ]  # fmt: skip


def test_dota_in_a_file_in_a_folder_or_with_other_lines(tmp_path: Path) -> None:
    """Blank lines say nothing of a file; the next one may."""
    write(tmp_path, {"one/a.txt": f"\n \n{DOTA} cat 1\n"})
    sy.convert(tmp_path / "one" / "a.txt", tmp_path / "out", from_format="dota", to_format="dota")
    assert contents(tmp_path / "out") == {"a.txt": f"{DOTA} cat 1\n"}
    assert detect(tmp_path / "one", "one") == "dota"
    write(tmp_path, {"blank/a.txt": "\n\n\n\n\n", "blank/b.txt": f"{DOTA} cat 1\n"})
    assert detect(tmp_path / "blank", "blank") == "dota"
    write(tmp_path, {"four/a.txt": f"\n\n\n\n{DOTA} cat\n"})
    assert detect(tmp_path / "four", "four") == "yolo-obb"


def test_dota_refuses(tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    with refuses("E-empty-input", str(tmp_path / "none")):
        sy.convert(tmp_path / "none", tmp_path / "y", from_format="dota", to_format="dota")
    files = {"class.csv": f"{TRUTH}\na,big car,{ROW}\n", "image.csv": f"{TRUTH},score\na b,cat,{ROW},0.5\n"}
    write(tmp_path, files)
    for name, message in (
        (
            "class",
            ("E-cannot-write", "'big car'"),
        ),
        ("image", ("E-cannot-write", "'a b'")),
    ):
        path = tmp_path / f"{name}.csv"
        with refuses(*message, str(path)):
            sy.convert(path, tmp_path / "y", to_format="dota")
        assert not (tmp_path / "y").exists()


def coco(tmp_path: Path, *notes: dict[str, Any]) -> Path:
    data = {
        "images": [{"id": 1, "file_name": "a.png", "width": 100, "height": 50}],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [
            {"id": i + 1, "image_id": 1, "category_id": 1, "bbox": [10, 10, 40, 20], "area": 800, "iscrowd": 0, **note}
            for i, note in enumerate(notes)
        ],
    }
    return write(tmp_path, {"t.json": json.dumps(data)}) / "t.json"


def test_corners_of_json_are_those_of_the_shape_it_has(tmp_path: Path) -> None:
    """A rotated box of 40 × 20 about 30, 20; an upright one where there is no shape at all."""
    path = coco(tmp_path, {"obb": [30, 20, 40, 20, 0]}, {"rbox": [30, 20, 40, 20, 0.0]}, {"light": 1})
    sy.convert(path, tmp_path / "d", to_format="dota")
    corners = [{(10.0, 10.0), (50.0, 10.0), (50.0, 30.0), (10.0, 30.0)}] * 3
    lines = [line.split() for line in contents(tmp_path / "d")["a.txt"].splitlines()]
    assert [{(float(line[i]), float(line[i + 1])) for i in (0, 2, 4, 6)} for line in lines] == corners
    assert [line[8:] for line in lines] == [["cat", "0"]] * 3


@pytest.mark.parametrize("shape", [[[1, 2, 3, 4, 5, 6]], {"size": [50, 100], "counts": [5000]}], ids=["three", "mask"])
def test_a_segmentation_that_is_no_quad_is_refused(tmp_path: Path, shape: Any) -> None:
    path = coco(tmp_path, {"segmentation": shape})
    with refuses("E-invalid-value", str(path), "annotation 0"):
        sy.convert(path, tmp_path / "d", to_format="dota")
