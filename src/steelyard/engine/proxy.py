"""Few labels: an estimate from truth on some units and a proxy (a judge, a cheap measurement) on all of them.

    theta = T_y + lambda (T_F - T_f)

T_y is the metric by truth on the labelled units, T_f by the proxy on the same, and T_F by the proxy on all others
(Angelopoulos, Duchi and Zrnic 2023, PPI++). A proxy that is always wrong in the same way does no harm: the labelled
units say how wrong it is. lambda says how far it is trusted, and comes for each half of the labelled units from the
other half. Every term is one reduction, so that any metric can be had.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from steelyard.core.draws import unit_keys
from steelyard.core.errors import InputError
from steelyard.core.metric import Metric
from steelyard.core.plan import POINT
from steelyard.core.request import Request
from steelyard.core.state import State
from steelyard.core.totals import Totals
from steelyard.core.units import Units
from steelyard.core.weights import Array, Floats
from steelyard.engine.intervals import Estimate, Sample, by_range, jackknife, percentile_interval
from steelyard.engine.measure import unit_values
from steelyard.engine.score import left_out_totals, remarks, sample_of, score
from steelyard.results.score import FewLabels, Score

RATE_DRAWS = 20_000


def proxy_scores(
    labelled: State, judged: State, others: State, metrics: Sequence[Metric], request: Request
) -> dict[str, Score]:
    """Every metric by truth and proxy. `judged` are the labelled units by proxy, `others` those without a label."""
    alone = score(labelled, metrics, request)
    if request.judge_correction == "rates":
        return {str(m): by_rates(m, alone[str(m)], labelled, judged, others, request) for m in metrics}
    states = (labelled, judged, others)
    points = [state.totals(POINT) for state in states]
    draws = left = None
    if labelled.units.drawn > 1 and others.units.drawn > 1:
        draws = [Totals(state, request.plan.bind(state.units)) for state in states]
        left = [left_out_totals(state) for state in states]
    scores = {}
    for metric in metrics:
        values = [float(one.of(metric)[0]) for one in points]
        drawn = None if draws is None else [one.of(metric) for one in draws]
        moved = None if left is None else [one.of(metric) for one in left if one is not None]
        scores[str(metric)] = _corrected(
            metric, alone[str(metric)], values, drawn, moved, labelled.units, others, request
        )
    return scores


def _corrected(
    metric: Metric,
    alone: Score,
    values: Sequence[float],
    drawn: Sequence[Floats] | None,
    moved: Sequence[Floats] | None,
    units: Units,
    others: State,
    request: Request,
) -> Score:
    by_truth, on_same, on_others = values
    if not alone.defined or metric.total:
        return alone
    if math.isnan(on_same) or math.isnan(on_others):
        return _with(alone, by_truth, Estimate(alone.interval, alone.se, alone.df), 0.0, on_others, others, request)
    if drawn is None or moved is None:  # one label says nothing of how far the proxy may be trusted
        return _with(alone, by_truth, Estimate(), 0.0, on_others, others, request)
    trust, u = _cross_fitted(moved, drawn[2], units)
    low, high = metric.range
    value = min(max(by_truth + trust * (on_others - on_same), low), high)
    if request.confidence is None:
        return _with(alone, value, Estimate(), trust, on_others, others, request)
    draws = drawn[0] + trust * (drawn[2] - drawn[1])
    estimate = by_range(value, draws, u, metric.range, _sample(units), request.confidence)
    return _with(alone, value, estimate, trust, on_others, others, request)


def _sample(units: Units) -> Sample:
    kept = sample_of(units)
    return Sample(kept.units, kept.shares)


def _cross_fitted(moved: Sequence[Floats], others: Floats, units: Units) -> tuple[float, Floats]:
    """How far the proxy is trusted, and what each labelled unit moves.

    The influences are raised by what the others add to the variance, which no labelled unit can show.
    """
    by_truth, on_same = (one - np.nanmean(one) for one in moved[:2])
    defined = ~(np.isnan(by_truth) | np.isnan(on_same))
    half = _halves(units, len(by_truth))
    spread = float(np.nanvar(others, ddof=1))
    trust = [_trust(by_truth[mine], on_same[mine], len(by_truth), spread) for mine in (defined & half, defined & ~half)]
    own = np.where(half, trust[1], trust[0])  # from the other half
    u = np.where(defined, by_truth - own * on_same, np.nan)
    mean = sum(trust) / 2
    of_labels = jackknife(u)[0] ** 2
    if of_labels > 0:
        u = u * math.sqrt(1 + mean**2 * spread / of_labels)
    return mean, u


def _trust(by_truth: Floats, on_same: Floats, rows: int, spread: float) -> float:
    """cov(T_y, T_f) / (var T_f + var T_F) from the influences of some of so many rows, cut to [0, 1]."""
    if len(by_truth) < 2:
        return 0.0
    times = (rows - 1) / len(by_truth)
    together, own = times * float(by_truth @ on_same), times * float(on_same @ on_same)
    return min(max(together / (own + spread), 0.0), 1.0) if own + spread > 0 else 0.0


def _halves(units: Units, rows: int) -> Array:
    """Which rows of the jackknife are in the first half: by the keys of the units, which no order of theirs moves."""
    if rows != len(units):  # groups, which the keys made
        return np.asarray(np.arange(rows) % 2 == 0)
    place = np.argsort(np.argsort(unit_keys(units.ids), kind="stable"), kind="stable")
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
        raise InputError(
            f"all {len(truth):,} labelled units are {'right' if right.any() else 'wrong'} by '{metric}', so one of the "
            "judge's rates of error cannot be known",
            remedy="Label units of both kinds, or leave --judge-correction out.",
        )
    confidence = 0.95 if request.confidence is None else request.confidence
    rng = np.random.default_rng(request.seed)
    se, sp, q = (rng.beta(hits + 0.5, misses + 0.5, RATE_DRAWS) for hits, misses in counts)
    gain = percentile_interval(se + sp - 1, confidence)
    if gain is None or gain[0] <= 0:
        low, high = gain or (math.nan, math.nan)
        raise InputError(
            f"the judge may be no better than chance for '{metric}': sensitivity + specificity - 1 is from {low:.2f} "
            f"to {high:.2f}",
            remedy="Label more units, or leave --judge-correction out.",
        )
    rate = [hits / (hits + misses) for hits, misses in counts]
    value = min(max((rate[2] + rate[1] - 1) / (rate[0] + rate[1] - 1), 0.0), 1.0)
    draws = np.clip((q + sp - 1) / (se + sp - 1), 0, 1)
    estimate = Estimate()
    if request.confidence is not None:
        ends = percentile_interval(draws, confidence)
        ends = ends and (min(ends[0], value), max(ends[1], value))
        estimate = Estimate(ends, float(draws.std(ddof=1)))
    return _with(alone, value, estimate, 1.0, float(rate[2]), others, request)


def _verdicts(metric: Metric, state: State) -> Array:
    """Whether each unit is right, 1, or wrong, 0."""
    values = unit_values(state, [metric])[str(metric)]
    plain = bool(np.isin(values, (0.0, 1.0)).all()) and state.units.unweighted
    if not plain or not math.isclose(float(state.totals(POINT).of(metric)[0]), float(values.mean()), rel_tol=1e-9):
        raise InputError(
            f"'{metric}' is not the share of units that are right, which is all that a judge's rates correct",
            remedy="Name such a metric, as -m accuracy of labels, or leave --judge-correction out.",
        )
    return np.asarray(values)


def _with(
    alone: Score, value: float, estimate: Estimate, trust: float, by_proxy: float, others: State, request: Request
) -> Score:
    """The score by truth and proxy, which says what truth alone gives."""
    about = FewLabels(
        others=others.units.count,
        trust=trust,
        correction=request.judge_correction,
        labels_alone=alone.value,
        labels_interval=alone.interval,
        labels_se=alone.se,
        proxy_alone=by_proxy,
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
        why_no_interval=estimate.why,
        se=estimate.se,
        df=estimate.df,
        few_labels=about,
    )


def _gain(alone: Score, estimate: Estimate, about: FewLabels) -> str:
    """What the proxy changed, in a sentence."""
    said = f"{alone.spec} is {alone.value:.4g} by truth alone and {about.proxy_alone:.4g} by the proxy on the others"
    if about.correction == "difference":
        said += f", which is trusted to {about.trust:.2f}"
    if estimate.se > 0 and alone.se > 0:
        said += f"; its standard error is {100 * estimate.se / alone.se:.0f} % of that by truth alone"
    return f"{said}."
