"""DOTA, YOLO-OBB, HRSC, JSON and tables of oriented boxes that are spoiled."""

from __future__ import annotations

import json
from typing import Any

from hostile.rows import Row, row

LINE, RESULT = "0 0 10 0 10 5 0 5 ship 0\n", "P1 0.9 0 0 10 0 10 5 0 5\n"
HEAD, SHAPE = "image,label,cx,cy,w,h,angle", "a,ship,10,10,8,4,0.2"
TRUTH = {"images": [{"id": 1}], "categories": [{"id": 1, "name": "ship"}],
         "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "obb": [10, 10, 8, 4, 0.2]}]}  # fmt: skip
FOUND = [{"image_id": 1, "category_id": 1, "obb": [10, 10, 8, 4, 0.2], "score": 0.9}]


def dota(name: str, line: str, *says: str, side: str = "t/P1.txt", **more: Any) -> Row:
    """A folder of truth and one of results, of which one file is spoiled."""
    files = {"t/P1.txt": LINE, "p/Task1_ship.txt": RESULT, side: line}
    return row(
        f"DOTA, {name}", "evaluate oriented t p --format dota -m map", *says, files=files, task="oriented", **more
    )


def table(name: str, line: str, *says: str, options: str = "", head: str = HEAD) -> Row:
    """A table of predictions."""
    files = {"truth.csv": f"{HEAD}\n{SHAPE}\n", "pred.csv": f"{head},score\n{line},0.9\n"}
    return row(
        f"oriented table, {name}",
        f"evaluate oriented truth.csv pred.csv -m map {options}",
        *says,
        files=files,
        task="oriented",
    )


def obb(name: str, value: Any, *says: str) -> Row:
    """A result whose box is something else."""
    files = {"truth.json": json.dumps(TRUTH), "pred.json": json.dumps([{**FOUND[0], "obb": value}])}
    return row(
        f"oriented JSON, {name}", "evaluate oriented truth.json pred.json -m map", *says, files=files, task="oriented"
    )


ROWS: list[Row] = [
    dota("polygon that crosses itself", "0 0 10 10 10 0 0 10 ship 0\n", "P1.txt, line 1", "crosses itself", "in order around"),
    dota("11 fields", "0 0 10 0 10 5 0 5 ship 0 9\n", "P1.txt, line 1", "11 fields", "9 or 10"),
    dota("coordinate of nan", "nan 0 10 0 10 5 0 5 ship 0\n", "P1.txt, line 1", "not corners"),
    dota("coordinate of 1e300", "1e300 0 10 0 10 5 0 5 ship 0\n", "P1.txt, line 1", "1e12"),
    dota("score that is a word", "P1 high 0 0 10 0 10 5 0 5\n", "Task1_ship.txt, line 1", "'high'", side="p/Task1_ship.txt"),
    dota("image that is not there", "P9 0.9 0 0 10 0 10 5 0 5\n", "'P9'", side="p/Task1_ship.txt"),
    table("negative width", "a,ship,10,10,-8,4,0.2", "pred.csv", "'-8'", "at least 0"),
    table("degrees as radians", "a,ship,10,10,8,4,37.5", "pred.csv", "37.5 looks like degrees", "--angle degrees"),
    table("angle out of le90", "a,ship,10,10,8,4,2.5", "pred.csv", "not of 'le90'", options="-O prediction.angle=le90"),
    table("no angle", "a,ship,10,10,8,4", "pred.csv", "'angle' is missing", head="image,label,cx,cy,w,h"),
    obb("four numbers", [1, 2, 3, 4], "pred.json, record 0", "obb", "4 numbers where 5"),
    obb("negative height", [1, 2, 3, -4, 0], "pred.json, record 0", "obb", "negative"),
    obb("1e300", [1e300, 2, 3, 4, 0], "pred.json, record 0", "1e12"),
    obb("texts", ["1", 2, 3, 4, 0], "pred.json, record 0", "obb"),
    obb("null", None, "pred.json, record 0", "obb"),
    obb("nested lists", [[1, 2, 3, 4, 0]], "pred.json, record 0"),
    row("YOLO-OBB, ten numbers in the truth", "evaluate oriented t p --format yolo-obb -m map", "a.txt, line 1", "10 numbers where 9",
        files={"t/labels/a.txt": "0 0 0 .1 0 .1 .1 0 .1 .9\n", "t/image_sizes.csv": "image,width,height\na,100,50\n",
               "p/labels/a.txt": "0 0 0 .1 0 .1 .1 0 .1 .9\n"}, task="oriented"),
    row("HRSC, degrees", "evaluate oriented t p --format hrsc -m map", "a.xml, line 1", "45 looks like degrees", task="oriented",
        files={"t/a.xml": "<HRSC_Image><HRSC_Objects><HRSC_Object><mbox_cx>1</mbox_cx><mbox_cy>1</mbox_cy><mbox_w>1</mbox_w>"
               "<mbox_h>1</mbox_h><mbox_ang>45</mbox_ang></HRSC_Object></HRSC_Objects></HRSC_Image>", "p/Task1_ship.txt": RESULT}),
]  # fmt: skip
