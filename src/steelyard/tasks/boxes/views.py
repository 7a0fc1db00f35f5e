"""What is shown beside the scores of boxes: tables, pictures of images, figures and the list of objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.figure import Figure, Listing, Texts, worst_and_best
from steelyard.core.metric import Metric
from steelyard.core.pairs import Array
from steelyard.core.plan import POINT, UNITS
from steelyard.core.ranking import RankingBlock
from steelyard.core.scene import BoxShape, PolygonShape, Scene
from steelyard.core.scene import Role as SceneRole
from steelyard.core.state import State
from steelyard.core.statistic import RankingReader, SharedCache
from steelyard.core.table import Table
from steelyard.core.weights import GivenRows, Role, ratio
from steelyard.tasks.boxes.along import Walk
from steelyard.tasks.boxes.errors import KINDS, TITLES, ErrorCost
from steelyard.tasks.boxes.explain import explain_tools as explain
from steelyard.tasks.boxes.gallery import confused, confusion_counts, shots, shown_units, sweep
from steelyard.tasks.boxes.matches import AREAS, IOUS, STANDARD_AREAS, Matches, matches
from steelyard.tasks.boxes.pairs import CLASS, CROWD, BoxPairs
from steelyard.tasks.boxes.precision import AveragePrecision
from steelyard.tasks.boxes.ranking import FigureValues, RankingFigure, RankingSummary, detections
from steelyard.tasks.boxes.settings import MOST, STANDARD, STANDARD_MOST, class_names
from steelyard.tasks.boxes.working import PrecisionAt, RecallAt, rates

__all__ = [
    "class_metrics",
    "explain",
    "figures",
    "listing",
    "long_tables",
    "pictured",
    "scene",
    "shots",
    "shown_units",
    "sweep",
    "tables",
]


BACKGROUND = "(background)"


def tables(pairs: BoxPairs, state: State, most: int = STANDARD_MOST) -> Mapping[str, Callable[[], Table]]:
    """The tables by name; each is made when it is asked for."""
    work = SharedCache()
    return {
        "classes": lambda: classes(pairs, work, most),
        "confusion": lambda: confusion(pairs, work),
        "operating": lambda: operating(pairs, work),
    }


def long_tables(pairs: BoxPairs, state: State, most: int = STANDARD_MOST) -> Mapping[str, Callable[[], Table]]:
    """Tables with a row for each detection or point, made when they are asked for."""
    work = SharedCache()
    return {
        "matches": lambda: match_table(pairs, work),
        "pr_points": lambda: pr_points(pairs, work),
        "pr_curves": lambda: pr_curves(pairs, work, most),
    }


def match_table(pairs: BoxPairs, cache: SharedCache) -> Table:
    """Every detection in the order of the input: whether it is right at IoU 0.5, and how well it fits what it found."""
    m = matches(pairs, cache, (0.5,), (AREAS["all"],), MOST)[0]
    places = np.flatnonzero(m.places())
    places = places[np.argsort(m.order[places], kind="stable")]
    hit, _ = m.bit(0)
    label, overlap = m.label[places], np.where(hit[places], m.overlap[places], np.nan)
    area = pairs.d_box[m.order[places]][:, 2:].prod(axis=1) if pairs.d_area is None else pairs.d_area[m.order[places]]
    columns = {
        "image": _texts(m.image[places], pairs.units.tolist()), "class": _texts(label, class_names(pairs.metadata)),
        "score": m.score[places], "outcome": outcomes(m, places), "iou": overlap, "area": area,
    }  # fmt: skip
    return _long("matches", "Detections, matched at IoU 0.5", "detection", m.order[places] + 1, columns)


def pr_points(pairs: BoxPairs, cache: SharedCache) -> Table:
    """Detections that count at IoU 0.5, by class and falling score, with precision and recall down to each."""
    m = matches(pairs, cache, (0.5,), (AREAS["all"],), MOST)[0]
    hit, ignored = m.bit(0)
    places = np.flatnonzero(m.places() & ~ignored)
    label = m.label[places]
    right = hit[places].astype(np.int64)
    starts = np.searchsorted(label, np.arange(len(m.begin)))
    before = np.concatenate([[0], np.cumsum(right)])[starts][label]
    tp = np.cumsum(right) - before
    seen = np.arange(1, len(places) + 1) - starts[label]
    objects = np.diff(np.concatenate([[0], np.cumsum(m.counts, dtype=np.int64)])[m.truth_begin])
    with np.errstate(invalid="ignore", divide="ignore"):
        recall = np.where(objects[label] > 0, tp / objects[label], np.nan)
    columns = {
        "image": _texts(m.image[places], pairs.units.tolist()), "class": _texts(label, class_names(pairs.metadata)),
        "score": m.score[places], "outcome": outcomes(m, places), "tp": tp, "fp": seen - tp, "precision": tp / seen,
        "recall": recall,
    }  # fmt: skip
    return _long("pr_points", "Precision and recall down to each detection, IoU 0.5", "rank", seen, columns)


def pr_curves(pairs: BoxPairs, cache: SharedCache, most: int) -> Table:
    """COCO's precision at 101 recalls, of every class that has truth and every IoU."""
    precision = curves(pairs, cache, most)[0].figure
    levels, points, _ = precision.shape
    defined = np.flatnonzero(~np.isnan(precision).any(axis=(0, 1)))
    shape = (len(defined), levels, points)
    label, level, point = (place.ravel() for place in np.indices(shape))
    columns = {
        "class": _texts(defined[label], class_names(pairs.metadata)), "iou": np.array(IOUS)[level],
        "recall": np.linspace(0, 1, points)[point], "precision": precision[level, point, defined[label]],
    }  # fmt: skip
    return _long("pr_curves", "Precision at 101 recalls", "point", point + 1, columns)


def outcomes(m: Matches, places: Array) -> Array:
    """TP, FP, or "ignored" where a detection counts neither way, at the one IoU of the matches."""
    hit, ignored = (flags[places] for flags in m.bit(0))
    return np.where(hit, "TP", np.where(ignored, "ignored", "FP")).astype(object)


def _texts(codes: Array, names: Sequence[object]) -> Array:
    return np.array([str(name) for name in names], dtype=object)[codes] if len(names) else np.zeros(len(codes), object)


def _long(name: str, title: str, corner: str, numbers: Array, columns: Mapping[str, Array]) -> Table:
    values = np.empty((len(numbers), len(columns)), dtype=object)
    for place, column in enumerate(columns.values()):
        values[:, place] = column
    return Table(name, title, corner, tuple(map(str, numbers.tolist())), tuple(columns), values)


def curves(pairs: BoxPairs, cache: SharedCache, most: int = STANDARD_MOST) -> tuple[FigureValues, Array, Array]:
    """Precision at 101 recalls and the recall, objects and detections by class, at the standard thresholds."""

    def make() -> tuple[FigureValues, Array, Array]:
        statistic, _, _ = detections(STANDARD, "all", "coco")
        state = State.of(pairs, [statistic], cache)
        totals = state.totals(POINT)
        block = statistic.measure(pairs, cache)
        counted = np.concatenate([[0], np.cumsum(block.positives.columns["counted0"])])[block.positives.begin]
        return (
            totals[RankingFigure(statistic, "coco", max_dets=most)],
            np.diff(counted),
            totals[RankingSummary(statistic, most)][0],
        )

    return cache.once(("curves", most), make)


def classes(pairs: BoxPairs, cache: SharedCache, most: int = STANDARD_MOST) -> Table:
    """One row per class: objects, detections, AP, AP at 0.5 and 0.75, recall of all detections."""
    read, objects, detections = curves(pairs, cache, most)
    precision, recall = read.figure, read.recall
    names = class_names(pairs.metadata)
    columns = (
        objects,
        detections,
        precision.mean(axis=(0, 1)),
        precision[0].mean(axis=0),
        precision[IOUS.index(0.75)].mean(axis=0),
        recall.mean(axis=0),
    )
    heads = ("objects", "detections", "ap", "ap50", "ap75", "ar@100" if most == STANDARD_MOST else "ar")
    values = np.stack(columns, axis=1) if names else np.zeros((0, len(heads)))
    return Table("classes", "Average precision by class", "class", names, heads, values)


def operating(pairs: BoxPairs, cache: SharedCache) -> Table:
    """One row per class: the best F1 with its score, precision and recall, and two points that are sought."""
    block, names = detections(STANDARD, "all", "coco")[0].measure(pairs, cache), class_names(pairs.metadata)
    searches = [PrecisionAt(), RecallAt()]
    values = np.full((len(names), 6), np.nan)
    for code in range(len(names)):
        single = block.one(code)
        walk = Walk.of(single, MOST)
        objects = float(single.positives.columns["counted0"].sum())
        if not objects:
            continue
        values[code, :4] = 0, np.nan, np.nan, 0
        precision, recall = (rate[0] for rate in rates(walk, np.ones((1, len(walk.rows))), np.array([objects])))
        if walk.hit.any():
            with np.errstate(invalid="ignore"):
                f1 = np.nan_to_num(2 * precision * recall / (precision + recall))
            best = int(f1.argmax())
            score = single.events.columns["score"][walk.rows[walk.ends[best]]]
            values[code, :4] = f1[best], score, precision[best], recall[best]
        for column, metric in enumerate(searches, start=4):
            (reached,) = metric.search.read_group(single, GivenRows(np.ones((1, len(pairs.units))), Role.POINT))
            values[code, column] = reached[0, 0]
    heads = ("f1", "score", "precision", "recall", *(f"{m.seeks} at {m.given} {m.least:g}" for m in searches))
    return Table("operating", "Working points by class, IoU 0.5", "class", names, heads, values)


def confusion(pairs: BoxPairs, cache: SharedCache, iou: float = 0.5, score: float = 0.5, max_dets: int = MOST) -> Table:
    """The confusion matrix with background: counts, truth by prediction.

    The last row holds detections on background, the last column missed objects. The diagonal are the true positives of
    `precision` and `recall`, matched within the class; then a detection left over takes an object left over of another
    class that it overlaps with IoU >= `iou`, highest score first.
    """
    names = class_names(pairs.metadata)
    table = confusion_counts(pairs, confused(pairs, cache, iou, score, max_dets))
    rows = (*names, BACKGROUND)
    title = f"Confusion matrix at IoU {iou:g} and score {score:g}: rows of truth by prediction"
    return Table("confusion", title, "truth", rows, rows, table.astype(float))


# Draws an object: objects of both sides, its role, its row, its name, whether it has a partner, and that one's row.
Drawer = Callable[[BoxPairs, SceneRole, int, str, bool, int], BoxShape | PolygonShape]


def upright(both: BoxPairs, role: SceneRole, row: int, label: str, matched: bool, partner: int) -> BoxShape:
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
    names = class_names(pairs.metadata)
    places = np.flatnonzero(matched.places() & (matched.score >= least) & (matched.rank < most))
    hit, ignored = matched.bit(0)
    right = places[hit[places]]
    taken = dict(zip(matched.partner[right].tolist(), matched.order[right].tolist(), strict=True))
    shapes: list[BoxShape | PolygonShape] = []
    for i in range(len(alone.box)):
        crowd = bool(alone.flags[i] & 1)
        name = f"{names[alone.label[i]]} (crowd)" if crowd else names[alone.label[i]]
        shapes.append(draw(alone, "truth", i, name, crowd or i in taken, taken.get(i, -1)))
    for place in places.tolist():
        row = int(matched.order[place])
        label = f"{names[alone.d_label[row]]} {alone.d_score[row]:.2f}"
        partner = int(matched.partner[place]) if hit[place] else -1
        shapes.append(draw(alone, "prediction", row, label, bool(hit[place] or ignored[place]), partner))
    statistics = [each.ranking if isinstance(each, RankingReader) else each for each in metric.requirements()]
    value = float(State.of(alone, dict.fromkeys(statistics), work).take(np.array([unit])).totals(UNITS).of(metric)[0])
    value_text = "undefined" if np.isnan(value) else f"{value:.4f}"
    return Scene(
        title=f"Image {pairs.units[unit]}: {metric.label} = {value_text}",
        summary=f"{len(alone.box)} true, {len(places)} detected with a score from {least:g}, "
        f"{count_text(int(np.count_nonzero(hit[places])), 'pair')} at IoU {iou:g}",
        shapes=tuple(shapes),
    )


MOST_CURVES = 6
MOST_CLASSES = 30
MOST_LOOKED_AT = 100_000  # detections, for the breakdown: it looks at one image at a time
BINS = 25
SHOWN_IOUS = (0.5, 0.6, 0.7, 0.8, 0.9)


def figures(
    pairs: BoxPairs, state: State, metrics: Sequence[Metric], most: int = STANDARD_MOST
) -> Mapping[str, Callable[[], Figure]]:
    """The figures, each made when it is asked for; `most` detections of a class count in an image."""
    work = SharedCache()
    if not len(pairs.image):
        return {}
    return {
        "pr_iou": lambda: pr_by_iou(pairs, work, most),
        "pr_class": lambda: pr_by_class(pairs, work, most),
        "ap_class": lambda: ap_by_class(pairs, work, most),
        "errors": lambda: errors(pairs, work),
        "scores": lambda: scores(pairs, work),
        "confusion": lambda: confusion_figure(pairs, work),
    }


def pr_by_iou(pairs: BoxPairs, cache: SharedCache, most: int) -> Figure:
    """Precision against recall, the mean over classes, at several IoU thresholds."""
    precision = curves(pairs, cache, most)[0].figure
    defined = ~np.isnan(precision[0]).all(axis=0)
    recall = np.linspace(0, 1, precision.shape[1])
    columns: dict[str, list[Any]] = {"series": [], "x": [], "y": []}
    for iou in SHOWN_IOUS:
        own = precision[int(np.argmin(np.abs(np.array(IOUS) - iou)))][:, defined]
        mean = own.mean(axis=1) if defined.any() else np.full(len(recall), np.nan)
        columns["series"] += [f"IoU {iou:g}"] * len(recall)
        columns["x"] += recall.tolist()
        columns["y"] += mean.tolist()
    return Figure(
        "pr_iou", "curves", "Precision and recall by IoU", columns, {"x": "recall", "y": "precision", "unit": True},
        "The mean over classes. How fast the curves fall from one IoU to the next says how well the boxes fit.",
    )  # fmt: skip


def pr_by_class(pairs: BoxPairs, cache: SharedCache, most: int) -> Figure:
    """Precision against recall at IoU 0.5 of the classes with the most objects."""
    precision, table = curves(pairs, cache, most)[0].figure[0], classes(pairs, cache, most)
    order = np.argsort(-table.values[:, 0], kind="stable")
    shown = [int(k) for k in order[:MOST_CURVES] if table.values[k, 0] > 0]
    recall = np.linspace(0, 1, precision.shape[0])
    columns: dict[str, list[Any]] = {"series": [], "x": [], "y": []}
    for k in sorted(shown):
        columns["series"] += [table.rows[k]] * len(recall)
        columns["x"] += recall.tolist()
        columns["y"] += precision[:, k].tolist()
    which = (
        "All classes"
        if len(shown) == len(table.rows)
        else f"The {count_text(len(shown), 'class')} with the most objects"
    )
    return Figure(
        "pr_class", "curves", "Precision and recall by class, IoU 0.5", columns,
        {"x": "recall", "y": "precision", "unit": True}, f"{which}.",
    )  # fmt: skip


def ap_by_class(pairs: BoxPairs, cache: SharedCache, most: int) -> Figure:
    """AP of each class, the worst first."""
    table = classes(pairs, cache, most)
    ap = table.values[:, 2]
    order = [int(k) for k in np.argsort(np.where(np.isnan(ap), np.inf, ap), kind="stable") if not np.isnan(ap[k])]
    places, more = worst_and_best(order)
    return Figure(
        "ap_class",
        "bars",
        "AP by class",
        {"name": [table.rows[k] for k in places], "value": ap[places], "objects": table.values[places, 0]},
        {"x": "AP, IoU 0.5:0.95"},
        f"The worst first.{more}",
        table,
    )


def errors(pairs: BoxPairs, cache: SharedCache) -> Figure:
    """What each kind of error costs."""
    detections, units = pairs.d_image, len(pairs.units)
    step = max(1, -(-len(detections) // MOST_LOOKED_AT))
    remark = f" From every {step}th image: {-(-units // step):,} of {units:,}." if step > 1 else ""
    kinds = [kind for kind in KINDS if kind not in ("fp", "fn")]
    costs = cache.once(("costs", step), lambda: _costs(pairs, cache, kinds, step))
    order = np.argsort([-c for c in costs], kind="stable")
    return Figure(
        "errors",
        "bars",
        "What errors cost",
        {"name": [TITLES[kinds[i]] for i in order], "value": [costs[i] for i in order]},
        {"x": "AP at IoU 0.5 that a repair would give", "cost": "AP50"},
        f"How much AP would rise if all errors of a kind were repaired, each kind alone (TIDE).{remark}",
    )


def _costs(pairs: BoxPairs, cache: SharedCache, kinds: Sequence[str], step: int) -> list[float]:
    """What each kind of error costs, in every so many images."""
    if step > 1:
        pairs, cache = pairs.select(np.concatenate([pairs.image, pairs.d_image]) % step == 0), SharedCache()
    costs_of = [ErrorCost(error=kind) for kind in kinds]  # type: ignore[arg-type]
    needs = dict.fromkeys(curve.ranking for metric in costs_of for curve in metric.curves)
    totals = State.of(pairs, needs, cache).totals(POINT)
    return [float(totals.of(metric)[0]) for metric in costs_of]


def scores(pairs: BoxPairs, cache: SharedCache) -> Figure:
    """How scores are spread over hits and false positives at IoU 0.5."""
    m = matches(pairs, cache, IOUS, STANDARD_AREAS, MOST)[0]
    hit, ignored = m.bit(0)
    places = m.places() & ~ignored
    every = m.score[places]
    columns: dict[str, list[Any]] = {"low": [], "high": [], "count": [], "series": []}
    if len(every):
        low, high = float(every.min()), float(every.max())
        edges = np.linspace(min(0.0, low), max(1.0, high) if high <= 1 else high, BINS + 1)
        for name, part in (("hit", m.score[places & hit]), ("false positive", m.score[places & ~hit])):
            columns["low"] += edges[:-1].tolist()
            columns["high"] += edges[1:].tolist()
            columns["count"] += np.histogram(part, edges)[0].tolist()
            columns["series"] += [name] * BINS
    return Figure(
        "scores", "histogram", "Scores of hits and false positives", columns, {"x": "score", "y": "detections"},
        "At IoU 0.5. Where the two overlap, no score threshold can part them.",
    )  # fmt: skip


def confusion_figure(pairs: BoxPairs, cache: SharedCache) -> Figure:
    """The confusion matrix with background; of many classes, those that are confused most."""
    table = confusion(pairs, cache)
    counts, remark = table.values, ""
    places = np.arange(len(table.rows))
    if len(table.rows) > MOST_CLASSES + 1:
        off = counts[:-1, :-1] - np.diag(np.diag(counts[:-1, :-1]))
        weight = off.sum(axis=0) + off.sum(axis=1)
        places = np.append(np.sort(np.argsort(-weight, kind="stable")[:MOST_CLASSES]), len(counts) - 1)
        remark = f" The {MOST_CLASSES} of {len(counts) - 1} classes that are confused most."
    names = tuple(table.rows[k] for k in places)
    counts = counts[np.ix_(places, places)]
    share = np.nan_to_num(ratio(counts, counts.sum(axis=1, keepdims=True)))
    i, j = (place.ravel() for place in np.indices(counts.shape))
    return Figure(
        "confusion",
        "matrix",
        "Confusion, with background",
        {
            "row": [names[a] for a in i],
            "column": [names[b] for b in j],
            "count": counts[i, j],
            "share": share[i, j],
            "text": [f"{v:g}" if v else "" for v in counts[i, j]],
        },
        {"x": "predicted", "y": "true"},
        f"At IoU 0.5 and score 0.5. The last column are objects that were missed, the last row {BACKGROUND} are "
        f"detections on nothing; shade is the share of the row.{remark}",
        Table("confusion", table.title, table.corner, names, names, counts),
    )


def class_metrics(state: State, most: int = STANDARD_MOST) -> Mapping[str, Metric]:
    """AP of each class; of many, those with the most objects, as far as the state says how many there are."""
    axis, cap = state.metadata.axes[CLASS], None if most == STANDARD_MOST else most
    rankings = [block for block in state.blocks.values() if isinstance(block, RankingBlock)]
    objects = np.diff(rankings[0].positives.begin) if rankings else np.ones(len(axis))
    largest = [k for k in np.argsort(-objects, kind="stable")[:MOST_CLASSES].tolist() if objects[k]]
    return {
        axis.display_names[k]: AveragePrecision(iou=STANDARD, max_dets=cap, only=axis.ids[k]) for k in sorted(largest)
    }


def listing(pairs: BoxPairs, state: State) -> Listing:
    """Every detection with the object it was matched to at IoU 0.5, then the objects that none was matched to."""
    work = SharedCache()
    names = list(class_names(pairs.metadata))
    m = matches(pairs, work, (0.5,), (AREAS["all"],), MOST)[0]
    places = np.flatnonzero(m.places())
    hit, ignored = (flags[places] for flags in m.bit(0))
    label = m.label[places]
    taken = np.zeros(len(pairs.image), dtype=bool)
    taken[m.partner[places][hit]] = True
    missed = np.flatnonzero(~taken & ((pairs.flags & CROWD) == 0))
    box = pairs.d_box[m.order[places]]
    area = box[:, 2] * box[:, 3] if pairs.d_area is None else pairs.d_area[m.order[places]]
    order = np.lexsort((-np.concatenate([m.score[places], np.full(len(missed), -np.inf)]),
                        np.concatenate([m.image[places], pairs.image[missed]])))  # fmt: skip

    def concatenate_sides(predicted: Array, objects: Array) -> Array:
        return np.concatenate([predicted, objects])[order]

    nothing = np.full(len(missed), np.nan)
    outcome = np.where(hit, 0, np.where(ignored, 2, 1))
    return Listing(
        "detections",
        "Detections and missed objects",
        {
            "image": Texts(
                concatenate_sides(m.image[places], pairs.image[missed]), [str(u) for u in pairs.units.tolist()]
            ),
            "class": Texts(concatenate_sides(label, pairs.label[missed]), names),
            "outcome": Texts(
                concatenate_sides(outcome, np.full(len(missed), 3)),
                ["hit", "false positive", "counts neither way", "missed object"],
            ),
            "score": concatenate_sides(m.score[places], nothing),
            "IoU": concatenate_sides(np.where(hit, m.overlap[places], np.nan), nothing),
            "area": np.rint(concatenate_sides(area, pairs.area[missed])),
        },
        "outcome",
        "score",
    )


pictured = "f1"
