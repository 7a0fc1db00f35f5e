"""Settings, slices, LVIS files and the drop-in's additions, spoiled: what is new for boxes, masks and keypoints."""

from __future__ import annotations

import copy
import json
from typing import Any

from hostile.rows import COCO, FOUND, Row, evaluate, program


def lvis(name: str, *says: str, options: str = "", change: Any = None, **more: Any) -> Row:
    """Masks by the rules of LVIS, with its truth changed."""
    data = copy.deepcopy(COCO)
    for image in data["images"]:
        image |= {"neg_category_ids": [], "not_exhaustive_category_ids": [3]}
    data["categories"][0]["frequency"] = "r"
    if change is not None:
        change(data)
    files = {"truth.json": json.dumps(data)}
    return evaluate(f"LVIS, {name}", "masks", *says, options=f"--format lvis --ci none {options}", files=files, **more)


def fields(name: str, by: str, *says: str, first: Any = "day", second: Any = "night", **more: Any) -> Row:
    """Boxes whose images have the field `light`."""
    data = copy.deepcopy(COCO)
    for image, value in zip(data["images"], (first, second), strict=True):
        image["light"] = value
    files = {"truth.json": json.dumps(data)}
    return evaluate(f"field of images, {name}", "boxes", *says, options=f"--ci none -m f1 {by}", files=files, **more)


DROP_IN = f"""
from steelyard.compat.pycocotools import mask
from steelyard.compat.pycocotools.coco import COCO
from steelyard.compat.pycocotools.cocoeval import COCOeval
data, found = {COCO!r}, {FOUND!r}
import contextlib, io
def run(kind="bbox", **settings):
    with contextlib.redirect_stdout(io.StringIO()) as said:
        truth = COCO()
        truth.dataset = data
        truth.createIndex()
        made = COCOeval(truth, truth.loadRes(found), kind, **settings)
        made.evaluate()
        made.accumulate()
        made.summarize()
    made.said = said.getvalue()
    return made
"""


def drop_in(name: str, source: str, *says: str, **more: Any) -> Row:
    """A program against the drop-in."""
    return program(f"drop-in: {name}", f"{DROP_IN}\n{source}", *says, task="boxes", **more)


def set_image(**changed: Any) -> Any:
    return lambda data: data["images"][0].update(changed)


ROWS: list[Row] = [
    evaluate("ties that are unknown", "boxes", "ties cannot be first", "step, order", options="-m 'ap(kind=loop, ties=first)'"),
    evaluate("ties of COCO's kind", "masks", "ties cannot be order with kind=coco", options="-m 'map50(ties=order)'"),
    evaluate("sum that is unknown", "keypoints", "reduction cannot be max", options="-m 'map(reduction=max)'"),
    evaluate("cap of 10^9", "boxes", "max_dets cannot be 1000000000", options="-m 'map(max_dets=1000000000)'"),
    evaluate("cap that is a text", "boxes", "max_dets cannot be all", options="-m 'recall(max_dets=all)'"),
    evaluate("cap of a list", "masks", "max_dets cannot be", options="-m 'ap(max_dets=[1, 2])'"),
    evaluate("kind of a list", "boxes", "kind cannot be", options="-m 'ap(kind=[loop, step])'"),
    evaluate("70,000 detections of a class in an image", "boxes", "pred.json", "image '1' has 70,000 detections", "65,535",
             files={"pred.json": json.dumps([FOUND[0]] * 70_000)}),
    lvis("truth without lists", "truth.json", "'neg_category_ids'", "list", change=lambda d: d["images"][0].pop("neg_category_ids")),
    lvis("list of null", "truth.json", "'not_exhaustive_category_ids'", change=set_image(not_exhaustive_category_ids=None)),
    lvis("list of texts", "truth.json", "'not_exhaustive_category_ids'", change=set_image(not_exhaustive_category_ids=["3"])),
    lvis("class that no category is", "truth.json", "'neg_category_ids'", change=set_image(neg_category_ids=[99])),
    lvis("ids that are texts", "truth.json", "some ids are numbers and some are texts", change=lambda d: d["images"][0].update(id="1")),
    lvis("image of 10^9 pixels squared", "truth.json", change=set_image(width=10**9, height=10**9)),
    lvis("boundaries", "overlap=boundary is not supported", options="--overlap boundary"),
    lvis("frequency of another class", "undefined", "r", options="-m apf", code=0),
    evaluate("LVIS of COCO's file", "masks", "truth.json", "not one of LVIS", options="--format lvis"),
    evaluate("LVIS of keypoints", "keypoints", "--format", options="--format lvis"),
    fields("that is unknown", "--by lihgt", "truth.json", "'lihgt'", "'light'", "lihgt@FILE"),
    fields("of lists", "--by light", "truth.json", "'light' to slice by", "light@FILE", first=[1], second=[2]),
    fields("of objects", "--by light", "truth.json", "'light' to slice by", first={"a": 1}),
    fields("of 10^400", "--by light", "light", first=int("9" * 400), code=0, never=("Traceback",)),
    fields("with escape sequences", "--by light", "light", first="\x1b[2Jx\u202e", code=0, never=("\x1b[2J",)),
    fields("of half a surrogate", "--by light", "truth.json", "surrogate", first="\ud800"),
    fields("that is empty in an image", "--cluster light", "image '2' has no value", "'light'", "--cluster", second=None),
    fields("of a file that is not there", "--by light@nowhere.csv", "nowhere.csv", "no such file"),
    drop_in("score of None", "found[1]['score'] = None; run()", "annotation with id 2, key 'score'", "None is not a number"),
    drop_in("score that is a text", "found[0]['score'] = '0.9'; run()", "annotation with id 1, key 'score'", "'0.9'"),
    drop_in("area of None", "data['annotations'][0]['area'] = None; run()", "annotation with id 1, key 'area'", "None"),
    drop_in("area that is a list", "data['annotations'][1]['area'] = [4]; run()", "annotation with id 2, key 'area'"),
    drop_in("no annotations", "del data['annotations']; made = run(); print(made.said, made.stats)", "has no 'annotations'", "-1", code=0),
    drop_in("crowds without an index", "found = [{'image_id': 1, 'category_id': 3, 'keypoints': [5, 5, 1] * 3, 'score': 0.5}]\nrun('keypoints_crowd', kpt_oks_sigmas=[0.1] * 3)", "image 1: 'crowdIndex' is None"),
    drop_in("sigmas of another number", "found = [{'image_id': 1, 'category_id': 3, 'keypoints': [5, 5, 1] * 3, 'score': 0.5}]\nrun('keypoints_crowd')", "42 numbers are expected", "key 'keypoints'"),
    drop_in("kind that is unknown", "run('keypoints_crowds')", "iouType 'keypoints_crowds'", "keypoints_crowd"),
    drop_in("summaries before the evaluation", "COCOeval().extended_metrics", "accumulate() first"),
    drop_in("summaries without IoU 0.5", "made = run(); made.params.iouThrs = made.params.iouThrs[3:]; made.extended_metrics", "IoU threshold 0.5"),
    drop_in("counts of 10^30", "mask.frPyObjects({'size': [4, 5], 'counts': [10**30]}, 4, 5)", "count"),
    drop_in("counts of a size of 10^9 squared", "mask.frPyObjects({'size': [10**9, 10**9], 'counts': [1]}, 4, 5)", "mask"),
]  # fmt: skip
