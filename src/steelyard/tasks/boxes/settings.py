"""Settings that the metrics of boxes share: IoU thresholds, area, most detections, class."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Annotated, Any

import numpy as np

from steelyard.core.errors import InvalidSpec, MissingKey, UnknownName, nearest
from steelyard.core.metadata import Metadata
from steelyard.core.metric import Between, Metric
from steelyard.core.spec import Range, render_value
from steelyard.core.statistic import Statistic
from steelyard.tasks.boxes.matches import AREAS, IOUS, Area
from steelyard.tasks.boxes.pairs import CLASS, MOST_RANKED

STANDARD = Range(0.5, 0.95)
MOST_THRESHOLDS = 32
STANDARD_MOST = 100  # detections of a class in an image that count in COCO's metrics
MOST = MOST_RANKED  # the default of metrics without a cap

AreaSetting = str | tuple[float, float]
Most = Annotated[int, Between(1, MOST, whole=True)]  # detections of a class in an image that count
ScoreThreshold = Annotated[float, Between(-1e300, 1e300)]


def check_ious(metric: Metric, iou: Any) -> None:
    """Check a threshold or a range of thresholds."""
    values = iou.values if isinstance(iou, Range) else (iou,)
    good = all(isinstance(v, int | float) and not isinstance(v, bool) and 0 < v <= 1 for v in values)
    if not good or len(values) > MOST_THRESHOLDS:
        raise InvalidSpec(
            f"metric '{metric.name}': iou cannot be {render_value(iou)}",
            remedy=f"Give a number above 0 and at most 1, or a range of at most {MOST_THRESHOLDS}: 0.5:0.95.",
        )


def check_area(metric: Metric, area: Any) -> None:
    """Check the name of an area range, or its two ends."""
    if isinstance(area, str) and area in AREAS:
        return
    ends = isinstance(area, tuple) and len(area) == 2 and all(isinstance(v, int | float) for v in area)
    if not ends or not 0 <= area[0] <= area[1]:
        raise InvalidSpec(
            f"metric '{metric.name}': area cannot be {render_value(area)}",
            remedy=f"Choose one of {', '.join(AREAS)}, or two ends in square pixels: [0, 1024].",
        )


def thresholds(iou: float | Range) -> tuple[float, ...]:
    """The thresholds of a setting."""
    return iou.values if isinstance(iou, Range) else (float(iou),)


def area_of(area: AreaSetting) -> Area:
    """The ends of a named range, both included."""
    if isinstance(area, str):
        return AREAS[area]
    return float(area[0]), float(area[1])


@cache
def on_grid(iou: float | Range) -> tuple[float | Range, tuple[int, ...]]:
    """The thresholds to match at, and which of them are asked for: those of the standard grid share one matching."""
    asked = thresholds(iou)
    places = [int(np.argmin(np.abs(np.array(IOUS) - t))) for t in asked]
    if all(abs(IOUS[i] - t) < 1e-12 for i, t in zip(places, asked, strict=True)):
        return STANDARD, tuple(places)
    return iou, tuple(range(len(asked)))


def class_names(metadata: Metadata) -> tuple[str, ...]:
    """What the classes are called: their names, or else their ids."""
    return metadata.axes[CLASS].display_names


def class_codes(metadata: Metadata, group: tuple[Any, ...]) -> list[int]:
    """The classes of a group: ("frequency", "r"), or ("classes", name, name, ...)."""
    kind, *members = group
    if kind == "classes":
        return sorted({class_code(metadata, label) for label in members})
    often = metadata.flags.get("frequency")
    if not often:
        raise MissingKey(
            "categories have no 'frequency'",
            remedy="Set the option `format=lvis` for LVIS's r, c or f, or name the classes: classes=[a, b].",
        )
    return [code for code, label in enumerate(metadata.axes[CLASS].ids) if often.get(str(label)) == members[0]]


def class_code(metadata: Metadata, label: str | int) -> int:
    """The class that a setting names, by its name or its id."""
    code = metadata.axes[CLASS].find(label)
    if code < 0:
        raise UnknownName(f"there is no class '{label}'", remedy=nearest(str(label), class_names(metadata)))
    return code


def with_cap(statistic: Any, stored: Iterable[Statistic]) -> tuple[Statistic, str] | None:
    """The statistic as versions before 0.3 kept it, when every metric had a cap by default, and a remark about that."""
    capped: list[Any] = [one for one in stored if type(one) is type(statistic) and _without_cap(one) == statistic]
    if not capped:
        return None
    widest = max(capped, key=lambda one: int(one.max_dets))
    rule = f"at most {widest.max_dets} detections per image and class count, for every metric"
    return widest, f"The state was saved before version 0.3: {rule}."


def _without_cap(statistic: Any) -> Any:
    return replace(statistic, max_dets=MOST)
