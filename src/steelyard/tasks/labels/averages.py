"""Wrappers: one number, or one per class, from a metric that every class has.

`macro(f1)`, `weighted(f1)`, `micro(f1)` and `per_class(f1)` take any metric that has a `label`; `ovo(roc_auc)` takes a
metric of a ranking.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Literal

import numpy as np

from steelyard.core.errors import InvalidSpec
from steelyard.core.metadata import Metadata
from steelyard.core.metric import Metric
from steelyard.core.numerals import as_spec
from steelyard.core.pairs import Array
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Requirement
from steelyard.core.weights import Floats, Role, ratio
from steelyard.tasks.labels.counts import (
    ROWS,
    CountMetric,
    PerClass,
    class_support,
    class_units,
    classes_of,
    count_needs,
    several,
)
from steelyard.tasks.labels.hard import F1
from steelyard.tasks.labels.ranked import RankedMetric, RocAuc

if TYPE_CHECKING:
    from steelyard.core.state import State


class Wrapper(Metric):
    """Base of the wrappers. Direction, range and measure are those of the metric inside."""

    of: Metric

    @property
    def better(self) -> str:  # type: ignore[override]
        """As the metric inside."""
        return self.of.better

    @property
    def range(self) -> tuple[float, float]:  # type: ignore[override]
        """As the metric inside."""
        return self.of.range

    @property
    def measured_in(self) -> str:  # type: ignore[override]
        """As the metric inside."""
        return self.of.measured_in

    @property
    def class_variance(self) -> float:  # type: ignore[override]
        """As the metric inside."""
        return self.of.class_variance

    @property
    def label(self) -> str:
        return f"{self.title} {self.of.label}"

    @property
    def inner(self) -> PerClass:
        """The metric inside."""
        if not isinstance(self.of, PerClass):
            raise InvalidSpec(f"metric '{self.of}' is not one that every class has", remedy="Example: macro(f1).")
        return self.of

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return (cls(F1()),)

    def check(self) -> None:
        """Check that the metric inside is one that every class has, and names none."""
        if self.inner.only is not None:
            raise InvalidSpec(
                f"metric '{self}' wraps a metric of one class", remedy=f"Write {self.name}({self.of.name})."
            )
        self.of.check_settings()

    @abstractmethod
    def value(self, totals: TotalsView) -> Floats:
        """The value, where the data hold what the metric inside needs."""

    def reduce(self, totals: TotalsView) -> Floats:
        """The value; nan where the data do not hold what the metric inside needs."""
        return np.full(totals.rows, np.nan) if self.inner.lacks(totals.metadata) else self.value(totals)

    def undefined_reason(self, totals: TotalsView) -> str:
        return self.inner.lacks(totals.metadata) or super().undefined_reason(totals)


class Average(Wrapper):
    """Base of the means over classes. Classes without a value are left out and counted, or taken for 0."""

    undefined: Literal["skip", "zero"] = "skip"

    def requirements(self) -> tuple[Requirement, ...]:
        counts = isinstance(self.of, CountMetric) or self.undefined == "skip"
        return self.inner.class_needs() if counts else (*self.inner.class_needs(), *count_needs())

    def values(self, totals: TotalsView) -> Floats:
        """The classes' values; nan where a class is out of the mean."""
        values = self.inner.each(totals)
        if self.undefined == "skip" and not isinstance(self.of, CountMetric):
            return values
        present: Array
        if isinstance(self.of, CountMetric):
            present = self.of.counts(totals).present
        else:
            present = ~np.isnan(values) | (class_support(totals) > 0)
        if self.undefined == "zero":
            values = np.where(np.isnan(values), 0.0, values)
        return np.where(present, values, np.nan)

    def excluded(self, totals: TotalsView) -> tuple[float, str]:
        """Classes without a value."""
        if self.inner.lacks(totals.metadata):
            return 0, ""
        return float(np.isnan(self.values(totals)).sum()), "classes without a value"


class Macro(Average):
    r"""Macro: the mean over classes, each counting the same.

    $\mathrm{macro}(m) = \frac{1}{K} \sum_k m_k$

    Of a metric of counts, a class that stands neither in the truth nor in the prediction is out of it. So is a class
    whose value is undefined (the precision of a class that was never predicted), which is counted; `undefined=zero`
    takes it for 0, as scikit-learn does by default. A metric of probabilities has a value for every class.

    Undefined when no class has a value.

    Pros:
    - Rare classes count as much as frequent ones.

    Cons:
    - A class of three rows moves it as much as one of three thousand.
    """

    name = "macro"
    title = "Macro"
    reference = "sklearn.metrics.f1_score(average='macro', zero_division=nan)"

    def value(self, totals: TotalsView) -> Floats:
        values = self.values(totals)
        return ratio(np.nansum(values, axis=1), (~np.isnan(values)).sum(axis=1))

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats] | None:
        """The proportion of every class, where the metric inside is one."""
        if self.undefined != "skip" or not isinstance(self.of, CountMetric):
            return None
        counts = self.of.counts(totals)
        fraction = self.of.fraction(counts)
        if fraction is None:
            return None
        if totals.role is Role.UNITS:  # a unit stands behind classes that it does not have: what they are not
            return fraction
        present = counts.present.any(axis=0)
        return fraction[0] * present, fraction[1] * present

    def class_scores(self, totals: TotalsView) -> Floats | None:
        return None if self.inner.lacks(totals.metadata) else self.values(totals)

    def class_truth(self, state: State) -> Array | None:
        return self.inner.class_truth(state)

    def part_units(self, state: State) -> Floats | None:
        return self.inner.class_units(state, undefined=self.undefined)


class Weighted(Average):
    r"""Weighted: the mean over classes, each counting by its rows in the truth.

    $\mathrm{weighted}(m) = \sum_k t_k m_k \;/\; \sum_k t_k$

    With t_k true rows of class k, over the classes that have a value.

    Undefined when no class of the truth has a value.

    Pros:
    - Speaks of the rows as they come: frequent classes count more.

    Cons:
    - Hides rare classes. Weighted recall is accuracy, and weighted F1 need not lie between precision and recall.
    """

    name = "weighted"
    title = "Weighted"
    reference = "sklearn.metrics.f1_score(average='weighted', zero_division=nan)"

    def requirements(self) -> tuple[Requirement, ...]:
        return (*super().requirements(), *count_needs())

    def value(self, totals: TotalsView) -> Floats:
        values, support = self.values(totals), class_support(totals)
        defined = ~np.isnan(values)
        return ratio((np.where(defined, values, 0.0) * support).sum(axis=1), (support * defined).sum(axis=1))


class Micro(Wrapper):
    r"""Micro: the metric of all classes' decisions together.

    $\mathrm{micro}(m) = m(\sum_k TP_k, \sum_k FP_k, \sum_k FN_k, \sum_k TN_k)$

    Every class of every row is one decision; a metric of scores ranks them all in one. For one label per row, micro
    precision, recall and F1 are accuracy. `undefined=zero` takes 0 / 0 for 0, as scikit-learn does by default.

    Undefined when there is no row, or the metric has no value for all decisions together.

    Pros:
    - Every decision counts the same; useful where a row has several labels.

    Cons:
    - Frequent classes dominate. For one label per row, micro F1 says what accuracy says.
    """

    name = "micro"
    title = "Micro"
    reference = "sklearn.metrics.f1_score(average='micro')"

    undefined: Literal["skip", "zero"] = "skip"

    def check(self) -> None:
        super().check()
        if not isinstance(self.of, CountMetric | RankedMetric):
            raise InvalidSpec(f"metric '{self.of}' has no micro form", remedy=f"Use macro({self.of}).")

    def requirements(self) -> tuple[Requirement, ...]:
        return self.inner.pooled_needs() if self.undefined == "skip" else (*self.inner.pooled_needs(), ROWS)

    def value(self, totals: TotalsView) -> Floats:
        value = self.inner.pooled_value(totals)
        if self.undefined == "skip":
            return value
        return np.where(np.isnan(value) & (totals[ROWS] > 0), 0.0, value)

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats] | None:
        """The proportion of all decisions, where the metric inside is one."""
        if self.undefined != "skip" or not isinstance(self.of, CountMetric) or self.of.lacks(totals.metadata):
            return None
        return self.of.fraction(self.of.counts(totals).pool_classes())

    def part_units(self, state: State) -> Floats | None:
        of = self.of
        if not isinstance(of, CountMetric) or of.negatives:
            return None
        return class_units(state, of.limit, of.fraction, pooled=True)


class EachClass(Wrapper):
    r"""Per class: the metric of every class, one score each.

    $m_1, \ldots, m_K$

    Stands for as many metrics as there are classes: `per_class(f1)` is `f1(label=cat)`, `f1(label=dog)` and so on.
    Where one number is asked for it is the mean.

    Undefined when no class has a value.

    Pros:
    - Shows which classes a mean hides.

    Cons:
    - Many numbers: some will look bad by chance. Mind the intervals.
    """

    name = "per_class"
    title = "Per class"
    reference = "sklearn.metrics.f1_score(average=None)"

    def expand(self, metadata: Metadata) -> tuple[Metric, ...]:
        return tuple(replace(self.inner, only=as_spec(name)) for name in classes_of(metadata))

    def requirements(self) -> tuple[Requirement, ...]:
        return Macro(self.of).requirements()

    def value(self, totals: TotalsView) -> Floats:
        """The mean, where one number is asked for."""
        return Macro(self.of).value(totals)

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats] | None:
        return Macro(self.of).proportions(totals)

    def class_scores(self, totals: TotalsView) -> Floats | None:
        return Macro(self.of).class_scores(totals)

    def class_truth(self, state: State) -> Array | None:
        return Macro(self.of).class_truth(state)

    def part_units(self, state: State) -> Floats | None:
        return Macro(self.of).part_units(state)


class OneVersusOne(Wrapper):
    r"""One versus one: the mean over all pairs of classes, each ranked among the rows of the two.

    $\mathrm{ovo}(m) = \frac{2}{K(K-1)} \sum_{j<k} \tfrac{1}{2}\,(m_{j|k} + m_{k|j})$

    m_{j|k} ranks the rows of classes j and k by the score of j (Hand and Till 2001, for ROC AUC). `weighted=true`
    counts a pair by its rows.

    Undefined when no two classes occur in the truth, or the predictions hold no scores.

    Pros:
    - Does not change with how frequent classes are.

    Cons:
    - Costs K(K-1) rankings, and hides that a score separates one class from all others badly.
    """

    name = "ovo"
    title = "One versus one"
    reference = "sklearn.metrics.roc_auc_score(multi_class='ovo')"

    weighted: bool = False

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return (cls(RocAuc()),)

    def check(self) -> None:
        super().check()
        if not isinstance(self.of, RankedMetric):
            raise InvalidSpec(f"metric '{self.of}' is not one of a ranking", remedy="Example: ovo(roc_auc).")

    @property
    def ranked_metric(self) -> RankedMetric:
        """The metric inside."""
        if not isinstance(self.of, RankedMetric):
            raise InvalidSpec(f"metric '{self.of}' is not one of a ranking", remedy="Example: ovo(roc_auc).")
        return self.of

    def requirements(self) -> tuple[Requirement, ...]:
        return (self.ranked_metric.pair_curves, *count_needs())

    def value(self, totals: TotalsView) -> Floats:
        if several(totals.metadata):
            return np.full(totals.rows, np.nan)
        support, both = class_support(totals), totals[self.ranked_metric.pair_curves]
        total, count = np.zeros(totals.rows), np.zeros(totals.rows)
        for a, b in combinations(range(totals.metadata.size("class")), 2):
            value = (both[:, a, b] + both[:, b, a]) / 2
            rows = support[:, a] + support[:, b] if self.weighted else np.ones(totals.rows)
            defined = ~np.isnan(value)
            total += np.where(defined, value, 0.0) * rows
            count += rows * defined
        return ratio(total, count)

    def undefined_reason(self, totals: TotalsView) -> str:
        return "a row may have several labels" if several(totals.metadata) else super().undefined_reason(totals)


AVERAGES: tuple[type[Metric], ...] = (Macro, Micro, Weighted, EachClass, OneVersusOne)
