"""Task `anomalies`: the data, from records of both sides to the pixels of one image at a time.

Conventions
    A row is an image, which is the unit. Truth: `image`, and what says whether it is defective: `label` (0 or 1, good
    or defective), `defect` (the name of its folder; "good" is good) or its `mask`, which is kept as the column `map`.
    `object` is what is shown: objects are scored apart and their values averaged, since scores of two objects have no
    common scale. Predictions: `map` (a score for each pixel, higher is more anomalous) and `score` (of the image; else
    it is taken from the map). A pixel is defective where its mask is not 0.
"""

from __future__ import annotations

import json
import os
from dataclasses import field
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from steelyard import _native
from steelyard.align.join import join_rows
from steelyard.core.counts import count_text
from steelyard.core.errors import (
    InputError,
    InvalidFile,
    InvalidNumber,
    InvalidSpec,
    InvalidValue,
    MissingColumn,
    MissingData,
    ShapeMismatch,
    UnknownFormat,
    UnknownName,
    first_few,
)
from steelyard.core.frozen import Frozen
from steelyard.core.metadata import Metadata
from steelyard.core.opening import read_regular
from steelyard.core.options import Option, Options
from steelyard.core.pairs import Array, Pairs
from steelyard.core.records import Column, Records, Schema, as_object, distinct_values, weight_column
from steelyard.core.task import Policy
from steelyard.maps.arrays import array_of_bytes, numpy_file
from steelyard.maps.load import INSIDE, load_map, refuse_lost
from steelyard.maps.png import PngFile, png_file

MAPS = (".tiff", ".tif", ".npy", ".npz", ".png")
MASKS = (".png", ".npy", ".npz", ".tiff", ".tif")
CONFIG = "defects_config.json"
GOOD = ("0", "good", "normal", "ok", "false", "0.0")
DEFECTIVE = ("1", "defective", "anomaly", "anomalous", "bad", "ng", "true", "1.0", "defect", "abnormal")
MOST_PIXELS = 1 << 31

TRUTH = Schema(
    key=("image",),
    columns=(
        Column("image", "id", meaning="the image, which is the unit; in a folder its path without the ending"),
        Column("map", "map", False, aliases=("mask",), meaning="the mask: a file or an array; not 0 is defective"),
        Column("label", "text", required=False, meaning="0 or good, 1 or defective"),
        Column("object", "text", required=False, aliases=("category",), meaning="what is shown; scored apart"),
        Column("defect", "text", required=False, meaning="the kind of defect; `good` for none"),
        Column("type", "text", required=False, meaning="the group of defects, as logical and structural in LOCO"),
        weight_column("image"),
    ),
)
PREDICTION = Schema(
    key=("image",),
    columns=(
        Column("image", "id", meaning="the image"),
        Column("map", "map", required=False, meaning="a score for each pixel: a file or an array"),
        Column("score", "number", required=False, meaning="the score of the image, in place of one from the map"),
    ),
)
OPTIONS = (
    Option("objects", "choice", "Score objects apart, or pool their scores.", "each", ("each", "pool"), sides=False),
    Option(
        "empty_mask",
        "choice",
        "What an image that is called defective and has an empty mask is.",
        "error",
        ("error", "good"),
        sides=False,
    ),
    Option("mask_level", "number", "The lowest mask value that is defective, where masks were blurred.", sides=False),
    Option(
        "resize", "choice", "Whether maps smaller than their masks are enlarged.", "no", ("no", "bilinear"), sides=False
    ),
    Option("invert", "choice", "Whether low scores are anomalous.", "no", ("no", "yes"), sides=False),
    Option(
        "scores", "path", "A table of image scores beside a folder of maps.", metavar="FILE", sides=False, reads=True
    ),
)


class Part(Frozen):
    """A region of a mask: its pixels, the area from which on it counts as found whole, and the kind of defect."""

    pixels: Array
    saturation: int
    defect: str = ""


class Chosen(Frozen):
    """What a slice looks at in an image: kinds of defects, or areas of regions (above a, up to b)."""

    defects: frozenset[str] = frozenset()
    areas: tuple[tuple[int, int], ...] = ()

    def holds(self, part: Part) -> bool:
        """Whether a region belongs to the slice."""
        area = len(part.pixels)
        return part.defect in self.defects or any(low < area <= high for low, high in self.areas)


class Picture:
    """The map and the mask of one image. `ignored` are pixels of defects that a slice leaves out."""

    def __init__(self, scores: Array, mask: Array | None, channels: list[Part], ignored: Array | None = None) -> None:
        self.scores, self.mask, self.channels, self.ignored = scores, mask, channels, ignored

    @cached_property
    def overlapping(self) -> bool:
        """Whether a pixel belongs to several channels."""
        return self.mask is not None and sum(len(part.pixels) for part in self.channels) != int(self.mask.sum())

    def regions(self, of: str) -> list[Part]:
        """The connected regions of the mask, with 8 or 4 neighbours, or its defects."""
        if self.mask is None or (of == "defects" and self.channels):
            return self.channels
        pixels, ends = _native.mask_regions(np.ascontiguousarray(self.mask), of != "4")
        return [Part(part, len(part)) for part in np.split(pixels, ends[:-1])] if len(ends) else []


class AnomalyPairs(Pairs):
    """Images with their truth and their map; maps are read when they are measured, as many at once as threads.

    `only` says, for a pair, which regions a slice looks at; None is all of them.
    """

    whole_slices: ClassVar[tuple[str, ...]] = ("defect", "type", "region_size")  # slices that need all images

    options: Options = Options()
    only: Array = field(default_factory=lambda: np.zeros(0, dtype=object))
    memory: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def metadata(self) -> Metadata:
        holds = {name for name, there in (("maps", "map" in self.prediction), ("masks", self._has_masks())) if there}
        if self._is_loco():
            holds.add("loco")
        flags = {"objects": str(self.options.of("objects"))}
        return Metadata({}, flags, frozenset(holds))

    def _has_masks(self) -> bool:
        return "map" in self.truth and any(len(value) for value in self.truth["map"].tolist())

    def _is_loco(self) -> bool:
        masks = self.truth["map"].tolist() if "map" in self.truth else []
        return any(isinstance(value, str) and value.endswith(os.sep) for value in masks)

    @cached_property
    def objects(self) -> Array:
        """The object of each pair."""
        if "object" not in self.truth or self.options.of("objects") == "pool":
            return as_object([""] * len(self.owner))
        return self.truth["object"][self.truth_row]

    @cached_property
    def defects(self) -> Array:
        """The name of each pair's kind of defect; empty where nothing says it."""
        if "defect" in self.truth:
            return self.truth["defect"][self.truth_row]
        return as_object([""] * len(self.owner))

    @cached_property
    def groups(self) -> Array:
        """The group of defects of each pair."""
        if "type" in self.truth:
            return self.truth["type"][self.truth_row]
        return as_object([""] * len(self.owner))

    @cached_property
    def defective(self) -> Array:
        """Whether each pair's image is defective: by its label, its folder, or its mask."""
        return np.array([self._is_defective(pair) for pair in range(len(self.owner))], dtype=bool)

    def _is_defective(self, pair: int) -> bool:
        row = int(self.truth_row[pair])
        stated = self._stated(row)
        if stated is False or (stated and self.options.of("empty_mask") == "error"):
            return stated
        if stated is None and ("map" not in self.truth or not len(self.truth["map"][row])):
            raise MissingData(
                f"image '{self.truth['image'][row]}' has neither a mask nor a label",
                where=self.truth.place(row),
                remedy="Add a column 'label' (0 or 1), or put good images into a folder 'good'.",
            )
        if stated and ("map" not in self.truth or not len(self.truth["map"][row])):
            return True
        mask, _ = self.open_mask(row)
        return bool(mask is not None and mask.any())

    def _stated(self, row: int) -> bool | None:
        """Whether the label or the folder says that an image is defective; None where neither does."""
        if "label" in self.truth:
            text = str(self.truth["label"][row]).strip().lower()
            if text in GOOD or text in DEFECTIVE:
                return text in DEFECTIVE
            if text:
                raise InvalidValue(
                    f"label '{self.truth['label'][row]}' is neither good nor defective",
                    where=self.truth.where(row, "label"),
                    remedy="Write 0 or good, and 1 or defective.",
                )
        if "defect" in self.truth and str(self.truth["defect"][row]):
            return str(self.truth["defect"][row]).lower() not in ("good", "ok", "normal")
        return None

    @property
    def own_scores(self) -> bool:
        """Whether the predictions hold a score of each image."""
        return "score" in self.prediction

    def own_score(self, pair: int) -> float:
        """The score that the predictions give an image; nan where there is none."""
        row = int(self.prediction_row[pair])
        return float(self.prediction["score"][row]) if self.own_scores and row >= 0 else float("nan")

    def has_map(self, pair: int) -> bool:
        """Whether a pair has a map."""
        row = int(self.prediction_row[pair])
        return "map" in self.prediction and row >= 0 and len(self.prediction["map"][row]) > 0

    def refuse_no_map(self, pair: int) -> None:
        """Raise where other images have a map and this one has none."""
        if "map" in self.prediction:
            row = int(self.prediction_row[pair])
            raise MissingData(
                f"image '{self.prediction['image'][row]}' has no map",
                where=self.prediction.where(row, "map"),
                remedy="Give a map for each image, or leave the row out and choose `missing='skip'`.",
            )

    def picture(self, pair: int, needs_mask: bool = True) -> Picture:
        """The map and the mask of a pair. A defective image without a mask is an error where one is needed."""
        row, other = int(self.truth_row[pair]), int(self.prediction_row[pair])
        where = _place(self.prediction, other, "map")
        try:
            scores = open_scores(self.prediction["map"][other], where)
        except InputError:
            refuse_lost(self.prediction, other)
            raise
        if self.options.of("invert") == "yes":
            scores = np.negative(scores.astype(np.float64 if scores.dtype == np.float64 else np.float32))
        if not self.defective[pair]:
            size = self._good_size(row)
            return Picture(self._fit(scores, size, where, row) if size is not None else scores, None, [])
        mask, channels = self.open_mask(row)
        if mask is None:
            if not needs_mask:
                return Picture(scores, None, [])
            raise MissingData(
                f"image '{self.truth['image'][row]}' is defective and has no mask",
                where=self.truth.place(row),
                remedy="Add its mask, or ask for the metrics of images alone.",
            )
        if not mask.any():
            raise InvalidValue(
                f"image '{self.truth['image'][row]}' is labelled defective, and its mask is empty",
                where=_place(self.truth, row, "map"),
                remedy="Correct the mask, or set the option `empty_mask=good`.",
            )
        scores = self._fit(scores, mask.shape, where, row)
        only = self.only[pair] if len(self.only) else None
        if only is None:
            return Picture(scores, mask, channels)
        chosen = [part for part in self._parts(mask, channels) if only.holds(part)]
        pixels: Array = np.zeros(mask.shape, dtype=np.uint8)
        for part in chosen:
            pixels.ravel()[part.pixels] = 1
        return Picture(scores, pixels, chosen if channels else [], (mask & ~pixels).astype(np.uint8))

    @staticmethod
    def _parts(mask: Array, channels: list[Part]) -> list[Part]:
        """What slices choose from: the defects of a mask, or else its connected regions."""
        return channels or Picture(mask, mask, []).regions("8")

    def _good_size(self, row: int) -> tuple[int, ...] | None:
        """The size of a good image: that of its mask, or where maps are enlarged that of its file or of other masks."""
        if "map" in self.truth and len(self.truth["map"][row]):
            if str(self.truth["map"][row]).endswith(os.sep):
                return None
            mask = self.open_mask(row)[0]
            assert mask is not None
            if mask.any():
                raise InvalidValue(
                    f"image '{self.truth['image'][row]}' is labelled good, and its mask has "
                    f"{count_text(int(mask.sum()), 'defective pixel')}",
                    where=_place(self.truth, row, "map"),
                    remedy="Correct the label or the mask.",
                )
            return mask.shape
        if self.options.of("resize") == "no":
            return None
        file = self.truth.other.get("file")
        if file is not None and str(file[row]).lower().endswith(".png"):
            return png_file(read_regular(str(file[row])), str(file[row])).shape
        sizes: dict[str, Any] = self.memory.setdefault("sizes", {})
        name = str(self.truth["object"][row]) if "object" in self.truth else ""
        if name not in sizes:
            sizes[name] = None
            for other in range(len(self.truth)):
                same = "object" not in self.truth or str(self.truth["object"][other]) == name
                if same and "map" in self.truth and len(self.truth["map"][other]):
                    mask = self.open_mask(other)[0]
                    sizes[name] = None if mask is None else mask.shape
                    break
        size: tuple[int, ...] | None = sizes[name]
        return size

    def _fit(self, scores: Array, size: tuple[int, ...], where: str, row: int) -> Array:
        """The scores in the size of the mask."""
        if scores.shape == tuple(size):
            return scores
        text = f"{scores.shape[1]}×{scores.shape[0]}, its mask {size[1]}×{size[0]}"
        smaller = scores.shape[0] <= size[0] and scores.shape[1] <= size[1]
        if smaller and self.options.of("resize") == "bilinear":
            return enlarge(scores, size)
        remedy = (
            "Set the option `resize=bilinear`: maps are enlarged, masks never shrunk."
            if smaller
            else "Write maps in the size of the masks."
        )
        raise ShapeMismatch(f"is {text}", where=where, remedy=remedy)

    def open_mask(self, row: int) -> tuple[Array | None, list[Part]]:
        """The mask of a row of the truth as zeros and ones, and its channels where it has them."""
        value = self.truth["map"][row] if "map" in self.truth else b""
        if not len(value):
            return None, []
        where = _place(self.truth, row, "map")
        if isinstance(value, str) and value.endswith(os.sep):
            return open_channels(value)
        try:
            grid = self._raw_mask(value, where)
        except InputError:
            refuse_lost(self.truth, row)
            raise
        level = self.options.of("mask_level")
        return (grid >= level if level is not None else grid != 0).astype(np.uint8), []

    @staticmethod
    def _raw_mask(value: str | bytes, where: str) -> Array:
        grid: Array = load_map(value)
        while grid.ndim > 2 and 1 in (grid.shape[0], grid.shape[-1]):
            grid = grid[0] if grid.shape[0] == 1 else grid[..., 0]
        if grid.ndim != 2:
            raise ShapeMismatch(f"has {count_text(grid.ndim, 'axis')}", where=where, remedy="A mask is height × width.")
        return np.ascontiguousarray(grid)

    def mask_values(self, pair: int) -> Array:
        """The distinct values of the mask of a pair; none where it has no mask of its own."""
        value = self.truth["map"][int(self.truth_row[pair])] if "map" in self.truth else b""
        if not len(value) or (isinstance(value, str) and value.endswith(os.sep)):
            return np.zeros(0, np.int64)
        grid = self._raw_mask(value, _place(self.truth, int(self.truth_row[pair]), "map"))
        high = grid.max(initial=0)
        others = grid[(grid != 0) & (grid != high)]  # seldom any
        values = [others, grid[:0] if not high else [high], [0] if (grid == 0).any() else []]
        return distinct_values(np.concatenate(values).astype(grid.dtype))

    def defect_names(self, pair: int) -> list[str]:
        """The kinds of defects of a defective pair."""
        value = self.truth["map"][int(self.truth_row[pair])] if "map" in self.truth else b""
        if isinstance(value, str) and value.endswith(os.sep):
            _, channels = open_channels(value)
            names = sorted({part.defect for part in channels})
            only = self.only[pair] if len(self.only) else None
            return [name for name in names if only is None or name in only.defects]
        return [str(self.defects[pair])]

    @cached_property
    def _areas(self) -> list[list[int]]:
        """The areas of the regions of each pair."""
        areas: list[list[int]] = []
        for pair in range(len(self.owner)):
            mask, channels = self.open_mask(int(self.truth_row[pair])) if self.defective[pair] else (None, [])
            areas.append([] if mask is None else [len(part.pixels) for part in self._parts(mask, channels)])
        return areas

    @cached_property
    def _size_classes(self) -> dict[str, tuple[int, int]]:
        """Thirds of the regions by their area: the name of each, and the areas above and up to which it holds."""
        every = sorted(area for areas in self._areas for area in areas)
        if not every:
            raise MissingData(
                "no mask has a region, and the slices are by the size of regions",
                where=self.truth.source,
                remedy="Give masks of the defects.",
            )
        ends = [every[(len(every) * third + 2) // 3 - 1] for third in (1, 2, 3)]
        starts = [0, *ends[:2]]
        words = ("1 small", "2 medium", "3 large")
        classes = zip(words, starts, ends, strict=True)
        return {f"{word} (up to {end} px)": (start, end) for word, start, end in classes if start < end}

    def _names(self, column: str, pair: int) -> list[str]:
        """The slices by a column that a defective pair is in."""
        if column == "defect":
            return self.defect_names(pair)
        if column == "type":
            return [str(self.groups[pair])]
        areas = self._areas[pair]
        return [name for name, (low, high) in self._size_classes.items() if any(low < area <= high for area in areas)]

    def slice_rows(self, column: str) -> tuple[Array, Array] | None:
        """Slices in which good images stand many times: by defect, group of defects or size of regions; else None.

        Their names, and the unit that each belongs to. A good image is in every slice of its object.
        """
        if column not in self.whole_slices or column in self.truth.other:
            return None
        there = {"defect": "defect" in self.truth or self._is_loco(), "type": "type" in self.truth, "region_size": True}
        if not there[column]:
            raise MissingColumn(
                f"column '{column}' is missing, which `by` names",
                where=self.truth.source,
                remedy="Add it, or put images into folders by kind of defect."
                if column == "defect"
                else "Add it; only folders of MVTec LOCO have it by themselves.",
            )
        named = {pair: self._names(column, pair) for pair in np.flatnonzero(self.defective).tolist()}
        kinds: dict[str, dict[str, None]] = {}
        for pair, names in named.items():
            kinds.setdefault(str(self.objects[pair]), {}).update(dict.fromkeys(names))
        rows = [
            (pair, name)
            for pair in range(len(self.owner))
            for name in (named[pair] if pair in named else sorted(kinds.get(str(self.objects[pair]), {"good": None})))
        ]
        pairs, values = np.array([pair for pair, _ in rows], dtype=np.int64), as_object([name for _, name in rows])
        self.__dict__["_sliced"] = column, pairs, values
        return values, self.owner[pairs]

    def unit_values(self, name: str) -> Array:
        """A column to slice by that each image has one value of; that of an image without a map too."""
        values, owner = self.slice_values(name)
        of_units: Array = np.empty(len(self.units), dtype=object)
        column = self.truth.find(name)
        if column is not None:
            row_of = {str(image): row for row, image in enumerate(self.truth["image"].tolist())}
            for unit, image in enumerate(self.units.tolist()):
                of_units[unit] = column[row_of[str(image)]] if str(image) in row_of else None
        of_units[owner] = values
        return of_units

    def select(self, keep: Array) -> Self:
        """The images that a mask keeps, or those of the slices that it keeps; their other defects count neither way."""
        column, pairs, names = self.__dict__.get("_sliced", ("", self.owner, self.owner))
        if not column or len(keep) != len(pairs):
            return super().select(keep)
        chosen: dict[int, set[str]] = {}
        for pair, name in zip(pairs[keep].tolist(), names[keep].tolist(), strict=True):
            chosen.setdefault(pair, set()).add(name)
        places = np.array(sorted(chosen), dtype=np.int64)
        mask = np.zeros(len(self.owner), dtype=bool)
        mask[places] = True
        part = super().select(mask)
        only = np.empty(len(places), dtype=object)
        for i, pair in enumerate(places.tolist()):
            if not self.defective[pair] or chosen[pair] >= set(self._names(column, pair)):
                continue
            areas = tuple(self._size_classes[name] for name in sorted(chosen[pair])) if column == "region_size" else ()
            only[i] = Chosen(frozenset() if areas else frozenset(chosen[pair]), areas)
        object.__setattr__(part, "only", only)
        return part


class FolderSums(dict[str, bytes]):
    """SHA-256 by path; that of a folder of masks is made of its files when it is asked for."""

    def get(self, key: str, default: Any = None) -> Any:
        """The sum of a path."""
        if key not in self and isinstance(key, str) and key.endswith(os.sep):
            import hashlib

            names = sorted(name for name in os.listdir(key) if name.lower().endswith(".png"))
            self[key] = hashlib.sha256(b"".join(read_regular(key + name) for name in names)).digest()
        return super().get(key, default)


def _place(records: Records, row: int, column: str) -> str:
    value = records[column][row]
    return value if isinstance(value, str) else f"{records.place(row)} (image '{records['image'][row]}')"


def open_scores(value: str | bytes, where: str) -> Array:
    """A map of scores from a file or from an array's bytes: height × width, all finite."""
    if isinstance(value, bytes):
        return as_scores(array_of_bytes(value, where), where)
    path, _, inside = value.partition(INSIDE)
    ending = os.path.splitext(path)[1].lower()
    if ending in (".npy", ".npz"):
        return as_scores(numpy_file(path, inside), where)
    if ending in (".tif", ".tiff"):
        from steelyard.maps.tiff import tiff_pages

        pages, colours = tiff_pages(read_regular(path), path)
        if colours:
            raise _coloured(path)
        if len(pages) > 1:
            raise InvalidFile(f"has {count_text(len(pages), 'page')}", where=path, remedy="A map is one page.")
        return as_scores(pages[0], where)
    if ending == ".png":
        png: PngFile = png_file(read_regular(path), path)
        if png.colours:
            raise _coloured(path)
        return as_scores(png.map(), where)
    raise UnknownFormat(f"'{ending}' is not a format of maps", where=path, remedy=f"Give {', '.join(MAPS)}.")


def _coloured(path: str) -> ShapeMismatch:
    return ShapeMismatch(
        "has three channels: this is a coloured picture, not scores",
        where=path,
        remedy="Write the scores themselves, one channel of floating-point numbers.",
    )


def as_scores(grid: Array, where: str) -> Array:
    """Scores as the core takes them: finite, height × width, of an unsigned type of 1 or 2 bytes or floating-point."""
    while grid.ndim > 2 and 1 in (grid.shape[0], grid.shape[-1]):
        grid = grid[0] if grid.shape[0] == 1 else grid[..., 0]
    if grid.ndim == 3 and 3 in (grid.shape[0], grid.shape[-1]):
        raise _coloured(where)
    if grid.ndim != 2 or not grid.size or grid.size > MOST_PIXELS:
        shape = "×".join(map(str, grid.shape)) or "no"
        raise ShapeMismatch(f"has {shape} values", where=where, remedy="A map is height × width.")
    if grid.dtype.kind not in "biuf" or grid.dtype.itemsize > 8:
        raise InvalidNumber(f"holds {grid.dtype}, not numbers", where=where, remedy="Write floating-point numbers.")
    if grid.dtype.kind == "b":
        grid = grid.view(np.uint8)
    if grid.dtype.kind in "iu" and grid.dtype not in (np.uint8, np.uint16):
        if np.abs(grid.astype(np.float64)).max() > 2.0**53:
            raise InvalidNumber("holds whole numbers above 2⁵³", where=where, remedy="Write floating-point numbers.")
        grid = grid.astype(np.float64)
    grid = np.ascontiguousarray(grid, dtype=grid.dtype.newbyteorder("="))
    if grid.dtype.kind == "f" and not np.isfinite(grid).all():
        wrong = np.flatnonzero(~np.isfinite(grid).ravel())
        row, column = divmod(int(wrong[0]), grid.shape[1])
        raise InvalidNumber(
            f"holds {count_text(len(wrong), 'value')} that are not finite, the first "
            f"({grid[row, column]}) at row {row}, column {column}",
            where=where,
            remedy="Write finite scores.",
        )
    return grid


def enlarge(scores: Array, size: tuple[int, ...]) -> Array:
    """A map in a larger size, by straight lines between the centres of pixels."""
    grid = scores.astype(np.float64)
    for axis in (0, 1):
        old, new = grid.shape[axis], size[axis]
        at = np.clip((np.arange(new) + 0.5) * old / new - 0.5, 0, old - 1)
        low = np.minimum(at.astype(np.int64), max(0, old - 2))
        part = (at - low).reshape((-1, 1) if axis == 0 else (1, -1))
        first, second = (np.take(grid, np.minimum(low + i, old - 1), axis=axis) for i in (0, 1))
        grid = first * (1 - part) + second * part
    return np.ascontiguousarray(grid, dtype=np.float64 if scores.dtype == np.float64 else np.float32)


def open_channels(folder: str) -> tuple[Array, list[Part]]:
    """The defects of one image of MVTec LOCO: a PNG each, whose value names the entry of the configuration."""
    config = read_config(os.path.join(folder, "..", "..", ".."))
    mask: Array | None = None
    parts = []
    names = sorted(name for name in os.listdir(folder) if name.lower().endswith(".png") and not name.startswith("."))
    if not names:
        raise MissingData("holds no mask", where=folder, remedy="Add a PNG for each defect.")
    for name in names:
        path = folder + name
        grid = load_map(path)
        if mask is not None and grid.shape != mask.shape:
            raise ShapeMismatch(
                f"is {grid.shape[1]}×{grid.shape[0]}, and the defects before it {mask.shape[1]}×{mask.shape[0]}",
                where=path,
                remedy="Masks of one image are of one size.",
            )
        values = [int(value) for value in np.unique(grid).tolist() if value]
        if len(values) != 1:
            shown = f"has the values {first_few([str(value) for value in values])}" if values else "is empty"
            raise InvalidValue(shown, where=path, remedy="A mask of LOCO holds 0 and one other value.")
        if values[0] not in config:
            raise UnknownName(
                f"has the value {values[0]}, which {CONFIG} does not list",
                where=path,
                remedy=f"It lists {first_few([str(value) for value in sorted(config)])}.",
            )
        mask = np.zeros(grid.shape, dtype=np.uint8) if mask is None else mask
        pixels = np.flatnonzero(grid)
        mask.ravel()[pixels] = 1
        parts.append(config[values[0]].part(pixels))
    assert mask is not None
    return mask, parts


class DefectKind(Frozen):
    """An entry of the configuration of MVTec LOCO."""

    name: str
    threshold: float
    relative: bool

    def part(self, pixels: Array) -> Part:
        """A defect of this kind. The area that saturates is at least a pixel."""
        area = len(pixels)
        saturation = int(self.threshold * area) if self.relative else int(min(self.threshold, area))
        return Part(pixels, max(1, saturation), self.name)


def read_config(folder: str) -> dict[int, DefectKind]:
    """The kinds of defects by their value in the masks."""
    path = os.path.normpath(os.path.join(folder, CONFIG))
    remedy = f"Give {CONFIG} as a list of defect_name, pixel_value, saturation_threshold and relative_saturation."
    try:
        entries = json.loads(read_regular(path).decode("utf-8"))
        kinds = {
            int(entry["pixel_value"]): DefectKind(
                str(entry["defect_name"]), float(entry["saturation_threshold"]), bool(entry["relative_saturation"])
            )
            for entry in entries
        }
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        raise InvalidFile("is not a configuration of defects", where=path, remedy=remedy) from None
    if not kinds or not all(0 < kind.threshold < float("inf") for kind in kinds.values()):
        raise InvalidFile("has no entry, or a saturation_threshold that is not above 0", where=path, remedy=remedy)
    return kinds


def join(truth: Records, prediction: Records, policy: Policy, options: Options) -> AnomalyPairs:
    """Join truth and predictions by image."""
    if "map" not in prediction and "score" not in prediction:
        raise MissingColumn(
            "columns 'map' and 'score' are both missing",
            where=prediction.source,
            remedy="Give a map of scores or a score for each image.",
        )
    pairs = join_rows(truth, prediction, ("image",), policy, "sample_weight", worst=False)
    if policy.missing == "worst" and pairs.coverage.missing:
        raise InvalidSpec(
            f"{count_text(pairs.coverage.missing, 'image', 'have')} no prediction; `missing='worst'` is not supported, "
            "since a score has no worst value",
            where=prediction.source,
            remedy="Add the missing maps, or use `missing='skip'`.",
        )
    values: dict[str, Any] = {name: getattr(pairs, name) for name in Pairs.__dataclass_fields__}
    return AnomalyPairs(**values, options=options)
