"""COCO and LVIS files that are spoiled: boxes, masks and keypoints."""

from __future__ import annotations

import gzip
import json
from typing import Any

from hostile.rows import (
    COCO,
    FOUND,
    FOUND_MASKS,
    FOUND_POINTS,
    Row,
    annotation,
    coco,
    coco_results,
    evaluate,
    good,
    result,
    row,
)

GOOD = json.dumps(FOUND)
TRUTH = json.dumps(COCO)
HUGE = int("9" * 400)


def raw(text: str, old: str, new: str) -> str:
    """A file's text with one part replaced by what JSON's writer would not write."""
    assert old in text
    return text.replace(old, new, 1)


def rle(counts: Any, size: Any = (30, 40)) -> list[dict[str, Any]]:
    """Results whose second mask has these runs."""
    return result("masks", segmentation={"size": list(size) if isinstance(size, tuple) else size, "counts": counts})


def image(**changed: Any) -> dict[str, Any]:
    """The truth with its second image changed."""
    return {**COCO, "images": [COCO["images"][0], {**COCO["images"][1], **changed}]}


R1 = "pred.json, record 1"
BOXES: list[Row] = [
    coco_results("results that are empty", "boxes", "", "pred.json", "empty"),
    coco_results("results of NUL bytes", "boxes", b"\0" * 64, "pred.json"),
    coco_results("results that are cut off", "boxes", GOOD[:-20], "pred.json"),
    coco_results("results that are an object", "boxes", TRUTH, "pred.json", "array of results"),
    coco_results("results that are null", "boxes", "null", "pred.json"),
    coco_results("results that are a text", "boxes", '"pred"', "pred.json"),
    coco_results("results of numbers", "boxes", "[1, 2, 3]", "pred.json", "record 0"),
    coco_results("results 100,000 deep", "boxes", "[" * 100_000, "pred.json"),
    coco_results("results in UTF-16", "boxes", GOOD.encode("utf-16"), "pred.json", "UTF-16"),
    coco_results("gzip under .json that is cut", "boxes", gzip.compress(GOOD.encode() * 9)[:-20], "pred.json", "unpacked"),
    coco_results("zip under .json", "boxes", b"PK\x03\x04" + bytes(64), "pred.json", "ZIP"),
    coco_results("something after the end", "boxes", GOOD + "[]", "pred.json"),
    coco_results("no detection at all", "boxes", "[]", "no detection", code=0, options="--ci none"),
    coco_results("byte that is not UTF-8", "boxes", GOOD.encode().replace(b"score", b"sc\xffre", 1), "pred.json"),
    coco_results("half surrogate in a key", "boxes", GOOD.replace("score", "\\ud800", 1), "pred.json"),
    coco_results("score of NaN", "boxes", raw(GOOD, "0.8", "NaN"), "pred.json", "NaN"),
    coco_results("score of Infinity", "boxes", raw(GOOD, "0.8", "Infinity"), "pred.json"),
    coco_results("score of 1e400", "boxes", raw(GOOD, "0.8", "1e400"), R1, "score"),
    coco_results("score of 10^400", "boxes", result("boxes", score=HUGE), R1, "score"),
    coco_results("score that is a text", "boxes", result("boxes", score="0.8"), R1, "score", "text"),
    coco_results("score that is true", "boxes", result("boxes", score=True), R1, "score"),
    coco_results("score of null", "boxes", result("boxes", score=None), R1, "score"),
    coco_results("score twice", "boxes", raw(GOOD, '"score": 0.8', '"score": 0.8, "score": 0.1'), R1, "score", "twice"),
    coco_results("no score", "boxes", [FOUND[0], {k: v for k, v in FOUND[1].items() if k != "score"}], R1, "score"),
    coco_results("box of three numbers", "boxes", result("boxes", bbox=[1, 2, 3]), R1, "bbox"),
    coco_results("box of five numbers", "boxes", result("boxes", bbox=[1, 2, 3, 4, 5]), R1, "bbox"),
    coco_results("box of a million numbers", "boxes", result("boxes", bbox=[1] * 1_000_000), R1, "bbox"),
    coco_results("box of negative width", "boxes", result("boxes", bbox=[5, 5, -20, 20]), R1, "negative width"),
    coco_results("box of null", "boxes", result("boxes", bbox=None), R1, "bbox"),
    coco_results("box with a null", "boxes", result("boxes", bbox=[1, None, 2, 3]), R1, "bbox"),
    coco_results("box that is a text", "boxes", result("boxes", bbox="1 2 3 4"), R1, "bbox"),
    coco_results("box of 1e300", "boxes", result("boxes", bbox=[0, 0, 1e300, 1e300]), R1, "1e12"),
    coco_results("box of 1e400", "boxes", raw(GOOD, "21]", "1e400]"), R1),
    coco_results("box of negative zero", "boxes", raw(GOOD, "[5, 5,", "[-0.0, 5,"), "map", code=0, options="--ci none"),
    coco_results("id of an image that is unknown", "boxes", result("boxes", image_id=77), R1, "77", "--extra skip"),
    coco_results("id of an image that is a fraction", "boxes", result("boxes", image_id=1.5), R1, "image_id"),
    coco_results("id of an image of 400 digits", "boxes", result("boxes", image_id=HUGE), R1, "image_id"),
    coco_results("id of an image that is a list", "boxes", result("boxes", image_id=[1]), R1, "image_id"),
    coco_results("id of an image that is true", "boxes", result("boxes", image_id=True), R1, "image_id"),
    coco_results("ids as texts where truth has numbers", "boxes", result("boxes", image_id="2"), "pred.json", "image_id"),
    coco_results("category that is unknown", "boxes", result("boxes", category_id=99), "99"),
    coco_results("category of 2^64", "boxes", result("boxes", category_id=2**64), R1, "category_id"),
    coco_results("categories off by one", "boxes", [{**r, "category_id": 2} for r in FOUND], "category"),
    coco("truth that is empty", "boxes", "", "truth.json", "empty"),
    coco("truth that is an array", "boxes", GOOD, "truth.json"),
    coco("truth without images", "boxes", {k: v for k, v in COCO.items() if k != "images"}, "truth.json", "images"),
    coco("truth without categories", "boxes", {**COCO, "categories": []}, "truth.json", "categor"),
    coco("truth without annotations", "boxes", {**COCO, "annotations": []}, "truth", code=0, options="--ci none"),
    coco("images of null", "boxes", {**COCO, "images": None}, "truth.json", "images"),
    coco("images that are an object", "boxes", {**COCO, "images": {"id": 1}}, "truth.json", "images"),
    coco("images that are deep", "boxes", TRUTH.replace('"width": 40', '"width": ' + "[" * 5000 + "]" * 5000, 1), "truth.json"),
    coco("key twice", "boxes", raw(TRUTH, '"images":', '"annotations": [], "images":'), "truth.json", "'annotations'", "twice"),
    coco("image twice", "boxes", {**COCO, "images": [*COCO["images"], COCO["images"][0]]}, "truth.json", "image", "twice"),
    coco("category twice", "boxes", {**COCO, "categories": COCO["categories"] * 2}, "truth.json", "categor", "twice"),
    coco("annotation twice", "boxes", {**COCO, "annotations": COCO["annotations"] * 2}, "truth.json", "twice"),
    coco("annotation of an unknown image", "boxes", annotation(image_id=9), "truth.json", "annotation 1", "9"),
    coco("annotation of an unknown category", "boxes", annotation(category_id=9), "truth.json", "annotation 1", "9"),
    coco("negative area", "boxes", annotation(area=-400), "truth.json", "annotation 1", "area", "from 0"),
    coco("area of NaN", "boxes", raw(TRUTH, '"area": 400', '"area": NaN'), "truth.json", "NaN"),
    coco("area that is a text", "boxes", annotation(area="big"), "truth.json", "annotation 1", "area"),
    coco("iscrowd of 2", "boxes", annotation(iscrowd=2), "truth.json", "annotation 1", "iscrowd"),
    coco("iscrowd that is a text", "boxes", annotation(iscrowd="no"), "truth.json", "annotation 1", "iscrowd"),
    coco("name of a category that is a list", "boxes", {**COCO, "categories": [{"id": 3, "name": ["cat"]}]}, "truth.json", "categor"),
    coco("escape sequence for a category", "boxes", {**COCO, "categories": [{"id": 3, "name": "\x1b]0;x\x07cat"}]}, "cat", code=0, options="--ci none -m ap --by label"),
    coco("category that turns the writing", "boxes", {**COCO, "categories": [{"id": 3, "name": "\u202ecat"}]}, "cat", code=0, options="--ci none --by label"),
    evaluate("both sides swapped", "boxes", "truth.json", files={"truth.json": GOOD, "pred.json": TRUTH}),
    evaluate("truth against itself", "boxes", "pred.json", files={"pred.json": TRUTH}),
    row("boxes: LVIS without its lists", "evaluate boxes truth.json pred.json -O format=lvis", "truth.json", "neg_category_ids", files=good("boxes")),
    row("boxes: LVIS whose lists are texts", "evaluate boxes truth.json pred.json -O format=lvis", "truth.json", "neg_category_ids", files={**good("boxes"), "truth.json": json.dumps(image(neg_category_ids="3", not_exhaustive_category_ids=[]))}),
]  # fmt: skip

MASKS: list[Row] = [
    coco_results("runs that are negative", "masks", rle([0, -300, 1500]), R1, "count", "from 0"),
    coco_results("runs beyond the image", "masks", rle([0, 300, 901]), R1, "1201"),
    coco_results("runs that overflow", "masks", rle([2**63, 2**63, 1200]), R1),
    coco_results("runs of 2^32", "masks", rle([2**32, 1200]), R1),
    coco_results("runs of 400 digits", "masks", rle([HUGE]), R1),
    coco_results("runs that are fractions", "masks", rle([0.5, 1199.5]), R1),
    coco_results("runs of NaN", "masks", json.dumps(rle([0, 300, 900])).replace("[0, 300, 900]", "[0, NaN, 900]"), "pred.json"),
    coco_results("runs of true", "masks", rle([True, 1199]), R1),
    coco_results("runs of null", "masks", rle(None), R1, "counts"),
    coco_results("no runs", "masks", rle([]), R1),
    coco_results("runs that are short", "masks", rle([0, 10]), R1, "10"),
    coco_results("compressed runs of garbage", "masks", rle("\x7f\x7f\x7f"), R1),
    coco_results("compressed runs that are cut", "masks", rle("oo"), R1),
    coco_results("compressed runs that never end", "masks", rle("o" * 100_000), R1),
    coco_results("compressed runs beyond the image", "masks", rle("PPPP0PPPP0"), R1),
    coco_results("compressed runs with an escape", "masks", rle("\x1b[2J"), R1),
    coco_results("size of another image", "masks", rle([0, 300, 900], (40, 30)), R1, "40", "30"),
    coco_results("size of 2^31", "masks", rle([0, 2**62], (2**31, 2**31)), R1),
    coco_results("size of 10^400", "masks", rle([0, 1200], [HUGE, 40]), R1),
    coco_results("negative size", "masks", rle([0, 1200], (-30, -40)), R1),
    coco_results("size of one number", "masks", rle([0, 1200], [30]), R1, "size"),
    coco_results("size that is a text", "masks", rle([0, 1200], "30x40"), R1, "size"),
    coco_results("segmentation of null", "masks", result("masks", segmentation=None), R1, "segmentation"),
    coco_results("segmentation that is a text", "masks", result("masks", segmentation="cat"), R1, "segmentation"),
    coco_results("no polygon", "masks", result("masks", segmentation=[]), R1, "segmentation"),
    coco_results("polygon of two points", "masks", result("masks", segmentation=[[1, 1, 5, 5]]), R1),
    coco_results("polygon of seven numbers", "masks", result("masks", segmentation=[[1, 1, 5, 5, 9, 9, 1]]), R1),
    coco_results("polygon of texts", "masks", result("masks", segmentation=[["1", "1", "5", "5", "9", "9"]]), R1),
    coco_results("polygon of 1e300", "masks", result("masks", segmentation=[[0, 0, 1e300, 0, 1e300, 1e300]]), R1),
    coco_results("polygon 500,000 deep", "masks", json.dumps(FOUND_MASKS).replace("[[5", "[" * 500_000 + "5"), "pred.json"),
    coco_results("boxes in place of masks", "masks", FOUND, "pred.json, record 0", "segmentation"),
    coco("image of negative height", "masks", image(height=-30), "truth.json", "image 1", "height"),
    coco("image of 2^31 by 2^31", "masks", image(width=2**31, height=2**31), "truth.json"),
    coco("image whose width is a text", "masks", image(width="40"), "truth.json", "width"),
    coco("image without a size", "masks", {**COCO, "images": [COCO["images"][0], {"id": 2}]}, "truth.json", "width"),
    coco("crowd whose runs are short", "masks", annotation(iscrowd=1, segmentation={"size": [30, 40], "counts": [1, 2]}), "truth.json", "annotation 1"),
    coco("polygon that crosses itself", "masks", annotation(segmentation=[[5, 5, 25, 25, 25, 5, 5, 25]]), "map", code=0, options="--ci none"),
    coco("polygon without an area", "masks", annotation(segmentation=[[5, 5, 5, 5, 5, 5]], area=0), "area", code=0, options="--ci none"),
    coco("image of width 0", "masks", image(width=0), "truth.json", "image 2", "30 × 0"),
    coco("annotation twice", "masks", {**COCO, "annotations": [*COCO["annotations"], {**COCO["annotations"][1], "id": 3}]}, "twice", code=0, options="--ci none"),
]  # fmt: skip

POINTS: list[Row] = [
    coco_results("keypoints of four numbers", "keypoints", result("keypoints", keypoints=[1, 2, 3, 4]), R1, "keypoints"),
    coco_results("keypoints of another number", "keypoints", result("keypoints", keypoints=[1, 2, 1, 3, 4, 1]), R1),
    coco_results("no keypoints", "keypoints", result("keypoints", keypoints=[]), R1, "keypoints"),
    coco_results("keypoints of null", "keypoints", result("keypoints", keypoints=None), R1, "keypoints"),
    coco_results("keypoints of texts", "keypoints", result("keypoints", keypoints=["1"] * 9), R1),
    coco_results("keypoints of NaN", "keypoints", json.dumps(FOUND_POINTS).replace("[6,", "[NaN,"), "pred.json", "NaN"),
    coco_results("keypoints of 1e300", "keypoints", result("keypoints", keypoints=[1e300] * 9), R1, "1e12"),
    coco_results("keypoints of 10^400", "keypoints", result("keypoints", keypoints=[HUGE] * 9), R1),
    coco_results("keypoints inside lists", "keypoints", result("keypoints", keypoints=[[6, 5, 1]] * 3), R1),
    coco_results("boxes in place of keypoints", "keypoints", FOUND, "pred.json, record 0", "keypoints"),
    coco("num_keypoints of 10^400", "keypoints", annotation(num_keypoints=HUGE), "truth.json", "annotation 1", "num_keypoints"),
    coco("true keypoints of another number", "keypoints", annotation(keypoints=[5, 5, 2]), "truth.json", "annotation 1"),
    evaluate("sigmas of another number", "keypoints", "2 sigmas for 3 keypoints", options="--sigmas 0.1,0.2"),
    evaluate("sigma of zero", "keypoints", "sigmas", "0 is out of range", options="--sigmas 0"),
    evaluate("sigma of nan", "keypoints", "sigmas", "nan", options="--sigmas nan"),
    evaluate("100,000 sigmas", "keypoints", "sigmas", options=f"--sigmas {','.join(['0.1'] * 30_000)}"),
    coco("num_keypoints of 0 with visible points", "keypoints", annotation(num_keypoints=0), "num_keypoints", code=0, options="--ci none"),
]  # fmt: skip

ROWS = BOXES + MASKS + POINTS
