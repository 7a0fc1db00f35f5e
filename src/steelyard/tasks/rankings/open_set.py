"""Open-set identification (1:N): probes that are enrolled in the gallery, and probes that are not.

A query with a relevant document is a mated probe, one without is not enrolled. FPIR(t) is the share of probes that are
not enrolled with any candidate of at least t; FNIR(t) the share of mated probes whose mate is below t or not within the
rank.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np

from steelyard import _native
from steelyard.core.errors import Unsupported
from steelyard.core.metric import Between, Metric, UnitClasses
from steelyard.core.ranking import RankingBlock
from steelyard.core.state import State, TotalsView
from steelyard.core.statistic import Ranking, Requirement, SharedCache
from steelyard.core.weights import Floats
from steelyard.tasks.rankings.sums import Answerable
from steelyard.tasks.shared.rates import Rates, one_ranking

MATED = Answerable(1)
LOWEST = -1e300  # of probes that find nothing: below every score, and still finite


class Candidates(Ranking):
    """Probes by falling score: that of their mate, if it is within the rank, or else their highest."""

    name = "rankings.candidates"

    rank: int = 1
    ties: str = "best"

    def measure(self, pairs: Any, cache: SharedCache) -> RankingBlock:
        scores = pairs.scores()
        if scores is None:
            raise Unsupported(
                "identification in an open set needs a run with scores, and no documents that are taken out",
                remedy="Give the predictions as query, doc and score, without the column exclude.",
            )
        top, mate, best, last = scores
        rank = last if self.ties == "worst" else best
        mated = np.zeros(len(pairs.units), dtype=bool)
        mated[pairs.owner[pairs.relevance >= 1]] = True
        within = (rank <= self.rank) | (self.rank == 0)
        score = np.maximum(np.where(mated, np.where(within, mate, LOWEST), top), LOWEST)
        order, _, marked = _native.rank_order(score, mated.astype(np.uint8))
        return one_ranking({"unit": order.astype(np.int32), "score": score[order], "positive": marked})


class OpenSetMetric(Metric):
    """Base of the rates at a limit of false identifications. `rank=0` is any rank.

    Of equal scores the mate is the first, or with `ties=worst` the last.
    """

    range = (0.0, 1.0)
    at = "fpir"

    fpir: Annotated[float, Between(0, 1, open_low=True, open_high=True)] = 0.01
    rank: Annotated[int, Between(0, whole=True)] = 1
    ties: Literal["best", "worst"] = "best"

    @property
    def label(self) -> str:
        return f"{self.title} {self.fpir:g}"

    @property
    def curve(self) -> Rates:
        """The share of mated probes that are identified."""
        return Rates(Candidates(self.rank, self.ties), "tar", (float(self.fpir), 0.0))

    def requirements(self) -> tuple[Requirement, ...]:
        return (self.curve, MATED)

    def unit_classes(self, state: State) -> UnitClasses | None:
        """Whether probes are enrolled: both kinds decide."""
        block = state.blocks[self.curve.ranking]
        if not isinstance(block, RankingBlock):
            return None
        enrolled = block.events.columns["positive"].astype(np.int64)
        return UnitClasses(block.events.unit, enrolled, ("not enrolled", "enrolled"))

    def undefined_reason(self, totals: TotalsView) -> str:
        """Which kind of probes is missing, and what gives it."""
        if not totals[MATED][0]:
            return "no probe is enrolled: give the person, or the relevant document, of those that are"
        return (
            "every probe is enrolled, and the rate of false identifications needs probes that are not: leave their "
            "person empty, or give them no relevant document"
        )


class TruePositiveIdentification(OpenSetMetric):
    r"""TPIR at an FPIR: the share of enrolled probes that are identified when so few others are taken for somebody.

    $\max_t \{\, 1 - \mathrm{FNIR}(t) \;:\; \mathrm{FPIR}(t) \le f \,\}$

    A probe is identified where its mate is within the rank (the first by default, `rank=0` for any) and scores at least
    the threshold. Of equal scores the mate is the first, or with `ties=worst` the last.

    Undefined when no probe is enrolled, or all are.

    Pros:
    - The working point of a watch list, where most people who pass are not on it.

    Cons:
    - At a small f it rests on few probes that are not enrolled.
    """

    name = "tpir"
    title = "TPIR at FPIR"

    def reduce(self, totals: TotalsView) -> Floats:
        values: Floats = totals[self.curve]
        return values


class FalseNegativeIdentification(OpenSetMetric):
    r"""FNIR at an FPIR: the share of enrolled probes that are not identified when so few others are taken for somebody.

    $\min_t \{\, \mathrm{FNIR}(t) \;:\; \mathrm{FPIR}(t) \le f \,\}$

    1 - TPIR.

    Undefined when no probe is enrolled, or all are.

    Pros:
    - The figure of NIST's evaluations of 1:N search.

    Cons:
    - At a small f it rests on few probes that are not enrolled.
    """

    name = "fnir"
    title = "FNIR at FPIR"
    better = "lower"
    reference = "NIST FRTE 1:N"

    def reduce(self, totals: TotalsView) -> Floats:
        return np.asarray(1 - totals[self.curve])


METRICS: tuple[type[Metric], ...] = (TruePositiveIdentification, FalseNegativeIdentification)
