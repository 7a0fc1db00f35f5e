"""What is shown beside the scores of labels: tables, figures and the list of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from steelyard.core.errors import TooLarge
from steelyard.core.figure import Figure, Listing, Texts
from steelyard.core.metric import Metric
from steelyard.core.numerals import as_spec
from steelyard.core.pairs import Array
from steelyard.core.plan import POINT
from steelyard.core.state import State, Totals
from steelyard.core.statistic import RankingReader, Requirement, SharedCache, Statistic
from steelyard.core.table import Table
from steelyard.core.weights import ratio
from steelyard.tasks.labels.calibration import Bins
from steelyard.tasks.labels.counts import class_counts, classes_of, count_needs, holds, positive, several
from steelyard.tasks.labels.data import LabelPairs, UnlistedPairs
from steelyard.tasks.labels.explain import explain as explain
from steelyard.tasks.labels.hard import F1, Precision, Recall
from steelyard.tasks.labels.rate_views import fpr_lines, pair_listing, people_table, rate_figures
from steelyard.tasks.labels.statistics import ClassCounts, ConfidenceBins, Confusion, LabelRows
from steelyard.tasks.labels.walks import Scores

__all__ = ["class_metrics", "explain", "figures", "listing", "tables"]


BINS = 15
MOST_CLASSES = 10_000  # of a confusion matrix: 800 MB
_TITLES = {
    "confusion": "Confusion matrix: rows of truth by prediction",
    "confusion_true": "Confusion matrix, as shares of the rows of each true class",
    "confusion_predicted": "Confusion matrix, as shares of the rows of each predicted class",
    "confusion_all": "Confusion matrix, as shares of all rows",
}


def tables(pairs: LabelPairs, state: State) -> Mapping[str, Callable[[], Table]]:
    """The tables that the data allow, by name; each is made when it is asked for."""
    metadata = state.metadata
    makers: dict[str, Callable[[], Table]] = {}
    if isinstance(pairs, UnlistedPairs):
        return {}
    if pairs.people is not None:
        return {"people": lambda: people_table(pairs)}
    if holds(metadata, "labels"):
        if not several(metadata):
            makers |= {name: _maker(pairs, name) for name in _TITLES}
        makers["classes"] = lambda: class_table(pairs)
    if holds(metadata, "probability") and not several(metadata):
        makers["reliability"] = lambda: reliability(pairs)
    return makers


def _maker(pairs: LabelPairs, name: str) -> Callable[[], Table]:
    return lambda: confusion(pairs, name)


def all_rows(pairs: LabelPairs, *needs: Statistic) -> Totals:
    """The plain totals of some statistics."""
    return State.of(pairs, needs).totals(POINT)


def confusion(pairs: LabelPairs, name: str = "confusion") -> Table:
    """The confusion matrix: truth by prediction, raw or as shares. A row that has no prediction is in none."""
    classes = pairs.classes
    if len(classes) > MOST_CLASSES:
        raise TooLarge(
            f"the table '{name}' of {len(classes):,} classes has {len(classes) ** 2:.1e} cells",
            remedy=f"It is made of up to {MOST_CLASSES:,} classes; the scores and the table 'classes' have no limit.",
        )
    values: Array = _matrix(pairs) if pairs.aggregated is None else pairs.aggregated.matrix.copy()
    if name == "confusion_true":
        values = ratio(values, values.sum(axis=1, keepdims=True))
    elif name == "confusion_predicted":
        values = ratio(values, values.sum(axis=0, keepdims=True))
    elif name == "confusion_all":
        values = ratio(values, values.sum())
    return Table(name, _TITLES[name], "truth", classes, classes, values)


def _kept_rankings(requirement: Sequence[Requirement]) -> list[Statistic]:
    return list(dict.fromkeys(one.ranking if isinstance(one, RankingReader) else one for one in requirement))


def _matrix(pairs: LabelPairs) -> Array:
    size = len(pairs.classes)
    cells, counts = confusion_cells(pairs)
    matrix = np.zeros(size * size)
    matrix[cells] = counts
    return matrix.reshape(size, size)


def confusion_cells(pairs: LabelPairs) -> tuple[Array, Array]:
    """Cells of the confusion matrix that hold rows (truth times classes, plus prediction), and how many."""
    state = State.of(pairs, [Confusion()])
    block: Any = state.blocks[Confusion()]
    each, code = block.entries.times(state.units.plain), block.entries.code.astype(np.int64)
    wrong = code < block.entries.size // 2
    cells, place = np.unique(code[wrong], return_inverse=True)
    return cells, np.bincount(place, weights=each[wrong], minlength=len(cells))


def class_table(pairs: LabelPairs) -> Table:
    """Counts, precision, recall and F1 of every class."""
    needs = count_needs(negatives=True)
    counts = class_counts(State.of(pairs, _kept_rankings(needs)).totals(POINT).only(needs))
    columns = {
        "rows": counts.tp + counts.fn,
        "predicted": counts.tp + counts.fp,
        "TP": counts.tp,
        "FP": counts.fp,
        "FN": counts.fn,
        "TN": counts.tn,
        "precision": Precision().value(counts),
        "recall": Recall().value(counts),
        "F1": F1().value(counts),
    }
    values = np.stack([column[0] for column in columns.values()], axis=1)
    return Table("classes", "Counts and scores by class", "class", pairs.classes, tuple(columns), values)


def reliability(pairs: LabelPairs, bins: int = BINS) -> Table:
    """Confidence of the given label against how often it was right, bin by bin."""
    statistic = ConfidenceBins(bins)
    binned = Bins.of(all_rows(pairs, statistic)[statistic])
    edges = np.linspace(0.0, 1.0, bins + 1)
    rows = binned.rows[0]
    values = np.stack(
        [edges[:-1], edges[1:], rows, ratio(binned.confidence[0], rows), ratio(binned.right[0], rows)], axis=1
    )
    names = tuple(f"{low:.3g}-{high:.3g}" for low, high in pairwise(edges))
    return Table(
        "reliability",
        "Reliability: confidence against the share that was right",
        "confidence",
        names,
        ("from", "to", "rows", "confidence", "accuracy"),
        values,
    )


MOST_CURVES = 6
MOST_DRAWN_CLASSES = 40  # of a confusion matrix that is drawn; beyond, the pairs that are confused most
MOST_PAIRS = 25
MOST_NEAR = 16  # classes of the matrix of those that are confused most
POINTS = 160
CONFIDENCE_BINS = 20


def figures(pairs: LabelPairs, state: State, metrics: Sequence[Metric]) -> Mapping[str, Callable[[], Figure]]:
    """The figures that the data allow."""
    metadata = state.metadata
    makers: dict[str, Callable[[], Figure]] = {}
    if isinstance(pairs, UnlistedPairs):
        return makers
    if pairs.people is None and holds(metadata, "labels") and not several(metadata):
        few = metadata.size("class") <= MOST_DRAWN_CLASSES
        makers["confusion"] = lambda: confusion_figure(pairs) if few else confused_figure(pairs)
        if not few:
            makers["confusion_near"] = lambda: near_figure(pairs)
    if holds(metadata, "ranked"):
        makers["precision_recall"] = lambda: precision_recall(pairs)
        makers["roc"] = lambda: roc(pairs, fpr_lines(pairs, metrics) if holds(metadata, "unknowns") else {})
    if pairs.people is None and holds(metadata, "probability") and not several(metadata):
        makers["reliability"] = lambda: reliability_figure(pairs)
        makers["confidence"] = lambda: confidence_figure(pairs)
    return makers | rate_figures(pairs, state, metrics)


def confusion_figure(pairs: LabelPairs) -> Figure:
    """The whole matrix, shaded by the share of each true class."""
    table = confusion(pairs)
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


def confused_figure(pairs: LabelPairs) -> Figure:
    """The pairs of classes that are confused most, where there are too many classes for a matrix."""
    classes = pairs.classes
    cells, counts = confusion_cells(pairs)
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
        f"True class → predicted class: the first {len(order)} pairs. The tables as CSV hold the whole matrix.",
    )


def near_figure(pairs: LabelPairs) -> Figure:
    """The matrix of the classes that are confused most with each other."""
    classes = pairs.classes
    cells, counts = confusion_cells(pairs)
    i, j = np.divmod(cells, len(classes))
    order = np.argsort(np.where(i == j, 0.0, -counts), kind="stable")
    near = dict.fromkeys(k for at in order[: 4 * MOST_NEAR].tolist() for k in (int(i[at]), int(j[at])))
    chosen = np.sort(list(near)[:MOST_NEAR])
    place = {int(k): at for at, k in enumerate(chosen)}
    values = np.zeros((len(chosen), len(chosen)))
    for at in np.flatnonzero(np.isin(i, chosen) & np.isin(j, chosen)).tolist():
        values[place[int(i[at])], place[int(j[at])]] = counts[at]
    names = tuple(classes[k] for k in chosen.tolist())
    table = Table("confusion_near", "Confusion of the classes that are confused most", "true", names, names, values)
    many = f"The {len(chosen)} of {len(classes):,} classes"
    caption = f"{many} with the most confused pairs; shade is the share of the row here."
    figure = matrix_figure(table, "The most confused classes", caption)
    return replace(figure, name="confusion_near")


def _shown_classes(pairs: LabelPairs) -> list[int]:
    """The classes whose curves are drawn: the positive one of two, else those with the most rows."""
    classes = len(pairs.classes)
    if not pairs.several and classes == 2:
        return [positive(pairs.metadata)]
    truth = pairs.coded_labels.truth
    support = truth.sum(axis=0, dtype=np.int64) if pairs.several else np.bincount(truth, minlength=classes)
    table = pairs.scores if pairs.scores is not None else pairs.probabilities
    scored = [] if table is None else [place for place in range(classes) if place in table.classes]
    return sorted(sorted(scored, key=lambda p: -support[p])[:MOST_CURVES])


def _steps(pairs: LabelPairs, place: int) -> tuple[Array, Array, float, float]:
    """Weighted true and false positives at each distinct score, highest first, and the totals of both."""
    events = Scores("one", as_spec(pairs.classes[place])).measure(pairs, SharedCache()).events
    score, positives = events.columns["score"], events.columns["positive"].astype(float)
    own = 1.0 if pairs.weight is None else pairs.weight[events.unit]
    each = np.ones(len(score)) * own * events.columns.get("weight", 1.0)
    tp, fp = np.cumsum(each * positives), np.cumsum(each * (1 - positives))
    ends = np.flatnonzero(np.append(score[1:] != score[:-1], True)[: len(score)])
    total = (float(tp[-1]), float(fp[-1])) if len(tp) else (0.0, 0.0)
    return tp[ends], fp[ends], *total


def _thin_points(*columns: Array) -> list[Array]:
    """Points of a curve, evenly taken; the ends stay."""
    places = np.unique(np.linspace(0, len(columns[0]) - 1, min(POINTS, len(columns[0]))).round().astype(int))
    return [column[places] for column in columns]


def _curves(pairs: LabelPairs, name: str, title: str, x: str, y: str, caption: str, *, roc_kind: bool) -> Figure:
    columns: dict[str, list[Any]] = {"series": [], "x": [], "y": []}
    for place in _shown_classes(pairs):
        tp, fp, positives, negatives = _steps(pairs, place)
        if positives <= 0 or (roc_kind and negatives <= 0):
            continue
        if roc_kind:
            xs, ys = np.append(0.0, fp / negatives), np.append(0.0, tp / positives)
        else:
            xs, ys = np.append(0.0, tp / positives), np.append(1.0, tp / (tp + fp))
        xs, ys = _thin_points(xs, ys)
        columns["series"] += [pairs.classes[place]] * len(xs)
        columns["x"] += xs.tolist()
        columns["y"] += ys.tolist()
    columns["place"] = list(range(len(columns["x"])))
    settings = {"x": x, "y": y, "unit": True, "diagonal": roc_kind, "steps": not roc_kind}
    return Figure(name, "curves", title, columns, settings, caption)


def precision_recall(pairs: LabelPairs) -> Figure:
    """Precision against recall, class by class."""
    return _curves(
        pairs,
        "precision_recall",
        "Precision and recall",
        "recall",
        "precision",
        "From the highest score down: each class against all others.",
        roc_kind=False,
    )


def roc(pairs: LabelPairs, lines: Mapping[str, list[Any]] | None = None) -> Figure:
    """True against false positive rate, class by class, with further lines."""
    figure = _curves(
        pairs,
        "roc",
        "ROC",
        "false positive rate",
        "true positive rate",
        "Each class against all others. The dashed line is what chance gives.",
        roc_kind=True,
    )
    if not lines:
        return figure
    columns = {name: [*figure.columns[name], *values] for name, values in lines.items()}
    columns["place"] = list(range(len(columns["x"])))
    caption = (
        "Rows out of distribution against those in it. FPR95 is the length of its line: across, where 95 % of OOD is "
        "caught; upwards, where 95 % of rows in distribution are accepted."
    )
    return replace(figure, columns=columns, caption=caption)


def reliability_figure(pairs: LabelPairs) -> Figure:
    """Confidence against how often the label was right."""
    table = reliability(pairs)
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


def confidence_figure(pairs: LabelPairs) -> Figure:
    """How confidence is spread over rows that were right and that were wrong."""
    rows = LabelRows(pairs)
    matrix = rows.matrix("probability")
    sure, right = matrix.max(axis=1), matrix.argmax(axis=1) == rows.truth
    edges = np.zeros(1)
    if len(sure):
        edges = np.linspace(min(float(sure.min()), 1 / matrix.shape[1]), 1.0, CONFIDENCE_BINS + 1)
    columns: dict[str, list[Any]] = {"low": [], "high": [], "count": [], "series": []}
    for name, part in (("right", sure[right]), ("wrong", sure[~right])):
        columns["low"] += edges[:-1].tolist()
        columns["high"] += edges[1:].tolist()
        columns["count"] += np.histogram(part, edges)[0].tolist()
        columns["series"] += [name] * (len(edges) - 1)
    return Figure(
        "confidence",
        "histogram",
        "Confidence, right and wrong",
        columns,
        {"x": "confidence", "y": "rows"},
        "A model that knows what it does not know is wrong only where it is unsure.",
    )


def class_metrics(state: State) -> Mapping[str, Metric]:
    """F1 of each class; of many, those with the most rows, as far as the state says how many there are."""
    if not holds(state.metadata, "labels") or state.metadata.flags.get("people"):
        return {}
    names, counted = classes_of(state.metadata), ClassCounts()
    rows = state.totals(POINT)[counted][0, :2].sum(axis=0) if counted in state.blocks else np.ones(len(names))
    largest = np.sort(np.argsort(-rows, kind="stable")[:MOST_DRAWN_CLASSES])
    return {names[k]: F1(only=as_spec(names[k])) for k in largest.tolist()}


def listing(pairs: LabelPairs, state: State) -> Listing:
    """Every row: truth, prediction, and how sure; of pairs of people both people."""
    if pairs.people is not None:
        return pair_listing(pairs)
    pairs = pairs.per_unit()
    rows, classes = LabelRows(pairs), list(pairs.classes)
    ids = pairs.truth["id"][pairs.rows].tolist() if "id" in pairs.truth else pairs.rows.tolist()
    columns: dict[str, Array | Texts] = {"id": Texts.of(ids)}
    if pairs.grouped:
        columns["group"] = Texts.of(pairs.truth["group"][pairs.rows].tolist())
    truth, predicted = rows.truth, pairs.predicted_labels
    if pairs.several:
        columns["true"] = Texts.of([_set(row, classes) for row in truth])
        if predicted is not None:
            columns["predicted"] = Texts.of([_set(row, classes) for row in predicted])
            columns["differing"] = (truth != predicted).sum(axis=1)
        return Listing("rows", "Rows", columns, x="differing" if predicted is not None else "")
    columns["true"] = Texts(truth, classes)
    if predicted is not None:
        columns["predicted"] = Texts(np.where(predicted < 0, len(classes), predicted), [*classes, "(none)"])
        columns["result"] = Texts(np.where(predicted == truth, 0, 1), ["right", "wrong"])
    kind = "probability" if pairs.probabilities is not None else rows.ranked_by
    if kind:
        matrix = rows.matrix(kind)
        columns["confidence" if kind == "probability" else "highest score"] = matrix.max(axis=1)
        columns[f"{kind} of the true class"] = matrix[np.arange(len(truth)), truth]
    numbers = [name for name, column in columns.items() if not isinstance(column, Texts)]
    colour = "result" if predicted is not None else ""
    return Listing("rows", "Rows", columns, colour, numbers[-1] if numbers else "")


def _set(flags: Array, classes: Sequence[str]) -> str:
    return " | ".join(classes[i] for i in np.flatnonzero(flags).tolist())
