"""Rows as blocks, and rankings as records, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard.core.block import SumBlock
from steelyard.core.frozen import frozen
from steelyard.core.metadata import Axis, Metadata
from steelyard.core.rankings import Content, Ids, Rankings
from steelyard.core.rows import RowsBlock, RowTable
from steelyard.core.statistic import Rows, SharedCache
from steelyard.core.weights import EachUnit, Plain

TWO = Metadata({"class": Axis(("a", "b"))})


@frozen
class AmongAll(Rows):
    """The sum of a unit's rows over that of all."""

    name = "core.among_all"
    columns = {"size": "f"}

    def measure(self, pairs: Any, cache: SharedCache) -> Any:
        raise TypeError("given")

    def finish(self, rows: RowTable) -> SumBlock:
        owner = np.repeat(np.arange(len(rows.ids)), np.diff(rows.begin))
        sums = np.bincount(owner, weights=rows.columns["size"], minlength=len(rows.ids))
        return SumBlock(sums / sums.sum())


def table(ids: list[int], sizes: list[list[float]]) -> RowTable:
    begin = np.cumsum([0, *map(len, sizes)])
    return RowTable(AmongAll(), np.array(ids), begin, {"size": np.array([x for one in sizes for x in one], float)})


def block(ids: list[int], sizes: list[list[float]]) -> RowsBlock:
    return RowsBlock((table(ids, sizes),), np.arange(len(ids)))


def test_rows_are_finished_among_all() -> None:
    whole = block([1, 2, 3], [[1, 2], [], [5]])
    assert whole.values.tolist() == [3 / 8, 0, 5 / 8]
    part = whole.take(np.array([2, 0]), 2)
    assert part.values.tolist() == [5 / 8, 3 / 8]  # still among all
    assert part.alone().values.tolist() == [5 / 8, 3 / 8]
    assert whole.take(np.array([0]), 1).alone().values.tolist() == [1]
    assert whole.total(Plain(np.array([1.0, 1, 2])), TWO).tolist() == [13 / 8]
    assert whole.total(EachUnit(3), TWO).tolist() == whole.values.tolist()
    assert whole.values.flags.c_contiguous
    known = RowTable(AmongAll(), np.array([1]), np.array([0, 0]), {}, done=np.array([7.0]))
    assert known.values.tolist() == [7]


def test_two_models_keep_their_tables_and_parts_get_one() -> None:
    a, b = block([1, 2], [[1], [3]]), block([3, 4], [[4], [0, 8]])
    stacked = RowsBlock.stack([a, b, a], [2, 2, 2])
    assert len(stacked.tables) == 2  # the same table is kept once
    assert stacked.index.tolist() == [0, 1, 2, 3, 0, 1]
    assert stacked.values.tolist() == [1 / 4, 3 / 4, 4 / 12, 8 / 12, 1 / 4, 3 / 4]
    merged = RowsBlock.stack([b, a], [2, 2]).merged()
    assert len(merged.tables) == 1
    assert merged.tables[0].ids.tolist() == [1, 2, 3, 4]
    assert merged.values.tolist() == [4 / 16, 8 / 16, 1 / 16, 3 / 16]
    assert merged.merged() is merged
    alone, place = RowTable.join([table([5, 3], [[1], [3]])])
    assert (alone.ids.tolist(), alone.values.tolist(), place.tolist()) == ([3, 5], [3 / 4, 1 / 4], [1, 0])
    cut = RowsBlock.stack([b.take(np.array([1]), 1), a.take(np.array([1, 0]), 2)], [1, 2])
    assert cut.values.tolist() == [8 / 12, 3 / 4, 1 / 4]
    assert RowsBlock.stack([cut, cut], [3, 3]).values.tolist() == [8 / 12, 3 / 4, 1 / 4] * 2


def test_a_slice_is_looked_at_among_the_others() -> None:
    whole = block([1, 2, 3], [[1, 2], [4], [5]])
    mine = block([1, 3], [[1], [5]])  # the rows of the slice
    among = mine.among(whole)
    assert among.tables[0].ids.tolist() == [1, 2, 3]
    assert among.values.tolist() == [1 / 10, 5 / 10]


def test_rows_are_kept() -> None:
    whole = block([1, 2, 3], [[1, 2], [], [5]]).take(np.array([2, 0]), 2)
    facts, arrays = whole.pack()
    assert (facts, list(arrays)) == ({"need": "core.among_all/1"}, ["ids", "begin", "index", "column.size"])
    again = RowsBlock.unpack(facts, arrays)
    assert (again.values.tolist(), again.index.tolist()) == ([5 / 8, 3 / 8], [2, 0])
    assert list(again.tables[0].columns) == ["size"]
    assert again.tables[0].take(np.array([1, 0])).begin.tolist() == [0, 0, 2]


def ids(*words: str) -> Ids:
    text = "".join(words).encode()
    begin = np.cumsum([0, *(len(word.encode()) for word in words)])
    place = [(int(b) << 16) + len(word.encode()) for b, word in zip(begin, words, strict=False)]
    return Ids(np.frombuffer(text, np.uint8), np.array(place, np.uint64), np.arange(len(words), dtype=np.uint64))


def test_ids() -> None:
    words = ids("a", "", "éb", "long")
    assert ([words[i] for i in range(4)], len(words)) == (["a", "", "éb", "long"], 4)
    part = words.take(np.array([3, 0]))
    assert ([part[0], part[1]], part.key.tolist()) == (["long", "a"], [3, 0])
    none = Ids.none()
    assert [part.dtype for part in (none.text, none.place, none.key)] == [np.uint8, np.uint64, np.uint64]
    assert [len(part) for part in (none, none.text, none.key)] == [0, 0, 0]
    assert Ids(np.array([0xFF], np.uint8), np.array([1], np.uint64), np.zeros(1, np.uint64))[0] == "�"


def runs(queries: list[str], begin: list[int], values: list[float]) -> Rankings:
    words = ids(*(chr(ord("a") + i % 26) for i in range(len(values))))
    return Rankings.from_runs(
        "run.txt", lambda row: f"line {row + 1}", queries, np.array(begin), words, np.array(values)
    )


def test_a_run_in_one_piece_stays_as_it_is() -> None:
    run = runs(["q2", "q1"], [0, 2], [5.0, 4, 9])
    assert (run.queries.tolist(), run.starts.tolist(), run.order) == (["q2", "q1"], [0, 2, 3], None)
    assert (len(run), run.values.tolist(), [run.documents[i] for i in range(3)]) == (3, [5, 4, 9], ["a", "b", "c"])
    assert [run.query_of(row) for row in range(3)] == ["q2", "q2", "q1"]
    assert (run.where(2), run.where(2, "score"), run.source_row(2)) == ("line 3", "line 3, column 'score'", 2)
    assert (run.source, run.columns, run.other, run.names) == ("run.txt", {}, {}, {})


def test_a_run_in_pieces_is_gathered() -> None:
    run = runs(["q2", "q1", "q2", "q3"], [0, 2, 3, 4], [5.0, 4, 9, 1, 7])
    assert (run.queries.tolist(), run.starts.tolist()) == (["q2", "q1", "q3"], [0, 3, 4, 5])
    assert (run.values.tolist(), [run.documents[i] for i in range(5)]) == ([5, 4, 1, 9, 7], ["a", "b", "d", "c", "e"])
    assert [run.source_row(row) for row in range(5)] == [0, 1, 3, 2, 4]
    assert (run.where(2), [run.query_of(row) for row in range(5)]) == ("line 4", ["q2", "q2", "q2", "q1", "q3"])
    assert (run.starts.dtype, run.queries.dtype) == (np.int64, object)


def test_pieces_of_many_rows_keep_their_order() -> None:
    """Two queries in turn, forty rows each one by one, and a third that has no row."""
    run = runs(["q2", "q1"] * 40 + ["q3"], list(range(81)), [float(i) for i in range(80)])
    assert (run.queries.tolist(), run.starts.tolist()) == (["q2", "q1", "q3"], [0, 40, 80, 80])
    assert run.values.tolist() == [*range(0, 80, 2), *range(1, 80, 2)]
    nobody = runs([], [], [])
    assert (nobody.queries.tolist(), nobody.starts.tolist(), nobody.order, len(nobody)) == ([], [0], None, 0)


def test_a_run_keeps_what_stands_beside_it() -> None:
    beside = {"columns": {"iter": np.array([0])}, "other": {"tag": np.array(["x"])}, "names": {"score": "Score"}}
    run = Rankings.from_runs("r", lambda row: f"line {row}", ["q"], np.array([0]), ids("a"), np.array([1.0]), **beside)  # type: ignore[arg-type]
    assert (run.columns, run.other, run.names) == (beside["columns"], beside["other"], beside["names"])
    assert (run.where(0, "score"), run.where(0, "tag")) == ("line 0, column 'Score'", "line 0, column 'tag'")


def test_the_digest_does_not_depend_on_the_order_of_queries() -> None:
    def digest(queries: list[str], rows: list[int], sums: list[int]) -> str:
        run = runs(queries, list(range(len(queries))), [1.0] * len(queries))
        run.content.append(Content(np.array(rows, np.int32), np.array(sums, np.uint32)))
        return run.digest()

    import hashlib

    expected = hashlib.sha256(b"q1\x1fq2" + np.array([4, 3], "<i8").tobytes() + np.array([9, 8], "<u8").tobytes())
    assert digest(["q2", "q1"], [3, 4], [8, 9]) == f"sha256-rows:{expected.hexdigest()}"
    assert digest(["q2", "q1"], [3, 4], [8, 9]) == digest(["q1", "q2"], [4, 3], [9, 8])
    assert digest(["q2", "q1"], [3, 4], [8, 9]) != digest(["q2", "q1"], [4, 3], [8, 9])
    assert digest(["q2", "\ud800"], [3, 4], [8, 9]) != digest(["q2", "x"], [3, 4], [8, 9])


def test_a_nested_run_is_counted_where_it_lies() -> None:
    run = Rankings("run", {}, nested={"q": {"a": 1.0, "b": 2.0}, "r": {"c": 1.0}})
    assert len(run) == 3
    empty = Rankings("run", {})
    assert (len(empty), empty.starts.tolist(), empty.queries.tolist(), empty.content) == (0, [0], [], [])
