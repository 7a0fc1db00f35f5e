"""Task `labels`: its schemas, metrics and defaults in one value."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard.core.errors import ShapeMismatch
from steelyard.core.metadata import Metadata
from steelyard.core.plain import Array, PlainPair, plain_pair
from steelyard.core.task import Task
from steelyard.tasks.labels.agreement import AGREEMENT
from steelyard.tasks.labels.averages import AVERAGES
from steelyard.tasks.labels.calibration import CALIBRATION
from steelyard.tasks.labels.counts import holds, several
from steelyard.tasks.labels.data import join
from steelyard.tasks.labels.folds import FoldAccuracy
from steelyard.tasks.labels.hard import HARD
from steelyard.tasks.labels.ranked import RANKED
from steelyard.tasks.labels.rejection import REJECTION
from steelyard.tasks.labels.schema import OPTIONS, PREDICTION, TRUTH
from steelyard.tasks.labels.unknowns import UNKNOWNS
from steelyard.tasks.labels.verification import VERIFICATION

NEAR = 1e-3  # how far a row's probabilities may add up beside 1; half precision is so near
AVERAGE_NAMES = ("macro", "micro", "weighted")
SPELLINGS = {
    "accuracy_score": "accuracy", "balanced_accuracy_score": "balanced_accuracy", "matthews_corrcoef": "mcc",
    "cohen_kappa_score": "kappa", "cohen_kappa": "kappa", "f1_score": "f1", "precision_score": "precision",
    "recall_score": "recall", "jaccard_score": "jaccard", "fbeta_score": "fbeta", "roc_auc_score": "roc_auc",
    "auroc": "roc_auc", "average_precision_score": "ap", "average_precision": "ap", "brier_score_loss": "brier",
    "lfw_accuracy": "fold_accuracy", "fpr@": "fpr_at_tpr", "fpr95": "fpr_at_tpr@95",
    "top_k_accuracy_score": "topk", "map": "macro(ap)", "mean_average_precision": "macro(ap)",
    **{spelling: f"{average}({name})" for name in ("f1", "precision", "recall", "jaccard") for average in AVERAGE_NAMES
       for spelling in (f"{name}_{average}", f"{average}_{name}", f"{average}_average_{name}")},
}  # fmt: skip


def plain_sides(truth: Any, predictions: Any) -> PlainPair | None:
    """Bare arrays as columns: classes against classes, or against scores of one class or of all."""
    pair = plain_pair(truth, predictions)
    if pair is None:
        return None
    classes, predicted = pair
    if classes.ndim != 1:
        raise ShapeMismatch(
            f"truth has {classes.shape[1]} columns", where="truth",
            remedy="Several labels per row need names: {'label': {'cat': [...], 'dog': [...]}}.",
        )  # fmt: skip
    if predicted.ndim == 1 and not _scores(classes, predicted):
        return {"label": classes}, {"label": _as_classes(classes, predicted)}, ()
    name = "probability" if _probable(predicted) else "score"
    why = {
        ("probability", 1): "they lie from 0 to 1",
        ("probability", 2): "each row adds up to 1",
        ("score", 1): "they do not lie from 0 to 1",
        ("score", 2): "rows do not add up to 1",
    }[name, predicted.ndim]
    word = "probabilities" if name == "probability" else "scores"
    return {"label": classes}, {name: predicted}, (f"Predictions without a name are taken for {word}: {why}.",)


def _scores(classes: Array, predicted: Array) -> bool:
    """Whether predictions are numbers with fractions against classes that are none."""
    return predicted.dtype.kind == "f" and classes.dtype.kind in "iub" and bool((predicted % 1 != 0).any())


def _as_classes(classes: Array, predicted: Array) -> Array:
    """Whole numbers that a model gives as floats are the integers that the truth has."""
    if predicted.dtype.kind == "f" and classes.dtype.kind in "iub":
        return predicted.astype(np.int64)
    return predicted


def _probable(predicted: Array) -> bool:
    numbers = predicted.astype(np.float64)
    if not ((numbers >= 0) & (numbers <= 1)).all():
        return False
    return numbers.ndim == 1 or bool(np.abs(numbers.sum(axis=1) - 1).max(initial=0) <= NEAR)


_AVERAGED = (
    "macro(precision)", "macro(recall)", "macro(f1)", "micro(f1)", "weighted(f1)",
)  # fmt: skip


def defaults_for(metadata: Metadata) -> tuple[str, ...]:
    """What a report shows, by what the data hold."""
    if metadata.flags.get("people"):
        return ("tar@0.01", "tar@0.001", "eer", "min_dcf", "roc_auc")
    classes, many = metadata.size("class"), several(metadata)
    two = not many and classes == 2
    shown: tuple[str, ...] = ()
    if holds(metadata, "labels"):
        shown = ("exact_match", "hamming", *_AVERAGED) if many else ("accuracy", *_AVERAGED)
        shown += ("precision", "recall", "f1") if two else ()
        shown += () if many else ("balanced_accuracy", "mcc", "kappa")
    if holds(metadata, "ranked"):
        shown += ("roc_auc", "ap", "best_f1") if two else ("macro(roc_auc)", "macro(ap)")
        shown += ("topk@5",) if not many and classes > 5 else ()
    if holds(metadata, "probability"):
        shown += () if many else ("log_loss", "brier", "ece")
    return shown


TASK = Task(
    name="labels",
    title="Labels, one or several per row",
    unit="unit",
    item="row",
    truth=TRUTH,
    prediction=PREDICTION,
    join=join,
    metrics=(*AGREEMENT, *HARD, *AVERAGES, *RANKED, *CALIBRATION, *VERIFICATION, FoldAccuracy, *UNKNOWNS, *REJECTION),
    defaults=("accuracy", *_AVERAGED, "balanced_accuracy", "mcc", "kappa"),
    defaults_for=defaults_for,
    options=OPTIONS,
    reader="labels",
    views="steelyard.tasks.labels.views",
    checks="steelyard.tasks.labels.checks",
    device="steelyard.tasks.labels.device",
    plain=plain_sides,
    spellings=SPELLINGS,
)
