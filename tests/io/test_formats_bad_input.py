"""What can be wrong with files of annotations, and what the message must say. XML cannot be used to attack."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.io.formats.convert import convert, read_dataset
from steelyard.io.formats.detect import detect
from steelyard.io.formats.format import ReadOptions

SIZES = "image,width,height\na,100,50\n"


def voc(inside: str, head: str = "") -> str:
    return f"{head}<annotation><filename>a.jpg</filename><size><width>9</width><height>9</height></size>{inside}</annotation>"


def thing(inside: str, name: str = "cat") -> str:
    return voc(f"<object><name>{name}</name>{inside}</object>")


def box(**changed: Any) -> str:
    values = {"xmin": 1, "ymin": 1, "xmax": 5, "ymax": 5, **changed}
    return "<bndbox>" + "".join(f"<{k}>{v}</{k}>" for k, v in values.items() if v is not None) + "</bndbox>"


def cvat(inside: str, image: str = 'id="0" name="a.jpg" width="10" height="10"') -> str:
    return f"<annotations><image {image}>{inside}</image></annotations>"


LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol "lol">'
    + "".join(f'<!ENTITY lol{i} "{"&lol" + (str(i - 1) if i > 1 else "") + ";"}' + (f"&lol{i - 1 if i > 1 else ''};" * 9) + '">' for i in range(1, 10))
    + "]>"
)  # fmt: skip
OUTSIDE = '<!DOCTYPE a [<!ENTITY secret SYSTEM "file:///etc/passwd">]>'

# files, the one to read, what the message must contain
BAD: dict[str, tuple[dict[str, str], str, list[str]]] = {
    "billion laughs": ({"a.xml": voc("<folder>&lol9;</folder>", LAUGHS)}, ".", ["a.xml, line 1", "document type", "not taken"]),
    "external entity": ({"a.xml": voc("<folder>&secret;</folder>", OUTSIDE)}, ".", ["document type", "not taken"]),
    "billion laughs in CVAT": ({"a.xml": LAUGHS + cvat("")}, "a.xml", ["a.xml"]),
    "external type": ({"a.xml": '<!DOCTYPE a SYSTEM "http://example.com/x.dtd">' + voc("")}, ".", ["document type"]),
    "undeclared entity": ({"a.xml": voc("<folder>&nothing;</folder>")}, ".", ["a.xml, line 1", "undefined entity"]),
    "nested too deeply": ({"a.xml": voc("<a>" * 60 + "</a>" * 60)}, ".", ["nested too deeply"]),
    "truncated": ({"a.xml": thing(box())[:-20]}, ".", ["a.xml, line 1", "not valid XML"]),
    "not XML": ({"a.xml": "hello"}, "a.xml", ["not readable as XML"]),
    "empty": ({"a.xml": ""}, ".", ["a.xml", "the file is empty"]),
    "unknown encoding": ({"a.xml": '<?xml version="1.0" encoding="klingon"?><annotation/>'}, ".", ["a.xml"]),
    "another root": ({"a.xml": "<html></html>"}, "a.xml", ["'html'", "<annotation>"]),
    "VOC without a box": ({"a.xml": thing("")}, ".", ["a.xml, line 1", "without a box", "<bndbox>"]),
    "VOC without a name": ({"a.xml": thing(box(), "")}, ".", ["without a name"]),
    "VOC corner missing": ({"a.xml": thing(box(xmax=None))}, ".", ["<xmax> is ''", "finite number"]),
    "VOC corner is a word": ({"a.xml": thing(box(xmax="wide"))}, ".", ["<xmax> is 'wide'"]),
    "VOC corner is nan": ({"a.xml": thing(box(xmax="nan"))}, ".", ["<xmax> is 'nan'"]),
    "VOC corner is huge": ({"a.xml": thing(box(xmax="1e400"))}, ".", ["<xmax> is '1e400'"]),
    "VOC corner with endless digits": ({"a.xml": thing(box(xmax="1e-9999"))}, ".", ["<xmax>"]),
    "VOC corners exchanged": ({"a.xml": thing(box(xmin=9))}, ".", ["negative size", "corners exchanged"]),
    "VOC from zero": ({"a.xml": thing(box(xmin=0))}, ".", ["xmin is 0", "from 1", "pixels=edges"]),
    "VOC fraction": ({"a.xml": thing(box(ymin=1.5))}, ".", ["ymin is 1.5", "pixels=edges"]),
    "VOC size is a word": ({"a.xml": voc("").replace(">9<", ">x<", 1)}, ".", ["<width> is 'x'"]),
    "VOC difficult is a word": ({"a.xml": thing(box() + "<difficult>maybe</difficult>")}, ".", ["<difficult> is 'maybe'"]),
    "VOC score of one only": ({"a.xml": voc(f"<object><name>a</name>{box()}<score>0.5</score></object><object><name>a</name>{box()}</object>")}, ".", ["without a score"]),
    "VOC score is a word": ({"a.xml": thing(box() + "<score>high</score>")}, ".", ["the score is 'high'"]),
    "CVAT without a label": ({"a.xml": cvat('<box xtl="1" ytl="1" xbr="2" ybr="2"/>')}, "a.xml", ["<box> without a label"]),
    "CVAT corner missing": ({"a.xml": cvat('<box label="a" ytl="1" xbr="2" ybr="2"/>')}, "a.xml", ["xtl is ''"]),
    "CVAT without a size": ({"a.xml": cvat("", 'name="a.jpg"')}, "a.xml", ["width is ''"]),
    "CVAT without a name": ({"a.xml": cvat("", 'width="1" height="1"')}, "a.xml", ["without a name"]),
    "CVAT image twice": ({"a.xml": cvat("") [:-14] + '<image name="a.jpg" width="1" height="1"/></annotations>'}, "a.xml", ["appears twice"]),
    "CVAT point": ({"a.xml": cvat('<polygon label="a" points="1,2;3"/>')}, "a.xml", ["'3' is not a point"]),
    "CVAT mask too short": ({"a.xml": cvat('<mask label="a" rle="1, 2" left="0" top="0" width="3" height="3"/>')}, "a.xml", ["runs hold 3 pixels", "has 9"]),
    "CVAT mask outside": ({"a.xml": cvat('<mask label="a" rle="9" left="9" top="0" width="3" height="3"/>')}, "a.xml", ["a mask of 3 × 3 at 9, 0"]),
    "CVAT mask of words": ({"a.xml": cvat('<mask label="a" rle="x" left="9" top="0" width="3" height="3"/>')}, "a.xml", ["not a whole number"]),
    "CVAT video": ({"a.xml": '<annotations><track id="0" label="a"/></annotations>'}, "a.xml", ["tracks of a video", "CVAT for images"]),
    "CVAT without images": ({"a.xml": "<annotations></annotations>"}, "a.xml", ["there is no image"]),
    "YOLO four numbers": ({"labels/a.txt": "0 0.5 0.5 0.1\n", "image_sizes.csv": SIZES}, ".", ["a.txt, line 1", "4 numbers"]),
    "YOLO a word": ({"labels/a.txt": "0 0.5 0.5 0.1 wide\n", "image_sizes.csv": SIZES}, ".", ["a.txt, line 1", "'wide'"]),
    "YOLO class is a word": ({"labels/a.txt": "cat 0.5 0.5 0.1 0.1\n", "image_sizes.csv": SIZES}, ".", ["the class is 'cat'"]),
    "YOLO class is negative": ({"labels/a.txt": "-1 0.5 0.5 0.1 0.1\n", "image_sizes.csv": SIZES}, ".", ["the class is '-1'"]),
    "YOLO class without a name": ({"labels/a.txt": "2 0.5 0.5 0.1 0.1\n", "image_sizes.csv": SIZES, "classes.txt": "a\nb\n"}, ".", ["class 2 has no name", "from 0 to 1"]),
    "YOLO negative width": ({"labels/a.txt": "0 0.5 0.5 -0.1 0.1\n", "image_sizes.csv": SIZES}, ".", ["negative size"]),
    "YOLO nan": ({"labels/a.txt": "0 nan 0.5 0.1 0.1\n", "image_sizes.csv": SIZES}, ".", ["'nan'"]),
    "YOLO without a size": ({"labels/a.txt": "0 0.5 0.5 0.1 0.1\n"}, ".", ["size of image 'a'", "images=FOLDER"]),
    "YOLO score of one only": ({"labels/a.txt": "0 0.5 0.5 0.1 0.1 0.9\n0 0.5 0.5 0.1 0.1\n", "image_sizes.csv": SIZES}, ".", ["line 2", "without a score"]),
    "YOLO polygon and box": ({"labels/a.txt": "0 0.5 0.5 0.1 0.1\n0 0 0 1 1 1 0\n", "image_sizes.csv": SIZES}, ".", ["line 1", "three points"]),
    "YOLO size table": ({"labels/a.txt": "", "image_sizes.csv": "image,width,height\na,0,5\n"}, ".", ["line 2", "'0' × '5'"]),
    "YOLO size columns": ({"labels/a.txt": "", "image_sizes.csv": "image,width\na,0\n"}, ".", ["'height' is missing"]),
    "YOLO names twice": ({"labels/a.txt": "", "image_sizes.csv": SIZES, "classes.txt": "a\na\n"}, ".", ["'a' appears twice"]),
    "YOLO names with a gap": ({"labels/a.txt": "", "image_sizes.csv": SIZES, "data.yaml": "names:\n  0: a\n  2: b\n"}, ".", ["class 1 has no name"]),
    "YOLO names are a word": ({"labels/a.txt": "", "image_sizes.csv": SIZES, "data.yaml": "names: cat\n"}, ".", ["'names' is 'cat'"]),
    "YOLO broken picture": ({"labels/a.txt": "0 0.5 0.5 0.1 0.1\n", "images/a.jpg": "no"}, ".", ["a.jpg", "not a picture"]),
    "YOLO not UTF-8": ({"labels/a.txt": "\udcff", "image_sizes.csv": SIZES}, ".", ["a.txt", "UTF-8"]),
    "table without a column": ({"a.csv": "image,label,x,y,w\n"}, "a.csv", ["column 'h' is missing"]),
    "table with a word": ({"a.csv": "image,label,x,y,w,h\na,b,1,1,1,wide\n"}, "a.csv", ["line 2, column 'h'", "'wide'"]),
    "table with a negative width": ({"a.csv": "image,label,x,y,w,h\na,b,1,1,-1,1\n"}, "a.csv", ["line 2", "negative size"]),
    "table with two sizes": ({"a.csv": "image,label,x,y,w,h,width\na,b,1,1,1,1,9\na,b,1,1,1,1,8\n"}, "a.csv", ["line 3", "another file or size"]),
    "table with two names": ({"a.csv": "image,label,x,y,w,h,name\na,b,1,1,1,1,u\na,b,1,1,1,1,v\n"}, "a.csv", ["line 3", "called 'u' and 'v'"]),
    "table with a bad flag": ({"a.csv": "image,label,x,y,w,h,crowd\na,b,1,1,1,1,2\n"}, "a.csv", ["column 'crowd'", "neither true nor false"]),
    "table with a bad size": ({"a.csv": "image,label,x,y,w,h,width\na,b,1,1,1,1,-2\n"}, "a.csv", ["column 'width'", "not a size"]),
    "COCO with a bad size": ({"a.json": '{"images": [{"id": 1, "width": "wide"}], "annotations": [], "categories": []}'}, "a.json", ["image 0", "'width' is 'wide'"]),
    "COCO with an unknown image": ({"a.json": '{"images": [{"id": 1}], "annotations": [{"id": 1, "image_id": 2, "category_id": 1, "bbox": [0,0,1,1]}], "categories": [{"id": 1}]}'}, "a.json", ["annotation 0", "image '2' is not listed"]),
    "no such folder": ({}, "nothing", ["there is no such file or folder"]),
    "an unknown ending": ({"a.docx": ""}, "a.docx", ["'.docx'", "coco, lvis, voc"]),
    "an empty folder": ({"sub/readme.md": ""}, "sub", ["neither XML files (VOC) nor label files (YOLO)"]),
    "a folder of both": ({"a.xml": voc(""), "b.txt": ""}, ".", ["both XML and text files"]),
    "a folder with a CVAT file": ({"a.xml": cvat("")}, ".", ["holds a CVAT file", "a.xml"]),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_message(name: str, tmp_path: Path) -> None:
    files, path, says = BAD[name]
    for file, text in files.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(sy.InputError) as caught:
        read_dataset(tmp_path / path)
    for part in says:
        assert part in str(caught.value)


def sample(folder: Path) -> Path:
    path = folder / "in.csv"
    path.write_text("image,label,x,y,w,h,file\n1,a,1.5,1,1,1,u/x.jpg\n2,a,1,1,1,1,u/x.png\n")
    return path


@pytest.mark.parametrize(
    ("run", "says"),
    [
        (lambda t: convert(sample(t), t / "out"), ["does not say a format", "`to_format`"]),
        (lambda t: convert(sample(t), t / "out.tsv"), [".tsv", "written as .csv"]),
        (lambda t: convert(sample(t), t / "out", to="yollo"), ["no format 'yollo'", "'yolo'"]),
        (lambda t: convert(sample(t), t / "out", to="yolo"), ["size of image '1'", "`images="]),
        (lambda t: convert(sample(t), t / "out.xml"), ["size of image '1'", "CVAT needs it"]),
        (lambda t: convert(sample(t), t / "out", to="voc"), ["1 box begins inside a pixel", "`pixels='edges'`"]),
        (lambda t: convert(sample(t), t / "in.csv", to="csv"), ["the file exists", "`force=True`"]),
        (lambda t: convert(sample(t), t, to="csv"), ["is a folder"]),
        (lambda t: convert(sample(t), t / "in.csv", to="voc"), ["is a file"]),
        (lambda t: read_dataset(sample(t), ReadOptions(images=str(t / "none"))), ["there is no such folder"]),
        (lambda t: read_dataset(sample(t), ReadOptions(images=str(t))), ["no picture 'x.jpg'"]),
    ],
)  # fmt: skip
def test_bad_conversions(run: Callable[[Path], Any], says: list[str], tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    with pytest.raises(sy.InputError) as caught:
        run(tmp_path)
    for part in says:
        assert part in str(caught.value)
    assert [p for p in sorted(tmp_path.iterdir()) if p.name != "in.csv"] == before


def test_two_images_of_one_name(tmp_path: Path) -> None:
    from steelyard.io.formats.format import WriteOptions

    with pytest.raises(sy.InputError, match=r"two images would be written to 'u/x\.xml'"):
        convert(sample(tmp_path), tmp_path / "out", to="voc", options=WriteOptions("edges"))
    assert not (tmp_path / "out").exists()


def test_no_file_leaves_the_folder(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("image,label,x,y,w,h,file\n1,a,1,1,1,1,../../evil.jpg\n")
    with pytest.raises(sy.InputError, match="cannot be a file of the target"):
        convert(path, tmp_path / "out", to="voc")


def test_yolo_without_names_against_names(tmp_path: Path) -> None:
    """Numbers of classes are never taken for ids of another list."""
    truth = tmp_path / "truth.csv"
    truth.write_text("image,label,x,y,w,h\na,1,1,1,5,5\n")
    labels = tmp_path / "pred" / "labels"
    labels.mkdir(parents=True)
    (labels / "a.txt").write_text("0 0.5 0.5 0.1 0.1 0.9\n")
    (tmp_path / "pred" / "image_sizes.csv").write_text(SIZES)
    with pytest.raises(sy.InputError, match="numbers whose names are not known"):
        sy.evaluate("boxes", truth, tmp_path / "pred")


def test_truth_and_predictions_exchanged(tmp_path: Path) -> None:
    for name, line in (("t", "0 0.5 0.5 0.1 0.1\n"), ("p", "0 0.5 0.5 0.1 0.1 0.9\n")):
        (tmp_path / name / "labels").mkdir(parents=True)
        (tmp_path / name / "labels" / "a.txt").write_text(line)
        (tmp_path / name / "image_sizes.csv").write_text(SIZES)
    assert sy.evaluate("boxes", tmp_path / "t", tmp_path / "p", "map", confidence=None)["map"].value > 0.99
    with pytest.raises(sy.InputError, match="Truth comes first"):
        sy.evaluate("boxes", tmp_path / "p", tmp_path / "t")


@pytest.mark.parametrize("kind", ["voc", "cvat"])
def test_broken_xml_never_crashes(kind: str, tmp_path: Path) -> None:
    whole = thing(box()) if kind == "voc" else cvat('<box label="a" xtl="1" ytl="1" xbr="2" ybr="2"/>')
    rng = random.Random(5)
    path = tmp_path / "a.xml"
    for _ in range(400):
        text = bytearray(whole.encode())
        for _ in range(rng.randint(1, 3)):
            text[rng.randrange(len(text))] = rng.randrange(256)
        path.write_bytes(bytes(text[: rng.randrange(1, len(text) + 1)]) if rng.random() < 0.3 else bytes(text))
        try:
            read_dataset(path, ReadOptions(format=kind))
        except sy.InputError as error:
            assert "a.xml" in str(error)  # noqa: PT017


def refused(act: Callable[[], Any], message: str, kind: type[Exception] = sy.InputError) -> None:
    with pytest.raises(kind, match=message):
        act()


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_formats(tmp_path: Path) -> None:
    refused(
        lambda: detect(write(tmp_path / "a.tea", "x"), "a.tea"), "'.tea' is not the extension of a supported format"
    )
    refused(lambda: detect(write(tmp_path / "a.xml", "<tea/>"), "a.xml"), "the root element is 'tea'")
    refused(lambda: detect(write(tmp_path / "b.xml", "tea"), "b.xml"), "not readable as XML")
    refused(lambda: detect(tmp_path / "none.xyz", "none"), "no such file or folder")
    write(tmp_path / "cvat" / "a.xml", "<annotations/>")
    refused(lambda: detect(tmp_path / "cvat", "cvat"), "the folder holds a CVAT file")
    write(tmp_path / "both" / "a.xml", "<annotation/>")
    write(tmp_path / "both" / "labels" / "a.txt", "0 0.5 0.5 0.1 0.1\n")
    refused(lambda: detect(tmp_path / "both", "both"), "both XML and text files")
    (tmp_path / "empty").mkdir()
    refused(lambda: detect(tmp_path / "empty", "empty"), "neither XML files")
