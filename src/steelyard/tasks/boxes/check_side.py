"""One side of the data as a check sees it: columns of what can be read, and findings about what cannot.

Evaluation refuses a file at its first fault. A check reads on, so that one run shows all there is.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard import _native
from steelyard.checks.findings import Finding
from steelyard.core.errors import InputError
from steelyard.core.opening import read_regular
from steelyard.core.records import Array, BoxRecords, Records, as_object, boxes_of
from steelyard.io.coco import read_coco, text_ids
from steelyard.io.text import is_plain, read_bytes

if TYPE_CHECKING:
    from steelyard.io.formats.dataset import Dataset

EXAMPLES = 3


@dataclass(eq=False, repr=False)
class CheckedSide:
    """Columns of the boxes, and the images and classes that are listed (None where the source lists none)."""

    name: str
    source: str
    image: Array
    label: Array
    box: Array
    score: Array | None = None
    area: Array | None = None
    crowd: Array | None = None
    group: Array | None = None
    id: Array | None = None
    images: Array | None = None
    sizes: Array | None = None
    files: list[str] = field(default_factory=list)
    labels: Array | None = None
    names: tuple[str, ...] = ()
    place: Callable[[int], str] = field(default=lambda row: f"row {row}")
    findings: list[Finding] = field(default_factory=list)
    readable: bool = True
    shares: bool = False  # whether coordinates are meant as fractions of the image
    readings: tuple[str, ...] | None = None  # other readings of the coordinates that are tried; None: all

    def __len__(self) -> int:
        return len(self.box)

    def report(
        self, code: str, severity: str, what: str, rows: Array, remedy: str, *,
        total: int | None = None, shown: Callable[[int], str] | None = None,
    ) -> None:  # fmt: skip
        """Note a finding about some rows; none where there are no rows."""
        if not len(rows):
            return
        show = shown or (lambda row: f"{self.place(row)}: {self.box_text(row)}")
        examples = tuple(show(int(row)) for row in rows[:EXAMPLES])
        whole = len(self) if total is None else total
        self.findings.append(Finding(code, severity, self.name, what, len(rows), whole, examples, remedy))

    def naming(self, what: str, column: Array) -> Callable[[int], str]:
        """Examples that name a row's value in a column."""
        return lambda row: f"{self.place(row)}: {what} {column[row]}"

    def box_text(self, row: int) -> str:
        """A box for an example."""
        return "[" + ", ".join(f"{v:g}" for v in self.box[row].tolist()) + "]"


def unreadable(name: str, source: str, error: InputError) -> CheckedSide:
    """A side of which nothing can be read."""
    what = "The data cannot be read; nothing else was looked at."
    finding = Finding("unreadable", "error", name, what, 1, 1, (error.without_remedy,), error.remedy)
    empty = np.zeros(0, dtype=np.int64)
    return CheckedSide(name, source, empty, empty, np.zeros((0, 4)), findings=[finding], readable=False)


def from_records(records: Records, name: str) -> CheckedSide:
    """From records, which hold no fault that a reader would refuse."""
    boxes = boxes_of(records)
    side = CheckedSide(name, records.source, records["image"], records["label"], boxes, place=records.place)
    side.score, side.area, side.crowd, side.group = (
        records.columns.get(c) for c in ("score", "area", "crowd", "group_of")
    )
    if isinstance(records, BoxRecords):
        side.images, side.labels, side.names = records.images, records.labels, records.label_names
    return side


def from_dataset(data: Dataset, name: str) -> CheckedSide:
    """From any format that was read whole."""
    side = from_records(data.records(), name)
    side.area = data.area
    side.shares = data.format == "openimages" and not any(p.width for p in data.pictures)
    side.sizes = np.array(
        [[math.nan if v is None else v for v in (p.width, p.height)] for p in data.pictures], dtype=np.float64
    ).reshape(-1, 2)
    side.files = [p.file for p in data.pictures]
    if name == "predictions":
        side.images, side.sizes, side.files = None, None, []
    return side


def from_coco(data: Any, name: str) -> CheckedSide:
    """From a COCO file or its contents in memory; by the native reader, or record by record where that refuses."""
    truth = name == "truth"
    path = isinstance(data, str | PathLike)
    source = str(data) if path else name
    text: bytes | None = None
    if not path:
        text = json.dumps(data, default=lambda value: value.tolist()).encode()
    elif not is_plain(Path(data), source):
        text = read_bytes(Path(data), source)
    read = _native.coco_read(source, truth, 0) if text is None else _native.coco_parse(text, truth, 0)
    if isinstance(read, tuple):
        return _record_by_record(data, text, name, source, read)
    columns: dict[str, Any] = read
    side = CheckedSide(name, source, text_ids(columns["image"]), text_ids(columns["label"]), columns["box"])
    side.place = lambda row: f"{source}, {'annotation' if truth else 'record'} {row}"
    if not truth:
        side.score = columns["score"]
        return side
    if columns["federated"]:
        what = "The truth says which classes were looked for in each image, as LVIS does; COCO's rules ignore it."
        remedy = "Score it with the option format=lvis."
        side.findings.append(Finding("federated", "note", name, what, 1, 1, (source,), remedy))
    side.area, side.crowd, side.id = columns["area"], columns["crowd"].view(bool), columns["id"]
    side.images, side.sizes = text_ids(columns["images"]), columns["sizes"]
    side.labels, side.names = text_ids(columns["categories"]), tuple(columns["names"])
    return side


def _record_by_record(data: Any, text: bytes | None, name: str, source: str, fault: tuple[Any, ...]) -> CheckedSide:
    truth = name == "truth"
    try:
        loaded = json.loads(text if text is not None else read_regular(data))
        rows = loaded["annotations"] if truth else loaded
        sections = [loaded["images"], loaded["categories"]] if truth else []
        if not all(isinstance(part, list) for part in [rows, *sections]):
            raise ValueError("not arrays")
    except (ValueError, KeyError, TypeError, RecursionError, UnicodeDecodeError):
        try:
            if text is not None:
                from steelyard.io.coco import parse_coco

                parse_coco(text, "truth" if truth else "prediction", source)
            else:
                read_coco(data, "truth" if truth else "prediction")
        except InputError as error:
            return unreadable(name, source, error)
        raise
    return _lenient(rows, sections, name, source)


def _lenient(rows: list[Any], sections: list[list[Any]], name: str, source: str) -> CheckedSide:
    from steelyard.io.formats.dataset import ids_of  # evaluation needs none of it

    truth = name == "truth"
    what = "annotation" if truth else "record"
    kept: list[int] = []
    good: list[Mapping[str, Any]] = []
    wrong: dict[str, list[int]] = {}
    for i, row in enumerate(rows):
        fault = _fault(row, truth)
        if fault:
            wrong.setdefault(fault, []).append(i)
        else:
            kept.append(i)
            good.append(row)
    box = np.array([row["bbox"] for row in good], dtype=np.float64).reshape(-1, 4)
    image, label = (ids_of(row[key] for row in good) for key in ("image_id", "category_id"))
    side = CheckedSide(name, source, image, label, box, place=lambda row: f"{source}, {what} {kept[row]}")
    if truth:
        images = [i for i in sections[0] if isinstance(i, dict) and _is_id(i.get("id"))]
        kinds = [c for c in sections[1] if isinstance(c, dict) and _is_id(c.get("id"))]
        side.images, side.labels = ids_of(i["id"] for i in images), ids_of(c["id"] for c in kinds)
        side.names = tuple(str(c.get("name", "")) for c in kinds)
        side.sizes = np.array([[_number(i.get(k)) for k in ("width", "height")] for i in images]).reshape(-1, 2)
        side.area = np.array([_number(row.get("area")) for row in good])
        side.crowd = np.array([bool(row.get("iscrowd")) for row in good], dtype=bool)
        side.id = np.array(
            [row["id"] if type(row.get("id")) is int and row["id"] >= 0 else -1 for row in good], np.int64
        )
        lost = len(sections[0]) - len(images) + len(sections[1]) - len(kinds)
        if lost:
            count = len(sections[0]) + len(sections[1])
            what_lost = "An image or a category has no id that can be used."
            side.findings.append(
                Finding("broken-record", "error", name, what_lost, lost, count, (), "Give each an id.")
            )
    else:
        side.score = np.array([float(row["score"]) for row in good], dtype=np.float64)
    for fault, places in wrong.items():
        code = "negative-size" if "negative" in fault else "broken-record"
        examples = tuple(f"{source}, {what} {i}: {_short(rows[i])}" for i in places[:EXAMPLES])
        remedy = "Are two corners exchanged?" if code == "negative-size" else "Correct the records, or leave them out."
        text = f"{'Annotations' if truth else 'Results'} that evaluation refuses: {fault}."
        side.findings.append(Finding(code, "error", name, text, len(places), len(rows), examples, remedy))
    return side


def _fault(row: Any, truth: bool) -> str:
    if not isinstance(row, dict):
        return "not an object"
    for key in ("image_id", "category_id", "bbox", *(() if truth else ("score",))):
        if key not in row:
            return f"'{key}' is missing"
    if not _is_id(row["image_id"]) or not _is_id(row["category_id"]):
        return "an id is neither a whole number nor a text"
    box = row["bbox"]
    if not isinstance(box, list) or len(box) != 4 or not all(_is_number(v) for v in box):
        return "'bbox' is not four numbers"
    if not all(math.isfinite(v) and abs(v) <= 1e12 for v in box):
        return "'bbox' is not finite, or beyond 1e12"
    if box[2] < 0 or box[3] < 0:
        return "a negative width or height"
    if not truth and not (_is_number(row["score"]) and math.isfinite(row["score"])):
        return "'score' is not a finite number"
    return ""


def _is_id(value: Any) -> bool:
    return isinstance(value, str) or (type(value) is int and abs(value) < 1 << 62)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: Any) -> float:
    return float(value) if _is_number(value) else math.nan


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 100 else f"{text[:99]}…"


def texts(ids: Array) -> Array:
    """Ids as texts, for comparisons across kinds."""
    return as_object([str(v) for v in ids.tolist()])
