"""Task `ellipses`: the data, from what was read to rows by image.

Conventions
    The unit is the image. Columns: `image`, the centre `xc`, `yc`, the half axes `a`, `b` in pixels, `theta`; in
    predictions also `score`. Or a column `points` with a contour, to which an ellipse is fitted. The angle goes from
    the x axis towards the y axis, in degrees; x goes right and y down. The options say where data differ.
    A row with an image and nothing else says that the image has no ellipse.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np

from steelyard.align.sets import SetPairs, join_sets
from steelyard.core.counts import count_text
from steelyard.core.errors import (
    EmptyCell,
    InvalidNumber,
    InvalidValue,
    MissingColumn,
    OutOfRange,
    ShapeMismatch,
    Unmatched,
    first_few,
)
from steelyard.core.options import Option, Options
from steelyard.core.pairs import Array
from steelyard.core.plain import PlainPair, to_numpy
from steelyard.core.records import Column, Records, Schema, as_object, factorize, weight_column
from steelyard.core.task import Policy
from steelyard.match.conic import fit_ellipse
from steelyard.match.ellipses import LARGEST, SMALLEST, canonical

NOTE = "Ellipses without names are xc, yc, theta, a and b (degrees, half axes); images are joined by position."


def plain_sides(truth: Any, predictions: Any) -> PlainPair | None:
    """Lists of ellipses by image as columns; None where a side is something else."""
    if not (_by_image(truth) and _by_image(predictions)):
        return None
    if len(truth) != len(predictions):
        raise ShapeMismatch(
            f"truth has {count_text(len(truth), 'image')} and predictions have {len(predictions):,}",
            remedy="Lists are joined by position: give one list per image on both sides, empty where there is none.",
        )
    return _columns(truth, "truth", 5), _columns(predictions, "predictions", 6), (NOTE,)


def _by_image(side: Any) -> bool:
    """Whether a side is a list whose entries are lists or arrays."""
    return isinstance(side, list | tuple) and all(
        isinstance(image, list | tuple) or hasattr(image, "__array__") for image in side
    )


def _columns(side: Sequence[Any], name: str, most: int) -> dict[str, Any]:
    rows = [row for number, image in enumerate(side) for row in _rows(image, number, name, most)]
    table = np.array([row[1] for row in rows], dtype=np.float64).reshape(-1, 6)
    columns: dict[str, Any] = {"image": np.array([row[0] for row in rows], dtype=np.int64)}
    columns |= {parameter: table[:, place] for place, parameter in enumerate(PARAMETERS)}
    if not np.isnan(table[:, 5]).all():
        columns["score"] = table[:, 5]
    return columns


def _rows(image: Any, number: int, side: str, most: int) -> list[tuple[int, list[float]]]:
    """The image's ellipses, each with a score or nan; one row of nan for an image without any."""
    ellipses = [to_numpy(ellipse) for ellipse in to_numpy(image)]
    rows = []
    for place, ellipse in enumerate(ellipses):
        values = ellipse.tolist() if hasattr(ellipse, "tolist") else ellipse
        numbers = isinstance(values, list | tuple) and all(
            isinstance(value, Real) and not isinstance(value, bool) for value in values
        )
        if not numbers or not 5 <= len(values) <= most:
            more = ", and in predictions a score behind them" if most > 5 else ""
            raise InvalidValue(
                f"{values!r} is not an ellipse", where=f"{side}, image {number}, ellipse {place}",
                remedy=f"Give five numbers: xc, yc, theta, a, b{more}.",
            )  # fmt: skip
        if not all(math.isfinite(value) for value in values):
            raise InvalidNumber(
                f"{values!r} has a value that is not finite", where=f"{side}, image {number}, ellipse {place}",
                remedy="Give five finite numbers, or leave the ellipse out.",
            )  # fmt: skip
        rows.append((number, [*map(float, values), *[math.nan] * (6 - len(values))]))
    return rows or [(number, [math.nan] * 6)]


PARAMETERS = ("xc", "yc", "theta", "a", "b")

_ELLIPSE = (
    Column("image", "id", meaning="the image, which is the unit"),
    Column("xc", "number", required=False, empty=True, meaning="the centre, pixels from the left"),
    Column("yc", "number", required=False, empty=True, meaning="the centre, pixels from the top"),
    Column("a", "number", required=False, empty=True, meaning="half axis, pixels"),
    Column("b", "number", required=False, empty=True, meaning="the other half axis; the longer is the major one"),
    Column("theta", "number", required=False, empty=True, meaning="degrees from the x axis to the axis a"),
    Column("points", "points", required=False, meaning="a contour x y x y ..., instead of the five above"),
)
TRUTH = Schema(
    key=("image",),
    columns=(
        *_ELLIPSE,
        weight_column("image"),
    ),
)
PREDICTION = Schema(
    key=("image",),
    columns=(
        *_ELLIPSE,
        Column("score", "number", required=False, empty=True, meaning="how sure the detector is, for ap"),
    ),
)
OPTIONS = (
    Option("angle", "choice", "Unit of theta.", default="degrees", choices=("degrees", "radians")),
    Option("axes", "choice", "Whether a and b are half or full axes.", default="half", choices=("half", "full")),
    Option(
        "y_up", "number", "The y axis points up, in images of this height.", minimum=0, metavar="HEIGHT",
    ),
    Option(
        "images", "ids", "All images: .txt, or a table with a column 'image'. Images without rows have no ellipses.",
        sides=False, column="image", metavar="FILE",
    ),
)  # fmt: skip


def prepare(truth: Records, prediction: Records, options: Options) -> tuple[Records, Records]:
    """Both sides as canonical ellipses; listed images without rows get an empty one."""
    images = options.of("images")
    sides = []
    for records, side in ((truth, "truth"), (prediction, "prediction")):
        records = _ellipses(records, side, options)
        sides.append(records if images is None else _with_images(records, images))
    return sides[0], sides[1]


def join(truth: Records, prediction: Records, policy: Policy, options: Options) -> SetPairs:
    """Join by image."""
    truth, prediction = prepare(truth, prediction, options)
    return join_sets(truth, prediction, "image", "xc", policy, weight="sample_weight")


def _ellipses(records: Records, side: str, options: Options) -> Records:
    """Records whose five columns are canonical ellipses, nan where a row is empty."""
    rows = _from_points(records) if "points" in records else _from_columns(records)
    there = ~np.isnan(rows[:, 0])
    if "points" not in records:
        if options.of("angle", side) == "radians":
            rows[:, 2] = np.degrees(rows[:, 2])
        if options.of("axes", side) == "full":
            rows[:, 3:] /= 2
    height = options.of("y_up", side)
    if height is not None:
        rows[:, 1] = height - rows[:, 1]
        rows[:, 2] = -rows[:, 2]
    rows[there] = canonical(rows[there])
    columns = {name: values for name, values in records.columns.items() if name != "points"}
    columns.update({name: np.ascontiguousarray(rows[:, i]) for i, name in enumerate(PARAMETERS)})
    _check_scores(records, there)
    return replace(records, columns=columns)


def _from_columns(records: Records) -> Array:
    for name in PARAMETERS:
        if name not in records:
            has = ", ".join(f"'{c}'" for c in [*records.names.values(), *records.other])
            raise MissingColumn(
                f"column '{name}' is missing; the columns are {has}",
                where=records.source,
                remedy=f"Map it: `columns={{'{name}': 'YOUR_COLUMN'}}`. Or give contours in a column 'points'.",
            )
    rows = np.column_stack([records[name] for name in PARAMETERS])
    empty = np.isnan(rows)
    half = empty.any(axis=1) & ~empty.all(axis=1)
    if half.any():
        row = int(np.argmax(half))
        blank = PARAMETERS[int(np.argmax(empty[row]))]
        raise EmptyCell(
            f"'{records.names.get(blank, blank)}' is empty or nan, and other columns of the row are not",
            where=records.where(row, blank),
            remedy="Give all five numbers, or none for an image without ellipses.",
        )
    for name, column in zip(PARAMETERS, rows.T, strict=True):
        axis = name in ("a", "b")
        with np.errstate(invalid="ignore"):
            wrong = (column <= 0) if axis else np.zeros(len(column), dtype=bool)
            outside = (np.abs(column) > LARGEST) | ((column < SMALLEST) if axis else False)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise OutOfRange(
                f"the axis is {column[row]:g}", where=records.where(row, name), remedy="An axis must be more than 0."
            )
        if outside.any():
            row = int(np.argmax(outside))
            raise OutOfRange(
                f"{column[row]:g} is out of range",
                where=records.where(row, name),
                remedy=f"It must be {f'from {SMALLEST:g} ' if axis else ''}up to {LARGEST:g} in size.",
            )
    return rows


def _from_points(records: Records) -> Array:
    rows = np.full((len(records), 5), math.nan)
    for row, points in enumerate(records["points"]):
        if points is None:
            continue
        try:
            if np.abs(points).max(initial=0) > LARGEST:
                raise ValueError(f"a coordinate is larger than {LARGEST:g}")
            rows[row] = fit_ellipse(points)
        except ValueError as error:
            raise InvalidValue(
                f"no ellipse through {count_text(len(points), 'point')}: {error}",
                where=records.where(row, "points"),
                remedy="Give at least five points of the contour, not all on a line.",
            ) from None
    return rows


def _check_scores(records: Records, there: Array) -> None:
    """Scores are for all ellipses or for none."""
    if "score" not in records:
        return
    lacking = there & np.isnan(records["score"])
    if lacking.any():
        row = int(np.argmax(lacking))
        raise EmptyCell(
            "the score is empty or nan",
            where=records.where(row, "score"),
            remedy="Give every ellipse a score, or leave the column out.",
        )


def _with_images(records: Records, images: Records) -> Records:
    """Records with an empty row for every listed image that they do not have; no other image may stand there."""
    listed = images["image"]
    distinct, (listed_code, own_code) = factorize(listed, records["image"])
    known, has = np.zeros(len(distinct), dtype=bool), np.zeros(len(distinct), dtype=bool)
    known[listed_code] = True
    has[own_code] = True
    if not known[own_code].all():
        row = int(np.argmin(known[own_code]))
        unknown = distinct[has & ~known]
        raise Unmatched(
            f"image '{records['image'][row]}' is not in the list {images.source}"
            + (
                f" ({count_text(len(unknown), 'image')} are so: {first_few(unknown.tolist())})"
                if len(unknown) > 1
                else ""
            ),
            where=records.where(row, "image"),
            remedy="The list must name every image.",
        )
    _, first = np.unique(listed_code, return_index=True)
    lacking = first[~has[listed_code[first]]]
    if not len(lacking):
        return records
    count, own_place, list_place = len(records), records.place, images.place
    ids = [*records["image"].tolist(), *listed[lacking].tolist()]
    numbers = records["image"].dtype.kind in "iu" and listed.dtype.kind in "iu"
    columns: dict[str, Array] = {"image": np.array(ids, dtype=np.int64) if numbers else as_object(list(map(str, ids)))}
    for name, values in records.columns.items():
        if name != "image":
            columns[name] = np.concatenate([values, np.full(len(lacking), math.nan)])
    other = {
        name: np.concatenate([as_object(values.tolist()), np.full(len(lacking), None, dtype=object)])
        for name, values in records.other.items()
    }
    return replace(
        records,
        columns=columns,
        other=other,
        place=lambda row: own_place(row) if row < count else list_place(int(lacking[row - count])),
    )
