"""Task `nutrients`: several targets per dish. Data: `data`; metrics: `metrics`; files of Nutrition5k: `reader`."""

from __future__ import annotations

from steelyard.core.metadata import Metadata
from steelyard.core.task import Task
from steelyard.tasks.nutrients.data import MEAN, OPTIONS, PREDICTION, TRUTH, join
from steelyard.tasks.nutrients.ingredients import INGREDIENTS
from steelyard.tasks.nutrients.metrics import METRICS
from steelyard.tasks.nutrients.split import SPLITS

DEFAULTS = ("mae", "pmae", "bias")


def defaults_for(metadata: Metadata) -> tuple[str, ...]:
    """Errors of every target; the split of the energy error, and the ingredients, where the data have them."""
    targets = metadata.axes["target"].ids
    shown: tuple[str, ...] = DEFAULTS if targets else ()
    if len(targets) > 1:
        shown += (f"pmae(target={MEAN})",)
    if {"mass", "energy"} <= set(targets):
        shown += ("split_mass", "split_composition", "split_interaction")
    if "ingredients" in metadata.holds:
        shown += ("ingredient_f1", "ingredient_jaccard")
    return shown


TASK = Task(
    name="nutrients",
    title="Nutrients of dishes",
    unit="dish",
    item="row",
    truth=TRUTH,
    prediction=PREDICTION,
    join=join,
    metrics=(*METRICS, *SPLITS, *INGREDIENTS),
    defaults=DEFAULTS,
    defaults_for=defaults_for,
    options=OPTIONS,
    reader="nutrients",
    views="steelyard.tasks.nutrients.views",
    checks="steelyard.tasks.nutrients.checks",
    spellings={
        "mean_absolute_error": "mae",
        "mean_absolute_percentage_error": "mape",
        "median_absolute_error": "medae",
        "r2_score": "r2",
    },
)
