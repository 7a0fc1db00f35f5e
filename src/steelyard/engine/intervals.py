"""From bootstrap draws and the jackknife to an interval, by one of two rules that the metric's declared facts choose.

*Range scale.* The value is moved to the line by its range (Fisher's z, log or logit), where its standard error is that
of the draws, or of the jackknife where that is larger, but at most a tenth above. Student's t has as many degrees of
freedom as the standard error really rests on, which the fourth moment of the jackknife says.

Where the range has one end, the other end of the interval is that with the worst unit counted once more, if that is
further out.

*Parts.* A metric that is the mean of proportions, or of class scores in a finite range, has exact-like ends for each,
joined by MOVER (Zou and Donner 2008, Construction of confidence limits about effect measures, Statistics in Medicine
27).

Units that all agree say nothing of the share of units that do not: 12 of 12 may still be a population of 74 %.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.frozen import Frozen
from steelyard.core.metric import Placements
from steelyard.core.weights import Array, Floats
from steelyard.engine.quantiles import beta_quantile, t_quantile

FEW_UNITS = 30
LEAST_DF = 4
FEW_OF_CLASS = 10  # positives or negatives, below which an interval says how many there are
LEAST_UNITS = 4  # for a jackknife interval
LEAST_ENDLESS = 3  # for an interval where the range has no end
CAP = 1.1  # of the draws' standard error: the jackknife is too large for ranked metrics
ON_END = 0.05  # share of draws on an end of the range, above which their spread is not taken on the line
UNDEFINED_SHARE = 0.01
PSEUDO_UNITS = 12  # with the variance of a 0/1 score, in that of a class
MANY_PARTS = 2000  # whose correlations are not held
SAME = 1e-12

Interval = tuple[float, float]
Bounds = tuple[float, float]
LINE: Bounds = (-math.inf, math.inf)


class Estimate(Frozen):
    """How sure a value is: its interval, or why it has none, and the standard error behind it.

    `df` is how many degrees of freedom the standard error has; `notes` say what a reader must know. The other fields
    are those of a score whose range lacks an end.
    """

    interval: Interval | None = None
    se: float = math.nan
    df: float = math.nan
    undefined_reason: str = ""
    notes: tuple[str, ...] = ()
    rests_on: float = math.nan
    unseen: float = math.nan
    largest_share: float = math.nan
    largest_unit: str = ""


class UnitSample(Frozen):
    """The units behind a value: how many, and what share of all weight each has where they are not alike.

    `alike` is how many units each row of the jackknife stands for; None is one each.
    """

    units: int
    shares: Floats | None = None
    copies: Floats | None = None

    def may_differ(self, confidence: float) -> float:
        """The share of all units that may differ, where none of these does, at one end of an interval."""
        tail = math.log((1 - confidence) / 2)
        if self.shares is None:
            return -math.expm1(tail / self.units)
        shares = self.shares[self.shares > 0] / self.shares.sum()
        logs = np.log(shares)
        low, high = math.log(shares.min()) + tail, math.log(shares.max())
        for _ in range(200):
            middle = (low + high) / 2
            if middle in (low, high):
                break
            low, high = (middle, high) if np.minimum(0, middle - logs).sum() < tail else (low, middle)
        return float((shares * np.maximum(0, 1 - np.exp(high) / shares)).sum())


class ByClass(Frozen):
    """The true classes behind a score: `code` is that of each row of the jackknife, the rarest that it holds.

    `fewest` counts the units outside the most frequent class, and `described` says them. `chance` is what guessing
    scores, where it is known.
    """

    code: Array | None
    fewest: int
    described: str
    chance: float | None = None

    def df(self, leave_one_out: Floats, copies: Floats | None) -> float:
        """Welch's degrees of freedom of the jackknife's variance; endless where classes of rows are not known."""
        if self.code is None or len(self.code) != len(leave_one_out):
            return math.inf
        defined = ~np.isnan(leave_one_out)
        u, times = influences(leave_one_out, copies)
        return welch_df(u, self.code[defined], times)

    @property
    def notes(self) -> tuple[str, ...]:
        """How few there are."""
        return (f"rests on {self.described}",) if self.fewest < FEW_OF_CLASS else ()


def welch_df(psi: Floats, code: Array, times: Floats) -> float:
    """The degrees of freedom of a sum of squares that is made of classes with their own spread.

    A class of one unit has half a degree of freedom: it says nothing of its spread, but is not without one.
    """
    squares, units = np.bincount(code, times * psi**2), np.bincount(code, times)
    lowered = float((squares**2 / np.maximum(units - 1, 0.5)).sum())
    return float(squares.sum()) ** 2 / lowered if lowered > 0 else math.inf


def influences(leave_one_out: Floats, copies: Floats | None) -> tuple[Floats, Floats]:
    """What each unit moves, less the mean of that, and how many units each stands for; undefined ones left out."""
    defined = ~np.isnan(leave_one_out)
    values = leave_one_out[defined]
    times = np.ones(len(values)) if copies is None else copies[defined]
    if not len(values) or not times.sum():
        return np.zeros(0), np.zeros(0)
    return values - np.average(values, weights=times), times


def jackknife(leave_one_out: Floats, copies: Floats | None = None) -> tuple[float, float]:
    """The jackknife's standard error, and how many degrees of freedom it rests on, neither cut nor raised."""
    u, times = influences(leave_one_out, copies)
    n = float(times.sum())
    second = float((times * u**2).sum())
    if n < 2 or second == 0 or np.abs(u).max() <= SAME * np.abs(leave_one_out[~np.isnan(leave_one_out)]).max():
        return 0.0, math.inf
    kurtosis = n * float((times * u**4).sum()) / second**2
    df = math.inf if kurtosis <= 1 else 2 * n / (kurtosis - 1)
    return math.sqrt((n - 1) / n * second), df


def by_range(
    value: float,
    draws: Floats,
    leave_one_out: Floats | None,
    bounds: Bounds,
    sample: UnitSample,
    confidence: float,
    agreeing: Callable[[], UnitSample] | None = None,
    classes: ByClass | None = None,
) -> Estimate:
    """The interval of a value on the scale of its range. `left_out` None: the jackknife is too long to make.

    `agreeing` gives the units that have a value of their own, where they are not all: in a class of three units only
    those three can be said to agree. `classes` are the true classes of the units, where the score rests on them.
    """
    estimate = _on_line(value, draws, leave_one_out, bounds, sample, confidence, agreeing, classes)
    return _of_enough(estimate, bounds, sample)


def by_parts(
    value: float,
    draws: Floats,
    leave_one_out: Floats | None,
    parts: Parts,
    bounds: Bounds,
    sample: UnitSample,
    confidence: float,
) -> Estimate:
    """The interval of a mean of proportions, or of class scores: MOVER over the ends of each."""
    low, high = parts.ends(confidence)
    scale = (bounds[1] - bounds[0]) / len(parts.share)
    below, above = parts.share - low, high - parts.share
    reach = [math.sqrt(max(parts.spread(side), 0.0)) * scale for side in (below, above)]
    defined = draws[~np.isnan(draws)]
    se_left, df = (math.nan, math.inf) if leave_one_out is None else jackknife(leave_one_out, sample.copies)
    se = se_left if se_left > 0 else float(defined.std(ddof=1)) if len(defined) > 1 else math.nan
    df = min(max(df, LEAST_DF), max(sample.units - 1, 1))
    interval = max(value - reach[0], bounds[0]), min(value + reach[1], bounds[1])
    return Estimate(interval, se, df, notes=_undefined_draws_remark(draws, defined))


class Parts(Frozen):
    """Proportions, or class scores from 0 to 1, that a metric is the mean of: each one's share, how many units stand
    behind it, and how they go together.

    Of many parts the correlations are not made: `moves` are the rows, each column of length 1 or 0, whose product they
    are, beside the 1 of each part with itself.
    """

    share: Floats
    effective: Floats
    correlation: Floats
    moves: Floats | None = None

    @staticmethod
    def of(share: Floats, rows: Floats, units: Floats, deviations: Floats, factor: float) -> Parts:
        """From what each row of the jackknife (or each draw) moves in each part: a standard error's square is `factor`
        times the sum of squares. `rows` and `units` are those of each part."""
        moved = np.nan_to_num(deviations)
        squares = factor * (moved**2).sum(axis=0)
        inner = (share > 0) & (share < 1) & (squares > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            effective = np.where(inner, share * (1 - share) / squares, units)
            length = np.sqrt((moved**2).sum(axis=0))
            unit = np.where(length > 0, moved / length, 0.0)
        effective = np.clip(effective, 1.0, np.maximum(rows, 1.0))
        if len(share) > MANY_PARTS:
            return Parts(share, effective, np.eye(0), unit)
        correlation = unit.T @ unit
        np.fill_diagonal(correlation, 1.0)
        return Parts(share, effective, correlation)

    @staticmethod
    def of_strata(total: float, weight: Floats, share: Floats, rows: Floats, units: Floats, squares: Floats) -> Parts:
        """One proportion that is the weighted sum of those of strata, which have so many rows and units.

        `squares` are the sums of squares of what units move in their stratum. Shares are drawn to the whole as by two
        more rows, so that a stratum whose units all agree has a variance.
        """
        inner = (share > 0) & (share < 1) & (units > 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            effect = squares * units / (units - 1) * (rows - 1) / (share * (1 - share))
            rows = np.maximum(np.where(inner, rows / np.maximum(effect, 1.0), units), 1.0)
        drawn_in = (share * rows + 2 * total) / (rows + 2)
        variance = float((weight**2 * drawn_in * (1 - drawn_in) / rows).sum())
        effective = float(rows.sum())
        if 0 < total < 1:
            effective = max(total * (1 - total) / variance, effective)
        return Parts(np.array([total]), np.array([effective]), np.eye(1))

    @staticmethod
    def of_classes(share: Floats, units: Floats, deviations: Floats, factor: float, pseudo: float = 1.0) -> Parts:
        """The same of class scores from 0 to 1, each of so many units. `pseudo` is the variance of a pseudo-unit, as a
        share of that of a score of 0 or 1."""
        length = np.sqrt((deviations**2).sum(axis=0))
        with np.errstate(divide="ignore", invalid="ignore"):
            moves = np.where(length > 0, deviations / length, 0.0)
        return Parts(share, effective_units(share, factor * length**2, units, pseudo), np.eye(0), moves)

    def spread(self, side: Floats) -> float:
        """The square of a sum of what lies to one side of each part."""
        if self.moves is None:
            return float(side @ self.correlation @ side)
        sums = self.moves @ side
        alone = side[~self.moves.any(axis=0)]
        return float(sums @ sums + alone @ alone)

    def ends(self, confidence: float) -> tuple[Floats, Floats]:
        """The mean of the Clopper-Pearson and the Jeffreys ends; Clopper-Pearson's at 0 and at 1."""
        tail = (1 - confidence) / 2
        n, none, every = self.effective, self.share <= 0, self.share >= 1
        x = np.where(none | every, 0.5, self.share) * n
        y = n - x
        first, second = np.stack([x, x + 0.5, x + 1, x + 0.5]), np.stack([y + 1, y + 0.5, y, y + 0.5])
        ends = beta_quantile(np.array([[tail], [tail], [1 - tail], [1 - tail]]), first, second)
        low = np.where(none, 0.0, np.where(every, tail ** (1 / n), (ends[0] + ends[1]) / 2))
        high = np.where(every, 1.0, np.where(none, 1 - tail ** (1 / n), (ends[2] + ends[3]) / 2))
        return np.minimum(low, self.share), np.maximum(high, self.share)


def effective_units(score: Floats, variance: Floats, units: Floats, pseudo: float = 1.0) -> Floats:
    """How many units with a score of 0 or 1 say as much of a class as its own units do.

    The jackknife's variance has 12 pseudo-units with that of such scores: few units of a class that happen to agree say
    little. Units that weigh unalike, such as images with large and small objects, may say less than their number.
    """
    units = np.maximum(units, 1.0)
    binomial = score * (1 - score)
    shrunk = ((units - 1) * variance + PSEUDO_UNITS * pseudo * binomial / units) / (units + PSEUDO_UNITS - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(shrunk > 0, np.maximum(binomial / shrunk, 1.0), units)


def by_placements(value: float, placed: Placements, confidence: float) -> Estimate:
    """The interval of an area under a ROC curve, from the placements of its positives and negatives.

    DeLong's variance has 12 pseudo-units in each class, with a third of the binomial variance: few positives that are
    all placed alike say little. The ends are those of a proportion of so many effective units, never fewer than the
    smaller class has, nor more than there are. Negatives that are a part of what positives are compared with move the
    area by that part only.
    """
    (m, k), scales = placed.counts, (1.0, placed.part)
    binomial, fewest = value * (1 - value), m if k >= m * placed.part**2 else k
    variance, effective = 0.0, float(fewest)
    if 0 < value < 1:
        for n, squares, scale in zip(placed.counts, placed.squares, scales, strict=True):
            variance += scale**2 * (squares + 4 * binomial) / (n + 11) / n if n else 0.0
        effective = min(max(binomial / variance, fewest), m + k)
    low, high = Parts(np.array([value]), np.array([effective]), np.eye(1)).ends(confidence)
    notes: tuple[str, ...] = ()
    if fewest < FEW_OF_CLASS:
        notes = (f"rests on {count_text(fewest, placed.names[0 if fewest == m else 1])}",)
    return Estimate((float(low[0]), float(high[0])), math.sqrt(variance), max(fewest - 1, 1), notes=notes)


def by_jackknife(
    value: float,
    leave_one_out: Floats,
    bounds: Bounds,
    confidence: float,
    agreeing: Callable[[], UnitSample] | None = None,
) -> Estimate:
    """The value and Student's t times the jackknife's standard error, inside the range: for few units that are long.

    None below four units, and where the metric is undefined without one of them. Units that all agree have no spread:
    `agreeing` gives those that have a value, and the interval is that of `by_range`.
    """
    units = len(leave_one_out)
    if units < LEAST_UNITS or np.isnan(leave_one_out).any():
        return Estimate()
    se = math.sqrt((units - 1) / units * float(((leave_one_out - leave_one_out.mean()) ** 2).sum()))
    if agreeing is not None and se <= SAME * float(np.abs(leave_one_out).max()):
        return _no_spread(value, leave_one_out[:0], bounds, agreeing(), confidence, ())
    reach = t_quantile((1 + confidence) / 2, units - 1) * se
    return Estimate((max(value - reach, bounds[0]), min(value + reach, bounds[1])), se, units - 1)


def by_influence(
    value: float, leave_one_out: Floats, bounds: Bounds, sample: UnitSample, confidence: float
) -> Estimate:
    """The value and Student's t times the standard error of its influences, inside the range.

    Of a metric whose draws are the value plus the mean of influences: draws would say the same with more noise.
    """
    se, df = jackknife(leave_one_out, sample.copies)
    if not se > 0:
        return Estimate(undefined_reason="no unit moves it")
    df = min(max(df, LEAST_DF), max(sample.units - 1, 1))
    reach = t_quantile((1 + confidence) / 2, df) * se
    return Estimate((max(value - reach, bounds[0]), min(value + reach, bounds[1])), se, df)


def by_halves(value: float, halves: Floats | None, bounds: Bounds, confidence: float) -> Estimate:
    """The value and Student's t times the standard error that random halves of the units give.

    A half has twice the variance of the whole, and so has the difference of two halves four times: its square over 4
    is the variance of the whole. Splits share units, so that they have fewer degrees of freedom than their number.
    """
    if halves is None:
        return Estimate(undefined_reason="too few units to be split into halves")
    se = halves_error(halves)
    if not se > 0:
        return Estimate(undefined_reason="both halves of every split have the same value")
    reach = t_quantile((1 + confidence) / 2, len(halves)) * se
    return Estimate((max(value - reach, bounds[0]), min(value + reach, bounds[1])), se, float(len(halves)))


def halves_error(halves: Floats) -> float:
    """The standard error of a value, from its values in halves of the units: (splits, 2)."""
    return math.sqrt(float(((halves[:, 0] - halves[:, 1]) ** 2).mean()) / 4)


def by_signed(
    value: float,
    draws: Floats,
    leave_one_out: Floats | None,
    bounds: Bounds,
    power: int,
    sample: UnitSample,
    confidence: float,
) -> Estimate:
    """The interval of a debiased value that is cut at 0, from what it, or its square, was before.

    Student's t times the larger standard error of the draws and the jackknife, cut to the range. No scale of the range
    is taken: near 0 a calibrated model's value lies on either side.
    """
    defined = draws[~np.isnan(draws)]
    if len(defined) < 2:
        return Estimate(undefined_reason="fewer than two draws have a value")
    se = float(defined.std(ddof=1))
    if leave_one_out is not None:
        se = max(se, jackknife(leave_one_out, sample.copies)[0])
    df = max(sample.units - 1, 1)
    reach = t_quantile((1 + confidence) / 2, df) * se
    ends = [min(max(end, 0.0) ** (1 / power), bounds[1]) for end in (value - reach, value + reach)]
    shown = max(value, 0.0) ** (1 / power)
    if power > 1:
        se = se / (power * shown ** (power - 1)) if shown > 0 else math.nan
    return Estimate((ends[0], ends[1]), se, df, notes=_undefined_draws_remark(draws, defined))


def of_distances(gap: float, total: float, of_gap: Estimate, of_total: Estimate) -> Estimate:
    """The interval of |b| - |a|, from those of the signed gap b - a and of the total b + a.

    A distance has a kink at zero, where its draws all lie on one side, so it has no interval of its own. But |b| - |a|
    is sign(gap) sign(total) min(|gap|, |total|), which rises or falls with either: its ends are those at four corners.
    """
    nearer = of_gap if abs(gap) <= abs(total) else of_total
    if of_gap.interval is None or of_total.interval is None:
        return replace(nearer, interval=None)
    corners = [
        math.copysign(1, g) * math.copysign(1, t) * min(abs(g), abs(t))
        for g in of_gap.interval
        for t in of_total.interval
    ]
    return replace(nearer, interval=(min(corners), max(corners)))


def percentile_interval(draws: Floats, confidence: float) -> Interval | None:
    """The middle part of the draws. Draws in which the metric is undefined say nothing and are left out."""
    defined = draws[~np.isnan(draws)]
    if len(defined) < 2:
        return None
    low, high = np.quantile(defined, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def _of_enough(estimate: Estimate, bounds: Bounds, sample: UnitSample) -> Estimate:
    """Drop an open-ended interval that rests on two units: it would span a dozen standard errors."""
    endless = math.isinf(bounds[0]) or math.isinf(bounds[1])
    if estimate.interval is None or not endless or sample.units >= LEAST_ENDLESS:
        return estimate
    why = f"{sample.units} units say too little; {LEAST_ENDLESS} are needed"
    return replace(estimate, interval=None, undefined_reason=why)


def _on_line(
    value: float,
    draws: Floats,
    leave_one_out: Floats | None,
    bounds: Bounds,
    sample: UnitSample,
    confidence: float,
    agreeing: Callable[[], UnitSample] | None,
    classes: ByClass | None,
) -> Estimate:
    lo, hi = bounds
    defined = draws[~np.isnan(draws)]
    if len(defined) < 2:
        return Estimate(undefined_reason="fewer than two draws have a value")
    se_left, df = (math.nan, math.inf) if leave_one_out is None else jackknife(leave_one_out, sample.copies)
    spread = float(defined.std(ddof=1))
    scale = max(abs(value), float(np.abs(defined).max()))
    varies = spread > SAME * scale or se_left > 0
    at_end = _near(value, lo) or _near(value, hi) or not lo < value < hi
    notes = (*_undefined_draws_remark(draws, defined), *(() if classes is None else classes.notes))
    if not varies or at_end:
        resting = sample if agreeing is None else agreeing()
        if classes is not None:
            resting = UnitSample(max(classes.fewest, 1))
            if at_end and classes.chance is not None:
                bounds = (classes.chance, hi) if value > classes.chance else (lo, classes.chance)
        return _no_spread(value, defined if varies else defined[:0], bounds, resting, confidence, notes)
    slope = _slope(value, bounds)
    on_end = (defined <= lo) | (defined >= hi)
    if on_end.mean() > ON_END or np.count_nonzero(~on_end) < 2:
        se = spread * slope
    else:
        se = float(to_line(defined[~on_end], bounds).std(ddof=1))
    if leave_one_out is not None:
        most = CAP * se if se > 0 and classes is None else math.inf
        se = min(max(se, se_left * slope), most)
    df = min(max(df, LEAST_DF), max(sample.units - 1, 1))
    if classes is not None and leave_one_out is not None:
        df = max(min(df, classes.df(leave_one_out, sample.copies)), 1.0)
    reach = t_quantile((1 + confidence) / 2, df) * se
    middle = float(to_line(np.array([value]), bounds)[0])
    low, high = (from_line(middle - reach, bounds), from_line(middle + reach, bounds))
    if leave_one_out is not None and se_left > 0 and math.isinf(lo) != math.isinf(hi):
        further = _one_more(value, leave_one_out, sample, bounds, se / (se_left * slope), confidence)
        low, high = (min(low, further), high) if math.isinf(lo) else (low, max(high, further))
    return Estimate((low, high), se / slope, df, notes=notes)


def _one_more(
    value: float, leave_one_out: Floats, sample: UnitSample, bounds: Bounds, ratio: float, confidence: float
) -> float:
    """The end of the interval on the side where the range has none, with the worst unit counted once more.

    Errors that are not in the sample cannot be drawn, and those that are rare mostly are not. `ratio` is by how much
    the standard error is larger than the jackknife's.
    """
    u, times = influences(leave_one_out, sample.copies)
    turn, n = (1.0 if math.isinf(bounds[1]) else -1.0), float(times.sum())
    psi = (1 - n) * u
    worst = turn * float((turn * psi).max())
    psi, times = np.append(psi, worst) - worst / (n + 1), np.append(times, 1.0)
    second = float((times * psi**2).sum())
    kurtosis = (n + 1) * float((times * psi**4).sum()) / second**2
    df = min(max(math.inf if kurtosis <= 1 else 2 * (n + 1) / (kurtosis - 1), LEAST_DF), n)
    value += worst / (n + 1)
    reach = t_quantile((1 + confidence) / 2, df) * ratio * math.sqrt(second / (n * (n + 1))) * _slope(value, bounds)
    return from_line(float(to_line(np.array([value]), bounds)[0]) + turn * reach, bounds)


def _no_spread(
    value: float, varied: Floats, bounds: Bounds, sample: UnitSample, confidence: float, notes: tuple[str, ...]
) -> Estimate:
    """The interval where units agree, or where the value is an end of its range."""
    share, df = sample.may_differ(confidence), max(sample.units - 1, 1)
    middle = percentile_interval(varied, confidence)
    if math.isinf(bounds[0]) or math.isinf(bounds[1]):
        if middle is not None:
            middle = min(middle[0], value), max(middle[1], value)
            return Estimate(middle, float(varied.std(ddof=1)), df, notes=notes)
        agree = f"all {sample.units:,} units agree; up to {100 * share:.2g} % of units may differ"
        return Estimate(None, 0.0, df, agree, notes)
    low, high = value - (value - bounds[0]) * share, value + (bounds[1] - value) * share
    if middle is not None:
        low, high = min(low, middle[0]), max(high, middle[1])
    se = float(varied.std(ddof=1)) if len(varied) > 1 else 0.0
    return Estimate((max(low, bounds[0]), min(high, bounds[1])), se, df, notes=notes)


def _undefined_draws_remark(draws: Floats, defined: Floats) -> tuple[str, ...]:
    lost = len(draws) - len(defined)
    if lost <= UNDEFINED_SHARE * len(draws):
        return ()
    return (f"has no value in {lost:,} of {len(draws):,} draws, which the interval leaves out",)


def _near(value: float, end: float) -> bool:
    return math.isfinite(end) and abs(value - end) <= SAME * max(abs(end), 1e-9)


def to_line(values: Floats, bounds: Bounds) -> Floats:
    """The values moved from the range to the line."""
    lo, hi = bounds
    if math.isinf(lo) and math.isinf(hi):
        return values
    with np.errstate(divide="ignore"):
        if math.isinf(hi):
            return np.asarray(np.log(values - lo))
        if math.isinf(lo):
            return np.asarray(-np.log(hi - values))
        return np.asarray(np.log((values - lo) / (hi - values)))


def from_line(y: float, bounds: Bounds) -> float:
    """From the line to the range."""
    lo, hi = bounds
    if math.isinf(lo) and math.isinf(hi):
        return y
    if math.isinf(hi):
        return lo + math.exp(min(y, 700.0))
    if math.isinf(lo):
        return hi - math.exp(min(-y, 700.0))
    return lo + (hi - lo) / (1 + math.exp(min(-y, 700.0)))


def _slope(value: float, bounds: Bounds) -> float:
    """How fast the line moves with the value."""
    lo, hi = bounds
    if math.isinf(lo) and math.isinf(hi):
        return 1.0
    if math.isinf(hi):
        return 1 / (value - lo)
    if math.isinf(lo):
        return 1 / (hi - value)
    return (hi - lo) / ((value - lo) * (hi - value))
