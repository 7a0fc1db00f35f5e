"""Pooled sets and drift, on populations whose truth is known: coverage, false alarms and power."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from steelyard.engine.flips import Coins, flip_test, with_coins
from steelyard.engine.intervals import Estimate, Parts
from steelyard.engine.sets import Joined, Part, drift_estimate, pooled_estimate, random_estimate
from steelyard.results.influences import MetricInfluence

DRAWS = 400


def proportions(shares: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The intervals of sets of n units, as a score of a share has them."""
    low, high = Parts(shares, np.full(len(shares), n - 1.0), np.eye(len(shares))).ends(0.95)
    return low, high


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "shares"), [((60, 200, 40), (0.9, 0.7, 0.5)), ((30,) * 5, (0.8, 0.6, 0.9, 0.7, 0.5)), ((60, 60), (0.97, 0.99))]
)  # fmt: skip
def test_pooled_intervals_cover(sizes: tuple[int, ...], shares: tuple[float, ...]) -> None:
    rng, count = np.random.default_rng(701), 600
    values = np.stack([rng.binomial(n, p, count) / n for n, p in zip(sizes, shares, strict=True)])
    ends = [proportions(row, n) for row, n in zip(values, sizes, strict=True)]
    weights, truth, covered = np.full(len(sizes), 1 / len(sizes)), float(np.mean(shares)), 0
    for k in range(count):
        each = [Estimate((float(low[k]), float(high[k])), 0.1, 9) for low, high in ends]
        made = pooled_estimate(values[:, k], each, weights, np.eye(len(sizes)), (0.0, 1.0))
        assert made.interval is not None
        covered += made.interval[0] <= truth <= made.interval[1]
    assert 0.93 <= covered / count <= 0.995


def pooled_p(differences: list[np.ndarray], seed: int) -> float:
    """p of a mean of sets, from paired differences of units in each."""
    ends = np.cumsum([0, *map(len, differences)])
    keys = [np.arange(a, b, dtype=np.uint64) * np.uint64(2654435761) for a, b in itertools.pairwise(ends)]
    joined = Joined.of(keys, [False] * len(keys), shared=False)
    values = np.array([one.mean() for one in differences])
    kept = [
        MetricInfluence(v, one - v, (-math.inf, math.inf), len(one)) for v, one in zip(values, differences, strict=True)
    ]
    weights = np.full(len(values), 1 / len(values))
    influence = with_coins([joined.influences(kept, weights)], [0], Coins(joined.keys, seed, DRAWS))[0]
    return flip_test(float(weights @ values), influence, 0.95).p


@pytest.mark.slow
@pytest.mark.parametrize(("sizes", "shift", "band"), [
    ((60, 200, 40), 0.0, (0.02, 0.08)), ((10, 10, 200), 0.0, (0.02, 0.10)), ((60, 200, 40), 0.3, (0.70, 1.0)),
])  # fmt: skip
def test_pooled_differences(sizes: tuple[int, ...], shift: float, band: tuple[float, float]) -> None:
    rng, count = np.random.default_rng(702), 1500
    shown = sum(pooled_p([rng.normal(shift, 1, n) for n in sizes], k) <= 0.05 for k in range(count))
    assert band[0] <= shown / count <= band[1]


@pytest.mark.slow
def test_random_sets_cover_the_sets_behind_them() -> None:
    rng, count, covered = np.random.default_rng(703), 800, 0
    for _ in range(count):
        made, _ = random_estimate(rng.normal(0.7, 0.05, 6) + rng.normal(0, 0.03, 6), (-math.inf, math.inf), 0.95)
        assert made.interval is not None
        covered += made.interval[0] <= 0.7 <= made.interval[1]
    assert 0.92 <= covered / count <= 0.98


GROUPS = np.array([0.95, 0.8, 0.5])  # accuracy of each site
OLD, NEW = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])


def drawn(rng: np.random.Generator, mix: np.ndarray, n: int, loss: float) -> tuple[list[Part], float, float]:
    """The parts of a set by site, its plain share, and the sum of squares around it."""
    site = rng.choice(3, n, p=mix)
    right = (rng.random(n) < GROUPS[site] - loss).astype(float)
    parts = [right[site == g] for g in range(3)]
    plain = float(((right - right.mean()) ** 2).sum())
    return (
        [Part(float(x.mean()), len(x), float(((x - x.mean()) ** 2).sum())) for x in parts],
        float(right.mean()),
        plain,
    )


@pytest.mark.slow
@pytest.mark.parametrize(("loss", "shown"), [(0.0, (0.025, 0.08)), (0.08, (0.5, 0.95))])
def test_drift_with_another_mix(loss: float, shown: tuple[float, float]) -> None:
    """At the old mix a change of mix raises no alarm, where the plain change nearly always does."""
    rng, count, alarms, plain, covered = np.random.default_rng(704), 400, 0, 0, 0
    for _ in range(count):
        old, new = drawn(rng, OLD, 300, 0.0), drawn(rng, NEW, 300, loss)
        made = drift_estimate(old[0], new[0], "higher", (300, 300), 0.95)[1]
        alarms += made.p <= 0.05
        assert made.interval is not None
        covered += made.interval[0] <= -loss <= made.interval[1]
        whole = [Part(value, 300, squares) for _, value, squares in (old, new)]
        plain += drift_estimate(whole[:1], whole[1:], "higher", (300, 300), 0.95)[1].p <= 0.05
    assert shown[0] <= alarms / count <= shown[1]
    assert plain / count >= 0.8
    assert 0.92 <= covered / count <= 0.975
