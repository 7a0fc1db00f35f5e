"""What a result keeps of its influences, and what tests of differences read of them, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.core.draws import unit_keys
from steelyard.engine.intervals import UnitSample
from steelyard.engine.kept import KeptModel, facts_of, model_metrics, resting_sample, same_keys
from steelyard.engine.paired import MetricTraits
from steelyard.results.influences import Influences, MetricInfluence, digest_of_keys, pack_keys
from steelyard.results.score import Score


def influence(psi: list[float], **more: Any) -> MetricInfluence:
    return MetricInfluence(3.0, np.array(psi, dtype=float), (0.0, float("inf")), more.pop("resting", len(psi)), **more)


def influences(keys: list[int], psi: list[float], **more: Any) -> Influences:
    array = np.array(keys, dtype=np.uint64)
    return Influences("units", len(keys), digest_of_keys(array), pack_keys(array), ({"mae": influence(psi, **more)},))


def weights(**columns: Any) -> dict[str, Any]:
    return {"dish": ["a", "b", "c", "d"], **columns}


def test_the_influences_of_a_mean_are_the_distances_from_it() -> None:
    """Errors of 1, 2, 6 and 7: their mean is 4."""
    report = sy.evaluate(
        "weights", weights(weight=[10, 10, 10, 10]), weights(weight=[11, 8, 16, 3]), ["mae"], save_influences=True
    )
    kept = report.influences
    assert kept is not None
    assert (kept.of, kept.units, kept.digest) == ("units", 4, digest_of_keys(kept.unit_keys))
    assert kept.unit_keys.tolist() == unit_keys(np.array(["a", "b", "c", "d"])).tolist()
    (model,) = kept.models
    assert list(model) == ["mae"]
    own = model["mae"]
    assert own.psi == pytest.approx([-3, -2, 2, 3])
    assert (own.value, own.range, own.resting, own.lost, own.total, own.curve, own.sizes) == (
        4.0,
        (0.0, float("inf")),
        4,
        0,
        False,
        False,
        None,
    )


def test_clusters_are_kept_with_their_sizes() -> None:
    """Two clusters of 1 and 3 dishes: without the first the mean is 5, without the second 1."""
    report = sy.evaluate(
        "weights",
        weights(weight=[10, 10, 10, 10], site=["x", "y", "y", "y"]),
        weights(weight=[11, 8, 16, 3]),
        ["mae"],
        save_influences=True,
        cluster="site",
    )
    kept = report.influences
    assert kept is not None
    assert (kept.of, kept.units) == ("clusters", 2)
    own = kept.models[0]["mae"]
    assert own.psi == pytest.approx([-2, 2])  # (2 - 1) (mean of 5 and 1 - each)
    assert own.resting == 2
    assert own.sizes is not None
    assert (own.sizes / own.sizes.sum()).tolist() == [0.25, 0.75]


def test_one_unit_has_no_influences() -> None:
    one = {"dish": ["a"], "weight": [10]}
    assert sy.evaluate("weights", one, one, ["mae"], save_influences=True).influences is None


def test_the_sizes_of_units_are_read_between_those_that_are_kept() -> None:
    """Kept at 1/4 and 3/4 of the units, read at 1/8, 3/8, 5/8 and 7/8."""
    assert resting_sample(influence([1, 2], resting=5)) == UnitSample(5)
    sample = resting_sample(influence([1, 2], resting=4, sizes=np.array([1.0, 3.0])))
    assert sample.units == 4
    assert sample.shares is not None
    assert sample.shares.tolist() == [1, 1.5, 2.5, 3]
    same = resting_sample(influence([1, 2], resting=2, sizes=np.array([1.0, 3.0])))
    assert same.shares is not None
    assert same.shares.tolist() == [1, 3]


def test_what_a_test_knows_of_a_metric() -> None:
    score = Score("mae", "MAE", 3.0, better="lower")
    assert facts_of(score, influence([1, 2])) == MetricTraits("mae", "lower", (0.0, float("inf")), False, False)
    assert facts_of(score, influence([1, 2], total=True)).total
    assert facts_of(score, influence([1, 2], curve=True)).curve


@pytest.mark.parametrize(
    ("keys", "other", "same"),
    [([1, 2, 3], [1, 2, 3], True), ([1, 2, 3], [3, 1, 2], True), ([1, 2], [1, 3], False), ([1, 2], [1, 2, 3], False)],
)
def test_the_same_units_in_any_order(keys: list[int], other: list[int], same: bool) -> None:
    a, b = influences(keys, [0.0] * len(keys)), influences(other, [0.0] * len(other))
    assert same_keys(a, b) is same


def test_models_are_put_in_the_order_of_the_first() -> None:
    """Each unit has one coin for both models, and the draws of both are paired where seed and number are equal."""
    draws = np.arange(3.0)
    scores = {"mae": Score("mae", "MAE", 3.0, better="lower", draws=draws)}
    first = KeptModel(influences([5, 2, 9], [1.0, 2.0, -3.0], lost=1), 0, scores, 7, 200)
    second = KeptModel(influences([9, 5, 2], [30.0, -10.0, -20.0]), 0, scores, 7, 200)
    (a,), (b,) = (side.values() for side in model_metrics([first, second], ["mae"]))
    assert a.influence is not None
    assert b.influence is not None
    assert (a.influence.psi.tolist(), b.influence.psi.tolist()) == ([1, 2, -3], [-10, -20, 30])
    assert (a.influence.lost, b.influence.lost, a.value) == (1, 0, 3.0)
    assert (b.influence.coins, a.influence.coins.seed, a.influence.coins.worlds) == (a.influence.coins, 7, 200)
    assert b.influence.sums.tolist() == pytest.approx((-10 * a.influence.sums).tolist())
    assert a.draws() is draws
    assert b.resting() == UnitSample(3)
    for seed, count in ((8, 200), (7, 100)):
        other = KeptModel(second.influences, 0, scores, seed, count)
        (a,), (b,) = (side.values() for side in model_metrics([first, other], ["mae"]))
        assert a.draws() is None
        assert b.draws() is None


def test_a_negative_seed_is_taken_as_64_bits() -> None:
    scores = {"mae": Score("mae", "MAE", 3.0, better="lower")}
    ((one,),) = (
        side.values() for side in model_metrics([KeptModel(influences([1, 2], [1, -1]), 0, scores, -1, 100)], ["mae"])
    )
    assert one.influence is not None
    assert one.influence.coins.seed == 2**64 - 1


def test_of_many_sizes_a_thousand_are_kept() -> None:
    """Weights of 1 to 2,000: the middle of each of 1,000 bins, on the line from the least to the greatest."""
    count = 2000
    ids = [f"d{i:04d}" for i in range(count)]
    truth = {"dish": ids, "weight": [10.0] * count, "sample_weight": list(range(1, count + 1))}
    report = sy.evaluate("weights", truth, {"dish": ids, "weight": [11.0] * count}, ["mae"], save_influences=True)
    kept = report.influences
    assert kept is not None
    groups = {int(key) % 1000 for key in unit_keys(np.array(ids)).tolist()}  # units go into groups by their keys
    assert (kept.of, kept.units, len(kept.unit_keys)) == ("groups", count, len(groups))
    own = kept.models[0]["mae"]
    assert own.sizes is not None
    assert own.resting == count
    assert own.sizes.tolist() == pytest.approx([1 + (k + 0.5) / 1000 * 1999 for k in range(1000)])


def test_both_models_of_a_comparison_are_kept() -> None:
    truth = weights(weight=[10, 10, 10, 10])
    models = [weights(weight=[11, 8, 16, 3]), weights(weight=[12, 12, 12, 14])]
    kept = sy.compare("weights", truth, *models, ["mae"], save_influences=True).influences
    assert kept is not None
    assert (kept.of, kept.units) == ("units", 4)
    first, second = (model["mae"] for model in kept.models)
    assert (first.value, second.value) == (4.0, 2.5)
    assert first.psi == pytest.approx([-3, -2, 2, 3])
    assert second.psi == pytest.approx([-0.5, -0.5, -0.5, 1.5])
    one = {"dish": ["a"], "weight": [10]}
    assert sy.compare("weights", one, one, {**one, "weight": [12]}, ["mae"], save_influences=True).influences is None
