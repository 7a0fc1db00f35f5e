"""The native draws: Poisson(1), a function of seed, unit and draw alone, and safe whatever they are given."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from support.lazy import lazy
from support.refusal import refuses

import steelyard as sy
from steelyard import _native
from steelyard.core.draws import unit_keys

scipy_stats = lazy("scipy.stats")

KEYS = unit_keys(np.array([f"unit {i}" for i in range(3000)], dtype=object))


def flip_weights(keys: Any, seed: int, first: int, count: int) -> Any:
    """The coins themselves, draws x units."""
    return _native.flip_totals(keys, np.eye(len(keys)), seed, first, count)


def test_weights_are_poisson() -> None:
    weights = _native.poisson_weights(KEYS, 0, 0, 320)
    counts = np.bincount(weights.astype(int).ravel(), minlength=8)[:8]
    expected = scipy_stats.poisson.pmf(np.arange(8), 1) * weights.size
    assert scipy_stats.chisquare(counts[:7], expected[:7] * counts[:7].sum() / expected[:7].sum()).pvalue > 1e-4
    by_unit, by_draw = weights.mean(axis=0), weights.mean(axis=1)
    assert abs(by_unit.std() * np.sqrt(320) - 1) < 0.06  # no unit is favoured
    assert abs(by_draw.std() * np.sqrt(3000) - 1) < 0.2  # no draw is
    correlation = np.corrcoef(weights[:, :300])[np.triu_indices(320, 1)]
    assert abs(correlation).max() < 0.4


def test_flips_are_fair_and_independent_of_the_weights() -> None:
    flips, weights = flip_weights(KEYS[:1000], 0, 0, 320), _native.poisson_weights(KEYS[:1000], 0, 0, 320)
    assert set(np.unique(flips)) == {0.0, 1.0}
    assert abs(flips.mean() - 0.5) < 4 * 0.5 / np.sqrt(flips.size)
    assert abs(np.corrcoef(flips.ravel(), weights.ravel())[0, 1]) < 5 / np.sqrt(flips.size)


def test_a_weight_depends_on_seed_unit_and_draw_alone() -> None:
    whole = _native.poisson_weights(KEYS, 5, 0, 128)
    order = np.random.default_rng(0).permutation(3000)
    assert (_native.poisson_weights(np.ascontiguousarray(KEYS[order]), 5, 0, 128) == whole[:, order]).all()
    assert (_native.poisson_weights(KEYS, 5, 64, 64) == whole[64:]).all()
    assert (_native.poisson_weights(KEYS, 6, 0, 128) != whole).any()


def test_text_and_integers_give_the_same_key() -> None:
    assert (unit_keys(np.array([7, 12, -3])) == unit_keys(np.array(["7", "12", "-3"], dtype=object))).all()
    odd = np.array(["", "é", "\ud800", "a" * 10_000, "ab", "a"], dtype=object)
    assert len(set(unit_keys(odd).tolist())) == len(odd)


@pytest.mark.parametrize(
    ("totals", "weights"),
    [(_native.poisson_totals, _native.poisson_weights), (_native.flip_totals, flip_weights)],
)
def test_totals_are_the_product(totals, weights) -> None:
    rng = np.random.default_rng(1)
    for units, columns, draws in ((1, 1, 1), (257, 9, 33), (3000, 20, 100), (5, 0, 4), (0, 3, 4)):
        x = rng.normal(size=(units, columns))
        keys = np.ascontiguousarray(KEYS[:units])
        expected = weights(keys, 3, 0, draws) @ x
        one, many = totals(keys, x, 3, 0, draws, 1), totals(keys, x, 3, 0, draws, 3)
        np.testing.assert_allclose(one, expected, rtol=1e-10, atol=1e-10)
        assert (one == many).all()


def test_arguments_are_checked() -> None:
    x = np.ones((3000, 2))
    with refuses(ValueError, "each"):
        _native.poisson_totals(KEYS, x[:5], 0, 0, 10)
    with refuses(ValueError, "32"):
        _native.poisson_totals(KEYS, x, 0, 7, 10)
    with refuses(ValueError, "draws"):
        _native.poisson_weights(KEYS, 0, 0, 2**40)
    with pytest.raises(TypeError):
        _native.poisson_totals(KEYS, x.astype(np.float32), 0, 0, 10)
    with pytest.raises(TypeError):
        _native.poisson_totals(KEYS, np.asfortranarray(x), 0, 0, 10)
    with refuses(ValueError, "ids"):
        _native.unit_keys(b"abc", np.array([2, 1], dtype=np.int64))
    with refuses(ValueError, "ids"):
        _native.unit_keys(b"abc", np.array([9], dtype=np.int64))


def test_threads_survive_a_fork() -> None:
    """A child made by fork has none of its parent's threads and must not wait for them."""
    code = """
import multiprocessing, numpy as np
from steelyard import _native
keys, x = np.arange(1000, dtype=np.uint64), np.ones((1000, 4))
def work(_): return float(_native.poisson_totals(keys, x, 0, 0, 1000, 2).sum())
if __name__ == "__main__":
    expected = work(0)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(work, range(8)) == [expected] * 8
"""
    if sys.platform == "win32":
        return
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_the_process_can_be_held_to_fewer_threads() -> None:
    x = np.random.default_rng(2).normal(size=(3000, 4))
    expected = _native.poisson_totals(KEYS, x, 0, 0, 640)
    with sy.use_threads(1):
        assert _native.set_threads(1) == 1  # what the block had set
        assert (_native.poisson_totals(KEYS, x, 0, 0, 640) == expected).all()
    assert _native.set_threads(0) == 0
    with refuses("E-out-of-range", "0"), sy.use_threads(0):
        pass
