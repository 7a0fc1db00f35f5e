"""Metrics that ask of a document only whether it is relevant.

Conventions: `R` is the number of relevant documents of a query, `k` the cut, `rel_i` 1 where the document at rank i is
relevant. A document is relevant where its relevance is at least `level`; one without judgement is not.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, ClassVar, Literal

from steelyard.core.counts import count_text
from steelyard.core.errors import InvalidSpec
from steelyard.core.metric import Between, Metric
from steelyard.core.spec import render_value
from steelyard.core.state import TotalsView
from steelyard.core.statistic import Requirement, Sum
from steelyard.core.weights import Floats, ratio
from steelyard.tasks.rankings.single_shot import SingleShotValue
from steelyard.tasks.rankings.sums import (
    ALL,
    Answerable,
    HitValue,
    PlacedValue,
    PooledValue,
    PreferenceValue,
    QueryCount,
    QueryValue,
    RPrecisionValue,
)

QUERIES, MISSING, TIED = map(QueryCount, ("queries", "missing", "tied"))


Level = Annotated[float, Between(0)]  # the least grade that is relevant


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

    def requirements(self) -> tuple[Requirement, ...]:
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
            notes.append(f"{count_text(round(missing), 'query', 'are')} not in the run, which counts as 0.")
        if tied:
            rule = {"id": "document id, the larger first", "input": "the order of the input", "pooled": "one step"}
            order = rule.get(self.ties, "document id, after rounding to single precision")
            where = count_text(round(tied), "query")
            notes.append(f"In {where} judged documents share their score with others; ordered by {order}.")
        return tuple(notes)


class RelevantMetric(QueryMetric):
    """One that has a value for the queries with a relevant document: one of at least `level`."""

    @property
    @abstractmethod
    def level(self) -> float:
        """The least grade that is relevant; a setting of the metrics."""

    def answerable(self) -> Answerable:
        return Answerable(self.level)


class _AtK(RelevantMetric):
    at = "k"
    formula: ClassVar[str]  # of `sums.FORMULAS`

    k: int | None = None
    level: Level = 1

    def value(self) -> QueryValue:
        return HitValue(self.formula, self.k, self.level, self.ties)

    @property
    def label(self) -> str:
        return self.title if self.k is None else f"{self.title} at {self.k}"

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        """Without a cut, and at 10."""
        return (cls(), cls(k=10))


class AveragePrecision(_AtK):
    r"""Average precision of a query: the mean of the precisions at the ranks of its relevant documents.

    $\mathrm{AP@}k = \frac{1}{\mathrm{norm}} \sum_{i=1}^{k} P_i\,\mathrm{rel}_i$

    The norm decides what a relevant document that was not found costs. `relevant` divides by all relevant documents
    R, as trec_eval does. `min` divides by min(k, R), so that k right documents are enough for 1. `hits` divides by the
    relevant documents found, so one that was missed costs nothing. Over several queries, the mean.

    Undefined when no query has a relevant document.

    Pros:
    - One number for precision and recall over the whole list; sees every swap of a right and a wrong document.

    Cons:
    - Knows relevant and not relevant only, nothing between.
    - With `norm=hits`, one right document at the top scores 1, whatever was missed.
    """

    name = "ap"
    title = "Average precision"
    formula = "ap"
    reference = "pytrec_eval: map, map_cut; ranx: map"

    norm: Literal["relevant", "min", "hits"] = "relevant"

    def value(self) -> QueryValue:
        formula = self.formula if self.norm == "relevant" else f"{self.formula}_{self.norm}"
        return HitValue(formula, self.k, self.level, self.ties)

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return (cls(), cls(k=10), cls(k=10, norm="min"), cls(k=10, norm="hits"))


class MeanAveragePrecision(AveragePrecision):
    r"""Mean average precision: the mean over queries of each query's average precision.

    $\mathrm{mAP@}k = \frac{1}{Q} \sum_q \mathrm{AP}_q\mathrm{@}k$

    The norm is that of average precision: `relevant` (R, as trec_eval), `min` (min(k, R)) or `hits` (the relevant
    documents found). Every query counts the same, however many relevant documents it has. `ties=pooled` takes equal
    scores as one step, as scikit-learn and open-reid do; it needs predictions as an array `distance`.

    Undefined when no query has a relevant document.

    Pros:
    - The usual single number for a search system, stable over queries.

    Cons:
    - Different projects divide by different norms: compare only what was computed with the same one.
    """

    name = "map"
    title = "Mean average precision"

    ties: Literal["id", "input", "single", "pooled"] = "id"  # type: ignore[assignment]

    def value(self) -> QueryValue:
        return PooledValue(self.level) if self.ties == "pooled" else super().value()

    def check(self) -> None:
        """Check that equal scores as one step are asked for the whole list."""
        super().check()
        if self.ties == "pooled" and (self.k is not None or self.norm != "relevant"):
            raise InvalidSpec(f"metric '{self}' takes the whole list", remedy="Leave k and norm out.")


class Precision(_AtK):
    r"""Precision: the share of the first k documents that are relevant.

    $\mathrm{P@}k = \frac{1}{k} \sum_{i=1}^{k} \mathrm{rel}_i$

    A list shorter than k is filled up with wrong documents. Without k, all retrieved documents count.

    Undefined when no query has a relevant document.

    Pros:
    - What a user of the first page sees.

    Cons:
    - A query with fewer than k relevant documents cannot reach 1.
    - Blind to the order inside the first k.
    """

    name = "precision"
    title = "Precision"
    formula = "precision"
    reference = "pytrec_eval: P, set_P; ranx: precision"

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        """At 10: without a cut it depends on how long the list happens to be."""
        return (cls(k=10),)


class Recall(_AtK):
    r"""Recall: the share of the relevant documents that stand among the first k.

    $\mathrm{R@}k = \frac{1}{R} \sum_{i=1}^{k} \mathrm{rel}_i$

    Undefined when no query has a relevant document.

    Pros:
    - What a second stage that re-ranks the first k can reach at most.

    Cons:
    - With more than k relevant documents it cannot reach 1.
    - In image retrieval "Recall@k" often means that one right image is enough: that is `hit@k`.
    """

    name = "recall"
    title = "Recall"
    formula = "recall"
    reference = "pytrec_eval: recall; ranx: recall"


class F1(_AtK):
    r"""F1: the harmonic mean of precision and recall at k, query by query.

    $\mathrm{F1@}k = \frac{2 \sum_{i \le k} \mathrm{rel}_i}{k + R}$

    Undefined when no query has a relevant document.

    Pros:
    - One number where the length of the list is a choice of the system.

    Cons:
    - The mean of F1 is not the F1 of the means.
    """

    name = "f1"
    title = "F1"
    aliases = ("f1 score",)
    formula = "f1"
    reference = "ranx: f1"

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        """At 10, as for precision."""
        return (cls(k=10),)


class Hit(_AtK):
    r"""Hit rate: the share of queries with at least one relevant document among the first k.

    $\mathrm{hit@}k = \frac{1}{Q} \sum_q [\,\exists\, i \le k : \mathrm{rel}_i = 1\,]$

    What papers on image retrieval and re-identification call Recall@k, top-k accuracy or CMC. `spread=yes` is the share
    of relevant documents with fewer than k wrong ones before them, open-reid's CMC without `first_match_break`.
    `shot=single` is the CMC of a gallery with one image of each identity, which is drawn at random (CUHK03): the exact
    mean over all draws, where torchreid draws ten times.

    Undefined when no query has a relevant document.

    Pros:
    - Easy to read: so many of a hundred searches found something.

    Cons:
    - Does not see what else was found, nor where.
    """

    name = "hit"
    title = "Hit rate"
    aliases = ("cmc",)
    formula = "hit"
    reference = "pytrec_eval: success; ranx: hit_rate; torchreid"

    spread: Literal["no", "yes"] | bool = "no"
    shot: Literal["all", "single"] = "all"

    def check(self) -> None:
        """Check that the CMC of one image per identity has a cut, and is not spread."""
        super().check()
        if self.shot == "single" and (self.k is None or self.spread in ("yes", True)):
            raise InvalidSpec(f"metric '{self}' needs k, and no spread", remedy="Write hit@1(shot=single).")

    def value(self) -> QueryValue:
        if self.shot == "single" and self.k is not None:
            return SingleShotValue(self.k)
        if self.spread in ("yes", True):
            return PlacedValue("spread", self.k, self.level, self.ties)
        return super().value()

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats] | None:
        if self.spread in ("yes", True) or self.shot == "single":
            return None
        return totals[self.value()], totals[self.query_count()]


class Success(Hit):
    r"""Success: the same as the hit rate, under the name that trec_eval has for it.

    $\mathrm{success@}k = \frac{1}{Q} \sum_q [\,\exists\, i \le k : \mathrm{rel}_i = 1\,]$

    Undefined when no query has a relevant document.

    Pros:
    - Easy to read: so many of a hundred searches found something.

    Cons:
    - Does not see what else was found, nor where.
    """

    name = "success"
    title = "Success"


class ReciprocalRank(_AtK):
    r"""Mean reciprocal rank: one over the rank of the first relevant document, 0 where there is none in the first k.

    $\mathrm{MRR} = \frac{1}{Q} \sum_q \frac{1}{\min\{\, i : \mathrm{rel}_i = 1 \,\}}$

    Undefined when no query has a relevant document.

    Pros:
    - Right for questions with one right answer.

    Cons:
    - Looks at the first hit alone; from rank 1 to 2 it falls by half, from 10 to 11 by nearly nothing.
    """

    name = "mrr"
    title = "Mean reciprocal rank"
    formula = "mrr"
    reference = "pytrec_eval: recip_rank; ranx: mrr"


class RPrecision(RelevantMetric):
    r"""R-precision: the precision at R, where R is the query's own number of relevant documents.

    $\mathrm{RPrec} = \frac{1}{R} \sum_{i=1}^{R} \mathrm{rel}_i$

    Undefined when no query has a relevant document.

    Pros:
    - Every query can reach 1; precision and recall are equal there.

    Cons:
    - Blind to the order inside the first R.
    """

    name = "rprec"
    title = "R-precision"
    reference = "pytrec_eval: Rprec; ranx: r-precision"

    level: Level = 1

    def value(self) -> QueryValue:
        """Hits among the first R, over R."""
        return RPrecisionValue(self.level, self.ties)


class BinaryPreference(RelevantMetric):
    r"""Binary preference: how often a relevant document stands before the judged ones that are not relevant.

    $\mathrm{bpref} = \frac{1}{R} \sum_{r} \left( 1 - \frac{\min(n_r, R)}{\min(N, R)} \right)$

    `r` are the relevant documents retrieved, n_r the judged non-relevant ones before r, N all of those. Documents
    without a judgement, or with a negative one, are passed over.

    Undefined when no query has a relevant document.

    Pros:
    - Made for incomplete judgements: documents nobody looked at do not count as wrong.

    Cons:
    - Needs judged non-relevant documents; without them every relevant document found counts in full.
    """

    name = "bpref"
    title = "Binary preference"
    reference = "pytrec_eval: bpref; ranx: bpref"

    level: Level = 1

    def value(self) -> QueryValue:
        return PreferenceValue(self.level, self.ties)


class InversePenalty(RelevantMetric):
    r"""Mean inverse negative penalty: the number of relevant documents over the rank of the last one.

    $\mathrm{mINP} = \frac{1}{Q} \sum_q \frac{R_q}{\max_i \mathrm{rank}_i}$

    0 for a query with a relevant document that the list does not have.

    Undefined when no query has a relevant document.

    Pros:
    - Says how far one must look to find all: the hardest match decides.

    Cons:
    - One outlier of a query makes it nearly 0.
    """

    name = "minp"
    title = "Mean inverse negative penalty"
    reference = "fast-reid: evaluate_rank"

    level: Level = 1

    def value(self) -> QueryValue:
        return PlacedValue("inverse", None, self.level, self.ties)


class TrapezoidPrecision(RelevantMetric):
    r"""Mean average precision with straight lines: at each hit the mean of the precision before it and at it.

    $\mathrm{AP} = \frac{1}{R} \sum_j \frac{1}{2} \left( \frac{j - 1}{r_j - 1} + \frac{j}{r_j} \right)$

    $r_j$ is the rank of the j-th relevant document; the precision before rank 1 is 1. The rule of the first Market-1501
    and Oxford scripts; with `empty=zero` it divides by all queries, as those for Market-1501 do.

    Undefined when no query has a relevant document.

    Pros:
    - The numbers of papers that use those scripts.

    Cons:
    - Lower than `map` for the same lists: not to be mixed in one table.
    """

    name = "map_trapezoid"
    title = "Mean average precision, trapezoid"
    reference = "Person_reID_baseline_pytorch; Revisited Oxford and Paris"

    level: Level = 1

    def value(self) -> QueryValue:
        return PlacedValue("trapezoid", None, self.level, self.ties)


class PrecisionToLast(_AtK):
    r"""Precision at k or at the last relevant document, whichever comes first.

    $\mathrm{mP@}k = \frac{1}{k'} \sum_{i \le k'} \mathrm{rel}_i, \quad k' = \min(k, r_R)$

    $r_R$ is the rank of the last relevant document. The rule of Revisited Oxford and Paris.

    Undefined when no query has a relevant document.

    Pros:
    - A query with fewer than k relevant documents can reach 1.

    Cons:
    - Its k differs from query to query.
    """

    name = "precision_to_last"
    title = "Precision up to the last relevant"
    reference = "Revisited Oxford and Paris"

    k: int | None = 10

    def value(self) -> QueryValue:
        return PlacedValue("last", self.k, self.level, self.ties)

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        """At 10."""
        return (cls(),)


METRICS: tuple[type[Metric], ...] = (
    AveragePrecision,
    MeanAveragePrecision,
    Precision,
    Recall,
    F1,
    Hit,
    Success,
    ReciprocalRank,
    RPrecision,
    BinaryPreference,
    InversePenalty,
    TrapezoidPrecision,
    PrecisionToLast,
)
