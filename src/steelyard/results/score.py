"""Score and Difference: numbers that say how sure they are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from numpy.typing import NDArray

from steelyard.core.counts import count_text
from steelyard.core.deprecated import Renamed, RenamedKeywords
from steelyard.core.errors import SteelyardError, nearest
from steelyard.core.framed import Framed
from steelyard.core.frozen import Frozen
from steelyard.core.slice import Slice
from steelyard.results.registry import load
from steelyard.results.same import difference_repr, equal, gap_repr, score_repr

Direction = Literal["lower", "higher", "zero", "one", "none"]
Interval = tuple[float, float]
ROUNDING = 1e-9  # of the largest of a value and the ends of its interval


class FewLabels(Frozen):
    """What a score or a difference by truth on some units and a proxy on all rests on.

    `others` is how many units have no truth, and `trust` how far the proxy is trusted on them, from 0 to 1.
    `correction` is "difference" or "rates". `labels_alone` is the value by truth alone, with its interval and standard
    error, and `proxy_alone` that of the other units by the proxy.

    `labelled` is how many units have truth. The variance of the value is `residual_variance / labelled + trust ** 2 *
    proxy_variance`: what labels leave open, and that of `proxy_alone`. Both are nan where they are not known.
    """

    others: int
    trust: float
    correction: str
    labels_alone: float
    labels_interval: Interval | None
    labels_se: float
    proxy_alone: float
    labelled: int = 0
    residual_variance: float = math.nan
    proxy_variance: float = math.nan

    __eq__ = equal


class RunSpread(Frozen):
    """Several runs over the same units: the value of each run, and the parts of the variance of their mean.

    `factor` says what the runs are: "seeds", "readers", "annotators" or "replies". `values` has the value of each run,
    or the difference of each pair of runs; it is empty for two models whose runs do not belong together. `n_runs` is R
    (the smaller one, where two models have unlike numbers of runs) and `n_units` is n, the resampling units.

    `v_items` is the variance of the mean over the runs from resampling units, `v_runs` that from runs (the variance of
    the values, over R), and `v_both` the part of each that belongs to the interaction of a run and a unit. The variance
    of the mean over both is v_runs + max(v_items - v_both, 0).
    """

    factor: str
    values: tuple[float, ...]
    n_runs: int
    n_units: int
    v_items: float
    v_runs: float
    v_both: float

    __eq__ = equal

    @property
    def share_runs(self) -> float:
        """The share of the variance that runs make; nan where there is none."""
        total = self.v_runs + max(self.v_items - self.v_both, 0.0)
        return self.v_runs / total if total > 0 else math.nan

    @property
    def share_items(self) -> float:
        """The share of the variance that units make; nan where there is none."""
        return 1 - self.share_runs

    def faults(self) -> dict[str, str]:
        """What no run can have given, by field."""
        if self.values and len(self.values) != self.n_runs:
            return {"values": f"holds {count_text(len(self.values), 'value')} of {self.n_runs} runs"}
        parts = {"v_items": self.v_items, "v_runs": self.v_runs}
        return {name: f"is {value:g}: a variance is not negative" for name, value in parts.items() if value < 0}


class ClusterVariance(Frozen):
    """The variance of a difference between clusters and within them, by a one-way analysis of the units' influences.

    `between` and `within` add up to the variance of `clusters` clusters with `units_per_cluster` units each.
    """

    between: float
    within: float
    clusters: int
    units_per_cluster: float


class Score(Frozen, metaclass=RenamedKeywords):
    """A metric's value with its interval, on how many units it stands, and what was left out.

    `value` is nan where undefined, and then `undefined_reason` says why. `interval` is None where it was not requested
    or does not exist, and then `why_no_interval` may say why; `se` is its standard error, with `df` degrees of freedom.
    `n_excluded` counts what the metric excludes, and `excluded` says what that is. `draws` are the values under the
    bootstrap draws of units, where they were asked to be kept: those of two models on the same truth are paired.
    `measured_in` is the unit of measure, such as "g". `clusters` is how many clusters were resampled, where units are
    resampled by cluster, and `few_labels` says what a proxy added. `runs` is of a score that is the mean of several
    runs. Of a mean over classes, `classes_absent` are those without truth and `classes_few` those that rest on fewer
    than 5 units. `signed` is a debiased value, or its square (`rms_ce`), before it was cut at 0.

    A metric whose range lacks an end has `rests_on`, how many units its standard error rests on, and `unseen`, the
    share of all units that may have errors of any size of which none is here. `largest_share` is the share of the value
    that `largest_unit` makes.
    """

    spec: str
    label: str
    value: float
    interval: Interval | None = None
    units: int = 0
    n_excluded: int = 0
    excluded: str = ""
    undefined_reason: str = ""
    notes: tuple[str, ...] = ()
    better: Direction = "higher"
    measured_in: str = ""
    draws: NDArray[Any] | None = field(default=None, repr=False)
    why_no_interval: str = ""
    se: float = math.nan
    df: float = math.nan
    clusters: int = 0
    few_labels: FewLabels | None = None
    runs: RunSpread | None = None
    classes_absent: tuple[str, ...] = ()
    classes_few: tuple[str, ...] = ()
    rests_on: float = math.nan
    unseen: float = math.nan
    largest_share: float = math.nan
    largest_unit: str = ""
    signed: float = math.nan

    undefined = Renamed("n_excluded")
    left_out = Renamed("excluded")
    why = Renamed("undefined_reason")
    __eq__ = equal
    __repr__ = score_repr

    @property
    def defined(self) -> bool:
        """Whether there is a number."""
        return not math.isnan(self.value)

    def __float__(self) -> float:
        return self.value

    def faults(self) -> dict[str, str]:
        """What no run can have given, by field."""
        return _ends(self.interval, self.value)


class Superiority(Frozen):
    """The share of units on which B is better than A, where equal ones count half, with its interval.

    `p` is that of a share of one half. `better`, `worse` and `ties` count the units; `excluded` are those without a
    value of their own.
    """

    share: float
    interval: Interval | None
    p: float
    better: int
    worse: int
    ties: int
    excluded: int = 0

    __eq__ = equal

    def faults(self) -> dict[str, str]:
        """What no run can have given, by field."""
        shares = {"share": self.share, "p": self.p}
        wrong = {
            name: f"is {v:g}, which is not from 0 to 1" for name, v in shares.items() if not (v != v or 0 <= v <= 1)
        }
        return _ends(self.interval, self.share) | wrong


class Difference(Frozen, metaclass=RenamedKeywords):
    """Model B against model A on the same units: `difference` is B minus A.

    For a metric whose best value is zero (bias) the difference is that of the distances from zero. `p` is the
    two-sided p-value of `null_hypothesis`, by sign flips over units. `p_method` is "flips", "all flips" where few units
    let all of them be walked, "tail bound" where too few worlds are as extreme to be counted, or "agreement" where all
    units show the same difference; with several runs of each model it is "t", and `runs` says how they vary.
    `interval` holds the differences that the same test does not reject. `p_adjusted` is p corrected for `family` tests
    together by the method `adjust`, and `p_holm` by Holm's method; no p below `smallest_p` was possible.

    `min_detectable` is the minimum detectable difference with 80 % power, per test. `margin` is how much may be lost
    (`margin_relative`: as a share of A), and `margin_verdict` what the interval says of that, each side at
    `margin_level`: "equivalent", "not worse", "worse beyond margin" or "undecided". `superiority` says on how many
    units B is better, where that was asked for, and `cluster_variance` how much of the variance lies between clusters,
    where units are resampled by cluster. `few_labels` says what a proxy added: the difference then has a trust of its
    own, so that it need not be `b` less `a` exactly.
    """

    spec: str
    label: str
    a: Score
    b: Score
    difference: float
    interval: Interval | None
    p: float
    p_holm: float
    verdict: str
    units: int
    undefined_reason: str = ""
    better: Direction = "higher"
    measured_in: str = ""
    se: float = math.nan
    df: float = math.nan
    notes: tuple[str, ...] = ()
    p_adjusted: float = math.nan
    p_method: str = ""
    adjust: str = "none"
    family: int = 0
    smallest_p: float = math.nan
    min_detectable: float = math.nan
    margin: float = math.nan
    margin_relative: float = math.nan
    margin_verdict: str = ""
    margin_level: float = math.nan
    null_hypothesis: str = ""
    runs: RunSpread | None = None
    superiority: Superiority | None = None
    few_labels: FewLabels | None = None
    cluster_variance: ClusterVariance | None = None

    why = Renamed("undefined_reason")
    showable = Renamed("min_detectable")
    __eq__ = equal
    __repr__ = difference_repr

    def faults(self) -> dict[str, str]:
        """What no run can have given, by field."""
        shares = {"p": self.p, "p_holm": self.p_holm, "p_adjusted": self.p_adjusted, "smallest_p": self.smallest_p}
        wrong = {
            name: f"is {p:g}, which is not from 0 to 1" for name, p in shares.items() if not (p != p or 0 <= p <= 1)
        }
        return _ends(self.interval, self.difference) | wrong


class Gap(Frozen):
    """How far the groups of a slice lie apart in one metric: `difference` is the highest value less the lowest.

    `low` and `high` name these groups, and `worst` the group that is worst, as tables write them. `interval` is that of
    the largest difference between any two groups, and `p` the p-value of all groups having the same value; both hold
    for all pairs of groups together. `p_adjusted` is p corrected for the number of slicings. `ratio` is the lowest
    value over the highest, where no value can be negative. `groups` have an interval, `excluded` ones have none.
    """

    by: str
    spec: str
    label: str
    low: str
    high: str
    difference: float
    interval: Interval
    p: float
    p_adjusted: float = math.nan
    worst: str = ""
    ratio: float = math.nan
    ratio_interval: Interval | None = None
    groups: int = 0
    excluded: int = 0
    confidence: float = 0.95
    better: Direction = "higher"
    measured_in: str = ""

    __eq__ = equal
    __repr__ = gap_repr

    @property
    def shown(self) -> bool:
        """Whether the groups are shown to differ, with p corrected for the number of slicings."""
        return self.p_adjusted <= 1 - self.confidence + 1e-12

    def faults(self) -> dict[str, str]:
        """What no run can have given, by field."""
        shares = {"p": self.p, "p_adjusted": self.p_adjusted}
        wrong = {
            name: f"is {p:g}, which is not from 0 to 1" for name, p in shares.items() if not (p != p or 0 <= p <= 1)
        }
        return _ends(self.interval, self.difference) | _ends(self.ratio_interval, self.ratio) | wrong


def _ends(interval: Interval | None, value: float) -> dict[str, str]:
    """What is wrong with the ends of an interval, up to rounding; a value that is undefined lies nowhere."""
    if interval is None:
        return {}
    low, high = interval
    if low > high:
        return {"interval": f"goes from {low:g} to {high:g}: the lower end comes first"}
    slack = ROUNDING * max((abs(end) for end in (value, low, high) if math.isfinite(end)), default=0.0)
    if low - slack > value or high + slack < value:
        return {"interval": f"goes from {low:g} to {high:g}, and the value {value:g} is outside"}
    return {}


class BySpec(dict[str, Any]):
    """Scores by spec, in any spelling of it; asking for one that is not there names the nearest."""

    def __init__(self, scores: Mapping[str, Any], task: str = "") -> None:
        super().__init__(scores)
        self.task = task

    def __missing__(self, spec: str) -> Any:
        if not isinstance(spec, str):
            raise KeyError(f"{spec!r} is not a metric. Give a text, such as '{next(iter(self), 'mae')}'.")
        meant = canonical(spec, self.task)
        if meant != spec and meant in self:
            return self[meant]
        raise KeyError(f"'{spec}' is not in this report. {nearest(spec, self)}")

    def __reduce__(self) -> Any:
        return BySpec, (dict(self), self.task)


def canonical(spec: str, task: str) -> str:
    """The spec as the catalogue writes it; as it stands where it names nothing."""
    if not task or not isinstance(spec, str):
        return spec
    try:
        return str(load("steelyard.core.catalogue:parse")(spec, task))
    except SteelyardError:
        return spec


Scores = Mapping[str, Score]
Differences = Mapping[str, Difference]
ScoresBySlice = Mapping[Slice, Mapping[Slice, Scores]]
DifferencesBySlice = Mapping[Slice, Mapping[Slice, Differences]]


class Slices(dict[Any, dict[Any, BySpec]], Framed):
    """Scores or differences by slice: `slices["food"]["rice"]["mae"]`. Notebooks show them as tables."""

    def to_frame(self) -> Any:
        """A row per slice and metric: `by` names the columns of the data, `slice` their values."""
        return load("steelyard.render.frames:slices_frame")(self)

    def _repr_html_(self) -> str:
        return str(load("steelyard.render.notebook:slices_html")(self))


def by_slice(slices: Mapping[Slice, Mapping[Slice, Mapping[str, Any]]], task: str = "") -> Slices:
    """Slices whose scores name the nearest where one is not there."""
    return Slices(
        {by: {value: BySpec(scores, task) for value, scores in parts.items()} for by, parts in slices.items()}
    )


def misnamed_key(scores: Mapping[str, Any]) -> str:
    """A key that is not the spec of its score; nothing where all are."""
    return next((key for key, score in scores.items() if key != score.spec), "")
