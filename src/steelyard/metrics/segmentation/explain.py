"""Why other tools say another mean IoU or F1 of the same maps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.core.errors import InputError, nearest
from steelyard.core.explanation import Explanation, Step
from steelyard.core.metric import Metric
from steelyard.core.plan import POINT
from steelyard.core.state import State
from steelyard.metrics.segmentation.data import MapPairs
from steelyard.metrics.segmentation.scores import F1, MeanAccuracy, MeanIou, PixelAccuracy

TOOLS = {"mmseg": "1.2.2", "torchmetrics": "1.9.0"}


def explain(pairs: MapPairs, names: Any) -> tuple[Explanation, ...]:
    """What each tool prints for these data, and which rule moves it."""
    for name in names:
        if name not in TOOLS:
            raise InputError(f"'{name}' cannot be explained", remedy=nearest(name, TOOLS))
    return tuple(_mmseg(pairs) if name == "mmseg" else _torchmetrics(pairs) for name in names)


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
    theirs = {**plain, **_numbers(pairs, F1(), MeanIou(level="image"))}
    step = Step(
        "level", "dataset", "image",
        "MeanIoU takes the mean over the classes of each image, then over images; JaccardIndex does as we do.", theirs,
    )  # fmt: skip
    return Explanation(
        "torchmetrics", TOOLS["torchmetrics"], plain, (step,), theirs,
        ("MeanIoU takes no value to ignore, and gives −1 for an absent class by class.",),
    )  # fmt: skip


def _numbers(pairs: MapPairs, f1: Metric, mean: Metric | None = None) -> Mapping[str, float]:
    asked: dict[str, Metric] = {
        "miou": mean or MeanIou(), "macc": MeanAccuracy(), "accuracy": PixelAccuracy(), "f1": f1,
    }  # fmt: skip
    needs: dict[Any, None] = {need: None for metric in asked.values() for need in metric.needs()}
    totals = State.of(pairs, needs).totals(POINT)
    return {name: float(totals.of(metric)[0]) for name, metric in asked.items()}
