"""Parts of the data as one value: what they have seen, merged, dropped and counted, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.align.gather import FirstSeen, SeenUnits
from steelyard.core.errors import DuplicateKey


def seen(ids: list[Any]) -> SeenUnits:
    """Units whose digests and rows follow from the id."""
    kind = np.int64 if isinstance(ids[0], int) else object
    keys = np.array([int(str(one)) for one in ids], dtype=np.uint64)
    digests = np.stack([np.stack([keys, keys + 1], axis=1), np.stack([keys + 2, keys + 3], axis=1)], axis=1)
    return SeenUnits(np.array(ids, dtype=kind), digests, np.stack([keys, keys * 2], axis=1).astype(np.int64))


def test_seen_units_are_merged_in_the_order_of_their_ids() -> None:
    merged = SeenUnits.merge([seen([7, 9]), seen([8])])
    assert merged.ids.tolist() == [7, 8, 9]
    assert merged.rows.tolist() == [[7, 14], [8, 16], [9, 18]]
    assert merged.digests[1].tolist() == [[8, 9], [10, 11]]
    assert merged.take(np.array([2])).rows.tolist() == [[9, 18]]


def test_seen_units_of_numbers_and_of_texts_are_texts() -> None:
    merged = SeenUnits.merge([seen([2, 10]), seen(["1", "3"])])
    assert merged.ids.tolist() == ["1", "10", "2", "3"]
    assert merged.rows[:, 0].tolist() == [1, 10, 2, 3]


def test_totals_of_parts_add_up() -> None:
    first, second = seen([7, 9]), seen([8])
    assert (first.totals + second.totals == SeenUnits.merge([first, second]).totals).all()
    assert (first.totals != second.totals).all()


def test_a_unit_is_new_once_and_must_be_the_same_again() -> None:
    first_seen = FirstSeen("dish")
    assert [first_seen.is_new("a", b"1"), first_seen.is_new("b", b"1"), first_seen.is_new("a", b"1")] == [
        True, True, False,
    ]  # fmt: skip
    with pytest.raises(DuplicateKey) as raised:
        first_seen.is_new("b", b"2")
    assert raised.value.what == "dish 'b' came twice with different data"


def compacted(dishes: str, **settings: Any) -> sy.Accumulator:
    """Dish a has one item, b two and c three, each predicted 1 g too heavy; a is light, the others are dark."""
    rows = [(dish, item) for dish in dishes for item in range("abc".index(dish) + 1)]
    truth = {
        "dish": [dish for dish, _ in rows],
        "item": [item for _, item in rows],
        "weight": [10.0] * len(rows),
        "colour": ["light" if dish == "a" else "dark" for dish, _ in rows],
    }
    state = sy.Accumulator("weights", **settings)
    state.update(truth, {**{name: truth[name] for name in ("dish", "item")}, "weight": [11.0] * len(rows)})
    state.compact("mae")
    return state


def test_a_unit_of_two_parts_counts_once_in_sums_rows_and_slices() -> None:
    whole = compacted("ab", by=["colour"])
    whole.merge(compacted("bc", by=["colour"]))
    report = whole.report(confidence=None)
    assert (report["mae"].value, report["mae"].units) == (1.0, 3)
    assert (report.sources.truth.rows, report.sources.predictions.rows) == (6, 6)
    assert (report.coverage.truth, report.coverage.matched, report.coverage.missing) == (6, 6, 0)
    assert {value: scores["mae"].units for value, scores in report.slices["colour"].items()} == {"dark": 2, "light": 1}
    assert report.sources == compacted("abc", by=["colour"]).report(confidence=None).sources
    assert "1 dish came more than once and counts once." in report.notes


def test_two_repeated_units_are_noted_in_the_plural() -> None:
    whole = compacted("ab")
    whole.merge(compacted("abc"))
    assert "2 dishes came more than once and count once." in whole.report(confidence=None).notes
