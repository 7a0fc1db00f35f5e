"""Task `segmentation`: from records to counts of pixels by value, read one pair of maps at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from steelyard.align.join import join_rows
from steelyard.core.counts import count_text
from steelyard.core.errors import Conflict, MissingData, ShapeMismatch, UnknownName
from steelyard.core.frozen import Frozen
from steelyard.core.metadata import Axis, Metadata
from steelyard.core.options import SIDES, Options
from steelyard.core.pairs import Array, Pairs
from steelyard.core.records import Column, Records, Schema, distinct_values, weight_column
from steelyard.core.task import Policy
from steelyard.maps.each import for_each
from steelyard.maps.load import Opened, count_pairs, open_row
from steelyard.maps.png import PngFile
from steelyard.maps.scores import ScoreRules
from steelyard.tasks.segmentation.labelling import IGNORED, UNKNOWN, Labelling, labelling_of, score_rules

NOTHING = -1  # the predicted value where there is no prediction
_COLUMNS = (
    Column("image", "id", meaning="the image, which is the unit; in a folder the file's path without its ending"),
    Column("map", "map", meaning="the class of each pixel: the path of a PNG, .npy or .npz file, or an array"),
)
TRUTH = Schema(
    key=("image",),
    columns=(
        *_COLUMNS,
        weight_column("image", meaning="the weight of the image"),
    ),
)
PREDICTION = Schema(key=("image",), columns=_COLUMNS)


class Scan(Frozen):
    """How often a value of the truth and one of the prediction stand at the same place, image by image.

    `size` (units, 2) are height and width.
    """

    owner: Array
    truth: Array
    predicted: Array
    count: Array
    size: Array

    @staticmethod
    def of(parts: Sequence[tuple[Array, Array, Array]], owner: Array, sizes: Array) -> Scan:
        """Images one after the other; `owner` is the unit of each."""
        lengths = [len(part[0]) for part in parts]
        a, b, count = (
            np.concatenate([part[i].astype(np.int64) for part in parts]) if parts else np.zeros(0, np.int64)
            for i in range(3)
        )
        return Scan(np.repeat(owner, lengths), a, b, count, sizes)


class CountedMaps(Records):
    """Images whose pixels were counted where they were made. The rows stand in the order of the scan's images."""

    scan: Scan | None = None


class MapPairs(Pairs):
    """Images with both maps, which are read when they are counted: never more of them at once than threads."""

    labelling: Labelling = Labelling()
    scores: ScoreRules = ScoreRules()

    @cached_property
    def metadata(self) -> Metadata:
        """The classes: those that are declared, else the values that stand in any map."""
        labelling = self.labelling
        if labelling.ids is not None:
            ids: tuple[int, ...] = labelling.ids
        else:
            values = [
                labelling.classes(distinct_values(self.scan.truth), 0),
                labelling.classes(distinct_values(self.scan.predicted), 1),
            ]
            ids = tuple(int(v) for v in distinct_values(np.concatenate(values)).tolist() if v >= 0)
        groups = tuple(dict.fromkeys(labelling.groups.values()))
        flags = {"groups": ";".join(f"{name}:{group}" for name, group in labelling.groups.items())}
        return Metadata({"class": Axis(ids, labelling.names), "group": Axis(tuple(sorted(groups)))}, flags)

    @cached_property
    def scan(self) -> Scan:
        """All maps, counted."""

        def count_image(row: int) -> tuple[tuple[Array, Array, Array], tuple[int, ...]]:
            truth, prediction = self.open_pair(row)
            if prediction is None:
                values, count = np.unique(truth.map(), return_counts=True)
                return (values, np.full(len(values), NOTHING), count), truth.shape
            return count_pairs(truth, prediction), truth.shape

        scanned = for_each(len(self.owner), count_image)
        sizes = np.array([size for _, size in scanned], dtype=np.int64).reshape(-1, 2)
        return Scan.of([cells for cells, _ in scanned], self.owner, sizes)

    @cached_property
    def pixels(self) -> Coded:
        """Pixel counts by class."""
        return code_scan(self, self.scan)

    def maps(self, pair: int) -> tuple[Array, Array | None]:
        """The pixels of both maps of a pair; None where there is no prediction."""
        truth, prediction = self.open_pair(pair)
        return truth.map(), None if prediction is None else prediction.map()

    def open_pair(self, pair: int) -> tuple[Opened, Opened | None]:
        """Both maps of a pair, which are of one size; None where there is no prediction."""
        row, other = int(self.truth_row[pair]), int(self.prediction_row[pair])
        if isinstance(self.truth, CountedMaps):
            raise MissingData(
                "outlines and pictures need the maps, and only their counts were kept",
                where=self.truth.source,
                remedy="Leave device out, or ask for metrics of whole classes, such as miou.",
            )
        truth = self._open(0, row, self.scores.truth)
        if other < 0:
            return truth, None
        prediction = self._open(1, other, self.scores.prediction)
        if self.scores.threshold is not None and isinstance(prediction, PngFile):
            raise Conflict(
                "the predictions are labels, and the option `threshold` is for scores",
                where=_name(self.prediction, other),
                remedy="Leave threshold out, or give scores as .npy files of floating-point numbers.",
            )
        if truth.shape != prediction.shape:
            raise ShapeMismatch(
                f"{_size(truth.shape)} pixels, and {_name(self.prediction, other)} has {_size(prediction.shape)}",
                where=_name(self.truth, row),
                remedy="Resize the predictions to the size of the truth.",
            )
        return truth, prediction

    def pair_of(self, unit: int) -> int:
        """The pair of a unit."""
        return int(np.flatnonzero(self.owner == unit)[0])

    def _open(self, side: int, row: int, reduce: Callable[[Array, str], Array]) -> Opened:
        records, colours = (self.truth, self.prediction)[side], self.labelling.colours[side]
        grid = open_row(records, row, reduce)
        if len(grid.shape) != 2:
            raise ShapeMismatch(
                f"has {count_text(len(grid.shape), 'axis')}",
                where=_name(records, row),
                remedy="A label map is height × width.",
            )
        if grid.colours != colours and isinstance(records["map"][row], str):
            if colours:
                raise ShapeMismatch(
                    "has no colours",
                    where=_name(records, row),
                    remedy=f"Its values are classes: leave out `palette`, or set `{SIDES[1 - side]}.palette=FILE`.",
                )
            if records["map"][row].lower().endswith((".png", ".tif", ".tiff")):
                raise ShapeMismatch(
                    "has three channels",
                    where=_name(records, row),
                    remedy=f"Set `palette=FILE`, or `{SIDES[side]}.palette=FILE` if the other side has none.",
                )
        return grid

    def place(self, pair: int, side: int) -> str:
        """Where a map of a pair stands."""
        rows, records = ((self.truth_row, self.truth), (self.prediction_row, self.prediction))[side]
        return _name(records, int(rows[pair]))


def _name(records: Records, row: int) -> str:
    value = records["map"][row]
    return value if isinstance(value, str) else f"{records.place(row)} (image '{records['image'][row]}')"


def _size(shape: tuple[int, ...]) -> str:
    return f"{shape[1]}×{shape[0]}"


def join(truth: Records, prediction: Records, policy: Policy, options: Options) -> MapPairs:
    """Join the maps by image, and say what their values mean."""
    pairs = MapPairs(
        **kept_units(join_rows(truth, prediction, ("image",), policy, "sample_weight")),
        labelling=labelling_of(options),
        scores=score_rules(options),
    )
    if isinstance(truth, CountedMaps) and truth.scan is not None:
        pairs.__dict__["scan"] = _arrange_images(truth.scan, pairs)
    return pairs


def _arrange_images(scan: Scan, pairs: MapPairs) -> Scan:
    """Return the counts with images in the order of the pairs' units."""
    place = np.empty(len(pairs.owner), dtype=np.int64)
    place[pairs.truth_row] = pairs.owner
    owner = place[scan.owner]
    order = np.argsort(owner, kind="stable")
    truth, predicted, count = (values[order] for values in (scan.truth, scan.predicted, scan.count))
    return Scan(owner[order], truth, predicted, count, scan.size[pairs.truth_row])


def kept_units(pairs: Pairs) -> dict[str, Any]:
    """The fields of pairs without the units that lost their row to the policy."""
    values: dict[str, Any] = {name: getattr(pairs, name) for name in Pairs.__dataclass_fields__}
    used = distinct_values(pairs.owner)
    values |= {"units": pairs.units[used], "owner": np.searchsorted(used, pairs.owner), "partial": pairs.partial[used]}
    return values | {"weight": None if pairs.weight is None else pairs.weight[used]}


class Coded(Frozen):
    """Counts of a scan by class: `truth` and `predicted` are places on the axis; a wrong or missing value is -1.

    Pixels whose truth is ignored are left out and counted in `ignored`, by image.
    """

    owner: Array
    truth: Array
    predicted: Array
    count: Array
    ignored: Array


def code_scan(pairs: MapPairs, scan: Scan) -> Coded:
    """A scan by class. A value of the truth without a class is an error, one of a prediction as the options say."""
    classes = pairs.metadata.axes["class"].ids
    places = [
        _places(pairs.labelling, values, side, classes) for side, values in enumerate((scan.truth, scan.predicted))
    ]
    _refuse(pairs, scan, places[0] == UNKNOWN, 0)
    counted = places[0] >= 0
    wrong = counted & (places[1] < 0)
    if pairs.labelling.unknown == "error":
        _refuse(pairs, scan, wrong & (scan.predicted != NOTHING), 1)
    ignored = np.bincount(scan.owner[~counted], weights=scan.count[~counted], minlength=len(pairs.units))
    return Coded(
        scan.owner[counted], places[0][counted], np.maximum(places[1][counted], -1), scan.count[counted], ignored
    )


def _places(labelling: Labelling, values: Array, side: int, classes: Sequence[int]) -> Array:
    distinct, inverse = np.unique(values, return_inverse=True)
    labels = labelling.classes(distinct, side)
    place = {label: i for i, label in enumerate(classes)}
    codes = np.array([place.get(label, label if label < 0 else UNKNOWN) for label in labels.tolist()], dtype=np.int64)
    return codes[inverse.reshape(-1)]


def _refuse(pairs: MapPairs, scan: Scan, bad: Array, side: int) -> None:
    if not bad.any():
        return
    at = int(np.flatnonzero(bad)[0])
    unit, value = int(scan.owner[at]), int((scan.predicted if side else scan.truth)[at])
    mine = bad & (scan.owner == unit) & ((scan.predicted if side else scan.truth) == value)
    pixels, images = int(scan.count[mine].sum()), len(distinct_values(scan.owner[bad]))
    at_pair = pairs.pair_of(unit)
    grid = pairs.maps(at_pair)[side]
    row, column = np.argwhere(grid == value)[0].tolist() if grid is not None else (0, 0)
    shown = f"colour #{_hex(value)}" if pairs.labelling.colours[side] else f"value {value}"
    more = f"; {images} images hold such values" if images > 1 else ""
    raise UnknownName(
        f"{shown} at row {row}, column {column} ({count_text(pixels, 'pixel')}) is not a class{more}",
        where=pairs.place(at_pair, side),
        remedy=_remedy(pairs.labelling, value, side),
    )


def _hex(colour: int) -> str:
    return f"{colour & 255:02x}{colour >> 8 & 255:02x}{colour >> 16:02x}"


def _remedy(labelling: Labelling, value: int, side: int) -> str:
    ids = labelling.ids or ()
    named = (
        f"{count_text(len(ids), 'class', 'are')} named: {ids[0]} to {ids[-1]}. "
        if ids and not labelling.colours[side]
        else ""
    )
    if side == 0 and labelling.colours[0]:
        return f"Name it in the palette, or ignore it there: ignore={_hex(value)}."
    if side == 0:
        return f"{named}Map it (option `relabel`), or ignore it (option `ignore={value}`)."
    return f"{named}The option `unknown=wrong` counts such pixels as wrong."


__all__ = [
    "IGNORED",
    "NOTHING",
    "PREDICTION",
    "TRUTH",
    "UNKNOWN",
    "Coded",
    "MapPairs",
    "Scan",
    "code_scan",
    "join",
]
