"""Several test sets: values and differences weighed together, and a new set held against an old one.

*Pooled.* T = sum of w_k T_k. The interval of a score is MOVER over each set's own interval (Zou and Donner 2008); that
of a difference inverts the sign flips over all units, whose influences on the pooled value are w_k psi n / n_k. Sets
are fixed: the number is about these sets. Random sets are a sample themselves, and Student's t has one less degree of
freedom than there are sets.

*Drift.* The two sets have units of their own, so differences are tested by Welch's t. At the old mix of groups the
difference is the mean over old units of what changed in their group, so an old unit's influence holds that as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from steelyard.core.draws import unit_keys
from steelyard.core.frozen import Frozen
from steelyard.core.weights import Array, Floats
from steelyard.engine.differences import DifferenceEstimate, by_intervals
from steelyard.engine.flips import Coins, with_coins
from steelyard.engine.intervals import SAME, Estimate, Interval, UnitSample, of_distances
from steelyard.engine.kept import KeptModel, resting_sample
from steelyard.engine.paired import BEST, ModelMetric, draw_cap
from steelyard.engine.quantiles import t_quantile, t_tail
from steelyard.results.influences import MetricInfluence

LEAST_RANDOM = 5  # sets, below which their variance says too little


class Joined(Frozen):
    """The resampling units of several sets together: their keys, and the place of each set's units among them."""

    keys: Array
    places: tuple[Array, ...]

    __eq__, __hash__ = object.__eq__, object.__hash__

    @staticmethod
    def of(keys: Sequence[Array], grouped: Sequence[bool], *, shared: bool) -> Joined:
        """Join units by key where sets share them; else all are of their own, though groups may have the same keys."""
        own = [
            _of_set(each, k) if groups and not shared else each
            for k, (each, groups) in enumerate(zip(keys, grouped, strict=True))
        ]
        every, place = np.unique(np.concatenate(own), return_inverse=True)
        ends = np.cumsum([len(each) for each in own])[:-1]
        return Joined(every, tuple(np.split(place.reshape(-1), ends)))

    @property
    def n_shared(self) -> int:
        """How many units are in more than one set."""
        counts = np.bincount(np.concatenate(self.places), minlength=len(self.keys))
        return int(np.count_nonzero(counts > 1))

    def influences(self, stored: Sequence[MetricInfluence], weights: Floats) -> Floats:
        """The influences of all units on the weighted sum of the sets' values."""
        total = np.zeros(len(self.keys))
        for influence, place, weight in zip(stored, self.places, weights, strict=True):
            np.add.at(total, place, weight * len(self.keys) / len(place) * influence.psi)
        return total

    def correlation(self, stored: Sequence[MetricInfluence]) -> Floats:
        """How the values of the sets go together, through the units that they share."""
        spread = np.zeros((len(stored), len(self.keys)))
        for row, influence, place in zip(spread, stored, self.places, strict=True):
            length = math.sqrt(float((influence.psi**2).sum()))
            row[place] = influence.psi / length if length > 0 else 0.0
        correlation = spread @ spread.T
        np.fill_diagonal(correlation, 1.0)
        return correlation


def _of_set(keys: Array, place: int) -> Array:
    """Keys of groups that no other set has."""
    return unit_keys(np.array([f"{place}/{key}" for key in keys.tolist()], dtype=object))


def pooled_estimate(
    values: Floats, estimates: Sequence[Estimate], weights: Floats, correlation: Floats, bounds: Interval
) -> Estimate:
    """The interval of a weighted sum of sets: MOVER over the interval of each."""
    errors = weights * np.array([one.se for one in estimates])
    variance = float(errors @ correlation @ errors)
    se = math.sqrt(max(variance, 0.0)) if variance == variance else math.nan
    each = np.array([one.df if one.df > 0 else math.inf for one in estimates])
    inverse = float((errors**4 / each).sum())
    df = variance**2 / inverse if inverse > 0 else math.nan
    ends = [one.interval for one in estimates]
    interval_ends = np.array([end for end in ends if end is not None])
    if len(interval_ends) < len(ends):
        return Estimate(None, se, df)
    value, sides = (
        float(weights @ values),
        (weights * (values - interval_ends[:, 0]), weights * (interval_ends[:, 1] - values)),
    )
    below, above = (math.sqrt(max(float(side @ correlation @ side), 0.0)) for side in sides)
    return Estimate((max(value - below, bounds[0]), min(value + above, bounds[1])), se, df)


def random_estimate(values: Floats, bounds: Interval, confidence: float) -> tuple[Estimate, float]:
    """The interval of a mean over sets that were drawn at random, and the p of its being 0."""
    count, value = len(values), float(values.mean())
    if np.ptp(values) <= SAME * np.abs(values).max():  # rounding is not spread
        return Estimate(None, 0.0, count - 1, f"all {count} sets agree"), 1.0 if value == 0 else math.nan
    se = float(values.std(ddof=1)) / math.sqrt(count)
    reach = t_quantile((1 + confidence) / 2, count - 1) * se
    p = t_tail(abs(value) / se, count - 1)
    return Estimate((max(value - reach, bounds[0]), min(value + reach, bounds[1])), se, count - 1), p


def pooled_metrics(
    sets: Sequence[Sequence[KeptModel]], specs: Sequence[str], weights: Floats, joined: Joined
) -> list[dict[str, ModelMetric]]:
    """The metrics of each model over all sets, with coins that its units share. `sets` has the models of each set."""
    first = sets[0][0]
    coins = Coins(joined.keys, first.seed & (2**64 - 1), first.draws)
    pooled = []
    for models in zip(*sets, strict=True):
        influences_by_spec = [[model.metric(spec) for model in models] for spec in specs]
        psi = [joined.influences(each, weights) for each in influences_by_spec]
        influences = with_coins(psi, [sum(one.lost for one in each) for each in influences_by_spec], coins)
        metrics = {}
        for spec, each, influence in zip(specs, influences_by_spec, influences, strict=True):
            value = float(weights @ np.array([one.value for one in each]))
            drawn, resting = _pooled_draws(models, spec, weights), _pooled_resting(each, weights)
            metrics[spec] = ModelMetric(value, influence, lambda drawn=drawn: drawn, lambda r=resting: r)  # type: ignore[misc]
        pooled.append(metrics)
    return pooled


def _pooled_draws(models: Sequence[KeptModel], spec: str, weights: Floats) -> Floats | None:
    draws = [model.scores[spec].draws for model in models]
    stored = [one for one in draws if one is not None]
    if len(stored) < len(draws) or len({(model.seed, model.draws) for model in models}) > 1:
        return None
    return np.asarray(weights @ np.stack(stored))


def _pooled_resting(influences: Sequence[MetricInfluence], weights: Floats) -> UnitSample:
    """The units that have a value of their own, each with its share of all weight."""
    shares = []
    for influence, weight in zip(influences, weights, strict=True):
        sample = resting_sample(influence)
        own = np.ones(sample.units) if sample.shares is None else sample.shares
        shares.append(weight * own / own.sum())
    every = np.concatenate(shares)
    return UnitSample(len(every), None if np.ptp(every) <= 1e-12 * every.max() else every)


class Part(Frozen):
    """One group of units in one set: its value, how many units, and the sum of squares of their influences."""

    value: float
    units: int
    squares: float = 0.0


def drift_estimate(
    old: Sequence[Part], new: Sequence[Part], better: str, units: tuple[int, int], confidence: float
) -> tuple[float, DifferenceEstimate]:
    """New less old at the old mix of groups, by Welch's t. One group is the sets themselves.

    `units` are those of both sets, of which the new one may have units in other groups.
    """
    best = BEST.get(better, 0.0)
    share = np.array([part.units for part in old]) / sum(part.units for part in old)
    before, after = (np.array([part.value for part in parts]) - best for parts in (old, new))
    counts = [np.array([part.units for part in parts]) for parts in (old, new)]
    squares = [np.array([part.squares for part in parts]) for parts in (old, new)]
    n, m = int(counts[0].sum()), units[1]

    def signed_estimate(turn: float) -> tuple[float, DifferenceEstimate]:
        changed = after + turn * before
        at = float(share @ changed)
        own = float((counts[0] * (changed - at) ** 2 + squares[0]).sum()) / (n * (n - 1))
        other = float(((share * m / counts[1]) ** 2 * squares[1]).sum()) / (m * (m - 1))
        return at, by_intervals(at, (math.sqrt(own), math.sqrt(other)), confidence, (n - 1, m - 1))

    gap, estimate = signed_estimate(-1.0)
    if better not in BEST:
        return gap, estimate
    total, of_total = signed_estimate(1.0)
    ends = [Estimate(one.interval, one.se, one.df) for one in (estimate, of_total)]
    distance, p = of_distances(gap, total, *ends), max(estimate.p, of_total.p)
    size = abs(float(share @ after)) - abs(float(share @ before))
    return size, DifferenceEstimate(size, distance.interval, p, distance.se, distance.df)


def squares_of(influence: MetricInfluence, draws: Floats | None) -> float:
    """The sum of squares of influences, scaled for a metric that reads a ranking."""
    n, squares = len(influence.psi), float((influence.psi**2).sum())
    se = math.sqrt(squares / (n * (n - 1))) if n > 1 else math.nan
    return squares * draw_cap(influence.curve, se, lambda: draws) ** 2
