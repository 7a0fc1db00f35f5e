"""What the page of boxes draws: PR curves by class and IoU, AP by class, confusion, scores, and the error breakdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from steelyard.core.figure import Array, Figure, Listing, Texts, worst_and_best
from steelyard.core.metric import Metric
from steelyard.core.plan import POINT
from steelyard.core.ranking import RankingBlock
from steelyard.core.state import State
from steelyard.core.statistic import SharedCache
from steelyard.core.table import Table
from steelyard.core.weights import ratio
from steelyard.tasks.boxes.errors import KINDS, TITLES, ErrorCost
from steelyard.tasks.boxes.matches import AREAS, CROWD, IOUS, STANDARD_AREAS, match_input, matches
from steelyard.tasks.boxes.pairs import CLASS, BoxPairs
from steelyard.tasks.boxes.precision import AveragePrecision
from steelyard.tasks.boxes.settings import MOST, STANDARD, STANDARD_MOST, class_names
from steelyard.tasks.boxes.tables import BACKGROUND, classes, confusion, curves

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
    if not len(match_input(pairs, work).image):
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
    known = ~np.isnan(precision[0]).all(axis=0)
    recall = np.linspace(0, 1, precision.shape[1])
    columns: dict[str, list[Any]] = {"series": [], "x": [], "y": []}
    for iou in SHOWN_IOUS:
        mean = precision[int(np.argmin(np.abs(np.array(IOUS) - iou)))][:, known].mean(axis=1)
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
    said = "All classes" if len(shown) == len(table.rows) else f"The {len(shown)} classes with the most objects"
    return Figure(
        "pr_class", "curves", "Precision and recall by class, IoU 0.5", columns,
        {"x": "recall", "y": "precision", "unit": True}, f"{said}.",
    )  # fmt: skip


def ap_by_class(pairs: BoxPairs, cache: SharedCache, most: int) -> Figure:
    """AP of each class, the worst first."""
    table = classes(pairs, cache, most)
    ap = table.values[:, 2]
    order = [int(k) for k in np.argsort(np.where(np.isnan(ap), np.inf, ap), kind="stable") if not np.isnan(ap[k])]
    kept, more = worst_and_best(order)
    return Figure(
        "ap_class",
        "bars",
        "AP by class",
        {"name": [table.rows[k] for k in kept], "value": ap[kept], "objects": table.values[kept, 0]},
        {"x": "AP, IoU 0.5:0.95"},
        f"The worst first.{more}",
        table,
    )


def errors(pairs: BoxPairs, cache: SharedCache) -> Figure:
    """What each kind of error costs."""
    detections, units = match_input(pairs, cache).d_image, len(pairs.units)
    said = ""
    if len(detections) > MOST_LOOKED_AT:
        step = int(np.ceil(len(detections) / MOST_LOOKED_AT))
        pairs, cache = (
            pairs.select(np.concatenate([pairs.truth_image, pairs.prediction_image]) % step == 0),
            SharedCache(),
        )
        said = f" From every {step}th image: {-(-units // step):,} of {units:,}."
    kinds = [kind for kind in KINDS if kind not in ("fp", "fn")]
    costs_of = [ErrorCost(error=kind) for kind in kinds]  # type: ignore[arg-type]
    needs = dict.fromkeys(curve.ranking for metric in costs_of for curve in metric.curves)
    totals = State.of(pairs, needs, cache).totals(POINT)
    costs = [float(totals.of(metric)[0]) for metric in costs_of]
    order = np.argsort([-c for c in costs], kind="stable")
    return Figure(
        "errors",
        "bars",
        "What errors cost",
        {"name": [TITLES[kinds[i]] for i in order], "value": [costs[i] for i in order]},
        {"x": "AP at IoU 0.5 that a repair would give"},
        f"How much AP would rise if all errors of a kind were repaired, each kind alone (TIDE).{said}",
    )


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
    counts, said = table.values, ""
    kept = np.arange(len(table.rows))
    if len(table.rows) > MOST_CLASSES + 1:
        off = counts[:-1, :-1] - np.diag(np.diag(counts[:-1, :-1]))
        weight = off.sum(axis=0) + off.sum(axis=1)
        kept = np.append(np.sort(np.argsort(-weight, kind="stable")[:MOST_CLASSES]), len(counts) - 1)
        said = f" The {MOST_CLASSES} of {len(counts) - 1} classes that are confused most."
    names = tuple(table.rows[k] for k in kept)
    counts = counts[np.ix_(kept, kept)]
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
        f"detections on nothing; shade is the share of the row.{said}",
        Table("confusion", table.title, table.corner, names, names, counts),
    )


def class_metrics(state: State, most: int = STANDARD_MOST) -> Mapping[str, Metric]:
    """AP of each class; of many, those with the most objects, as far as the state says how many there are."""
    axis, cap = state.facts.axes[CLASS], None if most == STANDARD_MOST else most
    rankings = [block for block in state.blocks.values() if isinstance(block, RankingBlock)]
    objects = np.diff(rankings[0].positives.begin) if rankings else np.ones(len(axis))
    kept = [k for k in np.argsort(-objects, kind="stable")[:MOST_CLASSES].tolist() if objects[k]]
    return {axis.shown[k]: AveragePrecision(iou=STANDARD, max_dets=cap, only=axis.ids[k]) for k in sorted(kept)}


def listing(pairs: BoxPairs, state: State) -> Listing:
    """Every detection with the object it was matched to at IoU 0.5, then the objects that none was matched to."""
    work = SharedCache()
    s, names = match_input(pairs, work), list(class_names(pairs.facts))
    m = matches(pairs, work, (0.5,), (AREAS["all"],), MOST)[0]
    places = np.flatnonzero(m.places())
    hit, ignored = (flags[places] for flags in m.bit(0))
    label = m.label[places]
    taken = np.zeros(len(s.image), dtype=bool)
    taken[m.partner[places][hit]] = True
    missed = np.flatnonzero(~taken & ((s.flags & CROWD) == 0))
    box = s.d_box[m.order[places]]
    area = box[:, 2] * box[:, 3] if s.d_area is None else s.d_area[m.order[places]]
    order = np.lexsort((-np.concatenate([m.score[places], np.full(len(missed), -np.inf)]),
                        np.concatenate([m.image[places], s.image[missed]])))  # fmt: skip

    def joined(predicted: Array, objects: Array) -> Array:
        return np.concatenate([predicted, objects])[order]

    nothing = np.full(len(missed), np.nan)
    outcome = np.where(hit, 0, np.where(ignored, 2, 1))
    return Listing(
        "detections",
        "Detections and missed objects",
        {
            "image": Texts(joined(m.image[places], s.image[missed]), [str(u) for u in pairs.units.tolist()]),
            "class": Texts(joined(label, s.label[missed]), names),
            "outcome": Texts(
                joined(outcome, np.full(len(missed), 3)),
                ["hit", "false positive", "counts neither way", "missed object"],
            ),
            "score": joined(m.score[places], nothing),
            "IoU": joined(np.where(hit, m.overlap[places], np.nan), nothing),
            "area": np.rint(joined(area, s.area[missed])),
        },
        "outcome",
        "score",
    )
