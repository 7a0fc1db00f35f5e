"""Two rankings side by side, by hand and drawn: what is arranged already is merged as it stands."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard.core import ranking
from steelyard.core.ranking import Grouped, RankingBlock, _is_arranged, _merge_grouped, _short

Row = tuple[int, int, float]


def table(groups: int, rows: list[Row]) -> Grouped:
    group = np.array([row[0] for row in rows], dtype=np.int64)
    columns = {"score": np.array([row[2] for row in rows], dtype=float), "tag": np.arange(len(rows))}
    begin = np.searchsorted(group, np.arange(groups + 1)).astype(np.int64)
    return Grouped(begin, np.array([row[1] for row in rows], dtype=np.int32), columns)


def rows_of(part: Grouped) -> list[Row]:
    return list(zip(part.group.tolist(), part.unit.tolist(), part.columns["score"].tolist(), strict=True))


def block(events: list[Row], positives: list[Row], groups: int = 2) -> RankingBlock:
    return RankingBlock("class", table(groups, events), table(groups, positives))


@pytest.mark.parametrize(
    ("events", "positives", "arranged"),
    [
        ([(0, 1, 0.9), (0, 0, 0.5)], [(0, 0, 0), (0, 1, 0)], True),
        ([(0, 0, 0.5), (0, 1, 0.9)], [], False),  # scores rise
        ([(0, 0, 0.5), (0, 1, 0.5), (0, 1, 0.5)], [], True),
        ([(0, 1, 0.5), (0, 0, 0.5)], [], False),  # equal scores, and units fall
        ([(0, 1, 0.5), (1, 0, 0.9)], [(0, 5, 0), (1, 0, 0)], True),  # from one group to the next both may be anything
        ([(0, 1, 0.5), (1, 0, 0.9), (1, 3, 0.95)], [], False),
        ([], [(0, 1, 0), (0, 0, 0)], False),
        ([], [(1, 0, 0), (1, 0, 0)], True),
        ([], [], True),
    ],
)
def test_what_is_arranged(events: list[Row], positives: list[Row], arranged: bool) -> None:
    assert _is_arranged(block(events, positives)) is arranged


def test_rows_of_the_first_precede_equal_ones() -> None:
    first = table(3, [(0, 0, 0.9), (0, 1, 0.5), (0, 2, 0.5), (2, 0, 0.4), (2, 1, 0.3)])
    second = table(3, [(0, 0, 0.95), (0, 0, 0.5), (0, 1, 0.1), (1, 1, 0.7), (2, 1, 0.35)])
    both = _merge_grouped(first, second, 3, True)
    assert rows_of(both) == [
        (0, 3, 0.95), (0, 0, 0.9), (0, 1, 0.5), (0, 2, 0.5), (0, 3, 0.5), (0, 4, 0.1), (1, 4, 0.7), (2, 0, 0.4), (2, 4, 0.35),
        (2, 1, 0.3),
    ]  # fmt: skip
    assert both.begin.tolist() == [0, 6, 7, 10]
    assert both.columns["tag"].tolist() == [0, 0, 1, 2, 1, 2, 3, 3, 4, 4]
    assert both.unit.dtype == np.int32
    behind = _merge_grouped(first, second, 3, False)
    assert rows_of(behind) == [
        (0, 0, 0.9), (0, 1, 0.5), (0, 2, 0.5), (0, 3, 0.95), (0, 3, 0.5), (0, 4, 0.1), (1, 4, 0.7), (2, 0, 0.4), (2, 1, 0.3),
        (2, 4, 0.35),
    ]  # fmt: skip
    none = table(3, [])
    assert rows_of(_merge_grouped(none, second, 3, True)) == [(g, u + 3, s) for g, u, s in rows_of(second)]
    assert rows_of(_merge_grouped(first, none, 3, True)) == rows_of(first)


def drawn(seed: int, rows: int, groups: int) -> list[Row]:
    rng = np.random.default_rng(seed)
    made = zip(
        rng.integers(0, groups, rows).tolist(),
        rng.integers(0, 5, rows).tolist(),
        (rng.integers(0, 4, rows) / 4).tolist(),
        strict=True,
    )
    return sorted(made, key=lambda row: (row[0], -row[2], row[1]))


@pytest.mark.parametrize("groups", [1, 4])
def test_drawn_rankings_are_merged_as_they_would_be_sorted(groups: int, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = drawn(1, 60, groups), drawn(2, 40, groups)
    by_unit = [sorted(rows, key=lambda row: (row[0], row[1])) for rows in (first, second)]
    expected = sorted([*first, *((g, u + 5, s) for g, u, s in second)], key=lambda row: (row[0], -row[2], row[1]))
    monkeypatch.setattr(ranking, "_arrange_rows", None)  # nothing is sorted again
    both = RankingBlock.stack([block(first, by_unit[0], groups), block(second, by_unit[1], groups)], [5, 5])
    assert rows_of(both.events) == expected
    positives = [*by_unit[0], *((g, u + 5, s) for g, u, s in by_unit[1])]
    assert rows_of(both.positives) == sorted(positives, key=lambda row: (row[0], row[1]))
    assert both.axis == "class"


def test_units_that_have_positives_alone() -> None:
    """The unit of the positive is beyond those of the events and of the index."""
    made = block([(0, 1, 0.9)], [(0, 1, 0.0), (1, 8, 0.0)])
    part = made.take(np.array([1]), 1)
    assert (rows_of(part.events), rows_of(part.positives)) == ([(0, 0, 0.9)], [(0, 0, 0)])
    assert rows_of(made.take(np.array([8]), 1).positives) == [(1, 0, 0)]


def test_short_codes() -> None:
    assert _short(np.array([0, (1 << 16) - 1])).dtype == np.uint16
    assert _short(np.array([0, 1 << 16])).dtype == np.int64
    assert _short(np.zeros(0, np.int64)).dtype == np.uint16


def test_some_groups_in_another_order() -> None:
    made = block([(0, 1, 0.9), (1, 0, 0.7), (1, 2, 0.6)], [(0, 5, 0.0)])
    part = made.some([1, 0, 1])
    assert rows_of(part.events) == [(0, 0, 0.7), (0, 2, 0.6), (1, 1, 0.9), (2, 0, 0.7), (2, 2, 0.6)]
    assert (part.events.begin.tolist(), part.positives.begin.tolist(), part.axis) == ([0, 2, 3, 5], [0, 0, 1, 1], "")
    assert part.events.columns["tag"].tolist() == [1, 2, 0, 1, 2]
    none = made.some([])
    assert (rows_of(none.events), none.events.begin.tolist(), none.groups) == ([], [0], 0)
