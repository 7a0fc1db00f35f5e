"""The metrics of normals: angles between true and predicted directions."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.errors import UnknownName
from steelyard.core.metadata import Metadata
from steelyard.core.metric import Between, Metric
from steelyard.core.numerals import as_spec
from steelyard.core.statistic import Requirement
from steelyard.core.weights import Floats, Role, ratio
from steelyard.tasks.normals.sums import (
    ANGLE,
    COUNT,
    IMAGES,
    SQUARE,
    VALID,
    ZERO,
    AngleBins,
    AngleSums,
    ExactMedian,
    ImageAngles,
    Within,
    binned_median,
)


class NormalMetric(Metric):
    """Base: a figure of angles, of all pixels at once or of each image and then the mean over images.

    Without `average` the preset says which, else it is by pixel. `of` is a region.
    """

    better: ClassVar[str] = "lower"
    range = (0.0, 180.0)
    measured_in: ClassVar[str] = "°"
    figure: ClassVar[str] = "mean"
    reference: ClassVar[str] = "Marigold src/util/metric.py"

    of: str = "all"
    average: Literal["image", "pixel"] | None = None

    def expand(self, metadata: Metadata) -> tuple[Metric, ...]:
        """Itself, with the average of the preset; a region must be known."""
        regions = metadata.axes["region"].display_names if "region" in metadata.axes else ()
        if self.of != "all" and self.of not in regions:
            raise UnknownName(
                f"there is no region '{self.of}'",
                remedy=f"Give its maps with the option `region={as_spec(self.of)}=FOLDER`.",
            )
        if self.average is None and metadata.flags.get("average") == "image":
            return (replace(self, average="image"),)
        return (self,)

    @property
    def label(self) -> str:
        more = [] if self.of == "all" else [self.of]
        return ", ".join([self.title, *more, *(["mean of images"] if self.average == "image" else [])])

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return (cls(), cls(average="image"))

    def images(self) -> ImageAngles:
        """The figure of single images."""
        return ImageAngles(self.of, self.figure)

    def requirements(self) -> tuple[Requirement, ...]:
        return (AngleSums(self.of), self.images()) if self.average == "image" else (AngleSums(self.of), *self.pixels())

    def pixels(self) -> tuple[Requirement, ...]:
        """What the figure of all pixels needs beside their sums."""
        return ()

    def reduce(self, totals: Any) -> Floats:
        if self.average == "image":
            sums = totals[self.images()]
            return ratio(sums[:, 0], sums[:, 1])
        return self.of_pixels(totals)

    def of_pixels(self, totals: Any) -> Floats:
        """The figure of all pixels at once."""
        sums = totals[AngleSums(self.of)]
        return ratio(sums[:, ANGLE], sums[:, COUNT])

    def excluded(self, totals: Any) -> tuple[float, str]:
        sums = totals[AngleSums(self.of)][0]
        return float(sums[IMAGES] - sums[VALID]), "images without a valid pixel"

    def notes(self, totals: Any) -> tuple[str, ...]:
        """Predictions of length 0, and images without a valid pixel."""
        sums = totals[AngleSums(self.of)][0]
        notes = []
        if sums[ZERO]:
            notes.append(f"{count_text(round(sums[ZERO]), 'predicted normal', 'have')} length 0 and count as 90°.")
        empty = round(sums[IMAGES] - sums[VALID])
        if empty and self.of == "all":
            notes.append(f"{count_text(empty, 'image', 'have')} no valid pixel and no figure.")
        return tuple(notes)


class MeanAngle(NormalMetric):
    r"""Mean angle between true and predicted normals, in degrees.

    $\frac{1}{n} \sum \operatorname{atan2}(\|a \times b\|, a \cdot b)$

    The angle is exact for any length of both vectors: equal vectors are at 0, where an arc cosine in single precision
    gives up to 0.02°. A predicted vector of length 0 counts as 90°.

    Undefined when no image has a valid pixel.

    Pros:
    - Easily understood.

    Cons:
    - Large angles rule it.
    """

    name: ClassVar[str] = "angle"
    title: ClassVar[str] = "Mean angle"


class AngleRmse(NormalMetric):
    r"""Root mean squared angle between true and predicted normals, in degrees.

    $\sqrt{\frac{1}{n} \sum \theta^2}$

    Undefined when no image has a valid pixel.

    Pros:
    - Punishes large angles.

    Cons:
    - A few wrong surfaces rule it.
    """

    name: ClassVar[str] = "angle_rmse"
    title: ClassVar[str] = "RMSE of angles"
    figure: ClassVar[str] = "rmse"

    def of_pixels(self, totals: Any) -> Floats:
        sums = totals[AngleSums(self.of)]
        return np.asarray(np.sqrt(ratio(sums[:, SQUARE], sums[:, COUNT])))


class MedianAngle(NormalMetric):
    r"""Median angle between true and predicted normals, in degrees.

    $\operatorname{median}\, \theta$

    Over all pixels the value is exact where all images are measured together: a second pass over the files collects the
    angles of the median's bin. Bootstrap draws, batches and merged states interpolate inside the bin, which is 0.05°
    wide up to 30°; `exact=false` always does, so that parts give the same bits as the whole. With `average=image` it is
    the mean over images of their exact medians, as in Marigold.

    Undefined when no image has a valid pixel.

    Pros:
    - Wrong surfaces do not move it.

    Cons:
    - Half of the pixels may be anywhere.
    """

    name: ClassVar[str] = "angle_median"
    title: ClassVar[str] = "Median angle"
    figure: ClassVar[str] = "median"

    exact: bool = True

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return (cls(exact=False), cls(average="image"))

    def pixels(self) -> tuple[Requirement, ...]:
        return (AngleBins(self.of), ExactMedian(self.of)) if self.exact else (AngleBins(self.of),)

    def of_pixels(self, totals: Any) -> Floats:
        if self.exact and totals.role is Role.POINT:
            n, angles, squares = totals[ExactMedian(self.of)][0]
            if n > 0 and abs(squares / n - n) <= 1e-9 * n:
                return np.array([angles / n])
        return binned_median(totals[AngleBins(self.of)])

    def notes(self, totals: Any) -> tuple[str, ...]:
        """Whether the median over pixels is exact."""
        own = super().notes(totals)
        if self.average == "image" or not self.exact:
            return own
        n, _, squares = totals[ExactMedian(self.of)][0]
        if n > 0 and abs(squares / n - n) > 1e-9 * n and totals[AngleSums(self.of)][0, IMAGES] > 1:
            return (*own, "The median is interpolated inside a bin, 0.05° wide up to 30°.")
        return own


class WithinAngle(NormalMetric):
    r"""Share of pixels whose angle is below a limit.

    $\frac{1}{n} |\{\theta < t\}|$

    `within@11.25`; usual limits are 5, 7.5, 11.25, 22.5 and 30 degrees. The limit itself is outside.

    Undefined when no image has a valid pixel.

    Pros:
    - Wrong surfaces cost no more than other errors.

    Cons:
    - Depends on the limit.
    """

    name: ClassVar[str] = "within"
    title: ClassVar[str] = "Within"
    better: ClassVar[str] = "higher"
    range = (0.0, 1.0)
    measured_in: ClassVar[str] = ""
    figure: ClassVar[str] = "within"
    at: ClassVar[str | None] = "limit"

    limit: Annotated[float, Between(0.0, 180.0, open_low=True)] = 11.25

    @property
    def label(self) -> str:
        return super().label.replace(self.title, f"Within {self.limit:g}°", 1)

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return (cls(), cls(limit=30.0), cls(average="image"))

    def images(self) -> ImageAngles:
        return ImageAngles(self.of, "within", float(self.limit))

    def pixels(self) -> tuple[Requirement, ...]:
        return (Within(self.of, float(self.limit)),)

    def of_pixels(self, totals: Any) -> Floats:
        return ratio(totals[Within(self.of, float(self.limit))], totals[AngleSums(self.of)][:, COUNT])


METRICS: tuple[type[Metric], ...] = (MeanAngle, AngleRmse, MedianAngle, WithinAngle)
