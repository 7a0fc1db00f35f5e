"""Lists of segments, which are read all at once where they are as COCO writes them, and else one by one."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from support.refusal import refuses

from steelyard.core.records import Records
from steelyard.tasks.panoptic import segments

ROWS = [
    [{"id": 9, "category_id": 4, "iscrowd": 1, "area": 7}, {"id": 2, "category_id": 5, "name": "x", "isthing": 0}], [],
    [{"id": 3, "category_id": 4, "isthing": True, "iscrowd": False}],
]  # fmt: skip


def listed(rows: list[Any]) -> Records:
    return Records("s", {"segments": np.array([json.dumps(row) if row else "" for row in rows], dtype=object)})


def test_both_ways_read_the_same() -> None:
    for way in (segments._columns, segments._each):
        (lengths, *columns), kinds = way(listed(ROWS), [2, 0, 1])
        assert lengths == [1, 2, 0]
        assert [column.tolist() for column in columns] == [[3, 9, 2], [4, 4, 5], [0, 1, 0], [-1, 7, -1]]
        assert kinds == {4: (None, True), 5: ("x", False)}
    (lengths, *columns), kinds = segments._columns(listed([[], []]), [0, 1])
    assert (lengths, [column.tolist() for column in columns], kinds) == ([0, 0], [[], [], [], []], {})


def test_what_coco_writes_is_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> Any:
        raise AssertionError("row by row")

    monkeypatch.setattr(segments, "_each", never)
    read = segments.read_segments(listed(ROWS), np.array([0, -1, 2]))
    assert (read.pair.tolist(), read.number.tolist(), read.crowd.tolist()) == (
        [0, 0, 2],
        [9, 2, 3],
        [True, False, False],
    )
    assert read.key.tolist() == [9, 2, 2 << 24 | 3]
    assert read.order.tolist() == [1, 0, 2]
    for wrong in ([{"id": 1.5, "category_id": 1}], [{"id": "1", "category_id": 1}], [{"id": [1], "category_id": 1}],
                  [{"id": 0, "category_id": 1}], [{"id": 1, "category_id": 1}] * 2, [{"id": 1 << 24, "category_id": 1}],
                  [{"id": 1, "category_id": 1, "name": "a"}, {"id": 2, "category_id": 1, "name": "b"}]):  # fmt: skip
        with refuses(AssertionError, "row"):
            segments.read_segments(listed([wrong]), np.array([0]))


def test_only_whole_numbers_are_taken_at_once() -> None:
    assert segments._whole([True, 3]).tolist() == [1, 3]
    assert segments._whole([]).dtype == np.int64
    for values in ([1.0], ["1"], [[1], [2]], [1, None]):
        with pytest.raises(TypeError):
            segments._whole(values)
    two = Records("s", {"segments": np.array(['[], [{"id": 1, "category_id": 1}]'], dtype=object)})
    with refuses(ValueError):
        segments._columns(two, [0])
