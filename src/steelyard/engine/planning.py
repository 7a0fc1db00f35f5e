"""Planning: what difference a test set can show, and how many units a wanted difference or a wanted width needs.

The standard error shrinks with the square root of the number of units. A pilot's own difference is never planned from,
only a difference that would matter. The pilot's standard error is itself uncertain: with df degrees of freedom its
square is as spread out as chi2(df) / df. So a plan always gives three numbers: what the pilot says; the cautious
number, which takes the error that only one pilot in five lies below; and the range of the numbers that 10 to 90 % of
such pilots would say.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from steelyard.core.draws import unit_keys
from steelyard.core.frozen import Frozen
from steelyard.core.weights import Floats
from steelyard.engine.flips import Coins
from steelyard.engine.intervals import Bounds, Interval, Parts
from steelyard.engine.quantiles import chi2_quantile, normal, t_quantile
from steelyard.results.plan import LABELLED, MOST_UNITS, Planned, PlanTable
from steelyard.results.score import ClusterVariance, FewLabels, RunSpread

POWER = 0.8
CAUTION = 0.2
PILOTS = (0.1, 0.9)
WORLDS = 9_999
TIMES = (0.5, 1, 2, 4)  # of the pilot's sizes, in a table
STEPS = 100  # of solving for a number of units
MANY = 1e7  # effective units from which the ends of a proportion lie apart as their square root
SAME = 1e-3  # of the effective units that both ends of a proportion give


class Pilot(Frozen):
    """What a pilot says of one metric: the standard error, its degrees of freedom, and the units.

    `width` is that of the interval, and `share` and `effective` are of a proportion: its value from 0 to 1, and the
    effective units that its interval rests on. `scale` is how wide the range of the metric is.
    """

    spec: str
    se: float
    df: float
    units: int
    measured_in: str = ""
    width: float = math.nan
    share: float = math.nan
    effective: float = math.nan
    scale: float = 1.0

    @property
    def caution(self) -> float:
        """What the number of units is multiplied by to allow for a pilot whose error is too small."""
        return self.df / chi2_quantile(CAUTION, self.df)

    @property
    def spread(self) -> tuple[float, float]:
        """From 10 to 90 % of pilots say so many times the units of this one, if this one is right."""
        low, high = (chi2_quantile(p, self.df) / self.df for p in PILOTS)
        return low, high


def reach(df: float, confidence: float, power: float) -> float:
    """Standard errors between no difference and one that is shown so often."""
    return t_quantile((1 + confidence) / 2, df) + normal().inv_cdf(power)


def min_detectable(se: float, df: float, confidence: float, power: float = POWER) -> float:
    """The minimum detectable difference with this power; nan where there is no standard error."""
    if not se > 0 or not df > 0:
        return math.nan
    return reach(df, confidence, power) * se


def cautious_se(pilot: Pilot) -> float:
    """The standard error that a pilot of such few degrees of freedom may have underestimated."""
    return pilot.se * math.sqrt(pilot.caution)


def smallest_shown(pilot: Pilot, units: int, confidence: float, power: float) -> tuple[float, float]:
    """The minimum detectable difference of so many units, and the same if the pilot underestimates the error."""
    shrink = math.sqrt(pilot.units / units)
    plain, careful = pilot.se * shrink, cautious_se(pilot) * shrink
    return min_detectable(plain, pilot.df, confidence, power), min_detectable(careful, pilot.df, confidence, power)


def units_for(pilot: Pilot, target: float, confidence: float, power: float) -> Planned:
    """The units that show a difference of that size."""
    far = reach(pilot.df, confidence, power)
    return _plan_numbers(pilot, pilot.units * (far * pilot.se / target) ** 2)


def _plan_numbers(pilot: Pilot, units: float) -> Planned:
    """The three numbers of a plan."""
    factors = (1.0, pilot.caution, *pilot.spread)
    return Planned(*(min(max(2, math.ceil(units * factor - 1e-9)), MOST_UNITS) for factor in factors))


def proportion_of(value: float, interval: Interval, bounds: Bounds, confidence: float) -> tuple[float, float] | None:
    """The share and the effective units of a proportion, by the ends of its interval; None of any other metric.

    Both ends of a proportion are those of the same number of effective units, which other intervals are not.
    """
    low, high = bounds
    if not (math.isfinite(low) and math.isfinite(high) and low < value < high):
        return None
    share, *ends = ((one - low) / (high - low) for one in (value, *interval))
    solved = []
    for side, end in enumerate(ends):
        reached = abs(end - share)
        if not reached > 0:
            return None
        solved.append(_effective(share, partial(_reach_of, share, side), reached, confidence))
    return (share, solved[0]) if abs(solved[0] - solved[1]) <= SAME * max(solved) else None


def _reach_of(share: float, side: int, ends: Interval) -> float:
    return abs(ends[side] - share)


def _ends(share: float, effective: float, confidence: float) -> Interval:
    low, high = Parts(np.array([share]), np.array([effective]), np.eye(1)).ends(confidence)
    return float(low[0]), float(high[0])


def _effective(share: float, size: Callable[[Interval], float], wanted: float, confidence: float) -> float:
    """The effective units at which the ends of a proportion have a size, which falls about as their square root."""
    n = 30.0
    for _ in range(STEPS):
        before, n = n, n * (size(_ends(share, n, confidence)) / wanted) ** 2
        n = max(n, 1.0)
        if n > MANY:
            return min(MANY * (size(_ends(share, MANY, confidence)) / wanted) ** 2, 1.0 * MOST_UNITS)
        if abs(n - before) <= 1e-9 * n:
            break
    return n


def width_at(pilot: Pilot, units: float, confidence: float) -> float:
    """The width of the interval with so many units."""
    if math.isnan(pilot.effective):
        return pilot.width * math.sqrt(pilot.units / units)
    effective = max(pilot.effective * units / pilot.units, 1.0)
    low, high = _ends(pilot.share, min(effective, MANY), confidence)
    return pilot.scale * (high - low) * math.sqrt(min(MANY / effective, 1.0))


def widths(pilot: Pilot, units: float, confidence: float) -> tuple[float, float]:
    """The width of the interval with so many units, and the same if the pilot underestimates the error."""
    return width_at(pilot, units, confidence), width_at(pilot, units / pilot.caution, confidence)


def units_for_width(pilot: Pilot, width: float, confidence: float) -> Planned:
    """The units whose interval is that wide."""
    return _plan_numbers(pilot, _units_for_width(pilot, width, confidence))


def _units_for_width(pilot: Pilot, width: float, confidence: float) -> float:
    """n (width now / wanted)^2, or for a proportion the units at which its ends lie so far apart."""
    if math.isnan(pilot.effective):
        return pilot.units * (pilot.width / width) ** 2
    needed = _effective(pilot.share, lambda ends: ends[1] - ends[0], width / pilot.scale, confidence)
    return needed * pilot.units / pilot.effective


def family_level(alpha: float, tests: int, influences: Sequence[Floats] = ()) -> tuple[float, str]:
    """The level of each of so many tests that keeps all of them together at alpha, and how it was found.

    Without influences it is Bonferroni's. The influences of a pilot's differences say how these go together: flips of
    the units' signs give the largest standardised difference that chance makes (max-T). A family that is larger than
    the pilot's is taken as several families like it.
    """
    bonferroni = alpha / tests
    columns = [psi / math.sqrt(float((psi**2).sum())) for psi in influences if float((psi**2).sum()) > 0]
    if not columns:
        return bonferroni, "Bonferroni"
    coins = Coins(unit_keys(np.arange(len(columns[0]))), 0, WORLDS)
    largest = np.zeros(WORLDS)
    for psi in columns:
        largest = np.maximum(largest, np.abs(2 * coins.sums(psi[:, np.newaxis])[:, 0] - psi.sum()))
    share = alpha * min(1.0, len(columns) / tests)
    place = max(math.floor(share * (WORLDS + 1)), 1)
    critical = float(np.sort(largest)[-place])
    level = 2 * normal().cdf(-critical)
    return (min(level, alpha), "max-T") if level > bonferroni else (bonferroni, "Bonferroni")


def cluster_table(
    pilot: Pilot, parts: ClusterVariance, clusters: Sequence[int], confidence: float, power: float
) -> PlanTable:
    """The minimum detectable difference by clusters and by units per cluster.

    V = (V_between + V_within m0 / m) K / K': more units in a cluster only reduce what varies within clusters.
    """
    per_cluster = [max(1, round(parts.units_per_cluster * times)) for times in TIMES]
    whole = parts.between + parts.within
    cells = []
    for count in clusters:
        row = []
        for m in per_cluster:
            share = (parts.between + parts.within * parts.units_per_cluster / m) / whole
            se = pilot.se * math.sqrt(share * parts.clusters / count)
            row.append(_pair(se, pilot, confidence, power))
        cells.append(tuple(row))
    return PlanTable("clusters", "units per cluster", tuple(clusters), tuple(per_cluster), tuple(cells))


def _pair(se: float, pilot: Pilot, confidence: float, power: float) -> tuple[float, float]:
    plain, careful = (min_detectable(one, pilot.df, confidence, power) for one in (se, se * math.sqrt(pilot.caution)))
    return plain, careful


def variance_with(spread: RunSpread, units: float, runs: float) -> tuple[float, float]:
    """The variance of a mean over `units` times the pilot's units and so many runs: that of runs, and that of units.

    V(n', R') = (V_runs - V_both) R / R' + V_both n R / (n' R') + (V_items - V_both) n / n'; the first two need runs.
    """
    r = spread.n_runs / runs
    of_runs = max(spread.v_runs - spread.v_both, 0.0) * r + max(spread.v_both, 0.0) * r / units
    return of_runs, max(spread.v_items - spread.v_both, 0.0) / units


def reach_with(spread: RunSpread, units: float, runs: int, confidence: float, power: float | None) -> float:
    """The minimum detectable difference with `units` times the pilot's units and so many runs; without a power, the
    width of the interval. The t has the degrees of freedom of that many runs and units.
    """
    of_runs, of_units = variance_with(spread, units, runs)
    models = 1 if spread.values else 2  # two models with runs of their own have twice the degrees of freedom
    second = of_runs**2 / (models * (runs - 1)) + of_units**2 / max(spread.n_units * units - 1, 1)
    df = (of_runs + of_units) ** 2 / second if second > 0 else math.inf
    far = 2 * t_quantile((1 + confidence) / 2, df) if power is None else reach(df, confidence, power)
    return far * math.sqrt(of_runs + of_units)


def run_table(
    pilot: Pilot, spread: RunSpread, units: Sequence[int], runs: Sequence[int], confidence: float, power: float | None
) -> PlanTable:
    """The minimum detectable difference by units and runs, or without a power the width of the interval."""
    careful = math.sqrt(pilot.caution)
    cells = []
    for n in units:
        shown = [reach_with(spread, n / pilot.units, r, confidence, power) for r in runs]
        cells.append(tuple((one, one * careful) for one in shown))
    return PlanTable("units", f"runs ({spread.factor})", tuple(units), tuple(runs), tuple(cells))


def units_with_runs(pilot: Pilot, spread: RunSpread, size: float, confidence: float, power: float | None) -> Planned:
    """The units that reach a size with as many runs as the pilot has: what runs make does not shrink with units."""
    numbers = []
    for factor in (1.0, pilot.caution, *pilot.spread):
        few, many = 2.0, float(MOST_UNITS)
        for _ in range(60):
            middle = math.sqrt(few * many)
            reached = reach_with(spread, middle / pilot.units, spread.n_runs, confidence, power) * math.sqrt(factor)
            few, many = (middle, many) if reached > size else (few, middle)
        numbers.append(math.ceil(many - 1e-6))
    return Planned(*numbers)


def label_table(pilot: Pilot, few: FewLabels, confidence: float) -> PlanTable:
    """The width of the interval by labels and by units that the proxy alone judges.

    V = s^2 / n' + lambda^2 var(T_F) N / N': labels reduce what the proxy leaves open, judged units the rest.
    """
    labels = [max(2, round(few.labelled * times)) for times in TIMES]
    judged = [max(1, round(few.others * times)) for times in TIMES]
    now = label_variance(few, few.labelled, few.others)
    cells = [
        tuple(widths(pilot, pilot.units * now / label_variance(few, n, more), confidence) for more in judged)
        for n in labels
    ]
    return PlanTable(LABELLED, "judged units", tuple(labels), tuple(judged), tuple(cells))


def label_variance(few: FewLabels, labels: float, others: float) -> float:
    """The variance of a score by so many labels and so many units that the proxy alone judges."""
    return few.residual_variance / labels + few.trust**2 * few.proxy_variance * few.others / others


def labels_for_width(pilot: Pilot, few: FewLabels, width: float, confidence: float) -> Planned | None:
    """The labels whose interval is that wide with as many judged units; None where no number of labels is enough.

    Where the pilot's error is too small, both parts of the variance are.
    """
    wanted = label_variance(few, few.labelled, few.others) * pilot.units / _units_for_width(pilot, width, confidence)
    of_proxy = few.trust**2 * few.proxy_variance
    if wanted <= of_proxy:
        return None
    numbers = []
    for factor in (1.0, pilot.caution, *pilot.spread):
        left = wanted - factor * of_proxy
        needed = factor * few.residual_variance / left if left > 0 else math.inf
        numbers.append(math.ceil(min(max(2.0, needed - 1e-9), MOST_UNITS)))
    return Planned(*numbers)
