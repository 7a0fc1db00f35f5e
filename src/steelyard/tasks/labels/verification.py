"""Metrics of verification: is a pair of faces, voices or fingers of one person?

Conventions: a row is a pair, its label says whether both are of one person (genuine) or not (impostor), and its score
is a similarity. A pair is accepted where its score is at least the threshold. FAR (FMR) is the share of impostor pairs
that are accepted, FRR (FNMR) the share of genuine pairs that are rejected, and TAR is 1 - FRR. Rates are read at every
distinct score and above all of them.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np

from steelyard.core.errors import InvalidSpec
from steelyard.core.metric import Between, Metric, UnitClasses
from steelyard.core.state import State, TotalsView
from steelyard.core.statistic import Ranking, Requirement
from steelyard.core.weights import Floats
from steelyard.tasks.labels.preparation import SHARED
from steelyard.tasks.labels.ranked import AgainstOthers
from steelyard.tasks.labels.walks import PairWalk, Scores
from steelyard.tasks.shared.rates import NotedRates, Rates

INFINITY = float("inf")
FEW_ERRORS = 30  # expected false accepts below which a rate is said to rest on few
Rate = Annotated[float, Between(0, 1, open_low=True, open_high=True)]
TarRule = Literal["at_most", "nearest", "impostor", "interpolated"]


class RateMetric(AgainstOthers):
    """Base of the figures that are read from the rates of two kinds of rows."""

    figure: ClassVar[str]

    @property
    def parameters(self) -> tuple[float, ...]:
        """What the figure takes."""
        return ()

    def _rates(self, ranking: Ranking) -> Rates:
        return Rates(ranking, self.figure, self.parameters)

    @property
    def curve(self) -> Rates:  # type: ignore[override]
        """The figure of the one class."""
        return self._rates(Scores("one", self.only))

    @property
    def class_curves(self) -> Rates:  # type: ignore[override]
        """The figures of all classes."""
        return self._rates(Scores("each"))

    @property
    def pooled_curve(self) -> Rates:  # type: ignore[override]
        """The figure of all classes' scores."""
        return self._rates(Scores("pooled"))

    @property
    def pair_curves(self) -> PairWalk:
        raise InvalidSpec(f"ovo({self}) is not defined", remedy=f"Use macro({self.name}).")


class OfOneKind(RateMetric):
    """Base of the proportions of one kind of row: `counted` is that of all, "hits" or "misses"."""

    counted: ClassVar[str]

    @property
    def _every(self) -> Rates:
        return Rates(self.curve.ranking, self.counted)

    def requirements(self) -> tuple[Requirement, ...]:
        return (*super().requirements(), self._every)

    def proportions(self, totals: TotalsView) -> tuple[Floats, Floats] | None:
        """One proportion, of the rows of that kind; none where each row belongs to two people."""
        if totals.metadata.flags.get("people") or self.lacks(totals.metadata):
            return None
        every = np.asarray(totals[self._every])
        return np.where(every > 0, np.nan_to_num(self.of(totals, 0)) * every, 0.0), every

    def unit_classes(self, state: State) -> UnitClasses | None:
        """Rows of the other kind decide nothing."""
        return None


class PairMetric(RateMetric):
    """Base of the figures that pairs of people are judged by."""

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        """Say that rows are resampled as if they shared nobody, where people are not the units."""
        shared = () if totals.metadata.flags.get("people") else (SHARED,)
        return (*super().notes(totals), *shared)


class AtFar(PairMetric):
    """Base of the rates at a limit of false accepts."""

    figure = "tar"
    at = "far"

    far: Rate = 0.001
    rule: TarRule = "at_most"

    @property
    def label(self) -> str:
        return super().label.replace("FAR", f"FAR {self.far:g}", 1)

    @property
    def parameters(self) -> tuple[float, ...]:
        return float(self.far), float(("at_most", "nearest", "impostor", "interpolated").index(self.rule))

    @property
    def _impostors(self) -> NotedRates:
        return NotedRates(Scores("one", self.only), "misses")

    @property
    def _area(self) -> NotedRates:
        return NotedRates(Scores("one", self.only), "auc")

    def requirements(self) -> tuple[Requirement, ...]:
        return (self.curve, self._impostors, self._area)

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        """Say where the limit allows few false accepts or none, and where scores may be distances."""
        remarks = list(super().notes(totals))
        impostors = float(totals[self._impostors][0])
        if 0 < impostors * self.far < 1:
            remarks.append(f"{impostors:.0f} impostor pairs: at a FAR of {self.far:g} none may be accepted (FAR 0).")
        elif 0 < impostors * self.far < FEW_ERRORS:
            allowed = f"{impostors * self.far:.3g}"
            remarks.append(
                f"FAR {self.far:g} of {impostors:.0f} impostor pairs allows {allowed} "
                f"false accept{'' if allowed == '1' else 's'}: few errors decide."
            )
        return (*remarks, *distances_note(float(totals[self._area][0])))


def distances_note(area: float) -> tuple[str, ...]:
    """A remark where scores rank the wrong way."""
    if not area < 0.5:
        return ()
    return (f"ROC AUC is {area:.3g}, below 0.5: are these scores distances? Then negate them.",)


class TarAtFar(AtFar):
    r"""TAR at a FAR: the share of genuine pairs accepted when at most so many impostor pairs are.

    $\max_t \{\, \mathrm{TAR}(t) \;:\; \mathrm{FAR}(t) \le f \,\}$

    `rule=nearest` reads the point whose FAR is nearest to f, above or below it (insightface for IJB); `rule=impostor`
    puts the threshold at the lowest impostor score that may be accepted and not below it (bob); `rule=interpolated`
    joins points by straight lines.

    Undefined when the truth does not hold both genuine and impostor pairs, or the predictions hold no scores.

    Pros:
    - The working point of a product: how many are let in at a security that was agreed on.

    Cons:
    - At a small f it depends on few impostor pairs; the threshold is chosen on the same data.
    """

    name = "tar"
    title = "TAR at FAR"
    reference = "sklearn.metrics.roc_curve; insightface; bob.measure"


class FrrAtFar(AtFar):
    r"""FRR at a FAR: the share of genuine pairs rejected when at most so many impostor pairs are accepted.

    $1 - \max_t \{\, \mathrm{TAR}(t) \;:\; \mathrm{FAR}(t) \le f \,\}$

    Also called FNMR at FMR. The rules are those of `tar`.

    Undefined when the truth does not hold both genuine and impostor pairs, or the predictions hold no scores.

    Pros:
    - Shows differences between good systems that TAR hides near 1.

    Cons:
    - At a small f it depends on few impostor pairs; the threshold is chosen on the same data.
    """

    name = "frr"
    title = "FRR at FAR"
    better = "lower"
    aliases = ("fnmr",)
    reference = "sklearn.metrics.roc_curve; pyeer"

    def of(self, totals: TotalsView, place: int) -> Floats:
        return 1 - super().of(totals, place)

    def each(self, totals: TotalsView) -> Floats:
        return 1 - super().each(totals)

    def pooled_value(self, totals: TotalsView) -> Floats:
        return 1 - super().pooled_value(totals)


class EqualErrorRate(PairMetric):
    r"""Equal error rate: the rate at which false accepts and false rejects are equally frequent.

    $\mathrm{EER} = \mathrm{FAR}(t^*) = \mathrm{FRR}(t^*)$

    Read where the polygon through all points crosses FAR = FRR. `rule=mean` is (FAR + FRR)/2 at the threshold where
    they are nearest (bob); `rule=pyeer` is the smaller of the means of the two points around the crossing.

    Undefined when the truth does not hold both genuine and impostor pairs, or the predictions hold no scores.

    Pros:
    - One number without a threshold or a cost.

    Cons:
    - Nobody runs a product at that point.
    """

    name = "eer"
    title = "Equal error rate"
    better = "lower"
    aliases = ("equal error rate",)
    reference = "scipy.optimize.brentq on the ROC curve; bob.measure; pyeer"
    figure = "eer"

    rule: Literal["crossing", "mean", "pyeer"] = "crossing"

    @property
    def parameters(self) -> tuple[float, ...]:
        return (float(("crossing", "mean", "pyeer").index(self.rule)),)

    @property
    def _area(self) -> NotedRates:
        return NotedRates(Scores("one", self.only), "auc")

    def requirements(self) -> tuple[Requirement, ...]:
        return (self.curve, self._area)

    def notes(self, totals: TotalsView) -> tuple[str, ...]:
        return (*super().notes(totals), *distances_note(float(totals[self._area][0])))


class MinDcf(PairMetric):
    r"""Minimum detection cost: the least mean cost of misses and false accepts that any threshold reaches.

    $\min_t \frac{C_m\, p\, \mathrm{FRR}(t) + C_f\, (1 - p)\, \mathrm{FAR}(t)}{\min(C_m\, p,\; C_f\, (1 - p))}$

    `p` is the share of genuine pairs in use, `c_miss` and `c_fa` are the costs. `normalise=no` does not divide by the
    cost of the better of the two systems that accept everything or nothing.

    Undefined when the truth does not hold both genuine and impostor pairs, or the predictions hold no scores.

    Pros:
    - Says what errors cost, and in which mix of pairs.

    Cons:
    - Three settings that must be stated with the number; the threshold is chosen on the same data.
    """

    name = "min_dcf"
    title = "Minimum detection cost"
    better = "lower"
    aliases = ("minimum dcf", "mindcf")
    reference = "NIST speaker recognition evaluations"
    figure = "min_dcf"

    p: Rate = 0.01
    c_miss: Annotated[float, Between(0, open_low=True)] = 1.0
    c_fa: Annotated[float, Between(0, open_low=True)] = 1.0
    normalise: Literal["yes", "no"] | bool = "yes"

    @property
    def range(self) -> tuple[float, float]:  # type: ignore[override]
        """Up to the cost of the better of the systems that accept everything or nothing."""
        worst = min(self.c_miss * self.p, self.c_fa * (1 - self.p))
        return 0.0, 1.0 if self.normalise in ("yes", True) else float(worst)

    @property
    def parameters(self) -> tuple[float, ...]:
        return float(self.p), float(self.c_miss), float(self.c_fa), float(self.normalise in ("yes", True))


class AtThreshold(OfOneKind):
    """Base of the rates at a threshold that was fixed beforehand."""

    better = "lower"

    threshold: Annotated[float, Between(-INFINITY)] = 0.5

    @property
    def label(self) -> str:
        return f"{super().label} {self.threshold:g}"

    @property
    def parameters(self) -> tuple[float, ...]:
        return (float(self.threshold),)

    def check(self) -> None:
        if not np.isfinite(float(self.threshold)):
            raise InvalidSpec(f"metric '{self.name}': the threshold must be finite", remedy="Give the score.")


class FrrAtThreshold(AtThreshold):
    r"""FRR at a threshold: the share of genuine pairs whose score is below a threshold fixed beforehand.

    $\mathrm{FRR}(t) = |\{\, i \in G : s_i < t \,\}| \,/\, |G|$

    Undefined when the truth holds no genuine pairs, or the predictions hold no scores.

    Pros:
    - The only honest figure for a product: nothing is chosen on these data.

    Cons:
    - Says nothing without the FAR at the same threshold.
    """

    name = "frr_at_threshold"
    title = "FRR at the threshold"
    at = "threshold"
    figure = "frr_at"
    counted = "hits"


class FarAtThreshold(AtThreshold):
    r"""FAR at a threshold: the share of impostor pairs whose score reaches a threshold fixed beforehand.

    $\mathrm{FAR}(t) = |\{\, i \in I : s_i \ge t \,\}| \,/\, |I|$

    Undefined when the truth holds no impostor pairs, or the predictions hold no scores.

    Pros:
    - The only honest figure for a product: nothing is chosen on these data.

    Cons:
    - Says nothing without the FRR at the same threshold.
    """

    name = "far_at_threshold"
    title = "FAR at the threshold"
    at = "threshold"
    figure = "far_at"
    counted = "misses"


class DPrime(RateMetric):
    r"""Sensitivity index: how far the mean scores of genuine and impostor pairs are apart, in standard deviations.

    $d' = \frac{\mu_G - \mu_I}{\sqrt{(\sigma_G^2 + \sigma_I^2)/2}}$

    Variances divide by the number of pairs. pyeer calls its absolute value decidability.

    Undefined when the truth does not hold both genuine and impostor pairs, or all scores of each kind are equal.

    Pros:
    - Uses all scores, so its interval is narrow.

    Cons:
    - Says little about the tails, where a threshold lies; changes when scores are transformed.
    """

    name = "dprime"
    title = "Sensitivity index d'"
    range = (-INFINITY, INFINITY)
    aliases = ("d prime", "decidability")
    reference = "pyeer: decidability"
    figure = "dprime"
    reaches_best = False


class BestAccuracy(RateMetric):
    r"""Best accuracy: the highest share of right decisions that any threshold reaches.

    $\max_t \frac{TP_t + TN_t}{n}$

    Undefined when the truth does not hold both genuine and impostor pairs, or the predictions hold no scores.

    Pros:
    - Easy to read where both kinds are equally frequent, as in LFW.

    Cons:
    - Chosen on the same data, so too good; depends on the share of genuine pairs.
    """

    name = "best_accuracy"
    title = "Best accuracy"
    reference = "sklearn.metrics.roc_curve"
    figure = "best_accuracy"


VERIFICATION: tuple[type[Metric], ...] = (
    TarAtFar,
    FrrAtFar,
    EqualErrorRate,
    MinDcf,
    FrrAtThreshold,
    FarAtThreshold,
    DPrime,
    BestAccuracy,
)
