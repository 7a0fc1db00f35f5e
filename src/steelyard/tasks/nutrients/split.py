"""The error of a target, split exactly into mass, composition and their interaction."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from steelyard.core.block import SumBlock
from steelyard.core.errors import InvalidSpec, MissingColumn
from steelyard.core.metadata import Metadata
from steelyard.core.metric import Metric, family
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Requirement, SharedCache, Sum
from steelyard.core.weights import Floats, ratio
from steelyard.tasks.nutrients.data import NutrientPairs
from steelyard.tasks.nutrients.metrics import TARGET_UNIT, OfTarget
from steelyard.tasks.shared.regression import (
    INFINITY,
)


class SplitSums(Sum):
    """Sums over rows with a density on both sides, for the split of a target's error into portion and composition.

    Columns: rows; absolute errors with the predicted mass alone, with the predicted density alone, and with both; the
    signed errors likewise; rows that are left out.
    """

    name = "nutrients.split"

    target: str = "energy"

    def measure(self, pairs: NutrientPairs, cache: SharedCache) -> SumBlock:
        truth, predicted = pairs.both(self.target)
        true_mass, mass = pairs.both("mass")
        known = ~np.isnan(truth) & ~np.isnan(true_mass)
        use = known & (true_mass > 0) & (mass > 0)
        size = np.divide(mass, true_mass, out=np.ones(len(mass)), where=use)
        portion = truth * size - truth
        composition = np.divide(predicted, size, out=np.zeros(len(mass)), where=use) - truth
        both = predicted - truth
        columns = [np.abs(portion), np.abs(composition), np.abs(both), portion, composition, both]
        values = [use.astype(float), *(np.where(use, column, 0.0) for column in columns), (known & ~use).astype(float)]
        units = len(pairs.units)
        return SumBlock(np.stack([np.bincount(pairs.owner, weights=v, minlength=units) for v in values], axis=1))


class Split(Metric):
    """Base of the parts of a target's error: what the mass adds, what the composition adds, and what both do together.

    A game of two players: v(S) is the error where the factors in S are predicted and the others are true.
    """

    part: ClassVar[str]
    measured_in = TARGET_UNIT

    target: str = "energy"
    of: Literal["mae", "bias"] = "mae"
    interaction: Literal["apart", "shared"] = "apart"

    @property
    def is_error(self) -> bool:
        """Whether it is a mean absolute error itself, and not a difference of such errors."""
        return self.part != "interaction" and self.of == "mae" and self.interaction == "apart"

    @property
    def range(self) -> tuple[float, float]:  # type: ignore[override]
        """A mean absolute error is not below 0."""
        return (0.0 if self.is_error else -INFINITY, INFINITY)

    @property
    def better(self) -> str:  # type: ignore[override]
        """The interaction is neither good nor bad."""
        return "lower" if self.is_error else "none" if self.part == "interaction" else "zero"

    def check(self) -> None:
        if self.target == "mass":
            raise InvalidSpec(f"metric '{self.name}': mass has no composition", remedy="Name another target.")
        if self.part == "interaction" and self.interaction == "shared":
            raise InvalidSpec(
                f"metric '{self.name}': a shared interaction is in the two other parts",
                remedy="Use split_mass(interaction=shared) and split_composition(interaction=shared).",
            )

    def expand(self, metadata: Metadata) -> tuple[Metric, ...]:
        for name in ("mass", self.target):
            if name not in metadata.axes["target"].ids:
                raise MissingColumn(
                    f"metric '{self}' needs '{name}' on both sides", remedy="Give the column, or leave the metric out."
                )
        return (self,)

    @property
    def label(self) -> str:
        shared = ", interaction shared" if self.interaction == "shared" else ""
        return f"{self.title} ({self.target}{', bias' if self.of == 'bias' else ''}{shared})"

    def unit_of_measure(self, metadata: Metadata) -> str:
        return OfTarget.unit_of_measure(self, metadata)  # type: ignore[arg-type]

    @property
    def targets(self) -> tuple[str, ...]:
        """The target that is split."""
        return (self.target,)

    def requirements(self) -> tuple[Requirement, ...]:
        return (SplitSums(self.target),)

    def reduce(self, totals: TotalsView) -> Floats:
        sums = totals[SplitSums(self.target)]
        first = 1 if self.of == "mae" else 4
        mass, composition, both = (ratio(sums[:, first + i], sums[:, 0]) for i in range(3))
        together = both - mass - composition
        value = {"mass": mass, "composition": composition, "interaction": together}[self.part]
        return np.asarray(value + together / 2 if self.interaction == "shared" else value)

    def excluded(self, totals: TotalsView) -> tuple[float, str]:
        return float(totals[SplitSums(self.target)][0, 7]), "rows without a positive mass on both sides"


SPLIT_TEXT = r"""Error from {word}: the part of a target's error that {cause}.

    $v(\mathrm{mass}) = \overline{|\hat m c - m c|}, \quad v(\mathrm{composition}) = \overline{|m \hat c - m c|}, \quad
    v(\mathrm{both}) = \overline{|\hat m \hat c - m c|}$

    An amount is the mass m times the density c, such as kilocalories per gram. {formula} The three parts add up to the
    MAE of the rows that have a positive mass on both sides, exactly. `of=bias` splits the mean signed error instead.
    With `interaction=shared` half of the interaction goes to each factor (Shapley values): two parts, the same sum.

    Undefined when no row has a positive mass on both sides.

    Pros:
    - Says what to improve: the portion, or the recognition of the food.

    Cons:
    - {con}
    """
SPLITS = family(
    Split,
    "part",
    SPLIT_TEXT,
    mass={
        "name": "split_mass",
        "title": "Error from mass",
        "word": "mass",
        "cause": "a wrong mass alone makes",
        "formula": "The predicted mass with the true density: v(mass).",
        "con": "Both parts may be large and cancel in the error: then the interaction is far below 0.",
    },
    composition={
        "name": "split_composition",
        "title": "Error from composition",
        "word": "composition",
        "cause": "a wrong composition alone makes",
        "formula": "The predicted density at the true mass: v(composition), as in mae(scaled=mass).",
        "con": "Both parts may be large and cancel in the error: then the interaction is far below 0.",
    },
    interaction={
        "name": "split_interaction",
        "title": "Error from both together",
        "word": "both together",
        "cause": "comes from a wrong mass and a wrong composition together",
        "formula": "v(both) - v(mass) - v(composition); below 0 where the two faults cancel.",
        "con": "Neither good nor bad by itself: look at it beside the two others.",
    },
)
