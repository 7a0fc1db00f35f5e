"""What a picture of one image shows: objects and detections, and which of them found each other."""

from __future__ import annotations

import numpy as np

from steelyard.core.metric import Metric
from steelyard.core.need import Curve, Work
from steelyard.core.plan import UNITS
from steelyard.core.scene import BoxShape, EllipseShape, LineShape, Scene
from steelyard.core.state import State
from steelyard.metrics.boxes.matches import AREAS, match_input, matches
from steelyard.metrics.boxes.pairs import BoxPairs
from steelyard.metrics.boxes.settings import class_names


def scene(pairs: BoxPairs, unit: int, metric: Metric) -> Scene:
    """The image at place `unit`, matched at the metric's IoU (0.5 where it has several) from its score on."""
    alone, work = pairs.alone(unit), Work()
    iou, least = getattr(metric, "iou", 0.5), getattr(metric, "score", 0.0)
    iou = iou if isinstance(iou, float) else 0.5
    least = least if isinstance(least, float) else 0.0
    most = int(getattr(metric, "max_dets", 100) or 100)
    matched = matches(alone, work, (iou,), (AREAS["all"],), max(most, 100))[0]
    both, names = match_input(alone, work), class_names(pairs.facts)
    kept = np.flatnonzero(matched.places() & (matched.score >= least) & (matched.rank < most))
    hit, ignored = matched.bit(0)
    taken = set(matched.partner[kept[hit[kept]]].tolist())
    shapes: list[EllipseShape | BoxShape | LineShape] = []
    for i, (x, y, w, h) in enumerate(both.box.tolist()):
        crowd = bool(both.flags[i] & 1)
        name = f"{names[both.label[i]]} (crowd)" if crowd else names[both.label[i]]
        shapes.append(BoxShape("truth", x, y, w, h, name, crowd or i in taken))
    for place in kept.tolist():
        row = int(matched.order[place])
        x, y, w, h = both.d_box[row].tolist()
        label = f"{names[both.d_label[row]]} {both.d_score[row]:.2f}"
        shapes.append(BoxShape("prediction", x, y, w, h, label, bool(hit[place] or ignored[place])))
    needs = dict.fromkeys(wanted.ranking if isinstance(wanted, Curve) else wanted for wanted in metric.needs())
    value = float(State.of(alone, needs, work).take(np.array([unit])).totals(UNITS).of(metric)[0])
    value_text = "undefined" if np.isnan(value) else f"{value:.4f}"
    return Scene(
        title=f"Image {pairs.units[unit]}: {metric.label} = {value_text}",
        summary=f"{len(both.box)} true, {len(kept)} detected with a score from {least:g}, "
        f"{int(np.count_nonzero(hit[kept]))} pairs at IoU {iou:g}",
        shapes=tuple(shapes),
    )
