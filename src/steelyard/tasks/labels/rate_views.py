"""Pictures of scores that accept or refuse: error rates, both kinds of scores, people, FPR95, risk over coverage."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.core.figure import Figure, Listing, Texts
from steelyard.core.frozen import Frozen
from steelyard.core.metric import Metric
from steelyard.core.pairs import Array
from steelyard.core.plan import WeightPlan
from steelyard.core.ranking import SECOND
from steelyard.core.state import State
from steelyard.core.statistic import SharedCache
from steelyard.core.table import Table
from steelyard.core.weights import Role
from steelyard.tasks.labels.data import LabelPairs
from steelyard.tasks.labels.rejection import RiskMetric
from steelyard.tasks.labels.unknowns import FprAtTpr
from steelyard.tasks.labels.verification import AtFar, FarAtThreshold, FrrAtThreshold, PairMetric
from steelyard.tasks.labels.walks import Confidence, Scores
from steelyard.tasks.shared.rates import Rates

if TYPE_CHECKING:
    from statistics import NormalDist

POINTS = 160  # of a curve
BINS = 40
DRAWS = 200
MOST_DRAWN = 2_000_000  # rows for which a band is drawn
MOST_PEOPLE = 20
MARKS = (0.0001, 0.001, 0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.95)
FAR = 0.01  # the working point at which people are compared
MOST_FAR = 0.6  # of the DET curve
SERIES = "series"


class RatePoints(Frozen):
    """At every distinct score, highest first, the weight of genuine and of impostor rows that are accepted."""

    score: Array
    genuine: Array
    impostor: Array

    @property
    def far(self) -> Array:
        """The share of impostor rows that are accepted."""
        return np.asarray(self.impostor / self.impostor[-1])

    @property
    def frr(self) -> Array:
        """The share of genuine rows that are refused."""
        return np.asarray(1 - self.genuine / self.genuine[-1])


def rate_points(pairs: LabelPairs) -> RatePoints | None:
    """The points of both kinds of rows; None where one is missing."""
    events = Scores("one").measure(pairs, SharedCache()).events
    columns, score = events.columns, events.columns["score"]
    if not len(score):
        return None
    each = columns.get("weight", np.ones(len(score)))
    ends = np.flatnonzero(np.append(score[1:] != score[:-1], True))
    genuine, impostor = (np.cumsum(each * (columns["positive"] == kind))[ends] for kind in (1, 0))
    both = genuine[-1] > 0 and impostor[-1] > 0
    return RatePoints(score[ends], genuine, impostor) if both else None


def rate_figures(pairs: LabelPairs, state: State, metrics: Sequence[Metric]) -> dict[str, Callable[[], Figure]]:
    """The figures that the metrics ask for and the data allow."""
    makers: dict[str, Callable[[], Figure]] = {}
    if pairs.people is not None or any(isinstance(metric, PairMetric) for metric in metrics):
        points = rate_points(pairs)
        if points is not None:
            fars = sorted({float(metric.far) for metric in metrics if isinstance(metric, AtFar)})
            makers["det"] = lambda: det(pairs, points, fars)
            makers["error_rates"] = lambda: error_rates(points, metrics)
            makers["scores"] = lambda: score_spread(points)
            if pairs.people is not None:
                makers["people"] = lambda: people_figure(pairs)
    if any(isinstance(metric, RiskMetric) for metric in metrics) and pairs.confidence is not None:
        makers["risk_coverage"] = lambda: risk_coverage(pairs)
    return makers


def _thin(values: Array) -> Array:
    """Places of points that are evenly spread along rising values; the ends stay."""
    if len(values) <= POINTS:
        return np.arange(len(values))
    at = np.searchsorted(values, np.linspace(values[0], values[-1], POINTS))
    return np.unique(np.concatenate([[0], at.clip(0, len(values) - 1), [len(values) - 1]]))


def _normal() -> NormalDist:
    from statistics import NormalDist  # it is slow to import, and few views need it

    return NormalDist()


def _probits(rates: Array) -> Array:
    normal = _normal()
    return np.array([normal.inv_cdf(float(np.clip(rate, 1e-7, 1 - 1e-7))) for rate in rates])


def det(pairs: LabelPairs, points: RatePoints, fars: Sequence[float]) -> Figure:
    """FRR against FAR on probit axes, with a band of draws, and the limits that were asked for."""
    far, frr = points.far, points.frr
    shown = np.flatnonzero((far > 0) & (frr > 0) & (far <= MOST_FAR))
    if len(shown) > POINTS:
        shown = shown[_thin(np.linspace(0, 1, len(shown)))] if len(shown) < 4 * POINTS else _even(far, shown)
    columns: dict[str, list[Any]] = {SERIES: ["DET"] * len(shown), "x": far[shown].tolist(), "y": frr[shown].tolist()}
    columns |= {"low": columns["y"].copy(), "high": columns["y"].copy()}
    if len(shown) and len(pairs) <= MOST_DRAWN:
        low, high = _band(pairs, far[shown])
        columns |= {"low": low.tolist(), "high": high.tolist()}
    least = float(min(far[shown].min(initial=0.5), frr[shown].min(initial=0.5)))
    for limit in fars:
        at = int(np.searchsorted(far, limit, side="right")) - 1
        value = float(frr[at]) if at >= 0 else 1.0
        columns[SERIES] += [f"FAR {limit:g}"] * 2
        columns["x"] += [limit] * 2
        for name, ends in (("y", (least / 2, value)), ("low", (least / 2, value)), ("high", (least / 2, value))):
            columns[name] += ends
        least = min(least, limit)
    ticks = [mark for mark in MARKS if mark >= least / 2] or list(MARKS[-2:])
    facts = {"x": "false accept rate (FAR)", "y": "false reject rate (FRR)", "scale": "probit", "ticks": ticks}
    caption = "Detection error trade-off: both axes are normal quantiles, lower left is better."
    caption += " The band holds 95 % of the values of resampled " + ("people." if pairs.people else "rows.")
    return Figure("det", "curves", "Detection error trade-off", columns, facts, caption)


def _even(far: Array, shown: Array) -> Array:
    """Places that are evenly spread on the axis of normal quantiles."""
    ends = _probits(far[shown[[0, -1]]])
    normal = _normal()
    targets = [normal.cdf(float(at)) for at in np.linspace(ends[0], ends[1], POINTS)]
    return np.unique(shown[np.searchsorted(far[shown], targets).clip(0, len(shown) - 1)])


def _band(pairs: LabelPairs, far: Array) -> tuple[Array, Array]:
    """The FRR at some FARs, resampled: the 2.5 % and 97.5 % quantiles, interpolated between a few FARs."""
    few = np.unique(far[_thin(np.linspace(0, 1, len(far)))[:: max(1, len(far) // 12)]])
    few = np.unique(np.append(few, [far[0], far[-1]]))
    readers = [Rates(Scores("one"), "tar", (float(limit), 0.0)) for limit in few]
    totals = State.of(pairs, [Scores("one")]).totals(WeightPlan(Role.DRAWS, 0, 0, DRAWS))
    drawn = np.stack([1 - totals[reader] for reader in readers], axis=1)
    low, high = np.nanquantile(drawn, [0.025, 0.975], axis=0)
    return np.interp(far, few, low), np.interp(far, few, high)


def error_rates(points: RatePoints, metrics: Sequence[Metric]) -> Figure:
    """FAR and FRR against the threshold, and the thresholds that were fixed beforehand."""
    at = _thin(-points.score)
    columns: dict[str, list[Any]] = {SERIES: [], "x": [], "y": []}
    for name, rate in (("FAR", points.far), ("FRR", points.frr)):
        columns[SERIES] += [name] * len(at)
        columns["x"] += points.score[at].tolist()
        columns["y"] += rate[at].tolist()
    fixed = {float(m.threshold) for m in metrics if isinstance(m, FarAtThreshold | FrrAtThreshold)}
    for threshold in sorted(fixed):
        columns[SERIES] += [f"threshold {threshold:g}"] * 2
        columns["x"] += [threshold] * 2
        columns["y"] += [0.0, 1.0]
    return Figure(
        "error_rates",
        "curves",
        "Errors by threshold",
        columns,
        {"x": "threshold", "y": "share"},
        "FAR: impostor pairs that are accepted; FRR: genuine pairs that are refused. Both are equal at the EER.",
    )


def score_spread(points: RatePoints) -> Figure:
    """How the scores of genuine and of impostor pairs are spread, as shares of their kind."""
    edges = np.linspace(float(points.score[-1]), float(points.score[0]), BINS + 1)
    columns: dict[str, list[Any]] = {SERIES: [], "x": [], "y": []}
    for name, above in (("impostor", points.impostor), ("genuine", points.genuine)):
        own = np.diff(above, prepend=0.0)
        columns[SERIES] += [name] * BINS
        columns["x"] += ((edges[:-1] + edges[1:]) / 2).tolist()
        columns["y"] += (100 * np.histogram(points.score, edges, weights=own)[0] / own.sum()).tolist()
    return Figure(
        "scores",
        "curves",
        "Scores of genuine and impostor pairs",
        columns,
        {"x": "score", "y": "percent of the pairs of a kind"},
        f"In {BINS} bins of equal width; each kind adds up to 100 %. Where both lie, pairs are mistaken.",
    )


def people_table(pairs: LabelPairs) -> Table:
    """People by their share of the false accepts and of the misses, at the threshold of FAR 0.01."""
    events = Scores("one").measure(pairs, SharedCache()).events
    score, positive = events.columns["score"], events.columns["positive"] > 0
    points = rate_points(pairs)
    at = -1 if points is None else int(np.searchsorted(points.far, FAR, side="right")) - 1
    limit = np.inf if points is None or at < 0 else points.score[at]
    accepted, many = score >= limit, len(pairs.units)
    columns: dict[str, Array] = {}
    for name, wrong, kind in (("false accepts", accepted, ~positive), ("misses", ~accepted, positive)):
        counts = [_of_people(events.unit, events.columns[SECOND], rows, many) for rows in (kind, kind & wrong)]
        total = max(1, int((kind & wrong).sum()))
        shown = "impostor pairs" if name == "false accepts" else "genuine pairs"
        columns |= {shown: counts[0], name: counts[1], f"share of {name}": counts[1] / total}
    order = np.lexsort((-columns["misses"], -columns["false accepts"]))
    values = np.stack(list(columns.values()), axis=1)[order]
    names = tuple(str(name) for name in pairs.units[order].tolist())
    title = f"People by their errors at FAR {FAR:g}; a false accept counts for both"
    return Table("people", title, "person", names, tuple(columns), values.astype(np.float64))


def pair_listing(pairs: LabelPairs) -> Listing:
    """Every pair: both people, what it is, and its score."""
    names, (_, first, second) = [str(name) for name in pairs.units.tolist()], pairs.owners
    row = pairs.rows
    columns: dict[str, Array | Texts] = {
        "person a": Texts(first[row], names),
        "person b": Texts(second[row], names),
        "pair": Texts(pairs.coded_labels.truth, ["impostor", "genuine"]),
    }
    if pairs.scores is not None:
        columns["score"] = pairs.scores.values[:, 0]
    return Listing("rows", "Pairs", columns, "pair", "score" if "score" in columns else "")


def _of_people(first: Array, second: Array, rows: Array, many: int) -> Array:
    """How many of the rows each person owns."""
    a, b = first[rows], second[rows]
    return np.bincount(a, minlength=many) + np.bincount(b[a != b], minlength=many)


def people_figure(pairs: LabelPairs) -> Figure:
    """The people with most of the errors."""
    table = people_table(pairs)
    shares = table.values[:, [2, 5]]
    order = np.argsort(-shares.sum(axis=1), kind="stable")[:MOST_PEOPLE]
    columns: dict[str, list[Any]] = {"name": [], "value": [], SERIES: []}
    for place in order.tolist():
        for k, name in enumerate(("false accepts", "misses")):
            columns["name"].append(table.rows[place])
            columns["value"].append(100 * float(shares[place, k]))
            columns[SERIES].append(name)
    caption = f"At the threshold of FAR {FAR:g}. A few people often make most of the errors; the table has all of them."
    return Figure("people", "bars", "People with most of the errors", columns, {"x": "percent of all errors"}, caption)


def risk_coverage(pairs: LabelPairs) -> Figure:
    """The share of errors among the most confident rows, and that of the best order of the same errors."""
    columns = Confidence().measure(pairs, SharedCache()).events.columns
    score, wrong = columns["score"], columns["positive"].astype(float)
    each = columns.get("weight", np.ones(len(score)))
    ends = np.flatnonzero(np.append(score[1:] != score[:-1], True))
    rows, errors = np.cumsum(each)[ends], np.cumsum(each * wrong)[ends]
    at = _thin(rows / rows[-1])
    coverage = rows[at] / rows[-1]
    right = rows[-1] - errors[-1]
    best = np.maximum(0.0, rows[at] - right) / rows[at]
    shown: dict[str, list[Any]] = {
        SERIES: ["by confidence"] * len(at) + ["best order"] * len(at),
        "x": [*coverage.tolist(), *coverage.tolist()],
        "y": [*(errors[at] / rows[at]).tolist(), *best.tolist()],
    }
    return Figure(
        "risk_coverage",
        "curves",
        "Risk over coverage",
        shown,
        {"x": "coverage: share of rows that are accepted", "y": "risk: share of errors among them"},
        "From the most confident rows on. AURC is the area under the curve; E-AURC that between both.",
    )


def fpr_lines(pairs: LabelPairs, metrics: Sequence[Metric]) -> Mapping[str, list[Any]]:
    """What FPR at a TPR measures on the ROC of OOD rows: a line across and one upwards, each as long as the value."""
    levels = sorted({float(metric.tpr) for metric in metrics if isinstance(metric, FprAtTpr)}) or [95.0]
    points, columns = rate_points(pairs), {SERIES: list[Any](), "x": list[Any](), "y": list[Any]()}
    if points is None:
        return columns
    tpr, far = np.append(0.0, 1 - points.frr), np.append(0.0, points.far)
    for level in levels:
        share = level / 100
        across = float(far[np.flatnonzero(tpr >= share - 1e-12)[0]])
        # ID is positive from the other end: the lowest scores first.
        upwards = float(1 - tpr[np.flatnonzero(1 - far >= share - 1e-12)[-1]])
        columns[SERIES] += [f"FPR{level:g}, positive=ood"] * 2 + [f"FPR{level:g}, positive=id"] * 2
        columns["x"] += [0.0, across, 1 - share, 1 - share]
        columns["y"] += [share, share, 1 - upwards, 1.0]
    return columns
