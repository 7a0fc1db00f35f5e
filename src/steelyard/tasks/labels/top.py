"""Whether the true class is among the few with the highest scores."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from steelyard.core.frozen import frozen
from steelyard.core.metadata import Metadata
from steelyard.core.metric import Between, Metric
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Requirement
from steelyard.core.weights import Floats, ratio
from steelyard.tasks.labels.counts import NO_SCORES, ROWS, holds, several
from steelyard.tasks.labels.statistics import TopHits


@frozen
class TopAccuracy(Metric):
    r"""Top-k accuracy: the share of rows whose true class is among the k with the highest scores.

    $\mathrm{top}_k = \sum_i w_i\,[\mathrm{rank}_i(y_i) \le k] \;/\; \sum_i w_i$

    Of classes with equal scores the first in order comes first, as in the label that a row is given, so `topk@1` is
    accuracy; `ties=last` puts the last first, as scikit-learn does.

    Undefined when the predictions hold no scores by class.

    Pros:
    - Fair where classes are many and alike: the right answer was among the few best.

    Cons:
    - Near 1 once k is close to the number of classes.
    """

    name = "topk"
    title = "Top-k accuracy"
    aliases = ("top_k_accuracy",)
    at = "k"
    reference = "sklearn.metrics.top_k_accuracy_score"
    range = (0.0, 1.0)

    k: Annotated[int, Between(1)] = 5
    ties: Literal["first", "last"] = "first"

    @property
    def label(self) -> str:
        return f"Top-{self.k} accuracy"

    @property
    def _hits(self) -> TopHits:
        return TopHits(self.k, self.ties)

    def needs(self) -> tuple[Requirement, ...]:
        """Rows whose class is among the first k."""
        return (self._hits, ROWS)

    def reduce(self, totals: TotalsView) -> Floats:
        """Rows whose class is among the first k, over all."""
        if self._lacks(totals.facts):
            return np.full(totals.rows, np.nan)
        return ratio(*self.proportions(totals))

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats]:
        """One proportion, of all rows: those whose class is among the first k."""
        return totals[self._hits], totals[ROWS]

    def _lacks(self, facts: Metadata) -> str:
        if several(facts):
            return "a row may have several labels"
        return "" if holds(facts, "ranked") else NO_SCORES

    def undefined_reason(self, totals: TotalsView) -> str:
        return self._lacks(totals.facts) or "there is no row"
