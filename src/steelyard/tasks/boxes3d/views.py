"""What is shown beside the scores of boxes in space: classes, curves, errors, every box.

Why other tables of KITTI say other numbers: recalls, overlap and view, one at a time, on these data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.core.errors import MissingData
from steelyard.core.explanation import Explanation, Step
from steelyard.core.figure import Figure, Listing, Texts
from steelyard.core.metadata import Metadata
from steelyard.core.metric import Metric
from steelyard.core.pairs import Array
from steelyard.core.plan import POINT
from steelyard.core.ranking import RankingBlock
from steelyard.core.scene import LineShape, PolygonShape, Scene
from steelyard.core.state import State
from steelyard.core.statistic import SharedCache, Statistic
from steelyard.core.table import Table
from steelyard.tasks.boxes3d.data import LEVELS
from steelyard.tasks.boxes3d.kitti import Aos, KittiAp
from steelyard.tasks.boxes3d.nuscenes import EVENTS, NOT_ASKED, CentreMap, Maae, Maoe, Mase, Mate, Mave
from steelyard.tasks.boxes3d.pairs import Box3dSide, SolidPairs
from steelyard.tasks.boxes3d.statistics import (
    DISTANCES,
    DROPPED,
    ERRORS,
    VIEWS,
    KittiEvents,
    can_view,
    centre_curves,
    centres,
    kitti_curve,
)
from steelyard.tasks.shared.tools import find_tools

TOOLS = {"kitti-2017": "2017", "openpcdet": "0.6"}


def explain(pairs: SolidPairs, names: Any) -> tuple[Explanation, ...]:
    """What each table says for these data, and which rule moves it."""
    return tuple(_explain_kitti(pairs, name) for name in find_tools(names, TOOLS))


def _values(pairs: SolidPairs, metric: KittiAp) -> Mapping[str, float]:
    """One number by class, in space and at the level moderate where the metric does not say otherwise."""
    totals = State.of(pairs, [metric.events]).totals(POINT)
    labels = pairs.metadata.axes["class"].display_names
    return {label: float(totals.of(replace(metric, only=label))[0]) for label in labels}


def _explain_kitti(pairs: SolidPairs, tool: str) -> Explanation:
    view = "3d" if "place" in pairs.metadata.holds else "bbox"
    level = "moderate" if "levels" in pairs.metadata.holds else "all"
    plain = _values(pairs, KittiAp(view=view, level=level))
    eleven = _values(pairs, KittiAp(view=view, level=level, positions=11))
    steps = [
        Step(
            "recalls", "40, without recall 0 (R40)", "11, with recall 0 (R11)",
            "One match of high score is enough for the place at recall 0, a whole 9.09 points.", eleven,
        ),
    ]  # fmt: skip
    if tool == "openpcdet" and view == "3d":
        steps.append(
            Step(
                "overlap", "Car 0.7, others 0.5", "Car 0.5, others 0.25 in its second block",
                "The block headed 0.70, 0.50, 0.50 asks 0.7 in the image alone.",
                _values(pairs, KittiAp(view=view, level=level, overlap="loose")),
            )
        )  # fmt: skip
    if view == "3d":
        steps.append(
            Step(
                "view: ground", "space (3d)", "the ground (bev)", "Heights do not matter there.",
                _values(pairs, KittiAp(view="bev", level=level)),
            )
        )  # fmt: skip
        if "image" in pairs.metadata.holds:
            steps.append(
                Step(
                    "view: image", "space (3d)", "the image (2D, bbox)", "A place in space is not asked for.",
                    _values(pairs, KittiAp(view="bbox", level=level)),
                )
            )  # fmt: skip
    remarks = {
        "kitti-2017": "KITTI's own table took 11 recalls until October 2019, and 40 since.",
        "openpcdet": "It prints R11 first (headed AP), then R40 (headed AP_R40), each for two sets of overlaps.",
    }
    return Explanation(
        tool, TOOLS[tool], plain, tuple(steps), eleven,
        (remarks[tool], f"Values are of level {level}, in percent, by class; each step changes one rule alone."),
    )  # fmt: skip


__all__ = ["class_metrics", "explain", "figures", "listing", "pictured", "scene", "tables"]


SCALE = 10.0  # pixels per metre
ROOM = 4.0  # metres around what is shown


def scene(pairs: SolidPairs, unit: int, metric: Metric) -> Scene:
    """The frame at place `unit`: pairs are those below 2 m, ahead is up."""
    if "place" not in pairs.metadata.holds:
        raise MissingData(
            "boxes have no place in space, so that there is no view from above", remedy="Give x, y, z, ..."
        )
    truth, predicted, _, errors, partner = centres(pairs, SharedCache())
    mine, theirs = np.flatnonzero(truth.owner == unit), np.flatnonzero(predicted.owner == unit)
    taken = set(partner[theirs].tolist())
    shown = pairs.metadata.axes["class"].display_names
    shapes: list[PolygonShape | LineShape] = []
    for row in mine.tolist():
        label = shown[truth.group[row]]
        shapes.append(PolygonShape("truth", _outline(truth, row), label, row in taken, label))
    for row in theirs.tolist():
        score, label = float(predicted.column("score")[row]), shown[predicted.group[row]]
        caption = f"{label}, score {score:.2f}"
        other = int(partner[row])
        if other >= 0:
            caption += f", {errors[row, 0]:.2f} m and {np.degrees(errors[row, 2]):.0f}° off"
            shapes.append(LineShape("pair", *_centre(truth, other), *_centre(predicted, row)))
        shapes.append(PolygonShape("prediction", _outline(predicted, row), f"{label} {score:.2f}", other >= 0, caption))
    matched = int((partner[theirs] >= 0).sum())
    return Scene(
        title=f"Frame {pairs.units[unit]}, from above",
        summary=f"{len(mine)} true, {len(theirs)} predicted, {matched} found below 2 m; 10 pixels are a metre",
        shapes=tuple(shapes),
        bounds=_bounds(truth, mine, predicted, theirs),
    )


def _centre(side: Box3dSide, row: int) -> tuple[float, float]:
    x, y = side.solid[row, :2].tolist()
    return SCALE * x, -SCALE * y


def _outline(side: Box3dSide, row: int) -> tuple[float, ...]:
    """The corners on the ground, the edge that looks ahead first; y goes down in a picture."""
    x, y, _, _, length, width, angle = side.solid[row].tolist()
    along, across = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
    corners: list[float] = []
    for a, b in ((1, 1), (1, -1), (-1, -1), (-1, 1)):
        corner = np.array([x, y]) + a * length / 2 * along + b * width / 2 * across
        corners += [float(SCALE * corner[0]), float(-SCALE * corner[1])]
    return tuple(corners)


def _bounds(
    truth: Box3dSide, mine: Array, predicted: Box3dSide, theirs: Array
) -> tuple[float, float, float, float] | None:
    places = np.concatenate([truth.solid[mine, :2], predicted.solid[theirs, :2]]) * [SCALE, -SCALE]
    if not len(places):
        return None
    room = SCALE * ROOM
    (left, top), (right, low) = places.min(axis=0).tolist(), places.max(axis=0).tolist()
    return left - room, top - room, right + room, low + room


pictured = "map"
RECALLS = np.arange(101) / 100
OF_CLASS: tuple[Metric, ...] = (
    CentreMap(), *(CentreMap(distance=float(d)) for d in DISTANCES), Mate(), Mase(), Maoe(), Mave(), Maae(),
)  # fmt: skip


def _has(state: State, metric: Metric) -> bool:
    return all(wanted in state.blocks for wanted in metric.requirements() if not hasattr(wanted, "ranking"))


def _kitti(metadata: Metadata, positions: int) -> list[KittiAp | Aos]:
    """KITTI's metrics that the data can give, by view and level."""
    every: list[KittiAp | Aos] = [
        KittiAp(view=view, level=level, positions=positions) for view in VIEWS[::-1] for level in LEVELS
    ]
    every += [Aos(level=level, positions=positions) for level in LEVELS]
    return [metric for metric in every if metric.possible(metadata)]


def tables(pairs: SolidPairs, state: State) -> Mapping[str, Callable[[], Table]]:
    """KITTI's table over 40 and over 11 recalls, and nuScenes' by class, each measured when it is asked for."""
    makers: dict[str, Callable[[], Table]] = {}
    metadata = pairs.metadata
    if not len(pairs.units) or not metadata.size("class"):
        return {}
    if _kitti(metadata, 40) and metadata.flags["rules"] != "nuscenes":
        makers["kitti"] = lambda: _by_class(pairs, _kitti(metadata, 40), "kitti", "KITTI, 40 recalls, by class")
        makers["kitti_r11"] = lambda: _by_class(pairs, _kitti(metadata, 11), "kitti_r11", "KITTI, 11 recalls, by class")
    if "place" in metadata.holds:
        makers["centres"] = lambda: _by_class(pairs, OF_CLASS, "centres", "By the distance of centres, by class")
    return makers


def _by_class(pairs: SolidPairs, metrics: Sequence[Metric], name: str, title: str) -> Table:
    needs = [statistic for metric in metrics for statistic in metric.requirements() if isinstance(statistic, Statistic)]
    labels, totals = pairs.metadata.axes["class"].display_names, State.of(pairs, dict.fromkeys(needs)).totals(POINT)
    values = [[float(totals.of(_of(metric, label))[0]) for metric in metrics] for label in labels]
    return Table(name, title, "class", labels, tuple(metric.label for metric in metrics), np.array(values))


def _of(metric: Metric, label: str) -> Metric:
    """Return the metric for one class."""
    return replace(metric, only=label)  # type: ignore[call-arg]


def class_metrics(state: State) -> Mapping[str, Metric]:
    """The metrics by which models are compared class by class."""
    labels = state.metadata.axes["class"].display_names
    if len(labels) < 2:
        return {}
    for metric in (KittiAp(), CentreMap()):
        if _has(state, metric) and (not isinstance(metric, KittiAp) or metric.possible(state.metadata)):
            return {label: _of(metric, label) for label in labels}
    return {}


def figures(pairs: SolidPairs, state: State, metrics: Sequence[Metric]) -> Mapping[str, Callable[[], Figure]]:
    """The figures that these data have: KITTI's where its metrics are asked for, nuScenes' where its are."""
    makers: dict[str, Callable[[], Figure]] = {}
    if not len(state) or not len(pairs.sides[0]) or not pairs.metadata.size("class"):
        return makers
    view = "3d" if "place" in pairs.metadata.holds else "bbox"
    levels = [level for level in LEVELS if can_view(pairs.metadata, view, level)]
    if any(isinstance(metric, KittiAp | Aos) for metric in metrics) and levels:
        needs = [KittiEvents(view, level, "strict") for level in levels]
        makers["places"] = lambda: places(State.of(pairs, needs), needs)
    if "place" in pairs.metadata.holds and not all(isinstance(metric, KittiAp | Aos) for metric in metrics):
        measured = State.of(pairs, [EVENTS, DROPPED])
        makers["recalls"] = lambda: recalls(measured)
        makers["errors"] = lambda: errors(measured)
    if "place" in pairs.metadata.holds:
        makers["headings"] = lambda: headings(pairs)
    return makers


def _weights(state: State) -> Array:
    return np.ascontiguousarray(state.units.plain, dtype=np.float64)


def places(state: State, needs: Sequence[KittiEvents]) -> Figure:
    """Precision at KITTI's 41 places, for each class and level."""
    columns: dict[str, list[object]] = {"series": [], "x": [], "y": []}
    shown = state.metadata.axes["class"].display_names
    for group, label in enumerate(shown):
        for statistic in needs if len(shown) == 1 else needs[1:2]:
            block = state.blocks[statistic]
            assert isinstance(block, RankingBlock)
            _, (_, precision, _) = kitti_curve(block, group, _weights(state))
            columns["series"] += [f"{label}, {statistic.level}"] * 41
            columns["x"] += (np.arange(41) / 40).tolist()
            columns["y"] += precision.tolist()
    return Figure(
        "places", "curves", f"Precision at KITTI's 41 places, {needs[0].view}", columns,
        {"x": "recall", "y": "precision", "unit": True},
        "R40 is the mean of the places 1 to 40, R11 of every fourth from 0 on. A line that ends in 0 does not reach "
        "that recall.",
    )  # fmt: skip


def _curves(state: State) -> tuple[Array, list[str]]:
    """Curves of all classes that have truth: (classes, distances + 1 + errors, 101)."""
    block = state.blocks[EVENTS]
    assert isinstance(block, RankingBlock)
    counts = np.diff(block.positives.begin)
    groups = np.flatnonzero(counts).tolist()
    shown = state.metadata.axes["class"].display_names
    every = [centre_curves(block, group, _weights(state)) for group in groups]
    return (np.stack(every) if every else np.zeros((0, 10, 101))), [shown[group] for group in groups]


def recalls(state: State) -> Figure:
    """Precision over recall at each distance, the mean of the classes that have truth."""
    curves, _ = _curves(state)
    mean = curves[:, : len(DISTANCES)].mean(axis=0) if len(curves) else np.zeros((len(DISTANCES), 101))
    return Figure(
        "recalls", "curves", "Precision by the distance of centres",
        {
            "series": [f"{distance:g} m" for distance in DISTANCES for _ in RECALLS],
            "x": np.tile(RECALLS, len(DISTANCES)), "y": mean.reshape(-1),
        },
        {"x": "recall", "y": "precision", "unit": True},
        "The mean of the classes with truth. A gap between the lines is what loose places cost.",
    )  # fmt: skip


def errors(state: State) -> Figure:
    """How the errors of matches grow with recall, the mean of the classes that reach it and have the error."""
    curves, labels = _curves(state)
    columns: dict[str, list[object]] = {"series": [], "x": [], "y": []}
    reached = curves[:, len(DISTANCES)] != 0
    for place, name in enumerate(ERRORS):
        values = curves[:, len(DISTANCES) + 1 + place]
        asked = np.array([name not in NOT_ASKED.get(label, ()) for label in labels], dtype=bool)
        for at in range(11, 101):
            here = reached[:, at] & asked
            if here.any():
                columns["series"].append(name)
                columns["x"].append(at / 100)
                columns["y"].append(float(values[here, at].mean()))
    return Figure(
        "errors", "curves", "Errors of matches below 2 m", columns, {"x": "recall", "y": "error"},
        "Translation in metres, scale and attribute from 0 to 1, orientation in radians, velocity in metres a second; "
        "recalls up to 0.1 are not scored.",
    )  # fmt: skip


def headings(pairs: SolidPairs) -> Figure:
    """How far the headings of matches are off."""
    *_, values, partner = centres(pairs, SharedCache())
    off = values[partner >= 0, 2]
    edges = np.linspace(0, np.pi, 19)
    counts, _ = np.histogram(off[~np.isnan(off)], bins=edges)
    return Figure(
        "headings", "histogram", "Headings of matches below 2 m",
        {"low": edges[:-1], "high": edges[1:], "count": counts}, {"x": "error of the heading, radians", "y": "matches"},
        "A peak at 3.14 is boxes that look the other way, one at 1.57 another convention of the heading.",
    )  # fmt: skip


def listing(pairs: SolidPairs, state: State) -> Listing | None:
    """Every box: found below 2 m, false or missed, with its errors."""
    if "place" not in pairs.metadata.holds:
        return None
    truth, predicted, _, values, partner = centres(pairs, SharedCache())
    shown = np.array(pairs.metadata.axes["class"].display_names, dtype=object)
    missed = np.setdiff1d(np.arange(len(truth)), partner)
    kinds = np.where(partner >= 0, "found", "false").tolist() + ["missed"] * len(missed)
    nothing = np.full(len(missed), np.nan)
    columns: dict[str, Array | Texts] = {
        "frame": Texts.of(np.concatenate([pairs.units[predicted.owner], pairs.units[truth.owner[missed]]]).tolist()),
        "class": Texts.of(np.concatenate([shown[predicted.group], shown[truth.group[missed]]]).tolist()),
        "kind": Texts.of(kinds),
        "score": np.concatenate([predicted.column("score"), nothing]),
        "distance, m": np.concatenate([values[:, 0], nothing]),
        "heading, rad": np.concatenate([values[:, 2], nothing]),
    }
    return Listing("boxes", "Boxes", columns, colour="kind", x="score")
