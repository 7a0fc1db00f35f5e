"""Metrics of anomalies: by image, by pixel, by region of the mask, by defect, and by image over good images.

Conventions: a value is computed for each object by itself, and the mean over objects is shown. Scores are taken as they
are: nothing is put into bins, and equal scores form one step. `like` copies the rules of another tool.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.errors import InvalidSpec
from steelyard.core.metric import Between, Metric, UnitClasses
from steelyard.core.pairs import Array
from steelyard.core.rows import RowsBlock
from steelyard.core.state import State, TotalsView
from steelyard.core.statistic import RankingReader, Requirement
from steelyard.core.weights import Floats
from steelyard.tasks.anomalies.pixels import KNOTS, pixels_of
from steelyard.tasks.anomalies.readers import ImageFigure, PixelFigure, image_rows
from steelyard.tasks.anomalies.statistics import ImageScores, Regions


def mean_over_objects(values: Floats) -> Floats:
    """The mean of the objects that have a value; nan where none has."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a row without any value
        return np.asarray(np.nanmean(values, axis=1))


KINDS = ("good", "defective")  # classes of images


def of_objects_with_both(unit: Array, objects: Array, defective: Array) -> UnitClasses:
    """Whether images are defective, of the objects that have good and defective ones."""
    both = np.isin(objects, objects[defective]) & np.isin(objects, objects[~defective])
    return UnitClasses(unit[both], defective[both].astype(np.int64), KINDS)


class OverObjects(Metric):
    """Base of the metrics that are means over objects."""

    range = (0.0, 1.0)
    averaged: ClassVar[tuple[str, str]] = ("object", "objects")  # what the mean is over: one of it, several

    @property
    @abstractmethod
    def reading(self) -> RankingReader:
        """What is read for each object."""

    def requirements(self) -> tuple[Requirement, ...]:
        return (self.reading,)

    def reduce(self, totals: TotalsView) -> Floats:
        return mean_over_objects(totals[self.reading])

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        values = totals[self.reading][0]
        defined = int((~np.isnan(values)).sum())
        pooled = ("Scores of all objects are pooled.",) if totals.metadata.flags.get("objects") == "pool" else ()
        if len(values) < 2:
            return pooled
        lacking = f"; {count_text(len(values) - defined, 'other', 'have')} no value" if defined < len(values) else ""
        means = "Scores are means" if self.averaged == OverObjects.averaged else f"{self} is the mean"
        return (*pooled, f"{means} of {defined} {self.averaged[defined != 1]}{lacking}.")


class ImageMetric(OverObjects):
    """Base of the metrics of images by their scores."""

    figure: ClassVar[str]

    image_score: Literal["max", "mean", "top"] = "max"
    share: Annotated[float, Between(0, 1, open_low=True)] = 0.01

    @property
    def reading(self) -> ImageFigure:
        return ImageFigure(self._scores, self.figure)

    def unit_classes(self, state: State) -> UnitClasses | None:
        block = state.blocks[self._scores]
        if not isinstance(block, RowsBlock):
            return None
        unit, objects, _, defective = image_rows(block)
        return of_objects_with_both(unit, objects, defective)

    @property
    def _scores(self) -> ImageScores:
        return ImageScores(self.image_score, float(self.share) if self.image_score == "top" else 0.01)

    @property
    def label(self) -> str:
        words = {"max": "", "mean": ", mean of the map", "top": f", top {self.share:.3g} of the map"}
        return f"{self.title}{words[self.image_score]}"


class ImageAuroc(ImageMetric):
    r"""AUROC of images: the chance that a defective image has a higher score than a good one.

    $P(s_+ > s_-) + \tfrac12 P(s_+ = s_-)$

    The score of an image is the column `score` of the predictions, else the highest of its map (`image_score=max`), its
    mean, or the mean of its highest values (`image_score=top, share=0.01`).

    Undefined when an object has no good or no defective image.

    Pros:
    - Needs no threshold and no mask.

    Cons:
    - Near 1 for most models on MVTec AD: look at the interval before ranking them.
    """

    name = "image_auroc"
    title = "AUROC of images"
    aliases = ("i_auroc", "image_roc_auc")
    reference = "sklearn.metrics.roc_auc_score"
    figure = "auroc"
    chance = 0.5


class ImageAp(ImageMetric):
    r"""Average precision of images: precision at every step of recall, summed by the step.

    $\sum_n (R_n - R_{n-1})\,P_n$

    Undefined when an object has no good or no defective image.

    Pros:
    - Looks at the top of the ranking, where an inspector begins.

    Cons:
    - Chance is the share of defective images, which differs between data sets.
    """

    name = "image_ap"
    title = "AP of images"
    aliases = ("i_ap", "image_aupr")
    reference = "sklearn.metrics.average_precision_score"
    figure = "ap"


class ImageF1Max(ImageMetric):
    r"""Best F1 of images: the highest F1 that any threshold of the score reaches.

    $\max_t 2\,TP_t / (2\,TP_t + FP_t + FN_t)$

    The threshold is chosen on the test images themselves, so the value is too good.

    Undefined when an object has no good or no defective image.

    Pros:
    - What the ranking allows once a threshold has been chosen well.

    Cons:
    - Chosen on the same data: calling every image defective can already score high.
    """

    name = "image_f1_max"
    title = "Best F1 of images"
    aliases = ("i_f1_max", "image_f1max")
    reference = "sklearn.metrics.precision_recall_curve"
    figure = "f1"

    @property
    def _best(self) -> ImageFigure:
        return ImageFigure(self._scores, "f1_threshold")

    def requirements(self) -> tuple[Requirement, ...]:
        return (self.reading, self._best)

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        return (*super().notes(totals), *threshold_note(self, totals[self._best][0]))


def threshold_note(metric: Metric, values: Floats) -> tuple[str, ...]:
    """Say at which threshold one object is best."""
    if len(values) != 1 or np.isnan(values[0]):
        return ()
    return (f"{metric} is reached at scores from {values[0]:.6g} up, chosen on the test set itself.",)


class PixelMetric(OverObjects):
    """Base of the metrics of pixels."""

    needs_good: ClassVar[bool] = False  # whether normal pixels of defective images do not count

    @property
    def regions(self) -> Regions:
        """The packed scores that are read."""
        return Regions()

    def undefined_reason(self, totals: TotalsView) -> str:
        for what, side in (("maps", "predictions hold"), ("masks", "truth holds")):
            if what not in totals.metadata.holds:
                return f"the {side} no {what}"
        return super().undefined_reason(totals)

    def unit_classes(self, state: State) -> UnitClasses | None:
        """None where most images are defective, unless good images are needed: others have normal pixels, too."""
        block = state.blocks[self.regions]
        if not isinstance(block, RowsBlock):
            return None
        pixels = pixels_of(block)
        unit = np.flatnonzero(pixels.there)
        held = of_objects_with_both(unit, np.array(pixels.objects, dtype=str)[unit], np.isin(unit, pixels.region_unit))
        return held if self.needs_good or 2 * held.code.sum() < len(held.code) else None


class PixelAuroc(PixelMetric):
    r"""AUROC of pixels: the chance that a defective pixel has a higher score than a normal one.

    $\frac{1}{P} \sum_s n_s\,(1 - F_s - \tfrac{a_s}{2})$

    Over all pixels of all images of an object. $n_s$ defective pixels have the score s, a share $F_s$ of the normal
    pixels a higher one and $a_s$ the same.

    Undefined when an object has no normal or no defective pixel.

    Pros:
    - Needs no threshold; the most common number of localisation.

    Cons:
    - Large defects decide it, and so few pixels are defective that 0.98 may still flag mostly normal ones: see aupro.
    """

    name = "pixel_auroc"
    title = "AUROC of pixels"
    aliases = ("p_auroc", "pixel_roc_auc")
    reference = "sklearn.metrics.roc_auc_score"
    chance = 0.5

    @property
    def reading(self) -> PixelFigure:
        return PixelFigure(self.regions, "auroc")


class PixelAp(PixelMetric):
    r"""Average precision of pixels: precision at every step of recall, summed by the step.

    $\sum_n (R_n - R_{n-1})\,P_n$

    `rule=trapezoid` draws straight lines between the points, as anomalib's AUPR does up to 2.6: it flatters maps with
    few distinct scores.

    Undefined when an object has no normal or no defective pixel.

    Pros:
    - Sees false alarms that pixel_auroc hides, since defective pixels are rare.

    Cons:
    - Chance is the share of defective pixels; large defects decide it.
    """

    name = "pixel_ap"
    title = "AP of pixels"
    aliases = ("p_ap", "pixel_aupr")
    reference = "sklearn.metrics.average_precision_score"

    rule: Literal["step", "trapezoid"] = "step"

    @property
    def reading(self) -> PixelFigure:
        return PixelFigure(self.regions, "ap", rule=self.rule)

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return (cls(), cls("trapezoid"))


class PixelF1Max(PixelMetric):
    r"""Best F1 of pixels: the highest F1 that any threshold of the score reaches.

    $\max_t 2\,TP_t / (2\,TP_t + FP_t + FN_t)$

    The threshold is chosen on the test images themselves, so the value is too good; `seg_f1(threshold=t)` takes one
    that was chosen elsewhere.

    Undefined when an object has no normal or no defective pixel.

    Pros:
    - What a segmentation by threshold can reach.

    Cons:
    - Chosen on the same data, and decided by large defects.
    """

    name = "pixel_f1_max"
    title = "Best F1 of pixels"
    aliases = ("p_f1_max", "pixel_f1max")
    reference = "sklearn.metrics.precision_recall_curve"

    @property
    def reading(self) -> PixelFigure:
        return PixelFigure(self.regions, "f1")

    @property
    def _best(self) -> PixelFigure:
        return PixelFigure(self.regions, "f1_threshold")

    def requirements(self) -> tuple[Requirement, ...]:
        return (self.reading, self._best)

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        return (*super().notes(totals), *threshold_note(self, totals[self._best][0]))


class RegionArea(PixelMetric):
    """Base of the areas under the overlap of regions, whose draws may be counted in bins of scores."""

    @property
    @abstractmethod
    def reading(self) -> PixelFigure:
        """What is read for each object."""

    @property
    def _bound(self) -> PixelFigure:
        return replace(self.reading, figure="bound", like="", thresholds=0)

    def requirements(self) -> tuple[Requirement, ...]:
        return (self.reading, self._bound)

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        bound = totals[self._bound][0]
        bound = bound[~np.isnan(bound)]
        if not len(bound):
            return super().notes(totals)
        text = f"trial draws are within {bound.max():.1g} of their exact values."
        return (*super().notes(totals), f"Draws of the interval count scores in {KNOTS:,} bins or fewer: {text}")


class Aupro(RegionArea):
    r"""AUPRO: the area under mean region overlap against the false positive rate up to a limit, divided by the limit.

    $\frac{1}{L} \int_0^L \frac{1}{R} \sum_r \frac{|r \cap \{s \ge t(x)\}|}{|r|}\,dx$

    A region is a connected part of a mask (`neighbours=8`); each counts the same, however small. The false positive
    rate is over all pixels outside masks, of good and defective images (`normal=defective` takes those of defective
    images alone). Where the limit lies between two points, the curve is cut there; the divisor is always the limit. So
    a constant map scores half the limit. `like=mvtec3d` with `thresholds=n` takes n thresholds at equal steps of the
    sorted normal scores, and `like=anomalib2.3` loses masks that cover their whole image.

    Undefined when an object has no region or no normal pixel.

    Pros:
    - Small and large defects count the same, at false positive rates that a user can bear.

    Cons:
    - One mislabelled region of a pixel weighs as much as a large defect.
    """

    name = "aupro"
    title = "AUPRO"
    at = "limit"
    aliases = ("au_pro", "pro_auc")
    reference = "the MVTec AD evaluation script"

    limit: Annotated[float, Between(0, 1, open_low=True)] = 0.3
    neighbours: Literal[8, 4] = 8
    normal: Literal["all", "defective"] = "all"
    like: Literal["mvtec", "mvtec3d", "anomalib2.3"] = "mvtec"
    thresholds: Annotated[int, Between(0, 1_000_000, whole=True)] = 0

    @property
    def label(self) -> str:
        return f"AUPRO up to FPR {self.limit:g}"

    def check(self) -> None:
        if (self.like == "mvtec3d") != (self.thresholds > 0):
            raise InvalidSpec(
                "metric 'aupro': thresholds and like=mvtec3d belong together",
                remedy="Write like=mvtec3d, thresholds=100.",
            )

    @property
    def regions(self) -> Regions:
        return Regions(str(self.neighbours), "normal" if self.like == "anomalib2.3" else "region")  # type: ignore[arg-type]

    @property
    def reading(self) -> PixelFigure:
        like = "" if self.like == "mvtec" else self.like
        return PixelFigure(
            self.regions, "aupro", float(self.limit), normal=self.normal, like=like, thresholds=self.thresholds
        )

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return (cls(), cls(0.05), cls(1.0, neighbours=4), cls(normal="defective"), cls(like="anomalib2.3"))


class Auspro(RegionArea):
    r"""AUsPRO: the area under mean saturated overlap of defects against the false positive rate, divided by the limit.

    $\frac{1}{L} \int_0^L \frac{1}{D} \sum_d \min\left(\frac{|d \cap \{s > t(x)\}|}{S_d}, 1\right) dx$

    A defect is a mask of its own (MVTec LOCO), whatever its parts; it is found whole from its saturation area $S_d$ on,
    which `defects_config.json` gives; a relative one is at least a pixel. Without such masks, regions are defects and
    saturate at their area. The value is the mean over the groups of defects (logical, structural), each with all good
    images.

    Undefined when an object has no defect or no normal pixel.

    Pros:
    - Right for logical anomalies: a missing part may be marked anywhere in its area.

    Cons:
    - Saturation areas are choices of the data set.
    """

    name = "auspro"
    title = "AUsPRO"
    averaged = ("object or group of defects", "objects or groups of defects")
    at = "limit"
    aliases = ("au_spro", "spro")
    reference = "the MVTec LOCO evaluation script"

    limit: Annotated[float, Between(0, 1, open_low=True)] = 0.05

    @property
    def label(self) -> str:
        return f"AUsPRO up to FPR {self.limit:g}"

    @property
    def regions(self) -> Regions:
        return Regions("defects")

    @property
    def reading(self) -> PixelFigure:
        return PixelFigure(self.regions, "aupro", float(self.limit), saturated=True)


class Aupimo(PixelMetric):
    r"""AUPIMO: the recall of each defective image over the logarithm of the false positive rate of good images.

    $\frac{1}{I} \sum_i \frac{1}{\log(h/l)} \int_{\log l}^{\log h} T_i(x)\,dx$

    The mean over defective images i. The rate is the mean over good images of their share of pixels at or above the
    threshold; pixels of defective images do not enter it. `like=anomalib` moves the bounds to the nearest rates that
    occur, as anomalib does with many thresholds.

    Undefined when an object has no defective image, or its good images have fewer pixels than one over the lower bound.

    Pros:
    - Each defective image has a value of its own, at false positive rates that a production line can bear.

    Cons:
    - Needs many good pixels: a rate of 1e-5 cannot be seen in fewer than 100,000.
    """

    name = "aupimo"
    title = "AUPIMO"
    among_units = True  # the value of an image is by the rates of the good images
    needs_good = True
    reference = "anomalib.metrics.AUPIMO"

    low: Annotated[float, Between(0, 1, open_low=True)] = 1e-5
    high: Annotated[float, Between(0, 1, open_low=True)] = 1e-4
    like: Literal["", "anomalib"] = ""

    @property
    def label(self) -> str:
        return f"AUPIMO from FPR {self.low:g} to {self.high:g}"

    def check(self) -> None:
        if self.low >= self.high:
            raise InvalidSpec(
                f"metric 'aupimo': low={self.low:g} is not below high={self.high:g}",
                remedy="Both are false positive rates above 0 and up to 1.",
            )

    @property
    def reading(self) -> PixelFigure:
        return PixelFigure(self.regions, "aupimo", float(self.high), float(self.low), like=self.like)

    @property
    def _good_pixels(self) -> PixelFigure:
        return PixelFigure(self.regions, "good_pixels")

    def requirements(self) -> tuple[Requirement, ...]:
        return (self.reading, self._good_pixels)

    def undefined_reason(self, totals: TotalsView) -> str:
        pixels = float(np.max(totals[self._good_pixels][0], initial=0.0))
        if 0 < pixels * self.low < 1:
            return f"{pixels:,.0f} pixels of good images cannot show a false positive rate of {self.low:g}"
        return super().undefined_reason(totals)

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return (cls(0.05, 0.5),)


class AtThreshold(PixelMetric):
    """Base of the metrics at one threshold."""

    threshold: Annotated[float, Between(-1e300, 1e300)] = 0.5

    @property
    def label(self) -> str:
        return f"{self.title} at {self.threshold:g}"

    @property
    def reading(self) -> PixelFigure:
        return PixelFigure(self.regions, self.name, threshold=float(self.threshold))


class Pro(AtThreshold):
    r"""Region overlap at a threshold: the mean over regions of the share of their pixels that score at least so much.

    $\frac{1}{R} \sum_r |r \cap \{s \ge t\}| / |r|$

    Undefined when an object has no region.

    Pros:
    - Says what an inspector with this threshold sees of each defect.

    Cons:
    - Says nothing of false alarms.
    """

    name = "pro"
    title = "Region overlap"


class SegF1(AtThreshold):
    r"""F1 of pixels at a threshold that was chosen elsewhere.

    $2\,TP_t / (2\,TP_t + FP_t + FN_t)$

    Undefined when an object has no defective pixel.

    Pros:
    - Honest: nothing is chosen on the test set.

    Cons:
    - One threshold must fit all objects; slice by object, or score them apart.
    """

    name = "seg_f1"
    title = "F1 of pixels"


class SegIou(AtThreshold):
    r"""Intersection over union of defective pixels at a threshold that was chosen elsewhere.

    $TP_t / (TP_t + FP_t + FN_t)$

    Undefined when an object has no defective pixel.

    Pros:
    - Honest: nothing is chosen on the test set.

    Cons:
    - Large defects decide it.
    """

    name = "seg_iou"
    title = "IoU of pixels"


METRICS: tuple[type[Metric], ...] = (
    ImageAuroc,
    ImageAp,
    ImageF1Max,
    PixelAuroc,
    PixelAp,
    PixelF1Max,
    Aupro,
    Auspro,
    Aupimo,
    Pro,
    SegF1,
    SegIou,
)
