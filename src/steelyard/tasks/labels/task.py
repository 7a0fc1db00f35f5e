"""Task `labels`: its schemas, metrics and defaults in one value."""

from __future__ import annotations

from steelyard.core.metadata import Metadata
from steelyard.core.task import Task
from steelyard.tasks.labels.agreement import AGREEMENT
from steelyard.tasks.labels.averages import AVERAGES
from steelyard.tasks.labels.calibration import CALIBRATION
from steelyard.tasks.labels.counts import holds, several
from steelyard.tasks.labels.data import OPTIONS, PREDICTION, TRUTH, join
from steelyard.tasks.labels.hard import HARD
from steelyard.tasks.labels.plain import SPELLINGS, plain_sides
from steelyard.tasks.labels.ranked import RANKED

_AVERAGED = (
    "macro(precision)", "macro(recall)", "macro(f1)", "micro(f1)", "weighted(f1)",
)  # fmt: skip


def defaults_for(facts: Metadata) -> tuple[str, ...]:
    """What a report shows, by what the data hold."""
    classes, many = facts.size("class"), several(facts)
    two = not many and classes == 2
    shown: tuple[str, ...] = ()
    if holds(facts, "labels"):
        shown = ("exact_match", "hamming", *_AVERAGED) if many else ("accuracy", *_AVERAGED)
        shown += ("precision", "recall", "f1") if two else ()
        shown += () if many else ("balanced_accuracy", "mcc", "kappa")
    if holds(facts, "ranked"):
        shown += ("roc_auc", "ap", "best_f1") if two else ("macro(roc_auc)", "macro(ap)")
        shown += ("topk@5",) if not many and classes > 5 else ()
    if holds(facts, "probability"):
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
    metrics=(*AGREEMENT, *HARD, *AVERAGES, *RANKED, *CALIBRATION),
    defaults=("accuracy", *_AVERAGED, "balanced_accuracy", "mcc", "kappa"),
    defaults_for=defaults_for,
    options=OPTIONS,
    views="steelyard.tasks.labels.views",
    checks="steelyard.tasks.labels.checks",
    device="steelyard.tasks.labels.device",
    plain=plain_sides,
    spellings=SPELLINGS,
)
