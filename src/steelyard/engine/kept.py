"""Influences in a result's file: made from states, and read back for tests of differences without the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from steelyard.core.errors import Unsupported
from steelyard.core.frozen import Frozen
from steelyard.core.metric import Metric
from steelyard.core.plan import MOST_LEFT_OUT, coin_keys
from steelyard.core.state import State, Totals
from steelyard.core.units import Units
from steelyard.core.weights import Floats
from steelyard.engine.flips import Coins, influence_of, with_coins
from steelyard.engine.intervals import UnitSample
from steelyard.engine.measure import reads_curve
from steelyard.engine.paired import MetricTraits, ModelMetric
from steelyard.engine.score import left_out_totals, left_rows, sample_of, with_values
from steelyard.engine.sides import ComparedModel
from steelyard.results.influences import (
    Influences,
    MetricInfluence,
    ResamplingUnit,
    digest_of_keys,
    pack_keys,
)
from steelyard.results.score import Score

MOST_SIZES = 1000  # of units or clusters of unlike sizes; of more, as many are kept


def kept_influences(
    state: State, metrics: Sequence[Metric], scores: Mapping[str, Score], leave_one_out: Totals | None = None
) -> Influences | None:
    """The influences of one model's units, which must be listed; None where fewer than two are resampled."""
    units = state.units
    if units.deduplicated:
        raise Unsupported(
            "influences of counted units cannot be saved", remedy="Leave save_influences out, or evaluate in one place."
        )
    if units.n_resampled < 2:
        return None
    left = left_out_totals(state) if leave_one_out is None else leave_one_out
    assert left is not None  # the units are listed
    psi = {metric: influence_of(left_rows(units, left.of(metric))) for metric in metrics}
    return _with_keys(units, (_of_model(state, metrics, psi, scores),))


def kept_of_sides(sides: Sequence[ComparedModel], metrics: Sequence[Metric]) -> Influences | None:
    """The influences of the models of a comparison."""
    units = sides[0].state.units
    if units.n_resampled < 2:
        return None
    models = []
    for side in sides:
        psi = {metric: (one.psi, one.lost) for metric, one in side.influences.items()}
        models.append(_of_model(side.state, metrics, psi, side.scores))
    return _with_keys(units, tuple(models))


def _with_keys(units: Units, models: tuple[Mapping[str, MetricInfluence], ...]) -> Influences:
    keys = coin_keys(units)
    return Influences(_resampling_unit(units), units.n_resampled, digest_of_keys(keys), pack_keys(keys), models)


def _resampling_unit(units: Units) -> ResamplingUnit:
    if units.cluster is not None and units.n_resampled <= MOST_LEFT_OUT:
        return "clusters"
    return "units" if len(units) <= MOST_LEFT_OUT else "groups"


def _of_model(
    state: State, metrics: Sequence[Metric], psi: Mapping[Metric, tuple[Floats, int]], scores: Mapping[str, Score]
) -> dict[str, MetricInfluence]:
    influences, every = {}, sample_of(state.units)
    for metric in metrics:
        spec, resting = str(metric), with_values(state, metric, every)
        influence, lost = psi[metric]
        influences[spec] = MetricInfluence(
            scores[spec].value, influence, metric.range, resting.units, lost, metric.total, reads_curve(metric),
            None if resting.shares is None else _binned_sizes(resting.shares),
        )  # fmt: skip
    return influences


def _binned_sizes(sizes: Floats) -> Floats:
    """The sizes in their order; of many, the middle of each of a thousand bins."""
    if len(sizes) <= MOST_SIZES:
        return np.sort(sizes)
    return np.asarray(np.quantile(sizes, (np.arange(MOST_SIZES) + 0.5) / MOST_SIZES))


def resting_sample(influence: MetricInfluence) -> UnitSample:
    """The units that have a value of their own, as an interval sees them."""
    if influence.sizes is None:
        return UnitSample(influence.resting)
    wanted, held = ((np.arange(n) + 0.5) / n for n in (influence.resting, len(influence.sizes)))
    return UnitSample(influence.resting, np.interp(wanted, held, influence.sizes))


def facts_of(score: Score, influence: MetricInfluence) -> MetricTraits:
    """What a test must know of a metric, from what a result keeps."""
    return MetricTraits(score.spec, score.better, influence.range, influence.total, influence.curve)


class KeptModel(Frozen):
    """One model of a result that keeps influences: which of its models, its scores, and how it was resampled."""

    influences: Influences
    place: int
    scores: Mapping[str, Score]
    seed: int
    draws: int

    def metric(self, spec: str) -> MetricInfluence:
        """The influences on a metric."""
        return self.influences.models[self.place][spec]


def model_metrics(models: Sequence[KeptModel], specs: Sequence[str]) -> list[dict[str, ModelMetric]]:
    """The metrics of models whose keys are the same, with coins that all of them share: those of the first model."""
    first = models[0]
    keys = first.influences.unit_keys
    coins = Coins(keys, first.seed & (2**64 - 1), first.draws)
    order = np.argsort(keys)
    paired = len({(one.seed, one.draws) for one in models}) == 1  # whether bootstrap draws are paired too
    sides = []
    for model in models:
        place = np.empty(len(keys), dtype=np.int64)
        place[order] = np.argsort(model.influences.unit_keys)
        stored = [model.metric(spec) for spec in specs]
        influences = with_coins([one.psi[place] for one in stored], [one.lost for one in stored], coins)
        sides.append(
            {
                spec: ModelMetric(
                    one.value, influence, partial(_draws, model.scores[spec], paired), partial(resting_sample, one)
                )
                for spec, one, influence in zip(specs, stored, influences, strict=True)
            }
        )
    return sides


def _draws(score: Score, paired: bool) -> Floats | None:
    return score.draws if paired else None


def same_keys(a: Influences, b: Influences) -> bool:
    """Whether two results rest on the same resampling units."""
    return a.digest == b.digest or bool(np.array_equal(np.sort(a.unit_keys), np.sort(b.unit_keys)))
