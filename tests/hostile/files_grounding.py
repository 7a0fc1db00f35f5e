"""Tables and data sets of expressions that are spoiled, replies that are not boxes, and options that do not fit."""

from __future__ import annotations

import json
import pickle
from typing import Any

from hostile.rows import Row, row

TRUTH = "image,expression,x,y,w,h,width,height\na,cup,10,10,20,20,64,48\na,fork,5,5,9,9,64,48\nb,dog,1,1,8,8,64,48\n"
PRED = "image,expression,x,y,w,h\na,cup,11,10,20,20\na,fork,5,6,9,9\nb,dog,1,1,8,7\n"
REPLY = 'image,expression,reply\na,cup,"[10, 10, 30, 30]"\na,fork,"null"\nb,dog,"[1, 1, 9, 9]"\n'
SACO = {"images": [{"id": 1, "is_instance_exhaustive": True, "width": 64, "height": 48}], "annotations": []}
MDETR = {"images": [{"id": 1, "caption": "cup"}], "annotations": [{"image_id": 1, "bbox": [1, 1, 5, 5]}]}


def table(name: str, text: str | bytes, *says: str, side: str = "truth.csv", options: str = "", **more: Any) -> Row:
    """A table of which one side is spoiled."""
    files = {"truth.csv": TRUTH, "pred.csv": PRED, side: text}
    return row(f"grounding, {name}", f"evaluate grounding truth.csv pred.csv {options}", *says, files=files, **more)


def data_set(name: str, value: Any, *says: str, **more: Any) -> Row:
    """A truth as JSON."""
    text = value if isinstance(value, str) else json.dumps(value)
    files = {"truth.json": text, "pred.json": json.dumps([{"image_id": 1, "bbox": [1, 1, 5, 5], "score": 0.9}])}
    return row(f"expressions, {name}", "evaluate grounding truth.json pred.json", *says, files=files, **more)


def results(name: str, value: Any, *says: str, **more: Any) -> Row:
    """Predictions as JSON."""
    files = {"truth.json": json.dumps(MDETR), "pred.json": json.dumps(value)}
    return row(f"results, {name}", "evaluate grounding truth.json pred.json", *says, files=files, **more)


def option(name: str, line: str, *says: str, **more: Any) -> Row:
    return table(f"option, {name}", TRUTH, *says, options=line, **more)


def log(name: str, line: Any, *says: str, **more: Any) -> Row:
    """A log of a harness as both sides."""
    text = line if isinstance(line, str) else json.dumps(line) + "\n"
    return row(f"log, {name}", "evaluate grounding log.jsonl log.jsonl", *says, files={"log.jsonl": text}, **more)


def references(name: str, data: bytes, *says: str) -> Row:
    """RefCOCO's references beside instances without any."""
    files = {"refs(unc).p": data, "instances.json": '{"images": [], "annotations": []}', "pred.csv": PRED}
    return row(f"references, {name}", "evaluate grounding 'refs(unc).p' pred.csv", *says, files=files)


LISTS: list[Any] = []
for _ in range(60):  # as text, 2 ** 60 pairs of brackets
    LISTS = [LISTS, LISTS]
REFERENCE = {"ann_id": 1, "image_id": 1, "sentences": [{"sent_id": 1, "sent": "cup"}]}
ROWS = [
    log("samples of another task", {"doc_id": 0, "resps": [["x"]], "exact": 1}, "log.jsonl", "refcoco_grounding"),
    log("no true box", {"doc_id": 0, "resps": [["x"]], "refcoco_grounding_IoU": {}}, "line 1", "'bbox'"),
    log(
        "a true box of texts",
        {"doc_id": 0, "resps": [["x"]], "refcoco_grounding_IoU": {"bbox": ["a", 1, 2, 3]}},
        "line 1",
        "not a box",
    ),
    log("a line that is cut off", '{"doc_id": 0, "resps": [["x"]], "refcoco', "log.jsonl", "line 1"),
    log("an expression without a picture", {"sent": "cup", "bbox": [1, 2, 3, 4]}, "line 1", "'image'"),
    option("a tool that is not known", "--explain mmdet", "mmdet"),
    option("a tool that reads replies", "--explain lmms-eval", "pred.csv", "'reply'"),
    table("an empty file", "", "truth.csv", "empty"),
    table("a header alone", TRUTH.partition("\n")[0] + "\n", "truth.csv", "no rows"),
    table("no expression", TRUTH.replace("expression", "words"), "truth.csv", "'expression' is missing"),
    table("no box", "image,expression\na,cup\na,fork\nb,dog\n", "truth.csv", "no box and no mask"),
    table("no width of the box", TRUTH.replace(",w,", ",wide,"), "truth.csv", "'w' is missing"),
    table("half a box", TRUTH.replace("10,10,20,20", "10,10,,20"), "line 2", "'w'", "incomplete"),
    table("a box without area", TRUTH.replace("10,10,20,20", "10,10,0,20"), "line 2", "'w'", "no area"),
    table("a box below 0", TRUTH.replace("10,10,20,20", "10,10,-5,20"), "line 2", "'w'"),
    table("a box outside its image", TRUTH.replace("10,10,20,20", "90,10,20,20"), "line 2", "64 × 48"),
    table("a coordinate of 1e300", TRUTH.replace("10,10,20,20", "1e300,10,20,20"), "line 2", "'x'"),
    table("a coordinate that is a text", TRUTH.replace("10,10,20,20", "left,10,20,20"), "line 2", "'x'"),
    table("an infinite coordinate", TRUTH.replace("10,10,20,20", "inf,10,20,20"), "line 2", "'x'"),
    table("an image that is empty", TRUTH.replace("\nb,", "\n,"), "line 4", "id is empty"),
    table("two sizes of an expression", TRUTH + "a,cup,1,1,5,5,65,48\n", "line 5", "'width'", "64"),
    table(
        "two objects for a metric of one", TRUTH + "a,cup,1,1,5,5,64,48\n", "'cup'", "2 objects", options="-m acc@0.5"
    ),
    table(
        "a mask that is not one",
        TRUTH.replace("height\n", "height,mask\n").replace("64,48\n", "64,48,x\n"),
        "line 2",
        "'mask'",
    ),
    table(
        "a weight below 0",
        TRUTH.replace("height\n", "height,sample_weight\n").replace("64,48\n", "64,48,-1\n"),
        "'sample_weight'",
    ),
    table("bytes", b"image,expression,x\na,\xff\xfe,1\n", "truth.csv"),
    table("an unknown expression", PRED.replace("dog", "cat"), "pred.csv", "'cat'", side="pred.csv"),
    table(
        "no box and no reply", "image,expression\na,cup\n", "pred.csv", "no box, mask, point or reply", side="pred.csv"
    ),
    table("a score that is a text", "image,expression,x,y,w,h,score\na,cup,1,1,5,5,high\n", "'score'", side="pred.csv"),
    table("two replies", REPLY + 'a,cup,"none"\n', "pred.csv, line 5", "'cup'", side="pred.csv"),
    option("a space that does not exist", "-O coordinates=7", "'7'", "pixels"),
    option("a square without a place", "-O coordinates=square:1", "square:1"),
    option("an order that does not exist", "-O order=zyx", "'zyx'", "yxyx"),
    option("a unit that does not exist", "-O resample=word", "'word'", "expression"),
    option("a threshold of 0", "-m acc@0", "iou", "0"),
    option("a rule and an overlap", "-m acc(like=mdetr,overlap=giou)", "like=mdetr"),
    table("shown without sizes", REPLY, "'cup'", "shown_width", side="pred.csv", options="-O coordinates=shown"),
    data_set("not JSON", '{"images": [', "truth.json"),
    data_set("annotations that are a text", {**SACO, "annotations": "none"}, "truth.json", "annotations"),
    data_set("an annotation without a box", {**SACO, "annotations": [{"image_id": 1}]}, "annotation 0", "bbox"),
    data_set(
        "a box of texts",
        {**SACO, "annotations": [{"image_id": 1, "bbox": ["1", 1, 5, 5]}]},
        "annotation 0",
        "not a box",
    ),
    data_set("an expression without an id", {**MDETR, "images": [{"caption": "cup"}]}, "image 0", "'id'"),
    results("a box of three numbers", [{"image_id": 1, "bbox": [1, 2, 3]}], "record 0", "not a box"),
    results(
        "a record without an id",
        [{"image_id": 1, "bbox": [1, 1, 5, 5]}, {"bbox": [1, 1, 5, 5]}],
        "record 1",
        "image_id",
    ),
    results("a sentence twice", [{"image_id": 1, "sentence_id": 0, "boxes": []}] * 2, "entry 1", "sentence 0"),
    results("a number", [5], "row 0", "object"),
    results("an id that is a list", [{"image_id": [1], "bbox": [1, 1, 5, 5]}], "record 0", "image_id"),
    results("a mask of a text", [{"image_id": 1, "segmentation": "abc", "score": 1}], "'mask'"),
    results("points of a sentence", [{"image_id": 1, "sentence_id": 0, "boxes": [[1, 2]]}], "entry 0", "phrase"),
    data_set("an annotation that is a number", {**MDETR, "annotations": [5]}, "annotations", "object"),
    data_set("an id that is a list", {**MDETR, "images": [{"id": [1], "caption": "cup"}]}, "image 0", "'id'"),
    data_set(
        "a width of letters", {**MDETR, "images": [{"id": 1, "caption": "cup", "width": "x", "height": 5}]}, "'width'"
    ),
    data_set(
        "a flag of letters",
        {**SACO, "images": [{"id": 1, "is_instance_exhaustive": "maybe", "width": 5, "height": 5}]},
        "is_instance_exhaustive",
        "maybe",
    ),
    option("annotators of a table", "-O annotators=truth.csv", "truth.csv"),
    option("a file of sizes that is not there", "-O sizes=none.csv", "none.csv"),
    option("sizes without a width", "-O sizes=pred.csv", "pred.csv", "'width'"),
    option("a split without a column", "-O split=val", "'split'"),
    option("a metric of points", "-m pointing", "boxes", "centre"),
    option("a score without scores", "-m exact_set(score=0.7)", "scores"),
    option("rules of gRefCOCO and an IoU", "-m exact_set(like=grec,iou=0.7)", "like=grec"),
    option("a type without a column", "-m recall(type=people)", "'type'"),
    option("a threshold between two", "-m cgf1(iou=0.52)", "0.52"),
    table(
        "one empty score",
        "image,expression,x,y,w,h,score\na,cup,1,1,5,5,0.5\na,fork,1,1,5,5,\n",
        "line 3",
        "'score'",
        side="pred.csv",
    ),
    table(
        "points for a metric of boxes",
        "image,expression,px,py\na,cup,1,1\n",
        "points",
        side="pred.csv",
        options="-m acc",
    ),
    log(
        "a width of letters",
        {
            "doc_id": 0,
            "resps": [["x"]],
            "doc": {"image_width": "a", "image_height": 3},
            "refcoco_IoU": {"bbox": [0, 0, 1, 1]},
        },
        "line 1",
        "image_width",
    ),
    references("a pickle of a dict", pickle.dumps({"a": 1}), "'refs'", "array"),
    references("a pickle of numbers", pickle.dumps([5]), "ref 0", "ann_id"),
    references("a pickle that names a function", pickle.dumps(print), "not loaded"),
    references("a pickle that is cut off", pickle.dumps([1, 2, 3])[:-4], "not a valid pickle"),
    references("an empty pickle", b"", "refs(unc).p"),
    references("a place of the memo far beyond the file", b"\x80\x02]r\x00\x00\x00\x40.", "byte 3", "too large"),
    references("a place of the memo as text", b"(lp1000000000\n.", "byte 2", "too large"),
    references(
        "bytes as long as the memory", b"\x80\x04\x8e" + (1 << 40).to_bytes(8, "little") + b".", "opcode b'\\x8e'"
    ),
    references("a text longer than the file", b"\x80\x02X\xff\xff\xff\x7fab.", "byte 2", "too large"),
    references("a whole number of 1,000 digits", b"\x80\x02\x8a\xff" + b"\x7f" * 255 + b".", "byte 2", "too large"),
    references("tuples of tuples as a key", b"\x80\x02})" + b"2\x86" * 60 + b"K\x01s.", "opcode b')'"),
    references("an annotation of lists of lists", pickle.dumps([REFERENCE | {"ann_id": [LISTS]}], 2), "ann_id"),
    references("a split of lists of lists", pickle.dumps([REFERENCE | {"split": LISTS}], 2), "ref 0", "split"),
    references("lists within lists", b"(" * 100_000 + b"l" * 100_000 + b".", "ref 0"),
    references("an annotation that is not there", pickle.dumps([REFERENCE]), "ref 0", "annotation 1"),
    row(
        "references, no instances",
        "evaluate grounding 'refs(unc).p' pred.csv",
        "instances.json",
        files={"refs(unc).p": pickle.dumps([REFERENCE]), "pred.csv": PRED},
    ),
]
