"""Assignments at the lowest cost. The solver 'scipy' is the native core's, which gives SciPy's answers."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from steelyard import _native


def linear_sum_assignment(costs: Any, solver: Any = None) -> tuple[Any, Any]:
    """Rows and columns of the assignment; NaN and infinite costs are never chosen."""
    costs = np.asarray(costs)
    if not costs.size:
        return np.array([], dtype=int), np.array([], dtype=int)
    solver = solver or default_solver
    if isinstance(solver, str):
        solver = solver_map.get(solver)
    assert callable(solver), "Invalid LAP solver."
    rows, columns = solver(costs)
    return np.asarray(rows).astype(int), np.asarray(columns).astype(int)


def add_expensive_edges(costs: Any) -> Any:
    """The costs with a large one in the place of those that are not finite."""
    assert isinstance(costs, np.ndarray)
    valid = np.isfinite(costs)
    if valid.all():
        return costs.copy()
    if not valid.any():
        return np.zeros_like(costs)
    largest = np.abs(costs[valid]).max() + 1
    return np.where(valid, costs, 2 * min(costs.shape) * largest + 1)


def _finite_pairs(costs: Any, rows: Any, columns: Any) -> tuple[Any, Any]:
    finite = np.isfinite(costs[rows, columns])
    return rows[finite], columns[finite]


def lsa_solve_scipy(costs: Any) -> tuple[Any, Any]:
    """SciPy's answer, from the native core."""
    column = _native.assign_scipy(np.ascontiguousarray(add_expensive_edges(costs), dtype=np.float64))
    rows = np.flatnonzero(column >= 0)
    return _finite_pairs(costs, rows, column[rows])


def lsa_solve_lapsolver(costs: Any) -> tuple[Any, Any]:
    """The answer of the package lapsolver."""
    solve = importlib.import_module("lapsolver").solve_dense
    return _finite_pairs(costs, *solve(add_expensive_edges(costs)))


def lsa_solve_lapjv(costs: Any) -> tuple[Any, Any]:
    """The answer of the package lap."""
    column, _ = importlib.import_module("lap").lapjv(add_expensive_edges(costs), return_cost=False, extend_cost=True)
    column = np.asarray(column, dtype=int)
    rows = np.flatnonzero(column != -1)
    return _finite_pairs(costs, rows, column[rows])


solver_map: dict[str, Any] = {
    "lapsolver": lsa_solve_lapsolver,
    "lap": lsa_solve_lapjv,
    "scipy": lsa_solve_scipy,
}
available_solvers = [name for name in solver_map if name == "scipy" or importlib.util.find_spec(name) is not None]
default_solver: Any = available_solvers[0]


@contextmanager
def set_default_solver(newsolver: Any) -> Iterator[None]:
    """Use another solver inside a `with` block."""
    global default_solver
    before = default_solver
    try:
        default_solver = newsolver
        yield
    finally:
        default_solver = before
