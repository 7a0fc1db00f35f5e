"""Metrics of `nutrients`: one target at a time, the split of an error into portion and composition, and ingredients.

The errors of a target are those of `tasks.shared.regression`, with the settings `target` and `scaled`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from steelyard.core.block import SumBlock
from steelyard.core.errors import InvalidSpec, MissingColumn, UnknownName, nearest
from steelyard.core.metadata import Metadata
from steelyard.core.metric import Between, Metric, family
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Requirement, SharedCache, Sum
from steelyard.core.weights import Array, Floats, ratio
from steelyard.tasks.nutrients.data import MEAN, NutrientPairs
from steelyard.tasks.shared import regression
from steelyard.tasks.shared.regression import (
    INFINITY,
    PREDICTION,
    ROUNDING,
    TRUTH,
    EpsilonError,
    ErrorMoments,
    MedianOfRows,
    RowErrors,
    RowMetric,
    RowSum,
    RowsWithin,
)

TARGET_UNIT = "the target's unit"


class OfTarget(RowMetric):
    """Base of metrics of one target: `target` names it, and without it there is one for each target of the data.

    A percentage may be the mean over several targets: `target=[fat, protein]`, or `target=mean` for all. `scaled=mass`
    takes predictions at the true mass.
    """

    target: str | tuple[str, ...] | None = None
    scaled: Literal["mass"] | None = None

    def check(self) -> None:
        several = isinstance(self.target, tuple) or self.target == MEAN
        if several and self.measured_in != "%":
            raise InvalidSpec(
                f"metric '{self.name}': a mean over targets is of percentages only",
                remedy="Name one target, or use pmae, mape or within.",
            )
        if isinstance(self.target, tuple) and not all(isinstance(name, str) for name in self.target):
            raise InvalidSpec(f"metric '{self.name}': target must be names", remedy="Example: target=[fat, protein].")
        if isinstance(self.target, tuple) and len(set(self.target)) < max(2, len(self.target)):
            raise InvalidSpec(
                f"metric '{self.name}': a mean over targets needs two or more, each once", remedy="Name one target."
            )
        if self.scaled == "mass" and self.target == "mass":
            raise InvalidSpec(f"metric '{self.name}': mass has no error at the true mass", remedy="Leave scaled out.")

    def expand(self, metadata: Metadata) -> tuple[Metric, ...]:
        """One for each target, where none is named; a mean over all where that is asked for."""
        present = metadata.axes["target"].ids
        if self.scaled == "mass":
            if "mass" not in present:
                raise MissingColumn(
                    f"metric '{self}' needs the mass on both sides", remedy="Give a column 'mass', or leave scaled out."
                )
            present = tuple(name for name in present if name != "mass")
        if self.target is None:
            return tuple(replace(self, target=name) for name in present)
        if self.target == MEAN:
            return (self,)
        for name in self.targets:
            if name not in present:
                raise UnknownName(f"metric '{self}': there is no target '{name}'", remedy=nearest(name, present))
        return (self,)

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return (cls(target="energy"),)

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets that it is of."""
        return self.target if isinstance(self.target, tuple) else (self.target or "mass",)

    @property
    def selection(self) -> Mapping[str, str]:
        return {"target": self.targets[0], "scaled": self.scaled or ""}

    @property
    def label(self) -> str:
        title = super().label
        if len(self.targets) > 1:
            title += f", mean of {len(self.targets)} targets"
        elif self.target == MEAN:
            title += ", mean of all targets"
        elif self.target is not None:
            title += f", {self.target}"
        return title + (", at the true mass" if self.scaled == "mass" else "")

    def unit_of_measure(self, metadata: Metadata) -> str:
        if self.measured_in != TARGET_UNIT:
            return self.measured_in
        units = dict(part.split("=", 1) for part in str(metadata.flags.get("units", "")).split(",") if part)
        return units.get(self.targets[0], "")

    def excluded(self, totals: TotalsView) -> tuple[float, str]:
        count, what = super().excluded(totals)
        return count, what.replace("weight", "amount")


class AllTargets(Sum):
    """What a statistic of one target is, for every target of the data: one column each, along the axis `target`."""

    name = "nutrients.all_targets"

    of: str
    percent: float = 0.0
    scaled: str = ""

    @staticmethod
    def like(statistic: Any) -> AllTargets:
        """The statistic that holds another one for every target."""
        of = {EpsilonError.name: "epsilon", RowsWithin.name: "within"}.get(statistic.name) or statistic.of
        return AllTargets(of, getattr(statistic, "percent", 0.0), statistic.scaled)

    def measure(self, pairs: NutrientPairs, cache: SharedCache) -> SumBlock:
        columns = [self._one(name).measure(pairs, cache).values for name in pairs.metadata.axes["target"].ids]
        return SumBlock(np.stack(columns, axis=1) if columns else np.zeros((len(pairs.units), 0)), "target")

    def _one(self, target: str) -> Sum:
        selection = {"target": target, "scaled": self.scaled}
        if self.of == "within":
            return RowsWithin(self.percent, **selection)
        return EpsilonError(**selection) if self.of == "epsilon" else RowSum(self.of, **selection)


class _OneTarget:
    """The totals of one target among those of all."""

    def __init__(self, totals: Any, place: int) -> None:
        self._totals, self._place = totals, place

    def __getitem__(self, statistic: Any) -> Floats:
        column: Floats = self._totals[AllTargets.like(statistic)][:, self._place]
        return column


class OfTargets(OfTarget):
    """Base of percentages, which may be means over several targets."""

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return (cls(target="energy"), cls(target=MEAN))

    def target_statistics(self) -> tuple[Requirement, ...]:
        """What the metric of one target needs."""
        return super().requirements()  # type: ignore[safe-super]

    def requirements(self) -> tuple[Requirement, ...]:
        if self.target == MEAN:
            return tuple(map(AllTargets.like, self.target_statistics()))
        return tuple(dict.fromkeys(need for name in self.targets for need in self.of_one(name).target_statistics()))

    def of_one(self, name: str) -> OfTargets:
        """The metric of one target."""
        return replace(self, target=name)

    def each(self, totals: Any) -> list[tuple[OfTargets, Any]]:
        """The metric of each target, with the totals that it reads."""
        if self.target != MEAN:
            return [(self.of_one(name), totals) for name in self.targets]
        names = totals.metadata.axes["target"].ids
        skipped = "mass" if self.scaled == "mass" else None
        return [(self.of_one(name), _OneTarget(totals, k)) for k, name in enumerate(names) if name != skipped]

    def reduce(self, totals: TotalsView) -> Floats:
        parts = [super(OfTargets, one).reduce(part) for one, part in self.each(totals)]  # type: ignore[safe-super]
        return np.asarray(np.add.reduce(parts) / len(parts)) if parts else np.asarray(totals.undefined())

    def excluded(self, totals: TotalsView) -> tuple[float, str]:
        return (0, "") if self.target == MEAN or len(self.targets) > 1 else super().excluded(totals)


class MeanAbsoluteError(OfTarget, regression.MeanAbsoluteError):
    r"""Mean absolute error: how far off the predicted amount of a target is, on average.

    $\mathrm{MAE} = \sum_i w_i\,|\hat y_i - y_i| \;/\; \sum_i w_i$

    In the unit of the target, so that errors of two targets cannot be compared or averaged. `scaled=mass` takes every
    prediction at the true mass of its dish: the error that is left comes from what the food is, not from how much.

    Undefined when no row has a true amount.

    Pros:
    - Intuitive and easy to interpret: grams, or kilocalories.

    Cons:
    - Treats all errors equally: 10 g off on a 20 g portion is as bad as on a 200 g portion.
    """

    measured_in = TARGET_UNIT

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return (cls(target="energy"), cls(target="energy", scaled="mass"))


class PercentageMeanAbsoluteError(OfTargets, regression.WeightedAbsolutePercentageError):
    r"""PMAE, the MAE as a percentage of the mean true amount, as Nutrition5k reports it.

    $\mathrm{PMAE} = 100 \sum_i w_i\,|\hat y_i - y_i| \;/\; \sum_i w_i\,y_i$

    A ratio of means. MAPE is the mean of ratios: another number, mostly a larger one. In task `weights` the same
    formula is called WAPE. `target=mean` is the plain mean over all targets.

    Undefined when the true amounts add up to 0.

    Pros:
    - Comparable between targets, and stable where a dish has almost none of a nutrient.

    Cons:
    - Says little about dishes with little of the nutrient.
    """

    name = "pmae"
    title = "MAE in percent of the mean"
    aliases = ("wape", "mae%", "percentage mae", "nutrition5k mae%")


class MeanAbsolutePercentageError(OfTargets, regression.MeanAbsolutePercentageError):
    r"""Mean absolute percentage error: how far off a prediction is, relative to the true amount of its own dish.

    $\mathrm{MAPE} = 100 \sum_i w_i\,|\hat y_i - y_i| / y_i \;/\; \sum_i w_i$

    A row whose true amount is 0 has no relative error: it is left out and counted. `zero=error` refuses such data,
    `zero=eps` divides by the machine epsilon instead, as scikit-learn does.

    Undefined when no row has a positive true amount.

    Pros:
    - Dishes of all sizes count the same.

    Cons:
    - Unstable where the true amount is close to zero, as the fat of a fruit salad is.
    """


class Bias(OfTarget, regression.Bias):
    r"""Bias: the mean signed error of a target; above 0 the model predicts too much.

    $\mathrm{bias} = \sum_i w_i\,(\hat y_i - y_i) \;/\; \sum_i w_i$

    Undefined when no row has a true amount.

    Pros:
    - Shows a systematic error, which adds up over the meals of a day and which calibration can remove.

    Cons:
    - Errors of opposite sign cancel: 0 does not mean right.
    """

    measured_in = TARGET_UNIT


class RootMeanSquaredError(OfTarget, regression.RootMeanSquaredError):
    r"""Root mean squared error of a target: the typical error, large ones weighing more.

    $\mathrm{RMSE} = \sqrt{\sum_i w_i\,(\hat y_i - y_i)^2 \;/\; \sum_i w_i}$

    Undefined when no row has a true amount.

    Pros:
    - In the unit of the target, and what least squares minimises.

    Cons:
    - One wild prediction can dominate it.
    """

    measured_in = TARGET_UNIT


class Within(OfTargets, regression.Within):
    r"""Within p percent: the share of rows whose predicted amount is at most p % off.

    $\mathrm{within}_p = 100 \sum_i w_i\,[\,100\,|\hat y_i - y_i| \le p\,y_i\,] \;/\; \sum_i w_i$

    A row whose true amount is 0 is within only if 0 was predicted.

    Undefined when no row has a true amount.

    Pros:
    - Reads as a promise, and food labels are judged so: a declared value may be 20 % off.

    Cons:
    - Does not see how far off the others are.
    """

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats]:
        parts = [regression.Within.proportions(one, part) for one, part in self.each(totals)]  # type: ignore[arg-type]
        if len(parts) == 1:
            return parts[0]
        return np.stack([part[0] for part in parts], axis=1), np.stack([part[1] for part in parts], axis=1)


class CoefficientOfDetermination(OfTarget, regression.CoefficientOfDetermination):
    r"""Coefficient of determination: the share of a target's variance that the prediction explains.

    $R^2 = 1 - \sum_i w_i\,(\hat y_i - y_i)^2 \;/\; \sum_i w_i\,(y_i - \bar y)^2$

    0 is what always predicting the mean reaches; a worse model is below 0.

    Undefined when the true amounts do not vary.

    Pros:
    - Shows whether the model does better than a constant guess.

    Cons:
    - Depends on how much the dishes vary: not comparable between data sets.
    """


class PearsonCorrelation(OfTarget, regression.PearsonCorrelation):
    r"""Pearson correlation: how linearly predicted and true amounts go together.

    $r = \sum_i w_i (y_i - \bar y)(\hat y_i - \bar{\hat y})
    \;/\; \sqrt{\sum_i w_i (y_i - \bar y)^2 \sum_i w_i (\hat y_i - \bar{\hat y})^2}$

    Undefined when the true or the predicted amounts do not vary.

    Pros:
    - Shows whether the order and spacing of the dishes is seen at all.

    Cons:
    - Blind to bias and to scale: twice the amount everywhere is a perfect 1. Concordance is not.
    """


class MedianAbsoluteError(OfTarget):
    r"""Median absolute error: half of the rows are at most this far off.

    $\mathrm{MedAE} = \mathrm{median}_i\,|\hat y_i - y_i|$

    Of two middle errors the mean. Weights count as repeated rows.

    Undefined when no row has a true amount.

    Pros:
    - A few wild predictions do not move it.

    Cons:
    - Blind to how bad the worse half is.
    """

    name = "medae"
    title = "Median absolute error"
    better = "lower"
    range = (0, INFINITY)
    measured_in = TARGET_UNIT
    reference = "sklearn.metrics.median_absolute_error"

    def reader(self) -> MedianOfRows:
        """What reads the median."""
        return MedianOfRows(RowErrors(**self.selection))

    def requirements(self) -> tuple[Requirement, ...]:
        return (self.reader(),)

    def reduce(self, totals: TotalsView) -> Floats:
        return np.asarray(totals[self.reader()])


class Concordance(OfTarget):
    r"""Concordance (Lin's CCC): how near the pairs of predicted and true amounts lie to the line of identity.

    $\rho_c = 2 s_{y\hat y} \;/\; (s_y^2 + s_{\hat y}^2 + (\bar y - \bar{\hat y})^2)$

    With variances divided by n, as Lin (1989) does. It is Pearson's r, made smaller by bias and by another spread.

    Undefined when neither the true nor the predicted amounts vary.

    Pros:
    - One number for agreement: sees bias and scale, which Pearson's r does not.

    Cons:
    - Depends on how much the dishes vary: not comparable between data sets.
    """

    name = "ccc"
    title = "Lin's concordance"
    aliases = ("lin's ccc", "concordance correlation coefficient")
    better = "higher"
    range = (-1, 1)
    reference = "the formula of Lin (1989)"

    def requirements(self) -> tuple[Requirement, ...]:
        return self.moments(), self.sum_of("error"), self.sum_of("rows")

    def reduce(self, totals: TotalsView) -> Floats:
        pooled = totals[self.moments()]
        shift = totals[self.sum_of("error")]
        spread = _spread(pooled) + ratio(shift * shift, totals[self.sum_of("rows")])
        return np.asarray(2 * pooled.covariance(TRUTH, PREDICTION)[0] / spread)


class IntraclassCorrelation(OfTarget):
    r"""Intraclass correlation ICC(3,1): two-way mixed effects, consistency, single measurement.

    $\mathrm{ICC} = (MS_R - MS_E) \;/\; (MS_R + MS_E) = 2 s_{y\hat y} \;/\; (s_y^2 + s_{\hat y}^2)$

    The model and the scale are two fixed raters of the same dishes (Shrout and Fleiss, 1979; C,1 of McGraw and Wong).

    Undefined when neither the true nor the predicted amounts vary.

    Pros:
    - What dietary studies report; sees another spread of the predictions.

    Cons:
    - Blind to a constant bias, which concordance sees.
    """

    name = "icc"
    title = "Intraclass correlation ICC(3,1)"
    aliases = ("icc3", "icc(3,1)", "intraclass correlation")
    better = "higher"
    range = (-1, 1)
    reference = "pingouin.intraclass_corr (ICC3)"

    def requirements(self) -> tuple[Requirement, ...]:
        return (self.moments(),)

    def reduce(self, totals: TotalsView) -> Floats:
        pooled = totals[self.moments()]
        return np.asarray(2 * pooled.covariance(TRUTH, PREDICTION)[0] / _spread(pooled))


def _spread(pooled: Any) -> Floats:
    """The sum of squares of both sides around their means; nan where neither varies."""
    parts = [pooled.covariance(side, side) for side in (TRUTH, PREDICTION)]
    value, scale = (sum(part[i] for part in parts) for i in (0, 1))
    return np.where(value > ROUNDING * scale, value, np.nan)


class LimitOfAgreement(OfTarget):
    """Base of the limits of agreement of Bland and Altman: the mean error, less or more a multiple of its spread."""

    limit: ClassVar[str]
    better = "zero"
    range = (-INFINITY, INFINITY)
    measured_in = TARGET_UNIT
    by_count = True
    reference = "pingouin.plot_blandaltman"

    sd: Annotated[float, Between(0, open_low=True)] = 1.96

    def requirements(self) -> tuple[Requirement, ...]:
        return ErrorMoments(**self.selection), self.sum_of("error"), self.sum_of("rows")

    def reduce(self, totals: TotalsView) -> Floats:
        rows = totals[self.sum_of("rows")]
        squares = np.maximum(totals[ErrorMoments(**self.selection)].covariance(0, 0)[0], 0.0)
        spread = np.sqrt(ratio(squares, rows - 1))
        side = -self.sd if self.limit == "lower" else self.sd
        return np.asarray(ratio(totals[self.sum_of("error")], rows) + side * spread)


LIMITS = family(
    LimitOfAgreement,
    "limit",
    r"""Limit of agreement, {word}: below it lie about {share} of the errors, if they are normal (Bland and Altman).

    $\mathrm{bias} {sign} 1.96\,s, \quad s^2 = \sum_i (e_i - \bar e)^2 / (n - 1)$

    Between both limits lie about 95 % of the errors. The interval is that of the limit itself, which many reports leave
    out. `sd` is the multiple of the standard deviation.

    Undefined when there are fewer than two rows.

    Pros:
    - What clinical and dietary studies report: how far off a single dish may be.

    Cons:
    - Assumes errors of one spread for small and for large dishes; look at the picture.
    """,
    lower={"name": "loa_lower", "title": "Lower limit of agreement", "word": "lower", "share": "2.5 %", "sign": "-"},
    upper={"name": "loa_upper", "title": "Upper limit of agreement", "word": "upper", "share": "97.5 %", "sign": "+"},
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

METRICS: tuple[type[Metric], ...] = (
    MeanAbsoluteError,
    PercentageMeanAbsoluteError,
    MeanAbsolutePercentageError,
    MedianAbsoluteError,
    Bias,
    RootMeanSquaredError,
    Within,
    CoefficientOfDetermination,
    PearsonCorrelation,
    Concordance,
    IntraclassCorrelation,
    *LIMITS,
    *SPLITS,
    *INGREDIENTS,
)
