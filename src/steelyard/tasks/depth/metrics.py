"""The metrics of depth: errors of depth, logarithms and inverse depth, ratios, edges, and the spread of scales."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.errors import InvalidSpec, UnknownName
from steelyard.core.metadata import Metadata
from steelyard.core.metric import Between, Metric
from steelyard.core.numerals import as_spec
from steelyard.core.statistic import Requirement
from steelyard.core.weights import Floats, ratio
from steelyard.tasks.depth.data import band_of
from steelyard.tasks.depth.pixels import LOG, LOGS, N
from steelyard.tasks.depth.sums import (
    DARK,
    FIGURES,
    FLAT,
    HIGH,
    HOLES,
    IMAGES,
    LOW,
    NEGATIVE,
    VALID,
    BelowThreshold,
    DepthSums,
    EdgeScores,
    ImageFigure,
    LogMoments,
    ScaleMoments,
)

ALIGNED = {
    "median": "median scaling",
    "median-lower": "lower median scaling",
    "scale": "scaled",
    "affine": "scale and shift",
    "affine-midas": "scale and shift",
}
_LIKE_BAND = re.compile(r"d?\d")


def part_text(part: str) -> str:
    """What a reader sees of a part: a band in metres, or the name of a region."""
    band = band_of(part)
    if band is None:
        return part
    return f"{band[0]:g} m and more" if band[1] == float("inf") else f"{band[0]:g} to {band[1]:g} m"


class DepthMetric(Metric):
    """Base: a figure of the valid pixels, of each image and then the mean over images, or of all pixels at once.

    `of` is the part that counts: a band of true depth (`0-20m`, `40m+`), or a region.
    """

    better: ClassVar[str] = "lower"
    range = (0.0, float("inf"))
    figure: ClassVar[str] = "abs_rel"
    logs: ClassVar[bool] = False

    of: str = "all"
    average: Literal["image", "pixel"] = "image"

    def check(self) -> None:
        """A part is a band, a region or all."""
        of = str(self.of)  # a number is read as one
        if _LIKE_BAND.match(of) and band_of(of) is None:
            raise InvalidSpec(f"'{self}': '{of}' is not a band of depth", remedy="Examples: of=0-20m, of=40m+.")

    def expand(self, metadata: Metadata) -> tuple[Metric, ...]:
        """Itself; a region must be known."""
        known = metadata.axes["region"].display_names if "region" in metadata.axes else ()
        if self.of != "all" and band_of(self.of) is None and self.of not in known:
            raise UnknownName(
                f"there is no region '{self.of}'",
                remedy=f"Give its maps with the option `region={as_spec(self.of)}=FOLDER`.",
            )
        return (self,)

    @property
    def label(self) -> str:
        """The title, with the part and the average where they are not the usual ones."""
        more = [] if self.of == "all" else [part_text(self.of)]
        return ", ".join([self.title, *more, *(["by pixel"] if self.average == "pixel" else [])])

    def label_for(self, metadata: Metadata) -> str:
        """The label, with the preset and the alignment."""
        preset = str(metadata.flags.get("preset", "none"))
        align, _, per = str(metadata.flags.get("align", "none")).partition(" ")
        more = [] if preset == "none" else [preset]
        if align != "none":
            more.append(f"{ALIGNED.get(align, align)} {per}".strip())
        return ", ".join([self.label, *more])

    def images(self) -> ImageFigure:
        """The figure of single images."""
        return ImageFigure(self.of, self.figure)

    def requirements(self) -> tuple[Requirement, ...]:
        """Sums of pixels, and where images are averaged the figure of each."""
        return (DepthSums(self.of), self.images()) if self.average == "image" else (DepthSums(self.of),)

    def reduce(self, totals: Any) -> Floats:
        if self.average == "image":
            sums = totals[self.images()]
            return ratio(sums[:, 0], sums[:, 1])
        return self.of_pixels(totals)

    def of_pixels(self, totals: Any) -> Floats:
        """The figure of all pixels at once."""
        return FIGURES[self.figure](totals[DepthSums(self.of)])

    def excluded(self, totals: Any) -> tuple[float, str]:
        sums = totals[DepthSums(self.of)][0]
        return float(sums[IMAGES] - sums[VALID] + (sums[DARK] if self.logs else 0.0)), "images without a figure"

    def notes(self, totals: Any) -> tuple[str, ...]:
        """What happened to predictions: clamped, filled, aligned with a negative scale, constant."""
        sums, flags = totals[DepthSums(self.of)][0], totals.metadata.flags
        notes = []
        if flags.get("changed"):
            notes.append(f"Other than in the preset {flags.get('preset')}: {flags['changed']}.")
        if str(flags.get("align")).endswith("sequence"):
            notes.append("The units are sequences: the images of one are aligned together.")
        empty = round(sums[IMAGES] - sums[VALID])
        if empty and self.of == "all":
            notes.append(f"{count_text(empty, 'image', 'have')} too few valid pixels and no figure.")
        if sums[LOW] or sums[HIGH]:
            share = 100 * (sums[LOW] + sums[HIGH]) / max(sums[N], 1.0)
            notes.append(
                f"{share:.3g} % of the predicted pixels are clamped: {round(sums[LOW]):,} below min, "
                f"{round(sums[HIGH]):,} above max."
            )
        if sums[HOLES]:
            notes.append(f"{count_text(round(sums[HOLES]), 'predicted pixel', 'are')} not finite.")
        if sums[NEGATIVE]:
            notes.append(
                f"The scale of the alignment is negative in {round(sums[NEGATIVE]):,} of {round(sums[VALID]):,} images:"
                " is the prediction a disparity?"
            )
        if sums[FLAT]:
            notes.append(
                f"The prediction is constant in {count_text(round(sums[FLAT]), 'image')}: the alignment makes it "
                + ("0." if str(flags.get("align")).startswith("affine-midas") else "the mean of the truth.")
            )
        if self.logs and sums[DARK]:
            notes.append(
                f"{count_text(round(sums[DARK]), 'image', 'have')} predictions of 0 or less, which have no logarithm "
                "and no inverse."
            )
        return tuple(notes)


class AbsRel(DepthMetric):
    r"""Absolute relative error: how far predictions are off, as a share of the true depth.

    $\frac{1}{n} \sum \frac{|p - g|}{g}$

    Of each image, then the mean over images; `average=pixel` is the mean over all pixels. `of=0-20m` takes pixels
    whose true depth is from 0 to below 20.

    Undefined when no image has a valid pixel.

    Pros:
    - Near and far pixels count alike.
    - The number that most papers compare.

    Cons:
    - Too short is at most 1, too far is without limit.
    """

    name: ClassVar[str] = "abs_rel"
    title: ClassVar[str] = "AbsRel"
    reference: ClassVar[str] = "ZoeDepth compute_metrics, Marigold, Depth-Anything-V2 eval_depth"


class SqRel(DepthMetric):
    r"""Squared relative error: squared errors, divided by the true depth.

    $\frac{1}{n} \sum \frac{(p - g)^2}{g}$

    `by=squared` divides by the square of the true depth, as KITTI's development kit does.

    Undefined when no image has a valid pixel.

    Pros:
    - Punishes large errors at near pixels.

    Cons:
    - Two definitions are in use under one name.
    - Depends on the unit of depth, except with `by=squared`.
    """

    name: ClassVar[str] = "sq_rel"
    title: ClassVar[str] = "SqRel"
    reference: ClassVar[str] = "ZoeDepth compute_metrics, KITTI devkit_depth"

    by: Literal["depth", "squared"] = "depth"

    @property
    def label(self) -> str:
        return super().label.replace(self.title, "SqRel by squared depth") if self.by == "squared" else super().label

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return (cls(), cls(by="squared"))

    def images(self) -> ImageFigure:
        return ImageFigure(self.of, "sq_rel2" if self.by == "squared" else "sq_rel")

    def of_pixels(self, totals: Any) -> Floats:
        return FIGURES[self.images().figure](totals[DepthSums(self.of)])


class Rmse(DepthMetric):
    r"""Root mean squared error, in the unit of depth.

    $\sqrt{\frac{1}{n} \sum (p - g)^2}$

    Undefined when no image has a valid pixel.

    Pros:
    - In metres.

    Cons:
    - Far pixels rule it.
    - By image it is lower than over all pixels; the two must not be compared.
    """

    name: ClassVar[str] = "rmse"
    title: ClassVar[str] = "RMSE"
    figure: ClassVar[str] = "rmse"
    measured_in: ClassVar[str] = "m"
    reference: ClassVar[str] = "ZoeDepth compute_metrics, Marigold, Depth-Anything-V2 eval_depth"

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return (cls(), cls(average="pixel"), cls(of="d0-20"))


class Mae(DepthMetric):
    r"""Mean absolute error, in the unit of depth.

    $\frac{1}{n} \sum |p - g|$

    Undefined when no image has a valid pixel.

    Pros:
    - In metres, and easily understood.

    Cons:
    - Far pixels count more than near ones.
    """

    name: ClassVar[str] = "mae"
    title: ClassVar[str] = "MAE"
    figure: ClassVar[str] = "mae"
    measured_in: ClassVar[str] = "m"
    reference: ClassVar[str] = "KITTI devkit_depth"


class RmseLog(DepthMetric):
    r"""Root mean squared error of the natural logarithm.

    $\sqrt{\frac{1}{n} \sum q^2}, \quad q = \ln p - \ln g$

    Undefined when no image has valid pixels whose predictions are all above 0.

    Pros:
    - Too short and too far by the same factor count alike.

    Cons:
    - A few predictions close to 0 rule it.
    """

    name: ClassVar[str] = "rmse_log"
    title: ClassVar[str] = "RMSE log"
    figure: ClassVar[str] = "rmse_log"
    logs: ClassVar[bool] = True
    reference: ClassVar[str] = "ZoeDepth compute_metrics, Marigold, Depth-Anything-V2 eval_depth"


class Log10(DepthMetric):
    r"""Mean absolute error of the decimal logarithm.

    $\frac{1}{n} \sum |\log_{10} p - \log_{10} g|$

    Undefined when no image has valid pixels whose predictions are all above 0.

    Pros:
    - Too short and too far by the same factor count alike.

    Cons:
    - Not in a unit that a reader knows.
    """

    name: ClassVar[str] = "log10"
    title: ClassVar[str] = "log10"
    figure: ClassVar[str] = "log10"
    logs: ClassVar[bool] = True
    reference: ClassVar[str] = "ZoeDepth compute_metrics, Marigold, Depth-Anything-V2 eval_depth"


class InverseRmse(DepthMetric):
    r"""Root mean squared error of inverse depth, per kilometre.

    $\sqrt{\frac{1}{n} \sum \left(\frac{1000}{p} - \frac{1000}{g}\right)^2}$

    Undefined when no image has valid pixels whose predictions are all above 0.

    Pros:
    - Near pixels count most, as obstacles do.

    Cons:
    - A few predictions close to 0 rule it.
    """

    name: ClassVar[str] = "irmse"
    title: ClassVar[str] = "iRMSE"
    figure: ClassVar[str] = "irmse"
    logs: ClassVar[bool] = True
    measured_in: ClassVar[str] = "1/km"
    reference: ClassVar[str] = "KITTI devkit_depth, Marigold"


class InverseMae(DepthMetric):
    r"""Mean absolute error of inverse depth, per kilometre.

    $\frac{1}{n} \sum \left|\frac{1000}{p} - \frac{1000}{g}\right|$

    Undefined when no image has valid pixels whose predictions are all above 0.

    Pros:
    - Near pixels count most, as obstacles do.

    Cons:
    - Far pixels hardly count.
    """

    name: ClassVar[str] = "imae"
    title: ClassVar[str] = "iMAE"
    figure: ClassVar[str] = "imae"
    logs: ClassVar[bool] = True
    measured_in: ClassVar[str] = "1/km"
    reference: ClassVar[str] = "KITTI devkit_depth"


class SiLog(DepthMetric):
    r"""Scale-invariant logarithmic error: how far logarithms are off once a common factor is taken out.

    $f \sqrt{\frac{1}{n} \sum q^2 - w \left(\frac{1}{n} \sum q\right)^2}, \quad q = \ln p - \ln g$

    ZoeDepth and Marigold: `weight=1`, `factor=100`. Depth-Anything-V2: `weight=0.5`, `factor=1`. KITTI's development
    kit: `weight=1`, `factor=1`. The sums are of centred squares: a constant factor gives 0, never nan.

    Undefined when no image has valid pixels whose predictions are all above 0.

    Pros:
    - With weight 1 a wrong scale costs nothing.

    Cons:
    - Weight and factor differ between tools under one name.
    """

    name: ClassVar[str] = "silog"
    title: ClassVar[str] = "SILog"
    figure: ClassVar[str] = "silog"
    logs: ClassVar[bool] = True
    reference: ClassVar[str] = "ZoeDepth compute_metrics, Marigold, Depth-Anything-V2 eval_depth"

    weight: Annotated[float, Between(0.0, 1.0)] = 1.0
    factor: Annotated[float, Between(0.0, open_low=True)] = 100.0

    @property
    def label(self) -> str:
        return super().label.replace(self.title, f"SILog (weight {self.weight:g}, factor {self.factor:g})", 1)

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return (cls(), cls(weight=0.5, factor=1.0), cls(average="pixel"))

    def images(self) -> ImageFigure:
        return ImageFigure(self.of, "silog", 0.0, self.weight)

    def requirements(self) -> tuple[Requirement, ...]:
        own = super().requirements()
        return own if self.average == "image" else (*own, LogMoments(self.of))

    def reduce(self, totals: Any) -> Floats:
        return self.factor * super().reduce(totals)

    def of_pixels(self, totals: Any) -> Floats:
        sums, pooled = totals[DepthSums(self.of)], totals[LogMoments(self.of)]
        spread = ratio(pooled.covariance(0, 0)[0], pooled.count)
        mean = ratio(sums[:, LOG], sums[:, LOGS])
        return np.asarray(np.sqrt(np.maximum(spread + (1.0 - self.weight) * mean * mean, 0.0)))


class Delta(DepthMetric):
    r"""Delta: the share of pixels whose depth is right up to a factor.

    $\frac{1}{n} \left|\left\{\max\left(\frac{p}{g}, \frac{g}{p}\right) < t\right\}\right|$

    `delta@1`, `delta@2` and `delta@3` have t = 1.25, 1.25² and 1.25³; `delta(threshold=1.05)` has another. It is
    computed without a division, so that a ratio of exactly t is never inside. A prediction of 0 or less is wrong.

    Undefined when no image has a valid pixel.

    Pros:
    - Outliers cost no more than other errors.

    Cons:
    - Near 1 for good models: δ3 tells little apart.
    """

    name: ClassVar[str] = "delta"
    title: ClassVar[str] = "δ"
    better: ClassVar[str] = "higher"
    range = (0.0, 1.0)
    figure: ClassVar[str] = "delta"
    at: ClassVar[str | None] = "power"
    reference: ClassVar[str] = "ZoeDepth compute_metrics, Marigold, Depth-Anything-V2 eval_depth"

    power: Annotated[int, Between(1, 10, whole=True)] | None = None
    threshold: Annotated[float, Between(1.0, open_low=True)] | None = None

    def check(self) -> None:
        """A power or a threshold."""
        super().check()
        if self.power is not None and self.threshold is not None:
            raise InvalidSpec(f"'{self}' has two thresholds", remedy="Write delta@1 or delta(threshold=1.05).")

    @property
    def limit(self) -> float:
        """The threshold of the ratio."""
        return float(self.threshold) if self.threshold is not None else 1.25 ** (self.power or 1)

    @property
    def label(self) -> str:
        own = f"{self.title} < {self.limit:g}" if self.threshold is not None else f"{self.title}{self.power or 1}"
        return super().label.replace(self.title, own, 1)

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return (cls(power=1), cls(power=2), cls(threshold=1.05), cls(power=1, average="pixel"))

    def images(self) -> ImageFigure:
        return ImageFigure(self.of, "delta", self.limit)

    def requirements(self) -> tuple[Requirement, ...]:
        own = super().requirements()
        return own if self.average == "image" else (*own, BelowThreshold(self.of, self.limit))

    def of_pixels(self, totals: Any) -> Floats:
        return ratio(totals[BelowThreshold(self.of, self.limit)], totals[DepthSums(self.of)][:, N])


class DeltaAbove(Delta):
    r"""Delta as MiDaS prints it: the share of pixels whose depth is wrong by more than a factor.

    $\frac{1}{n} \left|\left\{\max\left(\frac{p}{g}, \frac{g}{p}\right) \ge t\right\}\right|$

    One minus `delta`.

    Undefined when no image has a valid pixel.

    Pros:
    - Comparable with the tables of MiDaS.

    Cons:
    - The same letter as the share of right pixels.
    """

    name: ClassVar[str] = "delta_above"
    title: ClassVar[str] = "δ above"
    better: ClassVar[str] = "lower"
    reference: ClassVar[str] = ""

    def reduce(self, totals: Any) -> Floats:
        return 1.0 - super().reduce(totals)


class BoundaryMetric(Metric):
    """Base: a score of edges of each image, then the mean over images."""

    range = (0.0, 1.0)
    pooled: ClassVar[bool] = True

    def scores(self) -> EdgeScores:
        """The scores of images."""
        return EdgeScores(self.pooled)

    def requirements(self) -> tuple[Requirement, ...]:
        return (self.scores(),)

    def reduce(self, totals: Any) -> Floats:
        sums = totals[self.scores()]
        return ratio(sums[:, 0], sums[:, 1])

    def excluded(self, totals: Any) -> tuple[float, str]:
        sums = totals[self.scores()][0]
        return float(sums[2] - sums[1]), "images without an edge"


class SiBoundaryF1(BoundaryMetric):
    r"""Scale-invariant boundary F1, as Depth Pro defines it: how well edges of depth lie on each other.

    $\frac{\sum_t t\,F_1(t)}{\sum_t t}, \quad t = 1.05, \dots, 1.25$

    A pair of neighbours is an edge where the ratio of their inverse depths is above t. Precision and recall are means
    over four directions, and a direction without an edge counts as 0: a perfect map may score less than 1. A hole in
    the truth is an edge. `flat=zero` scores an image without any edge 0, as the reference does.

    Undefined when no image has an edge on either side.

    Pros:
    - Comparable with Depth Pro.

    Cons:
    - A perfect map without edges in two directions scores 0.42.
    """

    name: ClassVar[str] = "si_boundary_f1"
    title: ClassVar[str] = "Boundary F1 (Depth Pro)"
    pooled: ClassVar[bool] = False
    reaches_best: ClassVar[bool] = False
    reference: ClassVar[str] = "Depth Pro SI_boundary_F1"

    flat: Literal["skip", "zero"] = "skip"

    def scores(self) -> EdgeScores:
        return EdgeScores(False, self.flat)


class BoundaryF1(BoundaryMetric):
    r"""Boundary F1: how well edges of depth lie on each other, of all directions together.

    $\frac{\sum_t t\,F_1(t)}{\sum_t t}, \quad t = 1.05, \dots, 1.25$

    A pair of neighbours is an edge where the ratio of their depths is above t. The counts of the four directions are
    added before precision and recall are taken, and pairs with an invalid pixel are left out: a perfect map scores 1.

    Undefined when no image has an edge on either side.

    Pros:
    - Blurred outlines cost, which hardly show in AbsRel.

    Cons:
    - An edge that is one pixel off is a miss and a false edge.
    """

    name: ClassVar[str] = "boundary_f1"
    title: ClassVar[str] = "Boundary F1"


class ScaleSpread(Metric):
    r"""Spread of scales: the standard deviation over images of the logarithm of their scale.

    $\sqrt{\frac{1}{m} \sum_i \left(\ln s_i - \overline{\ln s}\right)^2}$

    How far a model is from metric depth: 0 means that one factor serves all images. The scale is that of the alignment;
    without an alignment of each image it is the ratio of the medians of truth and prediction. Images whose scale is
    not positive are left out.

    Undefined when no image has a positive scale.

    Pros:
    - Says what an alignment hides.

    Cons:
    - Of an affine alignment the shift takes part of it up.
    """

    name: ClassVar[str] = "scale_spread"
    title: ClassVar[str] = "Scale spread"
    better: ClassVar[str] = "lower"
    range = (0.0, float("inf"))

    def requirements(self) -> tuple[Requirement, ...]:
        return (ScaleMoments(),)

    def reduce(self, totals: Any) -> Floats:
        pooled = totals[ScaleMoments()]
        return np.asarray(np.sqrt(np.maximum(ratio(pooled.covariance(0, 0)[0], pooled.count), 0.0)))


METRICS: tuple[type[Metric], ...] = (
    AbsRel,
    SqRel,
    Rmse,
    Mae,
    RmseLog,
    Log10,
    InverseRmse,
    InverseMae,
    SiLog,
    Delta,
    DeltaAbove,
    SiBoundaryF1,
    BoundaryF1,
    ScaleSpread,
)
