"""What the page of grounding shows: how boxes overlap, where their centres lie, outcomes of replies, and images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from steelyard.core.figure import Figure, Listing, Texts, points_or_cells
from steelyard.core.metric import Metric
from steelyard.core.pairs import Array
from steelyard.core.scene import BoxShape, PolygonShape, Role, Scene
from steelyard.core.state import State
from steelyard.core.statistic import SharedCache
from steelyard.core.table import Table
from steelyard.tasks.grounding.data import SAME_CLASS, GroundingPairs
from steelyard.tasks.grounding.explain import explain as explain
from steelyard.tasks.grounding.overlap import Rule, overlaps
from steelyard.tasks.grounding.pictures import (
    concept_table,
    mask_shapes,
    pmf1_curve,
    union_table,
)
from steelyard.tasks.grounding.sums import Boxes, RecallSum, cells, chosen, kinds_of, similarities, united_masks

BINS = 20
LOOSE = 0.1  # IoU from which a box below 0.5 is on its object, but loose
MOST = 4000  # points of a cloud
DOT = 4.0  # pixels around a point that is shown as a box


def _best(pairs: GroundingPairs) -> Array:
    """The largest IoU of each expression that names something, of masks where both sides have them; nan for others, and
    where several people annotated.
    """
    if "annotators" in pairs.held:
        return np.full(len(pairs.owner), np.nan)
    cache = SharedCache()
    if "masks" in pairs.held:
        inter, union, _ = united_masks(pairs, cache, "mask")
        return np.where(pairs.targets > 0, inter / np.maximum(union, 1), np.nan)
    of = cells(pairs, cache)
    best = np.where(pairs.targets > 0, 0.0, np.nan)
    np.maximum.at(best, of.expression, similarities(pairs, cache, Rule()))
    return best


def tables(pairs: GroundingPairs, state: State) -> Mapping[str, Callable[[], Table]]:
    """Outcomes of the replies, and presence."""
    made = {"outcomes": lambda: _outcomes(pairs), "presence": lambda: _presence(pairs)}
    if "concepts" in pairs.held:
        made["concepts"] = lambda: concept_table(pairs)
    if "annotators" in pairs.held:
        del made["presence"]
        return made
    if (pairs.targets == 1).any():
        made["errors"] = lambda: _errors(pairs)
        made["by_words"] = lambda: _by_words(pairs)
        made["by_area"] = lambda: _by_area(pairs)
        if pairs.truth.find("same_class") is not None:
            made["by_same_class"] = lambda: _by_same_class(pairs)
    if "type" in pairs.truth and len(pairs.predicted.box):
        made["by_type"] = lambda: _by_type(pairs)
    if "masks" in pairs.held:
        made["unions"] = lambda: union_table(pairs)
    return made


def _accuracy_table(
    name: str, title: str, stub: str, pairs: GroundingPairs, groups: Sequence[tuple[str, Array]]
) -> Table:
    """Expressions with one object, accuracy at IoU 0.5 and mean IoU of groups of expressions."""
    iou = chosen(pairs, SharedCache(), Rule(), "first")[1]
    rows = [(label, inside & (pairs.targets == 1)) for label, inside in groups]
    rows = [(label, inside) for label, inside in rows if inside.any()]
    values = [
        [float(inside.sum()), float((iou[inside] >= 0.5).mean()), float(iou[inside].mean())] for _, inside in rows
    ]
    return Table(
        name, title, stub, tuple(label for label, _ in rows), ("expressions", "acc@0.5", "mean IoU"), np.array(values)
    )


def _errors(pairs: GroundingPairs) -> Table:
    """What is wrong with each box: loose, on another object of the image, or elsewhere.

    Other objects are those that other expressions name and, where the data set lists them, those of the same class.
    """
    predicted, iou = chosen(pairs, SharedCache(), Rule(), "first")
    single = pairs.targets == 1
    wrong = np.flatnonzero(single & (predicted >= 0) & (iou < 0.5))
    other = np.zeros(len(iou), dtype=bool)
    same_class = pairs.truth.find(SAME_CLASS)
    _, image = np.unique(pairs.truth["image"][pairs.truth_row].astype(str), return_inverse=True)
    order = np.argsort(image, kind="stable")
    begin = np.searchsorted(image[order], np.arange(image.max(initial=-1) + 2))
    for place in wrong.tolist():
        beside = order[begin[image[place]] : begin[image[place] + 1]]
        own = pairs.truth_row[place]
        spans = [
            pairs.true.box[pairs.true.begin[g] : pairs.true.begin[g + 1]] for g in pairs.truth_row[beside].tolist()
        ]
        if same_class is not None:
            listed = np.array(same_class[own], dtype=float).reshape(-1, 4)
            spans.append(np.concatenate([listed[:, :2], listed[:, :2] + listed[:, 2:]], axis=1))
        boxes = np.concatenate([np.zeros((0, 4)), *spans])
        boxes = boxes[(boxes != pairs.true.box[pairs.true.begin[own]]).any(axis=1)]
        box = np.broadcast_to(pairs.predicted.box[predicted[place]], boxes.shape)
        other[place] = (overlaps(box, boxes, np.full((len(boxes), 2), np.nan), Rule()) >= 0.5).any()
    loose = single & (predicted >= 0) & (iou < 0.5) & ~other & (iou >= LOOSE)
    kinds = {
        "right": single & (iou >= 0.5),
        f"loose box (IoU {LOOSE} to 0.5)": loose,
        "on another object" if same_class is not None else "on an object that another expression names": other,
        "elsewhere": single & (predicted >= 0) & (iou < LOOSE) & ~other,
        "no box": single & (predicted < 0),
    }
    counts = np.array([[kind.sum(), kind.sum() / single.sum()] for kind in kinds.values()], dtype=float)
    return Table("errors", "What is wrong with the boxes", "outcome", tuple(kinds), ("expressions", "share"), counts)


def _by_words(pairs: GroundingPairs) -> Table:
    name = "text" if "text" in pairs.truth else "expression"
    count = np.array([len(str(text).split()) for text in pairs.truth[name][pairs.truth_row].tolist()])
    groups = [(f"{low}", count == low) for low in (1, 2, 3)] + [
        ("4 or 5", (count == 4) | (count == 5)),
        ("6 to 9", (count > 5) & (count < 10)),
        ("10 or more", count >= 10),
    ]
    return _accuracy_table("by_words", "By number of words", "words", pairs, groups)


def _by_area(pairs: GroundingPairs) -> Table:
    """By COCO's sizes of objects."""
    area = np.zeros(len(pairs.owner))
    single = np.flatnonzero(pairs.targets == 1)
    box = pairs.true.box[pairs.true.begin[pairs.truth_row[single]]]
    area[single] = (box[:, 2] - box[:, 0]) * (box[:, 3] - box[:, 1])
    groups = [
        ("below 32²", area < 32**2),
        ("32² to 96²", (area >= 32**2) & (area < 96**2)),
        ("from 96²", area >= 96**2),
    ]
    return _accuracy_table("by_area", "By area of the true box", "pixels", pairs, groups)


def _by_same_class(pairs: GroundingPairs) -> Table:
    """By how many objects of the same class the image holds, the meant one included."""
    column = pairs.truth.find("same_class")
    assert column is not None
    count = np.array([float(value) for value in column[pairs.truth_row].tolist()])
    groups = [("1", count == 1), ("2", count == 2), ("3 or 4", (count == 3) | (count == 4)), ("5 or more", count >= 5)]
    return _accuracy_table("by_same_class", "By number of objects of the same class", "objects", pairs, groups)


def _by_type(pairs: GroundingPairs) -> Table:
    """Recall at 1, 5 and 10 of the phrases of each type, in both protocols; a phrase with two types is in both rows."""
    kinds, cache, target = kinds_of(pairs), SharedCache(), pairs.targets > 0
    names = sorted({name for own in kinds for name in own})
    protocols: tuple[tuple[str, Boxes], ...] = (("any", "any"), ("merged", "merged"))
    columns = [(f"{title}, first {k}", RecallSum(k, 0.5, boxes)) for title, boxes in protocols for k in (1, 5, 10)]
    hits = np.stack([sums.of_expressions(pairs, cache) for _, sums in columns], axis=1)
    groups = [("all", target), *((name, target & np.array([name in own for own in kinds])) for name in names)]
    groups = [(name, inside) for name, inside in groups if inside.any()]
    values = [[float(inside.sum()), *hits[inside].mean(axis=0).tolist()] for _, inside in groups]
    return Table(
        "by_type",
        "Recall by type of phrase, of any true box and of the box around all",
        "type",
        tuple(name for name, _ in groups),
        ("phrases", *(title for title, _ in columns)),
        np.array(values),
    )


def _outcomes(pairs: GroundingPairs) -> Table:
    said = pairs.prediction_row >= 0
    names = np.full(len(said), "no reply", dtype=object)
    if said.any():
        names[said] = pairs.outcomes[pairs.prediction_row[said]]
    kinds, counts = np.unique(names.astype(str), return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return Table(
        "outcomes",
        "Outcomes of the replies",
        "outcome",
        tuple(kinds[order].tolist()),
        ("expressions",),
        counts[order].astype(float)[:, np.newaxis],
    )


def _presence(pairs: GroundingPairs) -> Table:
    there, said, answered = pairs.targets > 0, pairs.replies > 0, pairs.answered
    counts = [[int((kind & reply).sum()) for reply in (said, ~said & answered, ~answered)] for kind in (there, ~there)]
    return Table(
        "presence",
        "Presence: what the expression names and what the reply does",
        "truth",
        ("something", "nothing"),
        ("something found", "nothing found", "no answer"),
        np.array(counts, dtype=float),
    )


def figures(pairs: GroundingPairs, state: State, metrics: Sequence[Metric]) -> Mapping[str, Callable[[], Figure]]:
    """The figures."""
    if "concepts" in pairs.held and len(pairs.owner):
        return {"concepts": lambda: pmf1_curve(pairs)}
    if not len(pairs.owner) or not len(pairs.predicted.box) or np.isnan(pairs.predicted.box[:, 0]).all():
        return {}
    made: dict[str, Callable[[], Figure]] = {"overlaps": lambda: overlap_histogram(pairs)}
    if "one" in pairs.held and len(_first_boxes(pairs)[0]):
        made["offsets"] = lambda: offsets(pairs)
        made["corners"] = lambda: corner_agreement(pairs)
    return made


def overlap_histogram(pairs: GroundingPairs) -> Figure:
    """How much boxes overlap the true ones."""
    best = _best(pairs)
    counts, edges = np.histogram(best[~np.isnan(best)], bins=BINS, range=(0.0, 1.0))
    return Figure(
        "overlaps",
        "histogram",
        "Overlap with the true box",
        {"low": edges[:-1], "high": edges[1:], "count": counts},
        {"x": "IoU", "y": "expressions"},
        "The largest IoU of each expression that names something; 0 where nothing was found.",
    )


def _first_boxes(pairs: GroundingPairs) -> tuple[Array, Array]:
    """True boxes of expressions with one object and the first box of the reply; replies with a point are left out."""
    predicted, _ = chosen(pairs, SharedCache(), Rule(), "first")
    place = np.flatnonzero(predicted >= 0)
    true, box = pairs.true.box[pairs.true.begin[pairs.truth_row[place]]], pairs.predicted.box[predicted[place]]
    boxed = ~np.isnan(box[:, 0])
    return true[boxed], box[boxed]


def offsets(pairs: GroundingPairs) -> Figure:
    """How far the centres lie from the true ones, in widths and heights of the true box."""
    true, box = _first_boxes(pairs)
    extent = true[:, 2:] - true[:, :2]
    away = ((box[:, :2] + box[:, 2:]) - (true[:, :2] + true[:, 2:])) / 2 / extent
    return Figure(
        "offsets",
        "points",
        "Offsets of the centres",
        points_or_cells(away[:, 0], -away[:, 1]),
        {"x": "to the right, in true widths", "y": "upwards, in true heights", "zero": True, "item": "expression"},
        "Within half a width and height of 0 the centre lies in the true box. A cloud away from 0 shows a constant "
        "offset, one along a line another coordinate space.",
        Table(
            "offsets",
            "Offsets of the centres",
            "axis",
            ("to the right, in true widths", "upwards, in true heights"),
            ("median", "middle half, from", "to"),
            np.array([np.quantile(side, [0.5, 0.25, 0.75]) for side in (away[:, 0], -away[:, 1])]),
        ),
    )


def corner_agreement(pairs: GroundingPairs) -> Figure:
    """Predicted against true coordinates: another slope than 1 shows another coordinate space."""
    true, box = _first_boxes(pairs)
    return Figure(
        "corners",
        "agreement",
        "Coordinates of the boxes",
        {"x": true[:MOST].ravel(), "y": box[:MOST].ravel()},
        {"x": "true coordinate (pixels)", "y": "predicted coordinate (pixels)"},
        "All four coordinates of each box. Points along another line than the diagonal show another coordinate space.",
    )


def listing(pairs: GroundingPairs, state: State) -> Listing:
    """Every expression with its outcome."""
    best = _best(pairs)
    words = pairs.truth["text" if "text" in pairs.truth else "expression"][pairs.truth_row]
    images = pairs.truth["image"][pairs.truth_row]
    texts, codes = np.unique(words.astype(str), return_inverse=True)
    names, image = np.unique(images.astype(str), return_inverse=True)
    columns: dict[str, Array | Texts] = {
        "image": Texts(image.astype(np.int64), names.tolist()),
        "expression": Texts(codes.astype(np.int64), texts.tolist()),
        "answer": Texts(pairs.answered.astype(np.int64), ["no answer", "answered"]),
        "objects": pairs.targets,
        "found": pairs.replies,
        "IoU": best,
    }
    return Listing("expressions", "Expressions", columns, "answer", "IoU")


def scene(pairs: GroundingPairs, unit: int, metric: Metric) -> Scene:
    """The true and found objects of all expressions of an image."""
    places = np.flatnonzero(pairs.owner == unit)
    true_hit, found_hit = _matched(pairs, places)
    shapes: list[BoxShape | PolygonShape] = []
    for number, place in enumerate(places.tolist(), 1):
        group, reply = int(pairs.truth_row[place]), int(pairs.prediction_row[place])
        if "masks" in pairs.held:
            shapes += mask_shapes(pairs, place, str(number))
            continue
        for row in range(pairs.true.begin[group], pairs.true.begin[group + 1]):
            shapes.append(_shape("truth", pairs.true.box[row], str(number), row in true_hit))
        for row in range(pairs.predicted.begin[reply], pairs.predicted.begin[reply + 1]) if reply >= 0 else ():
            box, point = pairs.predicted.box[row], pairs.predicted.point[row]
            corners = np.concatenate([point - DOT, point + DOT]) if np.isnan(box[0]) else box
            shapes.append(_shape("prediction", corners, str(number), row in found_hit))
    name = "text" if "text" in pairs.truth else "expression"
    words = "; ".join(
        f"{number} {pairs.truth[name][pairs.truth_row[place]]}" for number, place in enumerate(places.tolist(), 1)
    )
    image = str(pairs.truth["image"][pairs.truth_row[places[0]]]) if len(places) else str(pairs.units[unit])
    size = pairs.size[pairs.truth_row[places[0]]] if len(places) else np.full(2, np.nan)
    bounds = None if np.isnan(size).any() else (0.0, 0.0, float(size[0]), float(size[1]))
    return Scene(f"Image {image}", words[:400], tuple(shapes), bounds, (image.rsplit(".", 1)[0],))


def _shape(role: Role, corners: Array, label: str, matched: bool) -> BoxShape:
    x1, y1, x2, y2 = corners.tolist()
    return BoxShape(role, x1, y1, x2 - x1, y2 - y1, label, matched)


def _matched(pairs: GroundingPairs, places: Array) -> tuple[set[int], set[int]]:
    """The true and the found objects of some expressions that fit each other, one to one: boxes by IoU, the best pair
    first, and points inside the box.
    """
    true_hit: set[int] = set()
    found_hit: set[int] = set()
    for place in places.tolist():
        group, reply = int(pairs.truth_row[place]), int(pairs.prediction_row[place])
        if reply < 0:
            continue
        rows, columns = (
            np.arange(side.begin[one], side.begin[one + 1])
            for side, one in ((pairs.true, group), (pairs.predicted, reply))
        )
        true, shown = np.repeat(rows, len(columns)), np.tile(columns, len(rows))
        value = overlaps(pairs.predicted.box[shown], pairs.true.box[true], np.full((len(true), 2), np.nan), Rule())
        point, box = pairs.predicted.point[shown], pairs.true.box[true]
        inside = ((point >= box[:, :2]) & (point <= box[:, 2:])).all(axis=1)
        value = np.where(np.isnan(pairs.predicted.box[shown, 0]), inside * 1.0, value)
        for pair in np.argsort(-value, kind="stable").tolist():
            if value[pair] >= 0.5 and int(true[pair]) not in true_hit and int(shown[pair]) not in found_hit:
                true_hit.add(int(true[pair]))
                found_hit.add(int(shown[pair]))
    return true_hit, found_hit
