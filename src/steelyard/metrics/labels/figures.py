"""What the page of labels draws: the confusion matrix, PR and ROC curves, reliability, confidence right and wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from steelyard.core.figure import Array, Figure, Listing, Texts
from steelyard.core.metric import Metric
from steelyard.core.stats import Stats
from steelyard.core.table import Table
from steelyard.core.weights import ratio
from steelyard.metrics.labels.averages import as_spec
from steelyard.metrics.labels.counts import class_support
from steelyard.metrics.labels.data import LabelPairs
from steelyard.metrics.labels.hard import F1
from steelyard.metrics.labels.ranked import ranking
from steelyard.metrics.labels.scores import score_matrix
from steelyard.metrics.labels.tables import confused, confusion, reliability

MOST_CURVES = 6
MOST_CLASSES = 40  # of a confusion matrix that is drawn; beyond, the pairs that are confused most
MOST_PAIRS = 25
POINTS = 160
BINS = 20


def figures(pairs: LabelPairs, stats: Stats, metrics: Sequence[Metric]) -> Mapping[str, Callable[[], Figure]]:
    """The figures that the data allow."""
    facts = stats.facts
    found: dict[str, Callable[[], Figure]] = {}
    if facts["labelled"] and not facts["several"]:
        few = len(facts["classes"]) <= MOST_CLASSES
        found["confusion"] = lambda: confusion_figure(stats) if few else confused_figure(stats)
    if "score" in facts or "probability" in facts:
        found["precision_recall"] = lambda: precision_recall(stats)
        found["roc"] = lambda: roc(stats)
    if "probability" in facts and not facts["several"]:
        found["reliability"] = lambda: reliability_figure(stats)
        found["confidence"] = lambda: confidence_figure(stats)
    return found


def confusion_figure(stats: Stats) -> Figure:
    """The whole matrix, shaded by the share of each true class."""
    table = confusion(stats)
    return matrix_figure(
        table, "Confusion matrix", "Rows are true classes, columns what was predicted; shade is the share of the row."
    )


def matrix_figure(table: Table, title: str, caption: str) -> Figure:
    """A matrix of counts as a figure."""
    counts = table.values
    share = np.nan_to_num(ratio(counts, counts.sum(axis=1, keepdims=True)))
    i, j = (place.ravel() for place in np.indices(counts.shape))
    return Figure(
        "confusion",
        "matrix",
        title,
        {
            "row": [table.rows[k] for k in i],
            "column": [table.columns[k] for k in j],
            "count": counts[i, j],
            "share": share[i, j],
            "text": [f"{v:g}" if v else "" for v in np.round(counts[i, j], 1)],
        },
        {"x": "predicted", "y": "true"},
        caption,
        table,
    )


def confused_figure(stats: Stats) -> Figure:
    """The pairs of classes that are confused most, where there are too many classes for a matrix."""
    classes = stats.facts["classes"]
    cells, counts = confused(stats)
    i, j = np.divmod(cells, len(classes))
    order = np.argsort(np.where(i == j, 0.0, -counts), kind="stable")[:MOST_PAIRS]
    order = order[(i[order] != j[order]) & (counts[order] > 0)]
    i, j = i[order], j[order]
    return Figure(
        "confusion",
        "bars",
        "Classes that are confused most",
        {"name": [f"{classes[a]} → {classes[b]}" for a, b in zip(i, j, strict=True)], "value": counts[order]},
        {"x": "rows"},
        f"True class → predicted class: the first {len(order)} pairs. --tables DIR writes the whole matrix.",
    )


def _shown(stats: Stats) -> list[int]:
    """The classes whose curves are drawn: the positive one of two, else those with the most rows."""
    facts = stats.facts
    if not facts["several"] and len(facts["classes"]) == 2:
        return [facts["positive"] if facts["positive"] >= 0 else 1]
    truth = stats.events["truth"]
    support = truth.sum(axis=0) if facts["several"] else np.bincount(truth, minlength=len(facts["classes"]))
    kind = "score" if "score" in facts else "probability"
    scored = [place for place in range(len(facts["classes"])) if place in facts[kind]]
    return sorted(sorted(scored, key=lambda p: -support[p])[:MOST_CURVES])


def _steps(stats: Stats, place: int) -> tuple[Array, Array, float, float]:
    """Weighted true and false positives at each distinct score, highest first, and the totals of both."""
    found = ranking(stats, place)
    each = stats.plain[found.owner] * (found.value if len(found.value) else 1.0)
    tp, fp = np.cumsum(each * found.positive), np.cumsum(each * (1 - found.positive.astype(float)))
    ends = np.flatnonzero(found.last)
    total = (float(tp[-1]), float(fp[-1])) if len(tp) else (0.0, 0.0)
    return tp[ends], fp[ends], *total


def _thinned(*columns: Array) -> list[Array]:
    """Points of a curve, evenly taken; the ends stay."""
    kept = np.unique(np.linspace(0, len(columns[0]) - 1, min(POINTS, len(columns[0]))).round().astype(int))
    return [column[kept] for column in columns]


def _curves(stats: Stats, name: str, title: str, x: str, y: str, caption: str, *, roc_kind: bool) -> Figure:
    columns: dict[str, list[Any]] = {"series": [], "x": [], "y": []}
    for place in _shown(stats):
        tp, fp, positives, negatives = _steps(stats, place)
        if positives <= 0 or (roc_kind and negatives <= 0):
            continue
        if roc_kind:
            xs, ys = np.append(0.0, fp / negatives), np.append(0.0, tp / positives)
        else:
            xs, ys = np.append(0.0, tp / positives), np.append(1.0, tp / (tp + fp))
        xs, ys = _thinned(xs, ys)
        columns["series"] += [stats.facts["classes"][place]] * len(xs)
        columns["x"] += xs.tolist()
        columns["y"] += ys.tolist()
    columns["place"] = list(range(len(columns["x"])))
    facts = {"x": x, "y": y, "unit": True, "diagonal": roc_kind, "steps": not roc_kind}
    return Figure(name, "curves", title, columns, facts, caption)


def precision_recall(stats: Stats) -> Figure:
    """Precision against recall, class by class."""
    return _curves(
        stats, "precision_recall", "Precision and recall", "recall", "precision",
        "From the highest score down: each class against all others.", roc_kind=False,
    )  # fmt: skip


def roc(stats: Stats) -> Figure:
    """True against false positive rate, class by class."""
    return _curves(
        stats, "roc", "ROC", "false positive rate", "true positive rate",
        "Each class against all others. The dashed line is what chance gives.", roc_kind=True,
    )  # fmt: skip


def reliability_figure(stats: Stats) -> Figure:
    """Confidence against how often the label was right."""
    table = reliability(stats)
    filled = table.values[:, 2] > 0
    values = table.values[filled]
    return Figure(
        "reliability",
        "reliability",
        "Reliability",
        {"x": values[:, 3], "y": values[:, 4], "count": values[:, 2], "low": values[:, 0], "high": values[:, 1]},
        {"x": "confidence", "y": "share that was right"},
        "On the dashed line confidence is deserved; below it the model is too sure. Points are as large as their bins "
        "are full.",
        table,
    )


def confidence_figure(stats: Stats) -> Figure:
    """How confidence is spread over rows that were right and that were wrong."""
    matrix = score_matrix(stats, "probability")
    sure, right = matrix.max(axis=1), matrix.argmax(axis=1) == stats.events["truth"]
    edges = np.linspace(min(float(sure.min()), 1 / matrix.shape[1]), 1.0, BINS + 1) if len(sure) else np.zeros(1)
    columns: dict[str, list[Any]] = {"low": [], "high": [], "count": [], "series": []}
    for name, part in (("right", sure[right]), ("wrong", sure[~right])):
        columns["low"] += edges[:-1].tolist()
        columns["high"] += edges[1:].tolist()
        columns["count"] += np.histogram(part, edges)[0].tolist()
        columns["series"] += [name] * (len(edges) - 1)
    return Figure(
        "confidence", "histogram", "Confidence, right and wrong", columns, {"x": "confidence", "y": "rows"},
        "A model that knows what it does not know is wrong only where it is unsure.",
    )  # fmt: skip


def class_metrics(stats: Stats) -> Mapping[str, Metric]:
    """F1 of each class; of many, those with the most rows."""
    if not stats.facts["labelled"]:
        return {}
    support = class_support(stats, stats.whole())[0]
    kept = np.sort(np.argsort(-support, kind="stable")[:MOST_CLASSES])
    return {stats.facts["classes"][k]: F1(only=as_spec(stats.facts["classes"][k])) for k in kept.tolist()}


def listing(pairs: LabelPairs, stats: Stats) -> Listing:
    """Every row: truth, prediction, and how sure."""
    stats = stats.by_unit()
    facts, classes = stats.facts, list(stats.facts["classes"])
    ids = pairs.truth["id"][pairs.rows].tolist() if "id" in pairs.truth else pairs.rows.tolist()
    columns: dict[str, Array | Texts] = {"id": Texts.of(ids)}
    if pairs.grouped:
        columns["group"] = Texts.of(pairs.truth["group"][pairs.rows].tolist())
    truth, predicted = stats.events["truth"], stats.events.get("predicted")
    if facts["several"]:
        columns["true"] = Texts.of([_set(row, classes) for row in truth])
        if predicted is not None:
            columns["predicted"] = Texts.of([_set(row, classes) for row in predicted])
            columns["differing"] = (truth != predicted).sum(axis=1)
        return Listing("rows", "Rows", columns, x="differing" if predicted is not None else "")
    columns["true"] = Texts(truth, classes)
    if predicted is not None:
        columns["predicted"] = Texts(np.where(predicted < 0, len(classes), predicted), [*classes, "(none)"])
        columns["result"] = Texts(np.where(predicted == truth, 0, 1), ["right", "wrong"])
    kind = "probability" if "probability" in facts else "score" if "score" in facts else ""
    if kind:
        matrix = score_matrix(stats, kind)
        columns["confidence" if kind == "probability" else "highest score"] = matrix.max(axis=1)
        columns[f"{kind} of the true class"] = matrix[np.arange(len(truth)), truth]
    numbers = [name for name, column in columns.items() if not isinstance(column, Texts)]
    colour = "result" if predicted is not None else ""
    return Listing("rows", "Rows", columns, colour, numbers[-1] if numbers else "")


def _set(flags: Array, classes: Sequence[str]) -> str:
    return " | ".join(classes[i] for i in np.flatnonzero(flags).tolist())
