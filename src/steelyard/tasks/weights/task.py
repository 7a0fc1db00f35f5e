"""Task `weights`: the grams of each food item, dish by dish.

Conventions
    The unit is the dish: dishes are independent, items of one dish are not.
    Columns: `dish`, `item`, `weight` in grams. Without an `item` column each dish is one row.
    `complete` (truth, optional) is false where a dish is only partly annotated; `sample_weight` (truth, optional) is
    the user's own weight of a dish.

Metrics
    `mae`, `mape`, `wmae_total` and `wmae_sample` are the four of the specification; `wape`, `bias`, `rmse`,
    `within@10`, `r2` and `pearson` stand beside them. The weighted MAE of each single dish is in the table of units.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from steelyard.align.join import join_rows
from steelyard.core.block import SumBlock
from steelyard.core.counts import count_text, share_text
from steelyard.core.errors import ShapeMismatch
from steelyard.core.metric import Metric
from steelyard.core.options import Options
from steelyard.core.pairs import Array, Pairs
from steelyard.core.plain import PlainPair, plain_pair
from steelyard.core.records import LARGEST, Column, Records, Schema, weight_column
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Requirement, SharedCache, Sum
from steelyard.core.task import Policy, Task
from steelyard.core.weights import Floats, ratio
from steelyard.tasks.shared.regression import (
    INFINITY,
    ROW_METRICS,
    MeanAbsoluteError,
    RoundNumbers,
    RowSum,
    row_columns,
    rows_of,
)

TRUTH = Schema(
    key=("dish", "item"),
    columns=(
        Column("dish", "id", aliases=("dish_id", "meal"), meaning="the dish, which is the unit"),
        Column("item", "id", required=False, meaning="the food item inside the dish"),
        Column("weight", "number", minimum=0, maximum=LARGEST, meaning="grams"),
        Column("complete", "flag", required=False, meaning="false where items of the dish are not annotated"),
        weight_column("dish"),
    ),
)
PREDICTION = Schema(
    key=("dish", "item"),
    columns=(
        Column("dish", "id", aliases=("dish_id", "meal"), meaning="as in the truth"),
        Column("item", "id", required=False, meaning="as in the truth"),
        Column("weight", "number", minimum=-LARGEST, maximum=LARGEST, meaning="predicted grams", beside="prediction"),
    ),
)


def join(truth: Records, prediction: Records, policy: Policy, options: Options) -> Pairs:
    """Join items by dish and item."""
    return join_rows(truth, prediction, TRUTH.key, policy, weight="sample_weight")


def dish_columns(pairs: Pairs, cache: SharedCache) -> dict[str, Array]:
    """Sums by dish, by what they are of."""
    return cache.once("dish columns", lambda: _dish_columns(pairs, cache))


def _dish_columns(pairs: Pairs, cache: SharedCache) -> dict[str, Array]:
    truth, prediction = rows_of(pairs, cache)
    rows = row_columns(pairs, cache)
    units, owner = len(pairs.units), pairs.owner
    weighted = np.bincount(owner, weights=np.abs(prediction - truth) * truth, minlength=units)
    positive = rows["truth"] > 0
    partial = pairs.partial.copy()
    if "complete" in pairs.truth:
        partial[owner[~pairs.truth_column("complete")]] = True
    return {
        "weighted_error": weighted,
        "weighable": positive.astype(float),
        "dish_error": np.divide(weighted, rows["truth"], out=np.zeros(units), where=positive),
        "dishes": (rows["rows"] > 0).astype(float),
        "partial": (partial & (rows["rows"] > 0)).astype(float),
    }


class DishSum(Sum):
    """What is added up over dishes: their weighted errors, their number, those that are incomplete."""

    name = "weights.dishes"

    of: str

    def measure(self, pairs: Pairs, cache: SharedCache) -> SumBlock:
        return SumBlock(dish_columns(pairs, cache)[self.of])


ZERO_ROWS = RowSum("zero_rows")


def _free_items(totals: TotalsView) -> tuple[str, ...]:
    count = float(totals[ZERO_ROWS][0])
    if not count:
        return ()
    return (
        f"{count_text(round(count), 'item', 'have')} a true weight of 0 g, which weighs nothing in weighted MAE: "
        "a hallucinated food is free there. MAE still charges it.",
    )


class TotalWeightedError(Metric):
    r"""Total weighted MAE: the mean over dishes of each dish's weighted MAE.

    $\mathrm{WMAE}_{\mathrm{total}} = \frac{1}{D}
    \sum_d \frac{\sum_{i \in d} |\hat y_i - y_i|\,y_i}{\sum_{i \in d} y_i}$

    Inside a dish an error weighs as much as the item does; every dish counts the same. A dish whose total is 0 is left
    out and counted. The mean is meant for whole dishes: where a dish is incomplete (a slice of items, a skipped
    prediction, `complete` false) it is refused; `partial=allow` takes the items at hand.

    Undefined when no dish has a positive total, or a dish is incomplete.

    Pros:
    - Gives more importance to errors on larger items.
    - Reflects meal-level impact.

    Cons:
    - Treats all dishes equally, regardless of how many food items they contain or how large they are.
    - An item of 0 g weighs nothing: a hallucinated food is free.
    """

    name = "wmae_total"
    title = "Total weighted MAE"
    aliases = ("wmae", "weighted mae", "weighted mae dish", "per-dish weighted mae", "weighted mae total")
    better = "lower"
    range = (0, INFINITY)
    measured_in = "g"

    partial: Literal["refuse", "allow"] = "refuse"

    @property
    def label(self) -> str:
        return self.title if self.partial == "refuse" else f"{self.title}, with incomplete dishes"

    def requirements(self) -> tuple[Requirement, ...]:
        return (*map(DishSum, ("dish_error", "weighable", "partial", "dishes")), ZERO_ROWS)

    def reduce(self, totals: TotalsView) -> Floats:
        value = ratio(totals[DishSum("dish_error")], totals[DishSum("weighable")])
        if self.partial == "refuse":
            value = np.where(totals[DishSum("partial")] > 0, np.nan, value)
        return value

    def undefined_reason(self, totals: TotalsView) -> str:
        incomplete, dishes = (int(totals[DishSum(of)][0]) for of in ("partial", "dishes"))
        if self.partial == "refuse" and incomplete:
            return (
                f"{share_text(incomplete, dishes, 'dish', 'are')} incomplete; "
                "wmae_sample takes the items at hand, and so does wmae_total(partial=allow)"
            )
        return "no dish has a positive total"

    def excluded(self, totals: TotalsView) -> tuple[float, str]:
        empty = totals[DishSum("dishes")] - totals[DishSum("weighable")]
        return float(empty[0]), "dishes whose true weights add up to 0"

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        return _free_items(totals)


class SampleWeightedError(Metric):
    r"""Weighted MAE of the items at hand: one formula over all items, whatever dish they come from.

    $\mathrm{WMAE}_{\mathrm{sample}} = \sum_i w_i\,|\hat y_i - y_i|\,y_i \;/\; \sum_i w_i\,y_i$

    The form for a subset of the data, where dishes are not complete. For one dish it is that dish's weighted MAE.

    Undefined when the true weights add up to 0.

    Pros:
    - Gives more importance to errors on larger items.
    - Meaningful even when dishes are only partially annotated or evaluated.

    Cons:
    - Heavy dishes dominate.
    - An item of 0 g weighs nothing: a hallucinated food is free.
    """

    name = "wmae_sample"
    title = "Weighted MAE of the sample"
    aliases = ("weighted mae sample", "sample weighted mae")
    better = "lower"
    range = (0, INFINITY)
    measured_in = "g"
    reference = "sklearn.metrics.mean_absolute_error(sample_weight=truth)"

    def requirements(self) -> tuple[Requirement, ...]:
        return DishSum("weighted_error"), RowSum("truth"), ZERO_ROWS

    def reduce(self, totals: TotalsView) -> Floats:
        return ratio(totals[DishSum("weighted_error")], totals[RowSum("truth")])

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        return _free_items(totals)


def plain_sides(truth: Any, predictions: Any) -> PlainPair | None:
    """Bare arrays of grams as columns: each value is a dish of its own."""
    pair = plain_pair(truth, predictions)
    if pair is None:
        return None
    if pair[0].ndim != 1 or pair[1].ndim != 1:
        raise ShapeMismatch(
            "weights are one value per dish", remedy="Give arrays of one dimension, or columns with names."
        )
    dishes = np.arange(len(pair[0]))
    sides = [{"dish": dishes, "weight": values} for values in pair]
    return sides[0], sides[1], ("Weights without names: each value is taken for a dish of its own.",)


TASK = Task(
    name="weights",
    title="Food weights, dish by dish",
    unit="dish",
    item="item",
    truth=TRUTH,
    prediction=PREDICTION,
    join=join,
    metrics=(MeanAbsoluteError, *ROW_METRICS, RoundNumbers, TotalWeightedError, SampleWeightedError),
    defaults=(
        "mae",
        "mape",
        "wape",
        "wmae_total",
        "wmae_sample",
        "bias",
        "rmse",
        "within@10",
        "within@20",
        "r2",
        "pearson",
    ),
    views="steelyard.tasks.weights.views",
    checks="steelyard.tasks.weights.checks",
    plain=plain_sides,
    spellings={"mean_absolute_error": "mae", "mean_absolute_percentage_error": "mape", "r2_score": "r2"},
)
