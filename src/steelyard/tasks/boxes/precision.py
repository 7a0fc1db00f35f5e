"""Average precision and average recall of boxes: what depends on the whole ranking."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import field
from typing import Any, ClassVar, Literal

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.errors import Conflict, InvalidSpec, first_few
from steelyard.core.metric import Metric
from steelyard.core.pairs import Array
from steelyard.core.ranking import RankingBlock
from steelyard.core.spec import Range, render_value
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Requirement
from steelyard.core.weights import Floats
from steelyard.tasks.boxes.matches import AREAS, IOUS, STANDARD_AREAS, match_objects
from steelyard.tasks.boxes.pairs import BoxPairs
from steelyard.tasks.boxes.ranking import (
    ALONE,
    GRIDS,
    ClassesWithTruth,
    FigureValues,
    RankingFigure,
    RankingSummary,
    detections,
    ranking_of,
)
from steelyard.tasks.boxes.settings import (
    MOST,
    STANDARD,
    STANDARD_MOST,
    AreaSetting,
    Most,
    check_area,
    check_ious,
)

Frequency = Literal["r", "c", "f"]
Classes = tuple[str | int, ...]
OFTEN = {"r": "rare", "c": "common", "f": "frequent"}


def class_group(metric: Any) -> tuple[Any, ...] | None:
    """The classes that a metric is a mean over; None for all."""
    if metric.frequency is not None:
        return ("frequency", metric.frequency)
    if metric.classes is None:
        return None
    listed = metric.classes if isinstance(metric.classes, tuple) else (metric.classes,)
    return ("classes", *listed)


def check_group(metric: Any) -> None:
    """Check the classes of a mean."""
    if metric.frequency is not None and metric.classes is not None:
        raise Conflict(f"'{metric}': frequency and classes both say which classes", remedy="Give one of them.")
    listed = metric.classes if isinstance(metric.classes, tuple) else (metric.classes,)
    if metric.classes is not None and not (listed and all(isinstance(v, str | int) for v in listed)):
        raise InvalidSpec(f"metric '{metric.name}': classes cannot be {metric.classes}", remedy="Give [name, name].")


def title_with_classes(title: str, metric: Any) -> str:
    """A title with the classes behind it."""
    if metric.frequency is not None:
        return f"{title}, {OFTEN[metric.frequency]} classes"
    if metric.classes is None:
        return title
    listed = metric.classes if isinstance(metric.classes, tuple) else (metric.classes,)
    return f"{title}, {first_few(list(map(str, listed)))}"


Kind = Literal["coco", "voc", "voc11", "step", "loop"]
Ties = Literal["step", "order"]
Reduction = Literal["mean", "sum"]
INFINITY = float("inf")
Rule = Literal["coco", "voc", "dota", "openimages", "openimages_v2"]
LVIS_MOST = 300
Read = tuple[RankingFigure, tuple[int, ...]]  # a curve, and the places of the thresholds that are averaged


def _figure(
    kind: str, iou: float | Range, area: AreaSetting, most: int, rule: str = "coco", label: str | int | None = None,
    group: tuple[Any, ...] | None = None, ties: str = "step",
) -> Read:  # fmt: skip
    """What is read for an average over thresholds. A kind that walks all detections is read at one, if that is all."""
    ranking, place, places = detections(iou, area, rule)
    if kind in ALONE and len(places) == 1:
        return RankingFigure(ranking, kind, place, most, places[0], label, group, ties), (0,)
    return RankingFigure(ranking, kind, place, most, None, label, group, ties), places


class _Averaged(Metric):
    """A mean over thresholds and classes of a figure along the ranking."""

    reference = "pycocotools 2.0.11"
    cap: ClassVar[int] = STANDARD_MOST  # detections of a class in an image that count in COCO's metrics

    @property
    @abstractmethod
    def figure(self) -> Read:
        """What is read."""

    @property
    def settings(self) -> Any:
        """The metric with the settings that all of them have: each class keeps its own order of them, as specs do."""
        return self

    def check(self) -> None:
        """Check that `ties` fits `kind`."""
        settings = self.settings
        if settings.ties == "order" and settings.kind not in ("step", "loop"):
            raise InvalidSpec(
                f"metric '{self.name}': ties cannot be order with kind={settings.kind}",
                remedy="The kinds coco, voc and voc11 always take equal scores in order: leave ties out.",
            )

    @property
    def range(self) -> tuple[float, float]:  # type: ignore[override]
        """A sum over classes has no upper end."""
        return (0.0, INFINITY) if self.settings.reduction == "sum" else (0.0, 1.0)

    @property
    def most(self) -> int:
        """How many detections of a class count in an image."""
        settings = self.settings
        coco = settings.kind == "coco" and getattr(self, "rule", "coco") == "coco"
        return int(settings.max_dets) if settings.max_dets is not None else self.cap if coco else MOST

    @property
    def summary(self) -> RankingSummary:
        """What the notes are about."""
        curve = self.figure[0]
        return RankingSummary(curve.ranking, curve.max_dets)

    @property
    def classes_with_truth(self) -> ClassesWithTruth:
        """What a sum over classes is a mean times."""
        curve = self.figure[0]
        return ClassesWithTruth(figure=curve, ranking=curve.ranking)

    def requirements(self) -> tuple[Requirement, ...]:
        summed = (self.classes_with_truth,) if self.settings.reduction == "sum" else ()
        return self.figure[0], self.summary, *summed

    def reduce(self, totals: TotalsView) -> Floats:
        """Mean over classes and thresholds, or the sum over classes of the mean over thresholds."""
        curve, places = self.figure
        values: FigureValues = totals[curve]
        mean = values.mean_figure(places)
        return mean * totals[self.classes_with_truth] if self.settings.reduction == "sum" else mean

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        return self.summary.remarks(totals[self.summary], self.figure[0].groups(totals.metadata))


def _title_with_area(title: str, area: AreaSetting) -> str:
    if area == "all":
        return title
    return f"{title}, {area} objects" if isinstance(area, str) else f"{title}, area {area[0]:g} to {area[1]:g}"


class AveragePrecision(_Averaged):
    r"""Average precision at one IoU threshold: the mean, over classes, of the area under precision against recall.

    $\mathrm{AP} = \frac{1}{K} \sum_k \int_0^1 p_k(r)\,dr$

    Detections are visited in order of decreasing score; one is a true positive if it matches an unmatched object of its
    class with IoU of at least `iou`. `kind` sets how the area is computed: `coco` (the default: 101 recall points,
    precision made monotonically decreasing), `voc` (the whole area under the monotone curve), `voc11` (11 points) or
    `step` (the sum of precision times the step in recall, equal scores being one step). With `ties=order` equal scores
    are visited one by one, images in the order of their ids and detections in input order. `kind=loop` is `step` as the
    loop `for i in range(1, n)` computes it: without the first step. `reduction=sum` adds the classes up instead of
    averaging them. `label` selects one class. With `rule=voc` a detection may match only the object that it overlaps
    most; `rule=dota` is the same with IoU above `iou` instead of at least. `rule=openimages` is as `voc`, and all
    detections with at least `iou` of their area inside a group box are one true positive together, with their best
    score; with `rule=openimages_v2` they are ignored. `max_dets` is how many detections of a class count per image: by
    default COCO's cap for `kind=coco, rule=coco`, and no cap otherwise.

    Undefined when no class has truth.

    Pros:
    - One number for the ranking of all detections: no score threshold has to be chosen.

    Cons:
    - Says nothing about any one working point; many false positives of low score cost next to nothing.
    - The kinds differ by some points: name the kind.
    """

    name = "ap"
    title = "Average precision"
    also_at = "iou"

    kind: Kind = "coco"
    iou: float | Range = 0.5
    area: AreaSetting = "all"
    max_dets: Most | None = None
    rule: Rule = "coco"
    only: str | int | None = field(default=None, metadata={"spec": "label"})
    ties: Ties = "step"
    reduction: Reduction = "mean"

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return (cls(), cls(kind="voc"), cls(kind="voc11"), cls(kind="step"), cls(kind="voc11", rule="voc"))

    def check(self) -> None:
        super().check()
        check_ious(self, self.iou)
        check_area(self, self.area)

    @property
    def figure(self) -> Read:
        return _figure(self.kind, self.iou, self.area, self.most, self.rule, self.only, ties=self.ties)


class MeanAveragePrecision(_Averaged):
    r"""Mean average precision over IoU 0.5 to 0.95: the number that COCO ranks by.

    $\mathrm{mAP} = \frac{1}{10} \sum_{t = 0.5}^{0.95} \frac{1}{K} \sum_k \mathrm{AP}_k(t)$

    The mean of the average precision over ten thresholds and over the classes that have truth. `area` counts only
    objects of a size (small below 32² pixels, medium to 96², large); `kind`, `ties`, `reduction` and `max_dets` are as
    in `ap`.
    `frequency` takes the mean over the rare (r), common (c) or frequent (f) classes of LVIS, and `classes=[a, b]` over
    those, such as the base or the novel classes of an open vocabulary; all detections are matched as ever.

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
    aliases = ("mean average precision",)
    also_at = "iou"

    iou: float | Range = STANDARD
    area: AreaSetting = "all"
    max_dets: Most | None = None
    kind: Kind = "coco"
    frequency: Frequency | None = None
    classes: Classes | None = None
    ties: Ties = "step"
    reduction: Reduction = "mean"

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return (cls(), cls(area="small"), cls(area="medium"), cls(area="large"))

    def check(self) -> None:
        super().check()
        check_ious(self, self.iou)
        check_area(self, self.area)
        check_group(self)

    @property
    def label(self) -> str:
        return title_with_classes(_title_with_area(f"mAP, IoU {render_value(self.iou)}", self.area), self)

    @property
    def figure(self) -> Read:
        return _figure(self.kind, self.iou, self.area, self.most, group=class_group(self), ties=self.ties)

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        """Also false positives in classes without truth, which no AP sees; and equal scores."""
        remarks = super().notes(totals)
        if self.area != "all":
            return remarks
        every, has_truth, equal = totals[self.summary][:3]
        in_order = self.ties == "order" or self.kind not in ("step", "loop")
        ties = _ties(int(equal.sum())) if in_order else ""
        return (*remarks, *filter(None, (_hidden_remark(every[has_truth == 0]), ties)))


def _hidden_remark(sizes: Array) -> str:
    hidden, classes = int(sizes.sum()), int(np.count_nonzero(sizes))
    if not hidden:
        return ""
    subject = f"{count_text(hidden, 'detection')} of {count_text(classes, 'class')} without ground truth"
    return f"{subject}: false positives that count in no AP."


def _ties(ties: int) -> str:
    if not ties:
        return ""
    subject = f"{count_text(ties, 'detection')} {'ties' if ties == 1 else 'tie'}"
    return f"{subject} with another of the same class; ties keep input order."


class _AtThreshold(_Averaged):
    """mAP at one threshold."""

    iou: ClassVar[float]

    area: AreaSetting = "all"
    max_dets: Most | None = None
    frequency: Frequency | None = None
    classes: Classes | None = None
    kind: Kind = "coco"
    ties: Ties = "step"
    reduction: Reduction = "mean"

    def check(self) -> None:
        super().check()
        check_area(self, self.area)
        check_group(self)

    @property
    def label(self) -> str:
        return title_with_classes(_title_with_area(self.title, self.area), self)

    @property
    def figure(self) -> Read:
        return _figure(self.kind, self.iou, self.area, self.most, group=class_group(self), ties=self.ties)


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


class AverageRecall(Metric):
    r"""Average recall with at most k detections per image and class: how much is found at all.

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
    range = (0.0, 1.0)

    max_dets: Most = STANDARD_MOST
    area: AreaSetting = "all"
    iou: float | Range = STANDARD

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        """Those of COCO that a perfect model brings to 1 whatever the data: `ar@1` finds one object per image."""
        sizes = tuple(cls(100, area) for area in ("small", "medium", "large"))
        return (cls(10), cls(100), *sizes)

    def check(self) -> None:
        check_ious(self, self.iou)
        check_area(self, self.area)

    @property
    def label(self) -> str:
        return _title_with_area(f"Average recall, {count_text(self.max_dets, 'detection')}", self.area)

    @property
    def figure(self) -> Read:
        """The recall of all detections that count. The usual numbers share a curve with average precision."""
        kind = "coco" if self.max_dets in (STANDARD_MOST, LVIS_MOST) else "recall"
        return _figure(kind, self.iou, self.area, self.max_dets)

    def requirements(self) -> tuple[Requirement, ...]:
        return (self.figure[0],)

    def reduce(self, totals: TotalsView) -> Floats:
        curve, places = self.figure
        values: FigureValues = totals[curve]
        return values.mean_recall(places)


def reference_arrays(pairs: BoxPairs, *, quirks: bool = True, most: tuple[int, ...] = (1, 10, 100)) -> dict[str, Array]:
    """The whole arrays that pycocotools' `accumulate` makes: precision, recall and scores, with -1 for undefined.

    Shapes are (thresholds, recalls, classes, areas, most detections), recall without the second. `quirks=True` loses
    the annotation with id 0 as the reference does.
    """
    objects = match_objects(pairs, IOUS, STANDARD_AREAS, max(most), lost=quirks)
    ranking, statistic = ranking_of(objects), detections(STANDARD, "all", "coco")[0]
    weights = np.ones(len(pairs.units))

    def curves(block: RankingBlock, area: int, m: int) -> tuple[Array, Array, Array]:
        return RankingFigure(statistic, "coco", area, m).native_ranking(block).curves(weights, GRIDS["coco"])

    parts = [[curves(ranking, area, m) for m in most] for area in range(len(AREAS))]
    arrays = {}
    for i, name in enumerate(("precision", "recall", "scores")):
        stacked = np.stack([np.stack([part[i] for part in row], axis=-1) for row in parts], axis=-2)
        arrays[name] = np.where(np.isnan(stacked), -1.0, stacked)
    return arrays
