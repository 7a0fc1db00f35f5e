"""Metrics of `nutrients`, one target at a time. The split of an error and ingredients have modules of their own.

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
from steelyard.core.weights import Floats, ratio
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
        units = dict(part.split("=", 1) for part in str(metadata.flags.get("units", "")).split(",") if "=" in part)
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
)
