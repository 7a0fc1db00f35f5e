"""Pairing: greedy against the definition, optimal against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from support.lazy import lazy

from steelyard import _native
from steelyard.match.assign import assign

scipy_optimize = lazy("scipy.optimize")

sizes = st.tuples(st.integers(0, 24), st.integers(0, 24))
few_values = sizes.flatmap(lambda shape: arrays(np.float64, shape, elements=st.integers(0, 4).map(float)))
any_values = sizes.flatmap(lambda shape: arrays(np.float64, shape, elements=st.floats(-1e6, 1e6)))
matrices = st.one_of(few_values, any_values)


def literal(cost: np.ndarray) -> list[int]:
    """The loop of the specification; of equal costs the first in the order of rows, then of columns."""
    partner = [-1] * cost.shape[0]
    left = cost.copy()
    for _ in range(min(cost.shape)):
        i, j = np.unravel_index(np.argmin(left), left.shape)
        partner[i] = int(j)
        left[i, :], left[:, j] = np.inf, np.inf
    return partner


@settings(max_examples=100, deadline=None)
@given(matrices)
def test_greedy_is_the_loop_of_the_specification(cost: np.ndarray) -> None:
    assert assign(cost).tolist() == literal(cost)


@pytest.mark.parametrize("shape", [(120, 120), (40, 200), (200, 40)])
@pytest.mark.parametrize("kind", ["all want the same", "any", "few values", "one value"])
def test_greedy_in_large(shape: tuple[int, int], kind: str) -> None:
    """Columns that all rows want in the same order make every row look for another many times."""
    rng = np.random.default_rng(1)
    cost = {
        "all want the same": rng.random((shape[0], 1)) * 1e-3 + np.arange(shape[1]),
        "any": rng.random(shape),
        "few values": rng.integers(0, 5, shape).astype(float),
        "one value": np.ones(shape),
    }[kind]
    assert assign(cost).tolist() == literal(cost)


@settings(max_examples=100, deadline=None)
@given(matrices)
def test_optimal_has_the_total_of_scipy(cost: np.ndarray) -> None:
    columns = assign(cost, "optimal")
    rows = np.flatnonzero(columns >= 0)
    assert len(rows) == min(cost.shape)
    assert len(set(columns[rows].tolist())) == len(rows)
    expected = cost[scipy_optimize.linear_sum_assignment(cost)].sum()
    assert cost[rows, columns[rows]].sum() == pytest.approx(expected, rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("shape", [(150, 150), (60, 200), (200, 60)])
def test_optimal_in_large(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(2)
    for cost in (rng.random(shape), rng.integers(0, 30, shape).astype(float), np.outer(*map(rng.random, shape))):
        columns = assign(cost, "optimal")
        rows = np.flatnonzero(columns >= 0)
        assert cost[rows, columns[rows]].sum() == pytest.approx(
            cost[scipy_optimize.linear_sum_assignment(cost)].sum(), rel=1e-12
        )


def test_greedy_and_optimal_by_hand() -> None:
    cost = [[1.0, 2.0], [1.1, 9.0]]
    assert assign(cost).tolist() == [0, 1]
    assert assign(cost, "optimal").tolist() == [1, 0]


def test_what_cannot_be_paired_is_refused() -> None:
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="finite"):
            assign([[bad]])
    with pytest.raises(ValueError, match="no matching"):
        assign([[1.0]], "best")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        _native.assign(np.ones((2, 2), dtype=np.float32), False)
