"""What the metrics of rankings share: a value for each query, and its mean over queries."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Literal

from steelyard.core.errors import InvalidSpec
from steelyard.core.frozen import frozen
from steelyard.core.metric import Between, Metric
from steelyard.core.spec import render_value
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Requirement, Sum
from steelyard.core.weights import Floats, ratio
from steelyard.tasks.rankings.sums import ALL, Answerable, QueryCount, QueryValue

QUERIES, MISSING, TIED = map(QueryCount, ("queries", "missing", "tied"))


Level = Annotated[float, Between(0)]  # the least grade that is relevant


@frozen
class QueryMetric(Metric):
    """A metric that is a mean over queries.

    `empty` says what a query without a relevant document counts: nothing (`skip`), or 0 (`zero`, as trec_eval and ranx
    do). `ties` says how equal scores are ordered: by document id, the larger first (`id`), in the order of the input
    (`input`), or by id after rounding scores to single precision, as trec_eval holds them (`single`).
    """

    range = (0.0, 1.0)

    empty: Literal["skip", "zero"] = "skip"
    ties: Literal["id", "input", "single"] = "id"

    @abstractmethod
    def value(self) -> QueryValue:
        """The statistic of each query's value."""

    @abstractmethod
    def answerable(self) -> Answerable:
        """The statistic of the queries that have a value."""

    def check(self) -> None:
        """Check how many ranks count, where the metric has a cut."""
        k = getattr(self, "k", None)
        if k is not None and (isinstance(k, bool) or not isinstance(k, int) or not 1 <= k < ALL):
            raise InvalidSpec(
                f"metric '{self.name}': k cannot be {render_value(k)}", remedy="It must be a whole number from 1 up."
            )

    def query_count(self) -> Sum:
        """The statistic of the queries that the mean is over."""
        return QUERIES if self.empty == "zero" else self.answerable()

    def needs(self) -> tuple[Requirement, ...]:
        return self.value(), self.query_count(), QUERIES, MISSING, TIED

    def reduce(self, totals: TotalsView) -> Floats:
        return ratio(totals[self.value()], totals[self.query_count()])

    def excluded(self, totals: TotalsView) -> tuple[float, str]:
        """Queries without a value."""
        return float((totals[QUERIES] - totals[self.query_count()])[0]), "queries without a relevant document"

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        """Say what counts as 0, and whether ties decided anything."""
        missing, tied = float(totals[MISSING][0]), float(totals[TIED][0])
        notes = []
        if missing:
            notes.append(f"{missing:g} queries are not in the run and count as 0.")
        if tied:
            rule = {"id": "document id, the larger first", "input": "the order of the input"}
            order = rule.get(self.ties, "document id, after rounding to single precision")
            notes.append(f"In {tied:g} queries judged documents share their score with others; ordered by {order}.")
        return tuple(notes)


class RelevantMetric(QueryMetric):
    """One that has a value for the queries with a relevant document: one of at least `level`."""

    level: float

    def answerable(self) -> Answerable:
        return Answerable(self.level)
