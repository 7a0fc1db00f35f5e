"""Agreement of lists of ingredients, by name or by mass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np

from steelyard.core.block import SumBlock
from steelyard.core.errors import MissingColumn
from steelyard.core.metadata import Metadata
from steelyard.core.metric import Metric, family
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Requirement, SharedCache, Sum
from steelyard.core.weights import Array, Floats, ratio
from steelyard.tasks.nutrients.data import NutrientPairs


class IngredientSums(Sum):
    """Sums over rows of how their lists of ingredients agree, by names or by mass.

    Columns: rows with an ingredient on either side; of the predicted list what is right and all of it; of the true list
    what was named and all of it; the intersection and the union; precision, recall, F1 and Jaccard index of each row.
    """

    name = "nutrients.ingredients"

    by: str = "names"

    def measure(self, pairs: NutrientPairs, cache: SharedCache) -> SumBlock:
        rows = _ingredient_rows(pairs, self.by)
        units = len(pairs.units)
        return SumBlock(np.stack([np.bincount(pairs.owner, weights=v, minlength=units) for v in rows.T], axis=1))


# Columns of IngredientSums.
LISTS, RIGHT, LISTED, NAMED, WANTED, INTERSECTION, UNION, PRECISION, RECALL, F1, JACCARD = range(11)


def _ingredient_rows(pairs: NutrientPairs, by: str) -> Array:
    values = np.zeros((len(pairs.owner), JACCARD + 1))
    if not pairs.has_ingredients:
        return values
    truth, predicted = pairs.listed
    for row, (i, j) in enumerate(zip(pairs.truth_row.tolist(), pairs.prediction_row.tolist(), strict=True)):
        values[row] = _list_agreement(truth[i], predicted[j] if j >= 0 else {}, by)
    return values


def _list_agreement(truth: Mapping[str, float], predicted: Mapping[str, float], by: str) -> tuple[float, ...]:
    """The columns of `IngredientSums` for one row."""
    if by == "names":
        truth, predicted = dict.fromkeys(truth, 1.0), dict.fromkeys(predicted, 1.0)
    listed, wanted = sum(predicted.values()), sum(truth.values())
    right = sum(grams for name, grams in predicted.items() if name in truth)
    named = sum(grams for name, grams in truth.items() if name in predicted)
    shared = sum(min(grams, predicted[name]) for name, grams in truth.items() if name in predicted)
    union = listed + wanted - shared
    if not union > 0:
        return (0.0,) * (JACCARD + 1)
    precision = right / listed if listed else 0.0
    recall = named / wanted if wanted else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return 1.0, right, listed, named, wanted, shared, union, precision, recall, f1, shared / union


class IngredientAgreement(Metric):
    """Base of the agreement of the predicted with the true list of ingredients."""

    figure: ClassVar[str]
    range = (0, 1)

    by: Literal["names", "mass"] = "names"
    average: Literal["dishes", "pooled"] = "dishes"

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return (cls(), cls(by="mass"))

    def expand(self, metadata: Metadata) -> tuple[Metric, ...]:
        if "ingredients" not in metadata.holds:
            raise MissingColumn(
                f"metric '{self}' needs lists of ingredients on both sides", remedy="Give a column 'ingredients'."
            )
        if self.by == "mass" and "ingredient masses" not in metadata.holds:
            raise MissingColumn(
                f"metric '{self}' needs the grams of all ingredients", remedy="Write name=grams, or leave by=mass out."
            )
        return (self,)

    @property
    def label(self) -> str:
        by, pooled = ", by mass" if self.by == "mass" else "", ", pooled" if self.average == "pooled" else ""
        return f"{self.title}{by}{pooled}"

    def requirements(self) -> tuple[Requirement, ...]:
        return (IngredientSums(self.by),)

    def reduce(self, totals: TotalsView) -> Floats:
        sums = totals[IngredientSums(self.by)]
        if self.average == "dishes":
            place = {"precision": PRECISION, "recall": RECALL, "f1": F1, "jaccard": JACCARD}[self.figure]
            return ratio(sums[:, place], sums[:, LISTS])
        if self.figure == "jaccard":
            return ratio(sums[:, INTERSECTION], sums[:, UNION])
        any_list = sums[:, LISTS] > 0
        precision, recall = (
            np.where(any_list, np.nan_to_num(ratio(sums[:, part], sums[:, whole])), np.nan)
            for part, whole in ((RIGHT, LISTED), (NAMED, WANTED))
        )
        if self.figure != "f1":
            return precision if self.figure == "precision" else recall
        f1 = np.nan_to_num(ratio(2 * precision * recall, precision + recall))
        return np.where(any_list, f1, np.nan)


INGREDIENTS = family(
    IngredientAgreement,
    "figure",
    r"""{title}: {meaning}

    ${formula}$

    {mass} Names are compared without case and repeated blanks; the option `synonyms` says which count as the same. The
    mean over dishes, or with `average=pooled` of all lists together. A dish without any ingredient on both sides is
    left out; a list that is empty on one side scores 0.

    Undefined when no dish has an ingredient.

    Pros:
    - {pro}

    Cons:
    - {con}
    """,
    precision={
        "name": "ingredient_precision",
        "title": "Ingredient precision",
        "meaning": "the share of the predicted ingredients that are in the dish.",
        "formula": r"P = |\hat I \cap I| / |\hat I|",
        "mass": "With `by=mass` it is the share of the predicted grams.",
        "pro": "Shows foods that were made up.",
        "con": "Naming only the surest ingredient is perfect.",
        "reference": "sklearn.metrics.precision_score(average='samples')",
    },
    recall={
        "name": "ingredient_recall",
        "title": "Ingredient recall",
        "meaning": "the share of the ingredients of the dish that were predicted.",
        "formula": r"R = |\hat I \cap I| / |I|",
        "mass": "With `by=mass` it is the share of the true grams: a missed pinch of pepper costs little.",
        "pro": "Shows foods that were overlooked, as oil and dressing are.",
        "con": "Naming every food there is, is perfect.",
        "reference": "sklearn.metrics.recall_score(average='samples')",
    },
    f1={
        "name": "ingredient_f1",
        "title": "Ingredient F1",
        "meaning": "the harmonic mean of precision and recall of the list.",
        "formula": r"F_1 = 2 P R / (P + R)",
        "mass": "With `by=mass` both are by grams.",
        "pro": "One number that neither short nor long lists can please.",
        "con": "Two words for the same food count as two faults.",
        "reference": "sklearn.metrics.f1_score(average='samples')",
    },
    jaccard={
        "name": "ingredient_jaccard",
        "title": "Ingredient Jaccard index",
        "meaning": "what both lists share, by what either has.",
        "formula": r"J = |\hat I \cap I| / |\hat I \cup I|",
        "mass": "With `by=mass` it is the sum of the smaller grams by that of the larger: portions count, too.",
        "pro": "What recipe retrieval reports as IoU.",
        "con": "Two words for the same food count as two faults.",
        "reference": "sklearn.metrics.jaccard_score(average='samples')",
    },
)
