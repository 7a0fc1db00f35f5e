"""Task `volumes`: from records to masks of structures, case by case, one pair of volumes in memory at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from functools import cached_property
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.align.join import join_rows
from steelyard.core.errors import Incompatible, InputError, InvalidSetting, MissingData, OutOfRange, ShapeMismatch
from steelyard.core.frozen import Frozen
from steelyard.core.metadata import Axis, Metadata
from steelyard.core.options import SIDES, Option, Options
from steelyard.core.pairs import Array, Pairs
from steelyard.core.records import Column, Records, Schema, weight_column
from steelyard.core.task import Policy
from steelyard.maps.each import for_each
from steelyard.maps.load import is_array, load_volume, refuse_lost
from steelyard.maps.volume import Volume, sizes_text
from steelyard.tasks.segmentation.data import kept_units

TRIED = 3  # cases whose axes are reversed to see whether they fit better
NEAR = 1e-3  # of spacings and affines of two files that lie on each other
_COLUMNS = (
    Column("case", "id", meaning="the case, which is the unit; in a folder the file's path without its ending"),
    Column(
        "map",
        "volume",
        meaning="the label of each voxel, 0 for none: a NIfTI, Analyze, NRRD, MetaImage, TIFF, PNG, "
        ".npy or .npz file, or an array",
    ),
    Column("spacing", "numbers", required=False, meaning="the size of a voxel along each axis, in mm"),
)
TRUTH = Schema(
    key=("case",),
    columns=(
        *_COLUMNS,
        weight_column("case", meaning="the weight of the case"),
    ),
)
PREDICTION = Schema(key=("case",), columns=_COLUMNS)
OPTIONS = (
    Option("regions", "text", "Structures as unions of labels, such as 'WT=1,2,3; ET=3'; default: each label is one.",
           sides=False, metavar="TEXT"),
    Option("spacing", "numbers", "Voxel size in mm along each axis of an array, if the file does not contain it.",
           sides=False, metavar="SIZES"),
    Option("axes", "choice", "Order of the axes of arrays, in memory or in .npy and .npz files: zyx (slices first) "
           "or xyz, as in nibabel.", default="zyx", choices=("zyx", "xyz")),
    Option("suffix", "text", "Suffix of the file names, such as _seg; other files are skipped.",
           reads=True, metavar="TEXT"),
)  # fmt: skip


class Scanned(Frozen):
    """A case that was counted: pairs of labels, the shape, the spacing in mm or None where it is not known.

    `remarks` are those of its files, as (kind, file, text).
    """

    cells: tuple[Array, Array, Array]
    shape: tuple[int, ...]
    spacing: Array | None
    where: str
    remarks: tuple[tuple[str, str, str], ...] = ()

    def sizes(self) -> Array:
        """The spacing; an error where it is not known."""
        if self.spacing is None:
            remedy = f"Set the option `spacing={','.join('1' * len(self.shape))}`, in mm along each axis."
            raise MissingData("the size of a voxel is not known", where=self.where, remedy=remedy)
        return self.spacing

    @property
    def voxel(self) -> float:
        """The volume of a voxel in mm³."""
        return float(np.prod(self.sizes()))

    def diagonal(self) -> float:
        """The diagonal of the volume in mm."""
        return float(np.sqrt(((np.array(self.shape) * self.sizes()) ** 2).sum()))


class Case(Frozen):
    """Both volumes of a case: `spacing` in mm, or None where it is not known."""

    truth: Array
    prediction: Array
    spacing: Array | None
    where: str
    remarks: tuple[tuple[str, str, str], ...] = ()

    @cached_property
    def _boxes(self) -> list[tuple[Array, Array]]:
        """The labels of both sides, and the box around each."""
        return [_native.map_boxes(grid)[:2] for grid in (self.truth, self.prediction)]

    def masks(self, labels: tuple[int, ...], margin: int = 0) -> tuple[Array, Array] | None:
        """Both masks of a structure, cut to the box around them with a margin; None where neither side has it."""
        boxes = [_box(values, ends, labels, self.truth.ndim) for values, ends in self._boxes]
        some = [box for box in boxes if box is not None]
        if not some:
            return None
        low = np.min([box[0] for box in some], axis=0) - margin
        high = np.max([box[1] for box in some], axis=0) + margin
        cut = tuple(
            slice(max(0, int(a)), min(n, int(b) + 1)) for a, b, n in zip(low, high, self.truth.shape, strict=True)
        )
        return _mask(self.truth[cut], labels), _mask(self.prediction[cut], labels)


def _mask(grid: Array, labels: tuple[int, ...]) -> Array:
    """1 where a grid has any of the labels, of which there are few."""
    inside = grid == labels[0]
    for label in labels[1:]:
        inside |= grid == label
    return np.ascontiguousarray(inside).view(np.uint8)


def _box(values: Array, ends: Array, labels: tuple[int, ...], axes: int) -> tuple[Array, Array] | None:
    mine = ends[np.isin(values, labels)]
    if not len(mine):
        return None
    low, high = mine[:, ::2].min(axis=0), mine[:, 1::2].max(axis=0)
    return low[-axes:], high[-axes:]


class ReversedFit(Frozen):
    """Dice of all labels over some cases, as they are and with the axes of the predictions reversed.

    `option` is what reverses them, where one side is an array.
    """

    before: float
    after: float
    cases: int
    where: str
    option: str


class VolumePairs(Pairs):
    """Cases with both volumes, which are read when they are measured."""

    regions: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    given: tuple[float, ...] = ()
    axes: tuple[str, str] = ("zyx", "zyx")

    @cached_property
    def scan(self) -> list[Scanned]:
        """All cases, counted."""

        def scan_case(pair: int) -> Scanned:
            case = self.case(pair)
            cells = _native.map_cells(case.truth, case.prediction)
            return Scanned(cells, case.truth.shape, case.spacing, case.where, case.remarks)

        return for_each(len(self.owner), scan_case)

    @property
    def cells(self) -> list[tuple[Array, Array, Array]]:
        """How often two labels stand at the same place, case by case."""
        return [one.cells for one in self.scan]

    @cached_property
    def structures(self) -> Mapping[str, tuple[int, ...]]:
        """Labels of each structure by its name: the regions, or every label that either side has."""
        if self.regions:
            return self.regions
        seen = {int(v) for a, b, _ in self.cells for v in (*a.tolist(), *b.tolist())} - {0}
        return {str(value): (value,) for value in sorted(seen)}

    @cached_property
    def metadata(self) -> Metadata:
        """The structures, in the order in which they are named, or of their labels."""
        if self.regions:
            names = tuple(sorted(self.regions))
            return Metadata({"structure": Axis(names)})
        return Metadata({"structure": Axis(tuple(int(name) for name in self.structures), whole=True)})

    def numbered_structures(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        """The place of each structure on the axis, and its labels."""
        for place, name in enumerate(self.metadata.axes["structure"].ids):
            yield place, self.structures[str(name)]

    def case(self, pair: int) -> Case:
        """Both volumes of a pair; a missing prediction finds nothing."""
        row, other = int(self.truth_row[pair]), int(self.prediction_row[pair])
        where = place_of(self.truth, row)
        truth = self._volume(0, row)
        if other < 0:
            return Case(truth.grid, np.zeros_like(truth.grid), _sizes_of(truth), where, _remarks(truth, where))
        prediction, place = self._volume(1, other), place_of(self.prediction, other)
        if truth.grid.shape != prediction.grid.shape:
            raise self._unlike(truth.grid, prediction.grid, (row, other))
        spacing, second = _sizes_of(truth), _sizes_of(prediction)
        if spacing is not None and second is not None and np.abs(spacing - second).max() > _near(spacing):
            raise ShapeMismatch(
                f"spacing {sizes_text(spacing.tolist())} mm in the truth, {sizes_text(second.tolist())} mm in the "
                f"prediction ({_order(spacing)})",
                where=where,
                remedy="Resample the predictions, or leave the wrong spacing out.",
            )
        _same_place(truth.affine, prediction.affine, where)
        remarks = _remarks(truth, where) + _remarks(prediction, place)
        return Case(truth.grid, prediction.grid, spacing if spacing is not None else second, where, remarks)

    def _volume(self, side: int, row: int) -> Volume:
        """The volume of a row with its axes in the one order (z, y, x) and with the spacing that counts."""
        records = (self.truth, self.prediction)[side]
        value = records["map"][row]
        try:
            volume = load_volume(value, scores=side == 1)
        except InputError:
            refuse_lost(records, row)
            raise
        sizes: Any = records["spacing"][row] if "spacing" in records else volume.spacing or self.given or None
        if sizes is not None:
            sizes = tuple(np.asarray(sizes, dtype=np.float64).tolist())
            if len(sizes) != volume.grid.ndim or not all(0 < size < np.inf for size in sizes):
                remedy = "It is a size above zero for each axis."
                if len(sizes) == 3 and volume.grid.ndim == 2 and is_array(value):
                    remedy = "The first axis of an array counts the cases: one volume is 1 × z × y × x."
                raise ShapeMismatch(
                    f"spacing {sizes_text(sizes)} of {volume.grid.ndim} axes",
                    where=place_of(records, row),
                    remedy=remedy,
                )
        if self.axes[side] == "xyz" and is_array(value):
            return replace(volume, grid=np.ascontiguousarray(volume.grid.T), spacing=sizes and sizes[::-1])
        return replace(volume, spacing=sizes)

    def _unlike(self, truth: Array, prediction: Array, rows: tuple[int, int]) -> InputError:
        """The error of volumes of different sizes; an array whose axes may be in the opposite order is named."""
        remedy = "Resample the predictions to the truth."
        if truth.shape == prediction.shape[::-1]:
            remedy = "Their axes are in opposite orders: write both in the same order."
            option = self._other_axes(rows)
            if option:
                remedy = f"Their axes are in opposite orders: set the option `{option}`."
        return ShapeMismatch(
            f"{_shape(truth)} voxels, and {place_of(self.prediction, rows[1])} has {_shape(prediction)} "
            f"({_order(truth)})",
            where=place_of(self.truth, rows[0]),
            remedy=remedy,
        )

    def reversed_fit(self) -> ReversedFit | None:
        """How some badly fitting cases fit with their predictions reversed; None where no shape allows it."""
        before = after = size = cases = 0
        where = option = ""
        for pair, scanned in enumerate(self.scan):
            a, b, count = scanned.cells
            own = int(count[a > 0].sum() + count[b > 0].sum())
            shared = 2 * int(count[(a == b) & (a > 0)].sum())
            if int(self.prediction_row[pair]) < 0 or scanned.shape != scanned.shape[::-1] or 2 * shared >= own:
                continue
            case = self.case(pair)
            before, size, cases = before + shared, size + own, cases + 1
            after += 2 * int(((case.truth == case.prediction.T) & (case.truth > 0)).sum())
            where = where or case.where
            option = option or self._other_axes((int(self.truth_row[pair]), int(self.prediction_row[pair])))
            if cases == TRIED:
                break
        return ReversedFit(before / size, after / size, cases, where, option) if size else None

    def _other_axes(self, rows: tuple[int, int]) -> str:
        """The option that reverses the axes of an array; nothing where neither side is one."""
        for side in (1, 0):
            if is_array((self.truth, self.prediction)[side]["map"][rows[side]]):
                return f"{SIDES[side]}.axes={'zyx' if self.axes[side] == 'xyz' else 'xyz'}"
        return ""


def _sizes_of(volume: Volume) -> Array | None:
    return None if volume.spacing is None else np.array(volume.spacing, dtype=np.float64)


def _remarks(volume: Volume, place: str) -> tuple[tuple[str, str, str], ...]:
    return tuple((kind, place, text) for kind, text in volume.remarks.items())


def _order(sizes: Array) -> str:
    """The order of the axes that sizes are shown in."""
    axes = sizes.ndim if sizes.ndim > 1 else len(sizes)
    return "z×y×x" if axes == 3 else "y×x"


def _near(sizes: Array) -> float:
    """By how much spacings and places in mm may differ: a thousandth of a mm, or of a smaller voxel."""
    return NEAR * min(1.0, float(sizes[sizes > 0].min(initial=1.0)))


def _same_place(a: Array | None, b: Array | None, where: str) -> None:
    if a is None or b is None or np.abs(a - b).max() <= _near(np.sqrt((a[:3, :3] ** 2).sum(axis=0))):
        return
    for axis in range(3):
        if np.dot(a[:3, axis], b[:3, axis]) < 0:
            raise Incompatible(
                f"the prediction is mirrored along axis {axis} (affine)", where=where, remedy="Write it like the truth."
            )
    raise Incompatible(
        f"the volumes do not lie on each other: their affines differ by {np.abs(a - b).max():.3g}",
        where=where,
        remedy="Resample the predictions to the truth.",
    )


def place_of(records: Records, row: int) -> str:
    """Where a volume stands."""
    value = records["map"][row]
    return value if isinstance(value, str) else f"{records.place(row)} (case '{records['case'][row]}')"


def _shape(grid: Array) -> str:
    return "×".join(map(str, grid.shape))


def regions_of(text: str | None) -> dict[str, tuple[int, ...]]:
    """Structures by name from `WT=1,2,3; ET=3`."""
    regions: dict[str, tuple[int, ...]] = {}
    for part in (text or "").split(";"):
        if not part.strip():
            continue
        name, equals, labels = (side.strip() for side in part.partition("="))
        try:
            values = tuple(int(label) for label in labels.split(","))
            if not equals or not name or name in regions or min(values) < 1:
                raise ValueError
        except ValueError:
            raise InvalidSetting(
                f"option regions: '{part.strip()}' is not a valid region", remedy="Example: WT=1,2,3; ET=3."
            ) from None
        regions[name] = values
    return regions


def join(truth: Records, prediction: Records, policy: Policy, options: Options) -> VolumePairs:
    """Join the volumes by case."""
    pairs = kept_units(join_rows(truth, prediction, ("case",), policy, "sample_weight"))
    spacing = tuple(options.of("spacing") or ())
    if any(size <= 0 for size in spacing):
        raise OutOfRange(f"option spacing: {sizes_text(spacing)}", remedy="Every size is above zero.")
    axes = (options.of("axes", "truth"), options.of("axes", "prediction"))
    return VolumePairs(**pairs, regions=regions_of(options.of("regions")), given=spacing, axes=axes)
