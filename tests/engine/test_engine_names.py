"""What models are called: given names, stems of files, letters; and names that are none."""

from __future__ import annotations

from typing import Any

import pytest
from support.refusal import refuses

from steelyard.engine.names import LONGEST, check_name, named_models, shown_names, unique


def test_a_mapping_gives_names_and_a_list_none() -> None:
    assert named_models({"base": 1, "ours": 2}) == ([1, 2], ["base", "ours"])
    assert named_models((1, 2)) == ([1, 2], None)


@pytest.mark.parametrize("name", ["", " ", " a", "a ", "a\nb", "a\x00", 3, None])
def test_what_is_no_name(name: Any) -> None:
    with refuses("E-invalid-value", f"{name!r}"):
        named_models({name: 1})


def test_the_longest_name() -> None:
    check_name("x" * LONGEST)
    with refuses("E-too-large", f"'{'x' * 40}...'", str(LONGEST)):
        check_name("x" * (LONGEST + 1))


def test_given_names_stand() -> None:
    assert shown_names(["a.csv", "b.csv", "c.csv"], ["x", "y", "z"]) == ["x", "y", "z"]
    assert shown_names(["a.csv", "b.csv"], ["x", "y"]) == ["x", "y"]


def test_two_have_no_names_and_more_the_stems_of_their_files() -> None:
    assert shown_names(["a.csv", "b.csv"], None) == ["", ""]
    sources = ["runs/a.csv", "b.json.GZ", "dir/c.d.parquet", "folder/", ".csv"]
    assert shown_names(sources, None) == ["a", "b", "c.d", "folder", ".csv"]
    assert shown_names(["a\x07b.csv", " .csv", "x" * 200], None) == ["a b", "model", "x" * LONGEST]


def test_data_in_memory_are_letters() -> None:
    many = shown_names(["predictions"] * 28, None)
    assert many[:3] == ["A", "B", "C"]
    assert many[25:] == ["Z", "model 27", "model 28"]
    assert shown_names(["predictions", "predictions", "a.csv"], None) == ["predictions", "predictions 2", "a"]


def test_equal_stems_have_their_folder_then_a_number() -> None:
    assert unique(["m", "m", "n"], ["a/m.csv", "b/m.csv", "c/n.csv"]) == ["a/m", "b/m", "n"]
    assert unique(["m", "m"], ["m.csv", "m.json"]) == ["m", "m 2"]
    assert unique(["m", "m", "m 2"], ["m.csv", "m.json", "m 2.csv"]) == ["m", "m 3", "m 2"]
    assert unique(["m", "m", "m"], ["a/m.csv", "a/m.json", "a/m.txt"]) == ["a/m", "a/m 2", "a/m 3"]
