"""Limits of requests and of letters: what is taken at the limit, and what is said beyond it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.refusal import refuses

from steelyard.core.progress import advance, portion, steps, use_progress
from steelyard.core.ranking import Grouped
from steelyard.core.request import LONGEST_TAG, MOST_TAGS, Request, check_tags
from steelyard.engine.ranks import ALPHABET, compact_letters


def test_tags() -> None:
    check_tags({f"t{i}": "x" * LONGEST_TAG for i in range(MOST_TAGS)})
    many = {f"t{i}": "x" for i in range(MOST_TAGS + 1)}
    with refuses("E-invalid-setting", str(MOST_TAGS + 1), str(MOST_TAGS)):
        check_tags(many)
    with refuses("E-invalid-setting", "'1a'"):
        check_tags({"1a": "x"})
    with refuses("E-invalid-setting", "7"):
        check_tags({7: "x"})
    for value in ("", " ", "a\nb", 3, "x" * (LONGEST_TAG + 1)):
        with refuses("E-invalid-setting", "'a'", f"{value!r}"):
            check_tags({"a": value})


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("a b, c", ("a b", "c")), (["a,b", "c"], ("a", "b", "c")), ("a,a,", ("a",)), ("", ("",)), (" , ", (" , ",)),
        ((), ()),
    ],
)  # fmt: skip
def test_tools_with_commas(given: Any, kept: tuple[str, ...]) -> None:
    assert Request.of("weights", None, {"explain": given}).explain == kept


def test_what_is_measured_knows_no_tags() -> None:
    request = Request.of("weights", "mae", {"tags": {"model": "a"}, "seed": 7, "draws": 200})
    plain = Request("weights").measuring()
    assert request.measuring() == plain
    assert plain.tags == {}


def test_as_many_groups_as_letters() -> None:
    """Models that all differ from each other are a group each."""
    most = len(ALPHABET)
    different = [(i, j) for i in range(most) for j in range(i)]
    assert compact_letters(range(most), different) == dict(enumerate(ALPHABET))
    assert compact_letters(range(most + 1), [(i, j) for i in range(most + 1) for j in range(i)]) == {}


def test_some_groups() -> None:
    groups = Grouped(np.array([0, 2, 2, 5]), np.arange(10, 15), {"score": np.arange(5) / 10})
    some = groups.some([2, 0])
    assert some.begin.tolist() == [0, 3, 5]
    assert some.begin.dtype == np.int64
    assert some.unit.tolist() == [12, 13, 14, 10, 11]
    assert some.columns["score"].tolist() == [0.2, 0.3, 0.4, 0.0, 0.1]
    none = groups.some([])
    assert none.begin.tolist() == [0]
    assert none.unit.tolist() == []


def test_a_listener_hears_all() -> None:
    heard: list[tuple[Any, ...]] = []
    with use_progress(lambda *said: heard.append(said)):
        advance("reading", 1, 2)
        assert list(steps("matching", ["a", "b"])) == ["a", "b"]
        with portion(1, 3):
            advance("draws", 1, 4)
        with portion(0, 1):
            advance("writing", 0, 1)
    advance("reading", 2, 2)
    assert heard == [
        ("reading", 1, 2), ("matching", 0, 2), ("matching", 1, 2), ("matching", 2, 2), ("draws", 5, 12),
        ("writing", 0, 1),
    ]  # fmt: skip
