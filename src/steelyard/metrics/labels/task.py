"""Task `labels`: its schemas, metrics and defaults in one value."""

from __future__ import annotations

from steelyard.core.stats import Stats
from steelyard.core.task import Task
from steelyard.metrics.labels.agreement import AGREEMENT
from steelyard.metrics.labels.averages import AVERAGES
from steelyard.metrics.labels.by_class import BY_CLASS
from steelyard.metrics.labels.calibration import CALIBRATION
from steelyard.metrics.labels.data import OPTIONS, PREDICTION, TRUTH, join
from steelyard.metrics.labels.hard import HARD
from steelyard.metrics.labels.measure import measure, measure_part
from steelyard.metrics.labels.ranked import RANKED

_AVERAGED = (
    "macro(precision)", "macro(recall)", "macro(f1)", "micro(f1)", "weighted(f1)",
)  # fmt: skip


def defaults_for(stats: Stats) -> tuple[str, ...]:
    """What a report shows, by what the data hold."""
    facts = stats.facts
    two = not facts["several"] and len(facts["classes"]) == 2
    shown: tuple[str, ...] = ()
    if stats.facts["labelled"]:
        shown = ("exact_match", "hamming", *_AVERAGED) if facts["several"] else ("accuracy", *_AVERAGED)
        shown += ("precision", "recall", "f1") if two else ()
        shown += () if facts["several"] else ("balanced_accuracy", "mcc", "kappa")
    if "score" in facts or "probability" in facts:
        shown += ("roc_auc", "ap", "best_f1") if two else ("macro(roc_auc)", "macro(ap)")
        shown += ("topk@5",) if not facts["several"] and len(facts["classes"]) > 5 else ()
    if "probability" in facts:
        shown += () if facts["several"] else ("log_loss", "brier", "ece")
    return shown


TASK = Task(
    name="labels",
    title="Labels, one or several a row",
    unit="unit",
    item="row",
    truth=TRUTH,
    prediction=PREDICTION,
    join=join,
    measure=measure,
    measure_part=measure_part,
    by_class=BY_CLASS,
    metrics=(*AGREEMENT, *HARD, *AVERAGES, *RANKED, *CALIBRATION),
    defaults=("accuracy", *_AVERAGED, "balanced_accuracy", "mcc", "kappa"),
    defaults_for=defaults_for,
    options=OPTIONS,
    views="steelyard.metrics.labels.views",
    checks="steelyard.checks.labels",
)
