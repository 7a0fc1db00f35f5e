"""Sizes of pictures whose headers few cameras write, and data sets that take ids, rules and folders of another."""

from __future__ import annotations

import errno
import json
import os
import struct
from pathlib import Path
from typing import Any

import pytest
from support.read_help import contents, png, write
from support.refusal import refuses

import steelyard as sy
from steelyard.io.formats.convert import read_dataset
from steelyard.io.formats.detect import detect
from steelyard.io.formats.federated import by_rules_of_lvis
from steelyard.io.formats.fit import fit
from steelyard.io.formats.format import ReadOptions
from steelyard.io.formats.sizes import picture_size

FRAME = b"\xff\xc0\x00\x11\x08\x00\x07\x00\x09"  # 9 × 7 pixels
PERFECT = 1 / (1 + 2.0**-52)  # COCO adds the smallest step to the count of detections
TAG = struct.pack(">HHIHH", 0x0112, 3, 1, 6, 0)  # turned by a quarter
OTHER = struct.pack(">HHIHH", 0x0100, 3, 1, 6, 0)


def exif(tiff: bytes, head: bytes = b"Exif\0\0") -> bytes:
    body = head + tiff
    return b"\xff\xe1" + struct.pack(">H", len(body) + 2) + body


def tiff(*tags: bytes, order: bytes = b"MM", count: int | None = None) -> bytes:
    return order + b"\0*\0\0\0\x08" + struct.pack(">H", len(tags) if count is None else count) + b"".join(tags)


JPEG: dict[str, tuple[bytes, Any]] = {
    "markers without a length": (b"\xff\x01\xff\xd0" + FRAME, (9, 7)),
    "fill bytes": (b"\xff" * 5 + FRAME, (9, 7)),
    "turned": (exif(tiff(TAG)) + FRAME, (7, 9)),
    "another tag first": (exif(tiff(OTHER, TAG)) + FRAME, (7, 9)),
    "no orientation": (exif(tiff(OTHER)) + FRAME, (9, 7)),
    "no order of bytes": (exif(tiff(TAG, order=b"XX")) + FRAME, (9, 7)),
    "tags that are cut off": (exif(tiff(OTHER, count=9)) + FRAME, (9, 7)),
    "XMP": (exif(tiff(TAG), b"http:\0") + FRAME, (9, 7)),
    "cut off inside EXIF": (exif(tiff(TAG))[:-1], ("E-invalid-file", "a.jpg", "header")),
    "too many segments": (b"\xff\xd0" * 10_000, ("E-invalid-file", "a.jpg", "JPEG")),
    "fill bytes without end": (b"\xff" * 10_002, ("E-invalid-file", "a.jpg", "header")),
}


@pytest.mark.parametrize("name", JPEG)
def test_jpeg(name: str, tmp_path: Path) -> None:
    text, expected = JPEG[name]
    path = write(tmp_path, {"a.jpg": b"\xff\xd8" + text}) / "a.jpg"
    if isinstance(expected[0], str):
        with refuses(*expected, str(path)):
            picture_size(path)
    else:
        assert picture_size(path) == expected


def fitted(tmp_path: Path, own: str, like: str) -> tuple[list[Any], list[int], list[Any], list[int]]:
    write(tmp_path, {"own.csv": own, "like.csv": like})
    made = fit(read_dataset(tmp_path / "own.csv"), read_dataset(tmp_path / "like.csv"))
    pictures, kinds = [picture.id for picture in made.pictures], [kind.id for kind in made.categories]
    return pictures, made.picture.tolist(), kinds, made.category.tolist()


def test_ids_of_another_data_set(tmp_path: Path) -> None:
    """A name is looked for among names, and where the other has none, among ids; a name of two classes is neither's."""
    own = "image,label,x,y,w,h,name\na,1,0,0,1,1,cat\nb,2,0,0,1,1,dog\n"
    like = "image,label,x,y,w,h\na,dog,0,0,1,1\na,cat,0,0,1,1\n"
    assert fitted(tmp_path, own, like) == (["a", "b"], [0, 1], ["cat", "dog"], [0, 1])
    like = "image,label,x,y,w,h,name\na,7,0,0,1,1,cat\na,8,0,0,1,1,cat\na,9,0,0,1,1,dog\n"
    assert fitted(tmp_path, own, like) == (["a", "b"], [0, 1], [7, 8, 9, 1], [3, 2])


def test_numbers_of_files_with_zeros(tmp_path: Path) -> None:
    """Image 139 of results is the file 000000000139 of a folder."""
    box = "<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>4</xmax><ymax>4</ymax></bndbox>"
    voc = f"<annotation><object><name>cat</name>{box}</object></annotation>"
    results = [{"image_id": 139, "category_id": "cat", "bbox": [0, 0, 4, 4], "score": 0.5}]
    write(tmp_path, {"v/000000000139.xml": voc, "p.json": json.dumps(results)})
    report = sy.evaluate("boxes", tmp_path / "v", results, "map", confidence=None)
    assert [score.value for score in report.scores.values()] == [PERFECT]


def lvis(tmp_path: Path, **more: Any) -> Path:
    data = {
        "images": [{"id": 1, "neg_category_ids": [2], "not_exhaustive_category_ids": []}],
        "categories": [{"id": i, "name": name, "frequency": "f"} for i, name in ((1, "cat"), (2, "dog"))],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 4, 4], "area": 16}],
        **more,
    }
    return write(tmp_path, {"t.json": json.dumps(data)}) / "t.json"


def test_lvis_with_texts_as_ids_and_with_a_small_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dog that was looked for in vain is a false positive: AP of cats is 1, and of dogs not defined without truth."""
    results = [
        {"image_id": 1, "category_id": kind, "bbox": [0, 0, 4, 4], "score": score}
        for kind, score in ((1, 0.5), (2, 0.9))
    ]
    write(tmp_path, {"p.json": json.dumps(results)})
    texts = {
        "images": [{"id": "a", "neg_category_ids": [2], "not_exhaustive_category_ids": []}],
        "annotations": [{"id": 1, "image_id": "a", "category_id": 1, "bbox": [0, 0, 4, 4], "area": 16}],
    }
    by_text = [{**row, "image_id": "a"} for row in results]
    write(tmp_path, {"q.json": json.dumps(by_text)})

    def value(truth: Path, predictions: str) -> list[float]:
        options = {"truth.format": "lvis"}
        report = sy.evaluate("boxes", truth, tmp_path / predictions, "map", confidence=None, options=options)
        return [score.value for score in report.scores.values()]

    assert value(lvis(tmp_path), "p.json") == [PERFECT]
    assert value(lvis(tmp_path, **texts), "q.json") == [PERFECT]
    monkeypatch.setattr("steelyard.io.formats.federated.LARGEST_TABLE", 1)
    assert value(lvis(tmp_path), "p.json") == [PERFECT]


def test_openimages_without_a_picture(tmp_path: Path) -> None:
    head = (
        "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded,IsTruncated,IsGroupOf,IsDepiction,IsInside"
    )
    row = "a,x,/m/1,1,0,0.5,0,0.5,0,0,1,0,0"
    write(tmp_path, {"t.csv": f"{head}\n{row}\n", "i/b.png": png(4, 4)})
    with refuses("E-missing-file", str(tmp_path / "i"), "'a'"):
        sy.convert(tmp_path / "t.csv", tmp_path / "c.json", from_format="openimages", images=str(tmp_path / "i"))
    write(tmp_path, {"i/a.png": png(4, 4)})
    done = sy.convert(tmp_path / "t.csv", tmp_path / "c.json", from_format="openimages", images=str(tmp_path / "i"))
    groups = [loss.text() for loss in done.losses if "groups" in loss.text()]
    assert groups == ["lost: boxes of groups (1): coco has none: they become ordinary objects"]


def test_ids_of_annotations_that_are_taken(tmp_path: Path) -> None:
    """Boxes without an id get the first free numbers."""
    write(tmp_path, {"t.csv": "image,label,x,y,w,h,id\n1,1,0,0,1,1,\n1,1,0,0,1,1,1\n1,1,0,0,1,1,\n"})
    sy.convert(tmp_path / "t.csv", tmp_path / "c.json")
    assert [row["id"] for row in json.loads((tmp_path / "c.json").read_text())["annotations"]] == [2, 1, 3]


def test_lvis_keeps_a_file_that_its_address_does_not_name(tmp_path: Path) -> None:
    images = [{"id": 1, "file_name": "a.png", "width": 4, "height": 4, "coco_url": "http://x/1.png"}]
    kinds = [{"id": 1, "name": "cat"}]
    write(tmp_path, {"c.json": json.dumps({"images": images, "categories": kinds, "annotations": []})})
    sy.convert(tmp_path / "c.json", tmp_path / "l.json", to_format="lvis")
    assert json.loads((tmp_path / "l.json").read_text())["images"] == [
        {"id": 1, "width": 4, "height": 4, "neg_category_ids": [1], "not_exhaustive_category_ids": [],
         "coco_url": "http://x/1.png", "file_name": "a.png"}
    ]  # fmt: skip


def test_a_folder_that_was_moved_aside(tmp_path: Path) -> None:
    """What a run that died moved aside is removed where the target is there again; links are brought along."""
    write(
        tmp_path, {"t.csv": "image,label,x,y,w,h\na,cat,0,0,1,1\n", ".v.steelyard-old/a.xml": "old", "v/keep.txt": "k"}
    )
    (tmp_path / "v" / "link").symlink_to("keep.txt")
    sy.convert(tmp_path / "t.csv", tmp_path / "v", to_format="voc", force=True)
    assert sorted(contents(tmp_path / "v")) == ["a.xml", "keep.txt", "link"]
    assert (tmp_path / "v" / "link").is_symlink()
    assert not (tmp_path / ".v.steelyard-old").exists()
    (tmp_path / "file").write_text("")
    with refuses("E-cannot-write", str(tmp_path / "file" / "v"), str(os.strerror(errno.EEXIST))):
        sy.convert(tmp_path / "t.csv", tmp_path / "file" / "v", to_format="voc")


def test_predictions_without_scores_have_no_rules_of_lvis(tmp_path: Path) -> None:
    """A format of another package may give none."""
    truth = read_dataset(lvis(tmp_path), ReadOptions(format="lvis"))
    with refuses("E-missing-key", str(tmp_path / "t.json")):
        by_rules_of_lvis(truth, truth)


def test_a_folder_of_another_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it holds neither XML nor label files, a format that is brought may know it."""
    monkeypatch.setattr("steelyard.io.formats.detect.brought_for", lambda path: "dots")
    assert detect(tmp_path, "x") == "dots"
    write(tmp_path, {"a.txt": ""})
    assert detect(tmp_path, "x") == "yolo"


def test_flags_that_yolo_and_cvat_lose(tmp_path: Path) -> None:
    write(tmp_path, {"t.csv": "image,label,x,y,w,h,width,height,difficult\na,0,0,0,1,1,4,4,true\n"})
    for form in ("yolo", "cvat"):
        done = sy.convert(tmp_path / "t.csv", tmp_path / form, to_format=form)
        flags = [loss.text() for loss in done.losses if "flags" in loss.text()]
        assert flags == [f"lost: difficult flags (1): {form} has none: they become ordinary objects"]
