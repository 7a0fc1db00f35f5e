"""Metrics of rejection (selective classification): how many errors are left where the least confident rows are refused.

Rows stand by falling confidence; risk(k) is the share of errors among the first k. Rows of equal confidence count as
the mean over all their orders, in closed form. Weights must be whole numbers: a row of weight 2 is two rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np

from steelyard.core.metric import Between, Metric
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Requirement
from steelyard.core.weights import Floats
from steelyard.tasks.labels.counts import holds, several
from steelyard.tasks.labels.walks import Confidence
from steelyard.tasks.shared.rates import Rates

if TYPE_CHECKING:
    from steelyard.core.metadata import Metadata

Share = Annotated[float, Between(0, 1, open_low=True, open_high=True)]


class RiskMetric(Metric):
    """Base of the figures of risk over coverage."""

    range = (0.0, 1.0)
    better = "lower"
    by_count = True
    figure: ClassVar[str]

    @property
    def parameters(self) -> tuple[float, ...]:
        """What the figure takes."""
        return ()

    @property
    def curve(self) -> Rates:
        """The figure of the rows by falling confidence."""
        return Rates(Confidence(), self.figure, self.parameters)

    def requirements(self) -> tuple[Requirement, ...]:
        return (self.curve,)

    def lacks(self, metadata: Metadata) -> str:
        """What the data would have to hold; empty where they do."""
        if several(metadata):
            return "a row may have several labels"
        if not holds(metadata, "confidence") and not holds(metadata, "probability"):
            return "the predictions hold neither a confidence nor probabilities"
        return "" if holds(metadata, "labels") else "the predictions hold no labels"

    def reduce(self, totals: TotalsView) -> Floats:
        if self.lacks(totals.metadata):
            return np.full(totals.rows, np.nan)
        values: Floats = totals[self.curve]
        return values

    def undefined_reason(self, totals: TotalsView) -> str:
        return self.lacks(totals.metadata) or super().undefined_reason(totals)


class RiskArea(RiskMetric):
    r"""Area under risk over coverage (AURC): the mean risk of the most confident rows, over all numbers of rows.

    $\mathrm{AURC} = \frac{1}{n} \sum_{k=1}^{n} \frac{e_k}{k}$

    $e_k$ are the errors among the first k rows, in the mean over the orders of rows of equal confidence.

    Undefined when there is no confidence or no label, or weights are not whole numbers.

    Pros:
    - Sees both how many errors there are and whether confidence tells them.

    Cons:
    - Mixes the two: look at `e_aurc`, too.
    """

    name = "aurc"
    title = "Area under risk over coverage"
    reference = "torch-uncertainty (with trapezoids)"
    figure = "aurc"


class ExcessRiskArea(RiskMetric):
    r"""Excess AURC: the area under risk over coverage less that of the best order of the same errors.

    $\mathrm{E\text{-}AURC} = \mathrm{AURC} - \frac{1}{n} \sum_{k=n-E+1}^{n} \frac{k - n + E}{k}$

    `oracle=closed` takes the published limit $r + (1 - r) \ln(1 - r)$ of many rows for the best order, with r the
    share of errors.

    Undefined when there is no confidence or no label, or weights are not whole numbers.

    Pros:
    - 0 for a confidence that puts all errors last, whatever the accuracy.

    Cons:
    - Its scale depends on the share of errors.
    """

    name = "e_aurc"
    title = "Excess area under risk over coverage"
    aliases = ("eaurc",)
    figure = "e_aurc"

    oracle: Literal["discrete", "closed"] = "discrete"

    @property
    def parameters(self) -> tuple[float, ...]:
        return (float(self.oracle == "closed"),)


class GeneralisedRiskArea(RiskMetric):
    r"""Area under generalised risk over coverage (AUGRC): the mean share of all rows that are accepted and wrong.

    $\mathrm{AUGRC} = \frac{1}{n^2} \sum_{k=1}^{n} e_k$

    Undefined when there is no confidence or no label, or weights are not whole numbers.

    Pros:
    - Weighs every undetected error alike; the first rows do not dominate.

    Cons:
    - Like `aurc` it mixes accuracy and confidence.
    """

    name = "augrc"
    title = "Area under generalised risk over coverage"
    reference = "torch-uncertainty (with trapezoids)"
    figure = "augrc"


class RiskAtCoverage(RiskMetric):
    r"""Risk at a coverage: the share of errors among the most confident rows, when so many are accepted.

    $e_k / k, \quad k = \lceil c\, n \rceil$

    Undefined when there is no confidence or no label, or weights are not whole numbers.

    Pros:
    - A working point that can be planned: the share that people must look at is fixed.

    Cons:
    - The threshold is chosen on the same data.
    """

    name = "risk"
    title = "Risk at coverage"
    at = "coverage"
    reference = "torch-uncertainty: RiskAtxCov"
    figure = "risk"

    coverage: Share = 0.8

    @property
    def label(self) -> str:
        return f"{self.title} {self.coverage:g}"

    @property
    def parameters(self) -> tuple[float, ...]:
        return (float(self.coverage),)


class CoverageAtRisk(RiskMetric):
    r"""Coverage at a risk: the largest share of rows that can be accepted with at most that share of errors.

    $\max \{\, k : e_k / k \le r \,\} \,/\, n$

    Undefined when no number of rows has so low a risk, there is no confidence or no label, or weights are not whole
    numbers.

    Pros:
    - What automation is worth at a quality that was agreed on.

    Cons:
    - Jumps where the curve is flat: look at the interval.
    """

    name = "coverage"
    title = "Coverage at risk"
    better = "higher"
    at = "risk"
    reference = "torch-uncertainty: CovAtxRisk"
    figure = "coverage"

    risk: Share = 0.05

    @property
    def label(self) -> str:
        return f"{self.title} {self.risk:g}"

    @property
    def parameters(self) -> tuple[float, ...]:
        return (float(self.risk),)


REJECTION: tuple[type[Metric], ...] = (
    RiskArea,
    ExcessRiskArea,
    GeneralisedRiskArea,
    RiskAtCoverage,
    CoverageAtRisk,
)
