"""Flips of influences: against scipy's exact tests, against worlds walked by hand, and the laws that they promise."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.lazy import lazy

import steelyard as sy
from steelyard.core.draws import unit_keys
from steelyard.core.plan import MOST_LEFT_OUT, coin_keys
from steelyard.core.units import Units
from steelyard.engine import flips as module
from steelyard.engine.families import max_t
from steelyard.engine.flips import Coins, Influence, flip_test, influences, of_agreement, tail_bound
from steelyard.engine.intervals import UnitSample

scipy_stats = lazy("scipy.stats")

GOLDENS = json.loads((Path(__file__).parent.parent / "goldens" / "statistics2.json").read_text(encoding="utf-8"))


class Given(Coins):
    """Coins whose heads are given."""

    rows: Any = None

    def sums(self, columns: Any) -> Any:
        return self.rows @ np.asarray(columns)


def given_coins(heads: Any) -> Coins:
    coins = Given(np.arange(heads.shape[1], dtype=np.uint64), 0, len(heads))
    object.__setattr__(coins, "rows", heads)
    return coins


def influence_of(values: Any, coins: Coins | None = None, worlds: int = 1000) -> tuple[float, Influence]:
    """The influences of a mean: each value less the mean."""
    values = np.asarray(values, dtype=float)
    coins = coins or Coins(unit_keys(np.arange(len(values))), 0, worlds)
    psi = values - values.mean()
    return float(values.mean()), Influence(coins, psi, coins.sums(psi[:, np.newaxis])[:, 0])


def test_all_flips_are_scipys_exact_test_and_its_inverse() -> None:
    """p is scipy's exact permutation test, the ends those of brute force (goldens)."""
    for golden in GOLDENS["flips_exact"]:
        test = flip_test(*influence_of(np.array(golden["b"]) - golden["a"]), 0.95)
        assert (test.difference, test.p) == pytest.approx((golden["difference"], golden["scipy_p"]))
        assert test.method == "all flips"
        assert test.interval == (None if golden["interval"] is None else pytest.approx(golden["interval"], abs=1e-6))


def test_mcnemars_exact_test() -> None:
    """12 units that only B has right and 3 that only A has: scipy's binomial test. Units that agree change nothing."""
    golden = GOLDENS["mcnemar"]
    for agreeing in (0, 40):
        values = np.array([1.0] * golden["b_only"] + [-1.0] * golden["a_only"] + [0.0] * agreeing)
        test = flip_test(*influence_of(values, worlds=200_000), 0.95)
        assert test.p == pytest.approx(golden["scipy_binomtest"], abs=0.002)
        assert test.least == 2.0 ** (1 - 15)


def test_sampled_flips_with_given_coins() -> None:
    golden = GOLDENS["flips_sampled"]
    heads = np.array([[float(c) for c in row] for row in golden["heads"]])
    test = flip_test(*influence_of(golden["values"], given_coins(heads)), 0.95)
    assert (test.p, test.method) == (pytest.approx(golden["p"]), "flips")
    # The bound of the tail may cut the ends; it never widens them.
    assert test.interval is not None
    assert golden["interval"][0] - 1e-8 <= test.interval[0] < test.interval[1] <= golden["interval"][1] + 1e-8


def test_max_t_of_all_worlds() -> None:
    """Three metrics of ten units: the golden max-T, with all 1,024 worlds as the sampled ones."""
    golden = GOLDENS["max_t"]
    heads = ((np.arange(1024)[:, np.newaxis] >> np.arange(10)) & 1).astype(float)
    tests = [flip_test(*influence_of(values, given_coins(heads)), 0.95) for values in golden["differences"]]
    assert [test.p for test in tests] == pytest.approx(golden["p"])
    sampled = max_t([t.size for t in tests], [t.worlds for t in tests], [t.spread for t in tests])
    assert sampled == pytest.approx([(1 + 1024 * p) / 1025 for p in golden["max_t"]])


def test_p_and_interval_are_one_statement() -> None:
    """p <= alpha exactly where 0 lies outside: 2,000 differences with ties, at four levels."""
    rng = np.random.default_rng(3)
    outside = 0
    for k in range(2000):
        n = int(rng.integers(5, 80))
        draws = (np.round(rng.normal(0.3, 1, n), 1), rng.integers(-1, 2, n), rng.lognormal(0, 1, n) - 1.2)
        difference, influence = influence_of(draws[k % 3], worlds=199)
        confidence = (0.95, 0.9, 0.99, 0.5)[k % 4]
        test = flip_test(difference, influence, confidence)
        if not influence.varies:
            continue
        excluded = test.interval is not None and not test.interval[0] <= 0 <= test.interval[1]
        assert excluded == (test.p <= 1 - confidence + 1e-12), (n, difference, test)
        outside += excluded
    assert 300 < outside < 1500


def test_too_few_units_or_worlds_have_no_interval() -> None:
    """Of five units 2 of 32 worlds are always as extreme: no difference can be excluded at 95 %. Six units can."""
    values = np.array([1.0, 2, 3, 4, 5.5, 7])
    assert flip_test(*influence_of(values[:5]), 0.95).interval is None
    assert flip_test(*influence_of(values[:5]), 0.9).interval is not None
    six = flip_test(*influence_of(values), 0.95)
    assert (six.interval is not None, six.p, six.least) == (True, 2 / 64, 2 / 64)
    assert flip_test(*influence_of(np.tile(values[:4], 4) - 3, worlds=10), 0.95).interval is not None  # by the bound


def test_the_tail_bound_is_above_the_exact_p() -> None:
    assert tail_bound(0.3) == 1.0
    assert tail_bound(2.5) == pytest.approx(3.18 * 2 * scipy_stats.norm.sf(2.5))
    values = np.abs(np.random.default_rng(4).normal(1, 0.2, 80))
    test = flip_test(*influence_of(values), 0.95)
    z = values.sum() / math.sqrt(float((values**2).sum()))
    assert (test.p, test.method) == (pytest.approx(3.18 * 2 * scipy_stats.norm.sf(z), rel=1e-6), "tail bound")


def test_influences_of_left_out_values() -> None:
    """(n - 1) (mean - value without the unit); without a value 0; rounding is not spread."""
    coins = Coins(unit_keys(np.arange(4)), 0, 50)
    left = {
        "a": np.array([1.0, 2, 3, 6]),
        "b": np.array([1.0, math.nan, 3, 5]),
        "c": np.full(4, 0.1) + [0, 1e-17, 0, 0],
    }
    moved: Any = influences(left, coins)  # type: ignore[arg-type]
    assert moved["a"].psi.tolist() == [6.0, 3.0, 0.0, -9.0]
    assert (moved["b"].psi.tolist(), moved["b"].lost) == ([6.0, 0.0, 0.0, -6.0], 1)
    assert not moved["c"].varies
    assert moved["a"].se == pytest.approx(math.sqrt((36 + 9 + 81) / 12))
    heads = module._native.flip_totals(coins.keys, np.eye(len(coins.keys)), 0, 0, 50)
    assert moved["a"].sums == pytest.approx(heads @ moved["a"].psi)
    joined = moved["a"].add_weighted(moved["b"], 2.0, -1.0)
    assert (joined.psi.tolist(), joined.lost) == ([6.0, 6.0, 0.0, -12.0], 1)
    assert joined.sums == pytest.approx(heads @ joined.psi)
    assert not moved["a"].add_weighted(moved["a"], 1.0, -1.0).varies
    assert influences({}, coins) == {}


def test_coins_are_by_unit_cluster_or_group() -> None:
    ids = np.arange(7)
    weight = np.array([1.0, 0, 1, 1, 1, 1, 2])
    assert coin_keys(Units(ids, weight)).tolist() == unit_keys(ids[weight > 0]).tolist()
    cluster = np.array(["n", "z", "n", "k", "m", "m", "k"], dtype=object)
    names = np.array(["k", "m", "n"], dtype=object)  # z has no weight
    assert coin_keys(Units(ids, weight, cluster=cluster)).tolist() == unit_keys(names).tolist()
    many = Units(np.arange(5000))
    assert len(coin_keys(many)) <= MOST_LEFT_OUT
    assert len(set(coin_keys(many).tolist())) == len(coin_keys(many))


def test_units_that_agree() -> None:
    """n units, all right by B and wrong by A: p is 2 ** (1 - n), and the interval excludes 0 from six units on."""
    for n in (3, 5, 6, 20):
        estimate, p = of_agreement(1.0, 1.0, UnitSample(n), 0.95)
        assert p == pytest.approx(2.0 ** (1 - n))
        assert estimate.interval is not None
        assert (estimate.interval[0] > 0) == (p <= 0.05) == (n >= 6)
        assert estimate.interval[1] == 1.0
    estimate, p = of_agreement(0.0, 1.0, UnitSample(12), 0.95)
    share = 1 - 0.025 ** (1 / 12)
    assert (estimate.interval, p) == (pytest.approx((-share, share)), 1.0)
    small, p = of_agreement(-0.1, 1.0, UnitSample(12), 0.95)
    assert p == pytest.approx(min(1.0, 2 * (1 / 1.1) ** 12))
    assert small.interval == pytest.approx((-0.1 - share * 0.9, -0.1 + share * 1.1))


def labelled(scores: Any, truth: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    ids = np.arange(len(truth))
    return {"id": ids, "label": truth}, {"id": ids, "score": scores}


def test_p_does_not_depend_on_the_scale_of_scores() -> None:
    """Any strictly rising map of B's scores leaves p and the interval of ranked metrics as they are."""
    rng = np.random.default_rng(5)
    truth = (rng.random(80) < 0.4).astype(int)
    a, b = truth + rng.normal(0, 1, 80), truth + rng.normal(0, 0.8, 80)
    data, first = labelled(a, truth)
    compared = [
        sy.compare("labels", data, first, labelled(scores, truth)[1], ["roc_auc", "ap"])
        for scores in (b, np.exp(b) / 10, 5 * b - 40)
    ]
    for spec in ("roc_auc", "ap"):
        plain, *others = (one[spec] for one in compared)
        for other in others:
            assert other.p == plain.p
            assert other.interval == pytest.approx(plain.interval, abs=1e-12)


def test_equal_distances_from_zero_are_not_different() -> None:
    """Biases of +5 and -5 are equally far from 0: by the golden, and by the whole comparison."""
    golden = GOLDENS["distances"]
    tests = {
        turn: flip_test(*influence_of(np.array(golden["b"]) + turn * np.array(golden["a"])), 0.95) for turn in (-1, 1)
    }
    assert (tests[-1].p, tests[1].p) == (pytest.approx(golden["p_gap"]), pytest.approx(golden["p_total"]))
    assert tests[-1].interval == pytest.approx(golden["gap"], abs=1e-6)
    assert tests[1].interval == pytest.approx(golden["total"], abs=1e-6)
    ids, truth = np.arange(12), np.full(12, 100.0)
    sides = [{"dish": ids, "weight": truth + np.array(golden[side])} for side in ("a", "b")]
    bias = sy.compare("weights", {"dish": ids, "weight": truth}, *sides, "bias")["bias"]
    assert (bias.difference, bias.p) == (pytest.approx(golden["difference"]), pytest.approx(golden["p"]))
    assert bias.interval == pytest.approx(golden["interval"], abs=1e-6)
    assert bias.null_hypothesis == "both models have the same distance of bias from 0 in the population of units"
