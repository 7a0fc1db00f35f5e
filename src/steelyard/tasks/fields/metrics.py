"""Metrics of disparity and flow: errors, shares of outliers, WAUC, angles and quantiles, by pixel or by image."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.metadata import Metadata
from steelyard.core.metric import Between, Metric
from steelyard.core.statistic import Requirement
from steelyard.core.weights import Floats, ratio
from steelyard.tasks.fields.errors import (
    DENOMINATOR,
    EMPTY,
    LOST,
    NUMERATOR,
    Average,
    FieldSum,
    Rule,
    What,
    check_of,
)

_HOLES = {
    "outlier": "counts as an outlier and is left out of epe",
    "good": "counts as right and is left out of epe",
    "skip": "is left out",
    "fill": "is filled from its row",
}


class FieldMetric(Metric):
    """Base: a mean over pixels, or over the images' own means.

    `of` picks pixels: all, a region, or a range of true lengths such as s0-10 and s40+. `average` is pixel or image;
    without it, that of the preset counts.
    """

    better: ClassVar[str] = "lower"
    what: ClassVar[What] = "error"

    of: str = "all"
    average: Average = ""

    def statistic(self) -> FieldSum:
        """The sums that the metric divides."""
        return FieldSum(self.what, self.of, average=self.average)

    def requirements(self) -> tuple[Requirement, ...]:
        return (self.statistic(), FieldSum("density", self.of, average="pixel"))

    def reduce(self, totals: Any) -> Floats:
        kept = totals[self.statistic()]
        values = ratio(kept[:, NUMERATOR], kept[:, DENOMINATOR])
        if totals.metadata.flags.get("holes") == "skip" and self.what in (
            "error",
            "square",
            "quantile",
            "bad",
            "outlier",
        ):
            worst = 1.0 if self.what in ("bad", "outlier") else math.inf
            nothing = (kept[:, LOST] > 0) & (kept[:, DENOMINATOR] <= 0)
            values = np.where(nothing, worst, values)
            if worst == math.inf and self.is_by_image(totals.metadata):
                values = np.where(kept[:, LOST] > 0, worst, values)
        return values

    def is_by_image(self, metadata: Metadata) -> bool:
        """Whether the value is a mean over images."""
        return (self.average or metadata.flags.get("average")) == "image"

    def expand(self, metadata: Metadata) -> tuple[Metric, ...]:
        check_of(self.of, metadata)
        return (self,)

    @property
    def label(self) -> str:
        return ", ".join([self.plain_label, *([self.of] if self.of != "all" else [])] + self.further_labels())

    def label_for(self, metadata: Metadata) -> str:
        """The label, with the preset."""
        preset = metadata.flags.get("preset", "none")
        return self.label if preset == "none" else f"{self.label}, {preset}"

    @property
    def plain_label(self) -> str:
        """The name without what picks pixels."""
        return self.title

    def further_labels(self) -> list[str]:
        """Settings that the label names."""
        return [f"by {self.average}"] if self.average else []

    def excluded(self, totals: Any) -> tuple[float, str]:
        """Images that the value says nothing about."""
        kept = totals[self.statistic()]
        count, without = float(kept[0, EMPTY]), "a valid pixel"
        if self.what in ("error", "square", "angle") and totals.metadata.flags.get("holes") != "skip":
            count, without = count + float(kept[0, LOST]), "a pixel that is valid and estimated"
        return count, f"image{'s' if count != 1 else ''} without {without}"

    def notes(self, totals: Any) -> tuple[str, ...]:
        """What the preset sets otherwise; how many valid pixels have no estimate, and what that means."""
        flags = totals.metadata.flags
        changed = flags.get("changed")
        notes = (f"Other than in the preset {flags.get('preset')}: {changed}.",) if changed else ()
        return (*notes, *self._missing_notes(totals))

    def _missing_notes(self, totals: Any) -> tuple[str, ...]:
        estimated, valid = totals[FieldSum("density", self.of, average="pixel")][0, :2]
        if self.of != "all" or self.what not in ("error", "outlier") or estimated == valid:
            return ()
        missing = count_text(round(valid - estimated), "valid pixel", "have")
        holes = totals.metadata.flags.get("holes")
        return (f"{missing} no estimate; each {_HOLES[holes]} (option holes={holes}).",)


class EndPointError(FieldMetric):
    r"""End-point error: how far an estimate is from the truth, on average.

    $\mathrm{EPE} = \frac{1}{n} \sum_i \lVert \hat d_i - d_i \rVert$

    The mean is over all pixels of all images (`average=pixel`), or over the images' own means (`average=image`). Pixels
    without an estimate are left out: see `density`.

    Undefined when no pixel is valid and estimated.

    Pros:
    - In pixels, and every error counts.

    Cons:
    - A few large errors decide it.
    """

    name: ClassVar[str] = "epe"
    title: ClassVar[str] = "End-point error"
    range: ClassVar[tuple[float, float]] = (0.0, math.inf)
    measured_in: ClassVar[str] = "px"
    aliases: ClassVar[tuple[str, ...]] = ("aee", "mae", "avgerr", "end_point_error")
    reference: ClassVar[str] = "RAFT evaluate.py, flow_library AEE"

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return (cls(), cls(average="image"), cls(of="s0-10"))


class RootMeanSquare(FieldMetric):
    r"""RMS: the root of the mean squared error.

    $\mathrm{RMS} = \sqrt{\frac{1}{n} \sum_i \lVert \hat d_i - d_i \rVert^2}$

    Undefined when no pixel is valid and estimated.

    Pros:
    - In pixels.

    Cons:
    - Large errors count by their square.
    """

    name: ClassVar[str] = "rms"
    title: ClassVar[str] = "RMS error"
    what: ClassVar[What] = "square"
    range: ClassVar[tuple[float, float]] = (0.0, math.inf)
    measured_in: ClassVar[str] = "px"
    reference: ClassVar[str] = "ETH3D two-view-evaluation"

    def reduce(self, totals: Any) -> Floats:
        values = super().reduce(totals)
        return values if self.is_by_image(totals.metadata) else np.sqrt(values)


class Outliers(FieldMetric):
    """Base: the share of pixels whose error is above 3 px and above 5 % of the true length."""

    what: ClassVar[What] = "outlier"
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)

    rule: Rule = ""

    def statistic(self) -> FieldSum:
        return FieldSum("outlier", self.of, average=self.average, rule=self.rule)

    def further_labels(self) -> list[str]:
        return super().further_labels() + ([f"{self.rule} rule"] if self.rule else [])


class D1(Outliers):
    r"""D1: the share of pixels whose disparity is more than 3 px and more than 5 % off.

    $\mathrm{D1} = \frac{1}{n} \left| \{ i : E_i > 3 \wedge E_i > 0.05\, d_i \} \right|$

    `rule=kitti` divides in single precision as KITTI's program does: an error of exactly 5 % is then an outlier.

    Undefined when no pixel is valid.

    Pros:
    - Few gross errors do not decide it.

    Cons:
    - Small errors cost nothing.
    """

    name: ClassVar[str] = "d1"
    title: ClassVar[str] = "D1"
    aliases: ClassVar[tuple[str, ...]] = ("d1_all", "d1-all")
    reference: ClassVar[str] = "KITTI 2015 devkit"


class Fl(Outliers):
    r"""Fl: the share of pixels whose flow is more than 3 px and more than 5 % off.

    $\mathrm{Fl} = \frac{1}{n} \left| \{ i : E_i > 3 \wedge E_i > 0.05\, \lVert d_i \rVert \} \right|$

    `rule=kitti` divides in single precision as KITTI's program does: an error of exactly 5 % is then an outlier.

    Undefined when no pixel is valid.

    Pros:
    - Few gross errors do not decide it.

    Cons:
    - Small errors cost nothing.
    """

    name: ClassVar[str] = "fl"
    title: ClassVar[str] = "Fl"
    aliases: ClassVar[tuple[str, ...]] = ("fl_all", "fl-all", "f1_all")
    reference: ClassVar[str] = "KITTI 2015 devkit"


class Bad(FieldMetric):
    r"""Bad pixels: the share whose error is above a threshold.

    $\mathrm{bad}_\tau = \frac{1}{n} \left| \{ i : E_i > \tau \} \right|$

    The comparison is strict. What a missing estimate is, the option `holes` says.

    Undefined when no pixel is valid.

    Pros:
    - Says how much of the image is as good as one needs.

    Cons:
    - Depends on the threshold.
    """

    name: ClassVar[str] = "bad"
    title: ClassVar[str] = "Bad pixels"
    what: ClassVar[What] = "bad"
    at: ClassVar[str | None] = "threshold"
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    aliases: ClassVar[tuple[str, ...]] = ("bp", "outliers")
    reference: ClassVar[str] = "Middlebury SDK 1.6 evaldisp"

    threshold: Annotated[float, Between(0.0)] = 2.0

    @property
    def plain_label(self) -> str:
        return f"{self.title} > {self.threshold:g} px"

    def statistic(self) -> FieldSum:
        return FieldSum("bad", self.of, float(self.threshold), self.average)

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return (cls(threshold=1.0), cls(threshold=2.0))


class Density(FieldMetric):
    r"""Density: the share of valid pixels that have an estimate.

    $\mathrm{density} = \frac{n_{\mathrm{estimated}}}{n}$

    Undefined when no pixel is valid.

    Pros:
    - Says how much the error of estimated pixels leaves out.

    Cons:
    - Says nothing about how good they are.
    """

    name: ClassVar[str] = "density"
    title: ClassVar[str] = "Density"
    what: ClassVar[What] = "density"
    better: ClassVar[str] = "higher"
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    aliases: ClassVar[tuple[str, ...]] = ("coverage",)
    reference: ClassVar[str] = "KITTI 2015 devkit"


class Wauc(FieldMetric):
    r"""WAUC: the area under the curve of inliers over thresholds up to 5 px, where small thresholds count more.

    $\mathrm{WAUC} = \frac{\sum_{i=1}^{100} w_i\, p(E \le i/20)}{\sum_i w_i}, \quad w_i = 1 - \frac{i - 1}{100}$

    p is the share of pixels with at most that error (Richter et al. 2017, VIPER). It is 1 where every error is at most
    0.05 px.

    Undefined when no pixel is valid.

    Pros:
    - Rewards precision below a pixel, and no single threshold decides it.

    Cons:
    - Errors above 5 px all count alike.
    """

    name: ClassVar[str] = "wauc"
    title: ClassVar[str] = "WAUC"
    what: ClassVar[What] = "wauc"
    better: ClassVar[str] = "higher"
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    reference: ClassVar[str] = "Spring benchmark, getWAUC"


class AngularError(FieldMetric):
    r"""Angular error: the angle between (u, v, 1) of estimate and truth, on average.

    $\mathrm{AAE} = \frac{1}{n} \sum_i \operatorname{atan2}(\lVert a_i \times b_i \rVert, a_i \cdot b_i)$

    Undefined when no pixel is valid and estimated.

    Pros:
    - Errors of slow pixels count more than in the end-point error.

    Cons:
    - The 1 is arbitrary, and large motions hardly count.
    """

    name: ClassVar[str] = "aae"
    title: ClassVar[str] = "Angular error"
    what: ClassVar[What] = "angle"
    range: ClassVar[tuple[float, float]] = (0.0, 180.0)
    measured_in: ClassVar[str] = "°"
    reference: ClassVar[str] = "flow_library AAE"

    def reduce(self, totals: Any) -> Floats:
        return np.degrees(super().reduce(totals))


class ErrorQuantile(FieldMetric):
    r"""Quantile of the error: the error that a given percentage of an image's pixels stays below, averaged over images.

    $A_q = E_{(\lfloor n q / 100 \rfloor)}$

    It is the value at that place of the sorted errors of an image (ETH3D's A50 to A99), then the mean over images.

    Undefined when no pixel is valid and estimated.

    Pros:
    - A50 ignores gross errors, and A99 shows them.

    Cons:
    - Quantiles of images do not add up to that of all pixels.
    """

    name: ClassVar[str] = "a"
    title: ClassVar[str] = "Error quantile"
    what: ClassVar[What] = "quantile"
    at: ClassVar[str | None] = "percent"
    range: ClassVar[tuple[float, float]] = (0.0, math.inf)
    measured_in: ClassVar[str] = "px"
    reference: ClassVar[str] = "ETH3D two-view-evaluation"

    percent: Annotated[float, Between(0.0, 99.999, open_low=True)] = 90.0

    @property
    def plain_label(self) -> str:
        return f"{self.title} {self.percent:g} %"

    def is_by_image(self, metadata: Metadata) -> bool:
        return True

    def statistic(self) -> FieldSum:
        return FieldSum("quantile", self.of, float(self.percent), self.average)


DISPARITY_METRICS: tuple[type[Metric], ...] = (EndPointError, RootMeanSquare, D1, Bad, Density, Wauc, ErrorQuantile)
FLOW_METRICS: tuple[type[Metric], ...] = (
    EndPointError,
    RootMeanSquare,
    Fl,
    Bad,
    Density,
    Wauc,
    AngularError,
    ErrorQuantile,
)
