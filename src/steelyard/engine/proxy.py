"""Few labels: an estimate from truth on some units and a proxy (a judge, a cheap measurement) on all of them.

    theta = T_y + lambda (T_F - T_f)

T_y is the metric by truth on the labelled units, T_f by the proxy on the same, and T_F by the proxy on all others
(Angelopoulos, Duchi and Zrnic 2023, PPI++). A proxy that is always wrong in the same way does no harm: the labelled
units say how wrong it is. lambda says how far it is trusted, and comes for each half of the labelled units from the
other half. Every term is one reduction, so any metric can be used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from steelyard.core.errors import MissingData, Unsupported
from steelyard.core.frozen import Frozen
from steelyard.core.metric import Metric
from steelyard.core.plan import COUNT, POINT, UNITS, coin_keys
from steelyard.core.request import Request
from steelyard.core.state import State, Totals
from steelyard.core.statistic import RankingReader
from steelyard.core.units import Units
from steelyard.core.weights import Array, Floats
from steelyard.engine.flips import Influence
from steelyard.engine.intervals import (
    CAP,
    LEAST_DF,
    MANY_PARTS,
    SAME,
    Bounds,
    Estimate,
    Parts,
    UnitSample,
    by_range,
    jackknife,
    percentile_interval,
)
from steelyard.engine.labelling import chosen_mean
from steelyard.engine.measure import unit_values
from steelyard.engine.score import left_out_totals, left_rows, part_shares, part_units, remarks, sample_of, score
from steelyard.results.score import FewLabels, Score

RATE_DRAWS = 20_000


def proxy_scores(
    labelled: State, judged: State, others: State, metrics: Sequence[Metric], request: Request,
    chosen_with: Mapping[str, float] | None = None,
) -> dict[str, Score]:  # fmt: skip
    """Every metric by truth and proxy. `judged` are the labelled units by proxy, `others` those without a label.

    `chosen_with` is the probability with which each labelled unit was chosen, where they are not a random sample.
    """
    alone = score(labelled, metrics, request)
    if chosen_with is not None:
        states = labelled, judged, others
        return {str(m): _of_chosen(m, alone[str(m)], states, chosen_with, request) for m in metrics}
    if request.judge_correction == "rates":
        return {str(m): by_rates(m, alone[str(m)], labelled, judged, others, request) for m in metrics}
    judge = Judge(labelled, judged, others, request)
    return {str(metric): _correct_score(metric, alone[str(metric)], judge, request) for metric in metrics}


def _of_chosen(
    metric: Metric, alone: Score, states: tuple[State, State, State], chosen_with: Mapping[str, float], request: Request
) -> Score:
    """A mean of unit scores by labels that were chosen with probabilities."""
    value, estimate, mean, own = chosen_mean(metric, *states, chosen_with, request)
    alone = replace(alone, value=mean, interval=own.interval, se=own.se, df=own.df)
    on_others = float(states[2].totals(POINT).of(metric)[0])
    return _with(alone, value, estimate, on_others, states[2].units, request, (1.0, math.nan, math.nan))


class Judge:
    """Labelled units by truth and by the proxy, and the other units by the proxy, under three kinds of weights: plain
    ones, bootstrap draws and the jackknife.
    """

    def __init__(self, labelled: State, judged: State, others: State, request: Request) -> None:
        self.states = (labelled, judged, others)
        self.units, self.others = labelled.units, others.units
        self.varies = self.units.n_resampled > 1 and self.others.n_resampled > 1
        self.points = [state.totals(POINT) for state in self.states]
        self.draws = [Totals(state, request.plan.bind(state.units)) for state in self.states]
        self.left = [left_out_totals(state) for state in self.states] if self.varies else []

    def fit(self, metric: Metric) -> Fit:
        """How far the proxy is trusted for a metric."""
        by_truth, on_same, on_others = (left.of(metric) for left in self.left if left is not None)
        psi_y, psi_f = (influence_values(left_rows(self.units, one)) for one in (by_truth, on_same))
        psi_others = influence_values(left_rows(self.others, on_others))
        spread = variance(psi_others)
        if any(
            isinstance(statistic, RankingReader) for statistic in metric.requirements()
        ):  # ranked: the jackknife is too large
            drawn = self.draws[2].of(metric)
            spread = min(spread, CAP**2 * float(np.nanvar(drawn, ddof=1)))
        return cross_fitted(psi_y, psi_f, spread, _halves(self.units))


class Fit(Frozen):
    """How far a proxy is trusted, `trust`, and what each labelled unit then still moves, `residual`.

    `own` is the trust that each row of the jackknife has from the other half, and `spread` the variance of the value of
    the other units by the proxy. Rows without a value are nan.
    """

    trust: float
    own: Floats
    residual: Floats
    half: Array
    spread: float

    @property
    def of_labels(self) -> float:
        """What the labelled units add to the variance: their residuals vary about the mean of each half."""
        return _about_halves(self.residual, self.half)

    @property
    def jackknife_values(self) -> Floats:
        """The values without each labelled unit, raised by what the others add to the variance, which no labelled unit
        can show.
        """
        rows = len(self.residual)
        u = -self.residual / max(rows - 1, 1)
        own = jackknife(u)[0] ** 2
        return u * math.sqrt(1 + self.trust**2 * self.spread / own) if own > 0 else u


def influence_values(leave_one_out: Floats) -> Floats:
    """The influence of each row of a jackknife, from the values without it; nan where there is none."""
    defined = ~np.isnan(leave_one_out)
    mean = np.where(defined, leave_one_out, 0.0).sum(axis=0) / np.maximum(defined.sum(axis=0), 1)
    influences: Floats = (len(leave_one_out) - 1) * (mean - leave_one_out)
    return influences


def variance(psi: Floats) -> float:
    """The jackknife's variance of a value, from the influences."""
    defined = psi[~np.isnan(psi)]
    n = len(defined)
    return float((defined**2).sum()) / (n * (n - 1)) if n > 1 else 0.0


def cross_fitted(psi_y: Floats, psi_f: Floats, spread: float, half: Array) -> Fit:
    """How far the proxy is trusted: for each half of the labelled rows as the other half says."""
    defined = ~(np.isnan(psi_y) | np.isnan(psi_f))
    halves = [defined & half, defined & ~half]
    trust = [_trust(psi_y[mine], psi_f[mine], int(defined.sum()), spread) for mine in halves]
    own = np.where(half, trust[1], trust[0])
    return Fit(sum(trust) / 2, own, np.where(defined, psi_y - own * psi_f, np.nan), half, spread)


def _trust(psi_y: Floats, psi_f: Floats, rows: int, spread: float) -> float:
    """cov(T_y, T_f) / (var T_f + var T_F) from the influences of some of so many rows, cut to [0, 1]."""
    if len(psi_y) < 2:
        return 0.0
    times, f = 1 / ((len(psi_y) - 1) * rows), psi_f - psi_f.mean()
    together, own = times * float((psi_y - psi_y.mean()) @ f), times * float(f @ f)
    return min(max(together / (own + spread), 0.0), 1.0) if own + spread > 0 else 0.0


def _about_halves(psi: Floats, half: Array) -> float:
    """The variance of a value from influences that are centred in each half."""
    defined = ~np.isnan(psi)
    rows = int(defined.sum())
    squares = float((centre_by_half(psi[defined][:, np.newaxis], half[defined]) ** 2).sum())
    return squares / (rows * max(rows - 2, 1)) if rows else 0.0


def centre_by_half(psi: Floats, half: Array) -> Floats:
    """Influences less the mean of their half, column by column."""
    out = psi.copy()
    for mine in (half, ~half):
        if mine.any():
            out[mine] -= psi[mine].mean(axis=0)
    return out


class CorrectedDifference(Frozen):
    """A difference by truth and proxy, with the influences of the labelled units, scaled to its variance.

    `of_labels` is what the labelled units add to that, and `spread` the variance of the difference of the other units
    by the proxy.
    """

    value: float
    influence: Influence
    trust: float = 0.0
    of_labels: float = math.nan
    spread: float = math.nan


def corrected_difference(
    by_truth: tuple[float, Influence], on_same: tuple[float, Influence], on_others: tuple[float, Influence],
    units: Units,
) -> CorrectedDifference:  # fmt: skip
    """A difference of two models by truth on some units and by a proxy on all, each with its influences.

    The judge's errors on both models are paired by unit. Four pseudo-units that only truth says anything of keep few
    labels from trusting the proxy too much.
    """
    psi_y, psi_f = by_truth[1], on_same[1]
    of_truth, spread, n = variance(psi_y.psi), variance(on_others[1].psi), units.n_resampled
    trust = cross_fitted(psi_y.psi, psi_f.psi, spread, _halves(units)).trust
    value = by_truth[0] + trust * (on_others[0] - on_same[0])
    residual = psi_y.add_weighted(psi_f, 1.0, -trust)
    left = variance(residual.psi)
    of_labels = ((n - 1) * left + 4 * of_truth) / (n + 3)
    total = of_labels + trust**2 * spread
    base, own = (residual, left) if left > 0 else (psi_y, of_truth)
    influence = base.scale_by(math.sqrt(total / own)) if own > 0 else base
    return CorrectedDifference(value, influence, trust, of_labels, spread)


def _correct_score(metric: Metric, alone: Score, judge: Judge, request: Request) -> Score:
    by_truth, on_same, on_others = (float(one.of(metric)[0]) for one in judge.points)
    if not alone.defined or metric.total:
        return alone
    if math.isnan(on_same) or math.isnan(on_others):
        return _with(alone, by_truth, Estimate(alone.interval, alone.se, alone.df), on_others, judge.others, request)
    if not judge.varies:  # one label says nothing of how far the proxy may be trusted
        return _with(alone, by_truth, Estimate(), on_others, judge.others, request)
    fit = judge.fit(metric)
    low, high = metric.range
    value = min(max(by_truth + fit.trust * (on_others - on_same), low), high)
    parts, estimate, of_labels = _parts(metric, fit, judge), Estimate(), fit.of_labels
    if parts is not None:
        of_labels = parts.of_labels
    if request.confidence is not None and parts is not None:
        estimate = parts.estimate(value, request.confidence)
    elif request.confidence is not None:
        drawn = [one.of(metric) for one in judge.draws]
        judged_sample, draws = sample_of(judge.units), drawn[0] + fit.trust * (drawn[2] - drawn[1])
        sample = UnitSample(judged_sample.units, judged_sample.shares)
        estimate = by_range(value, draws, fit.jackknife_values, metric.range, sample, request.confidence)
    about = fit.trust, of_labels * judge.units.count, fit.spread
    return _with(alone, value, estimate, on_others, judge.others, request, about)


class CorrectedParts(Frozen):
    """The proportions that a metric is the mean of, by truth and proxy, on how many units each stands, and the variance
    of the metric: what the labelled units add to it and what the others do.
    """

    parts: Parts
    bounds: Bounds
    of_labels: float
    of_others: float
    df: float

    def estimate(self, value: float, confidence: float) -> Estimate:
        """The interval: MOVER over the ends of each proportion."""
        lo, hi = self.bounds
        low, high = self.parts.ends(confidence)
        scale = (hi - lo) / len(low)
        below, above = (
            scale * math.sqrt(max(self.parts.spread(side), 0.0))
            for side in (self.parts.share - low, high - self.parts.share)
        )
        ends = max(value - below, lo), min(value + above, hi)
        return Estimate(ends, math.sqrt(self.of_labels + self.of_others), self.df)


def _parts(metric: Metric, fit: Fit, judge: Judge) -> CorrectedParts | None:
    """The proportions by truth and proxy; None where the metric is not a mean of proportions, or has other classes by
    truth than by the proxy.
    """
    shares = [part_shares(metric, one)[0] for one in judge.points]
    held = [one[0] for one in shares if one is not None]
    if len(held) < 3 or not all(np.array_equal(np.isnan(held[0]), np.isnan(one)) for one in held[1:]):
        return None
    defined = ~np.isnan(held[0])
    if not 0 < defined.sum() <= MANY_PARTS:
        return None
    by_truth, on_same, on_others = (one[defined] for one in held)
    theta = np.clip(by_truth + fit.trust * (on_others - on_same), 0.0, 1.0)
    psi_y, psi_f, psi_others = (
        np.nan_to_num(influence_values(left_rows(state.units, _left_shares(metric, left)[:, defined])))
        for state, left in zip(judge.states, judge.left, strict=True)
    )
    residual = centre_by_half(psi_y - fit.own[:, np.newaxis] * psi_f, fit.half)
    rows, rest = len(residual), len(psi_others)
    labels = residual.T @ residual / (rows * max(rows - 2, 1))
    others = fit.trust**2 * (psi_others.T @ psi_others) / (rest * (rest - 1))
    binomial = theta * (1 - theta)
    most = sum(part_shares(metric, state.totals(COUNT))[1][0][defined] for state in judge.states[::2])
    m, own = part_units(metric, judge.states[0], defined), by_truth * (1 - by_truth)
    least = m if len(theta) > 1 else np.array([_equal_units(metric, judge.states[0])])
    with np.errstate(divide="ignore", invalid="ignore"):
        # Four pseudo-units, each as uncertain as a unit is: less than a row where units hold several.
        copies = np.where(own > 0, m / rows**2 * (psi_y**2).sum(axis=0) / own, 1.0)
        shrunk = (np.maximum(m - 2, 0) * np.diag(labels) + 4 * copies * binomial / m) / (np.maximum(m - 2, 0) + 4)
        total = shrunk + np.diag(others)
        effective = np.where((binomial > 0) & (total > 0), binomial / total, least)
        length = np.sqrt(np.diag(labels + others))
        correlation = (labels + others) / np.outer(*[np.where(length > SAME, length, np.inf)] * 2)
    np.fill_diagonal(correlation, 1.0)
    parts = Parts(theta, np.clip(effective, least, np.maximum(most, least)), correlation)
    scale = ((metric.range[1] - metric.range[0]) / len(theta)) ** 2
    df = min(max(jackknife(fit.jackknife_values)[1], LEAST_DF), max(judge.units.n_resampled - 1, 1))
    of_labels = float(shrunk[0] if len(theta) == 1 else labels.sum())
    return CorrectedParts(parts, metric.range, scale * of_labels, scale * float(others.sum()), df)


def _left_shares(metric: Metric, left: Totals | None) -> Floats:
    """The proportions without each row of the jackknife."""
    assert left is not None  # with a proxy all units are listed
    share, _ = part_shares(metric, left)
    assert share is not None
    return share


def _equal_units(metric: Metric, state: State) -> float:
    """How many equal units the rows of a proportion are worth: (sum of sizes)^2 / sum of their squares."""
    of = part_shares(metric, state.totals(UNITS))[1][:, 0]
    size = np.bincount(state.units.drawn_as[1], weights=of * state.units.own)
    return float(size.sum() ** 2 / (size**2).sum())


def _halves(units: Units) -> Array:
    """Which rows of the jackknife are in the first half: by their keys, so that no order of the units matters."""
    keys = coin_keys(units)
    place = np.argsort(np.argsort(keys, kind="stable"), kind="stable")
    first: Array = place % 2 == 0
    return first


def by_rates(metric: Metric, alone: Score, labelled: State, judged: State, others: State, request: Request) -> Score:
    """A share of right units by a judge whose errors are known from the labelled units (Rogan and Gladen 1978).

    The labelled units need not have the share of all: only the judge's two rates of error must be the same.
    """
    truth, same, rest = (_verdicts(metric, state) for state in (labelled, judged, others))
    right, wrong = truth == 1, truth == 0
    counts = [
        ((same[right] == 1).sum(), (same[right] == 0).sum()),  # sensitivity
        ((same[wrong] == 0).sum(), (same[wrong] == 1).sum()),  # specificity
        ((rest == 1).sum(), (rest == 0).sum()),
    ]
    if not right.any() or not wrong.any():
        raise MissingData(
            f"all {len(truth):,} labelled units are {'right' if right.any() else 'wrong'} by '{metric}', so one of the "
            "judge's rates of error cannot be known",
            remedy="Label units of both kinds, or correct the judge's mean error.",
        )
    confidence = request.level
    rng = np.random.default_rng(request.seed)
    se, sp, q = (rng.beta(hits + 0.5, misses + 0.5, RATE_DRAWS) for hits, misses in counts)
    gain = percentile_interval(se + sp - 1, confidence)
    if gain is None or gain[0] <= 0:
        low, high = gain or (math.nan, math.nan)
        raise Unsupported(
            f"the judge may be no better than chance for '{metric}': sensitivity + specificity - 1 is from {low:.2f} "
            f"to {high:.2f}",
            remedy="Label more units, or correct the judge's mean error.",
        )
    rate = [hits / (hits + misses) for hits, misses in counts]
    value = min(max((rate[2] + rate[1] - 1) / (rate[0] + rate[1] - 1), 0.0), 1.0)
    draws = np.clip((q + sp - 1) / (se + sp - 1), 0, 1)
    estimate = Estimate()
    if request.confidence is not None:
        ends = percentile_interval(draws, confidence)
        ends = ends and (min(ends[0], value), max(ends[1], value))
        estimate = Estimate(ends, float(draws.std(ddof=1)))
    return _with(alone, value, estimate, float(rate[2]), others.units, request, (1.0, math.nan, math.nan))


def _verdicts(metric: Metric, state: State) -> Array:
    """Whether each unit is right, 1, or wrong, 0."""
    values = unit_values(state, [metric])[str(metric)]
    plain = bool(np.isin(values, (0.0, 1.0)).all()) and state.units.unweighted
    if not plain or not math.isclose(float(state.totals(POINT).of(metric)[0]), float(values.mean()), rel_tol=1e-9):
        raise Unsupported(
            f"'{metric}' is not the share of units that are right, which is all that a judge's rates correct",
            remedy="Name such a metric, as accuracy of labels, or correct the judge's mean error.",
        )
    return np.asarray(values)


def _with(
    alone: Score, value: float, estimate: Estimate, by_proxy: float, others: Units, request: Request,
    fit: tuple[float, float, float] = (0.0, math.nan, math.nan),
) -> Score:  # fmt: skip
    """The score by truth and proxy, which says what truth alone gives. `fit`: trust, s^2 and var T_F."""
    trust, residual, proxy = fit
    about = FewLabels(
        others=others.count,
        trust=trust,
        correction=request.judge_correction,
        labels_alone=alone.value,
        labels_interval=alone.interval,
        labels_se=alone.se,
        proxy_alone=by_proxy,
        labelled=alone.units,
        residual_variance=residual,
        proxy_variance=proxy,
    )
    if math.isnan(by_proxy):
        shown: tuple[str, ...] = (f"{alone.spec} has no value by the proxy, and is that of the labelled units.",)
    else:
        shown = (_gain(alone, estimate, about), *remarks(alone.spec, estimate))
    return replace(
        alone,
        value=value,
        interval=estimate.interval,
        notes=shown,
        draws=None,
        why_no_interval=estimate.undefined_reason,
        se=estimate.se,
        df=estimate.df,
        few_labels=about,
    )


def _gain(alone: Score, estimate: Estimate, about: FewLabels) -> str:
    """What the proxy changed, in a sentence."""
    text = f"{alone.spec} is {alone.value:.4g} by truth alone and {about.proxy_alone:.4g} by the proxy on the others"
    if about.correction == "difference":
        text += f", which is trusted to {about.trust:.2f}"
    if estimate.se > 0 and alone.se > 0:
        text += f"; its standard error is {100 * estimate.se / alone.se:.0f} % of that by truth alone"
    return f"{text}."
