"""Task `normals`: pairs of maps of directions, read one at a time, and the angles between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from steelyard import _native
from steelyard.core.counts import count_text
from steelyard.core.errors import EmptyInput, InvalidNumber, InvalidSetting
from steelyard.core.frozen import Frozen
from steelyard.core.metadata import Axis, Metadata
from steelyard.core.options import Option, Options
from steelyard.core.pairs import Array
from steelyard.core.records import Records
from steelyard.core.task import Policy
from steelyard.maps.each import for_each
from steelyard.maps.fields import Reading
from steelyard.tasks.fields.data import FieldPairs, field_schemas, join_fields, not_kept, readings_of
from steelyard.tasks.fields.options import Chosen, preset_option

TRUTH, PREDICTION = field_schemas("the normal of each pixel, three components")
PRESETS: dict[str, dict[str, Any]] = {"dsine": {"average": "pixel"}, "marigold_normals": {"average": "image"}}
OPTIONS = (
    preset_option(PRESETS),
    Option(
        "axes",
        "text",
        "Axes of the predictions in those of the truth, such as 'x -y -z' for flipped y and z.",
        default="x y z",
        sides=False,
        metavar="AXES",
    ),
)
BINS = 1141
LIMITS = (5.0, 7.5, 11.25, 22.5, 30.0)  # that a device counts the angles below of
NOT_FINITE = 4  # the column of a device's numbers that counts predictions that are not finite
MOST_KEPT = 1 << 23  # angles that are kept in memory for the second pass, instead of reading files again
# The first for exactly 0, then 0.05 degrees wide up to 30, 0.1 up to 60, 0.5 up to 180. The usual limits are edges.
EDGES = np.concatenate([[0.0], np.arange(600) / 20, 30 + np.arange(300) / 10, 60 + np.arange(241) / 2])


class AngleRow(Frozen):
    """What is kept of the angles of an image: how many, their sum and that of their squares, counts below limits, by
    bin, the median, and predictions of length 0."""

    n: int
    sums: Array
    below: Array
    bins: Array
    median: float
    zero: int
    angles: Array | None = None  # where few pixels are measured and a second pass is to come


def measured_row(numbers: Array, limits: tuple[float, ...], parts: Sequence[str], source: str) -> dict[str, AngleRow]:
    """The row of an image that was measured on a device; an error where more is asked for than was kept.

    The columns: pixels, sums of angles and of their squares, predictions of length 0 and not finite, the median, pixels
    below each of `LIMITS`, and pixels by bin.
    """
    part = next((part for part in parts if part != "all"), None)
    lacking = next((limit for limit in limits if limit not in LIMITS), None)
    if part is not None or lacking is not None:
        raise not_kept(
            f"a metric needs of={part}" if part is not None else f"a metric needs the limit {lacking:g}", source
        )
    n, angle, square, zero, _, median = numbers[:6].tolist()
    below = numbers[[6 + LIMITS.index(limit) for limit in limits]]
    return {"all": AngleRow(int(n), np.array([angle, square]), below, numbers[-BINS:], median, int(zero))}


def field_readings(chosen: Chosen) -> tuple[Reading, Reading]:
    """How both sides are read: in predictions a vector of length 0 is a value."""
    first, second = readings_of(chosen, "normals", 3)
    return first, replace(second, zero=False)


def parse_axes(text: str) -> tuple[tuple[int, float], ...]:
    """For each component of the truth, which of the prediction it is, and its sign."""
    names = text.replace(",", " ").split()
    axes = tuple(("xyz".find(name[-1:].lower()), -1.0 if name.startswith("-") else 1.0) for name in names)
    if sorted(axis for axis, _ in axes) != [0, 1, 2] or any(name.lstrip("+-") not in tuple("xyzXYZ") for name in names):
        raise InvalidSetting(
            f"option axes: '{text}' does not name x, y and z", remedy="Example: 'x -y -z' flips y and z."
        )
    return axes


class NormalPairs(FieldPairs):
    """Images with both maps, which are read when they are measured."""

    axes: tuple[tuple[int, float], ...] = ((0, 1.0), (1, 1.0), (2, 1.0))
    average: str = "pixel"
    preset: str = "none"

    @cached_property
    def metadata(self) -> Metadata:
        """The regions, and how images are averaged."""
        return Metadata({"region": Axis(self.regions)}, {"average": self.average})

    def maps(self, pair: int) -> tuple[Array, Array, Array | None]:
        """Truth, prediction in the truth's axes, and mask; a missing prediction is of length 0 everywhere."""
        truth, prediction = self.load_pair(pair)
        if prediction is None:
            prediction = np.zeros_like(truth)
        kind = np.float64 if np.float64 in (truth.dtype, prediction.dtype) else np.float32
        if self.axes != NormalPairs.axes:
            prediction = np.stack([prediction[:, :, axis] * sign for axis, sign in self.axes], axis=2)
        sides = [np.ascontiguousarray(side, dtype=kind) for side in (truth, prediction)]
        return sides[0], sides[1], self.mask(pair, truth.shape)

    def angles(self, pair: int, part: str = "all") -> tuple[Array, int]:
        """The angles of valid pixels in degrees, and how many predictions have length 0."""
        truth, prediction, mask = self.maps(pair)
        if part != "all":
            inside = self.region(pair, part, truth.shape)
            mask = inside if mask is None else inside & (mask != 0)
        packed = None if mask is None else np.ascontiguousarray(mask, dtype=np.uint8)
        angles, zero, bad, first = _native.normal_angles(truth, prediction, packed)
        if bad:
            row, column = divmod(first, truth.shape[1])
            raise InvalidNumber(
                f"{count_text(bad, 'predicted pixel', 'are')} not finite (first at row {row}, column {column})",
                where=self.place(pair, 1),
                remedy="Write finite normals, or leave the pixels out with a mask.",
            )
        return angles, zero

    def scan(
        self, limits: tuple[float, ...], parts: Sequence[str], *, again: bool, medians: bool
    ) -> list[dict[str, AngleRow]]:
        """All images, for each part; an error where none has a valid pixel. `again` says that a second pass comes."""
        wanted = np.array(limits, dtype=np.float64)
        most = MOST_KEPT // max(1, len(self.owner) * len(parts)) if again else 0

        def of_image(pair: int) -> dict[str, AngleRow]:
            rows = {}
            for part in parts:
                angles, zero = self.angles(pair, part)
                sums, below, bins = _native.angle_sums(angles, wanted)
                median = float(np.median(angles)) if medians and len(angles) else float("nan")
                kept_angles = angles if len(angles) <= most else None
                rows[part] = AngleRow(len(angles), sums, below, bins, median, zero, kept_angles)
            return rows

        numbers = self.measured
        if numbers is None:
            results = for_each(len(self.owner), of_image)
        else:
            results = [measured_row(row, limits, parts, self.truth.source) for row in numbers]
        if results and not any(rows["all"].n for rows in results):
            raise EmptyInput(
                "no image has a valid pixel: all true normals are zero, not finite or masked",
                where=self.truth.source,
                remedy="Are these maps of normals?",
            )
        return results


def join(truth: Records, prediction: Records, policy: Policy, options: Options) -> NormalPairs:
    """Join the maps by image."""
    chosen = Chosen.from_presets(options, PRESETS)
    return join_fields(
        NormalPairs,
        truth,
        prediction,
        policy,
        readings=field_readings(chosen),
        resize=str(chosen.of("resize")),
        axes=parse_axes(str(chosen.of("axes"))),
        average=str(chosen.setting("average", "pixel")),
        preset=chosen.name,
    )
