"""What a picture of one image shows: objects and detections, and which of them found each other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from steelyard.core.metric import Metric
from steelyard.core.plan import UNITS
from steelyard.core.scene import BoxShape, PolygonShape, Role, Scene
from steelyard.core.state import State
from steelyard.core.statistic import RankingReader, SharedCache
from steelyard.tasks.boxes.matches import AREAS, MatchInput, match_input, matches
from steelyard.tasks.boxes.pairs import BoxPairs
from steelyard.tasks.boxes.settings import MOST, class_names

# Draws an object: objects of both sides, its role, its row, its name, whether it has a partner, and that one's row.
Drawer = Callable[[MatchInput, Role, int, str, bool, int], BoxShape | PolygonShape]


def upright(both: MatchInput, role: Role, row: int, label: str, matched: bool, partner: int) -> BoxShape:
    """An object as its box."""
    x, y, w, h = (both.box if role == "truth" else both.d_box)[row].tolist()
    return BoxShape(role, x, y, w, h, label, matched)


def scene(pairs: BoxPairs, unit: int, metric: Metric, draw: Drawer = upright) -> Scene:
    """The image at place `unit`, matched at the metric's IoU (0.5 where it has several) from its score on."""
    alone, work = pairs.alone(unit), SharedCache()
    iou, least = getattr(metric, "iou", 0.5), getattr(metric, "score", 0.0)
    iou = float(iou) if isinstance(iou, int | float) else 0.5
    least = float(least) if isinstance(least, int | float) else 0.0
    most = int(getattr(metric, "most", getattr(metric, "max_dets", MOST)))
    matched = matches(alone, work, (iou,), (AREAS["all"],), MOST)[0]
    both, names = match_input(alone, work), class_names(pairs.facts)
    kept = np.flatnonzero(matched.places() & (matched.score >= least) & (matched.rank < most))
    hit, ignored = matched.bit(0)
    right = kept[hit[kept]]
    taken = dict(zip(matched.partner[right].tolist(), matched.order[right].tolist(), strict=True))
    shapes: list[BoxShape | PolygonShape] = []
    for i in range(len(both.box)):
        crowd = bool(both.flags[i] & 1)
        name = f"{names[both.label[i]]} (crowd)" if crowd else names[both.label[i]]
        shapes.append(draw(both, "truth", i, name, crowd or i in taken, taken.get(i, -1)))
    for place in kept.tolist():
        row = int(matched.order[place])
        label = f"{names[both.d_label[row]]} {both.d_score[row]:.2f}"
        partner = int(matched.partner[place]) if hit[place] else -1
        shapes.append(draw(both, "prediction", row, label, bool(hit[place] or ignored[place]), partner))
    needs = dict.fromkeys(wanted.ranking if isinstance(wanted, RankingReader) else wanted for wanted in metric.needs())
    value = float(State.of(alone, needs, work).take(np.array([unit])).totals(UNITS).of(metric)[0])
    value_text = "undefined" if np.isnan(value) else f"{value:.4f}"
    return Scene(
        title=f"Image {pairs.units[unit]}: {metric.label} = {value_text}",
        summary=f"{len(both.box)} true, {len(kept)} detected with a score from {least:g}, "
        f"{int(np.count_nonzero(hit[kept]))} pairs at IoU {iou:g}",
        shapes=tuple(shapes),
    )
