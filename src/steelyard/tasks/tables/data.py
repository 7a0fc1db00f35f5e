"""Task `tables`: the data, from what was read to tables with their replies.

Conventions
    A row is a table, and the unit. Truth: `table` (its name) and `html`, and optionally `boxes`, a JSON list with the
    box [x1, y1, x2, y2] of each cell in the order of the HTML, null where a cell has none. Predictions likewise.
    A table without a prediction scores 0, and so does a reply in which there is no table.
    The truth holds one table in each row. A reply with several is an error, or with `several=first` its first counts.
"""

from __future__ import annotations

import json
from dataclasses import field
from typing import Any

import numpy as np

from steelyard.align.join import join_rows
from steelyard.core.counts import count_text
from steelyard.core.errors import Conflict, InvalidValue, MissingColumn, OutOfRange, ShapeMismatch, TooLarge
from steelyard.core.metadata import Metadata
from steelyard.core.options import Option, Options
from steelyard.core.pairs import Array, Pairs
from steelyard.core.records import Column, Records, Schema, weight_column
from steelyard.core.task import Policy
from steelyard.tasks.tables.trees import MOST_LETTERS, MOST_NODES, MOST_PLACES, OVERSIZE, scan

LONGEST = 1 << 24  # characters of a table's HTML
LARGEST = 1e7  # of a coordinate
SHOWN = 60  # characters of a text that a message names
BOXES = "boxes of the cells, in the order of the HTML: a JSON list of [x1, y1, x2, y2] or null"
NAME = Column("table", "id", aliases=("filename", "image", "imgid"), meaning="the table")

TRUTH = Schema(
    key=("table",),
    columns=(
        NAME,
        Column("html", "text", meaning="the table as HTML", lists=False),
        Column("boxes", "text", required=False, meaning=BOXES),
        weight_column("table"),
    ),
)
PREDICTION = Schema(
    key=("table",),
    columns=(
        NAME,
        Column(
            "html", "text", empty=True, beside="predicted", meaning="the reply, with the table as HTML", lists=False
        ),
        Column("boxes", "text", required=False, meaning=BOXES),
    ),
)
PRESETS = ("none", "pubtabnet", "omnidocbench", "microsoft")
OPTIONS = (
    Option(
        "preset",
        "choice",
        "The default metrics under the rules of another tool; the first of several tables counts.",
        "none",
        PRESETS,
        sides=False,
    ),
    Option(
        "several",
        "choice",
        "A reply with several tables: an error, or its first counts.",
        "error",
        ("error", "first"),
        sides=False,
    ),
)


class TablePairs(Pairs):
    """Tables with their replies; `boxes` are those of the cells of each row of a side, where both sides have them."""

    true_boxes: tuple[Array, ...] = ()
    found_boxes: tuple[Array, ...] = ()
    scanned: Array = field(default_factory=lambda: np.zeros((0, 5), np.int64))  # of each row of the predictions
    preset: str = "none"

    @property
    def metadata(self) -> Metadata:
        """Tables have no classes; whether cells have boxes, and the preset, decide what is shown."""
        return Metadata(flags={"preset": self.preset}, holds=frozenset({"boxes"} if self.true_boxes else ()))

    def texts(self) -> tuple[list[str], list[str]]:
        """The HTML of each table and of its reply, empty where there is none."""
        own = self.truth_column("html").tolist()
        replies = self.prediction["html"].tolist()
        return own, ["" if row < 0 else str(replies[row] or "") for row in self.prediction_row.tolist()]

    def boxes(self) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """Boxes of the cells of all tables and of all replies, and where those of each end."""
        if not self.true_boxes:
            lacking = self.prediction if "boxes" in self.truth else self.truth
            raise MissingColumn(
                "column 'boxes' is missing, which grits_loc compares",
                where=lacking.source,
                remedy="Give the boxes of cells on both sides.",
            )
        own = [self.true_boxes[row] for row in self.truth_row.tolist()]
        none = np.zeros((0, 4))
        other = [self.found_boxes[row] if row >= 0 else none for row in self.prediction_row.tolist()]
        return _joined(own), _joined(other)


def _joined(parts: list[Array]) -> tuple[Array, Array]:
    ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
    return np.ascontiguousarray(np.concatenate([np.zeros((0, 4)), *parts])), ends


def join(truth: Records, prediction: Records, policy: Policy, options: Options) -> TablePairs:
    """Join tables and replies by name."""
    own = _scan_texts(truth, "truth", "error")
    preset = str(options.of("preset"))
    other = _scan_texts(prediction, "prediction", str(options.of("several")) if preset == "none" else "first")
    pairs = join_rows(truth, prediction, ("table",), policy, "sample_weight")
    located = "boxes" in truth and "boxes" in prediction
    return TablePairs(
        pairs.truth,
        pairs.prediction,
        pairs.units,
        pairs.owner,
        pairs.truth_row,
        pairs.prediction_row,
        pairs.partial,
        pairs.coverage,
        pairs.weight,
        _read_boxes(truth, own) if located else (),
        _read_boxes(prediction, other) if located else (),
        other,
        preset,
    )


def _scan_texts(records: Records, side: str, several: str) -> Array:
    """Tables, rows, columns, cells and notes of each text; raises where a text cannot be compared."""
    texts = [str(text or "") for text in records["html"].tolist()]
    for row, text in enumerate(texts):
        if len(text) > LONGEST:
            raise TooLarge(
                f"the HTML has {len(text):,} characters",
                where=records.where(row, "html"),
                remedy=f"At most {LONGEST:,} are read.",
            )
    scanned = scan(texts)
    many = np.flatnonzero(scanned[:, 0] > 1)
    if len(many) and several == "error":
        row = int(many[0])
        raise Conflict(
            f"'{records['table'][row]}' has {scanned[row, 0]} tables",
            where=records.where(row, "html"),
            remedy="Give each a row of its own, or choose several=first for replies.",
        )
    if side == "prediction":
        return scanned
    for row in np.flatnonzero((scanned[:, 3] == 0) | (scanned[:, 4] & OVERSIZE > 0)).tolist():
        if scanned[row, 4] & OVERSIZE:
            raise TooLarge(
                f"the table of '{records['table'][row]}' is too large",
                where=records.where(row, "html"),
                remedy=f"A table has at most {MOST_NODES:,} rows and cells, {MOST_PLACES:,} places of its grid and "
                f"{MOST_LETTERS:,} characters.",
            )
        raise InvalidValue(
            f"'{texts[row][:SHOWN]}' is not a table with cells",
            where=records.where(row, "html"),
            remedy="The truth of each row is HTML with one <table>.",
        )
    return scanned


def _read_boxes(records: Records, scanned: Array) -> tuple[Array, ...]:
    """The boxes of the cells of each row; nan where a cell has none."""
    boxes = []
    for row, text in enumerate(records["boxes"].tolist()):
        cells = int(scanned[row, 3])
        values = _box_values(text, records, row)
        if len(values) != cells:
            raise ShapeMismatch(
                f"{count_text(len(values), 'box', 'are')} given for {count_text(cells, 'cell')}",
                where=records.where(row, "boxes"),
                remedy="Give a box, or null, for each cell in the order of the HTML.",
            )
        boxes.append(np.array(values, dtype=np.float64).reshape(-1, 4))
    return tuple(boxes)


def _refuse_reversed(boxes: list[list[float]], records: Records, row: int) -> None:
    """The second corner of a box is not before the first, as it mostly is where width and height are meant."""
    for box in boxes:
        if box[2] < box[0] or box[3] < box[1]:
            shown = ", ".join(f"{v:g}" for v in box)
            raise OutOfRange(
                f"the corners of the box [{shown}] are reversed",
                where=records.where(row, "boxes"),
                remedy="A box is [x1, y1, x2, y2] with x1 <= x2 and y1 <= y2: corners, not width and height.",
            )


def _box_values(text: Any, records: Records, row: int) -> list[list[float]]:
    try:
        values = json.loads(str(text or "[]"))
        boxes = [None if box is None else [float(v) for v in box] for box in values]
    except (ValueError, TypeError, RecursionError, OverflowError):
        boxes = [[]]
    given = [box for box in boxes if box is not None]
    if not all(len(box) == 4 and all(abs(v) <= LARGEST for v in box) for box in given):
        raise InvalidValue(
            f"'{str(text)[:SHOWN]}' is not a list of boxes",
            where=records.where(row, "boxes"),
            remedy="Write JSON: [[x1, y1, x2, y2], null].",
        )
    _refuse_reversed(given, records, row)
    return [[float("nan")] * 4 if box is None else box for box in boxes]
