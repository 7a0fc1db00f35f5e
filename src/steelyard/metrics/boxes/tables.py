"""What a report of boxes shows beside scores: the confusion matrix with background, and a row for each class."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from steelyard.core.stats import Stats
from steelyard.core.table import Table
from steelyard.metrics.boxes.matches import AREAS, IOUS, curves, matches, native_match, sides
from steelyard.metrics.boxes.pairs import UNCOUNTED
from steelyard.metrics.boxes.settings import STANDARD, class_names, class_of_places, matched

BACKGROUND = "(background)"


def tables(stats: Stats) -> Mapping[str, Callable[[], Table]]:
    """The tables by name; each is made when it is asked for."""
    return {"classes": lambda: classes(stats), "confusion": lambda: confusion(stats)}


def classes(stats: Stats) -> Table:
    """One row a class: objects, detections, AP, AP at 0.5 and 0.75, recall of all detections."""
    found, _ = matched(stats, STANDARD)
    precision, recall, _ = curves(found, stats.weight, 100)
    names = class_names(stats)
    objects = [found.counts[a:b].sum() for a, b in zip(found.truth_begin[:-1], found.truth_begin[1:], strict=True)]
    columns = (
        np.array(objects, dtype=float),
        (found.end - found.begin).astype(float),
        precision.mean(axis=(0, 1)),
        precision[0].mean(axis=0),
        precision[IOUS.index(0.75)].mean(axis=0),
        recall.mean(axis=0),
    )
    heads = ("objects", "detections", "ap", "ap50", "ap75", "ar@100")
    values = np.stack(columns, axis=1) if names else np.zeros((0, len(heads)))
    return Table("classes", "Average precision by class", "class", names, heads, values)


def confusion(stats: Stats, iou: float = 0.5, score: float = 0.5, max_dets: int = 100) -> Table:
    """The confusion matrix with background: counts, truth by prediction.

    The last row holds detections on background, the last column missed objects. The diagonal are the true positives of
    `precision` and `recall`, matched within the class; then a detection left over takes an object left over of another
    class that it overlaps with IoU >= `iou`, highest score first.
    """
    m, which = matched(stats, iou, "all", max_dets)
    s, classes = sides(stats), len(stats.facts["labels"])
    names = class_names(stats)
    kept = m.places() & (m.score >= score) & (m.rank < max_dets)
    hit, ignored = m.bit(which[0])
    label = class_of_places(m)
    table = np.zeros((classes + 1, classes + 1), dtype=np.int64)
    np.add.at(table, (label[kept & hit], label[kept & hit]), 1)

    single = matches(stats, (float(iou),), AREAS["all"], max(max_dets, 100))
    paired = single.places() & (single.score >= score) & (single.rank < max_dets) & single.bit(0)[0]
    taken = np.zeros(len(s.image), dtype=bool)
    taken[single.partner[paired]] = True
    truths = np.flatnonzero(~taken & ((s.flags & UNCOUNTED) == 0) & (s.area <= AREAS["all"][1]))
    rest = m.order[kept & ~hit & ~ignored]
    rest = rest[np.argsort(-s.d_score[rest], kind="stable")]
    found = native_match(
        s.part(truths, rest), len(stats), 1, [float(iou)], [[0.0, np.inf]], 65535, voc=False, pairs=True
    )
    order, partner = found[2], found[8]
    used = order >= 0
    predicted, partner = s.d_label[rest[order[used]]], partner[used]
    matched_rows = partner >= 0
    np.add.at(table, (s.label[truths[partner[matched_rows]]], predicted[matched_rows]), 1)
    table[classes, :classes] += np.bincount(predicted[~matched_rows], minlength=classes)
    missed = np.ones(len(truths), dtype=bool)
    missed[partner[matched_rows]] = False
    table[:classes, classes] += np.bincount(s.label[truths[missed]], minlength=classes)
    rows = (*names, BACKGROUND)
    title = f"Confusion matrix at IoU {iou:g} and score {score:g}: rows of truth by prediction"
    return Table("confusion", title, "truth", rows, rows, table.astype(float))
