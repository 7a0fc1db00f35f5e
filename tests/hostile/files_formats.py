"""VOC, YOLO, CVAT and tables of boxes that are spoiled: `convert`, `check`, `evaluate` and `draw` meet them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from hostile.rows import COCO, FOUND, TABLE_TASKS, Row, annotation, good, row

SIZES = "image,width,height\na,100,50\n"
LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {y} "{f"&{x};" * 10}">' for x, y in zip("abcdefgh", "bcdefghi", strict=True))
    + "]>"
)
SECRET = '<!DOCTYPE a [<!ENTITY s SYSTEM "file:///etc/hostname">]>'


def voc(inside: str = "", head: str = "", size: str = "<width>9</width><height>9</height>") -> str:
    return f"{head}<annotation><filename>a.jpg</filename><size>{size}</size>{inside}</annotation>"


def thing(name: str = "cat", **changed: Any) -> str:
    values = {"xmin": 1, "ymin": 1, "xmax": 5, "ymax": 5, **changed}
    corners = "".join(f"<{key}>{value}</{key}>" for key, value in values.items())
    return f"<object><name>{name}</name><bndbox>{corners}</bndbox></object>"


def cvat(inside: str, image: str = 'id="0" name="a.jpg" width="10" height="10"') -> str:
    return f"<annotations><image {image}>{inside}</image></annotations>"


def convert(name: str, files: dict[str, Any], source: str, *says: str, target: str = "out.json", **more: Any) -> Row:
    """A conversion into COCO that must write nothing."""
    return row(f"convert: {name}", f"convert {source} {target}", *says, files=files, task="boxes", **more)


def yolo(name: str, line: str | bytes, *says: str, **files: Any) -> Row:
    """A folder of YOLO labels with one file."""
    made = {"d/labels/a.txt": line, "d/image_sizes.csv": SIZES, **{k.replace("__", "."): v for k, v in files.items()}}
    return convert(f"YOLO, {name}", made, "d", *says)


def mask(rle: str, place: str = 'left="0" top="0" width="3" height="3"') -> str:
    return cvat(f'<mask label="a" rle="{rle}" {place}/>')


def loop(path: Path) -> None:
    """A folder that holds a link to itself."""
    path.mkdir(parents=True)
    (path / "again").symlink_to(path, target_is_directory=True)


XML: list[Row] = [
    convert("VOC, billion laughs", {"d/a.xml": voc("<folder>&i;</folder>", LAUGHS)}, "d", "a.xml, line 1", "document type", "not taken"),
    convert("VOC, file of the machine as an entity", {"d/a.xml": voc("<folder>&s;</folder>", SECRET)}, "d", "a.xml", "document type"),
    convert("VOC, document type from the network", {"d/a.xml": '<!DOCTYPE a SYSTEM "http://127.0.0.1:9/x.dtd">' + voc()}, "d", "a.xml", "document type"),
    convert("VOC, undeclared entity", {"d/a.xml": voc("<folder>&no;</folder>")}, "d", "a.xml, line 1", "undefined entity"),
    convert("VOC, 100,000 deep", {"d/a.xml": voc("<a>" * 100_000)}, "d", "a.xml", "nested too deeply"),
    convert("VOC, cut off", {"d/a.xml": voc(thing())[:-20]}, "d", "a.xml, line 1", "not valid XML"),
    convert("VOC, empty", {"d/a.xml": ""}, "d", "a.xml", "empty"),
    convert("VOC, NUL bytes", {"d/a.xml": b"\0" * 100}, "d", "a.xml"),
    convert("VOC, unknown encoding", {"d/a.xml": '<?xml version="1.0" encoding="klingon"?><annotation/>'}, "d", "a.xml"),
    convert("VOC, encoding that lies", {"d/a.xml": '<?xml version="1.0" encoding="utf-16"?><annotation/>'}, "d", "a.xml"),
    convert("VOC, attribute of 10 MB", {"d/a.xml": f'<annotation x="{"y" * 10_000_000}"/>'}, "d", "0 objects", code=0, writes=("out.json",)),
    convert("VOC, another root", {"d.xml": "<html></html>"}, "d.xml", "d.xml", "'html'"),
    convert("VOC, corner of nan", {"d/a.xml": voc(thing(xmax="nan"))}, "d", "a.xml", "<xmax> is 'nan'"),
    convert("VOC, corner of 1e400", {"d/a.xml": voc(thing(xmax="1e400"))}, "d", "a.xml", "<xmax> is '1e400'"),
    convert("VOC, corners exchanged", {"d/a.xml": voc(thing(xmin=9))}, "d", "a.xml", "negative size"),
    convert("VOC, class without a name", {"d/a.xml": voc(thing(name=""))}, "d", "a.xml", "without a name"),
    convert("VOC, size of 10^400", {"d/a.xml": voc(thing(), size=f"<width>{'9' * 400}</width><height>9</height>")}, "d", "a.xml", "<width>"),
    convert("VOC, name of a file that climbs", {"d/a.xml": voc(thing()).replace("a.jpg", "../../../evil.jpg")}, "d", "cannot be a file", target="out --to yolo"),
    convert("Label Studio, cut off", {"t.json": '[{"id": 1, "data": {"image": "a.jpg"}, "annotations": [{"result": ['}, "t.json", "t.json", "not valid JSON"),
    convert("Label Studio, 100,000 deep", {"t.json": '[{"data": {"image": "a.jpg"}, "annotations": ' + "[" * 100_000}, "t.json", "t.json", "nested too deeply"),
    convert("Label Studio, result that is a number", {"t.json": '[{"data": {"image": "a.jpg"}, "annotations": [{"result": 7}]}]'}, "t.json", "t.json, task 0", "'result' is a number"),
    convert("Roboflow, corner of nan", {"t.csv": "filename,class,xmin,ymin,xmax,ymax\na.jpg,cup,nan,0,1,1\n"}, "t.csv", "t.csv, line 2", "xmin is 'nan'"),
    convert("Ultralytics, data.yaml that names no folder", {"data.yaml": "val: nowhere\nnames: [a]\n"}, "data.yaml", "data.yaml", "'nowhere'"),
    convert("CVAT, billion laughs", {"c.xml": LAUGHS + cvat("&i;")}, "c.xml --from cvat", "c.xml", "document type"),
    convert("CVAT, tracks of a video", {"c.xml": '<annotations><track id="0" label="a"/></annotations>'}, "c.xml", "c.xml", "tracks of a video"),
    convert("CVAT, image twice", {"c.xml": cvat("")[:-14] + '<image name="a.jpg" width="1" height="1"/></annotations>'}, "c.xml", "c.xml", "appears twice"),
    convert("CVAT, box without a corner", {"c.xml": cvat('<box label="a" ytl="1" xbr="2" ybr="2"/>')}, "c.xml", "c.xml", "xtl"),
    convert("CVAT, box of nan", {"c.xml": cvat('<box label="a" xtl="nan" ytl="1" xbr="2" ybr="2"/>')}, "c.xml", "c.xml", "nan"),
    convert("CVAT, point that is none", {"c.xml": cvat('<polygon label="a" points="1,2;3"/>')}, "c.xml", "c.xml", "'3' is not a point"),
    convert("CVAT, mask too short", {"c.xml": mask("1, 2")}, "c.xml", "c.xml", "3 pixels", "9"),
    convert("CVAT, mask of negative runs", {"c.xml": mask("-3, 12")}, "c.xml", "c.xml"),
    convert("CVAT, mask that overflows", {"c.xml": mask(f"{2**63}, {2**63}")}, "c.xml", "c.xml"),
    convert("CVAT, mask of 2^31 by 2^31", {"c.xml": mask("9", f'left="0" top="0" width="{2**31}" height="{2**31}"')}, "c.xml", "c.xml"),
    convert("CVAT, image of 10^9 by 10^9 with a mask", {"c.xml": cvat('<mask label="a" rle="9" left="0" top="0" width="3" height="3"/>', f'name="a" width="{10**9}" height="{10**9}"')}, "c.xml", "c.xml"),
]  # fmt: skip

YOLO: list[Row] = [
    yolo("four numbers", "0 0.5 0.5 0.1\n", "a.txt, line 1", "4 numbers"),
    yolo("word behind 100,000 numbers", "0 " + "0.5 " * 100_000 + "x\n", "a.txt, line 1"),
    yolo("word for a number", "0 0.5 0.5 0.1 wide\n", "a.txt, line 1", "'wide'"),
    yolo("nan", "0 nan 0.5 0.1 0.1\n", "a.txt, line 1", "'nan'"),
    yolo("1e400", "0 1e400 0.5 0.1 0.1\n", "a.txt, line 1", "'1e400'"),
    yolo("negative class", "-1 0.5 0.5 0.1 0.1\n", "a.txt, line 1", "'-1'"),
    yolo("class of 400 digits", "9" * 400 + " 0.5 0.5 0.1 0.1\n", "a.txt, line 1"),
    yolo("class of 10^9 without names", "1000000000 0.5 0.5 0.1 0.1\n", "a.txt, line 1"),
    yolo("negative width", "0 0.5 0.5 -0.1 0.1\n", "a.txt, line 1", "negative size"),
    yolo("pixels in place of shares", "0 50 25 10 10\n", "a.txt, line 1"),
    yolo("bytes that are not UTF-8", b"\xff\xfe0 0.5\n", "a.txt"),
    yolo("NUL bytes", b"0 0.5 0.5 0.1 0.1\0\n", "a.txt, line 1"),
    yolo("names that are not a list", "0 0.5 0.5 0.1 0.1\n", "data.yaml", "names", **{"d/data__yaml": "names: cat\n"}),
    yolo("YAML with an alias bomb", "0 0.5 0.5 0.1 0.1\n", "data.yaml", **{"d/data__yaml": "a: &a [x,x]\nb: &b [*a,*a]\nnames: [*b,*b]\n"}),
    yolo("YAML that runs code", "0 0.5 0.5 0.1 0.1\n", "data.yaml", **{"d/data__yaml": 'names: !!python/object/apply:os.system ["touch owned"]\n'}),
    yolo("sizes of zero", "0 0.5 0.5 0.1 0.1\n", "image_sizes.csv, line 2", **{"d/image_sizes__csv": "image,width,height\na,0,5\n"}),
    yolo("size of 10^400", "0 0.5 0.5 0.1 0.1\n", "image_sizes.csv, line 2", **{"d/image_sizes__csv": f"image,width,height\na,{'9' * 400},5\n"}),
    convert("YOLO, picture that is none", {"d/labels/a.txt": "0 0.5 0.5 0.1 0.1\n", "d/images/a.jpg": "no"}, "d", "a.jpg", "not a picture"),
    convert("YOLO, PNG that claims 2^31 pixels", {"d/labels/a.txt": "0 0.5 0.5 0.1 0.1\n", "d/images/a.png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff\xff\xff\xff\xff\xff\xff\xff\x08\x02\0\0\0"}, "d", "a.png"),
    convert("YOLO, folder that holds itself", {"d/labels": loop}, "d", "d"),
]  # fmt: skip

TABLE = "image,label,x,y,w,h\na,b,1,1,5,5\n"
CONVERT: list[Row] = [
    convert("table without a column", {"a.csv": "image,label,x,y,w\n"}, "a.csv", "a.csv", "'h' is missing"),
    convert("table with a word", {"a.csv": TABLE.replace("5,5", "5,wide")}, "a.csv", "a.csv, line 2", "'wide'"),
    convert("table with nan", {"a.csv": TABLE.replace("5,5", "nan,5")}, "a.csv", "a.csv, line 2"),
    convert("table with a negative width", {"a.csv": TABLE.replace("5,5", "-5,5")}, "a.csv", "a.csv, line 2", "negative size"),
    convert("table with two sizes", {"a.csv": "image,label,x,y,w,h,width\na,b,1,1,1,1,9\na,b,1,1,1,1,8\n"}, "a.csv", "a.csv, line 3"),
    convert("unknown ending", {"a.docx": ""}, "a.docx", "'.docx'", "coco"),
    convert("unknown format", {"a.csv": TABLE}, "a.csv", "'yollo'", "'yolo'", target="out --to yollo"),
    convert("unknown format to read", {"a.csv": TABLE}, "a.csv --from yollo", "'yollo'", "'yolo'"),
    convert("nothing there", {}, "nowhere", "nowhere", "no such file or folder"),
    convert("onto itself", {"a.csv": TABLE}, "a.csv", "a.csv", "exists", "--force", target="a.csv"),
    convert("onto itself by force", {"a.csv": TABLE}, "a.csv", "a.csv", "nothing was lost", target="a.csv --force", code=0),
    convert("file for a folder", {"a.csv": TABLE, "out": "x"}, "a.csv", "out", "is a file", target="out --to voc --pixels edges"),
    convert("into a folder that cannot be written", {"a.csv": TABLE, "taken": "x"}, "a.csv", "taken/out.json", "cannot be written", target="taken/out.json"),
    convert("two images for one file", {"a.csv": "image,label,x,y,w,h,file\n1,a,1,1,1,1,u/x.jpg\n2,a,1,1,1,1,u/x.png\n"}, "a.csv", "u/x", target="out --to voc --pixels edges"),
    convert("names of files that climb", {"a.csv": "image,label,x,y,w,h,file\n1,a,1,1,1,1,../../evil.jpg\n"}, "a.csv", "cannot be a file", target="out --to voc --pixels edges"),
    convert("names of files from the root", {"a.csv": "image,label,x,y,w,h,file,width,height\n1,a,1,1,1,1,/tmp/evil.jpg,9,9\n"}, "a.csv", "cannot be a file", target="out --to voc --pixels edges"),
    convert("loss under --strict", {"t.json": json.dumps(annotation(iscrowd=1))}, "t.json", "--strict", target="out --to yolo --strict"),
    convert("like that is not a data set", {"a.csv": TABLE, "like.json": "[]"}, "a.csv --like like.json", "like.json"),
    convert("names that are a folder", {"a.csv": TABLE, "n/x": ""}, "a.csv --names n", "n", "folder"),
    convert("images that are not there", {"a.csv": TABLE}, "a.csv --images none", "none", "no such folder"),
    convert("COCO 100,000 deep", {"t.json": '{"images": ' + "[" * 100_000}, "t.json", "t.json"),
    convert("COCO integer of 5,000 digits", {"t.json": json.dumps(COCO).replace('"area": 400', '"area": ' + "9" * 5000)}, "t.json", "t.json", "too large"),
    convert("COCO with runs that overflow", {"t.json": json.dumps(annotation(segmentation={"size": [30, 40], "counts": [2**63, 2**63]}))}, "t.json", "t.json", target="out --to yolo --polygons"),
]  # fmt: skip


def check(name: str, truth: Any, pred: Any, *says: str, code: int = 1, options: str = "", **more: Any) -> Row:
    """A check; it finds, and ends with 1."""
    texts = [data if isinstance(data, str | bytes) else json.dumps(data) for data in (truth, pred)]
    files = {"truth.json": texts[0], "pred.json": texts[1]}
    return row(
        f"check: {name}",
        f"check boxes truth.json pred.json {options}",
        *says,
        files=files,
        code=code,
        task="boxes",
        **more,
    )


CHECK: list[Row] = [
    check("truth that is empty", "", FOUND, "truth.json", "empty"),
    check("results 100,000 deep", COCO, "[" * 100_000, "pred.json"),
    check("scores of NaN", COCO, json.dumps(FOUND).replace("0.8", "NaN"), "pred.json", "1 error"),
    check("ids of other images", COCO, [{**r, "image_id": 70 + i} for i, r in enumerate(FOUND)], "image"),
    check("both sides swapped", FOUND, COCO, "truth.json"),
    check("integer of 5,000 digits", COCO, json.dumps(FOUND).replace("0.8", "9" * 5000), "pred.json"),
    check("escape sequence for a category", {**COCO, "categories": [{"id": 3, "name": "\x1b[2Jcat"}]}, FOUND, "Nothing was found", code=0),
    check("column that cannot be mapped", COCO, FOUND, "--map", code=2, options="--map x"),
    check("option that is unknown", COCO, FOUND, "'angel'", code=2, options="-O angel=3"),
    check("output into a folder that cannot be", COCO, FOUND, "taken/c.json", "cannot be written", code=2, options="-o pred.json/taken/c.json"),
    *(row(f"check: {task} that are cut off", f"check {task} truth.csv pred.csv", "pred.csv", files={**good(task), "pred.csv": str(good(task)["pred.csv"])[:-3] + ",,,,\\n"}, code=1) for task in TABLE_TASKS),
    *(row(f"check: {task} without a file", f"check {task} truth.json nowhere.json", "nowhere.json", files=good(task), code=1) for task in ("masks", "keypoints")),
    row("check: task that is unknown", "check wieghts truth.csv", "'wieghts'", files=good("weights")),
    row("check: nothing there", "check boxes nowhere.json", "nowhere.json", "no such file", code=1, task="boxes"),
    row("check: broken link", "check boxes truth.json", "truth.json", code=1, task="boxes", files={"truth.json": lambda path: os.symlink("nowhere", path)}),
]  # fmt: skip

DRAW: list[Row] = [
    row("draw: no such image", "draw boxes truth.json pred.json --image 77 -o out.svg", "no image '77'", files=good("boxes")),
    row("draw: task without pictures", "draw weights truth.csv pred.csv --image A", "'weights' has no pictures", "boxes", files=good("weights")),
    row("draw: image that is markup", ["draw", "ellipses", "truth.csv", "pred.csv", "--image", "<script>", "-o", "out.svg"], "<script>", files=good("ellipses")),
    row("draw: unknown metric", "draw ellipses truth.csv pred.csv --image i -m scoer", "'scoer'", "'score'", files=good("ellipses")),
    row("draw: keypoints that are cut off", "draw keypoints truth.json pred.json --image 1", "pred.json", files={**good("keypoints"), "pred.json": "[{"}),
    row("draw: masks into a folder that cannot be", "draw masks truth.json pred.json --image 1 -o truth.json/x.svg", "truth.json/x.svg", files=good("masks")),
]  # fmt: skip

ROWS = XML + YOLO + CONVERT + CHECK + DRAW
