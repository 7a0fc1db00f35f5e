"""Settings that the metrics of boxes share: IoU thresholds, area, most detections, class."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard.core.errors import InputError, nearest
from steelyard.core.metric import Metric, within_range
from steelyard.core.spec import Range, render_value
from steelyard.core.stats import Array, Stats
from steelyard.metrics.boxes.matches import AREAS, IOUS, Area, Matches, matches

STANDARD = Range(0.5, 0.95)
MOST_THRESHOLDS = 32
STANDARD_MOST = 100

AreaSetting = str | tuple[float, float]


def check_ious(metric: Metric, iou: Any) -> None:
    """Check a threshold or a range of thresholds."""
    values = iou.values if isinstance(iou, Range) else (iou,)
    good = all(isinstance(v, int | float) and not isinstance(v, bool) and 0 < v <= 1 for v in values)
    if not good or len(values) > MOST_THRESHOLDS:
        raise InputError(
            f"metric '{metric.name}': iou cannot be {render_value(iou)}",
            remedy=f"Give a number above 0 and at most 1, or a range of at most {MOST_THRESHOLDS}: 0.5:0.95.",
        )


def check_area(metric: Metric, area: Any) -> None:
    """Check the name of an area range, or its two ends."""
    if isinstance(area, str) and area in AREAS:
        return
    ends = isinstance(area, tuple) and len(area) == 2 and all(isinstance(v, int | float) for v in area)
    if not ends or not 0 <= area[0] <= area[1]:
        raise InputError(
            f"metric '{metric.name}': area cannot be {render_value(area)}",
            remedy=f"Choose one of {', '.join(AREAS)}, or two ends in square pixels: [0, 1024].",
        )


def check_most(metric: Metric, field: str) -> None:
    """Check a number of detections."""
    value = getattr(metric, field)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 65535:
        raise InputError(
            f"metric '{metric.name}': {field} cannot be {render_value(value)}",
            remedy="It must be a whole number from 1 to 65535.",
        )


def check_score(metric: Metric) -> None:
    """Check a score threshold."""
    within_range(metric, "score", -1e300, 1e300)


def thresholds(iou: float | Range) -> tuple[float, ...]:
    """The thresholds of a setting."""
    return iou.values if isinstance(iou, Range) else (float(iou),)


def area_of(area: AreaSetting) -> Area:
    """The ends of a named range, both included."""
    if isinstance(area, str):
        return AREAS[area]
    return float(area[0]), float(area[1])


def matched(
    stats: Stats, iou: float | Range, area: AreaSetting = "all", most: int = STANDARD_MOST, rule: str = "coco"
) -> tuple[Matches, list[int]]:
    """Matches that hold the thresholds asked for, and which of theirs those are.

    Thresholds of the standard grid are served from one matching on all of it.
    """
    asked = thresholds(iou)
    places = [int(np.argmin(np.abs(np.array(IOUS) - t))) for t in asked]
    standard = all(abs(IOUS[i] - t) < 1e-12 for i, t in zip(places, asked, strict=True))
    found = matches(stats, IOUS if standard else asked, area_of(area), max(most, STANDARD_MOST), rule)
    return found, places if standard else list(range(len(asked)))


def class_names(stats: Stats) -> tuple[str, ...]:
    """What the classes are called: their names, or else their ids."""
    return tuple(stats.facts["label_names"] or map(str, stats.facts["labels"]))


def label_code(stats: Stats, label: str | int | None) -> int | None:
    """The class that a setting names, by its name or its id."""
    if label is None:
        return None
    ids = [str(v) for v in stats.facts["labels"]]
    names = list(class_names(stats))
    for known in (names, ids):
        if str(label) in known:
            return known.index(str(label))
    raise InputError(f"there is no class '{label}'", remedy=nearest(str(label), names))


def class_of_places(m: Matches) -> Array:
    """The class of every place of the matches."""
    starts = np.zeros(len(m.order) + 1, dtype=np.int64)
    np.add.at(starts, m.begin, 1)
    return np.cumsum(starts[:-1]) - 1
