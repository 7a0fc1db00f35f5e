"""Why other tools say another mean IoU, Dice or F1 of the same maps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.core.explanation import Explanation, Step
from steelyard.core.metric import Metric
from steelyard.core.plan import POINT
from steelyard.core.state import State
from steelyard.tasks.segmentation.counts import ClassTable
from steelyard.tasks.segmentation.data import MapPairs
from steelyard.tasks.segmentation.scores import F1, MeanAccuracy, MeanDice, MeanIou, PixelAccuracy
from steelyard.tasks.shared.tools import find_tools

TOOLS = {"mmseg": "1.2.2", "torchmetrics": "1.9.0"}


def explain(pairs: MapPairs, names: Any) -> tuple[Explanation, ...]:
    """What each tool prints for these data, and which rule moves it."""
    return tuple(_mmseg(pairs) if name == "mmseg" else _torchmetrics(pairs) for name in find_tools(names, TOOLS))


def _mmseg(pairs: MapPairs) -> Explanation:
    plain = _numbers(pairs, F1())
    theirs = _numbers(pairs, F1(mmseg=True))
    step = Step(
        "f1", "0 for a class without a right pixel", "no number for it",
        "mFscore then is the mean over better classes.", theirs,
    )  # fmt: skip
    remarks = (
        "It adds pixels in single precision: beyond 16 million pixels of a class, sums are rounded.",
        "Predicted values without a class are dropped there, and wrong here.",
    )
    return Explanation("mmseg", TOOLS["mmseg"], plain, (step,), theirs, remarks)


def _torchmetrics(pairs: MapPairs) -> Explanation:
    plain = _numbers(pairs, F1())
    by_image = {**plain, "mdice": _numbers(pairs, F1(), level="image")["mdice"]}
    by_class = {**plain, "miou": _mean_of_all(pairs)}
    steps = (
        Step(
            "Dice", "dataset", "image",
            "DiceScore takes the mean over the classes of each image, then over images; with "
            "aggregation_level='global' it does as we do.", by_image,
        ),
        Step(
            "IoU", "dataset", "class of an image",
            "MeanIoU takes the mean over all classes of all images at once, so that an image with more classes counts "
            "more; JaccardIndex does as we do.", by_class,
        ),
    )  # fmt: skip
    theirs = {**by_image, "miou": by_class["miou"]}
    remarks = ("MeanIoU takes no value to ignore, and gives −1 for an absent class by class.",)
    return Explanation("torchmetrics", TOOLS["torchmetrics"], plain, steps, theirs, remarks)


def _mean_of_all(pairs: MapPairs) -> float:
    """The mean IoU over every class of every image that has it on a side."""
    hit, true, predicted = ClassTable.of(pairs.pixels, pairs.facts.size("class")).pixels.T
    return float((hit / (true + predicted - hit)).mean()) if len(hit) else float("nan")


def _numbers(pairs: MapPairs, f1: Metric, level: str = "dataset") -> Mapping[str, float]:
    asked: dict[str, Metric] = {
        "miou": MeanIou(level=level), "mdice": MeanDice(level=level), "macc": MeanAccuracy(),
        "accuracy": PixelAccuracy(), "f1": f1,
    }  # fmt: skip
    needs: dict[Any, None] = {statistic: None for metric in asked.values() for statistic in metric.needs()}
    totals = State.of(pairs, needs).totals(POINT)
    return {name: float(totals.of(metric)[0]) for name, metric in asked.items()}
