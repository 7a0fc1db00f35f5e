"""Counts in words, names of slices, and rows as data frames of other libraries."""

from __future__ import annotations

import sys
from typing import Any

import pandas as pd
import polars as pl
import pytest
from support.refusal import refuses

from steelyard.core.counts import count_text, plural, share_text
from steelyard.core.framed import Framed
from steelyard.core.slice import Slice, slice_heading, slice_key, slice_parts, slice_text


@pytest.mark.parametrize(
    ("word", "many"),
    [
        ("row", "rows"),
        ("axis", "axes"),
        ("class", "classes"),
        ("dish", "dishes"),
        ("batch", "batches"),
        ("box", "boxes"),
        ("query", "queries"),
        ("day", "days"),
        ("key", "keys"),
        ("toy", "toys"),
        ("guy", "guys"),
        ("y", "ies"),
    ],
)
def test_plurals(word: str, many: str) -> None:
    assert plural(word) == many


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ((1, "dish"), "1 dish"),
        ((0, "dish"), "0 dishes"),
        ((1200, "dish"), "1,200 dishes"),
        ((1, "dish", "have"), "1 dish has"),
        ((2, "dish", "have"), "2 dishes have"),
        ((1, "row", "are"), "1 row is"),
        ((1, "row", "do"), "1 row does"),
        ((1, "row", "stand"), "1 row stands"),
        ((1, "pair", "have", "of image and class"), "1 pair of image and class has"),
        ((3, "pair", "", "of runs"), "3 pairs of runs"),
    ],
)
def test_counts(given: Any, text: str) -> None:
    assert count_text(*given) == text


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ((1, 3, "row", "have"), "1 of 3 rows has"),
        ((2, 3, "row", "have"), "2 of 3 rows have"),
        ((1, 1, "row", "are"), "1 of 1 row is"),
        ((0, 1, "row", "stand"), "0 of 1 row stand"),
        ((1, 1200, "row", "stand"), "1 of 1,200 rows stands"),
        ((1500, 2000, "pair", "are", "of runs"), "1,500 of 2,000 pairs of runs are"),
    ],
)
def test_shares(given: Any, text: str) -> None:
    assert share_text(*given) == text


@pytest.mark.parametrize(
    ("parts", "key", "text"), [(["a"], "a", "a"), (["a", "b"], ("a", "b"), "a, b"), (["a, b"], "a, b", "a, b")]
)
def test_keys_of_slices(parts: list[str], key: Slice, text: str) -> None:
    assert slice_key(parts) == key
    assert slice_parts(key) == tuple(parts)
    assert slice_text(key) == text
    assert slice_text(key, " × ") == " × ".join(parts)


@pytest.mark.parametrize(
    ("key", "heading"),
    [
        ("food", "food"),
        ("food@meals.csv", "food"),
        ("food@a/b.JSONL", "food"),
        ("food@meals.csv.gz", "food"),
        ("food@meals.xlsx#Sheet 1", "food"),
        ("food@home", "food@home"),
        ("@meals.csv", "@meals.csv"),
        ("food@meals.csv.old", "food@meals.csv.old"),
        (("food@m.csv", "cut@n.parquet"), "food, cut"),
    ],
)
def test_headings_of_slices(key: Slice, heading: str) -> None:
    assert slice_heading(key) == heading
    assert slice_heading(key, "/") == heading.replace(", ", "/")


class Rows(Framed):
    def to_frame(self) -> Any:
        return {"a": [1, 2], "b": ["x", "y"]}


def test_frames_of_other_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    pandas, polars = Rows().to_pandas(), Rows().to_polars()
    assert isinstance(pandas, pd.DataFrame)
    assert isinstance(polars, pl.DataFrame)
    assert pandas.to_dict("list") == polars.to_dict(as_series=False) == Rows().to_frame()
    for name, make in (("pandas", Rows().to_pandas), ("polars", Rows().to_polars)):
        monkeypatch.setitem(sys.modules, name, None)
        with refuses("E-not-installed", name, f"pip install {name}"):
            make()
    with pytest.raises(NotImplementedError):
        Framed().to_frame()
