"""Average precision and average recall of boxes: what depends on the whole ranking."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar, Literal

import numpy as np

from steelyard.core.frozen import frozen
from steelyard.core.legacy import StatsMetric as Metric
from steelyard.core.metric import one_of
from steelyard.core.spec import Range, render_value
from steelyard.core.stats import Array, Stats
from steelyard.core.weights import Floats, Plain, Weights
from steelyard.metrics.boxes.matches import Matches, curves, figures, told
from steelyard.metrics.boxes.settings import (
    STANDARD,
    STANDARD_MOST,
    AreaSetting,
    area_of,
    check_area,
    check_ious,
    check_most,
    label_code,
    matched,
)

Kind = Literal["coco", "voc", "voc11", "step"]
Rule = Literal["coco", "voc"]


def mean_defined(values: Array) -> float:
    """The mean of what is defined, added up as the reference does (one flat array); nan where nothing is."""
    flat = values[~np.isnan(values)]
    return float(np.mean(flat)) if len(flat) else float("nan")


def average_precision(
    stats: Stats,
    weights: Weights,
    iou: float | Range,
    area: AreaSetting,
    most: int,
    kind: str = "coco",
    rule: str = "coco",
    label: str | int | None = None,
) -> Floats:
    """Average precision for each row of weights: the mean over thresholds and over classes that have truth."""
    found, which = matched(stats, iou, area, most, rule)
    code = label_code(stats, label)
    if kind == "coco" and isinstance(weights, Plain):
        precision = _curves(stats, weights, found, most)[0]
        chosen = precision[which] if code is None else precision[which][:, :, code]
        return np.array([mean_defined(chosen)])
    value = _figures(stats, weights, found, most, kind, code)[0]
    return np.asarray(value[:, which].mean(axis=1))


def _curves(stats: Stats, weights: Plain, found: Matches, most: int) -> tuple[Array, Array, Array]:
    return stats.under(weights, ("curves", id(found), most), lambda: curves(found, weights.array, most))


def _figures(
    stats: Stats, weights: Weights, found: Matches, most: int, kind: str, code: int | None
) -> tuple[Floats, Floats]:
    key = ("figures", id(found), most, kind, code)
    return stats.under(weights, key, lambda: figures(found, weights, most, kind, label=code))


def _sized(title: str, area: AreaSetting) -> str:
    if area == "all":
        return title
    return f"{title}, {area} objects" if isinstance(area, str) else f"{title}, area {area[0]:g} to {area[1]:g}"


@frozen
class AveragePrecision(Metric):
    r"""Average precision at one IoU threshold: the mean, over classes, of the area under precision against recall.

    $\mathrm{AP} = \frac{1}{K} \sum_k \int_0^1 p_k(r)\,dr$

    Detections are taken from the highest score down; one is right where it finds a truth of its class, not found
    before, with IoU at least `iou`. The kind says how the area is taken: `coco` (the default: 101 points of recall,
    precision made falling), `voc` (the whole area under the falling curve), `voc11` (11 points) and `step` (the plain
    sum of precision times the step in recall, equal scores being one step). `label` asks for one class; `rule=voc`
    lets a detection try only the truth that it overlaps most.

    Undefined when no class has truth.

    Pros:
    - One number for the ranking of all detections: no score threshold has to be chosen.

    Cons:
    - Says nothing about any one working point; many false positives of low score cost next to nothing.
    - The kinds differ by some points: name the kind.
    """

    name = "ap"
    title = "Average precision"
    reference = "pycocotools 2.0.11"
    leans = True

    kind: Kind = "coco"
    iou: float | Range = 0.5
    area: AreaSetting = "all"
    max_dets: int = 100
    rule: Rule = "coco"
    only: str | int | None = field(default=None, metadata={"spec": "label"})

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        """One of each kind."""
        return (cls(), cls(kind="voc"), cls(kind="voc11"), cls(kind="step"), cls(kind="voc11", rule="voc"))

    def check(self) -> None:
        """Check every setting."""
        one_of(self, "kind", "coco", "voc", "voc11", "step")
        one_of(self, "rule", "coco", "voc")
        check_ious(self, self.iou)
        check_area(self, self.area)
        check_most(self, "max_dets")

    def reduce(self, stats: Stats, weights: Weights) -> Floats:
        """Mean over classes and thresholds."""
        return average_precision(stats, weights, self.iou, self.area, self.max_dets, self.kind, self.rule, self.only)


@frozen
class MeanAveragePrecision(Metric):
    r"""Mean average precision over IoU 0.5 to 0.95: the number that COCO ranks by.

    $\mathrm{mAP} = \frac{1}{10} \sum_{t = 0.5}^{0.95} \frac{1}{K} \sum_k \mathrm{AP}_k(t)$

    The mean of the average precision over ten thresholds and over the classes that have truth. `area` counts only
    objects of a size (small below 32² pixels, medium to 96², large); `kind` and `max_dets` are as in `ap`.

    Undefined when no class has truth.

    Pros:
    - Rewards a good fit, not only found objects.
    - Comparable with published results: equal to pycocotools to the last bit.

    Cons:
    - Hides which of class, place or score is wrong: see the error breakdown.
    - Every class counts the same, however rare.
    """

    name = "map"
    title = "mAP, IoU 0.5:0.95"
    reference = "pycocotools 2.0.11"
    leans = True

    iou: float | Range = STANDARD
    area: AreaSetting = "all"
    max_dets: int = 100
    kind: Kind = "coco"

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        """The whole, and by area."""
        return (cls(), cls(area="small"), cls(area="medium"), cls(area="large"))

    def check(self) -> None:
        """Check every setting."""
        one_of(self, "kind", "coco", "voc", "voc11", "step")
        check_ious(self, self.iou)
        check_area(self, self.area)
        check_most(self, "max_dets")

    @property
    def label(self) -> str:
        """Name the thresholds and the area."""
        return _sized(f"mAP, IoU {render_value(self.iou)}", self.area)

    def reduce(self, stats: Stats, weights: Weights) -> Floats:
        """Mean over classes and thresholds."""
        return average_precision(stats, weights, self.iou, self.area, self.max_dets, self.kind)

    def notes(self, stats: Stats, weights: Weights) -> tuple[str, ...]:
        """False positives in classes without truth, which no AP sees; and equal scores, whose order is the input's."""
        if self.area != "all":
            return ()
        found, _ = matched(stats, self.iou, self.area, self.max_dets)
        return tuple(filter(None, (_hidden(found), _ties(found))))


def _hidden(found: Matches) -> str:
    every, has_truth, _ = told(found)
    sizes = every[has_truth == 0]
    hidden, classes = int(sizes.sum()), int(np.count_nonzero(sizes))
    if not hidden:
        return ""
    return f"{hidden:,} detections are of {classes:,} classes without truth: all wrong, and no AP counts them."


def _ties(found: Matches) -> str:
    ties = int(told(found)[2].sum())
    if not ties:
        return ""
    if ties == 1:
        return "1 detection has the score of another of its class: they keep the input's order."
    return f"{ties:,} detections have the score of another of their class: they keep the input's order."


@frozen
class _AtThreshold(Metric):
    """mAP at one threshold."""

    iou: ClassVar[float]
    reference = "pycocotools 2.0.11"
    leans = True

    area: AreaSetting = "all"
    max_dets: int = 100

    def check(self) -> None:
        """Check every setting."""
        check_area(self, self.area)
        check_most(self, "max_dets")

    @property
    def label(self) -> str:
        """Name the area."""
        return _sized(self.title, self.area)

    def reduce(self, stats: Stats, weights: Weights) -> Floats:
        """Mean over classes."""
        return average_precision(stats, weights, self.iou, self.area, self.max_dets)


@frozen
class MeanAveragePrecision50(_AtThreshold):
    r"""Mean average precision at IoU 0.5: as PASCAL VOC counts a hit, with the 101 points of COCO.

    $\mathrm{mAP}_{50} = \frac{1}{K} \sum_k \mathrm{AP}_k(0.5)$

    Undefined when no class has truth.

    Pros:
    - Forgiving of a loose fit: shows whether objects are found at all.

    Cons:
    - A detection that is half off counts as perfect.
    """

    name = "map50"
    title = "mAP, IoU 0.5"
    iou = 0.5


@frozen
class MeanAveragePrecision75(_AtThreshold):
    r"""Mean average precision at IoU 0.75: only detections that fit well count.

    $\mathrm{mAP}_{75} = \frac{1}{K} \sum_k \mathrm{AP}_k(0.75)$

    Undefined when no class has truth.

    Pros:
    - Shows how well they fit, next to mAP at 0.5.

    Cons:
    - Harsh on small objects, where a pixel decides.
    """

    name = "map75"
    title = "mAP, IoU 0.75"
    iou = 0.75


@frozen
class AverageRecall(Metric):
    r"""Average recall with at most k detections an image and class: how much is found at all.

    $\mathrm{AR}_k = \frac{1}{10} \sum_{t = 0.5}^{0.95} \frac{1}{K} \sum_c \mathrm{TP}_c(t, k) \;/\; \mathrm{P}_c$

    Undefined when no class has truth.

    Pros:
    - The upper bound of what a better ranking of the same detections could reach.

    Cons:
    - False positives are free as long as they fit into k.
    """

    name = "ar"
    title = "Average recall"
    at = "max_dets"
    reference = "pycocotools 2.0.11"

    max_dets: int = 100
    area: AreaSetting = "all"
    iou: float | Range = STANDARD

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        """Those of COCO that a perfect model brings to 1 whatever the data: `ar@1` finds one object an image."""
        sizes = tuple(cls(100, area) for area in ("small", "medium", "large"))
        return (cls(10), cls(100), *sizes)

    def check(self) -> None:
        """Check every setting."""
        check_ious(self, self.iou)
        check_area(self, self.area)
        check_most(self, "max_dets")

    @property
    def label(self) -> str:
        """Name the number of detections and the area."""
        return _sized(f"Average recall, {self.max_dets} detections", self.area)

    def reduce(self, stats: Stats, weights: Weights) -> Floats:
        """Mean over classes and thresholds."""
        found, which = matched(stats, self.iou, self.area, self.max_dets)
        if isinstance(weights, Plain):
            return np.array([mean_defined(_curves(stats, weights, found, self.max_dets)[1][which])])
        shared = self.max_dets == STANDARD_MOST  # with the average precision of the same area
        recall = _figures(stats, weights, found, self.max_dets, "coco" if shared else "recall", None)[1]
        return np.asarray(recall[:, which].mean(axis=1))


def reference_arrays(stats: Stats, *, quirks: bool = True, most: tuple[int, ...] = (1, 10, 100)) -> dict[str, Array]:
    """The whole arrays that pycocotools' `accumulate` makes: precision, recall and scores, with -1 for undefined.

    Shapes are (thresholds, recalls, classes, areas, most detections), recall without the second. `quirks=True` loses
    the annotation with id 0 as the reference does.
    """
    from steelyard.metrics.boxes.matches import AREAS, IOUS, matches

    parts = [
        [
            curves(matches(stats, IOUS, area_of(area), max(most), quirks=quirks), np.ones(len(stats)), m)
            for m in most
        ]
        for area in AREAS
    ]  # fmt: skip
    arrays = {}
    for i, name in enumerate(("precision", "recall", "scores")):
        stacked = np.stack([np.stack([part[i] for part in row], axis=-1) for row in parts], axis=-2)
        arrays[name] = np.where(np.isnan(stacked), -1.0, stacked)
    return arrays
