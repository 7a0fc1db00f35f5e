"""Expressions and replies from the logs of evaluation harnesses, and from Qwen-VL's evaluation files.

A log holds both sides: the expressions with their true boxes, and what the model replied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from steelyard.core.errors import Unsupported
from steelyard.core.opening import is_entry
from steelyard.io.csv import read_csv
from steelyard.io.json import expect, read_json_lines, required
from steelyard.io.table import Table
from steelyard.io.text import ending, open_bytes
from steelyard.language.coordinates import read_reply
from steelyard.tasks.grounding.entries import Row, corner_row

PEEK = 1 << 16  # bytes of the first line by which a log is recognised
_COCO_OBJECT = re.compile(r"(COCO_\w+_\d{12})_\d+(\.\w+)")  # lmms-eval names a copy of the image for each object


def log_rows(path: Path, source: str, side: str) -> list[Row] | None:
    """One side of the log of a harness, or the expressions of Qwen-VL's files; None if it is neither."""
    kind = ending(path)
    if kind not in (".jsonl", ".tsv", ".xlsx") or not is_entry(path):
        return None
    if kind == ".xlsx":
        from steelyard.io.excel import read_sheet  # slow to load

        sheet = read_sheet(path, source)
        return list(_vlmevalkit(sheet, side)) if _is_vlmevalkit(list(sheet.columns)) else None
    with open_bytes(path, source) as file:
        head = bytes(file.read(PEEK)).split(b"\n", 1)[0]
    if kind == ".tsv":
        names = head.decode("utf-8", "replace").strip("\ufeff\r").split("\t")
        return list(_vlmevalkit(read_csv(path, source, "\t"), side)) if _is_vlmevalkit(names) else None
    if b'"filtered_resps"' in head or b'"resps"' in head:
        return list(_lmms_eval(read_json_lines(path, source), side))
    if side == "truth" and b'"sent"' in head and b'"bbox"' in head:
        return list(_qwen(read_json_lines(path, source)))
    return None


def _rows(table: Table) -> Iterator[tuple[Row, str]]:
    for number in range(len(table)):
        yield {name: column[number] for name, column in table.columns.items()}, table.place(number)


def _sizes(entry: Row, where: str, width: str = "width", height: str = "height") -> Row:
    """The size of the image, if the entry has it."""
    keys = {"width": width, "height": height}
    if any(entry.get(key) is None for key in keys.values()):
        return {}
    return {name: expect(entry[key], "a number", key, where) for name, key in keys.items()}


def _qwen(table: Table) -> Iterator[Row]:
    """Qwen-VL's evaluation files: the text identifies the expression, boxes are corners."""
    for row, where in _rows(table):
        made = {"image": required(row, "image", where), "expression": str(required(row, "sent", where))}
        yield made | corner_row(required(row, "bbox", where), where) | _sizes(row, where)


def _lmms_eval(table: Table, side: str) -> Iterator[Row]:
    """Samples of lmms-eval: what is logged for each metric has the true box and the words of the expression."""
    for row, where in _rows(table):
        doc = row["doc"] if isinstance(row.get("doc"), dict) else {}
        name = required(row, "doc_id", where)
        image = next((doc[key] for key in ("file_name", "image_id") if isinstance(doc.get(key), str | int)), name)
        copy = _COCO_OBJECT.fullmatch(image) if isinstance(image, str) else None
        made: Row = {"image": "".join(copy.groups()) if copy else image, "expression": name}
        truth = _lmms_truth(row, doc, where)
        if side == "prediction":
            replies = row.get("filtered_resps") or row.get("resps")
            while isinstance(replies, list) and replies:
                replies = replies[0]
            yield made | {"reply": replies if isinstance(replies, str) else ""}
        else:
            yield made | truth


def _lmms_truth(row: Row, doc: Row, where: str) -> Row:
    """The true box of a sample and its words, by the task that logged them."""
    for name, logged in row.items():
        if not isinstance(logged, dict):
            continue
        if name.startswith("refcoco_grounding_"):  # corners in pixels
            return (
                _words(logged.get("answer")) | _sizes(doc, where) | corner_row(required(logged, "bbox", where), where)
            )
        if name.startswith("groundingme_"):  # corners in pixels; nothing is there in the subtask Rejection
            made = _words(logged.get("description")) | _sizes(doc, where)
            made |= {key: str(logged[key]) for key in ("subtask_l1", "subtask_l2") if key in logged}
            rejection = logged.get("subtask_l1") == "Rejection"
            return made if rejection else made | corner_row(required(logged, "bbox", where), where)
        if name in ("refcoco_IoU", "refcoco_Center_ACC") or name.startswith("refcoco_ACC@"):  # corners from 0 to 1
            size = _sizes(doc, where, "image_width", "image_height") or {"width": 1, "height": 1}
            box = corner_row(required(logged, "bbox", where), where)
            box |= {key: box[key] * size["width"] for key in "xw"} | {key: box[key] * size["height"] for key in "yh"}
            return _words(logged.get("answer")) | size | box
    raise Unsupported(
        "these samples of lmms-eval are not of refcoco_grounding, refcoco_bbox_rec or groundingme",
        where=where,
        remedy="Give a table with image, expression, x, y, w, h and the replies in a column 'reply'.",
    )


def _words(answer: Any) -> Row:
    texts = answer if isinstance(answer, list) else [answer]
    return {"text": ", ".join(str(text) for text in texts if text is not None)}


def _is_vlmevalkit(names: list[str]) -> bool:
    return {"index", "prediction"} <= set(names) and bool({"bbox_x1", "answer"} & set(names))


def _vlmevalkit(table: Table, side: str) -> Iterator[Row]:
    """A table of VLMEvalKit's RefCOCO: boxes in columns, or as corners in `answer`, in pixels."""
    for row, where in _rows(table):
        name = required(row, "index", where)
        made: Row = {"image": row.get("image_path") or name, "expression": name}
        if side == "prediction":
            yield made | {"reply": str(row["prediction"] or "")}
            continue
        corners: Any = [row.get(key) for key in ("bbox_x1", "bbox_y1", "bbox_x2", "bbox_y2")]
        if corners[0] is None:
            reply = read_reply(str(row["answer"]))
            corners = list(reply.boxes[0]) if len(reply.boxes) == 1 else row["answer"]
        made |= {key: row[key] for key in ("width", "height", "split") if row.get(key) is not None}
        yield made | {"text": str(row.get("question") or ""), **corner_row(_numbers(corners), where)}


def _numbers(values: Any) -> Any:
    """Texts of numbers as numbers; anything else is returned as it is."""
    try:
        return [float(value) for value in values]
    except (TypeError, ValueError):
        return values
