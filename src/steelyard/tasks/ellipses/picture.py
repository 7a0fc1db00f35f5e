"""What a picture of one image shows: truths, detections, and the pairs with their distances."""

from __future__ import annotations

import numpy as np

from steelyard.align.sets import SetPairs
from steelyard.core.errors import InvalidSpec
from steelyard.core.metric import Metric
from steelyard.core.scene import EllipseShape, LineShape, Scene
from steelyard.core.statistic import SharedCache
from steelyard.tasks.ellipses.score import Scored


def scene(pairs: SetPairs, unit: int, metric: Metric) -> Scene:
    """The image at place `unit`, paired as the metric pairs."""
    if not isinstance(metric, Scored):
        raise InvalidSpec(
            f"metric '{metric}' makes no pairs with distances",
            remedy="Draw by score or score_truths, such as score(distance=wasserstein).",
        )
    alone, work = pairs.alone(unit), SharedCache()
    matched = metric.matches(alone, work)
    both = matched.input
    true, detected = set(matched.truth_row.tolist()), set(matched.detected_row.tolist())
    shapes: list[EllipseShape | LineShape] = []
    for i, (x, y, degrees, a, b) in enumerate(both.truth.tolist()):
        shapes.append(EllipseShape("truth", x, y, degrees, a, b, f"T{i + 1}", i in true))
    for j, (x, y, degrees, a, b) in enumerate(both.detected.tolist()):
        shapes.append(EllipseShape("prediction", x, y, degrees, a, b, f"D{j + 1}", j in detected))
    for first, second, distance in zip(
        matched.truth.tolist(), matched.detected.tolist(), matched.distance, strict=True
    ):
        shapes.append(LineShape("pair", first[0], first[1], second[0], second[1], f"{distance:.4g}"))
    value = float(metric.by_unit(alone, work)[0])
    truths, detections = len(both.truth), len(both.detected)
    value_text = "undefined" if np.isnan(value) else f"{value:.4f}"
    return Scene(
        title=f"Image {pairs.units[unit]}: {metric.label} = {value_text}",
        summary=f"{truths} true, {detections} detected, {len(matched.distance)} pairs ({metric.matching})",
        shapes=tuple(shapes),
    )
