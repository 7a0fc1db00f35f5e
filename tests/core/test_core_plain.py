"""Bare arrays: what is one, how two become columns, and what is refused with which words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.lazy import lazy
from support.refusal import refuses

import steelyard as sy
from steelyard.core.plain import is_plain, plain_pair, to_numpy, values_of

pandas = lazy("pandas")


class Tensor:
    """What a tensor of torch shows of itself."""

    def __init__(self, values: list[float], dtype: str = "torch.float32", where: str = "cuda") -> None:
        self.values, self.dtype, self.where = values, dtype, where

    def detach(self) -> Tensor:
        return Tensor(self.values, self.dtype, "detached")

    def cpu(self) -> Tensor:
        assert self.where == "detached"
        return Tensor(self.values, self.dtype, "cpu")

    def float(self) -> Tensor:
        return Tensor([value + 100 for value in self.values], "torch.float32", self.where)

    def numpy(self) -> Any:
        assert self.where == "cpu"
        return np.array(self.values)


class Series:
    """What a Series shows of itself."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array([1, 2])


class Framed(Series):
    """What a data frame shows of itself: one of these names."""


@pytest.mark.parametrize("data", [[1], (1, 2), [], np.zeros(2), Series(), Tensor([1.0])])
def test_values_without_names_are_plain(data: Any) -> None:
    assert is_plain(data)


@pytest.mark.parametrize("data", ["file.csv", b"file", Path("file"), {"a": [1]}, None, 3])
def test_what_has_names_is_not(data: Any) -> None:
    assert not is_plain(data)


@pytest.mark.parametrize("name", ["column_names", "__dataframe__", "get_column", "iterrows"])
def test_frames_are_not(name: str) -> None:
    framed = type("Frame", (Framed,), {name: 1})()
    assert not is_plain(framed)


@pytest.mark.parametrize(
    ("dtype", "moved"),
    [
        ("torch.float32", 0),
        ("torch.float16", 0),
        ("torch.bfloat16", 100),
        ("torch.float8_e4m3fn", 100),
        ("torch.int8", 0),
    ],
)
def test_a_tensor_becomes_an_array_and_narrow_floats_single_precision(dtype: str, moved: int) -> None:
    assert to_numpy(Tensor([1.0, 2.0], dtype)).tolist() == [1 + moved, 2 + moved]


def test_anything_else_stays_as_it_is() -> None:
    values = [1, 2]
    assert to_numpy(values) is values
    half = type("Half", (), {"detach": lambda self: self})()  # no `cpu`
    assert to_numpy(half) is half


def test_values_of_every_form() -> None:
    assert values_of([1, 2.5], "truth").tolist() == [1.0, 2.5]
    assert values_of([1, 2], "truth").dtype.kind == "i"
    assert values_of(["a", 1], "truth").tolist() == ["a", 1]
    assert values_of(["a", 1], "truth").dtype == object
    assert values_of([True, False], "truth").dtype == object
    assert values_of([], "truth").shape == (0,)
    assert values_of(np.arange(3), "truth").tolist() == [0, 1, 2]
    assert values_of(((1, 2), (3, 4)), "truth").tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert values_of([[1, 2]], "truth").dtype == np.float64
    assert np.isnan(values_of([[None]], "truth")).all()
    assert values_of([[1, 2], "x"], "truth").tolist() == [[1, 2], "x"]  # not all are rows


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([[1], [1, 2]], ("E-shape-mismatch", "side")),
        ([{"a": 1}], ("E-invalid-value", "side")),
        ([["x"]], ("E-invalid-number", "side")),
        (np.zeros(()), ("E-shape-mismatch", "0")),
        (np.zeros((1, 1, 1)), ("E-shape-mismatch", "3")),
    ],
)
def test_values_that_are_none(data: Any, words: tuple[str, ...]) -> None:
    with refuses(*words):
        values_of(data, "side")


def test_a_pair_is_two_arrays_of_as_many_rows() -> None:
    pair = plain_pair([1, 2], (3, 4))
    assert pair is not None
    assert [side.tolist() for side in pair] == [[1, 2], [3, 4]]
    assert plain_pair({"a": [1]}, {"a": [1]}) is None
    assert plain_pair([1, 2], None) is None  # one file holds both sides: an array cannot


@pytest.mark.parametrize(
    ("truth", "predictions", "words"),
    [
        ([1], "p.csv", ("E-missing-key", "truth")),
        ("t.csv", [1], ("E-missing-key", "predictions")),
        (
            [1] * 1000, [1] * 1001,
            ("E-shape-mismatch", "1,000", "1,001"),
        ),
        (np.zeros((1, 1, 1)), [1], ("E-shape-mismatch", "3")),
        ([1], np.zeros((1, 1, 1)), ("E-shape-mismatch", "3")),
    ],
)  # fmt: skip
def test_pairs_that_are_refused(truth: Any, predictions: Any, words: tuple[str, ...]) -> None:
    with refuses(*words):
        plain_pair(truth, predictions)


def test_series_of_one_index_in_another_order_are_refused() -> None:
    truth = pandas.Series(["cat", "dog", "dog"], index=[5, 6, 7])
    guesses = pandas.Series(["cat", "cat", "dog"], index=[5, 6, 7])
    assert sy.score("labels", truth, guesses, "accuracy") == pytest.approx(2 / 3)
    with refuses("E-conflict", "index", "reset_index"):
        sy.score("labels", truth, guesses[::-1], "accuracy")
    assert sy.score("labels", truth, guesses[::-1].reset_index(drop=True), "accuracy") == 0
