"""What the page of ellipses draws: images with truths, detections and pairs, and how far apart the pairs are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from steelyard.align.sets import SetPairs
from steelyard.core.counts import count_text, share_text
from steelyard.core.errors import InvalidSpec
from steelyard.core.figure import Array, Figure, Listing, Texts
from steelyard.core.metric import Metric
from steelyard.core.scene import EllipseShape, LineShape, Scene
from steelyard.core.state import State
from steelyard.core.statistic import SharedCache
from steelyard.tasks.ellipses.score import Score, Scored


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
        matched.truth.tolist(), matched.detected_rows.tolist(), matched.distance, strict=True
    ):
        shapes.append(LineShape("pair", first[0], first[1], second[0], second[1], f"{distance:.4g}"))
    value = float(metric.by_unit(alone, work)[0])
    truths, detections = len(both.truth), len(both.detected)
    value_text = "undefined" if np.isnan(value) else f"{value:.4f}"
    return Scene(
        title=f"Image {pairs.units[unit]}: {metric.label} = {value_text}",
        summary=f"{truths} true, {detections} detected, "
        f"{count_text(len(matched.distance), 'pair')} ({metric.matching})",
        shapes=tuple(shapes),
    )


BINS = 24


def figures(pairs: SetPairs, state: State, metrics: Sequence[Metric]) -> Mapping[str, Callable[[], Figure]]:
    """The figures."""
    metric = next((m for m in metrics if isinstance(m, Scored)), Score())
    if not len(state):
        return {}
    return {"overlays": lambda: overlays(pairs, metric), "distances": lambda: distances(pairs, metric)}


def overlays(pairs: SetPairs, metric: Scored) -> Figure:
    """The worst images, one in the middle, and the best."""
    values = metric.by_unit(pairs, SharedCache())
    defined = np.flatnonzero(~np.isnan(values))
    order = defined[np.argsort(values[defined], kind="stable")]
    chosen = list(dict.fromkeys([*order[:4].tolist(), *order[len(order) // 2 :][:1].tolist(), *order[-1:].tolist()]))
    names = ("image", "role", "x", "y", "degrees", "a", "b", "x2", "y2", "matched", "label")
    columns: dict[str, list[object]] = {name: [] for name in names}
    titles, summaries = [], []
    for place, unit in enumerate(chosen):
        picture = scene(pairs, unit, metric)
        titles.append(picture.title)
        summaries.append(picture.summary)
        for shape in picture.shapes:
            if isinstance(shape, EllipseShape):
                at = (shape.x, shape.y, shape.degrees, shape.a, shape.b, 0.0, 0.0, int(shape.matched))
            elif isinstance(shape, LineShape):
                at = (shape.x1, shape.y1, 0.0, 0.0, 0.0, shape.x2, shape.y2, 1)
            else:
                continue
            row = (place, shape.role, *at, shape.label)
            for name, value in zip(names, row, strict=True):
                columns[name].append(value)
    return Figure(
        "overlays",
        "overlays",
        "Images: the worst, one in the middle, the best",
        columns,
        {"titles": titles, "summaries": summaries},
        "True ellipses are solid, detected ones dashed; those without a partner are filled. A line joins a pair, with "
        "distance. steelyard draw shows any other image.",
    )


def distances(pairs: SetPairs, metric: Scored) -> Figure:
    """How far apart the ellipses of a pair are."""
    distance = metric.matches(pairs, SharedCache()).distance
    columns: dict[str, Array] = {"low": np.zeros(0), "high": np.zeros(0), "count": np.zeros(0)}
    caption = ""
    if len(distance):
        most = float(np.quantile(distance, 0.99)) or float(distance.max()) or 1.0
        beyond = int((distance > most).sum())
        counts, edges = np.histogram(distance[distance <= most], bins=BINS, range=(0.0, most))
        columns = {"low": edges[:-1], "high": edges[1:], "count": counts}
        caption = f" {share_text(int(beyond), len(distance), 'pair', 'are')} beyond {most:.3g}." if beyond else ""
    return Figure(
        "distances", "histogram", "Distances of the pairs", columns, {"x": "distance", "y": "pairs"},
        f"The distance that {metric} measures.{caption}",
    )  # fmt: skip


def listing(pairs: SetPairs, state: State) -> Listing:
    """Every ellipse of both sides, with the distance to its partner."""
    matched = Score().matches(pairs, SharedCache())
    both = matched.input
    truths, detections = len(both.truth), len(both.detected)
    distance = np.full(truths + detections, np.nan)
    distance[matched.truth_row] = matched.distance
    distance[truths + matched.detected_row] = matched.distance
    rows = np.concatenate([both.truth, both.detected])
    owner = np.concatenate([both.truth_owner, both.detected_owner])
    order = np.argsort(owner, kind="stable")
    columns: dict[str, Array | Texts] = {
        "image": Texts(owner[order], [str(u) for u in pairs.units.tolist()]),
        "side": Texts((np.arange(len(owner)) >= truths).astype(int)[order], ["true", "detected"]),
        "partner": Texts(np.isnan(distance).astype(int)[order], ["has one", "has none"]),
        "distance": distance[order],
    }
    columns |= {name: rows[order, i] for i, name in enumerate(("xc", "yc", "theta", "a", "b"))}
    return Listing("ellipses", "Ellipses", columns, "partner", "distance")
