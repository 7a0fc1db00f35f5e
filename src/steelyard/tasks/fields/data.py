"""Dense fields, joined image by image and read one pair at a time, with masks, regions and resized predictions."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np

from steelyard.align.join import join_rows
from steelyard.core.errors import InputError, MissingColumn, MissingData, ShapeMismatch, UnknownName, nearest
from steelyard.core.options import SIDES
from steelyard.core.pairs import Array, Pairs
from steelyard.core.records import Column, MapRecords, Records, Schema, distinct_values, weight_column
from steelyard.core.task import Policy
from steelyard.maps.fields import Kind, Reading, open_field
from steelyard.maps.load import refuse_lost
from steelyard.tasks.fields.options import Chosen

# A region is what another leaves over.
OPPOSITE = {
    "noc": "occ",
    "fg": "bg",
    "matched": "unmatched",
    "rigid": "nonrigid",
    "sky": "notsky",
    "lowdetail": "highdetail",
}
OPPOSITE |= {second: first for first, second in OPPOSITE.items()}
MASK = Reading("mask", zero=False)


def field_schemas(meaning: str) -> tuple[Schema, Schema]:
    """The schemas of truth and predictions; `meaning` says what a pixel holds."""
    columns = (
        Column("image", "id", meaning="the image, which is the unit; in a folder the file's path without its ending"),
        Column("map", "field", meaning=f"{meaning}: the path of a file, or an array"),
    )
    truth = (
        *columns,
        Column("mask", "field", required=False, meaning="a mask: pixels of 0 are left out"),
        Column("region", "field", required=False, many="field", meaning="region:NAME marks the pixels of a region"),
        weight_column("image", meaning="the weight of the image"),
    )
    return Schema(("image",), truth), Schema(("image",), columns)


def readings_of(chosen: Chosen, kind: Kind, channels: int, **more: Any) -> tuple[Reading, Reading]:
    """How both sides are read; `more` are fields of `Reading`."""
    first, second = (
        Reading(kind, channels, chosen.of("scale", side), order=chosen.of("channels", side), **more) for side in SIDES
    )
    return first, second


class MeasuredFields(Records):
    """Images that were measured on a device: a row of numbers for each, in the order of the rows."""

    numbers: Any = None


class FieldPairs(Pairs):
    """Images with both fields, which are read when they are measured: never more of them at once than threads."""

    field_columns: ClassVar[tuple[str, ...]] = ("map", "mask", "region")

    readings: tuple[Reading, Reading] = (Reading("disparity"), Reading("disparity"))
    resize: str = "off"
    mask_value: float | None = None
    mask_marks_invalid: bool = False

    @cached_property
    def regions(self) -> tuple[str, ...]:
        """The regions that are marked, and what each of them leaves over."""
        named = [name.partition(":")[2] for name in self.truth.columns if name.startswith("region:")]
        return tuple(dict.fromkeys([*named, *(OPPOSITE[name] for name in named if name in OPPOSITE)]))

    @property
    def measured(self) -> Array | None:
        """The numbers of each pair, (pairs, columns), where a device has measured them; None where there are fields."""
        if not isinstance(self.truth, MeasuredFields):
            return None
        return np.asarray(self.truth.numbers[self.truth_row])

    def load_pair(self, pair: int) -> tuple[Array, Array | None]:
        """Both fields of a pair, of one size; None where there is no prediction."""
        truth, prediction = self.open_truth(pair), self.open_prediction(pair)
        if prediction is None or prediction.shape[:2] == truth.shape[:2]:
            return truth, prediction
        return truth, self.resized(pair, prediction, truth.shape)

    def open_truth(self, pair: int) -> Array:
        """The truth of a pair."""
        return self._open(self.truth, "map", int(self.truth_row[pair]), self.readings[0])

    def open_prediction(self, pair: int) -> Array | None:
        """The prediction of a pair, as its file has it."""
        row = int(self.prediction_row[pair])
        return None if row < 0 else self._open(self.prediction, "map", row, self.readings[1])

    def resized(self, pair: int, prediction: Array, shape: tuple[int, ...]) -> Array:
        """A prediction in the size of the truth; an error where the options do not say how."""
        if self.resize == "off":
            raise ShapeMismatch(
                f"{shape[1]}×{shape[0]} pixels, and {self.place(pair, 1)} has "
                f"{prediction.shape[1]}×{prediction.shape[0]}",
                where=self.place(pair, 0),
                remedy="Resize the predictions, or set the option `resize=bilinear`.",
            )
        return resize_field(prediction, shape[0], shape[1], self.resize)

    def mask(self, pair: int, shape: tuple[int, ...]) -> Array | None:
        """Which pixels of an image are looked at; None for all."""
        if "mask" not in self.truth or not self.truth["mask"][self.truth_row[pair]]:
            return None
        marked = self._marked(pair, "mask", shape)
        return ~marked if self.mask_marks_invalid else marked

    def region(self, pair: int, name: str, shape: tuple[int, ...]) -> Array:
        """Which pixels of an image belong to a region."""
        if f"region:{name}" in self.truth:
            return self._marked(pair, f"region:{name}", shape)
        other = f"region:{OPPOSITE.get(name, '')}"
        if other not in self.truth:
            raise UnknownName(
                f"there is no region '{name}'",
                where=self.truth.source,
                remedy=nearest(name, self.regions) if self.regions else f"Name it: region={name}=FOLDER.",
            )
        return ~self._marked(pair, other, shape)

    def _marked(self, pair: int, column: str, shape: tuple[int, ...]) -> Array:
        row = int(self.truth_row[pair])
        if not self.truth[column][row]:
            raise MissingColumn("the cell is empty", where=self.truth.where(row, column), remedy="Give a mask.")
        values = self._open(self.truth, column, row, MASK)
        if values.shape != shape[:2]:
            raise ShapeMismatch(
                f"the mask has {values.shape[1]}×{values.shape[0]} pixels, and the truth {shape[1]}×{shape[0]}",
                where=_name(self.truth, column, row),
                remedy="Give masks of the size of the truth.",
            )
        if self.mask_value is not None and _is_byte_mask(values):
            return np.asarray(values == self.mask_value)
        return np.asarray(np.isfinite(values) & (values != 0))

    def _open(self, records: Records, column: str, row: int, reading: Reading) -> Array:
        if isinstance(records, MeasuredFields):
            raise not_kept("this metric or picture needs the fields", records.source)
        value = records[column][row]
        try:
            return open_field(value, reading, records.sums if isinstance(records, MapRecords) else None)
        except InputError as error:
            if column == "map" and isinstance(value, str):
                refuse_lost(records, row)
            if isinstance(value, bytes):
                raise type(error)(error.what, where=_name(records, column, row), remedy=error.remedy) from None
            raise

    def place(self, pair: int, side: int) -> str:
        """Where a field of a pair is, for a message."""
        rows, records = ((self.truth_row, self.truth), (self.prediction_row, self.prediction))[side]
        return _name(records, "map", int(rows[pair]))

    def pair_of(self, unit: int) -> int:
        """The pair of a unit."""
        return int(np.flatnonzero(self.owner == unit)[0])


def not_kept(what: str, source: str) -> MissingData:
    """An error for what the sums of a device do not tell."""
    return MissingData(
        f"{what}, and only sums of each image were kept on the device", where=source, remedy="Leave device out."
    )


FieldPairsType = TypeVar("FieldPairsType", bound=FieldPairs)


def join_fields(
    cls: type[FieldPairsType], truth: Records, prediction: Records, policy: Policy, **more: Any
) -> FieldPairsType:
    """Join the fields by image."""
    pairs = join_rows(truth, prediction, ("image",), policy, "sample_weight")
    values: dict[str, Any] = {name: getattr(pairs, name) for name in Pairs.__dataclass_fields__}
    used = distinct_values(pairs.owner)
    values |= {"units": pairs.units[used], "owner": np.searchsorted(used, pairs.owner), "partial": pairs.partial[used]}
    values["weight"] = None if pairs.weight is None else pairs.weight[used]
    return cls(**values, **more)


def _is_byte_mask(values: Array) -> bool:
    """Whether a mask has levels of a byte, of which one may be chosen; a mask of 0 and 1 has none."""
    return bool(values.max() > 1)


def _name(records: Records, column: str, row: int) -> str:
    value = records[column][row]
    return value if isinstance(value, str) else f"{records.place(row)} (image '{records['image'][row]}')"


def resize_field(field: Array, height: int, width: int, method: str) -> Array:
    """A field in another size: bilinear as cv2.INTER_LINEAR, corners as align_corners=True, or nearest."""
    if method == "nearest":
        rows, columns = (np.arange(n) * m // n for n, m in ((height, field.shape[0]), (width, field.shape[1])))
        return np.ascontiguousarray(field[rows][:, columns])
    wide = field.astype(np.float64)
    for axis, size in ((0, height), (1, width)):
        low, high, share = _places_between(field.shape[axis], size, method)
        share = share.reshape((-1, *(1,) * (wide.ndim - 1 - axis)))
        first, second = np.take(wide, low, axis=axis), np.take(wide, high, axis=axis)
        wide = np.where(share == 0, first, first * (1 - share) + second * share)
    return wide.astype(field.dtype)


def _places_between(before: int, after: int, method: str) -> tuple[Array, Array, Array]:
    """For each new place the two old ones, and the share of the second."""
    if method == "corners":
        place = np.arange(after) * ((before - 1) / (after - 1) if after > 1 else 0.0)
    else:
        place = np.maximum((np.arange(after) + 0.5) * (before / after) - 0.5, 0.0)
    low = np.minimum(place.astype(np.int64), before - 1)
    return low, np.minimum(low + 1, before - 1), place - low
