"""Texts that are whole numbers, and texts that only look so."""

from __future__ import annotations

import pytest

from steelyard.core.metadata import Axis
from steelyard.core.numerals import as_spec, is_whole


@pytest.mark.parametrize(
    ("text", "whole", "signed"),
    [
        ("0", True, True), ("007", True, True), ("-5", False, True), ("--5", False, False), ("-", False, False),
        ("", False, False), ("²", False, False), ("٣", False, False), ("1.0", False, False), (" 1", False, False),
        ("9" * 300, True, True), ("9" * 301, False, False), ("-" + "9" * 300, False, True),
    ],
)  # fmt: skip
def test_whole_numbers(text: str, whole: bool, signed: bool) -> None:
    assert (is_whole(text), is_whole(text, signed=True)) == (whole, signed)


def test_as_many_digits_as_are_asked_for() -> None:
    assert [is_whole("1" * size, 3) for size in (2, 3, 4)] == [True, True, False]
    assert [is_whole("-" + "1" * size, 3, signed=True) for size in (2, 3, 4)] == [True, True, False]


def test_classes_that_look_like_numbers_are_sorted_as_texts() -> None:
    """Numbers as numbers where all are; a superscript, or one too long to read, makes texts of them."""
    for odd, order in (
        (None, ("9", "10")),
        ("²", ("10", "9", "²")),
        ("9" * 5000, ("10", "9", "9" * 5000)),
        ("-3", ("-3", "9", "10")),
    ):
        parts = [Axis(("10", "9"), whole=True), Axis(() if odd is None else (odd,), whole=True)]
        assert Axis.union(parts)[0].ids == order


@pytest.mark.parametrize(
    ("name", "spec"),
    [
        ("3", 3),
        ("0", 0),
        ("12", 12),
        ("03", "03"),
        ("-3", "-3"),
        ("3.0", "3.0"),
        ("²", "²"),
        ("a", "a"),
        ("", ""),
        ("9" * 300, int("9" * 300)),
        ("9" * 301, "9" * 301),
    ],
)
def test_a_class_that_is_a_number_is_one_in_a_spec(name: str, spec: str | int) -> None:
    assert as_spec(name) == spec
