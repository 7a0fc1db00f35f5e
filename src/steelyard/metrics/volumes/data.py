"""Task `volumes`: from records to masks of structures, case by case, one pair of volumes in memory at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import cached_property
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.align.join import join_rows
from steelyard.core.errors import InputError
from steelyard.core.facts import Axis, Facts
from steelyard.core.frozen import frozen
from steelyard.core.options import Option, Options
from steelyard.core.pairs import Array, Pairs
from steelyard.core.records import Column, Records, Schema
from steelyard.core.task import Policy
from steelyard.maps.each import for_each
from steelyard.maps.load import load_volume, refuse_lost
from steelyard.maps.nifti import Volume
from steelyard.metrics.segmentation.data import kept_units

NEAR = 1e-3  # of spacings and affines of two files that lie on each other
_COLUMNS = (
    Column("case", "id", meaning="the case, which is the unit; in a folder the file's path without its ending"),
    Column("map", "volume", meaning="the label of each voxel, 0 for none: a NIfTI, .npy or .npz file, or an array"),
    Column("spacing", "numbers", required=False, meaning="the size of a voxel along each axis, in mm"),
)
TRUTH = Schema(
    key=("case",),
    columns=(
        *_COLUMNS,
        Column("sample_weight", "number", required=False, flags=True, minimum=0, meaning="the weight of the case"),
    ),
)
PREDICTION = Schema(key=("case",), columns=_COLUMNS)
OPTIONS = (
    Option("regions", "text", "structures as unions of labels, such as 'WT=1,2,3; ET=3'; else each label is one",
           sides=False, metavar="TEXT"),
    Option("spacing", "numbers", "the size of a voxel in mm along each axis of an array, where a file does not say it",
           sides=False, metavar="SIZES"),
    Option("suffix", "text", "what stands behind the names of files, such as _seg; only files that have it count",
           reads=True, metavar="TEXT"),
)  # fmt: skip


@frozen
class Scanned:
    """A case that was counted: pairs of labels, the shape, the spacing in mm or None where it is not known."""

    cells: tuple[Array, Array, Array]
    shape: tuple[int, ...]
    spacing: Array | None
    where: str

    def sizes(self) -> Array:
        """The spacing; an error where it is not known."""
        if self.spacing is None:
            remedy = f"Say it: --spacing {','.join('1' * len(self.shape))}, in mm along each axis."
            raise InputError("the size of a voxel is not known", where=self.where, remedy=remedy)
        return self.spacing

    @property
    def voxel(self) -> float:
        """The volume of a voxel in mm³."""
        return float(np.prod(self.sizes()))

    def diagonal(self) -> float:
        """The diagonal of the volume in mm."""
        return float(np.sqrt(((np.array(self.shape) * self.sizes()) ** 2).sum()))


@frozen
class Case:
    """Both volumes of a case: `spacing` in mm, or None where it is not known."""

    truth: Array
    prediction: Array
    spacing: Array | None
    where: str

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


@frozen
class VolumePairs(Pairs):
    """Cases with both volumes, which are read when they are measured."""

    regions: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    given: tuple[float, ...] = ()

    @cached_property
    def scan(self) -> list[Scanned]:
        """All cases, counted."""

        def counted(pair: int) -> Scanned:
            case = self.case(pair)
            return Scanned(_native.map_cells(case.truth, case.prediction), case.truth.shape, case.spacing, case.where)

        return for_each(len(self.owner), counted)

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
    def facts(self) -> Facts:
        """The structures, in the order in which they are named, or of their labels."""
        if self.regions:
            names = tuple(sorted(self.regions))
            return Facts({"structure": Axis(names)})
        return Facts({"structure": Axis(tuple(int(name) for name in self.structures), whole=True)})

    def listed(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        """The place of each structure on the axis, and its labels."""
        for place, name in enumerate(self.facts.axes["structure"].ids):
            yield place, self.structures[str(name)]

    def case(self, pair: int) -> Case:
        """Both volumes of a pair; a missing prediction finds nothing."""
        row, other = int(self.truth_row[pair]), int(self.prediction_row[pair])
        where = place_of(self.truth, row)
        truth = _volume(self.truth, row)
        spacing = self._spacing(self.truth, row, truth)
        if other < 0:
            return Case(truth.grid, np.zeros_like(truth.grid), spacing, where)
        prediction = _volume(self.prediction, other)
        if truth.grid.shape != prediction.grid.shape:
            raise InputError(
                f"{_shape(truth.grid)} voxels, and {place_of(self.prediction, other)} has {_shape(prediction.grid)}",
                where=where,
                remedy="Resample the predictions to the truth.",
            )
        second = self._spacing(self.prediction, other, prediction)
        if spacing is not None and second is not None and np.abs(spacing - second).max() > NEAR:
            raise InputError(
                f"spacing {_sizes(spacing)} in the truth, {_sizes(second)} in the prediction",
                where=where,
                remedy="Resample the predictions, or leave the wrong spacing out.",
            )
        _same_place(truth.affine, prediction.affine, where)
        return Case(truth.grid, prediction.grid, spacing if spacing is not None else second, where)

    def _spacing(self, records: Records, row: int, volume: Any) -> Array | None:
        if "spacing" in records:
            spacing: Any = records["spacing"][row]
        else:
            spacing = volume.spacing or self.given or None
        if spacing is None:
            return None
        sizes = np.asarray(spacing, dtype=np.float64)
        if len(sizes) != volume.grid.ndim or not (np.isfinite(sizes) & (sizes > 0)).all():
            raise InputError(
                f"spacing {_sizes(sizes)} of {volume.grid.ndim} axes",
                where=place_of(records, row),
                remedy="It is a size above zero for each axis.",
            )
        return sizes


def _volume(records: Records, row: int) -> Volume:
    try:
        return load_volume(records["map"][row])
    except InputError:
        refuse_lost(records, row)
        raise


def _same_place(a: Array | None, b: Array | None, where: str) -> None:
    if a is None or b is None or np.abs(a - b).max() <= NEAR:
        return
    for axis in range(3):
        if np.dot(a[:3, axis], b[:3, axis]) < 0:
            raise InputError(
                f"the prediction is mirrored along axis {axis} (affine)", where=where, remedy="Write it like the truth."
            )
    raise InputError(
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


def _sizes(sizes: Array) -> str:
    return "×".join(f"{v:g}" for v in sizes.tolist())


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
            raise InputError(
                f"option regions: '{part.strip()}' is no structure", remedy="Example: WT=1,2,3; ET=3."
            ) from None
        regions[name] = values
    return regions


def join(truth: Records, prediction: Records, policy: Policy, options: Options) -> VolumePairs:
    """Join the volumes by case."""
    pairs = kept_units(join_rows(truth, prediction, ("case",), policy, "sample_weight"))
    given = tuple(options.of("spacing") or ())
    if any(size <= 0 for size in given):
        raise InputError(f"option spacing: {_sizes(np.array(given))}", remedy="Every size is above zero.")
    return VolumePairs(**pairs, regions=regions_of(options.of("regions")), given=given)
