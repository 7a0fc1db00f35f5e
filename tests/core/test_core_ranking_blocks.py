"""Rankings as blocks, by hand: their order, and how they are cut, stacked, moved, looked at in parts and kept."""

from __future__ import annotations

import numpy as np
from support.refusal import refuses

from steelyard.core.metadata import Axis, Metadata
from steelyard.core.ranking import SECOND, Grouped, RankingBlock, first_steps, tied_by_unit
from steelyard.core.weights import Plain

TWO = Metadata({"class": Axis(("a", "b"))})
FOUR = Metadata({"class": Axis(("a", "aa", "b", "c"))})


def grouped(groups: int, rows: list[tuple[int, int, float]], score: bool = True) -> Grouped:
    """Rows of group, unit and score, in the order they are given."""
    group, unit, value = (np.array(column) for column in zip(*rows, strict=True)) if rows else (np.zeros(0),) * 3
    begin = np.searchsorted(group, np.arange(groups + 1)).astype(np.int64)
    columns = {"score": value.astype(float)} if score else {"size": value.astype(float)}
    return Grouped(begin, unit.astype(np.int32), columns)


def rows_of(part: Grouped) -> list[tuple[int, int, float]]:
    column = next(iter(part.columns.values()))
    return list(zip(part.group.tolist(), part.unit.tolist(), column.tolist(), strict=True))


EVENTS = [(0, 1, 0.9), (0, 0, 0.5), (0, 2, 0.5), (1, 2, 0.7), (1, 0, 0.1)]
POSITIVES = [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)]
BLOCK = RankingBlock("class", grouped(2, EVENTS), grouped(2, POSITIVES, score=False))


def test_a_ranking_is_cut_with_equal_scores_in_the_order_of_units() -> None:
    part = BLOCK.take(np.array([2, 0]), 2)  # unit 2 comes first now
    assert rows_of(part.events) == [(0, 0, 0.5), (0, 1, 0.5), (1, 0, 0.7), (1, 1, 0.1)]
    assert rows_of(part.positives) == [(0, 0, 2.0), (0, 1, 1.0)]
    assert (part.axis, part.groups, part.events.unit.dtype, part.events.begin.dtype) == ("class", 2, np.int32, np.int64)
    assert part.positives.begin.tolist() == [0, 2, 2]
    none = BLOCK.take(np.array([7]), 1)
    assert (rows_of(none.events), rows_of(none.positives), none.groups) == ([], [], 2)
    assert len(BLOCK.take(np.zeros(0, np.int64), 0).events) == 0
    assert BLOCK.take(np.array([1]), 1).positives.columns["size"].tolist() == [3]


def test_rankings_are_stacked_in_one_order() -> None:
    other = RankingBlock("class", grouped(2, [(0, 0, 0.6), (1, 0, 0.7)]), grouped(2, [(0, 0, 4.0)], score=False))
    both = RankingBlock.stack([BLOCK, other], [3, 1])
    assert rows_of(both.events) == [
        (0, 1, 0.9), (0, 3, 0.6), (0, 0, 0.5), (0, 2, 0.5), (1, 2, 0.7), (1, 3, 0.7), (1, 0, 0.1),
    ]  # fmt: skip
    assert rows_of(both.positives) == [(0, 0, 1), (0, 2, 2), (0, 3, 4), (1, 1, 3)]
    assert (both.axis, both.groups, both.events.unit.dtype) == ("class", 2, np.int32)


def test_rankings_move_to_other_groups() -> None:
    moved = BLOCK.move({"class": np.array([2, 0])}, TWO, FOUR)
    assert rows_of(moved.events) == [(0, 2, 0.7), (0, 0, 0.1), (2, 1, 0.9), (2, 0, 0.5), (2, 2, 0.5)]
    assert rows_of(moved.positives) == [(0, 1, 3), (2, 0, 1), (2, 2, 2)]
    assert (moved.groups, moved.axis) == (4, "class")
    single = RankingBlock("", grouped(1, [(0, 0, 0.5)]), grouped(1, []))
    assert single.move({}, TWO, FOUR) is single


def test_rankings_are_kept() -> None:
    facts, arrays = BLOCK.pack()
    assert facts == {"axis": "class"}
    assert list(arrays) == [
        "event.begin", "event.unit", "event.column.score", "positive.begin", "positive.unit", "positive.column.size",
    ]  # fmt: skip
    again = RankingBlock.unpack(facts, arrays)
    assert (again.axis, rows_of(again.events), rows_of(again.positives)) == ("class", EVENTS, POSITIVES)
    assert list(again.positives.columns) == ["size"]
    with refuses(TypeError, "ranking"):
        BLOCK.total(Plain(np.ones(3)), TWO)


def test_some_rows_of_a_group() -> None:
    part = BLOCK.events.select_units(np.array([-1, 6, 5]))
    assert (part.begin.tolist(), part.unit.tolist(), part.columns["score"].tolist()) == (
        [0, 2, 3],
        [6, 5, 5],
        [0.9, 0.5, 0.7],
    )
    one = BLOCK.events.one(1)
    assert (one.begin.tolist(), one.columns["score"].tolist()) == ([0, 2], BLOCK.events.columns["score"][3:].tolist())
    assert (len(BLOCK.events), BLOCK.events.group.tolist()) == (5, [0, 0, 0, 1, 1])


def test_a_falling_index_keeps_events_by_score() -> None:
    part = BLOCK.take(np.array([2, 1, 0]), 3)  # units 0 and 2 change places
    assert rows_of(part.events) == [(0, 1, 0.9), (0, 0, 0.5), (0, 2, 0.5), (1, 0, 0.7), (1, 2, 0.1)]
    assert rows_of(part.positives) == [(0, 0, 2.0), (0, 2, 1.0), (1, 1, 3.0)]
    nothing = RankingBlock("class", grouped(2, []), grouped(2, [], score=False))
    assert len(nothing.take(np.array([1, 0]), 2).events) == 0


def test_equal_scores_stand_by_unit_and_then_as_they_came() -> None:
    rng = np.random.default_rng(1)
    for size in (1, 2, 3, 17, 200):
        for levels in (1, 2, 5, 1000):
            score, unit = rng.integers(0, levels, size) / 4, rng.integers(0, 6, size)
            expected = sorted(range(size), key=lambda i: (-score[i], unit[i], i))
            assert tied_by_unit(score, unit).tolist() == expected
    assert tied_by_unit(np.zeros(0), np.zeros(0, np.int32)).tolist() == []


def test_a_long_stack_is_in_one_order() -> None:
    """Events by group, falling score and unit, positives by group and unit; what is equal stays as it came."""
    rng = np.random.default_rng(2)

    def part(rows: int) -> tuple[Grouped, list[tuple[int, int, float, int]]]:
        group = np.sort(rng.integers(0, 3, rows))
        unit, score = rng.integers(0, 4, rows).astype(np.int32), rng.integers(0, 3, rows) / 2
        tag = rng.integers(0, 10**6, rows)
        begin = np.searchsorted(group, np.arange(4))
        rows_ = list(zip(group.tolist(), unit.tolist(), score.tolist(), tag.tolist(), strict=True))
        return Grouped(begin, unit, {"score": score, "tag": tag}), rows_

    (e1, first), (e2, second), (p1, third), (p2, fourth) = part(90), part(70), part(80), part(60)
    both = RankingBlock.stack([RankingBlock("class", e1, p1), RankingBlock("class", e2, p2)], [4, 4])

    def flat(table: Grouped) -> list[tuple[int, int, float, int]]:
        columns = (table.group, table.unit, table.columns["score"], table.columns["tag"])
        return list(zip(*(column.tolist() for column in columns), strict=True))

    events = first + [(g, u + 4, s, t) for g, u, s, t in second]
    positives = third + [(g, u + 4, s, t) for g, u, s, t in fourth]
    assert flat(both.events) == sorted(events, key=lambda row: (row[0], -row[2], row[1]))
    assert flat(both.positives) == sorted(positives, key=lambda row: (row[0], row[1]))
    alone = RankingBlock.stack([both], [8])
    assert (flat(alone.events), flat(alone.positives), alone.axis) == (flat(both.events), flat(both.positives), "class")


def test_more_groups_than_sixteen_bits_count() -> None:
    far = RankingBlock("class", grouped((1 << 16) + 1, [(2, 0, 0.5), (1 << 16, 1, 0.5)]), grouped((1 << 16) + 1, []))
    both = RankingBlock.stack([far, far], [2, 2])
    assert rows_of(both.events) == [(2, 0, 0.5), (2, 2, 0.5), (1 << 16, 1, 0.5), (1 << 16, 3, 0.5)]
    assert (both.groups, len(both.positives)) == ((1 << 16) + 1, 0)


def test_groups_that_keep_their_order_are_moved_as_they_stand() -> None:
    coded = Grouped(BLOCK.events.begin, BLOCK.events.unit, {**BLOCK.events.columns, "code": np.array([0, 1, 0, 1, 1])})
    block = RankingBlock("class", coded, BLOCK.positives)
    moved = block.move({"class": np.array([0, 2])}, TWO, FOUR)
    assert (moved.events.begin.tolist(), moved.positives.begin.tolist()) == ([0, 3, 3, 5, 5], [0, 2, 2, 3, 3])
    assert rows_of(moved.events) == [(0, 1, 0.9), (0, 0, 0.5), (0, 2, 0.5), (2, 2, 0.7), (2, 0, 0.1)]
    assert rows_of(moved.positives) == [(0, 0, 1), (0, 2, 2), (2, 1, 3)]
    assert moved.events.columns["code"].tolist() == [0, 2, 0, 2, 2]
    turned = block.move({"class": np.array([3, 1])}, TWO, FOUR)
    assert rows_of(turned.events) == [(1, 2, 0.7), (1, 0, 0.1), (3, 1, 0.9), (3, 0, 0.5), (3, 2, 0.5)]
    assert turned.events.columns["code"].tolist() == [1, 1, 3, 1, 3]


def test_one_group_and_all_as_one() -> None:
    one = BLOCK.one(1)
    assert (rows_of(one.events), rows_of(one.positives), one.axis, one.groups) == (
        [(0, 2, 0.7), (0, 0, 0.1)], [(0, 1, 3.0)], "", 1,
    )  # fmt: skip
    pooled = BLOCK.pooled
    assert rows_of(pooled.events) == [(0, 1, 0.9), (0, 2, 0.7), (0, 0, 0.5), (0, 2, 0.5), (0, 0, 0.1)]
    assert rows_of(pooled.positives) == [(0, 0, 1), (0, 1, 3), (0, 2, 2)]
    assert (pooled.axis, pooled.groups) == ("", 1)


def test_units_that_have_something() -> None:
    block = RankingBlock("class", grouped(2, [(0, 7, 0.9), (1, 3, 0.5)]), grouped(2, [(0, 9, 1.0)], score=False))
    used, own = block.own_units
    assert (used.tolist(), own.axis) == ([3, 7, 9], "class")
    assert (rows_of(own.events), rows_of(own.positives)) == ([(0, 1, 0.9), (1, 0, 0.5)], [(0, 2, 1.0)])


def test_runs_of_units() -> None:
    """Units 0 and 1, then unit 2, each counted from 0; the order inside a group stays."""
    first, second = BLOCK.runs(0, 3, 2)
    assert rows_of(first.events) == [(0, 1, 0.9), (0, 0, 0.5), (1, 0, 0.1)]
    assert rows_of(first.positives) == [(0, 0, 1), (1, 1, 3)]
    assert rows_of(second.events) == [(0, 0, 0.5), (1, 0, 0.7)]
    assert rows_of(second.positives) == [(0, 0, 2)]
    assert [part.events.begin.tolist() for part in (first, second)] == [[0, 2, 3], [0, 1, 2]]
    assert second.positives.begin.tolist() == [0, 1, 1]
    assert {(part.axis, part.groups, part.events.unit.dtype) for part in (first, second)} == {
        ("class", 2, np.dtype(np.int32))
    }
    middle, *rest = BLOCK.runs(1, 2, 5)
    assert (rows_of(middle.events), rows_of(middle.positives), rest) == ([(0, 0, 0.9)], [(1, 0, 3)], [])
    assert [len(part.events) for part in BLOCK.runs(0, 9, 3)] == [5, 0, 0]
    assert list(BLOCK.runs(3, 3, 2)) == []


def first_step(weights: np.ndarray, hit: np.ndarray, ends: np.ndarray, value: np.ndarray) -> tuple[float, float]:
    """Hits and all events at the first score that some weight is on, one score after the other."""
    start = 0
    for end in ends.tolist():
        counted = weights[start : end + 1] * value[start : end + 1]
        if counted.sum() > 0:
            return float((counted * hit[start : end + 1]).sum()), float(counted.sum())
        start = end + 1
    return 0.0, 0.0


def test_the_first_score_with_weight_by_hand() -> None:
    """Four events, of which the first two have one score; the second and the last are no hits."""
    rows = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 2], [0, 0, 0, 0], [3, 0, 1, 1]])
    unit, hit, ends = np.arange(4), np.array([1, 0, 1, 0]), np.array([1, 2, 3])
    hits, every = first_steps(rows, unit, hit, ends)
    assert (hits.tolist(), every.tolist()) == ([1, 1, 0, 0, 3], [2, 1, 2, 0, 3])
    hits, every = first_steps(rows, unit, hit, ends, np.array([2, 5, 0, 4]))
    assert (hits.tolist(), every.tolist()) == ([2, 0, 0, 0, 6], [7, 4, 8, 0, 6])
    none = first_steps(rows, unit[:0], hit[:0], ends[:0])
    assert [part.tolist() for part in none] == [[0] * 5] * 2


def test_the_first_score_with_weight_of_many() -> None:
    """Parts of 64 scores, then 256, then 1,024: weight may begin at the end of one or at the start of the next."""
    rng = np.random.default_rng(3)
    count = 1500
    ends = np.flatnonzero(np.append(rng.random(count - 1) < 0.9, True))
    unit, hit, value = rng.permutation(count), rng.integers(0, 2, count), rng.integers(0, 3, count)
    firsts = [0, *(ends[[62, 63, 64, 318, 319, 320, 1000]] + 1).tolist(), count - 1]
    by_event = np.array([np.where(np.arange(count) >= first, rng.integers(0, 3, count), 0) for first in firsts])
    rows = np.zeros_like(by_event)
    rows[:, unit] = by_event
    for own in (np.ones(count), value):
        hits, every = first_steps(rows, unit, hit, ends, own)
        expected = [first_step(weights, hit, ends, own) for weights in by_event]
        assert list(zip(hits.tolist(), every.tolist(), strict=True)) == expected


def owned_twice() -> RankingBlock:
    """Five rows of two owners in two groups."""
    columns = {"score": np.array([0.9, 0.5, 0.5, 0.8, 0.2]), SECOND: np.array([1, 0, 2, 2, 1], np.int32)}
    events = Grouped(np.array([0, 3, 5]), np.array([0, 2, 1, 1, 2], np.int32), columns)
    return RankingBlock("class", events, Grouped(np.zeros(3, np.int64), np.zeros(0, np.int32), {}))


def owners(block: RankingBlock) -> list[tuple[int, int, int, float]]:
    part = block.events
    columns = (part.group, part.unit, part.columns[SECOND], part.columns["score"])
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_rows_of_two_owners_are_there_where_both_are() -> None:
    block = owned_twice()
    assert block.two_owners
    assert not BLOCK.two_owners
    some = block.take(np.array([1, 2]), 2)  # units 1 and 2 are 0 and 1 now
    assert owners(some) == [(0, 0, 1, 0.5), (1, 0, 1, 0.8), (1, 1, 0, 0.2)]
    turned = block.take(np.array([2, 1]), 2)
    assert owners(turned) == [(0, 1, 0, 0.5), (1, 1, 0, 0.8), (1, 0, 1, 0.2)]
    assert some.events.unit.dtype == some.events.columns[SECOND].dtype == np.int32
    with refuses(TypeError):
        _ = block.own_units


def test_units_of_parts_are_joined() -> None:
    """Units 0 and 1 become one, which is 1; equal scores stand by unit again."""
    joined = owned_twice().join_units(np.array([1, 1, 0]))
    assert owners(joined) == [(0, 1, 1, 0.9), (0, 0, 1, 0.5), (0, 1, 0, 0.5), (1, 1, 0, 0.8), (1, 0, 1, 0.2)]
    assert (joined.axis, joined.groups, len(joined.positives)) == ("class", 2, 0)
    assert joined.events.unit.dtype == np.int32


def test_a_stack_moves_both_owners() -> None:
    both = RankingBlock.stack([owned_twice(), owned_twice()], [3, 3])
    assert owners(both) == [
        (0, 0, 1, 0.9),
        (0, 3, 4, 0.9),
        (0, 1, 2, 0.5),
        (0, 2, 0, 0.5),
        (0, 4, 5, 0.5),
        (0, 5, 3, 0.5),
        (1, 1, 2, 0.8),
        (1, 4, 5, 0.8),
        (1, 2, 1, 0.2),
        (1, 5, 4, 0.2),
    ]
    assert both.events.columns[SECOND].dtype == np.int32
