"""Moments of vectors counted batch by batch, where the tensors are: the Fréchet distance of all vectors."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.refusal import refuses

import steelyard as sy

torch = pytest.importorskip("torch")


def drawn(rows: int, shift: float, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(rows, 6)) * [3, 2, 1, 1, 0.5, 0.1] + shift).astype(np.float32)


X, Y = drawn(150, 100.0, 1), drawn(120, 101.0, 2)


def counted(**settings: Any) -> sy.Accumulator:
    return sy.Accumulator("distributions", device="cpu", **settings)


def value(accumulator: sy.Accumulator) -> float:
    report = accumulator.report()
    assert list(report.scores) == ["fid"]
    return float(report["fid"].value)


EXPECTED = sy.score("distributions", X, Y, "fid")


@pytest.mark.parametrize("step", [7, 50, 200])
def test_batches(step: int) -> None:
    gathered = counted()
    for start in range(0, 150, step):
        gathered.update({"features": torch.tensor(X[start : start + step])}, torch.tensor(Y[start : start + step]))
    assert value(gathered) == pytest.approx(EXPECTED, rel=1e-9)


def test_one_side_at_a_time_and_merged() -> None:
    first, second = counted(), counted()
    first.update(X[:60], None)
    second.update(None, Y[:50])
    second.update(X[60:], {"features": Y[50:]})
    first.merge(second)
    assert value(first) == pytest.approx(EXPECTED, rel=1e-9)


def test_statistics_as_the_truth(tmp_path: Path) -> None:
    mu, sigma = X.mean(axis=0, dtype=float), np.cov(X.astype(float), rowvar=False)
    np.savez(tmp_path / "real.npz", mu=mu, sigma=sigma)
    for reference in ({"mu": mu, "sigma": sigma}, str(tmp_path / "real.npz")):
        gathered = counted(options={"truth.n": 150})
        for start in (0, 60):
            gathered.update(reference, torch.tensor(Y[start : start + 60]))
        assert value(gathered) == pytest.approx(EXPECTED, rel=1e-9)
    few = counted(options={"truth.n": 10})
    few.update({"mu": mu, "sigma": sigma}, Y)
    assert math.isnan(value(few))


def test_statistics_are_not_gathered_as_rows() -> None:
    gathered = sy.Accumulator("distributions")
    gathered.update({"mu": np.zeros(6), "sigma": np.eye(6)}, {"id": list(range(120)), "features": Y})
    with refuses("E-unsupported", "device='cpu'"):
        gathered.report("fid")


def test_half_precision_is_summed_in_double() -> None:
    gathered = counted()
    gathered.update(torch.tensor(X).half(), torch.tensor(Y).half())
    expected = sy.score("distributions", X.astype(np.float16), Y.astype(np.float16), "fid")
    assert value(gathered) == pytest.approx(expected, rel=1e-9)


def spoilt(row: int, number: float) -> Any:
    rows = X.copy()
    rows[row, 2] = number
    return rows


REFUSED: dict[str, tuple[Callable[[sy.Accumulator], None], tuple[str, ...]]] = {
    "nan": (lambda a: a.update(spoilt(3, np.nan), Y), ("E-invalid-number", "1 of 150")),
    "beyond": (lambda a: a.update(spoilt(3, 1e20), Y), ("E-invalid-number", "1 of 150")),
    "one side": (lambda a: a.update(X, None), ("E-empty-input", "predictions")),
    "width": (lambda a: (a.update(X, Y), a.update(X[:, :3], Y)), ("E-shape-mismatch", "3", "6")),
    "whole numbers": (lambda a: a.update(X.astype(int), Y), ("E-shape-mismatch", "int64")),
    "one axis": (lambda a: a.update(X[0], Y), ("E-shape-mismatch", "(6,)")),
    "ids": (lambda a: a.update({"features": X, "id": list(range(150))}, Y), ("E-invalid-value", "'id'")),
    "other statistics": (
        lambda a: [a.update({"mu": np.full(6, shift), "sigma": np.eye(6)}, Y) for shift in (0.0, 1.0)],
        ("E-conflict", "batch 1, truth"),
    ),
    "vectors and statistics": (
        lambda a: (a.update({"mu": np.zeros(6), "sigma": np.eye(6)}, Y), a.update(X, None)),
        ("E-conflict", "truth"),
    ),
    "sides of other lengths": (lambda a: a.update(X[:, :3], Y), ("E-shape-mismatch", "3 numbers", "6 numbers")),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    spoil, says = REFUSED[name]
    gathered = counted()
    with refuses(*says):
        spoil(gathered)
        gathered.report()
