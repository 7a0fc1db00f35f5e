"""Annotations as few people write them: each format gives its whole text in another one, or a whole message."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.read_help import contents, png, write
from support.refusal import refuses

import steelyard as sy
from steelyard.io.formats.convert import read_dataset
from steelyard.io.formats.format import ReadOptions
from steelyard.io.formats.names import read_names

SIZES = "image,width,height\na,100,50\n"


def coco(tmp_path: Path, *notes: dict[str, Any], **image: Any) -> Path:
    data = {
        "images": [{"id": 1, "file_name": "a.png", "width": 4, "height": 4, **image}],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [
            {"id": i + 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 1, 4], "area": 4, "iscrowd": 0, **note}
            for i, note in enumerate(notes)
        ],
    }
    return write(tmp_path, {"t.json": json.dumps(data)}) / "t.json"


def losses(done: Any) -> list[str]:
    return [loss.text() for loss in done.losses]


NAMES: dict[str, tuple[str, Any]] = {
    "no names": ("nc: 3\nkpt_shape: [1, 3]\n", ([], True)),
    "a block with blank lines": (
        "names:\n\n  # all of them\n  0: cat\n\n  1: 'a dog'\n\nnc: 2\n",
        (["cat", "a dog"], False),
    ),
    "a list in one line": ('names: [\'cat, wild\', "a \\"dog\\"", bird,]\n', (["cat, wild", 'a "dog"', "bird"], False)),
    "a mapping over lines": ("names: {0: cat,\n  1: dog}\n", (["cat", "dog"], False)),
    "no colon": ("names:\n  0: cat\n  dog\n", ("E-invalid-file", "data.yaml, line 3", "'dog'")),
    "no colon in a line": ("names: {0: cat, dog}\n", ("E-invalid-file", "data.yaml, line 1", "'dog'")),
    "no number": ("names:\n  cat: 0\n", ("E-invalid-number", "data.yaml, line 2", "'cat'")),
    "twice": ("names:\n  0: cat\n  0: dog\n", ("E-duplicate-key", "data.yaml, line 3", "class 0")),
    "an empty name": ("names:\n  0:\n", ("E-empty-cell", "data.yaml, line 2")),
    "an empty item": ("names:\n- cat\n-\n- dog\n", ("E-empty-cell", "data.yaml, line 3")),
    "an empty part": ("names: [cat, , dog]\n", ("E-empty-cell", "data.yaml, line 1")),
}


@pytest.mark.parametrize("name", NAMES)
def test_names_of_yaml(name: str, tmp_path: Path) -> None:
    """A name that is missing moves all behind it by one class: it is refused."""
    text, expected = NAMES[name]
    path = write(tmp_path, {"data.yaml": text}) / "data.yaml"
    if isinstance(expected[0], str):
        with refuses(*expected):
            read_names(path)
    else:
        assert read_names(path) == expected


def test_yolo_beside_pictures(tmp_path: Path) -> None:
    """A folder without `labels` has its pictures in `images` or beside; names may be given."""
    write(tmp_path, {"y/a.txt": "0 0.5 0.5 0.5 0.5\n", "y/images/a.png": png(4, 4), "n.txt": "cat\n"})
    done = sy.convert(tmp_path / "y", tmp_path / "t.csv", names=str(tmp_path / "n.txt"))
    assert (tmp_path / "t.csv").read_text() == "image,label,x,y,w,h,name,file,width,height\na,0,1,1,2,2,cat,a.png,4,4\n"
    assert done.lossless
    write(tmp_path, {"y/images/a.jpg": b""})
    with refuses("E-incompatible", str(tmp_path / "y" / "images"), "'a.png'", "'a.jpg'"):
        sy.convert(tmp_path / "y", tmp_path / "u.csv")
    with refuses("E-missing-file", str(tmp_path / "none")):
        sy.convert(tmp_path / "y", tmp_path / "u.csv", images=str(tmp_path / "none"))


def test_yolo_of_numbers_that_no_picture_has(tmp_path: Path) -> None:
    """Where short fractions would not give the same number again, 350 digits do, for boxes and for polygons."""
    tiny = 5e-324
    shape = [[tiny, 0, 1, 1, 2, 3]]
    path = coco(tmp_path, {"bbox": [tiny, 0, 2, 3], "segmentation": shape}, width=3)
    sy.convert(path, tmp_path / "b", to_format="yolo")
    read = read_dataset(tmp_path / "b")
    assert read.box.tolist() == [[tiny, 0.0, 2.0, 3.0]]
    sy.convert(path, tmp_path / "p", to_format="yolo", polygons=True)
    read = read_dataset(tmp_path / "p")
    assert read.extra_of(0)["segmentation"] == [[tiny, 0.0, 1.0, 1.0, 2.0, 3.0]]


def voc(more: str = "", head: str = "") -> str:
    box = "<bndbox><xmin>2</xmin><ymin>3</ymin><xmax>5</xmax><ymax>6</ymax></bndbox>"
    size = "<size><width>10</width><height>20</height><depth>1</depth></size>"
    return (
        f"<annotation>{head}<filename>a.png</filename>{size}<object><name>cat</name>{more}{box}</object></annotation>"
    )


def test_voc_is_written_with_all_it_has(tmp_path: Path) -> None:
    head = "<folder>f&amp;g</folder><source><database>d</database></source><owner><name>me</name></owner>"
    write(tmp_path, {"v/a.xml": voc("<occluded>1</occluded><truncated>1</truncated>", head)})
    done = sy.convert(tmp_path / "v", tmp_path / "w", to_format="voc", strict=True)
    assert losses(done) == []
    assert contents(tmp_path / "w") == {
        "a.xml": "<annotation>\n\t<folder>f&amp;g</folder>\n\t<filename>a.png</filename>\n"
        "\t<source><database>d</database></source>\n\t<owner><name>me</name></owner>\n"
        "\t<size><width>10</width><height>20</height><depth>1</depth></size>\n\t<segmented>0</segmented>\n"
        "\t<object>\n\t\t<name>cat</name>\n\t\t<pose>Unspecified</pose>\n\t\t<truncated>1</truncated>\n"
        "\t\t<occluded>1</occluded>\n\t\t<difficult>0</difficult>\n"
        "\t\t<bndbox><xmin>2</xmin><ymin>3</ymin><xmax>5</xmax><ymax>6</ymax></bndbox>\n\t</object>\n</annotation>\n"
    }


def test_voc_rounds_as_asked(tmp_path: Path) -> None:
    """1.25 of pixels counted from 0 is 2.25 from 1, and rounds to 2."""
    rows = "image,label,x,y,w,h\na,cat,1.25,2,3,4\nb,cat,1,2,3,4\n"
    write(tmp_path, {"t.csv": rows, "u.csv": rows.replace("1.25", "1")})
    done = sy.convert(tmp_path / "t.csv", tmp_path / "v", to_format="voc", whole=True)
    assert losses(done) == ["lost: fractions of pixels (1): rounded as asked"]
    assert "<xmin>2</xmin><ymin>3</ymin><xmax>4</xmax><ymax>6</ymax>" in contents(tmp_path / "v")["a.xml"]
    assert losses(sy.convert(tmp_path / "u.csv", tmp_path / "w", to_format="voc", whole=True)) == []


def test_a_name_that_xml_cannot_hold(tmp_path: Path) -> None:
    write(tmp_path, {"t.csv": "image,label,x,y,w,h\na,c\x01t,1,2,3,4\n"})
    with refuses("E-cannot-write", "'c\\x01t'"):
        sy.convert(tmp_path / "t.csv", tmp_path / "v", to_format="voc")
    assert not (tmp_path / "v").exists()


def cvat(inside: str) -> str:
    return f'<annotations><image id="7" name="a.png" width="4" height="4">{inside}</image></annotations>'


def test_cvat_says_what_is_turned(tmp_path: Path) -> None:
    box = '<box label="cat" xtl="1" ytl="1" xbr="3" ybr="2" group_id="5" rotation="{}"/>'
    write(tmp_path, {"a.xml": cvat(box.format("30") + box.format("0"))})
    done = sy.convert(tmp_path / "a.xml", tmp_path / "b.xml")
    assert done.notes == ("1 box is turned; corners are taken as they stand before the turn.",)
    boxes = [line.strip() for line in (tmp_path / "b.xml").read_text().splitlines() if "<box" in line]
    written = (
        '<box label="cat" source="manual" occluded="0" xtl="1" ytl="1" xbr="3" ybr="2" z_order="0" group_id="5"></box>'
    )
    assert boxes == [written, written]
    write(tmp_path, {"a.xml": cvat(box.format("much"))})
    with refuses("E-invalid-number", str(tmp_path / "a.xml"), "line 1", "'much'"):
        sy.convert(tmp_path / "a.xml", tmp_path / "c.xml")
    write(tmp_path, {"a.xml": "<annotation/>"})
    with refuses("E-invalid-file", str(tmp_path / "a.xml"), "<annotation>", "<annotations>"):
        sy.convert(tmp_path / "a.xml", tmp_path / "c.xml", from_format="cvat")


SHAPES: dict[str, tuple[Any, str]] = {
    "a mask": ({"size": [4, 4], "counts": [0, 4, 12]}, 'mask rle="0, 4" left="0" top="0" width="1" height="4"'),
    "a packed mask": ({"size": [4, 4], "counts": "04<"}, 'mask rle="0, 4" left="0" top="0" width="1" height="4"'),
    "a polygon": ([[0, 0, 0, 4, 1, 4]], 'polygon points="0,0;0,4;1,4"'),
    "a mask that does not fill its image": ({"size": [4, 4], "counts": [0, 4]}, "box"),
    "an empty mask": ({"size": [4, 4], "counts": [16]}, "box"),
    "a mask of another size": ({"size": [4, 5], "counts": [0, 4, 16]}, "box"),
    "negative runs": ({"size": [4, 4], "counts": [0, -4, 20]}, "box"),
    "runs that are words": ({"size": [4, 4], "counts": [0, "x"]}, "box"),
    "runs that are not runs": ({"size": [4, 4], "counts": 5}, "box"),
    "a number": ([5], "box"),
    "words": ([[0, 0, 0, 4, 1, "x"]], "box"),
    "half a point": ([[0, 0, 0, 4, 1, 4, 1]], "box"),
    "two polygons": ([[0, 0, 0, 4, 1, 4]] * 2, "box"),
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_segmentation_in_cvat_and_yolo(name: str, tmp_path: Path) -> None:
    """One that fits is written; of all others the box is, and the loss is said. YOLO's polygons need one each."""
    shape, expected = SHAPES[name]
    path = coco(tmp_path, {"segmentation": shape})
    done = sy.convert(path, tmp_path / "b.xml", to_format="cvat")
    own = 'xtl="0" ytl="0" xbr="1" ybr="4"'
    kind, _, more = expected.partition(" ")
    line = f'    <{kind} label="cat" source="manual" occluded="0" {more or own} z_order="0"></{kind}>'
    assert line in (tmp_path / "b.xml").read_text().splitlines()
    lost = "lost: segmentations (1): of several parts, or whose box is not the annotation's own"
    assert [text for text in losses(done) if "segment" in text] == ([lost] if expected == "box" else [])
    if kind != "polygon":
        with refuses("E-invalid-value", str(path), "annotation 0", "polygon"):
            sy.convert(path, tmp_path / "y", to_format="yolo", polygons=True)


def test_sizes_and_names_beside_a_table(tmp_path: Path) -> None:
    """Sizes that a table lacks come from the pictures, and the order of its classes from a list."""
    write(tmp_path, {"t.csv": "image,label,x,y,w,h,file\n1,dog,0,0,1,1,a.png\n1,cat,0,0,2,2,a.png\n"})
    write(tmp_path, {"n.txt": "dog\ncat\nbird\n", "i/a.png": png(4, 4)})
    source, names = tmp_path / "t.csv", str(tmp_path / "n.txt")
    sy.convert(source, tmp_path / "y", to_format="yolo", images=str(tmp_path / "i"), names=names)
    assert contents(tmp_path / "y") == {
        "labels/a.txt": "0 0.125 0.125 0.25 0.25\n1 0.25 0.25 0.5 0.5\n",
        "image_sizes.csv": "image,width,height\na,4,4\n",
        "data.yaml": "path: .\ntrain: images\nval: images\nnc: 3\nnames:\n  0: dog\n  1: cat\n  2: bird\n",
    }
    write(tmp_path, {"n.txt": "dog\n"})
    with refuses("E-unknown-name", str(names), "'cat'"):
        sy.convert(source, tmp_path / "z.csv", names=names)
    (tmp_path / "i" / "a.png").unlink()
    with refuses("E-missing-file", str(tmp_path / "i"), "'a.png'"):
        sy.convert(source, tmp_path / "z.csv", images=str(tmp_path / "i"))
    with refuses("E-missing-file", str(tmp_path / "none")):
        sy.convert(tmp_path / "none", tmp_path / "z.csv", from_format="voc")


TABLE = "image,label,x,y,w,h"


def test_a_table_of_either_side(tmp_path: Path) -> None:
    write(tmp_path, {"t.csv": f"{TABLE}\n007,1,0,0,1,1\n008,2,0,0,1,1\n", "p.csv": f"{TABLE},score\na,b,0,0,1,1,1\n"})
    read = read_dataset(tmp_path / "t.csv")
    assert [picture.id for picture in read.pictures] == ["007", "008"]
    assert [kind.id for kind in read.categories] == [1, 2]
    with refuses("E-missing-column", str(tmp_path / "t.csv"), "'score'"):
        read_dataset(tmp_path / "t.csv", side="prediction")
    with refuses("E-invalid-file", str(tmp_path / "p.csv"), "'score'"):
        read_dataset(tmp_path / "p.csv", side="truth")
    write(tmp_path, {"t.csv": f"{TABLE}\na,b,0,0,1e13,1\n"})
    with refuses("E-invalid-number", str(tmp_path / "t.csv"), "line 2", "0.0", "10000000000000.0", "1.0"):
        read_dataset(tmp_path / "t.csv")


def test_a_table_of_json_lines(tmp_path: Path) -> None:
    """null is an empty cell, and other cells keep their kind."""
    rows = [
        {"image": "a", "label": "cat", "x": 0, "y": 0, "w": 1, "h": 1, "light": 3, "note": " [1, 2] "},
        {"image": "a", "label": "cat", "x": 0, "y": 0, "w": 1, "h": 1, "light": None, "note": "[1"},
        {"image": "b", "label": None, "x": None, "y": None, "w": None, "h": None, "light": None, "note": None},
    ]
    write(tmp_path, {"t.jsonl": "".join(json.dumps(row) + "\n" for row in rows)})
    read = read_dataset(tmp_path / "t.jsonl")
    assert [picture.id for picture in read.pictures] == ["a", "b"]
    assert read.extra == [{"light": 3, "note": [1, 2]}, {"note": "[1"}]


def test_hrsc_and_folders_that_are_refused(tmp_path: Path) -> None:
    write(tmp_path, {"h/a.xml": "<HRSC_Image/>", "c/a.xml": cvat("")})
    with refuses("E-unsupported", str(tmp_path / "h")):
        read_dataset(tmp_path / "h", ReadOptions(format="hrsc"), "prediction")
    with refuses("E-invalid-file", str(tmp_path / "c")):
        read_dataset(tmp_path / "c")


def test_a_score_that_is_not_finite(tmp_path: Path) -> None:
    write(tmp_path, {"y/labels/a.txt": "0 0.5 0.5 0.5 0.5 inf\n", "y/image_sizes.csv": SIZES})
    with refuses("E-invalid-number", str(tmp_path / "y" / "labels" / "a.txt"), "line 1", "'inf'"):
        read_dataset(tmp_path / "y")
